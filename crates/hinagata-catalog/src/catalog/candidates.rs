//! From a name to one prompt: spelling, vocabulary, search order, conflicts, recorded choices.

use std::{sync::Arc, time::SystemTime};

use hinagata_document::{Code, Diagnostic, Error, Hint, Reason, Result};
use hinagata_workspace::{layout::SHARED_PROMPTS, write};
use serde::Serialize;
use serde_json::Value;

use crate::{
    Catalog, PackId, PromptId, Resolution,
    catalog::reach::BOUND_CALLER_HINT,
    definition::{Definition, Inherited, resolve_inheritance},
    resolution,
    source::{Entry, RootKind},
    store::{HIDDEN_PROMPTS, StoreHealth},
};

/// One of the prompts that an id could refer to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// The directory, as a path from the workspace root.
    pub source: String,
    /// The pack that contains it.
    pub pack_id: Option<PackId>,
    /// Its version, else that of its pack, else `1.0.0`.
    pub version: String,
    /// Whether it has a `prompt.py`.
    pub has_prompt_py: bool,
    /// Whether it has a template file.
    pub has_template: bool,
    /// Whether it may be used: always, unless its pack is not approved.
    pub approved: bool,
}

/// The prompt that a name refers to.
#[derive(Clone, Debug)]
pub struct ResolvedPrompt {
    /// The requested id, in normal form.
    pub id: PromptId,
    /// The chosen prompt, which has another id when a pack replaces the prompt.
    pub entry: Arc<Entry>,
}

impl Catalog {
    /// The id that `name` refers to: by its normal form, else by the vocabulary.
    ///
    /// # Errors
    /// Codes `id` and `not_found`.
    pub fn resolve_id(&self, name: &str) -> Result<PromptId> {
        self.resolve_with(name, |id| self.entries(id).any(|entry| self.is_usable(entry)))
    }

    fn resolve_with(&self, name: &str, exists: impl Fn(&PromptId) -> bool) -> Result<PromptId> {
        if let Some(id) = self.named_id(name) {
            return id;
        }
        let id = PromptId::from_store_name(name)?;
        if exists(&id) {
            return Ok(id);
        }
        let known = |word: &str| PromptId::from_store_name(word).is_ok_and(|id| exists(&id));
        match self.vocabulary().follow_aliases("prompt", name.trim(), known) {
            Some(word) => PromptId::from_store_name(word),
            None => Err(self.unknown_name(name, &id)),
        }
    }

    /// The error for a name that leads to no prompt. Without a store, a name that only its prompts can have is invalid.
    fn unknown_name(&self, name: &str, id: &PromptId) -> Error {
        let invalid = PromptId::new(name).err().filter(|_| self.hidden_by(id).is_none());
        match invalid {
            None => self.not_found(id),
            Some(invalid) if self.store().is_none() => invalid,
            Some(invalid) => {
                let error = self.not_found(id);
                match (invalid.hint(), error.hint()) {
                    (Some(rule), Some(step)) => {
                        let hint = Hint::Advice(format!("outside of the store, {rule}")).then(step.clone());
                        error.with_hint(hint)
                    }
                    _ => error,
                }
            }
        }
    }

