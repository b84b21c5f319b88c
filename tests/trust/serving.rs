//! `hina serve` in a home, over HTTP with and without keys.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Stdio},
    time::Duration,
};

use serde_json::Value;

use crate::support::{Home, Ran};

/// Far longer than anything takes: only a test that fails waits for it.
const LONG: Duration = Duration::from_secs(60);

/// A daemon that runs until it is dropped.
pub(crate) struct Daemon {
    child: Child,
    address: String,
}

/// An answer over HTTP.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let line = self.head.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}:")))?;
        Some(line[name.len() + 1..].trim())
    }

    /// The message of the protocol that the last event holds, or the body.
    pub(crate) fn message(&self) -> Value {
        let data =
            self.body.lines().filter_map(|line| line.strip_prefix("data:")).rfind(|data| data.contains('{'));
        let text = data.unwrap_or(&self.body);
        serde_json::from_str(text.trim()).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Daemon {
    /// Starts it in the workspace of `home`.
    pub(crate) fn start(home: &Home, arguments: &[&str]) -> Self {
        match try_start(home, arguments, &[]) {
            Ok(daemon) => daemon,
            Err(ran) => panic!("it does not start: {ran:?}"),
        }
    }

    /// Stops it as its users do, so that everything is written that it has to write.
    pub(crate) fn stop(mut self) {
        let id = self.child.id().to_string();
        let sent = std::process::Command::new("kill").args(["-TERM", &id]).status().expect("runs");
        assert!(sent.success() && self.child.wait().expect("ends").success(), "it stops");
    }

    pub(crate) fn request(&self, method: &str, path: &str, key: Option<&str>, body: &str) -> Answer {
        let headers: Vec<String> =
            key.map(|key| format!("authorization: Bearer {key}")).into_iter().collect();
        self.request_with(method, path, &headers, body)
    }

    pub(crate) fn get(&self, path: &str, key: Option<&str>) -> Answer {
        self.request("GET", path, key, "")
    }

    /// A message of the Model Context Protocol.
    pub(crate) fn mcp(&self, key: &str, session: Option<&str>, method: &str, message: &str) -> Answer {
        let mut headers = vec![
            format!("authorization: Bearer {key}"),
            "accept: application/json, text/event-stream".to_owned(),
            "content-type: application/json".to_owned(),
        ];
        headers.extend(session.map(|session| format!("mcp-session-id: {session}")));
        self.request_with(method, "/mcp", &headers, message)
    }

    /// Opens a session of an older revision; its id.
    pub(crate) fn mcp_session(&self, key: &str) -> String {
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
        let answer = self.mcp(key, None, "POST", hello);
        let session = answer.header("mcp-session-id").unwrap_or_else(|| panic!("no session: {answer:?}"));
        session.to_owned()
    }

    /// What a method of a session answers.
    pub(crate) fn mcp_call(&self, key: &str, session: &str, method: &str, params: &Value) -> Value {
        let call = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.mcp(key, Some(session), "POST", &call.to_string()).message()
    }

    pub(crate) fn request_with(&self, method: &str, path: &str, headers: &[String], body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).expect("listens");
        stream.set_read_timeout(Some(LONG)).expect("is set");
        let more: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n{more}\r\n",
            self.address,
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).expect("is sent");
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while reader.read_line(&mut head).expect("answers") > 2 {}
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("has a status");
        let mut body = Vec::new();
        // Whoever listens is told for good, so the first words are all that is waited for.
        let endless = method == "GET" && head.contains("text/event-stream");
        match endless {
            true => drop(reader.read_until(b'\n', &mut body)),
            false => drop(reader.read_to_end(&mut body)),
        }
        let body = if head.contains("chunked") && !endless { without_chunks(&body) } else { body };
        Answer { status, head, body: String::from_utf8_lossy(&body).into_owned() }
    }
}

fn without_chunks(mut body: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(end) = body.windows(2).position(|pair| pair == b"\r\n") {
        let size =
            std::str::from_utf8(&body[..end]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let Some(size) = size.filter(|size| *size > 0 && body.len() >= end + 4 + size) else { break };
        all.extend_from_slice(&body[end + 2..end + 2 + size]);
        body = &body[end + 4 + size..];
    }
    all
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a daemon; what it said when it does not serve.
pub(crate) fn try_start(home: &Home, arguments: &[&str], variables: &[(&str, &str)]) -> Result<Daemon, Ran> {
    let mut command = home.command(&["serve"]);
    let listen: &[&str] = if arguments.contains(&"--config") { &[] } else { &["--listen", "127.0.0.1:0"] };
    command.args(listen).args(arguments).envs(variables.iter().copied());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut errors = child.stderr.take().expect("is piped");
    let said = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = errors.read_to_string(&mut text);
        text
    });
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().expect("is piped"));
    output.read_line(&mut line).expect("can be read");
    match line.trim().strip_prefix("listening on http://") {
        Some(address) => Ok(Daemon { child, address: address.to_owned() }),
        None => {
            let status = child.wait().expect("ends");
            Err(Ran {
                code: status.code().unwrap_or(-1),
                stdout: line,
                stderr: said.join().expect("is read"),
            })
        }
    }
}

/// What a daemon says that must not serve.
pub(crate) fn refused(home: &Home, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
    match try_start(home, arguments, variables) {
        Ok(_) => panic!("it serves with {arguments:?} and {variables:?}"),
        Err(ran) => ran,
    }
}

/// A new key: the key itself, and its table in the settings.
pub(crate) fn new_key(home: &Home, name: &str, more: &[&str]) -> (String, String) {
    let made = home.done(&[&["key", name, "--json"], more].concat()).json();
    let list = |field: &str| made[field].to_string();
    let mut table =
        format!("[[keys]]\nname = \"{name}\"\nhash = {}\nscopes = {}\n", made["hash"], list("scopes"));
    for field in ["prompts", "environs"] {
        if made[field].as_array().is_some_and(|all| !all.is_empty()) {
            table.push_str(&format!("{field} = {}\n", list(field)));
        }
    }
    (made["key"].as_str().expect("is text").to_owned(), table)
}
