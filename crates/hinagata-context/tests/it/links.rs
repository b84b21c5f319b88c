//! Links, and what is neither a file nor a directory.

#![cfg(unix)]

use std::os::unix::fs::symlink;

use hinagata_context::{ContextOptions, LeftOutReason, Rules, pack};

use crate::support::{left_out, options, pairs, states, taken, tree};

#[test]
fn a_link_to_a_file_that_is_in_is_one_line() {
    let place = tree(&[("a.md", "a"), ("b/c.md", "c")]);
    symlink("a.md", place.path().join("0.md")).expect("linked");
    symlink("../a.md", place.path().join("b/d.md")).expect("linked");
    symlink("b", place.path().join("e")).expect("linked");
    let options = options(&place, &[]);
    assert_eq!(taken(&options), ["a.md", "b/c.md"]);
    assert_eq!(
        left_out(&options),
        pairs(&[
            ("0.md", LeftOutReason::Duplicate),
            ("b/d.md", LeftOutReason::Duplicate),
            ("e/", LeftOutReason::Duplicate)
        ])
    );
    let report = pack(&options).expect("packs").report;
    let details: Vec<_> =
        report.entries.iter().filter_map(|entry| entry.detail.as_ref().map(ToString::to_string)).collect();
    assert_eq!(details, ["a link to `a.md`", "a link to `a.md`", "a link to `b/`"]);
    assert_eq!(report.entries.last().and_then(|entry| entry.files), Some(2));
}

#[test]
fn a_link_to_a_file_that_is_not_in_is_followed_once() {
    let place = tree(&[(".gitignore", "real/\n"), ("real/x.md", "x")]);
    symlink("real", place.path().join("first")).expect("linked");
    symlink("real/x.md", place.path().join("second.md")).expect("linked");
    assert_eq!(
        states(&options(&place, &[])),
        [
            (".gitignore".to_owned(), "taken"),
            ("first/x.md".to_owned(), "duplicate"),
            ("real/".to_owned(), "ignored"),
            ("second.md".to_owned(), "taken"),
        ]
    );
}

#[test]
fn links_that_lead_in_circles_end() {
    let place = tree(&[("a/x.md", "x"), ("b/y.md", "y")]);
    symlink("..", place.path().join("a/up")).expect("linked");
    symlink("../b", place.path().join("a/b")).expect("linked");
    symlink("../a", place.path().join("b/a")).expect("linked");
    assert_eq!(taken(&options(&place, &[])), ["a/x.md", "b/y.md"]);
    assert_eq!(taken(&options(&place, &["**/*.md"])), ["a/x.md", "b/y.md"]);
    let left = left_out(&options(&place, &[]));
    assert!(left.contains(&("a/up/".to_owned(), LeftOutReason::Duplicate)), "{left:?}");
    let followed = ContextOptions { compat: true, rules: Rules::compat(), ..options(&place, &["**/*.md"]) };
    assert_eq!(taken(&followed), ["a/x.md", "b/y.md", "a/b/y.md", "b/a/x.md"]);
}

#[test]
fn broken_links_and_special_files_are_reported_and_never_block() {
    let place = tree(&[("a.md", "a")]);
    symlink("nowhere", place.path().join("b.md")).expect("linked");
    let socket = std::os::unix::net::UnixListener::bind(place.path().join("c.md")).expect("bound");
    let pipe = std::process::Command::new("mkfifo").arg(place.path().join("d.md")).status();
    assert!(pipe.expect("mkfifo runs").success());
    symlink("d.md", place.path().join("e.md")).expect("linked");
    let expected = [
        ("b.md", LeftOutReason::Unreadable),
        ("c.md", LeftOutReason::Special),
        ("d.md", LeftOutReason::Special),
        ("e.md", LeftOutReason::Special),
    ];
    for include in [&[][..], &["*.md"], &["*.md", "c.md", "d.md"]] {
        let options = options(&place, include);
        assert_eq!(taken(&options), ["a.md"], "{include:?}");
        assert_eq!(left_out(&options), pairs(&expected), "{include:?}");
    }
    drop(socket);
}

#[test]
fn links_that_lead_out_of_the_base_are_left_out_and_reported() {
    let place = tree(&[
        ("base/a.md", "a"),
        ("base/in/b.md", "b"),
        ("other/secret.md", "s"),
        ("other/more/deep.md", "d"),
        ("based/x.md", "x"),
    ]);
    let base = place.path().join("base");
    for (to, link) in
        [("../other/secret.md", "out.md"), ("../other/more", "dir"), ("../based", "beside"), ("in", "inner")]
    {
        symlink(to, base.join(link)).expect("linked");
    }
    let packing = |include: &[&str], rules: Rules| ContextOptions {
        base: base.clone(),
        rules,
        ..options(&place, include)
    };
    let outside = [
        ("beside/", LeftOutReason::Outside),
        ("dir/", LeftOutReason::Outside),
        ("out.md", LeftOutReason::Outside),
    ];
    for include in [&[][..], &["**/*.md"]] {
        let usual = packing(include, Rules::default());
        assert_eq!(taken(&usual), ["a.md", "in/b.md"]);
        let mut left = left_out(&usual);
        left.retain(|(_, reason)| *reason != LeftOutReason::Duplicate);
        assert_eq!(left, pairs(&outside));
    }
    // Named explicitly, and as directories to walk.
    let named = packing(&["out.md", "dir/deep.md", "dir/*.md", "dir", "a.md"], Rules::default());
    assert_eq!(taken(&named), ["a.md"]);
    assert_eq!(
        left_out(&named),
        pairs(&[
            ("dir/", LeftOutReason::Outside),
            ("dir/deep.md", LeftOutReason::Outside),
            ("out.md", LeftOutReason::Outside),
        ])
    );
    // Files outside can be named explicitly, but links from there are not followed.
    symlink("../base/a.md", place.path().join("other/back.md")).expect("linked");
    let outside = packing(&["../other/*.md"], Rules::default());
    assert_eq!(taken(&outside), ["../other/secret.md"]);
    assert_eq!(left_out(&outside), pairs(&[("../other/back.md", LeftOutReason::Outside)]));
    let compat = ContextOptions { compat: true, ..packing(&["**/*.md"], Rules::compat()) };
    assert_eq!(taken(&compat).len(), 6);
}
