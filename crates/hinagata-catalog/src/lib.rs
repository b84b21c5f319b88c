//! Finds the prompt that a name refers to and reads its definition. It runs no code.
//!
//! A [`Catalog`] is a snapshot of a workspace. It finds the candidates of a name in directories, packs, the store and
//! the built-in prompts, chooses between them, and reads what a prompt declares and inherits:
//!
//! ```
//! use hinagata_catalog::{Catalog, CatalogOptions, definition::ParameterClass};
//!
//! // No directory is needed for the built-in prompts.
//! let catalog = Catalog::open(CatalogOptions::new("no/such/workspace"));
//! let found = catalog.definition("General-System")?;
//! assert_eq!(found.definition.source, "ecosystem/default/prompts/general_system");
//! assert_eq!(found.parameters.names(ParameterClass::Required), ["agent_name"]);
//! # Ok::<(), hinagata_document::Error>(())
//! ```
//!
//! Everything that is read is untrusted: files are opened beneath their directory only, sizes and depths are bounded,
//! and one broken prompt does not affect another.
//!
//! The modules use each other in one direction: `id`, `definition`, `store`, `source`, `pack`, `catalog`, `edit`.

mod agent;
mod catalog;
mod defaults;
pub mod definition;
pub mod edit;
mod id;
pub mod media;
pub mod pack;
mod resolution;
pub mod source;
pub mod store;
mod tool_document;
mod vocab;

pub use agent::{AGENT_KEYS, Agent};
pub use catalog::{
    BOUND_CALLER_HINT, Candidate, Catalog, CatalogOptions, FoundTemplate, Library, Listing, PackTools,
    PromptFilter, PromptHome, Reach, ReachCache, ResolvedPrompt, StoreReachCache, not_approved,
    untrusted_error, withheld_error,
};
pub use defaults::Defaults;
pub use definition::RenderLimits;
pub use id::{PackId, PromptId, normal_form};
pub use pack::{Approval, Approvals, Manifest, PackKind, PackLimits, Refused, Replaces, VariableProvider};
pub use resolution::{Resolution, Resolutions, record_resolution};
pub use tool_document::{OnError, ToolDocument, ToolDocuments};
pub use vocab::{Alias, Vocabulary};
