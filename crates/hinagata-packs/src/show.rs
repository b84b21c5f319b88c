//! Everything that a pack brings.

use hinagata_catalog::{
    PackId, PromptId, VariableProvider,
    definition::{Definition, Hooks},
    pack::{Walked, content_digest},
    source::{Entry, Index, RootKind},
};
use hinagata_document::{Diagnostic, Digest};
use hinagata_workspace::{
    layout::{PARTIALS, PROMPTS},
    permissions_needing_trust,
};
use serde::Serialize;

use super::{Packs, Problem, Replacement, summary::PackSummary, view::View};

/// Everything that a pack brings, as its files say now.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PackDetails {
    /// What it is.
    #[serde(flatten)]
    pub summary: PackSummary,
    /// The SHA-256 of all its files together, to approve exactly what was looked at; `None` when it cannot be
    /// approved as it is.
    pub content: Option<Digest>,
    /// Its prompts in the order of ids.
    pub prompts: Vec<PackPrompt>,
    /// Parts that prompts include.
    pub partials: Vec<String>,
    /// What provides variables.
    pub providers: Vec<PackProvider>,
    /// Files with words.
    pub vocabulary: Vec<String>,
    /// Its agents.
    pub agents: Vec<String>,
    /// Its tools.
    pub tools: Vec<String>,
    /// Every file with Python, and what it may do.
    pub python: Vec<PythonFile>,
    /// What it proposes to replace.
    pub replaces: Vec<Replacement>,
    /// What it has in common with others, so that somebody has to decide.
    pub conflicts: Vec<PackConflict>,
    /// What is wrong with it.
    pub problems: Vec<Problem>,
}

/// A prompt of a pack.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PackPrompt {
    /// The id.
    pub prompt_id: PromptId,
    /// The directory, as a path from the workspace root.
    pub source: String,
    /// The type; `None` when its files are broken.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Its version, if it says one.
    pub version: Option<String>,
}

/// A provider of variables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PackProvider {
    /// The name of its variables.
    pub namespace: String,
    /// The file.
    pub file: String,
    /// What it provides.
    pub description: Option<String>,
    /// What it may use.
    pub permissions: Vec<String>,
    /// What of that it gets only in a workspace that the user trusts.
    pub needs_trust: Vec<String>,
}

/// A file with Python.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PythonFile {
    /// The file, as a path from the pack.
    pub file: String,
    /// What it is for.
    pub role: PythonRole,
    /// What it declares to use; `None` when only running it can tell.
    pub permissions: Option<Vec<String>>,
    /// What of that it gets only in a workspace that the user trusts.
    pub needs_trust: Vec<String>,
    /// The hooks in it.
    pub hooks: Vec<&'static str>,
}

/// What a file with Python is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PythonRole {
    /// It describes a prompt and may have hooks.
    Prompt,
    /// It provides variables.
    Provider,
    /// Others may import it.
    Other,
    /// Others may import it, and nobody can read it: a library of the machine.
    Native,
}

/// Something that the pack and others have, so that somebody has to decide once the pack is approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PackConflict {
    /// What it is about.
    pub kind: PackConflictKind,
    /// The prompt, the part or the namespace.
    pub name: String,
    /// Who else has it: paths from the workspace root, or packs.
    pub others: Vec<String>,
}

/// What a conflict is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PackConflictKind {
    /// A prompt with the same id.
    Prompt,
    /// A part with the same name.
    Partial,
    /// A namespace of variables.
    Namespace,
}

impl Packs {
    pub(super) fn pack_details(&self, view: &View<'_>) -> PackDetails {
        let walked = view.files();
        let beneath = |prefix: &str| -> Vec<String> {
            let files = walked.files.keys();
            files.filter_map(|file| file.strip_prefix(prefix)).map(str::to_owned).collect()
        };
        let named = |prefix: &str, end: &str| -> Vec<String> {
            let names = beneath(prefix).into_iter();
            names
                .filter_map(|name| {
                    name.strip_suffix(end).filter(|name| !name.contains('/')).map(str::to_owned)
                })
                .collect()
        };
        let known = |file: &&str| walked.files.contains_key(*file);
        PackDetails {
            summary: PackSummary::from_view(&self.catalog, view),
            content: content_digest(view.directory(), &walked),
            prompts: entries(view).map(pack_prompt).collect(),
            partials: beneath(&format!("{PROMPTS}/{PARTIALS}/")),
            providers: providers(view).iter().map(PackProvider::from_provider).collect(),
            vocabulary: ["vocab.json", "vocab.txt"].into_iter().filter(known).map(str::to_owned).collect(),
            agents: named("agents/", "/agent.json"),
            tools: named("tools/", ".json"),
            python: python_files(view, &walked),
            replaces: self.replacements(view),
            conflicts: self.conflicts(view, &walked),
            problems: self.problems(view, &walked),
        }
    }

