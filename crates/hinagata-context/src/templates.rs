//! Template files, and what they include.
//!
//! A name is looked up beside the template that is rendered and in its base directory; one that starts with `./` or `../`
//! beside the file it stands in. Nothing is read outside of those two directories, whatever a template names and
//! wherever links lead.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, Read as _},
    path::{Component, Path, PathBuf},
};

use hinagata_template::{Engine, Options, Render, SourceText, Sources, Template};
use hinagata_value::Limits;
use serde_json::{Map, Value};

use crate::{
    Error, Result,
    options::{Encoding, TemplateFile, TemplateOptions},
    walk::cause,
};

/// The text that the template of `file` gives with `variables`; `base` is the directory of the context.
///
/// The variables of the file itself lie below `variables`.
///
/// # Errors
/// When the file cannot be read, or the template fails.
pub fn render_file(
    file: &TemplateFile,
    base: &Path,
    variables: &Map<String, Value>,
    options: &TemplateOptions,
) -> Result<String> {
    let directory = file.base.as_ref().map_or_else(|| base.to_owned(), |own| base.join(own));
    let path = plain(&directory.join(&file.file));
    let missing = |error: &io::Error| Error::TemplateFile { file: file.file.clone(), message: cause(error) };
    let source = read(&path, file.encoding, &options.limits).map_err(|error| missing(&error))?;
    let beside = path.parent().map_or_else(|| directory.clone(), Path::to_owned);
    let files =
        Files { roots: [beside, plain(&directory)], encoding: file.encoding, limits: &options.limits };
    let name = path.to_string_lossy();
    render(
        &name,
        Engine::of_file(&name),
        &source,
        &files,
        &crate::above_defaults(&file.variables, variables),
        options,
    )
}

/// The text that the template `source`, called `name`, gives with `variables`; it can include files of `base`.
///
/// # Errors
/// When the template fails.
pub fn render_text(
    name: &str,
    source: &str,
    base: Option<&Path>,
    variables: &Map<String, Value>,
    options: &TemplateOptions,
) -> Result<String> {
    let Some(base) = base else {
        return render(name, Engine::Jinja, source, &hinagata_template::NoSources, variables, options);
    };
    let roots = [plain(base), plain(base)];
    let files = Files { roots, encoding: Encoding::default(), limits: &options.limits };
    render(name, Engine::Jinja, source, &files, variables, options)
}

fn render(
    name: &str,
    engine: Engine,
    source: &str,
    sources: &dyn Sources,
    variables: &Map<String, Value>,
    options: &TemplateOptions,
) -> Result<String> {
    let mut compile = Options::default();
    compile.jinja.keep_trailing_newline = options.keep_trailing_newline;
    let template = Template::compile(engine, name, source, &compile, &options.limits)?;
    let render = Render::new().limits(options.limits.clone()).sources(sources);
    Ok(render.text(&template, &Value::Object(variables.clone()))?)
}

/// The files that a template can include.
struct Files<'f> {
    /// The directory of the template, and its base directory.
    roots: [PathBuf; 2],
    encoding: Encoding,
    limits: &'f Limits,
}

impl Files<'_> {
    fn find(&self, from: &str, name: &str) -> Option<PathBuf> {
        if name.starts_with("./") || name.starts_with("../") {
            // A text that is in no file lies in the base directory.
            let beside = Path::new(from).parent().filter(|beside| !beside.as_os_str().is_empty());
            let beside = beside.unwrap_or(&self.roots[1]);
            return Some(plain(&beside.join(name))).filter(|path| self.is_beneath(path));
        }
        self.roots.iter().map(|root| plain(&root.join(name))).find(|path| self.is_beneath(path))
    }

    /// Whether `path` is a file that really lies in one of the directories.
    fn is_beneath(&self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        real.is_file()
            && self.roots.iter().any(|root| root.canonicalize().is_ok_and(|root| real.starts_with(root)))
    }
}

impl Sources for Files<'_> {
    fn source(&self, name: &str) -> hinagata_value::Result<Option<SourceText>> {
        let path = Path::new(name);
        if !path.is_absolute() && !path.exists() || !self.is_beneath(path) {
            return Ok(None);
        }
        match read(path, self.encoding, self.limits) {
            Ok(text) => Ok(Some(SourceText::new(Engine::of_file(name), text))),
            Err(error) => {
                Err(hinagata_value::Error::runtime(format!("'{name}' cannot be read: {}", cause(&error))))
            }
        }
    }

    fn join<'n>(&self, from: &str, name: &'n str) -> hinagata_value::Result<Cow<'n, str>> {
        Ok(match self.find(from, name) {
            Some(path) => Cow::Owned(path.to_string_lossy().into_owned()),
            None => Cow::Borrowed(name),
        })
    }
}

/// The text of a template; one byte more than templates may have is enough to see that it is too large.
fn read(path: &Path, encoding: Encoding, limits: &Limits) -> io::Result<String> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let most = u64::try_from(limits.source).unwrap_or(u64::MAX).saturating_mul(2).saturating_add(2);
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(encoding.decode(bytes))
}

/// A path without `.` and `..` in its middle.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if plain.file_name().is_some() => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}
