//! A source as an editor needs it: colours, and what is wrong. It saves and runs nothing.

use std::ops::Range;

use hinagata_document::{
    Code, Diagnostic, Error, Place, Reason, front_matter::split_front_matter, json, yaml,
};
use hinagata_template::{Language, Options, Template, highlight_source};
use hinagata_value::{HighlightToken, Limits};

use super::Engine;

/// The largest source, in bytes.
const LARGEST: usize = 1 << 20;

/// What a source is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// A template, perhaps behind front matter.
    Template(Language),
    /// YAML.
    Yaml,
    /// JSON.
    Json,
    /// TOML.
    Toml,
    /// Python.
    Python,
    /// Plain text.
    Text,
}

impl SourceKind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Template(Language::Jinja),
        Self::Template(Language::Go),
        Self::Yaml,
        Self::Json,
        Self::Toml,
        Self::Python,
        Self::Text,
    ];

    /// The name for programs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Template(language) => language.as_str(),
            Self::Yaml => "yaml",
            Self::Json => "json",
            Self::Toml => "toml",
            Self::Python => "python",
            Self::Text => "text",
        }
    }

    /// The kind called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The kind of a file with this name.
    #[must_use]
    pub fn from_file_name(path: &str) -> Self {
        let ending = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, ending)| ending);
        match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("yaml" | "yml") => Self::Yaml,
            Some("json") => Self::Json,
            Some("toml") => Self::Toml,
            Some("py") => Self::Python,
            Some("txt") if path.ends_with("vocab.txt") => Self::Text,
            _ => Self::Template(Language::from_file_name(path)),
        }
    }
}

/// A source as an editor needs it. All ranges count bytes.
#[derive(Debug)]
pub struct SourceView {
    /// What it is written in.
    pub kind: SourceKind,
    /// The pieces to colour, in order.
    pub tokens: Vec<HighlightToken>,
    /// What is wrong, each with its range.
    pub findings: Vec<(Diagnostic, Range<usize>)>,
    /// The variables that it reads, as paths.
    pub variables: Vec<(String, Range<usize>)>,
    /// The templates that it includes, extends or imports.
    pub includes: Vec<(String, Range<usize>)>,
}

impl Engine {
    /// Looks at `text`, the unsaved content of the file `path`.
    ///
    /// # Errors
    /// Code `validation` for a text of more than 1 MiB.
    pub fn view_source(&self, kind: SourceKind, path: &str, text: &str) -> crate::Result<SourceView> {
        if text.len() > LARGEST {
            let message = format!("a source has at most {} KiB", LARGEST >> 10);
            return Err(Error::new(Code::Validation, message).with_reason(Reason::Size));
        }
        let mut view = SourceView {
            kind,
            tokens: Vec::new(),
            findings: Vec::new(),
            variables: Vec::new(),
            includes: Vec::new(),
        };
        match kind {
            SourceKind::Template(language) => {
                self.view_template(language, path, text, &mut view);
            }
            SourceKind::Yaml => view.add_error(path, text, yaml::parse(path, text, text, 1).err()),
            SourceKind::Json => view.add_error(path, text, json::parse(path, text).err()),
            SourceKind::Toml => {
                for (message, place) in hinagata_document::toml::parse(path, text).err().unwrap_or_default() {
                    let error = Error::definition(Reason::Syntax, message);
                    view.add_error(path, text, Some(place.into_iter().fold(error, Error::at)));
                }
            }
            SourceKind::Python | SourceKind::Text => {}
        }
        Ok(view)
    }

    /// What is wrong with the text of the file `path`, as far as its parser can tell.
    #[must_use]
    pub fn source_findings(&self, path: &str, text: &str) -> Vec<Diagnostic> {
        let kind = SourceKind::from_file_name(path);
        let view = self.view_source(kind, path, text);
        view.map(|view| view.findings.into_iter().map(|(found, _)| found).collect()).unwrap_or_default()
    }

    fn view_template(&self, language: Language, path: &str, text: &str, view: &mut SourceView) {
        let (template, base, line) = match split_front_matter(path, text) {
            Ok(split) => (split.template, text.len() - split.template.len(), split.first_line),
            Err(error) => {
                view.add_error(path, text, Some(error));
                (text, 0, 1)
            }
        };
        let (snapshot, store) = self.current();
        let tools = self.tools(&snapshot, store.as_deref());
        let options = tools.map_or_else(Options::default, |tools| tools.options.clone());
        let limits = Limits::default();
        view.tokens = highlight_source(language, template, &options, &limits);
        let shift = |range: Range<usize>| range.start + base..range.end + base;
        for token in &mut view.tokens {
            (token.start, token.end) = (token.start + base, token.end + base);
        }
        let range = |start: u32, end: u32| shift(start as usize..end as usize);
        match Template::compile(language, path, template, &options, &limits) {
            Ok(compiled) => {
                let analysis = compiled.analysis();
                let used = analysis.variables.iter();
                view.variables = used
                    .map(|used| (used.path.to_string(), range(used.position.start, used.position.end)))
                    .collect();
                for used in &analysis.templates {
                    let place = range(used.position.start, used.position.end);
                    view.includes.extend(used.names.iter().map(|name| (name.clone(), place.clone())));
                }
            }
            Err(error) => {
                let mut error = Error::from(error);
                if let Some(place) = error.place().cloned() {
                    let moved = place.line.saturating_add(line - 1);
                    error = error.at(Place::at_line(path, text, moved, place.column));
                }
                view.add_error(path, text, Some(error));
            }
        }
    }
}

impl SourceView {
    fn add_error(&mut self, path: &str, text: &str, error: Option<Error>) {
        let Some(error) = error else { return };
        let range = error.place().map_or(0..0, |place| range_at(text, place.line, place.column));
        self.findings.push((Diagnostic::error(path, error), range));
    }
}

/// The word or character at a line and a column, which count characters from 1; the whole line without a column.
fn range_at(text: &str, line: u32, column: u32) -> Range<usize> {
    let mut start = 0;
    for _ in 1..line.max(1) {
        match text[start..].find('\n') {
            Some(end) => start += end + 1,
            None => break,
        }
    }
    let rest = text[start..].split('\n').next().unwrap_or_default().trim_end_matches('\r');
    let Some(skipped) = column.checked_sub(1) else { return start..start + rest.len() };
    let from = rest.char_indices().nth(skipped as usize).map_or(rest.len(), |(at, _)| at);
    let word = rest[from..].find(|c: char| !is_word(c)).unwrap_or(rest.len() - from);
    let one = rest[from..].chars().next().map_or(0, char::len_utf8);
    start + from..start + from + word.max(one)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
