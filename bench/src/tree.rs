//! A workspace with many prompts, the same on every machine.
//!
//! Of ten prompts seven are a template alone, two have front matter, and one is a `prompt.yaml` or a
//! `prompt.py` beside its template: what people have who collect prompts. One more, [`TARGET`], is in every
//! workspace and is the one that is rendered.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// The prompt that is rendered.
pub(crate) const TARGET: &str = "review_change";

/// Raised when the files change, so that older ones are made anew.
const VERSION: u32 = 1;

/// Where the prompts of a workspace are.
const PROMPTS: &str = "user_data/shared/prompts";

const VERBS: [&str; 8] =
    ["summarise", "translate", "review", "explain", "classify", "rewrite", "extract", "compare"];
const NOUNS: [&str; 7] = ["report", "ticket", "contract", "log", "recipe", "meeting", "paper"];

/// A workspace that was made.
#[derive(Clone, Debug)]
pub(crate) struct Workspace {
    /// Its root.
    pub(crate) root: PathBuf,
    /// The directories of its prompts, in order.
    pub(crate) names: Vec<String>,
}

impl Workspace {
    /// The workspace with `count` prompts beside the target, made beneath `cache` unless it is there.
    pub(crate) fn make(cache: &Path, count: usize) -> Result<Self> {
        let root = cache.join(format!("workspace-{VERSION}-{count}"));
        let mut names: Vec<String> = (0..count).map(name).chain([TARGET.to_owned()]).collect();
        names.sort();
        let workspace = Self { root, names };
        if !workspace.root.join("complete").exists() {
            workspace.write(count).with_context(|| format!("cannot make {}", workspace.root.display()))?;
        }
        Ok(workspace)
    }

    /// The directory that holds the prompts.
    pub(crate) fn prompts(&self) -> PathBuf {
        self.root.join(PROMPTS)
    }

    fn write(&self, count: usize) -> Result<()> {
        if self.root.exists() {
            fs::remove_dir_all(&self.root)?;
        }
        let prompts = self.prompts();
        for number in 0..count {
            write_files(&prompts.join(name(number)), &files(number))?;
        }
        write_files(&prompts.join(TARGET), &target())?;
        fs::write(self.root.join("complete"), "")?;
        Ok(())
    }
}

/// The target's variables, for a change of so many files.
pub(crate) fn target_variables(files: usize) -> Value {
    json!({
        "language": "Rust",
        "rules": ["Say what is wrong.", "Say where.", "Propose a change."],
        "files": (0..files).map(|n| json!({"path": format!("src/part{n}.rs"), "lines": 40 + n, "new": n % 2 == 0}))
            .collect::<Vec<_>>(),
    })
}

/// What the target declares as the values of the others.
pub(crate) const TARGET_DEFAULTS: &[(&str, &str)] = &[("tone", "kindly"), ("note", "")];

/// The target's template.
pub(crate) const TARGET_TEMPLATE: &str = "\
You review a change written in {{ language }}, {{ tone }}.

{% for rule in rules -%}
{{ loop.index }}. {{ rule }}
{% endfor %}
Files:
{% for file in files -%}
- {{ file.path }} ({{ file.lines }} lines{% if file.new %}, new{% endif %})
{% endfor %}
{%- if note %}
Note: {{ note }}
{% endif %}
Answer with one finding in a line.
";

/// What the target declares, in front of its template.
const TARGET_FRONT_MATTER: &str = "\
---
description: Reviews a change
inputs:
  language: {type: string, required: true}
  rules: {type: list, default: []}
  files: {type: list, required: true}
  tone: {type: string, default: kindly}
  note: {type: string, default: ''}
---
";

fn target() -> Vec<(&'static str, String)> {
    vec![("template.md", format!("{TARGET_FRONT_MATTER}{TARGET_TEMPLATE}"))]
}

/// Most people write `snake_case`, some do not.
fn name(number: usize) -> String {
    let (verb, noun) = (VERBS[number % VERBS.len()], NOUNS[number / VERBS.len() % NOUNS.len()]);
    match number % 20 {
        7 => format!("{}{}{number:05}", capital(verb), capital(noun)),
        13 => format!("{verb}-{noun}-{number:05}"),
        _ => format!("{verb}_{noun}_{number:05}"),
    }
}

fn capital(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

/// The files of the prompt with this number.
fn files(number: usize) -> Vec<(&'static str, String)> {
    let noun = NOUNS[number / VERBS.len() % NOUNS.len()];
    let verb = VERBS[number % VERBS.len()];
    let body = format!(
        "You {verb} the {noun} below for {{{{ reader }}}}.\n\n{{% if short %}}Be brief.{{% endif %}}\n\n\
         <{noun}>\n{{{{ text }}}}\n</{noun}>\n\nPrompt number {number}.\n"
    );
    let front = format!(
        "---\ndescription: {verb}s a {noun}\nversion: 1.{number}.0\ntags: [{noun}, {verb}]\ninputs:\n  \
         text: {{type: string, required: true}}\n  reader: {{type: string, default: everyone}}\n---\n"
    );
    match number % 10 {
        0..=6 => vec![("template.md", body)],
        7 | 8 => vec![("template.md", front + &body)],
        _ if number % 20 == 9 => vec![("prompt.yaml", yaml(verb, noun)), ("template.md", body)],
        _ => vec![("prompt.py", python(verb, noun)), ("template.md", body)],
    }
}

fn yaml(verb: &str, noun: &str) -> String {
    format!(
        "description: {verb}s a {noun}\ntags: [{noun}]\nparameters:\n  - {{name: text, type: string, required: true}}\n  \
         - {{name: reader, type: string, default: everyone}}\n"
    )
}

fn python(verb: &str, noun: &str) -> String {
    format!(
        "METADATA = {{\n    \"name\": \"{verb} {noun}\",\n    \"version\": \"2.0.0\",\n    \"template\": \
         \"template.md\",\n}}\n\nVARIABLES = {{\n    \"required\": [{{\"name\": \"text\", \"type\": \"string\"}}],\n    \
         \"optional\": [{{\"name\": \"reader\", \"type\": \"string\", \"default\": \"everyone\"}}],\n}}\n"
    )
}

fn write_files(directory: &Path, files: &[(&str, String)]) -> Result<()> {
    fs::create_dir_all(directory)?;
    for (name, text) in files {
        fs::write(directory.join(name), text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of a thousand prompts have files that `wanted` takes.
    fn count(wanted: impl Fn(&[(&str, String)]) -> bool) -> usize {
        (0..1_000).filter(|number| wanted(&files(*number))).count()
    }

    #[test]
    fn prompts_are_mixed_as_described() {
        assert_eq!(count(|files| files.len() == 1 && !files[0].1.starts_with("---")), 700);
        assert_eq!(count(|files| files.len() == 1 && files[0].1.starts_with("---")), 200);
        assert_eq!(count(|files| files[0].0 == "prompt.yaml"), 50);
        assert_eq!(count(|files| files[0].0 == "prompt.py"), 50);
    }

    #[test]
    fn no_two_prompts_have_one_id() {
        let ids: std::collections::HashSet<String> =
            (0..10_000).map(|number| hinagata::normal_form(&name(number))).collect();
        assert_eq!(ids.len(), 10_000);
        assert!(!ids.contains(TARGET));
    }
}
