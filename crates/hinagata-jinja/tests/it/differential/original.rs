//! Jinja2 itself, in a child process that reads one case per line and answers with one line.

use std::{
    env,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::Value as Json;

use super::pieces::Case;

pub(crate) struct Original {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Original {
    /// Starts it; `None` if no Python with Jinja2 is configured.
    pub(crate) fn start() -> Option<Self> {
        let python = env::var_os("HINAGATA_TEST_PYTHON")?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/jinja2_answers.py");
        let mut child = Command::new(&python)
            .arg(script)
            // No answer depends on the order of Python's hashes, but the order must not change between two
            // answers.
            .env("PYTHONHASHSEED", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("HINAGATA_TEST_PYTHON ({python:?}) does not start: {error}"));
        let requests = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().expect("is a pipe"));
        Some(Self { child, requests, answers })
    }

    /// Takes the input of the process, to write requests from another thread.
    pub(crate) fn take_requests(&mut self) -> ChildStdin {
        self.requests.take().expect("is taken once")
    }

    pub(crate) fn next_answer(&mut self) -> Json {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the original answers");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("no answer ({error}): {line:?}"))
    }

    pub(crate) fn ask(&mut self, case: &Case) -> Json {
        write_request(self.requests.as_mut().expect("not taken"), &case.to_json());
        self.next_answer()
    }
}

pub(crate) fn write_request(requests: &mut ChildStdin, case: &Json) {
    writeln!(requests, "{case}").expect("the original reads");
}

impl Drop for Original {
    fn drop(&mut self) {
        // Closing its input ends it.
        drop(self.requests.take());
        let _ = self.child.wait();
    }
}
