//! Settings that protect: a daemon that lost them, or cannot tell, serves nobody.

use std::fs;

use super::{
    daemon::Daemon,
    support::{Home, Ran},
};

/// A trusted workspace whose daemon has keys.
fn with_keys() -> (Home, String) {
    let home = Home::new();
    let (_, table) = home.new_key("ci", &[]);
    home.write("hinagata.toml", &table);
    home.done(&["trust", "--yes"]);
    (home, table)
}

fn tells_trust(ran: &Ran) {
    assert_eq!(ran.code, 6, "{ran:?}");
    assert!(ran.has("hina trust"), "{ran:?}");
}

#[test]
fn keys_of_a_workspace_that_nobody_trusts_are_not_left_out_in_silence() {
    let home = Home::new();
    let (_, table) = home.new_key("ci", &[]);
    home.write("hinagata.toml", table);
    let ran = Daemon::refused(&home, &[], &[]);
    tells_trust(&ran);
    assert!(ran.has("`keys`") && ran.has("hinagata.toml:1"), "{ran:?}");
}

#[test]
fn a_comment_takes_no_key_away() {
    let (home, table) = with_keys();
    home.write("hinagata.toml", format!("# looked at by somebody\n\n{table}\n[render]\nlanguage = \"ja\"\n"));
    let daemon = Daemon::start(&home, &[]);
    assert_eq!(daemon.get("/api/prompts", None).status, 401);
}

#[test]
fn a_change_of_what_needs_trust_is_refused() {
    for change in [
        |table: &str| table.replace("render", "admin"),
        |table: &str| table.replace("name = \"ci\"", "name = \"other\""),
        |table: &str| format!("server.rate = 5\n{table}"),
        // Cut off behind the first line, with the rest gone.
        |table: &str| table.lines().next().unwrap_or_default().replace("[[keys]]", "server.rate = 1"),
        |_: &str| String::new(),
        |_: &str| "# nothing is left\n".to_owned(),
    ] {
        let (home, table) = with_keys();
        home.write("hinagata.toml", change(&table));
        tells_trust(&Daemon::refused(&home, &[], &[]));
    }
}

#[test]
fn settings_that_are_gone_are_missed() {
    let (home, _) = with_keys();
    fs::remove_file(home.path("hinagata.toml")).expect("is removed");
    tells_trust(&Daemon::refused(&home, &[], &[]));
    home.done(&["trust", "--revoke"]);
    let daemon = Daemon::start(&home, &[]);
    assert_eq!(daemon.get("/api/prompts", None).status, 200, "who forgets on purpose goes on");
}

#[test]
fn settings_that_cannot_be_read_are_not_settings_that_are_not_there() {
    for spoil in [
        |home: &Home| {
            fs::remove_file(home.path("hinagata.toml")).expect("is removed");
            fs::create_dir(home.path("hinagata.toml")).expect("is made");
        },
        |home: &Home| {
            fs::remove_file(home.path("hinagata.toml")).expect("is removed");
            std::os::unix::fs::symlink("nowhere.toml", home.path("hinagata.toml")).expect("is linked");
        },
        |home: &Home| drop(home.write("hinagata.toml", "[[keys]\nname = ")),
        |home: &Home| drop(home.write("hinagata.toml", [0xff, 0xfe])),
        |home: &Home| drop(home.write_outside("state/trust.json", "{\"workspaces\": {")),
        |home: &Home| {
            fs::create_dir_all(home.outside("config/hinagata")).expect("is made");
            std::os::unix::fs::symlink("nowhere", home.outside("config/hinagata/config.toml"))
                .expect("is linked");
        },
    ] {
        let (home, _) = with_keys();
        spoil(&home);
        let ran = Daemon::refused(&home, &[], &[]);
        assert!([2, 5, 6].contains(&ran.code), "{ran:?}");
    }
}

#[test]
fn a_name_that_is_nearly_a_setting_is_refused_with_the_near_one() {
    for (text, near) in [
        ("[[key]]\nname = \"a\"\n", "keys"),
        ("[server]\nlisen = \":1\"\n", "server.listen"),
        ("[sever]\nlisten = \":1\"\n", "server"),
        ("[store]\nulr = \"memory\"\n", "store.url"),
        ("[limits]\ndeadlin = \"1s\"\n", "limits.deadline"),
    ] {
        let home = Home::new();
        home.write("hinagata.toml", text);
        home.done(&["trust", "--yes"]);
        let ran = Daemon::refused(&home, &[], &[]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.has(near) && ran.has("hinagata.toml:"), "{ran:?}");
        // In the user's own file as well.
        let home = Home::new();
        home.write_outside("config/hinagata/config.toml", text);
        assert_eq!(Daemon::refused(&home, &[], &[]).code, 2);
    }
}

