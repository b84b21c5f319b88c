//! Every filter, test and method on every type, with every number of arguments: what the check reports as an error fails
//! with Jinja2 for all values of the type.
//!
//! `HINAGATA_TEST_PYTHON` is a Python with Jinja2.

use std::{
    collections::BTreeMap,
    io::Write as _,
    process::{Command, Stdio},
};

use hinagata_check::{
    Field, Fields, Kinds, Level, ParseCache, Shape, Surroundings, Variables, check_template,
};
use hinagata_jinja::UndefinedMode;
use hinagata_template::{MemorySources, Options};
use hinagata_value::Functions;
use serde_json::{Value, json};

const SCRIPT: &str = r#"
import json, sys
from jinja2.sandbox import SandboxedEnvironment
env = SandboxedEnvironment()
for line in sys.stdin:
    case = json.loads(line)
    try:
        template = env.from_string(case["template"])
    except Exception as error:
        print(json.dumps("unknown" if "No filter named" in str(error) or "No test named" in str(error) else True))
        continue
    def fails(value):
        try:
            template.render(x=value)
            return False
        except Exception:
            return True
    print(json.dumps(all(fails(value) for value in case["values"])))
"#;

fn values_of(kind: Kinds) -> Value {
    let all = [
        (Kinds::NULL, json!([null])),
        (Kinds::BOOL, json!([true, false])),
        (Kinds::INT, json!([0, 1, 2, -1, 7, 65])),
        (Kinds::FLOAT, json!([0.0, 1.5, -2.0])),
        (Kinds::STRING, json!(["a", "", "1", "a b", "1,2", "abab", "%s", "{}", "utf-8", "A"])),
        (
            Kinds::LIST,
            json!([[], [1], ["a"], ["a", "b"], [1, 2, 3], [["a", 1]], [{"a": 1}], [[1, 2], [3, 4]]]),
        ),
        (Kinds::MAP, json!([{}, {"a": 1}, {"1": "x", "a": "b"}])),
    ];
    all.into_iter().find(|(known, _)| *known == kind).map(|(_, values)| values).unwrap_or_default()
}

/// Filters whose results are generators in Jinja2.
const LAZY: [&str; 9] =
    ["batch", "items", "map", "reject", "rejectattr", "select", "selectattr", "slice", "unique"];

/// Filters that check the types of their arguments here before they look at the text, and in Jinja2 only when they use them.
const STRICT: [&str; 2] = ["urlize", "wordwrap"];

fn templates() -> Vec<String> {
    let arguments = ["", "'a'", "1", "'a', 'b'", "1, 2", "'a', 'b', 'c'", "1, 2, 3, 4, 5, 6", "nonsense=1"];
    let mut all = Vec::new();
    for (kind, name) in hinagata_jinja::builtin_names() {
        for args in arguments {
            match kind {
                // What a generator fails with shows when it is read.
                "filter" if LAZY.contains(&name) => all.push(format!("{{{{ (x|{name}({args}))|list }}}}")),
                "filter" if name != "random" => all.push(format!("{{{{ x|{name}({args}) }}}}")),
                "test" => all.push(format!("{{{{ x is {name}({args}) }}}}")),
                "str" | "list" | "dict" => all.push(format!("{{{{ x.{name}({args}) }}}}")),
                _ => {}
            }
        }
    }
    all.sort();
    all.dedup();
    all
}

fn has_error(template: &str, kind: Kinds) -> bool {
    let sources = MemorySources::from_iter([("main", template)]);
    let options = Options::default().with_undefined(UndefinedMode::Jinja);
    let functions = Functions::new();
    let around = Surroundings { sources: &sources, options: &options, functions: &functions };
    let field = Field { shape: Shape::of_kinds(kind), required: true };
    let fields = Fields { known: BTreeMap::from([("x".to_owned(), field)]), rest: None };
    let variables = Variables { fields, ..Variables::default() };
    let report = check_template("main", around, &variables, &mut ParseCache::default());
    report.found.iter().any(|found| found.level == Level::Error)
}

#[test]
fn what_is_an_error_fails_with_jinja2() {
    let Some(python) = std::env::var_os("HINAGATA_TEST_PYTHON") else { return };
    let kinds = Kinds::NAMES.map(|(kind, _)| kind);
    let cases: Vec<(String, Kinds)> = templates()
        .into_iter()
        .flat_map(|template| kinds.into_iter().map(move |kind| (template.clone(), kind)))
        .collect();
    let mut child = Command::new(python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python runs");
    let mut input = child.stdin.take().expect("a pipe");
    let lines: String = cases
        .iter()
        .map(|(template, kind)| format!("{}\n", json!({"template": template, "values": values_of(*kind)})))
        .collect();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().expect("Python ends");
    writer.join().expect("no panic").expect("Python reads everything");
    let answers: Vec<Value> = String::from_utf8(output.stdout)
        .expect("text")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(answers.len(), cases.len());
    let (mut wrong, mut missed, mut judged) = (Vec::new(), Vec::new(), 0);
    for ((template, kind), answer) in cases.iter().zip(answers) {
        let Some(fails) = answer.as_bool() else { continue };
        judged += 1;
        match (has_error(template, *kind), fails) {
            (true, false) if STRICT.iter().any(|name| template.contains(&format!("|{name}('a'"))) => {}
            (true, false) => wrong.push(format!("{template} with {}", kind.to_noun())),
            (false, true) => missed.push(format!("{template} with {}", kind.to_noun())),
            _ => {}
        }
    }
    println!("{judged} judged, {} wrong errors, {} failures not found", wrong.len(), missed.len());
    if std::env::var_os("HINAGATA_MISSED").is_some() {
        println!("{missed:#?}");
    }
    assert!(wrong.is_empty(), "errors where Jinja2 succeeds: {wrong:#?}");
    assert!(missed.len() * 12 <= judged, "too many failures are not found: {missed:#?}");
}
