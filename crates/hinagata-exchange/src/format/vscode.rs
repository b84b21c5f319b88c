//! Prompt files of VS Code.

use hinagata_document::Result;

use super::read_matter;
use crate::draft::{Draft, TextPlace};
use crate::language::TemplateLoss;
use crate::language::placeholder::{Replacement, replace};
use crate::prompt::{PortableBody, PortableParameter};
use crate::report::LossCode;

/// Variables of the editor.
const EDITOR: [&str; 11] = [
    "workspaceFolder",
    "workspaceFolderBasename",
    "selection",
    "selectedText",
    "file",
    "fileBasename",
    "fileDirname",
    "fileBasenameNoExtension",
    "relativeFile",
    "lineNumber",
    "cwd",
];

pub(super) fn read_file(draft: &mut Draft<'_>) -> Result<()> {
    let (entries, body, offset) = read_matter(draft)?;
    for (key, node) in &entries {
        match key.as_str() {
            "name" | "description" | "model" => draft.set_text(key, node),
            "tools" => draft.keep(LossCode::Tools, key, node),
            _ => draft.keep(LossCode::Unknown, key, node),
        }
    }
    let place = TextPlace::Offset(offset);
    let body = body.replace("\r\n", "\n");
    let mut losses = Vec::new();
    let mut declared: Vec<PortableParameter> = Vec::new();
    let names = &mut draft.names;
    let result = replace(&body, &['$', '#'], &mut |rest, at| {
        if rest.starts_with("#tool:") {
            losses.push(TemplateLoss::new(LossCode::Tools, at, "a mark for a tool", "kept as text"));
            return Ok(None);
        }
        let Some(inner) = rest.strip_prefix("${").and_then(|tail| Some(&tail[..tail.find('}')?])) else {
            return Ok(None);
        };
        let length = inner.len() + 3;
        if let Some(input) = inner.strip_prefix("input:") {
            let (name, hint) =
                input.split_once(':').map_or((input, None), |(name, hint)| (name, Some(hint.to_owned())));
            let name = names.variable(name.trim());
            declared.push(PortableParameter {
                name: name.clone(),
                required: true,
                kind: Some("string"),
                description: hint,
                ..PortableParameter::default()
            });
            return Ok(Some((length, Replacement::Print(name))));
        }
        if !EDITOR.contains(&inner) {
            return Ok(None);
        }
        let name = names.variable(inner);
        losses.push(TemplateLoss::new(
            LossCode::Data,
            at,
            format!("`${{{inner}}}`, a value of the editor"),
            format!("the parameter `{name}`"),
        ));
        Ok(Some((length, Replacement::Print(name))))
    });
    let text = result.map_err(|problem| draft.problem(place, problem))?;
    declared.into_iter().for_each(|parameter| draft.declare(parameter));
    draft.lose_all(place, losses);
    draft.prompt.undefined = Some("error");
    draft.prompt.body = PortableBody::Text(text.finish());
    draft.declare_read(true);
    Ok(())
}
