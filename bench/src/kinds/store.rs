//! The store: what a render costs beside many shared variables, and how long it takes until all of them are there.

use std::hint::black_box;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use hinagata::ports::Store as _;
use hinagata::store::{StoreChange, StoreKind};
use hinagata::{Engine, Request};
use hinagata_store::{DEFAULT_PREFIX, MemoryStore, RedisOptions, RedisStore};
use serde_json::{Value, json};

use crate::install::Installer;
use crate::measure::{Contest, Peer};
use crate::process::{ProcessSide, printed};
use crate::row::Goal;
use crate::side::{Entrant, Side};

const KIND: &str = "store";
const MANY: usize = 10_000;
const FEW: usize = 20;
/// Among many environs beside among few.
const AMONG: Goal = Goal { must: 1.1, stretch: None };
/// Reading everything beside `redis-cli` that reads the same.
const START: Goal = Goal { must: 2.0, stretch: None };

const TEMPLATE: &str = "You review {{.module0.subject0.language}} code.\n\
                        {{range .module1.subject1.rules}}- {{.}}\n{{end}}\
                        {{if .module1.subject2.strict}}Be strict.{{end}} {{.variables.question}}\n";

pub(crate) fn contests(_installer: &Installer) -> Result<Vec<Contest>> {
    Ok(vec![among()?, start()])
}

/// The id of an environ: modules with ten subjects each.
fn id(number: usize) -> String {
    format!("module{}.subject{}", number / 10, number % 10)
}

fn value(number: usize) -> Value {
    json!({"language": "Go", "strict": true, "number": number, "rules": ["clear names", "small functions"]})
}

/// A prompt of the store among many environs, beside the same among few.
fn among() -> Result<Contest> {
    Ok(Contest {
        kind: KIND,
        name: format!("render among {MANY} environs"),
        expected: None,
        ours: rendering(MANY)?,
        peers: vec![Peer { name: "among 20", goal: Some(AMONG), entrant: rendering(FEW)? }],
    })
}

fn rendering(environs: usize) -> Result<Entrant> {
    let store = Arc::new(MemoryStore::new(DEFAULT_PREFIX));
    let engine = Engine::builder("no/such/workspace").with_store(store).open();
    let mut changes: Vec<StoreChange> =
        (0..environs).map(|number| StoreChange::set(StoreKind::Environ, id(number), value(number))).collect();
    changes.push(StoreChange::set(StoreKind::Template, "review", json!({"prompt": TEMPLATE})));
    engine.write_store_blocking(changes)?;
    let variables = json!({"question": "What is wrong here?"});
    let render = move || {
        let request = Request::new("review").with_variables(&variables);
        engine.render_blocking(&request).map(hinagata::Rendered::into_text)
    };
    let again = render.clone();
    Ok(Entrant::local("", move || Ok(again()?.into_bytes()), move || drop(black_box(render()))))
}

/// Connecting to a Redis with many keys until all are there, beside `redis-cli` that lists and gets them.
fn start() -> Contest {
    let server = Server::start().map(Rc::new);
    let absent = |error: &anyhow::Error| Entrant::Absent(format!("{error:#}"));
    let (ours, theirs) = match &server {
        Ok(server) => (loading(Rc::clone(server)), Entrant::new(scanning(Rc::clone(server)))),
        Err(error) => (absent(error), absent(error)),
    };
    Contest {
        kind: KIND,
        name: format!("start with {MANY} keys"),
        expected: None,
        ours,
        peers: vec![Peer { name: "redis-cli SCAN and MGET", goal: Some(START), entrant: theirs }],
    }
}

fn loading(server: Rc<Server>) -> Entrant {
    let open =
        move || RedisStore::open(&format!("redis://127.0.0.1:{}", server.port), RedisOptions::default());
    let again = open.clone();
    let count = move || Ok(again()?.snapshot().environs.len().to_string().into_bytes());
    Entrant::local("", count, move || drop(black_box(open())))
}

fn scanning(server: Rc<Server>) -> Result<Box<dyn Side>> {
    let version = printed(Command::new("redis-cli").arg("--version"))?;
    let version = String::from_utf8_lossy(&version).trim().to_owned();
    let port = server.port;
    let everything = move || {
        let _alive = &server;
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!(
            "redis-cli -p {port} --scan --pattern 'shenma:*' | xargs -n 1000 redis-cli -p {port} MGET"
        ));
        command
    };
    let mut once = everything();
    let count = move || {
        let lines = String::from_utf8(printed(&mut once)?).context("values are text")?.lines().count();
        Ok(lines.to_string().into_bytes())
    };
    Ok(Box::new(ProcessSide::new(version, everything, count)))
}

/// A Redis server with many keys.
struct Server {
    port: u16,
    child: Child,
}

impl Server {
    fn start() -> Result<Self> {
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let mut child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start redis-server (package redis-server)")?;
        let output = child.stdout.take().context("is piped")?;
        let mut lines = BufReader::new(output).lines();
        if !lines.any(|line| line.is_ok_and(|line| line.contains("Ready to accept connections"))) {
            bail!("redis-server did not start");
        }
        // Whoever talks into a pipe that nobody reads stops.
        std::thread::spawn(move || lines.for_each(drop));
        let server = Self { port, child };
        let store =
            Arc::new(RedisStore::open(&format!("redis://127.0.0.1:{port}"), RedisOptions::default())?);
        let engine = Engine::builder("no/such/workspace").with_store(store).open();
        let changes = (0..MANY).map(|number| StoreChange::set(StoreKind::Environ, id(number), value(number)));
        engine.write_store_blocking(changes.collect())?;
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
