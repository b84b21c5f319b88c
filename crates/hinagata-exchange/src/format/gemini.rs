//! Commands of the Gemini CLI: TOML.

use hinagata_document::{LineColumn, Result, toml};

use super::claude::declare_host_values;
use crate::draft::{Draft, TextPlace};
use crate::language::TemplateLoss;
use crate::language::placeholder::{Replacement, replace};
use crate::names::{below, file_name, id_from_path};
use crate::prompt::{PortableBody, PortableParameter};
use crate::report::LossCode;

pub(super) fn read_file(draft: &mut Draft<'_>) -> Result<()> {
    let node = toml::parse(draft.path, draft.text).map_err(|problems| {
        let message = problems.first().map_or_else(String::new, |(message, _)| message.clone());
        draft.invalid(LineColumn { line: 1, column: 1 }, format!("not valid TOML: {message}"))
    })?;
    let path = below(draft.path, ".gemini/commands")
        .unwrap_or_else(|| file_name(draft.path))
        .trim_end_matches(".toml");
    draft.prompt.id = id_from_path(path);
    let mut source = None;
    for (key, value) in node.as_map().unwrap_or_default() {
        match key.as_str() {
            "description" => draft.set_text(key, value),
            "prompt" => source = Some(value),
            _ => draft.keep(LossCode::Unknown, key, value),
        }
    }
    let Some(source) = source else { return Err(draft.invalid(node.at, "the command has no `prompt`")) };
    let place = TextPlace::of(source);
    let body = source.as_str().unwrap_or_default().replace("\r\n", "\n");
    let mut placed = false;
    let (mut shells, mut files, mut losses) = (Vec::new(), Vec::new(), Vec::new());
    let result = replace(&body, &['{', '!', '@'], &mut |rest, at| {
        if rest.starts_with("{{args}}") {
            placed = true;
            return Ok(Some(("{{args}}".len(), Replacement::Print("arguments".to_owned()))));
        }
        if let Some(tail) = rest.strip_prefix("!{") {
            let Some(end) = closing_brace(tail) else { return Ok(None) };
            placed |= tail[..end].contains("{{args}}");
            shells.push(tail[..end].to_owned());
            let name = format!("shell_{}", shells.len());
            losses.push(TemplateLoss::new(
                LossCode::Shell,
                at,
                format!("the command `{}`, which is never run", &tail[..end]),
                format!("the parameter `{name}`"),
            ));
            return Ok(Some((end + 3, Replacement::Print(name))));
        }
        let Some(tail) = rest.strip_prefix("@{") else { return Ok(None) };
        let Some(end) = closing_brace(tail) else { return Ok(None) };
        files.push(tail[..end].trim().to_owned());
        Ok(Some((end + 3, Replacement::Print(format!("file_{}", files.len())))))
    });
    let mut text = result.map_err(|problem| draft.problem(place, problem))?;
    draft.lose_all(place, losses);
    if !placed {
        text.push_statements("{% if arguments %}");
        text.push_text(&format!("\n\n/{} ", path.replace('/', ":")));
        text.push_print("arguments");
        text.push_tag("endif");
    }
    draft.declare(PortableParameter {
        name: "arguments".to_owned(),
        aliases: vec!["args".to_owned()],
        kind: Some("string"),
        default: Some("".into()),
        ..PortableParameter::default()
    });
    declare_host_values(draft, &shells, &files);
    draft.prompt.body = PortableBody::Text(text.finish());
    Ok(())
}

/// Where the brace that is open before `text` is closed.
fn closing_brace(text: &str) -> Option<usize> {
    let mut depth = 1_usize;
    for (at, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}
