//! What `hina` does for shells and manuals.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

fn hina(root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hina"));
    command
        .current_dir(root)
        .env("HINAGATA_STATE", root.join("state"))
        .env("XDG_CONFIG_HOME", root.join("config"));
    command
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("is text")
}

/// A workspace with the prompt `garden_letter` and the pack `extra`.
fn workspace() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a temporary directory");
    for (path, content) in [
        ("user_data/shared/prompts/garden_letter/template.md", "---\ndescription: About gardens\n---\nHi"),
        ("user_data/packs/extra/pack.json", "{}"),
    ] {
        let path = place.path().join(path);
        fs::create_dir_all(path.parent().expect("has one")).expect("made");
        fs::write(path, content).expect("written");
    }
    place
}

/// What fish is offered for the last of `words`.
fn offered(root: &Path, words: &[&str]) -> Vec<String> {
    let output = hina(root).env("HINAGATA_COMPLETE", "fish").args(["--", "hina"]).args(words).output();
    text(&output.expect("hina runs")).lines().map(str::to_owned).collect()
}

#[test]
fn prompts_packs_and_settings_are_completed_by_name() {
    let place = workspace();
    assert_eq!(offered(place.path(), &["render", "gar"]), ["garden_letter\tAbout gardens"]);
    assert_eq!(offered(place.path(), &["pack", "show", "ex"]), ["extra\tpending"]);
    assert!(offered(place.path(), &["config", "render.lan"])[0].starts_with("render.language\t"));
    assert!(offered(place.path(), &["resol"])[0].starts_with("resolve\t"));
}

#[test]
fn every_shell_gets_its_script() {
    let place = workspace();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = text(&hina(place.path()).args(["completions", shell]).output().expect("hina runs"));
        assert!(script.contains("HINAGATA_COMPLETE"), "{shell}: {script}");
    }
}

#[test]
fn every_command_has_a_manual_page() {
    let place = workspace();
    text(&hina(place.path()).args(["man", "pages/man1"]).output().expect("hina runs"));
    for page in ["hina.1", "hina-render.1", "hina-pack-approve.1", "hina-config.1"] {
        let text = fs::read_to_string(place.path().join("pages/man1").join(page)).expect(page);
        assert!(text.contains(".SH") && text.contains("Examples"), "{page}");
    }
}
