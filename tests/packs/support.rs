//! A home with a workspace, and packs outside of it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

pub(super) use crate::trust::support::{Home, Ran};

/// What `greet` of a pack with this id and version renders.
pub(super) fn answer(id: &str, version: &str) -> String {
    format!("greetings of {id} {version}")
}

/// Writes a pack with one prompt, `greet_ID`, and these fields besides in its `pack.json`.
pub(super) fn write_pack(place: &Path, id: &str, version: &str, more: &str) {
    let prompt = place.join(format!("prompts/greet_{id}"));
    fs::create_dir_all(&prompt).expect("made");
    let manifest = format!(r#"{{"pack_id": "{id}", "version": "{version}"{more}}}"#);
    fs::write(place.join("pack.json"), manifest).expect("written");
    fs::write(prompt.join("template.md"), answer(id, version)).expect("written");
}

/// The archive of a pack, as `tar` makes it.
pub(super) fn archive(pack: &Path, place: &Path) -> Vec<u8> {
    run(Command::new("tar")
        .args(["--sort=name", "--mtime=@0", "-czf"])
        .arg(place)
        .arg("-C")
        .arg(pack)
        .arg("."));
    fs::read(place).expect("is there")
}

pub(super) fn sha256(bytes: &[u8]) -> String {
    hinagata::Digest::sha256(bytes).to_string()
}

/// Runs a program, which has to succeed.
pub(super) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A git repository whose configuration is its own.
pub(super) struct Repository(pub(super) PathBuf);

impl Repository {
    pub(super) fn new(place: PathBuf) -> Self {
        fs::create_dir_all(&place).expect("made");
        let repository = Self(place);
        repository.git(&["init", "-q", "-b", "main"]);
        repository
    }

    pub(super) fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.com",
            "-c",
            "protocol.file.allow=always",
        ]);
        run(command.args(arguments).current_dir(&self.0).env("GIT_CONFIG_GLOBAL", "/dev/null"))
    }

    /// Commits all files and tags the commit; its hash.
    pub(super) fn commit(&self, tag: &str) -> String {
        self.git(&["add", "-A", "-f"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", tag]);
        self.git(&["tag", "-f", "-a", "-m", tag, tag]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// A repository with the pack `p` in versions 1.0.0 and 1.1.0, tagged so.
    pub(super) fn with_pack(place: PathBuf) -> Self {
        let repository = Self::new(place);
        for version in ["1.0.0", "1.1.0"] {
            write_pack(&repository.0.join("packs/p"), "p", version, "");
            repository.commit(&format!("v{version}"));
        }
        repository
    }
}

/// The error that a command printed as JSON.
pub(super) fn failed(ran: &Ran, code: &str, exit: i32) -> String {
    assert_eq!(ran.code, exit, "{ran:?}");
    assert!(ran.stderr.contains(&format!("error[{code}]")), "{ran:?}");
    ran.stderr.clone()
}

/// Whatever lies in the directory of packs, by name.
pub(super) fn installed(home: &Home) -> Vec<String> {
    let entries = fs::read_dir(home.path("user_data/packs")).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().into_string().expect("is text"))
        .filter(|name| !name.ends_with(".lock"))
        .collect();
    names.sort();
    names
}
