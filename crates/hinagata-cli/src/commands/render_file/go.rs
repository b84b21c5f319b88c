//! Go templates: one set of the template and the files given with it.

use std::{collections::HashMap, path::Path, time::Instant};

use hinagata_gotemplate::{Context, MissingKey, Options, Set};
use hinagata_value::{Budget, Calls, Error, Functions, Heap, Off, Output, Segments, Site};

use super::{
    Request, advice,
    report::{self, Explained, Outcome, Usage},
    shown,
};
use crate::failure::Failure;

/// The sources of a set: names in the order of parsing, and what the user calls each.
struct Sources<'a> {
    sources: Vec<(String, &'a str)>,
    paths: HashMap<String, String>,
}

impl<'a> Sources<'a> {
    fn of(request: &'a Request<'_>) -> Result<Self, Failure> {
        let mut sources = Self { sources: Vec::new(), paths: HashMap::new() };
        sources.add(&request.arguments.template, &request.source)?;
        for (file, source) in request.arguments.with.iter().zip(&request.more) {
            sources.add(file, source)?;
        }
        Ok(sources)
    }

    fn add(&mut self, path: &Path, source: &'a str) -> Result<(), Failure> {
        let shown = shown(path);
        let name = match path.file_name() {
            Some(name) if path != Path::new("-") => name.to_string_lossy().into_owned(),
            _ => shown.clone(),
        };
        if let Some(first) = self.paths.insert(name.clone(), shown.clone()) {
            return Err(Failure::usage(format!(
                "`{first}` and `{shown}` would both be the template `{name}`"
            ))
            .advise("rename one of them"));
        }
        self.sources.push((name, source));
        Ok(())
    }

    /// What the user calls the source `name`.
    fn path(&self, name: &str) -> String {
        self.paths.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }
}

pub(super) fn render(request: &Request<'_>) -> Result<Outcome, Failure> {
    let sources = Sources::of(request)?;
    let result = if request.arguments.explain {
        pass::<Segments>(request, &sources)
    } else {
        pass::<Off>(request, &sources)
    };
    result.map_err(|error| failure(&error, request, &sources))
}

/// Parses and runs the set.
fn pass<P: Explained>(request: &Request<'_>, sources: &Sources<'_>) -> Result<Outcome, Error> {
    let limits = &request.limits;
    let missing_key = if request.arguments.strict { MissingKey::Error } else { MissingKey::Invalid };
    let functions = Functions::none();
    let started = Instant::now();
    let mut set = Set::new(Options { missing_key, ..Options::default() }, functions);
    for (name, source) in &sources.sources {
        set.parse(name, source, &Budget::new(limits.clone()))?;
    }
    let compile = started.elapsed();

    let started = Instant::now();
    let budget = Budget::new(limits.clone());
    let calls = Calls::new();
    let heap = Heap::new(&budget);
    let mut output = Output::<P>::new(&budget);
    let context = Context { heap: &heap, functions, calls: &calls, templates: &(), first_template: 0 };
    let (entry, _) = sources.sources.first().expect("the template itself is the first");
    set.execute(entry, &request.variables, &context, &mut output)?;
    let usage =
        Usage { compile, render: started.elapsed(), steps: budget.steps_used(), bytes: budget.bytes_peak() };
    let written = output.finish();
    let origin = |site: Site| {
        let place = set.place(site, 0)?;
        Some(report::Origin {
            template: sources.path(&place.template),
            line: place.line,
            column: place.column,
        })
    };
    let pieces = P::pieces(&written, origin);
    Ok(Outcome { text: written.into_text()?, pieces, usage })
}

fn failure(error: &Error, request: &Request<'_>, sources: &Sources<'_>) -> Failure {
    let failure = Failure::template(error, |name| sources.path(name));
    let failure = advice::about_limit(failure, error, &request.limits);
    let message = error.message();
    if message.contains(": template \"") && message.ends_with(" not defined") {
        return failure.advise("`--with FILE` adds the templates of another file");
    }
    failure
}
