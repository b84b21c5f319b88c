//! Changes are reported as they happen.

use std::{
    fs,
    path::PathBuf,
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::{Duration, Instant},
};

use crate::support::{PACK, Workspace, now};
use hinagata::{
    Catalog, PromptId, Resolution, SHARED_PROMPTS, record_resolution,
    watch::{self, Change, Watcher},
};

/// The longest wait for an expected event; not a measurement.
const BOUND: Duration = Duration::from_secs(30);

fn watch(workspace: &Workspace) -> (Watcher, Receiver<Change>) {
    let (sender, receiver) = mpsc::channel();
    let places = watch::watched_paths(&workspace.root(), &["more".into()], Some(&workspace.state()));
    let watcher = Watcher::new(places, move |change| {
        let _ = sender.send(change);
    });
    (watcher.expect("watches"), receiver)
}

/// Waits for a change after which `seen` holds for a reloaded catalog; returns all changes until then.
fn until(
    workspace: &Workspace,
    told: &Receiver<Change>,
    mut seen: impl FnMut(&Catalog) -> bool,
) -> Vec<Change> {
    let end = Instant::now() + BOUND;
    let mut changes = Vec::new();
    loop {
        let left = end.saturating_duration_since(Instant::now());
        changes.push(told.recv_timeout(left).expect("is told in time"));
        if seen(&workspace.catalog()) {
            return changes;
        }
    }
}

fn has(name: &str) -> impl FnMut(&Catalog) -> bool {
    move |catalog| catalog.choose(name).is_ok()
}

#[test]
fn a_new_file_is_reported_and_found() {
    let workspace = Workspace::new(&[("user_data/shared/prompts/old/template.md", "old")]);
    let (_watcher, told) = watch(&workspace);
    let catalog = workspace.catalog();
    catalog.definition("old").expect("reads");
    workspace.write("user_data/shared/prompts/new/template.md", "new");
    until(&workspace, &told, has("new"));
    workspace.write("user_data/shared/prompts/old/template.md", "changed {{ x }}");
    until(&workspace, &told, |_| {
        let found = catalog.reload().definition("old").expect("reads");
        found.definition.files.iter().any(|file| file.text.starts_with("changed"))
    });
    fs::remove_dir_all(workspace.path("user_data/shared/prompts/new")).expect("removed");
    until(&workspace, &told, |catalog| catalog.choose("new").is_err());
}

#[test]
fn every_path_is_watched_whether_it_exists_or_not() {
    let workspace = Workspace::new(&[]);
    let (_watcher, told) = watch(&workspace);
    for path in [
        "user_data/shared/vocab.json",
        "user_data/shared/agents/a/agent.json",
        "user_data/packs/p/pack.json",
        "user_data/packs/p/deep/er/file.md",
        "ecosystem/default/prompts/x/template.md",
        "more/y/template.md",
        "hinagata.toml",
        "hinagata.config.yaml",
        ".eddierc.json",
    ] {
        workspace.write(path, "{}");
        let path = real(&workspace).join(path);
        // The file itself, or the directory that came with it.
        let about = |change: &Change| change.more || change.paths.iter().any(|told| path.starts_with(told));
        wait_for(&told, about);
    }
    workspace.approve("p");
    wait_for(&told, |change| {
        change.more || change.paths.iter().any(|path| !path.starts_with(real(&workspace)))
    });
    workspace.write("user_data/packs/p/more.md", "");
    until(&workspace, &told, |catalog| {
        catalog.approval(&hinagata::PackId::new("p")) == hinagata::Approval::Modified
    });
}

fn real(workspace: &Workspace) -> PathBuf {
    workspace.root().canonicalize().expect("is there")
}

fn wait_for(told: &Receiver<Change>, mut about: impl FnMut(&Change) -> bool) {
    let end = Instant::now() + BOUND;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if about(&told.recv_timeout(left).expect("is told in time")) {
            return;
        }
    }
}

