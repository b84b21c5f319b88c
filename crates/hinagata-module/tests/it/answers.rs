//! Answers of models: found, repaired, coerced, and checked.

use std::{fs, sync::Arc};

use hinagata_module::answer::{AnswerMode, AnswerSchema, ExtractOptions, extract_json};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::folder;

fn schema(schema: Value) -> AnswerSchema {
    AnswerSchema::new(Arc::new(schema)).expect("is a schema")
}

/// A schema that everything follows.
fn anything() -> AnswerSchema {
    schema(json!(true))
}

#[test]
fn damaged_json_is_repaired_as_by_jsonrepair() {
    let text = fs::read_to_string(folder("answers").join("jsonrepair.json")).expect("is there");
    let recorded: Value = serde_json::from_str(&text).expect("is JSON");
    let mut failures = Vec::new();
    for case in recorded["cases"].as_array().expect("is a list") {
        let text = case["text"].as_str().expect("is a text");
        let expected = case.get("ours").unwrap_or(&case["value"]);
        let found = anything().check_answer(text, AnswerMode::Repair).map(|checked| checked.value);
        if found.as_ref().ok() != Some(expected) {
            failures.push(format!("{text}\n  expected {expected}\n  found    {found:?}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn answers_are_found_in_prose_and_code_blocks() {
    let ticket = schema(json!({
        "type": "object", "properties": {"urgency": {"enum": ["low", "high"]}, "hours": {"type": "integer"}},
        "required": ["urgency"], "additionalProperties": false,
    }));
    for text in [
        r#"{"urgency": "high", "hours": 3}"#,
        "Sure! Here it is:\n```json\n{\"urgency\": \"HIGH\", \"hours\": \"3\"}\n```\nAnything else?",
        "I compared {a: 1} with others. {\"urgency\": \"High\", hours: 3,} is my answer.",
        "The answer is {\"urgency\": \"high\", \"hours\": 3",
    ] {
        let checked = ticket.check_answer(text, AnswerMode::Repair).expect(text);
        assert_eq!(checked.value, json!({"urgency": "high", "hours": 3}), "{text}");
    }
    let faults = ticket.check_answer("{\"urgency\": \"soon\", \"hours\": \"some\"}", AnswerMode::Repair);
    let paths: Vec<String> = faults.expect_err("is wrong").into_iter().map(|fault| fault.path).collect();
    assert_eq!(paths, ["/hours", "/urgency"]);
    assert!(ticket.check_answer("I do not know.", AnswerMode::Repair).is_err());
}

#[test]
fn values_are_coerced_only_where_nothing_is_lost() {
    let number = schema(json!({"type": "number"}));
    let value = |schema: &AnswerSchema, text: &str| {
        schema.check_answer(text, AnswerMode::Repair).map(|checked| checked.value).ok()
    };
    assert_eq!(value(&number, "\"3.5\""), Some(json!(3.5)));
    assert_eq!(value(&number, "\"three\""), None);
    assert_eq!(value(&number, "\"12345678901234567890.123\""), None);
    let list = schema(json!({"type": "array", "items": {"type": "string"}}));
    assert_eq!(value(&list, "\"a\""), Some(json!(["a"])));
    assert_eq!(value(&list, "{\"items\": [\"a\", \"b\"]}"), Some(json!(["a", "b"])));
    assert_eq!(value(&list, "[1, true]"), Some(json!(["1", "true"])));
    let either = schema(json!({"anyOf": [{"type": "integer"}, {"enum": ["none"]}]}));
    assert_eq!(value(&either, "\"3\""), Some(json!(3)));
    assert_eq!(value(&either, "\"None\""), Some(json!("none")));
    let text = schema(json!({"type": "string", "maxLength": 5}));
    assert_eq!(value(&text, "hello"), Some(json!("hello")));
    assert_eq!(value(&text, "hello world"), None);
    let reference = schema(json!({"$ref": "#/$defs/n", "$defs": {"n": {"type": "boolean"}}}));
    assert_eq!(value(&reference, "\"True\""), Some(json!(true)));
}

#[test]
fn strict_answers_are_json_alone() {
    let number = schema(json!({"type": "integer"}));
    assert!(number.check_answer("3", AnswerMode::Strict).is_ok());
    for text in ["\"3\"", "```json\n3\n```", "3,", "three"] {
        assert!(number.check_answer(text, AnswerMode::Strict).is_err(), "{text}");
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z \"'\\\\{}\\[\\],:\n]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,6}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// The schema of exactly the type that a value has, at every depth.
fn schema_of(value: &Value) -> Value {
    match value {
        Value::Null => json!({"type": "null"}),
        Value::Bool(_) => json!({"type": "boolean"}),
        Value::Number(_) => json!({"type": "integer"}),
        Value::String(_) => json!({"type": "string"}),
        Value::Array(items) => {
            let items: Vec<Value> = items.iter().map(schema_of).collect();
            json!({"type": "array", "prefixItems": items, "items": false, "minItems": items.len()})
        }
        Value::Object(fields) => {
            let properties: Value =
                fields.iter().map(|(key, value)| (key.clone(), schema_of(value))).collect();
            let required: Vec<&String> = fields.keys().collect();
            json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_valid_answer_is_never_changed(value in value(), around in prop::sample::select(vec!["", " \n"])) {
        let checked = schema(schema_of(&value)).check_answer(&format!("{around}{value}{around}"), AnswerMode::Repair);
        let checked = checked.expect("follows its schema");
        prop_assert_eq!(&checked.value, &value);
        prop_assert!(checked.repairs.is_empty(), "{:?}", checked.repairs);
    }

    #[test]
    fn no_invalid_answer_passes(value in value(), other in value(), from in 0_usize..200, length in 0_usize..4) {
        let mut text: Vec<char> = value.to_string().chars().collect();
        let from = from.min(text.len());
        text.drain(from..(from + length).min(text.len()));
        let text: String = text.into_iter().collect();
        let wanted = schema_of(&other);
        if let Ok(checked) = schema(wanted.clone()).check_answer(&text, AnswerMode::Repair) {
            prop_assert!(jsonschema::is_valid(&wanted, &checked.value), "{text}: {}", checked.value);
        }
    }

    #[test]
    fn no_text_panics(text in "[\\x00-\\x7fé“”]{0,60}") {
        let _ = extract_json(&text, ExtractOptions::default());
        let _ = anything().check_answer(&text, AnswerMode::Repair);
    }
}
