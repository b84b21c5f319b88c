//! Installs a pack from a directory or an archive.
//!
//! The source is untrusted. It is unpacked into a directory beside the packs, checked there, and renamed to its final
//! name. Until then nothing uses it, and if a check fails, nothing of it remains. Installing does not approve a pack.

use std::{fs, io, path::Path};

use hinagata_catalog::{PackId, pack::PackLimits};
use hinagata_document::{Code, Digest, Error, Reason, Result};
use hinagata_workspace::{
    layout::PACKS,
    write::{Readers, Writer, directory_beneath, io_error, sync_directory},
};
use serde::Serialize;

use super::{
    PackDetails, Packs,
    lock::{LOCK_FILE, Lock, lock_error},
    remove::{LOCK, OUTGOING, remove_if_present},
    signature::SignaturePolicy,
    stage::{StagedPack, read_manifest, stage_path},
    unpack::check_pack_name,
    view::View,
};

/// The name of a pack while it is installed.
const INCOMING: &str = ".coming";

/// The directory of a pack while another one replaces it, with a file that has its name.
const REPLACING: &str = ".replacing";
const OLD: &str = "old";
const NAME: &str = "name";

/// The options of installing.
#[derive(Clone, Debug, Default)]
pub struct InstallOptions {
    /// Whether to replace a pack with the same name.
    pub replace: bool,
    /// The limits of its content.
    pub limits: PackLimits,
    /// Which signatures are asked for.
    pub signatures: SignaturePolicy,
    /// Whether the pack must have the locked files.
    pub frozen: bool,
}

/// The result of installing a pack.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InstalledPack {
    /// Its content, which is not used before it is approved.
    pub pack: PackDetails,
    /// The pack that it replaced, if any.
    pub replaced: Option<ReplacedPack>,
}

/// A replaced pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReplacedPack {
    /// Its version; `None` if its `pack.json` was invalid.
    pub version: Option<String>,
}

impl Packs {
    /// Installs the pack at `source`: a directory, a `.tar.gz`, a `.tgz` or a `.zip`, with `pack.json` at its top or
    /// in its only directory. `pack_id` of `pack.json` becomes the name of the pack.
    ///
    /// # Errors
    /// Code `not_found` if `source` does not exist; code `definition` if it is not a pack or contains what no pack may
    /// contain; code `lock` if it must have the locked files and has others; code `conflict` if a pack with that name
    /// exists and `replace` is not set; code `store` if it cannot be written. An error changes nothing.
    pub fn install(&mut self, source: &Path, options: &InstallOptions) -> Result<InstalledPack> {
        let packs = directory_beneath(self.catalog.root(), PACKS)?;
        let writer = Writer::lock(&packs, LOCK, Readers::AsUsual)?;
        recover_interrupted(&writer)?;
        let coming = packs.join(INCOMING);
        let installed = self.install_over(&writer, source, &coming, options);
        // After a success this directory no longer exists; after an error nothing may remain.
        let cleared = remove_if_present(&coming).map_err(|error| io_error("removed", &coming, error));
        drop(writer);
        let (id, replaced, tree) = installed?;
        cleared?;
        self.state_of(&id).clear_rejection()?;
        self.catalog = self.catalog.reload();
        let view = View::from_pack(self.pack(id.as_str())?);
        Ok(InstalledPack { pack: self.pack_details(&view, &view.files(), Some(tree)), replaced })
    }

    fn install_over(
        &self,
        writer: &Writer,
        source: &Path,
        coming: &Path,
        options: &InstallOptions,
    ) -> Result<(PackId, Option<ReplacedPack>, Digest)> {
        let staged = stage_path(source, coming, &options.limits)?;
        staged.check_signature(&options.signatures)?;
        if options.frozen {
            self.check_locked(&staged)?;
        }
        let StagedPack { id, top, tree, .. } = staged;
        let place = writer.directory().join(id.as_str());
        let before = fs::symlink_metadata(&place).is_ok();
        if before && !options.replace {
            return Err(Error::new(Code::Conflict, format!("pack `{id}` is already installed"))
                .with_reason(Reason::Installed)
                .with("pack_id", id.as_str())
                .with_hint("replace it with `--replace`; if its files differ, it must be approved again"));
        }
        let replaced = before
            .then(|| ReplacedPack { version: read_manifest(&place).ok().map(|manifest| manifest.version) });
        if before {
            self.keep_version(&id, &place)?;
        }
        place_pack(writer, &top, &place, before).map_err(|error| io_error("written", &place, error))?;
        Ok((id, replaced, tree))
    }
}

impl Packs {
    /// Checks that a pack has the locked files.
    fn check_locked(&self, staged: &StagedPack) -> Result<()> {
        let (id, version) = (&staged.id, &staged.manifest.version);
        let lock = Lock::read(self.catalog.root())?;
        let difference = match lock.as_ref().map(|lock| lock.packs.get(id.as_str())) {
            None => format!("the workspace has no {LOCK_FILE}"),
            Some(None) => format!("pack `{id}` is not locked"),
            Some(Some(locked)) if locked.tree == staged.tree => return Ok(()),
            Some(Some(locked)) if locked.version == *version => {
                format!("pack `{id}` {version} has other files than the locked ones")
            }
            Some(Some(locked)) => format!("pack `{id}` is {version}, and was locked as {}", locked.version),
        };
        lock_error(vec![difference]).map_or(Ok(()), |error| Err(error.with("pack_id", id.as_str())))
    }
}

