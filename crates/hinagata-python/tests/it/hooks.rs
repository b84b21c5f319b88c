//! The contract of hooks: what they receive, what they return, and how mistakes are reported.

use std::time::Duration;

use hinagata::{Code, Error, Reason};
use hinagata_python::{HookOptions, HookPool, Isolation};
use serde_json::{Value, json};

use crate::support::{Ask, options, pool};

fn exception(error: &Error) -> &str {
    error.details()["exception"].as_str().expect("an exception is named")
}

/// The three ways to run a hook, which must behave the same.
fn pools() -> Vec<HookPool> {
    [Isolation::Call, Isolation::Spawn, Isolation::Prompt]
        .map(|isolation| HookPool::new(HookOptions { isolation, ..options() }))
        .into()
}

#[test]
fn hooks_are_plain_or_async_and_return_or_change_in_place() {
    for (source, expected) in [
        ("def pre_render(variables, context):\n    return {'a': 1}", json!({"a": 1})),
        ("async def pre_render(variables, context):\n    return {'a': 1}", json!({"a": 1})),
        ("def pre_render(variables, context):\n    variables['a'] = 1", json!({"given": "é", "a": 1})),
        (
            "async def pre_render(variables, context):\n    variables['a'] = [1.5, None]",
            json!({"given": "é", "a": [1.5, null]}),
        ),
        ("x = 1", json!({"given": "é"})),
    ] {
        for pool in pools() {
            let result = Ask::new(source).variables(json!({"given": "é"})).pre_render(&pool);
            assert_eq!(result.expect("runs"), expected, "{source}");
        }
    }
}

#[test]
fn post_render_and_providers_must_return_the_right_type() {
    let pool = pool();
    let source = "async def post_render(text, variables, context):\n    return text.upper() + variables['x']";
    let ask = Ask::new(source).variables(json!({"x": "!"}));
    assert_eq!(ask.post_render(&pool, "ab").expect("runs"), json!("AB!"));
    let provide = "def provide(context):\n    return {'keys': sorted(context)}";
    let result = Ask::new(provide).permissions(&["read_file", "subprocess"]).provide(&pool);
    assert_eq!(result.expect("runs"), json!({"keys": ["read_file", "session", "workspace_path"]}));
    for (source, call) in [
        (
            "def post_render(text, variables, context):\n    return None",
            "`post_render` must return a string, not NoneType",
        ),
        (
            "def post_render(text, variables, context):\n    return b'x'",
            "`post_render` must return a string, not bytes",
        ),
    ] {
        let error = Ask::new(source).post_render(&pool, "t").expect_err("is no text");
        assert_eq!((error.code(), exception(&error)), (Code::Hook, "TypeError"));
        assert!(error.message().ends_with(call), "{error}");
    }
}

