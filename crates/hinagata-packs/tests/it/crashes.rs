//! A killed process leaves the old state or the new state, never a mixture.

#![cfg(unix)]

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use crate::support::{
    PACK, Workspace,
    child::{self, Player, tell},
    now,
};
use hinagata::{Approval, Code, PromptId, Resolution, Resolutions, record_resolution};
use hinagata_packs::{InstallOptions, Packs};

/// The number of kills.
const ROUNDS: usize = 24;

/// Does nothing unless a test below started it.
#[test]
fn player() {
    let Some((part, place)) = child::part() else { return };
    match part.as_str() {
        "decide" => decide(&place),
        "approve" => approve(&Workspace::at(place)),
        "install" => install(&Workspace::at(place)),
        _ => fill(&place),
    }
}

/// Kills a process that plays `part` after some of its steps: half of the times when it reports a step, half of the
/// times while it writes `beside`. Returns all its reports.
fn killed(part: &str, place: &Path, round: usize, beside: &Path) -> Vec<String> {
    let mut player = Player::start(child::command("crashes::player", part, place));
    let mut told: Vec<String> = (0..=round % 5).filter_map(|_| player.next()).collect();
    if round.is_multiple_of(2) {
        let end = Instant::now() + Duration::from_secs(20);
        while !beside.exists() && Instant::now() < end {
            thread::yield_now();
        }
    }
    told.extend(player.kill());
    told
}

fn record(directory: &Path, number: usize) -> hinagata::Result<()> {
    let choice = Resolution {
        source: format!("{number}"),
        resolved_at: None,
        candidates: vec!["x".repeat(5_000)],
        unknown: serde_json::Map::new(),
    };
    let id = PromptId::new(&format!("p{}", number % 7)).expect("is an id");
    record_resolution(directory, &id, Some(&choice), now())
}

fn decide(directory: &Path) {
    for number in 0.. {
        record(directory, number).expect("writes");
        tell(number);
    }
}

