//! Commands and subagents of Claude Code.

use hinagata_document::Result;

use super::read_matter_or_lines;
use crate::detect::Format;
use crate::draft::{Draft, TextPlace, plain_text};
use crate::jinja_text::{literal_template, quote_string};
use crate::language::TemplateLoss;
use crate::language::placeholder::{Replacement, replace};
use crate::names::{below, id_from_path};
use crate::prompt::{PortableBody, PortableMessage, PortableParameter};
use crate::report::LossCode;

pub(super) fn read_file(draft: &mut Draft<'_>) -> Result<()> {
    let (entries, body, offset) = read_matter_or_lines(draft)?;
    let is_agent = draft.prompt.format == Format::ClaudeAgent;
    let directory = if is_agent { ".claude/agents" } else { ".claude/commands" };
    if let Some(path) = below(draft.path, directory) {
        draft.prompt.id = id_from_path(path.trim_end_matches(".md"));
    }
    let mut hint = None;
    for (key, node) in &entries {
        match key.as_str() {
            "name" | "description" | "model" => draft.set_text(key, node),
            "allowed-tools" | "tools" => draft.keep(LossCode::Tools, key, node),
            "argument-hint" => hint = Some(plain_text(&node.to_value())),
            "disable-model-invocation" | "user-invocable" | "context" | "agent" | "paths" => {
                draft.keep(LossCode::Activation, key, node);
            }
            "hooks" => draft.lose(LossCode::Code, node, "hooks, which are programs", ""),
            _ => draft.keep(LossCode::Unknown, key, node),
        }
    }
    let body = body.replace("\r\n", "\n");
    if is_agent {
        draft.prompt.is_agent = true;
        draft.prompt.body =
            PortableBody::Messages(vec![PortableMessage::from_text("system", literal_template(&body))]);
        return Ok(());
    }
    let place = TextPlace::Offset(offset);
    let mut placed = false;
    let (mut shells, mut files, mut losses) = (Vec::new(), Vec::new(), Vec::new());
    let result = replace(&body, &['$', '!', '@'], &mut |rest, at| {
        if let Some(tail) = rest.strip_prefix("$ARGUMENTS") {
            placed = true;
            if let Some((number, length)) = index_of(tail) {
                let written = &rest[.."$ARGUMENTS".len() + length];
                return Ok(Some((written.len(), part(number, written))));
            }
            return Ok(Some(("$ARGUMENTS".len(), Replacement::Print("arguments".to_owned()))));
        }
        if let Some(tail) = rest.strip_prefix('$') {
            let digits = tail.len() - tail.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
            let Ok(number) = tail[..digits].parse::<u32>() else { return Ok(None) };
            placed = true;
            return Ok(Some((1 + digits, part(number, &rest[..=digits]))));
        }
        if let Some(tail) = rest.strip_prefix("!`") {
            let Some(end) = tail.find('`') else { return Ok(None) };
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
        let is_start = at == 0 || body[..at].ends_with(char::is_whitespace);
        let Some(tail) = rest.strip_prefix('@').filter(|_| is_start) else { return Ok(None) };
        let end = tail
            .find(|character: char| character.is_whitespace() || "`'\"<>|".contains(character))
            .unwrap_or(tail.len());
        let path = tail[..end].trim_end_matches(['.', ',', ';', ':', ')']);
        if path.is_empty() || !path.contains(['.', '/']) {
            return Ok(None);
        }
        files.push(path.to_owned());
        Ok(Some((1 + path.len(), Replacement::Print(format!("file_{}", files.len())))))
    });
    let mut text = result.map_err(|problem| draft.problem(place, problem))?;
    draft.lose_all(place, losses);
    if !placed {
        text.push_statements("{% if arguments %}");
        text.push_text("\n\nARGUMENTS: ");
        text.push_print("arguments");
        text.push_tag("endif");
    }
    draft.declare(PortableParameter {
        name: "arguments".to_owned(),
        kind: Some("string"),
        default: Some("".into()),
        description: hint,
        ..PortableParameter::default()
    });
    declare_host_values(draft, &shells, &files);
    draft.prompt.body = PortableBody::Text(text.finish());
    Ok(())
}

/// Declares parameters for commands and files.
pub(super) fn declare_host_values(draft: &mut Draft<'_>, shells: &[String], files: &[String]) {
    for (index, command) in shells.iter().enumerate() {
        draft.declare(PortableParameter {
            name: format!("shell_{}", index + 1),
            required: true,
            kind: Some("string"),
            description: Some(format!("The output of `{command}`")),
            ..PortableParameter::default()
        });
    }
    for (index, path) in files.iter().enumerate() {
        draft.declare(PortableParameter {
            name: format!("file_{}", index + 1),
            required: true,
            kind: Some("file"),
            description: Some(format!("The file `{path}`")),
            ..PortableParameter::default()
        });
    }
}

/// `[0]`: the number and the length.
fn index_of(text: &str) -> Option<(u32, usize)> {
    let inner = text.strip_prefix('[')?;
    let end = inner.find(']')?;
    Some((inner[..end].parse().ok()?, end + 2))
}

fn part(number: u32, written: &str) -> Replacement {
    Replacement::Print(format!("arguments|words|at({number})|default({})", quote_string(written)))
}
