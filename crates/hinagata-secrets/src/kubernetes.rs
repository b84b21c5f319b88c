//! Finds the values of Kubernetes secrets, in YAML and in JSON.

use std::{ops::Range, sync::LazyLock};

use regex::bytes::Regex;

use crate::{
    literal::{count_blanks, read_block, read_quoted},
    placeholder::is_placeholder,
};

static KIND: LazyLock<Regex> = LazyLock::new(|| {
    compile(r#"(?m)(?:^[ \t+-]*kind:[ \t]*["']?Secret["']?[ \t]*(?:#.*)?\r?$|"kind"\s*:\s*"Secret")"#)
});

/// A map of values in YAML, and its indentation.
static MAP: LazyLock<Regex> =
    LazyLock::new(|| compile(r"(?m)^([ \t+]*)(?:data|stringData):[ \t]*(?:#.*)?\r?$"));

/// A map of values in JSON, or in one line of YAML.
static OBJECT: LazyLock<Regex> =
    LazyLock::new(|| compile(r#"["']?\b(?:data|stringData)["']?\s*:\s*\{([^{}]*)\}"#));

/// An entry of a map in JSON.
static ENTRY: LazyLock<Regex> = LazyLock::new(|| compile(r#"[:][ \t\r\n]*(?:"([^"\n]+)"|([^\s"',}]+))"#));

/// The key of an entry in YAML.
static KEY: LazyLock<Regex> = LazyLock::new(|| compile(r#"^[ \t+]*["']?[A-Za-z0-9._-]+["']?:[ \t]+"#));

fn compile(pattern: &str) -> Regex {
    Regex::new(&format!("(?-u){pattern}")).expect("a test finds examples with each pattern")
}

/// The values of the secrets in `text`.
pub(crate) fn find_secret_values(text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for document in documents(text) {
        if KIND.is_match(&text[document.clone()]) {
            add_values(text, document, &mut found);
        }
    }
    found.retain(|range| !range.is_empty() && !is_placeholder(&text[range.clone()]));
    found
}

/// The documents of a file: lines `---` separate them.
fn documents(text: &[u8]) -> Vec<Range<usize>> {
    let mut all = Vec::new();
    let (mut start, mut place) = (0, 0);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        if line.trim_ascii_end() == b"---" {
            all.push(start..place);
            start = place + line.len();
        }
        place += line.len();
    }
    all.push(start..text.len());
    all
}

fn add_values(text: &[u8], document: Range<usize>, found: &mut Vec<Range<usize>>) {
    for map in MAP.captures_iter(&text[document.clone()]) {
        let (Some(whole), Some(indent)) = (map.get(0), map.get(1)) else { continue };
        add_entries(text, document.start + whole.end()..document.end, indent.len(), found);
    }
    for object in OBJECT.captures_iter(&text[document.clone()]) {
        let Some(body) = object.get(1) else { continue };
        for entry in ENTRY.captures_iter(body.as_bytes()) {
            let value = entry.get(1).or_else(|| entry.get(2));
            let start = document.start + body.start();
            found.extend(value.map(|value| start + value.start()..start + value.end()));
        }
    }
}

/// Adds the values of the entries that are indented more than their map.
fn add_entries(text: &[u8], within: Range<usize>, indent: usize, found: &mut Vec<Range<usize>>) {
    let mut place = within.start;
    // The line of the map itself ends here.
    for line in text[within.clone()].split_inclusive(|byte| *byte == b'\n') {
        let at = place;
        place += line.len();
        if line.trim_ascii().is_empty() {
            continue;
        }
        if line.iter().take_while(|byte| b" \t+".contains(byte)).count() <= indent {
            return;
        }
        let Some(key) = KEY.find(line) else { continue };
        let value = at + key.end();
        found.push(entry_value(text, value, at + line.len()));
    }
}

fn entry_value(text: &[u8], at: usize, line_end: usize) -> Range<usize> {
    if let Some(block) = read_block(text, at) {
        return block;
    }
    if let Some(quoted) = read_quoted(text, at).filter(|quoted| quoted.end <= line_end) {
        return quoted.range;
    }
    let line = &text[at..line_end];
    let comment = line.windows(2).position(|pair| pair == b" #").unwrap_or(line.len());
    at + count_blanks(line)..at + line[..comment].trim_ascii_end().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<&str> {
        find_secret_values(text.as_bytes()).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn every_value_of_a_secret_is_found() {
        let text = "kind: Secret\nmetadata:\n  name: x\ndata:\n  a: Q2hlZXNl\n  'b': \"Zm9uZHVl\" # c\nstringData:\n  d: |\n    one\n    two\n  e: x=y z\ntype: Opaque\n";
        assert_eq!(values(text), ["Q2hlZXNl", "Zm9uZHVl", "one\n    two", "x=y z"]);
        let list = "items:\n- kind: Secret\n  data:\n    a: Q2hlZXNl\n- kind: ConfigMap\n";
        assert_eq!(values(list), ["Q2hlZXNl"]);
        assert_eq!(values("+kind: Secret\n+data:\n+  a: Q2hlZXNl\n"), ["Q2hlZXNl"]);
        let json = r#"{"kind": "Secret", "data": {"a": "Q2hlZXNl", "b": "Zm9uZHVl"}}"#;
        assert_eq!(values(json), ["Q2hlZXNl", "Zm9uZHVl"]);
    }

    #[test]
    fn other_kinds_placeholders_and_expressions_have_none() {
        for text in [
            "kind: ConfigMap\ndata:\n  a: Q2hlZXNl\n",
            "kind: SealedSecret\ndata:\n  a: Q2hlZXNl\n",
            "kind: ConfigMap\ndata:\n  a: Q2hlZXNl\n---\nkind: Secret\nmetadata: {}\n",
            "kind: Secret\ndata:\n  a: {{ .Values.a | b64enc }}\n  b: Y2hhbmdlbWU=\n",
        ] {
            assert_eq!(values(text), [""; 0], "{text}");
        }
    }
}
