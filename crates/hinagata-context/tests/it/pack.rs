//! Packs real directory trees.

use std::{fs, path::Path};

use hinagata_context::{
    ContextOptions, Frame, LeftOutReason, Packer, Resource, ResourceKind, Rules, Tokens, pack,
};
use tempfile::TempDir;

fn tree(files: &[(&str, &str)]) -> TempDir {
    let place = tempfile::tempdir().expect("a temporary directory");
    for (name, content) in files {
        write(place.path(), name, content.as_bytes());
    }
    place
}

fn write(root: &Path, name: &str, content: &[u8]) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("has one")).expect("made");
    fs::write(path, content).expect("written");
}

fn options(place: &TempDir, include: &[&str]) -> ContextOptions {
    let include = include.iter().map(|&pattern| pattern.to_owned()).collect();
    ContextOptions { include, max_files: usize::MAX, ..ContextOptions::new(place.path()) }
}

fn taken(options: &ContextOptions) -> Vec<String> {
    pack(options).expect("packs").files.into_iter().map(|file| file.path).collect()
}

fn left_out(options: &ContextOptions) -> Vec<(String, LeftOutReason)> {
    let entries = pack(options).expect("packs").report.entries;
    entries.into_iter().filter_map(|entry| Some((entry.path, entry.reason?))).collect()
}

fn pairs(expected: &[(&str, LeftOutReason)]) -> Vec<(String, LeftOutReason)> {
    expected.iter().map(|(path, reason)| ((*path).to_owned(), *reason)).collect()
}

#[test]
fn ignore_files_leave_out_and_are_reported() {
    let place = tree(&[
        (".gitignore", "*.log\nbig/\n!keep.log\n"),
        ("a.md", "a"),
        ("a.log", "l"),
        ("keep.log", "k"),
        ("big/x.md", "x"),
        ("sub/.ignore", "secret.md\n/only.md\n"),
        ("sub/secret.md", "s"),
        ("sub/only.md", "o"),
        ("sub/deep/only.md", "o"),
        (".hinagataignore", "b.md\n"),
        ("b.md", "b"),
    ]);
    let mut options = options(&place, &["**/*.{md,log}"]);
    assert_eq!(taken(&options), ["a.md", "keep.log", "sub/deep/only.md"]);
    assert_eq!(
        left_out(&options),
        pairs(&[
            ("a.log", LeftOutReason::Ignored),
            ("b.md", LeftOutReason::Ignored),
            ("big/", LeftOutReason::Ignored),
            ("sub/only.md", LeftOutReason::Ignored),
            ("sub/secret.md", LeftOutReason::Ignored),
        ])
    );
    options.rules.ignore_files = false;
    assert_eq!(taken(&options).len(), 8);
}

#[test]
fn a_directory_that_is_left_out_is_not_walked_when_a_pattern_starts_there() {
    let place = tree(&[("temp/a.md", "a"), ("gen/b.md", "b"), ("gen/deep/c.md", "c")]);
    let options =
        ContextOptions { exclude: vec!["gen/**".into()], ..options(&place, &["temp/*.md", "gen/deep/*.md"]) };
    assert_eq!(
        left_out(&options),
        pairs(&[("temp/", LeftOutReason::Excluded), ("gen/deep/", LeftOutReason::Excluded)])
    );
}

#[test]
fn a_plain_path_is_packed_although_it_is_ignored() {
    let place = tree(&[(".gitignore", "gen/\n"), ("gen/a.md", "a"), ("gen/b.md", "b")]);
    assert_eq!(taken(&options(&place, &["gen/a.md", "**/*.md"])), ["gen/a.md"]);
}

#[test]
fn ignore_files_above_the_base_count_within_a_repository() {
    let place = tree(&[
        (".gitignore", "*.tmp.md\n"),
        ("ws/a.tmp.md", "a"),
        ("ws/b.md", "b"),
        ("ws/in/c.tmp.md", "c"),
    ]);
    let inner =
        ContextOptions { include: vec!["**/*.md".into()], ..ContextOptions::new(place.path().join("ws")) };
    assert_eq!(taken(&inner).len(), 3, "no repository");
    fs::create_dir(place.path().join(".git")).expect("made");
    assert_eq!(taken(&inner), ["b.md"]);
    // A walk that starts deeper applies the ignore files of its parents, too.
    let deeper = ContextOptions { include: vec!["in/*.md".into()], ..inner };
    assert_eq!(taken(&deeper), Vec::<String>::new());
}

#[test]
fn secrets_are_left_out_with_the_rule_that_found_them() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let place = tree(&[
        (".env", "A=1"),
        (".env.example", "A="),
        ("id_rsa", "x"),
        ("a.md", &format!("token: {token}\n")),
        ("b.md", "no token\n"),
    ]);
    let mut options = options(&place, &["**/*"]);
    assert_eq!(taken(&options), [".env.example", "b.md"]);
    let report = pack(&options).expect("packs").report;
    let details: Vec<_> = report.entries.iter().filter_map(|entry| entry.detail.as_deref()).collect();
    assert_eq!(details, ["environment-file", "github-token", "ssh-private-key"]);
    options.rules = Rules::compat();
    assert_eq!(taken(&options).len(), 5);
}

