//! `hina check` and `hina fmt`: files, revisions of git, fixes, reports that other programs read.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;

const PROMPTS: &str = "user_data/shared/prompts";

fn workspace(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a directory");
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    root
}

fn hina(root: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hina"))
        .args(arguments)
        .current_dir(root)
        .env("HINAGATA_STATE", root.join("state"))
        .env("XDG_CONFIG_HOME", root.join("config"))
        .output()
        .expect("hina runs")
}

fn git(root: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"];
    let status = Command::new("git").args(identity).args(arguments).current_dir(root).output();
    let output = status.expect("git runs");
    assert!(output.status.success(), "{output:?}");
}

/// The codes that a check finds, each with its file.
fn codes(root: &Path, arguments: &[&str]) -> Vec<String> {
    let output = hina(root, &[&["check", "--json"], arguments].concat());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let row = |finding: &Value| {
        let file = finding["file"].as_str().unwrap_or_default().trim_start_matches(PROMPTS);
        format!("{} {file}", finding["code"].as_str().unwrap_or_default())
    };
    report["findings"].as_array().expect("a list").iter().map(row).collect()
}

#[test]
fn changed_files_and_those_that_use_them_are_checked() {
    let declared = "---\nparameters:\n  a: string\n---\n";
    let one = format!("{declared}{{{{ a|uper }}}}\n");
    let two = format!("{declared}{{{{ a }}}}{{% include \"partials/p.md\" %}}\n");
    let root = workspace(&[
        ("user_data/shared/prompts/one/template.md", &one),
        ("user_data/shared/prompts/two/template.md", &two),
        ("user_data/shared/prompts/partials/p.md", "{{ a }}\n"),
    ]);
    git(root.path(), &["init", "-q"]);
    git(root.path(), &["add", "-A"]);
    git(root.path(), &["commit", "-qm", "all"]);
    assert_eq!(codes(root.path(), &[]), ["name.filter /one/template.md"]);
    assert_eq!(codes(root.path(), &["--changed"]), [""; 0]);
    fs::write(root.path().join(PROMPTS).join("partials/p.md"), "{{ b }}\n").expect("a file");
    assert_eq!(codes(root.path(), &["--changed"]), ["variable.undeclared /partials/p.md"]);
    assert_eq!(codes(root.path(), &["--changed", "main"]), ["variable.undeclared /partials/p.md"]);
    let output = hina(root.path(), &["check", "--changed", "nothing"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("git"), "{output:?}");
}

#[test]
fn what_differs_from_the_lock_is_a_warning() {
    let spec = hinagata_check::find_code("lock.drift").expect("is a code");
    let found = |files: &[(&str, &str)]| {
        let files: Vec<(String, &str)> =
            files.iter().map(|(path, text)| (path.replace("../../../", ""), *text)).collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let root = workspace(&files);
        // Whose packs are wanted is a matter of trust.
        hina(root.path(), &["trust", "--yes"]);
        codes(root.path(), &[])
    };
    assert_eq!(found(spec.wrong), ["lock.drift hinagata.lock"]);
    assert_eq!(found(spec.right), [""; 0]);
    assert_eq!(found(&[("hinagata.lock", "version = 7\n")]), ["lock.drift hinagata.lock"]);
}

#[test]
fn fixes_change_the_files_of_the_user() {
    let text = "{# hina: allow(name.filter) #}\n{{ 'a'|uper }}\n{# hina: allow(name.test) #}\n";
    let root = workspace(&[("user_data/shared/prompts/one/template.md", text)]);
    let path = root.path().join(PROMPTS).join("one/template.md");
    let output = hina(root.path(), &["check", "--fix"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let expected = "{# hina: allow(name.filter) #}\n{{ 'a'|uper }}\n\n";
    assert_eq!(fs::read_to_string(&path).expect("a file"), expected);
    fs::write(&path, "{{ 'a'|uper }}\n").expect("a file");
    let output = hina(root.path(), &["check", "--fix"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("1 more with --unsafe"), "{output:?}");
    let output = hina(root.path(), &["check", "--fix", "--unsafe"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(fs::read_to_string(&path).expect("a file"), "{{ 'a'|upper }}\n");
}

#[test]
fn settings_change_levels() {
    let settings = "[check.levels]\nvariable.unused = \"error\"\n[[check.paths]]\npath = \"**/old/**\"\n\
                    levels = { \"variable.*\" = \"off\" }\n";
    let text = "---\nparameters:\n  a: string\n---\nx\n";
    let root = workspace(&[
        ("hinagata.toml", settings),
        ("user_data/shared/prompts/new/template.md", text),
        ("user_data/shared/prompts/old/template.md", text),
    ]);
    assert_eq!(codes(root.path(), &[]), ["variable.unused /new/template.md"]);
    assert_eq!(hina(root.path(), &["check"]).status.code(), Some(1));
    fs::write(root.path().join("hinagata.toml"), "[check.levels]\n\"variable.unusd\" = \"off\"\n")
        .expect("a file");
    let output = hina(root.path(), &["check"]);
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("did you mean `variable.unused`?"),
        "{output:?}"
    );
}

#[test]
fn formatted_templates_render_the_same() {
    let text = "---\ndescription: '{{a}}'\nparameters:\n  a: string\n---\n{{a|upper}}{%if a%} x{% endif %}\n";
    let root = workspace(&[("user_data/shared/prompts/one/template.md", text)]);
    let before = hina(root.path(), &["render", "one", "a=b"]);
    let output = hina(root.path(), &["fmt", "--check"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let output = hina(root.path(), &["fmt"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let path = root.path().join(PROMPTS).join("one/template.md");
    let formatted = fs::read_to_string(path).expect("a file");
    assert!(formatted.ends_with("---\n{{ a|upper }}{% if a %} x{% endif %}\n"), "{formatted}");
    assert!(formatted.contains("'{{a}}'"), "{formatted}");
    assert_eq!(hina(root.path(), &["render", "one", "a=b"]).stdout, before.stdout);
    assert_eq!(hina(root.path(), &["fmt", "--check"]).status.code(), Some(0));
}

#[test]
fn the_author_of_a_pack_cannot_silence_findings_about_security() {
    let text = "{# hina: allow-file(text.hidden) #}{# hina: allow-file(message.empty) #}\nBe kind.\u{e0068}\u{e0069}\n";
    let root = workspace(&[
        ("user_data/packs/theirs/pack.json", "{\"version\": \"1.0.0\", \"prompts\": [\"ghost\"]}"),
        ("user_data/packs/theirs/prompts/kind/template.md", text),
    ]);
    let output = hina(root.path(), &["pack", "show", "theirs", "--json"]);
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let found: Vec<&str> =
        shown["findings"].as_array().expect("a list").iter().filter_map(|one| one["code"].as_str()).collect();
    assert!(found.contains(&"text.hidden"), "{found:?}");
    assert!(shown["problems"].to_string().contains("ghost"), "{shown}");
    let output = hina(root.path(), &["pack", "show", "theirs"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("that spell `hi`"), "{output:?}");
}

/// `HINAGATA_TEST_NODE_MODULES` has the program with which Microsoft validates SARIF.
#[test]
fn reports_are_valid_sarif() {
    let Some(modules) = std::env::var_os("HINAGATA_TEST_NODE_MODULES") else { return };
    let root = workspace(&[
        ("user_data/shared/prompts/ä b/template.md", "{{ 'a'|uper }}\n{{ x is strng }}\n"),
        ("user_data/shared/prompts/c/template.md", "---\nparameters:\n  a: strin\n---\n{{ a\n"),
    ]);
    let output = hina(root.path(), &["check", "--format", "sarif", "--hints"]);
    let file = root.path().join("report.sarif");
    fs::write(&file, &output.stdout).expect("a file");
    let modules = Path::new(&modules);
    let validated = Command::new(modules.join(".bin/sarif-multitool"))
        .arg("validate")
        .arg(&file)
        .env("DOTNET_SYSTEM_GLOBALIZATION_INVARIANT", "1")
        .output()
        .expect("sarif-multitool runs");
    let report = String::from_utf8_lossy(&validated.stdout).into_owned();
    assert!(
        validated.status.success() && report.contains("Analysis completed successfully"),
        "{validated:?}"
    );
    // SARIF2005: the project has no address of its own.
    let mut lines = report.lines().filter(|line| line.contains(": error ") || line.contains(": warning "));
    assert!(lines.all(|line| line.contains("SARIF2005")), "{report}");
    let read = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).expect("JSON");
    let schema =
        fs::read(modules.join("@microsoft/sarif-multitool-linux/sarif-2.1.0.json")).expect("the schema");
    let validator = jsonschema::validator_for(&read(&schema)).expect("a schema");
    let report = read(&output.stdout);
    let problems: Vec<String> = validator.iter_errors(&report).map(|error| error.to_string()).collect();
    assert!(problems.is_empty(), "{problems:#?}");
    assert_eq!(report["runs"][0]["results"].as_array().map(Vec::len), Some(3), "{report:#}");
}