/// Cleans up after a process that was killed while it installed or removed a pack.
pub(crate) fn recover_interrupted(writer: &Writer) -> Result<()> {
    restore_replaced(writer)
        .map_err(|error| io_error("written", &writer.directory().join(REPLACING), error))?;
    for left in [INCOMING, OUTGOING, REPLACING] {
        let left = writer.directory().join(left);
        remove_if_present(&left).map_err(|error| io_error("removed", &left, error))?;
    }
    Ok(())
}

/// Restores a pack whose replacement was interrupted before the new pack was in place.
fn restore_replaced(writer: &Writer) -> io::Result<()> {
    let replacing = writer.directory().join(REPLACING);
    let Ok(name) = fs::read_to_string(replacing.join(NAME)) else { return Ok(()) };
    let place = writer.directory().join(&name);
    match check_pack_name(&name).is_ok() && fs::symlink_metadata(&place).is_err() {
        true => fs::rename(replacing.join(OLD), &place),
        false => Ok(()),
    }
}

/// Renames the directory `new` to `place`; `before` if a pack exists there.
pub(crate) fn place_pack(writer: &Writer, new: &Path, place: &Path, before: bool) -> io::Result<()> {
    match before {
        false => fs::rename(new, place)?,
        true if exchange(new, place).is_ok() => {}
        true => replace_in_two_steps(writer, new, place)?,
    }
    sync_directory(writer.directory())
}

/// Exchanges two directories in one step.
#[cfg(target_os = "linux")]
fn exchange(new: &Path, place: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, new, CWD, place, RenameFlags::EXCHANGE)?)
}

#[cfg(not(target_os = "linux"))]
fn exchange(_new: &Path, _place: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Replaces a directory on systems that cannot exchange two in one step. If the process is killed between the steps,
/// the old pack remains with its name, and the next process restores it.
fn replace_in_two_steps(writer: &Writer, new: &Path, place: &Path) -> io::Result<()> {
    let replacing = writer.directory().join(REPLACING);
    fs::create_dir(&replacing)?;
    let name = place.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    fs::write(replacing.join(NAME), name)?;
    fs::rename(place, replacing.join(OLD))?;
    if let Err(error) = fs::rename(new, place) {
        fs::rename(replacing.join(OLD), place)?;
        return Err(error);
    }
    remove_if_present(&replacing)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn packs() -> (tempfile::TempDir, Writer) {
        let place = tempfile::tempdir().expect("a temporary directory");
        let writer = Writer::lock(place.path(), LOCK, Readers::AsUsual).expect("locks");
        (place, writer)
    }

    fn directory(place: &Path, name: &str, text: &str) -> PathBuf {
        let path = place.join(name);
        fs::create_dir(&path).expect("made");
        fs::write(path.join("x"), text).expect("written");
        path
    }

    #[test]
    fn a_pack_takes_the_place_of_another_in_one_step_or_in_two() {
        for put in [
            |writer: &Writer, new: &Path, place: &Path| place_pack(writer, new, place, true),
            replace_in_two_steps,
        ] {
            let (place, writer) = packs();
            let (old, new) = (directory(place.path(), "p", "old"), directory(place.path(), INCOMING, "new"));
            put(&writer, &new, &old).expect("takes its place");
            assert_eq!(fs::read_to_string(old.join("x")).expect("is there"), "new");
            recover_interrupted(&writer).expect("is in order");
            assert_eq!(fs::read_dir(place.path()).expect("is there").count(), 2, "the pack and the lock");
        }
    }

    #[test]
    fn a_pack_whose_place_stayed_empty_is_put_back() {
        let (place, writer) = packs();
        let replacing = place.path().join(REPLACING);
        fs::create_dir(&replacing).expect("made");
        directory(&replacing, OLD, "old");
        fs::write(replacing.join(NAME), "p").expect("written");
        recover_interrupted(&writer).expect("is in order");
        assert_eq!(fs::read_to_string(place.path().join("p/x")).expect("is there"), "old");
        assert!(!replacing.exists());
        for (name, there) in [("p", true), ("../q", false), ("", false)] {
            fs::create_dir(&replacing).expect("made");
            directory(&replacing, OLD, "other");
            fs::write(replacing.join(NAME), name).expect("written");
            recover_interrupted(&writer).expect("is in order");
            assert!(fs::read_to_string(place.path().join("p/x")).is_ok_and(|text| text == "old"));
            assert_eq!(place.path().join(name).join("x").exists(), there, "{name}");
        }
    }

    #[test]
    fn names_of_packs_are_safe_on_every_system() {
        for name in ["git_toolkit", "A-1.2", "雛形", "com", "console"] {
            assert!(check_pack_name(name).is_ok(), "{name}");
        }
        for name in [
            "", ".", "..", "../x", "a/b", "a\\b", ".hidden", "-x", "nul", "COM1", "lpt9.x", "a ", "a.",
            "a\nb", "a:b",
        ] {
            assert_eq!(check_pack_name(name).expect_err(name).reason(), Some(Reason::PackId));
        }
        assert!(check_pack_name(&"x".repeat(64)).is_ok() && check_pack_name(&"x".repeat(65)).is_err());
    }
}
