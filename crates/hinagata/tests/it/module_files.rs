//! Module files that are no prompts, their merged form, and the places of errors in their texts.

use std::path::PathBuf;

use hinagata::{
    Code, Engine, Error, Request,
    definition::{AdHocModules, PRESETS},
    module::driver::{Driver, Files},
};
use serde_json::{Map, Value, json};

use crate::modules::{SHARED, workspace};

fn variables(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().expect("is a map")
}

/// Modules in files with these names and texts, in their order.
fn read(files: &[(&str, &str)]) -> hinagata::Result<AdHocModules> {
    let place = workspace(files);
    let path = |(name, _): &(&str, &str)| -> PathBuf { place.path().join(SHARED).join(name) };
    AdHocModules::from_files(files.iter().map(path))
}

#[test]
fn model_and_options_come_from_the_last_file_that_sets_them() {
    let modules = read(&[
        ("a.yaml", "model: gpt-4o\nconfig: {temperature: 0.2}\nsections: {objective: [Greet.]}\n"),
        ("b.yaml", "model: {name: gpt-5}\nsections: {cue: [Now]}\n"),
    ])
    .expect("are read");
    let prompt = modules.compile(&Map::new(), None).expect("compiles");
    let body = Driver::OpenAi.format(&prompt, &modules.request_options()).expect("is sent").to_value();
    assert_eq!((&body["model"], &body["temperature"]), (&json!("gpt-5"), &json!(0.2)));
}

#[test]
fn options_that_no_model_gets_are_reported() {
    let text = "config: {temprature: 0.2, top_p: high, stop: [1], max_tokens: -1, seed: null, topK: 3}\nsections: {cue: [Now]}\n";
    let modules = read(&[("a.yaml", text)]).expect("is read");
    let found: Vec<(&str, &[String])> =
        modules.warnings().iter().map(|warning| (warning.message(), warning.near())).collect();
    assert_eq!(
        found,
        [
            ("`config.temprature` is unknown and not sent to the model", &["temperature".to_owned()][..]),
            ("`config.top_p` is not sent to the model: its value has the wrong type", &[]),
            ("`config.stop` is not sent to the model: its value has the wrong type", &[]),
            ("`config.max_tokens` is not sent to the model: its value has the wrong type", &[]),
        ]
    );
    let text = "config: fast\nsections: {cue: [Now]}\n";
    let modules = read(&[("a.yaml", text)]).expect("is read");
    let [warning] = modules.warnings() else { panic!("{:?}", modules.warnings()) };
    assert_eq!(warning.message(), "`config` has no effect: it must be an object, not a string");
}

#[test]
fn what_a_used_module_cannot_decide_is_reported() {
    let place = workspace(&[
        ("a.yaml", "model: gpt-5\nuses: [./b.yaml]\nsections: {objective: [Greet.]}\n"),
        ("b.yaml", "title: Cue\nmodel: gpt-4o\nsections: {cue: [Now]}\n"),
    ]);
    let modules = AdHocModules::from_files([place.path().join(SHARED).join("a.yaml")]).expect("is read");
    let [warning] = modules.warnings() else { panic!("{:?}", modules.warnings()) };
    assert_eq!(warning.message(), "`model` has no effect in a module that another one uses");
    assert_eq!(warning.place().map(|place| (place.file.ends_with("b.yaml"), place.line)), Some((true, 2)));
    assert_eq!(modules.request_options().model.as_deref(), Some("gpt-5"));
}

#[test]
fn undefined_values_are_errors_where_a_file_says_so() {
    let text = "context: {who: {type: string}, docs: {type: list}}\nsections:\n  objective: ['Greet {{ who }}.']\n  \
        materials: [{each: docs, text: =item}]\n";
    let lenient = read(&[("a.yaml", text)]).expect("is read");
    let prompt = lenient.compile(&Map::new(), None).expect("compiles").to_json();
    assert_eq!(prompt["instructions"][0]["items"], json!(["Greet ."]));

    let strict = read(&[("a.yaml", text), ("b.yaml", "undefined: error\nsections: {cue: [Now]}\n")]);
    let strict = strict.expect("are read");
    let error = strict.compile(&variables(&json!({"docs": []})), None).expect_err("who?");
    assert_eq!((error.code(), error.place().map(|place| place.line)), (Code::RenderUndefined, Some(3)));
    let error = strict.compile(&variables(&json!({"who": "Ann"})), None).expect_err("which?");
    assert_eq!((error.code(), error.place().map(|place| place.line)), (Code::RenderUndefined, Some(4)));
    strict.compile(&variables(&json!({"who": "Ann", "docs": []})), None).expect("nothing is undefined");
}

