//! Hooks that never end: they end with whoever asked for them, and keep nobody else from running.

use std::{io::Write as _, process::Stdio};

use serde_json::{Value, json};

use super::{
    daemon::{Daemon, wait_for_processes},
    protocol::{hello, message},
    support::Home,
};

/// A workspace with the prompt `hang`, whose hook calls its process `name` and never ends, and the prompt `quick`.
fn home_with_hang(name: &str) -> Home {
    let home = Home::new();
    let hang = format!(
        "import ctypes, time\n\
         METADATA = {{\"id\": \"hang\"}}\n\
         TEMPLATE = \"never\"\n\
         LIMITS = {{\"max_execution_time\": 3600}}\n\
         def pre_render(variables, context):\n    \
         ctypes.CDLL(None).prctl(15, b\"{name}\", 0, 0, 0)\n    \
         time.sleep(3000)\n"
    );
    home.write("user_data/shared/prompts/hang/prompt.py", hang);
    let quick = "METADATA = {\"id\": \"quick\"}\nTEMPLATE = \"hello {{ name }}\"\n\
                 def pre_render(variables, context):\n    variables[\"name\"] = \"you\"\n";
    home.write("user_data/shared/prompts/quick/prompt.py", quick);
    home
}

fn is_served(daemon: &Daemon) {
    let answer = daemon.send_render("quick").answer();
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.body.contains("hello you"), "{answer:?}");
}

#[test]
fn hooks_that_hang_end_when_their_callers_hang_up_and_others_run_meanwhile() {
    let home = home_with_hang("hang-up");
    let daemon = Daemon::start(&home, &["--set", "hooks.workers=4"]);
    for _ in 0..2 {
        let callers: Vec<_> = (0..5).map(|_| daemon.send_render("hang")).collect();
        // A quarter of the workers is left to others.
        wait_for_processes("hang-up", 3);
        is_served(&daemon);
        drop(callers);
        wait_for_processes("hang-up", 0);
    }
    is_served(&daemon);
}

