//! The neutral form of a prompt, which every format is read into and written from.

use serde_json::{Map, Value, json};

use crate::detect::Format;

/// A prompt in no particular format. Its templates are Jinja.
#[derive(Clone, Debug, PartialEq)]
pub struct PortablePrompt {
    /// The proposed id: segments of lower-case words joined by `.`.
    pub id: String,
    /// The format that it was read from.
    pub format: Format,
    /// The file that it was read from.
    pub from: String,
    /// Metadata under the keys of a definition: `name`, `title`, `description`, `version`, `tags`, `author`, `model`,
    /// `config`, `output` and `metadata`.
    pub header: Map<String, Value>,
    /// The declared inputs.
    pub parameters: Vec<PortableParameter>,
    /// The content.
    pub body: PortableBody,
    /// The value of `undefined`, if it is not the default.
    pub undefined: Option<&'static str>,
    /// How whitespace around messages is treated.
    pub layout: PortableLayout,
    /// Whether messages of whitespace alone are left out.
    pub drops_empty: bool,
    /// Shared parts: the file name below `partials/` and the template.
    pub partials: Vec<(String, String)>,
    /// Files that belong beside the prompt: the path and the content.
    pub files: Vec<(String, String)>,
    /// Keys that have no meaning here, under their own names.
    pub kept: Map<String, Value>,
    /// Whether it is an agent of the original.
    pub is_agent: bool,
}

impl PortablePrompt {
    /// An empty prompt.
    #[must_use]
    pub fn new(id: String, format: Format, from: &str) -> Self {
        Self {
            id,
            format,
            from: from.to_owned(),
            header: Map::new(),
            parameters: Vec::new(),
            body: PortableBody::Text(String::new()),
            undefined: None,
            layout: PortableLayout::Trim,
            drops_empty: false,
            partials: Vec::new(),
            files: Vec::new(),
            kept: Map::new(),
            is_agent: false,
        }
    }

    /// The parameter called `name`.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&PortableParameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// Whether any template of the prompt has structure: roles, histories or media.
    #[must_use]
    pub fn is_structured(&self) -> bool {
        match &self.body {
            PortableBody::Text(text) => text.contains("role(") || text.contains("media("),
            PortableBody::Messages(_) => true,
        }
    }
}

/// The content of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum PortableBody {
    /// One template, which may start messages by itself.
    Text(String),
    /// A list of messages.
    Messages(Vec<PortableMessage>),
}

/// A message of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum PortableMessage {
    /// A message with its parts.
    Message {
        /// The role.
        role: String,
        /// The content.
        parts: Vec<PortablePart>,
    },
    /// Earlier messages: the parameter that holds them.
    History(String),
}

impl PortableMessage {
    /// A message of one text.
    #[must_use]
    pub fn from_text(role: &str, text: String) -> Self {
        Self::Message { role: role.to_owned(), parts: vec![PortablePart::Text(text)] }
    }
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum PortablePart {
    /// A template.
    Text(String),
    /// Media by its URL, a template.
    Media(String),
}

/// A declared input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortableParameter {
    /// The name in templates.
    pub name: String,
    /// Other spellings that callers may use.
    pub aliases: Vec<String>,
    /// Whether callers must pass it.
    pub required: bool,
    /// The type, in the words of definitions.
    pub kind: Option<&'static str>,
    /// The default.
    pub default: Option<Value>,
    /// The description.
    pub description: Option<String>,
    /// A JSON Schema.
    pub schema: Option<Value>,
}

impl PortableParameter {
    /// The declaration as it stands in a definition.
    #[must_use]
    pub fn to_declaration(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("name".to_owned(), json!(self.name));
        if let Some(kind) = self.kind {
            fields.insert("type".to_owned(), json!(kind));
        }
        match (&self.default, self.required) {
            (Some(default), _) => {
                fields.insert("default".to_owned(), default.clone());
            }
            (None, required) => {
                fields.insert("required".to_owned(), json!(required));
            }
        }
        if let Some(description) = &self.description {
            fields.insert("description".to_owned(), json!(description));
        }
        if let Some(schema) = &self.schema {
            fields.insert("schema".to_owned(), schema.clone());
        }
        if !self.aliases.is_empty() {
            fields.insert("aliases".to_owned(), json!(self.aliases));
        }
        Value::Object(fields)
    }
}

/// How whitespace around messages is treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortableLayout {
    /// Blank lines and whitespace at the ends are removed, indentation stays.
    #[default]
    Trim,
    /// Nothing is removed.
    Keep,
    /// Line breaks at both ends are removed.
    Lines,
    /// Whitespace at both ends is removed.
    Strip,
}

impl PortableLayout {
    /// The name in definitions.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trim => "trim",
            Self::Keep => "keep",
            Self::Lines => "lines",
            Self::Strip => "strip",
        }
    }
}
