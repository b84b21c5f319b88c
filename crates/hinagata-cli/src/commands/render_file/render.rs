//! Rendering a template that loads others by name.

use std::time::Instant;

use hinagata_template::{Render, Template};
use hinagata_value::{Calls, Error, Pass, Written};

use super::{
    Request, advice,
    entry::Entry,
    report::{Outcome, Usage, map_pieces},
};
use crate::{failure::Failure, files::Files};

pub(super) fn render_template(request: &Request<'_>) -> Result<Outcome, Failure> {
    let arguments = request.arguments;
    let entry = Entry::new(&arguments.template, arguments.root.as_deref());
    let files = Files::new(entry.open_root()?, &arguments.template, request.engine, request.limits.clone());
    run_template(request, &entry, &files).map_err(|error| failure(&error, request, &entry, &files))
}

/// Compiles and runs the template.
fn run_template(request: &Request<'_>, entry: &Entry, files: &Files) -> Result<Outcome, Error> {
    let Request { arguments, engine, source, variables, limits, .. } = request;
    let started = Instant::now();
    let template = Template::compile(*engine, &entry.name, source, &request.options(), limits)?;
    let compile = started.elapsed();

    let started = Instant::now();
    let render = Render::new().with_limits(limits.clone()).with_sources(files);
    let calls = Calls::new();
    if !arguments.explain {
        let written = expect_done(render.run_pass(&template, variables, &calls)?)?;
        return Outcome::new(written, None, Usage { compile, render: started.elapsed() });
    }
    let mapped = expect_done(render.run_mapped_pass(&template, variables, &calls)?)?;
    let usage = Usage { compile, render: started.elapsed() };
    let pieces = map_pieces(&mapped.map, |name| entry.path(name));
    let Written { text, marks, .. } = mapped.written;
    Outcome::new(Written { text, marks, ..Written::default() }, Some(pieces), usage)
}

/// The result of a pass. No function here calls other programs.
fn expect_done<T>(pass: Pass<'_, T>) -> Result<T, Error> {
    match pass {
        Pass::Done(result) => Ok(result),
        Pass::Wait(_) => Err(Error::runtime("a function calls another program, which is not possible here")),
    }
}

/// The failure as the user should see it, with advice about variables, files and limits.
fn failure(error: &Error, request: &Request<'_>, entry: &Entry, files: &Files) -> Failure {
    let failure = Failure::from_template(error, |name| entry.path(name));
    let failure = advice::with_limit_hint(failure, error, request.settings);
    let failure = advice::with_variable_hint(failure, error, &request.variables);
    advice::with_template_hint(failure, error, entry.root.as_deref(), files.remarks())
}
