//! Where spans come from beyond templates and variables: tools, hooks, earlier messages, parents, imported templates,
//! and what is absent from modules. And how large the answer is.

use std::{collections::BTreeMap, sync::Arc};

use hinagata::{
    Code, Engine, Error, MapUnits, Rendered, Request, Result,
    ports::{OnError, PortFuture, Tool, ToolDocuments, ToolSet, Tools},
};
use serde_json::{Value, json};

use crate::source_map::{Post, check_laws, explain, map_json, row, rows, workspace};

/// Tools that answer with their name, and one that fails.
struct Answers(BTreeMap<String, Arc<Tool>>);

impl Answers {
    fn new(names: &[&str]) -> Self {
        let tool = |name: &&str| {
            let (on_error, fallback) = (OnError::Default, json!({"text": "nothing known"}));
            let (name, id) = ((*name).to_owned(), format!("test.{name}"));
            let tool = Tool { id, name: name.clone(), pure: true, on_error, fallback, ..Tool::default() };
            (name, Arc::new(tool))
        };
        Self(names.iter().map(tool).collect())
    }
}

impl ToolSet for Answers {
    fn tools(&self) -> &BTreeMap<String, Arc<Tool>> {
        &self.0
    }

    fn call_tool<'a>(&'a self, name: &'a str, arguments: Value) -> PortFuture<'a, Result<Value>> {
        Box::pin(async move {
            match name {
                "fails" => Err(Error::new(Code::Tool, "no answer")),
                _ => Ok(json!({"text": format!("{name} of {arguments}"), "list": ["first item"]})),
            }
        })
    }
}

struct AnswerTools(Arc<Answers>);

impl Tools for AnswerTools {
    fn tool_set(&self, _: &[ToolDocuments]) -> Arc<dyn ToolSet> {
        Arc::clone(&self.0) as _
    }
}

fn explain_with_tools(files: &[(&str, &str)], variables: &Value) -> (tempfile::TempDir, Rendered) {
    let place = workspace(files);
    let tools = Arc::new(AnswerTools(Arc::new(Answers::new(&["weather", "fails"]))));
    let engine = Engine::builder(place.path()).with_tools(tools).open();
    let rendered = engine.explain_blocking(&Request::new("p").with_variables(variables)).expect("renders");
    (place, rendered)
}

/// What a prompt with this `prompt.py` and this `post_render` is explained as.
fn explain_hooked(source: &str, hook: fn(&str) -> String, variables: &Value) -> Rendered {
    let place = workspace(&[("p/prompt.py", source)]);
    let engine = Engine::builder(place.path()).with_hooks(Arc::new(Post(hook))).open();
    engine.explain_blocking(&Request::new("p").with_variables(variables)).expect("renders")
}

#[test]
fn results_of_tools_name_the_tool_its_call_and_whether_it_failed() {
    let source = "messages:\n  - {role: system, content: \"{{ fails(1).text }}\"}\n  \
                  - {role: user, content: \"{{ weather(2).list[0] }} {{ weather(3).text|upper }}\"}\n";
    let (place, rendered) = explain_with_tools(&[("p/prompt.yaml", source)], &json!({}));
    let map = map_json(&rendered, MapUnits::Utf8);
    check_laws(place.path(), &map);
    assert_eq!(
        rows(&rendered),
        [
            row("tool", "nothing known", "test.fails().text (failed)"),
            row("tool", "first item", "test.weather().list[0]"),
            row("text", " ", ""),
            row("derived", "WEATHER OF", "test.weather(), test.weather().text"),
            row("tool", " [3]", "test.weather().text"),
        ]
    );
    let calls = &rendered.trace.as_ref().expect("is traced").calls;
    for value in map["values"].as_array().expect("a list") {
        let call = &calls[value["call"].as_u64().expect("a call") as usize];
        assert_eq!((call.kind, json!(call.name)), ("tool", value["tool"].clone()));
        assert_eq!(call.error.is_some(), value["failed"] == true, "{value}");
    }
    let shares = &map["shares"];
    assert_eq!(shares["tools"]["test.fails"]["bytes"], 13);
    assert_eq!(shares["tools"]["test.weather"]["bytes"], 14);
    assert_eq!(shares["variables"], json!({}));
    assert_eq!(map["filters"][0]["names"], json!(["weather", "upper"]), "{map}");
}

