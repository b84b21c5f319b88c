//! One run: chooses versions, and prepares every pack beside the installed ones.

use std::{
    cell::OnceCell,
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use hinagata_catalog::pack::PackLimits;
use hinagata_document::{Code, Digest, Error, Reason, Result};
use hinagata_workspace::{
    layout::PACKS,
    state::real_path,
    write::{Writer, directory_beneath, io_error},
};

use super::{
    SyncOptions,
    index::{self, IndexedVersion, PackIndex},
    solve::{Candidate, Demand, read_demand, solve_versions},
};
use crate::{
    Packs,
    location::{GitLocation, PackLocation, WantedPack},
    lock::{LOCK_FILE, Lock, LockedPack, lock_error, messages, wanted_differences},
    remove::remove_if_present,
    root_file::lock_wanted,
    signature::SignaturePolicy,
    stage::{StagedPack, stage_path},
    wanted::WantedPacks,
};

/// The directory of packs that are being prepared, beside the packs.
const SYNCING: &str = ".syncing";

/// A pack that was chosen.
#[derive(Debug)]
pub(super) struct ChosenPack {
    pub(super) id: String,
    pub(super) locked: LockedPack,
    /// Its new files; `None` if those that are installed are right.
    pub(super) staged: Option<PathBuf>,
    /// Why it must not be used any more.
    pub(super) withdrawn: Option<String>,
}

/// One run. Its directory is removed at the end.
pub(super) struct SyncRun<'r> {
    packs: Packs,
    wanted: &'r WantedPacks,
    before: &'r Lock,
    signatures: &'r SignaturePolicy,
    options: &'r SyncOptions<'r>,
    place: PathBuf,
    staged: usize,
    index: OnceCell<PackIndex>,
    pub(super) lock: Writer,
}

impl Drop for SyncRun<'_> {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next run.
        let _ = remove_if_present(&self.place);
    }
}

impl<'r> SyncRun<'r> {
    pub(super) fn open(
        packs: &Packs,
        wanted: &'r WantedPacks,
        before: &'r Lock,
        signatures: &'r SignaturePolicy,
        options: &'r SyncOptions<'r>,
    ) -> Result<Self> {
        let above = directory_beneath(packs.catalog.root(), PACKS)?;
        let lock = lock_wanted(packs.catalog.root())?;
        let place = above.join(SYNCING);
        remove_if_present(&place).map_err(|error| io_error("removed", &place, error))?;
        fs::create_dir(&place).map_err(|error| io_error("written", &place, error))?;
        let packs = packs.clone();
        let index = OnceCell::new();
        Ok(Self { packs, wanted, before, signatures, options, place, staged: 0, index, lock })
    }

    /// Prepares what the lock says.
    pub(super) fn stage_locked(&mut self) -> Result<Vec<ChosenPack>> {
        let differences = messages(wanted_differences(self.wanted, self.before));
        lock_error(differences).map_or(Ok(()), Err)?;
        let mut chosen = Vec::new();
        let before = self.before;
        for (id, locked) in &before.packs {
            if let Some(pack) = self.installed(id, locked) {
                chosen.push(pack);
                continue;
            }
            let Some(location) = &locked.location else {
                let difference =
                    format!("pack `{id}` {} was installed by hand, and is not there", locked.version);
                return Err(frozen_error(difference));
            };
            let pack = self.stage(id, location, locked.commit.clone(), None)?;
            if pack.locked.tree != locked.tree {
                return Err(frozen_error(format!(
                    "pack `{id}` at {} has other files than the locked version {}",
                    location.describe(),
                    locked.version
                )));
            }
            chosen.push(ChosenPack { locked: locked.clone(), ..pack });
        }
        Ok(chosen)
    }

