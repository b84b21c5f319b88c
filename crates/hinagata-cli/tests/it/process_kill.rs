//! Processes that are killed at random moments go on without the loss of a whole answer.
#![cfg(unix)]

use std::{
    fs,
    hash::{BuildHasher as _, RandomState},
    path::Path,
    process::{Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use fake_provider::FakeProvider;
use serde_json::Value;

const KILLS: usize = 200;
const CHUNKS: usize = 12;

fn hina(root: &Path, provider: &FakeProvider) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hina"));
    command.current_dir(root).env("HINAGATA_STATE", root.join("state"));
    command.env("XDG_CONFIG_HOME", root.join("config"));
    command.env("OPENAI_BASE_URL", provider.base_url()).env("OPENAI_API_KEY", "sk-1");
    command.arg("process").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn random_below(end: u64) -> u64 {
    RandomState::new().hash_one(()) % end
}

/// Runs a command, and sends it a signal if it has not ended after `time`.
fn run_for(command: &mut Command, signal: &str, time: Duration) -> (ExitStatus, String) {
    let child = command.spawn().expect("hina runs");
    let id = child.id().to_string();
    let (ended, on_end) = mpsc::channel();
    let waiter = thread::spawn(move || {
        let output = child.wait_with_output().expect("ends");
        let _ = ended.send(());
        output
    });
    if on_end.recv_timeout(time).is_err() {
        let _ = Command::new("kill").args([signal, &id]).stderr(Stdio::null()).status();
    }
    let output = waiter.join().expect("is whole");
    (output.status, String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The number of answers in a saved state.
fn kept_answers(state: &Path) -> usize {
    let Ok(text) = fs::read_to_string(state) else { return 0 };
    let saved: Value = serde_json::from_str(&text).expect("a file is whole or absent");
    let context = &saved["process"]["context"];
    ["results", "ahead"].iter().filter_map(|list| context[list].as_array()).map(Vec::len).sum()
}

/// Kills a process until it has its result; returns the number of kills.
fn kill_until_done(mut whole: Duration, parallel: bool) -> usize {
    let root = tempfile::tempdir().expect("a directory");
    let state = root.path().join("state.json");
    let text: String = (0..CHUNKS).map(|part| format!("Part number {part}.\n\n")).collect();
    fs::write(root.path().join("a.txt"), text).expect("written");
    let mut kills = 0;
    loop {
        // Each run has its own provider: one reads a request that was on its way only after the process was killed, and
        // that request must not count as one of the next run.
        let provider = FakeProvider::start();
        let mut command = hina(root.path(), &provider);
        command.arg("concat");
        match state.exists() {
            true => command.args(["--resume", "state.json"]),
            false => command.args(["a.txt", "--model", "m", "--chunk-tokens", "9", "--instruction", "Copy."]),
        };
        command.args(["--state", "state.json"]).args((parallel && !state.exists()).then_some("--parallel"));
        let before = kept_answers(&state);
        let signal = if random_below(2) == 0 { "-KILL" } else { "-HUP" };
        let (status, printed) =
            run_for(&mut command, signal, Duration::from_micros(random_below(whole.as_micros() as u64)));
        let after = kept_answers(&state);
        let asked = provider.received().len();
        let under_way = if parallel { 4 } else { 1 };
        assert!(after >= before, "kept {before} answers, then {after}");
        assert!(
            asked <= after - before + under_way,
            "{signal} with {asked} calls kept {} answers",
            after - before
        );
        if status.success() {
            assert_eq!(after, CHUNKS);
            assert_eq!(printed.matches(fake_provider::ANSWER).count(), CHUNKS, "{printed}");
            return kills;
        }
        kills += 1;
        if after == before {
            // A machine that became slower needs longer to get anywhere.
            whole += whole / 8;
        }
    }
}

#[test]
fn no_whole_answer_is_lost_when_a_process_is_killed() {
    let (root, provider) = (tempfile::tempdir().expect("a directory"), FakeProvider::start());
    fs::write(root.path().join("a.txt"), "One part.\n").expect("written");
    let started = Instant::now();
    let mut command = hina(root.path(), &provider);
    command.args(["concat", "a.txt", "--model", "m", "--instruction", "Copy."]);
    assert!(run_for(&mut command, "-KILL", Duration::from_secs(60)).0.success());
    // Long enough that some runs come to their result.
    let whole = started.elapsed() * 2;
    let mut kills = 0;
    while kills < KILLS {
        kills += kill_until_done(whole, kills % 2 == 0);
    }
}
