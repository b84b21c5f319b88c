//! Secrets inside of files: in every place where a file becomes a part of a text they are redacted, the call tells it,
//! and only the user or a trusted workspace can make an exception.

use serde_json::{Value, json};

use super::{
    protocol::asked,
    support::{Home, Ran},
};

/// A token, written so that this file has none.
fn token() -> String {
    ["ghp_", "iOx9gy1CJdObOIRpFqaDZeV7", "G5IfQHeVVEqZ"].concat()
}

const MARK: &str = "«redacted:github-token»";

/// The file of settings with a prompt of the manager, and nothing to pack.
fn prompting(prompt: &str, context: &str) -> String {
    format!("context: {{include: [none]{context}}}\nagents:\n  manager:\n    prompt: \"{prompt}\"\n")
}

/// A workspace with a file that has a secret in line 2.
fn noted(settings: &str) -> Home {
    let home = Home::new();
    home.write("hinagata.config.yaml", settings);
    home.write("t/notes.txt", format!("open-text\nuse {}\n", token()));
    home
}

/// Checks that a call used the file without its secret, and told it.
fn check_redacted(ran: &Ran, what: &str) {
    assert_eq!(ran.code, 0, "{what}: {ran:?}");
    assert!(!ran.has(&token()) && ran.stdout.contains("open-text"), "{what}: {ran:?}");
    assert!(ran.stdout.contains(MARK), "{what}: {ran:?}");
    for told in ["notes.txt", "github-token in line", "`context.secret_allow`", "sha256:"] {
        assert!(ran.has(told), "{what} does not say {told}: {ran:?}");
    }
}

/// The hash that a warning prints.
fn printed_hash(ran: &Ran) -> String {
    let start = ran.stderr.find("sha256:").expect("a hash");
    ran.stderr[start..].split(|c: char| !c.is_alphanumeric() && c != ':').next().expect("a word").to_owned()
}

#[test]
fn includes_of_inline_prompts_and_prompt_files_are_redacted() {
    let home = noted(&prompting("{% include 't/notes.txt' %}", ""));
    check_redacted(&home.done(&["agent", "invoke", "hi"]), "include");
    check_redacted(&home.done(&["agent", "invoke", "hi", "--json"]), "JSON");
    for template in ["{file: t/notes.txt}", "{file: notes.txt, baseDir: t}"] {
        for key in ["promptTemplate", "defaultUserPromptTemplate"] {
            let settings = format!(
                "context: {{include: [none]}}\nagents: {{manager: {{prompt: x, {key}: {template}}}}}\n"
            );
            check_redacted(&noted(&settings).done(&["agent", "invoke", "hi"]), template);
        }
    }
}

#[test]
fn a_prompt_in_the_settings_is_redacted_too() {
    let home = noted(&prompting(&format!("open-text {}", token()), ""));
    let ran = home.done(&["agent", "invoke", "hi"]);
    assert!(!ran.has(&token()) && ran.stdout.contains(&format!("open-text {MARK}")), "{ran:?}");
    assert!(ran.stderr.contains("secrets in `prompt of manager` are redacted"), "{}", ran.stderr);
    // What the user says is theirs.
    assert!(home.done(&["agent", "invoke", &token()]).has(&token()));
}

#[test]
fn an_agent_file_in_utf_16_hides_no_secret() {
    let home = noted(
        "context: {include: [none]}\nagents: {manager: {promptTemplate: {file: t/wide-notes.txt, encoding: utf16le}}}\n",
    );
    let text = std::fs::read_to_string(home.path("t/notes.txt")).expect("is there");
    let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    home.write("t/wide-notes.txt", wide);
    check_redacted(&home.done(&["agent", "invoke", "hi"]), "utf-16");
}

#[test]
fn packed_files_and_template_resources_hold_no_secret() {
    for context in [
        "{include: [t/notes.txt, open.txt]}",
        "{include: ['**/*']}",
        "{include: [open.txt], resources: [{type: bundle, id: b, include: ['t/*']}]}",
        "{include: [open.txt], resources: [{type: template, id: p, template: {file: t/notes.txt}}]}",
        "{include: [open.txt], resources: [{type: template, id: p, template: {file: page.txt}}]}",
    ] {
        let home = noted(&format!("context: {context}\n"));
        home.write("open.txt", "open-text\n");
        home.write("page.txt", "{% include 't/notes.txt' %}");
        for arguments in
            [&["agent", "invoke", "hi"][..], &["context", "pack"], &["context", "pack", "--json"]]
        {
            let ran = home.done(arguments);
            assert!(
                !ran.has(&token()) && ran.stdout.contains("open-text"),
                "{context} {arguments:?}: {ran:?}"
            );
        }
    }
}

