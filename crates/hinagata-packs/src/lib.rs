//! Installs, shows, approves, verifies and removes packs, and defines the results that every door prints.
//!
//! [`Packs`] manages the packs of one workspace and the decisions about them in the state directory of the user. It
//! shows the current files of a pack, approved or not; only the [`Catalog`] decides what a render uses.
//!
//! ```
//! use hinagata_catalog::{Catalog, CatalogOptions};
//! use hinagata_packs::Packs;
//! use hinagata_workspace::StateDir;
//!
//! let catalog = Catalog::open(CatalogOptions::new("no/such/workspace"));
//! let packs = Packs::new(&catalog, &StateDir::from_path("no/such/state"));
//! assert!(packs.list().is_empty());
//! ```

#[cfg(feature = "archives")]
mod archive;
mod copy;
mod install;
mod location;
mod lock;
mod problem;
mod range;
mod remove;
mod replacements;
mod review;
mod root_file;
mod show;
mod signature;
mod source;
mod stage;
mod summary;
mod sync;
mod unpack;
mod verify;
mod versions;
mod view;
mod wanted;

use std::{sync::Arc, time::SystemTime};

use hinagata_catalog::{
    Approvals, Catalog, PackId,
    pack::{Pack, PackState, content_digest},
};
use hinagata_document::{Code, Digest, Error, Hint, Result};
use hinagata_workspace::StateDir;

pub use install::{InstallOptions, InstalledPack, ReplacedPack};
pub use location::{GitLocation, GitRevision, PackLocation, WantedPack, is_commit, is_loopback};
pub use lock::{
    LOCK_FILE, Lock, LockCheck, LockDrift, LockOptions, LockedChoice, LockedPack, MergedLock, SEMANTICS,
    find_drifts, schema_digest,
};
pub use problem::Problem;
pub use range::VersionRange;
pub use remove::RemovedPack;
pub use replacements::{Replacement, ReplacementKind, ReplacementState};
pub use review::{PackReview, PythonAbility, ReviewNotice, ReviewedFile};
pub use show::{
    PackConflict, PackConflictKind, PackDetails, PackPrompt, PackProvider, PythonFile, PythonRole,
};
pub use signature::{SIGNATURE_FILE, SignatureMode, SignaturePolicy, signed_statement};
pub use source::{NoSource, PackSink, PackSource};
pub use stage::read_statement;
pub use summary::PackSummary;
pub use sync::{OutdatedPack, SyncChange, SyncOptions, SyncReport, SyncedPack, UpdateChoice};
pub use unpack::refused_error;
pub use verify::{FileChange, FileDiff, Verification};
pub use versions::{PackVersion, VersionChoice};
pub use wanted::WantedPacks;

use self::view::View;

/// The packs of a workspace.
///
/// [`Packs::catalog`] has every change at once; other snapshots have it after a reload.
#[derive(Clone, Debug)]
pub struct Packs {
    catalog: Catalog,
    state: StateDir,
}

impl Packs {
    /// The packs of the workspace of `catalog`, with the decisions in `state`.
    #[must_use]
    pub fn new(catalog: &Catalog, state: &StateDir) -> Self {
        let approvals = Approvals::load(state, catalog.root());
        let catalog = match *catalog.approvals() == approvals {
            true => catalog.clone(),
            false => catalog.with_approvals(approvals),
        };
        Self { catalog, state: state.clone() }
    }

    /// The newest snapshot.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// All packs by name, regardless of their state.
    #[must_use]
    pub fn list(&self) -> Vec<PackSummary> {
        let packs = self.catalog.opened_packs().iter();
        packs.map(|pack| PackSummary::from_view(&self.catalog, &View::from_pack(pack))).collect()
    }

    /// The content of a pack.
    ///
    /// # Errors
    /// Code `not_found`.
    pub fn show(&self, pack: &str) -> Result<PackDetails> {
        let pack = self.pack(pack)?;
        let view = View::from_pack(pack);
        let walked = view.files();
        let content = content_digest(view.directory(), &walked);
        Ok(self.pack_details(&view, &walked, content))
    }

    /// The content of a pack without the hash of all its files, which takes the time to read them.
    ///
    /// # Errors
    /// Code `not_found`.
    pub fn outline(&self, pack: &str) -> Result<PackDetails> {
        let view = View::from_pack(self.pack(pack)?);
        Ok(self.pack_details(&view, &view.files(), None))
    }

    /// Approves the current files of a pack; with `expected`, the content from [`Packs::show`], only if they did not
    /// change.
    ///
    /// # Errors
    /// Code `not_found`; code `approval` if it contains files that no pack may contain, or differs from `expected`;
    /// code `definition` if its `pack.json` is invalid; code `store` if the approval cannot be written.
    pub fn approve(&mut self, pack: &str, expected: Option<&Digest>, now: SystemTime) -> Result<PackSummary> {
        let found = Arc::clone(self.pack(pack)?);
        self.state_of(&found.id).approve(found.directory(), expected, now)?;
        self.catalog = self.catalog.reload();
        let approved = self.pack(pack)?;
        approved.seal().note_approved();
        Ok(PackSummary::from_view(&self.catalog, &View::from_pack(approved)))
    }

    /// Records that a pack may not be used.
    ///
    /// # Errors
    /// Code `not_found`; code `store` if the decision cannot be written.
    pub fn reject(&mut self, pack: &str, now: SystemTime) -> Result<PackSummary> {
        let found = Arc::clone(self.pack(pack)?);
        self.state_of(&found.id).reject(&View::from_pack(&found).version(), now)?;
        self.reload_summary(&found.id)
    }

    /// The changes of a pack since its approval.
    ///
    /// # Errors
    /// Code `not_found`; code `store` if the approval cannot be read.
    pub fn verify(&self, pack: &str) -> Result<Verification> {
        let pack = self.pack(pack)?;
        Verification::for_pack(pack, &self.state_of(&pack.id))
    }

    fn reload_summary(&mut self, pack: &PackId) -> Result<PackSummary> {
        self.catalog = self.catalog.reload();
        Ok(PackSummary::from_view(&self.catalog, &View::from_pack(self.pack(pack.as_str())?)))
    }

    fn state_of(&self, pack: &PackId) -> PackState {
        PackState::new(&self.state.workspace(self.catalog.root()), pack)
    }

    fn pack(&self, name: &str) -> Result<&Arc<Pack>> {
        self.catalog.pack(&PackId::new(name)).ok_or_else(|| {
            let near = hinagata_value::near_names(name, self.catalog.packs().map(PackId::as_str));
            let hint = match near.as_slice() {
                [] => Hint::ListPacks,
                names => Hint::Advice(format!("did you mean `{}`?", names.join("` or `"))),
            };
            Error::new(Code::NotFound, format!("pack `{name}` not found"))
                .with("pack_id", name)
                .with_near(near)
                .with_hint(hint)
        })
    }
}
