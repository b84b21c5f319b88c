//! The daemons of the kind, their prompts, and what keeps them busy.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::KIND;
use crate::crowd::{Crowd, Seen, Window};
use crate::daemon::Daemon;
use crate::install::Installer;
use crate::load::{Load, post};
use crate::provider::Silent;
use crate::stage::{Stage, token_of};

const HANGING_CHATS: usize = 256;
const HANGING_RENDERS: usize = 120;
/// Calls of one tool that run at the same time; the others of [`HANGING_RENDERS`] wait for them.
const TOOL_CALLS: usize = 64;

/// What is asked for beside slow prompts: so often, by so many clients, and answered within this time or not counted.
pub(super) const PACED_RATE: f64 = 200.0;
const PACED_CLIENTS: usize = 16;
const PACED_WITHIN: Duration = Duration::from_millis(50);
/// Connections that ask for slow prompts meanwhile.
const SLOW_CLIENTS: usize = 200;

/// A prompt with the processor time that one render takes.
pub(super) struct Costly {
    prompt: &'static str,
    pub(super) time: Duration,
}

pub(super) const COSTLY: [Costly; 2] = [
    Costly { prompt: "slow", time: Duration::from_millis(95) },
    Costly { prompt: "medium", time: Duration::from_millis(10) },
];
pub(super) const QUICK: &str = "quick";
const WAITING: &str = "waiting";

/// Three loops, one in the other, over a list of the request: its length decides how long they take.
const LOOPS: &str = "{{range $a := .variables.items}}{{range $b := $.variables.items}}\
                     {{range $c := $.variables.items}}{{if eq $c 0.5}}x{{end}}{{end}}{{end}}{{end}}done";
const QUICK_TEXT: &str = "You review {{.variables.language}} code.\n\
                          {{range .variables.rules}}- {{.}}\n{{end}}Be strict.\n";

/// What keeps a daemon of ours busy while others ask for a quick prompt.
#[derive(Clone, Copy)]
pub(super) enum Beside {
    Nothing,
    Chats,
    Tools,
    Slow,
}

impl Beside {
    pub(super) fn describe(self) -> String {
        match self {
            Self::Nothing => "alone".to_owned(),
            Self::Chats => format!("beside {HANGING_CHATS} chats that hang"),
            Self::Tools => format!("beside {HANGING_RENDERS} renders with a tool that hangs"),
            Self::Slow => format!("beside {SLOW_CLIENTS} connections with slow prompts"),
        }
    }
}

/// The workspace of ours, and the same prompts for the other daemon.
pub(super) struct Scene {
    stage: Stage,
    document: PathBuf,
    /// The server of the tool that never answers.
    tool: Silent,
}

impl Scene {
    pub(super) fn new(installer: &Installer) -> Result<Self> {
        let tool = Silent::start()?;
        let document = installer.cache.join("overload-store.json");
        let template = |name: &str, text: &str| json!({"name": name, "prompt": text});
        let tools = json!({"silent": {
            "id": "silent", "name": "silent", "type": "restful", "url": format!("http://{}/", tool.address),
            "description": "Never answers", "parameters": {"type": "object", "properties": {}},
        }});
        let mut templates = json!({QUICK: template(QUICK, QUICK_TEXT)});
        for costly in &COSTLY {
            templates[costly.prompt] = template(costly.prompt, LOOPS);
        }
        let common = json!({"templates": templates});
        fs::write(&document, common.to_string())?;
        let stage = Stage::new(installer, KIND)?;
        stage.import(&document)?;
        // The tool and its prompt are for ours only.
        let own = json!({"tools": tools, "templates": {WAITING: template(WAITING, "{{silent}}")}});
        let own_document = installer.cache.join("overload-tools.json");
        fs::write(&own_document, own.to_string())?;
        stage.import(&own_document)?;
        let settings = stage.state.join("hinagata");
        fs::create_dir_all(&settings)?;
        fs::write(settings.join("config.toml"), "[tools]\nallowed_hosts = [\"127.0.0.1\"]\ntimeout = 60\n")?;
        Ok(Self { stage, document, tool })
    }

