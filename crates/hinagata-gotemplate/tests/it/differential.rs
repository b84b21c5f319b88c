//! Generated templates, answered by the real Go and by us.
//!
//! `HINAGATA_TEST_GO` names the `go` command. `HINAGATA_TEST_GO_CASES` says how many cases are
//! compared, `HINAGATA_TEST_GO_SEED` where their numbers start.

use std::path::PathBuf;

use crate::support::{
    corpus::CORPUS,
    generate,
    go::{Answer, Go},
    run::{Case, Outcome, on_stack, run},
};
use hinagata_gotemplate::go_limits;

const STACK: usize = 256 << 20;

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().map_or(usual, |text| text.parse().expect("is a number"))
}

fn ours(outcome: Outcome) -> Answer {
    match outcome {
        Outcome::Output(bytes) => Answer::Output(bytes),
        Outcome::Parse(error) => Answer::Parse(error.message().as_bytes().to_vec()),
        Outcome::Exec(error, bytes) => Answer::Exec(error.message().as_bytes().to_vec(), bytes),
    }
}

/// Error texts are text here; Go's may hold bytes that are not.
fn readable(answer: &Answer) -> Answer {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned().into_bytes();
    match answer {
        Answer::Output(bytes) => Answer::Output(bytes.clone()),
        Answer::Parse(error) => Answer::Parse(text(error)),
        Answer::Exec(error, bytes) => Answer::Exec(text(error), bytes.clone()),
        Answer::Panic(message) => Answer::Panic(message.clone()),
    }
}

/// Addresses of functions are Go's own business.
fn shows_addresses(case: &Case, answer: &Answer) -> bool {
    let text = match answer {
        Answer::Output(text) => String::from_utf8_lossy(text).into_owned(),
        Answer::Exec(error, before) => {
            format!("{}{}", String::from_utf8_lossy(error), String::from_utf8_lossy(before))
        }
        _ => return false,
    };
    let is_address = |tail: &str| tail.bytes().take_while(u8::is_ascii_hexdigit).count() >= 6;
    case.sources[0].1.contains("fnval") && text.split("0x").skip(1).any(is_address)
}

fn go_command() -> PathBuf {
    match std::env::var_os("HINAGATA_TEST_GO") {
        Some(go) => go.into(),
        None => panic!("HINAGATA_TEST_GO is not set: name the go command, or run ./test, which sets it"),
    }
}

/// Fails when Go and we answer any of the cases differently.
fn compare(cases: impl Iterator<Item = (String, Case)> + Send + 'static) {
    let go = go_command();
    let (total, wrong) = on_stack(STACK + (8 << 20), move || {
        let mut go = Go::start(&go);
        let limits = go_limits(STACK);
        let (mut total, mut wrong) = (0, Vec::new());
        for (name, case) in cases {
            total += 1;
            let expected = go.answer(&case);
            let answered = ours(run(&case, &limits));
            let comparable = !matches!(expected, Answer::Panic(_)) && !shows_addresses(&case, &expected);
            if comparable && readable(&expected) != readable(&answered) {
                wrong.push(format!("{name}: {case:?}\n  Go: {}\n  we: {}", show(&expected), show(&answered)));
            }
        }
        (total, wrong)
    });
    let shown = wrong.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {total} answers differ:\n{shown}", wrong.len());
}

#[test]
fn generated_templates_are_answered_as_go_answers_them() {
    let (first, count) = (number("HINAGATA_TEST_GO_SEED", 1), number("HINAGATA_TEST_GO_CASES", 20_000));
    compare((first..first + count).map(|seed| (format!("seed {seed}"), generate::case(seed))));
}

#[test]
fn templates_with_mistakes_are_answered_as_go_answers_them() {
    let (first, count) = (number("HINAGATA_TEST_GO_SEED", 1), number("HINAGATA_TEST_GO_CASES", 20_000) / 2);
    let cases = (first..first + count)
        .map(|seed| (format!("seed {seed}"), generate::case_with_mistakes(seed, CORPUS)));
    compare(cases.filter(|(_, case)| !may_run_long(&case.sources[0].1)));
}

/// Whether a mistake may have made a loop of a long number: neither side has limits here.
fn may_run_long(source: &str) -> bool {
    let is_long = |word: &str| word.len() >= 5 && word.starts_with(|c: char| c.is_ascii_digit());
    source.contains("range") && source.split(|c: char| !c.is_ascii_alphanumeric()).any(is_long)
}

#[test]
fn templates_at_the_edges_are_answered_as_go_answers_them() {
    let settings = [
        (0, false, "default"),
        (0, true, "zero"),
        (0, false, "error"),
        (1, false, "default"),
        (5, true, "error"),
    ];
    compare(CORPUS.iter().flat_map(move |template| {
        settings.map(|(data, ints, missing_key)| {
            let mut case = Case::single(template, generate::data(data));
            case.ints = ints;
            case.missing_key = missing_key.to_owned();
            ((*template).to_owned(), case)
        })
    }));
}

fn show(answer: &Answer) -> String {
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    match answer {
        Answer::Output(bytes) => format!("output {}", text(bytes)),
        Answer::Parse(error) => format!("parse error {}", text(error)),
        Answer::Exec(error, bytes) => format!("error {} after {}", text(error), text(bytes)),
        Answer::Panic(message) => format!("panic {message}"),
    }
}