#[test]
fn binary_files_are_left_out_and_other_bytes_are_replaced() {
    let place = tree(&[]);
    write(place.path(), "a.txt", b"text\0more");
    write(place.path(), "late.txt", &[vec![b'x'; 8192], vec![0]].concat());
    write(place.path(), "latin.txt", b"caf\xe9");
    write(place.path(), "large.txt", &[vec![0_u8; 4], vec![b'x'; 300 << 10]].concat());
    let options = ContextOptions { max_bytes: 1 << 20, ..options(&place, &["*.txt"]) };
    assert_eq!(taken(&options), ["late.txt", "latin.txt"]);
    assert_eq!(
        left_out(&options),
        pairs(&[("a.txt", LeftOutReason::Binary), ("large.txt", LeftOutReason::Binary)])
    );
    assert_eq!(pack(&options).expect("packs").files[1].content, "caf\u{fffd}");
}

#[test]
fn the_budget_in_tokens_says_what_did_not_fit() {
    let place = tree(&[("a.md", &"a".repeat(400)), ("b.md", &"b".repeat(4000)), ("c.md", "c")]);
    let tokens = Tokens { max: Some(300), ..Tokens::default() };
    let packed = pack(&ContextOptions { tokens, ..options(&place, &["*.md"]) }).expect("packs");
    let paths: Vec<_> = packed.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a.md", "c.md"]);
    let report = &packed.report;
    assert_eq!(report.tokens_estimated, Some(true));
    assert!(report.total_tokens.is_some_and(|total| total > 100 && total <= 300), "{report:?}");
    let dropped = report.entries.iter().find(|entry| entry.path == "b.md").expect("is reported");
    assert_eq!(dropped.reason, Some(LeftOutReason::Budget));
    assert!(dropped.detail.as_deref().is_some_and(|detail| detail.contains("tokens")), "{dropped:?}");
}

#[test]
fn focus_and_priorities_decide_on_what_fits() {
    let place = tree(&[("a.md", "aaaa"), ("src/b.rs", "bbbb"), ("src/auth/c.rs", "cccc")]);
    let options = ContextOptions {
        focus: vec!["src/auth".into()],
        priorities: vec![("*.rs".into(), 1.0)],
        max_bytes: 8,
        ..options(&place, &["**/*"])
    };
    assert_eq!(taken(&options), ["src/auth/c.rs", "src/b.rs"]);
    assert_eq!(left_out(&options), pairs(&[("a.md", LeftOutReason::Budget)]));
}

#[cfg(unix)]
#[test]
fn links_that_lead_in_circles_end() {
    use std::os::unix::fs::symlink;
    let place = tree(&[("a/x.md", "x"), ("b/y.md", "y")]);
    symlink("..", place.path().join("a/up")).expect("linked");
    symlink("../b", place.path().join("a/b")).expect("linked");
    symlink("../a", place.path().join("b/a")).expect("linked");
    let found = taken(&options(&place, &["**/*.md"]));
    assert_eq!(found, ["a/x.md", "b/y.md", "a/b/y.md", "b/a/x.md"]);
    let left = left_out(&options(&place, &["**/*.md"]));
    assert!(left.contains(&("a/up/".to_owned(), LeftOutReason::Unreadable)), "{left:?}");
}

#[cfg(unix)]
#[test]
fn broken_links_are_reported_and_special_files_are_left_out() {
    use std::os::unix::fs::symlink;
    let place = tree(&[("a.md", "a")]);
    symlink("nowhere", place.path().join("b.md")).expect("linked");
    let socket = std::os::unix::net::UnixListener::bind(place.path().join("c.md")).expect("bound");
    assert_eq!(taken(&options(&place, &["*.md", "c.md"])), ["a.md"]);
    assert_eq!(left_out(&options(&place, &["*.md"])), pairs(&[("b.md", LeftOutReason::Unreadable)]));
    drop(socket);
}

