//! The content of a pack.

use hinagata_catalog::{
    PackId, PromptId, VariableProvider,
    definition::{Definition, Hooks},
    pack::Walked,
    source::{Entry, Index, RootKind},
};
use hinagata_document::{Diagnostic, Digest};
use hinagata_workspace::{
    layout::{PARTIALS, PROMPTS},
    permissions_needing_trust,
};
use serde::Serialize;

use super::{Packs, Problem, Replacement, summary::PackSummary, view::View};

/// The content of a pack, from its current files.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PackDetails {
    /// The summary.
    #[serde(flatten)]
    pub summary: PackSummary,
    /// The SHA-256 of all its files, to approve exactly the files that were shown; `None` if it cannot be approved.
    pub content: Option<Digest>,
    /// Its prompts, by id.
    pub prompts: Vec<PackPrompt>,
    /// Its partials.
    pub partials: Vec<String>,
    /// Its variable providers.
    pub providers: Vec<PackProvider>,
    /// Its vocabulary files.
    pub vocabulary: Vec<String>,
    /// Its agents.
    pub agents: Vec<String>,
    /// Its tools.
    pub tools: Vec<String>,
    /// Its Python files, with their permissions.
    pub python: Vec<PythonFile>,
    /// The replacements that it proposes.
    pub replaces: Vec<Replacement>,
    /// Its conflicts with others, which need a decision.
    pub conflicts: Vec<PackConflict>,
    /// Its problems.
    pub problems: Vec<Problem>,
}

/// A prompt of a pack.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PackPrompt {
    /// The id.
    pub prompt_id: PromptId,
    /// The directory, as a path from the workspace root.
    pub source: String,
    /// The type; `None` if its definition is invalid.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// Its version, if declared.
    pub version: Option<String>,
}

/// A variable provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PackProvider {
    /// The namespace of its variables.
    pub namespace: String,
    /// The file.
    pub file: String,
    /// The description.
    pub description: Option<String>,
    /// Its permissions.
    pub permissions: Vec<String>,
    /// The permissions that it gets only in a trusted workspace.
    pub needs_trust: Vec<String>,
}

/// A Python file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PythonFile {
    /// The file, as a path from the pack.
    pub file: String,
    /// Its role.
    pub role: PythonRole,
    /// The permissions that it declares; `None` if they are computed at run time.
    pub permissions: Option<Vec<String>>,
    /// The permissions that it gets only in a trusted workspace.
    pub needs_trust: Vec<String>,
    /// The hooks in it.
    pub hooks: Vec<&'static str>,
}

/// The role of a Python file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PythonRole {
    /// It defines a prompt and can have hooks.
    Prompt,
    /// It provides variables.
    Provider,
    /// Other files can import it.
    Other,
    /// A native library that other files can import; it cannot be reviewed as text.
    Native,
}

/// A name that the pack shares with others, which needs a decision once the pack is approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PackConflict {
    /// The kind.
    pub kind: PackConflictKind,
    /// The prompt, the partial or the namespace.
    pub name: String,
    /// The others that have it: paths from the workspace root, or packs.
    pub others: Vec<String>,
}

/// The kind of a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PackConflictKind {
    /// A prompt with the same id.
    Prompt,
    /// A partial with the same name.
    Partial,
    /// A namespace of variables.
    Namespace,
}

impl Packs {
    pub(super) fn pack_details(
        &self,
        view: &View<'_>,
        walked: &Walked,
        content: Option<Digest>,
    ) -> PackDetails {
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
            content: content.filter(|_| walked.refused.is_empty()),
            prompts: entries(view).map(pack_prompt).collect(),
            partials: beneath(&format!("{PROMPTS}/{PARTIALS}/")),
            providers: providers(view).iter().map(PackProvider::from_provider).collect(),
            vocabulary: ["vocab.json", "vocab.txt"].into_iter().filter(known).map(str::to_owned).collect(),
            agents: named("agents/", "/agent.json"),
            tools: named("tools/", ".json"),
            python: python_files(view, walked),
            replaces: self.replacements(view),
            conflicts: self.conflicts(view, walked),
            problems: self.problems(view, walked),
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
            let mistakes = hinagata_check::check_manifest(&self.catalog, view.pack);
            all.extend(mistakes.iter().map(|finding| Problem::from(&finding.to_diagnostic())));
            all.extend(
                manifest.warnings.iter().map(|error| Problem {
                    severity: "warning",
                    ..Problem::from_error(path.as_str(), error)
                }),
            );
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

    /// Other candidates for the id of `entry`, unless a resolution chooses between them.
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

    /// Other packs with the partial `file`, unless a partial of the user or a built-in one overrides them.
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

/// Whether Python would load the file as a native library.
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

/// The permissions that the prompt declares; `None` if its Python computes them.
fn declared_permissions(definition: &Definition) -> Option<Vec<String>> {
    let computed = definition.hooks.needs_loading.iter().any(|(constant, _)| *constant == "PERMISSIONS");
    (!computed).then(|| definition.permissions.granted_names().map(str::to_owned).collect())
}
