//! New, copied, renamed, deleted and restored prompts.

use std::{sync::Arc, time::SystemTime};

use hinagata::{
    Catalog, PromptId, SHARED_PROMPTS,
    edit::{EditError, PromptForm, TrashEntry},
    format_utc,
    source::Entry,
};
use hyper::StatusCode;
use serde_json::{Value, json};

use super::files::{open_trash, prompt_findings, shown_path, stored_path};
use crate::{
    access::Scope,
    answer,
    call::{Answer, Call},
    fields::Fields,
    findings::finding_json,
    problem::Problem,
    state::App,
};

/// The id in a field, which a caller that is bound to prompts must reach.
fn take_id(call: &Call, fields: &mut Fields, name: &'static str) -> Result<Option<PromptId>, Problem> {
    let Some(text) = fields.take_string(name)? else { return Ok(None) };
    let id = PromptId::new(&text)?;
    if !call.app.access.can_see(&call.caller, id.as_str()) {
        call.require_unrestricted()?;
    }
    Ok(Some(id))
}

fn missing_field(name: &str) -> Problem {
    Problem::bad_request(format!("missing `{name}`"))
}

/// `POST /api/prompts`
pub(super) async fn create_prompt(mut call: Call) -> Answer {
    let mut fields = Fields::new(call.read_object().await?);
    let id = take_id(&call, &mut fields, "prompt_id")?.ok_or_else(|| missing_field("prompt_id"))?;
    let form = match fields.take_string("form")? {
        None => PromptForm::default(),
        Some(name) => PromptForm::from_name(&name).ok_or_else(|| {
            let names = PromptForm::ALL.map(PromptForm::as_str);
            Problem::bad_request(format!("unknown form `{name}`"))
                .with_hint(format!("one of {}", names.join(", ")))
        })?,
    };
    let place = fields.take_string("in")?.unwrap_or_else(|| SHARED_PROMPTS.to_owned());
    fields.check_unknown()?;
    call.notes.set_names(&[("id", id.as_str())]);
    if form == PromptForm::Full {
        call.require_scope(Scope::Admin, "a prompt with Python")?;
    }
    let created = call.app.run_edit(move |app| {
        let (catalog, files) = (app.catalog(), form.skeleton_files(&id));
        let place = stored_path(app, &catalog, &place);
        let source = catalog.create_prompt(&id, &place, &files)?;
        let paths: Vec<String> = files.iter().map(|file| format!("{source}/{}", file.path)).collect();
        Ok((id, source, paths))
    });
    let (id, source, paths) = created.await?;
    let engine = call.engine();
    let mut body = json!({
        "prompt_id": id.as_str(),
        "source": source,
        "files": paths,
        "findings": prompt_findings(&call.app.workspace, &engine, &source).iter().map(finding_json).collect::<Value>(),
        "warnings": shadow_warnings(&engine.catalog(), &id, &source),
    });
    call.app.places.hide_in_value(&mut body);
    answer::json_with_status(StatusCode::CREATED, &body)
}

/// A warning if the id does not refer to the prompt at `source`.
fn shadow_warnings(catalog: &Catalog, id: &PromptId, source: &str) -> Vec<Value> {
    let message = match catalog.choose(id.as_str()) {
        Ok(choice) if choice.entry.source() == source => return Vec::new(),
        Ok(choice) => format!("`{id}` refers to `{}`", choice.entry.source()),
        Err(error) => error.message().to_owned(),
    };
    vec![json!({
        "about": id.as_str(),
        "message": message,
        "hint": format!("choose with `PUT /api/prompts/{id}/resolution`"),
    })]
}

/// The prompt that the request is about: the chosen one, or the candidate with this source.
fn find_entry(call: &Call, source: Option<&str>) -> Result<Arc<Entry>, Problem> {
    let name = call.prompt_name()?;
    let catalog = call.engine().catalog();
    let Some(source) = source else { return Ok(catalog.choose(&name)?.entry) };
    let source = stored_path(&call.app, &catalog, source);
    let entries = catalog.candidate_entries(&name)?;
    entries.into_iter().find(|entry| entry.source() == source).ok_or_else(|| {
        Problem::not_found(format!("`{source}` is not a candidate of `{name}`"))
            .with_hint("`GET …/candidates` lists the sources")
    })
}

fn check_code(call: &Call, entry: &Entry) -> Result<(), Problem> {
    if entry.has_code() { call.require_scope(Scope::Admin, "changing a prompt with Python") } else { Ok(()) }
}

/// `POST /api/prompts/{id}/copy`
pub(super) async fn copy_prompt(mut call: Call) -> Answer {
    let mut fields = Fields::new(call.read_object().await?);
    let to = take_id(&call, &mut fields, "to")?;
    let source = fields.take_string("source")?;
    fields.check_unknown()?;
    let entry = find_entry(&call, source.as_deref())?;
    check_code(&call, &entry)?;
    // An untrusted pack may not be rendered, so it is not copied either.
    let catalog = call.engine().catalog();
    if let Some(pack) = entry.pack().filter(|_| !catalog.is_usable(&entry)) {
        return Err(hinagata::not_approved(pack).into());
    }
    let (is_same_id, to) = match to {
        Some(to) => (to == *entry.id(), to),
        None => (true, entry.id().clone()),
    };
    call.notes.set_names(&[("to", to.as_str())]);
    let engine = call.engine();
    let copied = call.app.run_edit(move |app| {
        let (source, files) = app.catalog().copy_prompt(&entry, &to)?;
        let paths: Vec<String> = files.iter().map(|file| format!("{source}/{}", file.path)).collect();
        app.engine.reload();
        // Whoever copies a prompt under its own name means to use the copy.
        if is_same_id {
            engine.set_resolution(to.as_str(), &source)?;
        }
        Ok((to, source, paths, is_same_id))
    });
    let (to, source, paths, is_chosen) = copied.await?;
    let mut body = json!({
        "prompt_id": to.as_str(),
        "source": source,
        "files": paths,
        "resolution": is_chosen.then_some(&source),
        "warnings": shadow_warnings(&call.engine().catalog(), &to, &source),
    });
    call.app.places.hide_in_value(&mut body);
    answer::json_with_status(StatusCode::CREATED, &body)
}

