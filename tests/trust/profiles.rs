//! Profiles: the name of a file that came with a cloned project grants nothing.

use std::os::unix::fs::symlink;

use super::support::{Home, Ran};

/// Every name that stands for the habits of another program.
const NAMES: [&str; 9] = [
    "eddie.config.json",
    "eddie.config.jsonc",
    "eddie.config.yaml",
    "eddie.config.yml",
    ".eddierc",
    ".eddierc.json",
    ".eddierc.jsonc",
    ".eddierc.yaml",
    ".eddierc.yml",
];

/// What stands in files that must not be handed out.
const HIDDEN: [&str; 5] = ["hidden-env", "hidden-netrc", "hidden-key", "hidden-outside", "hidden-ignored"];

/// A workspace with secrets, ignored files, and links of every kind that lead out of it or to a secret.
fn tempting(settings: &str, text: &str) -> Home {
    let home = Home::new();
    home.write(settings, text);
    home.write("ok.md", "open-text\n");
    home.write(".env", "TOKEN=hidden-env\n");
    home.write("conf/.netrc", "machine x password hidden-netrc\n");
    home.write("conf/id_ed25519", "hidden-key\n");
    home.write(".gitignore", "private.md\nlocal/\n");
    home.write("private.md", "hidden-ignored\n");
    home.write("local/notes.md", "hidden-ignored\n");
    let outside = home.write_outside("vault/card.md", "hidden-outside\n");
    let vault = outside.parent().expect("a directory").to_owned();
    std::fs::create_dir_all(home.path("mid")).expect("a directory");
    for (target, link) in [
        (outside.as_path(), "absolute.md"),
        ("../vault/card.md".as_ref(), "relative.md"),
        (vault.as_path(), "directory"),
        ("../../vault".as_ref(), "mid/deep"),
        (".env".as_ref(), "inner.md"),
        ("conf".as_ref(), "folder"),
        ("private.md".as_ref(), "other.md"),
    ] {
        symlink(target, home.path(link)).expect("a link");
    }
    home
}

/// Asks for everything, by patterns and by name; JSON, which is YAML too.
fn greedy(more: &str) -> String {
    let names = [
        "**/*",
        "directory/*",
        "mid/deep/card.md",
        "absolute.md",
        "relative.md",
        "inner.md",
        "folder/.netrc",
        ".env",
        "conf/id_ed25519",
        "private.md",
        "local/*.md",
        "other.md",
    ];
    let include: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    format!(
        "{{{more}\"context\": {{\"include\": [{}]}}, \"agents\": {{\"manager\": {{\"prompt\": \"hi\"}}}}}}",
        include.join(", ")
    )
}

fn hands_out(ran: &Ran) -> Vec<&'static str> {
    HIDDEN.into_iter().filter(|hidden| ran.has(hidden)).collect()
}

#[test]
fn no_name_of_a_file_hands_out_what_an_untrusted_workspace_may_not() {
    for name in NAMES {
        let home = tempting(name, &greedy(""));
        for arguments in
            [&["agent", "invoke", "hi"][..], &["context", "pack"], &["context", "pack", "--report"]]
        {
            let ran = home.done(arguments);
            assert_eq!(hands_out(&ran), [""; 0], "{name} {arguments:?}: {ran:?}");
            assert!(ran.has("ok.md"), "{name}: {ran:?}");
            assert!(ran.stderr.contains("because the workspace is not trusted"), "{name}: {}", ran.stderr);
            assert!(ran.stderr.contains("hina trust"), "{name}: {}", ran.stderr);
            for left in ["absolute.md", ".env", "private.md"] {
                assert!(ran.stderr.contains(left), "{name} says nothing of {left}: {}", ran.stderr);
            }
        }
    }
}

#[test]
fn scripts_are_told_what_a_profile_did_not_get() {
    let home = tempting(".eddierc", &greedy(""));
    for arguments in [&["agent", "invoke", "hi", "--json"][..], &["context", "pack", "--json"]] {
        let ran = home.done(arguments);
        assert_eq!(hands_out(&ran), [""; 0], "{ran:?}");
        let told = ran.json()["warnings"].to_string();
        assert!(told.contains("not trusted") && told.contains("`.env`"), "{told}");
    }
}

