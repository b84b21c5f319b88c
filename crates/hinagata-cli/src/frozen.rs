//! Tests of interfaces that callers rely on, recorded in `tests/frozen`: OpenAPI, help texts, error codes.
//!
//! A difference fails the test. `HINAGATA_UPDATE=1` rewrites the files; their diff is then part of the review.

use std::{fmt::Write as _, fs, path::Path};

use clap::CommandFactory as _;
use hinagata::{Code, Error, Reason};
use hinagata_server::Problem;

use crate::Arguments;

/// Codes of requests that never reach the engine. Only the daemon uses them.
const DAEMON_CODES: [&str; 10] =
    ["overload", "rate", "key", "scope", "origin", "host", "too_large", "method", "timeout", "request"];

/// Compares `current` with the frozen file `name`, or rewrites that file where an update is requested.
fn assert_frozen(name: &str, current: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/frozen").join(name);
    if std::env::var_os("HINAGATA_UPDATE").is_some() {
        fs::create_dir_all(file.parent().expect("the file is in a directory"))
            .expect("the directory can be created");
        fs::write(&file, current).expect("the file can be written");
    }
    let frozen = fs::read_to_string(&file).unwrap_or_default();
    if frozen == current {
        return;
    }
    let difference = similar::TextDiff::from_lines(&frozen, current);
    panic!(
        "tests/frozen/{name} differs; if that is intended, run the test with HINAGATA_UPDATE=1\n{}",
        difference.unified_diff().context_radius(1)
    );
}

/// Appends the help of `command` and of every command below it, each under a heading.
fn append_help(command: &mut clap::Command, path: &str, text: &mut String) {
    let help = command.render_long_help().to_string();
    let _ = write!(text, "# {path}\n\n{}\n\n", help.trim_end());
    for below in command.get_subcommands_mut() {
        let path = format!("{path} {}", below.get_name());
        if below.get_name() != "help" {
            append_help(below, &path, text);
        }
    }
}

/// Appends the status of `error` at each door.
fn append_code(text: &mut String, name: &str, error: &Error) {
    let problem = Problem::from(error);
    let _ = write!(
        text,
        "[\"{name}\"]\ntitle = {}\nhttp = {}\njson_rpc = {}\nexit = {}\n\n",
        problem.to_json()["title"],
        problem.status().as_u16(),
        error.code().spec().rpc,
        error.exit_code(),
    );
}

#[test]
fn the_openapi_document_is_as_frozen() {
    let document = serde_json::to_string_pretty(hinagata_server::openapi_document()).expect("is JSON");
    assert_frozen("openapi.json", &format!("{document}\n"));
}

#[test]
fn every_help_text_is_as_frozen() {
    let mut command = Arguments::command();
    command.build();
    let mut text = String::new();
    append_help(&mut command, "hina", &mut text);
    assert_frozen("help.txt", &text);
}

#[test]
fn every_error_code_is_as_frozen() {
    let mut text = String::from("# Codes of the engine. `code/reason` overrides its code.\n\n");
    for code in Code::ALL {
        append_code(&mut text, code.as_str(), &Error::new(code, "frozen"));
    }
    for reason in [Reason::Syntax, Reason::Settings] {
        append_code(&mut text, &format!("definition/{reason}"), &Error::definition(reason, "frozen"));
    }
    text.push_str("# Codes of the daemon alone; the route decides about the status.\n\n");
    for code in DAEMON_CODES {
        let status = 400_u16.try_into().expect("is a status");
        let _ = write!(
            text,
            "[\"{code}\"]\ntitle = {}\n\n",
            Problem::new(status, code, "frozen").to_json()["title"]
        );
    }
    assert_frozen("codes.toml", &text);
}
