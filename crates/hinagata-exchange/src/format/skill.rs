//! Agent Skills: a directory with `SKILL.md`.

use hinagata_document::{LineColumn, Result};
use serde_json::{Map, Value};

use super::read_matter_or_lines;
use crate::draft::Draft;
use crate::jinja_text::literal_template;
use crate::names::to_segment;
use crate::prompt::PortableBody;
use crate::report::LossCode;

pub(super) fn read_file(draft: &mut Draft<'_>) -> Result<()> {
    let (entries, body, _) = read_matter_or_lines(draft)?;
    let directory = draft.path.rsplit('/').nth(1).unwrap_or_default().to_owned();
    draft.prompt.id = to_segment(&directory);
    let mut more = Map::new();
    for (key, node) in &entries {
        match key.as_str() {
            "name" => {
                draft.set_text("name", node);
                if !directory.is_empty() && node.as_str() != Some(directory.as_str()) {
                    let what = format!(
                        "the name `{}`, which differs from its directory",
                        node.as_str().unwrap_or_default()
                    );
                    draft.lose(
                        LossCode::Renamed,
                        node,
                        what,
                        format!("the id `{}`", draft.prompt.id.clone()),
                    );
                }
            }
            "description" => draft.set_text("description", node),
            "license" | "compatibility" => {
                more.insert(key.clone(), node.to_value());
            }
            "metadata" => more.extend(
                node.as_map().unwrap_or_default().iter().map(|(key, value)| (key.clone(), value.to_value())),
            ),
            "allowed-tools" => draft.keep(LossCode::Tools, key, node),
            _ => draft.keep(LossCode::Unknown, key, node),
        }
    }
    if !more.is_empty() {
        draft.set("metadata", Value::Object(more));
    }
    let start = LineColumn { line: 1, column: 1 };
    for key in ["name", "description"] {
        if !draft.prompt.header.contains_key(key) {
            draft.lose_at(LossCode::Invalid, start, format!("a skill needs a `{key}`"), "");
        }
    }
    keep_files(draft);
    draft.prompt.body = PortableBody::Text(literal_template(&body.replace("\r\n", "\n")));
    Ok(())
}

/// Whether a file of this name beside a template would change the prompt or run.
fn defines_prompt(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().to_lowercase();
    !name.contains('/') && matches!(stem.as_str(), "prompt" | "template" | "module" | "defaults")
}

/// Copies the files beside the skill.
fn keep_files(draft: &mut Draft<'_>) {
    let own = draft.path;
    let Some((directory, _)) = own.rsplit_once('/') else { return };
    let prefix = format!("{directory}/");
    let files = draft.files;
    for path in files.paths().filter(|path| *path != own) {
        let (Some(name), Some(text)) = (path.strip_prefix(&prefix), files.get(path)) else { continue };
        if defines_prompt(name) {
            let what = format!("the file `{name}`, whose name has a meaning here");
            let instead = "copy it under another name yourself";
            draft.lose_at(LossCode::Code, LineColumn { line: 1, column: 1 }, what, instead);
            continue;
        }
        draft.prompt.files.push((name.to_owned(), text.to_owned()));
    }
    let start = LineColumn { line: 1, column: 1 };
    for name in files.unread_paths().filter_map(|path| path.strip_prefix(&prefix)) {
        let what = format!("the file `{name}`, which is not text");
        draft.lose_at(LossCode::Reference, start, what, "copy it beside the prompt yourself");
    }
    let has_scripts = draft.prompt.files.iter().any(|(name, _)| name.starts_with("scripts/"));
    if has_scripts {
        draft.lose_at(
            LossCode::Scripts,
            start,
            "programs in `scripts/`, which nothing runs",
            "copied unchanged",
        );
    }
}
