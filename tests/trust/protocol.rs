//! Messages of the Model Context Protocol, over HTTP and over standard input and output.

use std::{io::Write as _, process::Stdio};

use serde_json::{Value, json};

use super::{
    daemon::Daemon,
    http::{Answer, Sent},
    support::{Home, Ran},
};

/// The revision that has no sessions.
const STATELESS: &str = "2026-07-28";

/// A request with the id `id`.
pub(crate) fn message(id: usize, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// The first request of a client of an older revision.
pub(crate) fn hello() -> String {
    let client = json!({"name": "t", "version": "1"});
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    message(0, "initialize", &params)
}

impl Daemon {
    /// Sends a message, and leaves the answer to whoever holds what was sent.
    pub(crate) fn mcp_send(
        &self,
        method: &str,
        key: Option<&str>,
        more: &[(&str, &str)],
        message: &str,
    ) -> Sent {
        let bearer = key.map(|key| format!("Bearer {key}"));
        let mut headers = vec![("accept", "application/json, text/event-stream")];
        headers.extend(bearer.iter().map(|bearer| ("authorization", bearer.as_str())));
        headers.extend(more);
        self.send(method, "/mcp", &headers, message)
    }

    /// What a message of a session is answered, or one before there is a session.
    pub(crate) fn mcp(&self, key: &str, session: Option<&str>, method: &str, message: &str) -> Answer {
        let session: Vec<_> = session.map(|session| ("mcp-session-id", session)).into_iter().collect();
        self.mcp_send(method, Some(key), &session, message).answer()
    }

    /// Opens a session of an older revision; its id.
    pub(crate) fn mcp_session(&self, key: Option<&str>) -> String {
        let answer = self.mcp_send("POST", key, &[], &hello()).answer();
        let session = answer.header("mcp-session-id").unwrap_or_else(|| panic!("no session: {answer:?}"));
        session.to_owned()
    }

    /// What a method answers in a session of its own.
    pub(crate) fn mcp_call(&self, key: &str, method: &str, params: &Value) -> Value {
        let session = self.mcp_session(Some(key));
        self.mcp(key, Some(&session), "POST", &message(1, method, params)).message()
    }

    /// Calls a method of the revision without sessions.
    pub(crate) fn mcp_stateless(&self, key: Option<&str>, method: &str, mut params: Value) -> Sent {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": STATELESS,
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let mut headers = vec![("mcp-protocol-version", STATELESS), ("mcp-method", method)];
        let name = params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str);
        headers.extend(name.map(|name| ("mcp-name", name)));
        self.mcp_send("POST", key, &headers, &message(1, method, &params))
    }
}

impl Answer {
    /// The message that the last event holds, or the body.
    pub(crate) fn message(&self) -> Value {
        let data =
            self.body.lines().filter_map(|line| line.strip_prefix("data:")).rfind(|data| data.contains('{'));
        let text = data.unwrap_or(&self.body);
        serde_json::from_str(text.trim()).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// What `hina mcp` answers to these lines, and how it ends.
pub(crate) fn spoken(home: &Home, arguments: &[&str], lines: &[&str]) -> (Vec<Value>, Ran) {
    let mut command = home.command(&["mcp"]);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("starts");
    let mut input = child.stdin.take().expect("is piped");
    for line in lines {
        // One that ended tells why, which is for the test to see.
        let _ = writeln!(input, "{line}");
    }
    drop(input);
    let ran = Ran::from_output(&child.wait_with_output().expect("ends"));
    let answers = ran.stdout.lines().map(|line| serde_json::from_str(line).expect("is JSON")).collect();
    (answers, ran)
}

/// What `hina mcp` answers to these requests of a client, one for each, and how it ends.
pub(crate) fn asked(home: &Home, arguments: &[&str], requests: &[(&str, Value)]) -> (Vec<Value>, Ran) {
    let calls =
        requests.iter().enumerate().map(|(place, (method, params))| message(place + 1, method, params));
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    let lines: Vec<String> = [hello(), ready].into_iter().chain(calls).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (answers, ran) = spoken(home, arguments, &lines);
    let answer = |id: usize| answers.iter().find(|answer| answer["id"] == id).cloned();
    let all =
        (1..=requests.len()).map(|id| answer(id).unwrap_or_else(|| panic!("{id} is answered: {ran:?}")));
    (all.collect(), ran)
}