#[test]
fn files_of_parameters_and_parts_in_an_untrusted_workspace_are_redacted() {
    let home = noted("{}\n");
    let prompts = "user_data/shared/prompts";
    home.write(
        &format!("{prompts}/parameter/template.md"),
        "---\ninputs: {doc: {type: file, default: t/notes.txt}}\n---\n{{ doc }}\n",
    );
    home.write(
        &format!("{prompts}/beside/template.md"),
        "---\ninputs: {doc: {type: file, default: notes.txt}}\n---\n{{ doc }}\n",
    );
    home.write(&format!("{prompts}/beside/notes.txt"), format!("open-text {}\n", token()));
    home.write(
        &format!("{prompts}/part/prompt.yaml"),
        "messages: [{role: user, content: [{type: resource, uri: 'x://y', file: t/notes.txt}]}]\n",
    );
    for id in ["parameter", "beside", "part"] {
        check_redacted(&home.done(&["render", id]), id);
        check_redacted(&home.done(&["render", id, "--json"]), id);
    }
    home.done(&["trust", "--yes"]);
    for id in ["parameter", "beside", "part"] {
        assert!(home.done(&["render", id]).has(&token()), "{id}: the user trusts the prompts");
    }
}

#[test]
fn a_part_that_is_no_text_and_has_a_secret_is_withheld() {
    let home = noted("{}\n");
    home.write("t/image.png", [b"\x89PNG\r\n\x1a\n\xff ".as_slice(), token().as_bytes()].concat());
    home.write(
        "user_data/shared/prompts/part/prompt.yaml",
        "messages: [{role: user, content: [{type: image, file: t/image.png}]}]\n",
    );
    let ran = home.run(&["render", "part"]);
    assert_eq!(ran.code, 6, "{ran:?}");
    assert!(ran.stderr.contains("withheld") && ran.stderr.contains("github-token in line"), "{}", ran.stderr);
}

#[test]
fn a_hook_of_an_untrusted_workspace_reads_files_without_secrets() {
    let home = noted("{}\n");
    home.write("user_data/shared/prompts/h/template.md", "{{ found }}\n");
    home.write(
        "user_data/shared/prompts/h/prompt.py",
        r#"METADATA = {"name": "h", "version": "1.0.0", "template": "template.md"}
PERMISSIONS = {"read_file": True}

async def pre_render(variables, context):
    variables["found"] = await context["read_file"]("t/notes.txt")
"#,
    );
    check_redacted(&home.done(&["render", "h"]), "hook");
}

#[test]
fn attached_files_are_redacted_or_withheld_in_every_workspace() {
    let home = noted("{}\n");
    home.write(".env", "TOKEN=hidden-text\n");
    let module = |file: &str| {
        let attached = format!("{{file: {file}, mime_type: text/plain}}");
        format!(
            "sections: {{materials: [{{material: {{id: m, title: m, content: x, attachments: [{attached}]}}}}]}}\n"
        )
    };
    for (name, file) in [("notes", "t/notes.txt"), ("env", ".env")] {
        home.write(&format!("{name}.yaml"), module(file));
    }
    for trusted in [false, true] {
        if trusted {
            home.done(&["trust", "--yes"]);
        }
        let arguments = |name: &'static str| ["module", "format", name, "--format", "openai", "--files", "."];
        check_redacted(&home.done(&arguments("notes.yaml")), "attached");
        let ran = home.run(&arguments("env.yaml"));
        assert!(ran.code != 0 && !ran.has("hidden-text") && ran.stderr.contains("withheld"), "{ran:?}");
    }
    home.write_outside("config/hinagata/config.toml", "[context]\ninclude_secrets = true\n");
    let ran = home.done(&["module", "format", "notes.yaml", "--format", "openai", "--files", "."]);
    assert!(ran.has(&token()), "the user says so: {ran:?}");
}

#[test]
fn resources_over_mcp_are_redacted() {
    let home = noted("{}\n");
    home.write(
        "hinagata.toml",
        "[[resources]]\nuri = 'x://notes'\nname = 'a'\nfile = 't/notes.txt'\n\
         [[resources]]\nuri = 'x://any/{name}'\nname = 'd'\nfile = 't/{name}'\n",
    );
    std::fs::remove_file(home.path("hinagata.config.yaml")).expect("is there");
    for trusted in [false, true] {
        if trusted {
            home.done(&["trust", "--yes"]);
        }
        let uris = ["x://any/notes.txt", "x://notes"];
        let reads = uris.map(|uri| ("resources/read", json!({"uri": uri})));
        let answers: Vec<String> = asked(&home, &[], &reads).0.iter().map(Value::to_string).collect();
        assert!(answers[0].contains(MARK) && !answers[0].contains(&token()), "{answers:?}");
        assert!(answers[0].contains("github-token in line 2"), "{answers:?}");
        assert!(!answers[0].contains("sha256:"), "a client elsewhere could guess short values: {answers:?}");
        assert_eq!(answers[1].contains(&token()), trusted, "{answers:?}");
    }
}

