//! Bare templates of Nunjucks.

use hinagata_document::Result;

use crate::draft::{Draft, TextPlace};
use crate::language::nunjucks::translate;
use crate::prompt::PortableBody;

pub(super) fn read_file(draft: &mut Draft<'_>) -> Result<()> {
    let place = TextPlace::Offset(0);
    let text = draft.with_plain_newlines(draft.text, place);
    let (text, losses) =
        translate(&text, &mut draft.names).map_err(|problem| draft.problem(place, problem))?;
    draft.lose_all(place, losses);
    draft.prompt.undefined = Some("empty");
    draft.prompt.body = PortableBody::Text(text);
    draft.declare_read(false);
    Ok(())
}
