//! Checks of unsaved texts.

use std::sync::Arc;

use hinagata_check::{Finding, Language, Level, NoSources, check_prompts, check_text};
use hyper::StatusCode;
use serde_json::{Value, json};

use super::draft::Unsaved;
use crate::{
    access::Scope,
    answer,
    call::{Answer, Call},
    fields::Fields,
    findings::finding_json,
    problem::Problem,
};

/// `POST /api/check`
pub(super) async fn check_unsaved(mut call: Call) -> Answer {
    let mut fields = Fields::new(call.read_object().await?);
    let text = fields.take_string("text")?;
    let language = match fields.take_string("engine")?.as_deref() {
        None | Some("jinja") => Language::Jinja,
        Some("go") => Language::Go,
        Some(other) => {
            return Err(
                Problem::bad_request(format!("unknown engine `{other}`")).with_hint("use `jinja` or `go`")
            );
        }
    };
    let files = fields.take_object("files")?;
    let prompts = read_ids(fields.take_list("prompt_ids")?)?;
    let with_hints = fields.take_boolean("hints")?.unwrap_or(false);
    fields.check_unknown()?;
    if text.is_none() && files.is_empty() && prompts.is_empty() {
        return Err(Problem::bad_request("the request names nothing to check").with_hint(
            "send `text`, `files` or `prompt_ids`; `GET /api/diagnostics` lists the findings about everything",
        ));
    }
    if !files.is_empty() {
        call.require_scope(Scope::Write, "checking unsaved files")?;
    }
    let paths: Vec<String> = files.keys().cloned().collect();
    let unsaved = Unsaved::from_object(&call, files)?;
    let engine = call.engine().with_unsaved(unsaved.texts);
    let app = Arc::clone(&call.app);
    let work = move || -> Result<Vec<Finding>, Problem> {
        let mut options = app.workspace.check_options(&engine);
        options.more.clear();
        if let Some(text) = text {
            return Ok(check_text("text", &text, language, &NoSources, &options));
        }
        let catalog = engine.catalog();
        let mut sources = Vec::new();
        for name in &prompts {
            let entries = catalog.candidate_entries(name)?;
            sources.extend(entries.iter().map(|entry| entry.source().to_owned()));
        }
        if prompts.is_empty() {
            sources = app.prompt_checks.prompts_using(&app.workspace, &app.engine, &paths);
            sources.extend(paths.iter().filter_map(|path| Some(path.rsplit_once('/')?.0.to_owned())));
            sources.retain(|source| catalog.entry_at(source).is_some());
            sources.sort();
            sources.dedup();
        }
        Ok(check_prompts(&catalog, &options, &sources))
    };
    let found = tokio::task::spawn_blocking(work).await.map_err(|_| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "request", "the check failed unexpectedly")
    })??;
    let shown = found.iter().filter(|finding| with_hints || finding.level != Level::Hint);
    let mut findings: Value = shown.map(check_json).collect();
    call.app.places.hide_in_value(&mut findings);
    answer::json_response(&json!({"findings": findings}))
}

fn read_ids(list: Option<Vec<Value>>) -> Result<Vec<String>, Problem> {
    let name = |value: Value| match value {
        Value::String(name) => Ok(name),
        _ => Err(Problem::bad_request("`prompt_ids` must be a list of strings")),
    };
    list.unwrap_or_default().into_iter().map(name).collect()
}

/// The finding as JSON, with its code, level and length.
fn check_json(finding: &Finding) -> Value {
    let mut json = finding_json(&finding.to_diagnostic());
    json["check"] = finding.code.code.into();
    json["level"] = finding.level.as_str().into();
    if let Some(length) = finding.length {
        json["length"] = length.into();
    }
    json
}