#[test]
fn directories_can_be_removed_and_created_again() {
    let workspace = Workspace::new(&[("user_data/shared/prompts/a/template.md", "a")]);
    let (_watcher, told) = watch(&workspace);
    for (round, gone) in [SHARED_PROMPTS, "user_data/shared", "user_data"].into_iter().enumerate() {
        fs::remove_dir_all(workspace.path(gone)).expect("removed");
        until(&workspace, &told, |catalog| catalog.choose("a").is_err());
        workspace.write("user_data/shared/prompts/a/template.md", "a");
        until(&workspace, &told, has("a"));
        // Changes after the directory is back are reported as well.
        let name = format!("again_{round}");
        workspace.write(&format!("user_data/shared/prompts/{name}/template.md"), "x");
        until(&workspace, &told, has(&name));
    }
    for gone in [SHARED_PROMPTS, "user_data", ""] {
        let aside = workspace.place().join("aside");
        fs::rename(workspace.path(gone), &aside).expect("moved");
        until(&workspace, &told, |catalog| catalog.choose("a").is_err());
        fs::rename(&aside, workspace.path(gone)).expect("moved back");
        until(&workspace, &told, has("a"));
        let name = format!("after_{}", gone.len());
        workspace.write(&format!("user_data/shared/prompts/{name}/template.md"), "x");
        until(&workspace, &told, has(&name));
    }
}

#[test]
fn a_burst_is_reported_as_few_changes() {
    let workspace = Workspace::new(&[("user_data/shared/prompts/a/template.md", "a")]);
    let (_watcher, told) = watch(&workspace);
    for number in 0..400 {
        workspace.write(&format!("user_data/shared/prompts/a/part_{number}.md"), "x");
    }
    workspace.write("user_data/shared/prompts/last/template.md", "x");
    let changes = until(&workspace, &told, has("last"));
    assert!(changes.len() < 100, "{}", changes.len());
    assert!(changes.iter().all(|change| change.paths.len() <= 256));
}

#[test]
fn reads_and_temporary_files_are_not_reported() {
    let workspace = Workspace::new(&PACK);
    workspace.approve("p");
    let (_watcher, told) = watch(&workspace);
    let catalog = workspace.catalog();
    catalog.definition("own").expect("reads");
    assert!(catalog.check().is_empty());
    let id = PromptId::new("x").expect("is an id");
    let choice = Resolution {
        source: "s".into(),
        resolved_at: None,
        candidates: Vec::new(),
        unknown: serde_json::Map::new(),
    };
    record_resolution(&workspace.path(SHARED_PROMPTS), &id, Some(&choice), now()).expect("writes");
    let changes = until(&workspace, &told, |catalog| catalog.resolutions().get(&id).is_some());
    let names: Vec<String> = changes
        .iter()
        .flat_map(|change| &change.paths)
        .filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()))
        // The directories are new, too.
        .filter(|name| !["shared", "prompts"].contains(&name.as_str()))
        .collect();
    assert!(names.iter().all(|name| name == "resolution.json"), "{names:?}");
}

#[test]
fn nothing_is_reported_after_a_drop() {
    let workspace = Workspace::new(&[("user_data/shared/prompts/a/template.md", "a")]);
    let (watcher, told) = watch(&workspace);
    drop(watcher);
    workspace.write("user_data/shared/prompts/b/template.md", "b");
    // The sender is dropped, not only silent.
    assert_eq!(told.recv_timeout(BOUND), Err(RecvTimeoutError::Disconnected));
}

#[test]
fn a_watcher_can_be_dropped_in_its_callback() {
    let workspace = Workspace::new(&[("user_data/shared/prompts/a/template.md", "a")]);
    let (sender, receiver) = mpsc::channel();
    let (give, take) = mpsc::channel::<Watcher>();
    let watcher = Watcher::new(watch::watched_paths(&workspace.root(), &[], None), move |_| {
        drop(take.recv());
        let _ = sender.send(());
    });
    give.send(watcher.expect("watches")).expect("is taken");
    workspace.write("user_data/shared/prompts/b/template.md", "b");
    assert_eq!(receiver.recv_timeout(BOUND), Ok(()));
    assert_eq!(receiver.recv_timeout(BOUND), Err(RecvTimeoutError::Disconnected));
}