#[test]
fn exceptions_count_from_the_user_and_with_trust_alone() {
    let hash =
        printed_hash(&noted(&prompting("{% include 't/notes.txt' %}", "")).done(&["agent", "invoke", "hi"]));
    for allowed in [format!("'{hash}'"), "{rule: github-token, path: 't/*'}".to_owned()] {
        let home = noted(&prompting("{% include 't/notes.txt' %}", &format!(", secretAllow: [{allowed}]")));
        let ran = home.done(&["agent", "invoke", "hi"]);
        check_redacted(&ran, &allowed);
        assert!(
            ran.stderr.contains("`context.secret_allow`") && ran.stderr.contains("not trusted"),
            "{ran:?}"
        );
        home.done(&["trust", "--yes"]);
        assert!(home.done(&["agent", "invoke", "hi"]).has(&token()), "{allowed}");
    }
    let home = noted(&prompting("{% include 't/notes.txt' %}", ""));
    home.write_outside("config/hinagata/config.toml", format!("[context]\nsecret_allow = ['{hash}']\n"));
    assert!(home.done(&["agent", "invoke", "hi"]).has(&token()), "the user says so");
    let other = "[context]\nsecret_allow = [{rule = 'github-token', path = 'other/**'}]\n";
    home.write_outside("config/hinagata/config.toml", other);
    check_redacted(&home.done(&["agent", "invoke", "hi"]), "another path");
}

#[test]
fn the_comment_on_a_line_counts_with_trust_alone() {
    let home = noted(&prompting("{% include 't/notes.txt' %}", ""));
    home.write("t/notes.txt", format!("open-text {} # hina:allow-secret\n", token()));
    check_redacted(&home.done(&["agent", "invoke", "hi"]), "comment");
    home.done(&["trust", "--yes"]);
    assert!(home.done(&["agent", "invoke", "hi"]).has(&token()));
}

#[test]
fn rules_of_ones_own_hold_and_cannot_be_removed_by_a_clone() {
    let rule = "{name: acme, pattern: 'acme-(?<value>[0-9]+)', keywords: [acme-]}";
    let home = noted(&prompting("{% include 't/acme.txt' %}", &format!(", secretRules: [{rule}]")));
    home.write("t/acme.txt", "open-text acme-4711 corp-4712\n");
    let ran = home.done(&["agent", "invoke", "hi"]);
    assert!(ran.stdout.contains("acme-«redacted:acme» corp-4712"), "{ran:?}");
    assert!(ran.stderr.contains("acme in line 1"), "{}", ran.stderr);
    let corp = "[[context.secret_rules]]\nname = 'corp'\npattern = 'corp-[0-9]+'\n";
    home.write_outside("config/hinagata/config.toml", corp);
    assert!(home.done(&["agent", "invoke", "hi"]).stdout.contains("acme-«redacted:acme» «redacted:corp»"));
    home.write("hinagata.config.yaml", prompting("{% include 't/acme.txt' %}", ", secretRules: []"));
    assert!(home.done(&["agent", "invoke", "hi"]).stdout.contains("acme-4711 «redacted:corp»"));
    home.write(
        "user_data/shared/prompts/p/template.md",
        "---\ninputs: {doc: {type: file, default: t/acme.txt}}\n---\n{{ doc }}\n",
    );
    assert!(home.done(&["render", "p"]).stdout.contains("«redacted:corp»"), "parameters too");
    home.write_outside("config/hinagata/config.toml", corp.replace("[0-9]+", "[0-9"));
    let ran = home.run(&["agent", "invoke", "hi"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(
        ran.stderr.contains("`context.secret_rules[0].pattern` is not a regular expression"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("config.toml:3:"), "{}", ran.stderr);
}

#[test]
fn files_with_secrets_are_left_out_where_the_settings_say_so() {
    let home = noted(&prompting("{% include 't/notes.txt' %}", ", secrets: omit"));
    let ran = home.run(&["agent", "invoke", "hi"]);
    assert_eq!(ran.code, 6, "{ran:?}");
    assert!(!ran.has(&token()) && ran.stderr.contains("github-token in line 2"), "{ran:?}");
    home.write("hinagata.config.yaml", prompting("{% include 't/notes.txt' %}", ", secrets: redact"));
    check_redacted(&home.done(&["agent", "invoke", "hi"]), "redact");
    home.write_outside("config/hinagata/config.toml", "[context]\nsecrets = 'omit'\n");
    let ran = home.run(&["agent", "invoke", "hi"]);
    assert_eq!(ran.code, 6, "a clone cannot loosen it: {ran:?}");
}