#[test]
fn an_explanation_that_nobody_waits_for_ends_its_hooks() {
    let home = home_with_hang("hang-explain");
    let daemon = Daemon::start(&home, &["--set", "hooks.workers=2"]);
    let caller = daemon.send("POST", "/api/prompts/hang/explain", &[], r#"{"variables": {}}"#);
    wait_for_processes("hang-explain", 1);
    drop(caller);
    wait_for_processes("hang-explain", 0);
    is_served(&daemon);
}

#[test]
fn a_hook_ends_with_the_time_of_its_request_and_tells_where_it_was() {
    let home = home_with_hang("hang-time");
    let daemon = Daemon::start(&home, &["--set", "hooks.workers=4", "--set", "server.request_timeout=2s"]);
    let answer = daemon.send_render("hang").answer();
    let told = answer.json();
    assert_eq!((answer.status, told["code"].as_str()), (503, Some("hook_timeout")), "{told}");
    assert!(told.to_string().contains("\"line\":7"), "the line that sleeps: {told}");
    wait_for_processes("hang-time", 0);
    is_served(&daemon);
}

#[test]
fn a_daemon_that_stops_leaves_no_hook_behind() {
    let home = home_with_hang("hang-stop");
    let daemon = Daemon::start(&home, &["--set", "server.stop_timeout=1s", "--set", "server.linger=10ms"]);
    let caller = daemon.send_render("hang");
    wait_for_processes("hang-stop", 1);
    daemon.stop();
    wait_for_processes("hang-stop", 0);
    drop(caller);
}

#[test]
fn a_file_that_does_not_end_when_it_is_loaded_is_run_once() {
    let home = Home::new();
    let source = "import sys\nprint(\"loading\", flush=True)\nTEMPLATE = \"x\" + str(1)\n\
                  LIMITS = {\"max_execution_time\": 1}\nwhile True:\n    pass\n";
    home.write("user_data/shared/prompts/modloop/prompt.py", source);
    let ran = home.run(&["render", "modloop", "q=1"]);
    assert_eq!(ran.code, 7, "{ran:?}");
    assert_eq!(ran.stderr.matches("loading").count(), 1, "{ran:?}");
    assert!(
        ran.stderr.contains("prompt.py:5") || ran.stderr.contains("prompt.py:6"),
        "where it hangs: {ran:?}"
    );
}

#[test]
fn a_prompt_of_a_client_that_closes_its_stream_ends_its_hooks() {
    let home = home_with_hang("hang-mcp");
    let daemon = Daemon::start(&home, &["--set", "hooks.workers=4"]);
    let get = || daemon.mcp_stateless(None, "prompts/get", json!({"name": "hang"}));
    let callers: Vec<_> = (0..5).map(|_| get()).collect();
    wait_for_processes("hang-mcp", 3);
    drop(callers);
    wait_for_processes("hang-mcp", 0);
    is_served(&daemon);
}

#[test]
fn a_notice_that_a_request_is_cancelled_ends_its_hooks() {
    let home = home_with_hang("hang-notice");
    let daemon = Daemon::start(&home, &["--set", "hooks.workers=4"]);
    let session = daemon.mcp_session(None);
    let send = |message: &str| daemon.mcp_send("POST", None, &[("mcp-session-id", &session)], message);
    let notify = |method: &str, params: Value| {
        let notice = json!({"jsonrpc": "2.0", "method": method, "params": params});
        assert_eq!(send(&notice.to_string()).answer().status, 202);
    };
    notify("notifications/initialized", json!({}));
    let caller = send(&message(7, "prompts/get", &json!({"name": "hang"})));
    wait_for_processes("hang-notice", 1);
    notify("notifications/cancelled", json!({"requestId": 7}));
    wait_for_processes("hang-notice", 0);
    drop(caller);
    is_served(&daemon);
}

#[test]
fn a_client_of_an_older_revision_that_hangs_up_ends_its_hooks() {
    let home = home_with_hang("hang-session");
    let daemon = Daemon::start(&home, &["--set", "hooks.workers=4"]);
    let session = daemon.mcp_session(None);
    let get = message(7, "prompts/get", &json!({"name": "hang"}));
    let caller = daemon.mcp_send("POST", None, &[("mcp-session-id", &session)], &get);
    wait_for_processes("hang-session", 1);
    drop(caller);
    wait_for_processes("hang-session", 0);
    is_served(&daemon);
}

#[test]
fn sixty_clients_that_hang_up_keep_nobody_from_running_hooks() {
    let home = home_with_hang("hang-sixty");
    let daemon = Daemon::start(&home, &["--set", "hooks.workers=4"]);
    let session = daemon.mcp_session(None);
    let old = |id| {
        let get = message(id, "prompts/get", &json!({"name": "hang"}));
        daemon.mcp_send("POST", None, &[("mcp-session-id", &session)], &get)
    };
    let new = || daemon.mcp_stateless(None, "prompts/get", json!({"name": "hang"}));
    let callers: Vec<_> = (0..30).flat_map(|id| [old(id + 1), new()]).collect();
    wait_for_processes("hang-sixty", 3);
    drop(callers);
    let answer = daemon.mcp_stateless(None, "prompts/get", json!({"name": "quick"})).answer();
    assert!(answer.body.contains("hello you"), "{answer:?}");
    wait_for_processes("hang-sixty", 0);
}

#[test]
fn a_client_that_closes_standard_input_leaves_no_hook_behind() {
    let home = home_with_hang("hang-input");
    let mut command = home.command(&["mcp"]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("starts");
    let mut input = child.stdin.take().expect("is piped");
    for line in [
        hello(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string(),
        message(1, "prompts/get", &json!({"name": "hang"})),
    ] {
        writeln!(input, "{line}").expect("is read");
    }
    wait_for_processes("hang-input", 1);
    drop(input);
    assert!(child.wait().expect("ends").success());
    wait_for_processes("hang-input", 0);
}
