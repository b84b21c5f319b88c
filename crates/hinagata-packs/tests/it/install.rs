//! Packs from untrusted sources, valid and damaged.

#![cfg(feature = "archives")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::support::{
    Workspace,
    archive::{Entry, Member, gzip, tar, tar_gz, zip},
    now,
};
use hinagata::{Approval, Code, Error, PackLimits, Reason};
use hinagata_packs::{InstallOptions, InstalledPack, ReplacedPack};

const MANIFEST: &str = r#"{"pack_id": "new", "version": "1.0.0"}"#;

/// Writes the source of an installation beside the workspace.
fn source(workspace: &Workspace, bytes: &[u8]) -> PathBuf {
    let path = workspace.place().join("source");
    fs::write(&path, bytes).expect("written");
    path
}

fn install(workspace: &Workspace, bytes: &[u8]) -> Result<InstalledPack, Error> {
    workspace.packs().install(&source(workspace, bytes), &InstallOptions::default())
}

/// Why `bytes` are not installed. Nothing of them may remain.
fn reason(bytes: &[u8]) -> String {
    reason_with(bytes, PackLimits::DEFAULT)
}

fn reason_with(bytes: &[u8], limits: PackLimits) -> String {
    let workspace = Workspace::new(&[]);
    let options = InstallOptions { limits, ..InstallOptions::default() };
    let error = workspace.packs().install(&source(&workspace, bytes), &options).expect_err("is refused");
    assert_eq!(error.code(), Code::Definition, "{error:?}");
    assert!(error.hint().is_some(), "{error:?}");
    assert_eq!(names(&workspace.path("user_data/packs")), [".packs.lock"], "{error:?}");
    assert_eq!(names(workspace.place()), ["source", "workspace"], "{error:?}");
    error.reason().map_or("", Reason::as_str).to_owned()
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("is there");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("readable").file_name().into_string().expect("is text")).collect();
    names.sort();
    names
}

#[test]
fn a_pack_is_installed_from_a_directory_and_from_every_archive() {
    let files = [
        ("pack.json", MANIFEST),
        ("prompts/hello/template.md", "hello"),
        ("prompts/hello/__pycache__/x.pyc", "code"),
        (".git/config", "theirs"),
        ("README.md", ""),
    ];
    let inside: Vec<(String, &str)> =
        files.iter().map(|(name, text)| (format!("new-1.0/{name}"), *text)).collect();
    let inside: Vec<(&str, &str)> = inside.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let entries = |files: &[(&'static str, &'static str)]| {
        let entry = |(name, text): &(&'static str, &'static str)| Entry::file(name, text.as_bytes());
        zip(&files.iter().map(entry).collect::<Vec<_>>())
    };
    let with_dots: Vec<(String, &str)> =
        files.iter().map(|(name, text)| (format!("./{name}"), *text)).collect();
    let with_dots: Vec<(&str, &str)> = with_dots.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    for bytes in [tar_gz(&files), tar_gz(&inside), tar_gz(&with_dots), entries(&files)] {
        let workspace = Workspace::new(&[]);
        let installed = install(&workspace, &bytes).expect("installs");
        check(&workspace, &installed);
    }
    let workspace = Workspace::new(&[]);
    for (name, text) in files {
        workspace.write(&format!("elsewhere/{name}"), text);
    }
    let from = workspace.path("elsewhere");
    let installed = workspace.packs().install(&from, &InstallOptions::default()).expect("installs");
    check(&workspace, &installed);
}

fn check(workspace: &Workspace, installed: &InstalledPack) {
    assert_eq!((installed.pack.summary.pack_id.as_str(), &installed.replaced), ("new", &None));
    assert_eq!(installed.pack.summary.state, Approval::Pending);
    assert_eq!(installed.pack.prompts[0].prompt_id.as_str(), "hello");
    let pack = workspace.path("user_data/packs/new");
    assert_eq!(names(&pack), ["README.md", "pack.json", "prompts"]);
    assert_eq!(names(&pack.join("prompts/hello")), ["template.md"]);
    assert_eq!(fs::read_to_string(pack.join("prompts/hello/template.md")).expect("is there"), "hello");
    assert_eq!(names(&workspace.path("user_data/packs")), [".packs.lock", "new"]);
    assert!(workspace.catalog().choose("hello").is_err(), "nothing of it is used");
    workspace.approve("new");
    assert!(workspace.catalog().choose("hello").is_ok());
}

