//! Reads the prompt formats of other programs into one neutral form, and reports what could not be carried over.
//!
//! The crate is pure: files come in as texts, a [`PortablePrompt`] and a [`Report`] go out. Nothing is run, fetched or
//! resolved. Templates of other languages become Jinja that prints the same text for every JSON value.
//!
//! ```
//! use hinagata_exchange::{ImportOptions, SourceFiles, import_prompts};
//!
//! let files = SourceFiles::from_iter([("greet.prompt", "{{#each names}}Hello {{this}}! {{/each}}")]);
//! let imported = import_prompts(&files, "greet.prompt", &ImportOptions::default())?;
//! let files = imported[0].prompt.to_files();
//! assert!(files[0].1.ends_with("{% for item in names|each %}Hello {{ item|js }}! {% endfor %}"));
//! # Ok::<(), hinagata_document::Error>(())
//! ```

mod batch;
mod cases;
mod chat_template;
mod definition;
mod detect;
mod draft;
mod export;
mod files;
mod format;
mod jinja_text;
mod language;
mod modelfile;
mod names;
mod plain;
mod prompt;
mod report;
mod yaml;

pub use batch::{ImportBatch, companion_names, import_batch, share_partials};
pub use chat_template::{ChatTemplate, with_plain_texts};
pub use detect::{Detection, Format, detect_format};
pub use export::{ExportOptions, ExportedPrompt, export_names, export_prompt};
pub use files::SourceFiles;
pub use hinagata_jinja::Moment;
pub use prompt::{
    PortableBody, PortableLayout, PortableMessage, PortableParameter, PortablePart, PortablePrompt,
};
pub use report::{Loss, LossCode, LossLevel, Report};

use hinagata_document::{Code, Error, Hint, Reason, Result};

/// How files are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImportOptions {
    /// The format, if it is not to be told by the file.
    pub format: Option<Format>,
    /// Whether templates become plain Jinja where the exact translation needs filters; the report lists what differs.
    pub is_plain: bool,
}

/// A prompt that was read, with what it lost.
#[derive(Clone, Debug)]
pub struct ImportedPrompt {
    /// The prompt.
    pub prompt: PortablePrompt,
    /// What could not be carried over unchanged.
    pub report: Report,
}

/// Reads the prompts of the file at `path`. An export of Langfuse has several; every other file has one.
///
/// # Errors
/// Code `exchange.unknown` or `exchange.ambiguous` for a file that has no known format or more than one; code
/// `definition` or `render.syntax`, with the place, if the file is missing, is larger than 10 MiB, or is invalid.
pub fn import_prompts(
    files: &SourceFiles,
    path: &str,
    options: &ImportOptions,
) -> Result<Vec<ImportedPrompt>> {
    let Some(text) = files.get(path) else {
        return Err(Error::definition(Reason::Syntax, format!("file `{path}` not found")));
    };
    if text.len() > files::LARGEST_FILE {
        return Err(Error::definition(Reason::Size, format!("`{path}` is larger than 10 MiB")));
    }
    let format = match (options.format, detect_format(files, path)) {
        (Some(format), _) | (None, Detection::Found(format)) => format,
        (None, Detection::Ambiguous(formats)) => {
            let names: Vec<&str> = formats.iter().map(|format| format.as_str()).collect();
            let message = format!("`{path}` fits several formats: {}", names.join(", "));
            return Err(Error::new(Code::ExchangeAmbiguous, message)
                .with("formats", names)
                .with_hint(Hint::NameFormat));
        }
        (None, Detection::Unknown) => {
            let message = format!("`{path}` has no known prompt format");
            return Err(Error::new(Code::ExchangeUnknown, message).with_hint(Hint::NameFormat));
        }
    };
    let mut prompts = format::read_prompts(files, path, text, format)?;
    for imported in &mut prompts {
        if options.is_plain {
            plain::simplify(imported);
        }
        imported.report.sort();
    }
    Ok(prompts)
}
