//! Every builtin of Go on every type, with every number of arguments: what the check reports as an error fails with Go for
//! all values of the type.
//!
//! `HINAGATA_TEST_GO` is the Go command.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    process::{Command, Stdio},
};

use hinagata_check::{
    Field, Fields, Kinds, Level, ParseCache, Shape, Surroundings, Variables, check_template,
};
use hinagata_gotemplate::Integers;
use hinagata_template::{Language, MemorySources, Options, SourceText};
use hinagata_value::Functions;
use serde_json::{Value, json};

/// Prints for each line whether the template fails with all values.
const PROGRAM: &str = r#"package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/template"
)

type test struct {
	Template string
	Values   []any
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one test
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			panic(err)
		}
		parsed, err := template.New("main").Parse(one.Template)
		fails := true
		for _, value := range one.Values {
			if err == nil && parsed.Execute(io.Discard, map[string]any{"x": value}) == nil {
				fails = false
			}
		}
		fmt.Println(fails)
	}
}
"#;

fn values_of(kind: Kinds) -> Value {
    let all = [
        (Kinds::NULL, json!([null])),
        (Kinds::BOOL, json!([true, false])),
        (Kinds::FLOAT, json!([0.5, 1.5, -2.5])),
        (Kinds::STRING, json!(["a", "", "1", "a b", "abab", "%s", "%d"])),
        (Kinds::LIST, json!([[], [1.5], ["a"], ["a", "b"], [1.5, 2.5, 3.5], [["a", 1.5]], [{"a": 1.5}]])),
        (Kinds::MAP, json!([{}, {"a": 1.5}, {"1": "x", "a": "b"}])),
    ];
    all.into_iter().find(|(known, _)| *known == kind).map(|(_, values)| values).unwrap_or_default()
}

fn templates() -> Vec<String> {
    let builtins = [
        "and", "call", "eq", "ge", "gt", "html", "index", "js", "le", "len", "lt", "ne", "not", "or",
        "print", "printf", "println", "slice", "urlquery",
    ];
    let arguments = [
        "",
        ".x",
        ".x .x",
        ".x 1",
        ".x 0",
        ".x -1",
        ".x 1.5",
        ".x \"a\"",
        ".x true",
        ".x nil",
        "1 .x",
        "\"a\" .x",
        "\"%d\" .x",
        "\"%s\" .x",
        ".x 0 1",
        ".x 0 1 2",
        ".x \"a\" \"b\"",
        ".x 1 2 3 4",
    ];
    let calls = builtins.iter().flat_map(|name| arguments.map(|all| format!("{{{{{name} {all}}}}}")));
    let others = [
        "{{range .x}}{{end}}",
        "{{range $a, $b := .x}}{{end}}",
        "{{with .x}}{{.}}{{end}}",
        "{{if .x}}{{end}}",
        "{{.x.a}}",
        "{{.x.a.b}}",
        "{{(.x).a}}",
        "{{.x 1}}",
        "{{.x | len}}",
        "{{.x | index 1}}",
        "{{$y := .x}}{{$y.a}}",
    ];
    calls.chain(others.map(str::to_owned)).collect()
}

fn has_error(template: &str, kind: Kinds) -> bool {
    let mut sources = MemorySources::new();
    sources.insert_source("main", SourceText::new(Language::Go, template));
    let functions = Functions::new();
    let mut options = Options::default().with_functions(&functions);
    // Numbers of JSON are floats in Go.
    options.go.integers = Integers::Float;
    options.go.missing_key = hinagata_gotemplate::MissingKey::Invalid;
    let around = Surroundings { sources: &sources, options: &options, functions: &functions };
    let field = Field { shape: Shape::of_kinds(kind), required: true };
    let fields = Fields { known: BTreeMap::from([("x".to_owned(), field)]), rest: None };
    let variables = Variables { fields, ..Variables::default() };
    let report = check_template("main", around, &variables, &mut ParseCache::default());
    report.found.iter().any(|found| found.level == Level::Error)
}

fn ask_go(go: &std::ffi::OsStr, cases: &[(String, Kinds)]) -> Vec<bool> {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("main.go");
    fs::write(&file, PROGRAM).expect("a file");
    let mut child = Command::new(go)
        .arg("run")
        .arg(&file)
        .env("GOTOOLCHAIN", "local")
        .env("GOFLAGS", "-mod=mod")
        .env("GO111MODULE", "off")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("HINAGATA_TEST_GO runs");
    let mut input = child.stdin.take().expect("a pipe");
    let lines: String = cases
        .iter()
        .map(|(template, kind)| format!("{}\n", json!({"Template": template, "Values": values_of(*kind)})))
        .collect();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().expect("Go ends");
    writer.join().expect("no panic").expect("Go reads everything");
    String::from_utf8(output.stdout).expect("text").lines().map(|line| line == "true").collect()
}

#[test]
fn what_is_an_error_fails_with_go() {
    let Some(go) = std::env::var_os("HINAGATA_TEST_GO") else { return };
    let kinds = [Kinds::NULL, Kinds::BOOL, Kinds::FLOAT, Kinds::STRING, Kinds::LIST, Kinds::MAP];
    let cases: Vec<(String, Kinds)> = templates()
        .into_iter()
        .flat_map(|template| kinds.into_iter().map(move |kind| (template.clone(), kind)))
        .collect();
    let answers = ask_go(&go, &cases);
    assert_eq!(answers.len(), cases.len());
    let (mut wrong, mut missed) = (Vec::new(), Vec::new());
    for ((template, kind), fails) in cases.iter().zip(answers) {
        match (has_error(template, *kind), fails) {
            (true, false) => wrong.push(format!("{template} with {}", kind.to_noun())),
            (false, true) => missed.push(format!("{template} with {}", kind.to_noun())),
            _ => {}
        }
    }
    println!("{} judged, {} wrong errors, {} failures not found", cases.len(), wrong.len(), missed.len());
    if std::env::var_os("HINAGATA_MISSED").is_some() {
        println!("{missed:#?}");
    }
    assert!(wrong.is_empty(), "errors where Go succeeds: {wrong:#?}");
    assert!(missed.len() * 12 <= cases.len(), "too many failures are not found: {missed:#?}");
}
