//! Completion candidates: the existing names.

use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};

use crate::workspace::{Globals, Workspace};

/// The environment variable that a shell sets to request completions.
pub(crate) const VARIABLE: &str = "HINAGATA_COMPLETE";

/// The ids of prompts, each with its description.
pub(crate) fn complete_prompts() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        // Errors give no candidates. Running the command reports them.
        let Ok(workspace) = Workspace::open_quietly(&Globals::for_scripts()) else { return Vec::new() };
        let candidate = |listing: hinagata::Listing| {
            let described = listing.definition.ok().and_then(|found| found.metadata.description.clone());
            CompletionCandidate::new(listing.id.as_str())
                .help(described.map(|text| crate::output::sanitize_text(&text).into()))
        };
        workspace.open_catalog().list().into_iter().map(candidate).collect()
    })
}

/// The names of packs, each with its approval state.
pub(crate) fn complete_packs() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let Ok(workspace) = Workspace::open_quietly(&Globals::for_scripts()) else { return Vec::new() };
        let catalog = workspace.open_catalog();
        let candidate = |id: &hinagata::PackId| {
            CompletionCandidate::new(id.as_str()).help(Some(catalog.approval(id).as_str().into()))
        };
        catalog.packs().map(candidate).collect()
    })
}

/// The names of settings, each with its meaning.
pub(crate) fn complete_settings() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let named = hinagata::settings::SETTINGS.iter().filter(|setting| !setting.is_section());
        let candidate = |setting: &hinagata::settings::Setting| {
            CompletionCandidate::new(setting.name).help(Some(setting.meaning.into()))
        };
        named.map(candidate).collect()
    })
}