    fn problems(&self, view: &View<'_>, walked: &Walked) -> Vec<Problem> {
        let path = view.pack.path();
        let mut all: Vec<Problem> = Vec::new();
        all.extend(view.manifest.as_ref().err().map(|error| Problem::from_error(path.as_str(), error)));
        let refused =
            walked.refused.iter().map(|refused| hinagata_catalog::pack::refusal_error(view.id(), refused));
        all.extend(refused.map(|error| Problem::from_error(path.as_str(), &error)));
        if let Ok(manifest) = &view.manifest {
            all.extend(view.pack.label_mismatch(manifest).as_ref().map(|found: &Diagnostic| found.into()));
        }
        let broken = entries(view).filter_map(|entry| Some((entry.source(), entry.definition().err()?)));
        all.extend(broken.map(|(source, error)| Problem::from_error(source, &error)));
        all
    }

    fn conflicts(&self, view: &View<'_>, walked: &Walked) -> Vec<PackConflict> {
        let mut all: Vec<PackConflict> =
            entries(view).filter_map(|entry| self.prompt_conflict(entry)).collect();
        let prefix = format!("{PROMPTS}/{PARTIALS}/");
        let partials = walked.files.keys().filter(|file| file.starts_with(&prefix));
        all.extend(partials.filter_map(|file| self.partial_conflict(view.id(), file)));
        all.extend(
            providers(view).iter().filter_map(|provider| self.namespace_conflict(view.id(), provider)),
        );
        all
    }

    /// Other directories with the id of `entry`, unless a recorded choice decides between them.
    fn prompt_conflict(&self, entry: &Entry) -> Option<PackConflict> {
        let candidates = self.catalog.candidates(entry.id().as_str()).ok()?;
        let sources = candidates
            .into_iter()
            .filter(|candidate| candidate.approved || candidate.source == entry.source());
        let sources: Vec<String> = sources.map(|candidate| candidate.source).collect();
        let recorded = self.catalog.resolutions().get(entry.id());
        if recorded.is_some_and(|recorded| sources.contains(&recorded.source)) {
            return None;
        }
        let others: Vec<String> = sources.into_iter().filter(|source| source != entry.source()).collect();
        let name = entry.id().to_string();
        (!others.is_empty()).then_some(PackConflict { kind: PackConflictKind::Prompt, name, others })
    }

    /// Other packs with the part `file`, unless the user's or a built-in one comes before them.
    fn partial_conflict(&self, pack: &PackId, file: &str) -> Option<PackConflict> {
        let name = file.strip_prefix(PROMPTS)?.strip_prefix('/')?;
        let mut others = Vec::new();
        for index in self.catalog.roots().iter().filter(|index| index.root.tree.file_stamp(name).is_some()) {
            match &index.root.kind {
                RootKind::Pack(other) if other == pack || !self.catalog.is_active(other) => {}
                RootKind::Pack(_) => others.push(format!("{}/{name}", index.root.prefix)),
                _ => return None,
            }
        }
        let name = name.to_owned();
        (!others.is_empty()).then_some(PackConflict { kind: PackConflictKind::Partial, name, others })
    }

    fn namespace_conflict(&self, pack: &PackId, provider: &VariableProvider) -> Option<PackConflict> {
        let claims = |other: &&PackId| {
            let manifest = self.catalog.manifest(other).ok().flatten();
            manifest
                .is_some_and(|found| found.providers.iter().any(|one| one.namespace == provider.namespace))
        };
        let others = self.catalog.packs().filter(|other| *other != pack && self.catalog.is_active(other));
        let others: Vec<String> = others.filter(claims).map(ToString::to_string).collect();
        let name = provider.namespace.clone();
        (!others.is_empty()).then_some(PackConflict { kind: PackConflictKind::Namespace, name, others })
    }
}

