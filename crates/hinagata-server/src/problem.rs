//! Error responses.
//!
//! The default format is problem details (RFC 9457): `type`, `title`, `status`, `detail`, the stable `code` and further
//! members of the error. Legacy routes have a format of their own; the gate chooses.

use bytes::Bytes;
use hinagata::{Code, Error, LocalPlaces, Place, edit::EditError};
use hinagata_llm::FaceError;
use hyper::{
    StatusCode,
    header::{self, HeaderValue},
};
use serde_json::{Map, Value, json};

use crate::{
    body::{Body, Response},
    hints::hint_text,
    route::ErrorFormat,
};

/// The members with the code and the field of an error of `/v1`.
const V1_CODE: &str = "v1_code";
const PARAM: &str = "param";

/// Why a request failed. Boxed, so that results stay small.
#[derive(Clone, Debug)]
pub struct Problem(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    status: StatusCode,
    code: &'static str,
    detail: String,
    members: Map<String, Value>,
    /// Seconds after which a retry may succeed.
    retry_after: Option<u32>,
}

impl Problem {
    /// An error of the daemon itself, not of the engine.
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self(Box::new(Inner { status, code, detail: detail.into(), members: Map::new(), retry_after: None }))
    }

    /// An invalid request.
    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "request", detail)
    }

    /// Something that does not exist.
    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, Code::NotFound.as_str(), detail)
    }

    /// Adds a hint.
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        self.with_member("hint", hint.into())
    }

    /// Adds a member.
    pub(crate) fn with_member(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.members.insert(name.to_owned(), value.into());
        self
    }

    /// Adds the seconds after which a retry may succeed.
    pub(crate) fn with_retry_after(mut self, seconds: u32) -> Self {
        self.0.retry_after = Some(seconds);
        self
    }

    /// An error about the request body: an invalid definition there is the caller's mistake, so the status is 400.
    pub(crate) fn in_request_body(error: &Error) -> Self {
        let mut problem = Self::from(error);
        if error.code() == Code::Definition {
            problem.0.status = StatusCode::BAD_REQUEST;
        }
        problem
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// The stable error code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// The problem details as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut all = json!({
            "type": format!("urn:hinagata:problem:{}", self.0.code),
            "title": code_title(self.0.code),
            "status": self.0.status.as_u16(),
            "detail": self.0.detail,
            "code": self.0.code,
        });
        for (name, value) in &self.0.members {
            all[name] = value.clone();
        }
        all
    }

    /// What went wrong.
    pub(crate) fn detail(&self) -> &str {
        &self.0.detail
    }

    /// The reason within the code.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.0.members.get("reason").and_then(Value::as_str)
    }

    /// The same without paths of this machine.
    pub(crate) fn without_paths(&self, places: &LocalPlaces) -> Self {
        let mut shown = self.clone();
        if let Some(detail) = places.hide_in_text(&shown.0.detail) {
            shown.0.detail = detail;
        }
        shown.0.members.values_mut().for_each(|member| places.hide_in_value(member));
        shown
    }

    /// The status that a model provider answered with.
    pub(crate) fn provider_status(&self) -> Option<u64> {
        self.0.members.get("provider_status").and_then(Value::as_u64)
    }

    /// The message of a model provider, unless it may quote the prompt: a provider that rejects a request (400, 422)
    /// says what is wrong with it.
    pub(crate) fn provider_message(&self) -> Option<&str> {
        let _ = self.provider_status().filter(|status| !matches!(status, 400 | 422))?;
        self.0.members.get("provider_message").and_then(Value::as_str)
    }

    /// The response in a fixed format.
    pub(crate) fn to_response(&self, format: ErrorFormat) -> Response {
        match format {
            ErrorFormat::Legacy => {
                self.json_response("application/json; charset=utf-8", &self.to_legacy_json())
            }
            ErrorFormat::OpenAi => self.client_response(&self.to_face_error().to_openai()),
            ErrorFormat::Anthropic => self.client_response(&self.to_face_error().to_anthropic()),
            ErrorFormat::Problem | ErrorFormat::Negotiated | ErrorFormat::ByClient => {
                self.json_response("application/problem+json", &self.to_json())
            }
        }
    }

    /// The response to a client of OpenAI or Anthropic. These repeat requests by status alone, unless a header tells
    /// them not to.
    fn client_response(&self, body: &Value) -> Response {
        let mut response = self.json_response("application/json", body);
        if self.0.code != Code::Model.as_str() && self.0.retry_after.is_none() {
            response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
        }
        response
    }

    /// The error as a face shows it: its message with the cause at a provider and the hint.
    pub(crate) fn to_face_error(&self) -> FaceError {
        let text =
            |name: &str| self.0.members.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let mut message = self.0.detail.clone();
        for (join, more) in [(": ", text("provider_message")), ("; ", text("hint"))] {
            if let Some(more) = more {
                message = format!("{message}{join}{more}");
            }
        }
        FaceError {
            message,
            status: self.0.status.as_u16(),
            code: text(V1_CODE).unwrap_or(self.0.code).to_owned(),
            param: text(PARAM).or(text("option")).map(str::to_owned),
        }
    }

    /// Names the field of a request to `/v1` that the error is about.
    pub(crate) fn about_param(self, name: &str) -> Self {
        self.with_member(PARAM, name)
    }

    /// Makes it the error of an unknown model, as clients of `/v1` know it.
    pub(crate) fn with_unknown_model(self) -> Self {
        self.with_member(V1_CODE, "model_not_found").about_param("model")
    }

    /// Replaces the status.
    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.0.status = status;
        self
    }

    /// The error in the legacy format. It names the cause at a model provider, which its clients have no other way to
    /// learn.
    fn to_legacy_json(&self) -> Value {
        let mut message = self.0.detail.clone();
        if let Some(hint) = self.0.members.get("hint").and_then(Value::as_str) {
            message = format!("{message}; {hint}");
        }
        let mut body = json!({"code": self.0.status.as_str(), "message": message, "success": false});
        for name in ["provider_status", "provider_message"] {
            if let Some(value) = self.0.members.get(name) {
                body[name] = value.clone();
            }
        }
        body
    }

    fn json_response(&self, kind: &'static str, body: &Value) -> Response {
        let mut response = Response::new(Body::from(Bytes::from(body.to_string())));
        *response.status_mut() = self.0.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        if let Some(seconds) = self.0.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.0.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// The title of a code of the engine, or of the daemon alone.
fn code_title(code: &str) -> &'static str {
    if let Some(code) = Code::from_name(code) {
        return code.spec().title;
    }
    match code {
        "overload" => "Server overloaded",
        "rate" => "Rate limit exceeded",
        "key" => "API key required",
        "scope" => "Insufficient scope",
        "origin" => "Origin not allowed",
        "host" => "Unknown Host header",
        "too_large" => "Request too large",
        "method" => "Method not allowed",
        "precondition" => "Precondition failed",
        "effects" => "The prompt has effects",
        "precondition_required" => "Precondition required",
        "read_only" => "Not one of your own files",
        "exists" => "Already exists",
        "timeout" => "Request timed out",
        _ => "Invalid request",
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::from(&error)
    }
}