    /// A daemon of ours with clients that hang.
    pub(super) fn occupied(&self, beside: Beside) -> Result<Daemon> {
        let mut serve = self.stage.serve();
        match beside {
            Beside::Nothing | Beside::Slow => Daemon::start(&mut serve),
            Beside::Chats => {
                let model = Silent::start()?;
                serve.env("OPENAI_BASE_URL", format!("http://{}/v1", model.address));
                let mut daemon = Daemon::start(serve.env("OPENAI_API_KEY", "none"))?;
                let (token, path) = (token_of(&mut daemon)?, format!("/api/chat/prompts/{QUICK}"));
                let body = json!({"model": "gpt-4o", "variables": quick_variables()});
                let request = post(daemon.address(), &path, &body, Some(&token)).into();
                Crowd { address: daemon.address(), request, clients: HANGING_CHATS }.hang();
                model.wait_for(HANGING_CHATS)?;
                Ok(daemon)
            }
            Beside::Tools => {
                let (daemon, before) = (Daemon::start(&mut serve)?, self.tool.taken());
                crowd(&daemon, WAITING, &json!({}), HANGING_RENDERS).hang();
                self.tool.wait_for(before + TOOL_CALLS)?;
                Ok(daemon)
            }
        }
    }

    pub(super) fn ours(&self) -> impl Fn() -> Command + '_ {
        || self.stage.serve()
    }

    pub(super) fn go(&self, program: PathBuf) -> impl Fn() -> Command + '_ {
        move || {
            let mut command = Command::new(&program);
            command.arg("-state").arg(&self.document).arg("-log").arg(self.stage.state.join("go.log"));
            command
        }
    }
}

pub(super) fn quick_variables() -> Value {
    json!({"language": "Go", "rules": ["clear names", "small functions"]})
}

/// Clients that ask a daemon for a prompt.
fn crowd(daemon: &Daemon, prompt: &str, variables: &Value, clients: usize) -> Crowd {
    let (path, body) = (format!("/api/render/prompts/{prompt}"), json!({"variables": variables}));
    let request = post(daemon.address(), &path, &body, None).into();
    Crowd { address: daemon.address(), request, clients }
}

/// A daemon that goes through all series.
pub(super) struct Rival<'s> {
    pub(super) name: &'static str,
    pub(super) version: String,
    pub(super) command: Box<dyn Fn() -> Command + 's>,
    /// For each prompt of [`COSTLY`], the variables with which it takes its time.
    pub(super) variables: Vec<Value>,
}

impl<'s> Rival<'s> {
    pub(super) fn new(
        name: &'static str,
        version: String,
        command: impl Fn() -> Command + 's,
    ) -> Result<Self> {
        let daemon = Daemon::start(&mut command())?;
        let variables = COSTLY.iter().map(|costly| calibrated(&daemon, costly)).collect::<Result<_>>()?;
        Ok(Self { name, version, command: Box::new(command), variables })
    }

    pub(super) fn is_peer(&self) -> bool {
        self.name != "hina"
    }

    pub(super) fn start(&self) -> Result<Daemon> {
        Daemon::start(&mut (self.command)())
    }

    /// What `clients` see that ask for the prompt with this number.
    pub(super) fn crowded(&self, number: usize, clients: usize, window: Window) -> Result<Seen> {
        let (daemon, variables) = (self.start()?, &self.variables[number]);
        crowd(&daemon, COSTLY[number].prompt, variables, clients)
            .repeat(window)
            .with_context(|| format!("{} with {clients} connections", self.name))
    }

    /// Answers in time for each second, of a quick prompt that is asked for at a steady rate.
    pub(super) fn paced(&self, daemon: &Daemon, beside_slow: bool, window: Window) -> Result<f64> {
        let slow = beside_slow.then(|| crowd(daemon, COSTLY[0].prompt, &self.variables[0], SLOW_CLIENTS));
        let quick = crowd(daemon, QUICK, &quick_variables(), PACED_CLIENTS);
        let seen = quick.pace(PACED_RATE, slow.as_ref(), window)?;
        let in_time = seen.answers.iter().filter(|time| **time <= PACED_WITHIN).count();
        Ok(in_time as f64 / window.time.as_secs_f64())
    }
}

/// The variables with which one render of the prompt takes the processor for its time, on this machine.
fn calibrated(daemon: &Daemon, costly: &Costly) -> Result<Value> {
    let path = format!("/api/render/prompts/{}", costly.prompt);
    let mut length = 16_usize;
    for _ in 0..6 {
        let variables = items(length);
        let mut load = Load::new(daemon.address(), &path, &json!({"variables": variables}), None)?;
        let mut best = Duration::MAX;
        for _ in 0..4 {
            let before = daemon.processor_time()?;
            load.once()?;
            best = best.min(daemon.processor_time()?.saturating_sub(before));
        }
        let factor = (costly.time.as_secs_f64() / best.as_secs_f64().max(1e-6)).cbrt();
        let next = (length as f64 * factor.clamp(0.25, 4.0)).round() as usize;
        if next == length {
            break;
        }
        length = next.max(1);
    }
    ensure!(length > 4, "a render is too slow to be calibrated");
    Ok(items(length))
}

fn items(length: usize) -> Value {
    json!({"items": (0..length).collect::<Vec<_>>()})
}
