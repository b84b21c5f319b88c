//! `hina migrate` with the Redis of an older daemon.
#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Output},
};

use serde_json::{Value, json};

use crate::serve::redis;

/// A machine with the configuration of an older daemon on the Redis at `port`.
struct Machine {
    place: tempfile::TempDir,
    port: u16,
}

impl Machine {
    fn new(server: &redis::Server, listen: &str) -> Self {
        let place = tempfile::tempdir().expect("a directory");
        let port = server.port;
        let config = format!(
            "app_name: ai-prompt-shell\nserver:\n  listen_addr: \"{listen}\"\nlogger:\n  level: warning\n  output: stdout\n\
             redis:\n  addr: 127.0.0.1:{port}\n  db: 0\nrefresh:\n  tool: 5m\nllm:\n  api_key: sk-old-secret\n  \
             api_base: http://models.example\n"
        );
        fs::write(place.path().join("config.yaml"), config).expect("written");
        Self { place, port }
    }

    fn path(&self) -> &Path {
        self.place.path()
    }

    fn migrate(&self, arguments: &[&str]) -> Output {
        self.run(&[&["migrate", "--config", "config.yaml"], arguments].concat())
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_hina"))
            .args(arguments)
            .current_dir(self.path())
            .env_remove("OPENAI_API_KEY")
            .env("HINAGATA_STATE", self.path().join("state"))
            .env("XDG_CONFIG_HOME", self.path().join("config"))
            .output()
            .expect("runs")
    }

    fn redis(&self, arguments: &[&str]) -> String {
        let called = Command::new("redis-cli").args(["-p", &self.port.to_string()]).args(arguments).output();
        let called = called.expect("runs");
        assert!(called.status.success(), "{called:?}");
        text(&called.stdout)
    }

