//! JSON text and documents are those of `serde_json`, whatever form the value has.

use std::borrow::Cow;

use hinagata_value::{Budget, Heap, JsonStyle, Kind, Limits, Range, Result, Value, to_json, write_json};
use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Value as Json, json, ser::PrettyFormatter};

use crate::support::{json as documents, produced};

fn written<'a>(heap: &Heap<'a>, value: &Value<'a>, style: &JsonStyle<'_>) -> Result<String> {
    let mut text = heap.text();
    write_json(heap, value, style, &mut text)?;
    Ok(text.into_string())
}

/// The texts of a document in both of its forms.
fn both(document: &Json, style: &JsonStyle<'_>) -> [String; 2] {
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    let produced = produced::produced(&heap, document).expect("no limit is near");
    [Value::Json(document), produced].map(|value| written(&heap, &value, style).expect("no limit is near"))
}

/// The document with floats that need an exponent replaced: those are laid out as Python does it.
fn without_exponents(document: &Json) -> Json {
    match document {
        Json::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or(0.0);
            let plain = float == 0.0 || (1e-4..1e16).contains(&float.abs());
            if plain { document.clone() } else { json!(0.5) }
        }
        Json::Array(items) => items.iter().map(without_exponents).collect(),
        Json::Object(map) => map.iter().map(|(key, value)| (key.clone(), without_exponents(value))).collect(),
        other => other.clone(),
    }
}

