//! What hooks and providers do to a render: when they run, what they may change, what is told of it.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

use hinagata::{
    Approval, Approvals, Code, Context, Engine, EngineOptions, Error, HIDDEN, Layer, Reason, Request, Result,
    ports::{HookJob, Hooks, PortFuture, Stage},
};
use hinagata_value::Cancel;
use serde_json::{Map, Value, json};

const SHARED: &str = "user_data/shared/prompts";

fn workspace(files: &[(&str, &str)]) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in files {
        let path = place.path().join(name);
        fs::create_dir_all(path.parent().expect("has a parent")).expect("made");
        fs::write(path, text).expect("written");
    }
    place
}

fn prompt(id: &str, file: &str) -> String {
    format!("{SHARED}/{id}/{file}")
}

type Answer = dyn Fn(&HookJob<'_>) -> Result<Value> + Send + Sync;

/// Python as a function.
struct FakeHooks(Box<Answer>);

impl Hooks for FakeHooks {
    fn run_hook<'a>(&'a self, job: HookJob<'a>) -> PortFuture<'a, Result<Value>> {
        Box::pin(async move { (self.0)(&job) })
    }
}

fn engine(root: &Path, answer: impl Fn(&HookJob<'_>) -> Result<Value> + Send + Sync + 'static) -> Engine {
    let approvals: Approvals =
        [("kit", Approval::Approved), ("slow", Approval::Approved)].into_iter().collect();
    Engine::builder(root).with_approvals(approvals).with_hooks(Arc::new(FakeHooks(Box::new(answer)))).open()
}

fn changed(job: &HookJob<'_>, change: impl FnOnce(&mut Map<String, Value>)) -> Result<Value> {
    let Stage::PreRender { variables } = job.stage else {
        return Err(Error::new(Code::Hook, "not asked for"));
    };
    let mut all = variables.clone();
    change(&mut all);
    Ok(Value::Object(all))
}

const PRE: &str = "def pre_render(variables, context):\n    pass\n";

fn packs<'t>() -> Vec<(&'t str, &'t str)> {
    vec![
        (
            "user_data/packs/kit/pack.json",
            r#"{"variable_providers": [{"file": "g.py", "namespace": "git"}]}"#,
        ),
        ("user_data/packs/kit/g.py", "def provide(context):\n    pass\n"),
        (
            "user_data/packs/slow/pack.json",
            r#"{"variable_providers": [{"file": "s.py", "namespace": "slow"}]}"#,
        ),
        ("user_data/packs/slow/s.py", "def provide(context):\n    pass\n"),
    ]
}

#[test]
fn a_dynamic_include_runs_the_providers_that_its_template_reaches_and_no_others() {
    let (dynamic, plain, uses) =
        (prompt("dyn", "template.md"), prompt("plain", "template.md"), prompt("uses", "template.md"));
    let deep = prompt("deep", "template.md");
    let mut files = packs();
    files.extend([
        (dynamic.as_str(), "<{% include x %}>"),
        (&plain, "nothing"),
        (&uses, "branch {{ git.branch }}"),
        (&deep, "{% include 'uses/template.md' %}"),
    ]);
    let place = workspace(&files);
    let ran: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&ran);
    let engine = engine(place.path(), move |job| {
        seen.lock().expect("works").push(job.owner.to_owned());
        Ok(json!({"branch": "main"}))
    });
    for (chosen, text, providers) in [
        ("plain/template.md", "<nothing>", &[][..]),
        ("uses/template.md", "<branch main>", &["kit"]),
        ("deep/template.md", "<branch main>", &["kit"]),
    ] {
        let variables = json!({"x": chosen});
        let rendered =
            engine.explain_blocking(&Request::new("dyn").with_variables(&variables)).expect("renders");
        // Nobody trusts this workspace, and each provider that runs would get more otherwise.
        assert_eq!((rendered.text().as_str(), rendered.warnings.len()), (text, providers.len()), "{chosen}");
        assert_eq!(std::mem::take(&mut *ran.lock().expect("works")), providers, "{chosen}");
        let traced: Vec<&str> = rendered
            .trace
            .as_ref()
            .expect("is asked for")
            .calls
            .iter()
            .map(|call| call.name.as_str())
            .collect();
        assert_eq!(traced.len(), providers.len(), "{traced:?}");
    }
}