#[test]
fn nothing_leads_out_of_a_pack() {
    for name in ["../x", "a/../../x", "a/..", "/etc/x", "\\x", "C:x", "..\\x", "a\\..\\..\\x"] {
        let bytes = tar_gz(&[("pack.json", MANIFEST), (name, "x")]);
        assert_eq!(reason(&bytes), "outside", "{name}");
        let bytes = zip(&[Entry::file("pack.json", MANIFEST.as_bytes()), Entry::file(name, b"x")]);
        assert_eq!(reason(&bytes), "outside", "{name}");
    }
    // The checked name is the name that is used.
    let cloaked = Entry { local_name: Some(b"../../x"), ..Entry::file("a/b/cde", b"x") };
    assert_eq!(reason(&zip(&[Entry::file("pack.json", MANIFEST.as_bytes()), cloaked])), "archive");
}

#[test]
fn names_that_are_invalid_on_some_system_are_refused() {
    for name in ["a\\b", "ab:c", "nul", "a/COM1.txt", "x.", "x ", "a//b", "a/./b", "a\nb", "", "./", "a/?"] {
        let bytes = zip(&[Entry::file("pack.json", MANIFEST.as_bytes()), Entry::file(name, b"x")]);
        assert_eq!(reason(&bytes), "name", "{name:?}");
    }
    let long = "x".repeat(300);
    assert_eq!(reason(&zip(&[Entry::file(&long, b"x")])), "name");
    let bytes = gzip(&tar(&[Member { name: b"no\xfftext", ..Member::file("", "x") }]));
    assert_eq!(reason(&bytes), "name");
    assert_eq!(reason(&zip(&[Entry { name: b"no\xfftext", flags: 0, ..Entry::file("", b"x") }])), "name");
}

#[test]
fn links_and_devices_are_refused() {
    for (kind, wanted) in
        [(b'1', "link"), (b'2', "link"), (b'3', "special"), (b'4', "special"), (b'6', "special")]
    {
        let member = Member { kind, link: b"/etc/passwd", ..Member::file("x", "") };
        let bytes = gzip(&tar(&[Member::file("pack.json", MANIFEST), member]));
        assert_eq!(reason(&bytes), wanted, "{}", char::from(kind));
    }
    for (mode, wanted) in
        [(0o120_777, "link"), (0o010_644, "special"), (0o020_644, "special"), (0o140_644, "special")]
    {
        let entry = Entry { mode, ..Entry::file("x", b"/etc/passwd") };
        assert_eq!(reason(&zip(&[entry])), wanted, "{mode:o}");
    }
    #[cfg(unix)]
    {
        let workspace = Workspace::new(&[("elsewhere/pack.json", MANIFEST)]);
        let from = workspace.path("elsewhere");
        std::os::unix::fs::symlink("/etc/passwd", from.join("x")).expect("linked");
        let mut packs = workspace.packs();
        let error = packs.install(&from, &InstallOptions::default()).expect_err("is refused");
        assert_eq!(error.reason(), Some(Reason::Link));
        fs::remove_file(from.join("x")).expect("removed");
        assert!(
            std::process::Command::new("mkfifo").arg(from.join("x")).status().expect("is there").success()
        );
        let error = packs.install(&from, &InstallOptions::default()).expect_err("is refused");
        assert_eq!(error.reason(), Some(Reason::Special));
    }
}

#[test]
fn names_that_are_equal_on_some_system_are_refused() {
    let doubles = [
        ["a", "a"],
        ["a", "A"],
        ["caf\u{e9}", "cafe\u{301}"],
        ["a/b", "A/c"],
        ["a", "a/b"],
        ["a/b", "a"],
        ["ﬁ", "fi"],
    ];
    for [one, two] in doubles {
        assert_eq!(reason(&tar_gz(&[(one, "x"), (two, "y")])), "duplicate", "{one} {two}");
        let bytes = zip(&[Entry::file(one, b"x"), Entry::file(two, b"y")]);
        assert_eq!(reason(&bytes), "duplicate", "{one} {two}");
    }
}

