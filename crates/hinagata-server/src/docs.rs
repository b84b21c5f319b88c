//! Web pages: the start page and the list of all routes.

use std::{fmt::Write as _, net::SocketAddr};

use crate::{access::Scope, route::RouteSpec};

const STYLE: &str = "\
:root{color-scheme:light dark;--line:color-mix(in srgb,currentColor 18%,transparent)}\
body{font:16px/1.55 system-ui,sans-serif;max-width:56rem;margin:2.5rem auto;padding:0 1rem}\
h1{font-size:1.6rem;margin:0 0 .2rem}h2{font-size:1.1rem;margin:2.2rem 0 .4rem;text-transform:capitalize}\
code,pre{font:14px/1.5 ui-monospace,monospace}pre{padding:.8rem 1rem;border:1px solid var(--line);\
border-radius:.5rem;overflow-x:auto}table{border-collapse:collapse;width:100%}\
td,th{padding:.4rem .8rem .4rem 0;border-top:1px solid var(--line);vertical-align:top;text-align:left}\
th{font-weight:600}.m{font-weight:600;white-space:nowrap}.s{opacity:.7;font-size:.9em}\
details{margin:.2rem 0}ul{margin:.2rem 0;padding-left:1.2rem}";

/// The start page.
pub(crate) fn start_page(address: SocketAddr) -> String {
    html_page(
        "Hinagata",
        &format!(
            "<h1>Hinagata</h1><p>The daemon is running. Render a prompt:</p><pre>{}</pre>\
             <ul><li><a href=\"/docs\">All routes</a>, <a href=\"/openapi.json\">as OpenAPI</a></li>\
             <li><a href=\"/api/prompts?view=full\">All prompts</a></li>\
             <li><a href=\"/readyz\">Health</a>, <a href=\"/metrics\">metrics</a></li></ul>",
            escape_html(&example_call(address)),
        ),
    )
}

/// A call that works in every new workspace.
#[must_use]
pub fn example_call(address: SocketAddr) -> String {
    format!(
        "curl -s http://{address}/api/render/prompts/general_system \\\n     -H 'content-type: application/json' \\\n     \
         -d '{{\"variables\": {{\"agent_name\": \"Rumi\"}}}}'"
    )
}

/// The page that lists `routes`.
pub(crate) fn routes_page(routes: &[&RouteSpec]) -> String {
    let mut body = String::from(
        "<h1>Routes</h1><p>The same list as an <a href=\"/openapi.json\">OpenAPI document</a>. Send a key as \
         <code>Authorization: Bearer KEY</code>; each route shows the scope that it requires.</p>",
    );
    for tag in route_tags(routes) {
        let _ =
            write!(body, "<h2>{tag}</h2><table><tr><th>route</th><th>description</th><th>scope</th></tr>");
        for route in routes.iter().filter(|route| route.tag == tag) {
            push_row(&mut body, route);
        }
        body.push_str("</table>");
    }
    html_page("Hinagata routes", &body)
}

/// The tags of `routes`, each once, in the order of the table.
pub(crate) fn route_tags(routes: &[&RouteSpec]) -> Vec<&'static str> {
    let mut tags = Vec::new();
    for route in routes {
        if !tags.contains(&route.tag) {
            tags.push(route.tag);
        }
    }
    tags
}

fn push_row(body: &mut String, route: &RouteSpec) {
    let needs = route.scope.map_or("none", Scope::as_str);
    let _ = write!(
        body,
        "<tr><td><span class=m>{}</span> <code>{}</code></td><td>{}",
        route.method,
        route.path,
        escape_html(route.summary)
    );
    if !route.query_params.is_empty() {
        body.push_str("<details><summary class=s>query</summary><ul>");
        for (name, meaning) in route.query_params {
            let _ = write!(body, "<li><code>{name}</code>: {}</li>", escape_html(meaning));
        }
        body.push_str("</ul></details>");
    }
    let _ = write!(body, "</td><td class=s>{needs}</td></tr>");
}

fn html_page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8>\
         <meta name=viewport content=\"width=device-width,initial-scale=1\">\
         <title>{title}</title><style>{STYLE}</style><main>{body}</main></html>"
    )
}

fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
