//! From a keystroke to the findings that it changes, in `hina lsp`: among many prompts beside few, and beside `ruff server` on
//! as many bytes of Python. By the clock on the wall, as a person waits.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::install::Installer;
use crate::measure::{Contest, Peer};
use crate::row::Goal;
use crate::side::{Entrant, Lap, Side};
use crate::stage::Stage;

const KIND: &str = "lsp";
const AMONG_MANY: Goal = Goal { must: 1.5, stretch: None };
const BESIDE_RUFF: Goal = Goal { must: 1.0, stretch: None };
/// The version in `peers/ruff/requirements.txt`.
const RUFF: &str = "0.17.5";
/// How often the body of the edited file is repeated.
const REPEATED: usize = 120;

pub(crate) fn contests(installer: &Installer) -> Result<Vec<Contest>> {
    let few = Prompts::write(installer, 10)?;
    let many = Prompts::write(installer, 10_000)?;
    let python = Python::write(installer)?;
    let size = fs::metadata(&few.file)?.len();
    let ruff = installer.ruff().map_err(|error| format!("{error:#}"));
    let beside_ruff = match ruff {
        Ok(program) => {
            let mut command = Command::new(program);
            command.arg("server").current_dir(&python.root);
            Entrant::new(Typing::start(command, &python.root, &python.file, RUFF, "total_0"))
        }
        Err(reason) => Entrant::Absent(reason),
    };
    Ok(vec![
        Contest {
            kind: KIND,
            name: "keystroke to findings, 10 000 prompts".to_owned(),
            expected: None,
            ours: Entrant::new(many.typing()),
            peers: vec![Peer {
                name: "hina, 10 prompts",
                goal: Some(AMONG_MANY),
                entrant: Entrant::new(few.typing()),
            }],
        },
        Contest {
            kind: KIND,
            name: format!("keystroke to findings, a file of {size} bytes"),
            expected: None,
            ours: Entrant::new(few.typing()),
            peers: vec![Peer { name: "ruff server", goal: Some(BESIDE_RUFF), entrant: beside_ruff }],
        },
    ])
}

/// A workspace of ours with prompts that share partials.
struct Prompts {
    stage: Stage,
    file: PathBuf,
}

impl Prompts {
    fn write(installer: &Installer, count: usize) -> Result<Self> {
        let stage = Stage::new(installer, &format!("lsp-{count}"))?;
        let prompts = stage.root.join("user_data/shared/prompts");
        let file = prompts.join("p0/template.md");
        if !prompts.join(format!("p{}/template.md", count - 1)).exists() {
            fs::create_dir_all(prompts.join("partials"))?;
            for number in 0..count.div_ceil(10) {
                fs::write(
                    prompts.join(format!("partials/shared{number}.md")),
                    "Speak {{ agent_name }}'s language.\n",
                )?;
            }
            for number in 0..count {
                let directory = prompts.join(format!("p{number}"));
                fs::create_dir_all(&directory)?;
                fs::write(directory.join("template.md"), prompt(number))?;
            }
        }
        Ok(Self { stage, file })
    }

    fn typing(&self) -> Result<Box<dyn Side>> {
        let mut command = self.stage.command();
        command.arg("lsp");
        Typing::start(command, &self.stage.root, &self.file, "", "user.name_0")
    }
}

fn prompt(number: usize) -> String {
    let body = |line: usize| {
        format!(
            "{{% if user.active %}}\nStep {line}: greet {{{{ user.name_0|upper }}}} of {{{{ agent_name|trim }}}}.\n\
             {{% else %}}\nAsk {{{{ agent_name|default('nobody') }}}} for a name.\n{{% endif %}}\n"
        )
    };
    let repeated: String = (0..if number == 0 { REPEATED } else { 4 }).map(body).collect();
    let shared = number / 10;
    format!(
        "---\nparameters:\n  agent_name: {{type: string, required: true}}\n  user:\n    type: object\n    required: true\n    \
         schema:\n      type: object\n      properties:\n        active: {{type: boolean}}\n        name_0: {{type: string}}\n---\n\
         {{% include 'partials/shared{shared}.md' %}}\n{repeated}"
    )
}

/// A project in Python whose one file has as many bytes as the template.
struct Python {
    root: PathBuf,
    file: PathBuf,
}

impl Python {
    fn write(installer: &Installer) -> Result<Self> {
        let root = installer.cache.join("lsp-python");
        fs::create_dir_all(&root)?;
        let file = root.join("module.py");
        let size = prompt(0).len();
        let mut text = String::from("def start(total_0):\n    return total_0\n\n\n");
        for number in 0.. {
            let function = format!(
                "def step_{number}(total_0, names):\n    if total_0 > {number}:\n        return names[total_0].upper()\n    \
                 return [name.strip() for name in names]\n\n\n"
            );
            if text.len() + function.len() > size {
                break;
            }
            text.push_str(&function);
        }
        fs::write(&file, text)?;
        Ok(Self { root, file })
    }
}