#[test]
fn a_tool_of_a_module_is_named_in_each_of_its_texts() {
    let module = "context: {q: {type: string, default: ''}}\nsections:\n  objective:\n    \
                  - \"Now: {{ weather(q).text }}\"\n    - \"Then: {{ fails(q).text }}\"\n";
    let (_place, rendered) = explain_with_tools(&[("p/module.yaml", module)], &json!({"q": "x"}));
    let all = rows(&rendered);
    assert!(all.contains(&row("tool", "weather of [\"x\"]", "test.weather().text")), "{all:?}");
    assert!(all.contains(&row("tool", "nothing known", "test.fails().text (failed)")), "{all:?}");
}

#[test]
fn what_a_hook_wrote_names_its_file_and_line() {
    let source =
        "# 雛\nTEMPLATE = 'Dear {{ name }}.'\n\nasync def post_render(text, variables, context):\n    pass\n";
    let rendered = explain_hooked(source, |text| format!("{text} Bye."), &json!({"name": "Rumi"}));
    let map = map_json(&rendered, MapUnits::Utf8);
    let spans = map["texts"][0]["spans"].as_array().expect("rows");
    let last = spans.last().expect("is there");
    assert_eq!(map["kinds"][last[1].as_u64().expect("a kind") as usize], "hook");
    let place = &map["places"][last[2].as_u64().expect("a place") as usize];
    let file = map["files"][place[0].as_u64().expect("a file") as usize]["file"].as_str().expect("a name");
    assert!(file.ends_with("p/prompt.py"), "{file}");
    assert_eq!((&place[3], &place[4]), (&json!(4), &json!(1)));
    let [start, end] = [1, 2].map(|index| place[index].as_u64().expect("a byte") as usize);
    assert_eq!(&source[start..end], "async def post_render(text, variables, context):");
}

#[test]
fn a_long_text_keeps_its_spans_around_changes_at_both_ends() {
    let lines: Vec<String> = (0..8000).map(|number| format!("- point {number} of many")).collect();
    let source = format!(
        "LIMITS = {{'max_output_size': 1000000}}\nTEMPLATE = '''Start\n{}\n{{{{ name }}}}\nEnd\n'''\ndef post_render(text, variables, context):\n    pass\n",
        lines.join("\n")
    );
    assert!(source.len() > 2 * (64 << 10));
    let change = |text: &str| {
        text.replace("Start\n", "Begin\n").replace("point 3000 ", "item ").replace("End", "Stop")
    };
    let rendered = explain_hooked(&source, change, &json!({"name": "Rumi Jinja"}));
    let all = rows(&rendered);
    let hook: usize = all.iter().filter(|row| row.0 == "hook").map(|row| row.1.len()).sum();
    assert!(hook < 100, "{hook} bytes are said to be changed");
    assert!(all.contains(&row("value", "Rumi Jinja", "name (call)")));
}

#[test]
fn what_is_absent_moves_with_what_post_render_leaves() {
    let source = "TEMPLATE = 'Dear {{ name }},{% if x %} yes{% endif %} bye for now.'\n\
                  def post_render(text, variables, context):\n    pass\n";
    let rendered = explain_hooked(source, |text| format!("雛雛 {text}"), &json!({"name": "Rumi"}));
    let map = map_json(&rendered, MapUnits::Chars);
    assert_eq!(map["absent"][0]["at"], "雛雛 Dear Rumi,".chars().count());
    assert_eq!(map["absent"][0]["reason"], "condition");
}

#[test]
fn earlier_messages_come_from_their_variable() {
    let source = "messages:\n  - {role: system, content: \"Be {{ tone }}.\"}\n  - {history: chat}\n  \
                  - {role: user, content: \"Now {{ tone }}.\"}\n";
    let place = workspace(&[("p/prompt.yaml", source)]);
    let chat = json!([
        {"role": "user", "content": "Hello there"},
        {"role": "assistant", "content": [{"type": "text", "text": "One"}, {"type": "text", "text": "Two"}]},
    ]);
    let rendered = explain(place.path(), &json!({"tone": "kind", "chat": chat}));
    check_laws(place.path(), &map_json(&rendered, MapUnits::Utf8));
    assert_eq!(
        rows(&rendered),
        [
            row("text", "Be ", ""),
            row("value", "kind", "tone (call)"),
            row("text", ".", ""),
            row("value", "Hello there", "chat[0].content (call)"),
            row("value", "One", "chat[1].content[0].text (call)"),
            row("value", "Two", "chat[1].content[1].text (call)"),
            row("text", "Now ", ""),
            row("value", "kind", "tone (call)"),
            row("text", ".", ""),
        ]
    );
    let texts: Vec<String> = rendered.messages().iter().map(hinagata::Message::text).collect();
    assert_eq!((&*texts[0], &*texts[3]), ("Be kind.", "Now kind."));
}

