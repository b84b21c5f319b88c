//! What a repository says about its files: ignored, tracked, changed, generated.

use std::fs;

use hinagata_context::{ContextOptions, LeftOutReason, Rules, Tokens, pack};

use crate::support::{commit, git, left_out, options, pairs, repository, states, taken, write};

#[test]
fn rules_of_the_repository_and_of_other_packers_leave_out_files() {
    let place = repository(&[("a.md", "a")]);
    let root = place.path();
    write(root, ".git/info/exclude", b"own.md\n");
    write(root, "rules/global", b"*.user.md\n");
    git(root, &["config", "core.excludesFile", "rules/global"]);
    write(root, ".repomixignore", b"mix.md\n");
    for name in ["own.md", "x.user.md", "mix.md", "b.md"] {
        write(root, name, b"x");
    }
    let options = options(&place, &["*.md"]);
    assert_eq!(taken(&options), ["a.md", "b.md"]);
    let ignored = ["mix.md", "own.md", "x.user.md"].map(|name| (name, LeftOutReason::Ignored));
    assert_eq!(left_out(&options), pairs(&ignored));
}

#[test]
fn directories_of_tools_are_packed_where_git_tracks_them() {
    let place = repository(&[("src/build/real.rs", "x"), ("a.rs", "a")]);
    write(place.path(), "build/out.rs", b"x");
    write(place.path(), "src/build/new.rs", b"x");
    let expected = [
        ("a.rs", "taken"),
        ("build/", "excluded"),
        ("src/build/new.rs", "taken"),
        ("src/build/real.rs", "taken"),
    ];
    assert_eq!(states(&options(&place, &[])), expected.map(|(path, state)| (path.to_owned(), state)));
    assert_eq!(taken(&options(&place, &["src/build/r*.rs"])), ["src/build/real.rs"]);
}

#[test]
fn tracked_files_are_packed_although_git_would_ignore_them() {
    let place = repository(&[(".gitignore", "*.log\ngen/\n"), ("kept.log", "k"), ("gen/kept.md", "k")]);
    write(place.path(), "other.log", b"o");
    write(place.path(), "gen/other.md", b"o");
    let mut options = options(&place, &[]);
    let ignored = ["gen/other.md", "other.log"].map(|name| (name, LeftOutReason::Ignored));
    assert_eq!(left_out(&options), pairs(&ignored));
    assert_eq!(taken(&options), [".gitignore", "gen/kept.md", "kept.log"]);
    // An index from a stranger does not decide.
    options.rules = Rules { strict: true, ..Rules::default() };
    assert_eq!(taken(&options), [".gitignore"]);
    assert_eq!(left_out(&options)[0], ("gen/".to_owned(), LeftOutReason::Ignored));
}

#[test]
fn attributes_mark_generated_and_vendored_files() {
    let place = repository(&[
        (".gitattributes", "*.pb.rs linguist-generated\nlibs/** linguist-vendored\n"),
        ("a.pb.rs", "x"),
        ("libs/b.rs", "x"),
    ]);
    let expected = [(".gitattributes", "taken"), ("a.pb.rs", "generated"), ("libs/b.rs", "taken")];
    assert_eq!(states(&options(&place, &[])), expected.map(|(path, state)| (path.to_owned(), state)));
}

#[test]
fn changed_files_are_chosen_first_and_printed_last() {
    let place = repository(&[("a.rs", "one a"), ("b.rs", "one b"), ("c.rs", "one c")]);
    assert_eq!(taken(&options(&place, &[])), ["a.rs", "b.rs", "c.rs"]);
    write(place.path(), "b.rs", b"two b");
    write(place.path(), "0.rs", b"new");
    assert_eq!(taken(&options(&place, &[])), ["a.rs", "c.rs", "0.rs", "b.rs"]);
    let small = ContextOptions { max_bytes: Some(8), ..options(&place, &[]) };
    assert_eq!(taken(&small), ["0.rs", "b.rs"]);
    // Focus decides on what fits and leaves the order as it is.
    let focused = ContextOptions { focus: vec!["c.rs".into()], ..small };
    assert_eq!(taken(&focused), ["c.rs", "0.rs"]);
}

#[test]
fn an_edit_changes_only_the_end_of_the_text() {
    let files: Vec<(String, String)> = (0..30)
        .map(|number| (format!("src/f{number:02}.rs"), format!("fn f{number}() {{}}\n").repeat(20)))
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let place = repository(&files);
    write(place.path(), "src/f07.rs", b"fn changed() {}\n");
    let text = || pack(&options(&place, &[])).expect("packs").text;
    let before = text();
    write(place.path(), "src/f07.rs", b"fn changed_again() {}\n");
    let after = text();
    let common = before.bytes().zip(after.bytes()).take_while(|(one, other)| one == other).count();
    let tail = before.find("// File: src/f07.rs").expect("is in");
    assert!(common >= tail && tail * 10 > before.len() * 9, "{common} of {}", before.len());
}

