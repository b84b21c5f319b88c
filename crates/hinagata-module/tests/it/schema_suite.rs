//! Answers are checked as the tests say that all validators of JSON Schema share.

use std::{env, fs, path::PathBuf, sync::Arc};

use hinagata_module::answer::{AnswerMode, AnswerSchema};
use serde_json::Value;

/// Schemas that are refused on purpose, by file and the start of their descriptions: they refer to other documents, and
/// nothing is fetched to check an answer.
const NOT_FETCHED: [(&str, &str); 0] = [];

/// A group of tests: a schema, and values that follow it or do not.
fn failures(file: &str, group: &Value) -> Vec<String> {
    let described = |test: &Value| format!("{file}: {}: {}", group["description"], test["description"]);
    let schema = match AnswerSchema::new(Arc::new(group["schema"].clone())) {
        Ok(schema) => schema,
        Err(error) => return vec![format!("{}: {error}", described(&Value::Null))],
    };
    let tests = group["tests"].as_array().expect("is a list");
    let is_right = |test: &&Value| {
        let checked = schema.check_answer(&test["data"].to_string(), AnswerMode::Strict);
        match checked {
            Ok(checked) => {
                test["valid"] == true && checked.value == test["data"] && checked.repairs.is_empty()
            }
            Err(faults) => test["valid"] == false && !faults.is_empty(),
        }
    };
    tests.iter().filter(|test| !is_right(test)).map(described).collect()
}

#[test]
#[expect(clippy::print_stderr, reason = "whoever runs the tests must know that this one did nothing")]
fn values_follow_schemas_as_the_shared_tests_say() {
    let Some(directory) = env::var_os("HINAGATA_TEST_TOKENIZERS").map(PathBuf::from) else {
        eprintln!(
            "NOTHING WAS COMPARED: set HINAGATA_TEST_TOKENIZERS to the output of tests/tokenizers/fetch.py"
        );
        return;
    };
    let (mut groups, mut failed) = (0, Vec::new());
    for entry in fs::read_dir(directory.join("schemas")).expect("was fetched") {
        let path = entry.expect("is readable").path();
        let file = path.file_name().expect("has a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("is a text");
        for group in serde_json::from_str::<Vec<Value>>(&text).expect("is a list") {
            let is_expected = NOT_FETCHED.iter().any(|(own, start)| {
                *own == file && group["description"].as_str().is_some_and(|about| about.starts_with(start))
            });
            let found = failures(&file, &group);
            match is_expected {
                true => assert!(!found.is_empty(), "remove from the list: {file}: {}", group["description"]),
                false => failed.extend(found),
            }
            groups += 1;
        }
    }
    assert!(groups > 300, "{groups} groups");
    assert!(failed.is_empty(), "{} values:\n{}", failed.len(), failed.join("\n"));
}
