//! `hina store`: reads and writes the store.

mod transfer;

use std::path::PathBuf;

use hinagata::{
    Code, Engine, Error,
    store::{EXTENSION_SCHEMA, Freshness, StoreChange, StoreKind, StoreSnapshot, TOOL_SCHEMA},
};
use serde_json::{Map, Value, json};

use crate::{
    exit,
    failure::Failure,
    input::Inputs,
    output::{self, Format},
    workspace::{Globals, Workspace},
};

/// Read and write the store
///
/// The store holds extensions, templates, environs (shared variables) and tools, in a file of the workspace or in Redis
/// (setting store.url). Documents are validated before they are written.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "Examples:
  hina store set environs vscode.rules '[\"clear names\", \"small functions\"]'
  hina store set templates review.start --file review.json
  hina store get environs vscode.rules
  hina store list
  hina store export > store.json
  hina --set store.url=redis://localhost store import store.json";

#[derive(clap::Subcommand)]
enum Command {
    /// List the documents of the store
    List {
        /// Only one kind: extensions, templates, environs or tools
        kind: Option<StoreKind>,
    },
    /// Print one document
    Get {
        /// extensions, templates, environs or tools
        kind: StoreKind,
        /// Its id, such as vscode.rules; of environs also a part of one
        id: String,
    },
    /// Write a document; it replaces an existing one
    Set {
        /// extensions, templates, environs or tools
        kind: StoreKind,
        /// Its id, such as vscode.rules
        id: String,
        /// What it says, as JSON
        #[arg(required_unless_present = "file", conflicts_with = "file")]
        value: Option<String>,
        /// A file with what it says; - reads standard input
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// Treat the value as text, not as JSON
        #[arg(long)]
        text: bool,
    },
    /// Delete documents
    Delete {
        /// extensions, templates, environs or tools
        kind: StoreKind,
        /// Their ids
        #[arg(required = true)]
        ids: Vec<String>,
    },
    /// Export all documents as JSON; exit code 1 if invalid ones are left out
    Export,
    /// Import all documents of an export, or none if some are invalid; all of those are reported
    Import {
        /// The document; - reads standard input
        file: PathBuf,
        /// Delete documents that are not in the file
        #[arg(long)]
        replace: bool,
    },
    /// Show the location, health and problems of the store; exit code 5 if it does not answer
    Status,
    /// Print the JSON Schema of extensions or tools
    Schema {
        /// extensions or tools
        kind: StoreKind,
    },
}

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    if let Command::Schema { kind } = &arguments.command {
        return schema(*kind);
    }
    let workspace = Workspace::open(globals)?;
    let engine = workspace.open_engine()?;
    match &arguments.command {
        Command::List { kind } => list(&*live_snapshot(&engine, &workspace)?, *kind, globals),
        Command::Get { kind, id } => get(&*live_snapshot(&engine, &workspace)?, *kind, id),
        Command::Set { kind, id, value, file, text } => {
            let value = read_value(value.as_deref(), file.as_deref(), *text)?;
            write(&engine, vec![StoreChange::set(*kind, id.as_str(), value)])
        }
        Command::Delete { kind, ids } => delete(&engine, &workspace, *kind, ids),
        Command::Export => transfer::export_documents(&*live_snapshot(&engine, &workspace)?),
        Command::Import { file, replace } => {
            transfer::import_documents(&engine, &workspace, file, *replace, globals)
        }
        Command::Status => status(&engine, &workspace, globals),
        Command::Schema { .. } => unreachable!("printed above"),
    }
}

/// The state of the store. It fails if the store is unreachable, because an old state would mislead.
fn live_snapshot(engine: &Engine, workspace: &Workspace) -> Result<std::sync::Arc<StoreSnapshot>, Failure> {
    let snapshot = engine.store().ok_or_else(|| Error::new(Code::Store, "no store is configured"))?;
    if let Some((_, error)) = &snapshot.health.outage {
        return Err(error.clone().into());
    }
    snapshot.diagnostics.iter().for_each(|found| workspace.print_warning(found));
    Ok(snapshot)
}

fn list(snapshot: &StoreSnapshot, kind: Option<StoreKind>, globals: &Globals) -> Result<(), Failure> {
    let wanted = StoreKind::ALL.into_iter().filter(|known| kind.is_none_or(|kind| kind == *known));
    let all: Vec<_> = wanted
        .flat_map(|kind| snapshot.documents(kind).iter().map(move |(id, stored)| (kind, id, stored)))
        .collect();
    match Format::from_globals(globals) {
        Format::Json => {
            let described = all.iter().map(|(kind, id, stored)| {
                json!({"kind": kind.as_str(), "id": &***id, "key": &*stored.key, "stale": stored.stale.is_some()})
            });
            output::print_json(&described.collect::<Vec<_>>())
        }
        Format::Text => {
            let row = |(kind, id, stored): &(StoreKind, &std::sync::Arc<str>, &hinagata::store::Stored)| {
                let state = if stored.stale.is_some() { "stale" } else { "" };
                vec![kind.to_string(), id.to_string(), state.to_owned()]
            };
            output::print_text(&output::format_table(
                &["KIND", "ID", ""],
                &all.iter().map(row).collect::<Vec<_>>(),
            ))
        }
    }
}

