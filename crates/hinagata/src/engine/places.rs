//! Converts errors of templates to errors with places in source files.

use hinagata_catalog::BOUND_CALLER_HINT;
use hinagata_value::{Error as TemplateError, LimitKind};

use super::sources::PromptSources;
use crate::{Code, Error, LineColumn, Place};

/// Converts an error of a template.
///
/// A template may be a part of its file. An error of the catalog about a name replaces that of the
/// template, because it says more.
pub(super) fn with_places(error: TemplateError, sources: &PromptSources<'_>) -> Error {
    let placed = |place: &hinagata_value::Place| {
        let at = LineColumn { line: place.line, column: place.column };
        sources.origin(&place.template).place(&place.template, at, place.excerpt.clone())
    };
    let place = error.place().map(placed);
    let chain: Vec<Place> = error.chain().iter().map(placed).collect();
    let is_output = error.limit() == Some(LimitKind::Output);
    let mut ours = match sources.failure() {
        Some(failure) => failure,
        None => Error::from(error),
    };
    if ours.code() == Code::RenderTemplateNotFound && sources.is_bound() {
        ours = ours.with_hint(BOUND_CALLER_HINT);
    }
    if is_output {
        ours = ours.with_code(Code::OutputLimit);
    }
    if let Some(place) = place.filter(|_| ours.place().is_none() || ours.code() != Code::Definition) {
        ours = ours.with("line", place.line).at(place);
    }
    ours.with_chain(chain)
}
