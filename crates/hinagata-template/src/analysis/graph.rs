//! The analysis of a template together with those that it uses.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use hinagata_value::{
    Budget, Error, ErrorKind, Limits, Result,
    analysis::{Analysis, TemplateUse, VariablePath, VariableUse},
};

use super::has_structure;
use crate::{Cache, JoinedNames, Options, Sources, Template};

/// Maximum number of collected variables. A graph can multiply them with every level.
const MAX_VARIABLES: usize = 20_000;

/// A template and everything that it uses by literal names.
#[derive(Debug, Default)]
pub struct Graph {
    /// The analysis of each template in the order of discovery. The keys are joined names; uses of templates
    /// contain the names as written.
    pub templates: Vec<(String, Arc<Analysis>)>,
    /// The variables that come from outside the graph, by template and source order.
    ///
    /// Variables of an included template are traced to the data that they are in the including one.
    pub variables: Vec<GraphVariable>,
    /// Uses of templates that do not exist. A list of alternatives is reported if none exists.
    pub missing: Vec<GraphUse>,
    /// Uses whose template is decided at run time. Their variables are not collected.
    pub dynamic: Vec<GraphUse>,
    /// Cycles of templates, each from one template to the last that leads back to it.
    pub cycles: Vec<Vec<String>>,
    /// Templates that cannot be read or compiled, with the error; and names that cannot be joined, as written.
    pub broken: Vec<(String, Error)>,
    /// The joined names of all uses of templates.
    pub joined: JoinedNames,
}

impl Graph {
    /// Whether the templates can produce messages, see [`has_structure`]. Templates that are decided at run time
    /// ([`Graph::dynamic`]) are not considered.
    #[must_use]
    pub fn has_structure(&self) -> bool {
        self.templates.iter().any(|(_, analysis)| has_structure(analysis))
    }
}

/// A variable with the template that reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphVariable {
    /// The name of the template that reads it.
    pub template: Arc<str>,
    /// The variable, as the first template names it.
    pub variable: VariableUse,
}

/// A use of a template with the template that contains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphUse {
    /// The template that contains the use.
    pub template: String,
    /// The use.
    pub used: TemplateUse,
}

/// Analyses `entry` and the templates that it uses by constant names, through `sources`.
///
/// It takes at most the templates and steps that `limits` allow. An invalid template is reported and does
/// not stop the analysis of the others.
///
/// # Errors
/// `entry` does not exist (kind `not_found`), or a limit is reached.
pub fn analyze_graph(
    entry: &str,
    sources: &dyn Sources,
    options: &Options,
    limits: &Limits,
) -> Result<Graph> {
    Walk::new(sources, &Arc::new(options.clone()), limits, None).run(entry)
}

impl Cache {
    /// Like [`analyze_graph`], for templates that are rendered from this cache. Cached templates are neither
    /// compiled nor analysed again, and missing ones are added.
    ///
    /// # Errors
    /// Those of [`analyze_graph`].
    pub fn analyze_graph(
        &self,
        entry: &str,
        sources: &dyn Sources,
        options: &Arc<Options>,
        limits: &Limits,
    ) -> Result<Graph> {
        Walk::new(sources, options, limits, Some(self)).run(entry)
    }
}

struct Walk<'w> {
    sources: &'w dyn Sources,
    options: &'w Arc<Options>,
    limits: &'w Limits,
    cache: Option<&'w Cache>,
    budget: Budget,
    /// The result for each name. The number is the index in the graph.
    found: BTreeMap<Arc<str>, Found>,
    /// For each template of the graph, the joined names of its uses.
    links: Vec<Vec<Links>>,
    graph: Graph,
}

/// The joined names of one use; `None` for one that cannot be joined.
type Links = Vec<Option<Arc<str>>>;

enum Found {
    Missing,
    Broken,
    /// Its index in the graph.
    Loaded(usize),
}

/// A template whose uses are being followed.
struct Open {
    name: Arc<str>,
    number: usize,
    /// The use that is next, and which of its names.
    next: (usize, usize),
    variables: Vec<GraphVariable>,
    seen: HashSet<(Arc<str>, u32, VariablePath)>,
}

