//! Renders prompts, and explains where every part of the result came from.
//!
//! An [`Engine`] opens a workspace of prompts. It resolves a name, checks the variables of a [`Request`] against the
//! declared parameters, and renders:
//!
//! ```
//! use hinagata::{Engine, Layer, Request};
//! use serde_json::json;
//!
//! // The built-in prompts need no workspace.
//! let engine = Engine::open("no/such/workspace");
//! let variables = json!({"task": "Paint the tower", "max_steps": 3});
//! let request = Request::new("planning-task-decomposition").with_variables(&variables);
//!
//! let rendered = engine.render_blocking(&request)?;
//! assert!(rendered.text().contains("Paint the tower"));
//!
//! // The same render with a trace: which layer supplied each variable, and what it overrode.
//! let trace = engine.explain_blocking(&request)?.trace.expect("explain records a trace");
//! let steps = trace.variables.iter().find(|variable| variable.name == "max_steps").expect("is read");
//! assert_eq!(steps.layer, Some(Layer::Call));
//! assert_eq!(steps.lost[0].layer, Layer::Custom);
//! # Ok::<(), hinagata::Error>(())
//! ```
//!
//! The engine needs no async runtime, HTTP client, Redis or Python. It calls [`ports`] for them, and
//! [`Engine::builder`] takes the implementations. The crate `hinagata-host` opens a workspace with the ports that its
//! settings ask for.
//!
//! A [`Catalog`] answers which prompt a name refers to and what it declares, without rendering. Everything that the
//! engine reads is untrusted: files are opened beneath their directory, sizes and depths are bounded, and a broken
//! prompt never affects another one.
//!
//! The crate re-exports `hinagata-catalog`, `hinagata-workspace` and `hinagata-document`, so that an embedder names one
//! crate; the reasons are in `docs/design/crates.md`.

mod engine;
mod model_templates;
mod model_tokens;
pub mod ports;
mod secrets;

pub use engine::{
    AbsentRow, Chosen, Content, Context, Engine, EngineBuilder, EngineOptions, ExplainMap, Layer, MapUnits,
    Message, OverriddenValue, PlanCacheStats, ReadAt, RenderJob, Rendered, RenderedBody, Request, RequestMap,
    RequestRow, SchemaProblem, Share, Shares, Size, SourceKind, SourceView, SpanRow, Strictness,
    Surroundings, Times, TokensOf, Trace, TracedCall, TracedTemplate, TracedUse, TracedVariable, TypeProblem,
    UnknownVariable, UsedVariables, Validation, Warning, WeakEngine, from_text,
};
pub use hinagata_catalog::{
    Agent, Approval, Approvals, Candidate, Catalog, CatalogOptions, Defaults, FoundTemplate, Library,
    Listing, Manifest, PackId, PackKind, PackLimits, PromptFilter, PromptId, Reach, Refused, RenderLimits,
    Replaces, Resolution, Resolutions, ResolvedPrompt, VariableProvider, Vocabulary, definition, edit, media,
    normal_form, not_approved, record_resolution, source, store,
};
pub use hinagata_document::{
    Code, CodeSpec, Diagnostic, Digest, Error, Hint, HintText, InvalidDigest, LineColumn, Place, Reason,
    Result, Severity, TextOrigin, warn_of_long_number,
};
pub use hinagata_exchange as exchange;
pub use hinagata_module as module;
pub use hinagata_tokens as tokens;
#[cfg(feature = "watch")]
pub use hinagata_workspace::watch;
pub use hinagata_workspace::{
    Distrust, LocalPlaces, ROOT_VARIABLE, RootFound, Settings, StateDir, Trust, TrustState, TrustedWorkspace,
    WorkspaceRoot, format_utc,
    layout::{BUILTIN_PROMPTS, PACKS, PARTIALS, SETTINGS_FILE, SHARED_PROMPTS},
    secret, settings, write,
};
pub use model_templates::read_chat_template;
pub use model_tokens::{counter_for_model, tokenizer_error};
pub use secrets::HIDDEN;