#[test]
fn the_context_contains_only_what_is_declared() {
    let source = "def pre_render(variables, context):\n    return {'keys': sorted(context), 'ws': context['workspace_path']}";
    let pool = pool();
    let keys = |permissions: &[&'static str]| {
        let result = Ask::new(source).permissions(permissions).pre_render(&pool).expect("runs");
        result["keys"]
            .as_array()
            .expect("is a list")
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(keys(&[]), ["get_variable", "render_template", "session", "workspace_path"]);
    assert_eq!(
        keys(&["read_file", "http_request", "llm_call", "subprocess"]),
        [
            "get_variable",
            "http_request",
            "llm_call",
            "read_file",
            "render_template",
            "session",
            "workspace_path"
        ]
    );
}

#[test]
fn hooks_make_concurrent_requests_to_the_engine() {
    let source = "
import asyncio
async def pre_render(variables, context):
    first, second, third = await asyncio.gather(
        context['read_file']('a.txt'), context['render_template']('p.md', {'k': 1}), context['get_variable']('known.name'))
    try:
        await context['read_file']('absent')
    except FileNotFoundError as error:
        variables['absent'] = str(error)
    try:
        await context['llm_call']('hello')
    except RuntimeError as error:
        variables['model'] = str(error)
    variables.update(first=first, second=second, third=third, none=await context['get_variable']('no.such'))
";
    for pool in pools() {
        let result = Ask::new(source).permissions(&["read_file", "llm_call"]).pre_render(&pool);
        assert_eq!(
            result.expect("runs"),
            json!({
                "absent": "there is no file `absent`", "model": "no model is configured",
                "first": "content of a.txt", "second": "p.md with {\"k\":1}", "third": {"a": [1, 2.5, null]}, "none": null,
            })
        );
    }
}

#[test]
fn a_plain_hook_can_run_its_own_event_loop_and_use_threads() {
    let source = "
import asyncio, threading
def pre_render(variables, context):
    variables['one'] = asyncio.run(context['read_file']('a'))
    def other():
        variables['two'] = asyncio.run(context['read_file']('b'))
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
";
    let result = Ask::new(source).permissions(&["read_file"]).pre_render(&pool()).expect("runs");
    assert_eq!(result, json!({"one": "content of a", "two": "content of b"}));
}

#[test]
fn an_undeclared_function_is_a_key_error_with_a_hint() {
    let source =
        "async def pre_render(variables, context):\n    await context['http_request']('GET', 'http://a')";
    let error = Ask::new(source).pre_render(&pool()).expect_err("is not there");
    assert_eq!((error.code(), exception(&error)), (Code::Hook, "KeyError"));
    assert_eq!(error.hint(), Some(&"declare `http_request` in PERMISSIONS to add it to the context".into()));
}

#[test]
fn a_hook_that_forges_requests_gets_only_what_it_declared() {
    let source = "
import inspect
async def pre_render(variables, context):
    host = inspect.getclosurevars(context['render_template']).nonlocals['host']
    try:
        return {'got': await host.ask('read_file', {'path': 'secret'})}
    except PermissionError as error:
        return {'refused': str(error)}
";
    let result = Ask::new(source).pre_render(&pool()).expect("runs");
    assert_eq!(result, json!({"refused": "`read_file` is not declared in PERMISSIONS"}));
}

#[test]
fn an_argument_of_the_wrong_type_is_a_type_error() {
    for call in [
        "read_file(b'x')",
        "get_variable(5)",
        "render_template(None)",
        "render_template('a', [1])",
        "http_request('GET', 5)",
        "http_request('GET', 'http://example.com', headers={'a': 1})",
        "http_request('GET', 'http://example.com', timeout='soon')",
        "http_request('GET', 'http://example.com', body=5)",
        "llm_call('x', model=5)",
        "llm_call('x', max_tokens=1.5)",
    ] {
        let (name, arguments) = call.split_once('(').expect("is a call");
        let source =
            format!("async def pre_render(variables, context):\n    await context['{name}']({arguments}\n");
        let ask = Ask::new(&source).permissions(&["read_file", "http_request", "llm_call"]);
        let error = ask.pre_render(&pool()).expect_err("is refused");
        assert_eq!(
            (exception(&error), error.place().map(|place| place.line)),
            ("TypeError", Some(2)),
            "{call}: {error:?}"
        );
    }
}

#[test]
fn a_withheld_function_exists_and_raises() {
    let source = "
async def pre_render(variables, context):
    try:
        await context['llm_call']('x')
    except PermissionError as error:
        return {'refused': str(error)}
";
    let mut ask = Ask::new(source);
    ask.withheld = vec!["llm_call"];
    let refused = ask.pre_render(&pool()).expect("runs");
    assert_eq!(refused, json!({"refused": "`llm_call` is not available in an untrusted workspace"}));
}

#[test]
fn a_withheld_subprocess_comes_with_a_hint() {
    let source = "import subprocess\ndef pre_render(variables, context):\n    subprocess.run(['true'])";
    let mut ask = Ask::new(source);
    ask.withheld = vec!["subprocess"];
    let error = ask.pre_render(&pool()).expect_err("is refused");
    assert_eq!(exception(&error), "PermissionError");
    assert!(error.hint().is_some_and(|hint| hint.to_string().contains("then trust it")), "{error:?}");
}

#[test]
fn an_exception_is_reported_with_the_lines_of_the_prompt_file() {
    let source = "
import json

def deeper(text):
    return json.loads(text)

def pre_render(variables, context):
    return deeper('{')
";
    let error = Ask::new(source).pre_render(&pool()).expect_err("raises");
    assert_eq!((error.code(), exception(&error)), (Code::Hook, "JSONDecodeError"));
    let file = "user_data/shared/prompts/p/prompt.py";
    assert_eq!(
        error.details()["frames"],
        json!([
            {"file": file, "line": 8, "function": "pre_render"},
            {"file": file, "line": 5, "function": "deeper"},
        ])
    );
    let place = error.place().expect("there is a place");
    assert_eq!(
        (place.to_string(), place.excerpt.as_deref()),
        (format!("{file}:5:5"), Some("    return json.loads(text)"))
    );
    assert_eq!(error.chain().iter().map(|place| place.line).collect::<Vec<_>>(), [8]);
}

#[test]
fn invalid_python_is_reported_with_line_and_column() {
    let error = Ask::new("x = 1\ndef pre_render(:\n").pre_render(&pool()).expect_err("does not compile");
    assert_eq!(exception(&error), "SyntaxError");
    assert_eq!(error.place().map(|place| (place.line, place.column)), Some((2, 16)));
}

#[test]
fn any_exception_or_result_is_reported_as_an_error() {
    let pool = pool();
    for (body, expected) in [
        ("raise SystemExit(3)", "SystemExit"),
        ("raise KeyboardInterrupt()", "KeyboardInterrupt"),
        ("return {'x': {1, 2}}", "TypeError"),
        ("return {'x': float('nan')}", "ValueError"),
        ("return {'x': '\\ud800'}", "UnicodeEncodeError"),
        ("x = []; x.append(x); return {'x': x}", "ValueError"),
        ("return {'x': 'y' * (9 << 20)}", "ValueError"),
        ("pre_render(variables, context)", "RecursionError"),
        ("class E(Exception):\n        def __str__(self): 1 / 0\n    raise E()", "E"),
    ] {
        let source = format!("def pre_render(variables, context):\n    {body}\n");
        let error = Ask::new(&source).pre_render(&pool).expect_err("raises");
        assert_eq!((error.code(), exception(&error)), (Code::Hook, expected), "{body}");
        assert_eq!(error.details()["stage"], "pre_render");
    }
}

#[test]
fn a_deeply_nested_result_is_rejected() {
    let source = "
def pre_render(variables, context):
    deep = []
    for _ in range(500):
        deep = [deep]
    return {'deep': deep}
";
    let error = Ask::new(source).pre_render(&pool()).expect_err("is too deep");
    assert_eq!((error.code(), error.reason()), (Code::Hook, Some(Reason::Protocol)));
}

#[test]
fn printed_text_reaches_the_listener_and_errors() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let listener = move |printed: &hinagata_python::PrintedText<'_>| {
        let _ = sender.send(format!("{} {}: {}", printed.file, printed.stage, printed.text));
    };
    let pool = HookPool::new(HookOptions { listener: Some(std::sync::Arc::new(listener)), ..options() });
    let source = "import sys\ndef pre_render(variables, context):\n    print('to output')\n    print('to error', file=sys.stderr)\n";
    Ask::new(source).pre_render(&pool).expect("runs");
    let heard = receiver.recv().expect("something was printed");
    assert_eq!(heard, "user_data/shared/prompts/p/prompt.py pre_render: to output\nto error\n");
    let source = "def pre_render(variables, context):\n    print('before')\n    raise ValueError('no')\n";
    let error = Ask::new(source).pre_render(&pool).expect_err("raises");
    assert_eq!(error.details()["printed"], "before\n");
}

