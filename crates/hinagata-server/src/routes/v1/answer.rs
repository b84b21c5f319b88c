//! Sends what a request became, and answers in the caller's dialect.

use std::{fmt::Write as _, sync::Arc};

use futures_util::StreamExt as _;
use hinagata::Error;
use hinagata_llm::{AnswerStream, ChatCall, Dialect, FaceError, ProviderFailure, StreamFace};
use hinagata_value::encoding::encode_percent;
use hyper::{
    StatusCode,
    header::{self, HeaderValue},
};
use serde_json::json;

use super::{prompt::PromptCall, prompt_tokens, request::VirtualRequest};
use crate::{
    answer::bytes_response,
    body::{Body, Response},
    call::{Answer, Call},
    problem::Problem,
    routes::chat::model_problem,
};

const PROMPT: &str = "x-hinagata-prompt";
const VERSION: &str = "x-hinagata-version";
const MODEL: &str = "x-hinagata-model";
const ATTEMPTS: &str = "x-hinagata-attempts";
const RENDER: &str = "x-hinagata-render";
const ANSWER: &str = "x-hinagata-answer";
const NOTES: &str = "x-hinagata-notes";

/// What came back from a model.
struct Replied {
    response: Response,
    attempts: u64,
    /// What the check of an answer with a schema found.
    verdict: Option<&'static str>,
}

/// Sends a request to its model, and to the fallbacks of that model where it cannot answer.
pub(super) async fn send_request(call: &Call, request: &VirtualRequest, mut prompt: PromptCall) -> Answer {
    let first = prompt.choice.clone();
    let models = call.app.llm.fallback_chain(&first)?;
    let last = models.len().saturating_sub(1);
    let mut attempts = 0;
    for (index, choice) in models.into_iter().enumerate() {
        prompt.choice = choice;
        let noted = prompt.notes.len();
        if index < last && prompt.choice.has_context_limit() {
            let tokens = prompt_tokens(call, &prompt, request)?;
            if prompt.choice.is_too_long(tokens) {
                prompt.pass_over(noted, &format!("the request has {tokens} tokens"));
                continue;
            }
        }
        call.notes.set_model(prompt.choice.model());
        attempts += 1;
        match call_model(call, request, &mut prompt).await {
            Ok(replied) => {
                let attempts = attempts + replied.attempts.saturating_sub(1);
                return Ok(with_headers(Replied { attempts, ..replied }, &prompt));
            }
            Err(error) if index < last && first.falls_back_on(&error) => {
                prompt.pass_over(noted, error.message());
            }
            Err(error) => {
                let response = failed_response(request.face.dialect(), &prompt, error)?;
                return Ok(with_headers(Replied { response, attempts, verdict: None }, &prompt));
            }
        }
    }
    Err(Problem::bad_request("no model takes this request"))
}