const EVERYTHING: &str = r#"
order: cache
undefined: error
model: gpt-4o
config: {temperature: 0.2, stop: [END]}
custom_sections: {extras: {part: data, title: Extras}}
context:
  who: {type: string, required: true, description: Whom to greet}
  tone: {type: string, default: dry, enum: [dry, warm], complete: [dry, warm]}
  docs: {type: list, default: [{id: a, title: A, content: c}]}
sections:
  objective: ["Greet {{ who }}.", "==not a path", "Say \\{"]
  terms:
    - section: Words
      items: ["==x", "{{ tone }}", {subsection: Inner, items: ["==y", =who]}]
    - {subsection: Outer, items: [a, {if: who, text: b}]}
  inputs: [{text: "==z"}, {if: who, text: =tone, else: none}]
  materials:
    - {each: docs, as: d, where: d.content, material: {id: =d.id, title: =d.title, content: =d.content, usage: 3}}
    - {material: {id: m, title: "==t", content: fixed, attachments: [{image_url: "data:image/png;base64,aGk="}]}}
  chunks: [{chunk: {partOf: m, content: c, index: 1, total: 2}}]
  extras: [{json: {a: ["==b", 1]}}]
  messages:
    - {message: {role: user, content: "==hi", name: Ann}}
    - {message: {role: user, content: look, attachments: [{file: a.txt, mime_type: text/plain}]}}
    - {message: {role: assistant, content: "", toolCalls: [{id: c1, name: f, arguments: {x: "==1"}}]}}
    - {message: {role: tool, content: done, name: f, toolCallId: c1}}
  schema: [{json: {type: object, properties: {a: {const: "==a"}}, required: [a]}}]
"#;

/// Every file has the same text.
struct Notes;

impl Files for Notes {
    fn read(&self, _path: &str) -> Result<Vec<u8>, String> {
        Ok(b"notes".to_vec())
    }
}

