//! Patterns of fabric: `system.md` and `user.md` in a directory.

use hinagata_document::Result;

use crate::draft::{Draft, TextPlace};
use crate::language::placeholder::translate_fabric;
use crate::names::to_segment;
use crate::prompt::{PortableBody, PortableMessage};

pub(super) fn read_file(draft: &mut Draft<'_>) -> Result<()> {
    if let Some(directory) = draft.path.rsplit('/').nth(1) {
        draft.prompt.id = to_segment(directory);
    }
    let mut messages = Vec::new();
    let system = translated(draft, draft.text)?;
    messages.push(PortableMessage::from_text("system", system));
    let user = draft.files.beside(draft.path, "user.md").filter(|text| !text.trim().is_empty());
    if let Some(text) = user {
        let text = translated(draft, text)?;
        messages.push(PortableMessage::from_text("user", text));
    }
    let has_input = draft.names.iter().any(|(original, _)| original == "input");
    if user.is_none() && !has_input {
        let input = draft.names.variable("input");
        messages.push(PortableMessage::from_text("user", format!("{{{{ {input} }}}}")));
    }
    draft.prompt.undefined = Some("error");
    draft.prompt.body = PortableBody::Messages(messages);
    draft.declare_read(true);
    Ok(())
}

fn translated(draft: &mut Draft<'_>, text: &str) -> Result<String> {
    let place = TextPlace::Offset(0);
    let mut losses = Vec::new();
    let result = translate_fabric(&text.replace("\r\n", "\n"), &mut draft.names, &mut losses);
    let text = result.map_err(|problem| draft.problem(place, problem))?;
    draft.lose_all(place, losses);
    Ok(text)
}
