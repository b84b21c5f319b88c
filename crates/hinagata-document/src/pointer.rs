//! Finds a string in its document by its place.

use crate::{
    Cursor, Data, LineColumn, Node, json,
    python::{literal, tokens},
    toml, yaml,
};

/// A string of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundString {
    /// Its JSON Pointer (RFC 6901). In Python, the first part is the name of the variable.
    pub pointer: String,
    /// The string.
    pub text: String,
}

/// The string at a place of a file with this content, whose format its name tells: YAML, JSON, TOML or Python.
#[must_use]
pub fn find_string(file: &str, content: &str, at: LineColumn) -> Option<FoundString> {
    let (_, extension) = file.rsplit_once('.')?;
    match extension {
        "json" => find_in(&json::parse(file, content).ok()?, at, ""),
        "yaml" | "yml" => find_in(&yaml::parse(file, content, content, 1).ok()?, at, ""),
        "toml" => find_in(&toml::parse(file, content).ok()?, at, ""),
        "py" => find_in_python(content, at),
        _ => None,
    }
}

fn find_in(node: &Node, at: LineColumn, pointer: &str) -> Option<FoundString> {
    match &node.data {
        Data::String(text) if node.at == at => {
            Some(FoundString { pointer: pointer.to_owned(), text: text.clone() })
        }
        Data::List(items) => {
            let mut items = items.iter().enumerate();
            items.find_map(|(index, item)| find_in(item, at, &format!("{pointer}/{index}")))
        }
        Data::Map(entries) => entries.iter().find_map(|(key, value)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            find_in(value, at, &format!("{pointer}/{key}"))
        }),
        _ => None,
    }
}

/// The string in the literal that a line assigns to a name.
fn find_in_python(content: &str, at: LineColumn) -> Option<FoundString> {
    let lines = tokens::split_lines(content).ok()?;
    let mut cursor = Cursor::new(content);
    lines.iter().filter(|line| line.indent == 0).find_map(|line| {
        let name = line.tokens.first().filter(|token| token.kind == tokens::Kind::Name)?;
        let equals = line.tokens.iter().position(|token| token.text(content) == "=")?;
        let node = literal::parse(content, &line.tokens[equals + 1..], &mut cursor).ok()?;
        find_in(&node, at, &format!("/{}", name.text(content)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_is_found_by_its_place_in_every_format() {
        let cases = [
            (
                "a.yaml",
                "a:\n  - b/c: x\n  - d: |\n      two\n      lines\n",
                (4, 7),
                "/a/1/d",
                "two\nlines\n",
            ),
            ("a.yaml", "a:\n  - b/c: x\n", (2, 10), "/a/0/b~1c", "x"),
            ("a.json", "{\"a\": [\"b\", \"c\\n\"]}", (1, 13), "/a/1", "c\n"),
            ("a.toml", "x = 1\n[t]\ny = 'z'\n", (3, 5), "/t/y", "z"),
            ("a.py", "X = 1\nTEXTS = {'k': ['v', \"w\"]}\n", (2, 21), "/TEXTS/k/1", "w"),
        ];
        for (file, content, (line, column), pointer, text) in cases {
            let found = find_string(file, content, LineColumn { line, column });
            let expected = FoundString { pointer: pointer.to_owned(), text: text.to_owned() };
            assert_eq!(found, Some(expected), "{content}");
        }
        assert_eq!(find_string("a.md", "x", LineColumn { line: 1, column: 1 }), None);
    }
}
