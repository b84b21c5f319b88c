//! The lock: the same bytes everywhere, or an error that names what differs.

use std::fs;

use super::support::{Home, Repository, answer, archive, failed, installed, write_pack};

/// A workspace with packs from a directory, an archive and a repository, approved and locked.
fn locked() -> Home {
    let home = Home::new();
    write_pack(&home.path("near/d"), "d", "1.0.0", "");
    write_pack(
        &home.outside("f"),
        "f",
        "1.0.0",
        r#", "requires": {"d": "1"}, "replaces": {"prompts": {"greet_d": "greet_f"}}"#,
    );
    fs::create_dir_all(home.path("archives")).expect("made");
    archive(&home.outside("f"), &home.path("archives/f.tar.gz"));
    Repository::with_pack(home.path("near/repository"));
    home.write(
        "hinagata.toml",
        "[packs]\nd = { dir = \"near/d\" }\nf = { file = \"archives/f.tar.gz\" }\n\
         p = { git = \"near/repository\", tag = \"v1.0.0\", path = \"packs/p\" }\n",
    );
    home.done(&["pack", "sync", "--approve-locked"]);
    home.done(&["pack", "approve", "f", "--accept", "greet_d", "--yes"]);
    home.done(&["lock", "--prompts"]);
    home
}

#[test]
fn a_clone_on_another_machine_has_the_same_bytes_from_an_empty_cache() {
    let home = locked();
    let lock = fs::read_to_string(home.path("hinagata.lock")).expect("is there");
    assert!(lock.contains("replaces = \"f\"") && lock.contains("[[prompt]]"), "{lock}");
    assert!(!lock.contains(&home.root().display().to_string()), "a path of this machine: {lock}");
    let rendered = |home: &Home| {
        ["greet_d", "greet_f", "greet_p"].map(|id| home.done(&["render", id, "--frozen"]).stdout)
    };
    let before = rendered(&home);
    assert_eq!(before[0], answer("f", "1.0.0"), "its replacement was accepted");
    // The other machine has what version control has: neither packs nor decisions.
    let other = Home::new();
    let copy = |path: &str| {
        let ran = std::process::Command::new("cp").arg("-r").arg(home.path(path)).arg(other.root()).status();
        assert!(ran.expect("runs").success());
    };
    ["near", "archives", "hinagata.toml", "hinagata.lock"].into_iter().for_each(copy);
    failed(&other.run(&["render", "greet_d", "--frozen"]), "lock", 6);
    let synced = other.done(&["pack", "sync", "--frozen", "--approve-locked", "--json"]).json();
    assert_eq!(synced["choices"][0], "greet_d", "{synced}");
    assert_eq!(rendered(&other), before);
    assert_eq!(fs::read_to_string(other.path("hinagata.lock")).expect("is there"), lock);
    other.done(&["lock", "--prompts"]);
    assert_eq!(fs::read_to_string(other.path("hinagata.lock")).expect("is there"), lock);
}

#[test]
fn every_difference_is_named_and_nothing_unapproved_is_used() {
    type Change = fn(&Home);
    let changes: [(Change, &str); 9] = [
        (|home| drop(home.done(&["pack", "reject", "d"])), "pack `d` is locked, but rejected"),
        (|home| drop(home.write("user_data/packs/d/new.md", "x")), "pack `d` is locked, but modified"),
        (
            |home| fs::remove_dir_all(home.path("user_data/packs/p")).expect("removed"),
            "pack `p` 1.0.0 is locked, but not installed",
        ),
        (
            |home| {
                home.write("user_data/packs/d/prompts/greet_d/template.md", "other");
                home.done(&["pack", "approve", "d", "--yes"]);
            },
            "pack `d` has other files",
        ),
        (
            |home| {
                write_pack(&home.path("user_data/packs/x"), "x", "1.0.0", "");
                home.done(&["pack", "approve", "x", "--yes"]);
            },
            "pack `x` in user_data/packs is used, but not locked",
        ),
        (
            |home| drop(home.done(&["resolve", "greet_d", "--undo"])),
            "resolution `greet_d` is locked, but missing",
        ),
        (
            |home| {
                let text = fs::read_to_string(home.path("hinagata.toml")).expect("is there");
                home.write("hinagata.toml", text.replace("v1.0.0", "v1.1.0"));
            },
            "pack `p` is wanted from",
        ),
        (
            |home| {
                let text = fs::read_to_string(home.path("hinagata.lock")).expect("is there");
                home.write("hinagata.lock", text.replace("semantics = 1", "semantics = 0"));
            },
            "semantics 0",
        ),
        (|home| fs::remove_file(home.path("hinagata.lock")).expect("removed"), "no hinagata.lock"),
    ];
    for (change, message) in changes {
        let home = locked();
        change(&home);
        for arguments in [
            &["render", "greet_p", "--frozen"][..],
            &["check", "--frozen"],
            &["test", "--frozen"],
            &["mcp", "--frozen"],
            &["serve", "--frozen", "--listen", "127.0.0.1:0"],
        ] {
            let ran = home.run(arguments);
            assert!(failed(&ran, "lock", 6).contains(message), "{message}: {ran:?}");
        }
    }
    // A prompt of the user's own, where prompts are locked.
    let home = locked();
    home.write("user_data/shared/prompts/mine/template.md", "mine");
    assert!(
        failed(&home.run(&["render", "mine", "--frozen"]), "lock", 6).contains("prompt `mine` is not locked")
    );
    home.done(&["render", "mine"]);
}

