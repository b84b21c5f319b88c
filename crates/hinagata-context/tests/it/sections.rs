//! Sections of the text that are not files.

use std::{fs, os::unix::fs::PermissionsExt as _};

use hinagata_context::{ContextOptions, Error, Frame, Sections, TextForm, Tokens, pack};
use serde_json::Value;

use crate::support::{commit, git, options, repository, tree, write};

fn text(options: &ContextOptions) -> String {
    pack(options).expect("packs").text
}

#[test]
fn the_tree_comes_first_and_does_not_depend_on_contents() {
    let place = tree(&[("src/a.rs", "a"), ("src/deep/b.rs", "b"), ("Cargo.lock", "l"), ("z.md", "z")]);
    let markdown = ContextOptions { frame: Frame::Markdown, ..options(&place, &[]) };
    let tree = "# Tree\n\n```\nsrc/\n  deep/\n    b.rs\n  a.rs\nCargo.lock\nz.md\n```\n\n## `src/a.rs`";
    assert!(text(&markdown).starts_with(tree), "{}", text(&markdown));
    let without = Sections { tree: Some(false), ..Sections::default() };
    assert!(text(&ContextOptions { sections: without, ..markdown }).starts_with("## `src/a.rs`"));
    let plain = Sections { tree: Some(true), ..Sections::default() };
    let plain = ContextOptions { sections: plain, ..options(&place, &[]) };
    assert!(text(&plain).starts_with("// Tree\nsrc/\n  deep/"), "{}", text(&plain));
}

#[test]
fn a_tree_that_is_too_large_counts_files_of_directories() {
    let files: Vec<String> =
        (0..400).map(|number| format!("d{}/some_long_name_{number}.rs", number % 4)).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|name| (name.as_str(), "x")).collect();
    let place = tree(&files);
    let tokens = Tokens { max: Some(1000), ..Tokens::default() };
    let options = ContextOptions { frame: Frame::Markdown, tokens, ..options(&place, &[]) };
    let packed = pack(&options).expect("packs");
    assert!(packed.text.contains("d1/ (100 files)\n"), "{}", packed.text);
    let budget = packed.report.entries.iter().filter(|entry| entry.state.as_str() == "budget").count();
    assert!(budget > 200, "{budget} files are in the text by name");
}

#[test]
fn header_and_instructions_stand_at_both_ends() {
    let place = tree(&[("a.md", "a"), ("do.txt", "Be brief.\n")]);
    let sections = Sections {
        header: Some("About lamps.".into()),
        instruction: Some("do.txt".into()),
        ..Sections::default()
    };
    let packing = |frame| ContextOptions { frame, sections: sections.clone(), ..options(&place, &["*.md"]) };
    assert_eq!(
        text(&packing(Frame::Plain)),
        "About lamps.\n\n// File: a.md\na\n// End of a.md\n\n// Instructions\nBe brief.\n// End of instructions"
    );
    let xml = text(&packing(Frame::Xml));
    assert!(xml.starts_with("<context>\n<header><![CDATA[\nAbout lamps.\n]]></header>\n<tree>"), "{xml}");
    let json: Value = serde_json::from_str(&text(&packing(Frame::Json))).expect("is JSON");
    assert_eq!(json["header"], "About lamps.");
    assert_eq!(json["files"][0]["path"], "a.md");
    assert_eq!(json["instruction"], "Be brief.");
    let missing = Sections { instruction: Some("none.txt".into()), ..Sections::default() };
    let failed = pack(&ContextOptions { sections: missing, ..options(&place, &[]) });
    assert!(matches!(failed, Err(Error::InstructionFile { .. })), "{failed:?}");
    write(place.path(), ".env", b"TOKEN=1\n");
    let secret = Sections { instruction: Some(".env".into()), ..Sections::default() };
    let failed = pack(&ContextOptions { sections: secret, ..options(&place, &[]) });
    assert!(matches!(failed, Err(Error::Withheld { .. })), "{failed:?}");
}

