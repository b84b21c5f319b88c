//! The documents of the design, in every kind of store.

use std::{
    io::{BufRead as _, Read as _, Write as _},
    sync::Arc,
};

use crate::support::{Server, nowhere, open, wait_for};
use hinagata::{
    Code, Engine, EngineOptions, Error, Layer, RenderedBody, Request, Result,
    ports::Store,
    store::{StoreChange, StoreKind},
};
use hinagata_store::{DEFAULT_PREFIX, EmbeddedStore, MemoryStore, RedisStore};
use hinagata_tools::{ToolSettings, Toolbox};
use serde_json::{Value, json};

/// Runs a test on each kind of store.
fn everywhere(test: impl Fn(&Engine)) {
    everywhere_with(&ToolSettings::default(), test);
}

fn everywhere_with(settings: &ToolSettings, test: impl Fn(&Engine)) {
    let engine = |store: Arc<dyn Store>| {
        Engine::builder(nowhere())
            .with_store(store)
            .with_tools(Arc::new(Toolbox::new(settings.clone())))
            .open()
    };
    test(&engine(Arc::new(MemoryStore::new(DEFAULT_PREFIX))));
    let place = tempfile::tempdir().expect("a temporary directory");
    test(&engine(Arc::new(EmbeddedStore::open(place.path(), DEFAULT_PREFIX))));
    let server = Server::start(&[]);
    test(&engine(open(&server)));
}

fn put(engine: &Engine, kind: StoreKind, id: &str, value: Value) {
    engine.write_store_blocking(vec![StoreChange::set(kind, id, value)]).expect("can be written");
}

fn text(engine: &Engine, prompt: &str, variables: &Value) -> Result<String> {
    engine.render_blocking(&Request::new(prompt).with_variables(variables)).map(hinagata::Rendered::into_text)
}

/// The extension in the design.
fn evaluator() -> Value {
    json!({
        "name": "evaluator",
        "publisher": "zgsm-ai",
        "displayName": "项目质量评估器",
        "icon": "images/evaluator.png",
        "description": "评估项目代码的质量，给出各个质量维度的评估报告",
        "version": "1.0.0",
        "extensionType": "prompt",
        "license": "Apache-2.0",
        "engines": {"name": "ai-prompt-shell", "version": ">=1.0.0"},
        "contributes": {
            "prompts": [{
                "name": "evaluate_quality",
                "messages": [
                    {"role": "system", "content": "You are a code review assistant who can evaluate the quality of the project."},
                    {"role": "user", "content": "Evaluate the project code from the following dimensions and give a quality assessment report.\nEvaluation dimensions:\n{{.vscode.rules}}\nCode context:\n{{.codebase.current_project}}"}
                ],
                "supports": ["chat", "codereview"],
                "parameters": [{"name": "repo", "type": "string", "default": "", "description": "仓库地址"}],
                "returns": []
            }],
            "languages": ["c++", "c", "lua", "python"],
            "dependences": [
                {"name": "scan-gitrepo", "version": "^1.0.0", "failStrategy": "abort"},
                {"name": "context", "version": "^1.2.0", "failStrategy": "ignore"}
            ]
        }
    })
}

fn findings(engine: &Engine) -> Vec<String> {
    engine.catalog().diagnostics().iter().map(|found| found.error.to_string()).collect()
}

#[test]
fn an_extension_contributes_prompts_once_its_requirements_exist() {
    everywhere(|engine| {
        put(engine, StoreKind::Extension, "evaluator", evaluator());
        let error = text(engine, "evaluator.evaluate_quality", &json!({})).expect_err("it needs another");
        assert_eq!(error.code(), Code::NotFound);
        assert!(
            findings(engine).iter().any(|found| found.contains("scan-gitrepo")),
            "{:?}",
            findings(engine)
        );

        let other = |version: &str| json!({"name": "scan-gitrepo", "version": version, "contributes": {}});
        put(engine, StoreKind::Extension, "scan-gitrepo", other("2.0.0"));
        assert!(findings(engine).iter().any(|found| found.contains("the store has 2.0.0")));
        put(engine, StoreKind::Extension, "scan-gitrepo", other("1.4.2"));
        let found = findings(engine);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("`evaluator` needs the extension `context`"), "{found:?}");

        put(engine, StoreKind::Environ, "vscode.rules", json!("clear names"));
        put(engine, StoreKind::Environ, "codebase", json!({"current_project": "hinagata"}));
        let rendered =
            engine.render_blocking(&Request::new("Evaluator.evaluate-quality")).expect("can be rendered");
        let RenderedBody::Messages(messages) = &rendered.body else { panic!("{rendered:?}") };
        assert_eq!(messages.len(), 2);
        assert_eq!(rendered.source(), "store:shenma:extensions:evaluator");
        assert_eq!(rendered.version(), "1.0.0");
        let json = rendered.to_json();
        let said = json["body"][1]["content"].to_string();
        assert!(said.contains("clear names") && said.contains("hinagata"), "{json}");

        let definition = engine.definition("evaluator.evaluate_quality").expect("is there").definition;
        assert_eq!(definition.settings.supports, ["chat", "codereview"]);
        assert_eq!(definition.settings.languages, ["c++", "c", "lua", "python"]);
        let stored = engine.store().expect("there is a store");
        assert_eq!(*stored.extensions["evaluator"].value, evaluator(), "nothing is lost");
    });
}

