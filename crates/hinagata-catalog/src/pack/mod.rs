//! Packs: directories with a `pack.json`, which bring prompts and more once the user approved them.
//!
//! An approval is a SHA-256 for every file of the pack, and a copy of the pack as it was. What is used of an approved pack
//! comes from the copy and is compared with the hashes as it is read ([`Seal`]), so that nothing is used that the user
//! did not approve, whatever happens to the directory of the pack.
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
pub use copy::{content_digest, refusal_error};
pub use files::{PYTHON_CACHE, Walked, walk_pack};
pub use manifest::LARGEST_MANIFEST;
pub use opened::Pack;
pub use record::{Decisions, PackState, Record};
pub use seal::Seal;

pub(crate) use opened::open_packs;
