//! JSON with the place of every value.

use std::fmt;

use hinagata_value::ValueType;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Value, value::RawValue};

use crate::{Cursor, Data, Error, Node, Place, Reason, Result};

/// Maximum nesting of containers.
const DEPTH: usize = 64;

/// Parses `text`, the content of `file`.
///
/// Each container is first split into slices of the text, which give the places, and then its parts are parsed one by
/// one. The limit on nesting also bounds the work.
pub fn parse(file: &str, text: &str) -> Result<Node> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| syntax_error(file, text, &error))?;
    read_node(&mut Cursor::new(text), text, raw.get(), 0).map_err(|(error, offset)| {
        let place = Place::in_text(file, text, offset);
        Error::definition(Reason::Syntax, format!("not valid JSON: {}", without_place(&error))).at(place)
    })
}

/// Checks that `text`, the content of `file`, is JSON, without a limit on its size.
///
/// # Errors
/// Code `definition`, reason `syntax`, with the place.
pub fn check_syntax(file: &str, text: &str) -> Result<()> {
    let read: std::result::Result<IgnoredAny, _> = serde_json::from_str(text);
    read.map(drop).map_err(|error| syntax_error(file, text, &error))
}

fn syntax_error(file: &str, text: &str, error: &serde_json::Error) -> Error {
    let (line, column) = (error.line().max(1), error.column());
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Error::definition(Reason::Syntax, format!("not valid JSON: {}", without_place(error))).at(Place::at_line(
        file,
        text,
        number(line),
        number(column),
    ))
}

fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

type Failure = (serde_json::Error, usize);

fn read_node(cursor: &mut Cursor<'_>, whole: &str, part: &str, depth: usize) -> Result<Node, Failure> {
    // `part` is a slice of `whole`, so the distance of their starts is the offset.
    let offset = part.as_ptr().addr().saturating_sub(whole.as_ptr().addr());
    let fail = |error| (error, offset);
    if depth > DEPTH {
        return Err(fail(serde::de::Error::custom(format!("more than {DEPTH} nested containers"))));
    }
    let at = cursor.line_column_at(offset);
    let data = match part.as_bytes().first() {
        Some(b'{') => {
            let Entries(entries) = serde_json::from_str(part).map_err(fail)?;
            let read =
                |(key, raw): (String, &RawValue)| Ok((key, read_node(cursor, whole, raw.get(), depth + 1)?));
            Data::Map(entries.into_iter().map(read).collect::<Result<_, Failure>>()?)
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(part).map_err(fail)?;
            Data::List(
                items
                    .into_iter()
                    .map(|raw| read_node(cursor, whole, raw.get(), depth + 1))
                    .collect::<Result<_, Failure>>()?,
            )
        }
        _ => match serde_json::from_str(part).map_err(fail)? {
            Value::Null => Data::Null,
            Value::Bool(value) => Data::Bool(value),
            Value::Number(number) => Data::Number(number),
            other => Data::String(other.as_str().unwrap_or_default().to_owned()),
        },
    };
    Ok(Node::new(at, data))
}

/// The entries of an object in order; a duplicate key is an error, because one of the values would be lost.
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(ValueType::Object.noun())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut seen = std::collections::HashSet::new();
                let mut entries = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, &RawValue>()? {
                    if !seen.insert(key.clone()) {
                        return Err(serde::de::Error::custom(format!("duplicate key `{key}`")));
                    }
                    entries.push((key, value));
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_where_they_stand() {
        let node =
            parse("a.json", "{\n  \"灯\": [1, -2.5, true],\n  \"b\": {\"c\": null}\n}").expect("is JSON");
        let list = node.get("灯").expect("is there");
        assert_eq!((list.at.line, list.at.column), (2, 8));
        assert_eq!(
            (list.as_list().expect("a list")[1].at.line, list.as_list().expect("a list")[1].at.column),
            (2, 12)
        );
        let null = node.get("b").and_then(|node| node.get("c")).expect("is there");
        assert_eq!((null.at.line, null.at.column), (3, 14));
    }

    #[test]
    fn broken_text_is_an_error_with_its_place() {
        let error = parse("a.json", "{\n  \"a\": ,\n}").expect_err("is broken");
        assert_eq!(error.place().expect("has one").to_string(), "a.json:2:8");
        let error = parse("a.json", "{\"a\": 1, \"b\": {\"c\": 1, \"c\": 2}}").expect_err("loses a value");
        assert_eq!(error.message(), "not valid JSON: duplicate key `c`");
        assert_eq!(error.place().expect("has one").column, 15);
    }

    #[test]
    fn deep_nesting_is_refused() {
        let text = "[".repeat(100_000);
        assert!(parse("a.json", &text).is_err());
        let text = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(parse("a.json", &text).is_err());
    }
}
