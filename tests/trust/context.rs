//! Files that settings, templates and agents name: what an untrusted workspace cannot put into a text, and what a call tells
//! about files that it did not get.

use std::os::unix::fs::symlink;

use super::support::{Home, Ran};

const HIDDEN: &str = "hidden-text";

/// A workspace with a secret of every kind, each of which says [`HIDDEN`].
fn tempting(settings: &str) -> Home {
    let home = Home::new();
    home.write("hinagata.config.yaml", settings);
    home.write(".env", format!("TOKEN={HIDDEN}\n"));
    home.write("t/.netrc", format!("machine x password {HIDDEN}\n"));
    home.write("t/server.key", HIDDEN);
    home.write("t/open.txt", "open-text");
    home.write(".gitignore", "private.txt\n/local\n");
    home.write("private.txt", HIDDEN);
    home.write("local/deep/x.txt", HIDDEN);
    home.write_outside("vault/card.txt", HIDDEN);
    for (target, link) in [
        ("../vault/card.txt", "out.txt"),
        ("../vault", "vault"),
        ("../.env", "t/inner.txt"),
        ("../../vault/card.txt", "t/out.txt"),
        ("../private.txt", "t/ignored.txt"),
    ] {
        symlink(target, home.path(link)).expect("a link");
    }
    home
}

/// The file of settings with a prompt of the manager, and nothing to pack.
fn prompting(prompt: &str) -> String {
    format!("context: {{include: [none]}}\nagents:\n  manager:\n    prompt: \"{prompt}\"\n")
}

fn refused(home: &Home, what: &str) -> Ran {
    let ran = home.run(&["agent", "invoke", "hi"]);
    assert!(!ran.has(HIDDEN), "{what}: {ran:?}");
    assert_eq!(ran.code, 6, "{what}: {ran:?}");
    assert!(ran.stderr.contains("withheld"), "{what}: {}", ran.stderr);
    ran
}

#[test]
fn an_inline_prompt_includes_no_secret_under_any_name() {
    for prompt in [
        "{% include '.env' %}",
        "{% include './.env' %}",
        "{% include 't/../.env' %}",
        "{% include '.env' ignore missing %}",
        "{% include ['none', '.env'] %}",
        "{% extends '.env' %}",
        "{% import '.env' as e %}{{ e }}",
        "{% set n = '.e' ~ 'nv' %}{% include n %}",
        "{% include 't/.netrc' %}",
        "{% include 't/server.key' %}",
        "{% include 't/inner.txt' %}",
        "{% include 'out.txt' %}",
        "{% include 'vault/card.txt' %}",
        "{% include 'private.txt' %}",
        "{% include 'local/deep/x.txt' %}",
        "{% include 't/ignored.txt' %}",
    ] {
        refused(&tempting(&prompting(prompt)), prompt);
    }
    let open = tempting(&prompting("{% include 't/open.txt' %}"));
    assert!(open.done(&["agent", "invoke", "hi"]).stdout.contains("open-text"));
}

#[test]
fn with_trust_ignored_files_can_be_included_and_secrets_cannot() {
    let home = tempting(&prompting("{% include 'private.txt' %}"));
    home.done(&["trust", "--yes"]);
    assert!(home.done(&["agent", "invoke", "hi"]).has(HIDDEN));
    for prompt in ["{% include '.env' %}", "{% include 't/inner.txt' %}", "{% include 'out.txt' %}"] {
        let home = tempting(&prompting(prompt));
        home.done(&["trust", "--yes"]);
        refused(&home, prompt);
    }
    let home = tempting(&prompting("{% include '.env' %}"));
    home.write_outside("config/hinagata/config.toml", "[context]\ninclude_secrets = true\n");
    assert!(home.done(&["agent", "invoke", "hi"]).has(HIDDEN), "the user says so");
}

#[test]
fn a_prompt_file_of_an_agent_is_no_secret_and_no_link_out() {
    for template in [
        "{file: .env}",
        "{file: out.txt}",
        "{file: vault/card.txt}",
        "{file: card.txt, baseDir: vault}",
        "{file: t/inner.txt}",
        "{file: private.txt}",
        "{file: t/ignored.txt}",
        "{file: inner.txt, baseDir: t}",
    ] {
        for key in ["promptTemplate", "defaultUserPromptTemplate"] {
            let settings = format!(
                "context: {{include: [none]}}\nagents: {{manager: {{prompt: x, {key}: {template}}}}}\n"
            );
            refused(&tempting(&settings), template);
        }
    }
}

