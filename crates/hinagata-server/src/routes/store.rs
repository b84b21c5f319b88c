//! Reading and changing documents of the store.

use std::{ops::Bound, sync::Arc};

use hinagata::{
    Code, Error, PromptFilter,
    store::{StoreChange, StoreKind, StoreSnapshot, Stored},
};
use hyper::{StatusCode, header};
use serde_json::{Value, json};
use tokio::sync::RwLock;

use crate::{
    answer::{self, ListQuery},
    body::Response,
    call::{Answer, Call},
    findings::{document_findings, finding_json},
    precondition::Precondition,
    problem::Problem,
    state::App,
};

/// Held while documents are written: shared, or alone by a conditional write, between whose check and write no other
/// one may come. It is held across an await because the write itself waits for the store. Daemons on one store do not
/// share it; another daemon's write counts as soon as this one has seen it.
static WRITES: RwLock<()> = RwLock::const_new(());

/// The store as the caller sees it. A store that was never read is an error: its documents are unknown, not missing.
fn snapshot(call: &Call) -> Result<Arc<StoreSnapshot>, Problem> {
    let snapshot = call.engine().store().unwrap_or_default();
    if !snapshot.health.is_unread {
        return Ok(snapshot);
    }
    let error = Error::new(Code::Store, "the store has not answered since the daemon started")
        .with_hint("`GET /readyz` shows whether it answers");
    Err(snapshot.health.reason().into_iter().fold(error, Error::with_reason).into())
}