#[test]
fn a_source_that_differs_from_the_lock_is_an_error_and_changes_nothing() {
    let home = locked();
    write_pack(&home.path("near/d"), "d", "1.0.1", "");
    home.done(&["pack", "sync", "--frozen"]);
    fs::remove_dir_all(home.path("user_data/packs/d")).expect("removed");
    let told = failed(&home.run(&["pack", "sync", "--frozen"]), "lock", 6);
    assert!(told.contains("pack `d` at near/d has other files than the locked version 1.0.0"), "{told}");
    assert_eq!(installed(&home), ["f", "p"]);
    let synced = home.done(&["pack", "sync", "--json"]).json();
    assert_eq!(
        (&synced["packs"][0]["version"], &synced["packs"][0]["state"]),
        (&"1.0.1".into(), &"modified".into()),
        "{synced}"
    );
}

#[test]
fn files_that_somebody_changed_by_hand_are_not_replaced_silently() {
    let home = locked();
    home.write("user_data/packs/d/mine.md", "my work");
    let told = failed(&home.run(&["pack", "sync"]), "conflict", 4);
    assert!(told.contains("files that are not locked"), "{told}");
    assert!(home.path("user_data/packs/d/mine.md").exists());
    home.done(&["pack", "sync", "--replace"]);
    assert!(!home.path("user_data/packs/d/mine.md").exists());
}

#[test]
fn both_sides_of_a_merge_are_kept() {
    let home = locked();
    let lock = fs::read_to_string(home.path("hinagata.lock")).expect("is there");
    let (head, packs) = lock.split_once("\n[[pack]]").expect("has packs");
    let ours = format!("\n[[pack]]{packs}");
    let theirs = ours.replace("version = \"1.0.0\"", "version = \"0.9.0\"");
    home.write("hinagata.lock", format!("{head}<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> other\n"));
    let told = failed(&home.run(&["render", "greet_p", "--frozen"]), "lock", 6);
    assert!(told.contains("conflict markers"), "{told}");
    home.done(&["lock", "--prompts"]);
    assert_eq!(fs::read_to_string(home.path("hinagata.lock")).expect("is there"), lock);
}

