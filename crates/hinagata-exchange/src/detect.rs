//! Tells the format of a file by its content and its path.

use hinagata_document::{Node, json};

use crate::files::SourceFiles;
use crate::names::{below, file_name};
use crate::yaml;

macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident $name:literal;)*) => {
        /// A format of prompt files.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Format {
            $($(#[$doc])* $variant,)*
        }

        impl Format {
            /// Every format.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The name, as `--from` and `--to` take it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

formats! {
    /// Google's dotprompt.
    Dotprompt "dotprompt";
    /// Prompty 2.
    Prompty "prompty";
    /// Prompty 1.
    Prompty1 "prompty1";
    /// An Agent Skill.
    Skill "skill";
    /// A command of Claude Code.
    Claude "claude";
    /// A subagent of Claude Code.
    ClaudeAgent "claude-agent";
    /// A serialized prompt of LangChain.
    Langchain "langchain";
    /// An export of Langfuse.
    Langfuse "langfuse";
    /// A prompt of GitHub Models.
    Github "github";
    /// A configuration of promptfoo.
    Promptfoo "promptfoo";
    /// A command of the Gemini CLI.
    Gemini "gemini";
    /// A template of `llm`.
    Llm "llm";
    /// A pattern of fabric.
    Fabric "fabric";
    /// A role of aichat.
    Aichat "aichat";
    /// A prompt file of VS Code.
    Vscode "vscode";
    /// A prompt of Semantic Kernel.
    SemanticKernel "semantic_kernel";
    /// A command of Cursor.
    Cursor "cursor";
    /// A rule of Cursor.
    CursorRule "cursor-rule";
    /// A template of mustache.js.
    Mustache "mustache";
    /// A template of chevron.
    Chevron "chevron";
    /// A template of Nunjucks.
    Nunjucks "nunjucks";
    /// A Modelfile of Ollama.
    Modelfile "modelfile";
}

impl Format {
    /// The format called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.as_str() == name)
    }
}

/// What a file looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detection {
    /// One format.
    Found(Format),
    /// Several formats.
    Ambiguous(Vec<Format>),
    /// No known format.
    Unknown,
}

/// How much of a file decides about its format, in bytes.
const DECIDING: usize = 64 << 10;

/// Tells the format of the file at `path`.
#[must_use]
pub fn detect_format(files: &SourceFiles, path: &str) -> Detection {
    let Some(text) = files.get(path) else { return Detection::Unknown };
    if let Some(format) = by_directory(path) {
        return Detection::Found(format);
    }
    let name = file_name(path);
    let lower = name.to_lowercase();
    let found = match () {
        () if lower.ends_with(".prompt.yml") || lower.ends_with(".prompt.yaml") => vec![Format::Github],
        () if lower.ends_with(".prompt.md") => vec![Format::Vscode],
        () if lower.ends_with(".prompt") => vec![Format::Dotprompt],
        () if lower.ends_with(".prompty") => vec![prompty_version(text)],
        () if lower.ends_with(".mdc") => vec![Format::CursorRule],
        () if lower.ends_with(".json") => json_formats(path, text),
        () if lower.ends_with(".yaml") || lower.ends_with(".yml") => yaml_formats(path, text),
        () if lower.ends_with(".toml") => hinagata_document::toml::parse(path, text)
            .ok()
            .filter(|node| node.get("prompt").is_some_and(|prompt| prompt.as_str().is_some()))
            .map(|_| Format::Gemini)
            .into_iter()
            .collect(),
        () if lower.ends_with(".mustache") => vec![Format::Mustache, Format::Chevron],
        () if lower.ends_with(".njk") => vec![Format::Nunjucks],
        () if lower.ends_with(".md") && head(text).contains("__INPUT__") => vec![Format::Aichat],
        () if crate::modelfile::is_modelfile(path, text) => vec![Format::Modelfile],
        () => Vec::new(),
    };
    match found.as_slice() {
        [] => Detection::Unknown,
        [format] => Detection::Found(*format),
        _ => Detection::Ambiguous(found),
    }
}

fn head(text: &str) -> &str {
    let mut end = text.len().min(DECIDING);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Formats that a directory decides.
fn by_directory(path: &str) -> Option<Format> {
    let name = file_name(path);
    let is_markdown = name.ends_with(".md");
    if name == "SKILL.md" {
        return Some(Format::Skill);
    }
    if is_markdown && below(path, ".claude/commands").is_some() {
        return Some(Format::Claude);
    }
    if is_markdown && below(path, ".claude/agents").is_some() {
        return Some(Format::ClaudeAgent);
    }
    if name.ends_with(".toml") && below(path, ".gemini/commands").is_some() {
        return Some(Format::Gemini);
    }
    if is_markdown && below(path, ".cursor/commands").is_some() {
        return Some(Format::Cursor);
    }
    if below(path, ".cursor/rules").is_some() {
        return Some(Format::CursorRule);
    }
    if name == "system.md" {
        return Some(Format::Fabric);
    }
    let parent = path.rsplit('/').nth(1);
    (is_markdown && parent == Some("roles")).then_some(Format::Aichat)
}

/// Which version of Prompty a file has.
fn prompty_version(text: &str) -> Format {
    let matter = yaml::split_matter(text).map(|(matter, _, _)| matter).unwrap_or_default();
    let Ok(node) = yaml::parse_legacy("front matter", matter, matter, 1) else { return Format::Prompty };
    let model = node.get("model");
    let has = |key: &str| model.is_some_and(|model| model.get(key).is_some());
    match has("api") || has("configuration") || node.get("sample").is_some() {
        true => Format::Prompty1,
        false => Format::Prompty,
    }
}

fn json_formats(path: &str, text: &str) -> Vec<Format> {
    let Ok(node) = json::parse(path, text) else { return Vec::new() };
    if node.get("lc").is_some() {
        return vec![Format::Langchain];
    }
    let is_entry =
        |entry: &Node| ["name", "version", "prompt"].into_iter().all(|key| entry.get(key).is_some());
    let entries = node.as_list().or_else(|| node.get("data").and_then(Node::as_list));
    if is_promptfoo(&node) {
        return vec![Format::Promptfoo];
    }
    match entries {
        Some([first, ..]) if is_entry(first) => vec![Format::Langfuse],
        _ if is_entry(&node) => vec![Format::Langfuse],
        _ => Vec::new(),
    }
}

/// The keys of templates of `llm`.
const LLM_KEYS: [&str; 15] = [
    "name",
    "prompt",
    "system",
    "attachments",
    "attachment_types",
    "model",
    "defaults",
    "options",
    "extract",
    "extract_last",
    "schema_object",
    "fragments",
    "system_fragments",
    "tools",
    "functions",
];

fn yaml_formats(path: &str, text: &str) -> Vec<Format> {
    let Ok(node) = yaml::parse_legacy(path, text, text, 1) else { return Vec::new() };
    let has = |key: &str| node.get(key).is_some();
    if node.as_str().is_some() {
        return vec![Format::Llm];
    }
    let mut found = Vec::new();
    if is_promptfoo(&node) {
        found.push(Format::Promptfoo);
    }
    if has("template") && (has("template_format") || has("name") || has("input_variables")) {
        found.push(Format::SemanticKernel);
    }
    if has("messages") && (has("modelParameters") || has("testData") || has("evaluators")) {
        found.push(Format::Github);
    }
    let own = ["prompt", "system"]
        .into_iter()
        .any(|key| node.get(key).is_some_and(|value| value.as_str().is_some()));
    // llm reads no file with another key; one of them may be a slip.
    let strangers =
        node.as_map().unwrap_or_default().iter().filter(|(key, _)| !LLM_KEYS.contains(&key.as_str()));
    if own && !has("template") && !has("messages") && strangers.count() <= 1 {
        found.push(Format::Llm);
    }
    found
}

/// Whether a document has the keys of promptfoo.
fn is_promptfoo(node: &Node) -> bool {
    let has = |key: &str| node.get(key).is_some();
    has("prompts") && (has("providers") || has("targets"))
}
