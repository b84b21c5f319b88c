//! Files with their expected outlines: `tests/outlines/NAME` and `tests/outlines/NAME.outline`.
//!
//! `HINAGATA_UPDATE=1` rewrites the expected outlines; review the diff.

use std::{
    fs,
    path::{Path, PathBuf},
};

use hinagata_context::outline::{Language, OutlineKind, outline_source, outline_text};

use super::kept_lines;

/// The fixtures, without the expected outlines.
pub(super) fn fixtures() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/outlines");
    let files = fs::read_dir(&directory).expect("is a directory");
    let mut files: Vec<_> = files.map(|file| file.expect("is readable").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension != "outline"));
    files.sort();
    files
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).expect("is UTF-8")
}

#[test]
fn files_have_the_expected_outlines() {
    for path in fixtures() {
        let text = fs::read_to_string(&path).expect("is text");
        let outline = outline_text(name(&path), &text);
        kept_lines(&outline, &text);
        let expected = PathBuf::from(format!("{}.outline", path.display()));
        if std::env::var_os("HINAGATA_UPDATE").is_some() {
            fs::write(&expected, outline.to_string()).expect("is writable");
        }
        let expected = fs::read_to_string(&expected).unwrap_or_default();
        assert_eq!(
            outline.to_string(),
            expected,
            "{} differs; if that is intended, set HINAGATA_UPDATE=1",
            name(&path)
        );
    }
}

#[test]
fn every_language_has_a_fixture() {
    let languages: Vec<_> =
        fixtures().iter().filter_map(|path| Language::from_file(name(path), "")).collect();
    for language in Language::all() {
        assert!(languages.contains(&language), "{}", language.name());
    }
}

#[test]
fn languages_are_known_by_file_names_extensions_and_first_lines() {
    let language = |path, text| Language::from_file(path, text).map(Language::name);
    assert_eq!(language("a/lib.RS", ""), Some("Rust"));
    assert_eq!(language("a\\Rakefile", ""), Some("Ruby"));
    assert_eq!(language("a.rs/notes", ""), None);
    assert_eq!(language("run", "#!/usr/bin/env -S python3.12 -u\n"), Some("Python"));
    assert_eq!(language("run", "#!/usr/bin/env LANG=C bash"), Some("shell"));
    assert_eq!(language("run", "#! /usr/local/bin/ruby2.7\n"), Some("Ruby"));
    assert_eq!(language("run", "#!"), None);
    assert_eq!(language("types.d.ts", ""), Some("TypeScript"));
    assert_eq!(Language::from_name("c++").map(Language::name), Some("C++"));
    assert_eq!(Language::from_name("cobol"), None);
}

#[test]
fn a_file_in_an_unknown_language_is_folded() {
    let outline = outline_text("notes.txt", "a\nb\n");
    assert_eq!(outline.kind(), OutlineKind::Unknown);
    assert_eq!(outline.language(), None);
    assert_eq!(outline.to_string(), "⋯ 2 lines\n");
    assert!(outline_text("notes.txt", "").parts().is_empty());
}

#[test]
fn a_bracket_that_does_not_close_is_reported_with_its_line() {
    let rust = Language::from_name("Rust").expect("is known");
    let kind = |text| outline_source(rust, text).kind();
    assert_eq!(kind("mod a {\n    fn b() {\n        c(\n    }\n}\n"), OutlineKind::Outlined);
    assert_eq!(kind("mod a {\n    fn b() {\n    c();\n}\n"), OutlineKind::Cut { line: 1 });
    assert_eq!(kind("mod a {\n    fn b() {\n    c();\n"), OutlineKind::Cut { line: 2 });
    assert_eq!(kind("\nstatic A: &str = \"\n;\n"), OutlineKind::Cut { line: 2 });
    assert_eq!(kind("/* a\n"), OutlineKind::Cut { line: 1 });
}

#[test]
fn line_ends_and_the_byte_order_mark_stay_as_they_are() {
    let text = "\u{feff}fn a() {\r\n    b();\r\n    c();\r\n    d();\r\n}";
    assert_eq!(outline_text("a.rs", text).to_string(), "\u{feff}fn a() {\r\n    ⋯ 3 lines\n}");
}

#[test]
fn a_fold_saves_something() {
    assert_eq!(outline_text("a.rs", "fn a() {\n    b();\n    c();\n}\n").folded_lines(), 0);
    let long = format!("fn a() {{\n    b({});\n}}\n", "1, ".repeat(100));
    assert_eq!(outline_text("a.rs", &long).to_string(), "fn a() {\n    ⋯ 1 line\n}\n");
}
