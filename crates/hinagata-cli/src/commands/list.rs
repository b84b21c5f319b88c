//! `hina list`: lists prompts.

use std::sync::Arc;

use hinagata::{
    Catalog, Code, Listing, PackId, PromptFilter, SHARED_PROMPTS,
    source::{Entry, RootKind},
};
use serde_json::{Value, json};

use crate::{
    failure::Failure,
    output::{self, Format},
    workspace::{Globals, Workspace},
};

/// List all prompts
///
/// Prompts of packs that are not approved are left out. Broken prompts and conflicts are marked; `hina show ID` and
/// `hina candidates ID` show details.
#[derive(Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Only prompts of this type, such as system
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,

    /// Only prompts with this tag; several times: with all of them
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,

    /// Only prompts made for this scene, such as chat or codereview, or for any
    #[arg(long, value_name = "SCENE")]
    supports: Option<String>,

    /// Only prompts made for this programming language, or for any
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<String>,

    /// Only prompts of this pack
    #[arg(long, value_name = "PACK")]
    pack: Option<String>,

    /// List only unresolved conflicts
    #[arg(long)]
    conflicts: bool,
}

const EXAMPLES: &str = "Examples:
  hina list
  hina list --type system --tag coding
  hina list --conflicts
  hina list | cut -f1              the ids alone
  hina list --json

Away from a terminal each prompt is one line: id, type, version and source between tabs.";

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let catalog = workspace.open_catalog();
    workspace.warn_unread(&catalog);
    let lines: Vec<Line> = catalog.list().into_iter().map(|listing| Line::new(&catalog, listing)).collect();
    let (lines, others): (Vec<Line>, Vec<Line>) =
        lines.into_iter().partition(|line| line.is_wanted(arguments));
    warn_undecided(&workspace, arguments, &others);
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&lines.iter().map(Line::json).collect::<Vec<_>>()),
        Format::Text => {
            let rows: Vec<_> = lines.iter().map(Line::row).collect();
            output::print_text(&output::format_table(
                &["ID", "TYPE", "VERSION", "FROM", "DESCRIPTION"],
                &rows,
            ))
        }
    }
}

/// Warns about prompts that are left out because their metadata is computed.
fn warn_undecided(workspace: &Workspace, arguments: &Arguments, left_out: &[Line]) {
    let asked = arguments.kind.is_some() || !arguments.tag.is_empty();
    let computed = left_out.iter().filter(|line| asked && line.has_computed_metadata());
    for line in computed.filter(|line| line.is_of_pack(arguments) && !arguments.conflicts) {
        workspace.print_advice(
            format!("`{}` is left out: prompt.py computes its METADATA", line.listing.id),
            "write METADATA as plain literals",
        );
    }
}

struct Line {
    listing: Listing,
    /// The chosen directory, if any.
    entry: Option<Arc<Entry>>,
}

impl Line {
    fn new(catalog: &Catalog, listing: Listing) -> Self {
        let entry = catalog.choose(listing.id.as_str()).ok().map(|choice| choice.entry);
        Self { listing, entry }
    }

    fn pack(&self) -> Option<&PackId> {
        self.entry.as_ref()?.pack()
    }

    fn source(&self) -> Option<&str> {
        self.entry.as_ref().map(|entry| entry.source())
    }

    /// Its origin: the directory, or in the table a short word.
    fn place(&self) -> String {
        let Some(entry) = &self.entry else { return "-".to_owned() };
        match entry.root() {
            _ if !output::is_terminal() => entry.source().to_owned(),
            RootKind::Shared => "yours".to_owned(),
            RootKind::Builtin => "built in".to_owned(),
            RootKind::Store => "store".to_owned(),
            RootKind::Pack(pack) => format!("pack {pack}"),
            RootKind::Library(_) => match entry.source().strip_suffix(&format!("/{}", entry.name())) {
                Some(place) => format!("library {}", place.trim_end_matches(&format!("/{SHARED_PROMPTS}"))),
                None => "library".to_owned(),
            },
            RootKind::Foreign(_) | RootKind::Named => "foreign".to_owned(),
            RootKind::Path(_) => entry.source().rsplit_once('/').map_or("-", |(place, _)| place).to_owned(),
        }
    }

    fn is_of_pack(&self, arguments: &Arguments) -> bool {
        arguments.pack.is_none() || self.pack().map(PackId::as_str) == arguments.pack.as_deref()
    }

    /// Whether its file computes type, version and tags.
    fn has_computed_metadata(&self) -> bool {
        let definition = self.listing.definition.as_ref();
        definition.is_ok_and(|definition| definition.hooks.is_computed("METADATA"))
    }

    fn is_wanted(&self, arguments: &Arguments) -> bool {
        let conflict = matches!(&self.listing.definition, Err(error) if error.code() == Code::Conflict);
        if arguments.conflicts && !conflict || !self.is_of_pack(arguments) {
            return false;
        }
        let Arguments { kind, tag, supports, language, .. } = arguments.clone();
        PromptFilter { kind, tags: tag, supports, language }.matches_listing(&self.listing)
    }

    fn row(&self) -> Vec<String> {
        let id = self.listing.id.as_str().to_owned();
        let place = self.place();
        match &self.listing.definition {
            Ok(_) if self.has_computed_metadata() => {
                let mut row = vec![id, "computed".to_owned(), "-".to_owned(), place];
                if output::is_terminal() {
                    row.push("prompt.py computes its METADATA".to_owned());
                }
                row
            }
            Ok(definition) => {
                let metadata = &definition.metadata;
                let mut row = vec![id, metadata.kind.clone(), metadata.version.clone(), place];
                // Scripts do not need the explanation.
                if output::is_terminal() {
                    let described = metadata.description.as_ref().or(metadata.title.as_ref());
                    row.push(described.cloned().unwrap_or_default());
                }
                row
            }
            Err(error) if error.code() == Code::Conflict => {
                vec![id, "conflict".to_owned(), "-".to_owned(), place, error.message().to_owned()]
            }
            Err(error) => vec![id, "broken".to_owned(), "-".to_owned(), place, error.message().to_owned()],
        }
    }

    fn json(&self) -> Value {
        let definition = self.listing.definition.as_ref();
        let computed = self.has_computed_metadata();
        let metadata = definition.ok().filter(|_| !computed).map(|definition| &definition.metadata);
        let error = definition.err().map(|error| crate::diagnostic::Diagnostic::from(error).to_json());
        json!({
            "prompt_id": self.listing.id.as_str(),
            "type": metadata.map(|metadata| &metadata.kind),
            "version": metadata.map(|metadata| &metadata.version),
            "title": metadata.map(|metadata| &metadata.title),
            "description": metadata.map(|metadata| &metadata.description),
            "tags": metadata.map(|metadata| &metadata.tags),
            "source": self.source(),
            "pack_id": self.pack(),
            "computed": computed,
            "error": error,
        })
    }
}
