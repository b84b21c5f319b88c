//! A workspace without hooks starts no Python and no thread. This test needs a process of its own.
#![cfg(target_os = "linux")]

#[path = "it/support/mod.rs"]
#[expect(dead_code, reason = "the tests of the other binary use the rest")]
mod support;

use std::{fs, sync::Arc};

use hinagata::{Engine, Request};
use hinagata_python::HookPool;
use serde_json::json;

#[test]
fn a_workspace_without_hooks_starts_neither_python_nor_threads() {
    let threads = || fs::read_dir("/proc/self/task").expect("are listed").count();
    let before = threads();
    let pool = HookPool::new(support::options());
    let engine = Engine::builder("no/such/workspace").with_hooks(Arc::new(pool)).open();
    let variables = json!({"task": "Paint the tower"});
    let request = Request::new("planning_task_decomposition").with_variables(&variables);
    assert!(engine.render_blocking(&request).expect("renders").text().contains("Paint the tower"));
    assert_eq!(threads(), before);
    let children = fs::read_dir("/proc/self/task").expect("are listed").flatten();
    let children = children.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    assert_eq!(children.collect::<String>(), "");
}
