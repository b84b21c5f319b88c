//! What to pack, and how: the section `context` of a configuration.

use std::path::PathBuf;

use hinagata_value::Limits;
use serde_json::{Map, Value};

use crate::frame::Frame;

/// Most files that are packed, unless configured.
pub const MAX_FILES: usize = 64;

/// Most bytes that are packed, unless configured.
pub const MAX_BYTES: u64 = 250_000;

/// What to pack, and how.
///
/// ```
/// use hinagata_context::{ContextOptions, pack};
///
/// let place = tempfile::tempdir()?;
/// std::fs::write(place.path().join("a.md"), "# Lamp\n")?;
/// let packed = pack(&ContextOptions { include: vec!["*.md".into()], ..ContextOptions::new(place.path()) })?;
/// assert_eq!(packed.text, "// File: a.md\n# Lamp\n// End of a.md");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ContextOptions {
    /// The directory that patterns start at.
    pub base: PathBuf,
    /// The directory that no link leads out of, the base directory itself included; none for the base directory.
    pub wall: Option<PathBuf>,
    /// Patterns of files to pack; none stands for the usual text files, `!pattern` leaves out.
    pub include: Vec<String>,
    /// Patterns of files to leave out; one without a slash is matched against the name.
    pub exclude: Vec<String>,
    /// Most files; resources do not count.
    pub max_files: usize,
    /// Most bytes of all contents.
    pub max_bytes: u64,
    /// Most tokens of the text, and the model that counts them.
    pub tokens: Tokens,
    /// Patterns of files that come first.
    pub focus: Vec<String>,
    /// Patterns with how much they matter; files of higher priority come before others. The first that matches counts.
    pub priorities: Vec<(String, f64)>,
    /// Variables of template resources.
    pub variables: Map<String, Value>,
    /// Sections behind the files.
    pub resources: Vec<Resource>,
    /// What is left out.
    pub rules: Rules,
    /// How files stand in the text.
    pub frame: Frame,
    /// How template resources are rendered.
    pub templates: TemplateOptions,
}

impl ContextOptions {
    /// The usual text files of `base`, within the usual budget.
    pub fn new(base: impl Into<PathBuf>) -> Self {
        Self {
            base: base.into(),
            wall: None,
            include: Vec::new(),
            exclude: Vec::new(),
            max_files: MAX_FILES,
            max_bytes: MAX_BYTES,
            tokens: Tokens::default(),
            focus: Vec::new(),
            priorities: Vec::new(),
            variables: Map::new(),
            resources: Vec::new(),
            rules: Rules::default(),
            frame: Frame::default(),
            templates: TemplateOptions::default(),
        }
    }
}

/// How tokens are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// The model whose tokens they are; without one they are estimated.
    pub model: Option<String>,
    /// Most tokens; none sets no limit.
    pub max: Option<usize>,
    /// Whether they are counted although nothing limits them.
    pub count: bool,
}

impl Tokens {
    /// Whether the tokens of files are wanted at all.
    pub(crate) fn is_counting(&self) -> bool {
        self.count || self.max.is_some()
    }
}

/// What is left out of a context beside what patterns say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// What `.gitignore`, `.ignore` and `.hinagataignore` name.
    pub ignore_files: bool,
    /// Files that hold secrets.
    pub secrets: bool,
    /// Directories that tools make, such as `node_modules` and `target`.
    pub builtin: bool,
    /// What links lead to out of the base directory; what patterns name outside of it is no link.
    pub outside: bool,
    /// Whether ignore files count for files that are named without wildcards and for what links lead to, too: whoever
    /// wrote the names is not trusted to know better.
    pub strict: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self { ignore_files: true, secrets: true, builtin: true, outside: true, strict: false }
    }
}

impl Rules {
    /// Those of the program that the plain format comes from: only what patterns and the built-in list say.
    #[must_use]
    pub const fn compat() -> Self {
        Self { ignore_files: false, secrets: false, builtin: true, outside: false, strict: false }
    }
}

/// How templates are rendered.
#[derive(Clone, Debug, Default)]
pub struct TemplateOptions {
    /// Whether the last newline of a template file stays.
    pub keep_trailing_newline: bool,
    /// What a render may use.
    pub limits: Limits,
}

/// A section of the context behind the files.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// The id.
    pub id: String,
    /// The name that is shown in its place.
    pub name: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// What it holds.
    pub kind: ResourceKind,
}

/// What a resource holds.
#[derive(Clone, Debug, PartialEq)]
pub enum ResourceKind {
    /// Files.
    Bundle {
        /// Patterns of files.
        include: Vec<String>,
        /// Patterns of files to leave out.
        exclude: Vec<String>,
        /// The directory that patterns start at, where it is not that of the context.
        base: Option<PathBuf>,
        /// What paths start with.
        virtual_path: Option<String>,
    },
    /// A text that a template makes.
    Template {
        /// The template.
        template: TemplateFile,
        /// What it sees, above the variables of the context.
        variables: Map<String, Value>,
    },
}

/// A template in a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TemplateFile {
    /// The file, from the base directory.
    pub file: String,
    /// The directory it is looked up in, where it is not that of the context; includes are looked up there too. Without
    /// one they are looked up beside the file alone.
    pub base: Option<PathBuf>,
    /// What it sees, below everything else.
    pub variables: Map<String, Value>,
    /// How the file is encoded.
    pub encoding: Encoding,
}

/// How a template file is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8.
    #[default]
    Utf8,
    /// ISO 8859-1.
    Latin1,
    /// UTF-16, little end first.
    Utf16,
}

impl Encoding {
    /// The encoding called `name`, in any of its usual spellings.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "utf8" | "utf-8" | "ascii" => Self::Utf8,
            "latin1" | "binary" | "iso-8859-1" => Self::Latin1,
            "utf16le" | "utf-16le" | "ucs2" | "ucs-2" => Self::Utf16,
            _ => return None,
        })
    }

    /// The text of `bytes`, or why they are none.
    ///
    /// # Errors
    /// What the encoding does not allow.
    pub fn decode(self, bytes: Vec<u8>) -> Result<String, String> {
        match self {
            Self::Utf8 => String::from_utf8(bytes)
                .map_err(|error| format!("byte {} is not valid UTF-8", error.utf8_error().valid_up_to() + 1)),
            Self::Latin1 => Ok(bytes.into_iter().map(char::from).collect()),
            Self::Utf16 => {
                let (pairs, rest) = bytes.as_chunks::<2>();
                let units: Vec<u16> = pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
                let whole = String::from_utf16(&units).ok().filter(|_| rest.is_empty());
                whole.ok_or_else(|| "not valid UTF-16".to_owned())
            }
        }
    }
}
