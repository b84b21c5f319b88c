//! Random templates of other languages, rendered by their own programs and by this one after an import: both must give
//! the same text.
//!
//! `HINAGATA_TEST_NODE_MODULES` names a `node_modules` with dotprompt and mustache, `HINAGATA_TEST_PYTHON` a Python with
//! chevron, LangChain and Prompty. Accidents of the originals that nobody should copy are not generated: numbers that
//! stand side by side, `../` and `this` where an item is no map, true in a list, `.` of chevron in a section that is true.
//! What an original cannot read at all is not compared.

use std::{
    env, fs,
    io::Write as _,
    process::{Command, Stdio},
};

use hinagata::source::ForeignPlace;
use hinagata::{Engine, EngineOptions, RenderedBody, Request};
use hinagata_exchange::{ExportOptions, Format};
use serde_json::{Map, Value, json};

/// The number of cases for each language.
const CASES: usize = 2_000;

/// The number of differences that are printed.
const MOST_SHOWN: usize = 8;

/// Random choices that are the same in every run.
struct Choices(u64);

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap_or_default()
    }

    fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Handlebars,
    Mustache,
    Chevron,
    FString,
    Prompty,
}

impl Language {
    fn name(self) -> &'static str {
        match self {
            Self::Handlebars => "dotprompt",
            Self::Mustache => "mustache",
            Self::Chevron => "chevron",
            Self::FString => "f-string",
            Self::Prompty => "prompty",
        }
    }
}

const TEXTS: [&str; 14] =
    ["a ", " b", "\n", "\n\n", "  ", " \n", "- ", "é ", "{ ", "} ", "\"q\" ", "<&>' ", "% #", "x\n  "];

fn scalar(choices: &mut Choices) -> Value {
    choices.pick(&[
        json!("text"),
        json!(""),
        json!("<b>&\"'`=/"),
        json!("{{a}}"),
        json!("two\nlines"),
        json!(0),
        json!(7),
        json!(-3),
        json!(1.5),
        json!(true),
        json!(false),
        json!(null),
        json!("0"),
    ])
}

/// Values for the names that templates read: each name always has the same shape.
fn data(choices: &mut Choices, language: Language) -> Value {
    let mut values = Map::new();
    for name in ["a", "b", "c"] {
        // A name that is missing is an error in an f-string.
        if language == Language::FString || choices.below(5) > 0 {
            values.insert(name.to_owned(), scalar(choices));
        }
    }
    if language == Language::FString {
        return Value::Object(values);
    }
    let map = |choices: &mut Choices| {
        let mut map = Map::new();
        for name in ["a", "x", "y"] {
            if choices.below(3) > 0 {
                map.insert(name.to_owned(), scalar(choices));
            }
        }
        Value::Object(map)
    };
    let items: Vec<Value> = (0..choices.below(4)).map(|_| map(choices)).collect();
    values.insert("items".to_owned(), Value::Array(items));
    let words: Vec<Value> = (0..choices.below(4)).map(|number| json!(format!("w{number}"))).collect();
    values.insert("words".to_owned(), Value::Array(words));
    if choices.below(4) > 0 {
        let inner = map(choices);
        values.insert("m".to_owned(), inner);
    }
    Value::Object(values)
}

/// Where a template is: what stands for the current value, and how deep.
#[derive(Clone, Copy)]
struct Scope {
    depth: usize,
    is_map: bool,
    is_word: bool,
}

fn template(choices: &mut Choices, language: Language, scope: Scope, out: &mut String) {
    for _ in 0..=choices.below(4) {
        // Text between tags, because numbers side by side are an accident of Handlebars.
        push_text(choices.pick(&TEXTS), language, out);
        match language {
            Language::FString => fstring_tag(choices, out),
            Language::Prompty => jinja_tag(choices, scope, out),
            _ => tag(choices, language, scope, out),
        }
    }
    push_text(choices.pick(&TEXTS), language, out);
}

fn push_text(text: &str, language: Language, out: &mut String) {
    // Handlebars cannot read a brace behind a tag.
    if language == Language::Handlebars && out.ends_with("}}") && text.starts_with('}') {
        out.push(' ');
    }
    out.push_str(text);
}

fn fstring_tag(choices: &mut Choices, out: &mut String) {
    // A single brace of the text would open or close a placeholder.
    *out = out.replace(['{', '}'], "").replace('\u{1}', "{").replace('\u{2}', "}");
    let name = choices.pick(&["a", "b", "c"]);
    out.push_str(match choices.below(4) {
        0 => "{{",
        1 => "}}",
        _ => "",
    });
    out.push_str(&format!("{{{name}}}"));
    *out = out.replace('{', "\u{1}").replace('}', "\u{2}");
}