#[test]
fn a_template_resource_with_a_secret_is_left_out_and_told() {
    for (template, page) in [
        ("{file: t/page.txt, baseDir: .}", "{% include '../.env' %}"),
        ("{file: t/page.txt, baseDir: .}", "{% include '.env' %}"),
        ("{file: t/page.txt}", "{% include 'inner.txt' %}"),
        ("{file: t/page.txt}", "{% include './out.txt' ignore missing %}"),
        ("{file: .env}", ""),
        ("{file: card.txt, baseDir: vault}", ""),
    ] {
        for at in [
            "context: {include: [t/open.txt], resources: [R]}",
            "context: {include: [t/open.txt]}\nagents: {manager: {resources: [R]}}",
        ] {
            let resource = format!("{{type: template, id: page, template: {template}}}");
            let home = tempting(&at.replace('R', &resource));
            home.write("t/page.txt", page);
            let ran = home.done(&["agent", "invoke", "hi"]);
            assert!(!ran.has(HIDDEN) && ran.stdout.contains("open-text"), "{template} {page}: {ran:?}");
            assert!(ran.stderr.contains("is left out"), "{template} {page}: {}", ran.stderr);
        }
    }
}

#[test]
fn a_template_resource_without_a_base_directory_includes_only_what_lies_beside_it() {
    let home = tempting(
        "context: {include: [none], resources: [{type: template, id: p, template: {file: t/page.txt}}]}\n",
    );
    home.write("notes/near.txt", "near-text");
    for page in ["{% include '../notes/near.txt' %}", "{% include 'notes/near.txt' %}"] {
        home.write("t/page.txt", page);
        let ran = home.run(&["context", "pack"]);
        assert!(ran.code != 0 && !ran.has("near-text"), "{page}: {ran:?}");
    }
}

#[test]
fn no_directory_of_the_settings_is_a_link_out_of_the_workspace() {
    for context in [
        "{baseDir: vault}",
        "{baseDir: vault, include: ['*']}",
        "{baseDir: t/up/vault, include: ['*']}",
        "{include: [none], resources: [{type: bundle, id: b, baseDir: vault, include: ['*']}]}",
        "{include: [none], resources: [{type: bundle, id: b, include: ['vault/*', vault/card.txt, out.txt]}]}",
    ] {
        let home = tempting(&format!("context: {context}\n"));
        symlink("..", home.path("t/up")).expect("a link");
        for arguments in [&["agent", "invoke", "hi"][..], &["context", "pack"]] {
            let ran = home.run(arguments);
            // A pack of nothing is a failure, an agent without files is not.
            assert_eq!(ran.code, i32::from(arguments[0] == "context"), "{context}: {ran:?}");
            assert!(!ran.has(HIDDEN), "{context}: {ran:?}");
            assert!(ran.stderr.contains("left out"), "{context}: {}", ran.stderr);
        }
    }
}

#[test]
fn a_brace_hides_no_way_out_of_the_workspace() {
    for include in ["'{../vault,t}/*.txt'", "'{..,t}/vault/*.txt'", "'{/,t}{etc,x}/hostname'"] {
        let home = tempting(&format!("context: {{include: [{include}]}}\n"));
        let ran = home.run(&["context", "pack"]);
        assert!(!ran.has(HIDDEN), "{include}: {ran:?}");
        assert_eq!(ran.code, 6, "{include}: {ran:?}");
    }
}

#[test]
fn a_named_file_that_is_ignored_needs_trust_or_the_word_of_the_user() {
    let home = tempting("context: {include: [private.txt, local/deep/x.txt, t/ignored.txt, t/open.txt]}\n");
    let ran = home.done(&["context", "pack"]);
    assert!(!ran.has(HIDDEN) && ran.stdout.contains("open-text"), "{ran:?}");
    assert!(ran.stderr.contains("`private.txt` is left out: an ignore file excludes it"), "{}", ran.stderr);
    assert!(home.done(&["context", "pack", "private.txt"]).has(HIDDEN), "the user names it");
    home.done(&["trust", "--yes"]);
    // The third one is a link to the first.
    assert_eq!(home.done(&["context", "pack"]).stdout.matches(HIDDEN).count(), 2);
}

