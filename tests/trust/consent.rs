//! What a user says yes to was shown before, and what is withheld until then is told.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{Command, Stdio},
};

use super::support::{Home, Ran};

/// Settings of a stranger.
const SETTINGS: &str = "[render]\nlanguage = \"ja\"\n[hooks]\nsandbox = \"off\"\npython = \"/tmp/python\"\n\
    [mcp_servers.files]\ncommand = \"files-server\"\n";

/// Runs a program at a terminal of its own: what it prints is printed line by line, what is given is typed.
const TERMINAL: &str = r#"
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
seen = b""
while True:
    try:
        data = os.read(terminal, 4096)
    except OSError:
        break
    if not data:
        break
    seen += data
    if seen.rstrip().endswith(b"[y/N]"):
        for line in seen.decode().splitlines():
            print(line, flush=True)
        print("ASKED", flush=True)
        seen = b""
        answer = sys.stdin.readline()
        if not answer:
            os.kill(pid, 9)
            break
        os.write(terminal, answer.encode())
for line in seen.decode().splitlines():
    print(line, flush=True)
print("ENDED", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"#;

/// Runs `hina` at a terminal; when it asks, `answer` is told what was shown, and gives what is typed.
fn at_terminal(home: &Home, arguments: &[&str], answer: impl Fn(&str) -> &'static str) -> Ran {
    let hina = home.command(arguments);
    let mut command = Command::new("python3");
    command.args(["-c", TERMINAL]).arg(hina.get_program()).args(hina.get_args());
    for (name, value) in hina.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut child = command
        .current_dir(home.root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("there is a Python");
    let mut typing = child.stdin.take().expect("is piped");
    let (mut shown, mut code) = (String::new(), -1);
    for line in BufReader::new(child.stdout.take().expect("is piped")).lines().map_while(Result::ok) {
        if line == "ASKED" {
            writeln!(typing, "{}", answer(&shown)).expect("is typed");
        } else if let Some(ended) = line.strip_prefix("ENDED ") {
            code = ended.parse().expect("is a number");
        } else {
            shown.push_str(&line);
            shown.push('\n');
        }
    }
    child.wait().expect("ends");
    Ran { code, stdout: shown, stderr: String::new() }
}

fn sandbox(home: &Home) -> String {
    let ran = home.done(&["config", "hooks.sandbox", "--json"]);
    ran.json()["value"].as_str().expect("is text").to_owned()
}

fn workspace_of_a_stranger() -> Home {
    let home = Home::new();
    home.write("hinagata.toml", SETTINGS);
    home
}

#[test]
fn what_would_come_into_force_is_shown_before_anybody_is_asked() {
    let home = workspace_of_a_stranger();
    let ran = at_terminal(&home, &["trust"], |shown| {
        for told in ["hooks.sandbox", "off", "unconfined", "hooks.python", "/tmp/python", "files-server"] {
            assert!(shown.contains(told), "`{told}` is not in {shown}");
        }
        assert!(!shown.contains("render.language"), "it needs no trust: {shown}");
        assert!(!shown.contains("from now on"), "{shown}");
        "n"
    });
    assert_eq!((ran.code, sandbox(&home).as_str()), (0, "enforce"), "{ran:?}");
    assert!(ran.has("nothing was trusted"), "{ran:?}");
    let ran = at_terminal(&home, &["trust"], |_| "y");
    assert_eq!((ran.code, sandbox(&home).as_str()), (0, "off"), "{ran:?}");
}

#[test]
fn settings_that_change_while_the_user_reads_are_not_trusted() {
    let home = workspace_of_a_stranger();
    let file = home.path("hinagata.toml");
    let ran = at_terminal(&home, &["trust"], |_| {
        fs::write(&file, SETTINGS.replace("files-server", "rm -rf")).expect("is written");
        "y"
    });
    assert_eq!((ran.code, sandbox(&home).as_str()), (0, "enforce"), "{ran:?}");
}

#[test]
fn without_a_terminal_nothing_is_trusted_unless_it_is_said() {
    let home = workspace_of_a_stranger();
    for arguments in [&["trust"][..], &["trust", "--json"]] {
        let ran = home.run(arguments);
        assert!(ran.code == 2 && ran.has("--yes"), "{ran:?}");
        assert_eq!(sandbox(&home), "enforce");
    }
    let ran = home.run(&["trust"]);
    assert!(ran.stderr.contains("hooks.sandbox") && ran.stdout.is_empty(), "it is shown anyway: {ran:?}");
    home.done(&["trust", "--yes"]);
    assert_eq!(sandbox(&home), "off");
}

/// A workspace with an approved pack whose provider runs a program.
fn workspace_with_a_provider() -> Home {
    let home = Home::new();
    home.write(
        "user_data/packs/g/pack.json",
        r#"{"pack_id": "g", "version": "1.0.0",
            "variable_providers": [{"file": "variables/branch.py", "namespace": "branch"}]}"#,
    );
    home.write(
        "user_data/packs/g/variables/branch.py",
        "import subprocess\ndef provide(context):\n    \
         try:\n        return {'name': subprocess.check_output(['echo', 'main'], text=True).strip()}\n    \
         except Exception:\n        return {'name': 'unknown'}\n",
    );
    home.write("user_data/shared/prompts/p/template.md", "on {{ branch.name }}");
    home.done(&["pack", "approve", "g", "--yes"]);
    home
}

#[test]
fn a_provider_that_gets_less_than_it_declares_is_told_by_every_command() {
    let home = workspace_with_a_provider();
    let told = "the provider `branch` gets no `subprocess`";
    for arguments in [&["render", "p"][..], &["explain", "p"]] {
        let ran = home.done(arguments);
        assert!(ran.has("unknown") && ran.has(told) && ran.has("hina trust"), "{ran:?}");
    }
    let rendered = home.done(&["render", "p", "--json"]).json();
    assert_eq!(rendered["warnings"].as_array().map(Vec::len), Some(1), "{rendered}");
    assert!(home.run(&["doctor"]).has(told));
    let page = home.done(&["pack", "show", "g"]);
    assert!(page.has("uses read_file, subprocess (after `hina trust`)"), "{page:?}");
    assert!(home.run(&["trust"]).has("gets subprocess"));

    home.done(&["trust", "--yes"]);
    let ran = home.done(&["render", "p"]);
    assert_eq!((ran.stdout.trim(), ran.stderr.as_str()), ("on main", ""));
    assert!(!home.run(&["doctor"]).has(told));
    let page = home.done(&["pack", "show", "g"]);
    assert!(page.has("uses read_file, subprocess") && !page.has("after `hina trust`"), "{page:?}");
}

#[test]
fn what_a_provider_declares_is_what_it_is_shown_with_and_what_it_gets() {
    let home = workspace_with_a_provider();
    home.done(&["trust", "--yes"]);
    let manifest = |permissions: &str| {
        format!(
            r#"{{"pack_id": "g", "version": "1.0.0", "variable_providers":
                [{{"file": "variables/branch.py", "namespace": "branch", "permissions": {permissions}}}]}}"#
        )
    };
    home.write("user_data/packs/g/pack.json", manifest(r#"{"subprocess": false, "llm_call": true}"#));
    assert!(home.done(&["pack", "show", "g"]).has("uses read_file, llm_call"));
    home.done(&["pack", "approve", "g", "--yes"]);
    assert_eq!(home.done(&["render", "p"]).stdout.trim(), "on unknown");
    // What is no yes and no no is neither.
    for wrong in [r#"{"subprocess": "yes"}"#, r#"["read_file"]"#] {
        home.write("user_data/packs/g/pack.json", manifest(wrong));
        let ran = home.run(&["pack", "approve", "g", "--yes"]);
        assert!(ran.code != 0 && ran.has("permissions"), "{ran:?}");
    }
}
