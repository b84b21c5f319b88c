//! The kinds of an error within its code, as a closed list: behaviour depends on a variant, never on a text.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::Code;

/// Declares the reasons: variant, name for programs, description.
macro_rules! reasons {
    ($($variant:ident = $name:literal: $description:literal,)+) => {
        /// What exactly went wrong within a [`Code`](crate::Code), as a stable name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Reason {
            $(#[doc = $description] $variant,)+
        }

        impl Reason {
            /// Every reason, sorted by name.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name that every door uses.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

reasons! {
    Agent = "agent": "The agent of the call does not exist.",
    Answer = "answer": "The answer of a tool or model is invalid.",
    Archive = "archive": "An archive cannot be unpacked.",
    Arguments = "arguments": "An argument of a call is invalid.",
    Binary = "binary": "A file is not text.",
    Broken = "broken": "A file that the engine wrote itself cannot be read.",
    Budget = "budget": "A file does not fit into the budget of a context.",
    Busy = "busy": "No worker was free in time.",
    Bytecode = "bytecode": "A pack contains compiled Python.",
    Cap = "cap": "A prompt asks for more than a cap allows.",
    Certificates = "certificates": "TLS certificates cannot be read.",
    Compat = "compat": "A setting needs another compatibility profile.",
    Connect = "connect": "A server cannot be reached.",
    Connection = "connection": "The connection to a server failed.",
    Context = "context": "A declaration of the context is invalid.",
    ContextClash = "context_clash": "Two modules declare one variable differently.",
    Conversation = "conversation": "A conversation cannot become one text.",
    Copy = "copy": "The approved copy of a pack differs from its approval.",
    Count = "count": "There are too many entries.",
    Deadline = "deadline": "The deadline of the render passed.",
    Definition = "definition": "The definition of a tool does not match its server.",
    Dependence = "dependence": "A document of the store depends on a missing one.",
    Depth = "depth": "Something is nested too deeply.",
    Died = "died": "A Python process exited before it answered.",
    Down = "down": "A server is not running.",
    Duplicate = "duplicate": "An entry occurs twice.",
    Emptied = "emptied": "Redis lost all documents of a kind at once.",
    Encoding = "encoding": "A file is not UTF-8.",
    Engines = "engines": "A document of the store needs another engine.",
    Excluded = "excluded": "A pattern excludes a file.",
    ExtendsCycle = "extends_cycle": "Prompts or settings extend each other in a circle.",
    ExtendsDepth = "extends_depth": "A chain of `extends` is too long.",
    ExtendsNotFound = "extends_not_found": "The parent of a prompt does not exist.",
    Extension = "extension": "A document is not a valid extension.",
    ExtensionType = "extension_type": "An extension has another type.",
    Fields = "fields": "Fields of a document are invalid.",
    File = "file": "A file cannot be used.",
    Finish = "finish": "A model ended its answer early.",
    Forbidden = "forbidden": "A host is not allowed.",
    Full = "full": "The disk is full.",
    Host = "host": "A host is not allowed for tools.",
    Ignored = "ignored": "An ignore file excludes a file.",
    Installed = "installed": "A pack of that name is installed already.",
    Io = "io": "A file cannot be read or written.",
    Json = "json": "JSON does not parse.",
    Key = "key": "An API key is missing or invalid.",
    Kind = "kind": "A file is of a kind that is not packed.",
    Limit = "limit": "A limit is exceeded.",
    Link = "link": "A pack contains a link.",
    Listen = "listen": "An address cannot be listened on.",
    Locked = "locked": "Another process holds a lock.",
    Media = "media": "An image, a sound or another medium cannot be used.",
    Missing = "missing": "A file does not exist.",
    Model = "model": "The model of a call is not set.",
    Modified = "modified": "A file differs from its approval.",
    Module = "module": "A module file is invalid.",
    Name = "name": "A name is not allowed.",
    Namespace = "namespace": "Several packs provide one namespace.",
    NoAgent = "no_agent": "The project has no agents.",
    NoBody = "no_body": "A prompt has no template.",
    NoChunks = "no_chunks": "A process has nothing to work on.",
    NoFile = "no_file": "A path does not lead to a regular file.",
    NoManifest = "no_manifest": "A pack has no manifest.",
    NoMap = "no_map": "A document is not an object.",
    NoState = "no_state": "There is no state directory.",
    NotAText = "not_a_text": "A prompt renders to messages instead of one text.",
    Option = "option": "An option of a request is invalid.",
    Outside = "outside": "A path leads out of its directory.",
    PackId = "pack_id": "A pack has an invalid or different name.",
    Partial = "partial": "Several shared templates have one name.",
    Password = "password": "The store refuses the user or the password.",
    Pattern = "pattern": "A pattern is invalid.",
    Pending = "pending": "A pack is not approved yet.",
    Permission = "permission": "The permissions of a file refuse access.",
    PostRender = "post_render": "`post_render` cannot change a conversation.",
    Protocol = "protocol": "A Python process sent an invalid message.",
    Python = "python": "No usable Python was found.",
    PythonVersion = "python_version": "The Python found is too old.",
    ReadOnly = "read_only": "The file system is read-only.",
    Redirect = "redirect": "A server redirects to another host.",
    Refused = "refused": "The store refuses a command.",
    Rejected = "rejected": "A pack is rejected.",
    Request = "request": "A request cannot be sent.",
    Requires = "requires": "Packs require versions that exclude each other.",
    Reserved = "reserved": "A variable has a reserved name.",
    Resolution = "resolution": "A recorded choice cannot be read.",
    Root = "root": "The workspace root does not exist.",
    Runtime = "runtime": "Something failed while it ran.",
    Sandbox = "sandbox": "The sandbox cannot be set up.",
    SandboxLimit = "sandbox_limit": "A template exceeds a limit.",
    Schema = "schema": "A JSON Schema is invalid.",
    Secret = "secret": "A file contains a secret, or a secret is missing.",
    Security = "security": "An operation is not allowed.",
    Settings = "settings": "A setting is invalid.",
    Signature = "signature": "A signature is missing or invalid.",
    Size = "size": "Something is too large.",
    Special = "special": "A file is a pipe, a socket or a device.",
    StaleResolution = "stale_resolution": "A recorded choice no longer fits.",
    Start = "start": "A process cannot be started.",
    Status = "status": "A server answered with an error status.",
    Steps = "steps": "A model still calls tools after the last step.",
    Stream = "stream": "A streamed answer ended early.",
    Syntax = "syntax": "A text does not parse.",
    TemplateFileMissing = "template_file_missing": "A template file does not exist.",
    TemplateMissing = "template_missing": "An included template does not exist.",
    TemplateNotFound = "template_not_found": "A template does not exist.",
    Threads = "threads": "A thread cannot be started.",
    Timeout = "timeout": "A time limit passed.",
    TooLarge = "too_large": "A value is too large.",
    Tool = "tool": "The definition of a tool is invalid.",
    ToolName = "tool_name": "The name of a tool cannot be used.",
    TwoDocuments = "two_documents": "A prompt is defined twice.",
    Type = "type": "A value has the wrong type.",
    Unavailable = "unavailable": "Python is not available.",
    Undefined = "undefined": "A variable is undefined.",
    Unknown = "unknown": "A tool does not exist.",
    UnknownFilter = "unknown_filter": "A filter does not exist.",
    UnknownName = "unknown_name": "A name has no meaning here.",
    UnknownPath = "unknown_path": "A path of a module does not exist.",
    Unmatched = "unmatched": "A pattern matches no file.",
    Unreachable = "unreachable": "A store cannot be reached.",
    Unreadable = "unreadable": "A file cannot be read.",
    Unresolved = "unresolved": "Several candidates match, and none is chosen.",
    Unsupported = "unsupported": "A kind of call is not supported.",
    Untrusted = "untrusted": "The workspace is not trusted.",
    Uri = "uri": "A URI is invalid.",
    UsesCount = "uses_count": "A module uses too many modules.",
    UsesCycle = "uses_cycle": "Modules use each other in a circle.",
    UsesNotFound = "uses_not_found": "A used module does not exist.",
    UsesOutside = "uses_outside": "A used module is outside of the prompt's directory.",
    Vocabulary = "vocabulary": "The vocabulary is invalid.",
    Watch = "watch": "Files cannot be watched.",
    WatchLimit = "watch_limit": "The system allows no more file watches.",
    WorkspacePath = "workspace_path": "The path of the caller's workspace is invalid.",
    WrongType = "wrong_type": "A value of a module has the wrong type.",
}

impl Reason {
    /// The reason called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.as_str() == name)
    }

    /// The HTTP status where it differs from that of `code`: a definition that does not parse is the caller's mistake,
    /// and a model that is refused for the moment may be called later.
    pub(crate) const fn http_status(self, code: Code) -> Option<u16> {
        match (code, self) {
            (Code::Definition, Self::Syntax) => Some(400),
            (Code::Model, Self::Busy | Self::Down) => Some(503),
            _ => None,
        }
    }

    /// The exit code where it differs from that of `code`: a wrong setting is the user's mistake, as a wrong flag is.
    pub(crate) const fn exit_code(self, code: Code) -> Option<u8> {
        match (code, self) {
            (Code::Definition, Self::Settings) => Some(2),
            _ => None,
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_found() {
        assert!(Reason::ALL.is_sorted_by(|a, b| a.as_str() < b.as_str()));
        for reason in Reason::ALL {
            assert_eq!(Reason::from_name(reason.as_str()), Some(*reason));
        }
        assert_eq!(Reason::from_name("no"), None);
    }
}