    /// The error for an unknown id, with the likely reasons.
    fn not_found(&self, id: &PromptId) -> Error {
        let unusable = |entry: &Arc<Entry>| {
            let pack = self.pack(entry.pack()?)?;
            pack.broken_copy().or_else(|| pack.decision_error().filter(|_| self.reach().is_none()))
        };
        if let Some(error) = self.entries(id).find_map(unusable) {
            return error.with("prompt_id", id.as_str());
        }
        if let Some(found) = self.hidden_by(id) {
            let message = format!("prompt `{id}` not found: {}", found.error.message());
            let error = Error::new(Code::NotFound, message)
                .with("prompt_id", id.as_str())
                .with("source", found.source.as_str());
            let error = found.error.reason().into_iter().fold(error, Error::with_reason);
            return found.error.hint().cloned().into_iter().fold(error, Error::with_hint);
        }
        let hint = match self.entries(id).find_map(|entry| entry.pack()) {
            Some(pack) => Hint::Advice(format!("the pack `{pack}` has one, but is not approved"))
                .then(Hint::ApprovePack { pack: pack.to_string() }),
            None if self.reach().is_some() => BOUND_CALLER_HINT.into(),
            None => Hint::ListPrompts,
        };
        // A prompt of a store that was never read may exist.
        let unread = self.store().map(|store| &store.health).filter(|health| health.is_unread);
        let code = if unread.is_some() { Code::Store } else { Code::NotFound };
        let error = Error::new(code, format!("prompt `{id}` not found"))
            .with("prompt_id", id.as_str())
            .with_near(self.near_prompts(id))
            .with_hint(hint);
        let error = unread.and_then(StoreHealth::reason).into_iter().fold(error, Error::with_reason);
        // Unreadable files are reported only to callers who can use every prompt: others would learn names from them.
        match (self.reach(), unread) {
            (None, _) => self.with_unread(error, id),
            (Some(_), None) => error,
            (Some(_), Some(_)) => error
                .map_message(|message| format!("{message}, but the store cannot be read and may contain it")),
        }
    }

    /// The ids and aliases that `id` may have meant. The cost does not grow with the number of prompts, because
    /// everybody may ask for an unknown one.
    fn near_prompts(&self, id: &PromptId) -> Vec<String> {
        let exists = |id: &PromptId| self.entries(id).any(|entry| self.is_usable(entry));
        let is_id =
            |name: &str| PromptId::from_store_name(name).is_ok_and(|id| id.as_str() == name && exists(&id));
        let is_alias = |word: &str| {
            let known = |word: &str| PromptId::from_store_name(word).is_ok_and(|id| exists(&id));
            self.vocabulary().follow_aliases("prompt", word, known).is_some()
        };
        // An alias reveals its prompt, which the caller may not be allowed to use.
        let is_visible = |word: &str| {
            self.reach().is_none()
                || PromptId::from_store_name(word).is_ok_and(|word| self.reaches_prompt(&word))
        };
        let next_name = |from: &str| {
            let ids = self.roots().iter().filter_map(|index| index.next_id(from));
            ids.chain(self.vocabulary().next_word("prompt", from)).min()
        };
        let accept = |name: &str| is_id(name) || (is_visible(name) && is_alias(name));
        hinagata_value::near_sorted_names(id.as_str(), next_name, accept)
    }

    /// Why the store has a prompt with this id that cannot be used. Only callers who can use every prompt learn it. The
    /// cost grows with the number of findings, not with that of prompts.
    fn hidden_by(&self, id: &PromptId) -> Option<&Diagnostic> {
        if self.reach().is_some() {
            return None;
        }
        let of_documents = self.store().into_iter().flat_map(|store| store.diagnostics.iter());
        let hides = |found: &&Diagnostic| {
            let names = found.error.details().get(HIDDEN_PROMPTS).and_then(Value::as_array);
            let mut names = names.into_iter().flatten().filter_map(Value::as_str);
            names.any(|name| PromptId::from_store_name(name).is_ok_and(|name| name == *id))
        };
        self.store_problems().iter().chain(of_documents).find(hides)
    }

