//! The file of a host: read, changed in one place, and written as a whole.

use std::{fs, path::PathBuf};

use hinagata::{
    Code, Digest, Error, Place, Reason, StateDir,
    write::{self, Readers},
};
use hinagata_document::{json, jsonc};
use jsonc_parser::cst::{CstInputValue, CstObject, CstObjectProp, CstRootNode};
use serde_json::{Map, Value};

use super::hosts::{HostSpec, Scope, Syntax};

/// Maximum bytes of a file. Claude Code keeps its history of projects in the same file.
const MAX_BYTES: u64 = 64 << 20;

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The file of a host as it was read.
pub(super) struct ConfigFile {
    pub(super) host: &'static HostSpec,
    pub(super) scope: Scope,
    /// The path for users.
    pub(super) path: PathBuf,
    /// The text, or `None` if the file does not exist.
    pub(super) text: Option<String>,
}

impl ConfigFile {
    /// Reads the file at `path`.
    pub(super) fn read(host: &'static HostSpec, scope: Scope, path: PathBuf) -> Result<Self, Error> {
        let text = write::read_text(&path, MAX_BYTES)?;
        Ok(Self { host, scope, path, text })
    }

    /// The servers in the file, by name.
    pub(super) fn servers(&self) -> Result<Map<String, Value>, Error> {
        let root = self.parse()?;
        let servers = self.servers_object(&root)?.and_then(|servers| servers.to_serde_value());
        Ok(match servers {
            Some(Value::Object(servers)) => servers,
            _ => Map::new(),
        })
    }

    /// The text of the file with `entry` as the server `name`, or without that server. Everything else stays as it is
    /// written.
    pub(super) fn with_entry(&self, name: &str, entry: Option<&Value>) -> Result<String, Error> {
        let root = self.parse()?;
        let servers = self.servers_object(&root)?;
        match entry {
            Some(entry) => {
                let servers = servers
                    .unwrap_or_else(|| root.object_value_or_set().object_value_or_set(self.host.servers_key));
                match servers.get(name) {
                    Some(known) => known.set_value(input_value(entry)),
                    None => {
                        servers.append(name, input_value(entry));
                    }
                }
            }
            None => {
                if let Some(known) = servers.and_then(|servers| servers.get(name)) {
                    known.remove();
                }
            }
        }
        let mark = if self.text.as_deref().is_some_and(has_mark) {
            BYTE_ORDER_MARK.to_string()
        } else {
            String::new()
        };
        let mut text = format!("{mark}{root}");
        if self.text.is_none() && !text.ends_with('\n') {
            text.push('\n');
        }
        Ok(text)
    }

    fn parse(&self) -> Result<CstRootNode, Error> {
        let text = self.text.as_deref().unwrap_or_default();
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let shown = self.path.display().to_string();
        let invalid =
            |message: &str, place: Option<Place>| place.into_iter().fold(self.invalid(message), Error::at);
        // The tree has comments, whether they are allowed or not.
        if self.host.syntax == Syntax::Json && !text.trim().is_empty() {
            json::check_syntax(&shown, text)
                .map_err(|error| invalid(error.message(), error.place().cloned()))?;
        }
        CstRootNode::parse(text, &jsonc::parse_options()).map_err(|error| {
            let (message, place) = jsonc::syntax_problem(&shown, text, &error);
            invalid(&message, place)
        })
    }

    /// The object with the servers, if it exists.
    fn servers_object(&self, root: &CstRootNode) -> Result<Option<CstObject>, Error> {
        let Some(value) = root.value() else { return Ok(None) };
        let object = value.as_object().ok_or_else(|| self.invalid("expected an object"))?;
        let key = self.host.servers_key;
        let count_of = |object: &CstObject, key: &str| {
            object.properties().iter().filter(|known| known.decoded_name().as_deref() == Some(key)).count()
        };
        // Programs disagree about which of them counts.
        if count_of(&object, key) > 1 {
            return Err(self.invalid(&format!("`{key}` occurs more than once")));
        }
        let Some(property) = object.get(key) else { return Ok(None) };
        let servers =
            property.object_value().ok_or_else(|| self.invalid(&format!("`{key}` is not an object")))?;
        for known in servers.properties().iter().filter_map(CstObjectProp::decoded_name) {
            if count_of(&servers, &known) > 1 {
                return Err(self.invalid(&format!("`{key}.{known}` occurs more than once")));
            }
        }
        Ok(Some(servers))
    }

    fn invalid(&self, problem: &str) -> Error {
        Error::definition(Reason::Syntax, format!("{}: {problem}", self.path.display()))
            .with("path", self.path.display().to_string())
            .with_hint(format!(
                "correct the file so that {} can read it; nothing was written",
                self.host.title
            ))
    }

    /// Writes `entry` as the server `name`, or removes that server, if that server is still as it was read.
    ///
    /// The rest of the file may have changed meanwhile: hosts write it too. The new file gets its name when it is
    /// complete, and other calls of this program wait until then. A link is followed, so that it still leads to the file.
    pub(super) fn write_entry(&self, name: &str, entry: Option<&Value>) -> Result<(), Error> {
        let target = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let locks = StateDir::of_user()?.path().join("mcp-install");
        let lock = Digest::sha256(target.as_os_str().as_encoded_bytes());
        let _lock = write::lock_directory(&locks, &format!("{lock}.lock"))?;
        let current = Self::read(self.host, self.scope, self.path.clone())?;
        if current.servers()?.get(name) != self.servers()?.get(name) {
            let message =
                format!("`{name}` in {} changed meanwhile; nothing was written", self.path.display());
            return Err(Error::new(Code::Store, message).with_hint("run the command again"));
        }
        let text = current.with_entry(name, entry)?;
        // Hosts keep keys in the file of the user; that of a project is shared.
        let readers = if self.scope == Scope::User { Readers::Owner } else { Readers::AsUsual };
        write::replace_file(&self.path, text.as_bytes(), readers)
    }
}

fn has_mark(text: &str) -> bool {
    text.starts_with(BYTE_ORDER_MARK)
}

/// A value as the parser inserts it.
fn input_value(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input_value).collect()),
        Value::Object(fields) => CstInputValue::Object(
            fields.iter().map(|(key, value)| (key.clone(), input_value(value))).collect(),
        ),
    }
}
