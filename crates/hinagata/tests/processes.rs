//! Two processes that record decisions in one workspace lose nothing.
//!
//! The test starts its own executable again, so that the writers are real processes with locks of their own.

use std::{
    env,
    path::Path,
    process::{Child, Command},
    time::SystemTime,
};

use hinagata::{PromptId, Resolution, Resolutions, record_resolution};

const DIRECTORY: &str = "HINAGATA_TEST_DIRECTORY";
const WRITER: &str = "HINAGATA_TEST_WRITER";
const DECISIONS: usize = 40;
const WRITERS: usize = 3;

fn record(directory: &Path, name: &str, source: String) {
    let id = PromptId::new(name).expect("is an id");
    let choice =
        Resolution { source, resolved_at: None, candidates: Vec::new(), unknown: serde_json::Map::new() };
    record_resolution(directory, &id, Some(&choice), SystemTime::now()).expect("writes");
}

/// Does nothing unless it was started by the test below.
#[test]
fn writer() {
    let (Some(directory), Some(writer)) = (env::var_os(DIRECTORY), env::var(WRITER).ok()) else { return };
    for number in 0..DECISIONS {
        record(Path::new(&directory), &format!("own_{writer}_{number}"), format!("{writer}/{number}"));
        record(Path::new(&directory), "common", format!("{writer}/{number}"));
    }
}

fn start(directory: &Path, writer: usize) -> Child {
    Command::new(env::current_exe().expect("has a path"))
        .args(["--exact", "writer"])
        .env(DIRECTORY, directory)
        .env(WRITER, writer.to_string())
        .spawn()
        .expect("starts")
}

#[test]
fn processes_that_write_at_once_lose_nothing() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let writers: Vec<Child> = (0..WRITERS).map(|writer| start(place.path(), writer)).collect();
    for mut writer in writers {
        assert!(writer.wait().expect("ends").success());
    }
    let text = std::fs::read_to_string(place.path().join("resolution.json")).expect("is there");
    let (all, found) = Resolutions::parse("resolution.json", &text);
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(all.iter().count(), WRITERS * DECISIONS + 1);
    // Every decision on the common one but the last was replaced, and none was forgotten.
    let history = std::fs::read_to_string(place.path().join("resolution.history.jsonl")).expect("is there");
    let mut sources: Vec<String> = history
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("is JSON"))
        .map(|line| line["resolution"]["source"].as_str().expect("is text").to_owned())
        .collect();
    let last = all.get(&PromptId::new("common").expect("is an id")).expect("is there").source.clone();
    sources.push(last);
    sources.sort();
    sources.dedup();
    assert_eq!(sources.len(), WRITERS * DECISIONS);
}
