//! Agents: their configuration in a project, the messages of a call, and chats with a model.
//!
//! | part | purpose |
//! |---|---|
//! | [`Project`] | a checked configuration with its defaults |
//! | [`Agent`], [`PromptSource`] | an agent of a configuration or an `agent.json`, and the sources of its prompts |
//! | [`Profile`] | the compatibility mode and the rules of a project |
//! | [`Invocation`], [`InvocationOutput`] | a call, and its messages |
//! | `AgentChat`, with the feature `llm` | sends the messages to a model, and runs the tools that it calls |
//! | [`PackRequest`] | what a caller of a daemon asks to pack |
//!
//! The text of a user is a value and never a template, unless the configuration requests compatibility with the program
//! that defined its format.
//!
//! ```
//! use hinagata_agent::{Invocation, Profile, Project};
//! use serde_json::json;
//!
//! let place = tempfile::tempdir()?;
//! std::fs::write(place.path().join("lamp.md"), "A lamp.\n")?;
//! let config = json!({
//!     "context": {"include": ["*.md"]},
//!     "agents": {"manager": {"prompt": "You are {{ agent.id }}, {{ mood }}.", "variables": {"mood": "calm"}}},
//! });
//! let project = Project::read(&config, place.path(), Profile::Own)?;
//! let invoked = project.invoke(&Invocation::new("Light {{ it }}"), None)?;
//! assert_eq!(invoked.system, "You are manager, calm.");
//! assert_eq!(invoked.user, "Light {{ it }}");
//! let packed = "<workspace_context>\n// File: lamp.md\nA lamp.\n// End of lamp.md\n</workspace_context>";
//! assert!(invoked.messages[1].as_text().is_some_and(|text| text.ends_with(packed)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod agent;
#[cfg(feature = "llm")]
mod chat;
mod context;
mod error;
mod invoke;
mod profile;
mod project;
mod project_reader;
mod request;
mod shape;
mod warnings;

pub use agent::{Agent, PromptSource};
#[cfg(feature = "llm")]
pub use chat::{AgentChat, ChatHost, ChatOutput, ChatTools, RequestedCall, close_open_calls};
pub use context::choose_model;
pub use error::{context_error, left_out_reason};
pub use invoke::{GivenContext, Invocation, InvocationOutput};
pub use profile::Profile;
pub use project::{Agents, Project, VERSION};
pub use project_reader::ProjectPacker;
pub use request::PackRequest;
pub use warnings::redaction_warnings;
