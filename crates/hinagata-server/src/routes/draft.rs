//! Renders with unsaved texts in the place of files.

use std::collections::BTreeMap;

use hinagata::{
    RenderJob,
    edit::{EditError, LARGEST},
    source::UnsavedTexts,
};
use hyper::StatusCode;
use serde_json::{Map, Value, json};

use super::{
    chat, files,
    prompts::{explained_json, read_format, read_units, refuse_effects},
    render::RenderRequest,
};
use crate::{
    access::Scope,
    answer,
    call::{Answer, Call},
    fields::Fields,
    findings::finding_json,
    problem::Problem,
};

/// The most unsaved texts of a draft.
const MOST_FILES: usize = 200;

/// `POST /api/draft`
pub(super) async fn explain_draft(mut call: Call) -> Answer {
    let mut fields = Fields::new(call.read_object().await?);
    let prompt =
        fields.take_string("prompt_id")?.ok_or_else(|| Problem::bad_request("missing `prompt_id`"))?;
    let unsaved = Unsaved::from_object(&call, fields.take_object("files")?)?;
    let is_mapped = fields.take_boolean("map")?.unwrap_or(true);
    let units = read_units(fields.take_string("units")?)?;
    let format = read_format(fields.take_string("format")?)?;
    let may_have_effects = fields.take_boolean("effects")?.unwrap_or(true);
    let options = match fields.take_value("chat") {
        None => None,
        Some(Value::Object(options)) => Some(options),
        Some(_) => {
            return Err(Problem::bad_request("`chat` must be an object with the options of the model"));
        }
    };
    let RenderRequest { variables, context } = RenderRequest::from_fields(&mut fields)?;
    fields.check_unknown()?;
    call.notes.set_names(&[("id", &prompt)]);
    let context = call.app.check_context(&context)?;
    let engine = call.engine().with_unsaved(unsaved.texts);
    if !may_have_effects {
        refuse_effects(&engine, &prompt).await?;
    }
    let job = RenderJob { variables, context, is_mapped, ..RenderJob::new(engine.clone(), prompt.clone()) };
    if let Some(options) = options {
        call.require_scope(Scope::Chat, "sending a draft to a model")?;
        return chat::send_to_model(call, job, Fields::new(options)).await;
    }
    let explained = call.explain_job(job).await?;
    let mut body = explained_json(&explained, units, format)?;
    let source = engine.catalog().choose(&prompt).ok().map(|choice| choice.entry.source().to_owned());
    let find = |source: String| files::prompt_findings(&call.app.workspace, &engine, &source);
    let found = source.map(find).unwrap_or_default();
    let mut findings: Value = found.iter().map(finding_json).collect();
    call.app.places.hide_in_value(&mut findings);
    body["findings"] = findings;
    if !unsaved.ignored.is_empty() {
        let warnings = unsaved.ignored.iter().map(|path| {
            json!({"about": path, "message": "unsaved Python is not run: the saved file was used", "hint": "save the file"})
        });
        match body.get_mut("warnings") {
            Some(Value::Array(known)) => known.extend(warnings),
            _ => body["warnings"] = warnings.collect(),
        }
    }
    answer::json_response(&body)
}

/// The unsaved texts of a request.
pub(super) struct Unsaved {
    pub(super) texts: BTreeMap<String, UnsavedTexts>,
    /// The Python files, of which the saved text counts.
    ignored: Vec<String>,
}

impl Unsaved {
    pub(super) fn from_object(call: &Call, files: Map<String, Value>) -> Result<Self, Problem> {
        if files.len() > MOST_FILES {
            return Err(Problem::bad_request(format!("a draft has at most {MOST_FILES} files")));
        }
        let catalog = call.engine().catalog();
        let mut unsaved = Self { texts: BTreeMap::new(), ignored: Vec::new() };
        for (path, text) in files {
            let file = files::held_file(&call.app, &catalog, &path)?;
            if !file.is_own() || !file.is_in_root() {
                return Err(EditError::ReadOnly { path }.into());
            }
            if file.is_code() {
                unsaved.ignored.push(path);
                continue;
            }
            let text = match text {
                Value::Null => None,
                Value::String(text) if text.len() as u64 > LARGEST => {
                    return Err(Problem::new(
                        StatusCode::PAYLOAD_TOO_LARGE,
                        "too_large",
                        format!("`{path}` has more than {} KiB", LARGEST >> 10),
                    ));
                }
                Value::String(text) => Some(text.into()),
                _ => return Err(Problem::bad_request(format!("`files.{path}` must be a text or null"))),
            };
            let (prefix, inner) = file.split_path();
            unsaved.texts.entry(prefix.to_owned()).or_default().insert(inner.to_owned(), text);
        }
        Ok(unsaved)
    }
}
