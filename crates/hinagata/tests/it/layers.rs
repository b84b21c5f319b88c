//! Which layer a variable gets its value from, and that every view of the layers agrees with what is rendered.

use std::{fs, path::Path, sync::Arc};

use hinagata::{
    Code, Engine, Error, Layer, Request, Result, TracedVariable,
    ports::{HookJob, Hooks, PortFuture, Stage, Store, StoreListener},
    store::{StoreChange, StoreKind, StoreSnapshot, Stored, StoredMap},
};
use serde_json::{Value, json};

const PRE: &str = "def pre_render(variables, context):\n    pass\n";
const POST: &str = "def post_render(text, variables, context):\n    pass\n";

fn workspace(files: &[(&str, &str)]) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a temporary directory");
    for (name, text) in files {
        let path = place.path().join("user_data/shared/prompts").join(name);
        fs::create_dir_all(path.parent().expect("has a parent")).expect("made");
        fs::write(path, text).expect("written");
    }
    place
}

/// `pre_render` returns a fixed value; `post_render` returns its variables as JSON.
struct FixedHooks(Value);

impl Hooks for FixedHooks {
    fn run_hook<'a>(&'a self, job: HookJob<'a>) -> PortFuture<'a, Result<Value>> {
        Box::pin(async move {
            match job.stage {
                Stage::PreRender { .. } => Ok(self.0.clone()),
                Stage::PostRender { variables, .. } => {
                    Ok(Value::Object(variables.clone()).to_string().into())
                }
                Stage::Provide { .. } | Stage::Load => Err(Error::new(Code::Hook, "not expected")),
            }
        })
    }
}

fn with_hooks(root: &Path, returned: Value) -> Engine {
    Engine::builder(root).with_hooks(Arc::new(FixedHooks(returned))).open()
}

fn traced(engine: &Engine, prompt: &str, variables: &Value, name: &str) -> (String, TracedVariable) {
    let rendered = engine.explain_blocking(&Request::new(prompt).with_variables(variables)).expect("renders");
    let text = rendered.text();
    let trace = rendered.trace.expect("is requested");
    (text, trace.variables.into_iter().find(|variable| variable.name == name).expect("is read"))
}

#[test]
fn a_variable_that_pre_render_leaves_out_is_explained_as_removed() {
    let place = workspace(&[("p/prompt.py", &format!("TEMPLATE = '<{{{{ a }}}}>'\n{PRE}"))]);
    let engine = with_hooks(place.path(), json!({"b": 1}));
    let (text, a) = traced(&engine, "p", &json!({"a": "call"}), "a");
    assert_eq!((text.as_str(), a.layer, a.value), ("<>", Some(Layer::Hook), None));
    assert_eq!((a.lost.len(), a.lost[0].layer, &a.lost[0].value), (1, Layer::Call, &json!("call")));
}

#[test]
fn a_variable_that_pre_render_leaves_out_is_not_proposed() {
    let source = format!("TEMPLATE = '{{{{ colour }}}}'\n{PRE}");
    let place = workspace(&[("p/prompt.py", &source)]);
    let engine = with_hooks(place.path(), json!({"b": 1}));
    let variables = json!({"color": "red"});
    let request = Request::new("p")
        .with_variables(&variables)
        .with_undefined(hinagata::definition::UndefinedMode::Error);
    let error = engine.render_blocking(&request).expect_err("colour is undefined");
    assert_eq!((error.code(), error.near().is_empty()), (Code::RenderUndefined, true), "{error:?}");
}

#[test]
fn post_render_gets_the_variables_that_the_template_saw() {
    let source = format!("TEMPLATE = '{{{{ system.os }}}}'\n{PRE}{POST}");
    let place = workspace(&[("p/prompt.py", &source)]);
    let engine = with_hooks(place.path(), json!({"b": 1, "system": {"os": "changed"}}));
    let text = engine.render_blocking(&Request::new("p")).expect("renders").into_text();
    let seen: Value = serde_json::from_str(&text).expect("is JSON");
    assert_eq!((&seen["b"], seen["system"]["os"] == "changed"), (&json!(1), false), "{seen}");
}

#[test]
fn the_content_of_a_file_that_a_default_names_is_explained_as_that_default() {
    let template = "---\ninputs:\n  - {name: doc, type: file, default: note.txt}\n---\n{{ doc }}";
    let place = workspace(&[("p/template.md", template)]);
    fs::write(place.path().join("note.txt"), "text").expect("written");
    let (text, doc) = traced(&Engine::open(place.path()), "p", &json!({}), "doc");
    assert_eq!((text.as_str(), doc.layer, doc.value), ("text", Some(Layer::Optional), Some(json!("text"))));
    assert_eq!((doc.origin.as_deref(), doc.lost.len()), (Some("file note.txt"), 0));
}

#[test]
fn a_default_that_a_child_declares_away_is_no_value() {
    let parent = "---\ninputs:\n  - {name: a, default: of the parent}\n---\n<{{ a }}>";
    let child = "---\nextends: parent\ninputs:\n  - {name: a, required: false}\n---\n<{{ a }}>";
    let place = workspace(&[("parent/template.md", parent), ("child/template.md", child)]);
    let (text, a) = traced(&Engine::open(place.path()), "child", &json!({}), "a");
    assert_eq!((text.as_str(), a.layer, a.value), ("<>", None, None));
    assert_eq!((a.lost.len(), a.lost[0].layer), (1, Layer::Optional));
}

struct FixedStore(Arc<StoreSnapshot>);

impl Store for FixedStore {
    fn snapshot(&self) -> Arc<StoreSnapshot> {
        Arc::clone(&self.0)
    }

    fn write_changes(&self, _: Vec<StoreChange>) -> PortFuture<'_, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn subscribe(&self, _: StoreListener) {}
}

#[test]
fn a_shared_variable_beats_the_system_variable_of_its_name_in_a_prompt_of_the_store() {
    let stored = |key: &str, value: Value| -> StoredMap {
        [(key.into(), Stored::new(format!("test:{key}"), value))].into_iter().collect()
    };
    let document =
        json!({"prompt": "{{.os}}", "parameters": [{"name": "os", "type": "string", "source": "system"}]});
    let snapshot = StoreSnapshot::default()
        .with_documents(StoreKind::Template, stored("t", document))
        .with_documents(StoreKind::Environ, stored("os", json!("shared")));
    let engine =
        Engine::builder("no/such/workspace").with_store(Arc::new(FixedStore(Arc::new(snapshot)))).open();
    let (text, os) = traced(&engine, "t", &json!({}), "os");
    assert_eq!((text.as_str(), os.layer, os.value), ("shared", Some(Layer::Environ), Some(json!("shared"))));
    assert_eq!((os.lost.len(), os.lost[0].layer), (1, Layer::System));
}
