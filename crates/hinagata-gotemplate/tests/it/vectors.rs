//! Every recorded answer of Go, byte for byte.

use std::{collections::BTreeMap, path::Path};

use crate::support::run::{Case, Outcome, on_stack, run};
use hinagata_gotemplate::go_limits;
use serde_json::Value as Json;

/// As much stack as 100 000 template calls inside each other can need.
const STACK: usize = 1 << 30;

fn read(case: &Json) -> Case {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let mut read = Case::single(case["template"].as_str().unwrap_or_default(), case["data"].clone());
    if let Some(order) = case["order"].as_array() {
        let source = |name: &Json| (text(name), text(&case["templates"][text(name)]));
        read.sources = order.iter().map(source).collect();
        read.entry = text(&case["entry"]);
    }
    read.ints = case["ints"] == true;
    if let Some(missing_key) = case["options"]["missingkey"].as_str() {
        read.missing_key = missing_key.to_owned();
    }
    if let Some([left, right]) = case["options"]["delims"].as_array().map(Vec::as_slice) {
        read.delims = (text(left), text(right));
    }
    read
}

/// What a case should lead to, in the words of the file.
fn expected(expect: &Json) -> BTreeMap<String, Json> {
    expect.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn answered(outcome: Outcome) -> BTreeMap<String, Json> {
    let entries = match outcome {
        Outcome::Output(bytes) => match String::from_utf8(bytes) {
            Ok(text) => vec![("output", text)],
            Err(error) => vec![("output_base64", base64(error.as_bytes()))],
        },
        Outcome::Parse(error) => vec![("parse_error", error.message().to_owned())],
        Outcome::Exec(error, written) => vec![
            ("exec_error", error.message().to_owned()),
            ("partial_output", String::from_utf8_lossy(&written).into_owned()),
        ],
    };
    entries.into_iter().map(|(key, value)| (key.to_owned(), Json::String(value))).collect()
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits =
            chunk.iter().fold(0_u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit =
                if place <= chunk.len() { DIGITS[(bits >> (18 - 6 * place)) as usize & 63] } else { b'=' };
            text.push(char::from(digit));
        }
    }
    text
}

#[test]
fn every_recorded_answer_of_go_is_given() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/gotemplate");
    let mut files: Vec<_> = std::fs::read_dir(directory)
        .expect("the vectors are there")
        .map(|entry| entry.expect("is readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    let (total, wrong) = on_stack(STACK + (8 << 20), move || {
        let limits = go_limits(STACK);
        let (mut total, mut wrong) = (0, Vec::new());
        for file in files {
            let text = std::fs::read_to_string(&file).expect("is readable");
            let document: Json = serde_json::from_str(&text).expect("is JSON");
            for case in document["cases"].as_array().expect("has cases") {
                total += 1;
                let (expected, answered) = (expected(&case["expect"]), answered(run(&read(case), &limits)));
                if expected != answered {
                    let template = case.get("template").unwrap_or(&case["templates"]).to_string();
                    let template: String = template.chars().take(300).collect();
                    wrong.push(format!(
                        "{}\n  {template}\n  Go: {expected:?}\n  we: {answered:?}",
                        case["id"]
                    ));
                }
            }
        }
        (total, wrong)
    });
    assert!(wrong.is_empty(), "{} of {total} answers are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(total, 2000, "the set has 2 000 cases");
}