fn entries<'v>(view: &'v View<'_>) -> impl Iterator<Item = &'v Entry> {
    view.prompts.iter().flat_map(Index::iter).map(|entry| &**entry)
}

fn providers<'v>(view: &'v View<'_>) -> &'v [VariableProvider] {
    view.manifest.as_ref().map(|manifest| manifest.providers.as_slice()).unwrap_or_default()
}

impl PackProvider {
    fn from_provider(provider: &VariableProvider) -> Self {
        Self {
            namespace: provider.namespace.clone(),
            file: provider.file.clone(),
            description: provider.description.clone(),
            permissions: owned_names(provider.permissions()),
            needs_trust: owned_names(permissions_needing_trust(provider.permissions())),
        }
    }
}

fn pack_prompt(entry: &Entry) -> PackPrompt {
    let definition = entry.definition().ok();
    let metadata = definition.as_ref().map(|definition| &definition.metadata);
    PackPrompt {
        prompt_id: entry.id().clone(),
        source: entry.source().to_owned(),
        kind: metadata.map(|metadata| metadata.kind.clone()),
        description: metadata.and_then(|metadata| metadata.description.clone()),
        version: metadata.filter(|metadata| metadata.has_version).map(|metadata| metadata.version.clone()),
    }
}

fn python_files(view: &View<'_>, walked: &Walked) -> Vec<PythonFile> {
    let files = walked.files.keys().filter(|file| file.ends_with(".py") || is_native(file));
    files.map(|file| python_file(view, file)).collect()
}

fn python_file(view: &View<'_>, file: &str) -> PythonFile {
    let of_file = |entry: &&Entry| format!("{PROMPTS}/{}/prompt.py", entry.name()) == file;
    if let Some(entry) = entries(view).find(of_file) {
        return prompt_python_file(file, entry);
    }
    if is_native(file) {
        let file = file.to_owned();
        return PythonFile {
            file,
            role: PythonRole::Native,
            permissions: None,
            needs_trust: Vec::new(),
            hooks: Vec::new(),
        };
    }
    let provider = providers(view).iter().find(|provider| provider.file == file);
    let permissions = provider.map(VariableProvider::permissions).unwrap_or_default();
    PythonFile {
        file: file.to_owned(),
        role: if provider.is_some() { PythonRole::Provider } else { PythonRole::Other },
        needs_trust: owned_names(permissions_needing_trust(permissions.iter().copied())),
        permissions: Some(owned_names(permissions)),
        hooks: Vec::new(),
    }
}

fn prompt_python_file(file: &str, entry: &Entry) -> PythonFile {
    let definition = entry.definition().ok();
    let hooks = definition.as_ref().map(|definition| hook_names(&definition.hooks)).unwrap_or_default();
    let permissions = definition.as_deref().and_then(declared_permissions);
    let names = permissions.iter().flatten().map(String::as_str);
    let needs_trust = owned_names(permissions_needing_trust(names));
    PythonFile { file: file.to_owned(), role: PythonRole::Prompt, needs_trust, permissions, hooks }
}

/// Whether Python would load the file as a library of the machine.
fn is_native(file: &str) -> bool {
    [".so", ".pyd", ".dll", ".dylib"].iter().any(|ending| file.ends_with(ending))
}

fn owned_names(names: Vec<&str>) -> Vec<String> {
    names.into_iter().map(str::to_owned).collect()
}

fn hook_names(hooks: &Hooks) -> Vec<&'static str> {
    let found = [("pre_render", hooks.pre_render), ("post_render", hooks.post_render)];
    found.into_iter().filter(|(_, hook)| hook.is_some()).map(|(name, _)| name).collect()
}

/// What the prompt declares to use; `None` when only running its Python can tell.
fn declared_permissions(definition: &Definition) -> Option<Vec<String>> {
    let computed = definition.hooks.needs_loading.iter().any(|(constant, _)| *constant == "PERMISSIONS");
    (!computed).then(|| definition.permissions.granted_names().map(str::to_owned).collect())
}
