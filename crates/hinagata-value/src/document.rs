//! JSON documents, which cross threads or leave the render, with bounded size.

use std::fmt::Write;

use serde_json::{Number as JsonNumber, Value as Json};

use crate::{
    Error, Heap, JsonStyle, Kind, Number, Result, Value,
    json::{contains_itself, is_list, no_json_form, write_key},
    metered::Charge,
    walk::{Event, too_deep, walk_value},
};

/// Maximum depth of a document, regardless of `value_depth`: dropping, cloning and printing a
/// `serde_json::Value` recurse.
const DOCUMENT_DEPTH: usize = 1_000;

/// Whether a number of `document` is a float because it is beyond 64 bits: an integer of that length lost digits.
///
/// ```
/// let order = serde_json::from_str(r#"{"ids": [1, 18446744073709551616]}"#).expect("is JSON");
/// assert!(hinagata_value::has_long_number(&order));
/// ```
#[must_use]
pub fn has_long_number(document: &Json) -> bool {
    /// Containers inside each other that are visited without a list of those that are left.
    const DEEP: usize = 32;
    has_long_number_within(document, DEEP)
}

fn has_long_number_within(document: &Json, depth: usize) -> bool {
    match document {
        Json::Array(_) | Json::Object(_) if depth == 0 => has_long_number_deep(document),
        Json::Array(items) => items.iter().any(|item| has_long_number_within(item, depth - 1)),
        Json::Object(map) => map.values().any(|item| has_long_number_within(item, depth - 1)),
        Json::Number(number) => is_long(number),
        Json::Null | Json::Bool(_) | Json::String(_) => false,
    }
}

/// Without recursion, because data may be nested deeper than the stack allows.
#[cold]
fn has_long_number_deep(document: &Json) -> bool {
    let mut open = vec![document];
    while let Some(value) = open.pop() {
        match value {
            Json::Array(items) => open.extend(items),
            Json::Object(map) => open.extend(map.values()),
            Json::Number(number) if is_long(number) => return true,
            _ => {}
        }
    }
    false
}

fn is_long(number: &serde_json::Number) -> bool {
    const LIMIT: f64 = 18_446_744_073_709_551_616.0;
    number.is_f64() && number.as_f64().is_some_and(|float| float >= LIMIT || float <= LIMIT / -2.0)
}

/// Copies `value` to a document, which can cross threads or leave the render.
///
/// Integers beyond 64 bits become floats, as in JSON parsers. Its size is charged only while it is built.
///
/// # Errors
/// Those of [`crate::write_json`]. The depth is limited to 1 000 in addition to `value_depth`, so that dropping
/// the document is safe.
pub fn to_json<'a>(heap: &Heap<'a>, value: &Value<'a>) -> Result<Json> {
    let mut charge = Charge::new(heap.budget());
    let mut levels: Vec<(Json, String)> = Vec::new();
    let mut result = Json::Null;
    let mut place = |levels: &mut Vec<(Json, String)>, value: Json| match levels.last_mut() {
        None => result = value,
        Some((Json::Array(items), _)) => items.push(value),
        Some((Json::Object(map), key)) => {
            map.insert(std::mem::take(key), value);
        }
        Some(_) => {}
    };
    walk_value(heap, value, &mut |event| {
        match event {
            Event::Start(shape, len) => {
                if levels.len() >= DOCUMENT_DEPTH {
                    return Err(too_deep(DOCUMENT_DEPTH));
                }
                let empty = match is_list(shape)? {
                    true => charge.add_bytes(list_bytes(len)).map(|()| Json::Array(Vec::with_capacity(len))),
                    false => {
                        charge.add_bytes(map_bytes(len)).map(|()| serde_json::Map::with_capacity(len).into())
                    }
                };
                levels.push((empty?, String::new()));
            }
            Event::Next => {}
            Event::Key(key) => {
                let name = key_name(heap, &key)?;
                charge.add_bytes(name.len())?;
                if let Some((_, slot)) = levels.last_mut() {
                    *slot = name;
                }
            }
            Event::Scalar(value) => place(&mut levels, scalar_to_json(heap, &value, &mut charge)?),
            Event::End(..) => {
                if let Some((built, _)) = levels.pop() {
                    place(&mut levels, built);
                }
            }
            Event::Cycle(_) => return Err(contains_itself()),
        }
        Ok(())
    })?;
    Ok(result)
}

