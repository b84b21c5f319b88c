//! `hina limits`: the render limits.

use hinagata::settings::ResolvedSetting;
use serde_json::{Map, Value};

use crate::{
    failure::Failure,
    output::{self, Format},
    workspace::{Globals, Workspace},
};

/// Print the render limits
///
/// Steps and bytes are counted the same on every machine, so a prompt fits its limits everywhere or nowhere. Each limit
/// is a setting, limits.NAME.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  hina limits\n  hina limits --json\n  hina limits --set limits.bytes=16MiB"
)]
pub(crate) struct Arguments {}

pub(crate) fn run(_arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let settings = workspace.host.settings.iter();
    let limits: Vec<_> =
        settings.filter_map(|(name, resolved)| Some((name.strip_prefix("limits.")?, resolved))).collect();
    match Format::from_globals(globals) {
        Format::Text => output::print_text(&table(&limits)),
        // Amounts as plain numbers: items, characters, bytes, seconds.
        Format::Json => output::print_json(
            &limits
                .iter()
                .map(|(name, found)| ((*name).to_owned(), found.value.clone()))
                .collect::<Map<String, Value>>(),
        ),
    }
}

fn table(limits: &[(&str, &ResolvedSetting)]) -> String {
    let text = |found: &ResolvedSetting| found.setting.kind.format_value(&found.value);
    let names = limits.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let amounts = limits.iter().map(|(_, found)| text(found).len()).max().unwrap_or_default();
    let row = |(name, found): &(&str, &ResolvedSetting)| {
        format!("{name:names$}  {:>amounts$}  {}\n", text(found), found.setting.meaning)
    };
    limits.iter().map(row).collect()
}
