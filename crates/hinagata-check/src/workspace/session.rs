//! Checks of one prompt at a time, for programs that show what an edit changes.

use std::collections::BTreeSet;

use hinagata_catalog::{Catalog, ResolvedPrompt, definition::Inherited};

use super::{CheckOptions, general_findings, identity, prompt::PromptChecker, provider_names};
use crate::{
    check::{ParseCache, Variables},
    finding::Finding,
    silence::Silences,
};

/// What one prompt has wrong, and what it depends on.
#[derive(Clone, Debug, Default)]
pub struct PromptReport {
    /// The findings in its files and in the templates that it uses. A template that several prompts use has its findings in
    /// the report of each.
    pub findings: Vec<Finding>,
    /// The files that it uses, its own among them, as paths from the workspace root.
    pub files: BTreeSet<String>,
    /// The sources of the prompts that it extends.
    pub parents: Vec<String>,
}

/// Checks the prompt at `source`; `None` if there is no such prompt. `parsed` keeps parsed templates between calls.
#[must_use]
pub fn check_prompt(
    catalog: &Catalog,
    options: &CheckOptions,
    source: &str,
    parsed: &mut ParseCache,
) -> Option<PromptReport> {
    let entry = catalog.entry_at(source)?;
    let providers = provider_names(catalog);
    let checked = PromptChecker::new(catalog, options, &providers, parsed).check_entry(&entry);
    let mut silences = Silences::for_review(options.is_review);
    silences.add_allowed(source, &checked.allowed);
    checked.texts.iter().for_each(|text| silences.add_text(text));
    let mut seen = BTreeSet::new();
    let mut findings = checked.findings;
    findings.retain(|finding| seen.insert(identity(finding)));
    silences.apply(&mut findings, &|_| true);
    options.levels.apply(&mut findings);
    findings.sort_by(|one, other| one.sort_key().cmp(&other.sort_key()));
    let choice = ResolvedPrompt { id: entry.id().clone(), entry: entry.clone() };
    let inherited = catalog.inherited_definition(&choice).ok();
    let parents =
        inherited.iter().flat_map(|inherited| &inherited.parents).map(|parent| parent.source.clone());
    let mut files = checked.files;
    if let Ok(definition) = entry.definition() {
        files.extend(definition.files.iter().map(|read| read.file.clone()));
    }
    Some(PromptReport { findings, files, parents: parents.collect() })
}

/// What is wrong with a catalog besides its prompts: packs, resolutions, vocabularies, agents, the store.
#[must_use]
pub fn check_catalog(catalog: &Catalog, options: &CheckOptions) -> Vec<Finding> {
    let mut findings = general_findings(catalog, options);
    options.levels.apply(&mut findings);
    findings.sort_by(|one, other| one.sort_key().cmp(&other.sort_key()));
    findings
}

/// The variables that the templates of a prompt can read, as its declarations describe them.
#[must_use]
pub fn prompt_variables(
    catalog: &Catalog,
    options: &CheckOptions,
    source: &str,
) -> Option<(Inherited, Variables)> {
    let entry = catalog.entry_at(source)?;
    let choice = ResolvedPrompt { id: entry.id().clone(), entry };
    let inherited = catalog.inherited_definition(&choice).ok()?;
    let providers = provider_names(catalog);
    let mut parsed = ParseCache::default();
    let variables = PromptChecker::new(catalog, options, &providers, &mut parsed).variables(&inherited);
    Some((inherited, variables))
}
