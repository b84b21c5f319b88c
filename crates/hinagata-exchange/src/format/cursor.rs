//! Commands and rules of Cursor.

use hinagata_document::Result;

use super::read_loose_matter;
use crate::detect::Format;
use crate::draft::Draft;
use crate::jinja_text::literal_template;
use crate::names::{below, id_from_path};
use crate::prompt::{PortableBody, PortableMessage};
use crate::report::LossCode;

pub(super) fn read_file(draft: &mut Draft<'_>) -> Result<()> {
    let is_rule = draft.prompt.format == Format::CursorRule;
    let directory = if is_rule { ".cursor/rules" } else { ".cursor/commands" };
    if let Some(path) = below(draft.path, directory) {
        draft.prompt.id = id_from_path(path.trim_end_matches(".mdc").trim_end_matches(".md"));
    }
    let (entries, body) = match is_rule {
        // Cursor writes patterns without quotes, which is not YAML.
        true => read_loose_matter(draft).map(|((entries, body, _), _)| (entries, body))?,
        false => (Vec::new(), draft.text),
    };
    for (key, node) in &entries {
        match key.as_str() {
            "description" => draft.set_text(key, node),
            "globs" | "alwaysApply" => draft.keep(LossCode::Activation, key, node),
            _ => draft.keep(LossCode::Unknown, key, node),
        }
    }
    let text = literal_template(&body.replace("\r\n", "\n"));
    draft.prompt.body = match is_rule {
        true => PortableBody::Messages(vec![PortableMessage::from_text("system", text)]),
        false => PortableBody::Text(text),
    };
    Ok(())
}
