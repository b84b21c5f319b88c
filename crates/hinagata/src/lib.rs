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

mod engine;
pub mod ports;

pub use engine::{
    Chosen, Content, Context, Engine, EngineBuilder, EngineOptions, HIDDEN, Layer, Message, OverriddenValue,
    ReadAt, RenderJob, Rendered, RenderedBody, Request, SchemaProblem, Size, Strictness, Times, Trace,
    TracedCall, TracedTemplate, TracedUse, TracedVariable, TypeProblem, UnknownVariable, Validation, Warning,
    WeakEngine, from_text,
};
pub use hinagata_catalog::{
    Agent, Approval, Approvals, Candidate, Catalog, CatalogOptions, Choice, Defaults, FoundTemplate, Listing,
    Manifest, PackId, PackKind, PackLimits, PromptFilter, PromptId, Provider, Reach, Refused, RenderLimits,
    Replaces, Resolution, Resolutions, Vocabulary, definition, media, normal_form, record_resolution, source,
    store,
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