#[test]
fn a_parent_is_entered_from_the_statement_that_extends_it() {
    let place = workspace(&[
        ("p/template.md", "{# first #}\n{% extends 'partials/base.md' %}{% block b %}own{% endblock %}"),
        ("partials/base.md", "<{% block b %}{% endblock %}>"),
    ]);
    let rendered = explain(place.path(), &json!({}));
    assert_eq!(rendered.text().trim(), "<own>");
    let map = map_json(&rendered, MapUnits::Utf8);
    let parent = map["via"].as_array().expect("a list").iter().find(|step| step["kind"] == "parent");
    let at = &map["places"][parent.expect("a step")["place"].as_u64().expect("a place") as usize];
    assert_eq!((&at[3], &at[4]), (&json!(2), &json!(4)), "{map}");
}

#[test]
fn what_an_imported_template_exports_is_followed_to_its_variables() {
    let place = workspace(&[
        (
            "p/template.md",
            "{% import 'partials/lib.md' as lib with context %}\
             {% from 'partials/lib.md' import both, part with context %}\
             {{ lib.both }}|{{ both }}|{{ lib['both'] }}|{{ part }}|{{ lib.say(name) }}|{{ lib.both|lower }}{{ lib }}",
        ),
        (
            "partials/lib.md",
            "{% set both = (name ~ n)|upper %}{% set part %}<{{ name }}>{% endset %}\
             {% macro say(who) %}hi {{ who }}{% endmacro %}out {{ n }}",
        ),
    ]);
    let rendered = explain(place.path(), &json!({"name": "Rumi", "n": 7}));
    let all = rows(&rendered);
    let derived = row("derived", "RUMI7", "name, n");
    assert_eq!(all.iter().filter(|one| **one == derived).count(), 3, "{all:?}");
    assert!(all.contains(&row("derived", "rumi7", "name, n")), "{all:?}");
    assert!(all.contains(&row("text", "<", "")) && all.contains(&row("text", "hi ", "")), "{all:?}");
    assert_eq!(all.iter().filter(|one| **one == row("value", "Rumi", "name (call)")).count(), 2, "{all:?}");
    assert!(
        all.contains(&row("text", "out ", "")) && all.contains(&row("value", "7", "n (call)")),
        "{all:?}"
    );
    let map = map_json(&rendered, MapUnits::Utf8);
    check_laws(place.path(), &map);
    let call = map["via"].as_array().expect("a list").iter().find(|step| step["name"] == "say");
    assert_eq!(call.expect("a step of the macro")["kind"], "call");
}

#[test]
fn lines_of_places_end_as_the_language_counts_them() {
    for end in ["\n", "\r\n", "\r"] {
        let source = format!("one{end}two{end}😀 {{{{ name }}}}{end}");
        let place = workspace(&[("p/template.md", source.as_str())]);
        let rendered = explain(place.path(), &json!({"name": "Rumi"}));
        let map = rendered.source_map().expect("has one");
        let value = map.span_rows().find(|row| row.kind == "value").expect("a value");
        assert_eq!((value.line, value.column), (3, 3), "{end:?}");
        assert_eq!(map.line_places(&value), [(2, 3)], "{end:?}");
        let text = map.span_rows().next().expect("a text");
        assert_eq!(map.line_places(&text), [(0, 0), (1, 0), (2, 0)], "{end:?}");
    }
}

#[test]
fn lines_of_a_string_in_a_file_are_those_of_the_file() {
    let source =
        "messages:\n  - role: user\n    content: |\n      😀 one {{ name }}\n      two\n        three\n";
    let place = workspace(&[("p/prompt.yaml", source)]);
    let rendered = explain(place.path(), &json!({"name": "Rumi"}));
    let map = rendered.source_map().expect("has one");
    let places: Vec<_> = map.span_rows().map(|row| map.line_places(&row)).collect();
    assert_eq!(places, [vec![(3, 6)], vec![(3, 13)], vec![(3, 23), (4, 6), (5, 6)]]);
}

