//! Generated templates, answered by the real Go and by us.
//!
//! `HINAGATA_TEST_GO` names the `go` command. `HINAGATA_TEST_GO_CASES` says how many cases are
//! compared, `HINAGATA_TEST_GO_SEED` where their numbers start.

mod support;

use std::path::PathBuf;

use hinagata_gotemplate::go_limits;
use support::{
    generate,
    go::{Answer, Go},
    run::{Outcome, on_stack, run},
};

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

/// Addresses of functions and containers are Go's own business.
fn shows_addresses(answer: &Answer) -> bool {
    let text = match answer {
        Answer::Output(text) | Answer::Exec(text, _) => text,
        _ => return false,
    };
    String::from_utf8_lossy(text).contains("0x4") || String::from_utf8_lossy(text).contains("0xc0")
}

#[test]
fn generated_templates_are_answered_as_go_answers_them() {
    let Some(go) = std::env::var_os("HINAGATA_TEST_GO").map(PathBuf::from) else {
        panic!("HINAGATA_TEST_GO is not set: name the go command, or run ./test, which sets it");
    };
    let (first, count) = (number("HINAGATA_TEST_GO_SEED", 1), number("HINAGATA_TEST_GO_CASES", 20_000));
    let wrong = on_stack(STACK + (8 << 20), move || {
        let mut go = Go::start(&go);
        let limits = go_limits(STACK);
        let mut wrong = Vec::new();
        for seed in first..first + count {
            let case = generate::case(seed);
            let expected = go.answer(&case);
            let answered = ours(run(&case, &limits));
            if readable(&expected) != readable(&answered)
                && !matches!(expected, Answer::Panic(_))
                && !shows_addresses(&expected)
            {
                wrong.push(format!(
                    "seed {seed}: {case:?}\n  Go: {}\n  we: {}",
                    show(&expected),
                    show(&answered)
                ));
            }
        }
        wrong
    });
    let shown = wrong.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {count} answers differ:\n{shown}", wrong.len());
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
