//! Prompts of other formats: imported from files in a request, and exported.

use std::collections::BTreeMap;

use hinagata::{
    Catalog, Digest, Error,
    edit::{EditError, PlannedImport},
    exchange::{self, ExportOptions, Format, ImportOptions, SourceFiles},
    source::unknown_format,
};
use hyper::StatusCode;
use serde_json::{Map, Value, json};

use super::files::stored_path;
use crate::{
    answer,
    call::{Answer, Call},
    fields::Fields,
    problem::Problem,
};

/// What a request wants to import.
struct ImportRequest {
    files: SourceFiles,
    digests: BTreeMap<String, Digest>,
    options: ImportOptions,
    place: String,
    id: Option<String>,
    is_trial: bool,
    is_strict: bool,
}

fn read_format(name: Option<String>) -> Result<Option<Format>, Problem> {
    let named = name.filter(|name| name != "auto");
    Ok(named.map(|name| Format::from_name(&name).ok_or_else(|| unknown_format(&name))).transpose()?)
}

fn read_request(body: Map<String, Value>) -> Result<ImportRequest, Problem> {
    let mut fields = Fields::new(body);
    let texts = fields.take_object("files")?;
    if texts.is_empty() {
        return Err(Problem::bad_request("`files` must have at least one file"));
    }
    let (mut files, mut digests) = (SourceFiles::default(), BTreeMap::new());
    for (path, text) in texts {
        let Value::String(text) = text else {
            return Err(Problem::bad_request(format!("`files.{path}` must be a string")));
        };
        let is_plain = !path.contains('\\') && path.split('/').all(|part| !matches!(part, "" | "." | ".."));
        if !is_plain {
            return Err(Problem::bad_request(format!("`{path}` is not a relative path"))
                .with_hint("write `directory/name` without `..`"));
        }
        digests.insert(path.clone(), Digest::sha256(text.as_bytes()));
        files.insert(path, text);
    }
    let format = read_format(fields.take_string("format")?)?;
    let request = ImportRequest {
        files,
        digests,
        options: ImportOptions { format, is_plain: fields.take_boolean("plain")?.unwrap_or_default() },
        place: fields.take_string("in")?.unwrap_or_else(|| Catalog::default_import_place().to_owned()),
        id: fields.take_string("as")?,
        is_trial: fields.take_boolean("dry_run")?.unwrap_or_default(),
        is_strict: fields.take_boolean("strict")?.unwrap_or_default(),
    };
    fields.check_unknown()?;
    Ok(request)
}

/// `POST /api/import`
pub(super) async fn import_prompts(mut call: Call) -> Answer {
    call.require_unrestricted()?;
    let request = read_request(call.read_object().await?)?;
    let is_trial = request.is_trial;
    let imported = if is_trial {
        let app = std::sync::Arc::clone(&call.app);
        let work = move || {
            let catalog = app.catalog();
            let place = stored_path(&app, &catalog, &request.place);
            run_import(&catalog, &place, &request)
        };
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "request", "the import failed"))??
    } else {
        let edit = move |app: &crate::state::App| {
            let catalog = app.catalog();
            let place = stored_path(app, &catalog, &request.place);
            run_import(&catalog, &place, &request)
        };
        call.app.run_edit(edit).await?
    };
    let mut body = imported;
    call.app.places.hide_in_value(&mut body);
    let is_created = body["summary"]["imported"].as_u64().is_some_and(|count| count > 0);
    let status = if is_created && !is_trial { StatusCode::CREATED } else { StatusCode::OK };
    answer::json_with_status(status, &body)
}

/// Reads the files, writes what can be written, and tells what became of each.
fn run_import(catalog: &Catalog, place: &str, request: &ImportRequest) -> Result<Value, Problem> {
    let mut batch = exchange::import_batch(&request.files, "", &request.options);
    if let Some(id) = &request.id {
        match batch.prompts.as_mut_slice() {
            [only] => only.prompt.id.clone_from(id),
            several => {
                return Err(Problem::bad_request(format!(
                    "`as` names one prompt, but the files have {}",
                    several.len()
                )));
            }
        }
    }
    let is_refused = request.is_strict && batch.prompts.iter().any(|imported| imported.report.is_lossy());
    let digest_of = |path: &str| request.digests.get(path).copied();
    let sources: Vec<String> = batch.prompts.iter().map(|imported| imported.prompt.from.clone()).collect();
    let mut failed: Vec<Value> =
        batch.failed.iter().map(|(file, error)| failure_json(file, error.clone())).collect();
    let (mut prompts, mut written, mut lossy) = (Vec::new(), 0_usize, 0_usize);
    for (planned, from) in
        catalog.plan_imports(place, batch.prompts, (&digest_of, false)).into_iter().zip(sources)
    {
        let planned: PlannedImport = match planned {
            Ok(planned) => planned,
            Err(error) => {
                failed.push(failure_json(&from, error));
                continue;
            }
        };
        let mut shown = planned.to_json();
        let is_written = !request.is_trial && !is_refused && !planned.is_taken;
        if is_written {
            match catalog.write_import(&planned, false) {
                Ok(()) => {}
                Err(EditError::Taken { .. }) => shown["conflict"] = true.into(),
                Err(error) => return Err(error.into()),
            }
        }
        let is_written = is_written && shown["conflict"] == false;
        shown["written"] = is_written.into();
        written += usize::from(is_written);
        lossy += usize::from(planned.report.is_lossy());
        prompts.push(shown);
    }
    let conflicts = prompts.iter().filter(|prompt| prompt["conflict"] == true).count();
    Ok(json!({
        "summary": {
            "imported": if request.is_trial { prompts.len() - conflicts } else { written },
            "with_losses": lossy,
            "conflicts": conflicts,
            "unrecognised": batch.unrecognised.len(),
            "failed": failed.len(),
        },
        "dry_run": request.is_trial,
        "refused": is_refused,
        "prompts": prompts,
        "unrecognised": batch.unrecognised,
        "failed": failed,
    }))
}

fn failure_json(file: &str, error: Error) -> Value {
    json!({"file": file, "error": Problem::from(error).to_json()})
}

/// `GET /api/prompts/{id}/export`
pub(super) async fn export_prompt(call: Call) -> Answer {
    let mut format = None;
    for (name, value) in call.query_pairs() {
        match name.as_str() {
            "to" => format = Some(value),
            _ => {
                return Err(Problem::bad_request(format!("unknown query parameter `{name}`"))
                    .with_hint("known parameters: to"));
            }
        }
    }
    let name = call.prompt_name()?;
    let format = read_format(format)?.ok_or_else(|| {
        Problem::bad_request("missing the query parameter `to`")
            .with_hint(format!("one of {}", exchange::export_names().join(", ")))
    })?;
    let engine = call.engine();
    let exported = engine.export_prompt(&name, &ExportOptions::new(format))?;
    let files: Vec<Value> =
        exported.files.iter().map(|(path, text)| json!({"path": path, "content": text})).collect();
    let mut body = json!({
        "prompt_id": exported.id,
        "format": format.as_str(),
        "files": files,
        "losses": exported.report.to_json(),
        "lossless": !exported.report.is_lossy(),
    });
    call.app.places.hide_in_value(&mut body);
    answer::json_with_etag(&call.parts, &body)
}
