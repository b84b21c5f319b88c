//! Prompts over the Model Context Protocol, in all its revisions: the newest one without sessions and those before it.
//!
//! [`Mcp`] is what all connections share: the public list of prompts, kept in step with the workspace, and the
//! resources. A [`Session`] answers the requests of one connection; [`Mcp::serve_stdio`] and [`Mcp::http`] put it behind
//! standard input or HTTP. Who asks, and how a render is made and written down, is the business of a [`RenderBackend`].

mod arguments;
mod backend;
mod complete;
mod failure;
mod input;
mod malformed;
mod messages;
mod names;
mod notices;
mod page;
mod prompt;
mod resources;
mod serve;
mod session;
mod shared;
mod state;
mod stdio;
mod tools;
mod uri_template;

pub use backend::{DirectBackend, RenderBackend, RenderReport, Viewer};
pub use resources::Resources;
pub use serve::HttpService;
pub use session::Session;
pub use shared::{Mcp, McpOptions};
