//! Writes a prompt as the files of a definition.

use serde_json::{Map, Value, json};

use crate::prompt::{
    PortableBody, PortableLayout, PortableMessage, PortableParameter, PortablePart, PortablePrompt,
};

impl PortablePrompt {
    /// The keys of the definition, without its body.
    #[must_use]
    pub fn to_declarations(&self) -> Map<String, Value> {
        let mut keys = self.header.clone();
        if !self.parameters.is_empty() {
            let inputs: Vec<Value> = self.parameters.iter().map(PortableParameter::to_declaration).collect();
            keys.insert("inputs".to_owned(), Value::Array(inputs));
        }
        if let Some(undefined) = self.undefined {
            keys.insert("undefined".to_owned(), json!(undefined));
        }
        if self.layout != PortableLayout::Trim && self.is_structured() {
            keys.insert("layout".to_owned(), json!(self.layout.as_str()));
        }
        if self.drops_empty && self.is_structured() {
            keys.insert("empty_messages".to_owned(), json!("drop"));
        }
        if !self.kept.is_empty() {
            keys.insert(format!("x-{}", self.format.as_str()), Value::Object(self.kept.clone()));
        }
        keys
    }

    /// The files of the prompt's directory, the definition first. Partials are named `partials/…` and belong beside the
    /// directory.
    #[must_use]
    pub fn to_files(&self) -> Vec<(String, String)> {
        self.to_files_with(&Map::new())
    }

    /// As [`PortablePrompt::to_files`], with further keys in the definition.
    #[must_use]
    pub fn to_files_with(&self, more: &Map<String, Value>) -> Vec<(String, String)> {
        let mut keys = self.to_declarations();
        keys.extend(more.clone());
        let mut files = Vec::new();
        match &self.body {
            PortableBody::Text(text) => {
                // A template that starts like front matter needs front matter before it.
                let matter = match keys.is_empty() && !text.starts_with("---") {
                    true => String::new(),
                    false => format!("---\n{}---\n", write_yaml(&keys)),
                };
                files.push(("template.md".to_owned(), format!("{matter}{text}")));
            }
            PortableBody::Messages(messages) => {
                let list: Vec<Value> = messages.iter().map(message_value).collect();
                keys.insert("messages".to_owned(), Value::Array(list));
                files.push(("prompt.yaml".to_owned(), write_yaml(&keys)));
            }
        }
        files.extend(self.files.clone());
        files.extend(self.partials.iter().map(|(name, text)| (format!("partials/{name}"), text.clone())));
        files
    }
}

fn message_value(message: &PortableMessage) -> Value {
    match message {
        PortableMessage::History(name) => json!({"history": name}),
        PortableMessage::Message { role, parts } => match parts.as_slice() {
            [PortablePart::Text(text)] => json!({"role": role, "content": text}),
            parts => {
                let parts: Vec<Value> = parts
                    .iter()
                    .map(|part| match part {
                        PortablePart::Text(text) => json!({"type": "text", "text": text}),
                        PortablePart::Media(url) => json!({"type": "media", "url": url}),
                    })
                    .collect();
                json!({"role": role, "content": parts})
            }
        },
    }
}

/// Writes a map as YAML in block style.
pub(crate) fn write_yaml(map: &Map<String, Value>) -> String {
    let mut text = String::new();
    write_map(map, 0, &mut text);
    text
}

fn write_map(map: &Map<String, Value>, indent: usize, text: &mut String) {
    for (key, value) in map {
        text.push_str(&" ".repeat(indent));
        text.push_str(&scalar(&Value::String(key.clone())));
        text.push(':');
        write_value(value, indent, text);
    }
}

/// Writes a value after its key and `:`, or after `-`.
fn write_value(value: &Value, indent: usize, text: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            text.push('\n');
            write_map(map, indent + 2, text);
        }
        Value::Array(items) if !items.is_empty() => {
            text.push('\n');
            for item in items {
                text.push_str(&" ".repeat(indent + 2));
                text.push('-');
                match item {
                    Value::Object(map) if !map.is_empty() => {
                        let mut inner = String::new();
                        write_map(map, indent + 4, &mut inner);
                        text.push(' ');
                        text.push_str(inner.trim_start_matches(' '));
                    }
                    other => write_value(other, indent + 2, text),
                }
            }
        }
        Value::String(string) if is_block(string) => {
            text.push_str(match (string.ends_with("\n\n"), string.ends_with('\n')) {
                (true, _) => " |+\n",
                (false, true) => " |\n",
                (false, false) => " |-\n",
            });
            for line in string.split_inclusive('\n') {
                if line != "\n" {
                    text.push_str(&" ".repeat(indent + 2));
                }
                text.push_str(line);
            }
            if !string.ends_with('\n') {
                text.push('\n');
            }
        }
        other => {
            text.push(' ');
            text.push_str(&scalar(other));
            text.push('\n');
        }
    }
}

/// Whether a string can be written as a literal block.
fn is_block(string: &str) -> bool {
    string.contains('\n')
        && !string.starts_with([' ', '\t', '\n'])
        && !string.trim().is_empty()
        && !string.chars().any(|character| character.is_control() && character != '\n')
        && !string.contains(['\u{feff}', '\u{2028}', '\u{2029}', '\u{85}'])
}

/// A scalar in one line. JSON strings are YAML strings.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(string) if is_plain(string) => string.clone(),
        other => other.to_string(),
    }
}

fn is_plain(string: &str) -> bool {
    let starts = string.starts_with(|first: char| first.is_ascii_alphabetic());
    let is_word = |character: char| character.is_ascii_alphanumeric() || "_-./ ".contains(character);
    let reserved = ["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"];
    starts
        && string.len() < 100
        && string.chars().all(is_word)
        && !string.ends_with(' ')
        && !reserved.contains(&string.to_ascii_lowercase().as_str())
}