#[test]
fn constants_are_read_by_running_the_file() {
    let source = "
names = ['a', 'b']
METADATA = {'name': ' and '.join(names)}
VARIABLES = {'optional': [{'name': n, 'default': n * 2} for n in names]}
async def post_render(text, variables, context):
    return text
";
    let loaded = Ask::new(source).load(&pool()).expect("runs");
    assert_eq!(
        loaded,
        json!({
            "constants": {
                "METADATA": {"name": "a and b"},
                "VARIABLES": {"optional": [{"name": "a", "default": "aa"}, {"name": "b", "default": "bb"}]},
            },
            "hooks": ["post_render"],
        })
    );
}

#[test]
fn a_hook_that_times_out_is_ended_and_the_next_one_runs() {
    for pool in pools() {
        let endless = Ask::new("def pre_render(variables, context):\n    while True: pass")
            .time(Duration::from_millis(300));
        let error = endless.pre_render(&pool).expect_err("never ends");
        assert_eq!((error.code(), error.reason()), (Code::HookTimeout, Some(Reason::Timeout)));
        let fine = Ask::new("def pre_render(variables, context):\n    return {'fine': True}");
        assert_eq!(fine.pre_render(&pool).expect("runs"), json!({"fine": true}));
    }
}

#[test]
fn nothing_survives_a_call() {
    let source = "
import builtins
count = 0
def pre_render(variables, context):
    global count
    count += 1
    builtins.left = getattr(builtins, 'left', 0) + 1
    return {'count': count, 'left': builtins.left}
";
    let pool = pool();
    for _ in 0..3 {
        assert_eq!(Ask::new(source).pre_render(&pool).expect("runs"), json!({"count": 1, "left": 1}));
    }
}

