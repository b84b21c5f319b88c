//! Packs: directories with a `pack.json` that provide prompts and more after the user approved them.
//!
//! An approval is a SHA-256 for every file of the pack, and a copy of the pack. Every file of an approved pack is read
//! from the copy and checked against its hash ([`Seal`]), so that only approved content is used, whatever happens to
//! the directory of the pack.
//!
//! The reasons are in `docs/design/sealed-packs.md`.

mod approval;
mod approved;
mod changes;
mod copy;
mod files;
mod manifest;
mod opened;
mod record;
mod seal;
mod sealed_tree;

pub use approval::{Approval, Approvals};
pub use files::{PackLimits, Refused};
pub use manifest::{Manifest, PackKind, Replaces, VariableProvider};

pub use changes::Changes;
pub use copy::{content_digest, refusal_error, tree_digest};
pub use files::{PYTHON_CACHE, Walked, walk_pack};
pub use manifest::{LARGEST_MANIFEST, MANIFEST_KEYS};
pub use opened::Pack;
pub use record::{Decisions, PackState, Record};
pub use seal::Seal;

pub(crate) use opened::open_packs;
