use std::collections::BTreeMap;
use std::sync::Arc;

use hinagata_document::{Error, Reason, Result, TextOrigin};
use serde_json::json;

use super::*;
use crate::PromptId;

/// Files in memory.
struct Memory(BTreeMap<&'static str, &'static str>);

impl PromptFiles for Memory {
    fn text(&self, name: &str, _largest: u64) -> Result<Option<Arc<str>>> {
        Ok(self.0.get(name).map(|text| Arc::from(*text)))
    }
}

fn prompt(files: &[(&'static str, &'static str)]) -> Result<Definition> {
    let id = PromptId::new("a_prompt").expect("is an id");
    read_definition(&id, "A-Prompt", "prompts/A-Prompt", &Memory(files.iter().copied().collect()))
}

fn definition(files: &[(&'static str, &'static str)]) -> Definition {
    prompt(files).unwrap_or_else(|error| panic!("{error:?}"))
}

fn failure(files: &[(&'static str, &'static str)]) -> Error {
    prompt(files).expect_err("is broken")
}

fn text(definition: &Definition) -> &TemplateText {
    match &definition.body {
        Body::Text(text) => text,
        other => panic!("no text: {other:?}"),
    }
}

#[test]
fn a_template_alone_is_a_prompt() {
    let found = definition(&[("template.md", "Hello {{ name }}\n")]);
    assert_eq!(found.metadata.name, "A-Prompt");
    assert_eq!((found.metadata.version.as_str(), found.metadata.kind.as_str()), ("1.0.0", "custom"));
    assert_eq!(
        (&*text(&found).text, text(&found).engine, &text(&found).origin),
        ("Hello {{ name }}\n", Language::Jinja, &TextOrigin::from_line(1))
    );
    assert_eq!(text(&found).file, "prompts/A-Prompt/template.md");
    assert!(found.parameters.is_empty() && !found.hooks.has_any());
}

#[test]
fn front_matter_declares() {
    let found = definition(&[(
        "template.md",
        "---\nname: Greeting\nversion: '2.1'\ntype: system\ntags: [a, b]\nextends: base\nengine: go\nundefined: error\n\
         inputs:\n  who: string, whom to greet\n  times?: integer\n  style: {type: string, default: calm, secret: true}\n\
         limits: {max_output_size: 100}\nmodel: m\nconfig: {temperature: 0.2}\nmine: {x: yes}\n---\nHello {{.who}}",
    )]);
    assert_eq!((found.metadata.name.as_str(), found.metadata.version.as_str()), ("Greeting", "2.1"));
    assert_eq!(found.metadata.extends.as_deref(), Some("base"));
    assert_eq!(found.metadata.tags, ["a", "b"]);
    assert_eq!((text(&found).engine, &text(&found).origin), (Language::Go, &TextOrigin::from_line(18)));
    assert_eq!(found.undefined, Some(UndefinedMode::Error));
    assert_eq!(found.parameters.names(ParameterClass::Required), ["who"]);
    assert_eq!(found.parameters.names(ParameterClass::Optional), ["style", "times"]);
    assert_eq!(found.parameters.get("who").and_then(|who| who.description.as_deref()), Some("whom to greet"));
    assert!(
        found
            .parameters
            .get("style")
            .is_some_and(|style| style.secret && style.default == Some(json!("calm")))
    );
    assert_eq!(found.limits.max_output_size, Some(100));
    assert_eq!(found.settings.config, Some(json!({"temperature": 0.2})));
    assert_eq!(found.unknown.get("mine"), Some(&json!({"x": "yes"})));
}

#[test]
fn a_document_has_the_shape_of_an_extension() {
    let yaml = "name: evaluate\nmessages:\n  - role: system\n    content: Be strict.\n  - role: user\n    content:\n      - {type: text, text: 'Look: {{ x }}'}\n      - {type: image_url, image_url: {url: '{{ u }}'}}\n      - more\n\
                supports: [chat]\nparameters:\n  - {name: repo, type: string, default: ''}\n  - {name: depth, type: integer, required: true}\nreturns: []\n";
    let json = r#"{"name": "evaluate", "messages": [{"role": "system", "content": "Be strict."}, {"role": "user", "content":
        [{"type": "text", "text": "Look: {{ x }}"}, {"type": "image_url", "image_url": {"url": "{{ u }}"}}, "more"]}],
        "supports": ["chat"], "parameters": [{"name": "repo", "type": "string", "default": ""},
        {"name": "depth", "type": "integer", "required": true}], "returns": []}"#;
    let value = serde_json::from_str(json).expect("is JSON");
    let id = PromptId::new("evaluator.evaluate").expect("is an id");
    let stored = definition_from_json(&id, "store:x", &value, Language::Go).expect("reads");
    for found in [
        definition(&[("prompt.yaml", yaml)]),
        definition(&[("prompt.json", Box::leak(json.to_owned().into_boxed_str()))]),
        stored,
    ] {
        let Body::Messages(messages) = &found.body else { panic!("no messages") };
        assert_eq!(messages.iter().map(|message| message.parts.len()).collect::<Vec<_>>(), [1, 3]);
        assert_eq!((&messages[0].role, &messages[1].role), (&Role::System, &Role::User));
        assert!(
            matches!(&messages[1].parts[1], Part::Other { kind, fields } if kind == "image_url" && fields.len() == 1)
        );
        assert_eq!(found.parameters.names(ParameterClass::Required), ["depth"]);
        assert_eq!(found.settings.supports, ["chat"]);
        assert_eq!(found.settings.returns, Some(json!([])));
    }
}