/// A key as a string in a document.
fn key_name<'a>(heap: &Heap<'a>, key: &Value<'a>) -> Result<String> {
    if let Some(key) = key.as_str() {
        heap.budget().step_bytes(key.len())?;
        return Ok(key.to_owned());
    }
    let mut text = heap.text();
    write_key(key, &JsonStyle::default(), &mut text)?;
    Ok(text.as_str().trim_matches('"').to_owned())
}

fn scalar_to_json<'a>(heap: &Heap<'a>, value: &Value<'a>, charge: &mut Charge<'a>) -> Result<Json> {
    if let Some(string) = value.as_str() {
        heap.budget().step_bytes(string.len())?;
        charge.add_bytes(string.len())?;
        return Ok(Json::String(string.to_owned()));
    }
    if let Value::Range(range) = value {
        heap.budget().charge_steps(range.len())?;
        charge.add_bytes(list_bytes(range.len() as usize))?;
        return Ok((0..range.len()).map_while(|index| range.get(index)).collect());
    }
    match (value.as_number(), value.kind()) {
        (Some(Number::Int(int)), _) => Ok(match (i64::try_from(int), u64::try_from(int)) {
            (Ok(int), _) => Json::from(int),
            (_, Ok(int)) => Json::from(int),
            _ => Json::from(int as f64),
        }),
        (Some(Number::Float(float)), _) => JsonNumber::from_f64(float)
            .map(Json::Number)
            .ok_or_else(|| no_json_form("an infinite or undefined number")),
        (_, Kind::None) => Ok(Json::Null),
        (_, Kind::Bool) => Ok(Json::Bool(value.as_bool() == Some(true))),
        (_, Kind::Pending) => Err(Error::suspended()),
        (_, Kind::Undefined) => Err(no_json_form("an undefined value")),
        (_, Kind::Bytes) => Err(no_json_form("a string that is not UTF-8")),
        _ => Err(no_json_form("a function or object")),
    }
}

/// Bytes that the items of a list in a document take.
const fn list_bytes(len: usize) -> usize {
    len.saturating_mul(size_of::<Json>())
}

/// Bytes of the entries of a map in a document: hash, key, value, and two to three slots of an index. An upper
/// estimate.
const fn map_bytes(len: usize) -> usize {
    let entry = size_of::<u64>() + size_of::<String>() + size_of::<Json>() + 3 * size_of::<u64>();
    if len == 0 { 0 } else { len.saturating_mul(entry).saturating_add(4 * size_of::<u64>()) }
}

/// The approximate size of a document in bytes, computed without recursion.
pub(crate) fn document_bytes(document: &Json) -> usize {
    let mut bytes = size_of::<Json>();
    let mut work = vec![document];
    while let Some(value) = work.pop() {
        bytes += match value {
            Json::String(text) => text.len(),
            Json::Array(items) => {
                work.extend(items);
                list_bytes(items.len())
            }
            Json::Object(map) => {
                work.extend(map.values());
                map_bytes(map.len()) + map.keys().map(String::len).sum::<usize>()
            }
            _ => 0,
        };
    }
    bytes
}

/// A document as text, written without recursion. Equal texts mean equal documents.
pub(crate) fn document_text(document: &Json) -> String {
    enum Work<'j> {
        Value(&'j Json),
        Key(&'j str),
        Text(&'static str),
    }
    let mut text = String::new();
    let mut work = vec![Work::Value(document)];
    while let Some(next) = work.pop() {
        match next {
            Work::Text(piece) => text.push_str(piece),
            Work::Key(key) => {
                // `Debug` escapes quotes and backslashes, so that no key can look like two.
                let _ = write!(text, "{key:?}:");
            }
            Work::Value(Json::Array(items)) => {
                text.push('[');
                work.push(Work::Text("]"));
                work.extend(items.iter().rev().flat_map(|item| [Work::Text(","), Work::Value(item)]));
            }
            Work::Value(Json::Object(map)) => {
                text.push('{');
                work.push(Work::Text("}"));
                for (key, value) in map.iter().rev() {
                    work.extend([Work::Text(","), Work::Value(value), Work::Key(key)]);
                }
            }
            Work::Value(scalar) => {
                let _ = write!(text, "{scalar}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_number_is_found_at_every_depth() {
        for (number, is_long) in [(18_446_744_073_709_551_616.0, true), (1.5, false)] {
            let mut document = Json::from(number);
            for depth in 0..100 {
                assert_eq!(has_long_number(&document), is_long, "at depth {depth}");
                document = match depth % 2 {
                    0 => Json::Array(vec![Json::Null, document]),
                    _ => Json::Object(serde_json::Map::from_iter([("item".to_owned(), document)])),
                };
            }
        }
    }
}