/// The tool in the design.
fn translator() -> Value {
    json!({
        "name": "translate_zh_en",
        "module": "translator",
        "type": "restful",
        "url": "/translate/zh/en",
        "description": "将输入代码中的中文注释、字符串翻译为英文",
        "supports": ["chat", "completion", "codereview"],
        "parameters": {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"code": {"type": "string", "description": "代码文本"}},
            "required": ["code"]
        },
        "returns": {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "properties": {"translated_code": {"type": "string", "description": "翻译后的代码文本"}}
        }
    })
}

/// Echoes every request in the place of a translation.
fn answer(mut stream: std::net::TcpStream) -> std::io::Result<()> {
    let mut reader = std::io::BufReader::new(stream.try_clone()?);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let code: Value = serde_json::from_slice(&body)?;
    let path = first.split(' ').nth(1).unwrap_or_default();
    let answer = json!({"translated_code": format!("{path} {}", code["code"].as_str().unwrap_or("nothing"))})
        .to_string();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
        answer.len()
    )
}

#[test]
fn a_store_tool_is_a_function_in_store_prompts() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("has an address").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(std::result::Result::ok) {
            let _ = answer(stream);
        }
    });
    let mut settings =
        ToolSettings { base_url: Some(format!("http://{address}/")), ..ToolSettings::default() };
    settings.hosts.add_entry(&address).expect("is a host");
    everywhere_with(&settings, |engine| {
        let template = "{{with translator_translate_zh_en \"你好\"}}{{.translated_code}}{{end}}";
        put(engine, StoreKind::Template, "t", json!({"prompt": template}));
        let error = text(engine, "t", &json!({})).expect_err("the tool is not there yet");
        assert_eq!(error.code(), Code::RenderSyntax);
        put(engine, StoreKind::Tool, "translator.translate_zh_en", translator());
        assert_eq!(text(engine, "t", &json!({})).expect("fine"), "/translate/zh/en 你好");
        let stored = engine.store().expect("there is a store");
        assert_eq!(*stored.tools["translator.translate_zh_en"].value, translator(), "nothing is lost");

        // A failed call does not stop the render.
        let template = "[{{translator_translate_zh_en 5}}]";
        put(engine, StoreKind::Template, "wrong", json!({"prompt": template}));
        let rendered = engine.render_blocking(&Request::new("wrong")).expect("goes on");
        assert_eq!(rendered.warnings.len(), 1, "{:?}", rendered.warnings);
        engine
            .write_store_blocking(vec![StoreChange::delete(StoreKind::Tool, "translator.translate_zh_en")])
            .expect("written");
        assert!(text(engine, "t", &json!({})).is_err(), "the function is gone with its tool");
    });
}

#[test]
fn store_prompts_read_environs() {
    everywhere(|engine| {
        put(engine, StoreKind::Environ, "vscode.programming_language", json!("go"));
        put(engine, StoreKind::Environ, "vscode.frameworks", json!(["gin", "gorm", "gin-swagger"]));
        let template = "{{.vscode.programming_language}}: {{range .vscode.frameworks}}{{.}} {{end}}/ {{.variables.key1}} {{.args.key2}}";
        put(engine, StoreKind::Template, "chat.start", json!({"prompt": template}));
        let variables = json!({"key1": "value1", "key2": "value2"});
        assert_eq!(
            text(engine, "chat.start", &variables).expect("fine"),
            "go: gin gorm gin-swagger / value1 value2"
        );

        // Every undefined variable is reported.
        let error = text(engine, "chat.start", &json!({})).expect_err("keys are missing");
        assert_eq!((error.code(), error.http_status()), (Code::RenderUndefined, 400));
        assert_eq!(error.details()["missing"], json!(["variables.key1", "args.key2"]));

        // By its full name.
        put(
            engine,
            StoreKind::Template,
            "whole",
            json!({"prompt": "{{index . \"vscode.programming_language\"}}"}),
        );
        assert_eq!(text(engine, "whole", &json!({})).expect("fine"), "go");
    });
}

