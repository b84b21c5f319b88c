//! A daemon in a home, and requests to it.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Stdio},
};

use crate::support::Home;

/// `hina serve`, which ends when this is dropped.
pub(crate) struct Daemon {
    child: Child,
    address: String,
    token: String,
}

/// What it answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Daemon {
    pub(crate) fn start(home: &Home) -> Self {
        let mut command = home.command(&["serve", "--listen", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("starts");
        let mut line = String::new();
        let output = child.stdout.take().expect("is piped");
        BufReader::new(output).read_line(&mut line).expect("says where it listens");
        let address = line.trim().strip_prefix("listening on http://").expect("an address").to_owned();
        let port = address.rsplit(':').next().expect("has a port");
        let token = std::fs::read_to_string(home.outside(&format!("state/daemon/token-{port}")));
        Self { child, token: token.expect("is kept").trim().to_owned(), address }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "")
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Answer {
        self.ask("POST", path, body)
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).expect("listens");
        let (address, token, length) = (&self.address, &self.token, body.len());
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .expect("is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answers");
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("has a status");
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
        Answer { status, body }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
