//! The files that the catalog holds: listed, read, written, deleted.

use std::{sync::Arc, time::SystemTime};

use bytes::Bytes;
use hinagata::{
    Catalog, Code, Diagnostic, Digest, Engine, Error, Reason,
    edit::{EditError, HeldFile, LARGEST, Trash},
};
use hinagata_check::{Finding, Level, check_prompts};
use hinagata_host::OpenWorkspace;
use hyper::{
    StatusCode,
    header::{self, HeaderValue},
};
use serde_json::{Value, json};

use crate::{
    access::Scope,
    answer,
    body::Response,
    call::{Answer, Call},
    findings::finding_json,
    precondition::Precondition,
    problem::Problem,
    state::App,
};

/// The most files in a list.
const MOST_FILES: usize = 20_000;

/// The most files whose content a list is computed from.
const MOST_READ: usize = 500;

/// `GET /api/files`
pub(super) async fn list_files(call: Call) -> Answer {
    let mut under = String::new();
    for (name, value) in call.query_pairs() {
        match name.as_str() {
            "under" => under = value,
            _ => {
                return Err(Problem::bad_request(format!("unknown query parameter `{name}`"))
                    .with_hint("known parameters: under"));
            }
        }
    }
    let (app, catalog) = (Arc::clone(&call.app), call.engine().catalog());
    let list = move || {
        let found = catalog.held_files(&stored_path(&app, &catalog, &under), MOST_FILES);
        let is_read = found.files.len() <= MOST_READ;
        let files: Vec<Value> = found.files.iter().map(|file| file_json(&app, file, is_read)).collect();
        let mut list = json!({"files": files});
        if found.is_cut {
            list["warnings"] = json!([{
                "about": "files",
                "message": format!("only the first {MOST_FILES} files are listed; name a directory with `under`"),
            }]);
        }
        list
    };
    let list = tokio::task::spawn_blocking(list).await.map_err(|_| unexpected())?;
    answer::json_with_etag(&call.parts, &list)
}

fn unexpected() -> Problem {
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "request", "the files cannot be listed")
}

fn file_json(app: &App, file: &HeldFile, is_read: bool) -> Value {
    let content = if is_read { file.read_bytes(LARGEST).ok().flatten() } else { None };
    let mut shown = json!({
        "path": shown_path(app, &file.path),
        "kind": kind_name(&file.path),
        "writable": file.is_own(),
    });
    if let Some(bytes) = content {
        shown["size"] = bytes.len().into();
        shown["etag"] = etag_of(&Digest::sha256(&bytes)).into();
    }
    if let Some(id) = &file.prompt {
        shown["prompt_id"] = id.as_str().into();
    }
    shown
}

/// What a file is, by its name.
fn kind_name(path: &str) -> &'static str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    match ending.as_str() {
        "py" => "python",
        "yaml" | "yml" => "yaml",
        "json" => "json",
        "toml" => "toml",
        "md" => "markdown",
        "j2" | "jinja" | "jinja2" => "jinja",
        "tmpl" | "gotmpl" => "go",
        _ => "text",
    }
}

/// The path without the directories of this machine.
pub(super) fn shown_path(app: &App, path: &str) -> String {
    app.places.hide_in_text(path).unwrap_or_else(|| path.to_owned())
}

/// The path in the catalog of a path that was shown.
pub(super) fn stored_path(app: &App, catalog: &Catalog, shown: &str) -> String {
    let stored = |prefix: &str| {
        let hidden = app.places.hide_in_text(prefix)?;
        let rest = shown.strip_prefix(hidden.as_str())?;
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("{prefix}{rest}"))
    };
    let found = catalog.roots().iter().find_map(|index| stored(&index.root.prefix));
    found.unwrap_or_else(|| shown.to_owned())
}

/// The file of the path, in the catalog as the caller sees it.
pub(super) fn find_file(call: &Call) -> Result<HeldFile, Problem> {
    let path = call.path_param("path")?;
    held_file(&call.app, &call.engine().catalog(), path)
}

/// The file with this shown path, if the catalog holds it.
pub(super) fn held_file(app: &App, catalog: &Catalog, path: &str) -> Result<HeldFile, Problem> {
    catalog.held_file(&stored_path(app, catalog, path)).ok_or_else(|| unknown_file(path))
}

fn unknown_file(path: &str) -> Problem {
    let path: String = path.chars().take(200).collect();
    Problem::not_found(format!("the catalog has no file `{path}`"))
        .with_hint("`GET /api/files` lists the files of prompts, partials, agents and packs")
}

fn etag_of(digest: &Digest) -> String {
    format!("\"{digest}\"")
}

fn set_etag(response: &mut Response, digest: &Digest) {
    if let Ok(tag) = HeaderValue::from_str(&etag_of(digest)) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
}

/// `GET /api/files/{path}`
pub(super) async fn get_file(call: Call) -> Answer {
    let file = find_file(&call)?;
    let approved = match call.query_pairs().as_slice() {
        [] => false,
        [(name, value)] if name == "approved" && matches!(value.as_str(), "true" | "false") => {
            value == "true"
        }
        _ => return Err(Problem::bad_request("unknown query parameter; only `approved=true` is supported")),
    };
    let read = move || if approved { file.read_approved(LARGEST) } else { file.read_bytes(LARGEST) };
    let read = tokio::task::spawn_blocking(read).await.map_err(|_| unexpected())?;
    let bytes = read.map_err(|error| reading_problem(&error))?;
    let bytes = bytes.ok_or_else(|| unknown_file(call.path_param("path").unwrap_or_default()))?;
    if std::str::from_utf8(&bytes).is_err() {
        return Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Code::Definition.as_str(),
            "the file is not UTF-8 text",
        ));
    }
    let digest = Digest::sha256(&bytes);
    let mut response = if answer::has_etag(&call.parts, &etag_of(&digest)) {
        answer::empty_response(StatusCode::NOT_MODIFIED)
    } else {
        answer::bytes_response(StatusCode::OK, "text/plain; charset=utf-8", Bytes::from(bytes))
    };
    set_etag(&mut response, &digest);
    Ok(response)
}

