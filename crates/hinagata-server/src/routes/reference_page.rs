//! Compares `docs/reference/http-routes.md` with the table of routes.
//!
//! `HINAGATA_UPDATE=1` rewrites the page.

use std::{fmt::Write as _, fs, path::Path};

use super::route_specs;
use crate::{access::Scope, route::RouteSpec};

const INTRODUCTION: &str = "\
# HTTP routes

Every route of the daemon, with the scope that a caller needs. A running daemon describes them at `GET /docs`, with
the fields of bodies, examples and forms to try them, and at `GET /openapi.json` for programs. [HTTP API](http.md) describes
requests, errors and keys.

This page is generated from `crates/hinagata-server/src/routes/table.rs`. Run the tests of `hinagata-server` with
`HINAGATA_UPDATE=1` to rewrite it.
";

fn reference_page(routes: &[&RouteSpec]) -> String {
    let mut page = String::from(INTRODUCTION);
    for tag in route_tags(routes) {
        let _ = write!(page, "\n## {}\n\n", heading(tag));
        page.push_str("| route | description | scope | query | body |\n|---|---|---|---|---|\n");
        for route in routes.iter().filter(|route| route.tag == tag) {
            push_row(&mut page, route);
        }
    }
    page
}

/// The tags of `routes`, each once, in the order of the table.
fn route_tags(routes: &[&RouteSpec]) -> Vec<&'static str> {
    let mut tags = Vec::new();
    for route in routes {
        if !tags.contains(&route.tag) {
            tags.push(route.tag);
        }
    }
    tags
}

fn heading(tag: &str) -> String {
    if tag == "mcp" {
        return "MCP".to_owned();
    }
    let (first, rest) = tag.split_at(1);
    first.to_uppercase() + rest
}

fn push_row(page: &mut String, route: &RouteSpec) {
    let scope = route.scope.map_or("none", Scope::as_str);
    let query: Vec<String> = route.query_params.iter().map(|(name, _)| format!("`{name}`")).collect();
    let body = match route.body {
        None => String::new(),
        Some((schema, true)) => format!("`{schema}`"),
        Some((schema, false)) => format!("`{schema}`, optional"),
    };
    let RouteSpec { method, path, summary, .. } = route;
    let _ = writeln!(page, "| `{method} {path}` | {summary} | {scope} | {} | {body} |", query.join(", "));
}

#[test]
fn the_reference_page_lists_every_route() {
    let page = reference_page(&route_specs().collect::<Vec<_>>());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/http-routes.md");
    if std::env::var_os("HINAGATA_UPDATE").is_some() {
        fs::write(&file, &page).expect("the page can be written");
    }
    let written = fs::read_to_string(&file).expect("the page can be read");
    assert_eq!(written, page, "run this test with HINAGATA_UPDATE=1 to rewrite the page");
}
