//! Packs real directory trees.

use std::fs;

use hinagata_context::{
    ContextOptions, Frame, LeftOutReason, Packer, Resource, ResourceKind, Rules, SecretAction, TextForm,
    Tokens, pack,
};

use crate::support::{left_out, options, pairs, states, taken, tree, write};

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
        pairs(&[("gen/deep/", LeftOutReason::Excluded), ("temp/", LeftOutReason::Excluded)])
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
fn secrets_are_redacted_and_files_that_are_secrets_by_name_are_left_out() {
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let place = tree(&[
        (".env", "A=1"),
        (".env.example", "A="),
        ("id_rsa", "x"),
        ("a.md", &format!("token: {token}\n")),
        ("b.md", "no token\n"),
    ]);
    let mut options = options(&place, &["**/*"]);
    assert_eq!(taken(&options), [".env.example", "a.md", "b.md"]);
    let packed = pack(&options).expect("packs");
    let details: Vec<_> = packed
        .report
        .entries
        .iter()
        .filter_map(|entry| entry.detail.as_ref().map(ToString::to_string))
        .collect();
    assert_eq!(details, ["environment-file", "github-token in line 1", "ssh-private-key"]);
    assert!(packed.text.contains("token: «redacted:github-token»\n"), "{}", packed.text);
    assert!(!packed.text.contains(&token), "{}", packed.text);
    assert_eq!(packed.report.redacted.len(), 1, "{:?}", packed.report.redacted);
    options.secrets = options.secrets.with_action(SecretAction::Omit);
    assert_eq!(taken(&options), [".env.example", "b.md"]);
    options.rules = Rules::compat();
    assert_eq!(taken(&options).len(), 5);
}

#[test]
fn a_value_that_one_file_reveals_as_a_secret_is_redacted_in_all_of_them() {
    let value = "kX93-vbQ2-77hR";
    let place = tree(&[
        ("a.rs", &format!("// see {value}\n{}", "fn a() {}\n".repeat(60))),
        ("app.yaml", &format!("url: postgres://app:{value}@db/app\n")),
        ("z.rs", &format!("// {value}\nlet line = \"\";\n")),
    ]);
    for max in [Some(10_000), Some(250)] {
        let tokens = Tokens { max, ..Tokens::default() };
        let packed = pack(&ContextOptions { tokens, ..options(&place, &[]) }).expect("packs");
        assert!(!packed.text.contains(value), "{}", packed.text);
        assert!(packed.text.contains("// «redacted:url-password»\n"), "{}", packed.text);
        let total = packed.report.total_tokens.expect("is counted");
        assert!(max.is_some_and(|max| total <= max), "{total}");
    }
    let states = states(&options(&place, &[]));
    assert!(states.iter().all(|(_, state)| *state == "redacted"), "{states:?}");
}

#[test]
fn a_long_run_is_shortened_after_secrets_in_it_are_redacted() {
    let part = |length: usize| "aB3_".repeat(length / 4);
    let token = format!("eyJhbGciOiJIUzI1NiJ9.eyJ{}.{}", part(400), part(44));
    let place = tree(&[("a.md", &format!("{token}\n"))]);
    let form = TextForm { truncate_base64: true, ..TextForm::default() };
    let text = pack(&ContextOptions { form, ..options(&place, &[]) }).expect("packs").text;
    assert!(text.contains("«redacted:") && !text.contains("eyJ"), "{text}");
}

#[test]
fn binary_files_are_left_out_and_other_encodings_are_named() {
    let place = tree(&[]);
    write(place.path(), "a.txt", b"text\0more");
    write(place.path(), "late.txt", &[vec![b'x'; 8192], vec![0]].concat());
    write(place.path(), "latin.txt", b"un caf\xe9 tr\xe8s serr\xe9");
    write(place.path(), "large.txt", &[vec![0_u8; 4], vec![b'x'; 300 << 10]].concat());
    let utf16: Vec<u8> = "\u{feff}wide".encode_utf16().flat_map(u16::to_be_bytes).collect();
    write(place.path(), "wide.txt", &utf16);
    write(place.path(), "marked.txt", "\u{feff}marked".as_bytes());
    let options = options(&place, &["*.txt"]);
    assert_eq!(taken(&options), ["late.txt", "latin.txt", "marked.txt", "wide.txt"]);
    assert_eq!(
        left_out(&options),
        pairs(&[("a.txt", LeftOutReason::Binary), ("large.txt", LeftOutReason::Binary)])
    );
    let packed = pack(&options).expect("packs");
    let contents: Vec<&str> = packed.files[1..].iter().map(|file| file.content.as_str()).collect();
    assert_eq!(contents, ["un café très serré", "marked", "wide"]);
    let encodings: Vec<_> = packed.report.entries.iter().filter_map(|entry| entry.encoding).collect();
    assert_eq!(encodings, ["windows-1252", "UTF-16BE"]);
}

#[test]
fn a_chosen_encoding_decides_on_files_that_are_not_utf8() {
    let place = tree(&[("utf8.txt", "größe")]);
    write(place.path(), "other.txt", b"\xf0\xd2\xc9\xd7\xc5\xd4");
    let encoding = hinagata_context::TextEncoding::from_name("koi8-r");
    let packed = pack(&ContextOptions { encoding, ..options(&place, &[]) }).expect("packs");
    let contents: Vec<&str> = packed.files.iter().map(|file| file.content.as_str()).collect();
    assert_eq!(contents, ["Привет", "größe"]);
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
            max_bytes: Some(60_000),
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
        let left = packed.report.entries.iter().filter(|entry| !entry.is_packed()).count();
        assert!(packed.total_bytes <= 60_000 && left > 0);
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