#[test]
fn only_declared_parameters_are_variables() {
    everywhere(|engine| {
        put(engine, StoreKind::Environ, "module", json!({"name": "shared"}));
        let document = json!({
            "prompt": "{{.module.name}} {{.repo}} {{.variables.module}}",
            "parameters": [{"name": "repo", "type": "string", "default": "none"}]
        });
        put(engine, StoreKind::Template, "t", document);
        let variables = json!({"repo": "r", "module": "given", "system": "also given"});
        assert_eq!(text(engine, "t", &variables).expect("fine"), "shared r given");
        assert_eq!(text(engine, "t", &json!({"module": 1})).expect("fine"), "shared none 1");
        let rendered = engine.explain_blocking(&Request::new("t").with_variables(&variables)).expect("fine");
        let trace = rendered.trace.expect("was asked for");
        let layer = |name: &str| {
            trace.variables.iter().find(|found| found.name == name).and_then(|found| found.layer)
        };
        assert_eq!((layer("module"), layer("repo")), (Some(Layer::Environ), Some(Layer::Call)));
    });
}

#[test]
fn a_direct_template_takes_precedence_over_an_extension() {
    everywhere(|engine| {
        let extension = json!({"name": "ext", "contributes": {"prompts": [
            {"name": "hello", "prompt": "from the extension"}, {"name": "other", "userPrompt": "other"}]}});
        put(engine, StoreKind::Extension, "ext", extension);
        assert_eq!(text(engine, "ext.hello", &json!({})).expect("fine"), "from the extension");
        put(engine, StoreKind::Template, "ext.hello", json!({"prompt": "direct"}));
        assert_eq!(text(engine, "ext.hello", &json!({})).expect("fine"), "direct");
        assert_eq!(text(engine, "ext.other", &json!({})).expect("fine"), "other");
        let ids: Vec<String> = engine.catalog().list().iter().map(|listing| listing.id.to_string()).collect();
        assert!(ids.contains(&"ext.hello".to_owned()) && ids.contains(&"ext.other".to_owned()), "{ids:?}");
        engine
            .write_store_blocking(vec![StoreChange::delete(StoreKind::Template, "ext.hello")])
            .expect("fine");
        assert_eq!(text(engine, "ext.hello", &json!({})).expect("fine"), "from the extension");
    });
}

#[test]
fn store_templates_include_only_store_templates() {
    everywhere(|engine| {
        put(engine, StoreKind::Template, "parts.greeting", json!({"prompt": "Hello {{.variables.name}}"}));
        put(engine, StoreKind::Template, "letter", json!({"prompt": "{{template \"parts.greeting\" .}}!"}));
        assert_eq!(text(engine, "letter", &json!({"name": "Rumi"})).expect("fine"), "Hello Rumi!");

        put(engine, StoreKind::Template, "circle.a", json!({"prompt": "{{template \"circle.b\" .}}"}));
        put(engine, StoreKind::Template, "circle.b", json!({"prompt": "{{template \"circle.a\" .}}"}));
        let error = text(engine, "circle.a", &json!({})).expect_err("it never ends");
        assert!(error.code().as_str().starts_with("render."), "{error:?}");

        put(
            engine,
            StoreKind::Template,
            "outside",
            json!({"prompt": "{{template \"partials/safety_rules.md\" .}}"}),
        );
        let error = text(engine, "outside", &json!({})).expect_err("files are not for the store");
        assert_eq!(error.code(), Code::RenderTemplateNotFound, "{error:?}");
    });
}

#[test]
fn workspace_prompts_read_environs_by_their_full_name() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let directory = place.path().join("user_data/shared/prompts/local");
    std::fs::create_dir_all(&directory).expect("made");
    std::fs::write(directory.join("template.md"), "{{ vscode }}|{{ environs.vscode.rules }}|{{ name }}")
        .expect("written");
    let store = Arc::new(MemoryStore::new(DEFAULT_PREFIX));
    let engine = Engine::builder(place.path()).with_store(store).open();
    put(&engine, StoreKind::Environ, "vscode.rules", json!("strict"));
    put(&engine, StoreKind::Environ, "name", json!("from the store"));
    assert_eq!(text(&engine, "local", &json!({})).expect("fine"), "|strict|");
}

