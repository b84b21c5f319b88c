//! Chat templates of models take conversations whose turns alternate.
//!
//! Templates belong to the authors of their models, so none is part of the repository. `HINAGATA_CHAT_TEMPLATES=DIR` names a
//! directory of them, such as `models/templates` of llama.cpp; the test prints which of them refuse which conversation.

use std::{fs, path::PathBuf};

use hinagata_jinja::{ParseOptions, Render, Settings, Template, UndefinedMode};
use hinagata_module::{
    CompiledPrompt, Material, Message, PromptModule, driver,
    driver::{RequestOptions, TurnRule},
    read_messages,
};
use hinagata_value::Limits;
use serde_json::{Value, json};

/// A template with the rule of those that refuse most: user and assistant take turns, calls and their results in between.
const ALTERNATING: &str = r#"{%- if messages[0].role == "system" %}{% set turns = messages[1:] %}{% else %}{% set turns = messages %}{% endif -%}
{%- set ns = namespace(index=0) -%}
{%- for message in turns -%}
    {%- if message.role == "user" or (message.role == "assistant" and not message.tool_calls) -%}
        {%- if (message.role == "user") != (ns.index % 2 == 0) -%}
            {{- raise_exception("roles must alternate user/assistant") -}}
        {%- endif -%}
        {%- set ns.index = ns.index + 1 -%}
    {%- elif message.role not in ["assistant", "tool"] -%}
        {{- raise_exception("unexpected role " ~ message.role) -}}
    {%- endif -%}
    {{- "<" ~ message.role ~ ">" ~ message.content -}}
{%- endfor -%}"#;

/// A conversation, and whether elements of a prompt surround its messages.
struct Case {
    name: &'static str,
    surrounded: bool,
    messages: Value,
}

fn cases() -> Vec<Case> {
    let case = |name, surrounded, messages| Case { name, surrounded, messages };
    let user = |text: &str| json!({"role": "user", "content": text});
    let assistant = |text: &str| json!({"role": "assistant", "content": text});
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Oslo\"}"}});
    let calling = |text: Value, ids: &[&str]| {
        let calls: Vec<Value> = ids.iter().map(|id| call(id)).collect();
        json!({"role": "assistant", "content": text, "tool_calls": calls})
    };
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "rain"});
    let (first, second) = ("call00001", "call00002");
    vec![
        case("two user turns in a row", false, json!([user("a"), user("b"), assistant("c"), user("d")])),
        case("prompt around messages", true, json!([user("a"), assistant("b"), user("c")])),
        case(
            "system in the middle",
            false,
            json!([
                user("a"), assistant("b"), {"role": "system", "content": "s"}, user("c")
            ]),
        ),
        case("assistant first", false, json!([assistant("a"), user("b")])),
        case("empty message", false, json!([user("a"), assistant(""), user("b")])),
        case(
            "tool results, then an answer",
            false,
            json!([
                user("a"),
                calling(Value::Null, &[first, second]),
                result(first),
                result(second),
                assistant("b"),
                user("c")
            ]),
        ),
        case(
            "tool results at the end",
            false,
            json!([user("a"), calling(json!("Let me look."), &[first]), result(first)]),
        ),
        case(
            "tool results, then the user",
            false,
            json!([user("a"), calling(Value::Null, &[first]), result(first), user("b")]),
        ),
        case(
            "prompt around tool results",
            true,
            json!([user("a"), calling(Value::Null, &[first]), result(first)]),
        ),
    ]
}

fn messages(case: &Case) -> Vec<Message> {
    read_messages(&case.messages).expect("are messages")
}

fn prompt(case: &Case) -> CompiledPrompt {
    let given = messages(case);
    let module = PromptModule::new().objective("Help.").messages(move |_: &()| given.clone());
    let module = match case.surrounded {
        true => module.materials(Material::new("m", "Notes", "Rain.")).cue("Answer:"),
        false => module,
    };
    module.compile(&()).expect("compiles")
}

/// The messages of the request.
fn request(case: &Case, turns: TurnRule) -> Value {
    let options = RequestOptions { turns: Some(turns), ..RequestOptions::default() };
    driver::openai(&prompt(case), &options).expect("is sent").to_value()["messages"].clone()
}

