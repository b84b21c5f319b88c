//! A Go template and further files, parsed into one set. All of them share their definitions, and later
//! definitions replace earlier ones.

use std::{collections::HashMap, path::Path, time::Instant};

use hinagata_gotemplate::{Context, Set};
use hinagata_template::structure_functions;
use hinagata_value::{Budget, Calls, Error, Heap, Output, Segments, Written};

use super::{
    Request, advice,
    entry::display_name,
    report::{Origin, Outcome, Usage, collect_pieces},
};
use crate::failure::Failure;

/// The sources of a set: names in the order of parsing, and their paths for messages.
struct Sources<'a> {
    sources: Vec<(String, &'a str)>,
    paths: HashMap<String, String>,
}

impl<'a> Sources<'a> {
    fn from_request(request: &'a Request<'_>) -> Result<Self, Failure> {
        let mut sources = Self { sources: Vec::new(), paths: HashMap::new() };
        sources.add(&request.arguments.template, &request.source)?;
        for (file, source) in request.arguments.with.iter().zip(&request.more) {
            sources.add(file, source)?;
        }
        Ok(sources)
    }

    fn add(&mut self, path: &Path, source: &'a str) -> Result<(), Failure> {
        let shown = display_name(path);
        let name = match path.file_name() {
            Some(name) if path != Path::new("-") => name.to_string_lossy().into_owned(),
            _ => shown.clone(),
        };
        if let Some(first) = self.paths.insert(name.clone(), shown.clone()) {
            return Err(Failure::usage_error(format!(
                "`{first}` and `{shown}` would both be the template `{name}`"
            ))
            .with_hint("rename one of them"));
        }
        self.sources.push((name, source));
        Ok(())
    }

    /// The path of the source `name` for messages.
    fn path(&self, name: &str) -> String {
        self.paths.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }
}

pub(super) fn render_set(request: &Request<'_>) -> Result<Outcome, Failure> {
    let sources = Sources::from_request(request)?;
    run_set(request, &sources).map_err(|error| failure(&error, request, &sources))
}

/// Parses and runs the set.
fn run_set(request: &Request<'_>, sources: &Sources<'_>) -> Result<Outcome, Error> {
    let Request { arguments, variables, limits, .. } = request;
    let functions = structure_functions();
    let started = Instant::now();
    let mut set = Set::new(request.options().go, &functions);
    for (name, source) in &sources.sources {
        set.parse(name, source, &Budget::new(limits.clone()))?;
    }
    let compile = started.elapsed();

    let started = Instant::now();
    let budget = Budget::new(limits.clone());
    let calls = Calls::new();
    let heap = Heap::new(&budget);
    let mut output = Output::<Segments>::new(&budget);
    let context =
        Context { heap: &heap, functions: &functions, calls: &calls, templates: &(), first_template: 0 };
    let (entry, _) = sources.sources.first().expect("the template itself is the first");
    set.execute(entry, variables, &context, &mut output)?;
    let usage = Usage { compile, render: started.elapsed() };
    let Written { text, marks, provenance, .. } = output.finish();
    let pieces = arguments.explain.then(|| {
        collect_pieces(&provenance, |_, segment| {
            let place = set.place(segment.site, 0)?;
            let template = sources.path(&place.template);
            Some(Origin { template, line: place.line, column: place.column, variable: None })
        })
    });
    Outcome::new(Written { text, marks, ..Written::default() }, pieces, usage)
}

fn failure(error: &Error, request: &Request<'_>, sources: &Sources<'_>) -> Failure {
    let failure = Failure::from_template(error, |name| sources.path(name));
    let failure = advice::with_variable_hint(failure, error, &request.variables);
    advice::with_limit_hint(failure, error, request.settings)
}
