//! The source map of a result: spans that cover it, files, layers, secrets, messages, hooks.

use std::{fs, path::Path, sync::Arc};

use hinagata::{
    Code, Engine, Error, MapUnits, Rendered, Request, Result,
    ports::{HookJob, Hooks, PortFuture, Stage},
};
use serde_json::{Value, json};

const SHARED: &str = "user_data/shared/prompts";

fn workspace(files: &[(&str, &str)]) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in files {
        let path = place.path().join(SHARED).join(name);
        fs::create_dir_all(path.parent().expect("has a parent")).expect("made");
        fs::write(path, text).expect("written");
    }
    place
}

fn explain(root: &Path, variables: &Value) -> Rendered {
    Engine::open(root).explain_blocking(&Request::new("p").with_variables(variables)).expect("renders")
}

fn map_json(rendered: &Rendered, units: MapUnits) -> Value {
    rendered.to_mapped_json(ToString::to_string, units)["map"].clone()
}

/// Checks from the answer alone, and from the files, that spans cover the texts and keep both laws.
fn check_laws(root: &Path, map: &Value) {
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

/// Kind, text and origin of each span.
fn rows(rendered: &Rendered) -> Vec<(String, String, String)> {
    let map = rendered.trace.as_ref().and_then(|trace| trace.map.as_ref()).expect("is asked for");
    map.span_rows().map(|row| (row.kind.to_owned(), row.piece.to_owned(), row.made_of)).collect()
}

fn row(kind: &str, piece: &str, made_of: &str) -> (String, String, String) {
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
struct Post(fn(&str) -> String);

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
