//! The source map of a result: spans that cover it, files, layers, secrets, messages, hooks.

use std::{fs, path::Path, sync::Arc};

use hinagata::{
    Code, Engine, Error, MapUnits, Rendered, Request, Result,
    ports::{HookJob, Hooks, PortFuture, Stage},
};
use serde_json::{Value, json};

const SHARED: &str = "user_data/shared/prompts";

pub(crate) fn workspace(files: &[(&str, &str)]) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in files {
        let path = place.path().join(SHARED).join(name);
        fs::create_dir_all(path.parent().expect("has a parent")).expect("made");
        fs::write(path, text).expect("written");
    }
    place
}

pub(crate) fn explain(root: &Path, variables: &Value) -> Rendered {
    Engine::open(root).explain_blocking(&Request::new("p").with_variables(variables)).expect("renders")
}

pub(crate) fn map_json(rendered: &Rendered, units: MapUnits) -> Value {
    rendered.to_mapped_json(ToString::to_string, units)["map"].clone()
}

/// Checks from the answer alone, and from the files, that spans cover the texts and keep both laws.
pub(crate) fn check_laws(root: &Path, map: &Value) {
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let number = |value: &Value| value.as_i64().expect("a number");
    let mut pieces = 0;
    for text in list(&map["texts"]) {
        let whole = text["text"].as_str().expect("a text");
        let mut at = 0;
        for row in list(&text["spans"]) {
            let [length, kind, place, _, of, from] = [0, 1, 2, 3, 4, 5].map(|index| number(&row[index]));
            let piece = &whole[at..at + length as usize];
            at += length as usize;
            pieces += 1;
            match map["kinds"][kind as usize].as_str().expect("a kind") {
                "text" => {
                    let place = &map["places"][place as usize];
                    let file = &map["files"][number(&place[0]) as usize];
                    let content = fs::read_to_string(root.join(file["file"].as_str().expect("a file")));
                    let (start, end) = (number(&place[1]) as usize, number(&place[2]) as usize);
                    if file.get("in_string").is_none() {
                        let content = content.expect("is read").replace("\r\n", "\n");
                        assert_eq!(&content[start..end], piece);
                    } else if let (Ok(content), Some(pointer)) = (content, file["pointer"].as_str()) {
                        let document = yaml_document(&content);
                        let string = document.pointer(pointer).and_then(Value::as_str).expect(pointer);
                        assert_eq!(&string[start..end], piece, "{pointer} {file}");
                    }
                }
                "value" => {
                    let value = map["values"][of as usize]["text"].as_str().expect("a printed value");
                    assert_eq!(&value[from as usize..][..piece.len()], piece);
                }
                _ => {}
            }
        }
        assert_eq!(at, whole.len(), "the spans cover the text");
    }
    assert!(pieces > 0, "there are spans");
}

/// A document in YAML, or in JSON, which is YAML too.
fn yaml_document(content: &str) -> Value {
    hinagata_document::yaml_value("document.yaml", content).expect("is YAML")
}

/// Kind, text and origin of each span.
pub(crate) fn rows(rendered: &Rendered) -> Vec<(String, String, String)> {
    let map = rendered.trace.as_ref().and_then(|trace| trace.map.as_ref()).expect("is asked for");
    map.span_rows().map(|row| (row.kind.to_owned(), row.piece.to_owned(), row.made_of)).collect()
}

pub(crate) fn row(kind: &str, piece: &str, made_of: &str) -> (String, String, String) {
    (kind.to_owned(), piece.to_owned(), made_of.to_owned())
}

#[test]
fn every_piece_has_its_file_its_variable_and_its_layer() {
    let place = workspace(&[
        (
            "p/template.md",
            "---\nparameters:\n  who: {type: string, default: 雛}\n---\nDear {{ who }},\n{% include 'partials/end.md' %}{{ n + 1 }}",
        ),
        ("partials/end.md", "bye {{ name|upper }}!"),
    ]);
    let rendered = explain(place.path(), &json!({"name": "Rumi", "n": 1}));
    let expected = [
        row("text", "Dear ", ""),
        row("value", "雛", "who (optional)"),
        row("text", ",\n", ""),
        row("text", "bye ", ""),
        row("derived", "RUMI", "name"),
        row("text", "!", ""),
        row("derived", "2", "n"),
    ];
    assert_eq!(rows(&rendered), expected);
    let map = map_json(&rendered, MapUnits::Utf8);
    check_laws(place.path(), &map);
    let (shares, of) = (&map["shares"], |share: &Value, what: &str| share[what].as_u64());
    let optional = &shares["layers"]["optional"];
    assert_eq!((of(optional, "bytes"), of(optional, "characters")), (Some(3), Some(1)));
    if of(&shares["all"], "tokens").is_some() {
        let files = shares["files"].as_object().expect("a table");
        let sum: u64 = files.values().filter_map(|share| of(share, "tokens")).sum();
        assert_eq!(Some(sum), of(&shares["all"], "tokens"), "every token is counted once");
    }
    let lengths = |units| {
        let map = map_json(&rendered, units);
        map["texts"][0]["spans"][1][0].as_i64().expect("a length")
    };
    assert_eq!([MapUnits::Utf8, MapUnits::Utf16, MapUnits::Chars].map(lengths), [3, 1, 1]);
}