/// `POST /api/prompts/{id}/rename`
pub(super) async fn rename_prompt(mut call: Call) -> Answer {
    let mut fields = Fields::new(call.read_object().await?);
    let to = take_id(&call, &mut fields, "to")?.ok_or_else(|| missing_field("to"))?;
    let is_trial = fields.take_boolean("dry_run")?.unwrap_or(false);
    let source = fields.take_string("source")?;
    fields.check_unknown()?;
    let entry = find_entry(&call, source.as_deref())?;
    check_code(&call, &entry)?;
    call.notes.set_names(&[("to", to.as_str())]);
    let engine = call.engine();
    let renamed = call.app.run_edit(move |app| {
        let catalog = engine.catalog();
        let renamed = catalog.rename_prompt(&entry, &to, is_trial)?;
        let was_chosen =
            catalog.resolutions().get(entry.id()).is_some_and(|choice| choice.source == entry.source());
        if !is_trial {
            move_choice(app, (entry.id(), was_chosen), (&to, &renamed.new_source))?;
        }
        Ok((entry.id().clone(), to, renamed))
    });
    let (id, to, renamed) = renamed.await?;
    let mut body = json!({
        "prompt_id": id.as_str(),
        "to": to.as_str(),
        "source": renamed.source,
        "new_source": renamed.new_source,
        "moved": !is_trial,
        "references": renamed.references,
    });
    call.app.places.hide_in_value(&mut body);
    answer::json_response(&body)
}

/// Takes the choice of a renamed prompt along: the old name has none any more, the new one refers to it.
fn move_choice(
    app: &App,
    (id, was_chosen): (&PromptId, bool),
    (to, new_source): (&PromptId, &str),
) -> Result<(), Problem> {
    app.engine.reload();
    if !was_chosen {
        return Ok(());
    }
    app.engine.update_catalog(|catalog| catalog.unset_resolution(id, SystemTime::now()))?;
    app.engine.set_resolution(to.as_str(), new_source)?;
    Ok(())
}

/// `DELETE /api/prompts/{id}`
pub(super) async fn delete_prompt(call: Call) -> Answer {
    let source = match call.query_pairs().as_slice() {
        [] => None,
        [(name, value)] if name == "source" => Some(value.clone()),
        _ => return Err(Problem::bad_request("unknown query parameter; only `source` is supported")),
    };
    let entry = find_entry(&call, source.as_deref())?;
    check_code(&call, &entry)?;
    let deleted = call.app.run_edit(move |app| {
        Ok(app.catalog().delete_prompt(&entry, (&open_trash(app)?, SystemTime::now()))?)
    });
    let entry = deleted.await?;
    answer::json_response(&json!({
        "prompt_id": entry.prompt_id,
        "source": shown_path(&call.app, &entry.path),
        "trash": entry.entry,
    }))
}

/// Whether the caller may see an entry of the trash: one that is bound to prompts sees those of its prompts.
fn reaches_entry(call: &Call, entry: &TrashEntry) -> bool {
    call.app.access.can_see_all(&call.caller)
        || entry.prompt_id.as_ref().is_some_and(|id| call.app.access.can_see(&call.caller, id))
}

/// `GET /api/trash`
pub(super) async fn list_trash(call: Call) -> Answer {
    let listed = call.app.run_edit(|app| Ok(open_trash(app)?.list_entries(SystemTime::now())?)).await?;
    let shown = listed.iter().filter(|entry| reaches_entry(&call, entry)).map(|entry| {
        json!({
            "entry": entry.entry,
            "kind": entry.kind,
            "path": shown_path(&call.app, &entry.path),
            "prompt_id": entry.prompt_id,
            "deleted": format_utc(entry.deleted_at()),
            "expires": format_utc(entry.expires_at()),
            "size": entry.size,
            "files": entry.files,
        })
    });
    answer::json_response(&json!({"entries": shown.collect::<Vec<_>>()}))
}

/// `POST /api/trash/{entry}/restore`
pub(super) async fn restore_entry(call: Call) -> Answer {
    let name = call.path_param("entry")?.to_owned();
    let now = SystemTime::now();
    let listed = call.app.run_edit(move |app| Ok(open_trash(app)?.list_entries(now)?)).await?;
    let found = listed.into_iter().find(|entry| entry.entry == name && reaches_entry(&call, entry));
    let Some(found) = found else {
        return Err(EditError::Missing { path: name.chars().take(80).collect() }.into());
    };
    if found.has_code {
        call.require_scope(Scope::Admin, "restoring Python")?;
    }
    let restored = call
        .app
        .run_edit(move |app| Ok(app.catalog().restore_deleted(&found.entry, (&open_trash(app)?, now))?));
    let entry = restored.await?;
    answer::json_response(&json!({
        "entry": entry.entry,
        "path": shown_path(&call.app, &entry.path),
        "prompt_id": entry.prompt_id,
    }))
}
