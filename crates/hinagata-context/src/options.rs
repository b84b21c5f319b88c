//! The options of packing: the section `context` of a configuration.

use std::path::PathBuf;

use hinagata_secrets::SecretPolicy;
use hinagata_tokens::TokenCounter;
use hinagata_value::Limits;
use serde_json::{Map, Value};

use crate::{
    decode::TextEncoding,
    error::{Error, Result},
    frame::Frame,
    kinds::KindRules,
};

/// The default limit of tokens.
pub const MAX_TOKENS: usize = 100_000;

/// A model whose tokens are those of o200k, which are counted without a model.
const USUAL_MODEL: &str = "gpt-5";

/// The default limit of files in the profile of the program that defined the plain format.
pub const COMPAT_MAX_FILES: usize = 64;

/// The default limit of bytes in the profile of the program that defined the plain format.
pub const COMPAT_MAX_BYTES: u64 = 250_000;

/// The options of packing.
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
    /// The directory that no link may leave, including a link to the base directory; the base directory by default.
    pub wall: Option<PathBuf>,
    /// Files and directories to pack, as they are called: no character is a wildcard.
    pub paths: Vec<String>,
    /// Patterns of files to pack. A pattern that is the path of a directory packs all of its files. `!pattern` excludes
    /// files. Without a path and a pattern, all files of the base directory are packed.
    pub include: Vec<String>,
    /// Patterns of files to exclude; a pattern without a slash is matched against the file name.
    pub exclude: Vec<String>,
    /// The limit of files, without those of resources.
    pub max_files: Option<usize>,
    /// The limit of bytes of all file contents.
    pub max_bytes: Option<u64>,
    /// The limit of tokens, and the model that counts them.
    pub tokens: Tokens,
    /// Patterns of files that are chosen first.
    pub focus: Vec<String>,
    /// Patterns with priorities; files with a higher priority are chosen first. The first matching pattern counts.
    pub priorities: Vec<(String, f64)>,
    /// Variables of template resources.
    pub variables: Map<String, Value>,
    /// Sections that follow the files.
    pub resources: Vec<Resource>,
    /// The rules for files that are left out.
    pub rules: Rules,
    /// The rules for secrets, and what is done with those that they find.
    pub secrets: SecretPolicy,
    /// What happens to lock files, generated files and other kinds.
    pub kinds: KindRules,
    /// The encoding of files that are not UTF-8 and have no mark; by default, their bytes decide.
    pub encoding: Option<TextEncoding>,
    /// How files are delimited in the text.
    pub frame: Frame,
    /// How the texts of files are changed.
    pub form: TextForm,
    /// Sections of the text that are not files.
    pub sections: Sections,
    /// How template resources are rendered.
    pub templates: TemplateOptions,
    /// Packs as the program that defined the plain format: files with known names in the order of the walk, without
    /// kinds, outlines, sections and other encodings than UTF-8.
    pub compat: bool,
}

impl ContextOptions {
    /// Options that pack the text files of `base` within the default budget.
    pub fn new(base: impl Into<PathBuf>) -> Self {
        Self {
            base: base.into(),
            wall: None,
            paths: Vec::new(),
            include: Vec::new(),
            exclude: Vec::new(),
            max_files: None,
            max_bytes: None,
            tokens: Tokens::default(),
            focus: Vec::new(),
            priorities: Vec::new(),
            variables: Map::new(),
            resources: Vec::new(),
            rules: Rules::default(),
            secrets: SecretPolicy::default(),
            kinds: KindRules::default(),
            encoding: None,
            frame: Frame::default(),
            form: TextForm::default(),
            sections: Sections::default(),
            templates: TemplateOptions::default(),
            compat: false,
        }
    }

    /// Options that pack as the program that defined the plain format, within its limits.
    pub fn compat(base: impl Into<PathBuf>) -> Self {
        Self {
            max_files: Some(COMPAT_MAX_FILES),
            max_bytes: Some(COMPAT_MAX_BYTES),
            tokens: Tokens { max: None, ..Tokens::default() },
            compat: true,
            ..Self::new(base)
        }
    }

    /// Whether the text has the tree of files.
    pub(crate) fn has_tree(&self) -> bool {
        !self.compat && self.sections.tree.unwrap_or(matches!(self.frame, Frame::Markdown | Frame::Xml))
    }
}

/// How tokens are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    /// The model whose tokens are counted, as its provider names it; without a model, those of o200k are.
    pub model: Option<String>,
    /// The file with the tokenizer of the model; it is read when tokens are counted.
    pub tokenizer: Option<PathBuf>,
    /// The limit of tokens of the whole text, if any.
    pub max: Option<usize>,
    /// Whether packing fails if not everything fits, instead of leaving out files.
    pub all_or_nothing: bool,
    /// Whether to count tokens without a limit.
    pub count: bool,
}

