//! Exports: what is written reads back as the same prompt, and what cannot be written is told.

use hinagata_exchange::{
    ExportOptions, ExportedPrompt, Format, ImportOptions, ImportedPrompt, PortableBody, SourceFiles,
    export_prompt, import_prompts,
};

fn import(path: &str, text: &str) -> ImportedPrompt {
    let files = SourceFiles::from_iter([(path, text)]);
    import_prompts(&files, path, &ImportOptions::default()).expect("imports").remove(0)
}

fn export(imported: &ImportedPrompt, format: Format) -> ExportedPrompt {
    export_prompt(&imported.prompt, &|_| None, &ExportOptions::new(format)).expect("exports")
}

/// Exports to the own format and reads that again.
fn round_trip(path: &str, text: &str, format: Format) -> (ExportedPrompt, ImportedPrompt) {
    let first = import(path, text);
    let exported = export(&first, format);
    let (name, written) = exported.files.first().cloned().expect("has a file");
    let again = import(&name, &written);
    (exported, again)
}

#[test]
fn handlebars_come_back() {
    let cases = [
        "Hello {{name}}, {{{note}}}.",
        "{{#each items}}\n- {{name}} x {{qty}}\n{{/each}}\nend",
        "{{#if a}}\nyes\n{{else}}\nno\n{{/if}}",
        "{{#unless a}}no{{/unless}}{{#ifEquals a b}}same{{/ifEquals}}",
        "{{role \"system\"}}Be brief.\n{{role \"user\"}}{{q}}",
        "\\{{not a tag}} {{x}} \\\\{{x}}",
        "{{json x}} {{x.y.z}} {{[first-name]}}",
    ];
    for source in cases {
        let first = import("x.prompt", source);
        let (exported, again) = round_trip("x.prompt", source, Format::Dotprompt);
        assert!(!exported.report.is_lossy(), "{source}: {:?}", exported.report);
        assert_eq!(again.prompt.body, first.prompt.body, "{source} became {}", exported.files[0].1);
    }
}

#[test]
fn formats_with_placeholders_come_back() {
    let github = "name: n\ndescription: d\nmodel: openai/gpt\nmodelParameters:\n  temperature: 0.5\nmessages:\n  - role: system\n    content: Be {{tone}}.\n  - role: user\n    content: '{{q}}'\n";
    let langfuse = r#"[{"name": "a/b", "version": 3, "prompt": [{"role": "system", "content": "Be {{tone}}"}, {"type": "placeholder", "name": "past"}], "config": {"model": "m", "temperature": 1}, "labels": ["production"], "tags": ["t"]}]"#;
    let langchain = r#"{"lc": 1, "type": "constructor", "id": ["langchain", "prompts", "prompt", "PromptTemplate"], "kwargs": {"input_variables": ["a"], "template": "{a} {{b}}", "template_format": "f-string"}}"#;
    let claude = "---\ndescription: d\nallowed-tools: Bash\n---\nDo $ARGUMENTS with $0.";
    let gemini = "description = \"d\"\nprompt = \"\"\"\nDo {{args}}.\n\"quoted\" \\\\ done\"\"\"\n";
    let cases = [
        ("x.prompt.yml", github, Format::Github),
        ("x.json", langfuse, Format::Langfuse),
        ("x.json", langchain, Format::Langchain),
        (".claude/commands/x.md", claude, Format::Claude),
        (".gemini/commands/x.toml", gemini, Format::Gemini),
    ];
    for (path, text, format) in cases {
        let first = import(path, text);
        let (exported, again) = round_trip(path, text, format);
        assert!(!exported.report.is_lossy(), "{path}: {:?}", exported.report);
        assert_eq!(again.prompt.body, first.prompt.body, "{path} became {}", exported.files[0].1);
        assert_eq!(again.prompt.header, first.prompt.header, "{path} became {}", exported.files[0].1);
        assert_eq!(again.prompt.kept, first.prompt.kept, "{path}");
    }
}

#[test]
fn prompty_comes_back() {
    let text = "---\nname: N\ndescription: d\nmodel:\n  id: gpt\n  provider: openai\n  options:\n    temperature: 0.5\ninputs:\n  - name: q\n    kind: string\n    required: true\n  - name: n\n    kind: integer\n    default: 3\n---\nsystem:\nBe brief.\n{% if n > 2 %}Use {{ n }} words.{% endif %}\n\nuser:\n{{ q }}";
    let first = import("x.prompty", text);
    let (exported, again) = round_trip("x.prompty", text, Format::Prompty);
    assert!(!exported.report.is_lossy(), "{:?}", exported.report);
    assert_eq!(again.prompt.header, first.prompt.header);
    assert_eq!(again.prompt.parameters, first.prompt.parameters);
    assert!(
        exported.files[0].1.contains("{% if n > 2 %}Use {{ n }} words.{% endif %}"),
        "{}",
        exported.files[0].1
    );
}

#[test]
fn what_a_format_cannot_express_is_a_loss_with_its_place() {
    let imported = import("x.prompt", "a\n{{#each items}}{{this}}{{/each}}");
    let exported = export(&imported, Format::Langfuse);
    assert!(exported.report.codes().contains(&"expression"), "{:?}", exported.report);
    assert!(exported.report.losses().iter().any(|loss| loss.at.line == 2));
}

#[test]
fn a_skill_needs_a_description_and_live_skills_call_the_program() {
    let imported = import("x.prompt", "---\ndescription: When asked\n---\nHello {{name}}");
    let options = ExportOptions { is_live: true, ..ExportOptions::new(Format::Skill) };
    let live = export_prompt(&imported.prompt, &|_| None, &options).expect("exports");
    assert_eq!(live.files[0].0, "x/SKILL.md");
    assert!(live.files[0].1.contains("hina render x"), "{}", live.files[0].1);
    let plain = export(&imported, Format::Skill);
    assert!(plain.files[0].1.contains("- [name]") && plain.files[0].1.contains("Hello [name]"));
    let options = ExportOptions { is_for_claude: true, ..ExportOptions::new(Format::Skill) };
    let claude = export_prompt(&imported.prompt, &|_| None, &options).expect("exports");
    assert!(claude.files[0].1.ends_with("Hello $ARGUMENTS"), "{}", claude.files[0].1);
    let bare = import("x.prompt", "Hello");
    let failed = export_prompt(&bare.prompt, &|_| None, &ExportOptions::new(Format::Skill));
    assert!(failed.is_err_and(|error| error.message().contains("needs a description")));
}

#[test]
fn text_of_a_template_never_becomes_a_placeholder() {
    let mut imported = import("x.prompt", "a");
    imported.prompt.body = PortableBody::Text("{{ \"{{\" }}x}}".to_owned());
    assert!(export(&imported, Format::Langfuse).report.is_lossy());
    assert_eq!(export(&imported, Format::Dotprompt).files[0].1, "\\{{x}}");
    let chain = export(&imported, Format::Langchain);
    assert!(chain.files[0].1.contains("\"{{{{x}}}}\""), "{}", chain.files[0].1);
}