fn list_documents(call: &Call, kind: StoreKind) -> Answer {
    let known: &[&str] = match kind {
        StoreKind::Tool => &["supports", "view", "q", "limit", "cursor"],
        _ => &["view", "q", "limit", "cursor"],
    };
    let list_query = ListQuery::from_call(call, known)?;
    let snapshot = snapshot(call)?;
    let supports = |stored: &Stored| -> Vec<String> {
        let said = stored.value.get("supports").and_then(Value::as_array);
        said.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let all = snapshot.documents(kind).iter().filter(|(id, stored)| {
        list_query.matches_text([&***id])
            && PromptFilter::is_for(&supports(stored), list_query.filter.supports.as_deref())
    });
    let (page, next) = list_query.take_page(all.map(|(id, stored)| (id.to_string(), stored)).collect());
    let entry = |(id, stored): (String, &Stored)| {
        let stale = || stored.stale.as_ref().map(|error| error.message());
        if list_query.full {
            json!({"id": id, "value": *stored.value, "stale": stale()})
        } else {
            Value::String(id)
        }
    };
    let entries: Vec<Value> = page.into_iter().map(entry).collect();
    list_query.page_response(call, &entries, next.as_deref())
}

fn get_document(call: &Call, kind: StoreKind) -> Answer {
    let id = call.path_param("id")?;
    let snapshot = snapshot(call)?;
    if let Some(stored) = snapshot.documents(kind).get(id) {
        return answer::json_with_etag(&call.parts, &*stored.value);
    }
    // The id may be a prefix of several environs, or a part of one.
    if let Some(value) = snapshot.environ(id).filter(|_| kind == StoreKind::Environ) {
        return answer::json_with_etag(&call.parts, value);
    }
    let next_id = |from: &str| {
        let rest = (Bound::Included(from), Bound::Unbounded);
        snapshot.documents(kind).range::<str, _>(rest).next().map(|(known, _)| &**known)
    };
    let near = hinagata_value::near_sorted_names(id, next_id, |_| true);
    let short_id: String = id.chars().take(80).collect();
    Err(Problem::not_found(format!("{} `{short_id}` not found", kind.singular())).with_member("near", near))
}

/// Checks that the caller may change the document `id`: a restricted key changes only what it reaches.
fn check_change(call: &Call, kind: StoreKind, id: &str, value: Option<&Value>) -> Result<(), Problem> {
    let Some(reach) = call.app.access.reach(&call.caller) else { return Ok(()) };
    // The existing document counts, whether the caller can see it or not.
    let all = call.app.engine.store().unwrap_or_default();
    let now = all.documents(kind).get(id).map(|stored| &*stored.value);
    let is_reached = now.into_iter().chain(value).all(|value| reach.has_document(kind, id, value));
    if is_reached { Ok(()) } else { call.require_unrestricted() }
}

async fn put_document(mut call: Call, kind: StoreKind) -> Answer {
    let id = call.path_param("id")?.to_owned();
    let bytes = call.read_body().await?;
    let value = call.parse_json(&bytes)?;
    check_change(&call, kind, &id, Some(&value))?;
    let change = StoreChange::set(kind, id.as_str(), value.clone());
    let precondition = Precondition::from_headers(&call.parts.headers);
    write_document(&call.app, precondition, change).await.map_err(|failure| match failure {
        WriteFailure::Problem(problem) => problem,
        WriteFailure::Store(error) => Problem::in_request_body(&error),
    })?;
    let reach = call.app.access.reach(&call.caller);
    let found = document_findings(&call.app.engine, (kind, &id, &value), reach.map(|reach| &**reach));
    let mut response = if found.is_empty() {
        answer::no_content()
    } else {
        let mut warnings: Value = found.iter().map(finding_json).collect();
        call.app.places.hide_in_value(&mut warnings);
        answer::json_with_status(StatusCode::OK, &json!({"warnings": warnings}))?
    };
    set_document_etag(&call, kind, &id, &mut response)?;
    Ok(response)
}

/// Adds the ETag of the written document, for the next conditional write.
fn set_document_etag(call: &Call, kind: StoreKind, id: &str, response: &mut Response) -> Result<(), Problem> {
    let all = call.app.engine.store().unwrap_or_default();
    if let Some(stored) = all.documents(kind).get(id) {
        let tag = answer::json_etag(&*stored.value)?;
        if let Ok(tag) = tag.parse() {
            response.headers_mut().insert(header::ETAG, tag);
        }
    }
    Ok(())
}

/// Why a document was not written.
enum WriteFailure {
    Problem(Problem),
    Store(hinagata::Error),
}

/// Writes a change if the document is as the request expects it.
async fn write_document(
    app: &App,
    precondition: Option<Precondition>,
    change: StoreChange,
) -> Result<(), WriteFailure> {
    let engine = &app.engine;
    let Some(precondition) = precondition else {
        let _guard = WRITES.read().await;
        return engine.write_store(vec![change]).await.map_err(WriteFailure::Store);
    };
    let _guard = WRITES.write().await;
    let all = engine.store().unwrap_or_default();
    let now =
        all.documents(change.kind).get(change.id.as_str()).map(|stored| answer::json_etag(&*stored.value));
    let now = now.transpose().map_err(WriteFailure::Problem)?;
    precondition.check_tag(now.as_deref()).map_err(WriteFailure::Problem)?;
    engine.write_store(vec![change]).await.map_err(WriteFailure::Store)
}

async fn delete_document(call: Call, kind: StoreKind) -> Answer {
    let id = call.path_param("id")?.to_owned();
    if !snapshot(&call)?.documents(kind).contains_key(id.as_str()) {
        return get_document(&call, kind).and_then(|_| {
            Err(Problem::not_found(format!("{} `{id}` is not a document of its own", kind.singular())))
        });
    }
    check_change(&call, kind, &id, None)?;
    let precondition = Precondition::from_headers(&call.parts.headers);
    write_document(&call.app, precondition, StoreChange::delete(kind, id)).await.map_err(|failure| {
        match failure {
            WriteFailure::Problem(problem) => problem,
            WriteFailure::Store(error) => Problem::from(error),
        }
    })?;
    Ok(answer::no_content())
}

pub(super) async fn list_extensions(call: Call) -> Answer {
    list_documents(&call, StoreKind::Extension)
}

pub(super) async fn get_extension(call: Call) -> Answer {
    get_document(&call, StoreKind::Extension)
}

pub(super) async fn put_extension(call: Call) -> Answer {
    put_document(call, StoreKind::Extension).await
}

pub(super) async fn delete_extension(call: Call) -> Answer {
    delete_document(call, StoreKind::Extension).await
}

pub(super) async fn list_templates(call: Call) -> Answer {
    list_documents(&call, StoreKind::Template)
}

pub(super) async fn get_template(call: Call) -> Answer {
    get_document(&call, StoreKind::Template)
}

pub(super) async fn put_template(call: Call) -> Answer {
    put_document(call, StoreKind::Template).await
}

pub(super) async fn delete_template(call: Call) -> Answer {
    delete_document(call, StoreKind::Template).await
}

pub(super) async fn list_environs(call: Call) -> Answer {
    list_documents(&call, StoreKind::Environ)
}

/// `GET /api/environs/{id}`: the document, or with `view=merged` the value that templates see, which includes the
/// environs inside it.
pub(super) async fn get_environ(call: Call) -> Answer {
    let view = call.query_pairs().into_iter().find(|(name, _)| name == "view").map(|(_, value)| value);
    let is_merged = match view.as_deref() {
        None | Some("stored") => false,
        Some("merged") => true,
        Some(view) => {
            return Err(
                Problem::bad_request(format!("unknown view `{view}`")).with_hint("use `stored` or `merged`")
            );
        }
    };
    if is_merged && let Some(value) = snapshot(&call)?.environ(call.path_param("id")?) {
        // Without an ETag: the version for conditional writes is that of the document.
        return answer::json_response(value);
    }
    get_document(&call, StoreKind::Environ)
}

pub(super) async fn put_environ(call: Call) -> Answer {
    put_document(call, StoreKind::Environ).await
}

pub(super) async fn delete_environ(call: Call) -> Answer {
    delete_document(call, StoreKind::Environ).await
}

pub(super) async fn list_tools(call: Call) -> Answer {
    list_documents(&call, StoreKind::Tool)
}

pub(super) async fn get_tool(call: Call) -> Answer {
    get_document(&call, StoreKind::Tool)
}

pub(super) async fn put_tool(call: Call) -> Answer {
    put_document(call, StoreKind::Tool).await
}

pub(super) async fn delete_tool(call: Call) -> Answer {
    delete_document(call, StoreKind::Tool).await
}
