//! Jinja templates: settings, files beside the template, and what an error should say about both.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use clap::ValueEnum;
use hinagata_jinja::{Data, ParseOptions, Run, Settings, Template, UndefinedMode};
use hinagata_value::{Budget, Calls, Error, ErrorKind, Functions, Heap, Keep, Off, Output, Segments, Site};

use super::{
    Request, advice, directory_of,
    report::{self, Explained, Outcome, Usage},
    shown,
};
use crate::{beneath::Directory, clock, failure::Failure, files::Files, input::reason};

#[derive(clap::Args)]
#[command(next_help_heading = "Jinja")]
pub(super) struct JinjaOptions {
    /// The directory that includes, imports and parents are loaded from [default: the template's own]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,

    /// What a variable that is not there gives [default: empty]
    #[arg(long)]
    undefined: Option<Undefined>,

    /// Remove the newline behind a block tag
    #[arg(long)]
    trim_blocks: bool,

    /// Remove the spaces before a block tag that starts its line
    #[arg(long)]
    lstrip_blocks: bool,

    /// Keep the last newline of a template
    #[arg(long)]
    keep_trailing_newline: bool,

    /// Escape what expressions print for HTML
    #[arg(long)]
    autoescape: bool,

    /// Render as chat templates of models are rendered: raise_exception, strftime_now (in UTC),
    /// generation blocks, and --trim-blocks --lstrip-blocks --undefined jinja
    #[arg(long)]
    chat: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Undefined {
    /// Nothing, and so does everything inside it
    Empty,
    /// Nothing, but looking inside it is an error, as in Jinja2
    Jinja,
    /// An error
    Error,
    /// The expression itself
    Debug,
}

impl JinjaOptions {
    /// The options of this language, and whether each was given.
    pub(super) fn given(&self) -> [(&'static str, bool); 7] {
        [
            ("--root", self.root.is_some()),
            ("--undefined", self.undefined.is_some()),
            ("--trim-blocks", self.trim_blocks),
            ("--lstrip-blocks", self.lstrip_blocks),
            ("--keep-trailing-newline", self.keep_trailing_newline),
            ("--autoescape", self.autoescape),
            ("--chat", self.chat),
        ]
    }

    fn parse_options(&self) -> ParseOptions {
        ParseOptions {
            trim_blocks: self.trim_blocks || self.chat,
            lstrip_blocks: self.lstrip_blocks || self.chat,
            keep_trailing_newline: self.keep_trailing_newline,
            generation: self.chat,
            ..ParseOptions::default()
        }
    }

    fn settings(&self, strict: bool) -> Settings {
        let undefined = match self.undefined {
            _ if strict => UndefinedMode::Error,
            None if self.chat => UndefinedMode::Jinja,
            None | Some(Undefined::Empty) => UndefinedMode::Empty,
            Some(Undefined::Jinja) => UndefinedMode::Jinja,
            Some(Undefined::Error) => UndefinedMode::Error,
            Some(Undefined::Debug) => UndefinedMode::Debug,
        };
        Settings {
            undefined,
            autoescape: self.autoescape,
            immutable: self.chat,
            chat_host: self.chat,
            now: clock::now(),
        }
    }
}

/// The template that the user named: what it is called in the render, and where others are.
struct Entry {
    name: String,
    shown: String,
    root: Option<PathBuf>,
}

impl Entry {
    fn new(path: &Path, root: Option<&Path>) -> Self {
        let shown = shown(path);
        if path == Path::new("-") {
            return Self { name: shown.clone(), shown, root: root.map(Path::to_owned) };
        }
        let root = root.unwrap_or_else(|| directory_of(path));
        Self { name: name_beneath(path, root), shown, root: Some(root.to_owned()) }
    }

    fn open_root(&self) -> Result<Option<Directory>, Failure> {
        let open = |root: &PathBuf| {
            Directory::open(root).map_err(|error| {
                Failure::usage(format!("cannot open the directory `{}`: {}", root.display(), reason(&error)))
            })
        };
        self.root.as_ref().map(open).transpose()
    }

