//! Renders template files and their includes.
//!
//! A name is looked up in the directory of the rendered template and in its `baseDir`, if it has one; a name that
//! starts with `./` or `../`, in the directory of the file that includes it. Nothing is read outside of those
//! directories, whatever a template names and wherever links lead. A file that the rules leave out of packed contexts
//! cannot be included either: it is an error, even where a missing file is ignored. Secrets are redacted as the guard
//! says, before a template sees them.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use hinagata_template::{Language, Options, Render, SourceText, Sources, Template};
use hinagata_value::Limits;
use serde_json::{Map, Value};

use crate::{
    error::{Error, Result, system_cause},
    guard::{Guard, Refusal, existing_path, plain_path},
    options::{Encoding, TemplateFile, TemplateOptions},
    report::LeftOutReason,
};

/// Renders the template of `file` with `variables`; `base` is the directory of the context.
///
/// `variables` override the variables of the file. `guard` decides what may be read.
///
/// # Errors
/// The file is unreadable or withheld, or the template fails.
pub fn render_file(
    file: &TemplateFile,
    base: &Path,
    variables: &Map<String, Value>,
    options: &TemplateOptions,
    guard: &Guard,
) -> Result<String> {
    let directory = plain_path(&file.base.as_ref().map_or_else(|| base.to_owned(), |own| base.join(own)));
    let path = plain_path(&directory.join(&file.file));
    let beside = path.parent().map_or_else(|| directory.clone(), Path::to_owned);
    let roots = std::iter::once(beside).chain(file.base.as_ref().map(|_| directory)).collect();
    let files = Files::new(roots, file.encoding, &options.limits, guard);
    let source = files.read(&path).map_err(|failure| match failure {
        Unread::Refused((reason, detail)) => {
            Error::Withheld { path: guard.display_path(&path), reason, detail, template: None }
        }
        Unread::Failed(message) => Error::TemplateFile { file: file.file.clone(), message },
    })?;
    let name = path.to_string_lossy();
    let bag = crate::apply_defaults(&file.variables, variables);
    render(&name, Language::from_file_name(&name), &source, &files, &bag, options)
}

/// Renders the template `source`, called `name`, with `variables`; it can include files of `base` that `guard` allows.
///
/// # Errors
/// The template fails or names a withheld file.
pub fn render_text(
    name: &str,
    source: &str,
    base: &Path,
    variables: &Map<String, Value>,
    options: &TemplateOptions,
    guard: &Guard,
) -> Result<String> {
    let files = Files::new(vec![plain_path(base)], Encoding::default(), &options.limits, guard);
    render(name, Language::Jinja, source, &files, variables, options)
}

fn render(
    name: &str,
    engine: Language,
    source: &str,
    files: &Files<'_>,
    variables: &Map<String, Value>,
    options: &TemplateOptions,
) -> Result<String> {
    let mut compile = Options::default();
    compile.jinja.keep_trailing_newline = options.keep_trailing_newline;
    let template = Template::compile(engine, name, source, &compile, &options.limits)?;
    let render = Render::new().with_limits(options.limits.clone()).with_sources(files);
    render.render_text(&template, &Value::Object(variables.clone())).map_err(|error| files.explain(error))
}

/// The files that a template can include.
struct Files<'f> {
    /// The directory of the template, and its base directory if it has one.
    roots: Vec<PathBuf>,
    encoding: Encoding,
    limits: &'f Limits,
    guard: &'f Guard,
    /// The first withheld file that was named: the error of a template cannot carry the reason.
    withheld: Mutex<Option<(PathBuf, Refusal)>>,
}

/// Why a file was not read.
enum Unread {
    /// A rule withholds it.
    Refused(Refusal),
    /// It is missing, unreadable or not text.
    Failed(String),
}

impl<'f> Files<'f> {
    fn new(roots: Vec<PathBuf>, encoding: Encoding, limits: &'f Limits, guard: &'f Guard) -> Self {
        Self { roots, encoding, limits, guard, withheld: Mutex::default() }
    }

