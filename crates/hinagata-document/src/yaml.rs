//! YAML with the place of every value.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Number;
use serde_saphyr::{Options, Spanned};

use crate::{Data, Error, LineColumn, Node, Place, Reason, Result};

/// Parses `text`, one YAML 1.2 document that starts on line `first_line` of `file`; `whole` is the content of the file.
///
/// `yes` and `no` are strings, keys must be unique, and the expansion of aliases is limited.
pub fn parse(file: &str, whole: &str, text: &str, first_line: u32) -> Result<Node> {
    let Located(node) = serde_saphyr::from_str_with_options(text, options()).map_err(|error| {
        let error = error.without_snippet();
        let at = error.location().map_or(LineColumn { line: 1, column: 0 }, line_column);
        // The author of the document cannot change options of the parser.
        let message = error.to_string().replace(", set DuplicateKeyPolicy in Options if acceptable", "");
        Error::definition(Reason::Syntax, format!("not valid YAML: {}", first_line_of(&message)))
            .at(Place::at_line(file, whole, at.line + first_line - 1, at.column))
            .with_hint("quote text that contains `: `, `#`, `{` or `%`")
    })?;
    Ok(shift_lines(node, first_line - 1))
}

/// The value of `text`, a YAML 1.2 document and the content of `file`.
///
/// `yes` and `no` are strings, keys must be unique, and the expansion of aliases is limited.
///
/// # Errors
/// Code `definition`, with the place of the syntax error.
pub fn yaml_value(file: &str, text: &str) -> Result<serde_json::Value> {
    Ok(parse(file, text, text, 1)?.to_value())
}

fn options() -> Options {
    let budget = serde_saphyr::budget! {
        max_events: 100_000,
        max_nodes: 50_000,
        max_depth: 128,
        max_aliases: 1_000,
        max_anchors: 1_000,
    };
    serde_saphyr::options! {
        budget: budget,
        strict_booleans: true,
        with_snippet: false,
    }
}

fn line_column(place: serde_saphyr::Location) -> LineColumn {
    let number = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    LineColumn { line: number(place.line()).max(1), column: number(place.column()) }
}

fn first_line_of(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_end_matches('.')
}

fn shift_lines(mut node: Node, lines: u32) -> Node {
    if lines > 0 {
        add_lines(&mut node, lines);
    }
    node
}

fn add_lines(node: &mut Node, lines: u32) {
    node.at.line += lines;
    match &mut node.data {
        Data::List(items) => items.iter_mut().for_each(|item| add_lines(item, lines)),
        Data::Map(entries) => entries.iter_mut().for_each(|(_, value)| add_lines(value, lines)),
        _ => {}
    }
}

/// A node that serde can deserialize.
struct Located(Node);

/// The value of a node before its place is added.
struct Content(Data);

impl<'de> Deserialize<'de> for Located {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Content>::deserialize(deserializer)?;
        Ok(Self(Node::new(line_column(spanned.referenced), spanned.value.0)))
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Read)
    }
}

struct Read;

impl<'de> Visitor<'de> for Read {
    type Value = Content;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON-compatible value")
    }

    fn visit_unit<E>(self) -> Result<Content, E> {
        Ok(Content(Data::Null))
    }

    fn visit_none<E>(self) -> Result<Content, E> {
        Ok(Content(Data::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Content, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Content, E> {
        Ok(Content(Data::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Content, E> {
        Ok(Content(Data::Number(value.into())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Content, E> {
        Ok(Content(Data::Number(value.into())))
    }

    fn visit_i128<E: serde::de::Error>(self, _value: i128) -> Result<Content, E> {
        Err(E::custom("number exceeds 64 bits"))
    }

    fn visit_u128<E: serde::de::Error>(self, _value: u128) -> Result<Content, E> {
        Err(E::custom("number exceeds 64 bits"))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Content, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("number is not finite"))?;
        Ok(Content(Data::Number(number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Content, E> {
        Ok(Content(Data::String(value.to_owned())))
    }

    fn visit_string<E>(self, value: String) -> Result<Content, E> {
        Ok(Content(Data::String(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Content, A::Error> {
        let mut list = Vec::new();
        while let Some(Located(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Content(Data::List(list)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Content, A::Error> {
        let mut entries = Vec::new();
        while let Some(Located(key)) = map.next_key()? {
            let key = match key.data {
                Data::String(text) => text,
                Data::Number(number) => number.to_string(),
                Data::Bool(value) => value.to_string(),
                _ => return Err(A::Error::custom("key is not a string")),
            };
            let Located(value) = map.next_value()?;
            entries.push((key, value));
        }
        Ok(Content(Data::Map(entries)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Node> {
        parse("prompt.yaml", text, text, 1)
    }

    #[test]
    fn values_know_where_they_stand() {
        let node = read("name: 灯\nlist:\n  - 1\n  - {a: -2.5}\nno: yes\nnothing:\n").expect("is YAML");
        assert_eq!(
            node.to_value(),
            serde_json::json!({"name": "灯", "list": [1, {"a": -2.5}], "no": "yes", "nothing": null})
        );
        let list = node.get("list").and_then(Node::as_list).expect("a list");
        assert_eq!((list[0].at.line, list[0].at.column), (3, 5));
        let inner = list[1].get("a").expect("is there");
        assert_eq!((inner.at.line, inner.at.column), (4, 9));
    }

    #[test]
    fn broken_text_is_an_error_with_its_place() {
        for (text, line) in [("a: [1\nb: 2\n", 2), ("a: 1\na: 2\n", 2), ("a: {{ b }}\n", 1)] {
            let error = read(text).expect_err(text);
            assert_eq!(error.reason(), Some(Reason::Syntax));
            assert_eq!(error.place().expect("has one").line, line, "{error:?}");
        }
    }

    #[test]
    fn alias_bombs_and_depth_are_refused() {
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for level in 1..8 {
            let last = format!("*a{}, ", level - 1).repeat(9);
            bomb.push_str(&format!("a{level}: &a{level} [{}]\n", last.trim_end_matches(", ")));
        }
        assert!(read(&bomb).is_err());
        assert!(read(&"[".repeat(60_000)).is_err());
        assert!(read(&"- ".repeat(30_000)).is_err());
    }
}
