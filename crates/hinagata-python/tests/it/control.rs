//! When hooks run, how failed hooks are reported, and what is masked.
#![cfg(target_os = "linux")]

use std::{
    fs,
    sync::{Arc, Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

use hinagata::{
    Code, Error, Reason, Result,
    ports::{Capabilities, HookJob, Hooks as _, ModelRequest, PortFuture, QueueTime, Secrets, Stage},
};
use hinagata_python::{HookOptions, HookPool, Isolation};
use serde_json::{Map, Value, json};

use crate::support::{Ask, block_on, options, pool};

/// Answers `get_variable` when the test allows it.
struct Held {
    asked: Mutex<mpsc::Sender<()>>,
    go: Mutex<mpsc::Receiver<()>>,
}

impl Capabilities for Held {
    fn render_template<'a>(
        &'a self,
        _: &'a str,
        _: &'a Map<String, Value>,
    ) -> PortFuture<'a, Result<String>> {
        Box::pin(async { Ok(String::new()) })
    }

    fn get_variable<'a>(&'a self, _: &'a str) -> PortFuture<'a, Result<Option<Value>>> {
        Box::pin(async {
            let _ = self.asked.lock().expect("works").send(());
            let _ = self.go.lock().expect("works").recv();
            Ok(None)
        })
    }

    fn read_file<'a>(&'a self, _: &'a str) -> PortFuture<'a, Result<String>> {
        Box::pin(async { Ok(String::new()) })
    }

    fn llm_call<'a>(&'a self, _: ModelRequest) -> PortFuture<'a, Result<Value>> {
        Box::pin(async { Err(Error::new(Code::Model, "no model is configured")) })
    }
}

const ASKING: &str = "async def pre_render(variables, context):\n    await context['get_variable']('x')\n    return {'done': True}\n";
const PLAIN: &str = "def pre_render(variables, context):\n    return {'done': True}\n";

fn job<'a>(
    source: &'a str,
    variables: &'a Map<String, Value>,
    waited: &'a QueueTime,
    capabilities: &'a dyn Capabilities,
) -> HookJob<'a> {
    HookJob {
        stage: Stage::PreRender { variables },
        file: "user_data/shared/prompts/p/prompt.py",
        source,
        permissions: Vec::new(),
        withheld: Vec::new(),
        context: Map::new(),
        root: "/no/such/root".as_ref(),
        workspace: "/no/such/workspace".into(),
        own_directory: None,
        path: "/no/such/root/prompt.py".into(),
        owner: "p",
        time: Duration::from_secs(60),
        deadline: None,
        fixed: None,
        waited,
        secrets: Arc::default(),
        capabilities,
    }
}

/// Runs `work` while a hook occupies the only worker of the pool. `work` can release it.
fn while_busy(pool: &HookPool, work: impl FnOnce(&dyn Fn())) {
    let (asked, is_asked) = mpsc::channel();
    let (go, wait) = mpsc::channel();
    let held = Held { asked: Mutex::new(asked), go: Mutex::new(wait) };
    let (variables, waited) = (Map::new(), QueueTime::default());
    thread::scope(|scope| {
        let first = scope.spawn(|| block_on(pool.run_hook(job(ASKING, &variables, &waited, &held))));
        is_asked.recv().expect("the first one runs");
        work(&|| {
            let _ = go.send(());
        });
        let _ = go.send(());
        assert_eq!(first.join().expect("ends").expect("runs"), json!({"done": true}));
    });
}

#[test]
fn waiting_for_a_worker_does_not_count_as_hook_time() {
    let pool = HookPool::new(HookOptions { workers: 1, ..options() });
    let own_time = Duration::from_secs(4);
    while_busy(&pool, |free| {
        let (variables, waited) = (Map::new(), QueueTime::default());
        thread::scope(|scope| {
            let second = scope.spawn(|| {
                let job =
                    HookJob { time: own_time, ..job(PLAIN, &variables, &waited, &crate::support::Engine) };
                block_on(pool.run_hook(job))
            });
            // It waits for longer than it may run.
            while waited.total() <= own_time {
                thread::yield_now();
            }
            free();
            assert_eq!(second.join().expect("ends").expect("runs"), json!({"done": true}));
        });
    });
}

#[test]
fn a_hook_without_a_free_worker_is_reported_as_busy() {
    let pool = HookPool::new(HookOptions { workers: 1, ..options() });
    while_busy(&pool, |_| {
        let (variables, waited) = (Map::new(), QueueTime::default());
        let job = HookJob {
            deadline: Some(Instant::now()),
            ..job(PLAIN, &variables, &waited, &crate::support::Engine)
        };
        let error = block_on(pool.run_hook(job)).expect_err("there is no worker");
        assert_eq!((error.code(), error.reason()), (Code::HookTimeout, Some(Reason::Busy)));
        assert!(error.message().contains("for a free worker"), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.to_string().contains("hooks.workers")), "{error:?}");
    });
}