impl Default for Tokens {
    fn default() -> Self {
        Self { model: None, tokenizer: None, max: Some(MAX_TOKENS), all_or_nothing: false, count: false }
    }
}

impl Tokens {
    /// What counts them; `None` if they are not counted.
    pub(crate) fn counter(&self) -> Result<Option<TokenCounter>> {
        if !self.count && self.max.is_none() {
            return Ok(None);
        }
        let model = self.model.as_deref();
        let counter = match &self.tokenizer {
            Some(file) => {
                TokenCounter::from_file(model.unwrap_or_default(), file).map_err(Error::Tokenizer)?
            }
            None => TokenCounter::for_model(model.unwrap_or(USUAL_MODEL)),
        };
        Ok(Some(counter))
    }
}

/// How the texts of files are changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextForm {
    /// Whether every line starts with its number.
    pub line_numbers: bool,
    /// Whether empty lines are removed.
    pub remove_empty_lines: bool,
    /// Whether long runs of Base64 are replaced by a mark.
    pub truncate_base64: bool,
    /// Whether outlines replace the texts of all files that have one.
    pub compress: bool,
}

/// Sections of the text that are not files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    /// Whether the text starts with the tree of files; by default in Markdown and XML.
    pub tree: Option<bool>,
    /// A text at the start.
    pub header: Option<String>,
    /// A file whose text comes at the end, from the base directory.
    pub instruction: Option<String>,
    /// Whether the text has the changes that are not committed.
    pub diffs: bool,
    /// The number of commits that the text lists.
    pub logs: Option<usize>,
    /// Two revisions, `FROM..TO`: the text has the changes between them.
    pub diff: Option<String>,
}

/// Rules that leave out files in addition to patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Leaves out files that `.gitignore`, `.ignore`, `.hinagataignore`, `.repomixignore` or the settings of git exclude.
    pub ignore_files: bool,
    /// Applies the rules for secrets: redacts secrets in files, and leaves out files with the names of secrets.
    pub secrets: bool,
    /// Leaves out directories that tools create, such as `node_modules` and `target`, unless git tracks files in them.
    pub builtin: bool,
    /// Leaves out links that lead out of the base directory. Patterns may still name files outside of it.
    pub outside: bool,
    /// Applies ignore files also to files that are named without wildcards, to tracked files and to the targets of
    /// links, because the author of the names is not trusted.
    pub strict: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self { ignore_files: true, secrets: true, builtin: true, outside: true, strict: false }
    }
}

impl Rules {
    /// The rules of the program that defined the plain format: only patterns and the built-in list.
    #[must_use]
    pub const fn compat() -> Self {
        Self { ignore_files: false, secrets: false, builtin: true, outside: false, strict: false }
    }
}

/// How templates are rendered.
#[derive(Clone, Debug, Default)]
pub struct TemplateOptions {
    /// Whether a template file keeps its last newline.
    pub keep_trailing_newline: bool,
    /// The limits of a render.
    pub limits: Limits,
}

/// A section of the context that follows the files.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// The id.
    pub id: String,
    /// The name that is shown instead of the id.
    pub name: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// Its content.
    pub kind: ResourceKind,
}

/// The content of a resource.
#[derive(Clone, Debug, PartialEq)]
pub enum ResourceKind {
    /// Files.
    Bundle {
        /// Patterns of files.
        include: Vec<String>,
        /// Patterns of files to exclude.
        exclude: Vec<String>,
        /// The directory that patterns start at; that of the context by default.
        base: Option<PathBuf>,
        /// A prefix of all paths.
        virtual_path: Option<String>,
    },
    /// A rendered template.
    Template {
        /// The template.
        template: TemplateFile,
        /// Variables that override those of the context.
        variables: Map<String, Value>,
    },
}

/// A template in a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TemplateFile {
    /// The file, from the base directory.
    pub file: String,
    /// The directory in which the file is looked up; that of the context by default. Includes are looked up in the
    /// directory of the file and, if this is set, here.
    pub base: Option<PathBuf>,
    /// Variables with the lowest precedence.
    pub variables: Map<String, Value>,
    /// The encoding of the file.
    pub encoding: Encoding,
}

/// The encoding of a template file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8.
    #[default]
    Utf8,
    /// ISO 8859-1.
    Latin1,
    /// UTF-16, little-endian.
    Utf16,
}

impl Encoding {
    /// The encoding with this name, in any usual spelling.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "utf8" | "utf-8" | "ascii" => Self::Utf8,
            "latin1" | "binary" | "iso-8859-1" => Self::Latin1,
            "utf16le" | "utf-16le" | "ucs2" | "ucs-2" => Self::Utf16,
            _ => return None,
        })
    }

    /// Decodes `bytes`.
    ///
    /// # Errors
    /// A message if the bytes are invalid in this encoding.
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
