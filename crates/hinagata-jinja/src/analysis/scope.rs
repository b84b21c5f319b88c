//! Names that a template binds, and what their values are parts of.

use std::collections::HashMap;

use hinagata_value::{Budget, Result};

use super::{MAX_ALTERNATIVES, Path, PathPart};

/// The most bindings that are kept: every `if` around binds the names inside once more. What is bound
/// beyond counts as unbound behind its `if` and in other templates, so that too much is reported.
const MAX_LOG: usize = 100_000;

/// What is known of a value: which data it is, or is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// The data at the path.
    At(Path),
    /// A sequence of what is at the path: `tools|sort` of `tools[]`.
    Of(Path),
    /// A sequence of keys with what is at the path: `headers.items()` of `headers[]`.
    Pairs(Path),
}

impl Shape {
    /// What iterating gives.
    pub(super) fn item(&self) -> Option<Path> {
        match self {
            Self::At(path) => Some(path.with([PathPart::Each])),
            Self::Of(path) => Some(path.clone()),
            Self::Pairs(_) => None,
        }
    }
}

/// The values that a name may have, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Binding {
    pub(super) shapes: Vec<Shape>,
    /// Whether it may be unbound, so that the name means what it means outside.
    pub(super) maybe: bool,
}

impl Binding {
    pub(super) fn of(shapes: Vec<Shape>) -> Self {
        Self { shapes, maybe: false }
    }

    fn add(&mut self, shapes: &[Shape]) {
        add_shapes(&mut self.shapes, shapes);
    }
}

/// Adds what is not there yet, up to the limit.
pub(super) fn add_shapes(to: &mut Vec<Shape>, more: &[Shape]) {
    for shape in more {
        if to.len() < MAX_ALTERNATIVES && !to.contains(shape) {
            to.push(shape.clone());
        }
    }
}

/// What a name means at some place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Meaning {
    pub(super) shapes: Vec<Shape>,
    /// Whether it may come from outside the template.
    pub(super) free: bool,
    /// Whether the template binds it.
    pub(super) bound: bool,
}

/// How a frame hangs together with those around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// Names that are bound inside are gone outside.
    Inner,
    /// One way through an `if`: names may be bound behind it.
    Arm,
    /// Sees only the names at the top: a block that is not scoped.
    Block,
}

#[derive(Debug)]
struct Frame<'t> {
    kind: FrameKind,
    names: HashMap<&'t str, Binding>,
    /// The end of the log when the frame was entered.
    log: Option<u32>,
}

/// The names in sight.
#[derive(Debug)]
pub(super) struct Scopes<'t> {
    frames: Vec<Frame<'t>>,
    log: ScopeLog,
    /// The entry of the log from which the names in sight can be read.
    head: Option<u32>,
    /// The same for the names at the top.
    top: Option<u32>,
}

impl<'t> Scopes<'t> {
    pub(super) fn new() -> Self {
        let top = Frame { kind: FrameKind::Inner, names: HashMap::new(), log: None };
        Self { frames: vec![top], log: ScopeLog::default(), head: None, top: None }
    }

    pub(super) fn enter(&mut self, kind: FrameKind) {
        self.frames.push(Frame { kind, names: HashMap::new(), log: self.head });
        if kind == FrameKind::Block {
            self.head = self.top;
        }
    }

    pub(super) fn leave(&mut self) {
        self.pop();
    }

    fn pop(&mut self) -> HashMap<&'t str, Binding> {
        let Some(frame) = self.frames.pop() else { return HashMap::new() };
        self.head = frame.log;
        frame.names
    }

    pub(super) fn bind(&mut self, name: &'t str, binding: Binding) {
        if self.log.entries.len() < MAX_LOG {
            self.log.entries.push(LogEntry {
                name: name.into(),
                binding: binding.clone(),
                before: self.head,
            });
            self.head = u32::try_from(self.log.entries.len() - 1).ok();
        }
        if self.frames.len() == 1 {
            self.top = self.head;
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.names.insert(name, binding);
        }
    }

    /// Leaves an arm; its names wait for [`Scopes::join`].
    pub(super) fn leave_arm(&mut self) -> Vec<(&'t str, Binding)> {
        let mut names: Vec<_> = self.pop().into_iter().collect();
        names.sort_unstable_by_key(|(name, _)| *name);
        names
    }

    /// Binds what the arms of one `if` bound. Unless it has an `else`, none of them may have run.
    pub(super) fn join(&mut self, arms: Vec<Vec<(&'t str, Binding)>>, has_else: bool) {
        if self.log.entries.len() >= MAX_LOG {
            return;
        }
        let count = arms.len();
        let mut joined: Vec<(&'t str, Binding, usize)> = Vec::new();
        let mut index: HashMap<&'t str, usize> = HashMap::new();
        for (name, binding) in arms.into_iter().flatten() {
            let at = *index.entry(name).or_insert_with(|| {
                joined.push((name, Binding::default(), 0));
                joined.len() - 1
            });
            let (_, sum, times) = &mut joined[at];
            sum.add(&binding.shapes);
            sum.maybe |= binding.maybe;
            *times += 1;
        }
        for (name, mut binding, times) in joined {
            if binding.maybe || !has_else || times < count {
                match self.frames.last().and_then(|frame| frame.names.get(name)) {
                    Some(before) => {
                        binding.maybe = before.maybe;
                        binding.add(&before.shapes.clone());
                    }
                    None => binding.maybe = true,
                }
            }
            self.bind(name, binding);
        }
    }

    /// What `name` means here.
    pub(super) fn look_up(&self, name: &str) -> Meaning {
        let mut meaning = Meaning::default();
        let mut hidden = false;
        for (depth, frame) in self.frames.iter().enumerate().rev() {
            if (!hidden || depth == 0)
                && let Some(binding) = frame.names.get(name)
            {
                meaning.bound = true;
                add_shapes(&mut meaning.shapes, &binding.shapes);
                if !binding.maybe {
                    return meaning;
                }
            }
            hidden |= frame.kind == FrameKind::Block;
        }
        meaning.free = true;
        meaning
    }

    /// The place in the log for the names in sight now.
    pub(super) fn head(&self) -> Option<u32> {
        self.head
    }

    pub(super) fn into_log(self) -> ScopeLog {
        self.log
    }
}

/// Every binding of a template with the one in sight before it: the names in sight at any place can be
/// read from there on, without a copy of all of them for each place.
#[derive(Clone, Debug, Default)]
pub(super) struct ScopeLog {
    entries: Vec<LogEntry>,
}

#[derive(Clone, Debug)]
struct LogEntry {
    name: Box<str>,
    binding: Binding,
    before: Option<u32>,
}

impl ScopeLog {
    /// What `name` means at the place `head`. Goes through the bindings one by one, each a step.
    pub(super) fn look_up(&self, head: Option<u32>, name: &str, budget: &Budget) -> Result<Meaning> {
        let mut meaning = Meaning::default();
        let mut at = head;
        while let Some(entry) = at.and_then(|at| self.entries.get(at as usize)) {
            budget.step(1)?;
            if &*entry.name == name {
                meaning.bound = true;
                add_shapes(&mut meaning.shapes, &entry.binding.shapes);
                if !entry.binding.maybe {
                    return Ok(meaning);
                }
            }
            at = entry.before;
        }
        meaning.free = true;
        Ok(meaning)
    }
}