#[test]
fn a_daemon_that_is_frozen_refuses_what_changes_while_it_runs() {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    let home = locked();
    let mut daemon = home
        .command(&["serve", "--frozen", "--listen", "127.0.0.1:0", "--json"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("starts");
    let mut lines = BufReader::new(daemon.stdout.take().expect("is a pipe")).lines();
    let mut text = String::new();
    let address = loop {
        text.push_str(&lines.next().expect("prints its address").expect("is text"));
        let Some(at) = text.find("127.0.0.1:") else { continue };
        let address: String =
            text[at..].chars().take_while(|c| !matches!(c, '"' | '/' | ' ' | ',')).collect();
        break address;
    };
    let ask = || {
        let mut stream = std::net::TcpStream::connect(&address).expect("connects");
        let body = "{}";
        write!(stream, "POST /api/render/prompts/greet_p HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).expect("asks");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answers");
        answer
    };
    assert!(ask().contains(&answer("p", "1.0.0")));
    home.done(&["pack", "reject", "p"]);
    // The daemon watches the decisions of the user.
    let mut last = ask();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !last.starts_with("HTTP/1.1 409") && std::time::Instant::now() < end {
        std::thread::yield_now();
        last = ask();
    }
    let _ = daemon.kill();
    let _ = daemon.wait();
    assert!(last.starts_with("HTTP/1.1 409") && last.contains("\"lock\""), "{last}");
}

#[test]
fn an_installed_pack_must_have_the_locked_files_if_it_is_frozen() {
    let home = Home::new();
    for version in ["1.0.0", "2.0.0"] {
        write_pack(&home.outside(version), "p", version, "");
    }
    let [one, two] = ["1.0.0", "2.0.0"].map(|version| home.outside(version).display().to_string());
    let told = failed(&home.run(&["pack", "install", "--frozen", &one]), "lock", 6);
    assert!(told.contains("has no hinagata.lock") && installed(&home).is_empty(), "{told}");
    home.done(&["pack", "install", &one]);
    home.done(&["pack", "approve", "p", "--yes"]);
    home.done(&["lock"]);
    let told = failed(&home.run(&["pack", "install", "--frozen", "--replace", &two]), "lock", 6);
    assert!(told.contains("pack `p` is 2.0.0, and was locked as 1.0.0"), "{told}");
    fs::remove_dir_all(home.path("user_data/packs/p")).expect("removed");
    home.done(&["pack", "install", "--frozen", &one]);
    assert_eq!(home.done(&["render", "greet_p", "--frozen"]).stdout, answer("p", "1.0.0"));
}

#[test]
fn drift_is_a_warning_of_the_doctor_and_of_the_render_that_it_concerns() {
    let home = locked();
    home.write("user_data/shared/prompts/own/template.md", "own");
    home.done(&["lock", "--prompts"]);
    for prompt in ["greet_p", "own"] {
        assert_eq!(home.done(&["render", prompt]).stderr, "", "{prompt}");
    }
    assert!(!home.done(&["doctor"]).stdout.contains("differs from hinagata.lock"));
    // Another version takes the place of the locked one, and a prompt changes.
    write_pack(&home.path("user_data/packs/p"), "p", "1.0.1", "");
    home.done(&["pack", "approve", "p", "--yes"]);
    home.write("user_data/shared/prompts/own/template.md", "changed");
    let drifts = [
        ("greet_p", "pack `p` has other files than the locked version 1.0.0"),
        ("own", "prompt `own` has other files than the locked ones"),
    ];
    let page = home.done(&["doctor"]).stdout;
    for (prompt, drift) in drifts {
        let told = home.done(&["render", prompt]).stderr;
        assert!(
            told.contains("warning: the workspace differs from hinagata.lock") && told.contains(drift),
            "{told}"
        );
        assert!(told.contains("--> hinagata.lock:"), "{told}");
        assert!(page.contains(drift), "{page}");
        let told = home.done(&["render", prompt, "--json"]).json();
        assert_eq!(told["warnings"][0]["code"], "lock", "{told}");
    }
    assert_eq!(home.done(&["render", "greet_d"]).stderr, "", "it is as it was locked");
}

/// A server of MCP with one tool, whose schema is in a file beside it.
const SERVER: &str = r#"
import json, os, sys
beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "schema.json")
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "find", "inputSchema": json.load(open(beside))}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "found"}]}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"#;

#[test]
fn what_the_server_of_a_tool_states_is_locked() {
    let home = Home::new();
    let script = home.write_outside("server.py", SERVER);
    home.write_outside("schema.json", r#"{"type": "object", "properties": {"q": {"type": "string"}}}"#);
    let python = std::env::var("HINAGATA_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let command = serde_json::json!([python, script]);
    home.write(
        "hinagata.toml",
        format!("[mcp_servers.m]\ncommand = {}\nargs = [{}]\n", command[0], command[1]),
    );
    home.done(&["trust", "--yes"]);
    home.write("user_data/packs/m/pack.json", r#"{"pack_id": "m", "version": "1.0.0"}"#);
    home.write(
        "user_data/packs/m/tools/find.json",
        r#"{"type": "mcp", "default": "none", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}"#,
    );
    home.write("user_data/shared/prompts/ask/template.md", "{{ m_find(q='x') }}");
    home.done(&["pack", "approve", "m", "--yes"]);
    home.done(&["lock"]);
    let lock = || fs::read_to_string(home.path("hinagata.lock")).expect("is there");
    assert!(!lock().contains("schema"), "{}", lock());
    home.done(&["lock", "--tools"]);
    assert!(lock().contains("[[tool]]\nid = \"m.find\"\nschema = \""), "{}", lock());
    assert_eq!(home.done(&["render", "ask", "--frozen"]).stdout, "found");
    assert!(!home.done(&["doctor"]).stdout.contains("another schema"));
    home.write_outside("schema.json", r#"{"type": "object", "properties": {"query": {"type": "string"}}}"#);
    let told = failed(&home.run(&["render", "ask", "--frozen"]), "lock", 6);
    assert!(told.contains("the server of the tool `m.find` states another schema"), "{told}");
    let page = home.done(&["doctor"]).stdout;
    assert!(page.contains("the server of the tool `m.find` states another schema"), "{page}");
    assert_eq!(home.done(&["render", "ask"]).stdout, "found", "only what is frozen refuses");
    home.done(&["lock", "--tools"]);
    assert_eq!(home.done(&["render", "ask", "--frozen"]).stdout, "found");
}
