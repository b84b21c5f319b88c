//! Agent calls and packed contexts. Both return files of the workspace, so neither is open without a key.

use std::sync::Arc;

use hinagata::{Code, Error, Result, module::read_messages};
use hinagata_agent::{GivenContext, Invocation, PackRequest, Project, context_error};
use hinagata_context::Packer;
use serde_json::Value;

use crate::{
    answer,
    call::{Answer, Call},
    fields::Fields,
    hints::hint_text,
    problem::Problem,
    state::App,
};

/// `POST /api/agents/{id}/invoke`
pub(super) async fn invoke_agent(mut call: Call) -> Answer {
    // Agents and packed files belong to the whole workspace.
    call.require_unrestricted()?;
    let agent = call.path_param("id")?.to_owned();
    let mut fields = Fields::new(call.read_object().await?);
    let Some(prompt) = fields.take_string("prompt")? else {
        return Err(Problem::bad_request("missing `prompt`, the message of the user"));
    };
    let history = match fields.take_value("history") {
        None => Vec::new(),
        Some(history) => read_messages(&history)
            .map_err(|error| Problem::bad_request(format!("invalid `history`: {error}")))?,
    };
    let (parent, variables) = (fields.take_string("parent")?, fields.take_object("variables")?);
    let context = fields.take_value("context").map(parse_context).transpose()?;
    fields.check_unknown()?;
    let invocation =
        Invocation { agent: Some(agent), parent, variables, history, context, ..Invocation::new(prompt) };
    let invoked =
        run_blocking(&call.app, move |app| open_project(app)?.invoke(&invocation, Some(&app.engine))).await?;
    answer::json_response(&invoked.to_json_with(hint_text))
}

/// A context to use instead of packing one: a text, or the response of a pack request.
fn parse_context(context: Value) -> Result<GivenContext, Problem> {
    match context {
        Value::String(text) => Ok(GivenContext::new(text)),
        packed => serde_json::from_value(packed).map_err(|error| {
            Problem::bad_request(format!("`context` must be a string or a packed context: {error}"))
        }),
    }
}

/// `POST /api/context` and `POST /api/context/pack`
pub(super) async fn pack_context(mut call: Call) -> Answer {
    call.require_unrestricted()?;
    let request = PackRequest::from_fields(call.read_object().await?).map_err(bad_request)?;
    let project = run_blocking(&call.app, open_project).await?;
    let (options, lowered) = request.apply_to(&project, &call.app.workspace.settings).map_err(bad_request)?;
    let packed = run_blocking(&call.app, move |_| {
        let mut warnings = project.settings_warnings();
        warnings.extend(lowered);
        let packed = Packer::new(&options).pack().map_err(context_error)?;
        warnings.extend(project.warnings(&packed.report));
        Ok((packed, warnings))
    });
    let (packed, warnings) = packed.await?;
    let mut body = serde_json::to_value(&packed)
        .map_err(|error| Error::new(Code::Store, "cannot serialize the context").with_source(error))?;
    let mut warnings = warnings.iter().map(|warning| warning.to_json_with(hint_text)).collect();
    call.app.places.hide_in_value(&mut warnings);
    body["warnings"] = warnings;
    answer::json_response(&body)
}

/// An error in the body of a request.
fn bad_request(error: Error) -> Problem {
    if error.code() != Code::Validation {
        return Problem::from(error);
    }
    let problem = Problem::bad_request(error.to_string()).with_member("near", error.near());
    error.hint().map(hint_text).into_iter().fold(problem, Problem::with_hint)
}

fn open_project(app: &App) -> Result<Project> {
    Project::from_settings(&app.workspace.settings, &app.engine.root(), app.workspace.trust.is_trusted())
}

/// Reads files on a blocking thread.
async fn run_blocking<T: Send + 'static>(
    app: &Arc<App>,
    work: impl FnOnce(&App) -> Result<T> + Send + 'static,
) -> Result<T, Problem> {
    let app = Arc::clone(app);
    let result = tokio::task::spawn_blocking(move || work(&app)).await;
    result.unwrap_or_else(|_| Err(Error::new(Code::Store, "cannot read the files"))).map_err(Problem::from)
}
