//! Trees of files, and what became of them.

use std::{fs, path::Path, process::Command};

use hinagata_context::{ContextOptions, LeftOutReason, pack};
use tempfile::TempDir;

pub(crate) fn tree(files: &[(&str, &str)]) -> TempDir {
    let place = tempfile::tempdir().expect("a temporary directory");
    for (name, content) in files {
        write(place.path(), name, content.as_bytes());
    }
    place
}

pub(crate) fn write(root: &Path, name: &str, content: &[u8]) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().expect("has one")).expect("made");
    fs::write(path, content).expect("written");
}

pub(crate) fn options(place: &TempDir, include: &[&str]) -> ContextOptions {
    let include = include.iter().map(|&pattern| pattern.to_owned()).collect();
    ContextOptions { include, ..ContextOptions::new(place.path()) }
}

pub(crate) fn taken(options: &ContextOptions) -> Vec<String> {
    pack(options).expect("packs").files.into_iter().map(|file| file.path).collect()
}

pub(crate) fn left_out(options: &ContextOptions) -> Vec<(String, LeftOutReason)> {
    let entries = pack(options).expect("packs").report.entries;
    entries
        .into_iter()
        .filter_map(|entry| {
            let reason = entry.reason()?;
            Some((entry.path.into(), reason))
        })
        .collect()
}

pub(crate) fn pairs(expected: &[(&str, LeftOutReason)]) -> Vec<(String, LeftOutReason)> {
    expected.iter().map(|(path, reason)| ((*path).to_owned(), *reason)).collect()
}

/// The state of every entry of the report.
pub(crate) fn states(options: &ContextOptions) -> Vec<(String, &'static str)> {
    let entries = pack(options).expect("packs").report.entries;
    entries.into_iter().map(|entry| (entry.path.into(), entry.state.as_str())).collect()
}

/// Runs git in `root`, without the settings of the user.
pub(crate) fn git(root: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=Tester",
            "-c",
            "user.email=tester@example.com",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(arguments)
        .current_dir(root)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git runs");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A repository whose files are committed.
pub(crate) fn repository(files: &[(&str, &str)]) -> TempDir {
    let place = tree(files);
    git(place.path(), &["init", "--quiet"]);
    commit(place.path(), "Start");
    place
}

/// Commits everything, ignored files too.
pub(crate) fn commit(root: &Path, subject: &str) {
    git(root, &["add", "--all", "--force"]);
    git(root, &["commit", "--quiet", "--message", subject]);
}
