//! Filters, tests, operators, methods and formatting return the same as in Jinja2 and Python.
//!
//! `tests/library/record.py` records the answers.

use std::{fs, path::Path};

use hinagata_jinja::{ParseOptions, Render, Settings, Template, UndefinedMode};
use hinagata_value::{Error, Limits};
use serde_json::Value;

fn render(case: &Value) -> Result<String, Error> {
    let settings = Settings {
        undefined: match case["undefined"].as_str() {
            Some("error") => UndefinedMode::Error,
            Some("empty") => UndefinedMode::Empty,
            _ => UndefinedMode::Jinja,
        },
        autoescape: case["autoescape"] == true,
        chat_host: case["chat"] == true,
        ..Settings::default()
    };
    let source = case["template"].as_str().expect("every case has a template");
    let template = Template::compile("main", source, &ParseOptions::default(), &Limits::default())?;
    Render::new().with_settings(settings).render_text(&template, &case["data"])
}

/// The difference from the recorded answer, if any.
fn difference(case: &Value) -> Option<String> {
    let rendered = render(case);
    let same = match (&rendered, case["error"].as_str()) {
        (Ok(output), None) => Some(output.as_str()) == case["output"].as_str(),
        (Err(error), Some(kind)) => error.kind().as_str() == kind,
        _ => false,
    };
    (!same).then(|| format!("{case}\n    gave {rendered:?}"))
}

#[test]
fn recorded_answers_of_python_are_given() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/library");
    let mut count = 0;
    let mut differences = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("can be read").path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        for line in fs::read_to_string(&path).expect("can be read").lines() {
            let case = serde_json::from_str(line).expect("every line is a case");
            count += 1;
            differences.extend(difference(&case));
        }
    }
    assert!(count > 5_000, "{count} cases were found");
    assert!(differences.is_empty(), "{} of {count} differ:\n{}", differences.len(), differences.join("\n"));
}

/// Cases that the rules of the differential test treat as intended differences, but are not.
#[test]
fn large_numbers_are_rounded_and_what_has_no_slices_is_undefined() {
    for (template, output) in [
        ("{{ 1e300|round }}", "1e+300"),
        ("{{ 1e300|round(0, 'floor') }}", "1e+300"),
        ("{{ 1e300|round(2, 'ceil') }}", "1e+300"),
        ("{{ -1e200|round(0, 'ceil') }}", "-1e+200"),
        ("{{ 1e25|round(0, 'floor') }}", "1e+25"),
        ("[{{ {'a': 1}[1:2] }}{{ 5[1:2] }}]", "[]"),
        ("{{ {'a': 1}[1:2] is defined }}", "False"),
    ] {
        let case = serde_json::json!({"template": template, "data": {}});
        assert_eq!(render(&case).as_deref().ok(), Some(output), "{template}: {:?}", render(&case));
    }
}
