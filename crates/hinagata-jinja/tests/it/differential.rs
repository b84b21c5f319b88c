//! Random templates, rendered by this crate and by Jinja2 itself: both must return the same.
//!
//! `HINAGATA_TEST_PYTHON` names a Python with Jinja2. `HINAGATA_DIFFERENTIAL` sets the number of cases
//! (`100000`) or a range (`500..600`). A number always means the same case.

pub(crate) mod expressions;
mod original;
pub(crate) mod pieces;
mod rules;
pub(crate) mod statements;

use std::{collections::HashMap, env, fs, ops::Range, path::Path, thread};

use hinagata_jinja::{Loader, ParseOptions, Render, Settings, Sources, UndefinedMode};
use hinagata_value::{Error, Limits};
use serde_json::Value as Json;

use self::{
    original::{Original, write_request},
    pieces::{Case, Undefined, source},
    rules::Answer,
};

/// The number of cases of a normal test run.
const CASES: u64 = 2_000;

/// The number of differences that are printed in full.
const MAX_REPORTS: usize = 12;

fn numbers() -> Range<u64> {
    let Ok(asked) = env::var("HINAGATA_DIFFERENTIAL") else { return 0..CASES };
    let number =
        |text: &str| text.trim().parse().expect("HINAGATA_DIFFERENTIAL is a number, or a range as 5..10");
    match asked.split_once("..") {
        Some((start, end)) => number(start)..number(end),
        None => 0..number(&asked),
    }
}

fn ours(case: &Case) -> Result<String, Error> {
    let options = ParseOptions {
        trim_blocks: case.options.trim_blocks,
        lstrip_blocks: case.options.lstrip_blocks,
        keep_trailing_newline: case.options.keep_trailing_newline,
        messages: false,
        ..ParseOptions::default()
    };
    let settings = Settings {
        undefined: match case.options.undefined {
            Undefined::Default => UndefinedMode::Jinja,
            Undefined::Strict => UndefinedMode::Error,
            Undefined::Chainable => UndefinedMode::Empty,
        },
        autoescape: case.options.autoescape,
        ..Settings::default()
    };
    let numbered = case.templates.iter().enumerate();
    let sources: HashMap<_, _> =
        numbered.map(|(number, pieces)| (format!("t{number}"), source(pieces))).collect();
    let sources = Sources::new(sources, options, Limits::default());
    let entry = sources.load("t0")?.expect("there is a first template");
    Render::new()
        .with_settings(settings)
        .with_loader(&sources)
        .render_text(&entry, &Json::Object(case.data.clone()))
}

/// The unintended difference between two answers, if any.
fn difference(case: &Case, original: &Json) -> Option<String> {
    rules::difference(case, &Answer::from_original(original)?, &Answer::from_ours(ours(case)))
}

/// Regression cases that differed once, in the form of requests to the original, each with its answer.
#[test]
fn recorded_cases_answer_as_jinja2_did() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/differential/recorded.json");
    let recorded = fs::read_to_string(path).expect("the recorded cases are there");
    let recorded: Vec<Json> = serde_json::from_str(&recorded).expect("is JSON");
    let mut wrong = Vec::new();
    for request in &recorded {
        let case = Case::from_json(request);
        wrong.extend(
            difference(&case, &request["expect"])
                .map(|difference| format!("{}: {difference}", request["id"])),
        );
    }
    assert!(wrong.is_empty(), "{} of {} cases differ:\n{}", wrong.len(), recorded.len(), wrong.join("\n"));
}

fn report(number: u64, case: Case) -> String {
    let mut original = Original::start().expect("it started before");
    let small = case.shrink(&mut |case| {
        let answer = original.ask(case);
        difference(case, &answer).is_some()
    });
    let answer = original.ask(&small);
    let mut text = format!("case {number}: {}\n", difference(&small, &answer).unwrap_or_default());
    for (number, pieces) in small.templates.iter().enumerate() {
        text.push_str(&format!("  t{number}: {:?}\n", source(pieces)));
    }
    text.push_str(&format!("  {:?}\n  data {}", small.options, Json::Object(small.data)));
    text
}

#[test]
#[expect(clippy::print_stderr, reason = "whoever runs the tests must know that this one did nothing")]
fn random_templates_render_as_in_jinja2() {
    let Some(mut original) = Original::start() else {
        eprintln!(
            "NOTHING WAS COMPARED: set HINAGATA_TEST_PYTHON to a Python that has Jinja2, or use ./test"
        );
        return;
    };
    let mut requests = original.take_requests();
    let writer = thread::spawn(move || {
        for number in numbers() {
            write_request(&mut requests, &statements::case(number).to_json());
        }
    });
    let mut found = Vec::new();
    let mut rendered = 0;
    for number in numbers() {
        let answer = original.next_answer();
        let case = statements::case(number);
        rendered += u64::from(answer.get("output").is_some());
        if difference(&case, &answer).is_some() {
            found.push((number, case));
        }
    }
    writer.join().expect("all cases were asked");
    let total = numbers().count();
    eprintln!("{total} cases, of which {rendered} give a text; {} differences", found.len());
    let all: Vec<_> = found.iter().map(|(number, _)| number.to_string()).collect();
    let reports: Vec<_> =
        found.into_iter().take(MAX_REPORTS).map(|(number, case)| report(number, case)).collect();
    let count = all.len();
    assert!(all.is_empty(), "{count} of {total} cases differ, {}:\n{}", all.join(" "), reports.join("\n"));
}