#[test]
fn what_is_named_and_not_packed_is_told_in_that_call() {
    let home = Home::new();
    home.write(
        "hinagata.config.yaml",
        "context:\n  maxBytes: 100\n  include: [a.md, gone.md, image.bin, loop.md, docs, large.md, odd.md]\n  focus: [nowhere.rs, large.md]\n",
    );
    home.write("a.md", "a-text\n");
    home.write("image.bin", [0, 1, 2]);
    home.write("docs/x.md", "x\n");
    home.write("large.md", "y".repeat(200));
    home.write("odd.md", b"\xff\xfe\x00\xd8a\x00");
    symlink("loop.md", home.path("loop.md")).expect("a link");
    let told = [
        "no file matches `gone.md`",
        "`image.bin` is left out: it is not a text file",
        "`loop.md` is left out: it cannot be read",
        "`large.md` is named: it does not fit",
        "no file matches the focus `nowhere.rs`",
        "replaced by U+FFFD: odd.md",
    ];
    for arguments in [&["agent", "invoke", "hi"][..], &["context", "pack"], &["context", "pack", "--report"]]
    {
        let ran = home.done(arguments);
        assert!(ran.has("a.md"), "{ran:?}");
        for message in told {
            assert!(ran.stderr.contains(message), "{arguments:?} does not say {message}: {}", ran.stderr);
        }
    }
    let ran = home.done(&["agent", "invoke", "hi", "--json"]);
    let warnings = ran.json()["warnings"].to_string();
    for message in told {
        assert!(warnings.contains(message), "{message}: {warnings}");
    }
}

#[test]
fn an_ignore_file_that_cannot_be_read_is_told() {
    let home = Home::new();
    home.write("a.md", "a-text\n");
    symlink(".gitignore", home.path(".gitignore")).expect("a link");
    home.write("sub/b.md", "b-text\n");
    home.write("sub/.gitignore", vec![b'#'; (1 << 20) + 1]);
    let ran = home.done(&["context", "pack", ".", "--report"]);
    for file in [".gitignore", "sub/.gitignore"] {
        assert!(ran.stderr.contains(&format!("{file} (its rules are not applied")), "{file}: {}", ran.stderr);
    }
}