#[test]
fn archive_bombs_are_stopped_while_they_unpack() {
    let zeros = vec![0; 40 << 20];
    let limits = PackLimits::DEFAULT;
    let member = Member { content: &zeros, ..Member::file("x", "") };
    let bytes = gzip(&tar(&[member]));
    assert!(bytes.len() < 1 << 20, "{}", bytes.len());
    assert_eq!(reason(&bytes), "size", "one file is too large");
    assert_eq!(reason(&zip(&[Entry::file("x", &zeros)])), "size");
    // A header with a smaller size does not help.
    let lying = Entry { size: Some(1), ..Entry::file("x", &zeros) };
    assert!(["size", "archive"].contains(&reason(&zip(&[lying])).as_str()));
    // Many files that are large together.
    let part = &zeros[..1 << 20];
    let parts: Vec<String> = (0..9).map(|number| format!("x{number}")).collect();
    let limits = PackLimits { total: 8 << 20, ..limits };
    let members: Vec<Member<'_>> =
        parts.iter().map(|name| Member { content: part, ..Member::file(name, "") }).collect();
    assert_eq!(reason_with(&gzip(&tar(&members)), limits), "size");
    let entries: Vec<Entry<'_>> = parts.iter().map(|name| Entry::file(name, part)).collect();
    assert_eq!(reason_with(&zip(&entries), limits), "size");
    assert_eq!(reason_with(&gzip(&tar(&members[..8])), limits), "no_manifest", "eight fit");
    // Skipped members and headers count, too.
    let hidden: Vec<String> = parts.iter().map(|name| format!(".git/{name}")).collect();
    let members: Vec<Member<'_>> =
        hidden.iter().map(|name| Member { content: part, ..Member::file(name, "") }).collect();
    assert_eq!(reason_with(&gzip(&tar(&members)), limits), "size");
    let limits = PackLimits { entries: 10, ..limits };
    let name = Member { kind: b'L', content: &zeros, ..Member::file("x", "") };
    assert_eq!(reason_with(&gzip(&tar(&[name, Member::file("x", "")])), limits), "size");
    let mut after = tar(&[Member::file("x", "")]);
    after.resize(20 << 20, 0);
    assert_eq!(reason_with(&gzip(&after), limits), "size", "after the end");
    let limits = PackLimits { archive: 100, ..limits };
    assert_eq!(reason_with(&gzip(&after), limits), "size", "the archive itself");
}

#[test]
fn many_files_and_deep_ones_are_refused() {
    let limits = PackLimits { entries: 50, ..PackLimits::DEFAULT };
    let many: Vec<String> = (0..51).map(|number| format!("{number}")).collect();
    let files: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "")).collect();
    let entries: Vec<Entry<'_>> = many.iter().map(|name| Entry::file(name, b"")).collect();
    assert_eq!(reason_with(&tar_gz(&files), limits), "count");
    assert_eq!(reason_with(&zip(&entries), limits), "count");
    assert_eq!(reason_with(&tar_gz(&files[..50]), limits), "no_manifest");
    // Directories and skipped members count, too.
    let directories: Vec<Member<'_>> =
        files.iter().map(|(name, _)| Member { kind: b'5', ..Member::file(name, "") }).collect();
    assert_eq!(reason_with(&gzip(&tar(&directories)), limits), "count");
    let comments: Vec<Member<'_>> =
        files.iter().map(|_| Member { kind: b'g', ..Member::file("pax", "") }).collect();
    assert_eq!(reason_with(&gzip(&tar(&comments)), limits), "count");
    let deep = format!("{}x", "a/".repeat(17));
    assert_eq!(reason(&tar_gz(&[(&deep, "")])), "depth");
    assert_eq!(reason(&tar_gz(&[(&deep[2..], "")])), "no_manifest");
}

#[test]
fn damaged_archives_and_other_files_are_refused() {
    for bytes in [&b""[..], b"P", b"no archive", b"\x1f\x8b", b"PK\x03\x04", b"PK\x05\x06", &[0x1f; 600]] {
        assert_eq!(reason(bytes), "archive", "{bytes:?}");
    }
    assert_eq!(reason(&gzip(b"no tar")), "archive");
    assert_eq!(reason(&gzip(&[1; 2_000])), "archive");
    assert_eq!(reason(&gzip(b"")), "no_manifest");
    let whole = [("pack.json", MANIFEST), ("prompts/a/template.md", "some text that is longer than nothing")];
    let tar = tar_gz(&whole);
    for end in 0..tar.len() {
        assert_eq!(reason(&tar[..end]), "archive", "{end}");
    }
    let zipped = zip(&whole.map(|(name, text)| Entry::file(name, text.as_bytes())));
    for end in 0..zipped.len() {
        assert_eq!(reason(&zipped[..end]), "archive", "{end}");
    }
    let member = Member { size: Some(1 << 32), ..Member::file("x", "") };
    assert_eq!(reason(&gzip(&crate::support::archive::tar(&[member]))), "archive");
    let encrypted = Entry { flags: 1, ..Entry::file("x", b"x") };
    assert_eq!(reason(&zip(&[encrypted])), "archive");
    let packed = Entry { method: 12, ..Entry::file("x", b"x") };
    assert_eq!(reason(&zip(&[packed])), "archive");
}

