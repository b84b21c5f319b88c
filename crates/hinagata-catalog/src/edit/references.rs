//! Finds what names a prompt: includes, parents, modules, words, agents, choices, packs, documents of the store.

use serde::Serialize;
use serde_json::Value;

use super::LARGEST;
use crate::{Catalog, source::Entry, store::StoreKind};

/// The most files that are searched, and the most references that are reported.
const MOST_FILES: usize = 50_000;
const MOST: usize = 1_000;

/// A place that names a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reference {
    /// The file, or the document of the store.
    pub file: String,
    /// The line, from 1; 0 in the store.
    pub line: usize,
    /// The column in characters, from 1; 0 in the store.
    pub column: usize,
    /// The line, without space at its ends.
    pub text: String,
    /// What the file is: `template`, `definition`, `python`, `module`, `vocabulary`, `resolution`, `pack`, `agent` or
    /// `store`.
    pub kind: &'static str,
}

impl Catalog {
    /// The places in files and documents that name the prompt of `entry`, by its id or the name of its directory. Files
    /// of the prompt itself count too, unless the name stands in prose.
    #[must_use]
    pub fn prompt_references(&self, entry: &Entry) -> Vec<Reference> {
        let mut names = vec![entry.id().as_str().to_owned(), entry.name().to_owned()];
        names.dedup();
        let mut found = Vec::new();
        for file in self.held_files("", MOST_FILES).files {
            let Ok(Some(bytes)) = file.read_bytes(LARGEST) else { continue };
            let Ok(text) = String::from_utf8(bytes) else { continue };
            find_in_text(&file.path, &text, &names, &mut found);
        }
        for (id, choice) in self.resolutions().iter() {
            if choice.source == entry.source() {
                let text = format!("{id} → {}", choice.source);
                let file = "user_data/shared/prompts/resolutions.json".to_owned();
                found.push(Reference { file, line: 0, column: 0, text, kind: "resolution" });
            }
        }
        if let Some(store) = self.store() {
            for kind in StoreKind::ALL {
                for stored in store.documents(kind).values() {
                    find_in_value(&stored.value, &names, &mut |text| {
                        let file = format!("store:{}", stored.key);
                        let text = text.chars().take(200).collect();
                        found.push(Reference { file, line: 0, column: 0, text, kind: "store" });
                    });
                }
            }
        }
        found.truncate(MOST);
        found
    }
}

fn kind_of(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name {
        "vocab.json" | "vocab.txt" => "vocabulary",
        "pack.json" => "pack",
        "agent.json" => "agent",
        _ if name.ends_with(".py") => "python",
        _ if name.starts_with("module.") => "module",
        _ if name.starts_with("prompt.") => "definition",
        _ => "template",
    }
}

fn find_in_text(path: &str, text: &str, names: &[String], found: &mut Vec<Reference>) {
    let kind = kind_of(path);
    for (number, line) in text.lines().enumerate() {
        for name in names {
            for (at, _) in line.match_indices(name.as_str()) {
                if is_named(line, at, name.len(), kind) {
                    found.push(Reference {
                        file: path.to_owned(),
                        line: number + 1,
                        column: line[..at].chars().count() + 1,
                        text: line.trim().chars().take(200).collect(),
                        kind,
                    });
                }
            }
        }
    }
}

/// Whether the name at this place of a line is a reference and not a word of prose: it is a whole text in quotes, starts
/// a path in quotes, or is a value of YAML.
fn is_named(line: &str, at: usize, length: usize, kind: &str) -> bool {
    let (before, after) = (&line[..at], &line[at + length..]);
    let is_quote = |c: char| matches!(c, '"' | '\'' | '`');
    let starts = before.ends_with(is_quote) && !before.ends_with('`');
    let ends = after.starts_with(|c: char| is_quote(c) || c == '/');
    if starts && ends {
        return true;
    }
    if kind == "vocabulary" {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        return !before.ends_with(is_word) && !after.starts_with(is_word);
    }
    let before = before.trim_end();
    let is_yaml = matches!(kind, "definition" | "module") || line.trim_start().starts_with("extends:");
    is_yaml
        && before.ends_with([':', '-', '[', ','])
        && matches!(after.trim().chars().next(), None | Some('#' | ',' | ']'))
}

fn find_in_value(value: &Value, names: &[String], report: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) if names.iter().any(|name| name == text) => report(text),
        Value::String(text) => {
            for line in text.lines() {
                let is_quoted = |name: &String| line.contains(&format!("\"{name}\""));
                if names.iter().any(is_quoted) {
                    report(line.trim());
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| find_in_value(item, names, report)),
        Value::Object(members) => members.values().for_each(|member| find_in_value(member, names, report)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_told_from_prose() {
        let is_found = |path: &str, line: &str| {
            let mut found = Vec::new();
            find_in_text(path, line, &["review".to_owned()], &mut found);
            !found.is_empty()
        };
        assert!(is_found("a/template.md", "{% include \"review/template.md\" %}"));
        assert!(is_found("a/template.md", "{% extends 'review' %}"));
        assert!(is_found("a/prompt.yaml", "extends: review"));
        assert!(is_found("a/prompt.yaml", "uses: [base, review]"));
        assert!(is_found("vocab.txt", "check, review"));
        assert!(!is_found("a/template.md", "Please review this: review"));
        assert!(!is_found("a/template.md", "{% include \"review_all/template.md\" %}"));
        assert!(!is_found("a/prompt.yaml", "title: review everything"));
    }
}
