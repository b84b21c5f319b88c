//! Templates that use each other, seen as one.

use std::collections::{HashMap, HashSet};

use hinagata_value::{Budget, Result};

use super::{Analysis, Path, PathPart, TemplateUse, VariableUse, scope::Shape};

/// More variables are not collected: a graph can multiply them with every level.
const MAX_VARIABLES: usize = 20_000;

/// A template and everything that it uses.
#[derive(Clone, Debug, Default)]
pub struct Combined {
    /// The variables that come from outside all of the templates, by template and source order.
    ///
    /// A template that is included sees the names around its `include`, so its variables are followed
    /// there. What a parent prints in a block that the child replaces is here too.
    pub variables: Vec<(Box<str>, VariableUse)>,
    /// The templates, the entry first, each once.
    pub templates: Vec<Box<str>>,
    /// Uses of templates that do not exist; for a choice of several, when none does.
    pub missing: Vec<(Box<str>, TemplateUse)>,
    /// Uses whose template the run decides: what they read is not here.
    pub dynamic: Vec<(Box<str>, TemplateUse)>,
}

/// A variable with the template that reads it.
type Origin = (Box<str>, VariableUse);

/// Puts the templates that `entry` uses together; `get` gives the analysis of each by name.
///
/// Only templates that are used with context add variables: an `import` sees none of them unless it
/// asks. A template that uses itself adds them once.
///
/// # Errors
/// When the budget is used up: every template may multiply the variables of those it includes.
pub fn combine<'a>(
    entry: &str,
    get: &dyn Fn(&str) -> Option<&'a Analysis>,
    budget: &Budget,
) -> Result<Combined> {
    let mut graph = Graph { get, budget, done: HashMap::new(), order: Vec::new() };
    graph.collect(entry)?;
    let mut combined = Combined::default();
    for name in &graph.order {
        let Some(analysis) = get(name) else { continue };
        combined.templates.push(name.clone());
        for template in &analysis.templates {
            let listed = || (name.clone(), template.clone());
            if template.dynamic {
                combined.dynamic.push(listed());
            } else if !template.names.iter().any(|name| get(name).is_some()) {
                combined.missing.push(listed());
            }
        }
    }
    combined.variables = graph.done.remove(entry).flatten().unwrap_or_default();
    let position: HashMap<&str, usize> =
        graph.order.iter().enumerate().map(|(position, name)| (&**name, position)).collect();
    combined.variables.sort_by_key(|(name, item)| (position.get(&**name).copied(), item.span.start));
    Ok(combined)
}

struct Graph<'g, 'a> {
    get: &'g dyn Fn(&str) -> Option<&'a Analysis>,
    budget: &'g Budget,
    /// The variables of each template and what it uses; `None` while they are being collected.
    done: HashMap<Box<str>, Option<Vec<Origin>>>,
    order: Vec<Box<str>>,
}

/// A template whose uses are being followed.
struct Open<'a> {
    name: Box<str>,
    analysis: &'a Analysis,
    /// The used template that is next, and which of its names.
    next: (usize, usize),
    variables: Vec<Origin>,
    seen: HashSet<(Box<str>, u32, Path)>,
}

impl<'a> Graph<'_, 'a> {
    /// Collects the variables of `entry`, depth first and with a stack of its own: templates may
    /// hang on each other in a long line.
    fn collect(&mut self, entry: &str) -> Result<()> {
        let mut stack: Vec<Open<'a>> = self.open(entry).into_iter().collect();
        while let Some(mut open) = stack.pop() {
            self.budget.step(1)?;
            let Some((template, name)) = next_use(&mut open) else {
                self.done.insert(open.name, Some(open.variables));
                continue;
            };
            match self.done.get(name) {
                Some(Some(variables)) if template.with_context => {
                    open.add(template, variables, self.budget)?;
                }
                Some(_) => {}
                None => {
                    // Once more when it is known.
                    open.next.1 -= 1;
                    match self.open(name) {
                        Some(inner) => {
                            stack.push(open);
                            stack.push(inner);
                            continue;
                        }
                        None => open.next.1 += 1,
                    }
                }
            }
            stack.push(open);
        }
        Ok(())
    }

    fn open(&mut self, name: &str) -> Option<Open<'a>> {
        let analysis = (self.get)(name)?;
        self.done.insert(name.into(), None);
        self.order.push(name.into());
        let mut open =
            Open { name: name.into(), analysis, next: (0, 0), variables: Vec::new(), seen: HashSet::new() };
        for item in &analysis.variables {
            open.push(name.into(), item.clone());
        }
        Some(open)
    }
}

/// The next use of a template by name, and the name.
fn next_use<'a>(open: &mut Open<'a>) -> Option<(&'a TemplateUse, &'a str)> {
    loop {
        let template = open.analysis.templates.get(open.next.0)?;
        if let Some(name) = template.names.get(open.next.1) {
            open.next.1 += 1;
            return Some((template, name));
        }
        open.next = (open.next.0 + 1, 0);
    }
}

impl Open<'_> {
    fn push(&mut self, name: Box<str>, item: VariableUse) {
        let key = (name, item.span.start, item.path.clone());
        if self.variables.len() < MAX_VARIABLES && self.seen.insert(key.clone()) {
            self.variables.push((key.0, item));
        }
    }

    /// Adds the variables of a used template, seen from here.
    fn add(&mut self, template: &TemplateUse, variables: &[Origin], budget: &Budget) -> Result<()> {
        for (name, item) in variables {
            for path in self.analysis.seen_from(template, &item.path, budget)? {
                self.push(name.clone(), VariableUse { path, ..item.clone() });
            }
        }
        Ok(())
    }
}

impl Analysis {
    /// What the variable `path` of a template that is used with context is called in this one; several
    /// paths where only the run can tell, none where it is no data.
    ///
    /// # Errors
    /// When the budget is used up.
    pub fn seen_from(&self, template: &TemplateUse, path: &Path, budget: &Budget) -> Result<Vec<Path>> {
        let meaning = self.scopes.look_up(template.scope, &path.root, budget)?;
        budget.step(1 + meaning.shapes.len() as u64)?;
        let free = meaning.free.then(|| path.clone());
        Ok(free.into_iter().chain(meaning.shapes.iter().filter_map(|shape| continued(shape, path))).collect())
    }
}

/// The path that `path` is, when its root is the value of this shape.
fn continued(shape: &Shape, path: &Path) -> Option<Path> {
    let (start, parts) = match (shape, path.parts.split_first()) {
        (Shape::At(start), _) => (start, &path.parts[..]),
        (Shape::Of(start), Some((PathPart::Each | PathPart::Index(_), rest))) => (start, rest),
        _ => return None,
    };
    Some(start.with(parts.iter().cloned()))
}
