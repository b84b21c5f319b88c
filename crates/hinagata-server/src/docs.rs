//! Web pages: the start page, and the page that describes every route.
//!
//! Both are made of the OpenAPI document. They hold no data, so they load without a key; a script of the daemon itself
//! sends the calls that a reader tries.

mod html;
mod operation;
mod schema_fields;

use std::{fmt::Write as _, net::SocketAddr};

use serde_json::Value;

use self::{
    html::{code_html, escape_html},
    operation::{EXAMPLE_ADDRESS, operations},
    schema_fields::Schemas,
};

/// The script of both pages.
pub(crate) const SCRIPT: &str = include_str!("docs/page.js");

/// The style of both pages.
pub(crate) const STYLE: &str = include_str!("docs/page.css");

/// What a page may load: its own script and style, and the answers of the daemon.
pub(crate) const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                                                  connect-src 'self'; base-uri 'none'; form-action 'none'; \
                                                  frame-ancestors 'none'";

#[cfg(not(feature = "page"))]
/// The operations that the start page lets a reader try.
const START_OPERATIONS: [&str; 2] = ["post_api_render_prompts_id", "get_api_prompts"];

const TOKEN_FORM: &str = "\
<form data-script hidden class=key><label><span>Key or token</span>\
<input id=token type=password autocomplete=off spellcheck=false></label>\
<p id=token-state class=note role=status>No key is used.</p></form>\
<noscript><p class=note>Without scripts, this page can be read, but it cannot send calls.</p></noscript>";

#[cfg(not(feature = "page"))]
/// The start page. With keys, its example call needs one.
pub(crate) fn start_page(document: &Value, address: SocketAddr, has_keys: bool) -> String {
    let access = if has_keys {
        "Every call needs a key of the settings, or the token that the daemon created when it started."
    } else {
        "Reading and rendering need no key on this machine; chat and changes need the token that the daemon created \
         when it started."
    };
    let mut body = format!(
        "<h1>Hinagata</h1><p>The daemon is running. Render a prompt:</p><pre>{}</pre>\
         <ul><li><a href=\"/docs\" data-with-token>All routes</a>, with their fields, examples and forms to try \
         them; <a href=\"/openapi.json\">the same as OpenAPI</a></li>\
         <li><a href=\"/readyz\">Health</a>, <a href=\"/docs#get_metrics\">metrics</a></li></ul>\
         <h2>Access</h2><p>{access}</p>{TOKEN_FORM}",
        escape_html(&example_call(address, has_keys)),
    );
    for operation in START_OPERATIONS {
        for operation in operations(document).filter(|known| known.id() == operation) {
            let title = operation.operation["summary"].as_str().unwrap_or_default();
            let _ = write!(body, "<section data-script hidden><h2>{}</h2>", escape_html(title));
            operation.push_form(&mut body);
            body.push_str("</section>");
        }
    }
    html_page("Hinagata", &body)
}

/// A call that works in every new workspace. With keys, `KEY` in it stands for one.
pub(crate) fn example_call(address: SocketAddr, has_keys: bool) -> String {
    let key = if has_keys { " \\\n     -H 'authorization: Bearer KEY'" } else { "" };
    format!(
        "curl -s http://{address}/api/render/prompts/general_system{key} \\\n     \
         -H 'content-type: application/json' \\\n     -d '{{\"variables\": {{\"agent_name\": \"Rumi\"}}}}'"
    )
}

/// The page that describes every operation of `document`.
pub(crate) fn docs_page(document: &Value) -> String {
    let mut tags: Vec<&str> = Vec::new();
    let all: Vec<_> = operations(document).collect();
    for operation in &all {
        if !tags.contains(&operation.tag()) {
            tags.push(operation.tag());
        }
    }
    let mut body = format!(
        "<h1>HTTP routes</h1><p>Every route of this daemon, also as an <a href=\"/openapi.json\">OpenAPI \
         document</a>. Send a key as <code>Authorization: Bearer KEY</code>; each route names the scope that the key \
         needs.</p>{TOKEN_FORM}<nav aria-label=Groups><ul>",
    );
    for tag in tags.iter().copied().chain(["schemas"]) {
        let _ = write!(body, "<li><a href=\"#group-{tag}\">{tag}</a>");
    }
    body.push_str("</ul></nav>");
    for tag in tags {
        let _ = write!(body, "<section><h2 id=\"group-{tag}\">{tag}</h2>");
        for operation in all.iter().filter(|operation| operation.tag() == tag) {
            operation.push_details(&mut body);
        }
        body.push_str("</section>");
    }
    push_schemas(&mut body, document);
    html_page("HTTP routes of Hinagata", &body)
}

/// The page with the address of this daemon in its example calls.
pub(crate) fn page_for_address(page: &str, address: SocketAddr) -> String {
    page.replace(EXAMPLE_ADDRESS, &format!("http://{address}"))
}

fn push_schemas(body: &mut String, document: &Value) {
    body.push_str("<section><h2 id=\"group-schemas\">schemas</h2>");
    let schemas = Schemas::of_document(document);
    for (name, schema) in document["components"]["schemas"].as_object().into_iter().flatten() {
        let _ = write!(
            body,
            "<details id=\"schema-{0}\"><summary><code>{0}</code></summary><p>{1}{2}{3}</p>{4}</details>",
            escape_html(name),
            escape_html(&schemas.type_text(schema)),
            if schema["description"].is_string() { ": " } else { "" },
            schema["description"].as_str().map(code_html).unwrap_or_default(),
            schemas.fields_table(schema),
        );
    }
    body.push_str("</section>");
}

fn html_page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8>\
         <meta name=viewport content=\"width=device-width,initial-scale=1\">\
         <title>{title}</title><link rel=stylesheet href=\"/docs.css\"><script src=\"/docs.js\" defer></script>\
         <main>{body}</main></html>"
    )
}
