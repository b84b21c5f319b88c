//! The engine as a library user meets it: ports, layers, traces, secrets, changes of the workspace.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use hinagata::{
    Approval, Approvals, Code, Context, Diagnostic, Engine, Error, HIDDEN, Layer, Reach, Reason, Request,
    Result, Warning,
    definition::UndefinedMode,
    ports::{
        Clock, HookJob, Hooks, OnError, PortFuture, Stage, Store, StoreListener, Tool, ToolDocuments,
        ToolSet, Tools,
    },
    store::{StoreChange, StoreHealth, StoreSnapshot},
};
use serde_json::{Map, Value, json};

const SHARED: &str = "user_data/shared/prompts";

fn workspace(files: &[(&str, &str)]) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in files {
        write(place.path(), name, text);
    }
    place
}

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("has a parent")).expect("made");
    fs::write(path, text).expect("written");
}

fn prompt(id: &str, file: &str) -> String {
    format!("{SHARED}/{id}/{file}")
}

fn text(engine: &Engine, name: &str, variables: &Value) -> Result<String> {
    engine.render_blocking(&Request::new(name).with_variables(variables)).map(hinagata::Rendered::into_text)
}

#[test]
fn an_engine_is_shared_between_threads_and_its_future_can_move() {
    fn sent<T: Send>(value: T) -> T {
        value
    }
    fn shared<T: Send + Sync + Clone>(_: &T) {}
    let engine = Engine::open("no/such/workspace");
    shared(&engine);
    let request = Request::new("general_system");
    drop(sent(engine.render(&request)));
    drop(sent(engine.explain(&request)));
}

#[test]
fn a_callers_value_is_never_changed() {
    let place = workspace(&[(&prompt("p", "template.md"), "{% do items.append(3) %}{{ items }}")]);
    let engine = Engine::open(place.path());
    let variables = json!({"items": [1, 2]});
    let before = variables.clone();
    let rendered = engine.render_blocking(&Request::new("p").with_variables(&variables)).expect("renders");
    assert_eq!((rendered.text().as_str(), &variables), ("[1, 2, 3]", &before));
}

#[test]
fn equal_results_have_equal_hashes_and_a_changed_file_changes_the_definitions() {
    let place = workspace(&[
        (&prompt("p", "template.md"), "{% include 'partials/a.md' %} {{ x }}"),
        (&format!("{SHARED}/partials/a.md"), "one"),
    ]);
    let engine = Engine::open(place.path());
    let render = |x: &str| {
        let variables = json!({"x": x});
        let rendered =
            engine.render_blocking(&Request::new("p").with_variables(&variables)).expect("renders");
        (rendered.hash(), rendered.definition_hash().to_owned())
    };
    let (first, again, other) = (render("a"), render("a"), render("b"));
    assert_eq!(first, again);
    assert!(first.0 != other.0 && first.1 == other.1 && first.0.len() == 64);
    write(place.path(), &format!("{SHARED}/partials/a.md"), "two");
    assert_eq!(render("a"), first, "a snapshot does not change");
    engine.reload();
    let after = render("a");
    assert!(after.0 != first.0 && after.1 != first.1);
}

#[test]
fn a_render_goes_on_with_the_state_it_started_on() {
    let place = workspace(&[(&prompt("p", "template.md"), "old {{ slow() }}{% include which %}")]);
    write(place.path(), &format!("{SHARED}/partials/w.md"), "part");
    let tools = Arc::new(FakeTools::new(&[("slow", true)]));
    let engine = Engine::builder(place.path()).with_tools(tools.clone()).open();
    let (root, again) = (place.path().to_owned(), engine.clone());
    *tools.0.on_call.lock().expect("is not poisoned") = Some(Box::new(move || {
        write(&root, &prompt("p", "template.md"), "new");
        again.reload();
    }));
    assert_eq!(text(&engine, "p", &json!({"which": "partials/w.md"})).expect("renders"), "old slow[]part");
    assert_eq!(text(&engine, "p", &json!({})).expect("renders"), "new");
}

/// Tools that answer with their name and arguments, and note the order of calls.
struct FakeTools(Arc<FakeSet>);

struct FakeSet {
    tools: BTreeMap<String, Arc<Tool>>,
    called: Mutex<Vec<String>>,
    on_call: Mutex<Option<Box<dyn Fn() + Send>>>,
}

