//! Outlines of files: their lines without the bodies of functions.
//!
//! An outline has lines of the file, unchanged, and marks such as `⋯ 12 lines` in place of lines that are folded. Nothing
//! is invented, and the number of every line is known.
//!
//! | what | in the outline |
//! |---|---|
//! | functions, methods, types | their heads; the members of types; bodies of three lines or more are folded |
//! | comments and strings that describe them | the first sentence, up to two lines of text: it says what something is |
//! | other comments, licences | the same |
//! | fields, imports, constants, statements | up to twelve in a row; of more, the first six |
//! | lists, tables, long strings | their first and last line |
//! | Markdown | headings |
//! | JSON, YAML, TOML | two levels |
//!
//! Outlines are made by folding, not by grammars. A lexer, driven by a table of languages, knows strings, comments and
//! brackets. The words before a bracket say whether it opens a body, which is folded, or a container, which is walked. So
//! an outline needs no correct program, takes about as long as packing the file, and a language is one row of the table.
//! A file whose brackets or strings do not close is cut: its head and its tail stay, and the mark between them says why.
//! The reasons are in `docs/design/outlines.md`.
//!
//! ```
//! use hinagata_context::outline::{OutlineKind, OutlinePart, outline_text};
//!
//! let text = "\
//! /// Burns some oil.
//! fn burn(hours: u32) -> u32 {
//!     let oil = hours * 7;
//!     println!(\"{oil}\");
//!     oil
//! }
//! ";
//! let outline = outline_text("src/lantern.rs", text);
//! assert_eq!(outline.kind(), OutlineKind::Outlined);
//! assert_eq!(outline.to_string(), "\
//! /// Burns some oil.
//! fn burn(hours: u32) -> u32 {
//!     ⋯ 3 lines
//! }
//! ");
//! assert_eq!(outline.parts()[2], OutlinePart::Lines { first: 6, text: "}\n" });
//! ```

mod braces;
mod data;
mod indented;
mod language;
mod lexer;
mod markdown;
mod sheet;
mod table;

use std::fmt;

pub use language::Language;
use language::Shape;

/// The outline of a file: lines of the file, and marks in place of folded lines.
#[derive(Clone, Debug)]
pub struct Outline<'t> {
    language: Option<Language>,
    kind: OutlineKind,
    parts: Vec<OutlinePart<'t>>,
}

/// How an outline was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutlineKind {
    /// By the structure of the file.
    Outlined,
    /// Something that starts on `line` does not close, so the structure is unknown: the head and the tail of the file
    /// are left.
    Cut {
        /// The number of the line, from 1.
        line: usize,
    },
    /// There is no outline for the language of the file: everything is folded.
    Unknown,
}

/// Consecutive lines of a file that are kept or folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutlinePart<'t> {
    /// Lines of the file, unchanged, with their ends.
    Lines {
        /// The number of the first line, from 1.
        first: usize,
        /// The lines.
        text: &'t str,
    },
    /// Folded lines.
    Fold {
        /// The number of the first folded line, from 1.
        first: usize,
        /// How many lines are folded.
        count: usize,
        /// The blanks before the first of them that is not blank.
        indent: &'t str,
        /// For [`OutlineKind::Cut`]: the number of the line on which something starts that does not close.
        unclosed: Option<usize>,
    },
}

/// The outline of a file, in the language that its path or its first line names.
#[must_use]
pub fn outline_text<'t>(path: &str, text: &'t str) -> Outline<'t> {
    match Language::from_file(path, text) {
        Some(language) => outline_source(language, text),
        None => fold_everything(text),
    }
}

/// The outline of a text in a known language.
#[must_use]
pub fn outline_source(language: Language, text: &str) -> Outline<'_> {
    match language.0.shape {
        Shape::Braces => braces::fold_braces(language, text),
        Shape::Indented => indented::fold_indented(language, text),
        Shape::Markdown => markdown::fold_markdown(language, text),
        Shape::Json => data::fold_json(language, text),
        Shape::Yaml => data::fold_yaml(language, text),
        Shape::Toml => data::fold_toml(language, text),
    }
}

fn fold_everything(text: &str) -> Outline<'_> {
    let count = text.split_inclusive('\n').count();
    let fold = OutlinePart::Fold { first: 1, count, indent: "", unclosed: None };
    let parts = if count == 0 { Vec::new() } else { vec![fold] };
    Outline { language: None, kind: OutlineKind::Unknown, parts }
}

impl<'t> Outline<'t> {
    /// The language of the file; `None` for one without outlines.
    #[must_use]
    pub fn language(&self) -> Option<Language> {
        self.language
    }

    /// How the outline was made.
    #[must_use]
    pub fn kind(&self) -> OutlineKind {
        self.kind
    }

    /// The parts of the outline, in the order of the file. Together they cover all of its lines.
    #[must_use]
    pub fn parts(&self) -> &[OutlinePart<'t>] {
        &self.parts
    }

    /// How many lines are folded.
    #[must_use]
    pub fn folded_lines(&self) -> usize {
        self.parts.iter().map(OutlinePart::folded_lines).sum()
    }
}

impl OutlinePart<'_> {
    fn folded_lines(&self) -> usize {
        match self {
            Self::Lines { .. } => 0,
            Self::Fold { count, .. } => *count,
        }
    }
}

impl fmt::Display for Outline<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| part.fmt(formatter))
    }
}

impl fmt::Display for OutlinePart<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lines { text, .. } => formatter.write_str(text),
            Self::Fold { count, indent, unclosed, .. } => {
                let noun = if *count == 1 { "line" } else { "lines" };
                write!(formatter, "{indent}⋯ {count} {noun}")?;
                if let Some(line) = unclosed {
                    write!(formatter, ", not outlined: a bracket or string of line {line} does not close")?;
                }
                formatter.write_str("\n")
            }
        }
    }
}