#[test]
fn changes_and_commits_of_git_are_sections() {
    let place = repository(&[("a.rs", "one\n"), ("b.rs", "one\n"), ("sub/c.rs", "one\n"), (".env", "A=1\n")]);
    let root = place.path();
    git(root, &["tag", "v1"]);
    write(root, "a.rs", b"two\n");
    commit(root, "Second subject");
    write(root, "b.rs", b"staged\n");
    git(root, &["add", "b.rs"]);
    for name in ["a.rs", "sub/c.rs", ".env"] {
        write(root, name, b"three\n");
    }
    let sections =
        Sections { diffs: true, logs: Some(5), diff: Some("v1..HEAD".into()), ..Sections::default() };
    let packing = |frame| ContextOptions { frame, sections: sections.clone(), ..options(&place, &[]) };
    let packed = pack(&packing(Frame::Markdown)).expect("packs");
    let text = &packed.text;
    for part in [
        "# Commits\n\n```\n",
        " Second subject\n  a.rs\n",
        "# Changes\n\n```diff\ndiff --git a/a.rs b/a.rs\n",
        "-one\n+two\n",
        "# Staged changes\n\n```diff\ndiff --git a/b.rs b/b.rs\n",
        "+staged\n",
        "# Unstaged changes\n\n```diff\ndiff --git a/a.rs b/a.rs\n",
        "-two\n+three\n",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    assert!(!text.contains("A=1") && !text.contains("a/.env"), "{text}");
    assert!(
        packed.report.notices.iter().any(|notice| notice.message.contains(".env")),
        "{:?}",
        packed.report.notices
    );
    let names: Vec<&str> = packed.report.sections.iter().map(|section| section.name).collect();
    assert_eq!(names, ["tree", "commits", "changes", "staged_changes", "unstaged_changes"]);
    // Only what is packed: a directory, with paths that start there.
    let below = ContextOptions { base: root.join("sub"), ..packing(Frame::Plain) };
    let text = pack(&below).expect("packs").text;
    assert!(text.contains("diff --git a/c.rs b/c.rs\n") && !text.contains("staged\n"), "{text}");
    let json: Value =
        serde_json::from_str(&pack(&packing(Frame::Json)).expect("packs").text).expect("is JSON");
    assert!(json["unstaged_changes"].as_str().is_some_and(|text| text.contains("+three")), "{json}");
}

#[test]
fn secrets_in_changes_commits_and_texts_of_the_caller_are_redacted() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let place = repository(&[("a.yaml", "port: 1\n"), ("b.rs", "one\n")]);
    let root = place.path();
    write(root, "b.rs", b"two\n");
    commit(root, &format!("Use {token}"));
    write(root, "a.yaml", format!("port: 1\ndb_password: kX93-vbQ2-77hR\nurl: {token}\n").as_bytes());
    git(root, &["add", "a.yaml"]);
    write(root, "a.yaml", b"port: 1\n");
    write(root, "read.txt", format!("Say {token}.\n").as_bytes());
    let sections = Sections {
        header: Some(format!("Key {token}")),
        instruction: Some("read.txt".into()),
        diffs: true,
        logs: Some(5),
        ..Sections::default()
    };
    let options = ContextOptions { sections, exclude: vec!["read.txt".into()], ..options(&place, &[]) };
    let packed = pack(&options).expect("packs");
    assert!(!packed.text.contains(&token) && !packed.text.contains("kX93"), "{}", packed.text);
    for part in
        ["Key «redacted:github-token»", "Use «redacted:github-token»", "+url: «redacted:github-token»"]
    {
        assert!(packed.text.contains(part), "{part} in {}", packed.text);
    }
    let redacted: Vec<&str> = packed.report.redacted.iter().map(|file| file.path.as_str()).collect();
    for name in ["header", "read.txt", "commits", "staged_changes of a.yaml", "unstaged_changes of a.yaml"] {
        assert!(redacted.contains(&name), "{name} in {redacted:?}");
    }
}

