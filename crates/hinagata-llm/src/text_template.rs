//! The chat template of a model that continues texts: it turns messages into the text that the model reads.

use std::{path::PathBuf, sync::OnceLock};

use hinagata::{
    Error, Reason, Result,
    exchange::{ChatTemplate, Moment, with_plain_texts},
    read_chat_template,
};
use serde_json::{Map, Value};

/// Options of chats that completion endpoints do not have.
const CHAT_OPTIONS: [&str; 3] = ["tool_choice", "parallel_tool_calls", "response_format"];

/// The chat template of a model; its file is read when it is first used.
#[derive(Debug)]
pub(crate) struct TextTemplate {
    path: PathBuf,
    /// For calls without and with tools.
    read: [OnceLock<Result<ChatTemplate>>; 2],
}

impl TextTemplate {
    /// The template in a file or a directory of a model.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, read: [OnceLock::new(), OnceLock::new()] }
    }

    /// The body of a request for a completion, made of the body of a chat; and what it leaves out.
    ///
    /// # Errors
    /// Code `definition` for a template that cannot be used; code `render.runtime` if it refuses the messages.
    pub(crate) fn write_body(&self, chat: &str) -> Result<(Vec<u8>, Vec<String>)> {
        let mut body: Map<String, Value> = serde_json::from_str(chat).unwrap_or_default();
        let mut variables = Map::new();
        for name in ["messages", "tools"] {
            if let Some(value) = body.shift_remove(name) {
                let value = if name == "messages" { with_plain_texts(value) } else { value };
                variables.insert(name.to_owned(), value);
            }
        }
        variables.insert("add_generation_prompt".to_owned(), true.into());
        let has_tools = variables.contains_key("tools");
        let read = self.read[usize::from(has_tools)].get_or_init(|| {
            read_chat_template(&self.path, None, has_tools).map_err(|error| self.unusable(&error))
        });
        let template = read.as_ref().map_err(Error::clone)?;
        let text = template.render(&variables, now())?;
        let mut notes = Vec::new();
        for name in CHAT_OPTIONS {
            if body.shift_remove(name).is_some() {
                notes.push(format!("`{name}` is left out: a model with a chat template continues a text"));
            }
        }
        body.insert("prompt".to_owned(), text.into());
        Ok((Value::Object(body).to_string().into_bytes(), notes))
    }

    fn unusable(&self, error: &Error) -> Error {
        let shown = self.path.display();
        let message = format!("the chat template `{shown}` of a model cannot be used: {}", error.message());
        Error::definition(Reason::Settings, message)
            .with("file", shown.to_string())
            .with_hint("set `chat_template` to a directory of the model, its .gguf file or a Modelfile")
    }
}

/// Now, in the time zone of this machine.
fn now() -> Moment {
    let now = jiff::Zoned::now();
    let part = |value: i8| u8::try_from(value).unwrap_or_default();
    Moment {
        year: i32::from(now.year()),
        month: part(now.month()),
        day: part(now.day()),
        hour: part(now.hour()),
        minute: part(now.minute()),
        second: part(now.second()),
    }
}
