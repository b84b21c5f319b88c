//! Helpers of the tests of packs.

#[cfg(feature = "archives")]
pub(crate) mod archive;
pub(crate) mod child;

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use hinagata::{Approvals, Catalog, CatalogOptions, StateDir};
use hinagata_packs::Packs;

/// A workspace and a state directory, which are removed at the end of a test.
pub(crate) struct Workspace {
    place: PathBuf,
    _temporary: Option<tempfile::TempDir>,
}

impl Workspace {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let temporary = tempfile::tempdir().expect("a temporary directory");
        let workspace = Self { place: temporary.path().to_owned(), _temporary: Some(temporary) };
        fs::create_dir(workspace.root()).expect("made");
        for (path, text) in files {
            workspace.write(path, text);
        }
        workspace
    }

    /// The workspace that another process created.
    pub(crate) fn at(place: PathBuf) -> Self {
        Self { place, _temporary: None }
    }

    /// The directory that contains both.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.place.join("workspace")
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub(crate) fn state(&self) -> StateDir {
        StateDir::from_path(self.place.join("state"))
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("has one")).expect("made");
        fs::write(path, text).expect("written");
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).expect("is there")
    }

    pub(crate) fn catalog(&self) -> Catalog {
        let root = self.root();
        let approvals = Approvals::load(&self.state(), &root);
        Catalog::open(CatalogOptions { approvals, ..CatalogOptions::new(root) })
    }

    pub(crate) fn packs(&self) -> Packs {
        Packs::new(&self.catalog(), &self.state())
    }

    pub(crate) fn approve(&self, pack: &str) {
        self.packs().approve(pack, None, now()).expect("approves");
    }

    /// The file `name` in the state directory of the only pack.
    pub(crate) fn remembered(&self, name: &str) -> PathBuf {
        let only = |directory: PathBuf| {
            let mut entries = fs::read_dir(&directory).expect("is there");
            entries.next().expect("has an entry").expect("readable").path()
        };
        only(only(self.state().path().join("workspaces")).join("packs")).join(name)
    }
}

/// A pack with every kind of content.
pub(crate) const PACK: [(&str, &str); 7] = [
    (
        "user_data/packs/p/pack.json",
        r#"{"pack_id": "p", "name": "P", "version": "1.0.0",
            "variable_providers": [{"file": "variables/v.py", "namespace": "v"}],
            "replaces": {"prompts": {"memory_update": "own"}, "tools": {"t": "u"}, "flows": {"f": "g"}}}"#,
    ),
    ("user_data/packs/p/prompts/own/template.md", "own {{ x }}\n"),
    (
        "user_data/packs/p/prompts/own/prompt.py",
        "METADATA = {'type': 'system'}\nPERMISSIONS = {'read_file': True}\ndef pre_render(v, c): pass\n",
    ),
    ("user_data/packs/p/prompts/partials/part.md", "part\n"),
    ("user_data/packs/p/variables/v.py", "def provide(context): return {}\n"),
    ("user_data/packs/p/vocab.json", r#"{"prompt.own": ["prompt.alias_of_own"]}"#),
    ("user_data/packs/p/agents/a/agent.json", r#"{"name": "A", "prompt_id": "own"}"#),
];

/// The time of every test.
pub(crate) fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_771_063_200)
}
