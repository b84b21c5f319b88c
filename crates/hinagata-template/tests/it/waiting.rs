//! Calls to the outside: independent ones start in one pass, in and across both languages.

use hinagata_template::{Language, MemorySources, Options, Render, Template, structure_functions};
use hinagata_value::{Calls, Closure, Error, Functions, LimitKind, Limits, Pass, Request, to_json};
use serde_json::{Value as Json, json};

/// `ask(x)` is pure, `tell(x)` is not; both answer with what is asked, in capitals.
fn functions() -> Functions {
    let mut functions = structure_functions();
    for (name, pure) in [("ask", true), ("tell", false)] {
        functions.insert(Closure::new(name, move |host, arguments| {
            let arguments = arguments.positional.iter().map(|value| to_json(host.heap, value));
            let arguments = Json::Array(arguments.collect::<Result<_, _>>()?);
            host.start_call(Request { function: name.to_owned(), arguments, pure })
        }));
    }
    functions
}

fn compile(language: Language, source: &str, functions: &Functions) -> Template {
    let options = Options::default().with_functions(functions);
    Template::compile(language, "main", source, &options, &Limits::default()).expect("compiles")
}

fn answer(arguments: &Json) -> Json {
    json!(arguments[0].as_str().unwrap_or("?").to_uppercase())
}

/// The text, and what each pass waited for.
fn passes(
    language: Language,
    source: &str,
    sources: &MemorySources,
) -> Result<(String, Vec<Vec<String>>), Error> {
    let functions = functions();
    let template = compile(language, source, &functions);
    let render = Render::new().with_functions(&functions).with_sources(sources);
    let calls = Calls::new();
    let mut waits = Vec::new();
    loop {
        match render.run_pass(&template, &json!({"a": "a", "b": "b"}), &calls)? {
            Pass::Done(written) => return Ok((written.into_text()?, waits)),
            Pass::Wait(waiting) => {
                waits.push(waiting.iter().map(|call| call.request.arguments[0].to_string()).collect());
                // In any order: results find their calls.
                for call in waiting.into_iter().rev() {
                    calls.resolve_call(call.id, Ok(answer(&call.request.arguments)));
                }
            }
        }
    }
}

