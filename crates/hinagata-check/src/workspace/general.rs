//! What is wrong in a workspace besides its prompts: vocabulary, resolutions, packs.

use std::collections::BTreeSet;

use hinagata_catalog::{
    Alias, Catalog, Manifest, PromptId, VariableProvider, Vocabulary,
    pack::{LARGEST_MANIFEST, Pack},
    source::{Index, RootKind},
};
use hinagata_document::{Code, Diagnostic, Error, Hint, Place, Severity};
use hinagata_value::near_names;

use super::{CheckOptions, place_python, prompt::RESERVED};
use crate::{
    codes::{
        CATALOG_ALIAS_DEAD, CATALOG_ALIAS_HIDES, CATALOG_ALIAS_LOOP, CATALOG_CONFLICT, CATALOG_ID,
        CATALOG_PROBLEM, CATALOG_STALE_RESOLUTION, CodeSpec, LOCK_DRIFT, PACK_LISTED, PACK_MANIFEST,
        PACK_STATE, PACK_VERSION, TEMPLATE_UNUSED,
    },
    finding::Finding,
    hooks::{Granted, check_python, find_syntax_error},
    level::Level,
};

/// Largest Python file of a pack that is read, in bytes.
const LARGEST_PYTHON: u64 = 1 << 20;
/// The most turns of a chain of aliases.
const MOST_ALIASES: usize = 10;
/// Where the user's choices between candidates are.
const RESOLUTIONS: &str = "user_data/shared/prompts/resolution.json";

/// The findings that are about no single prompt.
pub(super) fn general_findings(catalog: &Catalog, options: &CheckOptions) -> Vec<Finding> {
    let found = catalog.check_files().into_iter().chain(options.more.iter().cloned());
    let mut findings: Vec<Finding> = found.map(|found| of_diagnostic(catalog, found)).collect();
    for listing in catalog.list() {
        if let Err(error) = listing.definition
            && error.code() == Code::Conflict
        {
            findings.push(Finding::new(&CATALOG_CONFLICT, Level::Error, listing.id.to_string(), error));
        }
    }
    findings.extend(stale_resolutions(catalog));
    findings.extend(alias_findings(catalog, catalog.vocabulary()));
    findings
        .extend(catalog.opened_packs().iter().flat_map(|pack| PackCheck::new(catalog, pack).check_pack()));
    findings
}

/// The mistakes in the manifest of a pack, approved or not: what it lists and does not have, and providers that cannot
/// work.
#[must_use]
pub fn check_manifest(catalog: &Catalog, pack: &Pack) -> Vec<Finding> {
    let mut findings = PackCheck::new(catalog, pack).check_pack();
    findings.retain(|finding| finding.code.group() == PACK_MANIFEST.group());
    findings
}

fn of_diagnostic(catalog: &Catalog, found: Diagnostic) -> Finding {
    let is_pack = catalog.opened_packs().iter().any(|pack| pack.path() == found.source);
    let level = match found.severity {
        Severity::Error => Level::Error,
        Severity::Warning => Level::Warning,
    };
    let (code, level): (&'static CodeSpec, _) = match found.error.code() {
        Code::Approval if is_pack && level == Level::Warning => (&PACK_STATE, Level::Hint),
        Code::Conflict => (&CATALOG_CONFLICT, level),
        Code::Id => (&CATALOG_ID, level),
        Code::Lock => (&LOCK_DRIFT, level),
        _ if is_pack => (&PACK_MANIFEST, level),
        _ => (&CATALOG_PROBLEM, level),
    };
    Finding::new(code, level, found.source, found.error)
}

/// Resolutions that name a candidate which is gone.
fn stale_resolutions(catalog: &Catalog) -> Vec<Finding> {
    let is_gone = |id: &PromptId, source: &str| {
        catalog.entry_at(source).is_none_or(|entry| {
            let named = catalog.candidate_entries(id.as_str()).unwrap_or_default();
            !named.iter().any(|candidate| candidate.source() == entry.source())
        })
    };
    let stale = catalog.resolutions().iter().filter(|(id, chosen)| is_gone(id, &chosen.source));
    stale
        .map(|(id, chosen)| {
            let message =
                format!("the resolution of `{id}` chooses `{}`, which does not exist", chosen.source);
            let error = Error::new(Code::Definition, message)
                .at(Place::of_file(RESOLUTIONS))
                .with_hint(Hint::ShowCandidates { id: id.to_string() });
            let code = &CATALOG_STALE_RESOLUTION;
            Finding::new(code, code.level, RESOLUTIONS, error)
        })
        .collect()
}

