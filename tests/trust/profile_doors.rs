//! The same rules at the other doors: what an untrusted workspace cannot hand out over HTTP and MCP either.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::fs::symlink,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::Home;

const HIDDEN: &str = "hidden-text";

/// A daemon that runs until it is dropped.
struct Daemon {
    child: Child,
    address: String,
    token: String,
}

impl Daemon {
    fn start(home: &Home) -> Self {
        let mut child = home
            .command(&["serve", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("is piped")).read_line(&mut line).expect("says a line");
        let address = line.trim().strip_prefix("listening on http://").expect("tells where").to_owned();
        let port = address.rsplit(':').next().expect("has a port");
        let token = home.outside(&format!("state/daemon/token-{port}"));
        let token = std::fs::read_to_string(token).expect("the token is kept").trim().to_owned();
        Self { child, address, token }
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let output = Command::new("curl")
            .args(["-s", "-H", &format!("Authorization: Bearer {}", self.token)])
            .args(["-H", "Content-Type: application/json", "-d", &body.to_string()])
            .arg(format!("http://{}{path}", self.address))
            .output()
            .expect("curl runs");
        let text = String::from_utf8_lossy(&output.stdout);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tempting(settings: &str, text: &str) -> Home {
    let home = Home::new();
    home.write(settings, text);
    home.write("ok.md", "open-text\n");
    home.write(".env", format!("TOKEN={HIDDEN}\n"));
    home.write_outside("vault/card.md", HIDDEN);
    symlink("../vault", home.path("vault")).expect("a link");
    symlink(".env", home.path("inner.md")).expect("a link");
    home
}

#[test]
fn a_profile_hands_nothing_out_over_http_and_says_so() {
    let home = tempting(".eddierc", "context: {include: ['**/*', 'vault/*', inner.md], includs: 1}\n");
    let daemon = Daemon::start(&home);
    for (path, body) in [
        ("/api/agents/manager/invoke", json!({"prompt": "hi"})),
        ("/api/context/pack", json!({})),
        ("/api/context/pack", json!({"include": [".env", "inner.md", "vault/card.md", "ok.md"]})),
    ] {
        let answer = daemon.post(path, &body).to_string();
        assert!(!answer.contains(HIDDEN) && answer.contains("open-text"), "{path} {body}: {answer}");
        assert!(answer.contains("because the workspace is not trusted"), "{path} {body}: {answer}");
        assert!(answer.contains("there is no setting `context.includs`"), "{path} {body}: {answer}");
    }
    let answer = daemon.post("/api/agents/manager/invoke", &json!({"prompt": "{% include '.env' %}"}));
    assert_eq!(
        (answer["status"].as_u64(), answer["code"].as_str()),
        (Some(403), Some("approval")),
        "{answer}"
    );
    let answer =
        daemon.post("/api/agents/manager/invoke", &json!({"prompt": "hi", "context": "mine"})).to_string();
    assert!(answer.contains("mine") && !answer.contains("open-text"), "{answer}");
    let answer = daemon.post("/api/context/pack", &json!({"max_bytes": 9_000_000})).to_string();
    assert!(answer.contains("`max_bytes` is 250000, as the settings say, and not 9000000"), "{answer}");
}

#[test]
fn a_resource_over_mcp_is_no_secret_and_no_link_out() {
    let home = tempting(
        "hinagata.toml",
        "[[resources]]\nuri = 'x://env'\nname = 'a'\nfile = '.env'\n\
         [[resources]]\nuri = 'x://link'\nname = 'b'\nfile = 'inner.md'\n\
         [[resources]]\nuri = 'x://vault'\nname = 'c'\nfile = 'vault/card.md'\n\
         [[resources]]\nuri = 'x://any/{name}'\nname = 'd'\nfile = '{name}'\n\
         [[resources]]\nuri = 'x://packed'\nname = 'e'\ncontext = { include = ['**/*', 'vault/*', 'inner.md'] }\n\
         [[resources]]\nuri = 'x://ok'\nname = 'f'\nfile = 'ok.md'\n",
    );
    let uris = ["x://env", "x://link", "x://vault", "x://any/.env", "x://packed", "x://ok"];
    let answers = read_resources(&home, &uris);
    for (uri, answer) in uris.iter().zip(&answers) {
        assert!(!answer.contains(HIDDEN), "{uri}: {answer}");
    }
    assert!(answers[4].contains("open-text") && answers[5].contains("open-text"), "{answers:?}");
    for answer in &answers[..4] {
        assert!(answer.contains("error"), "{answer}");
    }
    for answer in [&answers[0], &answers[1], &answers[3]] {
        assert!(answer.contains("withheld"), "{answer}");
    }
}

/// What `hina mcp` answers when these resources are read.
fn read_resources(home: &Home, uris: &[&str]) -> Vec<String> {
    let mut child = home
        .command(&["mcp"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts");
    let mut to = child.stdin.take().expect("is piped");
    let mut from = BufReader::new(child.stdout.take().expect("is piped"));
    let mut ask = |message: Value, answered: bool| {
        writeln!(to, "{message}").expect("is taken");
        let mut line = String::new();
        while answered && !line.contains(&format!("\"id\":{}", message["id"])) {
            line.clear();
            assert!(from.read_line(&mut line).expect("answers") > 0, "nothing more comes");
        }
        line
    };
    let client = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    ask(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}), true);
    ask(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), false);
    let read = |(place, uri): (usize, &&str)| json!({"jsonrpc": "2.0", "id": place + 2, "method": "resources/read", "params": {"uri": uri}});
    let answers = uris.iter().enumerate().map(read).map(|message| ask(message, true)).collect();
    drop(to);
    child.wait().expect("ends");
    answers
}