    /// Chooses versions and revisions, and prepares the packs.
    pub(super) fn resolve(&mut self) -> Result<Vec<ChosenPack>> {
        let wanted = self.wanted;
        let mut chosen = Vec::new();
        let mut demands = BTreeMap::<String, Vec<Demand>>::new();
        for (id, wanted) in &wanted.packs {
            match wanted {
                WantedPack::Range(range) => {
                    let demand = Demand { range: range.clone(), asker: "`[packs]`".to_owned() };
                    demands.entry(id.clone()).or_default().push(demand);
                }
                WantedPack::Location(location) => chosen.push(self.take_location(id, location)?),
            }
        }
        for pack in &chosen {
            for (id, range) in &pack.locked.requires {
                let asker = format!("`{}` {}", pack.id, pack.locked.version);
                demands.entry(id.clone()).or_default().push(read_demand(asker, range)?);
            }
        }
        let fixed: BTreeMap<String, String> =
            chosen.iter().map(|pack| (pack.id.clone(), pack.locked.version.clone())).collect();
        let this = &*self;
        let solved = solve_versions(&fixed, &demands, &mut |id| this.candidates(id))?;
        for (id, candidate) in solved {
            chosen.push(self.take_candidate(&id, &candidate)?);
        }
        Ok(chosen)
    }

    /// A pack that comes from one place.
    fn take_location(&mut self, id: &str, location: &PackLocation) -> Result<ChosenPack> {
        let is_same = |locked: &&LockedPack| locked.location.as_ref() == Some(location);
        let pinned = self.before.packs.get(id).filter(is_same);
        let pinned = pinned.filter(|_| !self.options.update.has_pack(id));
        let is_fixed = !matches!(location, PackLocation::Directory(_) | PackLocation::File(_));
        if let Some(pack) = pinned.filter(|_| is_fixed).and_then(|locked| self.installed(id, locked)) {
            return Ok(pack);
        }
        let pack = self.stage(id, location, pinned.and_then(|locked| locked.commit.clone()), None)?;
        match pinned.filter(|_| is_fixed) {
            Some(locked) if locked.tree != pack.locked.tree => Err(changed_error(id, locked, location)),
            _ => Ok(pack),
        }
    }

    /// A version that the index has, or that is locked.
    fn take_candidate(&mut self, id: &str, candidate: &Candidate) -> Result<ChosenPack> {
        let pinned = self.before.packs.get(id).filter(|locked| locked.version == candidate.version);
        let pinned = pinned.filter(|locked| matches!(locked.location, Some(PackLocation::Index { .. })));
        let mut pack = match pinned.and_then(|locked| self.installed(id, locked)) {
            Some(pack) => pack,
            None => self.stage(id, &candidate.location, None, Some(candidate))?,
        };
        if let Some(locked) = pinned.filter(|locked| !locked.is_same_content(&pack.locked)) {
            return Err(changed_error(id, locked, &candidate.location));
        }
        if let Some(index) = self.index.get() {
            let of_version = index.versions(id).iter().find(|known| known.version == candidate.version);
            pack.withdrawn = of_version.and_then(|known| known.withdrawn.clone());
        }
        Ok(pack)
    }

    /// The versions of a pack, the preferred one first: the locked one, then those of the index. The index is read when
    /// the locked version does not serve.
    fn candidates(&self, id: &str) -> Result<Vec<Candidate>> {
        let mut all = Vec::new();
        let locked = self.before.packs.get(id).filter(|_| !self.options.update.has_pack(id));
        if let Some((locked, location)) = locked.and_then(|locked| Some((locked, locked.location.as_ref()?)))
            && matches!(location, PackLocation::Index { index, .. } if Some(index) == self.wanted.index.as_ref())
        {
            let (version, requires) = (locked.version.clone(), locked.requires.clone());
            all.push(Candidate { version, location: location.clone(), requires });
            let range_fits = match self.wanted.packs.get(id) {
                Some(WantedPack::Range(range)) => range.contains_version(&locked.version),
                _ => true,
            };
            // Without an update, other versions are of interest only where the locked one cannot be kept.
            if range_fits && !self.needs_index() {
                return Ok(all);
            }
        }
        let known = |version: &&IndexedVersion| version.withdrawn.is_none();
        let index = self.read_index(id)?;
        all.extend(index.versions(id).iter().filter(known).map(|version| Candidate {
            version: version.version.clone(),
            location: version.location.clone(),
            requires: version.requires.clone(),
        }));
        Ok(all)
    }

    /// Whether the locked versions do not meet what is wanted, so that others are looked for.
    fn needs_index(&self) -> bool {
        self.options.update != super::UpdateChoice::None
            || !wanted_differences(self.wanted, self.before).is_empty()
    }

