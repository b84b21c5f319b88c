//! Files that the author of a prompt lets a caller name: parameters of the type `file`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{pipeline::Call, scope::Scope};
use crate::{
    Approval, Code, Error, PACKS, PackId, Result, candidates::not_approved, secret, source::Directory,
};

/// Largest file that a parameter can name, in bytes.
const LARGEST: u64 = 1 << 20;

impl Call<'_> {
    /// Puts the content of the file that the parameter `name` names into its place.
    pub(super) fn file_parameter(&self, scope: &mut Scope<'_>, name: &str) -> Result<()> {
        let Some(Value::String(path)) = scope.get(name) else { return Ok(()) };
        let text = self.read_beneath(path).map_err(|error| error.with("parameter", name))?;
        scope.over.insert(name.to_owned(), Value::String(text));
        Ok(())
    }

    /// The text of a file beneath the workspace path, or else the prompt's own directory.
    pub(super) fn read_beneath(&self, path: &str) -> Result<String> {
        let mut refused = None;
        let places: [&dyn Fn() -> Result<Option<String>>; 2] =
            [&|| self.workspace_file(path), &|| self.own_file(path)];
        for read in places {
            match read() {
                Ok(Some(text)) => return Ok(text),
                Ok(None) => {}
                Err(error) if error.code() == Code::Approval => return Err(error),
                Err(error) => refused = refused.or(Some(error)),
            }
        }
        let reason = match &refused {
            Some(error) => error.message().to_owned(),
            None => format!("there is no file `{path}`"),
        };
        let error = Error::new(Code::Validation, reason)
            .with("reason", "file")
            .with("file", path)
            .with_hint("name a file beneath the workspace path or the prompt's directory");
        Err(match refused {
            Some(cause) => error.with_source(cause),
            None => error,
        })
    }

    /// A file beside the prompt. Of a pack, it is compared with what the user approved, as everything of the pack is.
    fn own_file(&self, path: &str) -> Result<Option<String>> {
        let entry = &self.plan.choice.entry;
        let Some(text) = entry.file(path, LARGEST)? else { return Ok(None) };
        if entry.pack().is_none() {
            let root = self.snapshot.catalog.root();
            self.refuse_secret(&root.join(entry.source()), path, &text)?;
        }
        Ok(Some(text.to_string()))
    }

    /// In a workspace that nobody trusts, whoever wrote the prompt may not reach for secrets of the user.
    fn refuse_secret(&self, directory: &Path, path: &str, text: &str) -> Result<()> {
        match self.engine.0.options.trusted {
            true => Ok(()),
            false => secret::refuse_file(directory, path, text.as_bytes()),
        }
    }

    fn workspace_file(&self, path: &str) -> Result<Option<String>> {
        let root = self.workspace();
        let inner = relative(&root, path);
        self.snapshot.catalog.check_file(Some(&self.plan.choice.entry), &root.join(inner))?;
        if let Some((pack, inner)) = self.in_pack(&root.join(path)) {
            return self.pack_file(&pack, &inner);
        }
        let Some(directory) = Directory::open(&root)? else { return Ok(None) };
        let Some(file) = directory.read(inner, LARGEST)? else { return Ok(None) };
        self.refuse_secret(&root, inner, &file.text)?;
        Ok(Some(file.text.to_string()))
    }

    /// The pack that a path leads into, over links or not, and the path from there.
    fn in_pack(&self, path: &Path) -> Option<(PackId, String)> {
        let packs = self.snapshot.catalog.root().join(PACKS);
        let inner = |path: &Path, packs: &Path| {
            let mut parts = path.strip_prefix(packs).ok()?.iter();
            let pack = PackId::new(parts.next()?.to_str()?);
            let rest: PathBuf = parts.collect();
            Some((pack, rest.to_str()?.to_owned()))
        };
        let real = || inner(&path.canonicalize().ok()?, &packs.canonicalize().ok()?);
        inner(path, &packs).or_else(real).filter(|(_, rest)| !rest.is_empty())
    }

    /// A file of a pack, whoever asks for it: what nobody approved does not get into a render by way of the workspace.
    fn pack_file(&self, pack: &PackId, path: &str) -> Result<Option<String>> {
        let catalog = &self.snapshot.catalog;
        match catalog.approval(pack) {
            Approval::Approved => Ok(catalog.pack_file(pack, path, LARGEST)?.map(|text| text.to_string())),
            _ => Err(not_approved(pack)),
        }
    }

    /// The directory that is worked on: that of the caller, else the workspace root.
    pub(super) fn workspace(&self) -> PathBuf {
        let root = self.snapshot.catalog.root();
        self.request.context.workspace_path.as_ref().map_or_else(|| root.to_owned(), PathBuf::from)
    }
}

/// A path as one from `root`; an absolute one that is not beneath stays as it is, and is refused.
fn relative<'p>(root: &Path, path: &'p str) -> &'p str {
    let inner = Path::new(path).strip_prefix(root).ok().and_then(Path::to_str);
    inner.unwrap_or(path).trim_start_matches("./")
}
