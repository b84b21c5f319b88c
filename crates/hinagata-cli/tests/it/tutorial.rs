//! The tutorial works as written: its files are saved, its commands run in order, and their output is compared.
#![cfg(unix)]

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// The address that the page shows.
const SHOWN_ADDRESS: &str = "127.0.0.1:8700";

/// A reader of the tutorial: a directory, and a daemon once the page calls one.
struct Reader {
    home: tempfile::TempDir,
    directory: PathBuf,
    daemon: Option<(Child, String)>,
}

impl Reader {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        let directory = home.path().join("work");
        fs::create_dir(&directory).expect("made");
        Self { home, directory, daemon: None }
    }

    fn command(&self, program: &str) -> Command {
        let hina = Path::new(env!("CARGO_BIN_EXE_hina"));
        let programs = hina.parent().expect("has a directory").display();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(program);
        command
            .current_dir(&self.directory)
            .env("PATH", format!("{programs}:{path}"))
            .env("HINAGATA_STATE", self.home.path().join("state"))
            .env("XDG_CONFIG_HOME", self.home.path().join("config"));
        command
    }

    fn save(&self, path: &str, content: &str) {
        let path = self.directory.join(path);
        fs::create_dir_all(path.parent().expect("has a directory")).expect("made");
        fs::write(path, content).expect("written");
    }

    /// The address of the daemon, which the first call starts.
    fn daemon_address(&mut self) -> String {
        if self.daemon.is_none() {
            self.daemon = Some(self.start_daemon());
        }
        self.daemon.as_ref().map(|(_, address)| address.clone()).expect("was started")
    }

    fn start_daemon(&self) -> (Child, String) {
        let mut child = self
            .command("hina")
            .args(["serve", "--listen", "127.0.0.1:0", "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("hina starts");
        let lines = BufReader::new(child.stdout.take().expect("is piped")).lines();
        let line =
            lines.map_while(Result::ok).find(|line| line.contains("listening")).expect("prints its address");
        let address = line.split("http://").nth(1).and_then(|rest| rest.split('"').next());
        (child, address.expect("has an address").to_owned())
    }

    /// Runs one command of the page; what it printed, after a line with its exit code if that is not 0.
    fn run(&mut self, command: &str) -> String {
        if let Some(directory) = command.strip_prefix("cd ") {
            self.directory.push(directory);
            return String::new();
        }
        let mut command = command.to_owned();
        if command.contains(SHOWN_ADDRESS) {
            command = command.replace(SHOWN_ADDRESS, &self.daemon_address());
        }
        let output = self.command("sh").args(["-c", &command]).output().expect("a shell runs");
        let code = output.status.code().filter(|code| *code != 0);
        let code = code.map(|code| format!("? {code}\n")).unwrap_or_default();
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        format!("{code}{stdout}{stderr}")
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some((daemon, _)) = &mut self.daemon {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// The commands of a console block, each with its expected output.
fn examples(block: &str) -> Vec<(&str, String)> {
    let mut examples: Vec<(&str, String)> = Vec::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), examples.last_mut()) {
            (Some(command), _) => examples.push((command, String::new())),
            (None, Some((_, output))) => *output += &format!("{line}\n"),
            (None, None) => panic!("output without a command: {line}"),
        }
    }
    examples
}

/// Whether a line is as expected, where `[..]` stands for anything.
fn is_like(line: &str, expected: &str) -> bool {
    let mut parts = expected.split("[..]");
    let Some(mut rest) = parts.next().and_then(|start| line.strip_prefix(start)) else { return false };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty()
}

fn is_output_like(output: &str, expected: &str) -> bool {
    let (output, expected) = (output.trim_end(), expected.trim_end());
    output.lines().count() == expected.lines().count()
        && output.lines().zip(expected.lines()).all(|(line, expected)| is_like(line, expected))
}

#[test]
fn the_tutorial_works_as_written() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorial.md");
    let page = fs::read_to_string(page).expect("the page exists");
    let mut reader = Reader::new();
    let mut run = 0;
    for block in page.split("\n```").skip(1).step_by(2) {
        let (kind, content) = block.split_once('\n').expect("a block has lines");
        let content = format!("{content}\n");
        if let Some(path) = kind.split("title=\"").nth(1) {
            reader.save(path.trim_end_matches('"'), &content);
        }
        if kind == "console" {
            for (command, expected) in examples(&content) {
                let output = reader.run(command);
                assert!(is_output_like(&output, &expected), "$ {command}\n{output}\nexpected:\n{expected}");
                run += 1;
            }
        }
    }
    assert!(run >= 9, "the page runs {run} commands");
}

#[test]
fn a_wildcard_stands_for_anything_in_a_line() {
    assert!(is_like("time 12 µs, 3", "time [..], 3") && is_like("a", "a"));
    assert!(!is_like("time 12 µs, 4", "time [..], 3") && !is_like("ab", "a"));
}
