//! The program `fake-provider`, which benchmarks and the tests of the web page start.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        // A program that has ended cannot be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_program_answers_at_the_printed_address_and_hangs_after_queued_texts() {
    let mut program = Program(
        Command::new(env!("CARGO_BIN_EXE_fake-provider"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts"),
    );
    let mut lines =
        BufReader::new(program.0.stdout.take().expect("a pipe")).lines().map(|line| line.expect("a line"));
    let url = lines.next().expect("an address");
    let address = url.strip_prefix("http://").expect("an HTTP address");

    let mut answer = String::new();
    send_chat(address, "Connection: close\r\n").read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains(fake_provider::ANSWER), "{answer}");

    let mut input = program.0.stdin.take().expect("a pipe");
    writeln!(input, r#"["one piece"]"#).expect("the program reads");
    assert_eq!(lines.next().as_deref(), Some("queued"));
    let mut hanging = BufReader::new(send_chat(address, "")).lines().map(|line| line.expect("a line"));
    assert!(hanging.any(|line| line.contains("one piece")), "the stream ended without its text");
}

/// Sends a chat of OpenAI's API.
fn send_chat(address: &str, headers: &str) -> TcpStream {
    let body = r#"{"model":"any","stream":false,"messages":[]}"#;
    let mut stream = TcpStream::connect(address).expect("a connection");
    write!(
        stream,
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n{headers}\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("a request");
    stream
}
