//! Hooks that never end: they end with whoever asked for them, and keep nobody else from running.

use serde_json::json;

use crate::{
    held_daemon::{Daemon, answer, header, wait_for_processes},
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
    let (status, body) = daemon.render("quick");
    assert_eq!(status, 200, "{body}");
    assert!(body.to_string().contains("hello you"), "{body}");
}

#[test]
fn hooks_that_hang_end_when_their_callers_hang_up_and_others_run_meanwhile() {
    let home = home_with_hang("hang-up");
    let daemon = Daemon::start(&home, &["hooks.workers=4"]);
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
    let daemon = Daemon::start(&home, &["hooks.workers=2"]);
    let caller = daemon.send("/api/prompts/hang/explain", &[], &json!({"variables": {}}));
    wait_for_processes("hang-explain", 1);
    drop(caller);
    wait_for_processes("hang-explain", 0);
    is_served(&daemon);
}

#[test]
fn a_hook_ends_with_the_time_of_its_request_and_tells_where_it_was() {
    let home = home_with_hang("hang-time");
    let daemon = Daemon::start(&home, &["hooks.workers=4", "server.request_timeout=2s"]);
    let (status, body) = daemon.render("hang");
    assert_eq!((status, body["code"].as_str()), (503, Some("hook_timeout")), "{body}");
    assert!(body.to_string().contains("\"line\":7"), "the line that sleeps: {body}");
    wait_for_processes("hang-time", 0);
    is_served(&daemon);
}

#[test]
fn a_daemon_that_stops_leaves_no_hook_behind() {
    let home = home_with_hang("hang-stop");
    let daemon = Daemon::start(&home, &["server.stop_timeout=1s", "server.linger=10ms"]);
    let caller = daemon.send_render("hang");
    wait_for_processes("hang-stop", 1);
    daemon.end("-TERM");
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

const REVISION: &str = "2026-07-28";

#[test]
fn a_prompt_of_a_client_that_closes_its_stream_ends_its_hooks() {
    let home = home_with_hang("hang-mcp");
    let daemon = Daemon::start(&home, &["hooks.workers=4"]);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "prompts/get", "params": {
        "name": "hang",
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }});
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", REVISION),
        ("mcp-method", "prompts/get"),
        ("mcp-name", "hang"),
    ];
    let callers: Vec<_> = (0..5).map(|_| daemon.send("/mcp", &headers, &body)).collect();
    wait_for_processes("hang-mcp", 3);
    drop(callers);
    wait_for_processes("hang-mcp", 0);
    is_served(&daemon);
}

#[test]
fn a_notice_that_a_request_is_cancelled_ends_its_hooks() {
    let home = home_with_hang("hang-notice");
    let daemon = Daemon::start(&home, &["hooks.workers=4"]);
    let plain = [("accept", "application/json, text/event-stream"), ("mcp-protocol-version", "2025-11-25")];
    let start = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    }});
    let session = header(daemon.send("/mcp", &plain, &start), "mcp-session-id");
    let headers = [plain[0], plain[1], ("mcp-session-id", session.as_str())];
    answer(daemon.send("/mcp", &headers, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})));
    let get = json!({"jsonrpc": "2.0", "id": 7, "method": "prompts/get", "params": {"name": "hang"}});
    let caller = daemon.send("/mcp", &headers, &get);
    wait_for_processes("hang-notice", 1);
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}});
    answer(daemon.send("/mcp", &headers, &notice));
    wait_for_processes("hang-notice", 0);
    drop(caller);
    is_served(&daemon);
}
