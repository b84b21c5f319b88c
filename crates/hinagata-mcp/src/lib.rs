//! Serves prompts over the Model Context Protocol, in all its revisions. The newest one has no sessions.
//!
//! [`Mcp`] is shared by all connections: it holds the public list of prompts, which follows the workspace, and the
//! resources. A [`Session`] answers the requests of one connection. [`Mcp::serve_stdio`] and [`Mcp::http_service`]
//! serve sessions over standard input and output or over HTTP. A [`RenderBackend`] renders prompts and records
//! requests.

mod adapt;
mod arguments;
mod backend;
mod complete;
mod declared_resource;
mod exposure;
mod failure;
mod form;
mod hints;
mod host;
mod http_sessions;
mod in_flight;
mod input;
mod line;
mod listing;
mod malformed;
mod messages;
mod names;
mod notices;
mod pack_tool;
mod page;
mod parameters;
mod placeholder;
mod project;
mod prompt;
mod quick_prompts;
mod resources;
mod serve;
mod served_skills;
mod session;
mod shared;
mod skill;
mod state;
mod stdio;
mod subscribe;
mod tools;
mod uri_template;
mod watched;

pub use backend::{AuditedBackend, DirectBackend, RenderBackend, RenderReport, Viewer};
pub use complete::{ProposedValues, propose_values};
pub use exposure::Exposure;
pub use pack_tool::PackedProject;
pub use project::ProjectSource;
pub use resources::Resources;
pub use serve::HttpService;
pub use session::Session;
pub use shared::{Mcp, McpOptions};
pub use skill::{Skill, SkillSet};