impl FakeTools {
    fn new(names: &[(&str, bool)]) -> Self {
        let tool = |(name, pure): &(&str, bool)| {
            let properties = json!({"type": "object", "properties": {"q": {}, "n": {}}});
            let parameters = name.starts_with("named").then_some(properties);
            let on_error = if *name == "must" { OnError::Fail } else { OnError::Default };
            let tool = Tool {
                id: format!("test.{name}"),
                module: Some("test-tools".to_owned()),
                name: (*name).to_owned(),
                parameters,
                pure: *pure,
                on_error,
                fallback: json!({"text": "none"}),
                ..Tool::default()
            };
            ((*name).to_owned(), Arc::new(tool))
        };
        Self(Arc::new(FakeSet {
            tools: names.iter().map(tool).collect(),
            called: Mutex::default(),
            on_call: Mutex::default(),
        }))
    }

    fn called(&self) -> Vec<String> {
        self.0.called.lock().expect("is not poisoned").clone()
    }
}

impl Tools for FakeTools {
    fn tool_set(&self, _: &[ToolDocuments]) -> Arc<dyn ToolSet> {
        Arc::clone(&self.0) as _
    }
}

impl ToolSet for FakeSet {
    fn tools(&self) -> &BTreeMap<String, Arc<Tool>> {
        &self.tools
    }

    fn call_tool<'a>(&'a self, name: &'a str, arguments: Value) -> PortFuture<'a, Result<Value>> {
        self.called.lock().expect("is not poisoned").push(format!("{name}{arguments}"));
        if let Some(act) = &*self.on_call.lock().expect("is not poisoned") {
            act();
        }
        Box::pin(async move {
            match name {
                "fails" | "must" => Err(Error::new(Code::Tool, "no answer")),
                "list" => Ok(json!([1, 2])),
                _ => Ok(format!("{name}{arguments}").into()),
            }
        })
    }
}