/// The forms in which servers pass the messages of a request to a template: arguments as objects or as text, contents as
/// text or as parts, with and without tools.
fn forms(messages: &Value) -> Vec<Value> {
    let tool = json!({"type": "function", "function": {"name": "weather", "description": "Weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "c"}}, "required": ["city"]}}});
    let mut all = Vec::new();
    for (objects, parts, tools) in [
        (true, false, true),
        (false, false, true),
        (true, true, true),
        (true, false, false),
        (false, true, true),
    ] {
        let mut messages = messages.clone();
        for message in messages.as_array_mut().into_iter().flatten() {
            for call in message.get_mut("tool_calls").and_then(Value::as_array_mut).into_iter().flatten() {
                let arguments = &mut call["function"]["arguments"];
                if let (true, Some(text)) = (objects, arguments.as_str()) {
                    *arguments = serde_json::from_str(text).expect("is JSON");
                }
            }
            if let (true, Some(text)) = (parts, message["content"].as_str()) {
                message["content"] = json!([{"type": "text", "text": text}]);
            }
        }
        let tools = if tools { json!([tool]) } else { Value::Null };
        all.push(
            json!({"messages": messages, "tools": tools, "add_generation_prompt": true, "bos_token": "<s>",
            "eos_token": "</s>"}),
        );
    }
    all
}

/// Why a template refuses messages in every form.
fn refusal(template: &Template, messages: &Value) -> Option<String> {
    let settings =
        Settings { undefined: UndefinedMode::Jinja, immutable: true, chat_host: true, ..Settings::default() };
    let mut first = None;
    for form in forms(messages) {
        match Render::new().with_settings(settings.clone()).render_text(template, &form) {
            Ok(_) => return None,
            Err(error) => first.get_or_insert_with(|| error.to_string()),
        };
    }
    first
}

fn compile(name: &str, source: &str) -> Result<Template, hinagata_value::Error> {
    let options = ParseOptions {
        trim_blocks: true,
        lstrip_blocks: true,
        generation: true,
        messages: false,
        ..ParseOptions::default()
    };
    Template::compile(name, source, &options, &Limits::default())
}

#[test]
fn a_template_with_alternating_roles_takes_conversations_that_alternate() {
    let template = compile("alternating", ALTERNATING).expect("is a template");
    for case in cases() {
        let messages = request(&case, TurnRule::Alternate);
        assert_eq!(refusal(&template, &messages), None, "{}: {messages:#}", case.name);
    }
    let refused = |case: &Case| refusal(&template, &request(case, TurnRule::AsIs)).is_some();
    assert!(cases().iter().filter(|case| refused(case)).count() >= 5, "the rule makes a difference");
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures are the result")]
fn chat_templates_of_models_take_conversations_that_alternate() {
    let Some(directory) = std::env::var_os("HINAGATA_CHAT_TEMPLATES").map(PathBuf::from) else { return };
    let mut files: Vec<PathBuf> = fs::read_dir(directory)
        .expect("is a directory")
        .map(|entry| entry.expect("is read").path())
        .collect();
    files.sort();
    let mut templates = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "jinja")) {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match compile(&name, &fs::read_to_string(file).expect("is text")) {
            Ok(template) => templates.push((name, template)),
            Err(error) => println!("{name}: {error}"),
        }
    }
    assert!(!templates.is_empty(), "the directory has templates");
    let (mut refused, mut about_turns) = (0, Vec::new());
    for case in cases() {
        for turns in [TurnRule::AsIs, TurnRule::Join, TurnRule::Alternate] {
            let messages = request(&case, turns);
            let refusals: Vec<String> = templates
                .iter()
                .filter_map(|(name, template)| Some(format!("{name}: {}", refusal(template, &messages)?)))
                .collect();
            let taken = templates.len() - refusals.len();
            println!("{}, {}: {taken} of {}", case.name, turns.name(), templates.len());
            if turns == TurnRule::Alternate {
                refusals.iter().for_each(|refusal| println!("    {refusal}"));
                refused += refusals.len();
                let is_about_turns =
                    |refusal: &&String| refusal.contains("alternat") || refusal.contains("None");
                about_turns.extend(refusals.iter().filter(is_about_turns).cloned());
            }
        }
    }
    println!("{refused} refusals");
    assert_eq!(about_turns, Vec::<String>::new());
}
