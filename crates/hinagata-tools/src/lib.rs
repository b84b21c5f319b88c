//! Tools of prompts: template functions that other programs answer over HTTP, gRPC or MCP.
//!
//! A [`Toolbox`] implements the port [`hinagata::ports::Tools`] of an engine. The engine passes it the tool documents
//! of the store and of packs. It turns them into functions and answers their calls:
//!
//! ```
//! use std::sync::Arc;
//!
//! use hinagata::Engine;
//! use hinagata_tools::{ToolSettings, Toolbox};
//!
//! let tools = Arc::new(Toolbox::new(ToolSettings::default()));
//! let engine = Engine::builder("no/such/workspace").with_tools(tools).open();
//! # assert!(engine.tool_diagnostics().is_empty());
//! ```
//!
//! Definitions are untrusted. So [`ToolSettings`] alone decides which hosts a call may reach and which secrets it
//! uses. Responses are bounded in size and time, and checked against the schema of the definition.

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
mod module_gate;
mod refused_hosts;
mod restful;
mod set;
mod settings;
mod toolbox;

pub use definition::{CallKind, ToolDefinition, check_document};
pub use hinagata_http::AllowedHosts;
pub use host_guard::{NameResolver, SystemResolver};
pub use refused_hosts::RefusedHost;
pub use set::function_name;
pub use settings::{McpServerSettings, ModuleSettings, Secret, SecretHeaders, ToolSettings};
pub use toolbox::Toolbox;
