//! Formats without recorded cases: configurations of promptfoo, Modelfiles.

use hinagata_document::{Code, Result};
use hinagata_exchange::{
    ChatTemplate, Detection, Format, ImportOptions, ImportedPrompt, Moment, PortableBody, PortableMessage,
    PortablePart, SourceFiles, detect_format, import_batch, import_prompts,
};
use serde_json::{Value, json};

fn import(files: &[(&str, &str)]) -> Vec<ImportedPrompt> {
    let all = SourceFiles::from_iter(files.iter().copied());
    import_prompts(&all, files[0].0, &ImportOptions::default()).expect("imports")
}

/// The messages of a prompt: roles with templates.
fn messages(imported: &ImportedPrompt) -> Vec<(&str, &str)> {
    let PortableBody::Messages(messages) = &imported.prompt.body else {
        panic!("{:?}", imported.prompt.body)
    };
    let mut all = Vec::new();
    for message in messages {
        let PortableMessage::Message { role, parts } = message else { panic!("{message:?}") };
        let [PortablePart::Text(text)] = parts.as_slice() else { panic!("{parts:?}") };
        all.push((role.as_str(), text.as_str()));
    }
    all
}

const CONFIG: &str = r#"
description: Reviews
prompts:
  - "Review {{ code }}{% if strict %} strictly{% endif %}"
  - label: chat
    raw: '[{"role": "system", "content": "Be {{ tone }}"}, {"role": "user", "content": "{{ code }}"}]'
  - file://prompts/two.txt
  - file://prompts/chat.json
  - file://prompt.py:main
  - file://../outside.txt
providers:
  - id: openai:chat:gpt-x
    config:
      temperature: 0.2
      max_tokens: 20
      apiKey: sk-secret
      apiHost: secret.example
env:
  OPENAI_API_KEY: sk-secret
tests:
  - vars: {code: x}
    assert:
      - {type: contains, value: y}
      - {type: llm-rubric, value: is kind}
"#;