#[cfg(unix)]
#[test]
fn links_that_lead_out_of_the_base_are_left_out_and_reported() {
    use std::os::unix::fs::symlink;
    let place = tree(&[
        ("base/a.md", "a"),
        ("base/in/b.md", "b"),
        ("other/secret.md", "s"),
        ("other/more/deep.md", "d"),
        ("based/x.md", "x"),
    ]);
    let base = place.path().join("base");
    for (to, link) in [
        ("../other/secret.md", "out.md"),
        ("../other/more", "dir"),
        ("../based", "beside"),
        ("in", "inner"),
        ("in/b.md", "c.md"),
    ] {
        symlink(to, base.join(link)).expect("linked");
    }
    let packing = |include: &[&str], rules: Rules| ContextOptions {
        base: base.clone(),
        rules,
        ..options(&place, include)
    };
    let usual = packing(&["**/*.md"], Rules::default());
    assert_eq!(taken(&usual), ["a.md", "c.md", "in/b.md", "inner/b.md"]);
    let mut left = left_out(&usual);
    left.sort_by(|one, other| one.0.cmp(&other.0));
    assert_eq!(
        left,
        pairs(&[
            ("beside/", LeftOutReason::Outside),
            ("dir/", LeftOutReason::Outside),
            ("out.md", LeftOutReason::Outside)
        ])
    );
    // Named explicitly, and as directories to walk.
    let named = packing(&["out.md", "dir/deep.md", "dir/*.md", "c.md"], Rules::default());
    assert_eq!(taken(&named), ["c.md"]);
    assert_eq!(
        left_out(&named),
        pairs(&[
            ("out.md", LeftOutReason::Outside),
            ("dir/deep.md", LeftOutReason::Outside),
            ("dir/", LeftOutReason::Outside)
        ])
    );
    // Files outside can be named explicitly, but links from there are not followed.
    symlink("../base/a.md", place.path().join("other/back.md")).expect("linked");
    let outside = packing(&["../other/*.md"], Rules::default());
    assert_eq!(taken(&outside), ["../other/secret.md"]);
    assert_eq!(left_out(&outside), pairs(&[("../other/back.md", LeftOutReason::Outside)]));
    let compat = packing(&["**/*.md"], Rules::compat());
    assert_eq!(taken(&compat).len(), 7);
}

#[cfg(unix)]
#[test]
fn names_that_are_not_utf8_are_packed_with_replacement_characters() {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _};
    let place = tree(&[]);
    fs::write(place.path().join(OsStr::from_bytes(b"a\xff.md")), "odd").expect("written");
    let packed = pack(&options(&place, &["*.md"])).expect("packs");
    assert_eq!((packed.files[0].path.as_str(), packed.files[0].content.as_str()), ("a\u{fffd}.md", "odd"));
}

#[test]
fn patterns_that_match_nothing_are_reported() {
    let place = tree(&[("a.md", "a")]);
    let report = pack(&options(&place, &["*.md", "*.rs", "none.md", "docs/**"])).expect("packs").report;
    assert_eq!(report.unmatched, ["none.md", "*.rs", "docs/**"]);
}

#[test]
fn a_missing_base_packs_nothing() {
    let packed = pack(&ContextOptions::new("no/such/directory")).expect("packs");
    assert!(packed.files.is_empty() && packed.text.is_empty());
}

#[test]
fn broken_patterns_are_errors() {
    let place = tree(&[("a.md", "a")]);
    for pattern in ["a[", "@(a|@(b)", "**/[z-a]"] {
        assert!(pack(&options(&place, &[pattern])).is_err(), "{pattern}");
        assert!(pack(&ContextOptions { exclude: vec![pattern.into()], ..options(&place, &["*"]) }).is_err());
    }
}

#[test]
fn many_files_keep_their_order_and_both_ways_write_the_same() {
    let place = tempfile::tempdir().expect("a temporary directory");
    for number in 0..700 {
        let content = format!("{number}\n").repeat(number % 50);
        write(place.path(), &format!("d{}/f{number:04}.txt", number % 20), content.as_bytes());
    }
    let bundle = Resource {
        id: "b".into(),
        name: None,
        description: Some("some".into()),
        kind: ResourceKind::Bundle {
            include: vec!["d1/*".into()],
            exclude: Vec::new(),
            base: None,
            virtual_path: Some("v".into()),
        },
    };
    for frame in Frame::ALL {
        let options = ContextOptions {
            frame,
            max_bytes: 60_000,
            resources: vec![bundle.clone()],
            ..options(&place, &["**/*.txt"])
        };
        let packed = pack(&options).expect("packs");
        let mut written = Vec::new();
        let report = Packer::new(&options).write_to(&mut written).expect("writes");
        assert!(packed.text.as_bytes() == written, "both write the same");
        assert!(report.entries == packed.report.entries, "both report the same");
        let again = pack(&options).expect("packs");
        assert_eq!(again.text, packed.text);
        assert_eq!(packed.total_bytes, packed.report.total_bytes);
        assert!(packed.total_bytes <= 60_000 && packed.report.count(LeftOutReason::Budget) > 0);
    }
}

#[test]
fn a_writer_that_fails_ends_the_work() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let place = tempfile::tempdir().expect("a temporary directory");
    for number in 0..300 {
        write(place.path(), &format!("f{number}.txt"), b"x");
    }
    let options = options(&place, &["*.txt"]);
    assert!(Packer::new(&options).write_to(&mut Full).is_err());
}
