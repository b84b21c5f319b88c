//! What an import never does: run, fetch, read what was not named, take over keys, follow names out of a directory.

use hinagata_exchange::{
    ImportOptions, ImportedPrompt, PortableBody, SourceFiles, import_batch, import_prompts,
};

fn import(files: &[(&str, &str)]) -> ImportedPrompt {
    let all = SourceFiles::from_iter(files.iter().copied());
    import_prompts(&all, files[0].0, &ImportOptions::default()).expect("imports").remove(0)
}

fn everything(imported: &ImportedPrompt) -> String {
    format!("{:?}", imported.prompt.to_files())
}

#[test]
fn keys_and_addresses_are_never_taken_over() {
    let prompty = "---\nmodel:\n  api: chat\n  configuration:\n    api_key: sk-secret\n    azure_endpoint: https://secret.example\n---\nuser:\nx";
    let imported = import(&[("x.prompty", prompty)]);
    assert!(!everything(&imported).contains("secret"), "{}", everything(&imported));
    assert_eq!(imported.report.codes(), ["connection"]);
    let chain = r#"{"lc": 1, "type": "constructor", "id": ["langchain", "schema", "runnable", "RunnableSequence"], "kwargs": {
        "first": {"lc": 1, "type": "constructor", "id": ["langchain", "prompts", "prompt", "PromptTemplate"], "kwargs": {"template": "{a}", "input_variables": ["a"]}},
        "last": {"lc": 1, "type": "constructor", "id": ["langchain", "chat_models", "openai", "ChatOpenAI"], "kwargs": {"model": "m", "openai_api_key": {"lc": 1, "type": "secret", "id": ["SECRET_KEY"]}, "openai_api_base": "https://secret.example"}}}}"#;
    let imported = import(&[("x.json", chain)]);
    let text = everything(&imported).to_lowercase();
    assert!(!text.contains("secret"), "{text}");
    assert!(imported.report.codes().contains(&"connection"));
}

#[test]
fn the_environment_is_never_read_and_files_only_beneath_the_prompt() {
    let text = "---\ninputs:\n  - name: a\n    kind: string\n    default: ${env:PATH}\n  - name: b\n    kind: string\n    default: ${file:../secret.txt}\n  - name: c\n    kind: string\n    default: ${file:c.txt}\n---\nuser:\n{{ a }}";
    let imported = import(&[("d/x.prompty", text), ("secret.txt", "secret"), ("d/c.txt", "beneath")]);
    let all = everything(&imported);
    let path = std::env::var("PATH").unwrap_or_default();
    assert!(!all.contains("secret\"") && all.contains("beneath"), "{all}");
    assert!(path.is_empty() || !all.contains(&path), "{all}");
}

#[test]
fn constructors_are_data() {
    let text =
        r#"{"lc": 1, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "touch /tmp/x"}}"#;
    let files = SourceFiles::from_iter([("x.json", text)]);
    let error = import_prompts(&files, "x.json", &ImportOptions::default()).expect_err("is no prompt");
    assert!(error.message().contains("never constructed"), "{error:?}");
}

#[test]
fn commands_become_parameters() {
    let imported = import(&[(".claude/commands/x.md", "Now !`rm -rf /` and $ARGUMENTS")]);
    let PortableBody::Text(text) = &imported.prompt.body else { panic!("is a text") };
    assert_eq!(text, "Now {{ shell_1 }} and {{ arguments }}");
    assert_eq!(imported.report.codes(), ["shell"]);
}

#[test]
fn names_become_ids_and_never_paths() {
    let text = r#"[{"name": "../../etc/passwd", "version": 1, "prompt": "x"}]"#;
    assert_eq!(import(&[("x.json", text)]).prompt.id, "prompt.prompt.etc.passwd");
    let imported = import(&[
        ("s/SKILL.md", "---\nname: s\ndescription: d\n---\nx"),
        ("s/prompt.py", "raise SystemExit"),
        ("s/prompt.yaml", "a: b"),
        ("s/notes/prompt.py", "kept, because it is not beside the template"),
    ]);
    let names: Vec<&str> = imported.prompt.files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["notes/prompt.py"]);
    assert!(imported.report.codes().contains(&"code"));
}

#[test]
fn sizes_are_bounded() {
    let large = "x".repeat((10 << 20) + 1);
    let files = SourceFiles::from_iter([("x.prompt", large.as_str()), ("y.prompt", "fine")]);
    let batch = import_batch(&files, "", &ImportOptions::default());
    assert_eq!((batch.prompts.len(), batch.failed.len()), (1, 1));
    let entry = r#"{"name": "a", "version": 1, "prompt": "x"}"#;
    let many = format!("[{}]", vec![entry; 10_001].join(","));
    let files = SourceFiles::from_iter([("x.json", many.as_str())]);
    let error = import_prompts(&files, "x.json", &ImportOptions::default()).expect_err("is too large");
    assert!(error.message().contains("10 000"), "{error:?}");
}

#[test]
fn two_formats_or_none_ask_for_the_format() {
    let files = SourceFiles::from_iter([("x.mustache", "a"), ("x.txt", "a")]);
    for (path, code) in [("x.mustache", "exchange.ambiguous"), ("x.txt", "exchange.unknown")] {
        let error = import_prompts(&files, path, &ImportOptions::default()).expect_err("is not clear");
        assert_eq!((error.code().as_str(), error.exit_code()), (code, 2));
    }
}
