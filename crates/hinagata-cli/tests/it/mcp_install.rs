//! `hina mcp install` on files of every host, in homes of their own.
#![cfg(unix)]

use std::{
    ffi::OsStr,
    fs,
    io::{Read as _, Write as _},
    os::unix::{
        ffi::OsStrExt as _,
        fs::{OpenOptionsExt as _, PermissionsExt as _, symlink},
    },
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

/// A home directory, a project and a workspace of nobody.
pub(crate) struct Home {
    place: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Self {
        let place = tempfile::tempdir().expect("a temporary directory");
        for name in ["home", "project", "prompts/user_data/shared/prompts"] {
            fs::create_dir_all(place.path().join(name)).expect("made");
        }
        Self { place }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hina"));
        command.args(arguments).current_dir(self.path("project")).stdin(Stdio::null());
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", self.path("home"));
        command.env("HINAGATA_STATE", self.path("state"));
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("runs")
    }

    /// Installs for `host` from the workspace, with more arguments.
    fn install(&self, host: &str, more: &[&str]) -> Output {
        let root = self.path("prompts").display().to_string();
        let mut arguments = vec!["mcp", "install", host, "--root", &root];
        arguments.extend(more);
        self.run(&arguments)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let file = self.path(name);
        fs::create_dir_all(file.parent().expect("has one")).expect("made");
        fs::write(&file, text).expect("written");
        file
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("is text")
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("is text")
}

/// Each host, its file in the home directory, and the key of its servers.
const FILES: [(&str, &str, &str); 8] = [
    ("claude-code", "home/.claude.json", "mcpServers"),
    ("claude-desktop", "home/.config/Claude/claude_desktop_config.json", "mcpServers"),
    ("cursor", "home/.cursor/mcp.json", "mcpServers"),
    ("vscode", "home/.config/Code/User/mcp.json", "servers"),
    ("gemini-cli", "home/.gemini/settings.json", "mcpServers"),
    ("qwen-code", "home/.qwen/settings.json", "mcpServers"),
    ("opencode", "home/.config/opencode/opencode.json", "mcp"),
    ("zed", "home/.config/zed/settings.json", "context_servers"),
];

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn every_host_gets_a_file_with_the_entry() {
    for (host, file, key) in FILES {
        let home = Home::new();
        let output = home.install(host, &["--yes"]);
        assert!(output.status.success(), "{host}: {}", stderr(&output));
        assert!(stdout(&output).contains("+++ "), "{host} shows the change: {}", stdout(&output));
        let entry = parsed(&home.read(file))[key]["prompts"].clone();
        let words = match host {
            "opencode" => entry["command"].clone(),
            _ => json!([entry["command"], entry["args"][0], entry["args"][1], entry["args"][2]]),
        };
        let root = home.path("prompts").canonicalize().expect("is there").display().to_string();
        assert_eq!(words, json!([env!("CARGO_BIN_EXE_hina"), "mcp", "--root", root]), "{host}");
        let mode = fs::metadata(home.path(file)).expect("is there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{host}: a new file is private");
    }
}

#[test]
fn the_rest_of_a_file_stays_as_it_is_written() {
    let home = Home::new();
    for (host, file, key) in FILES {
        let comment = if host.starts_with("claude") { "" } else { "  // keep me, and my  spaces\n" };
        let before = format!(
            "{{\n{comment}  \"zeta\": [1,2,  3],\n  \"{key}\": {{\n    \"other\": {{ \"command\": \"x\" }}\n  }},\n  \"alpha\": \"\\u00e9\"\n}}\n"
        );
        home.write(file, &before);
        assert!(home.install(host, &["--yes"]).status.success(), "{host}");
        let after = home.read(file);
        // The other server gets a comma; nothing else changes.
        let with_comma = before.replace("\"x\" }\n", "\"x\" },\n");
        let kept: Vec<&str> = with_comma.lines().collect();
        let mut rest = after.lines();
        for line in kept {
            assert!(rest.any(|found| found == line), "{host}: `{line}` is missing in\n{after}");
        }
        assert!(home.install(host, &["--remove", "--yes"]).status.success(), "{host}");
        assert_eq!(home.read(file), before, "{host}: removing restores the file");
    }
}

#[test]
fn trailing_commas_windows_lines_and_byte_order_marks_survive() {
    let home = Home::new();
    let file = "home/.config/zed/settings.json";
    home.write(file, "\u{feff}{\r\n\t\"theme\": \"One\", // mine\r\n}\r\n");
    assert!(home.install("zed", &["--yes"]).status.success());
    let after = home.read(file);
    assert!(
        after.starts_with("\u{feff}{\r\n\t\"theme\": \"One\", // mine\r\n\t\"context_servers\": {\r\n"),
        "{after:?}"
    );
    assert_eq!(after.matches('\n').count(), after.matches("\r\n").count(), "{after:?}");
}

#[test]
fn an_equal_entry_is_reported_and_another_one_replaced() {
    let home = Home::new();
    assert!(home.install("cursor", &["--yes"]).status.success());
    let again = home.install("cursor", &[]);
    assert!(
        again.status.success() && stdout(&again).contains("has this entry already"),
        "{}",
        stdout(&again)
    );
    let other = home.install("cursor", &["--tools", "--yes"]);
    assert!(stdout(&other).contains("-") && stdout(&other).contains("\"--tools\""), "{}", stdout(&other));
    assert!(home.read("home/.cursor/mcp.json").contains("\"--tools\""));
    let named = home.install("cursor", &["--name", "work", "--yes", "--json"]);
    let report = parsed(&stdout(&named));
    assert_eq!((&report["change"], &report["written"]), (&json!("added"), &json!(true)));
    let servers = parsed(&home.read("home/.cursor/mcp.json"))["mcpServers"].clone();
    assert_eq!(servers.as_object().map(serde_json::Map::len), Some(2));
    let absent = home.install("cursor", &["--remove", "--name", "none"]);
    assert!(absent.status.success() && stdout(&absent).contains("has no entry `none`"));
}

#[test]
fn nothing_is_written_without_consent() {
    let home = Home::new();
    let shown = home.install("gemini-cli", &[]);
    assert_eq!(shown.status.code(), Some(6));
    assert!(stdout(&shown).contains("+  \"mcpServers\"") && stderr(&shown).contains("nothing was written"));
    let printed = home.install("gemini-cli", &["--print"]);
    assert_eq!(printed.status.code(), Some(0));
    assert_eq!(stdout(&printed), stdout(&shown));
    assert!(!home.path("home/.gemini").exists());
}

/// Runs a command at a terminal, and types each answer when the question is there. Returns the exit code and what the
/// terminal shows.
pub(crate) fn run_at_terminal(mut command: Command, answers: &[&str]) -> (Option<i32>, String) {
    let user = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&user).and_then(|()| unlockpt(&user)).expect("can be opened");
    let name = ptsname(&user, Vec::new()).expect("has a name");
    let program_side = || {
        let flags = rustix::fs::OFlags::NOCTTY.bits().cast_signed();
        let mut options = fs::File::options();
        let opened =
            options.read(true).write(true).custom_flags(flags).open(OsStr::from_bytes(name.as_bytes()));
        opened.expect("opens")
    };
    command.stdin(program_side()).stdout(program_side()).stderr(program_side());
    let mut child = command.spawn().expect("starts");
    // The terminal ends when nobody else has it.
    drop(command);
    let mut user = fs::File::from(user);
    let (mut shown, mut buffer, mut answers) = (String::new(), [0; 4096], answers.iter());
    let mut asked = 0;
    while let Ok(count @ 1..) = user.read(&mut buffer) {
        shown.push_str(&String::from_utf8_lossy(&buffer[..count]));
        if shown.matches("[y/N]").count() > asked {
            asked += 1;
            let answer = answers.next().unwrap_or_else(|| panic!("asks too often: {shown}"));
            user.write_all(format!("{answer}\n").as_bytes()).expect("is typed");
        }
    }
    assert_eq!(answers.next(), None, "{shown}");
    (child.wait().expect("ends").code(), shown)
}

#[test]
fn at_a_terminal_the_change_is_shown_and_confirmed() {
    let home = Home::new();
    let root = home.path("prompts").display().to_string();
    let arguments = ["mcp", "install", "cursor", "--root", &root];
    for answers in [&["n"][..], &[""], &["perhaps", "no"]] {
        let (code, shown) = run_at_terminal(home.command(&arguments), answers);
        assert_eq!(code, Some(6), "{shown}");
        assert!(
            shown.contains("+    \"prompts\": {") && shown.contains("write ~/.cursor/mcp.json? [y/N]"),
            "{shown}"
        );
        assert!(shown.contains("nothing was written"), "{shown}");
        assert_eq!(shown.contains("answer y or n"), answers.len() > 1, "{shown}");
        assert!(!home.path("home/.cursor/mcp.json").exists());
    }
    let (code, shown) = run_at_terminal(home.command(&arguments), &["y"]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("wrote `prompts` to ~/.cursor/mcp.json"), "{shown}");
    assert!(home.read("home/.cursor/mcp.json").contains(&root));
    let (code, shown) = run_at_terminal(home.command(&arguments), &[]);
    assert!(code == Some(0) && shown.contains("has this entry already"), "{shown}");
}

#[test]
fn a_library_is_entered_beside_the_project() {
    let home = Home::new();
    let root = home.path("prompts").canonicalize().expect("is there").display().to_string();
    let setting = format!("catalog.libraries={root}");
    for (host, file, key, words) in [
        ("claude-code", "home/.claude.json", "mcpServers", vec!["mcp", "--set", &setting]),
        (
            "cursor",
            "home/.cursor/mcp.json",
            "mcpServers",
            vec!["mcp", "--root", "${workspaceFolder}", "--set", &setting],
        ),
    ] {
        let output = home.install(host, &["--library", "--yes"]);
        assert!(output.status.success(), "{host}: {}", stderr(&output));
        assert_eq!(parsed(&home.read(file))[key]["prompts"]["args"], json!(words), "{host}");
    }
    // The entry serves both: it is started in the project.
    home.write("prompts/user_data/shared/prompts/mine/template.md", "of the library");
    home.write("project/user_data/shared/prompts/ours/template.md", "of the project");
    let output = home.run(&["mcp", "doctor", "claude-code", "--json"]);
    let report = parsed(&stdout(&output)).to_string();
    assert!(output.status.success() && report.contains("2 prompts"), "{report}");
    for (host, more, problem) in [
        ("claude-code", &["--scope", "project"][..], "not for a project"),
        ("claude-desktop", &[], "has no projects"),
    ] {
        let output = home.install(host, &[&["--library", "--yes"], more].concat());
        assert!(!output.status.success() && stderr(&output).contains(problem), "{}", stderr(&output));
    }
    let output = home.run(&["mcp", "install", "cursor", "--library", "--yes", "--root", "nowhere"]);
    assert!(
        !output.status.success() && stderr(&output).contains("is not a workspace"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn broken_files_are_reported_with_their_place_and_kept() {
    let home = Home::new();
    for (host, file, text, problem) in [
        ("claude-code", "home/.claude.json", "{\n  \"a\": 1,\n  oops\n}", ".claude.json:3:3"),
        ("claude-code", "home/.claude.json", "{ // no comments here\n}", "not valid JSON"),
        ("vscode", "home/.config/Code/User/mcp.json", "[1]", "expected an object"),
        ("cursor", "home/.cursor/mcp.json", "{\"mcpServers\": []}", "`mcpServers` is not an object"),
        ("cursor", "home/.cursor/mcp.json", "{\"mcpServers\": {}, \"mcpServers\": {}}", "more than once"),
        ("zed", "home/.config/zed/settings.json", "{\"a\": \"", "not valid JSON"),
    ] {
        home.write(file, text);
        let output = home.install(host, &["--yes"]);
        assert!(!output.status.success(), "{host} {text}");
        assert!(stderr(&output).contains(problem), "{host} {text}: {}", stderr(&output));
        assert_eq!(home.read(file), text);
    }
    fs::write(home.path("home/.claude.json"), b"\xff\xfe{}").expect("written");
    assert!(!home.install("claude-code", &["--yes"]).status.success());
}

#[test]
fn a_directory_without_permission_is_an_error_and_leaves_no_file() {
    // Nothing is forbidden to root, for whom a file in the place of the directory does the same.
    let home = Home::new();
    home.write("home/.cursor", "a file");
    let output = home.install("cursor", &["--yes"]);
    assert!(!output.status.success() && stderr(&output).contains("mcp.json"), "{}", stderr(&output));
    let locked = home.path("home/.qwen");
    fs::create_dir(&locked).expect("made");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).expect("changed");
    let is_root = fs::write(locked.join("probe"), "").is_ok();
    if !is_root {
        let output = home.install("qwen-code", &["--yes"]);
        assert!(!output.status.success() && stderr(&output).contains("permissions"), "{}", stderr(&output));
        assert_eq!(fs::read_dir(&locked).expect("readable").count(), 0);
    }
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o755)).expect("changed");
}

#[test]
fn a_link_still_leads_to_the_file() {
    let home = Home::new();
    let real = home.write("dotfiles/claude.json", "{\"a\": 1}");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("changed");
    symlink(&real, home.path("home/.claude.json")).expect("linked");
    assert!(home.install("claude-code", &["--yes"]).status.success());
    assert!(home.path("home/.claude.json").is_symlink());
    assert!(home.read("dotfiles/claude.json").contains("mcpServers"));
    assert_eq!(fs::metadata(&real).expect("is there").permissions().mode() & 0o777, 0o640);
}

#[test]
fn two_calls_at_once_both_arrive() {
    let home = Home::new();
    let root = home.path("prompts").display().to_string();
    let names: Vec<String> = (0..6).map(|number| format!("server{number}")).collect();
    let running: Vec<_> = names
        .iter()
        .map(|name| {
            let arguments = ["mcp", "install", "claude-code", "--root", &root, "--yes", "--name", name];
            home.command(&arguments).stdout(Stdio::null()).spawn().expect("starts")
        })
        .collect();
    for mut child in running {
        assert!(child.wait().expect("ends").success());
    }
    let servers = parsed(&home.read("home/.claude.json"))["mcpServers"].clone();
    let mut found: Vec<String> = servers.as_object().expect("an object").keys().cloned().collect();
    found.sort();
    assert_eq!(found, names);
}

#[test]
fn a_project_gets_paths_that_others_have() {
    let home = Home::new();
    fs::create_dir_all(home.path("project/lib/user_data")).expect("made");
    for (host, file, root) in [
        ("claude-code", "project/.mcp.json", "lib"),
        ("vscode", "project/.vscode/mcp.json", "${workspaceFolder}/lib"),
        ("cursor", "project/.cursor/mcp.json", "${workspaceFolder}/lib"),
        ("opencode", "project/opencode.json", "lib"),
    ] {
        let output = home.run(&["mcp", "install", host, "--scope", "project", "--root", "lib", "--yes"]);
        assert!(output.status.success(), "{host}: {}", stderr(&output));
        assert!(stderr(&output).contains("hina is not in PATH"), "{host}: {}", stderr(&output));
        assert!(home.read(file).contains(&format!("\"{root}\"")), "{host}: {}", home.read(file));
    }
    let outside = home.install("zed", &["--scope", "project", "--yes"]);
    assert!(stderr(&outside).contains("outside of the project"), "{}", stderr(&outside));
    let none = home.install("claude-desktop", &["--scope", "project", "--yes"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(stderr(&none).contains("no file for projects"));
}

#[test]
fn a_program_in_path_is_called_by_its_name_where_the_host_has_that_path() {
    let home = Home::new();
    fs::create_dir(home.path("bin")).expect("made");
    symlink(env!("CARGO_BIN_EXE_hina"), home.path("bin/hina")).expect("linked");
    let root = home.path("prompts").display().to_string();
    let path = home.path("bin");
    for (host, file, command) in [
        ("claude-code", "home/.claude.json", "hina"),
        ("claude-desktop", "home/.config/Claude/claude_desktop_config.json", "/hina"),
    ] {
        let mut call = home.command(&["mcp", "install", host, "--root", &root, "--yes"]);
        assert!(call.env("PATH", &path).output().expect("runs").status.success());
        let written = parsed(&home.read(file))["mcpServers"]["prompts"]["command"].clone();
        let written = written.as_str().expect("a string");
        assert!(
            written == command || (command == "/hina" && written.ends_with("/hina")),
            "{host}: {written}"
        );
    }
}

#[test]
fn a_daemon_is_entered_with_a_reference_to_its_key() {
    let url = "http://127.0.0.1:8700/mcp";
    let header = |host: &str| {
        let home = Home::new();
        let arguments = ["mcp", "install", host, "--url", url, "--key-env", "HINA_KEY", "--yes"];
        let output = home.command(&arguments).env("HINA_KEY", "hunter2").output().expect("runs");
        (home, output)
    };
    for (host, file, expected) in [
        ("claude-code", "home/.claude.json", "Bearer ${HINA_KEY}"),
        ("vscode", "home/.config/Code/User/mcp.json", "Bearer ${env:HINA_KEY}"),
        ("gemini-cli", "home/.gemini/settings.json", "Bearer ${HINA_KEY}"),
        ("opencode", "home/.config/opencode/opencode.json", "Bearer {env:HINA_KEY}"),
    ] {
        let (home, output) = header(host);
        assert!(output.status.success(), "{host}: {}", stderr(&output));
        let text = home.read(file);
        assert!(text.contains(expected) && text.contains(url) && !text.contains("hunter2"), "{host}: {text}");
    }
    let (home, output) = header("zed");
    assert!(stderr(&output).contains("the key itself is written"), "{}", stderr(&output));
    assert!(!stdout(&output).contains("hunter2"), "the difference hides it: {}", stdout(&output));
    assert!(home.read("home/.config/zed/settings.json").contains("Bearer hunter2"));
    let (_, output) = header("claude-desktop");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("starts programs only"), "{}", stderr(&output));
}

#[test]
fn invalid_calls_say_what_to_do() {
    let home = Home::new();
    for (arguments, problem) in [
        (vec!["mcp", "install", "cursr"], "did you mean `cursor`"),
        (vec!["mcp", "install", "zed", "--name", "a b"], "invalid name"),
        (vec!["mcp", "install", "zed", "--url", "127.0.0.1"], "is not the address of a daemon"),
        (
            vec!["mcp", "install", "zed", "--url", "http://x/mcp", "--root", "."],
            "have no effect on a running daemon",
        ),
        (vec!["mcp", "install"], "<HOST"),
        (vec!["mcp", "--tools", "install", "zed"], "cannot be used with"),
        (vec!["mcp", "install", "zed", "--root", "missing"], "is not a directory"),
    ] {
        let output = home.run(&arguments);
        assert!(!output.status.success(), "{arguments:?}");
        assert!(stderr(&output).contains(problem), "{arguments:?}: {}", stderr(&output));
    }
    assert_eq!(fs::read_dir(home.path("home")).expect("readable").count(), 0);
}

#[test]
fn the_list_shows_where_an_entry_is() {
    let home = Home::new();
    assert!(home.install("qwen-code", &["--yes", "--name", "mine"]).status.success());
    home.write("home/.cursor/mcp.json", "{");
    let listed = stdout(&home.run(&["mcp", "install", "--list"]));
    let line = |host: &str| listed.lines().find(|line| line.starts_with(host)).unwrap_or_default().to_owned();
    assert!(line("qwen-code\tuser").contains("~/.qwen/settings.json\tinstalled as mine"), "{listed}");
    assert!(line("cursor\tuser").contains("unreadable"), "{listed}");
    assert!(line("zed\tproject").contains("no file"), "{listed}");
    assert!(Path::new(&home.path("home/.qwen/settings.json")).is_file());
}

#[test]
fn prompts_become_skills_and_only_those_are_updated_and_removed() {
    let home = Home::new();
    let prompts = "prompts/user_data/shared/prompts";
    home.write(
        &format!("{prompts}/greet_all/template.md"),
        "---\ndescription: Greets\ninputs:\n  who: {type: string, required: true}\n---\nGreet {{ who }}.\n",
    );
    home.write(&format!("{prompts}/mine/template.md"), "Mine\n");
    home.write("home/.claude/skills/mine/SKILL.md", "---\nname: mine\ndescription: by hand\n---\nKeep me\n");
    let skill = "home/.claude/skills/greet-all/SKILL.md";
    let shown = home.install("claude-code", &["--skills"]);
    assert_eq!(shown.status.code(), Some(6), "{}", stderr(&shown));
    assert!(
        !home.path(skill).exists() && stdout(&shown).contains("+name: \"greet-all\""),
        "{}",
        stdout(&shown)
    );
    let written = home.install("claude-code", &["--skills", "--yes"]);
    assert!(written.status.success(), "{}", stderr(&written));
    assert!(stderr(&written).contains("`mine` is not written"), "{}", stderr(&written));
    assert!(home.read(skill).ends_with("Greet $ARGUMENTS.\n"), "{}", home.read(skill));
    let again = home.install("claude-code", &["--skills"]);
    assert!(again.status.success() && stdout(&again).contains("is up to date"), "{}", stdout(&again));
    home.write("home/.claude/skills/greet-all/notes.md", "of the user");
    fs::remove_dir_all(home.path(&format!("{prompts}/greet_all"))).expect("removed");
    assert!(home.install("claude-code", &["--skills", "--yes"]).status.success());
    assert!(!home.path(skill).exists() && home.path("home/.claude/skills/greet-all/notes.md").exists());
    assert!(home.install("claude-code", &["--skills", "--remove", "--yes"]).status.success());
    assert!(home.read("home/.claude/skills/mine/SKILL.md").contains("Keep me"));
    let left = fs::read_dir(home.path("home/.claude/skills")).expect("readable").count();
    assert_eq!(left, 2, "the skills of others stay");
    let none = home.install("claude-desktop", &["--skills"]);
    assert!(none.status.code() == Some(2) && stderr(&none).contains("--out"), "{}", stderr(&none));
    let root = home.path("prompts").display().to_string();
    let out = home.run(&["mcp", "install", "--skills", "--out", "here", "--root", &root, "--yes", "--json"]);
    let report = parsed(&stdout(&out));
    assert!(report["written"] == true && home.path("project/here/mine/SKILL.md").is_file(), "{report}");
}