#[test]
fn parameters_can_be_a_json_schema() {
    let found = definition(&[(
        "prompt.json",
        r#"{"prompt": "x", "parameters": {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"]},
            "b": {"type": ["integer", "null"]}}, "required": ["a"]}}"#,
    )]);
    assert_eq!(found.parameters.names(ParameterClass::Required), ["a"]);
    assert_eq!(
        found.parameters.get("a").and_then(|a| a.schema.clone()),
        Some(json!({"type": "string", "enum": ["x"]}))
    );
    assert_eq!(
        found.parameters.get("b").map(|b| (b.kind, b.class)),
        Some((ValueType::Integer, ParameterClass::Optional))
    );
}

#[test]
fn inputs_without_a_default_are_required_in_every_spelling() {
    for text in [
        "---\ninputs: {a: string, b: {type: string}, c: {enum: [x]}, 'd?': {type: string}, e: {default: 1}}\n---\nbody",
        "---\ninputs: [{name: a}, b, {name: c, enum: [x]}, {name: d, required: false}, {name: e, source: system}]\n---\nbody",
    ] {
        let found = definition(&[("template.md", text)]);
        assert_eq!(found.parameters.names(ParameterClass::Required), ["a", "b", "c"], "{text}");
    }
    let found = definition(&[("prompt.yaml", "parameters: [{name: a, type: string}]\nuserPrompt: x\n")]);
    assert!(found.parameters.names(ParameterClass::Required).is_empty());
}

#[test]
fn python_is_read_without_running_it() {
    let found = definition(&[
        (
            "prompt.py",
            "import os\nMETADATA = {'version': '1.1.0', 'extends': None, 'template': 'body.gotmpl', 'metadata': {'author': 'haru', 'tags': ['t'], 'x': 1}}\n\
             VARIABLES = {'required': [{'name': 'a', 'type': 'string'}], 'custom': [{'name': 'n', 'type': 'integer', 'default': -1}],\n 'optional': [{'name': 'd', 'source': 'system', 'from': 'date'}]}\n\
             PERMISSIONS = {'read_file': True, 'llm_call': False}\nLIMITS = {'max_execution_time': 1.5}\n\
             async def pre_render(variables, context):\n    raise SystemExit\n",
        ),
        ("body.gotmpl", "{{.a}}"),
        ("template.md", "not this"),
    ]);
    assert_eq!((&*text(&found).text, text(&found).engine), ("{{.a}}", Language::Go));
    assert_eq!(found.metadata.author.as_deref(), Some("haru"));
    assert_eq!(found.metadata.more.get("x"), Some(&json!(1)));
    assert_eq!(found.parameters.get("n").and_then(|n| n.default.clone()), Some(json!(-1)));
    assert_eq!(
        found.parameters.get("d").map(|d| (d.origin.clone(), d.from.clone())),
        Some((Origin::System, Some("date".into())))
    );
    assert_eq!(found.permissions.granted_names().collect::<Vec<_>>(), ["read_file"]);
    assert_eq!(found.limits.max_execution_time.and_then(|time| time.as_f64()), Some(1.5));
    assert_eq!((found.hooks.pre_render, found.hooks.post_render), (Some(Hook::Async), None));
    assert!(found.hooks.source.is_some() && found.hooks.needs_loading.is_empty());
}

#[test]
fn a_template_in_python_wins_over_a_file() {
    let found = definition(&[("prompt.py", "TEMPLATE = 'from python'\n"), ("template.md", "from the file")]);
    assert_eq!(&*text(&found).text, "from python");
}

#[test]
fn no_template_and_a_parent_is_the_parents_body() {
    let found = definition(&[
        ("prompt.py", "METADATA = {'template': None, 'extends': 'p'}\n"),
        ("template.md", "ignored"),
    ]);
    assert!(matches!(found.body, Body::Inherited));
    let error = failure(&[("prompt.py", "METADATA = {'template': None}\n"), ("template.md", "ignored")]);
    assert_eq!(error.reason(), Some(Reason::NoBody));
}