#[test]
fn unknown_revisions_are_errors_and_a_missing_repository_is_a_notice() {
    let place = repository(&[("a.rs", "a")]);
    for diff in ["none..HEAD", "HEAD", "--output=x..HEAD", "HEAD..$(touch y)"] {
        let sections = Sections { diff: Some(diff.into()), ..Sections::default() };
        let failed = pack(&ContextOptions { sections, ..options(&place, &[]) });
        assert!(matches!(failed, Err(Error::Revisions { .. })), "{diff}: {failed:?}");
    }
    let place = tree(&[("a.rs", "a")]);
    let sections = Sections { diffs: true, logs: Some(3), ..Sections::default() };
    let packed = pack(&ContextOptions { sections, ..options(&place, &[]) }).expect("packs");
    assert_eq!(packed.files.len(), 1);
    assert_eq!(packed.report.notices.len(), 1, "{:?}", packed.report.notices);
}

#[test]
fn long_changes_are_cut_to_their_share_of_the_budget() {
    let place = repository(&[("a.txt", "a\n")]);
    write(place.path(), "a.txt", "a new line of text\n".repeat(3000).as_bytes());
    let sections = Sections { diffs: true, ..Sections::default() };
    let tokens = Tokens { max: Some(2000), ..Tokens::default() };
    let packed = pack(&ContextOptions { sections, tokens, ..options(&place, &[]) }).expect("packs");
    let section = &packed.report.sections[0];
    assert!(section.cut && section.tokens.is_some_and(|tokens| tokens <= 1000), "{section:?}");
    assert!(packed.report.total_tokens.is_some_and(|total| total <= 2000), "{:?}", packed.report);
    assert!(packed.text.contains(" lines\n"), "{}", packed.text);
    assert!(packed.report.notices.iter().any(|notice| notice.about == "unstaged_changes"));
}

#[test]
fn line_numbers_empty_lines_and_base64() {
    let place = tree(&[("a.rs", &format!("one\n\nlet key = \"{}\";\n", "aB3+".repeat(100)))]);
    let form =
        TextForm { line_numbers: true, remove_empty_lines: true, truncate_base64: true, compress: false };
    let packed = pack(&ContextOptions { form, ..options(&place, &[]) }).expect("packs");
    let expected = format!("1: one\n3: let key = \"{}⋯ 368 characters\";\n", "aB3+".repeat(8));
    assert_eq!(packed.files[0].content, expected);
    assert_eq!(packed.report.entries[0].detail, Some("Base64 is shortened".to_owned().into()));
}

#[test]
fn lines_behind_a_redacted_value_of_several_lines_keep_their_numbers() {
    let line = "ePpX6N1NF2XV54wca+7E56w8ZniqT3Ul4ffqkOkgWrdioyq+KvCiSGuPJ6sG9AHE";
    let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{line}\n{line}\n-----END RSA PRIVATE KEY-----");
    let place = tree(&[("a.py", &format!("KEY = \"\"\"{key}\"\"\"\n\ndef find():\n    return KEY\n"))]);
    let form = TextForm { line_numbers: true, remove_empty_lines: true, ..TextForm::default() };
    let packed = pack(&ContextOptions { form, ..options(&place, &[]) }).expect("packs");
    let expected = "1: KEY = \"\"\"«redacted:private-key»\n4: \"\"\"\n6: def find():\n7:     return KEY\n";
    assert_eq!(packed.files[0].content, expected);
}