impl<'w> Walk<'w> {
    fn new(
        sources: &'w dyn Sources,
        options: &'w Arc<Options>,
        limits: &'w Limits,
        cache: Option<&'w Cache>,
    ) -> Self {
        Self {
            sources,
            options,
            limits,
            cache,
            budget: Budget::new(limits.clone()),
            found: BTreeMap::new(),
            links: Vec::new(),
            graph: Graph::default(),
        }
    }

    fn run(mut self, entry: &str) -> Result<Graph> {
        self.load(&entry.into())?;
        if !self.is_loaded(entry) && self.graph.broken.is_empty() {
            let known = self.sources.names();
            let near = hinagata_value::near_names(entry, known.iter().map(String::as_str));
            let message = format!("template '{entry}' not found");
            return Err(Error::new(ErrorKind::NotFound, message).with_near(near));
        }
        self.load_all()?;
        self.follow(entry)?;
        self.report();
        Ok(self.graph)
    }

    fn is_loaded(&self, name: &str) -> bool {
        matches!(self.found.get(name), Some(Found::Loaded(_)))
    }

    /// Finds and analyses one template, unless it is loaded already.
    fn load(&mut self, name: &Arc<str>) -> Result<()> {
        self.budget.charge_steps(1)?;
        if self.found.contains_key(name) {
            return Ok(());
        }
        if self.graph.templates.len() >= self.limits.templates {
            return Err(Error::limit_reached(
                hinagata_value::LimitKind::Templates,
                format!("the templates use more than {} others", self.limits.templates),
            ));
        }
        let found = match self.analyze(name) {
            Ok(None) => Found::Missing,
            Ok(Some(analysis)) => {
                self.graph.templates.push((name.to_string(), analysis));
                Found::Loaded(self.graph.templates.len() - 1)
            }
            Err(error) => {
                self.graph.broken.push((name.to_string(), error));
                Found::Broken
            }
        };
        self.found.insert(name.clone(), found);
        Ok(())
    }

    fn analyze(&self, name: &str) -> Result<Option<Arc<Analysis>>> {
        let Some(source) = self.sources.source(name)? else { return Ok(None) };
        let template = match self.cache {
            Some(cache) => cache.get(name, &source, self.options, self.limits)?,
            None => Template::compile_source(name, source, self.options.clone(), self.limits)?,
        };
        Ok(Some(template.analysis().clone()))
    }

    /// Loads all templates that are used by name.
    fn load_all(&mut self) -> Result<()> {
        while let Some((from, analysis)) = self.graph.templates.get(self.links.len()) {
            let names = |used: &TemplateUse| used.names.clone();
            let (from, uses) = (from.clone(), analysis.templates.iter().map(names).collect::<Vec<_>>());
            let mut joined = HashMap::new();
            let mut links = Vec::with_capacity(uses.len());
            for names in uses {
                links.push(self.join_all(&from, names, &mut joined)?);
            }
            for name in links.iter().flatten().flatten() {
                self.load(name)?;
            }
            self.links.push(links);
        }
        Ok(())
    }

    /// Joins the names of one use in the template `from`. `known` are the joined names of its other uses.
    fn join_all(
        &mut self,
        from: &str,
        names: Vec<String>,
        known: &mut HashMap<String, Option<Arc<str>>>,
    ) -> Result<Links> {
        let mut links = Vec::with_capacity(names.len());
        for name in names {
            self.budget.charge_steps(1)?;
            let link = match known.get(&name) {
                Some(link) => link.clone(),
                None => {
                    let link = self.join(from, &name);
                    known.insert(name, link.clone());
                    link
                }
            };
            links.push(link);
        }
        Ok(links)
    }

    fn join(&mut self, from: &str, name: &str) -> Option<Arc<str>> {
        match self.sources.join(from, name) {
            Ok(joined) => {
                if matches!(joined, Cow::Owned(_)) {
                    self.graph.joined.insert(from, name, &joined);
                }
                Some(joined.into())
            }
            Err(error) => {
                self.graph.broken.push((name.to_owned(), error));
                None
            }
        }
    }