/// The numbers of all recorded decisions.
fn decided(directory: &Path) -> Vec<usize> {
    let text = fs::read_to_string(directory.join("resolution.json")).expect("is there");
    let (all, found) = Resolutions::parse("resolution.json", &text);
    assert!(found.is_empty(), "{found:?}");
    let mut numbers: Vec<usize> =
        all.iter().map(|(_, found)| found.source.parse().expect("a number")).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn decisions_survive_a_kill() {
    for round in 0..ROUNDS {
        let place = tempfile::tempdir().expect("a temporary directory");
        let told = killed("decide", place.path(), round, &place.path().join(".resolution.json.new"));
        let last: usize = told.last().expect("told something").parse().expect("a number");
        // Every reported decision is recorded; the next one may be.
        let after = |last: usize| ((last + 1).saturating_sub(7)..=last).collect::<Vec<_>>();
        let found = decided(place.path());
        assert!(found == after(last) || found == after(last + 1), "{last}: {found:?}");
        record(place.path(), last + 2).expect("the next one is not in the way of what was left");
        let left = fs::read_dir(place.path()).expect("is there").count();
        assert!(left <= 3, "file, history and lock, but {left} are left");
    }
}

/// The pack in one of two versions.
fn write_version(workspace: &Workspace, version: usize) {
    workspace.write("beside", format!(r#"{{"pack_id": "p", "version": "{version}"}}"#));
    fs::rename(workspace.path("beside"), workspace.path("user_data/packs/p/pack.json")).expect("renamed");
}

fn approve(workspace: &Workspace) {
    for number in 1.. {
        write_version(workspace, number % 2);
        let mut packs = workspace.packs();
        packs.approve("p", None, now()).expect("approves");
        tell(number);
        if number.is_multiple_of(5) {
            packs.reject("p", now()).expect("rejects");
        }
    }
}

#[test]
fn approvals_survive_a_kill() {
    for round in 0..ROUNDS {
        let workspace = Workspace::new(&PACK);
        workspace.approve("p");
        let beside = workspace.remembered([".copy.new", ".approval.json.new"][round / 2 % 2]);
        killed("approve", workspace.place(), round, &beside);
        let packs = workspace.packs();
        let verified = packs.verify("p").expect("the approval is whole");
        match verified.state {
            Approval::Approved => assert!(verified.files.is_empty()),
            // It was killed between the change of the pack and its approval.
            Approval::Modified => {
                let files: Vec<_> =
                    verified.files.iter().map(|file| (file.path.as_str(), file.note)).collect();
                assert_eq!(files, [("pack.json", None)], "the copy is whole");
            }
            Approval::Rejected => {}
            // A rejection is removed only after the approval is recorded.
            Approval::Pending => panic!("an approval was lost"),
        }
        let problems = packs.catalog().diagnostics();
        assert!(problems.iter().all(|found| found.error.code() == Code::Approval), "{problems:?}");
        workspace.approve("p");
        assert!(workspace.catalog().check().is_empty());
    }
}

/// A pack of several files, each with the same number.
fn write_pack(workspace: &Workspace, number: usize) {
    let version = format!(r#"{{"pack_id": "new", "version": "{number}"}}"#);
    workspace.write("source/pack.json", version);
    for file in 0..5 {
        workspace.write(&format!("source/prompts/p{file}/template.md"), format!("{number}"));
    }
}

fn install(workspace: &Workspace) {
    for number in 1.. {
        write_pack(workspace, number);
        install_it(&mut workspace.packs(), workspace);
        tell(number);
    }
}

fn install_it(packs: &mut Packs, workspace: &Workspace) {
    let options = InstallOptions { replace: true, ..InstallOptions::default() };
    packs.install(&workspace.path("source"), &options).expect("installs");
}

#[test]
fn a_pack_is_installed_whole_or_not_at_all() {
    for round in 0..ROUNDS {
        let workspace = Workspace::new(&[]);
        let coming = workspace.path("user_data/packs/.coming/prompts/p3");
        killed("install", workspace.place(), round, &coming);
        let packs = workspace.packs();
        let version = packs.list()[0].version.clone().expect("is whole");
        for file in 0..5 {
            let text = workspace.read(&format!("user_data/packs/new/prompts/p{file}/template.md"));
            assert_eq!(text, version);
        }
        write_pack(&workspace, 0);
        install_it(&mut workspace.packs(), &workspace);
        assert_eq!(workspace.packs().list()[0].version.as_deref(), Some("0"));
        let left: Vec<_> = fs::read_dir(workspace.path("user_data/packs")).expect("is there").collect();
        assert_eq!(left.len(), 2, "the pack and the lock: {left:?}");
    }
}

/// Writes until no space is left.
fn fill(directory: &Path) {
    for number in 0..1_000 {
        match record(directory, number) {
            Ok(()) => tell(number),
            Err(error) => {
                assert_eq!((error.code(), error.hint().is_some()), (Code::Store, true), "{error:?}");
                assert!(error.details()["path"].is_string(), "{error:?}");
                return tell("full");
            }
        }
    }
}

#[test]
fn nothing_is_lost_when_there_is_no_room() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let player = child::command("crashes::player", "fill", place.path());
    // A limit of the file size fails like a full disk.
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 40; exec \"$0\" \"$@\""]);
    command.arg(player.get_program()).args(player.get_args());
    command.envs(player.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdout(std::process::Stdio::piped());
    let (well, told) = Player::start(command).end();
    assert!(well, "{told:?}");
    let (last, done) = told.split_last().expect("told something");
    assert_eq!(last, "full");
    let stands: Vec<usize> = done.iter().map(|number| number.parse().expect("a number")).collect();
    let found = decided(place.path());
    assert_eq!(found, stands[stands.len().saturating_sub(7)..], "what was told is there");
    assert!(!place.path().join(".resolution.json.new").exists());
}

#[test]
fn a_directory_that_cannot_be_written_is_an_error() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = Workspace::new(&PACK);
    let closed = workspace.place().join("closed");
    fs::create_dir(&closed).expect("made");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).expect("changed");
    // The superuser may write there, so its test uses a directory of the system where nobody can create files.
    let closed = match fs::create_dir(closed.join("test")) {
        Ok(()) => Path::new("/proc/self").to_owned(),
        Err(_) => closed,
    };
    let state = hinagata::StateDir::from_path(closed.join("state"));
    let mut packs = Packs::new(&workspace.catalog(), &state);
    for error in [
        packs.approve("p", None, now()).expect_err("cannot be written"),
        packs.reject("p", now()).expect_err("cannot be written"),
        record(&closed.join("prompts"), 1).expect_err("cannot be written"),
        hinagata::Trust::new(&state).record(&workspace.root(), None, now()).expect_err("cannot be written"),
    ] {
        assert_eq!((error.code(), error.hint().is_some()), (Code::Store, true), "{error:?}");
        let path = error.details()["path"].as_str().expect("has one");
        assert!(Path::new(path).starts_with(&closed), "{path}");
        assert!(std::error::Error::source(&error).is_some());
    }
    assert_eq!(packs.list()[0].state, Approval::Pending, "reading needs no writing");
}