/// Sends a request to the chosen model.
async fn call_model(
    call: &Call,
    request: &VirtualRequest,
    prompt: &mut PromptCall,
) -> hinagata::Result<Replied> {
    let dialect = request.face.dialect();
    let kind = prompt.choice.kind();
    let (mut options, notes) = request.face.options_for(kind)?;
    prompt.notes.extend(notes);
    if request.stream && dialect != Dialect::ChatCompletions && !kind.has_dialect(dialect) {
        // Servers with OpenAI's API count the tokens of a stream only on request; here, the end of every stream has them.
        options.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    let chat = ChatCall {
        choice: prompt.choice.clone(),
        prompt: Arc::clone(&prompt.prompt),
        base: prompt.base.clone(),
        options,
    };
    match request.stream {
        true => stream_answer(call, request, prompt, chat).await,
        false => whole_answer(call, request, prompt, chat).await,
    }
}

async fn whole_answer(
    call: &Call,
    request: &VirtualRequest,
    prompt: &mut PromptCall,
    chat: ChatCall,
) -> hinagata::Result<Replied> {
    let reply = call.app.llm.send_checked(chat).await?;
    prompt.notes.extend(reply.notes.iter().cloned());
    let body = reply.answer.to_dialect(request.face.dialect(), &request.face.echo())?;
    let verdict = reply.checked.as_ref().map(|checked| match checked.repairs.is_empty() {
        true => "valid",
        false => "repaired",
    });
    let response = bytes_response(StatusCode::OK, "application/json", body);
    Ok(Replied { response, attempts: reply.attempts, verdict })
}

async fn stream_answer(
    call: &Call,
    request: &VirtualRequest,
    prompt: &mut PromptCall,
    chat: ChatCall,
) -> hinagata::Result<Replied> {
    let (llm, dialect) = (&call.app.llm, request.face.dialect());
    let is_counted = dialect == Dialect::Messages && !chat.choice.kind().has_dialect(dialect);
    // The start of a message has the tokens of the prompt, which other providers report at the end.
    let prompt_tokens = is_counted.then(|| prompt_tokens(call, prompt, request)).transpose()?;
    let ChatCall { choice, prompt: compiled, base, options } = chat;
    let provider_request = llm.build_prompt_request(&choice, compiled, base, &options)?;
    prompt.notes.extend(provider_request.notes().iter().cloned());
    let face = StreamFace {
        echo: request.face.echo(),
        prompt_tokens,
        show_error: Some(show_error),
        ..StreamFace::new(dialect)
    };
    let stream = llm.stream_chat_as(provider_request, face).await?;
    Ok(Replied { response: stream_response(stream), attempts: 1, verdict: None })
}

/// An error of a streamed answer.
fn show_error(error: &Error) -> FaceError {
    Problem::from(error).to_face_error()
}

fn stream_response(stream: AnswerStream) -> Response {
    // Errors are events of the stream.
    let pieces = stream.filter_map(|piece| std::future::ready(piece.ok()));
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// What a failed call is answered with. A provider that refuses a request says why in the caller's dialect, or its
/// status is passed on.
fn failed_response(dialect: Dialect, prompt: &PromptCall, error: Error) -> Answer {
    let refusal = ProviderFailure::from_error(&error).filter(|failure| (400..429).contains(&failure.status));
    let Some(failure) = refusal else { return Err(model_problem(error)) };
    let status = StatusCode::from_u16(failure.status).unwrap_or(StatusCode::BAD_GATEWAY);
    if prompt.choice.kind().has_dialect(dialect) && !failure.body.is_empty() {
        return Ok(bytes_response(status, "application/json", failure.body.clone()));
    }
    Err(model_problem(error).with_status(status))
}

/// Adds what was rendered and called.
fn with_headers(replied: Replied, prompt: &PromptCall) -> Response {
    let Replied { mut response, attempts, verdict } = replied;
    let headers = response.headers_mut();
    let mut set = |name: &'static str, value: &str| {
        let value = HeaderValue::from_str(value).or_else(|_| HeaderValue::from_str(&encode_percent(value)));
        if let Ok(value) = value {
            headers.insert(name, value);
        }
    };
    if let Some(rendered) = &prompt.rendered {
        set(PROMPT, &rendered.id);
        set(VERSION, &rendered.version);
        set(RENDER, &rendered.hash);
    }
    set(MODEL, prompt.choice.name());
    set(ATTEMPTS, &attempts.to_string());
    if let Some(verdict) = verdict {
        set(ANSWER, verdict);
    }
    if !prompt.notes.is_empty() {
        set(NOTES, &ascii_json(&json!(prompt.notes).to_string()));
    }
    response
}

/// JSON in ASCII, which headers require.
fn ascii_json(json: &str) -> String {
    let mut all = String::with_capacity(json.len());
    for character in json.chars() {
        if character.is_ascii() {
            all.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a string cannot fail.
            let _ = write!(all, "\\u{unit:04x}");
        }
    }
    all
}