#[test]
fn what_a_secret_went_into_is_masked_everywhere() {
    let source = "---\nparameters:\n  key: {type: string, secret: true, required: true}\n---\n{{ key }} {{ key[:4] }} {{ variables.key|upper }} {{ 'x' if key == 'abcdef' else 'y' }} {{ open }}";
    let place = workspace(&[("p/template.md", source)]);
    let rendered = explain(place.path(), &json!({"key": "abcdefgh", "open": "shown"}));
    assert_eq!(rendered.text(), "••• ••• ••• ••• shown");
    let all = rendered.to_mapped_json(ToString::to_string, MapUnits::Utf8).to_string();
    assert!(!all.contains("abcd"), "{all}");
    assert_eq!(rows(&rendered).iter().filter(|row| row.0 == "masked").count(), 4);
}

#[test]
fn absent_pieces_have_a_reason() {
    let source = "{% if a %}1{% endif %}{% for x in b %}2{% endfor %}{{ c }}{{ d }}{% include 'no.md' ignore missing %}.";
    let place = workspace(&[("p/template.md", source)]);
    let map = map_json(&explain(place.path(), &json!({"a": false, "b": [], "c": ""})), MapUnits::Utf8);
    let absent = map["absent"].as_array().expect("a list");
    let seen: Vec<(&str, String)> = absent
        .iter()
        .map(|one| {
            let inputs = &map["inputs"][one["inputs"].as_u64().expect("a number") as usize];
            (one["reason"].as_str().expect("a reason"), inputs.to_string())
        })
        .collect();
    let expected = [
        ("condition", r#"["a"]"#),
        ("empty_loop", r#"["b"]"#),
        ("empty_value", r#"["c"]"#),
        ("undefined", r#"["d (undefined)"]"#),
        ("missing_include", "[]"),
    ];
    assert_eq!(seen, expected.map(|(reason, inputs)| (reason, inputs.to_owned())));
}

#[test]
fn what_is_absent_between_messages_is_listed_once() {
    let source = "{% message 'system' %}A{% if a %}x{% endif %}{% endmessage %}\n\n\
                  {% if b %}{% message 'user' %}B{% endmessage %}{% endif %}\n\n\
                  {% message 'user' %}C{% endmessage %}\n{% if c %}D{% endif %}";
    let place = workspace(&[("p/template.md", source)]);
    let rendered = explain(place.path(), &json!({"a": false, "b": false, "c": false}));
    let map = map_json(&rendered, MapUnits::Utf8);
    let absent = map["absent"].as_array().expect("a list");
    let seen: Vec<Value> = absent
        .iter()
        .map(|one| {
            let inputs = one["inputs"].as_u64().expect("a number") as usize;
            json!([one["text"], one["at"], map["inputs"][inputs][0]])
        })
        .collect();
    assert_eq!(seen, [json!([0, 1, "a"]), json!([1, 0, "b"]), json!([1, 1, "c"])]);
    let rows = rendered.source_map().expect("a map").absent_rows();
    let rows: Vec<_> = rows.map(|row| (row.message, row.next, row.line)).collect();
    assert_eq!(rows, [(Some(0), 1, 1), (Some(1), 1, 3), (Some(1), 2, 6)]);
}

#[test]
fn what_is_absent_from_messages_that_stayed_empty_is_listed() {
    let source = "empty_messages: drop\nmessages:\n  \
                  - {role: system, content: \"{% if a %}x{% endif %}\"}\n  \
                  - {role: user, content: \"Hello\"}\n  \
                  - {role: user, content: \"{{ b }}\"}\n";
    let place = workspace(&[("p/prompt.yaml", source)]);
    let rendered = explain(place.path(), &json!({"a": false}));
    let map = map_json(&rendered, MapUnits::Utf8);
    assert_eq!(map["texts"].as_array().expect("a list").len(), 1, "{map}");
    let absent = map["absent"].as_array().expect("a list");
    let seen: Vec<Value> = absent.iter().map(|one| json!([one["text"], one["at"], one["reason"]])).collect();
    assert_eq!(seen, [json!([0, 0, "condition"]), json!([0, 5, "undefined"])]);
}

#[test]
fn sizes_have_the_tokens_of_the_shares() {
    let source =
        "{% message 'system' %}Be {{ how }}.{% endmessage %}{% message 'user' %}Hello world{% endmessage %}";
    let place = workspace(&[("p/template.md", source)]);
    let rendered = explain(place.path(), &json!({"how": "brief and kind"}));
    let sizes = &rendered.trace.as_ref().expect("a trace").sizes;
    assert!(sizes.iter().all(|size| size.tokens > 0), "{sizes:?}");
    let shares = rendered.source_map().expect("a map").shares();
    if let Some(all) = shares.all.tokens {
        assert_eq!(sizes.iter().map(|size| size.tokens).sum::<usize>(), all);
    }
}

#[test]
fn messages_have_spans_for_each_text() {
    let place = workspace(&[(
        "p/template.md",
        "{{ role('system') }}\n  Be {{ tone }}.\n{{ role('user') }}\nHello {{ name }}\n\n",
    )]);
    let rendered = explain(place.path(), &json!({"tone": "kind", "name": "Rumi"}));
    let map = map_json(&rendered, MapUnits::Utf8);
    check_laws(place.path(), &map);
    let texts: Vec<_> = map["texts"].as_array().expect("a list").iter().map(|text| &text["text"]).collect();
    assert_eq!(texts, [&json!("  Be kind."), &json!("Hello Rumi")]);
    assert_eq!(map["texts"][1]["message"], 1);
}

/// `post_render` as a function.
pub(crate) struct Post(pub(crate) fn(&str) -> String);

impl Hooks for Post {
    fn run_hook<'a>(&'a self, job: HookJob<'a>) -> PortFuture<'a, Result<Value>> {
        let answer = match job.stage {
            Stage::PostRender { text, .. } => Ok(Value::String((self.0)(text))),
            _ => Err(Error::new(Code::Hook, "not asked for")),
        };
        Box::pin(async move { answer })
    }
}

#[test]
fn what_post_render_leaves_keeps_its_spans() {
    let source = "TEMPLATE = 'Dear {{ name }}, the lamp is lit.'\ndef post_render(text, variables, context):\n    pass\n";
    let place = workspace(&[("p/prompt.py", source)]);
    let explain = |change: fn(&str) -> String| {
        let engine = Engine::builder(place.path()).with_hooks(Arc::new(Post(change))).open();
        let variables = json!({"name": "Rumi Jinja"});
        engine.explain_blocking(&Request::new("p").with_variables(&variables)).expect("renders")
    };
    let changed = explain(|text| format!("# {}", text.replace("lamp", "candle")));
    assert_eq!(changed.text(), "# Dear Rumi Jinja, the candle is lit.");
    let expected = [
        row("hook", "# ", ""),
        row("text", "Dear ", ""),
        row("value", "Rumi Jinja", "name (call)"),
        row("text", ", the ", ""),
        row("hook", "candle", ""),
        row("text", " is lit.", ""),
    ];
    assert_eq!(rows(&changed), expected);
    let rewritten = explain(|text| "z".repeat(text.len() * 1000));
    assert_eq!(rows(&rewritten).len(), 1, "nothing is left");
}

#[test]
fn long_renders_are_explained_with_bounded_work() {
    let source = "---\nlimits: {max_output_size: 5000000}\n---\n{% for x in range(100000) %}{{ x }}{{ list|length }},{% endfor %}{{ list|join(' ')|upper }}";
    let place = workspace(&[("p/template.md", source)]);
    let list: Vec<String> = (0..10_000).map(|number| format!("item {number}")).collect();
    let rendered = explain(place.path(), &json!({"list": list}));
    let map = rendered.trace.as_ref().and_then(|trace| trace.map.as_ref()).expect("is asked for");
    assert_eq!(map.span_rows().map(|row| row.piece.len()).sum::<usize>(), rendered.text().len());
}

const MODULE: &str = r#"
uses: ["preset:materials", "./more.yaml"]
context:
  name: {type: string, required: true}
  docs: {type: array, default: []}
  data: {type: object, default: {}}
  chat: {type: array, default: []}
  key: {type: string, secret: true, default: ""}
sections:
  objective:
    - Help people.
    - "Address {{ name }}: {{ key }}"
    - =name
    - section: Own heading
      items: ["First line\\nand \\\"second\\\"", "==equal"]
  materials:
    - each: docs
      as: doc
      material: {id: =doc.id, title: "{{ doc.title }} ({{ loop.index }})", content: =doc.text}
  inputs:
    - json: {fixed: 1, shown: =data}
  messages:
    - message: =chat
    - message: {role: user, content: "Hello, {{ name|upper }}"}
"#;

fn module_workspace() -> tempfile::TempDir {
    workspace(&[
        ("p/module.yaml", MODULE),
        ("p/more.yaml", "sections:\n  objective:\n    - |\n      More\n      lines\n  terms: [Used term.]\n"),
    ])
}

fn module_variables() -> Value {
    json!({
        "name": "# Rumi \"Jinja\"", "key": "hunter2secret",
        "docs": [{"id": "m1", "title": "Report", "text": "21 degrees\nand wind"},
                 {"id": "m2", "title": "Log\nbook", "text": "calm"}],
        "data": {"a": "alpha string", "b": [2]},
        "chat": [{"role": "user", "content": "Is it warm?"}, {"role": "assistant", "content": "It is."}],
    })
}

#[test]
fn every_piece_of_a_module_has_its_origin() {
    let place = module_workspace();
    let rendered = explain(place.path(), &module_variables());
    assert!(rendered.warnings.is_empty(), "{:?}", rendered.warnings);
    let map = map_json(&rendered, MapUnits::Utf8);
    check_laws(place.path(), &map);
    let all = rows(&rendered);
    let has = |kind: &str, piece: &str, of: &str| {
        assert!(all.contains(&row(kind, piece, of)), "{kind} {piece:?} {of}: {all:#?}");
    };
    has("text", "Help people.", "");
    has("text", "More\nlines", "");
    has("text", "Used term.", "");
    has("text", "=equal", "");
    has("text", "Own heading", "");
    has("text", "Address ", "");
    has("value", "# Rumi \"Jinja\"", "name (call)");
    has("masked", "•••", "key (call)");
    has("value", "m1", "docs[0].id (call)");
    has("value", "Report", "docs[0].title (call)");
    has("computed", "1", "");
    has("value", "calm", "docs[1].text (call)");
    has("value", "alpha string", "data.a (call)");
    has("value", "Is it warm?", "chat[0].content (call)");
    has("derived", "# RUMI \"JINJA\"", "name");
    assert!(all.iter().any(|(kind, piece, of)| kind == "frame" && piece.starts_with("## ") && of == "terms"));
    assert!(all.contains(&row("frame", "\\", "")), "a backslash keeps a value from opening a heading");
    let text = rendered.to_mapped_json(ToString::to_string, MapUnits::Utf8).to_string();
    assert!(!text.contains("hunter2"), "{text}");
    let shares = &map["shares"];
    assert!(shares["variables"]["docs[0].text"]["bytes"].as_u64() > Some(10), "{shares}");
    assert!(shares["layers"]["call"]["bytes"].is_u64(), "{shares}");
}

#[test]
fn a_recorded_module_has_the_same_messages() {
    let place = module_workspace();
    let mut variables = module_variables();
    variables["key"] = json!("");
    let engine = Engine::open(place.path());
    let plain = engine.render_blocking(&Request::new("p").with_variables(&variables)).expect("renders");
    let explained = explain(place.path(), &variables);
    assert_eq!(plain.body, explained.body);
    let map = map_json(&explained, MapUnits::Utf8);
    let texts: Vec<&str> =
        map["texts"].as_array().expect("a list").iter().filter_map(|text| text["text"].as_str()).collect();
    let shown: Vec<String> = plain.messages().iter().map(hinagata::Message::text).collect();
    assert_eq!(texts.concat().len(), shown.concat().len());
}

#[test]
fn changing_a_string_changes_only_spans_of_a_module_that_name_it() {
    let place = module_workspace();
    let before = explain(place.path(), &module_variables());
    let mut compared = 0;
    let pointers = [
        "/name",
        "/docs/0/id",
        "/docs/0/title",
        "/docs/0/text",
        "/docs/1/text",
        "/data/a",
        "/chat/0/content",
    ];
    for pointer in pointers {
        let mut variables = module_variables();
        if let Some(Value::String(text)) = variables.pointer_mut(pointer) {
            text.push_str("Ωzq9");
        }
        let after = explain(place.path(), &variables);
        let (mine, theirs) = (rows(&before), rows(&after));
        if mine.len() != theirs.len() {
            continue;
        }
        let name = pointer[1..].replace("/0/", "[0].").replace("/1/", "[1].").replace('/', ".");
        for (old, new) in mine.iter().zip(&theirs).filter(|(old, new)| old != new) {
            compared += 1;
            assert!(old.2.contains(&name), "{pointer} changed {old:?} to {new:?}");
        }
    }
    assert!(compared > 6, "{compared}");
}

/// Checks from the answer alone that the spans of a request cover its body and point at what they show.
fn check_request(answer: &Value) -> usize {
    let (map, request) = (&answer["map"], &answer["request"]);
    let body = request["body"].as_str().expect("a body");
    let is_json = request["format"] != "text";
    let (mut at, mut shown) = (0, 0);
    for row in request["spans"].as_array().expect("rows") {
        let [length, text, span, from] = [0, 1, 2, 3].map(|index| row[index].as_i64().expect("a number"));
        let piece = &body[at..at + length as usize];
        at += length as usize;
        if text < 0 {
            continue;
        }
        let text = &map["texts"][text as usize];
        let lengths: Vec<usize> = text["spans"]
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| row[0].as_u64().expect("a length") as usize)
            .collect();
        let start: usize = lengths[..span as usize].iter().sum();
        let of_span = &text["text"].as_str().expect("a text")[start..start + lengths[span as usize]];
        let plain: String = if is_json {
            serde_json::from_str(&format!("\"{piece}\"")).expect("a piece of a string")
        } else {
            piece.to_owned()
        };
        assert!(of_span[from as usize..].starts_with(&plain), "{plain:?} is not in {of_span:?} at {from}");
        shown += plain.len();
    }
    assert_eq!(at, body.len(), "the spans cover the body");
    shown
}

#[test]
fn spans_of_every_request_point_at_spans_of_the_messages() {
    use hinagata::module::driver::OutputFormat;
    let module = module_workspace();
    let messages = workspace(&[(
        "p/template.md",
        "---\nparameters:\n  key: {type: string, secret: true, default: ''}\n---\n{{ role('system') }}\nBe \"{{ name }}\".\n{{ role('user') }}\nKey: {{ key }}\n{{ docs[0].text }}{{ media('https://e.test/a.png', type='image/png') if false }}",
    )]);
    let text = workspace(&[("p/template.md", "Dear {{ name }},\n{{ docs[0].text|indent }}")]);
    for (place, least) in [(&module, 60), (&messages, 30), (&text, 30)] {
        let rendered = explain(place.path(), &module_variables());
        for format in OutputFormat::ALL.into_iter().filter(|format| *format != OutputFormat::Messages) {
            let options = rendered.request_options();
            let request = rendered.explain_request(format, &options).expect("is written").expect("is one");
            let answer = rendered.to_mapped_request_json(ToString::to_string, MapUnits::Utf8, Some(&request));
            let shown = check_request(&answer);
            assert!(shown >= least, "{}: {shown} bytes in {}", format.name(), request.body());
            assert!(!request.body().contains("hunter2"), "{}", request.body());
            if format != OutputFormat::Text {
                serde_json::from_str::<Value>(request.body()).expect("stays JSON");
            }
        }
    }
}

#[test]
fn a_request_without_secrets_has_the_bytes_that_are_sent() {
    use hinagata::module::driver::Driver;
    let place = module_workspace();
    let mut variables = module_variables();
    variables["key"] = json!("");
    let rendered = explain(place.path(), &variables);
    let engine = Engine::open(place.path());
    let plain = engine.render_blocking(&Request::new("p").with_variables(&variables)).expect("renders");
    for driver in Driver::ALL {
        let options = rendered.request_options();
        let sent = plain.format_request(driver, &options).expect("is written");
        let format = hinagata::module::driver::OutputFormat::Request(driver);
        let mapped = rendered.explain_request(format, &options).expect("is written").expect("is one");
        assert_eq!(mapped.body(), sent.body(), "{}", driver.name());
    }
}
