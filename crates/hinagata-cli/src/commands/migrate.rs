//! `hina migrate`: what will differ for the users of an older daemon.

mod documents;
mod finding;
mod hosts;
mod operation;
mod settings_file;

use std::path::PathBuf;

use hinagata::{
    Code, Error,
    store::{StoreKind, StoreSnapshot},
};
use hinagata_host::{mask_password, store_location};
use hinagata_server::legacy_config::LegacyConfig;
use serde_json::{Map, Value, json};

use self::finding::Finding;
use crate::{
    exit,
    failure::Failure,
    legacy,
    output::{self, Format},
    workspace::{Globals, Workspace},
};

/// Report what differs when an older daemon is replaced
///
/// Reads the config.yaml of the Go daemon (ai-prompt-shell) and the documents in its Redis, and writes to neither. Lists
/// the settings that are carried over, the hosts that its tools need, documents and prompts that do not work here, and
/// what changes for its clients. Your settings count too, so decisions that they already contain are not listed again.
/// The exit code is 0 if nothing is left to decide, 1 if something is, and 5 if Redis does not answer.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The config.yaml of the older daemon
    #[arg(long, value_name = "FILE")]
    config: PathBuf,

    /// Its Redis, if not the one that the file names
    #[arg(long, value_name = "URL")]
    redis: Option<String>,

    /// Write the settings that are carried over to a new file, readable only by you
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  hina migrate --config config.yaml
  hina migrate --config config.yaml --redis redis://127.0.0.1:6379/0 --json
  hina migrate --config config.yaml --write ~/.config/hinagata/config.toml";

/// What the command found.
struct Report<'r> {
    config: &'r LegacyConfig,
    file: String,
    store: String,
    documents: Map<String, Value>,
    /// The entries that `tools.allowed_hosts` lacks.
    allowed_hosts: Vec<String>,
    findings: Vec<Finding>,
    written: Option<&'r PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let config = legacy::read_config_file(&arguments.config)?;
    let redis = arguments.redis.iter().map(|url| format!("store.url={url}"));
    let named = globals.with_settings(redis);
    let workspace = Workspace::open_quietly(&legacy::with_config(&named, &config)?)?;
    workspace.host.check_store()?;
    let engine = workspace.open_engine()?;
    let snapshot = engine.store().ok_or_else(|| Error::new(Code::Store, "no store is configured"))?;
    if let Some((_, error)) = &snapshot.health.outage {
        return Err(error.clone().into());
    }
    let (mut findings, allowed_hosts) =
        (operation::find_differences(&workspace)?, hosts::find_hosts(&workspace, &snapshot)?);
    findings.extend(allowed_hosts.iter().map(hosts::NeededHost::to_finding));
    findings.extend(documents::find_problems(&engine, &workspace, &snapshot));
    // Stable: within each half, findings stay in the order of their topics.
    findings.sort_by_key(|finding| !finding.needs_decision);
    let allowed_hosts: Vec<String> = allowed_hosts.into_iter().flat_map(|host| host.entries).collect();
    if let Some(path) = &arguments.write {
        let url = workspace.host.settings.text("store.url").unwrap_or_default();
        let limits = legacy::unset_limits(&named, &config)?;
        settings_file::write_settings(
            path,
            &settings_file::settings_text(&config, url, &limits, &allowed_hosts),
        )?;
    }
    let report = Report {
        config: &config,
        file: arguments.config.display().to_string(),
        store: store_location(&workspace.host.settings, |file| workspace.display_path(file)),
        documents: document_counts(&snapshot),
        allowed_hosts,
        findings,
        written: arguments.write.as_ref(),
    };
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&report.to_json())?,
        Format::Text => output::print_text(&report.to_text())?,
    }
    match report.decision_count() {
        0 => Ok(()),
        _ => Err(Failure::Printed(exit::Code::Failed)),
    }
}

fn document_counts(snapshot: &StoreSnapshot) -> Map<String, Value> {
    let count = |kind: StoreKind| (kind.to_string(), snapshot.documents(kind).len().into());
    StoreKind::ALL.into_iter().map(count).collect()
}

impl Report<'_> {
    fn decision_count(&self) -> usize {
        self.findings.iter().filter(|finding| finding.needs_decision).count()
    }

    fn to_json(&self) -> Value {
        let carried = self.config.carried.iter().map(|carried| {
            json!({"from": carried.from, "setting": carried.setting, "value": mask_password(&carried.value)})
        });
        let dropped =
            self.config.dropped.iter().map(|(name, reason)| json!({"name": name, "reason": reason}));
        json!({
            "config": self.file,
            "store": self.store,
            "documents": self.documents,
            "settings": carried.collect::<Vec<_>>(),
            "environment": self.config.environment.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
            "dropped": dropped.collect::<Vec<_>>(),
            "ignored": self.config.ignored,
            "allowed_hosts": self.allowed_hosts,
            "findings": self.findings.iter().map(Finding::to_json).collect::<Vec<_>>(),
            "decisions": self.decision_count(),
            "written": self.written,
        })
    }

    fn to_text(&self) -> String {
        let counts: Vec<String> =
            self.documents.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let mut text = format!("{}, {}: {}\n", self.file, self.store, counts.join(", "));
        text.push_str(&section("Settings", &output::align_columns(&self.setting_rows())));
        let (decisions, others) = self.findings.split_at(self.decision_count());
        for (title, findings) in [("To decide", decisions), ("Differs", others)] {
            let lines: String = findings.iter().map(Finding::to_text).collect();
            text.push_str(&section(title, &lines));
        }
        if !self.allowed_hosts.is_empty() {
            let setting = format!("[tools]\nallowed_hosts = {}\n", json!(self.allowed_hosts));
            text.push_str(&section("Hosts of the tools, for your settings", &setting));
        }
        if let Some(path) = self.written {
            text.push_str(&format!("\nwritten: {}\n", path.display()));
        }
        text.push_str(&match self.decision_count() {
            0 => "\nnothing to decide\n".to_owned(),
            1 => "\n1 decision\n".to_owned(),
            count => format!("\n{count} decisions\n"),
        });
        text
    }

    fn setting_rows(&self) -> Vec<Vec<String>> {
        let row = |name: &str, effect: String| vec![name.to_owned(), output::sanitize_text(&effect)];
        let carried = self.config.carried.iter().map(|carried| {
            row(carried.from, format!("{} = {}", carried.setting, mask_password(&carried.value)))
        });
        let variables =
            self.config.environment.iter().map(|(name, _)| row("llm", format!("variable {name}")));
        let dropped =
            self.config.dropped.iter().map(|(name, reason)| row(name, format!("not needed: {reason}")));
        let ignored = self.config.ignored.iter().map(|name| row(name, "unknown, ignored".to_owned()));
        carried.chain(variables).chain(dropped).chain(ignored).collect()
    }
}

/// A titled part of the text; empty without content.
fn section(title: &str, content: &str) -> String {
    if content.is_empty() {
        return String::new();
    }
    let lines: String = content.lines().map(|line| format!("  {line}\n")).collect();
    format!("\n{title}\n{lines}")
}
