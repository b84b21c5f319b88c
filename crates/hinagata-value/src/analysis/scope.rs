//! Names that a template binds, and the data of their values.

use super::{PathPart, VariablePath};
use crate::{Budget, Result};

/// Maximum number of values that one name is followed to, if only the run decides which one it has.
const MAX_ALTERNATIVES: usize = 4;

/// Maximum number of stored bindings. Further names count as unbound in other templates, so that too much is
/// reported rather than too little.
const MAX_BINDINGS: usize = 100_000;

/// The data of a value, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataShape {
    /// The data at the path.
    At(VariablePath),
    /// A sequence of the data at the path: `tools|sort` of `tools[]`.
    Of(VariablePath),
    /// A sequence of keys with the data at the path: `headers.items()` of `headers[]`.
    Pairs(VariablePath),
}

impl DataShape {
    /// The path of an item, if the value is iterated.
    #[must_use]
    pub fn item(&self) -> Option<VariablePath> {
        match self {
            Self::At(path) => Some(path.with_parts([PathPart::Each])),
            Self::Of(path) => Some(path.clone()),
            Self::Pairs(_) => None,
        }
    }

    /// The path of `path` if its root is a value of this shape.
    fn continue_path(&self, path: &VariablePath) -> Option<VariablePath> {
        let (start, parts) = match (self, path.parts.split_first()) {
            (Self::At(start), _) => (start, &path.parts[..]),
            (Self::Of(start), Some((PathPart::Each | PathPart::Index(_), rest))) => (start, rest),
            _ => return None,
        };
        Some(start.with_parts(parts.iter().cloned()))
    }
}

/// Adds the shapes that `to` does not have yet, up to a limit.
pub fn add_shapes(to: &mut Vec<DataShape>, more: &[DataShape]) {
    for shape in more {
        if to.len() < MAX_ALTERNATIVES && !to.contains(shape) {
            to.push(shape.clone());
        }
    }
}

/// The possible values of a name, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    /// The shapes of the values.
    pub shapes: Vec<DataShape>,
    /// Whether the name may be unbound, so that it has its outer meaning.
    pub maybe: bool,
}

impl Binding {
    /// A binding to values of these shapes.
    #[must_use]
    pub fn from_shapes(shapes: Vec<DataShape>) -> Self {
        Self { shapes, maybe: false }
    }
}

/// The meaning of a name at one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meaning {
    /// The shapes of the values it may have.
    pub shapes: Vec<DataShape>,
    /// Whether it may come from outside the template.
    pub free: bool,
    /// Whether the template binds it.
    pub bound: bool,
}

impl Meaning {
    /// Adds an inner binding. Returns whether outer bindings have no effect any more.
    pub fn add_binding(&mut self, binding: &Binding) -> bool {
        self.bound = true;
        add_shapes(&mut self.shapes, &binding.shapes);
        !binding.maybe
    }
}

/// Every binding of a template, each with the one in scope before it.
///
/// The names in scope at any place are found from its last binding on, without a copy of all names for each
/// place.
#[derive(Clone, Debug, Default)]
pub struct ScopeLog {
    entries: Vec<LogEntry>,
}

#[derive(Clone, Debug)]
struct LogEntry {
    name: Box<str>,
    binding: Binding,
    before: Option<u32>,
}

impl ScopeLog {
    /// Whether the log is full.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.entries.len() >= MAX_BINDINGS
    }

    /// Adds a binding after the one at `before`. Returns its place, or `before` if the log is full.
    pub fn add_binding(&mut self, name: &str, binding: &Binding, before: Option<u32>) -> Option<u32> {
        if self.is_full() {
            return before;
        }
        self.entries.push(LogEntry { name: name.into(), binding: binding.clone(), before });
        u32::try_from(self.entries.len() - 1).ok()
    }

    /// The paths that the variable `path` has, if the names in scope at `place` are its variables.
    pub(super) fn paths_of(
        &self,
        place: Option<u32>,
        path: &VariablePath,
        budget: &Budget,
    ) -> Result<Vec<VariablePath>> {
        let meaning = self.look_up(place, &path.root, budget)?;
        budget.charge_steps(1 + meaning.shapes.len() as u64)?;
        let free = meaning.free.then(|| path.clone());
        let bound = meaning.shapes.iter().filter_map(|shape| shape.continue_path(path));
        Ok(free.into_iter().chain(bound).collect())
    }

    /// The meaning of `name` at `place`. Every visited binding costs a step.
    fn look_up(&self, place: Option<u32>, name: &str, budget: &Budget) -> Result<Meaning> {
        let mut meaning = Meaning::default();
        let mut at = place;
        while let Some(entry) = at.and_then(|at| self.entries.get(at as usize)) {
            budget.charge_steps(1)?;
            if &*entry.name == name && meaning.add_binding(&entry.binding) {
                return Ok(meaning);
            }
            at = entry.before;
        }
        meaning.free = true;
        Ok(meaning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LimitKind, Limits};

    fn at(path: &VariablePath) -> Binding {
        Binding::from_shapes(vec![DataShape::At(path.clone())])
    }

    fn paths(log: &ScopeLog, place: Option<u32>, name: &str) -> Vec<String> {
        let budget = Budget::new(Limits::default());
        let found = log.paths_of(place, &VariablePath::new(name), &budget).expect("within the budget");
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_last_binding_before_a_place_counts() {
        let mut log = ScopeLog::default();
        let first = log.add_binding("x", &at(&VariablePath::new("a")), None);
        let second = log.add_binding("x", &at(&VariablePath::new("b")), first);
        assert_eq!(paths(&log, second, "x"), ["b"]);
        assert_eq!(paths(&log, first, "x"), ["a"]);
        assert_eq!(paths(&log, None, "x"), ["x"]);
        assert_eq!(paths(&log, second, "y"), ["y"]);
    }

    #[test]
    fn a_binding_that_may_not_have_happened_leaves_the_name_free() {
        let mut log = ScopeLog::default();
        let maybe = Binding { maybe: true, ..at(&VariablePath::new("a")) };
        let place = log.add_binding("x", &maybe, None);
        assert_eq!(paths(&log, place, "x"), ["x", "a"]);
    }

    #[test]
    fn looking_up_a_name_costs_steps() {
        let mut log = ScopeLog::default();
        let place = (0..100).fold(None, |before, _| log.add_binding("x", &Binding::default(), before));
        let budget = Budget::new(Limits { steps: 50, ..Limits::default() });
        let error = log.paths_of(place, &VariablePath::new("y"), &budget).expect_err("too much");
        assert_eq!(error.limit(), Some(LimitKind::Steps));
    }
}
