//! Virtual models: prompts behind the APIs that programs already speak.
//!
//! A program of OpenAI's or Anthropic's clients changes its base URL and names a prompt as its model. The faces of
//! [`hinagata_llm`] read its requests and write the answers; here, the prompt is found, rendered and put before the
//! caller's messages.

mod answer;
mod models;
mod prompt;
mod request;

use hinagata::{
    RenderJob, counter_for_model,
    module::{Message, driver::chat_messages},
};
use hinagata_llm::Dialect;
use serde_json::json;

pub(super) use models::list_models;

use self::{
    answer::send_request,
    prompt::{PromptCall, VirtualPrompt},
    request::VirtualRequest,
};
use crate::{
    answer::json_response,
    call::{Answer, Call},
    problem::Problem,
};

/// `POST /v1/chat/completions`
pub(super) async fn complete_chat(call: Call) -> Answer {
    answer_request(call, Dialect::ChatCompletions).await
}

/// `POST /v1/responses`
pub(super) async fn create_response(call: Call) -> Answer {
    answer_request(call, Dialect::Responses).await
}

/// `POST /v1/messages`
pub(super) async fn create_message(call: Call) -> Answer {
    answer_request(call, Dialect::Messages).await
}

async fn answer_request(mut call: Call, dialect: Dialect) -> Answer {
    let request = VirtualRequest::from_body(dialect, call.read_object().await?)?;
    let prompt = build_call(&call, &request).await?;
    send_request(&call, &request, prompt).await
}

/// `POST /v1/messages/count_tokens`
pub(super) async fn count_tokens(mut call: Call) -> Answer {
    let request = VirtualRequest::from_body(Dialect::Messages, call.read_object().await?)?;
    let prompt = build_call(&call, &request).await?;
    json_response(&json!({"input_tokens": prompt_tokens(&call, &prompt, &request)?}))
}

/// Renders the prompt of a request, chooses the model, and puts the caller's messages behind the prompt's.
async fn build_call(call: &Call, request: &VirtualRequest) -> Result<PromptCall, Problem> {
    let llm = &call.app.llm;
    let system_rule = call.app.settings.system_rule;
    let Some(target) = &request.prompt else {
        let model = request.model.as_deref().unwrap_or_default();
        if !is_listed(call, model) {
            return Err(unknown_model(model));
        }
        let choice = llm.choose_model(Some(model), None)?;
        return Ok(PromptCall::without_prompt(choice, request));
    };
    let engine = call.engine();
    let prompt = VirtualPrompt::find(&engine, target)?;
    call.notes.set_names(&[("id", prompt.id())]);
    prompt.check_locked(request, system_rule)?;
    let input = prompt.read_input(request, &engine)?;
    let context = call.app.check_context(&serde_json::Map::new())?;
    let job =
        RenderJob { variables: input.variables, context, ..RenderJob::new(engine, target.name.clone()) };
    let rendered = call.render_job(job).await?;
    let choice = llm.choose_model(request.model.as_deref(), rendered.request_options().model.as_deref())?;
    PromptCall::new(choice, &prompt, &rendered, input.messages, &request.face.system, system_rule)
}

/// Whether callers may name this model of the settings.
fn is_listed(call: &Call, model: &str) -> bool {
    call.app.settings.listed_models.iter().any(|listed| listed == model)
}

fn unknown_model(model: &str) -> Problem {
    let message = match model {
        "" => "missing `model`".to_owned(),
        model => format!("model `{model}` not found"),
    };
    Problem::not_found(message)
        .with_unknown_model()
        .with_hint("`GET /v1/models` lists the models: `prompt/ID` for each prompt, and those of the setting `v1.models`")
}

/// The tokens of a request, as its model counts them or as an estimate.
fn prompt_tokens(call: &Call, prompt: &PromptCall, request: &VirtualRequest) -> hinagata::Result<u64> {
    let settings = &call.app.workspace.settings;
    let counter = counter_for_model(settings, &call.app.workspace.root.path, prompt.choice.name())?;
    let count = |text: &str| counter.count_tokens(text).tokens;
    let messages = chat_messages(&prompt.prompt);
    let texts: usize = messages.iter().flat_map(Message::texts).map(count).sum();
    let tools = request.face.options().get("tools").map_or(0, |tools| count(&tools.to_string()));
    Ok((texts + tools + messages.len() * TOKENS_OF_A_MESSAGE) as u64)
}

/// The tokens around each message, about.
const TOKENS_OF_A_MESSAGE: usize = 4;