impl From<EditError> for Problem {
    fn from(error: EditError) -> Self {
        let message = error.to_string();
        match error {
            EditError::Failed(error) => Self::in_request_body(&error),
            EditError::Missing { .. } => Self::not_found(message),
            EditError::Taken { path } => {
                Self::new(StatusCode::CONFLICT, "exists", message).with_member("path", path)
            }
            EditError::ReadOnly { path } => Self::new(StatusCode::FORBIDDEN, "read_only", message)
                .with_member("path", path)
                .with_hint("copy the prompt to your own ones with `POST /api/prompts/{id}/copy`, and change the copy"),
        }
    }
}

impl From<&Error> for Problem {
    fn from(error: &Error) -> Self {
        let status = StatusCode::from_u16(error.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut problem = Self::new(status, error.code().as_str(), error.message());
        for (name, value) in error.details() {
            // These names belong to the problem details themselves.
            let name = if matches!(name.as_str(), "type" | "title" | "status" | "detail" | "code") {
                format!("its_{name}")
            } else {
                name.clone()
            };
            problem.0.members.insert(name, value.clone());
        }
        if let Some(place) = error.place() {
            problem.0.members.insert("place".to_owned(), place_json(place));
        }
        if !error.chain().is_empty() {
            problem.0.members.insert("chain".to_owned(), error.chain().iter().map(place_json).collect());
        }
        if !error.near().is_empty() {
            problem.0.members.insert("near".to_owned(), error.near().into());
        }
        if let Some(hint) = error.hint() {
            problem.0.members.insert("hint".to_owned(), hint_text(hint).into());
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            problem.0.retry_after = Some(1);
        }
        problem
    }
}

fn place_json(place: &Place) -> Value {
    json!({
        "file": place.file,
        "line": place.line,
        "column": (place.column > 0).then_some(place.column),
        "excerpt": place.excerpt,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_keeps_all_details_of_its_error() {
        let error = Error::new(Code::Validation, "required variable `a` is missing")
            .with("missing", vec!["a"])
            .with("status", "odd")
            .with_hint("give it");
        let problem = Problem::from(error).to_json();
        assert_eq!(problem["status"], 400);
        assert_eq!((&problem["code"], &problem["missing"]), (&json!("validation"), &json!(["a"])));
        assert_eq!((&problem["its_status"], &problem["hint"]), (&json!("odd"), &json!("give it")));
    }

    #[test]
    fn a_temporary_failure_has_a_retry_after_header() {
        let response =
            Problem::from(Error::new(Code::Deadline, "too slow")).to_response(ErrorFormat::Problem);
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[header::RETRY_AFTER], "1");
    }
}