    /// The index; `id` is the pack that it is read for.
    pub(super) fn read_index(&self, id: &str) -> Result<&PackIndex> {
        if let Some(index) = self.index.get() {
            return Ok(index);
        }
        let Some(place) = &self.wanted.index else {
            return Err(Error::definition(
                Reason::Settings,
                format!("the pack `{id}` needs an index, and `packs.index` is not set"),
            )
            .with("pack_id", id)
            .with_hint("set `packs.index`, or name the place of the pack: a directory, a file, an address or a git repository"));
        };
        let bytes = self.read_address(place, index::LARGEST)?;
        let parsed = PackIndex::parse(place, &bytes)?;
        Ok(self.index.get_or_init(|| parsed))
    }

    /// The bytes at an address, or of a file relative to the workspace root.
    fn read_address(&self, address: &str, limit: u64) -> Result<Vec<u8>> {
        if address.contains("://") {
            return self.options.source.download(address, limit);
        }
        read_local(&self.packs.catalog.root().join(address), address, limit)
    }

    /// The installed pack, if it has the locked files.
    fn installed(&self, id: &str, locked: &LockedPack) -> Option<ChosenPack> {
        let is_installed = self.packs.installed_tree(id) == Some(Some(locked.tree));
        // A lock could name a key that never signed these files.
        let is_signed = self.signatures.accepts_key(locked.key.as_deref());
        (is_installed && is_signed).then(|| ChosenPack {
            id: id.to_owned(),
            locked: locked.clone(),
            staged: None,
            withdrawn: None,
        })
    }

    /// Fetches a pack, unpacks and checks it.
    fn stage(
        &mut self,
        id: &str,
        location: &PackLocation,
        commit: Option<String>,
        promised: Option<&Candidate>,
    ) -> Result<ChosenPack> {
        let about = |error: Error| error.with_default("pack_id", id);
        let (staged, commit) = self.fetch(location, commit).map_err(about)?;
        check_promises(id, location, &staged, promised)?;
        let key = staged.check_signature(self.signatures)?;
        let locked = LockedPack {
            version: staged.manifest.version.clone(),
            location: Some(location.clone()),
            commit,
            tree: staged.tree,
            requires: staged.manifest.requires.clone(),
            key,
        };
        let installed = self.packs.installed_tree(id);
        let is_installed = installed == Some(Some(staged.tree));
        if !is_installed {
            self.check_replaceable(id, installed)?;
        }
        let staged = (!is_installed).then_some(staged.top);
        Ok(ChosenPack { id: id.to_owned(), locked, staged, withdrawn: None })
    }

    /// Nobody's work is replaced: installed files must be those of the lock, or approved ones.
    fn check_replaceable(&self, id: &str, installed: Option<Option<Digest>>) -> Result<()> {
        let Some(tree) = installed.filter(|_| !self.options.replace) else { return Ok(()) };
        let is_locked = self.before.packs.get(id).is_some_and(|locked| Some(locked.tree) == tree);
        if is_locked {
            return Ok(());
        }
        Err(Error::new(
            Code::Conflict,
            format!("the pack `{id}` is installed with files that are not locked"),
        )
        .with_reason(Reason::Modified)
        .with("pack_id", id)
        .with_hint("move its directory away if it has work of your own, or replace it with `--replace`"))
    }

    /// The version and the SHA-256 of the pack in a directory or archive of this machine.
    pub(super) fn stage_for_comparison(
        &mut self,
        path: &str,
        limits: &PackLimits,
    ) -> Result<(String, Digest)> {
        self.staged += 1;
        let place = self.place.join(self.staged.to_string());
        let staged = stage_path(&self.packs.catalog.root().join(path), &place, limits)?;
        Ok((staged.manifest.version, staged.tree))
    }

