//! Plain templates of mustache.js and chevron.

use hinagata_document::Result;

use crate::detect::Format;
use crate::draft::{Draft, TextPlace};
use crate::language::mustache::{Dialect, translate};
use crate::prompt::{PortableBody, PortableLayout};

pub(super) fn read_file(draft: &mut Draft<'_>) -> Result<()> {
    let dialect = if draft.prompt.format == Format::Chevron { Dialect::Chevron } else { Dialect::JavaScript };
    let place = TextPlace::Offset(0);
    let body = draft.with_plain_newlines(draft.text, place);
    let (files, path) = (draft.files, draft.path);
    let partial =
        |name: &str| files.beside(path, &format!("{name}.mustache")).map(|text| text.replace("\r\n", "\n"));
    let result = translate(&body, dialect, &mut draft.names, &partial);
    let translated = result.map_err(|problem| draft.problem(place, problem))?;
    draft.lose_all(place, translated.losses);
    draft.prompt.undefined = Some("empty");
    draft.prompt.layout = PortableLayout::Keep;
    draft.prompt.partials = translated.partials;
    draft.prompt.body = PortableBody::Text(translated.text);
    draft.declare_read(false);
    Ok(())
}