fn jinja_tag(choices: &mut Choices, scope: Scope, out: &mut String) {
    let name = if scope.is_map { choices.pick(&["item.a", "item.x", "b"]) } else { name(choices, scope) };
    let name = if name.starts_with("m.") { "a" } else { name };
    let inner = Scope { depth: scope.depth.saturating_sub(1), ..scope };
    match choices.below(if scope.depth == 0 { 5 } else { 8 }) {
        0 | 1 => out.push_str(&format!("{{{{ {name} }}}}")),
        2 => out.push_str(&format!("{{{{{name}|default(\"none\")|upper}}}}")),
        3 => out.push_str("{# a note #}"),
        4 => {
            let role = choices.pick(&["system", "user", "Assistant", "# user"]);
            out.push_str(&format!("\n{role}:\n"));
        }
        5 | 6 => {
            out.push_str(&format!("{{% if {name} %}}"));
            template(choices, Language::Prompty, inner, out);
            if choices.below(2) == 0 {
                out.push_str("{% else %}");
                template(choices, Language::Prompty, inner, out);
            }
            out.push_str("{% endif %}");
        }
        _ => {
            out.push_str("{% for item in items %}");
            template(choices, Language::Prompty, Scope { is_map: true, ..inner }, out);
            out.push_str("{% endfor %}");
        }
    }
}

fn name(choices: &mut Choices, scope: Scope) -> &'static str {
    match (scope.is_map, scope.is_word) {
        (true, _) => choices.pick(&["a", "x", "y", "b"]),
        (_, true) => "b",
        _ => choices.pick(&["a", "b", "c", "m.x", "m.y", "nothing"]),
    }
}

fn tag(choices: &mut Choices, language: Language, scope: Scope, out: &mut String) {
    let (name, kind) = (name(choices, scope), choices.below(10));
    let printed = match (scope.is_word, language) {
        (true, Language::Handlebars) => "this",
        (true, _) => ".",
        _ => name,
    };
    match kind {
        0..=2 => out.push_str(&format!("{{{{{printed}}}}}")),
        3 => out.push_str(&format!("{{{{{{{printed}}}}}}}")),
        4 => out.push_str("{{! a note }}"),
        _ if scope.depth == 0 => out.push_str(&format!("{{{{{printed}}}}}")),
        _ if language == Language::Handlebars => handlebars_block(choices, scope, name, out),
        _ => mustache_block(choices, language, scope, name, out),
    }
}

fn handlebars_block(choices: &mut Choices, scope: Scope, name: &str, out: &mut String) {
    let inner = Scope { depth: scope.depth - 1, ..scope };
    let is_root = !scope.is_map && !scope.is_word;
    match choices.below(if is_root { 7 } else { 3 }) {
        0 | 1 => {
            let word = choices.pick(&["if", "unless"]);
            out.push_str(&format!("{{{{#{word} {name}}}}}"));
            template(choices, Language::Handlebars, inner, out);
            if choices.below(2) == 0 {
                out.push_str("{{else}}");
                template(choices, Language::Handlebars, inner, out);
            }
            out.push_str(&format!("{{{{/{word}}}}}"));
        }
        2 => out.push_str(&format!("{{{{json {name}}}}}")),
        3 => {
            out.push_str(&format!("{{{{#ifEquals {name} \"text\"}}}}"));
            template(choices, Language::Handlebars, inner, out);
            out.push_str("{{/ifEquals}}");
        }
        4 => {
            out.push_str("{{#each items}}");
            template(choices, Language::Handlebars, Scope { is_map: true, ..inner }, out);
            out.push_str("{{@index}} {{../c}}{{/each}}");
        }
        5 => {
            out.push_str("{{#each words}}");
            template(choices, Language::Handlebars, Scope { is_word: true, ..inner }, out);
            out.push_str("{{/each}}");
        }
        _ => {
            out.push_str("{{#with m}}");
            template(choices, Language::Handlebars, Scope { is_map: true, ..inner }, out);
            out.push_str("{{/with}}");
        }
    }
}

fn mustache_block(choices: &mut Choices, language: Language, scope: Scope, name: &str, out: &mut String) {
    let inner = Scope { depth: scope.depth - 1, ..scope };
    let is_root = !scope.is_map && !scope.is_word;
    let (section, inner) = match choices.below(if is_root { 5 } else { 2 }) {
        0 | 1 => (name, inner),
        2 => ("items", Scope { is_map: true, ..inner }),
        3 => ("words", Scope { is_word: true, ..inner }),
        _ => ("m", Scope { is_map: true, ..inner }),
    };
    let mark = if choices.below(3) == 0 { '^' } else { '#' };
    // Nothing is said about the current value where a section is inverted. There, and in a true one, that of chevron is
    // true instead of the word.
    let inner = if mark == '^' { Scope { depth: inner.depth, ..scope } } else { inner };
    let is_true = language == Language::Chevron && scope.is_word;
    let inner = if is_true { Scope { is_map: true, is_word: false, ..inner } } else { inner };
    out.push_str(&format!("{{{{{mark}{section}}}}}"));
    template(choices, language, inner, out);
    out.push_str(&format!("{{{{/{section}}}}}"));
}