/// A person who types in one file: a name becomes an unknown one, and itself again.
struct Typing {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    uri: String,
    /// Where the last letter of the name is.
    place: (usize, usize),
    version: i64,
    release: &'static str,
}

impl Typing {
    fn start(
        mut command: Command,
        root: &Path,
        file: &Path,
        release: &'static str,
        name: &str,
    ) -> Result<Box<dyn Side>> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start")?;
        let input = child.stdin.take().context("is piped")?;
        let output = BufReader::new(child.stdout.take().context("is piped")?);
        let text = fs::read_to_string(file)?;
        let (line, found) = text
            .lines()
            .enumerate()
            .filter(|(_, line)| line.contains(name))
            .last()
            .context("the name is not in the file")?;
        let column = found.find(name).context("is in the line")? + name.len() - 1;
        let uri = |path: &Path| format!("file://{}", path.display());
        let mut typing =
            Self { child, input, output, uri: uri(file), place: (line, column), version: 1, release };
        let folder = uri(root);
        typing.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "processId": null, "rootUri": folder, "capabilities": {},
            "workspaceFolders": [{"uri": folder, "name": "bench"}],
        }}))?;
        while typing.receive()?.get("id") != Some(&json!(1)) {}
        typing.send(&json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}))?;
        let language = if file.extension().is_some_and(|ending| ending == "py") { "python" } else { "jinja" };
        let document = json!({"uri": typing.uri, "languageId": language, "version": 1, "text": text});
        typing.send(&json!({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": document}}))?;
        ensure!(typing.wait_for_findings()? == 0, "the file has findings before anything is typed");
        // What the first answer left to do in the background is done before anything is timed.
        for _ in 0..4 {
            typing.type_twice()?;
        }
        Ok(Box::new(typing))
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        Ok(self.input.flush()?)
    }

    fn receive(&mut self) -> Result<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            ensure!(self.output.read_line(&mut line)? > 0, "the server hung up");
            match line.trim_end() {
                "" => break,
                line => {
                    if let Some(value) = line.strip_prefix("Content-Length: ") {
                        length = value.parse()?;
                    }
                }
            }
        }
        let mut content = vec![0; length];
        self.output.read_exact(&mut content)?;
        Ok(serde_json::from_slice(&content)?)
    }

    /// How many findings the current version has. Questions of the server are answered meanwhile.
    fn wait_for_findings(&mut self) -> Result<usize> {
        loop {
            let message = self.receive()?;
            if message.get("id").is_some() && message.get("method").is_some() {
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": null}))?;
            }
            let params = &message["params"];
            let is_about_it =
                message["method"] == "textDocument/publishDiagnostics" && params["uri"] == self.uri;
            if is_about_it && params["version"] == self.version {
                return Ok(params["diagnostics"].as_array().map_or(0, Vec::len));
            }
        }
    }

    /// Replaces the last letter of the name.
    fn type_letter(&mut self, letter: &str) -> Result<usize> {
        self.version += 1;
        let (line, column) = self.place;
        let change = json!({
            "range": {
                "start": {"line": line, "character": column},
                "end": {"line": line, "character": column + 1},
            },
            "text": letter,
        });
        let document = json!({"uri": self.uri, "version": self.version});
        let params = json!({"textDocument": document, "contentChanges": [change]});
        self.send(&json!({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params}))?;
        self.wait_for_findings()
    }

    fn type_twice(&mut self) -> Result<[usize; 2]> {
        Ok([self.type_letter("1")?, self.type_letter("0")?])
    }
}

impl Side for Typing {
    fn version(&self) -> &str {
        self.release
    }

    fn output(&mut self) -> Result<Vec<u8>> {
        let [with, without] = self.type_twice()?;
        Ok(format!("{} finding, then {without}", with.min(1)).into_bytes())
    }

    fn run(&mut self, iterations: u64) -> Result<Lap> {
        let started = Instant::now();
        for _ in 0..iterations {
            self.type_twice()?;
        }
        let wall = started.elapsed();
        Ok(Lap { wall, processor: wall })
    }
}

impl Drop for Typing {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is gone afterwards.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_edited_prompt_is_a_large_one() {
        assert!(prompt(0).len() > 15_000 && prompt(1).len() < 1_500);
        assert!(prompt(25).contains("partials/shared2.md"));
    }
}