#[test]
fn independent_calls_are_waited_for_at_once() {
    let none = MemorySources::new();
    let cases = [
        (Language::Jinja, "{{ ask(a) }}{{ ask(b) }}{% for x in [a, b] %}{{ ask(x) }}{% endfor %}"),
        (Language::Go, "{{ask .a}}{{ask .b}}{{range $x := .}}{{ask $x}}{{end}}"),
    ];
    for (language, source) in cases {
        let (text, waits) = passes(language, source, &none).expect("renders");
        assert_eq!(text, "ABAB", "{source}");
        assert_eq!(waits, [[r#""a""#, r#""b""#]], "equal pure calls are one: {source}");
    }
}

#[test]
fn dependent_calls_are_made_one_after_the_other() {
    let none = MemorySources::new();
    let cases = [
        (Language::Jinja, "{{ ask(ask(a) ~ 'x') }}{{ ask(b) }}"),
        (Language::Go, "{{ask (printf \"%sx\" (ask .a))}}{{ask .b}}"),
    ];
    for (language, source) in cases {
        let (text, waits) = passes(language, source, &none).expect("renders");
        assert_eq!(text, "AXB", "{source}");
        assert_eq!(waits, [vec![r#""a""#], vec![r#""Ax""#, r#""b""#]], "{source}");
    }
}

#[test]
fn independent_calls_of_both_languages_are_waited_for_at_once() {
    let sources = MemorySources::from_iter([
        ("go.gotmpl", "[{{ask .a}}{{template \"jinja.md\" .}}]"),
        ("jinja.md", "({{ ask(b) }}{{ ask('c') }})"),
    ]);
    let (text, waits) =
        passes(Language::Jinja, "{{ ask('d') }}{% include 'go.gotmpl' %}", &sources).expect("renders");
    assert_eq!(text, "D[A(BC)]");
    assert_eq!(waits, [[r#""d""#, r#""a""#, r#""b""#, r#""c""#]]);
    let (text, waits) =
        passes(Language::Go, "{{template \"go.gotmpl\" .}}{{ask \"d\"}}", &sources).expect("renders");
    assert_eq!(text, "[A(BC)]D");
    assert_eq!(waits, [[r#""a""#, r#""b""#, r#""c""#, r#""d""#]]);
}

#[test]
fn a_result_travels_across_the_languages_before_it_is_there() {
    let sources = MemorySources::from_iter([
        ("show.gotmpl", "{{.answer}}"),
        ("need.gotmpl", "{{if eq .answer \"A\"}}yes{{end}}"),
    ]);
    let source = "{% set answer = ask(a) %}{% include 'show.gotmpl' %}{{ ask(b) }}";
    let (text, waits) = passes(Language::Jinja, source, &sources).expect("renders");
    assert_eq!((&*text, waits.len()), ("AB", 1), "printing it does not wait");
    let source = "{% set answer = ask(a) %}{% include 'need.gotmpl' %}{{ ask(b) }}";
    let (text, waits) = passes(Language::Jinja, source, &sources).expect("renders");
    assert_eq!((&*text, waits.len()), ("yesB", 2), "comparing it does");
}

#[test]
fn calls_that_are_not_pure_are_made_in_order_once_for_each_occurrence() {
    let sources = MemorySources::from_iter([("go.gotmpl", "{{tell .a}}{{tell .a}}")]);
    let functions = functions();
    let source = "{{ tell(a) }}{% include 'go.gotmpl' %}{{ tell(b) if tell('c') == 'C' }}";
    let template = compile(Language::Jinja, source, &functions);
    let mut made = Vec::new();
    let text = Render::new().with_functions(&functions).with_sources(&sources).render_text_with(
        &template,
        &json!({"a": "a", "b": "b"}),
        |call| {
            made.push(call.request.arguments[0].as_str().unwrap_or_default().to_owned());
            Ok(answer(&call.request.arguments))
        },
    );
    assert_eq!(text.expect("renders"), "AAAB");
    assert_eq!(made, ["a", "a", "a", "c", "b"]);
}

#[test]
fn a_call_that_fails_is_an_error_where_it_is_used() {
    let sources = MemorySources::from_iter([("go.gotmpl", "x{{ask .a}}")]);
    let functions = functions();
    let template = compile(Language::Jinja, "\n{% include 'go.gotmpl' %}", &functions);
    let render = Render::new().with_functions(&functions).with_sources(&sources);
    let error = render
        .render_text_with(&template, &json!({"a": "a"}), |_| Err("no connection".to_owned()))
        .expect_err("the call fails");
    assert!(error.message().contains("`ask` failed: no connection"), "{error}");
    assert_eq!(error.place().map(ToString::to_string).as_deref(), Some("go.gotmpl:1:4"));
    assert_eq!(error.chain().len(), 1);
}

#[test]
fn structure_waits_for_its_arguments() {
    let functions = functions();
    let template =
        compile(Language::Jinja, "{{ role(ask('user')|lower) }}{{ media(url=ask('u')) }}", &functions);
    let messages = Render::new()
        .with_functions(&functions)
        .render_messages_with(&template, &json!({}), |call| Ok(answer(&call.request.arguments)))
        .expect("renders");
    assert_eq!(messages.len(), 1);
    assert_eq!(messages[0].role, "user");
    assert_eq!(messages[0].content.len(), 1);
}

#[test]
fn calls_that_depend_on_each_other_for_ever_end() {
    let functions = functions();
    let source =
        "{% set ns = namespace(x='a') %}{% for i in range(100) %}{% set ns.x = ask(ns.x ~ i) %}{% endfor %}";
    let template = compile(Language::Jinja, source, &functions);
    let error = Render::new()
        .with_functions(&functions)
        .render_text_with(&template, &json!({}), |call| Ok(answer(&call.request.arguments)))
        .expect_err("too many passes");
    assert_eq!(error.limit(), Some(LimitKind::Passes));
}