#[test]
fn a_secret_in_several_spans_is_masked_with_its_variable() {
    let source = "---\nparameters:\n  key: {type: string, secret: true, required: true}\n---\n\
                  Say hunt{{ rest }}! {{ own }}";
    let place = workspace(&[("p/template.md", source)]);
    let variables = json!({"key": "hunter2", "rest": "er2", "own": "not hunter2"});
    let rendered = explain(place.path(), &variables);
    assert_eq!(rendered.text(), "••••••! •••");
    let all = rows(&rendered);
    let masked = |variable| row("masked", "•••", variable);
    assert_eq!(
        [&all[0], &all[1], &all[3]],
        [&masked("key (call)"), &masked("key (call)"), &masked("own (call)")]
    );
    let map = map_json(&rendered, MapUnits::Utf8);
    assert_eq!(map["texts"][0]["text"], rendered.text());
    assert!(!map.to_string().contains("hunter2"), "{map}");
}

#[test]
fn entries_of_modules_without_content_are_absent_with_a_reason() {
    let module = r#"
context:
  show: {type: boolean, default: false}
  docs: {type: array, default: []}
  extra: {type: string, default: ""}
  name: {type: string, default: Rumi}
sections:
  objective:
    - Help people.
    - {text: "Shown to {{ name }}", if: show}
    - "{% if show %}Only a template{% endif %}"
  materials:
    - each: docs
      as: doc
      material: {id: =doc.id, title: =doc.id, content: =doc.text}
  inputs:
    - =extra
    - {text: "Always {{ name }}", unless: show}
"#;
    let place = workspace(&[("p/module.yaml", module)]);
    let rendered = explain(place.path(), &json!({}));
    let map = map_json(&rendered, MapUnits::Utf8);
    check_laws(place.path(), &map);
    let absent = map["absent"].as_array().expect("a list");
    let line = |one: &Value| map["places"][one["place"].as_u64().expect("a place") as usize][3].as_u64();
    let inputs = |one: &Value| map["inputs"][one["inputs"].as_u64().expect("a set") as usize].clone();
    let before = |one: &Value| {
        let text = &map["texts"][one["text"].as_u64().expect("a text") as usize]["text"];
        text.as_str().expect("a text")[..one["at"].as_u64().expect("a byte") as usize].to_owned()
    };
    let mut seen: Vec<_> = absent
        .iter()
        .map(|one| (line(one), one["reason"].as_str().unwrap_or_default(), inputs(one)))
        .collect();
    seen.sort_by_key(|one| one.0);
    assert_eq!(
        seen,
        [
            (Some(10), "condition", json!(["show"])),
            (Some(11), "condition", json!(["show"])),
            (Some(13), "empty_loop", json!(["docs"])),
            (Some(17), "empty_value", json!(["extra"])),
        ]
    );
    let objective = absent.iter().find(|one| line(one) == Some(10)).expect("is there");
    assert!(before(objective).contains("Help people."), "{:?}", before(objective));
}

#[test]
fn a_span_takes_at_most_thirty_bytes_of_json() {
    let source = "---\nlimits: {max_output_size: 5000000}\n---\n\
                  {% for item in items %}{{ item.name }}: {% include 'partials/line.md' %}{% endfor %}";
    let place = workspace(&[("p/template.md", source), ("partials/line.md", "{{ item.text }} and so on.\n")]);
    let item = |number: usize| json!({"name": format!("item {number}"), "text": "x".repeat(170)});
    let items: Vec<Value> = (0..5000).map(item).collect();
    let rendered = explain(place.path(), &json!({ "items": items }));
    let map = map_json(&rendered, MapUnits::Utf16);
    let spans = map["texts"][0]["spans"].as_array().expect("rows");
    assert_eq!(spans.len(), 20_000);
    assert!(rendered.text().len() > 950_000);
    let longest = spans.iter().map(|row| row.to_string().len() + 1).max();
    assert!(longest <= Some(30), "{longest:?} with the comma");
    // The text twice, since each value is there too; and some numbers for each span, value and step.
    let size = map.to_string().len();
    assert!(size < 2 * rendered.text().len() + 20_000 * 160, "{size}");
}

#[test]
fn a_long_derived_text_stays_whole_beside_a_hundred_thousand_turns() {
    let source = "---\nlimits: {max_output_size: 5000000}\n---\n\
                  {{ big|upper|lower }}{% for x in range(100000) %}{{ x }}{% endfor %}";
    let place = workspace(&[("p/template.md", source)]);
    let rendered = explain(place.path(), &json!({"big": "abcd".repeat(16 << 10) + "e"}));
    let all = rows(&rendered);
    assert_eq!((&*all[0].0, all[0].1.len()), ("derived", (64 << 10) + 1));
    assert_eq!(all.iter().map(|row| row.1.len()).sum::<usize>(), rendered.text().len());
}