#[test]
fn a_missing_python_has_its_own_error() {
    let pool = HookPool::new(HookOptions { python: Some("/no/such/python".into()), ..options() });
    let error = Ask::new("").pre_render(&pool).expect_err("there is none");
    assert_eq!((error.code(), error.reason()), (Code::Hook, Some(Reason::Unavailable)));
    assert!(error.hint().is_some_and(|hint| hint.to_string().contains("HINAGATA_PYTHON")), "{error:?}");
}

#[test]
fn jobs_run_concurrently_and_a_hook_can_wait_for_a_provider() {
    let pool = HookPool::new(HookOptions { workers: 1, ..options() });
    let waiting = Ask::new("def provide(context):\n    return {'p': 1}");
    let hook = Ask::new(
        "async def pre_render(variables, context):\n    return {'h': await context['get_variable']('known.name')}",
    );
    let variables = serde_json::Map::new();
    let (first, second) = crate::support::block_on(async {
        let mut first =
            std::pin::pin!(hook.run(&pool, hinagata::ports::Stage::PreRender { variables: &variables }));
        let mut second =
            std::pin::pin!(waiting.run(&pool, hinagata::ports::Stage::Provide { namespace: "test" }));
        let (mut one, mut two) = (None, None);
        std::future::poll_fn(|cx| {
            use std::{future::Future as _, task::Poll};
            if one.is_none()
                && let Poll::Ready(value) = first.as_mut().poll(cx)
            {
                one = Some(value);
            }
            if two.is_none()
                && let Poll::Ready(value) = second.as_mut().poll(cx)
            {
                two = Some(value);
            }
            if one.is_some() && two.is_some() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        (one.expect("is done"), two.expect("is done"))
    });
    assert_eq!(first.expect("runs"), json!({"h": {"a": [1, 2.5, null]}}));
    assert_eq!(second.expect("runs"), json!({"p": 1}));
}
