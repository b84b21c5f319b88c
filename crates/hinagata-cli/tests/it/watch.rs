//! `hina render --watch`: a transcript cannot wait for files to change.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

/// Longer than any machine takes; only a failing test waits for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running command, and the lines that it prints.
struct Watching {
    child: Child,
    lines: Receiver<String>,
}

impl Watching {
    fn start(root: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hina"))
            .args(["render", "--watch"])
            .args(arguments)
            .current_dir(root)
            .env("HINAGATA_STATE", root.join("state"))
            .env("XDG_CONFIG_HOME", root.join("config"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("hina runs");
        let (sender, lines) = mpsc::channel();
        for stream in [
            Box::new(child.stdout.take().expect("is piped")) as Box<dyn std::io::Read + Send>,
            Box::new(child.stderr.take().expect("is piped")),
        ] {
            let sender = sender.clone();
            thread::spawn(move || {
                BufReader::new(stream).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
            });
        }
        Self { child, lines }
    }

    /// Waits for a line that starts like this.
    fn expect(&self, start: &str) {
        let mut seen = Vec::new();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) if line.starts_with(start) => return,
                Ok(line) => seen.push(line),
                Err(error) => panic!("{error} while waiting for {start:?}; there was {seen:?}"),
            }
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn workspace() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a temporary directory");
    let prompt = place.path().join("user_data/shared/prompts/hello");
    fs::create_dir_all(&prompt).expect("made");
    fs::write(prompt.join("template.md"), "Hello {{ name }}").expect("written");
    fs::write(place.path().join("vars.json"), r#"{"name": "Ada"}"#).expect("written");
    place
}

#[test]
fn a_change_of_the_prompt_or_its_variables_is_printed() {
    let place = workspace();
    let watching = Watching::start(place.path(), &["hello", "--vars", "vars.json"]);
    watching.expect("Hello Ada");
    fs::write(place.path().join("user_data/shared/prompts/hello/template.md"), "Bye {{ name }}")
        .expect("written");
    watching.expect("Bye Ada");
    fs::write(place.path().join("vars.json"), r#"{"name": "Bob"}"#).expect("written");
    watching.expect("Bye Bob");
}

#[test]
fn a_change_of_a_file_that_a_hook_reads_is_printed() {
    let place = workspace();
    let notes = place.path().join("notes");
    fs::create_dir_all(&notes).expect("made");
    fs::write(notes.join("today.txt"), "sun").expect("written");
    let prompt = "PERMISSIONS = {\"read_file\": True}\nTEMPLATE = \"It says {{ text }}\"\n\
                  async def pre_render(variables, context):\n    \
                  variables[\"text\"] = await context[\"read_file\"](\"notes/today.txt\")\n";
    let directory = place.path().join("user_data/shared/prompts/says");
    fs::create_dir_all(&directory).expect("made");
    fs::write(directory.join("prompt.py"), prompt).expect("written");
    let watching = Watching::start(place.path(), &["says"]);
    watching.expect("It says sun");
    fs::write(notes.join("today.txt"), "rain").expect("written");
    watching.expect("It says rain");
    fs::write(notes.join("today.txt"), "snow").expect("written");
    watching.expect("It says snow");
}

#[test]
fn what_is_wrong_is_told_and_watching_goes_on() {
    let place = workspace();
    let template = place.path().join("user_data/shared/prompts/hello/template.md");
    let watching = Watching::start(place.path(), &["hello", "name=Ada"]);
    watching.expect("Hello Ada");
    fs::write(&template, "{% if %}").expect("written");
    watching.expect("error[render.syntax]");
    fs::write(&template, "Mended, {{ name }}").expect("written");
    watching.expect("Mended, Ada");
}

#[test]
fn standard_input_cannot_be_watched() {
    let place = workspace();
    let watching = Watching::start(place.path(), &["hello", "name=@-"]);
    watching.expect("error: `--watch` cannot read standard input again");
}
