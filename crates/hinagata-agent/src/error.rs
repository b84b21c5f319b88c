//! Converts errors of contexts and templates.

use hinagata::{Code, Error};
use hinagata_context::{Error as ContextError, Reason};

/// Converts an error of packing to one of the engine.
#[must_use]
pub fn context_error(error: ContextError) -> Error {
    let message = error.to_string();
    match error {
        ContextError::Pattern { pattern, .. } => Error::definition(Reason::Pattern, message)
            .with("pattern", pattern)
            .with_hint("write \\ before a special character to match it literally"),
        ContextError::TemplateFile { file, .. } => Error::new(Code::RenderTemplateNotFound, message)
            .with_reason(Reason::TemplateFileMissing)
            .with("template", file)
            .with_hint("`file` is looked up in `baseDir`, which starts at the directory of the project"),
        ContextError::Withheld { path, reason, template, .. } => {
            let error = Error::new(Code::Approval, message)
                .with_reason(reason.as_str())
                .with("path", path)
                .with_hint(withheld_hint(reason));
            let failed = template.map(|template| Error::from(*template));
            failed.and_then(|failed| failed.place().cloned()).into_iter().fold(error, Error::at)
        }
        ContextError::Template(error) => Error::from(*error),
        error => Error::new(Code::Store, message).with_source(error),
    }
}

/// The hint about a withheld file.
pub(crate) fn withheld_hint(reason: Reason) -> &'static str {
    match reason {
        Reason::Secret => {
            "use another file; `context.include_secrets = true` in your own settings includes such files"
        }
        Reason::Ignored => "read the settings of this workspace, then run `hina trust`",
        _ => "replace the link by the file",
    }
}