    /// Collects the variables of `entry` and finds cycles, depth first. It uses an explicit stack, because a
    /// chain of templates can be long.
    fn follow(&mut self, entry: &str) -> Result<()> {
        let mut done: HashMap<Arc<str>, Vec<GraphVariable>> = HashMap::new();
        let mut stack: Vec<Open> = self.open(entry).into_iter().collect();
        while let Some(mut open) = stack.pop() {
            self.budget.charge_steps(1)?;
            let Some((used, name)) = self.next_use(&mut open) else {
                done.insert(open.name, open.variables);
                continue;
            };
            if let Some(variables) = done.get(&*name) {
                self.add(&mut open, used, variables)?;
            } else if let Some(place) = stack.iter().chain([&open]).position(|outer| *outer.name == *name) {
                let circle = stack.iter().chain([&open]).skip(place).map(|open| open.name.to_string());
                self.graph.cycles.push(circle.collect());
            } else if let Some(inner) = self.open(&name) {
                // Visited again after the used template.
                open.next.1 -= 1;
                stack.push(open);
                stack.push(inner);
                continue;
            }
            stack.push(open);
        }
        let order: HashMap<&str, usize> =
            self.graph.templates.iter().enumerate().map(|(number, (name, _))| (&**name, number)).collect();
        let mut variables = done.remove(entry).unwrap_or_default();
        variables.sort_by_key(|item| (order.get(&*item.template).copied(), item.variable.position.start));
        self.graph.variables = variables;
        Ok(())
    }

    fn open(&self, name: &str) -> Option<Open> {
        let Some(Found::Loaded(number)) = self.found.get(name) else { return None };
        let name: Arc<str> = name.into();
        let mut open = Open {
            name: name.clone(),
            number: *number,
            next: (0, 0),
            variables: Vec::new(),
            seen: HashSet::new(),
        };
        for variable in &self.graph.templates[*number].1.variables {
            open.push(GraphVariable { template: name.clone(), variable: variable.clone() });
        }
        Some(open)
    }

    /// The number of the next use of a template by name, and the joined name.
    fn next_use(&self, open: &mut Open) -> Option<(usize, Arc<str>)> {
        loop {
            let Some(link) = self.links[open.number].get(open.next.0)?.get(open.next.1) else {
                open.next = (open.next.0 + 1, 0);
                continue;
            };
            open.next.1 += 1;
            if let Some(name) = link {
                return Some((open.next.0, name.clone()));
            }
        }
    }

    /// Adds the variables of a used template under their names in the using one.
    fn add(&self, open: &mut Open, used: usize, variables: &[GraphVariable]) -> Result<()> {
        let analysis = &self.graph.templates[open.number].1;
        let used = &analysis.templates[used];
        for item in variables {
            self.budget.charge_steps(1)?;
            for path in analysis.paths_seen_by(used, &item.variable.path, &self.budget)? {
                let variable = VariableUse { path, ..item.variable.clone() };
                open.push(GraphVariable { template: item.template.clone(), variable });
            }
        }
        Ok(())
    }

    /// Reports missing templates and those that are decided at run time.
    fn report(&mut self) {
        for ((name, analysis), links) in self.graph.templates.iter().zip(&self.links) {
            for (used, links) in analysis.templates.iter().zip(links) {
                let listed = || GraphUse { template: name.clone(), used: used.clone() };
                // Names that cannot be joined are reported elsewhere.
                let exists = |link: &Option<Arc<str>>| match link {
                    Some(name) => !matches!(self.found.get(name), Some(Found::Missing) | None),
                    None => true,
                };
                if used.dynamic {
                    self.graph.dynamic.push(listed());
                } else if !links.iter().any(exists) {
                    self.graph.missing.push(listed());
                }
            }
        }
    }
}

impl Open {
    fn push(&mut self, item: GraphVariable) {
        let key = (item.template.clone(), item.variable.position.start, item.variable.path.clone());
        if self.variables.len() < MAX_VARIABLES && self.seen.insert(key) {
            self.variables.push(item);
        }
    }
}
