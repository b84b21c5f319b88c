//! Prompts behind the APIs that programs already speak: what a call through the daemon costs beside LiteLLM's proxy,
//! before the same provider. The daemon renders a prompt for each call; the proxy is sent the rendered text.
//!
//! A time is processor time of the process for one request, as the kernel counts it.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::daemon::Daemon;
use crate::install::Installer;
use crate::load::Load;
use crate::measure::{Contest, Peer};
use crate::provider;
use crate::row::Goal;
use crate::side::{Entrant, Lap, Side};
use crate::stage::{Stage, token_of};

const KIND: &str = "v1";
const LITELLM: Goal = Goal { must: 0.1, stretch: Some(0.03) };
const PATH: &str = "/v1/chat/completions";
const MODEL: &str = "gpt-4o";

/// A prompt of the system; the question is the caller's.
const PROMPT: &str = "---
model: openai/gpt-4o
type: system
inputs:
  language: string
  strict: {type: boolean, default: false}
---
You review {{ language }} code.
- clear names
- small functions
{% if strict %}Be strict.{% endif %}
";
const RENDERED: &str = "You review Go code.\n- clear names\n- small functions\nBe strict.\n";
const QUESTION: &str = "What is wrong here?";

pub(crate) fn contests(installer: &Installer) -> Result<Vec<Contest>> {
    let upstream = provider::start()?;
    // An installation takes longer than a daemon keeps idle connections. If it fails, the peer says so later.
    drop(installer.litellm());
    let stage = Stage::new(installer, "v1")?;
    let prompt = stage.root.join("user_data/shared/prompts/review");
    fs::create_dir_all(&prompt)?;
    fs::write(prompt.join("template.md"), PROMPT)?;
    let contest = |name: &str, is_streamed: bool| Contest {
        kind: KIND,
        name: name.to_owned(),
        expected: Some(provider::said().into_bytes()),
        ours: Entrant::new(ours(&stage, upstream, is_streamed)),
        peers: vec![Peer {
            name: "LiteLLM's proxy",
            goal: Some(LITELLM),
            entrant: Entrant::new(litellm(installer, upstream, is_streamed)),
        }],
    };
    Ok(vec![contest("chat, whole", false), contest("chat, 100 chunks", true)])
}

fn ours(stage: &Stage, upstream: SocketAddr, is_streamed: bool) -> Result<Box<dyn Side>> {
    let mut serve = stage.serve();
    serve.env("OPENAI_BASE_URL", format!("http://{upstream}/v1")).env("OPENAI_API_KEY", "none");
    let mut daemon = Daemon::start(&mut serve)?;
    let token = token_of(&mut daemon)?;
    let body = json!({
        "model": "prompt/review",
        "variables": {"language": "Go", "strict": true},
        "messages": [{"role": "user", "content": QUESTION}],
        "stream": is_streamed,
    });
    Asked::start(daemon, &body, Some(&token), String::new())
}

fn litellm(installer: &Installer, upstream: SocketAddr, is_streamed: bool) -> Result<Box<dyn Side>> {
    let (python, version) = installer.litellm()?;
    let mut command = Command::new(python);
    command.arg(installer.home.join("peers/litellm/server.py")).arg(format!("http://{upstream}/v1"));
    let daemon = Daemon::start(&mut command)?;
    let body = json!({
        "model": MODEL,
        "messages": [{"role": "system", "content": RENDERED}, {"role": "user", "content": QUESTION}],
        "stream": is_streamed,
    });
    Asked::start(daemon, &body, None, version)
}

/// A server with a client.
struct Asked {
    daemon: Daemon,
    load: Load,
    version: String,
}

impl Asked {
    fn start(daemon: Daemon, body: &Value, token: Option<&str>, version: String) -> Result<Box<dyn Side>> {
        let load = Load::new(daemon.address(), PATH, body, token)?;
        let mut asked = Self { daemon, load, version };
        // Once beforehand: who cannot do it is absent.
        asked.output()?;
        Ok(Box::new(asked))
    }
}

impl Side for Asked {
    fn version(&self) -> &str {
        &self.version
    }

    /// What the model said, out of a whole answer or of its chunks.
    fn output(&mut self) -> Result<Vec<u8>> {
        let body = String::from_utf8(self.load.once()?).context("the answer is no text")?;
        let said = match serde_json::from_str::<Value>(&body) {
            Ok(answer) => answer["choices"][0]["message"]["content"].as_str().map(str::to_owned),
            Err(_) => Some(said_in_stream(&body)),
        };
        let said = said.with_context(|| format!("the answer says nothing: {body}"))?;
        ensure!(!said.is_empty(), "the answer says nothing: {body}");
        Ok(said.into_bytes())
    }

    fn run(&mut self, iterations: u64) -> Result<Lap> {
        self.daemon.time_work(|| self.load.run(iterations).map(drop))
    }
}

/// The text of a stream of events.
fn said_in_stream(body: &str) -> String {
    let events = body.lines().filter_map(|line| line.strip_prefix("data:"));
    let pieces = events.filter_map(|event| serde_json::from_str::<Value>(event).ok());
    pieces.filter_map(|piece| piece["choices"][0]["delta"]["content"].as_str().map(str::to_owned)).collect()
}