#[test]
fn damaged_bytes_never_install_something_else() {
    let whole = [("pack.json", MANIFEST), ("prompts/a/template.md", "some text that is longer than nothing")];
    for archive in [tar_gz(&whole), zip(&whole.map(|(name, text)| Entry::file(name, text.as_bytes())))] {
        for at in 0..archive.len() {
            let mut bytes = archive.clone();
            bytes[at] ^= 0x20;
            let workspace = Workspace::new(&[]);
            // Unused bytes may differ, but not the unpacked files.
            if install(&workspace, &bytes).is_ok() {
                for (name, text) in whole {
                    assert_eq!(workspace.read(&format!("user_data/packs/new/{name}")), text, "{at}");
                }
            }
        }
    }
}

#[test]
fn only_a_pack_is_installed() {
    assert_eq!(reason(&tar_gz(&[("prompts/a/template.md", "x")])), "no_manifest");
    assert_eq!(reason(&tar_gz(&[("a/pack.json", MANIFEST), ("b/x", "")])), "no_manifest");
    assert_eq!(reason(&tar_gz(&[("a/b/pack.json", MANIFEST)])), "no_manifest");
    assert_eq!(reason(&tar_gz(&[("pack.json", "{")])), "syntax");
    assert_eq!(reason(&tar_gz(&[("pack.json", "{}")])), "pack_id");
    for id in ["..", "../x", ".x", "a/b", "", "nul", "a b"] {
        let manifest = serde_json::json!({"pack_id": id}).to_string();
        assert_eq!(reason(&tar_gz(&[("pack.json", &manifest)])), "pack_id", "{id}");
    }
    let workspace = Workspace::new(&[]);
    let install = |path: &Path| workspace.packs().install(path, &InstallOptions::default());
    let error = install(&workspace.path("nothing")).expect_err("is not there");
    assert_eq!(error.code(), Code::NotFound);
    let error = install(&workspace.root()).expect_err("holds itself");
    assert_eq!(error.reason(), Some(Reason::Outside));
}

#[test]
fn a_pack_is_replaced_only_when_asked_and_has_to_be_approved_again() {
    let workspace = Workspace::new(&[]);
    install(&workspace, &tar_gz(&[("pack.json", MANIFEST), ("prompts/a/template.md", "one")]))
        .expect("installs");
    workspace.approve("new");
    let second = r#"{"pack_id": "new", "version": "2.0.0"}"#;
    let bytes = tar_gz(&[("pack.json", second), ("prompts/b/template.md", "two")]);
    let error = install(&workspace, &bytes).expect_err("is there already");
    assert_eq!((error.code(), error.reason()), (Code::Conflict, Some(Reason::Installed)));
    assert_eq!(workspace.read("user_data/packs/new/prompts/a/template.md"), "one");
    assert_eq!(workspace.packs().list()[0].state, Approval::Approved);
    let replace = InstallOptions { replace: true, ..InstallOptions::default() };
    let broken = source(&workspace, &bytes[..bytes.len() - 4]);
    assert!(workspace.packs().install(&broken, &replace).is_err());
    assert_eq!(
        workspace.packs().list()[0].state,
        Approval::Approved,
        "the old one stays until the new one is whole"
    );
    let installed = workspace.packs().install(&source(&workspace, &bytes), &replace).expect("installs");
    assert_eq!(installed.replaced, Some(ReplacedPack { version: Some("1.0.0".into()) }));
    assert_eq!(installed.pack.summary.state, Approval::Modified);
    assert_eq!(names(&workspace.path("user_data/packs/new/prompts")), ["b"]);
    let verified = workspace.packs().verify("new").expect("is there");
    let versions = (verified.version.as_str(), verified.approved_version.as_deref());
    assert_eq!((versions, verified.files.len()), (("2.0.0", Some("1.0.0")), 3));
    workspace.packs().reject("new", now()).expect("rejects");
    let installed = workspace.packs().install(&source(&workspace, &bytes), &replace).expect("installs");
    assert_eq!(installed.pack.summary.state, Approval::Pending, "what was rejected is gone");
    workspace.approve("new");
    let installed = workspace.packs().install(&source(&workspace, &bytes), &replace).expect("installs");
    assert_eq!(installed.pack.summary.state, Approval::Approved, "the same bytes are approved");
    assert_eq!(names(&workspace.path("user_data/packs")), [".packs.lock", "new"]);
}
