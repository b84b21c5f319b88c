//! Locks what a workspace has now.

use std::{
    collections::BTreeMap,
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use hinagata_catalog::{Catalog, PromptId};
use hinagata_document::{Code, Digest, Error, Hint, Result, Sha256Digester};
use hinagata_workspace::{
    Settings,
    settings::{ConfiguredModel, Origin},
    write::io_error,
};
use serde_json::Value;

use super::{Lock, LockedChoice, LockedPack, MergedLock, compare::wanted_differences};
use crate::{
    Packs, ReplacementState,
    location::{PackLocation, WantedPack},
    view::View,
    wanted::WantedPacks,
};

/// How to lock what a workspace has.
#[derive(Clone, Debug, Default)]
pub struct LockOptions {
    /// The SHA-256 of all files of each prompt, to lock prompts as well.
    pub prompts: Option<BTreeMap<String, String>>,
    /// The schemas that the servers of tools state, by id of the tool, to lock them as well.
    pub tool_schemas: BTreeMap<String, Value>,
}

impl Packs {
    /// The lock of the workspace as it is now: its installed packs, choices and tools. Fetches nothing.
    ///
    /// # Errors
    /// Code `lock` if a wanted pack is not installed as it is locked; code `definition` if `[packs]` is invalid.
    pub fn lock_state(&self, settings: &Settings, options: &LockOptions) -> Result<Lock> {
        let root = self.catalog().root();
        let wanted = WantedPacks::from_settings(settings)?;
        let before = Lock::read_merged(root)?;
        let mut lock = Lock { packs: self.lock_packs(&wanted, before)?, ..Lock::default() };
        if let Some(first) = wanted_differences(&wanted, &lock).into_iter().next() {
            return Err(Error::new(Code::Lock, format!("cannot lock the workspace: {}", first.message))
                .with_hint(Hint::SyncPacks));
        }
        self.lock_choices(&mut lock, settings)?;
        lock.prompts.clone_from(&options.prompts);
        let schemas = options.tool_schemas.iter();
        lock.tool_schemas = schemas.map(|(id, schema)| (id.clone(), schema_digest(schema))).collect();
        Ok(lock)
    }

    /// Locks the choices, the tools and the tokenizers of the workspace.
    pub(crate) fn lock_choices(&self, lock: &mut Lock, settings: &Settings) -> Result<()> {
        let catalog = self.catalog();
        lock.resolutions = read_choices(catalog);
        for pack in catalog.opened_packs() {
            let accepted = self.replacements(&View::from_pack(pack)).into_iter();
            for replacement in accepted.filter(|one| one.state == ReplacementState::Accepted) {
                let key = match PromptId::new(&replacement.replaces) {
                    Ok(id) if lock.resolutions.contains_key(id.as_str()) => id.to_string(),
                    _ => format!("tool:{}", replacement.replaces),
                };
                if let Some(choice) = lock.resolutions.get_mut(&key) {
                    choice.replaces = Some(pack.id.to_string());
                }
            }
        }
        lock.tools = tool_digests(catalog);
        lock.tokenizers = tokenizer_digests(&tokenizer_files(settings, catalog.root()))?;
        Ok(())
    }

    fn lock_packs(
        &self,
        wanted: &WantedPacks,
        before: Option<MergedLock>,
    ) -> Result<BTreeMap<String, LockedPack>> {
        let mut known = before.clone().map(|merged| merged.lock.packs).unwrap_or_default();
        let undecided = before.as_ref().map(|merged| merged.undecided.clone()).unwrap_or_default();
        let mut packs = BTreeMap::new();
        for pack in self.catalog().opened_packs() {
            let id = pack.id.to_string();
            let Some(Some(tree)) = self.installed_tree(&id) else { continue };
            // Where both sides of a merge lock other files, those that are installed decide.
            if let Some(side) = undecided.get(&id).into_iter().flatten().find(|side| side.tree == tree) {
                known.insert(id.clone(), side.clone());
            }
            let view = View::from_pack(pack);
            let manifest = view.manifest.as_ref().map_err(Clone::clone)?;
            let locked = known.remove(&id);
            let pinned = match (wanted.packs.get(&id), locked) {
                (_, Some(locked)) if locked.tree == tree => Some(locked),
                (Some(WantedPack::Location(PackLocation::Directory(_) | PackLocation::File(_))), _) => None,
                (Some(_), locked) => {
                    let what = match locked {
                        Some(_) => "has other files than its source had when it was locked",
                        None => "was not installed from its source in `[packs]`",
                    };
                    return Err(Error::new(
                        Code::Lock,
                        format!("cannot lock the workspace: pack `{id}` {what}"),
                    )
                    .with("pack_id", &*id)
                    .with_hint(Hint::SyncPacks));
                }
                (None, _) if !self.catalog().is_active(&pack.id) => continue,
                (None, _) => None,
            };
            let location = match wanted.packs.get(&id) {
                Some(WantedPack::Location(location)) => Some(location.clone()),
                _ => pinned.as_ref().and_then(|pinned| pinned.location.clone()),
            };
            let entry = LockedPack {
                version: manifest.version.clone(),
                location,
                commit: pinned.as_ref().and_then(|pinned| pinned.commit.clone()),
                tree,
                requires: manifest.requires.clone(),
                key: pinned.and_then(|pinned| pinned.key),
            };
            packs.insert(id, entry);
        }
        // Wanted packs that are not installed here stay locked as they are.
        for (id, locked) in known {
            if locked.location.is_some() && !packs.contains_key(&id) {
                packs.insert(id, locked);
            }
        }
        if let Some(merged) = before {
            let open: BTreeMap<_, _> =
                merged.undecided.into_iter().filter(|(id, _)| !packs.contains_key(id)).collect();
            MergedLock { lock: Lock::default(), had_conflict: true, undecided: open }.into_decided()?;
        }
        Ok(packs)
    }
}

/// The recorded choices of a workspace.
pub(super) fn read_choices(catalog: &Catalog) -> BTreeMap<String, LockedChoice> {
    let resolutions = catalog.resolutions();
    let choice = |source: &str| LockedChoice { source: source.to_owned(), replaces: None };
    let prompts = resolutions.iter().map(|(id, found)| (id.to_string(), choice(&found.source)));
    let tools = resolutions.tools().map(|(id, found)| (format!("tool:{id}"), choice(&found.source)));
    prompts.chain(tools).collect()
}

/// The SHA-256 of the definition of each tool of the store. Those of packs are locked by the files of the packs.
pub(super) fn tool_digests(catalog: &Catalog) -> BTreeMap<String, Digest> {
    let Some(store) = catalog.store() else { return BTreeMap::new() };
    let digest = |(id, stored): (&std::sync::Arc<str>, &hinagata_catalog::store::Stored)| {
        (id.to_string(), schema_digest(&stored.value))
    };
    store.tools.iter().map(digest).collect()
}

/// The SHA-256 of a schema, whatever the order of its keys.
#[must_use]
pub fn schema_digest(schema: &Value) -> Digest {
    Digest::sha256(canonical_json(schema).as_bytes())
}

/// JSON with sorted keys.
fn canonical_json(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<&String, String> =
                fields.iter().map(|(name, value)| (name, canonical_json(value))).collect();
            let field = |(name, value): (&String, String)| format!("{}:{value}", Value::String(name.clone()));
            format!("{{{}}}", sorted.into_iter().map(field).collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(canonical_json).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

/// The tokenizer files of the models of the workspace. Those of the user's own settings differ from machine to machine.
pub(super) fn tokenizer_files(settings: &Settings, root: &Path) -> Vec<(String, PathBuf)> {
    let models = settings.section("models");
    let file = |name: &String| {
        let setting = settings.get(&format!("models.{name}"))?;
        matches!(setting.origin, Origin::Workspace(_)).then_some(())?;
        Some((name.clone(), ConfiguredModel::from_settings(settings, root, name).ok()?.tokenizer?))
    };
    models.keys().filter_map(file).collect()
}

pub(super) fn tokenizer_digests(files: &[(String, PathBuf)]) -> Result<BTreeMap<String, Digest>> {
    let digest = |(name, path): &(String, PathBuf)| {
        let hash = || -> std::io::Result<Digest> {
            let (mut file, mut digester) = (File::open(path)?, Sha256Digester::default());
            let mut buffer = vec![0; 64 << 10];
            loop {
                match file.read(&mut buffer)? {
                    0 => return Ok(digester.finish()),
                    read => digester.add(&buffer[..read]),
                }
            }
        };
        Ok((name.clone(), hash().map_err(|error| io_error("read", path, error))?))
    };
    files.iter().map(digest).collect()
}