#[test]
fn files_of_a_call_that_are_missing_or_no_text_are_errors() {
    let home = Home::new();
    home.write("hinagata.config.yaml", "context: {include: [none]}\n");
    home.write("latin.jinja", b"caf\xe9");
    home.write("dir/x", "x");
    for (arguments, says) in [
        (&["agent", "invoke", "hi", "--history", "gone.json"][..], "gone.json"),
        (&["agent", "invoke", "hi", "--context", "gone.txt"], "gone.txt"),
        (&["agent", "invoke", "hi", "--template", "gone.jinja"], "gone.jinja"),
        (&["agent", "invoke", "hi", "--template", "latin.jinja"], "byte 4 is not valid UTF-8"),
        (&["agent", "invoke", "hi", "--template", "dir"], "not a regular file"),
    ] {
        let ran = home.run(arguments);
        assert!(ran.code != 0 && ran.stderr.contains(says), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn a_context_given_with_a_call_takes_the_place_of_what_would_be_packed() {
    let home = Home::new();
    home.write("hinagata.config.yaml", "context: {include: ['*.md']}\nagents: {manager: {resources: [{type: bundle, id: b, include: ['*.md']}]}}\n");
    home.write("a.md", "a-text\n");
    home.write("given.txt", "mine");
    let ran = home.done(&["agent", "invoke", "hi", "--context", "given.txt"]);
    assert!(ran.stdout.contains("mine") && !ran.has("a-text"), "{ran:?}");
    let packed = home.done(&["context", "pack", "a.md", "--json"]);
    home.write("packed.json", packed.stdout.replace("a-text", "b-text"));
    let ran = home.done(&["agent", "invoke", "hi", "--context", "packed.json"]);
    assert!(ran.stdout.contains("// File: a.md\\nb-text"), "{ran:?}");
    let ran = home.done(&["agent", "invoke", "hi", "--no-context"]);
    assert!(!ran.stdout.contains("workspace_context"), "{ran:?}");
}

#[test]
fn a_prompt_of_an_untrusted_workspace_names_no_file_with_a_secret() {
    let prompts = [
        ("parameter", "---\ninputs: {doc: {type: file, default: .env}}\n---\n{{ doc }}\n"),
        ("linked", "---\ninputs: {doc: {type: file, default: t/inner.txt}}\n---\n{{ doc }}\n"),
        ("beside", "---\ninputs: {doc: {type: file, default: .netrc}}\n---\n{{ doc }}\n"),
        ("included", "{% include '.netrc' %}\n"),
        ("passed", "{% include '.netrc' ignore missing %}\n"),
        ("renamed", "{% include 'alias.txt' %}\n"),
    ];
    let home = tempting("catalog: {paths: [t]}\n");
    symlink(".netrc", home.path("t/alias.txt")).expect("a link");
    for (id, text) in prompts {
        home.write(&format!("user_data/shared/prompts/{id}/template.md"), text);
    }
    home.write("user_data/shared/prompts/beside/.netrc", HIDDEN);
    home.write(
        "user_data/shared/prompts/part/prompt.yaml",
        "messages: [{role: user, content: [{type: resource, uri: 'x://y', file: .env}]}]\n",
    );
    for id in prompts.map(|(id, _)| id).into_iter().chain(["part"]) {
        let ran = home.run(&["render", id]);
        assert!(!ran.has(HIDDEN), "{id}: {ran:?}");
        assert_eq!(ran.code, 6, "{id}: {ran:?}");
        assert!(ran.stderr.contains("withheld"), "{id}: {}", ran.stderr);
    }
    home.done(&["trust", "--yes"]);
    assert!(home.done(&["render", "parameter"]).has(HIDDEN), "the user trusts the prompts");
    assert_eq!(home.run(&["render", "included"]).code, 6, "no template is called so");
}

#[test]
fn a_hook_of_an_untrusted_workspace_reads_no_file_with_a_secret() {
    let home = tempting("{}\n");
    home.write("user_data/shared/prompts/h/template.md", "{{ found }}\n");
    home.write(
        "user_data/shared/prompts/h/prompt.py",
        r#"METADATA = {"name": "h", "version": "1.0.0", "template": "template.md"}
PERMISSIONS = {"read_file": True}

async def pre_render(variables, context):
    try:
        variables["found"] = await context["read_file"](".env")
    except Exception as error:
        variables["found"] = "refused: " + str(error)
"#,
    );
    let ran = home.done(&["render", "h"]);
    assert!(!ran.has(HIDDEN) && ran.stdout.contains("refused") && ran.stdout.contains("withheld"), "{ran:?}");
}

#[test]
fn a_slip_in_context_or_agents_is_told_in_the_call_and_by_the_doctor() {
    let home = Home::new();
    home.write(
        "hinagata.toml",
        "[context]\nincludes = [\"src\"]\nmax_file = 3\n[agents.manager]\npromp = \"x\"\n",
    );
    for arguments in [&["agent", "invoke", "hi"][..], &["agent", "list"], &["context", "pack"]] {
        let ran = home.done(arguments);
        for (slip, near) in [
            ("`context.includes`", "`context.include`"),
            ("`context.max_file`", "`context.max_files`"),
            ("`agents.manager.promp`", "`prompt`"),
        ] {
            assert_eq!(ran.stderr.matches(slip).count(), 1, "{arguments:?} {slip}: {}", ran.stderr);
            assert!(ran.stderr.contains(near), "{arguments:?} {near}: {}", ran.stderr);
        }
        assert!(ran.stderr.contains("hinagata.toml:2:12"), "{}", ran.stderr);
        assert!(ran.stderr.contains("hinagata.toml:5:9"), "{}", ran.stderr);
    }
    let told = home.done(&["agent", "invoke", "hi", "--json"]).json()["warnings"].to_string();
    assert!(told.contains("context.includes") && told.contains("agents.manager.promp"), "{told}");
    let ran = home.run(&["doctor"]);
    assert!(ran.has("context.max_file") && ran.has("agents.manager.promp"), "{ran:?}");
    let listed = home.done(&["config"]).stdout;
    assert!(listed.contains("context.max_bytes") && listed.contains("agents.manager"), "{listed}");
}
