//! Modules of tools do not get in the way of each other.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use crate::support::{Server, allowing};
use axum::{Json, Router, routing::any};
use hinagata::{
    Reason, Result,
    ports::{PortFuture, ToolDocument, ToolSet, Tools},
};
use hinagata_tools::{ToolSettings, Toolbox};
use serde_json::{Value, json};

/// A set with REST tools at these addresses.
fn tool_set(toolbox: &Toolbox, tools: &[(&str, String)]) -> Arc<dyn ToolSet> {
    let document = |(id, url): &(&str, String)| ToolDocument {
        id: (*id).to_owned(),
        origin: format!("key {id}"),
        document: json!({"url": url}),
        replaces: false,
    };
    toolbox.tool_set(&[tools.iter().map(document).collect()])
}

fn wait_for(call: PortFuture<'_, Result<Value>>) -> Result<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runs");
    runtime.block_on(call)
}

fn reason(result: Result<Value>) -> Option<Reason> {
    result.expect_err("fails").reason()
}

#[test]
fn a_hanging_module_does_not_delay_another() {
    let (arrived, arrivals) = mpsc::channel();
    let hang = move || {
        let arrived = arrived.clone();
        async move {
            arrived.send(()).expect("somebody waits");
            std::future::pending::<()>().await;
        }
    };
    let routes = Router::new().route("/hang", any(hang)).route("/quick", any(|| async { Json("here") }));
    let server =
        Server::start(|listener| async move { axum::serve(listener, routes).await.expect("serves") });
    let settings = ToolSettings { concurrency: 1, ..allowing(&[&server.address.to_string()]) };
    let toolbox = Toolbox::new(settings);
    let set = tool_set(
        &toolbox,
        &[
            ("slow.hang", server.url("/hang")),
            ("other.quick", server.url("/quick")),
            ("own", server.url("/quick")),
        ],
    );
    let hanging = set.call_tool("slow_hang", json!([]));
    arrivals.recv().expect("the call arrives");
    assert_eq!(wait_for(set.call_tool("other_quick", json!([]))).expect("answers"), "here");
    assert_eq!(wait_for(set.call_tool("own", json!([]))).expect("answers"), "here");
    drop(hanging);
}

#[test]
fn a_module_that_does_not_answer_is_refused_and_tried_again_after_a_pause() {
    let address = Server::start(|_| async {}).address;
    let healthy = Server::start(|listener| async move {
        let routes = Router::new().route("/", any(|| async { Json("healthy") }));
        axum::serve(listener, routes).await.expect("serves");
    });
    let (start, ahead) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let clock = {
        let ahead = Arc::clone(&ahead);
        move || start + Duration::from_secs(ahead.load(Ordering::SeqCst))
    };
    let settings = allowing(&[&address.to_string(), &healthy.address.to_string()]);
    let toolbox = Toolbox::with_clock(settings, clock);
    let tools = [
        ("gone.a", format!("http://{address}/")),
        ("gone.b", format!("http://{address}/")),
        ("fine.c", healthy.url("/")),
    ];
    let set = tool_set(&toolbox, &tools);
    let call = |name: &str| wait_for(set.call_tool(name, json!([])));
    for _ in 0..5 {
        assert_eq!(reason(call("gone_a")), Some(Reason::Connect));
    }
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    let routes = Router::new().route(
        "/",
        any(move || {
            let counted = Arc::clone(&counted);
            async move { Json(counted.fetch_add(1, Ordering::SeqCst)) }
        }),
    );
    let _back =
        Server::start_at(
            address,
            |listener| async move { axum::serve(listener, routes).await.expect("serves") },
        );
    // Nobody asks the server during the pause, not even after the definitions changed.
    assert_eq!(reason(call("gone_a")), Some(Reason::Down));
    assert_eq!(reason(call("gone_b")), Some(Reason::Down));
    let again = tool_set(&toolbox, &tools[..1]);
    assert_eq!(reason(wait_for(again.call_tool("gone_a", json!([])))), Some(Reason::Down));
    assert_eq!(call("fine_c").expect("is another module"), "healthy");
    assert_eq!(requests.load(Ordering::SeqCst), 0);
    ahead.store(1, Ordering::SeqCst);
    assert_eq!(call("gone_b").expect("is tried again"), 0);
    assert_eq!(call("gone_a").expect("answers"), 1);
}
