//! Definitions of prompts: one model for every form in which a prompt can be written.
//!
//! A prompt directory contains a template, with or without front matter, a `prompt.yaml` or `prompt.json`,
//! a `prompt.py`, or several of them. Each file yields a draft, and the merged drafts are a [`Definition`].
//! No code is run.

mod computed;
mod config;
mod declarations;
mod draft;
mod inherit;
mod limits;
mod messages;
mod model;
pub mod module;
mod parameter;
mod python;
mod read;
mod view;

pub use hinagata_template::Language;

pub use computed::Computed;
pub use declarations::PARAMETER_KEYS;
pub use draft::PROMPT_KEYS;
pub use hinagata_document::yaml_value;
pub use inherit::Inherited;
pub use limits::{PromptLimits, RenderLimits};
pub use model::{
    Body, Definition, FileRead, Hook, Hooks, Message, Metadata, Part, Permissions, Role, Settings,
    TemplateText, UndefinedMode,
};
pub use module::{AdHocModules, EvaluatedEntries, ModuleBody, PRESETS, module_error, preset};
pub use parameter::{
    ConversationValue, Origin, Parameter, ParameterClass, Parameters, ProjectValue, Proposals, ValueType,
};
pub use read::{PromptFiles, definition_from_json, read_again, read_definition};

pub(crate) use declarations::read_parameters;
pub(crate) use draft::read_limits;
pub(crate) use inherit::resolve_inheritance;
pub(crate) use read::{LARGEST_TEMPLATE, TEMPLATE_NAMES};

#[cfg(test)]
mod tests;