    /// The path of the file that `name` in the template `from` refers to, if it exists.
    fn find(&self, from: &str, name: &str) -> io::Result<Option<PathBuf>> {
        let from_roots = || self.roots.iter().map(|root| plain_path(&root.join(name))).collect();
        let candidates: Vec<PathBuf> = if name.starts_with("./") || name.starts_with("../") {
            // A template without a file belongs to the base directory.
            let beside = Path::new(from).parent().filter(|beside| !beside.as_os_str().is_empty());
            beside.map_or_else(from_roots, |beside| vec![plain_path(&beside.join(name))])
        } else {
            from_roots()
        };
        for path in candidates.into_iter().filter(|path| self.is_inside(path)) {
            if existing_path(&path)?.is_some_and(|real| real.is_file()) {
                return Ok(Some(path));
            }
        }
        Ok(None)
    }

    /// Whether `path`, as written, is in the directories.
    fn is_inside(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    /// Whether `real`, a path without links, is in the directories.
    fn is_beneath(&self, real: &Path) -> bool {
        self.roots.iter().any(|root| root.canonicalize().is_ok_and(|root| real.starts_with(root)))
    }

    /// Reads a template, at most just beyond the size limit of templates.
    fn read(&self, path: &Path) -> Result<String, Unread> {
        let failed = |error: io::Error| Unread::Failed(system_cause(&error));
        if let Some(refusal) = self.guard.refuses_path(path) {
            return Err(Unread::Refused(refusal));
        }
        if !path.metadata().map_err(failed)?.is_file() {
            return Err(Unread::Failed("not a regular file".to_owned()));
        }
        let most = u64::try_from(self.limits.source).unwrap_or(u64::MAX).saturating_mul(2).saturating_add(2);
        let mut bytes = Vec::new();
        File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes)).map_err(failed)?;
        if bytes.len() as u64 == most {
            return Err(Unread::Failed(format!("it has more than {} bytes", self.limits.source)));
        }
        let text = self.encoding.decode(bytes).map_err(|why| {
            Unread::Failed(format!("{why}; set `encoding` to latin1 or utf16le if the file is not UTF-8"))
        })?;
        self.guard.redact_text(path, text).map_err(Unread::Refused)
    }

    /// The error of a failed template; if it named a withheld file, the error about that file.
    fn explain(&self, error: hinagata_value::Error) -> Error {
        match self.withheld.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some((path, (reason, detail))) => Error::Withheld {
                path: self.guard.display_path(&path),
                reason,
                detail,
                template: Some(Box::new(error)),
            },
            None => error.into(),
        }
    }

    /// Records a withheld file; returns the error that ends the template.
    fn withhold(&self, path: &Path, refusal: Refusal) -> hinagata_value::Error {
        let message = format!("'{}' is withheld: {}", self.guard.display_path(path), refusal.1);
        let mut first = self.withheld.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert((path.to_owned(), refusal));
        hinagata_value::Error::security(message)
    }
}

impl Sources for Files<'_> {
    fn source(&self, name: &str) -> hinagata_value::Result<Option<SourceText>> {
        let path = Path::new(name);
        let unreadable = |why: &str| {
            hinagata_value::Error::runtime(format!(
                "'{}' cannot be read: {why}",
                self.guard.display_path(path)
            ))
        };
        // `join` returns names that it does not find unchanged; they are not paths in the directories.
        if !path.is_absolute() && !self.is_inside(path) {
            return Ok(None);
        }
        let Some(real) = existing_path(path).map_err(|error| unreadable(&system_cause(&error)))? else {
            return Ok(None);
        };
        if !real.is_file() || !self.is_inside(path) {
            return Ok(None);
        }
        if !self.is_beneath(&real) {
            let refusal =
                (LeftOutReason::Outside, "a link leads out of the template's directories".to_owned());
            return Err(self.withhold(path, refusal));
        }
        match self.read(path) {
            Ok(text) => Ok(Some(SourceText::new(Language::from_file_name(name), text))),
            Err(Unread::Refused(refusal)) => Err(self.withhold(path, refusal)),
            Err(Unread::Failed(why)) => Err(unreadable(&why)),
        }
    }

    fn join<'n>(&self, from: &str, name: &'n str) -> hinagata_value::Result<Cow<'n, str>> {
        let found = self.find(from, name).map_err(|error| {
            hinagata_value::Error::runtime(format!("'{name}' cannot be read: {}", system_cause(&error)))
        })?;
        Ok(match found {
            Some(path) => Cow::Owned(path.to_string_lossy().into_owned()),
            None => Cow::Borrowed(name),
        })
    }
}