/// The cases of a language.
fn cases(language: Language) -> Vec<Value> {
    let case = |number: usize| {
        let mut choices = Choices(number as u64 + 1_000_000 * language as u64);
        let mut text = String::new();
        template(&mut choices, language, Scope { depth: 3, is_map: false, is_word: false }, &mut text);
        if language == Language::FString {
            text = text.replace(['{', '}'], "").replace('\u{1}', "{").replace('\u{2}', "}");
        }
        if language == Language::Prompty {
            // In the original, a last line that prints nothing is no message if it does not end.
            text = format!("---\nname: case\n---\n{text}\n");
        }
        let data = data(&mut choices, language);
        json!({"id": number, "language": language.name(), "template": text, "data": data})
    };
    (0..CASES).map(case).collect()
}

/// The answers of a program to the cases.
fn ask(program: &mut Command, cases: &[Value]) -> Vec<Value> {
    let mut child = program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program:?} does not start: {error}"));
    let text = Value::Array(cases.to_vec()).to_string();
    let mut input = child.stdin.take().expect("is piped");
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()).expect("the program reads"));
    let output = child.wait_with_output().expect("the program ends");
    writer.join().expect("everything was written");
    assert!(output.status.success(), "{program:?} failed");
    serde_json::from_slice(&output.stdout).expect("answers with JSON")
}

/// The cases as foreign files of one workspace.
fn open_engine(cases: &[Value], language: Language) -> (tempfile::TempDir, Engine) {
    let place = tempfile::tempdir().expect("a directory");
    let directory = place.path().join("foreign");
    fs::create_dir_all(&directory).expect("made");
    let (ending, format) = match language {
        Language::Handlebars => ("prompt", Format::Dotprompt),
        Language::Mustache => ("mustache", Format::Mustache),
        Language::Chevron => ("mustache", Format::Chevron),
        Language::FString => ("json", Format::Langchain),
        Language::Prompty => ("prompty", Format::Prompty),
    };
    for case in cases {
        let template = case["template"].as_str().unwrap_or_default();
        let text = match language {
            Language::FString => json!({
                "lc": 1, "type": "constructor", "id": ["langchain", "prompts", "prompt", "PromptTemplate"],
                "kwargs": {"input_variables": [], "template": template, "template_format": "f-string"},
            })
            .to_string(),
            _ => template.to_owned(),
        };
        fs::write(directory.join(format!("c{}.{ending}", case["id"])), text).expect("written");
    }
    let foreign =
        ForeignPlace { path: "foreign".to_owned(), format: Some(format), unknown_format: None, named: None };
    let options = EngineOptions { foreign: vec![foreign], ..EngineOptions::default() };
    let engine = Engine::builder(place.path()).with_options(options).open();
    (place, engine)
}

/// What this program makes of the cases: a text, or a list of roles and texts.
fn ours(cases: &[Value], engine: &Engine) -> Vec<Result<Value, String>> {
    let render = |case: &Value| {
        let name = format!("c{}", case["id"]);
        let data = case["data"].as_object().cloned().unwrap_or_default();
        let request = Request::new(&name).with_variable_map(&data);
        let rendered = engine.render_blocking(&request).map_err(|error| error.to_string())?;
        Ok(match rendered.body {
            RenderedBody::Text(text) => text.into(),
            body @ RenderedBody::Messages(_) => said(&body.to_json()),
        })
    };
    cases.iter().map(render).collect()
}

/// The roles and texts of messages.
fn said(messages: &Value) -> Value {
    let text = |content: &Value| match content {
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        content => content.as_str().unwrap_or_default().to_owned(),
    };
    let message = |message: &Value| json!([message["role"], text(&message["content"])]);
    messages.as_array().into_iter().flatten().map(message).collect()
}

