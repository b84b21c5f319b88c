//! Loads templates by name from files in one directory.

use std::{
    borrow::Cow,
    cell::RefCell,
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use hinagata::source::{Directory, Refused};
use hinagata_template::{Language, SourceText, Sources};
use hinagata_value::{Error, LimitKind, Limits, Place, Result};

use crate::input::system_message;

/// Maximum number of files that are searched for similar names.
const MOST_NAMES: usize = 1_000;

/// The source of the templates of one render.
pub(crate) struct Files {
    root: Option<Directory>,
    /// The file name extension of the template itself, and its language.
    ending: Option<(String, Language)>,
    limits: Limits,
    /// Why a name was not found although an entry with that name exists.
    remarks: RefCell<Vec<String>>,
}

impl Files {
    /// The files in `root`. Without a root, there are none.
    ///
    /// Those whose names end as `template` does are written in its language, `engine`; the names of all
    /// others tell theirs.
    pub(crate) fn new(root: Option<Directory>, template: &Path, engine: Language, limits: Limits) -> Self {
        let ending = ending(template).map(|ending| (ending, engine));
        Self { root, ending, limits, remarks: RefCell::default() }
    }

    /// Remarks about names that were not found.
    pub(crate) fn remarks(&self) -> Vec<String> {
        self.remarks.borrow().clone()
    }

    /// Adds `remark` once, even if the name is looked up several times.
    fn add_remark(&self, remark: String) {
        let mut remarks = self.remarks.borrow_mut();
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
    }

    fn language_of(&self, name: &str) -> Language {
        match (&self.ending, ending(Path::new(name))) {
            (Some((known, engine)), Some(ending)) if *known == ending => *engine,
            _ => Language::from_file_name(name),
        }
    }

    fn read(&self, name: &str) -> Result<Option<String>> {
        let Some(root) = &self.root else { return Ok(None) };
        match root.file(&plain_name(name)) {
            Ok((file, _)) => read_source(name, file, &self.limits).map(Some),
            Err(Refused::Missing) => Ok(None),
            Err(Refused::NoFile) => {
                let directory = root.path().join(name).is_dir();
                let what = if directory { "a directory" } else { "not a regular file" };
                self.add_remark(format!("`{name}` is {what}"));
                Ok(None)
            }
            Err(Refused::Outside) => {
                let root = root.path().display();
                Err(Error::security(format!("template '{name}' is outside of its directory")).with_hint(
                    format!("only files in `{root}` can be loaded; `--root` sets another directory"),
                ))
            }
            Err(Refused::Unreadable(error)) => Err(unreadable_error(name, error)),
        }
    }
}

impl Sources for Files {
    fn source(&self, name: &str) -> Result<Option<SourceText>> {
        Ok(self.read(name)?.map(|text| SourceText::new(self.language_of(name), text)))
    }

    fn names(&self) -> Vec<String> {
        self.root.as_ref().map(|root| names_beneath(root.path())).unwrap_or_default()
    }
}

/// The name without the steps that lead nowhere, as in `./a.md`.
fn plain_name(name: &str) -> Cow<'_, str> {
    if name.split('/').any(|part| part == ".") {
        Cow::Owned(name.split('/').filter(|part| *part != ".").collect::<Vec<_>>().join("/"))
    } else {
        Cow::Borrowed(name)
    }
}

fn ending(path: &Path) -> Option<String> {
    path.extension().map(|ending| ending.to_string_lossy().into_owned())
}

/// The text of a template source, at most as large as the limits allow.
pub(crate) fn read_source(name: &str, reader: impl Read, limits: &Limits) -> Result<String> {
    let mut bytes = Vec::new();
    let most = (limits.source as u64).saturating_add(1);
    reader.take(most).read_to_end(&mut bytes).map_err(|error| unreadable_error(name, error))?;
    if bytes.len() > limits.source {
        let message = format!("template '{name}' is larger than {} bytes", limits.source);
        return Err(Error::limit_reached(LimitKind::Source, message));
    }
    String::from_utf8(bytes).map_err(|error| not_utf8(name, &error))
}

/// The path of `name` in `root`, for messages.
pub(crate) fn join_name(root: &Path, name: &str) -> PathBuf {
    if root == Path::new(".") { PathBuf::from(name) } else { root.join(name) }
}

fn unreadable_error(name: &str, error: io::Error) -> Error {
    Error::runtime(format!("cannot read template '{name}': {}", system_message(&error))).with_source(error)
}

