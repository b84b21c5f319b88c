//! Sending prompts to models, in both dialects.

use bytes::Bytes;
use futures_util::StreamExt as _;
use hinagata::{Error, RenderJob, Strictness};
use hinagata_llm::AnswerStream;
use hyper::{
    StatusCode,
    header::{self, HeaderValue},
};
use serde_json::json;

use super::render::{RenderRequest, old_body, old_object};
use crate::{
    answer,
    body::{Body, Response},
    call::{Answer, Call},
    fields::Fields,
};

/// `POST /api/chat/prompts/{id}`
pub(super) async fn ours(mut call: Call) -> Answer {
    let prompt = call.prompt()?;
    let mut fields = Fields::new(call.object().await?);
    let RenderRequest { variables, context } = RenderRequest::take(&mut fields)?;
    let context = call.app.context(&context)?;
    let job = RenderJob { variables, context, ..RenderJob::new(call.engine(), prompt) };
    chat(call, job, fields).await
}

/// `POST /api/prompts/{id}/chat`
pub(super) async fn second(mut call: Call) -> Answer {
    let prompt = call.prompt()?;
    let mut body = old_body(&call.body().await?)?;
    let variables = old_object(&mut body, "args")?;
    let options = Fields::new(body.into_iter().map(|(name, value)| (name.to_lowercase(), value)).collect());
    let strictness = Strictness::Lenient;
    let job = RenderJob { variables, strictness, ..RenderJob::new(call.engine(), prompt) };
    chat(call, job, options).await
}

/// Everything that is not about the prompt is an option of the model.
async fn chat(call: Call, job: RenderJob, mut options: Fields) -> Answer {
    let asked = options.text("model")?.filter(|model| !model.is_empty());
    let stream = options.flag("stream")?.unwrap_or(false);
    let options = options.rest();
    let llm = &call.app.llm;
    let rendered = call.app.render(job).await?;
    let of_prompt = rendered.request_options().model;
    let choice = llm.choose_model(asked.as_deref(), of_prompt.as_deref())?;
    let request = llm.build_request(&choice, &rendered, &options)?;
    if stream {
        return Ok(relay(llm.stream_chat(request).await?));
    }
    let answer = llm.send_chat(request).await?;
    Ok(answer::bytes(StatusCode::OK, "application/json", answer.to_openai()?))
}

/// The pieces as they come. Once an answer has begun its status is sent: what goes wrong then is its last event.
fn relay(pieces: AnswerStream) -> Response {
    let pieces = pieces.map(|piece| piece.unwrap_or_else(|error| broken_off(&error)));
    let mut response = Response::new(Body::pieces(pieces));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn broken_off(error: &Error) -> Bytes {
    let told =
        json!({"error": {"message": error.message(), "type": error.code().as_str(), "code": error.reason()}});
    Bytes::from(format!("\n\ndata: {told}\n\n"))
}
