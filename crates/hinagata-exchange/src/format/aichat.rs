//! Roles of aichat.

use hinagata_document::Result;

use super::read_matter;
use crate::draft::Draft;
use crate::jinja_text::{JinjaText, literal_template};
use crate::prompt::{PortableBody, PortableMessage};
use crate::report::LossCode;

pub(super) fn read_file(draft: &mut Draft<'_>) -> Result<()> {
    let (entries, body, _) = read_matter(draft)?;
    for (key, node) in &entries {
        match key.as_str() {
            "model" => draft.set("model", node.as_str().unwrap_or_default().replacen(':', "/", 1)),
            "temperature" | "top_p" => draft.set_config(&[(key.clone(), node.clone())]),
            "use_tools" => draft.keep(LossCode::Tools, key, node),
            _ => draft.keep(LossCode::Unknown, key, node),
        }
    }
    let body = body.replace("\r\n", "\n");
    let input = draft.names.variable("input");
    draft.prompt.undefined = Some("error");
    if body.contains("__INPUT__") {
        let mut text = JinjaText::default();
        for (index, piece) in body.split("__INPUT__").enumerate() {
            if index > 0 {
                text.push_print(&input);
            }
            text.push_text(piece);
        }
        draft.prompt.body = PortableBody::Text(text.finish());
    } else {
        let mut messages = examples(&body);
        messages.push(PortableMessage::from_text("user", format!("{{{{ {input} }}}}")));
        draft.prompt.body = PortableBody::Messages(messages);
    }
    draft.declare_read(true);
    Ok(())
}

/// The system text, and the examples after `### INPUT:` and `### OUTPUT:`.
fn examples(body: &str) -> Vec<PortableMessage> {
    let mut messages = Vec::new();
    let mut role = "system";
    let mut text = String::new();
    let mut has_examples = false;
    let mut finish = |role: &str, text: &str, strip: bool| {
        let text = if strip { text.trim() } else { text };
        if !text.trim().is_empty() {
            messages.push(PortableMessage::from_text(role, literal_template(text)));
        }
    };
    for line in body.split_inclusive('\n') {
        let next = match line.trim() {
            "### INPUT:" => Some("user"),
            "### OUTPUT:" => Some("assistant"),
            _ => None,
        };
        match next {
            Some(next) => {
                has_examples = true;
                finish(role, &text, true);
                role = next;
                text.clear();
            }
            None => text.push_str(line),
        }
    }
    finish(role, &text, has_examples);
    messages
}