fn sorted(document: &Json) -> Json {
    match document {
        Json::Array(items) => items.iter().map(sorted).collect(),
        Json::Object(map) => {
            let mut entries: Vec<_> = map.iter().map(|(key, value)| (key.clone(), sorted(value))).collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            entries.into_iter().collect()
        }
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn compact_text_is_that_of_serde_json(document in documents::document()) {
        let plain = without_exponents(&document);
        for text in both(&plain, &JsonStyle::default()) {
            prop_assert_eq!(text, serde_json::to_string(&plain).expect("a document"));
        }
        for text in both(&document, &JsonStyle::default()) {
            prop_assert_eq!(&serde_json::from_str::<Json>(&text).expect("JSON"), &document);
        }
    }

    #[test]
    fn indented_text_is_that_of_serde_json(document in documents::document(), indent in " {0,4}|\t") {
        let plain = without_exponents(&document);
        let style = JsonStyle {
            indent: Some(Cow::Borrowed(&indent)),
            key_separator: Cow::Borrowed(": "),
            ..JsonStyle::default()
        };
        let mut expected = Vec::new();
        let formatter = PrettyFormatter::with_indent(indent.as_bytes());
        plain.serialize(&mut serde_json::Serializer::with_formatter(&mut expected, formatter)).expect("a document");
        for text in both(&plain, &style) {
            prop_assert_eq!(text.as_bytes(), &expected);
        }
    }

    #[test]
    fn sorted_text_is_that_of_the_sorted_document(document in documents::document()) {
        let plain = without_exponents(&document);
        let style = JsonStyle { sort_keys: true, ..JsonStyle::default() };
        for text in both(&plain, &style) {
            prop_assert_eq!(text, serde_json::to_string(&sorted(&plain)).expect("a document"));
        }
    }

    #[test]
    fn ascii_text_is_ascii_and_means_the_same(document in documents::document()) {
        let style = JsonStyle { ascii: true, escape: &['<', '\''], ..JsonStyle::default() };
        for text in both(&document, &style) {
            prop_assert!(text.chars().all(|character| (' '..='~').contains(&character)));
            prop_assert!(!text.contains(['<', '\'']));
            prop_assert_eq!(&serde_json::from_str::<Json>(&text).expect("JSON"), &document);
        }
    }

    #[test]
    fn escaped_characters_do_not_appear_and_mean_the_same(document in documents::document()) {
        let style = JsonStyle { escape: &['é', '\u{2028}', '&', '\u{7f}'], ..JsonStyle::default() };
        for text in both(&document, &style) {
            prop_assert!(!text.contains(style.escape));
            prop_assert_eq!(&serde_json::from_str::<Json>(&text).expect("JSON"), &document);
        }
    }

    #[test]
    fn a_document_of_a_value_is_the_document_it_was_made_from(document in documents::document()) {
        let budget = Budget::new(Limits::default());
        let heap = Heap::new(&budget);
        for value in [Value::Json(&document), produced::produced(&heap, &document).expect("no limit is near")] {
            let copy = to_json(&heap, &value).expect("no limit is near");
            prop_assert_eq!(&copy, &document);
            prop_assert_eq!(copy.to_string(), document.to_string(), "the order of keys as well");
        }
    }

    #[test]
    fn sorting_keys_of_any_mix_of_types_gives_a_sorted_map_or_an_error(
        keys in prop::collection::vec(
            prop_oneof![
                3 => any::<i64>().prop_map(|n| (n, 0)),
                1 => any::<i64>().prop_map(|n| (n, 1)),
                1 => (0..2_i64).prop_map(|n| (n, 2)),
                1 => Just((0, 3)),
            ],
            0..60,
        ),
        floats_only: bool,
    ) {
        let budget = Budget::new(Limits::default());
        let heap = Heap::new(&budget);
        let mut map = heap.map().expect("fits");
        for (n, kind) in keys {
            let key = match kind {
                0 if floats_only => Value::Float(n as f64 / 3.0),
                0 => Value::Int(n),
                1 if floats_only => Value::Float(f64::NAN),
                1 => heap.string(&n.to_string()).expect("fits"),
                2 => Value::Bool(n == 1),
                _ if floats_only => Value::Int(n),
                _ => Value::None,
            };
            map.insert(key, Value::None).expect("fits");
        }
        let map = map.finish();
        let kinds: Vec<_> = heap.iter(&map).expect("a map").map(|key| key.kind()).collect();
        let is_number = |kind: &Kind| matches!(kind, Kind::Int | Kind::Float | Kind::Bool);
        let sortable = kinds.len() < 2 || kinds.iter().all(is_number) || kinds.iter().all(|kind| *kind == Kind::Str);
        let result = written(&heap, &map, &JsonStyle { sort_keys: true, ..JsonStyle::default() });
        match result {
            Ok(_) => prop_assert!(sortable),
            Err(error) => {
                prop_assert!(!sortable);
                prop_assert_eq!(error.message(), "keys of different types cannot be sorted");
            }
        }
    }
}

#[test]
fn keys_that_are_no_text_are_written_as_json_libraries_write_them() {
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    let mut map = heap.map().expect("fits");
    let keys = [
        Value::Int(-1),
        Value::Float(1.5),
        Value::Bool(true),
        Value::None,
        heap.int(1 << 100).expect("fits"),
        heap.string("\"quoted\"").expect("fits"),
    ];
    for (n, key) in keys.into_iter().enumerate() {
        map.insert(key, Value::Int(n as i64)).expect("fits");
    }
    let map = map.finish();
    let text = written(&heap, &map, &JsonStyle::default()).expect("all can be keys");
    let expected = r#"{"-1":0,"1.5":1,"true":2,"null":3,"1267650600228229401496703205376":4,"\"quoted\"":5}"#;
    assert_eq!(text, expected);
    assert_eq!(to_json(&heap, &map).expect("all can be keys").to_string(), expected);
}

#[test]
fn a_range_is_written_as_the_list_of_its_numbers() {
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    for (stop, document) in [(0, json!([[], 1])), (3, json!([[0, 1, 2], 1]))] {
        let range = heap.range(Range::new(0, stop, 1).expect("a step")).expect("fits");
        let list = heap.list_of([range, Value::Int(1)]).expect("fits");
        for indent in [None, Some(Cow::Borrowed("  "))] {
            let style = JsonStyle { indent, ..JsonStyle::default() };
            assert_eq!(written(&heap, &list, &style).expect("fits"), both(&document, &style)[0]);
        }
        assert_eq!(to_json(&heap, &list).expect("fits"), document);
    }
}

#[test]
fn numbers_that_json_does_not_know_are_written_as_python_writes_them() {
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    let floats = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(Value::Float);
    let list = heap.list_of(floats).expect("fits");
    assert_eq!(written(&heap, &list, &JsonStyle::default()).expect("fits"), "[NaN,Infinity,-Infinity]");
    assert!(to_json(&heap, &list).is_err());
    let big = heap.int(i128::MAX).expect("fits");
    assert_eq!(to_json(&heap, &big).expect("as a float"), json!(i128::MAX as f64));
}

#[test]
fn what_has_no_json_form_says_so() {
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    let values = [
        (Value::UNDEFINED, "an undefined value has no JSON form"),
        (heap.bytes(b"\xff").expect("fits"), "a string that is not UTF-8 has no JSON form"),
        (heap.map().expect("fits").finish_namespace(), "a namespace has no JSON form"),
        (heap.list().expect("fits").finish_once(), "a function or object has no JSON form"),
    ];
    for (value, message) in values {
        for value in [heap.list_of([value.clone()]).expect("fits"), value] {
            assert_eq!(written(&heap, &value, &JsonStyle::default()).expect_err("none").message(), message);
            assert_eq!(to_json(&heap, &value).expect_err("none").message(), message);
        }
    }
}
