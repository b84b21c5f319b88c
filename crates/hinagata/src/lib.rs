//! The prompt engine: finds prompts, chooses between them and reads what they declare.
//!
//! A [`Catalog`] is a snapshot of a workspace. It answers which prompt a name stands for, which directories
//! could be meant, what a prompt declares and inherits, and where an included template is found:
//!
//! ```
//! use hinagata::{Catalog, CatalogOptions, definition::Class};
//!
//! // No directory is needed for the built-in prompts.
//! let catalog = Catalog::open(CatalogOptions::new("no/such/workspace"));
//! let found = catalog.definition("General-System")?;
//! assert_eq!(found.definition.source, "ecosystem/default/prompts/general_system");
//! assert_eq!(found.parameters.names(Class::Required), ["agent_name"]);
//! # Ok::<(), hinagata::Error>(())
//! ```
//!
//! Everything that is read comes from strangers: files are opened beneath their directory only, sizes and
//! depths are bounded, nothing is run, and one broken prompt never stops another.

mod agent;
mod agents;
mod candidates;
mod catalog;
mod defaults;
pub mod definition;
mod engine;
mod id;
mod listing;
mod lookup;
pub mod media;
mod pack;
pub mod packs;
pub mod ports;
mod reach;
mod resolution;
pub mod source;
pub mod store;
mod tool_document;
mod unread;
mod vocab;

pub use agent::Agent;
pub use candidates::{Candidate, Choice};
pub use catalog::{Catalog, CatalogOptions};
pub use defaults::Defaults;
pub use definition::RenderLimits;
pub use engine::{
    Chosen, Content, Context, Engine, EngineBuilder, EngineOptions, HIDDEN, Layer, Message, OverriddenValue,
    ReadAt, RenderJob, Rendered, RenderedBody, Request, SchemaProblem, Size, Strictness, Times, Trace,
    TracedCall, TracedTemplate, TracedUse, TracedVariable, TypeProblem, UnknownVariable, Validation, Warning,
    WeakEngine, from_text,
};
pub use hinagata_document::{
    Code, Diagnostic, Digest, Error, NoDigest, Place, Result, Severity, long_number,
};
pub use hinagata_module as module;
#[cfg(feature = "watch")]
pub use hinagata_workspace::watch;
pub use hinagata_workspace::{
    Distrust, ROOT_VARIABLE, RootFound, Settings, StateDir, Trust, TrustState, TrustedWorkspace,
    WorkspaceRoot,
    layout::{PACKS, PARTIALS, SETTINGS_FILE, SHARED_PROMPTS},
    settings, utc, write,
};
pub use id::{PackId, PromptId, normal_form};
pub use listing::{Listing, PromptFilter};
pub use lookup::FoundTemplate;
pub use pack::{Approval, Approvals, Manifest, PackKind, PackLimits, Provider, Refused, Replaces};
pub use reach::Reach;
pub use resolution::{Resolution, Resolutions, record as record_resolution};
pub use vocab::Vocabulary;
