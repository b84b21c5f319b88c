//! Rendering, also in the legacy format.

use bytes::Bytes;
use hinagata::{RenderJob, Rendered, RenderedBody, Strictness};
use hinagata_value::ValueType;
use hyper::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    answer,
    call::{Answer, Call},
    fields::Fields,
    hints::hint_text,
    problem::Problem,
};

/// The body of a render request.
pub(crate) struct RenderRequest {
    pub(crate) variables: Map<String, Value>,
    pub(crate) context: Map<String, Value>,
}

/// The types of the members of a context. Others are ignored.
const CONTEXT_TYPES: [(&str, ValueType); 6] = [
    ("agent_id", ValueType::String),
    ("model", ValueType::String),
    ("language", ValueType::String),
    ("workspace_path", ValueType::String),
    ("session", ValueType::Object),
    ("session_state", ValueType::Object),
];

impl RenderRequest {
    /// Takes the fields of a render request; other fields remain.
    pub(crate) fn from_fields(fields: &mut Fields) -> Result<Self, Problem> {
        let variables = fields.take_object("variables")?;
        Ok(Self { variables, context: fields.take_object_with("context", &CONTEXT_TYPES)? })
    }
}

impl Call {
    /// Reads the render that the body describes.
    pub(crate) async fn read_render_job(&mut self) -> Result<RenderJob, Problem> {
        let fields = Fields::new(self.read_object().await?);
        self.job_from_fields(fields)
    }

    /// The render that the fields of a body describe. Other fields are errors.
    pub(crate) fn job_from_fields(&self, mut fields: Fields) -> Result<RenderJob, Problem> {
        let prompt = self.prompt_name()?;
        let RenderRequest { variables, context } = RenderRequest::from_fields(&mut fields)?;
        fields.check_unknown()?;
        let context = self.app.check_context(&context)?;
        Ok(RenderJob { variables, context, ..RenderJob::new(self.engine(), prompt) })
    }
}

/// `POST /api/render/prompts/{id}`
pub(super) async fn render_prompt(mut call: Call) -> Answer {
    let job = call.read_render_job().await?;
    let rendered = call.render_job(job).await?;
    let mut text = Vec::with_capacity(64 + rendered_size(&rendered));
    text.extend_from_slice(b"{\"rendered_prompt\":");
    match &rendered.body {
        RenderedBody::Text(body) => write_json(&mut text, body)?,
        RenderedBody::Messages(_) => write_json(&mut text, &rendered.body.to_json())?,
    }
    text.extend_from_slice(b",\"status\":\"success\"");
    if !rendered.warnings.is_empty() {
        text.extend_from_slice(b",\"warnings\":");
        write_json(
            &mut text,
            &rendered.warnings.iter().map(|warning| warning.to_json_with(hint_text)).collect::<Vec<_>>(),
        )?;
    }
    text.push(b'}');
    Ok(answer::bytes_response(StatusCode::OK, "application/json", Bytes::from(text)))
}

fn rendered_size(rendered: &Rendered) -> usize {
    match &rendered.body {
        RenderedBody::Text(text) => text.len() + text.len() / 16,
        RenderedBody::Messages(_) => 256,
    }
}

fn write_json(text: &mut Vec<u8>, value: &impl serde::Serialize) -> Result<(), Problem> {
    serde_json::to_writer(text, value)
        .map_err(|error| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "request", error.to_string()))
}

/// `POST /api/prompts/{id}/render`
pub(super) async fn render_legacy(mut call: Call) -> Answer {
    let prompt = call.prompt_name()?;
    let mut body = legacy_body(&call.read_body().await?)?;
    let variables = legacy_object(&mut body, "args")?;
    let strictness = Strictness::Lenient;
    let job = RenderJob { variables, strictness, ..RenderJob::new(call.engine(), prompt) };
    let rendered = call.render_job(job).await?;
    let mut body = match &rendered.body {
        RenderedBody::Text(text) => json!({"kind": "prompt", "prompt": text}),
        RenderedBody::Messages(_) => json!({"kind": "messages", "messages": rendered.body.to_json()}),
    };
    // Undefined variables are ordinary here; a tool that failed left its place empty.
    let of_tools = rendered.warnings.iter().filter(|warning| warning.error.details().contains_key("tool"));
    let warnings: Vec<Value> = of_tools.map(|warning| warning.to_json_with(hint_text)).collect();
    if !warnings.is_empty() {
        body["warnings"] = warnings.into();
    }
    answer::json_response(&body)
}

/// Parses a legacy body: its first JSON value, an object or null. Names match in any case.
pub(super) fn legacy_body(bytes: &[u8]) -> Result<Map<String, Value>, Problem> {
    let invalid = || Problem::bad_request("invalid request body");
    let mut values = serde_json::Deserializer::from_slice(bytes);
    match Value::deserialize(&mut values).map_err(|_| invalid())? {
        Value::Null => Ok(Map::new()),
        Value::Object(object) => Ok(object),
        _ => Err(invalid()),
    }
}

/// Takes the member `name` out of a legacy body. Of several spellings, the last wins.
pub(super) fn legacy_member(body: &mut Map<String, Value>, name: &str) -> Option<Value> {
    let spelled = |key: &&String| key.eq_ignore_ascii_case(name);
    let spellings: Vec<String> = body.keys().filter(spelled).cloned().collect();
    spellings.iter().filter_map(|key| body.remove(key)).next_back()
}

/// Takes an object out of a legacy body.
pub(super) fn legacy_object(
    body: &mut Map<String, Value>,
    name: &str,
) -> Result<Map<String, Value>, Problem> {
    match legacy_member(body, name) {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(object)) => Ok(object),
        Some(_) => Err(Problem::bad_request("invalid request body")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legacy_bodies_are_read_as_their_clients_send_them() {
        let args = |text: &str| legacy_object(&mut legacy_body(text.as_bytes())?, "args");
        assert_eq!(args("null").map(|map| map.len()).ok(), Some(0));
        assert_eq!(args("{\"ARGS\": {\"a\": 1}}").map(|map| map.len()).ok(), Some(1));
        assert_eq!(args("{\"args\": {\"a\": 1}, \"Args\": {}} trailing").map(|map| map.len()).ok(), Some(0));
        assert_eq!(args("{\"args\": null, \"other\": 1}").map(|map| map.len()).ok(), Some(0));
        for invalid in ["", "[]", "1", "{", "{\"args\": 1}"] {
            assert!(args(invalid).is_err(), "{invalid}");
        }
    }
}