#[test]
fn forty_hooks_on_four_workers_all_run() {
    let pool = HookPool::new(HookOptions { workers: 4, ..options() });
    thread::scope(|scope| {
        let all: Vec<_> = (0..40).map(|_| scope.spawn(|| Ask::new(PLAIN).pre_render(&pool))).collect();
        for one in all {
            assert_eq!(one.join().expect("ends").expect("runs"), json!({"done": true}));
        }
    });
}

#[test]
fn a_dropped_call_frees_its_worker() {
    let pool = HookPool::new(HookOptions { workers: 1, ..options() });
    let (asked, is_asked) = mpsc::channel();
    let (_go, wait) = mpsc::channel();
    struct Asked(Held);
    // The answer never arrives, and does not block the thread either.
    impl Capabilities for Asked {
        fn render_template<'a>(
            &'a self,
            name: &'a str,
            all: &'a Map<String, Value>,
        ) -> PortFuture<'a, Result<String>> {
            self.0.render_template(name, all)
        }
        fn get_variable<'a>(&'a self, _: &'a str) -> PortFuture<'a, Result<Option<Value>>> {
            let _ = self.0.asked.lock().expect("works").send(());
            Box::pin(std::future::pending())
        }
        fn read_file<'a>(&'a self, path: &'a str) -> PortFuture<'a, Result<String>> {
            self.0.read_file(path)
        }
        fn llm_call<'a>(&'a self, request: ModelRequest) -> PortFuture<'a, Result<Value>> {
            self.0.llm_call(request)
        }
    }
    let asked = Asked(Held { asked: Mutex::new(asked), go: Mutex::new(wait) });
    let (variables, waited) = (Map::new(), QueueTime::default());
    let mut hanging = pool.run_hook(job(ASKING, &variables, &waited, &asked));
    block_on(std::future::poll_fn(|cx| match hanging.as_mut().poll(cx) {
        std::task::Poll::Pending if is_asked.try_recv().is_ok() => std::task::Poll::Ready(()),
        std::task::Poll::Pending => std::task::Poll::Pending,
        std::task::Poll::Ready(done) => panic!("{done:?}"),
    }));
    drop(hanging);
    assert_eq!(Ask::new(PLAIN).pre_render(&pool).expect("runs"), json!({"done": true}));
}

/// The error of a hook with `body` from its third line on.
fn failed(pool: &HookPool, body: &str, time: Duration) -> Error {
    let body = body.replace('\n', "\n    ");
    let source =
        format!("import asyncio, ctypes, os, time\nasync def pre_render(variables, context):\n    {body}\n");
    Ask::new(&source).time(time).pre_render(pool).expect_err("does not end well")
}

fn line(error: &Error) -> Option<u32> {
    error.place().map(|place| place.line)
}

#[test]
fn a_timeout_is_reported_with_the_line_where_the_hook_hangs() {
    for isolation in [Isolation::Call, Isolation::Prompt] {
        let pool = HookPool::new(HookOptions { isolation, ..options() });
        // Start the pool before the time counts.
        Ask::new(PLAIN).pre_render(&pool).expect("runs");
        for (body, expected) in [
            ("pass\ntime.sleep(600)", 4),
            ("async def inner():\n    await asyncio.sleep(600)\nawait inner()", 4),
            ("pass\nwhile True: pass", 4),
            ("pass\npass\nsum(range(10 ** 15))", 5),
        ] {
            // A busy machine may need longer to get to the line.
            let times = [500, 2_000, 8_000, 30_000].map(Duration::from_millis);
            let mut errors = times.into_iter().map(|time| failed(&pool, body, time));
            let found = errors.find(|error| line(error) == Some(expected));
            let error = found.unwrap_or_else(|| panic!("{isolation:?} {body}: no error at line {expected}"));
            assert_eq!((error.code(), error.reason()), (Code::HookTimeout, Some(Reason::Timeout)), "{body}");
            assert_eq!(error.details().get("printed"), None, "{error:?}");
        }
    }
}

#[test]
fn an_exit_is_reported_with_the_line_that_caused_it() {
    let pool = pool();
    let long = Duration::from_secs(60);
    for (body, expected) in [("pass\nos._exit(3)", 4), ("pass\npass\nctypes.string_at(0)", 5)] {
        let error = failed(&pool, body, long);
        assert_eq!((error.code(), error.reason()), (Code::Hook, Some(Reason::Died)), "{body}");
        assert_eq!(line(&error), Some(expected), "{body}: {error:?}");
        assert_eq!(error.details().get("printed"), None, "{error:?}");
    }
}

