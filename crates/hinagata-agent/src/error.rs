//! Converts errors of contexts and templates.

use hinagata::{Code, Error, Hint, Reason, tokenizer_error};
use hinagata_context::{Error as ContextError, LeftOutReason};

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
        ContextError::InstructionFile { file, .. } => Error::new(Code::NotFound, message)
            .with_reason(Reason::Missing)
            .with("file", file)
            .with_hint("the file is looked up in the directory of the context"),
        ContextError::Revisions { text, .. } => Error::new(Code::Validation, message)
            .with_reason(Reason::Arguments)
            .with("revisions", text)
            .with_hint("name two commits, branches or tags of this repository, such as main..HEAD"),
        ContextError::Budget { needed, allowed } => Error::new(Code::OutputLimit, message)
            .with_reason(Reason::Budget)
            .with("needed", needed)
            .with("allowed", allowed)
            .with_hint("allow more tokens, or pack fewer files"),
        ContextError::Withheld { path, reason, template, .. } => {
            let error = Error::new(Code::Approval, message)
                .with_reason(left_out_reason(reason))
                .with("path", path)
                .with_hint(withheld_hint(reason));
            let failed = template.map(|template| Error::from(*template));
            failed.and_then(|failed| failed.place().cloned()).into_iter().fold(error, Error::at)
        }
        ContextError::Template(error) => Error::from(*error),
        ContextError::Tokenizer(error) => tokenizer_error(&error),
        error => Error::new(Code::Store, message).with_source(error),
    }
}

/// The reason of the engine's errors for a file that is not in a context.
#[must_use]
pub fn left_out_reason(reason: LeftOutReason) -> Reason {
    match reason {
        LeftOutReason::Budget => Reason::Budget,
        LeftOutReason::Ignored => Reason::Ignored,
        LeftOutReason::Excluded => Reason::Excluded,
        LeftOutReason::Secret => Reason::Secret,
        LeftOutReason::Binary => Reason::Binary,
        LeftOutReason::Unreadable => Reason::Unreadable,
        LeftOutReason::Outside => Reason::Outside,
        LeftOutReason::Special => Reason::Special,
        LeftOutReason::Duplicate => Reason::Duplicate,
        LeftOutReason::Lock
        | LeftOutReason::Generated
        | LeftOutReason::Vendored
        | LeftOutReason::Minified
        | LeftOutReason::Data => Reason::Kind,
    }
}

/// The hint about a withheld file.
pub(crate) fn withheld_hint(reason: LeftOutReason) -> Hint {
    match reason {
        LeftOutReason::Secret => {
            "use another file; `context.include_secrets = true` in your own settings includes such files"
                .into()
        }
        LeftOutReason::Ignored => Hint::TrustWorkspace,
        _ => "replace the link by the file".into(),
    }
}
