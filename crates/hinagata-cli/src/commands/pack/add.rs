//! `hina pack add`.

use hinagata::Digest;
use hinagata_packs::{PackSource, SyncOptions, WantedPack};
use serde_json::{Map, Value};

use super::{open_packs, open_source, sync};
use crate::{
    failure::Failure,
    output,
    workspace::{Globals, Workspace},
};

/// Add a pack to hinagata.toml, and install it
///
/// Without a source, the pack comes from the index that `packs.index` names. Everything is fetched and checked before
/// hinagata.toml is changed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The pack, with a range of versions for one of the index, such as memory_plus@1.2
    #[arg(value_name = "PACK[@RANGE]")]
    pack: String,

    /// Take it from this directory, relative to the workspace root
    #[arg(long, value_name = "PATH", group = "place")]
    dir: Option<String>,

    /// Take it from this archive, relative to the workspace root
    #[arg(long, value_name = "PATH", group = "place")]
    file: Option<String>,

    /// Take it from the archive at this https address
    #[arg(long, value_name = "ADDRESS", group = "place")]
    url: Option<String>,

    /// The SHA-256 of the archive at --url [default: that of what is there now]
    #[arg(long, value_name = "SHA256", requires = "url")]
    sha256: Option<String>,

    /// Take it from this git repository: an https, ssh or file address, or a path relative to the workspace root
    #[arg(long, value_name = "REPOSITORY", group = "place")]
    git: Option<String>,

    /// The tag in the repository
    #[arg(long, requires = "git", conflicts_with = "rev")]
    tag: Option<String>,

    /// The branch or the commit in the repository
    #[arg(long, requires = "git")]
    rev: Option<String>,

    /// The directory of the pack in the repository
    #[arg(long, requires = "git", value_name = "PATH")]
    path: Option<String>,

    /// Replace an installed pack whose files are not locked
    #[arg(long)]
    replace: bool,
}

const EXAMPLES: &str = "Examples:
  hina pack add memory_plus@1.2
  hina pack add git_toolkit --git https://example.com/packs.git --tag v1.2.0 --path packs/git
  hina pack add politeness --dir ../politeness
  hina pack add tools --url https://example.com/tools-1.0.0.tar.gz";

/// Largest archive whose hash is computed, in bytes.
const LARGEST: u64 = 64 << 20;

pub(super) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let source = open_source(&workspace)?;
    let (id, wanted) = arguments.wanted(&*source)?;
    let options =
        SyncOptions { replace: arguments.replace, ..SyncOptions::new(&workspace.host.settings, &*source) };
    let report = open_packs(&workspace)?.add_wanted(id, wanted, &options)?;
    sync::print_report(&report, globals)
}

impl Arguments {
    /// The name of the pack, and what is wanted.
    fn wanted(&self, source: &dyn PackSource) -> Result<(&str, WantedPack), Failure> {
        let (id, range) = match self.pack.split_once('@') {
            Some((id, range)) => (id, Some(range)),
            None => (self.pack.as_str(), None),
        };
        let fields: Map<String, Value> = [
            ("dir", &self.dir),
            ("file", &self.file),
            ("url", &self.url),
            ("sha256", &self.sha256),
            ("git", &self.git),
            ("tag", &self.tag),
            ("rev", &self.rev),
            ("path", &self.path),
        ]
        .into_iter()
        .filter_map(|(name, text)| Some((name.to_owned(), text.clone()?.into())))
        .collect();
        if fields.is_empty() {
            return Ok((id, WantedPack::from_value(&range.unwrap_or("*").into())?));
        }
        if range.is_some() {
            return Err(Failure::usage_error("a range of versions belongs to packs of the index")
                .with_hint("leave out `@…`, or the source"));
        }
        self.read_location(id, fields, source)
    }

    fn read_location<'a>(
        &self,
        id: &'a str,
        mut fields: Map<String, Value>,
        source: &dyn PackSource,
    ) -> Result<(&'a str, WantedPack), Failure> {
        let Some(url) = self.url.as_ref().filter(|_| self.sha256.is_none()) else {
            return Ok((id, WantedPack::from_value(&Value::Object(fields))?));
        };
        // The address is checked before anything is fetched from it.
        fields.insert("sha256".to_owned(), Digest::sha256(b"").to_string().into());
        WantedPack::from_value(&Value::Object(fields.clone()))?;
        let sha256 = Digest::sha256(&source.download(url, LARGEST)?).to_string();
        output::print_status(&format!(
            "the archive has the SHA-256 {sha256}; compare it with what its author says\n"
        ));
        fields.insert("sha256".to_owned(), sha256.into());
        Ok((id, WantedPack::from_value(&Value::Object(fields))?))
    }
}