/// Aliases of prompts that lead nowhere, in a circle, or that a prompt hides; and circles of other words.
fn alias_findings(catalog: &Catalog, vocabulary: &Vocabulary) -> Vec<Finding> {
    let exists = |word: &str| {
        PromptId::from_store_name(word)
            .is_ok_and(|id| catalog.roots().iter().any(|index| index.find(&id).next().is_some()))
    };
    let mut findings = Vec::new();
    let mut push = |code: &'static CodeSpec, alias: &Alias<'_>, message: String, near: Vec<String>| {
        let error = Error::new(Code::Definition, message).at(alias.place.clone()).with_near(near);
        findings.push(Finding::new(code, code.level, alias.place.file.clone(), error));
    };
    for alias in vocabulary.aliases() {
        let Alias { namespace, word, target, .. } = alias;
        let name = format!("{namespace}.{word}");
        let mut chain = vec![word.to_owned()];
        let mut current = word;
        while let Some(next) = vocabulary.follow_aliases(namespace, current, |_| true) {
            let is_known = chain.iter().any(|known| known == next);
            chain.push(next.to_owned());
            if is_known || chain.len() > MOST_ALIASES {
                break;
            }
            current = next;
        }
        let is_loop = vocabulary.preferred_word(namespace, word).is_none();
        if namespace == "prompt" && exists(word) {
            let message = format!("the alias `{name}` is never used: there is a prompt `{word}`");
            push(&CATALOG_ALIAS_HIDES, &alias, message, Vec::new());
        } else if is_loop {
            let message = format!("the aliases of `{name}` lead in a circle: {}", chain.join(" -> "));
            push(&CATALOG_ALIAS_LOOP, &alias, message, Vec::new());
        } else if namespace == "prompt" && vocabulary.follow_aliases(namespace, word, exists).is_none() {
            let ids: Vec<String> = catalog.list().iter().map(|listing| listing.id.to_string()).collect();
            let near = near_names(target, ids.iter().map(String::as_str));
            let message = format!("the alias `{name}` leads to `{target}`, and no prompt is called so");
            push(&CATALOG_ALIAS_DEAD, &alias, message, near);
        }
    }
    findings
}

/// The check of one pack, whether it is approved or not.
struct PackCheck<'p> {
    pack: &'p Pack,
    file: String,
    text: String,
    prompts: BTreeSet<PromptId>,
    findings: Vec<Finding>,
}

impl<'p> PackCheck<'p> {
    fn new(catalog: &Catalog, pack: &'p Pack) -> Self {
        let is_own = |kind: &RootKind| matches!(kind, RootKind::Pack(id) if *id == pack.id);
        let index = catalog.roots().iter().find(|index| is_own(&index.root.kind));
        let prompts = index.into_iter().flat_map(Index::iter).map(|entry| entry.id().clone());
        let text = pack.directory().read("pack.json", LARGEST_MANIFEST).ok().flatten();
        Self {
            pack,
            file: format!("{}/pack.json", pack.path()),
            text: text.map(|file| file.text.to_string()).unwrap_or_default(),
            prompts: prompts.collect(),
            findings: Vec::new(),
        }
    }

    fn check_pack(mut self) -> Vec<Finding> {
        let Ok(manifest) = Manifest::parse(&self.file, &self.text) else { return self.findings };
        if semver::Version::parse(&manifest.version).is_err() {
            let message = format!("`{}` is not a version", manifest.version);
            self.push(&PACK_VERSION, &manifest.version, message, "write three numbers, such as 1.2.0");
        }
        for listed in &manifest.prompts {
            self.check_prompt(
                listed,
                format!("the pack lists the prompt `{listed}`, which it does not have"),
            );
        }
        for (replaced, by) in &manifest.replaces.prompts {
            self.check_prompt(
                by,
                format!("`{replaced}` is replaced by `{by}`, which the pack does not have"),
            );
        }
        for (replaced, by) in &manifest.replaces.tools {
            let own = by.strip_prefix(self.pack.id.as_str()).and_then(|rest| rest.strip_prefix('.'));
            let file = format!("tools/{}.json", own.unwrap_or(by));
            if !matches!(self.pack.directory().read(&file, LARGEST_MANIFEST), Ok(Some(_))) {
                let message =
                    format!("the tool `{replaced}` is replaced by `{by}`, which the pack does not have");
                self.push(&PACK_LISTED, by, message, "add the tool, or remove the entry");
            }
        }
        let mut namespaces = BTreeSet::new();
        for provider in &manifest.providers {
            self.check_namespace(provider, !namespaces.insert(&provider.namespace));
            self.check_provider(provider);
        }
        self.findings
    }

