//! Messages that the types of the official SDKs describe: written back as they came, and accepted by the types of the
//! others.

use std::{
    env,
    ffi::OsString,
    io::Write as _,
    process::{Command, Stdio},
    sync::OnceLock,
    thread,
};

use hinagata_module::{
    CompiledPrompt, Element, MessageFormat, MessageReader,
    driver::{Driver, RequestOptions},
};
use serde_json::{Value, json};

use crate::common::folder;

/// Messages that are generated.
const COUNT: &str = "10000";

/// A Python that has the SDKs.
fn python() -> OsString {
    env::var_os("HINAGATA_TEST_PYTHON")
        .expect("HINAGATA_TEST_PYTHON names a Python with the SDKs; ./test sets it")
}

/// The output of a script of `tests/sdks`.
fn run_script(python: &OsString, script: &str, arguments: &[&str], input: String) -> String {
    let mut child = Command::new(python)
        .arg(folder("sdks").join(script))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{python:?} does not start: {error}"));
    let mut stdin = child.stdin.take().expect("is a pipe");
    let writing = thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("ends");
    writing.join().expect("does not panic").expect("the script reads everything");
    assert!(output.status.success(), "{script} failed");
    String::from_utf8(output.stdout).expect("is UTF-8")
}

/// Conversations in the format of a driver, generated once for all tests.
fn conversations(python: &OsString) -> &'static [(Driver, Value)] {
    static CONVERSATIONS: OnceLock<Vec<(Driver, Value)>> = OnceLock::new();
    CONVERSATIONS.get_or_init(|| generate(python))
}

fn generate(python: &OsString) -> Vec<(Driver, Value)> {
    let lines = run_script(python, "generate.py", &["7", COUNT], String::new());
    let conversation = |line: &str| {
        let mut document: Value = serde_json::from_str(line).expect("is JSON");
        let driver = Driver::from_name(document["format"].as_str().expect("is a name")).expect("is a driver");
        (driver, document["messages"].take())
    };
    lines.lines().map(conversation).collect()
}

fn format_of(driver: Driver) -> MessageFormat {
    MessageFormat::ALL
        .into_iter()
        .find(|format| format.name() == driver.name())
        .expect("every driver has one")
}

fn prompt(driver: Driver, messages: &Value) -> CompiledPrompt {
    let reader = MessageReader::new().with_format(format_of(driver));
    let messages = reader.read_messages(messages).unwrap_or_else(|error| panic!("{error}: {messages}"));
    CompiledPrompt { data: messages.into_iter().map(Element::Message).collect(), ..CompiledPrompt::default() }
}

fn messages_of(driver: Driver, body: &Value) -> Value {
    let key = match driver {
        Driver::OpenAi | Driver::Anthropic | Driver::Ollama => "messages",
        Driver::OpenAiResponses => "input",
        Driver::Gemini => "contents",
    };
    body[key].clone()
}

/// A message of the user, which every provider accepts at the start and at the end.
fn plain_message(driver: Driver) -> Value {
    match driver {
        Driver::Gemini => json!({"role": "user", "parts": [{"text": "Begin."}]}),
        _ => json!({"role": "user", "content": "Begin."}),
    }
}

#[test]
fn messages_are_written_back_as_they_came() {
    let python = python();
    for &(driver, ref messages) in conversations(&python) {
        let mut all = vec![plain_message(driver)];
        all.extend(messages.as_array().expect("is a list").iter().cloned());
        all.push(plain_message(driver));
        let all = Value::Array(all);
        let made = driver.format(&prompt(driver, &all), &RequestOptions::new("m")).expect("can be written");
        assert_eq!(messages_of(driver, &made.to_value()), all, "{}", driver.name());
        assert_eq!(made.notes(), [""; 0], "{}", driver.name());
    }
}

#[test]
fn messages_for_another_provider_are_accepted_by_the_types_of_its_sdk() {
    let python = python();
    let (mut requests, mut refused) = (String::new(), 0);
    for &(from, ref messages) in conversations(&python) {
        let prompt = prompt(from, messages);
        for driver in Driver::ALL.into_iter().filter(|driver| *driver != from) {
            match driver.format(&prompt, &RequestOptions::new("m")) {
                Ok(made) => {
                    let line = json!({"format": driver.name(), "body": made.to_value()});
                    requests.push_str(&format!("{line}\n"));
                }
                // Media that a provider does not accept, and results without calls.
                Err(_) => refused += 1,
            }
        }
    }
    let count = requests.lines().count();
    let answer = run_script(&python, "validate.py", &[], requests);
    let problems: Vec<&str> = answer.lines().take(answer.lines().count() - 1).take(5).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert_eq!(answer.lines().last(), Some(count.to_string().as_str()));
    assert!(refused < count / 2, "{refused} of {count}");
}