#[test]
fn documents_are_checked_before_they_are_written() {
    let refused = |engine: &Engine, kind: StoreKind, id: &str, value: Value| -> Error {
        let changes =
            vec![StoreChange::set(StoreKind::Environ, "beside", json!(1)), StoreChange::set(kind, id, value)];
        let error = engine.write_store_blocking(changes).expect_err("it is wrong");
        assert!(engine.store().expect("there is one").environs.is_empty(), "nothing of it is written");
        error
    };
    everywhere(|engine| {
        let error = refused(engine, StoreKind::Template, "t", json!({"prompt": "{{if .a}}"}));
        assert_eq!(error.code(), Code::RenderSyntax, "{error:?}");
        let place = error.place().expect("it says where");
        assert_eq!(place.file, "store:t#prompt");
        let error = refused(engine, StoreKind::Template, "t", json!({"prompt": 7}));
        assert_eq!(error.code(), Code::Validation, "{error:?}");
        let error = refused(engine, StoreKind::Extension, "e", json!({"contributes": {}}));
        assert!(error.message().contains("name"), "{error}");
        let error = refused(engine, StoreKind::Tool, "t", json!({"name": "t", "type": "smoke"}));
        assert!(error.message().contains("/type"), "{error}");
        let error = refused(engine, StoreKind::Environ, "a..b", json!(1));
        assert_eq!(error.code(), Code::Id);
        // An unknown function may be a tool that is added later.
        put(engine, StoreKind::Template, "later", json!({"prompt": "{{codebase_lookup_ref \"x\"}}"}));
        let error = text(engine, "later", &json!({})).expect_err("the tool is not there");
        assert_eq!((error.code(), error.http_status()), (Code::RenderSyntax, 400), "{error:?}");
    });
}

#[test]
fn the_type_decides_whether_a_store_prompt_is_listed() {
    let engine = Engine::builder(nowhere()).with_store(Arc::new(MemoryStore::new(DEFAULT_PREFIX))).open();
    let with = |name: &str, engines: Value, kind: &str| {
        json!({"name": name, "extensionType": kind, "engines": engines,
               "contributes": {"prompts": [{"name": "p", "prompt": "text"}]}})
    };
    for (name, engines, kind, shown) in [
        ("old", json!({"name": "ai-prompt-shell", "version": "^1.3.0"}), "prompt", true),
        ("new", json!({"name": "ai-prompt-shell", "version": "^2.0.0"}), "prompt", false),
        ("ours", json!({"name": "hinagata", "version": "*"}), "prompt", true),
        ("future", json!({"name": "hinagata", "version": ">=900.0.0"}), "prompt", false),
        ("foreign", json!({"name": "vscode", "version": "*"}), "prompt", false),
        ("theme", json!({"name": "hinagata"}), "theme", false),
    ] {
        put(&engine, StoreKind::Extension, name, with(name, engines, kind));
        assert_eq!(text(&engine, &format!("{name}.p"), &json!({})).is_ok(), shown, "{name}");
        let told = engine.catalog().diagnostics().iter().any(|found| found.source.ends_with(name));
        assert_eq!(told, !shown, "{name}");
    }
}

#[test]
fn a_broken_template_is_an_error_unless_stale_ones_are_allowed() {
    let server = Server::start(&[]);
    server.set("shenma:templates:t", r#"{"prompt": "good"}"#);
    let store = open(&server);
    let with = |serve_stale: bool| {
        let options = EngineOptions { serve_stale, ..EngineOptions::default() };
        Engine::builder(nowhere()).with_options(options).with_store(Arc::<RedisStore>::clone(&store)).open()
    };
    let (strict, lenient) = (with(false), with(true));
    server.set("shenma:templates:t", r#"{"prompt": "{{if}}"}"#);
    wait_for(&*store, "the change", |snapshot| snapshot.templates["t"].value["prompt"] == "{{if}}");
    let error = text(&strict, "t", &json!({})).expect_err("it does not parse");
    assert_eq!((error.code(), error.http_status()), (Code::RenderSyntax, 400));
    assert_eq!(text(&lenient, "t", &json!({})).expect("as it was"), "good");
    assert!(
        findings(&lenient).iter().any(|found| found.contains("the previous version of the prompt is served"))
    );
    server.set("shenma:templates:t", r#"{"prompt": "better"}"#);
    wait_for(&*store, "the change", |snapshot| snapshot.templates["t"].value["prompt"] == "better");
    assert_eq!(text(&lenient, "t", &json!({})).expect("fine"), "better");
    assert!(findings(&lenient).is_empty());
}

#[test]
fn a_store_prompt_conflicts_with_a_workspace_prompt() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let directory = place.path().join("user_data/shared/prompts/greet");
    std::fs::create_dir_all(&directory).expect("made");
    std::fs::write(directory.join("template.md"), "local").expect("written");
    let engine = Engine::builder(place.path()).with_store(Arc::new(MemoryStore::new(DEFAULT_PREFIX))).open();
    put(&engine, StoreKind::Template, "greet", json!({"prompt": "shared"}));
    let error = text(&engine, "greet", &json!({})).expect_err("two candidates");
    assert_eq!(error.code(), Code::Conflict);
    assert_eq!(
        error.details()["candidates"],
        json!(["user_data/shared/prompts/greet", "store:shenma:templates:greet"])
    );
    engine.set_resolution("greet", "store:shenma:templates:greet").expect("can be chosen");
    assert_eq!(text(&engine, "greet", &json!({})).expect("fine"), "shared");
}
