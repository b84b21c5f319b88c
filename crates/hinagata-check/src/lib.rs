//! Checks prompts without running them.
//!
//! The shapes of values flow from declarations, JSON Schemas and literals through templates of both languages: through
//! assignments, loops, conditions, includes and parents. Where every value of a shape makes an operation fail, or where a
//! name exists nowhere, there is a finding. What a shape does not say gives none.
//!
//! Whether an operation fails is not written down a second time: the engines run single operators, filters, methods and
//! builtins with samples of the shapes ([`codes`] lists what is reported). No Python runs, and no tool is called.

mod builtins;
mod check;
pub mod codes;
pub mod editor;
mod finding;
mod fix;
mod format;
mod go;
mod hooks;
mod jinja;
mod level;
mod messages;
mod models;
mod probe;
pub mod report;
mod rules;
mod shape;
mod silence;
mod text;
mod tolerant;
mod workspace;

pub use check::{ParseCache, Report, Surroundings, ToolSpec, Variables, check_template};
pub use codes::{CODES, CodeSpec, find_code};
pub use finding::{Finding, Found};
pub use fix::{Fix, apply_fixes, find_fix};
pub use format::format_file;
pub use hinagata_template::{Language, NoSources};
pub use level::Level;
pub use models::Models;
pub use rules::LevelRules;
pub use shape::{Field, Fields, Kinds, Shape};
pub use text::hidden_text;
pub use workspace::{
    CheckOptions, Checker, PromptReport, check_catalog, check_manifest, check_pack, check_prompt,
    check_prompts, check_text, check_workspace, prompt_variables, template_diagnostics,
};
