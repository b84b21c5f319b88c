//! A daemon of the user's, and requests over connections that the test holds in its hand.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::Home;

/// `hina serve`, until it is dropped.
pub(crate) struct Daemon {
    child: Child,
    address: String,
    /// Everything that it said on standard error, once it ended.
    said: mpsc::Receiver<String>,
}

impl Daemon {
    pub(crate) fn start(home: &Home, settings: &[&str]) -> Self {
        let mut command = home.command(&["serve", "--listen", "127.0.0.1:0"]);
        for setting in settings {
            command.args(["--set", setting]);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("hina starts");
        let mut errors = child.stderr.take().expect("is piped");
        let (tell, said) = mpsc::channel();
        thread::spawn(move || {
            let mut text = String::new();
            let _ = errors.read_to_string(&mut text);
            let _ = tell.send(text);
        });
        let mut output = BufReader::new(child.stdout.take().expect("is piped"));
        let mut line = String::new();
        output.read_line(&mut line).expect("tells where it listens");
        let address = line.trim().strip_prefix("listening on http://").expect("listens").to_owned();
        // Whatever else it prints must not keep it waiting.
        thread::spawn(move || {
            let _ = output.read_to_end(&mut Vec::new());
        });
        Self { child, address, said }
    }

    /// Sends a request, and leaves the answer to whoever holds the connection.
    pub(crate) fn send(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("connects");
        let body = body.to_string();
        let mut head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
            self.address,
            body.len()
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{head}\r\n{body}").as_bytes()).expect("is sent");
        stream
    }

    /// Renders a prompt without variables.
    pub(crate) fn send_render(&self, prompt: &str) -> TcpStream {
        self.send(&format!("/api/render/prompts/{prompt}"), &[], &json!({"variables": {}}))
    }

    /// Renders a prompt and waits for the answer: its status and body.
    pub(crate) fn render(&self, prompt: &str) -> (u16, Value) {
        answer(self.send_render(prompt))
    }

    /// Sends a signal and waits for the end; what it said.
    pub(crate) fn end(mut self, signal: &str) -> String {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().expect("runs").success());
        self.child.wait().expect("ends");
        self.said.recv().expect("says something")
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status and the body of an answer.
pub(crate) fn answer(mut stream: TcpStream) -> (u16, Value) {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("is answered");
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text}"));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("has a status");
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

/// What a header of an answer says, and the rest of it.
pub(crate) fn header(mut stream: TcpStream, name: &str) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("is answered");
    let value = text.lines().find_map(|line| {
        let (known, value) = line.split_once(": ")?;
        known.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    });
    value.unwrap_or_else(|| panic!("no {name}: {text}"))
}

/// Far longer than anything takes: only a test that fails waits for it.
const LONG: Duration = Duration::from_secs(60);

/// Waits until exactly `count` processes have given themselves this name.
pub(crate) fn wait_for_processes(name: &str, count: usize) {
    let is_called =
        |path: &Path| std::fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim() == name);
    let all = || {
        let processes = std::fs::read_dir("/proc").expect("there are processes").flatten();
        processes.filter(|entry| is_called(&entry.path())).count()
    };
    let started = Instant::now();
    while all() != count {
        assert!(started.elapsed() < LONG, "{} processes are called {name}, not {count}", all());
        thread::yield_now();
    }
}
