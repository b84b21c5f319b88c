//! The files in `deploy` fit the program. Their own formats are checked by `deploy/check.py`.

use std::{fs, path::Path, process::Command};

fn deployed(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name);
    fs::read_to_string(path).expect("exists")
}

/// The variables `HINAGATA_…` that a file sets, as `NAME=value` or as `NAME: value`.
fn variables(text: &str) -> Vec<(String, String)> {
    let spaced = text.replace("Environment=", "").replace('=', " = ").replace(": ", " = ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let sets = words.windows(3).filter(|words| words[0].starts_with("HINAGATA_") && words[1] == "=");
    sets.map(|words| (words[0].to_owned(), words[2].to_owned())).collect()
}

#[test]
fn every_variable_of_the_deployment_is_known() {
    let place = tempfile::tempdir().expect("a directory");
    let mut count = 0;
    for file in ["hinagata.service", "Containerfile", "compose.yaml"] {
        let mut set = variables(&deployed(file));
        set.retain(|(name, _)| !matches!(name.as_str(), "HINAGATA_ROOT" | "HINAGATA_STATE"));
        for (name, value) in set {
            let output = Command::new(env!("CARGO_BIN_EXE_hina"))
                .arg("config")
                .current_dir(place.path())
                .env("HINAGATA_STATE", place.path().join("state"))
                .env("XDG_CONFIG_HOME", place.path().join("config"))
                .env(&name, &value)
                .output()
                .expect("runs");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.is_empty(), "{file}: {name}={value}: {said}");
            count += 1;
        }
    }
    assert!(count >= 3, "{count} variables");
}

/// Without these, hooks lose tiers or do not run at all.
#[test]
fn the_service_unit_leaves_open_what_confines_hooks() {
    let unit = deployed("hinagata.service");
    let filters: Vec<&str> = unit.lines().filter_map(|line| line.strip_prefix("SystemCallFilter=")).collect();
    let allowed = |call: &str| {
        filters.iter().any(|line| !line.starts_with('~') && line.split(' ').any(|word| word == call))
    };
    for call in [
        "mount",
        "umount2",
        "pivot_root",
        "open_tree",
        "move_mount",
        "mount_setattr",
        "landlock_create_ruleset",
        "landlock_add_rule",
        "landlock_restrict_self",
        "seccomp",
    ] {
        assert!(allowed(call), "{call}: {filters:?}");
    }
    assert!(!unit.lines().any(|line| line.starts_with("RestrictNamespaces=")));
    assert!(deployed("no-hooks.conf").contains("RestrictNamespaces=yes\n"));
}

#[test]
fn the_images_and_the_unit_start_the_daemon_that_a_check_asks() {
    let image = deployed("Containerfile");
    assert!(image.contains(r#"CMD ["/usr/bin/hina", "serve", "--check"]"#));
    assert!(image.ends_with("ENTRYPOINT [\"/usr/bin/hina\"]\nCMD [\"serve\"]\n"));
    assert!(deployed("compose.yaml").contains(r#"["CMD", "/usr/bin/hina", "serve", "--check"]"#));
    assert!(deployed("hinagata.service").contains("\nExecStart=/usr/bin/hina serve\n"));
}

#[test]
fn the_socket_unit_listens_where_the_settings_say() {
    let place = tempfile::tempdir().expect("a directory");
    let output = Command::new(env!("CARGO_BIN_EXE_hina"))
        .args(["config", "--json"])
        .current_dir(place.path())
        .env("HINAGATA_STATE", place.path().join("state"))
        .env("XDG_CONFIG_HOME", place.path().join("config"))
        .output()
        .expect("runs");
    let unit = deployed("hinagata.socket");
    let streams: Vec<&str> = unit.lines().filter_map(|line| line.strip_prefix("ListenStream=")).collect();
    let [address] = streams[..] else { panic!("{streams:?}") };
    let settings = String::from_utf8_lossy(&output.stdout);
    assert!(settings.contains(&format!("\"{address}\"")), "{settings}");
}