#[test]
fn a_merged_module_can_be_read_again() {
    let given = variables(&json!({"who": "Ann"}));
    let modules = read(&[("a.yaml", EVERYTHING)]).expect("is read");
    let merged = modules.to_json();
    assert_eq!((&merged["order"], &merged["undefined"]), (&json!("cache"), &json!("error")));
    let again = AdHocModules::from_documents([&merged]).expect("is a module");
    assert_eq!(again.to_json(), merged);
    let (before, after) = (modules.compile(&given, None), again.compile(&given, None));
    let (before, after) = (before.expect("compiles"), after.expect("compiles"));
    assert_eq!(after.to_json(), before.to_json());
    assert!(before.to_json().to_string().contains(r#""=not a path""#));
    assert_eq!(again.request_options().temperature, Some(0.2));

    let compiled =
        hinagata::module::CompiledPrompt::from_json(&before.to_json_with_order()).expect("is a prompt");
    for driver in Driver::ALL {
        let options = modules.request_options().with_files(Notes);
        let body = |prompt| driver.format(prompt, &options).expect("is sent").to_value();
        assert_eq!(body(&compiled), body(&before), "{}", driver.name());
    }
    for (name, text) in PRESETS {
        let merged = read(&[("a.yaml", text)]).expect(name).to_json();
        let again = AdHocModules::from_documents([&merged]).expect(name);
        assert_eq!(again.to_json(), merged, "{name}");
    }
}

#[test]
fn a_secret_stays_secret_in_a_merged_module() {
    let text =
        "context: {key: {type: string, secret: true, default: hush}}\nsections: {cue: ['{{ key }}']}\n";
    let merged = read(&[("a.yaml", text)]).expect("is read").to_json();
    assert_eq!(merged["context"]["key"], json!({"type": "string", "secret": true}));
}

#[test]
fn likely_mistakes_in_module_files_are_reported() {
    let text = "limits: {max_outputs: 3}\nsections: {cue: [x]}\n";
    let modules = read(&[("a.yaml", text)]).expect("is read");
    let [warning] = modules.warnings() else { panic!("{:?}", modules.warnings()) };
    assert_eq!(warning.place().map(|place| (place.line, place.column)), Some((1, 10)), "{warning:?}");
}

#[test]
fn a_number_is_no_text() {
    for entry in ["terms: [40]", "terms: [{subsection: Limits, items: [max, 1.10]}]", "terms: [{text: 40}]"] {
        let error = read(&[("a.yaml", &format!("sections:\n  {entry}\n"))]).expect_err(entry);
        assert_eq!(error.place().map(|place| place.line), Some(2), "{error:?}");
        assert!(error.message().contains("must be a string"), "{error:?}");
        assert_eq!(error.hint().map(ToString::to_string).as_deref(), Some("put it in quotes"));
    }
}

/// Where an error is, and the word of its line at which the marker starts.
fn marked(error: &Error) -> (String, String) {
    let place = error.place().expect("has a place");
    let excerpt = place.excerpt.as_deref().unwrap_or_default();
    let at: String = excerpt.chars().skip((place.column as usize).saturating_sub(1)).take(4).collect();
    let file = place.file.rsplit('/').next().unwrap_or_default();
    (format!("{file}:{}:{}", place.line, place.column), at)
}

/// Module files with one mistake at the word `oops`, which is at this line and column.
const MISPLACED: [(&str, &str, &str); 6] = [
    ("module.yaml", "context: {x: string}\nsections:\n  inputs: [\"a {{ x }} {{ oops }}\"]\n", "3:26"),
    (
        "module.yaml",
        "context: {x: string}\nsections:\n  inputs:\n    - |\n      a {{ x }}\n\n        b {{ oops }}\n",
        "7:14",
    ),
    (
        "module.yaml",
        "context: {x: string}\nsections:\n  inputs:\n    - text: >-\n        a {{ x }}\n        b {{ oops }}\n",
        "6:14",
    ),
    (
        "module.yaml",
        "context: {x: string}\nsections:\n  messages:\n    - message:\n        role: user\n        content: 'it''s {{ oops }}'\n",
        "6:28",
    ),
    (
        "module.json",
        "{\"context\": {\"x\": \"string\"},\n \"sections\": {\n  \"cue\": [\"a\\n\\\"{{ x }}\\\" {{ oops }}\"]}}",
        "3:30",
    ),
    ("module.toml", "[sections]\ncue = [\"\"\"\na\n  b {{ oops }}\"\"\"]\n", "4:8"),
];

#[test]
fn errors_in_texts_of_module_files_name_line_and_column_of_the_file() {
    for (name, text, place) in MISPLACED {
        let expected = (format!("{name}:{place}"), "oops".to_owned());
        assert_eq!(marked(&read(&[(name, text)]).expect_err("oops")), expected, "{text}");
        let files = workspace(&[(&format!("p/{name}"), text)]);
        let error = Engine::open(files.path()).render_blocking(&Request::new("p")).expect_err("oops");
        assert_eq!(marked(&error), expected, "{text}");
        // The same for mistakes of syntax, and for those that only a run finds.
        for mistake in ["oops(", "oops | nofilter", "x.oops.deeper.name()"] {
            let text = text.replace("x: string", "x: object").replace("oops", mistake);
            let text = text.replace("{\"x\": \"string\"}", "{\"x\": \"object\"}");
            let place = place.split(':').next().expect("a line");
            let line = |error: &Error| error.place().expect("has a place").line.to_string();
            let excerpt = |error: &Error| error.place().and_then(|place| place.excerpt.clone());
            let error = match read(&[(name, &text)]) {
                Err(error) => error,
                Ok(modules) => modules.compile(&variables(&json!({"x": {}})), None).expect_err(mistake),
            };
            assert_eq!(line(&error), place, "{text}: {error:?}");
            assert!(excerpt(&error).is_some_and(|line| line.contains("oops")), "{text}: {error:?}");
        }
    }
}

#[test]
fn errors_in_texts_of_other_prompts_name_line_and_column_of_the_file() {
    for (name, text, place) in [
        (
            "prompt.yaml",
            "messages:\n  - role: user\n    content: |\n      a\n      b {{ oops | nofilter }}\n",
            "5:19",
        ),
        (
            "prompt.json",
            "{\"messages\": [{\"role\": \"user\", \"content\": \"\\u00e9\\n{{ oops | nofilter }}\"}]}",
            "1:62",
        ),
        ("template.md", "---\nprompt: \"a {{ oops | nofilter }}\"\n---\n", "2:22"),
        ("template.md", "---\ntype: x\n---\na\n {{ oops | nofilter }}", "5:12"),
    ] {
        let files = workspace(&[(&format!("p/{name}"), text)]);
        let error = Engine::open(files.path()).render_blocking(&Request::new("p")).expect_err("oops");
        assert_eq!(marked(&error), (format!("{name}:{place}"), "nofi".to_owned()), "{text}: {error:?}");
    }
}