fn reading_problem(error: &Error) -> Problem {
    match error.reason() {
        Some(Reason::Size) => {
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", error.message().to_owned())
        }
        _ => Problem::from(error),
    }
}

/// Checks what changing a file needs, and the condition of the request.
fn check_change(call: &Call, file: &HeldFile) -> Result<Precondition, Problem> {
    if !file.is_own() {
        let mut problem = Problem::from(EditError::ReadOnly { path: file.path.clone() });
        if let Some(id) = &file.prompt {
            problem = problem.with_member("copy_route", format!("/api/prompts/{id}/copy"));
        }
        return Err(problem);
    }
    if file.is_code() {
        call.require_scope(Scope::Admin, "changing Python")?;
    }
    Precondition::from_headers(&call.parts.headers).ok_or_else(|| {
        Problem::new(
            StatusCode::PRECONDITION_REQUIRED,
            "precondition_required",
            "changing a file requires `If-Match` or `If-None-Match`",
        )
        .with_hint("send the ETag that was read in `If-Match`, or `If-None-Match: *` for a new file")
    })
}

/// `PUT /api/files/{path}`
pub(super) async fn put_file(mut call: Call) -> Answer {
    let file = find_file(&call)?;
    let precondition = check_change(&call, &file)?;
    let bytes = call.read_body().await?;
    if bytes.len() as u64 > LARGEST {
        return Err(Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            format!("a file has at most {} KiB", LARGEST >> 10),
        ));
    }
    if let Err(error) = std::str::from_utf8(&bytes) {
        return Err(Problem::bad_request(format!(
            "the file is not valid UTF-8: invalid byte at offset {}",
            error.valid_up_to()
        )));
    }
    let (changed, content) = (file.clone(), bytes.clone());
    let written = call.app.run_edit(move |app| {
        app.catalog()
            .write_file(&changed, &content, |present| precondition.check_tag(present.map(etag_of).as_deref()))
    });
    let written = written.await?;
    let engine = call.engine();
    let app = Arc::clone(&call.app);
    let work = move || (file_findings(&app.workspace, &engine, &file), file);
    let found = tokio::task::spawn_blocking(work).await;
    let (found, file) = found.map_err(|_| unexpected())?;
    let status = if written.is_new { StatusCode::CREATED } else { StatusCode::OK };
    let mut body = json!({
        "path": shown_path(&call.app, &file.path),
        "etag": etag_of(&written.digest),
        "findings": found.iter().map(finding_json).collect::<Value>(),
    });
    call.app.places.hide_in_value(&mut body["findings"]);
    if let Some(id) = &file.prompt {
        body["prompt_id"] = id.as_str().into();
    }
    let mut response = answer::json_with_status(status, &body)?;
    set_etag(&mut response, &written.digest);
    Ok(response)
}

/// What is wrong with a file and the prompt that it belongs to.
pub(super) fn file_findings(workspace: &OpenWorkspace, engine: &Engine, file: &HeldFile) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if let Ok(Some(bytes)) = file.read_bytes(LARGEST)
        && let Ok(text) = String::from_utf8(bytes)
    {
        found.extend(engine.source_findings(&file.path, &text));
    }
    let (prefix, inner) = file.split_path();
    if let (Some(_), Some((name, _))) = (&file.prompt, inner.split_once('/')) {
        found.extend(prompt_findings(workspace, engine, &format!("{prefix}/{name}")));
    }
    let mut seen = std::collections::HashSet::new();
    found.retain(|found| seen.insert(found.error.message().to_owned()));
    found
}

/// What is wrong with the prompt at `source`, and with what it uses.
pub(super) fn prompt_findings(workspace: &OpenWorkspace, engine: &Engine, source: &str) -> Vec<Diagnostic> {
    let options = workspace.check_options(engine);
    let found = check_prompts(&engine.catalog(), &options, &[source.to_owned()]);
    found.iter().filter(|finding| finding.level != Level::Hint).map(Finding::to_diagnostic).collect()
}

/// `DELETE /api/files/{path}`
pub(super) async fn delete_file(call: Call) -> Answer {
    let file = find_file(&call)?;
    let precondition = check_change(&call, &file)?;
    let deleted = call.app.run_edit(move |app| {
        let kept = (&open_trash(app)?, SystemTime::now());
        app.catalog()
            .delete_file(&file, kept, |present| precondition.check_tag(present.map(etag_of).as_deref()))
    });
    let entry = deleted.await?;
    answer::json_response(&json!({"path": shown_path(&call.app, &entry.path), "trash": entry.entry}))
}

/// The trash of the workspace.
pub(super) fn open_trash(app: &App) -> Result<Trash, Problem> {
    let state = app.workspace.state.as_ref().ok_or_else(|| {
        Problem::from(
            Error::new(Code::Store, "no state directory to keep deleted files in")
                .with_hint("set HINAGATA_STATE to a directory"),
        )
    })?;
    Ok(Trash::new(state, &app.workspace.root.path))
}