    fn fetch(
        &mut self,
        location: &PackLocation,
        commit: Option<String>,
    ) -> Result<(StagedPack, Option<String>)> {
        self.staged += 1;
        let place = self.place.join(self.staged.to_string());
        let limits = &self.options.limits;
        let root = self.packs.catalog.root();
        Ok(match location {
            PackLocation::Directory(path) | PackLocation::File(path) => {
                (stage_path(&root.join(path), &place, limits)?, None)
            }
            PackLocation::Url { url, sha256 } | PackLocation::Index { url, sha256, .. } => {
                let bytes = self.read_address(url, limits.archive)?;
                check_hash(url, &bytes, sha256)?;
                let archive = self.place.join(format!("{}.archive", self.staged));
                write_archive(&archive, &bytes)?;
                (stage_path(&archive, &place, limits)?, None)
            }
            PackLocation::Git(git) => {
                let git = local_repository(git, root);
                let commit = match commit {
                    Some(commit) => commit,
                    None => self.options.source.resolve_revision(&git)?,
                };
                let fill = |unpacker: &mut crate::unpack::Unpacker| {
                    self.options.source.read_commit(&git, &commit, unpacker)
                };
                (StagedPack::fill(&place, limits, fill)?, Some(commit))
            }
        })
    }
}

/// The bytes of a file, which errors call `name`.
pub(crate) fn read_local(path: &Path, name: &str, limit: u64) -> Result<Vec<u8>> {
    let size = fs::metadata(path).map_err(|error| io_error("read", path, error))?.len();
    if size > limit {
        return Err(Error::new(Code::Fetch, format!("`{name}` has more than {} KiB", limit >> 10))
            .with_reason(Reason::Size));
    }
    fs::read(path).map_err(|error| io_error("read", path, error))
}

/// The index in a file relative to the workspace root.
pub(crate) fn read_index_file(root: &Path, place: &str) -> Result<PackIndex> {
    PackIndex::parse(place, &read_local(&root.join(place), place, index::LARGEST)?)
}

/// The same with the absolute path of a repository that is named by a relative one.
pub(crate) fn local_repository(git: &GitLocation, root: &Path) -> GitLocation {
    match git.is_path() {
        true => {
            let repository = real_path(&root.join(&git.repository)).to_string_lossy().into_owned();
            GitLocation { repository, ..git.clone() }
        }
        false => git.clone(),
    }
}

pub(crate) fn check_hash(url: &str, bytes: &[u8], expected: &Digest) -> Result<()> {
    let found = Digest::sha256(bytes);
    if found == *expected {
        return Ok(());
    }
    Err(Error::new(Code::Lock, format!("`{url}` has the SHA-256 {found}, and {expected} was expected"))
        .with("url", url)
        .with_hint("somebody changed the archive: ask its author which hash is right"))
}

fn write_archive(path: &Path, bytes: &[u8]) -> Result<()> {
    let write = || fs::File::create_new(path)?.write_all(bytes);
    write().map_err(|error| io_error("written", path, error))
}

/// Checks that a pack is what the settings and the index say.
fn check_promises(
    id: &str,
    location: &PackLocation,
    staged: &StagedPack,
    promised: Option<&Candidate>,
) -> Result<()> {
    let place = location.describe();
    if staged.id.as_str() != id {
        return Err(Error::definition(
            Reason::PackId,
            format!("the pack at {place} is called `{}`, not `{id}`", staged.id),
        )
        .with("pack_id", id));
    }
    let Some(promised) = promised else { return Ok(()) };
    let lie = |what: String| {
        Err(Error::new(Code::Fetch, format!("the index is wrong about `{id}` {}: {what}", promised.version))
            .with_reason(Reason::Definition)
            .with("pack_id", id)
            .with_hint("report it to whoever maintains the index"))
    };
    if staged.manifest.version != promised.version {
        return lie(format!("the archive has the version {}", staged.manifest.version));
    }
    if staged.manifest.requires != promised.requires {
        return lie("the archive requires other packs".to_owned());
    }
    Ok(())
}

fn changed_error(id: &str, locked: &LockedPack, location: &PackLocation) -> Error {
    Error::new(
        Code::Lock,
        format!(
            "{} of the pack `{id}` has other files than when it was locked ({LOCK_FILE})",
            locked.version
        ),
    )
    .with("pack_id", id)
    .with("source", location.describe())
    .with_hint("ask its author why; updating the pack accepts the new files, if the source allows it")
}

fn frozen_error(difference: String) -> Error {
    lock_error(vec![difference]).unwrap_or_else(super::unreachable_error)
}
