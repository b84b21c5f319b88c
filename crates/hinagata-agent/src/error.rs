//! Errors of packing and of templates as those of the engine.

use hinagata::{Code, Error};
use hinagata_context::Error as ContextError;

/// The error of packing as one of the engine.
#[must_use]
pub fn of_context(error: ContextError) -> Error {
    let message = error.to_string();
    match error {
        ContextError::Pattern { pattern, .. } => Error::definition("pattern", message)
            .with("pattern", pattern)
            .with_hint("write \\ before a character that is meant as it is"),
        ContextError::TemplateFile { file, .. } => Error::new(Code::RenderTemplateNotFound, message)
            .with("reason", "template_file_missing")
            .with("template", file)
            .with_hint("`file` is looked up in `baseDir`, which starts at the directory of the project"),
        ContextError::Template(error) => Error::from(*error),
        error => Error::new(Code::Store, message).with_source(error),
    }
}
