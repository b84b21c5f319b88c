//! What the engine answers when Python asks: only what the job may use, whatever the process says.

use hinagata::{
    Code, Error,
    ports::{HookJob, ModelRequest, PortFuture, Stage},
};
use hinagata::{Content, Message};
use serde_json::Value;

use crate::{
    http::HookHttp,
    message::{HostAnswerContent, HostRequest},
};

/// The functions that exist for every hook; a provider has none of them.
const ALWAYS: [&str; 2] = ["render_template", "get_variable"];
/// The functions that have to be declared.
const DECLARED: [&str; 3] = ["read_file", "http_request", "llm_call"];

/// Answers the asks of one job.
#[derive(Clone, Copy)]
pub(crate) struct HookHost<'a> {
    job: &'a HookJob<'a>,
    http: &'a HookHttp,
}

impl<'a> HookHost<'a> {
    pub(crate) fn new(job: &'a HookJob<'a>, http: &'a HookHttp) -> Self {
        Self { job, http }
    }

    /// The functions in the context of the job, those among them that only raise.
    pub(crate) fn functions(&self) -> Vec<&'static str> {
        let always = ALWAYS.into_iter().filter(|_| self.is_hook());
        let named = |name: &str| self.job.permissions.contains(&name) || self.job.withheld.contains(&name);
        let declared =
            DECLARED.into_iter().filter(|name| named(name) && !matches!(self.job.stage, Stage::Load));
        always.chain(declared).collect()
    }

    fn is_hook(&self) -> bool {
        matches!(self.job.stage, Stage::PreRender { .. } | Stage::PostRender { .. })
    }

    fn refusal(&self, name: &str) -> Option<HostAnswerContent> {
        let message = if self.job.withheld.contains(&name) {
            format!("`{name}` is not for workspaces that the user does not trust")
        } else if self.functions().contains(&name) {
            return None;
        } else {
            format!("`{name}` is not declared in PERMISSIONS")
        };
        Some(HostAnswerContent::Error { exception: "PermissionError", message })
    }

    /// What is answered.
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
            HostRequest::LlmCall { prompt, model, max_tokens } => {
                let request = ModelRequest { messages: messages(prompt)?, model, max_tokens };
                engine.llm_call(request).await?.into()
            }
        })
    }
}

/// The exception that a hook sees.
fn exception(error: &Error) -> &'static str {
    let problem = error.details().get("problem").and_then(Value::as_str);
    match (error.code(), error.reason()) {
        (Code::Validation, Some("file")) => match problem.unwrap_or_default() {
            "outside" | "unreadable" => "PermissionError",
            "directory" => "IsADirectoryError",
            "encoding" => "UnicodeDecodeError",
            "size" => "FileTooLarge",
            "no_file" => "OSError",
            _ => "FileNotFoundError",
        },
        (_, Some("outside" | "forbidden")) => "PermissionError",
        (Code::Approval, _) => "PermissionError",
        (Code::NotFound, Some("file")) => "FileNotFoundError",
        (Code::Validation, _) => "ValueError",
        (Code::Deadline, _) => "TimeoutError",
        (Code::Tool, Some("connection")) => "ConnectionError",
        _ => "RuntimeError",
    }
}

/// A text, or a list of maps with `role` and `content`.
fn messages(prompt: Value) -> Result<Vec<Message>, Error> {
    let wrong = || {
        Error::new(Code::Validation, "llm_call takes a text, or a list of messages with `role` and `content`")
            .with("reason", "arguments")
    };
    let message = |role: &str, text: &str| Message {
        role: role.to_owned(),
        content: vec![Content::Text(text.to_owned())],
    };
    match prompt {
        Value::String(text) => Ok(vec![message("user", &text)]),
        Value::Array(list) => {
            let one =
                |item: &Value| Some(message(item.get("role")?.as_str()?, item.get("content")?.as_str()?));
            list.iter().map(one).collect::<Option<Vec<_>>>().ok_or_else(wrong)
        }
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_model_is_asked_with_a_text_or_with_messages() {
        let one = messages(json!("hello")).expect("is a text");
        assert_eq!((one[0].role.as_str(), one[0].text().as_str()), ("user", "hello"));
        let two = messages(json!([{"role": "system", "content": "a"}, {"role": "user", "content": "b"}]));
        assert_eq!(two.expect("are messages").len(), 2);
        assert!(messages(json!([{"role": "user"}])).is_err());
        assert!(messages(json!(5)).is_err());
    }
}
