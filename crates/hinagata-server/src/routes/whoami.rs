//! Who calls, and what they may do.

use hinagata::source::RootKind;
use hyper::StatusCode;
use serde_json::{Value, json};

use crate::{
    access::{Caller, Scope},
    answer,
    call::{Answer, Call},
    problem::Problem,
};

/// `GET /api/whoami`: open to everyone, so that a page can ask which key it needs. Only callers that may read learn about
/// the workspace.
pub(super) async fn show_caller(mut call: Call) -> Answer {
    let app = std::sync::Arc::clone(&call.app);
    app.origins.check_request(&call.parts.uri, &call.parts.headers)?;
    call.caller = app.access.identify_caller(call.presented_key()).ok_or_else(|| {
        Problem::new(StatusCode::UNAUTHORIZED, "key", "unknown key")
            .with_hint("use a key of the settings, or the token that the daemon printed when it started")
    })?;
    app.check_rate(&call.caller, call.notes.client).map_err(|seconds| {
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate", "rate limit exceeded").with_retry_after(seconds)
    })?;
    let is_anonymous = matches!(call.caller, Caller::Anonymous);
    let has_scope =
        |scope: &Scope| call.has_scope(*scope) && (!is_anonymous || call.check_remote_access(*scope).is_ok());
    let scopes: Vec<&str> = Scope::ALL.into_iter().filter(has_scope).map(Scope::as_str).collect();
    let mut shown = json!({
        "caller": &*app.access.caller_name(&call.caller),
        "scopes": scopes,
        "bound": !app.access.can_see_all(&call.caller),
        "version": env!("CARGO_PKG_VERSION"),
    });
    if has_scope(&Scope::Read) {
        let name = app.workspace.root.path.canonicalize().unwrap_or_else(|_| app.workspace.root.path.clone());
        shown["workspace"] = name.file_name().unwrap_or_default().to_string_lossy().into();
        shown["trust"] = if app.workspace.trust.is_trusted() { "trusted" } else { "untrusted" }.into();
        shown["sources"] = sources(&call);
    }
    answer::json_response(&shown)
}

/// The source roots in search order. A caller that is bound to prompts sees none.
fn sources(call: &Call) -> Value {
    if !call.app.access.can_see_all(&call.caller) {
        return json!([]);
    }
    let catalog = call.engine().catalog();
    let roots = catalog.roots().iter().map(|index| {
        let (kind, is_writable) = match &index.root.kind {
            RootKind::Shared => ("shared", true),
            RootKind::Path(_) => ("path", true),
            RootKind::Library(_) => ("library", false),
            RootKind::Foreign(_) | RootKind::Named => ("foreign", false),
            RootKind::Pack(_) => ("pack", false),
            RootKind::Store => ("store", false),
            RootKind::Builtin => ("builtin", false),
        };
        json!({"prefix": index.root.prefix, "kind": kind, "writable": is_writable})
    });
    let mut all: Vec<Value> = roots.collect();
    all.dedup();
    let mut all = Value::Array(all);
    call.app.places.hide_in_value(&mut all);
    all
}