    fn set(&self, key: &str, value: &Value) {
        self.redis(&["set", &format!("shenma:{key}"), &value.to_string()]);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// The finding about `subject`, and whether somebody must decide about it.
fn finding<'r>(report: &'r Value, subject: &str) -> (&'r str, bool) {
    let all = report["findings"].as_array().expect("a list");
    let found = all.iter().find(|found| found["subject"] == subject);
    let found = found.unwrap_or_else(|| panic!("{subject}: {report:#}"));
    (found["message"].as_str().expect("a text"), found["needs_decision"] == true)
}

#[test]
fn everything_that_differs_is_listed_and_redis_is_not_changed() {
    let server = redis::Server::start(&[]);
    let machine = Machine::new(&server, ":8080");
    machine.set("templates:review:start", &json!({"name": "start", "prompt": "{{.args.code}}"}));
    machine.set("templates:Scan-Repo:2fa", &json!({"name": "2fa", "prompt": "x"}));
    machine.set("templates:broken", &json!({"name": "broken", "prompt": "{{if}}"}));
    machine.set(
        "templates:both",
        &json!({"name": "both", "prompt": "x", "messages": [{"role": "user", "content": "y"}]}),
    );
    machine.set("templates:role", &json!({"name": "role", "messages": [{"role": "weird", "content": "y"}]}));
    machine.set("templates:coding_system", &json!({"name": "coding_system", "prompt": "x"}));
    machine.set("templates:long", &json!({"name": "long", "prompt": "x".repeat(70_000)}));
    machine.set("extensions:evaluator", &json!({"name": "evaluator", "contributes": {
        "prompts": [{"name": "quality", "prompt": "x"}], "dependences": [{"name": "missing", "version": "^1.0.0"}]}}));
    machine.set(
        "extensions:foreign",
        &json!({"name": "foreign", "engines": {"name": "other", "version": "1"},
        "contributes": {"prompts": [{"name": "p", "prompt": "x"}]}}),
    );
    machine.set(
        "tools:code:find",
        &json!({"name": "find", "type": "restful", "supports": null,
        "restful": {"url": "http://127.0.0.1:9001/find", "method": "POST"}}),
    );
    machine.set(
        "tools:code:look",
        &json!({"name": "look", "type": "restful",
        "restful": {"url": "https://code.invalid/look", "method": "POST"}}),
    );
    machine.set("tools:code_find", &json!({"name": "code_find", "url": "http://127.0.0.1:9001/"}));
    machine.set("tools:printf", &json!({"name": "printf", "url": "http://127.0.0.1:9001/"}));
    machine.set("tools:relative", &json!({"name": "relative", "url": "/translate"}));
    machine.set("environs:team:name", &json!("Blue"));
    machine.redis(&["set", "shenma:environs:team:lead", "Ada"]);
    machine.redis(&["hset", "shenma:environs:team:map", "a", "1"]);
    let before = machine.redis(&["dbsize"]);

    let shown = machine.migrate(&["--json", "--set", "limits.max_output_size=60000"]);
    assert_eq!(shown.status.code(), Some(1), "{shown:?}");
    let report = report(&shown);
    for (subject, part, needs_decision) in [
        ("server.listen", "no keys are set", true),
        ("keys", "chat needs a key", true),
        ("llm.system", "You are a helpful assistant.", false),
        ("limits.max_output_size", "at most 60000 characters", false),
        ("server.max_body", "at most 16777216 bytes", false),
        ("127.0.0.1:9001", "`code.find`", true),
        ("code.invalid:443", "`code.look`", true),
        ("code.invalid:443", "could not be resolved", true),
        ("shenma:templates:broken", "if", true),
        ("shenma:templates:both", "`messages` is ignored", false),
        ("shenma:templates:role", "unknown role `weird`", false),
        ("Scan-Repo.2fa", "`scan_repo.2fa`", false),
        ("coding_system", "2 candidates", true),
        ("long", "70000 characters", true),
        ("shenma:extensions:evaluator", "it is not in the store", true),
        ("shenma:extensions:foreign", "another engine", true),
        ("shenma:tools:code_find", "the same function name", true),
        ("shenma:tools:printf", "reserved name", true),
        ("shenma:tools:relative", "relative", true),
        ("shenma:environs:team:lead", "invalid JSON", true),
        ("shenma:environs:team:map", "has the type hash", true),
    ] {
        let (message, decides) = finding(&report, subject);
        assert!(message.contains(part), "{subject}: {message}");
        assert_eq!(decides, needs_decision, "{subject}");
    }
    assert_eq!(report["allowed_hosts"], json!(["127.0.0.1:9001", "code.invalid:443"]));
    let hidden = report["findings"].as_array().expect("a list").iter();
    let hidden: Vec<&Value> =
        hidden.map(|found| &found["hidden_prompts"]).filter(|list| **list != json!([])).collect();
    assert!(hidden.contains(&&json!(["evaluator.quality"])), "{hidden:?}");
    assert!(
        report["settings"].to_string().contains("server.listen")
            && report["dropped"].to_string().contains("refresh")
    );
    let said = text(&machine.migrate(&[]).stdout);
    assert!(said.contains("\nTo decide\n") && said.contains("allowed_hosts = [\"127.0.0.1:9001\""), "{said}");
    assert!(!said.contains("sk-old-secret") && !text(&shown.stdout).contains("sk-old-secret"));
    assert_eq!(machine.redis(&["dbsize"]), before);
}

#[test]
fn the_written_settings_replace_the_file_and_nothing_is_left_to_decide() {
    let server = redis::Server::start(&[]);
    let machine = Machine::new(&server, "127.0.0.1:8080");
    machine.set("templates:review", &json!({"name": "review", "prompt": "{{.args.code}}"}));
    fs::create_dir_all(machine.path().join("config/hinagata")).expect("a directory");
    let file = "config/hinagata/config.toml";
    let written = machine.migrate(&["--write", file, "--set", "server.local_chat=true"]);
    assert_eq!(written.status.code(), Some(0), "{written:?}");
    assert!(text(&written.stdout).contains("nothing to decide"), "{written:?}");
    let mode = fs::metadata(machine.path().join(file)).expect("exists").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let settings = fs::read_to_string(machine.path().join(file)).expect("is text");
    assert!(
        !settings.contains("sk-old-secret") && settings.contains("key_env = \"OPENAI_API_KEY\""),
        "{settings}"
    );
    let again = machine.migrate(&["--write", file]);
    assert!(text(&again.stderr).contains("not overwritten"), "{again:?}");

    let config = machine.run(&["config", "--json"]);
    assert_eq!((config.status.code(), text(&config.stderr).as_str()), (Some(0), ""), "{settings}");
    let config = text(&config.stdout);
    for value in ["127.0.0.1:8080", "http://models.example/v1", "2000000", "16777216", "openai"] {
        assert!(config.contains(value), "{value}: {config}");
    }
    let rendered = machine.run(&["render", "review", "args:={\"code\":\"x\"}"]);
    assert!(!text(&rendered.stderr).contains("not found"), "{rendered:?}");
}

#[test]
fn a_redis_that_does_not_answer_is_a_failure_of_the_network() {
    let server = redis::Server::start(&[]);
    let machine = Machine::new(&server, ":8080");
    let other = format!("redis://127.0.0.1:{}", redis::free_port());
    let silent = machine.migrate(&["--redis", &other]);
    assert_eq!((silent.status.code(), text(&silent.stdout).as_str()), (Some(5), ""), "{silent:?}");
}