    /// What the user calls the template `name`.
    fn path(&self, name: &str, files: &Files) -> String {
        match files.path(name) {
            _ if name == self.name => self.shown.clone(),
            Some(path) => path.display().to_string(),
            None => crate::files::joined(self.root.as_deref().unwrap_or(Path::new(".")), name)
                .display()
                .to_string(),
        }
    }
}

/// The name by which the file at `path` would be included; an absolute path, which nothing can be
/// included by, where it is not beneath `root`.
fn name_beneath(path: &Path, root: &Path) -> String {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let path = absolute(path);
    match path.strip_prefix(absolute(root)) {
        Ok(name) => name.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/"),
        Err(_) => path.display().to_string(),
    }
}

pub(super) fn render(request: &Request<'_>) -> Result<Outcome, Failure> {
    let arguments = request.arguments;
    let entry = Entry::new(&arguments.template, arguments.jinja.root.as_deref());
    let files = Files::new(entry.open_root()?, arguments.jinja.parse_options(), request.limits.clone());
    let result = if arguments.explain {
        pass::<Segments>(request, &entry, &files)
    } else {
        pass::<Off>(request, &entry, &files)
    };
    result.map_err(|error| failure(&error, request, &entry, &files))
}

/// Compiles and runs the template.
fn pass<P: Explained>(request: &Request<'_>, entry: &Entry, files: &Files) -> Result<Outcome, Error> {
    let limits = &request.limits;
    let started = Instant::now();
    let options = request.arguments.jinja.parse_options();
    let template = Template::compile(&entry.name, &request.source, &options, limits)?;
    let compile = started.elapsed();

    let started = Instant::now();
    let settings = request.arguments.jinja.settings(request.arguments.strict);
    let budget = Budget::new(limits.clone());
    let (calls, loaded) = (Calls::new(), Keep::new());
    let heap = Heap::new(&budget);
    let mut output = Output::<P>::new(&budget);
    let run = Run {
        heap: &heap,
        settings: &settings,
        loader: files,
        outside: &(),
        functions: Functions::none(),
        calls: &calls,
        loaded: &loaded,
        number: 0,
    };
    run.render(&template, Data::Variables(&request.variables), &mut output)?;
    let usage =
        Usage { compile, render: started.elapsed(), steps: budget.steps_used(), bytes: budget.bytes_peak() };
    let written = output.finish();
    let origin = |site: Site| origin(site, &template, &loaded, |name| entry.path(name, files));
    let pieces = P::pieces(&written, origin);
    Ok(Outcome { text: written.into_text()?, pieces, usage })
}

/// Where a site is: template, line and column.
fn origin(
    site: Site,
    template: &Template,
    loaded: &Keep<Arc<Template>>,
    path: impl Fn(&str) -> String,
) -> Option<report::Origin> {
    // The entry has number 0, the others theirs in the order of loading.
    let template = match (site.template as usize).checked_sub(1) {
        None => template,
        Some(number) => loaded.get(number)?,
    };
    let (line, column) = template.source().line_column(site.node);
    Some(report::Origin { template: path(template.name()), line, column })
}

/// The failure as the user should see it, with advice about files.
fn failure(error: &Error, request: &Request<'_>, entry: &Entry, files: &Files) -> Failure {
    let failure = Failure::template(error, |name| entry.path(name, files));
    let failure = advice::about_limit(failure, error, &request.limits);
    let mut failure = advice::about_variable(failure, error, &request.variables);
    if error.kind() == ErrorKind::NotFound {
        for remark in files.remarks() {
            failure = failure.advise(remark);
        }
        failure = failure.advise(match &entry.root {
            Some(root) => format!("templates are looked for beneath `{}`", root.display()),
            None => "a template from standard input has no directory; `--root DIR` names one".to_owned(),
        });
    }
    failure
}