#[test]
fn what_is_computed_is_marked() {
    let found = definition(&[
        ("prompt.py", "VERSION = '1'\nMETADATA = {'version': VERSION}\n"),
        ("template.md", "x"),
    ]);
    assert_eq!(
        found.hooks.needs_loading.iter().map(|(name, place)| (*name, place.line)).collect::<Vec<_>>(),
        [("METADATA", 2)]
    );
    assert!(matches!(definition(&[("prompt.py", "TEMPLATE = load()\n")]).body, Body::NeedsLoading));
}

#[test]
fn files_override_each_other() {
    let found = definition(&[
        (
            "template.md",
            "---\nname: matter\ntitle: matter\ndescription: matter\ninputs: {a: string, b: string}\n---\nbody",
        ),
        ("prompt.yaml", "name: yaml\ntitle: yaml\ninputs: {b: integer, c: string}\n"),
        (
            "prompt.py",
            "METADATA = {'name': 'python'}\nVARIABLES = {'custom': [{'name': 'c', 'type': 'boolean'}]}\n",
        ),
    ]);
    let metadata = &found.metadata;
    assert_eq!(
        (metadata.name.as_str(), metadata.title.as_deref(), metadata.description.as_deref()),
        ("python", Some("yaml"), Some("matter"))
    );
    let kinds: Vec<_> = found
        .parameters
        .iter()
        .map(|parameter| (parameter.name.as_str(), parameter.kind, parameter.class))
        .collect();
    assert_eq!(
        kinds,
        [
            ("a", ValueType::String, ParameterClass::Required),
            ("b", ValueType::Integer, ParameterClass::Required),
            ("c", ValueType::Boolean, ParameterClass::Custom)
        ]
    );
    assert_eq!(&*text(&found).text, "body");
}

#[test]
fn invalid_fields_are_reported_all_at_once() {
    let error = failure(&[(
        "prompt.yaml",
        "version: 1.0\ntags: 5\nengine: jinjo\nprompt: x\nlimits: {max_output_size: -1}\npermissions: {read_file: maybe}\n\
         parameters:\n  - {name: a, type: strng}\n  - {type: string}\n  - {name: system}\n",
    )]);
    let problems = error.details()["problems"].as_array().expect("a list");
    let fields: Vec<&str> = problems.iter().filter_map(|problem| problem["field"].as_str()).collect();
    assert_eq!(
        fields,
        [
            "version",
            "tags",
            "engine",
            "limits.max_output_size",
            "permissions.read_file",
            "parameters[0].type",
            "parameters[1]",
            "parameters[2]"
        ]
    );
    assert_eq!(error.message(), "`version` must be a string, not a number, and 7 more problems");
    assert_eq!(error.hint(), Some(&"put it in quotes".into()));
    assert_eq!(error.place().map(ToString::to_string).as_deref(), Some("prompts/A-Prompt/prompt.yaml:1:10"));
    assert_eq!(problems[5]["line"], 8);
}

#[test]
fn broken_definitions_say_why() {
    type Files = &'static [(&'static str, &'static str)];
    let cases: [(Files, &str, &str); 9] = [
        (&[], "no_body", "has nothing to render"),
        (
            &[("prompt.yaml", "messages: [{role: user, content: a}]\nuserPrompt: b\n")],
            "fields",
            "`messages` and `userPrompt` exclude each other",
        ),
        (
            &[("prompt.yaml", "prompt: a\n"), ("prompt.json", "{}")],
            "two_documents",
            "describe the same prompt",
        ),
        (
            &[("prompt.py", "METADATA = {'template': 'gone.md'}")],
            "template_missing",
            "template file `gone.md` of the prompt not found",
        ),
        (&[("prompt.yaml", "messages: [{role: usr, content: a}]\n")], "fields", "cannot be `usr`"),
        (&[("prompt.yaml", "messages: []\n")], "fields", "has no message"),
        (&[("prompt.yaml", "- a\n")], "fields", "a prompt must be an object, not a list"),
        (&[("prompt.json", "{\"prompt\": \"x\",}")], "syntax", "not valid JSON"),
        (
            &[("template.md", "---\nmessages: [{role: user, content: a}]\n---\nand a text\n")],
            "fields",
            "text follows it",
        ),
    ];
    for (files, reason, sentence) in cases {
        let error = failure(files);
        assert_eq!(error.reason().map(Reason::as_str), Some(reason), "{error:?}");
        assert!(error.message().contains(sentence), "{error:?}");
        assert_eq!(error.details()["prompt_id"], "a_prompt");
    }
    assert_eq!(failure(&[("prompt.yaml", "messages: [{role: usr, content: a}]\n")]).near(), ["user"]);
}

#[test]
fn front_matter_can_contain_messages() {
    let found = definition(&[("template.md", "---\nmessages: [{role: '{{ r }}', content: a}]\n---\n\n")]);
    let Body::Messages(messages) = &found.body else { panic!("no messages") };
    assert!(matches!(&messages[0].role, Role::Template(text) if &*text.text == "{{ r }}"));
}