    fn check_prompt(&mut self, name: &str, message: String) {
        let known = PromptId::from_directory_name(name).is_some_and(|id| self.prompts.contains(&id));
        if !known {
            let near = near_names(name, self.prompts.iter().map(PromptId::as_str));
            let error = Error::new(Code::Definition, message).at(self.place(name)).with_near(near);
            self.findings.push(Finding::new(&PACK_LISTED, PACK_LISTED.level, self.pack.path(), error));
        }
    }

    fn check_namespace(&mut self, provider: &VariableProvider, is_second: bool) {
        let name = &provider.namespace;
        let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_')
            && name.chars().next().is_some_and(|first| !first.is_ascii_digit());
        let message = if RESERVED.contains(&name.as_str()) {
            format!("the namespace `{name}` is reserved")
        } else if !is_name {
            format!("the namespace `{name}` is not a name that a template can write")
        } else if is_second {
            format!("two variable providers have the namespace `{name}`")
        } else {
            return;
        };
        self.push(&PACK_MANIFEST, name, message, "give it another name");
    }

    fn check_provider(&mut self, provider: &VariableProvider) {
        let file = &provider.file;
        let is_outside = file.starts_with(['/', '\\']) || file.split(['/', '\\']).any(|part| part == "..");
        if is_outside {
            let message = format!("the variable provider `{file}` is outside of the pack");
            self.push(&PACK_MANIFEST, file, message, "move the file into the pack");
            return;
        }
        match self.pack.directory().read(file, LARGEST_PYTHON) {
            Ok(Some(read)) => {
                let path = format!("{}/{file}", self.pack.path());
                let permissions = provider.permissions();
                let granted = Granted {
                    allows: &|name| permissions.contains(&name),
                    declared: provider
                        .permissions
                        .iter()
                        .filter(|(_, used)| **used)
                        .map(|(name, _)| name.as_str())
                        .collect(),
                    declaration: "`permissions` of the variable provider in pack.json",
                };
                let found = match find_syntax_error(&read.text) {
                    Some(error) => vec![error],
                    None => check_python(&read.text, &granted),
                };
                let source = self.pack.path();
                self.findings.extend(place_python(found, &source, &path, &read.text));
            }
            Ok(None) => {
                let message = format!("the variable provider `{file}` does not exist");
                self.push(&PACK_LISTED, file, message, "add the file, or remove the entry");
            }
            Err(error) => {
                let finding = Finding::new(&PACK_LISTED, PACK_LISTED.level, self.pack.path(), error);
                self.findings.push(finding);
            }
        }
    }

    fn push(&mut self, code: &'static CodeSpec, literal: &str, message: String, hint: &'static str) {
        let error = Error::new(Code::Definition, message).at(self.place(literal)).with_hint(hint);
        self.findings.push(Finding::new(code, code.level, self.pack.path(), error));
    }

    /// The place of a string in the manifest.
    fn place(&self, literal: &str) -> Place {
        let written = serde_json::Value::from(literal).to_string();
        match self.text.rfind(&written) {
            Some(offset) => Place::in_text(&self.file, &self.text, offset),
            None => Place::of_file(&self.file),
        }
    }
}

/// Partials of the user that no prompt uses; none if a prompt may use any of them.
pub(super) fn unused_partials<'p>(
    catalog: &Catalog,
    prompts: impl Iterator<Item = &'p super::CheckedPrompt> + Clone,
) -> Vec<Finding> {
    if prompts.clone().any(|checked| checked.uses_unknown) {
        return Vec::new();
    }
    let used: BTreeSet<&str> = prompts.flat_map(|checked| checked.files.iter().map(String::as_str)).collect();
    let is_own = |kind: &RootKind| matches!(kind, RootKind::Shared | RootKind::Path(_));
    let roots = catalog.roots().iter().filter(|index| is_own(&index.root.kind));
    let files = roots.flat_map(|index| {
        let partials = index.root.tree.list_partials().into_iter();
        partials.map(|name| format!("{}/{name}", index.root.prefix)).collect::<Vec<_>>()
    });
    let unused = files.filter(|file| !used.contains(file.as_str()));
    unused
        .map(|file| {
            let error =
                Error::new(Code::Definition, "no prompt uses this template").at(Place::of_file(&file));
            Finding::new(&TEMPLATE_UNUSED, TEMPLATE_UNUSED.level, file, error)
        })
        .collect()
}