#[test]
fn tools_are_functions_of_both_languages() {
    let place = workspace(&[
        (
            &prompt("j", "template.md"),
            "{{ named('a', n=2) }} {{ plain(1) }} {% for x in list() %}<{{ x }}>{% endfor %}",
        ),
        (&prompt("g", "template.gotmpl"), "{{named \"a\"}} {{range list}}<{{.}}>{{end}}"),
        (
            &prompt("m", "prompt.yaml"),
            "messages:\n  - {role: user, content: \"{{ plain(1) }}\"}\n  - {role: user, content: \"{{ plain(2) }}\"}\n",
        ),
    ]);
    let tools = Arc::new(FakeTools::new(&[("named", true), ("plain", true), ("list", true)]));
    let engine = Engine::builder(place.path()).with_tools(tools.clone()).open();
    assert_eq!(text(&engine, "j", &json!({})).expect("renders"), r#"named{"q":"a","n":2} plain[1] <1><2>"#);
    assert_eq!(text(&engine, "g", &json!({})).expect("renders"), r#"named{"q":"a"} <1><2>"#);
    assert_eq!(text(&engine, "m", &json!({})).expect("renders"), "plain[1]\n\nplain[2]");
}

#[test]
fn tools_that_are_not_pure_are_called_in_order_and_once_each_time() {
    let place = workspace(&[(
        &prompt("p", "template.md"),
        "{{ b(1) }}{{ a(2) }}{{ b(1) }}{{ pure(1) }}{{ pure(1) }}",
    )]);
    let tools = Arc::new(FakeTools::new(&[("a", false), ("b", false), ("pure", true)]));
    let engine = Engine::builder(place.path()).with_tools(tools.clone()).open();
    text(&engine, "p", &json!({})).expect("renders");
    let called = tools.called();
    let ordered: Vec<_> = called.iter().filter(|call| !call.starts_with("pure")).cloned().collect();
    assert_eq!(ordered, ["b[1]", "a[2]", "b[1]"]);
    assert_eq!(called.len(), 4);
}

#[test]
fn equal_calls_of_several_messages_are_one() {
    let place = workspace(&[(
        &prompt("m", "prompt.yaml"),
        "messages:\n  - {role: user, content: \"{{ pure(1) }}\"}\n  - {role: user, content: \"{{ pure(1) }}{% if pure(1) %}{{ pure(2) }}{% endif %}\"}\n",
    )]);
    let tools = Arc::new(FakeTools::new(&[("pure", true)]));
    let engine = Engine::builder(place.path()).with_tools(tools.clone()).open();
    assert_eq!(text(&engine, "m", &json!({})).expect("renders"), "pure[1]\n\npure[1]pure[2]");
    assert_eq!(tools.called(), ["pure[1]", "pure[2]"]);
}

#[test]
fn tools_are_found_by_module_and_name_unless_a_variable_has_the_name() {
    let call = "{{ tools.test_tools.named('a') }}";
    let place = workspace(&[
        (&prompt("p", "template.md"), call),
        (&prompt("strict", "template.md"), &format!("---\nundefined: error\n---\n{call}")),
        (&prompt("unknown", "template.md"), "{{ tools.test_tools.other() }}"),
        (&prompt("shown", "template.md"), "{{ tools }} {{ tools.test_tools is callable }}"),
        (&prompt("listed", "template.md"), "{{ tools | join }}{{ named }}"),
    ]);
    let engine =
        Engine::builder(place.path()).with_tools(Arc::new(FakeTools::new(&[("named", true)]))).open();
    assert_eq!(text(&engine, "p", &json!({})).expect("renders"), r#"named{"q":"a"}"#);
    assert_eq!(text(&engine, "strict", &json!({})).expect("renders"), r#"named{"q":"a"}"#);
    assert_eq!(text(&engine, "shown", &json!({})).expect("renders"), "<functions of tools> False");
    assert!(text(&engine, "unknown", &json!({})).is_err());
    let variables = json!({"tools": ["x", "y"], "named": "mine"});
    assert_eq!(text(&engine, "listed", &variables).expect("renders"), "xymine");
}

#[test]
fn a_failed_call_gives_the_value_that_the_tool_has_for_it_and_warns() {
    let place = workspace(&[
        (&prompt("p", "template.md"), "---\nname: x\n---\n{{ fails().text }}"),
        (&prompt("strict", "template.md"), "---\non_error: fail\n---\na\n{{ fails().text }}"),
        (&prompt("must", "template.md"), "a\n{{ must() }}"),
        (&prompt("lenient", "template.md"), "---\non_error: default\n---\n{{ must().text }}"),
    ]);
    let tools = Arc::new(FakeTools::new(&[("fails", true), ("must", true)]));
    let engine = Engine::builder(place.path()).with_tools(tools).open();
    let rendered = engine.explain_blocking(&Request::new("p")).expect("renders");
    assert_eq!(rendered.text(), "none");
    let [warning] = rendered.warnings.as_slice() else { panic!("{:?}", rendered.warnings) };
    assert_eq!((warning.about.as_str(), warning.error.code()), ("tool test.fails", Code::Tool));
    let trace = rendered.trace.expect("was asked for");
    assert_eq!((trace.calls[0].kind, trace.calls[0].name.as_str()), ("tool", "test.fails"));
    assert_eq!(trace.calls[0].error.as_deref(), Some("no answer"));
    assert_eq!(text(&engine, "lenient", &json!({})).expect("renders"), "none");
    for (name, line) in [("strict", 5), ("must", 2)] {
        let error = text(&engine, name, &json!({})).expect_err("fails");
        assert!(error.message().contains("no answer"), "{error:?}");
        assert_eq!((error.code(), error.place().map(|place| place.line)), (Code::Tool, Some(line)), "{name}");
        assert!(error.details().contains_key("tool"), "{error:?}");
    }
}

struct FakeStore(StoreSnapshot);

impl Store for FakeStore {
    fn snapshot(&self) -> Arc<StoreSnapshot> {
        Arc::new(self.0.clone())
    }

    fn write_changes(&self, _changes: Vec<StoreChange>) -> PortFuture<'_, hinagata::Result<()>> {
        unreachable!("nothing is written")
    }

    fn subscribe(&self, _told: StoreListener) {}
}

#[test]
fn shared_variables_are_seen_where_they_are_declared_or_under_environs() {
    let template = "---\ninputs:\n  - {name: team, source: environ, from: org.team, default: none}\n  - {name: city, source: environ, default: nowhere}\n---\n{{ team }} {{ city }} {{ environs.org.size }}[{{ org }}]";
    let place = workspace(&[(&prompt("p", "template.md"), template)]);
    let environs = json!({"org": {"team": "Lamp", "size": 5}, "other": 1});
    let store = StoreSnapshot { tree: Arc::new(environs), ..StoreSnapshot::default() };
    let engine = Engine::builder(place.path()).with_store(Arc::new(FakeStore(store))).open();
    assert_eq!(text(&engine, "p", &json!({})).expect("renders"), "Lamp nowhere 5[]");
    assert_eq!(text(&engine, "p", &json!({"team": "Mine"})).expect("renders"), "Mine nowhere 5[]");
    assert_eq!(text(&Engine::open(place.path()), "p", &json!({})).expect("renders"), "none nowhere []");
}

#[test]
fn numbers_that_lost_digits_are_told_of_every_layer() {
    let template = "---\ninputs:\n  - {name: own, default: 99999999999999999999}\n---\n{{ own }} {{ n }}";
    let place = workspace(&[
        (&prompt("p", "template.md"), template),
        (&prompt("plain", "template.md"), "{{ n }}"),
        (
            "user_data/shared/agents/a/agent.json",
            r#"{"prompt_id": "plain", "prompt_variables": {"n": 1e40}}"#,
        ),
    ]);
    let engine = Engine::open(place.path());
    let warned = |request: &Request<'_>| {
        let rendered = engine.render_blocking(request).expect("renders");
        let told = |warning: &Warning| warning.error.message().contains("exceeds 64 bits");
        rendered.warnings.into_iter().filter(told).map(|warning| warning.about).collect::<Vec<_>>()
    };
    let long: Value = serde_json::from_str(r#"{"n": {"ids": [-9223372036854775809]}}"#).expect("is JSON");
    let short = json!({"n": [u64::MAX, i64::MIN, 1.5, "99999999999999999999"], "own": 1});
    assert_eq!(warned(&Request::new("p").with_variables(&long)), ["n", "own"]);
    assert_eq!(warned(&Request::new("p").with_variables(&short)), ["own"]);
    // Twice: the second time on the short way.
    for _ in 0..2 {
        assert_eq!(warned(&Request::new("plain").with_variables(&long)), ["n"]);
    }
    let context = Context { agent_id: Some("a".into()), ..Context::default() };
    assert_eq!(warned(&Request::new("plain").with_context(&context)), ["n"]);
}

#[test]
fn what_cannot_be_read_of_the_store_is_told_where_it_is_needed() {
    let bad = |environ: &str| {
        let error = Error::new(Code::Store, "the value is no JSON").with("environ", environ);
        Diagnostic::error(format!("store:{environ}"), error)
    };
    let store = StoreSnapshot {
        diagnostics: Arc::new(vec![bad("mine"), bad("theirs")]),
        health: StoreHealth {
            outage: Some((UNIX_EPOCH, Error::new(Code::Store, "gone"))),
            ..StoreHealth::default()
        },
        ..StoreSnapshot::default()
    };
    let place = workspace(&[
        (&prompt("reads", "template.md"), "{{ environs.mine }}"),
        (&prompt("plain", "template.md"), "x"),
    ]);
    let engine = Engine::builder(place.path()).with_store(Arc::new(FakeStore(store))).open();
    let told = |engine: &Engine, name: &str| {
        let rendered = engine.render_blocking(&Request::new(name)).expect("renders");
        rendered.warnings.into_iter().map(|warning| warning.about).collect::<Vec<_>>()
    };
    assert_eq!(told(&engine, "reads"), ["store", "store:mine", "store:theirs"]);
    assert_eq!(told(&engine, "plain"), ["store"]);
    let missing = text(&engine, "nothing_such", &json!({})).expect_err("is not there");
    assert!(missing.message().contains("`store` cannot be read and may contain it"), "{missing:?}");
    let bound = engine.with_reach(&Arc::new(Reach::new(|_| true, |environ| environ == "mine")));
    assert!(!told(&bound, "reads").contains(&"store:theirs".to_owned()), "{:?}", told(&bound, "reads"));
    assert!(told(&bound, "reads").contains(&"store:mine".to_owned()));
}

/// Python as a table of answers by stage.
struct FakeHooks(fn(&HookJob<'_>) -> Result<Value>);

impl Hooks for FakeHooks {
    fn run_hook<'a>(&'a self, job: HookJob<'a>) -> PortFuture<'a, Result<Value>> {
        Box::pin(async move {
            if job.file.ends_with("asks/prompt.py") && matches!(job.stage, Stage::PreRender { .. }) {
                let part = job
                    .capabilities
                    .render_template("partials/a.md", &Map::from_iter([("x".to_owned(), json!(9))]))
                    .await?;
                let branch = job.capabilities.get_variable("git.branch").await?;
                let file = job.capabilities.read_file("notes.md").await?;
                let model = job
                    .capabilities
                    .llm_call(hinagata::ports::ModelRequest {
                        messages: Vec::new(),
                        model: None,
                        max_tokens: None,
                        schema: None,
                    })
                    .await;
                return Ok(json!({"part": part, "branch": branch, "file": file, "model": model.is_ok()}));
            }
            (self.0)(&job)
        })
    }
}

fn with_hooks(root: &Path, answer: fn(&HookJob<'_>) -> Result<Value>) -> Engine {
    let approvals: Approvals = [("kit", Approval::Approved)].into_iter().collect();
    Engine::builder(root).with_approvals(approvals).with_hooks(Arc::new(FakeHooks(answer))).open()
}

const HOOKED: &str = "METADATA = {}\nPERMISSIONS = {'session_state': True, 'http_request': False}\nTEMPLATE = '{{ a }}-{{ b }}'\ndef pre_render(variables, context):\n    pass\ndef post_render(text, variables, context):\n    pass\n";

#[test]
fn hooks_change_variables_and_text() {
    let place = workspace(&[(&prompt("p", "prompt.py"), HOOKED)]);
    let engine = with_hooks(place.path(), |job| match job.stage {
        Stage::PreRender { variables } => {
            assert_eq!(job.permissions, ["session_state"]);
            assert_eq!(job.context["session_state"], json!({"k": 1}));
            let mut all = variables.clone();
            all.insert("b".to_owned(), json!("added"));
            Ok(Value::Object(all))
        }
        Stage::PostRender { text, .. } => Ok(format!("<{text}>").into()),
        _ => Err(Error::new(Code::Hook, "not asked for")),
    });
    let context = Context {
        session_state: json!({"k": 1}).as_object().cloned().unwrap_or_default(),
        ..Context::default()
    };
    let variables = json!({"a": 1});
    let rendered = engine
        .explain_blocking(&Request::new("p").with_variables(&variables).with_context(&context))
        .expect("renders");
    assert_eq!(rendered.text(), "<1-added>");
    let trace = rendered.trace.expect("is asked for");
    let calls: Vec<_> = trace.calls.iter().map(|call| (call.kind, call.name.as_str())).collect();
    assert_eq!(calls, [("hook", "pre_render"), ("hook", "post_render")]);
    let b = trace.variables.iter().find(|variable| variable.name == "b").expect("is read");
    assert_eq!(b.layer, Some(Layer::Hook));
}

#[test]
fn what_hooks_return_is_checked() {
    let place = workspace(&[(&prompt("p", "prompt.py"), HOOKED)]);
    let error = text(&with_hooks(place.path(), |_| Ok(json!(5))), "p", &json!({})).expect_err("is no dict");
    assert_eq!((error.code(), error.details()["stage"].as_str()), (Code::Hook, Some("pre_render")));
    let error = text(&Engine::open(place.path()), "p", &json!({})).expect_err("there is no Python");
    assert_eq!((error.code(), error.reason()), (Code::Hook, Some(Reason::Unavailable)));
}

#[test]
fn hooks_ask_the_engine() {
    let place = workspace(&[
        (
            &prompt("asks", "prompt.py"),
            "TEMPLATE = '{{ part }}|{{ branch }}|{{ file }}|{{ model }}'\ndef pre_render(v, c):\n    return v\n",
        ),
        (&format!("{SHARED}/partials/a.md"), "part {{ x }} {{ given }}"),
        (
            "user_data/packs/kit/pack.json",
            r#"{"variable_providers": [{"file": "g.py", "namespace": "git"}]}"#,
        ),
        ("user_data/packs/kit/g.py", "def provide(context):\n    pass\n"),
        ("work/notes.md", "notes"),
    ]);
    let engine = with_hooks(place.path(), |job| {
        assert_eq!(
            (job.permissions.as_slice(), job.withheld.as_slice()),
            (["read_file"].as_slice(), ["subprocess"].as_slice())
        );
        Ok(json!({"branch": "main"}))
    });
    let context = Context {
        workspace_path: place.path().join("work").to_str().map(str::to_owned),
        ..Context::default()
    };
    let variables = json!({"given": "g"});
    let rendered = engine
        .render_blocking(&Request::new("asks").with_variables(&variables).with_context(&context))
        .expect("renders");
    assert_eq!(rendered.text(), "part 9 g|main|notes|False");
}

#[test]
fn what_widens_power_needs_a_trusted_workspace() {
    let source = "PERMISSIONS = {'http_request': True, 'read_file': True, 'subprocess': True}\nTEMPLATE = '{{ got }} {{ not_got }}'\ndef pre_render(v, c):\n    return v\n";
    let place = workspace(&[(&prompt("p", "prompt.py"), source)]);
    let hooks =
        |job: &HookJob<'_>| Ok(json!({"got": job.permissions.join("+"), "not_got": job.withheld.join("+")}));
    let open = |trusted| {
        Engine::builder(place.path()).with_trust(trusted).with_hooks(Arc::new(FakeHooks(hooks))).open()
    };
    assert_eq!(text(&open(true), "p", &json!({})).expect("renders"), "http_request+read_file+subprocess ");
    let rendered = open(false).render_blocking(&Request::new("p")).expect("renders");
    assert_eq!(rendered.text(), "read_file http_request+subprocess");
    assert_eq!(rendered.warnings.len(), 1, "it is told");
}

#[test]
fn constants_that_are_no_literals_are_told_by_running_the_file_once() {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let source = "NAMES = ['a']\nVARIABLES = {'required': [{'name': n, 'type': 'integer'} for n in NAMES]}\nMETADATA = make()\n";
    let child = "METADATA = {'extends': 'computed', 'template': None}\n";
    let place = workspace(&[
        (&prompt("computed", "prompt.py"), source),
        (&prompt("computed", "other.md"), "value {{ a }}"),
        (&prompt("child", "prompt.py"), child),
    ]);
    let engine = with_hooks(place.path(), |job| {
        RUNS.fetch_add(1, Ordering::Relaxed);
        assert!(matches!(job.stage, Stage::Load) && job.permissions.is_empty() && job.context.is_empty());
        assert_eq!(job.file, "user_data/shared/prompts/computed/prompt.py");
        Ok(json!({
            "constants": {
                "METADATA": {"template": "other.md", "version": "7.0.0"},
                "VARIABLES": {"required": [{"name": "a", "type": "integer"}]},
            },
            "hooks": [],
        }))
    });
    let error = engine.validate(&Request::new("computed")).expect_err("nothing is run to validate");
    assert_eq!((error.code(), error.place().map(|place| place.line)), (Code::Hook, Some(3)));
    assert_eq!(engine.definition("computed").expect("is read").parameters.iter().count(), 0);
    assert_eq!(text(&engine, "child", &json!({"a": 5})).expect("renders"), "value 5");
    assert_eq!(text(&engine, "computed", &json!({"a": 6})).expect("renders"), "value 6");
    let error = text(&engine, "computed", &json!({})).expect_err("is required");
    assert_eq!(error.code(), Code::Validation);
    let known = engine.definition("computed").expect("is known now");
    assert_eq!((known.definition.metadata.version.as_str(), known.parameters.iter().count()), ("7.0.0", 1));
    engine.reload();
    assert_eq!(text(&engine, "computed", &json!({"a": 7})).expect("renders"), "value 7");
    assert_eq!(RUNS.load(Ordering::Relaxed), 1, "the content is the same");
}

#[test]
fn a_file_that_fails_when_it_is_run_fails_its_prompt_alone() {
    let place = workspace(&[
        (&prompt("broken", "prompt.py"), "TEMPLATE = open('x').read()\n"),
        (&prompt("fine", "template.md"), "fine"),
    ]);
    let engine = with_hooks(place.path(), |_| Err(Error::new(Code::Hook, "no such file")));
    let error = text(&engine, "broken", &json!({})).expect_err("cannot be run");
    assert_eq!(error.details()["prompt_id"], "broken");
    assert_eq!((error.code(), error.details()["stage"].as_str()), (Code::Hook, Some("load")));
    assert_eq!(text(&engine, "fine", &json!({})).expect("renders"), "fine");
}

#[test]
fn a_failing_provider_is_a_warning_and_one_that_is_not_reached_does_not_run() {
    let place = workspace(&[
        (&prompt("uses", "template.md"), "{{ git.available }}"),
        (&prompt("does_not", "template.md"), "x"),
        (&prompt("declares", "template.md"), "---\ninputs: {'git?': dict}\n---\n[{{ git }}]"),
        (
            "user_data/packs/kit/pack.json",
            r#"{"variable_providers": [{"file": "g.py", "namespace": "git"}]}"#,
        ),
        ("user_data/packs/kit/g.py", "def provide(context):\n    pass\n"),
    ]);
    let engine = with_hooks(place.path(), |_| Err(Error::new(Code::Hook, "boom")));
    let rendered = engine.render_blocking(&Request::new("uses")).expect("renders");
    assert_eq!(rendered.text(), "False");
    let told: Vec<&str> = rendered.warnings.iter().map(|warning| warning.error.message()).collect();
    assert_eq!(told, ["boom", "the workspace is not trusted, so the provider `git` gets no `subprocess`"]);
    let never = with_hooks(place.path(), |_| panic!("must not run"));
    assert_eq!(text(&never, "does_not", &json!({})).expect("renders"), "x");
    assert_eq!(text(&never, "declares", &json!({})).expect("renders"), "[]");
    assert_eq!(text(&never, "uses", &json!({"git": {"available": 1}})).expect("renders"), "1");
}

#[test]
fn a_trace_tells_winners_losers_and_places() {
    let place = workspace(&[
        (
            &prompt("child", "prompt.py"),
            "METADATA = {'extends': 'parent', 'template': None}\nVARIABLES = {'custom': [{'name': 'tone', 'default': 'child'}]}\n",
        ),
        (
            &prompt("parent", "prompt.py"),
            "METADATA = {}\nVARIABLES = {'custom': [{'name': 'tone', 'default': 'parent'}], 'optional': [{'name': 'day', 'source': 'system', 'from': 'date', 'default': 'never'}]}\n",
        ),
        (
            &prompt("parent", "template.md"),
            "---\nname: P\n---\n{% include 'partials/a.md' %}\n{{ tone }}{{ day }}{{ gone }}{% if maybe %}{% endif %}",
        ),
        (&format!("{SHARED}/partials/a.md"), "{{ system.os }}{{ tone }}"),
        (
            &format!("{SHARED}/defaults.json"),
            r#"{"variables": {"optional": [{"name": "tone", "default": "workspace"}]}}"#,
        ),
        (
            "user_data/shared/agents/a/agent.json",
            r#"{"prompt_id": "child", "prompt_variables": {"tone": "agent"}}"#,
        ),
    ]);
    let engine = Engine::open(place.path());
    let context = Context { agent_id: Some("a".into()), ..Context::default() };
    let variables = json!({"tone": "call"});
    let rendered = engine
        .explain_blocking(&Request::new("Child").with_variables(&variables).with_context(&context))
        .expect("renders");
    let trace = rendered.trace.expect("is asked for");
    let find = |name: &str| trace.variables.iter().find(|variable| variable.name == name).expect(name);
    let tone = find("tone");
    assert_eq!((tone.layer, tone.value.as_ref()), (Some(Layer::Call), Some(&json!("call"))));
    let lost: Vec<_> =
        tone.lost.iter().map(|lost| (lost.layer, lost.value.as_str().unwrap_or_default())).collect();
    assert_eq!(
        lost,
        [
            (Layer::Agent, "agent"),
            (Layer::Custom, "child"),
            (Layer::Custom, "parent"),
            (Layer::Defaults, "workspace")
        ]
    );
    let places: Vec<_> = tone.read_at.iter().map(|at| (at.file.as_str(), at.line, at.column)).collect();
    let own = prompt("parent", "template.md");
    assert_eq!(places, [(own.as_str(), 5, 4), ("user_data/shared/prompts/partials/a.md", 1, 19)]);
    assert_eq!(
        (find("day").layer, find("day").origin.as_deref()),
        (Some(Layer::System), Some("system.date"))
    );
    assert_eq!((find("gone").layer, find("gone").condition_only), (None, false));
    assert!(find("maybe").condition_only && find("system.os").layer == Some(Layer::System));
    assert_eq!(trace.templates.len(), 2);
    assert_eq!(trace.templates[0].uses[0].file.as_deref(), Some("user_data/shared/prompts/partials/a.md"));
    assert_eq!(trace.chosen.extends, ["child", "parent"]);
    assert_eq!(trace.chosen.reason, "only");
}

#[test]
fn secrets_are_shown_nowhere() {
    let secret = "hunter2-and-more";
    let template = "---\nundefined: jinja\ninputs:\n  token: {type: string, secret: true, required: true}\n  pin: {type: integer, secret: true, required: true}\n---\n{{ token }}{{ token + 1 if fail else '' }}";
    let place = workspace(&[(&prompt("p", "template.md"), template)]);
    let engine = Engine::open(place.path());
    let good = json!({"token": secret, "pin": 12345});
    let rendered = engine.explain_blocking(&Request::new("p").with_variables(&good)).expect("renders");
    let trace = serde_json::to_string(&rendered.trace).expect("is JSON");
    assert!(text(&engine, "p", &good).expect("renders").contains(secret) && trace.contains(HIDDEN));
    assert_eq!(rendered.text(), HIDDEN, "an explanation masks the result, too");
    assert!(!trace.contains(secret) && !trace.contains("12345"), "{trace}");
    for variables in [
        json!({"token": secret, "pin": 12345, "fail": true}),
        json!({"token": [secret], "pin": 1}),
        json!({"token": 1, "pin": secret}),
    ] {
        let error = engine.render_blocking(&Request::new("p").with_variables(&variables)).expect_err("fails");
        let shown = format!("{error:?} {error}");
        assert!(!shown.contains(secret), "{shown}");
        assert!(
            std::error::Error::source(&error).is_none_or(|source| !format!("{source:?}").contains(secret))
        );
    }
}

#[test]
fn text_is_converted_by_declared_type() {
    let template = "---\ninputs:\n  n: integer\n  on: boolean\n  l: list\n---\n{{ n + 1 }} {{ on }} {{ l[0] }} {{ free }}";
    let place = workspace(&[(&prompt("p", "template.md"), template)]);
    let engine = Engine::open(place.path());
    let variables = engine
        .variables_from_text("P", [("n", "4"), ("on", "no"), ("l", "[7]"), ("free", "5")])
        .expect("converts");
    assert_eq!(text(&engine, "p", &Value::Object(variables)).expect("renders"), "5 False 7 5");
    let error = engine
        .variables_from_text("p", [("n", "x"), ("on", "perhaps"), ("l", "[1]")])
        .expect_err("two are wrong");
    assert_eq!(error.details()["type_errors"].as_array().map(Vec::len), Some(2));
}

struct At(u64);

impl Clock for At {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.0)
    }
}

#[test]
fn a_choice_is_recorded_and_counts_at_once() {
    let place = workspace(&[
        (&prompt("p", "template.md"), "mine"),
        ("user_data/packs/kit/pack.json", "{}"),
        ("user_data/packs/kit/prompts/p/template.md", "the kit's"),
    ]);
    let approvals: Approvals = [("kit", Approval::Approved)].into_iter().collect();
    let engine = Engine::builder(place.path()).with_approvals(approvals).with_clock(Arc::new(At(0))).open();
    assert_eq!(text(&engine, "p", &json!({})).expect_err("is a conflict").code(), Code::Conflict);
    engine.set_resolution("P", "user_data/packs/kit/prompts/p").expect("is recorded");
    assert_eq!(text(&engine, "p", &json!({})).expect("renders"), "the kit's");
    let rendered = engine.explain_blocking(&Request::new("p")).expect("renders");
    assert_eq!(rendered.trace.expect("is asked for").chosen.reason, "resolution");
    engine.update_catalog(|catalog| Ok(catalog.with_approvals(Approvals::default()))).expect("changes");
    let rendered = engine.render_blocking(&Request::new("p")).expect("renders what is left");
    assert_eq!((rendered.text().as_str(), rendered.warnings.len()), ("mine", 1), "and tells so");
    let recorded = fs::read_to_string(place.path().join(SHARED).join("resolution.json")).expect("is there");
    assert!(recorded.contains("1970-01-01T00:00:00Z"), "{recorded}");
}

#[test]
fn the_call_decides_on_undefined_variables() {
    let place = workspace(&[(&prompt("p", "template.md"), "[{{ a.b }}]")]);
    let engine = Engine::open(place.path());
    let with = |mode| {
        engine.render_blocking(&Request::new("p").with_undefined(mode)).map(hinagata::Rendered::into_text)
    };
    assert_eq!(with(UndefinedMode::Empty).expect("renders"), "[]");
    assert_eq!(with(UndefinedMode::Jinja).expect_err("fails").code(), Code::RenderUndefined);
    let strict = with(UndefinedMode::Error).expect_err("fails");
    assert_eq!((strict.code(), strict.details()["missing"].clone()), (Code::RenderUndefined, json!(["a"])));
    assert_eq!(strict.place().map(|place| (place.line, place.column)), Some((1, 5)));
}

#[cfg(feature = "watch")]
#[test]
fn a_changed_file_is_live_at_the_next_event() {
    let place = workspace(&[(&prompt("p", "template.md"), "old"), (&prompt("q", "template.md"), "other")]);
    let engine = Engine::open(place.path());
    assert_eq!(text(&engine, "p", &json!({})).expect("renders"), "old");
    let (sender, told) = std::sync::mpsc::channel();
    let watcher = engine.watch_files(move |_, _| sender.send(()).unwrap_or_default()).expect("watches");
    write(place.path(), &prompt("p", "template.md"), "new");
    // A burst may be told in parts: the state counts, and it is waited for.
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    while text(&engine, "p", &json!({})).expect("renders") != "new" {
        told.recv_timeout(deadline.saturating_duration_since(std::time::Instant::now()))
            .expect("is told in time");
    }
    write(place.path(), &prompt("p", "template.md"), "{{ broken");
    while text(&engine, "p", &json!({})).is_ok() {
        told.recv_timeout(deadline.saturating_duration_since(std::time::Instant::now()))
            .expect("is told in time");
    }
    assert_eq!(text(&engine, "q", &json!({})).expect("renders"), "other", "one broken prompt stops no other");
    drop(watcher);
}

#[test]
fn an_unknown_filter_has_a_reason_of_its_own() {
    let place = workspace(&[
        (&prompt("filter", "template.md"), "{{ a | nosuch }}"),
        (&prompt("syntax", "template.md"), "{{ a | }}"),
    ]);
    let engine = Engine::open(place.path());
    let reason = |name: &str| {
        let error = text(&engine, name, &json!({"a": 1})).expect_err("fails");
        error.reason()
    };
    assert_eq!(reason("filter"), Some(Reason::UnknownFilter));
    assert_eq!(reason("syntax"), Some(Reason::Syntax));
}
