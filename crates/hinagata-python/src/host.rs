//! Answers requests from Python. Only functions that the job may use are answered, whatever the process sends.

use hinagata::{
    Code, Error, Reason,
    module::{Message, read_messages},
    ports::{HookJob, ModelRequest, PortFuture, Stage},
};
use serde_json::Value;

use crate::{
    http::HookHttp,
    message::{HostAnswerContent, HostRequest},
};

/// Functions available to every hook. Providers have none of them.
const ALWAYS: [&str; 2] = ["render_template", "get_variable"];
/// Functions that a prompt must declare.
const DECLARED: [&str; 3] = ["read_file", "http_request", "llm_call"];

/// Answers the requests of one job.
#[derive(Clone, Copy)]
pub(crate) struct HookHost<'a> {
    job: &'a HookJob<'a>,
    http: &'a HookHttp,
}

impl<'a> HookHost<'a> {
    pub(crate) fn new(job: &'a HookJob<'a>, http: &'a HookHttp) -> Self {
        Self { job, http }
    }

    /// The names of the functions in the job's context, including those that only raise.
    pub(crate) fn functions(&self) -> Vec<&'static str> {
        let always = ALWAYS.into_iter().filter(|_| self.is_hook());
        let is_listed =
            |name: &str| self.job.permissions.contains(&name) || self.job.withheld.contains(&name);
        let declared =
            DECLARED.into_iter().filter(|name| is_listed(name) && !matches!(self.job.stage, Stage::Load));
        always.chain(declared).collect()
    }

    fn is_hook(&self) -> bool {
        matches!(self.job.stage, Stage::PreRender { .. } | Stage::PostRender { .. })
    }

    fn refusal(&self, name: &str) -> Option<HostAnswerContent> {
        let message = if self.job.withheld.contains(&name) {
            format!("`{name}` is not available in an untrusted workspace")
        } else if self.functions().contains(&name) {
            return None;
        } else {
            format!("`{name}` is not declared in PERMISSIONS")
        };
        Some(HostAnswerContent::Error { exception: "PermissionError", message })
    }

    /// Answers a request.
    pub(crate) fn answer_request(self, request: HostRequest) -> PortFuture<'a, HostAnswerContent> {
        Box::pin(async move {
            if let Some(refusal) = self.refusal(request.name()) {
                return refusal;
            }
            match self.request_value(request).await {
                Ok(value) => HostAnswerContent::Value(value),
                Err(error) => HostAnswerContent::Error {
                    exception: exception(&error),
                    message: error.message().to_owned(),
                },
            }
        })
    }

    async fn request_value(self, request: HostRequest) -> Result<Value, Error> {
        let engine = self.job.capabilities;
        Ok(match request {
            HostRequest::ReadFile { path } => engine.read_file(&path).await?.into(),
            HostRequest::RenderTemplate { name, variables } => {
                engine.render_template(&name, &variables).await?.into()
            }
            HostRequest::GetVariable { path } => engine.get_variable(&path).await?.unwrap_or_default(),
            HostRequest::HttpRequest(call) => self.http.send_request(call).await?,
            HostRequest::LlmCall { prompt, model, max_tokens, schema } => {
                let request = ModelRequest { messages: messages(&prompt)?, model, max_tokens, schema };
                engine.llm_call(request).await?
            }
        })
    }
}

/// The exception that a hook sees for an engine error.
fn exception(error: &Error) -> &'static str {
    let problem = error.details().get("problem").and_then(Value::as_str);
    match (error.code(), error.reason()) {
        (Code::Validation, Some(Reason::File)) => match problem.unwrap_or_default() {
            "outside" | "unreadable" => "PermissionError",
            "directory" => "IsADirectoryError",
            "encoding" => "UnicodeDecodeError",
            "size" => "FileTooLarge",
            "no_file" => "OSError",
            _ => "FileNotFoundError",
        },
        (_, Some(Reason::Outside | Reason::Forbidden)) => "PermissionError",
        (Code::Approval, _) => "PermissionError",
        (Code::NotFound, Some(Reason::File)) => "FileNotFoundError",
        (Code::Validation | Code::Answer, _) => "ValueError",
        (Code::Deadline, _) => "TimeoutError",
        (Code::Tool, Some(Reason::Connection)) => "ConnectionError",
        _ => "RuntimeError",
    }
}

/// Reads a string, or a list of messages in the format of any provider.
fn messages(prompt: &Value) -> Result<Vec<Message>, Error> {
    let invalid_prompt = |why: String| Error::new(Code::Validation, why).with_reason(Reason::Arguments);
    match prompt {
        Value::String(text) => Ok(vec![Message::user(text)]),
        list @ Value::Array(_) => read_messages(list)
            .map_err(|error| invalid_prompt(format!("invalid messages of `llm_call`: {error}"))),
        _ => Err(invalid_prompt("`llm_call` takes a string or a list of messages".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use hinagata::module::Role;
    use serde_json::json;

    use super::*;

    #[test]
    fn llm_call_takes_a_string_or_messages() {
        let one = messages(&json!("hello")).expect("is a string");
        assert_eq!((one[0].role(), one[0].as_text()), (Role::User, Some("hello")));
        let two = messages(&json!([
            {"role": "system", "content": "a"},
            {"role": "user", "content": [{"type": "text", "text": "b"}]},
        ]));
        assert_eq!(two.expect("are messages").len(), 2);
        let error = messages(&json!([{"role": "user"}])).expect_err("has no content");
        assert_eq!(error.message(), "invalid messages of `llm_call`: [0]: `content` is missing");
        assert!(messages(&json!(5)).is_err());
    }
}
