//! Sessions: a conversation with an agent in a file of JSON lines.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use hinagata::module::{Message, json::messages_to_json, read_messages};
use hinagata_agent::close_open_calls;
use serde_json::Value;

use crate::{failure::Failure, input::system_message};

/// A conversation that grows by one line for each message. The file is locked.
pub(super) struct Session {
    path: PathBuf,
    file: File,
}

impl Session {
    /// Opens or creates a session; returns its messages, and what is wrong with its last line.
    pub(super) fn open(path: &Path) -> Result<(Self, Vec<Message>, Option<String>), Failure> {
        let displayed = path.display();
        let failed = |error: io::Error| {
            Failure::system_error(format!("cannot use `{displayed}`: {}", system_message(&error)))
        };
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::system_error(format!("`{displayed}` is used by another chat"))
                    .with_hint("wait until it ends, or use another session"));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut problem = None;
        if whole < text.len() {
            // The program ended while it wrote the line.
            problem = Some(format!("the last line of `{displayed}` is incomplete and is removed"));
            file.set_len(whole as u64).map_err(failed)?;
        }
        let mut messages = read_lines(&text[..whole], path)?;
        close_open_calls(&mut messages);
        Ok((Self { path: path.to_owned(), file }, messages, problem))
    }

    /// Appends messages, and waits until the disk has them.
    pub(super) fn append(&self, messages: &[Message]) -> Result<(), String> {
        let Value::Array(documents) = messages_to_json(messages) else { return Ok(()) };
        let lines: String = documents.iter().map(|document| format!("{document}\n")).collect();
        let mut file = &self.file;
        let written = file
            .seek(SeekFrom::End(0))
            .and_then(|_| file.write_all(lines.as_bytes()))
            .and_then(|()| file.sync_all());
        written.map_err(|error| {
            format!("cannot append to `{}`: {}", self.path.display(), system_message(&error))
        })
    }
}

fn read_lines(text: &str, path: &Path) -> Result<Vec<Message>, Failure> {
    let displayed = path.display();
    let not_a_session = |line: usize, why: String| {
        Failure::usage_error(format!("{displayed}:{line}: not a message: {why}"))
            .with_hint("a session has one message in JSON on each line")
    };
    let mut documents = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let document: Value =
            serde_json::from_str(line).map_err(|error| not_a_session(number + 1, error.to_string()))?;
        if !document.is_object() {
            return Err(not_a_session(number + 1, "it is not an object".to_owned()));
        }
        documents.push(document);
    }
    read_messages(&Value::Array(documents))
        .map_err(|error| Failure::usage_error(format!("`{displayed}` is not a session: {error}")))
}
