//! Packs the files of a workspace into one text for a model.
//!
//! | part | what it is for |
//! |---|---|
//! | [`ContextOptions`] | what to pack: patterns, budgets, focus, resources, rules, [`Frame`] |
//! | [`pack()`], [`Packer`] | packs, as [`PackedContext`] or straight into a writer |
//! | [`Report`] | the outcome for every file: packed, or left out and why |
//! | [`render_file`], [`merge_variables`] | template files and layers of variables, as resources and agents use them |
//! | [`Guard`] | decides whether a file that a template or an author names may be read, and redacts its secrets |
//!
//! The order of files is the same on every machine. Directories are walked and files read by several threads; memory is
//! bounded by the budget, not by the size of the tree. Secrets are redacted; files with the names of secrets, binary files and
//! ignored files are left out. An unreadable file does not make packing fail: the report lists it.
//!
//! ```
//! use hinagata_context::{ContextOptions, Frame, LeftOutReason, pack};
//!
//! let place = tempfile::tempdir()?;
//! std::fs::write(place.path().join("lamp.rs"), "fn lamp() {}\n")?;
//! std::fs::write(place.path().join(".env"), "TOKEN=1\n")?;
//! let packed = pack(&ContextOptions { frame: Frame::Markdown, ..ContextOptions::new(place.path()) })?;
//! assert!(packed.text.contains("## `lamp.rs`\n\n```rs\nfn lamp() {}\n```"));
//! assert!(packed.text.ends_with("Missing: 1 file (1 secret)"));
//! assert_eq!(packed.report.count(LeftOutReason::Secret), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attributes;
mod builtin;
mod count;
mod decode;
mod detail;
mod error;
mod extras;
mod facts;
mod form;
mod frame;
mod git;
mod glob;
mod guard;
mod ignored;
mod job;
mod kinds;
mod ledger;
mod notice;
mod options;
mod order;
pub mod outline;
mod pack;
mod packed;
mod part;
mod place;
mod read;
mod remaining;
mod report;
mod rungs;
mod section;
mod select;
mod selection;
mod shown_path;
mod sink;
mod state;
mod templates;
mod text;
mod tree;
mod variables;
mod walk;
mod work;
mod writer;

pub use decode::TextEncoding;
pub use detail::Detail;
pub use error::{Error, Result};
pub use frame::Frame;
pub use git::{RevisionFile, RevisionReader};
pub use guard::{Guard, leads_out};
pub use hinagata_secrets::{RedactedFile, Redactor, SecretAction, SecretPolicy};
pub use job::Progress;
pub use kinds::{FileKind, KindRule, KindRules};
pub use options::{
    COMPAT_MAX_BYTES, COMPAT_MAX_FILES, ContextOptions, Encoding, MAX_TOKENS, Resource, ResourceKind, Rules,
    Sections, TemplateFile, TemplateOptions, TextForm, Tokens,
};
pub use pack::{Changes, Packer, pack};
pub use packed::{Metadata, PackedContext, PackedFile, PackedKind, PackedResource, Stats, frame_files};
pub use report::{Entry, Notice, Report, SectionEntry};
pub use shown_path::ShownPath;
pub use state::{FileState, LeftOutReason, PackedForm};
pub use templates::{render_file, render_text};
pub use text::trim_both_ends;
pub use variables::{apply_defaults, merge_variables};
