//! Agent calls and packed contexts. Both return files of the workspace, so neither is open without a key.

use std::{collections::BTreeMap, sync::Arc};

use hinagata::{
    Code, Error, Result,
    definition::module_error,
    module::{
        answer::AnswerSchema,
        driver::{OutputFormat, RequestOptions},
        json::messages_to_json,
        read_messages,
    },
    ports::PortFuture,
};
use hinagata_agent::{
    AgentChat, ChatHost, ChatTools, GivenContext, Invocation, InvocationOutput, PackRequest, Project,
    RequestedCall, context_error,
};
use hinagata_context::Packer;
use serde_json::{Value, json};

use super::{
    chat::model_problem,
    modules::{NoFiles, unknown_format},
};
use crate::{
    answer,
    call::{Answer, Call},
    fields::Fields,
    hints::hint_text,
    problem::Problem,
    state::App,
};

/// `GET /api/agents`
pub(super) async fn list_agents(call: Call) -> Answer {
    // Agents belong to the whole workspace.
    call.require_unrestricted()?;
    let listed = run_blocking(&call.app, |app| {
        let project = open_project(app)?;
        let configured = project.agents.iter().map(|agent| (agent.id.clone(), "settings"));
        let mut all: BTreeMap<String, &str> =
            app.engine.catalog().agent_names().into_iter().map(|id| (id, "file")).collect();
        // A call finds the agents of the settings first.
        all.extend(configured);
        Ok(all)
    });
    let listed = listed.await?;
    let agents: Vec<Value> =
        listed.iter().map(|(id, origin)| json!({"agent_id": id, "origin": origin})).collect();
    answer::json_with_etag(&call.parts, &json!({"agents": agents}))
}

/// `POST /api/agents/{id}/invoke`
pub(super) async fn invoke_agent(mut call: Call) -> Answer {
    let (mut fields, invocation) = read_invocation(&mut call).await?;
    let format = fields.take_string("format")?;
    let format = format.map(|name| OutputFormat::from_name(&name).ok_or_else(|| unknown_format(&name)));
    let (format, model) = (format.transpose()?, fields.take_string("model")?);
    fields.check_unknown()?;
    let mut invoked = build_messages(&call.app, invocation).await?;
    invoked.agent.model = model.or(invoked.agent.model);
    let mut body = invoked.to_json_with(hint_text);
    match format {
        None | Some(OutputFormat::Messages) => {}
        Some(OutputFormat::Text) => body["text"] = invoked.text().into(),
        Some(OutputFormat::Request(driver)) => {
            let model = invoked.agent.model.clone();
            let options = RequestOptions { model, ..RequestOptions::default() }.with_files(NoFiles);
            let formatted = driver.format(&invoked.prompt(), &options).map_err(module_error)?;
            body["request"] = formatted.to_value();
            body["notes"] = formatted.notes().into();
        }
    }
    answer::json_response(&body)
}

/// `POST /api/agents/{id}/chat`
pub(super) async fn chat_with_agent(mut call: Call) -> Answer {
    let (mut fields, invocation) = read_invocation(&mut call).await?;
    let model = fields.take_string("model")?;
    let schema = fields.take_value("schema").map(check_schema).transpose()?;
    if fields.take_boolean("stream")? == Some(true) {
        return Err(
            Problem::bad_request("answers of agents are not streamed").with_hint("leave out `stream`")
        );
    }
    let invoked = build_messages(&call.app, invocation).await?;
    let App { llm, engine, workspace, .. } = &*call.app;
    let choice = llm.choose_model(model.as_deref(), invoked.agent.model.as_deref())?;
    call.notes.set_model(choice.model());
    let chat = AgentChat {
        llm,
        choice,
        base: RequestOptions::default().with_files(NoFiles),
        options: fields.into_rest(),
        schema,
        tools: ChatTools::new(engine.tool_set(), invoked.agent.tools.as_deref(), &workspace.settings),
        host: &Nobody,
    };
    let ended = chat.run_chat(&invoked).await.map_err(model_problem)?;
    let mut body = ended.reply.answer.to_completion()?;
    if let Some(verdict) = ended.reply.verdict() {
        body["answer"] = verdict;
    }
    body["steps"] = ended.steps.into();
    body["messages"] = messages_to_json(&ended.messages);
    let warnings = invoked.settings_warnings.iter().chain(&invoked.warnings).chain(&ended.warnings);
    body["warnings"] = warnings.map(|warning| warning.to_json_with(hint_text)).collect();
    body["notes"] = ended.reply.notes.clone().into();
    answer::json_response(&body)
}

/// The schema of an answer, if it is one.
fn check_schema(schema: Value) -> Result<Arc<Value>, Problem> {
    if !schema.is_object() {
        return Err(Problem::bad_request("`schema` must be a JSON Schema, an object"));
    }
    let schema = Arc::new(schema);
    let checked = AnswerSchema::new(Arc::clone(&schema));
    checked.map_err(|error| Problem::in_request_body(&module_error(error)))?;
    Ok(schema)
}

/// Nobody is there to approve a call: only the tools of the settings run.
struct Nobody;

impl ChatHost for Nobody {
    fn approve_call<'a>(&'a self, _call: &'a RequestedCall) -> PortFuture<'a, bool> {
        Box::pin(std::future::ready(false))
    }
}

/// Reads a call of an agent; returns it with the other fields.
async fn read_invocation(call: &mut Call) -> Result<(Fields, Invocation), Problem> {
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
    let context = fields.take_value("context").map(GivenContext::from_document).transpose();
    let context = context.map_err(|error| {
        Problem::bad_request(format!("`context` must be a string, a packed context or messages: {error}"))
    })?;
    let invocation =
        Invocation { agent: Some(agent), parent, variables, history, context, ..Invocation::new(prompt) };
    Ok((fields, invocation))
}

async fn build_messages(app: &Arc<App>, invocation: Invocation) -> Result<InvocationOutput, Problem> {
    run_blocking(app, move |app| open_project(app)?.invoke(&invocation, Some(&app.engine))).await
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