#[test]
fn a_provider_runs_with_the_permissions_that_its_pack_declares() {
    let manifest = |permissions: &str| {
        format!(r#"{{"variable_providers": [{{"file": "g.py", "namespace": "git"{permissions}}}]}}"#)
    };
    for (declared, expected) in [
        ("", &["read_file", "subprocess"][..]),
        (r#", "permissions": {"subprocess": false, "http_request": true}"#, &["read_file", "http_request"]),
    ] {
        let (manifest, uses) = (manifest(declared), prompt("uses", "template.md"));
        let mut files = packs();
        files[0].1 = &manifest;
        files.push((uses.as_str(), "{{ git.branch }}"));
        let place = workspace(&files);
        let (sender, permissions) = mpsc::channel();
        let hooks = FakeHooks(Box::new(move |job| {
            sender.send(job.permissions.join(" ")).expect("is received");
            Ok(json!({"branch": "main"}))
        }));
        let approvals: Approvals = [("kit", Approval::Approved)].into_iter().collect();
        let options = EngineOptions { trusted: true, ..EngineOptions::default() };
        let engine = Engine::builder(place.path()).with_approvals(approvals).with_options(options);
        let engine = engine.with_hooks(Arc::new(hooks)).open();
        assert_eq!(engine.render_blocking(&Request::new("uses")).expect("renders").text(), "main");
        assert_eq!(permissions.recv().expect("the provider ran"), expected.join(" "));
    }
}

#[test]
fn a_namespace_that_is_given_needs_no_provider_in_a_dynamic_include() {
    let (dynamic, uses) = (prompt("dyn", "template.md"), prompt("uses", "template.md"));
    let mut files = packs();
    files.extend([(dynamic.as_str(), "{% include x %}"), (&uses, "{{ git.branch }}")]);
    let place = workspace(&files);
    let engine = engine(place.path(), |_| panic!("must not run"));
    let variables = json!({"x": "uses/template.md", "git": {"branch": "mine"}});
    let rendered = engine.render_blocking(&Request::new("dyn").with_variables(&variables)).expect("renders");
    assert_eq!(rendered.text(), "mine");
}

#[test]
fn a_provider_runs_once_for_hooks_templates_and_dynamic_includes() {
    let (dynamic, uses) = (prompt("dyn", "prompt.py"), prompt("uses", "template.md"));
    let source = format!("TEMPLATE = '{{% include x %}}'\n{PRE}");
    let mut files = packs();
    files.extend([(dynamic.as_str(), source.as_str()), (&uses, "{{ git.branch }}")]);
    let place = workspace(&files);

    struct Asking(Mutex<usize>);
    impl Hooks for Asking {
        fn run_hook<'a>(&'a self, job: HookJob<'a>) -> PortFuture<'a, Result<Value>> {
            Box::pin(async move {
                if let Stage::PreRender { variables } = job.stage {
                    assert!(!variables.contains_key("git"), "nothing ran it up front");
                    let branch = job.capabilities.get_variable("git.branch").await?;
                    assert_eq!(branch, Some(json!("main")));
                    return Ok(Value::Object(variables.clone()));
                }
                *self.0.lock().expect("works") += 1;
                Ok(json!({"branch": "main"}))
            })
        }
    }
    let hooks = Arc::new(Asking(Mutex::new(0)));
    let approvals: Approvals = [("kit", Approval::Approved)].into_iter().collect();
    let engine =
        Engine::builder(place.path()).with_approvals(approvals).with_hooks(Arc::clone(&hooks) as _).open();
    let variables = json!({"x": "uses/template.md"});
    let rendered = engine.render_blocking(&Request::new("dyn").with_variables(&variables)).expect("renders");
    assert_eq!((rendered.text().as_str(), *hooks.0.lock().expect("works")), ("main", 1));
}

#[test]
fn an_explanation_names_the_hook_only_for_what_it_changed() {
    let source = format!(
        "VARIABLES = {{'custom': [{{'name': 'style', 'default': 'plain'}}, {{'name': 'gone', 'default': 'x'}}, {{'name': 'other', 'default': 'y'}}]}}\n\
         TEMPLATE = '{{{{ style }}}}{{{{ gone }}}}{{{{ other }}}}{{{{ given }}}}'\n{PRE}"
    );
    let place = workspace(&[(&prompt("p", "prompt.py"), &source)]);
    let engine = engine(place.path(), |job| {
        changed(job, |all| {
            all.remove("gone");
            all.insert("other".to_owned(), json!("changed"));
        })
    });
    let variables = json!({"given": 1});
    let rendered = engine.explain_blocking(&Request::new("p").with_variables(&variables)).expect("renders");
    let trace = rendered.trace.expect("is asked for");
    let find = |name: &str| trace.variables.iter().find(|variable| variable.name == name).expect(name);
    assert_eq!((find("style").layer, find("style").lost.len()), (Some(Layer::Custom), 0));
    assert_eq!(find("given").layer, Some(Layer::Call));
    assert_eq!((find("other").layer, find("other").lost.len()), (Some(Layer::Hook), 1));
    let gone = find("gone");
    assert_eq!((gone.layer, &gone.value, gone.lost.len()), (Some(Layer::Hook), &None, 1));
}

#[test]
fn what_pre_render_writes_under_a_reserved_name_is_told_as_dropped() {
    let source = format!("TEMPLATE = '{{{{ system.os }}}}{{{{ variables.a }}}}'\n{PRE}");
    let place = workspace(&[(&prompt("p", "prompt.py"), &source)]);
    let engine = engine(place.path(), |job| {
        changed(job, |all| {
            all.insert("system".to_owned(), json!({"os": "mine"}));
            all.insert("args".to_owned(), json!(1));
        })
    });
    let rendered = engine.render_blocking(&Request::new("p")).expect("renders");
    assert!(!rendered.text().contains("mine"));
    let about: Vec<&str> = rendered.warnings.iter().map(|warning| warning.about.as_str()).collect();
    assert_eq!(about, ["args", "system"]);
    assert!(rendered.warnings[0].error.message().contains("dropped"), "{:?}", rendered.warnings);
}

#[test]
fn what_pre_render_makes_of_a_file_parameter_counts() {
    let source = format!(
        "VARIABLES = {{'required': [{{'name': 'doc', 'type': 'file'}}]}}\nTEMPLATE = '{{{{ doc }}}}'\n{PRE}"
    );
    let place = workspace(&[(&prompt("p", "prompt.py"), &source), ("note.txt", "text")]);
    let engine = engine(place.path(), |job| {
        changed(job, |all| {
            assert_eq!(all["doc"], json!("text"));
            all.insert("doc".to_owned(), json!("shorter"));
        })
    });
    let variables = json!({"doc": "note.txt"});
    let rendered = engine.render_blocking(&Request::new("p").with_variables(&variables)).expect("renders");
    assert_eq!(rendered.text(), "shorter");
    assert!(rendered.read_files.iter().any(|path| path.ends_with("note.txt")), "{:?}", rendered.read_files);
}

#[test]
fn a_secret_that_a_hook_carries_elsewhere_is_masked_in_traces_errors_and_warnings() {
    let source = format!(
        "VARIABLES = {{'required': [{{'name': 'pw', 'secret': True}}]}}\nTEMPLATE = '{{{{ copy }}}}{{{{ deep }}}}{{{{ variables.pw }}}}'\n{PRE}"
    );
    let place = workspace(&[(&prompt("p", "prompt.py"), &source)]);
    let engine = engine(place.path(), |job| {
        assert_eq!(job.secrets.mask_text("is hunter2"), format!("is {HIDDEN}"));
        changed(job, |all| {
            let secret = all.remove("pw").expect("is given");
            all.insert("deep".to_owned(), json!({"a": [secret]}));
            all.insert("copy".to_owned(), secret);
        })
    });
    let variables = json!({"pw": "hunter2"});
    let rendered = engine.explain_blocking(&Request::new("p").with_variables(&variables)).expect("renders");
    assert!(!rendered.text().contains("hunter2"), "an explanation masks the result, too");
    let used = engine.render_blocking(&Request::new("p").with_variables(&variables)).expect("renders");
    assert!(used.text().contains("hunter2"), "the prompt itself may use it");
    let trace = serde_json::to_string(&rendered.trace).expect("is data");
    assert!(!trace.contains("hunter2") && trace.contains(HIDDEN), "{trace}");
}

#[test]
fn whoever_has_no_time_left_tells_who_took_it() {
    let source = format!(
        "LIMITS = {{'max_execution_time': 0.02}}\nTEMPLATE = 'x'\n{PRE}def post_render(text, variables, context):\n    pass\n"
    );
    let place = workspace(&[(&prompt("p", "prompt.py"), &source)]);
    let engine = engine(place.path(), |job| {
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(30) {
            thread::yield_now();
        }
        changed(job, |_| {})
    });
    let error = engine.render_blocking(&Request::new("p")).expect_err("nothing is left");
    assert_eq!((error.code(), error.reason()), (Code::HookTimeout, Some(Reason::Timeout)));
    let message = error.message();
    assert!(
        message.starts_with("`post_render` did not run") && message.contains("`pre_render` took"),
        "{message}"
    );
}

#[test]
fn a_cap_that_cuts_the_time_of_a_prompt_is_told() {
    let source = format!("LIMITS = {{'max_execution_time': 3600}}\nTEMPLATE = 'x'\n{PRE}");
    let defaults = format!("{SHARED}/defaults.json");
    let place = workspace(&[
        (&prompt("p", "prompt.py"), &source),
        (&defaults, r#"{"caps": {"max_execution_time": 60}}"#),
    ]);
    let engine = engine(place.path(), |job| {
        assert!(job.time <= Duration::from_secs(60));
        changed(job, |_| {})
    });
    let rendered = engine.render_blocking(&Request::new("p")).expect("renders");
    assert_eq!(rendered.warnings.len(), 1);
    assert!(rendered.warnings[0].error.message().contains("3600"), "{:?}", rendered.warnings);
}

#[test]
fn a_cancelled_render_drops_the_hook_that_it_waits_for() {
    struct Hanging(mpsc::Sender<&'static str>);
    struct Told(mpsc::Sender<&'static str>);
    impl Drop for Told {
        fn drop(&mut self) {
            let _ = self.0.send("dropped");
        }
    }
    impl Hooks for Hanging {
        fn run_hook<'a>(&'a self, _: HookJob<'a>) -> PortFuture<'a, Result<Value>> {
            let told = Told(self.0.clone());
            Box::pin(async move {
                let _ = told.0.send("started");
                std::future::pending::<()>().await;
                drop(told);
                Ok(Value::Null)
            })
        }
    }
    let source = format!("TEMPLATE = 'x'\n{PRE}");
    let place = workspace(&[(&prompt("p", "prompt.py"), &source)]);
    let (sender, told) = mpsc::channel();
    let engine = Engine::builder(place.path()).with_hooks(Arc::new(Hanging(sender))).open();
    for explain in [false, true] {
        let (cancel, engine) = (Cancel::default(), engine.clone());
        let handle = cancel.clone();
        let rendering = thread::spawn(move || {
            let request = Request::new("p").with_cancel(cancel);
            if explain { engine.explain_blocking(&request) } else { engine.render_blocking(&request) }
                .map(drop)
        });
        assert_eq!(told.recv(), Ok("started"));
        handle.cancel();
        let error = rendering.join().expect("ends").expect_err("is cancelled");
        assert_eq!((error.code(), error.message()), (Code::Deadline, "the render was cancelled"));
        assert_eq!(told.recv(), Ok("dropped"));
    }
}

/// What `read_file` of a hook says about a path.
fn problem(place: &Path, path: &'static str) -> String {
    struct Reading(&'static str);
    impl Hooks for Reading {
        fn run_hook<'a>(&'a self, job: HookJob<'a>) -> PortFuture<'a, Result<Value>> {
            Box::pin(async move {
                Ok(match job.capabilities.read_file(self.0).await {
                    Ok(text) => json!({"found": format!("read {}", text.len())}),
                    Err(error) => json!({"found": error.details()["problem"]}),
                })
            })
        }
    }
    let engine = Engine::builder(place).with_hooks(Arc::new(Reading(path))).open();
    let context =
        Context { workspace_path: place.join("work").to_str().map(str::to_owned), ..Context::default() };
    engine.render_blocking(&Request::new("p").with_context(&context)).expect("renders").into_text()
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_read_says_why() {
    let source = format!("TEMPLATE = '{{{{ found }}}}'\n{PRE}");
    let place = workspace(&[
        (&prompt("p", "prompt.py"), &source),
        (&prompt("p", "beside.txt"), "12"),
        ("work/note.txt", "123"),
        ("work/sub/inner.txt", "1"),
        ("outside.txt", "secret"),
    ]);
    let work = place.path().join("work");
    fs::write(work.join("bytes"), b"ok\xff").expect("written");
    fs::write(work.join("large"), vec![b'x'; (1 << 20) + 1]).expect("written");
    std::os::unix::fs::symlink("../outside.txt", work.join("link")).expect("linked");
    for (path, expected) in [
        ("note.txt", "read 3"),
        ("sub/../note.txt", "read 3"),
        ("./sub/./inner.txt", "read 1"),
        ("beside.txt", "read 2"),
        ("../outside.txt", "outside"),
        ("sub/../../outside.txt", "outside"),
        ("/etc/passwd", "outside"),
        ("link", "outside"),
        ("sub", "directory"),
        (".", "directory"),
        ("bytes", "encoding"),
        ("large", "size"),
        ("none.txt", "missing"),
    ] {
        assert_eq!(problem(place.path(), path), expected, "{path}");
    }
}
