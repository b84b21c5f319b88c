//! Length is no depth beyond one language either: every production of Jinja, as often as the limit of a
//! source allows, goes through the graph, the record of origins and the messages on the stack of a thread.

#[path = "../../../hinagata-jinja/tests/it/productions.rs"]
mod productions;

use std::thread;

use hinagata_template::{Language, MemorySources, Options, Render, Template, analyze_graph};
use hinagata_value::{Limits, Result};
use productions::{Production, lists, nested, operators, statements};
use serde_json::json;

/// The stack that Rust gives its threads.
const STACK: usize = 2 << 20;

/// Compiles, analyses and renders a source in every way, and asks where each piece came from.
fn walk(source: &str, limits: &Limits) -> Result<()> {
    let options = Options::default();
    let mut sources = MemorySources::new();
    sources.insert("t.md", source);
    sources.insert("other", "{% macro a() %}{{ x1 }}{% endmacro %}");
    let graph = analyze_graph("t.md", &sources, &options, limits);
    let template = Template::compile(Language::Jinja, "t.md", source, &options, limits)?;
    drop(graph?);
    let data = json!({"a": "", "data": {}});
    let render = Render::new().with_sources(&sources).with_limits(limits.clone());
    let messages = render.render_messages(&template, &data);
    let mapped = render.render_mapped(&template, &data)?;
    assert_eq!(mapped.map.spans.last().map_or(0, |span| span.end), mapped.written.text.len());
    messages.map(drop)
}

fn walk_all(productions: Vec<Production>) {
    let limits = Limits::default();
    for production in productions {
        for size in [150, production.most(limits.source)] {
            let (source, limits) = (production.source(size), limits.clone());
            let walker = thread::Builder::new().stack_size(STACK).spawn(move || walk(&source, &limits));
            if let Err(error) = walker.expect("a thread starts").join().expect("nothing panics") {
                assert!(!error.message().is_empty(), "{}", production.name());
            }
        }
    }
}

#[test]
fn chains_of_operators_go_through_graph_origins_and_messages() {
    walk_all(operators());
}

#[test]
fn lists_go_through_graph_origins_and_messages() {
    walk_all(lists());
}

#[test]
fn nested_expressions_go_through_graph_origins_and_messages() {
    walk_all(nested());
}

#[test]
fn statements_go_through_graph_origins_and_messages() {
    walk_all(statements());
}
