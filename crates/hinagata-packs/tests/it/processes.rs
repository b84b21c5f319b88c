//! Several processes can write to one workspace without losing data.

use std::path::Path;

use crate::support::{
    PACK, Workspace,
    child::{self, Player},
    now,
};
use hinagata::{Approval, PromptId, Resolution, Resolutions, record_resolution};
use hinagata_packs::ReplacementState;

const DECISIONS: usize = 40;
const APPROVALS: usize = 8;
const WRITERS: usize = 3;

/// Does nothing unless a test below started it.
#[test]
fn writer() {
    let Some((part, place)) = child::part() else { return };
    match part.split_once(' ').expect("has a number") {
        ("decide", number) => decide(&place, number),
        (_, number) => approve(&Workspace::at(place), number),
    }
}

fn start(part: &str, place: &Path) -> Vec<Player> {
    let one = |number| Player::start(child::command("processes::writer", &format!("{part} {number}"), place));
    (0..WRITERS).map(one).collect()
}

fn record(directory: &Path, name: &str, source: String) {
    let id = PromptId::new(name).expect("is an id");
    let choice =
        Resolution { source, resolved_at: None, candidates: Vec::new(), unknown: serde_json::Map::new() };
    record_resolution(directory, &id, Some(&choice), now()).expect("writes");
}

fn decide(directory: &Path, writer: &str) {
    for number in 0..DECISIONS {
        record(directory, &format!("own_{writer}_{number}"), format!("{writer}/{number}"));
        record(directory, "common", format!("{writer}/{number}"));
    }
}

#[test]
fn processes_that_decide_at_once_lose_nothing() {
    let place = tempfile::tempdir().expect("a temporary directory");
    for writer in start("decide", place.path()) {
        assert!(writer.end().0);
    }
    let text = std::fs::read_to_string(place.path().join("resolution.json")).expect("is there");
    let (all, found) = Resolutions::parse("resolution.json", &text);
    assert!(found.is_empty(), "{found:?}");
    assert_eq!(all.iter().count(), WRITERS * DECISIONS + 1);
    // Each decision about the common prompt replaced the one before, and the history has all of them.
    let history = std::fs::read_to_string(place.path().join("resolution.history.jsonl")).expect("is there");
    let mut sources: Vec<String> = history
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("is JSON"))
        // The first decision about a prompt replaced none.
        .filter(|line| !line["resolution"].is_null())
        .map(|line| line["resolution"]["source"].as_str().expect("is text").to_owned())
        .collect();
    let last = all.get(&PromptId::new("common").expect("is an id")).expect("is there").source.clone();
    sources.push(last);
    sources.sort();
    sources.dedup();
    assert_eq!(sources.len(), WRITERS * DECISIONS);
}

/// Approves the common pack again and again, and declines one of its proposals each time.
fn approve(workspace: &Workspace, writer: &str) {
    for number in 0..APPROVALS {
        let mut packs = workspace.packs();
        packs.approve("p", None, now()).expect("approves");
        packs.decline_replacement("p", &format!("old_{writer}_{number}"), now()).expect("declines");
    }
}

#[test]
fn processes_that_approve_at_once_lose_nothing() {
    let workspace = Workspace::new(&PACK);
    let proposals: serde_json::Map<String, serde_json::Value> = (0..WRITERS)
        .flat_map(|writer| (0..APPROVALS).map(move |number| format!("old_{writer}_{number}")))
        .map(|name| (name, "own".into()))
        .collect();
    let manifest = serde_json::json!({"pack_id": "p", "version": "1", "replaces": {"prompts": proposals}});
    workspace.write("user_data/packs/p/pack.json", manifest.to_string());
    for writer in start("approve", workspace.place()) {
        assert!(writer.end().0);
    }
    let shown = workspace.packs().show("p").expect("is there");
    assert_eq!((shown.summary.state, shown.replaces.len()), (Approval::Approved, WRITERS * APPROVALS));
    let open: Vec<_> =
        shown.replaces.iter().filter(|found| found.state != ReplacementState::Declined).collect();
    assert!(open.is_empty(), "{open:?}");
    workspace.write("user_data/packs/p/more", "more");
    let verified = workspace.packs().verify("p").expect("is there");
    assert_eq!((verified.state, verified.files.len()), (Approval::Modified, 1), "the copy is whole");
}
