//! Definitions of prompts: one model, read from every form that a prompt can be written in.
//!
//! A prompt directory holds a template, with or without front matter, a `prompt.yaml` or `prompt.json`,
//! a `prompt.py`, or several of them. Each file gives a draft; drafts are laid over each other, and the
//! result is a [`Definition`]. Nothing is run.

mod computed;
mod declarations;
mod draft;
mod fields;
mod front_matter;
mod inherit;
pub(crate) mod json;
mod limits;
mod messages;
mod model;
pub(crate) mod module;
pub(crate) mod node;
mod parameter;
mod python;
mod read;
mod view;
pub(crate) mod yaml;

pub use hinagata_template::Engine;

pub use computed::Computed;
pub use inherit::Inherited;
pub use limits::{OwnLimits, RenderLimits};
pub use model::{
    Body, Definition, FileRead, Hook, Hooks, Message, Metadata, Part, Permissions, Role, Settings,
    TemplateText, UndefinedMode,
};
pub use module::{Given, LooseModules, ModuleBody, PRESETS, preset};
pub use parameter::{Class, Origin, Parameter, Parameters, Proposals, Type};
pub use read::{PromptFiles, document, read};
pub use yaml::yaml_value;

pub(crate) use declarations::variables;
pub(crate) use draft::limits;
pub(crate) use fields::{Fields, shortened};
pub(crate) use front_matter::split as split_front_matter;
pub(crate) use inherit::inherit;
pub(crate) use read::{LARGEST_TEMPLATE, TEMPLATE_NAMES, read_again};

#[cfg(test)]
mod tests;