fn not_utf8(name: &str, error: &std::string::FromUtf8Error) -> Error {
    let (bytes, end) = (error.as_bytes(), error.utf8_error().valid_up_to());
    let valid = String::from_utf8_lossy(&bytes[..end]);
    let start = valid.rfind('\n').map_or(0, |at| at + 1);
    let line = bytes[start..].split(|byte| *byte == b'\n').next().unwrap_or_default();
    let place = Place {
        template: name.to_owned(),
        line: 1 + valid.matches('\n').count() as u32,
        column: 1 + valid[start..].chars().count() as u32,
        span: None,
        excerpt: Some(String::from_utf8_lossy(line).trim_end_matches('\r').to_owned()),
    };
    Error::syntax("the template is not UTF-8").with_place(|| place).with_hint("save the file as UTF-8")
}

/// The names of files in `root`, without hidden ones. Links are not followed.
fn names_beneath(root: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut directories = vec![String::new()];
    let mut seen = 0;
    while let Some(directory) = directories.pop() {
        let Ok(entries) = fs::read_dir(root.join(&directory)) else { continue };
        for entry in entries.flatten() {
            seen += 1;
            if seen > MOST_NAMES {
                return names;
            }
            let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else { continue };
            let path = if directory.is_empty() { name.clone() } else { format!("{directory}/{name}") };
            match kind {
                _ if name.starts_with('.') => {}
                _ if kind.is_dir() => directories.push(path),
                _ if kind.is_file() => names.push(path),
                _ => {}
            }
        }
    }
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use hinagata_value::ErrorKind;

    use super::*;

    fn files(contents: &[(&str, &[u8])], limits: Limits) -> (tempfile::TempDir, Files) {
        let place = tempfile::tempdir().expect("a temporary directory");
        for (name, content) in contents {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().expect("has one")).expect("made");
            fs::write(path, content).expect("written");
        }
        let root = Directory::open(place.path()).expect("opens").expect("is there");
        (place, Files::new(Some(root), Path::new("main.tmpl"), Language::Jinja, limits))
    }

    #[test]
    fn a_file_is_found_by_its_name_and_its_name_tells_the_language() {
        let (_place, files) =
            files(&[("a.md", b"A"), ("sub/b.gotmpl", b"B"), ("c.tmpl", b"C")], Limits::default());
        let found = |name| {
            files
                .source(name)
                .expect("can be read")
                .map(|source| (source.language(), source.text().to_owned()))
        };
        assert_eq!(found("a.md"), Some((Language::Jinja, "A".to_owned())));
        assert_eq!(found("sub/b.gotmpl"), Some((Language::Go, "B".to_owned())));
        assert_eq!(found("c.tmpl"), Some((Language::Jinja, "C".to_owned())), "as the template itself");
        assert_eq!(found("./sub/./b.gotmpl").map(|(_, text)| text), Some("B".to_owned()));
        assert_eq!(found("b.gotmpl"), None);
    }

    #[test]
    fn the_limit_on_sources_is_exact() {
        let limits = Limits { source: 4, ..Limits::default() };
        let (_place, files) = files(&[("four", b"1234"), ("five", b"12345")], limits);
        assert!(files.source("four").expect("fits").is_some());
        let error = files.source("five").expect_err("is too large");
        assert_eq!(error.limit(), Some(LimitKind::Source));
    }

    #[test]
    fn what_is_not_utf8_is_shown_where_it_is_not() {
        let (_place, files) = files(&[("latin", b"one\nd\xc3\xa9j\xe0 vu\r\nthree")], Limits::default());
        let error = files.source("latin").expect_err("is latin-1");
        let place = error.place().expect("is known");
        assert_eq!((error.kind(), place.line, place.column), (ErrorKind::Syntax, 2, 4));
        assert_eq!(place.excerpt.as_deref(), Some("déj\u{fffd} vu"));
    }

    #[test]
    fn names_outside_are_a_matter_of_security_and_missing_ones_are_not() {
        let (_place, files) = files(&[("sub/b", b"B")], Limits::default());
        for name in ["../x", "/etc/passwd", "sub/../sub/b"] {
            assert_eq!(files.source(name).expect_err(name).kind(), ErrorKind::Security, "{name}");
        }
        for name in ["x", "sub", "sub/b/c", ""] {
            assert!(files.source(name).expect(name).is_none(), "{name}");
        }
        assert_eq!(files.remarks()[0], "`sub` is a directory");
    }

    #[test]
    fn near_names_come_from_the_whole_tree_but_not_from_hidden_files() {
        let (_place, files) =
            files(&[("a", b""), ("sub/deep/b", b""), (".git/c", b""), (".d", b"")], Limits::default());
        assert_eq!(files.names(), ["a", "sub/deep/b"]);
    }

    #[test]
    fn without_a_root_there_is_nothing() {
        let files = Files::new(None, Path::new("-"), Language::Jinja, Limits::default());
        assert!(files.source("/etc/passwd").expect("is no error").is_none());
        assert_eq!(files.names(), [] as [&str; 0]);
    }
}