#[test]
fn an_unknown_variable_of_the_environment_is_refused_with_the_near_one() {
    let home = Home::new();
    for (variable, near) in [
        ("HINAGATA_SERVER_LISEN", "HINAGATA_SERVER_LISTEN"),
        ("HINAGATA_KEY", "HINAGATA_KEYS"),
        ("HINAGATA_STORE_ULR", "HINAGATA_STORE_URL"),
        ("HINAGATA_CONFG", "HINAGATA_CONFIG"),
    ] {
        let ran = Daemon::refused(&home, &[], &[(variable, "x")]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.has(variable) && ran.has(near), "{ran:?}");
    }
    // What containers are told of a service of that name is no attempt at a setting.
    let others = [("HINAGATA_SERVICE_HOST", "10.0.0.1"), ("HINAGATA_PORT_8700_TCP", "tcp://10.0.0.1:8700")];
    assert!(Daemon::try_start(&home, &[], &others).is_ok());
}

#[test]
fn other_commands_tell_of_an_unknown_variable_and_go_on() {
    let home = Home::new();
    for arguments in [["list"].as_slice(), &["render", "planning_task_decomposition", "task=x"]] {
        let output = home.command(arguments).env("HINAGATA_RENDER_LANGAUGE", "ja").output().expect("runs");
        let ran = Ran::from_output(&output);
        assert!(ran.code == 0 && ran.stderr.contains("HINAGATA_RENDER_LANGUAGE"), "{ran:?}");
    }
}

#[test]
fn what_the_user_decides_for_this_start_needs_no_trust() {
    let home = Home::new();
    home.write("hinagata.toml", "[store]\nurl = \"redis://127.0.0.1:1\"\n");
    tells_trust(&Daemon::refused(&home, &[], &[]));
    assert!(Daemon::try_start(&home, &["--set", "store.url=memory"], &[]).is_ok());
    assert!(Daemon::try_start(&home, &[], &[("HINAGATA_STORE_URL", "memory")]).is_ok());
}

#[test]
fn an_empty_environment_variable_is_no_way_around_keys() {
    let (home, _) = with_keys();
    for variable in ["HINAGATA_KEYS", "HINAGATA_SERVER_OPEN"] {
        if let Ok(daemon) = Daemon::try_start(&home, &[], &[(variable, "")]) {
            assert_eq!(daemon.get("/api/prompts", None).status, 401, "{variable}");
        }
    }
}

#[test]
fn an_mcp_server_does_not_serve_another_store_than_its_settings_name() {
    let home = Home::new();
    home.write("hinagata.toml", "[store]\nurl = \"redis://127.0.0.1:1\"\n");
    tells_trust(&home.run(&["mcp"]));
    home.write("hinagata.toml", "[store]\nulr = \"memory\"\n");
    let ran = home.run(&["mcp"]);
    assert!(ran.code == 2 && ran.has("store.url"), "{ran:?}");
    home.write("hinagata.toml", "[hooks]\ntimeout = \"1s\"\n[new_section]\nx = 1\n");
    assert_eq!(home.run(&["mcp"]).code, 0, "what protects nothing there is told alone");
}

#[test]
fn the_configuration_of_an_older_daemon_does_not_decide_in_a_cloned_workspace() {
    let config = "server:\n  listen_addr: \"127.0.0.1:0\"\nredis:\n  addr: \"127.0.0.1:1\"\nllm:\n  api_base: \"http://127.0.0.1:9\"\n";
    for name in ["config.yaml", "configs/config.yaml"] {
        let home = Home::new();
        home.write(name, config);
        let ran = Daemon::refused(&home, &[], &[]);
        assert!(ran.code == 2 && ran.has(&format!("hina serve --config {name}")), "{ran:?}");
    }
    let home = Home::new();
    home.write_outside("old.yaml", config.replace("listen_addr", "listen_adr"));
    let path = home.outside("old.yaml").display().to_string();
    let ran = Daemon::refused(&home, &["--config", &path], &[]);
    assert!(ran.code == 2 && ran.has("listen_addr"), "{ran:?}");
}

#[test]
fn a_new_key_is_meant_for_the_users_own_settings() {
    let home = Home::new();
    let ran = home.done(&["key", "ci"]);
    let own = home.outside("config/hinagata/config.toml").display().to_string();
    assert!(ran.stderr.contains(&own) && ran.stderr.contains("hina trust"), "{ran:?}");
}