/// A repository can name programs in its configuration, its attributes and its hooks. Nothing of it runs, and nothing
/// outside of it is read.
#[test]
fn nothing_of_a_hostile_repository_runs() {
    let place = repository(&[
        ("a.txt", "one\n"),
        ("id", "inside\n"),
        (".gitattributes", "*.txt filter=evil diff=evil\n"),
    ]);
    let root = place.path();
    let outside = tree(&[("id", "outside-secret\n"), ("marker", "")]);
    let marker = outside.path().join("ran");
    let script = outside.path().join("evil.sh");
    fs::write(&script, format!("#!/bin/sh\ntouch {}\nexit 0\n", marker.display())).expect("written");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("made executable");
    let evil = script.to_str().expect("is text");
    let hooks = outside.path().join("hooks");
    fs::create_dir(&hooks).expect("made");
    for hook in
        ["post-index-change", "post-checkout", "pre-auto-gc", "reference-transaction", "fsmonitor-watchman"]
    {
        fs::copy(&script, hooks.join(hook)).expect("copied");
        fs::create_dir_all(root.join(".git/hooks")).expect("made");
        fs::copy(&script, root.join(".git/hooks").join(hook)).expect("copied");
    }
    for (key, value) in [
        ("core.fsmonitor", evil),
        ("core.pager", evil),
        ("core.editor", evil),
        ("core.askPass", evil),
        ("core.sshCommand", evil),
        ("core.gitProxy", evil),
        ("core.alternateRefsCommand", evil),
        ("core.hooksPath", hooks.to_str().expect("is text")),
        ("core.worktree", outside.path().to_str().expect("is text")),
        ("pager.diff", evil),
        ("pager.log", evil),
        ("diff.external", evil),
        ("diff.evil.command", evil),
        ("diff.evil.textconv", evil),
        ("filter.evil.clean", evil),
        ("filter.evil.smudge", evil),
        ("filter.evil.process", evil),
        ("filter.evil.required", "true"),
        ("interactive.diffFilter", evil),
        ("gpg.program", evil),
        ("log.showSignature", "true"),
        ("credential.helper", evil),
        ("sequence.editor", evil),
        ("uploadpack.packObjectsHook", evil),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", "ext::sh -c touch% ran"),
        ("remote.origin.promisor", "true"),
        ("alias.diff", &format!("!{evil}")),
        ("alias.log", &format!("!{evil}")),
        ("alias.ls-files", &format!("!{evil}")),
        ("alias.rev-parse", &format!("!{evil}")),
        ("alias.config", &format!("!{evil}")),
    ] {
        git(root, &["config", "--file", ".git/config", key, value]);
    }
    write(root, "a.txt", b"two\n");
    write(root, "build/x.txt", b"three\n");
    // The index looks older than the files, so that git compares contents.
    let index = fs::File::options().write(true).open(root.join(".git/index")).expect("opened");
    index.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000)).expect("set");
    let sections =
        Sections { diffs: true, logs: Some(10), diff: Some("HEAD..HEAD".into()), ..Sections::default() };
    for strict in [false, true] {
        let mut options = ContextOptions { sections: sections.clone(), ..options(&place, &[]) };
        options.rules.strict = strict;
        let packed = pack(&options).expect("packs");
        assert!(!marker.exists(), "a program of the repository ran");
        assert!(packed.text.contains("+two\n"), "{strict} {:?}\n{}", packed.report.notices, packed.text);
        assert!(!packed.text.contains("outside-secret"), "{}", packed.text);
    }
    let hit =
        fs::read_dir(root).expect("reads").any(|entry| entry.is_ok_and(|entry| entry.file_name() == "ran"));
    assert!(!hit, "a program of the repository ran");
}

#[cfg(unix)]
#[test]
fn a_repository_outside_of_an_untrusted_workspace_is_not_asked() {
    let private = repository(&[("diary.txt", "private words\n")]);
    git(private.path(), &["commit", "--quiet", "--allow-empty", "--message", "private subject"]);
    let place = tree(&[("a.txt", "a\n")]);
    let directory = private.path().join(".git");
    let sections = Sections { diffs: true, logs: Some(10), ..Sections::default() };
    let mut options = ContextOptions { sections, ..options(&place, &[]) };
    options.rules.strict = true;
    let check = || {
        let packed = pack(&options).expect("packs");
        assert!(!packed.text.contains("private"), "{}", packed.text);
        assert!(
            packed.report.notices.iter().any(|notice| notice.about == "git"),
            "{:?}",
            packed.report.notices
        );
    };
    write(place.path(), ".git", format!("gitdir: {}\n", directory.display()).as_bytes());
    check();
    fs::remove_file(place.path().join(".git")).expect("removed");
    std::os::unix::fs::symlink(&directory, place.path().join(".git")).expect("linked");
    check();
    fs::remove_file(place.path().join(".git")).expect("removed");
    git(place.path(), &["init", "--quiet"]);
    for part in ["objects", "refs"] {
        fs::remove_dir_all(place.path().join(".git").join(part)).expect("removed");
        std::os::unix::fs::symlink(directory.join(part), place.path().join(".git").join(part))
            .expect("linked");
    }
    fs::copy(directory.join("HEAD"), place.path().join(".git/HEAD")).expect("copied");
    check();
}
