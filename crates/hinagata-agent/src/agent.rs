//! Agents of configurations and of `agent.json`.

use hinagata_context::{Resource, TemplateFile};
use serde_json::{Map, Value};

use crate::{
    context::{read_resources, read_template_file},
    shape::{Section, Shape},
};

/// An agent of a configuration, or of the directory of an `agent.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// The id.
    pub id: String,
    /// The display name.
    pub name: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The configured text of its system prompt; a template.
    pub prompt: String,
    /// The source of its system prompt; replaces the text.
    pub system: Option<PromptSource>,
    /// The default source of the user prompt.
    pub user: Option<PromptSource>,
    /// The variables of its prompts.
    pub variables: Map<String, Value>,
    /// The tools that a chat offers to the model, in which `*` stands for any characters; `None` offers all.
    pub tools: Option<Vec<String>>,
    /// Resources that are packed in addition to the context of the project.
    pub resources: Vec<Resource>,
}

/// The source of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum PromptSource {
    /// A template in a file.
    File(TemplateFile),
    /// A prompt of the catalog.
    Catalog {
        /// Its id, in any spelling.
        id: String,
        /// Variables with the lowest precedence.
        variables: Map<String, Value>,
    },
}

impl Agent {
    /// An agent whose system prompt is `prompt`.
    #[must_use]
    pub fn new(id: impl Into<String>, prompt: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: None,
            description: None,
            model: None,
            prompt: prompt.into(),
            system: None,
            user: None,
            variables: Map::new(),
            tools: None,
            resources: Vec::new(),
        }
    }

    /// Reads an agent of a configuration; `usual` is the default prompt.
    pub(crate) fn from_section(section: &Section<'_>, id: String, usual: &str, shape: &mut Shape) -> Self {
        let agent = Self {
            name: section.text("name", shape),
            description: section.text("description", shape),
            model: section.text("model", shape),
            system: PromptSource::from_field(section, "promptTemplate", shape),
            user: PromptSource::from_field(section, "defaultUserPromptTemplate", shape),
            variables: section.variables("variables", shape),
            tools: section.get("tools").is_some().then(|| section.text_list("tools", shape)),
            resources: read_resources(section, shape),
            ..Self::new(id, section.text("prompt", shape).unwrap_or_else(|| usual.to_owned()))
        };
        section.finish(shape);
        agent
    }
}

impl From<hinagata::Agent> for Agent {
    /// The agent of an `agent.json`: its prompt is one of the catalog.
    fn from(agent: hinagata::Agent) -> Self {
        let variables = agent.prompt_variables;
        Self {
            name: agent.name,
            model: agent.model,
            system: agent.prompt_id.map(|id| PromptSource::Catalog { id, variables }),
            ..Self::new(agent.id, "")
        }
    }
}

impl PromptSource {
    /// Reads the source under `key`.
    fn from_field(section: &Section<'_>, key: &str, shape: &mut Shape) -> Option<Self> {
        section.get(key)?;
        let section = section.section(key, shape);
        section.is_present().then(|| Self::from_section(&section, shape))
    }

    fn from_section(section: &Section<'_>, shape: &mut Shape) -> Self {
        match section.text("prompt", shape) {
            Some(id) if section.get("file").is_none() => {
                let variables = section.variables("variables", shape);
                section.finish(shape);
                Self::Catalog { id, variables }
            }
            Some(_) => {
                shape.add_problem(section.field_path("prompt"), "conflicts with `file`; keep one of them");
                Self::File(read_template_file(section, shape))
            }
            None => Self::File(read_template_file(section, shape)),
        }
    }

    /// Reads a source that a call passes.
    ///
    /// # Errors
    /// Code `definition` with all problems, including unknown keys.
    pub fn from_value(value: &Value) -> hinagata::Result<Self> {
        let mut shape = Shape::default();
        let source = Self::from_section(&Section::root(value, &mut shape), &mut shape);
        match shape.finish(&|_| None)?.into_iter().next() {
            Some(unknown) => Err(unknown.error),
            None => Ok(source),
        }
    }

    /// The source as in a configuration.
    #[must_use]
    pub fn to_value(&self, directory: &std::path::Path) -> Value {
        let mut map = Map::new();
        let variables = match self {
            Self::Catalog { id, variables } => {
                map.insert("prompt".to_owned(), id.as_str().into());
                variables
            }
            Self::File(file) => {
                let base = file.base.as_deref().unwrap_or(directory);
                map.insert("file".to_owned(), file.file.as_str().into());
                map.insert("baseDir".to_owned(), base.to_string_lossy().into());
                &file.variables
            }
        };
        if !variables.is_empty() {
            map.insert("variables".to_owned(), variables.clone().into());
        }
        Value::Object(map)
    }
}
