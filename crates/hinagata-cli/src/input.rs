//! Reads files of the command line. One of them may be `-`, standard input.

use std::{
    cell::RefCell,
    fs::File,
    io::{self, Read},
    path::Path,
};

use hinagata::module::{Message, read_messages};
use serde_json::Value;

use crate::failure::Failure;

/// Bytes of a file with variables.
const MOST_BYTES: u64 = 64 << 20;

/// Reads the files of the arguments.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    /// The argument that used standard input.
    stdin: RefCell<Option<String>>,
}

impl Inputs {
    /// Opens `path` for the argument `argument`. The caller reports system errors.
    pub(crate) fn open(&self, path: &Path, argument: &str) -> Result<io::Result<Box<dyn Read>>, Failure> {
        if path != Path::new("-") {
            return Ok(File::open(path).map(|file| Box::new(file) as Box<dyn Read>));
        }
        if let Some(first) = self.stdin.replace(Some(argument.to_owned())) {
            return Err(Failure::usage_error(format!("`{first}` and `{argument}` both read standard input"))
                .with_hint("put one of them into a file"));
        }
        Ok(Ok(Box::new(io::stdin())))
    }

    /// The text of a file with variables.
    pub(crate) fn read_text(&self, path: &Path, argument: &str) -> Result<String, Failure> {
        let mut bytes = Vec::new();
        self.open(path, argument)?
            .and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|error| {
                Failure::usage_error(format!(
                    "`{argument}`: cannot read the file: {}",
                    system_message(&error)
                ))
            })?;
        if bytes.len() as u64 > MOST_BYTES {
            let most = MOST_BYTES >> 20;
            return Err(Failure::usage_error(format!(
                "`{argument}`: `{}` is larger than {most} MiB",
                path.display()
            )));
        }
        String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Failure::usage_error(format!("`{argument}`: the file is not UTF-8 from byte {at} on"))
        })
    }
}

/// The messages in a file, in the format of any provider: a list, or an object with `messages`.
pub(crate) fn read_conversation(path: &Path, inputs: &Inputs) -> Result<Vec<Message>, Failure> {
    let name = path.display().to_string();
    let invalid = |why: String| {
        Failure::usage_error(format!("`{name}` is not a conversation: {why}"))
            .with_hint(r#"write a list such as [{"role": "user", "content": "Hello"}]"#)
    };
    let text = inputs.read_text(path, &name)?;
    let mut value: Value = serde_json::from_str(&text).map_err(|error| invalid(error.to_string()))?;
    if let Some(messages) = value.get_mut("messages") {
        value = messages.take();
    }
    read_messages(&value).map_err(|error| invalid(error.to_string()))
}

/// The sentence of the system without its number.
pub(crate) fn system_message(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}