    /// All candidates with this id in search order, whether they may be used or not. A built-in directory replaces
    /// the compiled-in prompt with its id.
    fn entries<'a>(&'a self, id: &PromptId) -> impl Iterator<Item = &'a Arc<Entry>> {
        let mut builtin = false;
        let roots = if self.reaches_prompt(id) { self.roots() } else { &[] };
        roots.iter().flat_map(move |index| index.find(id).collect::<Vec<_>>()).filter(move |entry| {
            let shadowed = entry.is_compiled() && builtin;
            builtin |= *entry.root() == RootKind::Builtin;
            !shadowed
        })
    }

    /// The prompt whose directory or document is `source`.
    pub fn entry_at(&self, source: &str) -> Option<Arc<Entry>> {
        self.roots().iter().find_map(|index| index.entry_at(source)).cloned()
    }

    /// Whether the prompt may be used: it is in no pack, or in one that is active.
    pub fn is_usable(&self, entry: &Entry) -> bool {
        entry.pack().is_none_or(|pack| self.is_active(pack))
    }

    /// All candidates of `name` in search order, including those of packs that are not approved. No code is run.
    ///
    /// # Errors
    /// Codes `id` and `not_found`.
    pub fn candidates(&self, name: &str) -> Result<Vec<Candidate>> {
        let id = self.resolve_with(name, |id| self.entries(id).next().is_some())?;
        Ok(self.entries(&id).map(|entry| self.candidate(entry)).collect())
    }

    /// The entries of [`Catalog::candidates`], in the same order.
    ///
    /// # Errors
    /// Codes `id` and `not_found`.
    pub fn candidate_entries(&self, name: &str) -> Result<Vec<Arc<Entry>>> {
        let id = self.resolve_with(name, |id| self.entries(id).next().is_some())?;
        Ok(self.entries(&id).map(Arc::clone).collect())
    }

    fn candidate(&self, entry: &Entry) -> Candidate {
        Candidate {
            source: entry.source().to_owned(),
            pack_id: entry.pack().cloned(),
            version: self.version_of(entry),
            has_prompt_py: entry.has_prompt_py(),
            has_template: entry.has_template(),
            approved: self.is_usable(entry),
        }
    }

    /// The version of a prompt: its own, else that of its pack.
    #[must_use]
    pub fn version_of(&self, entry: &Entry) -> String {
        let own = entry.definition().ok().filter(|definition| definition.metadata.has_version);
        let own = own.map(|definition| definition.metadata.version.clone());
        let of_pack = || Some(self.manifest(entry.pack()?).ok()??.version.clone());
        own.or_else(of_pack).unwrap_or_else(|| "1.0.0".to_owned())
    }

    /// The prompt that `name` refers to.
    ///
    /// # Errors
    /// Codes `id`, `not_found`, and `conflict` for several candidates without a resolution.
    pub fn choose(&self, name: &str) -> Result<ResolvedPrompt> {
        self.choose_id(&self.resolve_id(name)?)
    }

    /// The prompt with this id, without the vocabulary.
    pub(crate) fn choose_id(&self, id: &PromptId) -> Result<ResolvedPrompt> {
        let usable: Vec<&Arc<Entry>> = self.entries(id).filter(|entry| self.is_usable(entry)).collect();
        let choice = |entry: &Arc<Entry>| Ok(ResolvedPrompt { id: id.clone(), entry: Arc::clone(entry) });
        let recorded = self.resolutions().get(id);
        if let Some(entry) = recorded.and_then(|recorded| self.chosen(id, recorded, &usable)) {
            return choice(entry);
        }
        // The caller named a file, so nothing else is meant.
        if let Some(named) = usable.iter().find(|entry| *entry.root() == RootKind::Named) {
            return choice(named);
        }
        match usable.as_slice() {
            [] => Err(self.not_found(id)),
            [only] => choice(only),
            several => Err(self.conflict(id, several, recorded)),
        }
    }

    /// The entry that a resolution names, if it can still be chosen.
    fn chosen<'a>(
        &'a self,
        id: &PromptId,
        recorded: &Resolution,
        usable: &[&'a Arc<Entry>],
    ) -> Option<&'a Arc<Entry>> {
        let named = |entry: &&&Arc<Entry>| entry.source() == recorded.source;
        usable.iter().find(named).copied().or_else(|| self.replacement(id, &recorded.source))
    }

    /// The prompt at `source` if an active pack proposes it as a replacement for `id`.
    fn replacement(&self, id: &PromptId, source: &str) -> Option<&Arc<Entry>> {
        let mut in_packs = self.roots().iter().filter(|index| matches!(index.root.kind, RootKind::Pack(_)));
        let entry = in_packs.find_map(|index| index.entry_at(source))?;
        let manifest = self.manifest(entry.pack()?).ok()??;
        let is = |name: &str, id: &PromptId| PromptId::new(name).is_ok_and(|found| found == *id);
        let proposed = manifest.replaces.prompts.iter().any(|(old, new)| is(old, id) && is(new, entry.id()));
        (proposed && self.is_usable(entry)).then_some(entry)
    }

    fn conflict(&self, id: &PromptId, several: &[&Arc<Entry>], recorded: Option<&Resolution>) -> Error {
        let sources: Vec<&str> = several.iter().map(|entry| entry.source()).collect();
        let candidates: Vec<_> = several.iter().map(|entry| self.candidate(entry)).collect();
        let problem = self.resolutions().problem_of(id);
        let (reason, message) = match (recorded, problem) {
            (None, Some(problem)) => (
                Reason::Unresolved,
                format!(
                    "`{id}` has {} candidates, and {SHARED_PROMPTS}/{}, which may choose one, cannot be used: {}",
                    several.len(),
                    resolution::FILE,
                    problem.message()
                ),
            ),
            (None, None) => {
                (Reason::Unresolved, format!("`{id}` has {} candidates and no resolution", several.len()))
            }
            (Some(recorded), _) => (
                Reason::StaleResolution,
                format!("the resolution of `{id}` names `{}`, which no longer exists", recorded.source),
            ),
        };
        let error = Error::new(Code::Conflict, message)
            .with("prompt_id", id.as_str())
            .with_reason(reason)
            .with("candidates", sources.clone())
            .with("candidate_details", serde_json::to_value(candidates).unwrap_or_default());
        let choose = Hint::ChooseCandidate { id: id.to_string(), source: sources[0].to_owned() };
        match problem {
            Some(problem) => {
                let error = error.with_hint(Hint::from("correct or remove the file").then(choose));
                problem.place().cloned().into_iter().fold(error, Error::at)
            }
            None => error.with_hint(choose),
        }
    }

    /// Records that `name` refers to `source`, and returns the new snapshot.
    ///
    /// # Errors
    /// Codes `id`, `not_found` (also for a source that is not a candidate), `approval` and `store`.
    pub fn set_resolution(&self, name: &str, source: &str, now: SystemTime) -> Result<Self> {
        let id = self.resolve_with(name, |id| self.entries(id).next().is_some())?;
        let source = source.trim_end_matches('/');
        let entries: Vec<&Arc<Entry>> = self.entries(&id).collect();
        let found = entries
            .iter()
            .find(|entry| entry.source() == source)
            .copied()
            .or_else(|| self.replacement(&id, source));
        let Some(entry) = found else {
            let known = entries.iter().map(|entry| entry.source());
            return Err(Error::new(Code::NotFound, format!("`{source}` is not a candidate of `{id}`"))
                .with("prompt_id", id.as_str())
                .with("source", source)
                .with_near(known.map(str::to_owned).collect())
                .with_hint(Hint::ShowCandidates { id: id.to_string() }));
        };
        if let Some(pack) = entry.pack().filter(|_| !self.is_usable(entry)) {
            return Err(not_approved(pack));
        }
        let mut unknown = serde_json::Map::new();
        if let Some(pack) = entry.pack().filter(|_| *entry.id() != id) {
            unknown
                .insert("replaced_by".into(), serde_json::json!({"pack_id": pack, "prompt_id": entry.id()}));
        }
        let choice = Resolution {
            source: entry.source().to_owned(),
            resolved_at: Some(hinagata_workspace::format_utc(now)),
            candidates: entries.iter().map(|entry| entry.source().to_owned()).collect(),
            unknown,
        };
        let directory = write::directory_beneath(self.root(), SHARED_PROMPTS)?;
        resolution::record_resolution(&directory, &id, Some(&choice), now)?;
        Ok(self.reload())
    }

    /// Removes the resolution of `id`, and returns the new snapshot.
    ///
    /// # Errors
    /// Code `store` when it cannot be written.
    pub fn unset_resolution(&self, id: &PromptId, now: SystemTime) -> Result<Self> {
        let directory = write::directory_beneath(self.root(), SHARED_PROMPTS)?;
        resolution::record_resolution(&directory, id, None, now)?;
        Ok(self.reload())
    }

    /// Takes back the last decision about `name`: the decision before it counts again. `None` if nothing was decided.
    ///
    /// # Errors
    /// Those of [`Catalog::set_resolution`].
    pub fn undo_resolution(&self, name: &str, now: SystemTime) -> Result<Option<Self>> {
        let id = self.resolve_with(name, |id| self.entries(id).next().is_some())?;
        let directory = write::directory_beneath(self.root(), SHARED_PROMPTS)?;
        match resolution::previous_choice(&directory, &id, self.resolutions().get(&id))? {
            None => Ok(None),
            Some(None) => self.unset_resolution(&id, now).map(Some),
            Some(Some(choice)) => self.set_resolution(name, &choice.source, now).map(Some),
        }
    }

    /// Records that the tool in the file `source` of a pack replaces `tool`; `None` removes the record.
    pub fn set_tool_resolution(&self, tool: &str, source: Option<&str>, now: SystemTime) -> Result<Self> {
        let directory = write::directory_beneath(self.root(), SHARED_PROMPTS)?;
        let choice = source.map(|source| Resolution {
            source: source.to_owned(),
            resolved_at: Some(hinagata_workspace::format_utc(now)),
            candidates: vec![source.to_owned()],
            unknown: serde_json::Map::new(),
        });
        resolution::record_tool(&directory, tool, choice.as_ref(), now)?;
        Ok(self.reload())
    }

    /// The definition of the prompt that `name` refers to, with what it inherits.
    ///
    /// # Errors
    /// Those of [`Catalog::choose`], and code `definition`.
    pub fn definition(&self, name: &str) -> Result<Inherited> {
        self.inherited_definition(&self.choose(name)?)
    }

    /// The definition of a chosen prompt, with what it inherits.
    ///
    /// # Errors
    /// Code `definition`, and `conflict` for a parent.
    pub fn inherited_definition(&self, choice: &ResolvedPrompt) -> Result<Inherited> {
        self.inherited_definition_with(choice, |_, definition| Ok(definition))
    }

    /// Like [`Catalog::inherited_definition`], with every definition passed through `complete`.
    pub fn inherited_definition_with(
        &self,
        choice: &ResolvedPrompt,
        mut complete: impl FnMut(&Entry, Arc<Definition>) -> Result<Arc<Definition>>,
    ) -> Result<Inherited> {
        let mut completed = |entry: &Entry| complete(entry, entry.definition()?);
        let definition = completed(&choice.entry)?;
        resolve_inheritance(definition, &self.defaults()?.parameters, |parent| {
            completed(&self.choose(parent)?.entry)
        })
    }

    /// The candidates as JSON, the same for every door; `chosen` marks the one that `name` refers to.
    ///
    /// # Errors
    /// Those of [`Catalog::candidates`].
    pub fn candidates_json(&self, name: &str) -> Result<Value> {
        let chosen = self.choose(name).ok();
        let described = |candidate: &Candidate| {
            let mut all = serde_json::to_value(candidate).unwrap_or_default();
            all["chosen"] =
                chosen.as_ref().is_some_and(|choice| choice.entry.source() == candidate.source).into();
            all
        };
        Ok(self.candidates(name)?.iter().map(described).collect())
    }
}

/// The error for the use of a pack that is not approved.
pub fn not_approved(pack: &PackId) -> Error {
    Error::new(Code::Approval, format!("the pack `{pack}` is not approved"))
        .with("pack_id", pack.as_str())
        .with_hint(Hint::ApprovePack { pack: pack.to_string() })
}
