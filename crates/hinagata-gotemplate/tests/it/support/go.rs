//! The real Go, answering cases.

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value as Json, json};

use super::run::Case;

/// A running Go program that answers cases.
pub(crate) struct Go {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// What Go makes of a case.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Output(Vec<u8>),
    Parse(Vec<u8>),
    Exec(Vec<u8>, Vec<u8>),
    /// Go itself failed.
    Panic(String),
}

impl Go {
    /// Builds the program with the `go` command and starts it.
    pub(crate) fn start(go: &Path) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/go/main.go");
        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        // Tests run at the same time, also in processes of their own: each builds its own, from the one cache.
        let (process, thread) = (std::process::id(), std::thread::current().id());
        let program = directory.join(format!("answers-{process}-{thread:?}"));
        let built = Command::new(go)
            .args(["build", "-o"])
            .args([&program, &source])
            .env("GOFLAGS", "-mod=mod")
            .env("GO111MODULE", "off")
            .env("GOPROXY", "off")
            .env("GOTOOLCHAIN", "local")
            .env("GOCACHE", directory.join("go-cache"))
            .current_dir(&directory)
            .status()
            .expect("go runs");
        assert!(built.success(), "the Go program is built");
        let mut process = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the Go program starts");
        std::fs::remove_file(program).expect("is removed");
        let input = process.stdin.take().expect("is piped");
        let output = BufReader::new(process.stdout.take().expect("is piped"));
        Self { process, input, output }
    }

    pub(crate) fn answer(&mut self, case: &Case) -> Answer {
        let request = json!({
            "sources": case.sources, "entry": case.entry, "data": case.data, "ints": case.ints,
            "missingkey": case.missing_key, "delims": [case.delims.0, case.delims.1],
        });
        writeln!(self.input, "{request}").expect("Go reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("Go answers");
        let answer: Json = serde_json::from_str(&line).expect("an answer is JSON");
        let bytes = |name: &str| answer[name].as_str().map(decode_base64);
        if let Some(message) = answer["panic"].as_str() {
            return Answer::Panic(message.to_owned());
        }
        match (bytes("parse_error"), bytes("exec_error")) {
            (Some(error), _) => Answer::Parse(error),
            (None, Some(error)) => Answer::Exec(error, bytes("output").unwrap_or_default()),
            (None, None) => Answer::Output(bytes("output").unwrap_or_default()),
        }
    }
}

impl Drop for Go {
    fn drop(&mut self) {
        // It ends when its input does; killing it is only for the case that it does not.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn decode_base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for digit in text.bytes().filter(|&byte| byte != b'=') {
        let value = DIGITS.iter().position(|&known| known == digit).expect("is base64");
        bits = bits << 6 | value as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