fn get(snapshot: &StoreSnapshot, kind: StoreKind, id: &str) -> Result<(), Failure> {
    let whole = snapshot.documents(kind).get(id).map(|stored| &*stored.value);
    let part = || (kind == StoreKind::Environ).then(|| snapshot.environ(id)).flatten();
    match whole.or_else(part) {
        Some(value) => output::print_json(value),
        None => Err(missing_document(snapshot, kind, id)),
    }
}

fn missing_document(snapshot: &StoreSnapshot, kind: StoreKind, id: &str) -> Failure {
    let near = hinagata_value::near_names(id, snapshot.documents(kind).keys().map(|known| &**known));
    Failure::not_found(format!("{} `{id}` not found in the store", kind.singular()))
        .with_near(near)
        .with_hint(format!("`hina store list {kind}` lists what is there"))
}

/// The value to write.
fn read_value(value: Option<&str>, file: Option<&std::path::Path>, text: bool) -> Result<Value, Failure> {
    let (content, argument) = match (value, file) {
        (Some(value), _) => (value.to_owned(), value),
        (None, Some(file)) => (Inputs::default().read_text(file, "--file")?, "--file"),
        (None, None) => return Err(Failure::usage_error("no value is given")),
    };
    if text {
        return Ok(Value::String(content));
    }
    serde_json::from_str(&content).map_err(|error| {
        let failure =
            Failure::usage_error(format!("`{}` is not valid JSON: {error}", output::sanitize_text(argument)));
        failure.with_hint("write a string in quotes, as '\"go\"', or add --text")
    })
}

fn write(engine: &Engine, changes: Vec<StoreChange>) -> Result<(), Failure> {
    Ok(engine.write_store_blocking(changes)?)
}

fn delete(engine: &Engine, workspace: &Workspace, kind: StoreKind, ids: &[String]) -> Result<(), Failure> {
    let snapshot = live_snapshot(engine, workspace)?;
    if let Some(id) = ids.iter().find(|id| !snapshot.documents(kind).contains_key(id.as_str())) {
        return Err(missing_document(&snapshot, kind, id));
    }
    write(engine, ids.iter().map(|id| StoreChange::delete(kind, id.as_str())).collect())
}

fn status(engine: &Engine, workspace: &Workspace, globals: &Globals) -> Result<(), Failure> {
    let snapshot = engine.store().ok_or_else(|| Error::new(Code::Store, "no store is configured"))?;
    let place = hinagata_host::store_location(&workspace.host.settings, |file| workspace.display_path(file));
    let counts: Map<String, Value> = StoreKind::ALL
        .into_iter()
        .map(|kind| (kind.to_string(), snapshot.documents(kind).len().into()))
        .collect();
    let outage = snapshot.health.outage.as_ref().map(|(_, error)| error.to_string());
    match Format::from_globals(globals) {
        Format::Json => {
            let found: Vec<Value> =
                snapshot.diagnostics.iter().map(|found| workspace.to_diagnostic(found).to_json()).collect();
            output::print_json(&json!({
                "store": place,
                "up": snapshot.health.is_up(),
                "reason": snapshot.health.reason(),
                "outage": outage,
                "freshness": snapshot.health.freshness.as_str(),
                "documents": counts,
                "diagnostics": found,
            }))?;
        }
        Format::Text => {
            let answers = match (outage, snapshot.health.reason()) {
                (None, _) => "yes".to_owned(),
                (Some(error), None) => format!("no: {error}"),
                (Some(error), Some(reason)) => format!("no ({reason}): {error}"),
            };
            let mut rows = vec![
                vec!["store".to_owned(), place],
                vec!["answers".to_owned(), answers],
                vec!["changes".to_owned(), freshness_text(snapshot.health.freshness).to_owned()],
            ];
            rows.extend(counts.into_iter().map(|(kind, count)| vec![kind, count.to_string()]));
            snapshot.diagnostics.iter().for_each(|found| workspace.print_warning(found));
            output::print_text(&output::align_columns(&rows))?;
        }
    }
    // Scripts ask whether the store can be used; why not is printed.
    if snapshot.health.is_up() { Ok(()) } else { Err(Failure::Printed(exit::Code::Network)) }
}

/// How changes by others are detected, for display.
const fn freshness_text(freshness: Freshness) -> &'static str {
    match freshness {
        Freshness::Once => "read by each command",
        Freshness::Watched => "detected when the file changes",
        Freshness::Tracked => "reported by the server (client tracking)",
        Freshness::Notified => "reported by the server (keyspace notifications)",
        Freshness::Polled => "read again every few seconds",
    }
}

fn schema(kind: StoreKind) -> Result<(), Failure> {
    match kind {
        StoreKind::Extension => output::print_text(EXTENSION_SCHEMA),
        StoreKind::Tool => output::print_text(TOOL_SCHEMA),
        StoreKind::Template => {
            Err(Failure::usage_error("a template is one of `contributes.prompts` of an extension")
                .with_hint("`hina store schema extensions` has its shape under `$defs.prompt`"))
        }
        StoreKind::Environ => Err(Failure::usage_error("environs have no schema: any JSON value is valid")),
    }
}