#[test]
fn each_prompt_of_a_promptfoo_configuration_is_one() {
    let files = [
        ("review/promptfooconfig.yaml", CONFIG),
        ("review/prompts/two.txt", "One {{ a }}\n---\nTwo {{ b }}\n"),
        ("review/prompts/chat.json", r#"[{"role": "user", "content": "Hi {{ name }}"}]"#),
        ("outside.txt", "secret"),
    ];
    let all = import(&files);
    let ids: Vec<&str> = all.iter().map(|imported| imported.prompt.id.as_str()).collect();
    assert_eq!(ids, ["review_1", "chat", "review_3", "review_4", "review_5"]);
    assert_eq!(messages(&all[1]), [("system", "Be {{ tone|js }}"), ("user", "{{ code|js }}")]);
    assert_eq!(messages(&all[4]), [("user", "Hi {{ name|js }}")]);
    assert_eq!(all[2].prompt.body, PortableBody::Text("One {{ a|js }}".to_owned()));
    let first = &all[0];
    assert_eq!(first.prompt.header["model"], "openai/gpt-x");
    assert_eq!(first.prompt.header["config"], json!({"temperature": 0.2, "maxOutputTokens": 20}));
    assert_eq!(first.report.codes(), ["code", "connection", "reference"]);
    assert_eq!(all[1].report.codes(), Vec::<&str>::new());
    let everything = format!("{:?}", all.iter().map(|one| one.prompt.to_files()).collect::<Vec<_>>());
    assert!(!everything.contains("secret"), "{everything}");
    // In a directory, the files that the configuration names are no prompts of their own.
    let batch = import_batch(&SourceFiles::from_iter(files), "", &ImportOptions::default());
    assert_eq!(
        (batch.prompts.len(), batch.failed.len(), batch.unrecognised),
        (5, 0, vec!["outside.txt".to_owned()])
    );
}

#[test]
fn a_configuration_of_programs_has_no_prompt() {
    let text = "prompts: [file://a.py, 'exec: cat x']\nproviders: [openai:x]\n";
    let files = SourceFiles::from_iter([("promptfooconfig.yaml", text), ("a.py", "print(1)")]);
    let error =
        import_prompts(&files, "promptfooconfig.yaml", &ImportOptions::default()).expect_err("has none");
    assert!(error.message().contains("`file://a.py`, which is a program"), "{}", error.message());
}

#[test]
fn a_modelfile_is_a_prompt_with_messages_and_settings() {
    let text = "# A reviewer.\nFROM llama3.2:1b\nPARAMETER temperature 0.5\nPARAMETER top_p 0.9\nparameter stop \"<|end|>\"\n\
                PARAMETER stop User:\nSYSTEM \"\"\"\nYou review {{code}}.\n\"\"\"\nMESSAGE user Hi\nMESSAGE assistant Hello {% x\n\
                LICENSE MIT\nTEMPLATE {{ .Prompt }}\n";
    let all = import(&[("kind/Modelfile", text)]);
    let [imported] = all.as_slice() else { panic!("{all:?}") };
    let prompt = &imported.prompt;
    assert_eq!((prompt.id.as_str(), prompt.format), ("kind", Format::Modelfile));
    assert_eq!(prompt.header["model"], "ollama/llama3.2:1b");
    assert_eq!(
        prompt.header["config"],
        json!({"temperature": 0.5, "topP": 0.9, "stopSequences": ["<|end|>", "User:"]})
    );
    // What looks like a template is text.
    let expected = [
        ("system", "\nYou review {{ \"{{\" }}code}}.\n\n"),
        ("user", "Hi"),
        ("assistant", "Hello {{ \"{%\" }} x"),
    ];
    assert_eq!(messages(imported), expected);
    assert_eq!(imported.report.codes(), ["unknown"]);
}

#[test]
fn modelfiles_are_told_from_other_files_that_start_with_from() {
    let detected = |path: &str, text: &str| detect_format(&SourceFiles::from_iter([(path, text)]), path);
    assert_eq!(detected("Modelfile", "FROM m\n"), Detection::Found(Format::Modelfile));
    assert_eq!(detected("review.modelfile", "FROM m\n"), Detection::Found(Format::Modelfile));
    assert_eq!(detected("mine", "from m\nSYSTEM x\n"), Detection::Found(Format::Modelfile));
    assert_eq!(detected("Dockerfile", "FROM debian\nRUN true\n"), Detection::Unknown);
    assert_eq!(detected("notes", "From here on\n"), Detection::Unknown);
}

#[test]
fn a_model_of_the_machine_and_a_modelfile_without_a_prompt_are_told() {
    let all = import(&[("x.modelfile", "FROM ./m.gguf\nSYSTEM s\n")]);
    assert_eq!((all[0].report.codes(), all[0].prompt.id.as_str()), (vec!["reference"], "x"));
    let files = SourceFiles::from_iter([("Modelfile", "FROM m\nPARAMETER num_ctx 10\n")]);
    let error = import_prompts(&files, "Modelfile", &ImportOptions::default()).expect_err("has none");
    assert!(error.message().contains("neither SYSTEM nor MESSAGE"), "{}", error.message());
}

#[test]
fn front_matter_that_programs_read_although_it_is_not_yaml_is_read() {
    let rule = "---\ndescription: Rules: for all\nglobs: **/*\nalwaysApply: true\n---\nBe kind.\n";
    let all = import(&[(".cursor/rules/all.mdc", rule)]);
    assert_eq!(all[0].prompt.header["description"], "Rules: for all");
    assert_eq!(all[0].prompt.kept["globs"], "**/*");
    assert_eq!(
        (all[0].report.codes(), &all[0].prompt.kept["alwaysApply"]),
        (vec!["activation"], &json!(true))
    );
    let agent =
        "---\nname: reviewer\ndescription: Use this: <example>user: 'x'</example>\n---\nYou review.\n";
    let all = import(&[(".claude/agents/reviewer.md", agent)]);
    assert_eq!(all[0].prompt.header["description"], "Use this: <example>user: 'x'</example>");
    assert_eq!(all[0].report.codes(), ["invalid"]);
}

#[test]
fn a_document_that_only_has_a_prompt_is_no_template_of_llm() {
    let detected = |text: &str| detect_format(&SourceFiles::from_iter([("x.yaml", text)]), "x.yaml");
    assert_eq!(detected("prompt: Hi\ncolour: blue\n"), Detection::Found(Format::Llm));
    assert_eq!(detected("prompt: Hi\nexpected: a\nscorers: [b]\n"), Detection::Unknown);
}

/// The text that the template of a Modelfile makes of variables.
fn run_template(file: &str, variables: &Value) -> Result<String> {
    let files = SourceFiles::from_iter([("Modelfile", file)]);
    let template = ChatTemplate::from_files(&files, "Modelfile", None, false)?;
    template.render(variables.as_object().expect("is a map"), Moment::default())
}

fn render(file: &str, messages: &Value) -> String {
    run_template(file, &json!({"messages": messages})).expect("renders")
}

fn said(roles: &[(&str, &str)]) -> Value {
    roles.iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

const LEGACY: &str = r#"FROM ./model.gguf
# The text of the model.
TEMPLATE """{{ if .System }}<|system|>
{{ .System }}<|end|>
{{ end }}{{ if .Prompt }}<|user|>
{{ .Prompt }}<|end|>
{{ end }}<|assistant|>
{{ .Response }}<|end|>
"""
SYSTEM You are "kind".
"#;

#[test]
fn a_template_without_messages_runs_for_each_turn_and_ends_at_the_answer() {
    let messages = said(&[("user", "Hi"), ("assistant", "Hello"), ("user", "More {{ .System }}")]);
    assert_eq!(
        render(LEGACY, &messages),
        "<|system|>\nYou are \"kind\".<|end|>\n<|user|>\nHi<|end|>\n<|assistant|>\nHello<|end|>\n\
         <|user|>\nMore {{ .System }}<|end|>\n<|assistant|>\n"
    );
}

#[test]
fn a_block_around_the_answer_is_closed() {
    let file = "FROM m\nTEMPLATE \"[{{ .Prompt }}]{{ if .Prompt }}<{{- .Response -}} > {{ end }} tail\"";
    assert_eq!(render(file, &said(&[("user", "a")])), "[a]<");
    // The answer is added where the template has no place for it.
    assert_eq!(render("FROM m\nTEMPLATE {{ .Prompt }}", &said(&[("user", "a"), ("assistant", "b")])), "ab");
}

#[test]
fn a_template_with_messages_runs_once() {
    let file = "FROM m\nTEMPLATE \"\"\"{{ range .Messages }}<{{ .Role }}>{{ .Content }}\n{{ end }}\
                {{ if .Tools }}{{ range .Tools }}{{ . }}\n{{ end }}{{ .Tools }}{{ end }}\"\"\"\n\
                SYSTEM Be kind.\nMESSAGE user Hi\nMESSAGE assistant Hello\n";
    assert_eq!(
        render(file, &said(&[("user", "a"), ("user", "b")])),
        "<system>Be kind.\n<user>Hi\n<assistant>Hello\n<user>a\n\nb\n"
    );
    let tool = json!({"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}});
    let variables = json!({"messages": said(&[("system", "s")]), "tools": [tool]});
    let text = run_template(file, &variables).expect("renders");
    let printed = r#"{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}"#;
    assert!(text.ends_with(&format!("<system>s\n{printed}\n[{printed}]")), "{text}");
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let place = |text: &str| {
        let error = run_template(text, &json!({})).expect_err("is invalid");
        (error.code(), error.place().map(|place| place.line))
    };
    assert_eq!(place("FROM m\nSYSTEMS x\n"), (Code::Definition, Some(2)));
    assert_eq!(place("FROM m\nSYSTEM \"\"\"x\n"), (Code::Definition, Some(2)));
    assert_eq!(place("FROM m\nTEMPLATE {{ if }}\n"), (Code::RenderSyntax, Some(2)));
    assert_eq!(place("FROM m\n").0, Code::NotFound);
}