#[test]
fn a_wrong_result_is_reported_at_the_function() {
    let pool = pool();
    let cases = [
        ("X = 1\ndef pre_render(variables, context):\n    return 5", "must return a dict"),
        ("X = 1\ndef pre_render(variables):\n    return {}", "takes 1 positional argument"),
        (
            "X = 1\ndef pre_render(variables, context):\n    return {'a': {'b': [1, {2}]}}",
            "`a['b'][1]` is a set",
        ),
        ("X = 1\ndef pre_render(variables, context):\n    variables['x'] = float('nan')", "`x` is nan"),
        (
            "X = 1\ndef pre_render(variables, context):\n    return {'k': {(1, 2): 3}}",
            "has the key (1, 2), a tuple",
        ),
        ("X = 1\ndef pre_render(v, c):\n    v['self'] = v", "`self` contains itself"),
        ("X = 1\ndef pre_render(v, c):\n    v['half'] = '\\ud800'", "`half` contains a lone surrogate"),
    ];
    for (source, expected) in cases {
        let error = Ask::new(source).pre_render(&pool).expect_err("is wrong");
        assert!(error.message().contains(expected), "{source}: {error}");
        assert_eq!(line(&error), Some(2), "{source}");
    }
}

#[test]
fn secrets_are_masked_in_printed_text_and_errors() {
    let heard: Arc<Mutex<String>> = Arc::default();
    let log = Arc::clone(&heard);
    let listener: hinagata_python::PrintListener =
        Arc::new(move |printed| log.lock().expect("works").push_str(printed.text));
    let pool = HookPool::new(HookOptions { listener: Some(listener), ..options() });
    let mut secrets = Secrets::default();
    secrets.add_value(&json!("hunter2"));
    let source =
        "def pre_render(variables, context):\n    print('is hunter2')\n    raise ValueError('hunter2!')";
    let ask = Ask { secrets: Arc::new(secrets), ..Ask::new(source) };
    let error = ask.pre_render(&pool).expect_err("raises");
    let told = format!("{error:?} {}", heard.lock().expect("works"));
    assert!(!told.contains("hunter2") && told.contains("is •••") && told.contains("•••!"), "{told}");
}

#[test]
fn a_module_beside_the_prompt_is_imported_from_source_only() {
    let place = tempfile::tempdir().expect("a directory");
    let own = place.path().join("user_data/shared/prompts/p");
    fs::create_dir_all(own.join("kit")).expect("made");
    fs::write(own.join("helper.py"), "from kit.inner import word\ndef say():\n    return word\n")
        .expect("written");
    fs::write(own.join("kit/__init__.py"), "").expect("written");
    fs::write(own.join("kit/inner.py"), "word = 'source'\n").expect("written");
    // Stale bytecode beside the source, which Python would use without reading the source.
    fs::write(own.join("evil.py"), "word = 'compiled'\n").expect("written");
    let compile = "import importlib.util, py_compile, sys\npy_compile.compile(sys.argv[1], importlib.util.cache_from_source(sys.argv[2]), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)";
    let compiled = std::process::Command::new("python3")
        .args(["-c", compile])
        .args([own.join("evil.py"), own.join("kit/inner.py")])
        .status();
    assert!(compiled.expect("Python runs").success());
    // Library modules cannot be replaced.
    fs::write(own.join("json.py"), "raise RuntimeError('replaced')\n").expect("written");
    let source =
        "import json, helper\ndef pre_render(variables, context):\n    return {'said': helper.say()}";
    for isolation in [Isolation::Call, Isolation::Prompt, Isolation::Spawn] {
        let pool = HookPool::new(HookOptions { isolation, ..options() });
        let ask = Ask { root: place.path().to_owned(), own_directory: own.clone(), ..Ask::new(source) };
        assert_eq!(ask.pre_render(&pool).expect("runs"), json!({"said": "source"}));
        // A changed module is used immediately, even with a reused worker.
        fs::write(own.join("kit/inner.py"), "word = 'changed'\n").expect("written");
        assert_eq!(ask.pre_render(&pool).expect("runs")["said"], "changed");
        fs::write(own.join("kit/inner.py"), "word = 'source'\n").expect("written");
    }
}

#[test]
fn the_command_line_of_a_worker_is_short() {
    let source = "import sys\ndef pre_render(variables, context):\n    return {'size': sum(map(len, getattr(sys, 'orig_argv', [])))}";
    for isolation in [Isolation::Call, Isolation::Spawn] {
        let pool = HookPool::new(HookOptions { isolation, ..options() });
        let size = Ask::new(source).pre_render(&pool).expect("runs")["size"].as_u64();
        assert!(size.is_some_and(|size| size < 1_000), "{size:?}");
    }
}