#[test]
fn files_that_change_often_come_first() {
    let place = repository(&[("a.rs", "a"), ("b.rs", "b"), ("README.md", "r"), ("doc/x.md", "x")]);
    for number in 0..3 {
        write(place.path(), "b.rs", format!("{number}").as_bytes());
        write(place.path(), "doc/x.md", format!("{number}").as_bytes());
        commit(place.path(), "Again");
    }
    let first = |count: usize| {
        let tokens = Tokens { max: None, ..Tokens::default() };
        taken(&ContextOptions { max_files: Some(count), tokens, ..options(&place, &[]) })
    };
    assert_eq!(first(1), ["b.rs"]);
    assert_eq!(first(2), ["README.md", "b.rs"]);
    assert_eq!(first(3), ["README.md", "a.rs", "b.rs"]);
}

#[test]
fn a_work_tree_and_a_shallow_clone_have_a_history() {
    let place = repository(&[("a.rs", "a"), ("b.rs", "b")]);
    let work = tempfile::tempdir().expect("a directory");
    let path = work.path().join("tree");
    git(place.path(), &["worktree", "add", "--quiet", path.to_str().expect("is text")]);
    fs::write(path.join("a.rs"), "changed").expect("written");
    let tree = ContextOptions::new(&path);
    assert_eq!(taken(&tree), ["b.rs", "a.rs"]);
    assert_eq!(left_out(&tree), []);
    let origin = format!("file://{}", place.path().display());
    let clone = work.path().join("clone");
    git(work.path(), &["clone", "--quiet", "--depth=1", &origin, clone.to_str().expect("is text")]);
    fs::write(clone.join("a.rs"), "changed").expect("written");
    let report = pack(&ContextOptions::new(&clone)).expect("packs").report;
    assert_eq!(report.notices, [], "git answers");
    assert_eq!(taken(&ContextOptions::new(&clone)), ["b.rs", "a.rs"]);
}

#[test]
fn a_broken_repository_is_a_notice_and_packing_goes_on() {
    let place = repository(&[("a.rs", "a")]);
    fs::remove_dir_all(place.path().join(".git/objects")).expect("removed");
    let packed = pack(&options(&place, &[])).expect("packs");
    assert_eq!(packed.files.len(), 1);
    let notices = &packed.report.notices;
    assert!(notices.len() == 1 && notices[0].about == "git", "{notices:?}");
}

#[test]
fn every_tracked_text_has_a_line_and_most_tokens_are_source() {
    let source =
        |number: usize| format!("fn function_{number}(value: u64) -> u64 {{\n    value + {number}\n}}\n");
    let mut files: Vec<(String, String)> = (0..120)
        .map(|number| (format!("crates/c{}/src/m{number}.rs", number % 9), source(number).repeat(40)))
        .collect();
    files.push(("CHANGELOG.md".into(), "- Something changed for somebody.\n".repeat(3000)));
    files.push(("docs/guide.md".into(), "A long story about the program. ".repeat(2000)));
    files.push(("Cargo.lock".into(), "[[package]]\nname = \"x\"\nversion = \"1.0.0\"\n".repeat(2000)));
    files.push(("README.md".into(), "# Project\n\nWhat it does.\n".repeat(30)));
    files.push(("Cargo.toml".into(), "[workspace]\nmembers = [\"crates/*\"]\n".into()));
    files.push(("kernels/k.cu".into(), "__global__ void k() {}\n".repeat(20)));
    files.push(("tools/run".into(), "#!/usr/bin/env python3\nprint(1)\n".into()));
    files.push(("build/tool.py".into(), "print(2)\n".into()));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let place = repository(&files);
    let report = pack(&ContextOptions {
        tokens: Tokens { max: Some(40_000), ..Tokens::default() },
        ..options(&place, &[])
    })
    .expect("packs")
    .report;
    for (path, _) in &files {
        assert_eq!(report.entries.iter().filter(|entry| entry.path == *path).count(), 1, "{path}");
    }
    let packed = report.entries.iter().filter(|entry| entry.is_packed());
    let (mut source, mut all) = (0, 0);
    for entry in packed {
        let tokens = entry.tokens.expect("is counted");
        all += tokens;
        source += if entry.path.ends_with(".md") { 0 } else { tokens };
        assert!(!entry.path.ends_with(".lock"), "{entry:?}");
    }
    assert!(all > 30_000 && source * 10 >= all * 9, "{source} of {all}");
}
