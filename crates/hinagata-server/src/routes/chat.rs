//! Sending prompts to models, also in the legacy format.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use hinagata::{Error, RenderJob, Strictness};
use hinagata_llm::{AnswerStream, ChatCall, Llm};
use hyper::{
    StatusCode,
    header::{self, HeaderValue},
};
use serde_json::{Value, json};

use super::render::{RenderRequest, legacy_body, legacy_object};
use crate::{
    answer,
    body::{Body, Response},
    call::{Answer, Call},
    fields::Fields,
    problem::Problem,
};

/// `GET /api/models`
pub(super) async fn list_models(call: Call) -> Answer {
    let models = serde_json::to_value(call.app.llm.models()).map_err(|error| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "system", format!("cannot list models: {error}"))
    })?;
    answer::json_with_etag(&call.parts, &models)
}

/// `POST /api/chat/prompts/{id}`
pub(super) async fn chat_with_prompt(mut call: Call) -> Answer {
    let prompt = call.prompt_name()?;
    let mut fields = Fields::new(call.read_object().await?);
    let RenderRequest { variables, context } = RenderRequest::from_fields(&mut fields)?;
    let context = call.app.check_context(&context)?;
    let job = RenderJob { variables, context, ..RenderJob::new(call.engine(), prompt) };
    send_to_model(call, job, fields).await
}

/// `POST /api/prompts/{id}/chat`
pub(super) async fn chat_legacy(mut call: Call) -> Answer {
    let prompt = call.prompt_name()?;
    let mut body = legacy_body(&call.read_body().await?)?;
    let variables = legacy_object(&mut body, "args")?;
    let options = Fields::new(body.into_iter().map(|(name, value)| (name.to_lowercase(), value)).collect());
    let strictness = Strictness::Lenient;
    let job = RenderJob { variables, strictness, ..RenderJob::new(call.engine(), prompt) };
    send_to_model(call, job, options).await
}

/// Renders, and sends the result to a model. Every other field of the body is an option of the model.
pub(super) async fn send_to_model(call: Call, job: RenderJob, mut options: Fields) -> Answer {
    let model = options.take_string("model")?.filter(|model| !model.is_empty());
    let stream = options.take_boolean("stream")?.unwrap_or(false);
    let options = options.into_rest();
    let llm = &call.app.llm;
    let rendered = call.render_job(job).await?;
    let prompt_model = rendered.request_options().model;
    let choice = llm.choose_model(model.as_deref(), prompt_model.as_deref())?;
    call.notes.set_model(choice.model());
    let chat = ChatCall::from_rendered(choice, &rendered, options)?;
    if stream {
        return stream_chat(llm, chat).await;
    }
    let reply = llm.send_checked(chat).await.map_err(model_problem)?;
    match reply.verdict() {
        None => Ok(answer::bytes_response(StatusCode::OK, "application/json", reply.answer.to_openai())),
        Some(verdict) => {
            let mut completion = reply.answer.to_completion()?;
            completion["answer"] = verdict;
            answer::json_response(&completion)
        }
    }
}

/// Streams an answer; one with a schema ends with its verdict.
async fn stream_chat(llm: &Llm, chat: ChatCall) -> Answer {
    let ChatCall { choice, prompt, base, options } = chat;
    let request = llm.build_prompt_request(&choice, Arc::clone(&prompt), base, &options)?;
    let stream = llm.stream_chat(request).await.map_err(model_problem)?;
    match prompt.schema() {
        None => Ok(stream_response(stream)),
        Some(_) => {
            let llm = llm.clone();
            let verdict = move |text: &str| match llm.check_text(&prompt, text) {
                Ok(Some(checked)) => {
                    Some(json!({"value": checked.value, "repairs": checked.repairs, "attempts": 1}))
                }
                Ok(None) => None,
                Err(error) => Some(
                    json!({"error": {"message": error.message(), "code": error.code().as_str(), "faults": error.details().get("faults")}}),
                ),
            };
            Ok(stream_response(stream.with_verdict(verdict)))
        }
    }
}

/// The problem of a failed call. Its `Retry-After` is that of the provider.
pub(super) fn model_problem(error: Error) -> Problem {
    let seconds = error.details().get("retry_after").and_then(Value::as_u64);
    let problem = Problem::from(error);
    match seconds.and_then(|seconds| u32::try_from(seconds).ok()) {
        Some(seconds) => problem.with_retry_after(seconds),
        None => problem,
    }
}

/// Streams the chunks. The status is already sent when an error occurs, so the error becomes the last event.
fn stream_response(pieces: AnswerStream) -> Response {
    let pieces = pieces.map(|piece| piece.unwrap_or_else(|error| error_event(&error)));
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn error_event(error: &Error) -> Bytes {
    let body =
        json!({"error": {"message": error.message(), "type": error.code().as_str(), "code": error.reason()}});
    Bytes::from(format!("\n\ndata: {body}\n\n"))
}
