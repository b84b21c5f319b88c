//! Tools of prompts: functions of templates that other programs answer, over HTTP, gRPC or MCP.
//!
//! A [`Toolbox`] is the port [`hinagata::ports::Tools`] of an engine. The engine gives it the documents of the store and of packs;
//! it makes functions of them and answers their calls:
//!
//! ```
//! use std::sync::Arc;
//!
//! use hinagata::Engine;
//! use hinagata_tools::{ToolSettings, Toolbox};
//!
//! let tools = Arc::new(Toolbox::new(ToolSettings::default()));
//! let engine = Engine::builder("no/such/workspace").tools(tools).open();
//! # assert!(engine.tool_diagnostics().is_empty());
//! ```
//!
//! Definitions are written by strangers. So where a call may go, and with which secrets, comes from [`ToolSettings`] alone; what
//! comes back is bounded in size and time, and checked against what the definition promises.

mod checks;
mod definition;
mod failure;
mod fallback;
#[cfg(feature = "grpc")]
mod grpc;
mod host_guard;
mod http;
#[cfg(feature = "mcp")]
mod mcp;
mod restful;
mod set;
mod settings;
mod toolbox;

pub use definition::{CallKind, ToolDefinition, check_document};
pub use hinagata_http::AllowedHosts;
pub use host_guard::{NameResolver, SystemResolver};
pub use set::function_name;
pub use settings::{McpServerSettings, ModuleSettings, Secret, SecretHeaders, ToolSettings};
pub use toolbox::Toolbox;