fn compare(language: Language, program: &mut Command) {
    let cases = cases(language);
    let (_place, engine) = open_engine(&cases, language);
    let (answers, ours) = (ask(program, &cases), ours(&cases, &engine));
    let (mut rendered, mut wrong) = (0, Vec::new());
    for ((case, answer), ours) in cases.iter().zip(&answers).zip(&ours) {
        // What the original cannot do says nothing.
        let Some(theirs) = answer.get("text") else { continue };
        rendered += 1;
        let is_empty = |text: &Value| text.as_str().is_some_and(|text| text.trim().is_empty());
        let is_same = match ours {
            // A prompt of dotprompt that is empty has no message.
            Ok(ours) => theirs == ours || (*theirs == "" && is_empty(ours)),
            Err(_) => false,
        };
        if !is_same {
            wrong.push(format!("{case}\n  theirs {answer}\n  ours   {ours:?}"));
        }
    }
    assert!(rendered * 10 > CASES * 9, "only {rendered} of {CASES} cases give a text");
    let count = wrong.len();
    wrong.truncate(MOST_SHOWN);
    assert!(wrong.is_empty(), "{count} of {CASES} templates differ:\n{}", wrong.join("\n"));
}

/// The originals give the same for what is exported as for what was imported.
fn compare_exports(language: Language, (format, read_as): (Format, &str), program: &mut Command) {
    let cases = cases(language);
    let (_place, engine) = open_engine(&cases, language);
    let mut exported = Vec::new();
    for case in &cases {
        let found = engine.export_prompt(&format!("c{}", case["id"]), &ExportOptions::new(format));
        let Some(found) = found.ok().filter(|found| !found.report.is_lossy()) else { continue };
        let template = found.files.first().map_or("", |(_, text)| text);
        exported.push(json!({
            "id": case["id"], "language": read_as, "template": template, "data": case["data"],
        }));
    }
    assert!(exported.len() * 3 > CASES, "only {} of {CASES} cases can be exported", exported.len());
    let chosen = exported.iter().map(|case| case["id"].as_u64().and_then(|id| usize::try_from(id).ok()));
    let before: Vec<Value> = chosen.flatten().map(|id| cases[id].clone()).collect();
    let (mut first, second) = (Vec::new(), ask(program, &exported));
    let mut again = Command::new(program.get_program());
    again.args(program.get_args());
    first.extend(ask(&mut again, &before));
    let mut wrong = Vec::new();
    for (((case, written), one), other) in before.iter().zip(&exported).zip(&first).zip(&second) {
        let is_same = match (one.get("text"), other.get("text")) {
            (Some(one), Some(other)) => one == other,
            (None, None) => true,
            _ => false,
        };
        if !is_same {
            wrong.push(format!("{case}\n  written {}\n  {one}\n  {other}", written["template"]));
        }
    }
    let count = wrong.len();
    wrong.truncate(MOST_SHOWN);
    assert!(wrong.is_empty(), "{count} of {} exports differ:\n{}", exported.len(), wrong.join("\n"));
}

#[expect(clippy::print_stderr, reason = "whoever runs the tests must know that this one did nothing")]
fn named(variable: &str) -> Option<std::ffi::OsString> {
    let found = env::var_os(variable);
    if found.is_none() {
        eprintln!("NOTHING WAS COMPARED: set {variable}, or use ./test");
    }
    found
}

fn node() -> Option<Command> {
    named("HINAGATA_TEST_NODE_MODULES")?;
    let mut node = Command::new("node");
    node.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/originals/render.mjs"));
    Some(node)
}

fn python() -> Option<Command> {
    let mut python = Command::new(named("HINAGATA_TEST_PYTHON")?);
    python.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/originals/render.py"));
    Some(python)
}

#[test]
fn handlebars_renders_as_in_dotprompt() {
    if let Some(mut node) = node() {
        compare(Language::Handlebars, &mut node);
    }
}

#[test]
fn dotprompt_reads_exports_as_what_was_imported() {
    if let Some(mut node) = node() {
        compare_exports(Language::Handlebars, (Format::Dotprompt, "dotprompt"), &mut node);
    }
}

#[test]
fn langchain_reads_exports_as_what_was_imported() {
    if let Some(mut python) = python() {
        compare_exports(Language::FString, (Format::Langchain, "langchain"), &mut python);
    }
}

#[test]
fn mustache_renders_as_in_mustache_js() {
    if let Some(mut node) = node() {
        compare(Language::Mustache, &mut node);
    }
}

#[test]
fn mustache_renders_as_in_chevron() {
    if let Some(mut python) = python() {
        compare(Language::Chevron, &mut python);
    }
}

#[test]
fn f_strings_render_as_in_langchain() {
    if let Some(mut python) = python() {
        compare(Language::FString, &mut python);
    }
}

#[test]
fn prompty_renders_as_in_prompty() {
    if let Some(mut python) = python() {
        compare(Language::Prompty, &mut python);
    }
}

#[test]
fn prompty_reads_exports_as_what_was_imported() {
    if let Some(mut python) = python() {
        compare_exports(Language::Prompty, (Format::Prompty, "prompty"), &mut python);
    }
}