#[test]
fn trust_alone_packs_ignored_files_and_neither_secrets_nor_what_links_lead_to() {
    for name in [".eddierc", "eddie.config.json"] {
        let home = tempting(name, &greedy(""));
        home.done(&["trust", "--yes"]);
        let ran = home.done(&["agent", "invoke", "hi"]);
        assert_eq!(hands_out(&ran), ["hidden-ignored"], "{name}: {ran:?}");
        assert!(ran.stderr.contains("write `compat: eddie`"), "{}", ran.stderr);
    }
}

#[test]
fn the_profile_in_words_counts_with_trust_and_not_without() {
    let home = tempting(".eddierc", &greedy("\"compat\": \"eddie\", "));
    let ran = home.done(&["agent", "invoke", "hi"]);
    assert_eq!(hands_out(&ran), [""; 0], "{ran:?}");
    assert!(ran.stderr.contains("`compat`"), "{}", ran.stderr);
    home.done(&["trust", "--yes"]);
    assert_eq!(hands_out(&home.done(&["agent", "invoke", "hi"])), HIDDEN);
}

#[test]
fn an_untrusted_workspace_cannot_switch_rules_off_under_any_name() {
    for name in NAMES.into_iter().chain(["hinagata.config.yaml", "hinagata.config.json"]) {
        for key in ["includeSecrets", "include_secrets", "includeIgnored", "include_ignored"] {
            let home =
                tempting(name, &format!("{{\"context\": {{\"include\": [\"**/*\"], \"{key}\": true}}}}"));
            let ran = home.done(&["agent", "invoke", "hi"]);
            assert_eq!(hands_out(&ran), [""; 0], "{name} {key}: {ran:?}");
            assert!(
                ran.stderr.contains("not trusted") && ran.stderr.contains("`context.include_"),
                "{ran:?}"
            );
        }
    }
}

#[test]
fn habits_of_rendering_follow_from_the_name() {
    let home = Home::new();
    home.write(".eddierc", "context: {include: [none]}\nagents: {manager: {prompt: hi}}\n");
    assert!(home.done(&["agent", "invoke", "{{ agent.id }}!"]).stdout.contains("manager!"));
    let other = Home::new();
    other.write("hinagata.config.yaml", "context: {include: [none]}\nagents: {manager: {prompt: hi}}\n");
    assert!(other.done(&["agent", "invoke", "{{ agent.id }}!"]).stdout.contains("{{ agent.id }}!"));
}

#[test]
fn a_user_cannot_be_made_to_type_a_secret_into_a_prompt() {
    let home = tempting(".eddierc", "context: {include: [none]}\n");
    for typed in
        ["{% include '.env' %}", "{% include 'inner.md' ignore missing %}", "{% include 'absolute.md' %}"]
    {
        let ran = home.run(&["agent", "invoke", typed]);
        assert_eq!((ran.code, hands_out(&ran)), (6, Vec::new()), "{typed}: {ran:?}");
    }
}

#[test]
fn what_is_extended_lies_in_the_workspace_and_is_no_link_out_of_it() {
    let outside = "context: {include: ['**/*']}\nsystem_prompt: hidden-outside\n";
    for extends in ["../vault/base.yaml", "linked.yaml", "mid/deep/base.yaml", "./mid/../../vault/base.yaml"]
    {
        for name in [".eddierc", "hinagata.config.yaml"] {
            let home = tempting(name, &format!("extends: {extends}\n"));
            home.write_outside("vault/base.yaml", outside);
            symlink("../vault/base.yaml", home.path("linked.yaml")).expect("a link");
            let ran = home.run(&["agent", "invoke", "hi"]);
            assert_eq!((ran.code, hands_out(&ran)), (2, Vec::new()), "{name} {extends}: {ran:?}");
            let absolute = home.outside("vault/base.yaml");
            home.write(name, format!("extends: {}\n", absolute.display()));
            assert_eq!(home.run(&["agent", "invoke", "hi"]).code, 2, "{name}");
        }
    }
}
