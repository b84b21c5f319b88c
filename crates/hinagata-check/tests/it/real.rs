//! Templates that nobody here wrote, from packages: `tests/templates/fetch.py` fetches them, and
//! `HINAGATA_TEST_TEMPLATES` is its directory. Each finding is judged in `tests/templates/judged.toml`.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use hinagata_check::{CheckOptions, Finding, Language, Level, NoSources, check_text};
use serde_json::Value;

/// Prints for each file whether Jinja2 refuses to compile it.
const SCRIPT: &str = r#"
import json, sys
from jinja2 import Environment
env = Environment(extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"])
for line in sys.stdin:
    with open(json.loads(line), encoding="utf-8", newline="") as file:
        source = file.read()
    try:
        env.from_string(source)
        print("false")
    except Exception:
        print("true")
"#;

fn collect_files(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => collect_files(&path, files),
            false if path.extension().is_some() => files.push(path),
            false => {}
        }
    }
}

/// The files that Jinja2 refuses.
fn refused(files: &[PathBuf], python: &Path) -> BTreeSet<PathBuf> {
    let mut child = Command::new(python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("HINAGATA_TEST_PYTHON runs");
    let mut input = String::new();
    for file in files {
        let _ = writeln!(input, "{}", Value::from(file.display().to_string()));
    }
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("no panic").expect("it reads");
    let answers = String::from_utf8(output.stdout).expect("text");
    assert_eq!(answers.lines().count(), files.len());
    files
        .iter()
        .zip(answers.lines())
        .filter(|(_, answer)| *answer == "true")
        .map(|(file, _)| file.clone())
        .collect()
}

/// A finding as the list writes it. A filter or test of the host is judged once.
fn row(file: &str, finding: &Finding) -> String {
    if matches!(finding.code.code, "name.filter" | "name.test") {
        return format!("{}: {}", finding.code.code, finding.error.message());
    }
    let line = finding.place().map_or(0, |place| place.line);
    format!("{file}:{line} {} {}", finding.code.code, finding.error.message())
}

#[test]
fn real_templates_have_few_findings_and_each_is_judged() {
    let (Some(root), Some(python)) =
        (std::env::var_os("HINAGATA_TEST_TEMPLATES"), std::env::var_os("HINAGATA_TEST_PYTHON"))
    else {
        return;
    };
    let root = PathBuf::from(root);
    let mut files = Vec::new();
    collect_files(&root, &mut files);
    files.sort();
    assert!(files.len() > 400, "only {} templates", files.len());
    let refused = refused(&files, Path::new(&python));
    let (mut rows, mut warnings, mut unknown_refusals) = (BTreeSet::new(), 0, Vec::new());
    for path in &files {
        let Ok(text) = fs::read_to_string(path) else { continue };
        let name = path.strip_prefix(&root).expect("beneath the root").display().to_string();
        let findings = check_text(&name, &text, Language::Jinja, &NoSources, &CheckOptions::default());
        let errors = findings.iter().filter(|finding| finding.level == Level::Error).count();
        if refused.contains(path) {
            // What the original refuses, for a filter of the host or a tag of an extension, has an error here.
            if errors == 0 {
                unknown_refusals.push(name);
            }
            continue;
        }
        warnings += findings.iter().filter(|finding| finding.level == Level::Warning).count();
        rows.extend(
            findings.iter().filter(|finding| finding.level != Level::Hint).map(|finding| row(&name, finding)),
        );
    }
    assert!(
        unknown_refusals.is_empty(),
        "Jinja2 refuses, and the check finds nothing: {unknown_refusals:#?}"
    );
    let list: toml::Table =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/templates/judged.toml"))
            .expect("the list")
            .parse()
            .expect("TOML");
    let judged: BTreeSet<String> = list.keys().cloned().collect();
    assert!(
        list.values().all(|why| why
            .as_str()
            .is_some_and(|why| why.starts_with("right: ") || why.starts_with("wrong: "))),
        "a judgement starts with `right: ` or `wrong: `"
    );
    let new: Vec<_> = rows.difference(&judged).collect();
    let gone: Vec<_> = judged.difference(&rows).collect();
    assert!(new.is_empty() && gone.is_empty(), "not judged: {new:#?}\njudged, but not found: {gone:#?}");
    assert!(warnings * 20 <= files.len(), "{warnings} warnings in {} templates", files.len());
}
