//! One state of the public prompts.
//!
//! A state uses an engine that no reload changes, so its list and its prompts are consistent. The next state reuses
//! what did not change, and keeps the last good version of a prompt that is broken now.
//!
//! The reasons are in `docs/design/mcp-states.md`.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, Mutex, OnceLock, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use hinagata::{Code, Engine, Error, Reach, Reason, Request, Validation};
use rmcp::ErrorData;
use serde_json::{Map, Value};

use crate::{
    backend::Viewer,
    exposure::Exposure,
    failure::{from_engine_error, invalid_params, prompt_hidden, prompt_not_found, truncate_for_display},
    names::split_version,
    prompt::PublicPrompt,
};

/// Maximum cached names before the list is loaded.
const MAX_KNOWN: usize = 4_096;

/// One state of the public prompts.
pub(crate) struct PublicState {
    pub(crate) engine: Engine,
    exposure: Arc<Exposure>,
    /// Loaded on first use. Single prompts are found without it.
    list: OnceLock<PromptList>,
    /// Requested prompts, by the name that was used.
    known: RwLock<HashMap<String, Arc<PublicPrompt>>>,
    /// The engine before the last change. It serves prompts whose included parts broke, which only a render shows.
    previous_engine: Option<Engine>,
    /// Whether the previous engine served a prompt.
    fallback_used: AtomicBool,
    /// The state as seen by viewers with a restricted reach, one for each.
    views: Mutex<Vec<(Arc<Reach>, Arc<Self>)>>,
}

/// All prompts that can be rendered.
#[derive(Default)]
pub(crate) struct PromptList {
    /// Sorted by name.
    pub(crate) prompts: Vec<Arc<PublicPrompt>>,
    by_name: HashMap<String, usize>,
    by_id: HashMap<String, usize>,
}

impl PromptList {
    fn new(mut prompts: Vec<Arc<PublicPrompt>>) -> Self {
        prompts.sort_by(|one, other| one.name.cmp(&other.name));
        prompts.dedup_by(|one, other| {
            let same = one.name == other.name;
            if same {
                tracing::warn!(
                    name = one.name,
                    left_out = one.id,
                    kept = other.id,
                    "two prompts have the same name"
                );
            }
            same
        });
        let places = |key: fn(&PublicPrompt) -> &str| {
            prompts.iter().enumerate().map(|(place, prompt)| (key(prompt).to_owned(), place)).collect()
        };
        let (by_name, by_id) = (places(|prompt| &prompt.name), places(|prompt| &prompt.id));
        Self { prompts, by_name, by_id }
    }

    pub(crate) fn get_by_name(&self, name: &str) -> Option<&Arc<PublicPrompt>> {
        self.by_name.get(name).map(|place| &self.prompts[*place])
    }

    fn get_by_id(&self, id: &str) -> Option<&Arc<PublicPrompt>> {
        self.by_id.get(id).map(|place| &self.prompts[*place])
    }

    /// The ids of the prompts whose entries differ between the two lists.
    pub(crate) fn changed_entries(&self, other: &Self) -> BTreeSet<String> {
        let differs = |one: &Self, other: &Self| -> Vec<String> {
            let changed = |prompt: &&Arc<PublicPrompt>| {
                other
                    .get_by_id(&prompt.id)
                    .is_none_or(|there| !Arc::ptr_eq(there, prompt) && there.listed != prompt.listed)
            };
            one.prompts.iter().filter(changed).map(|prompt| prompt.id.clone()).collect()
        };
        differs(self, other).into_iter().chain(differs(other, self)).collect()
    }

    /// The ids of the prompts whose files differ between the two lists.
    pub(crate) fn changed_sources(&self, other: &Self) -> BTreeSet<String> {
        let files = |prompt: &PublicPrompt| prompt.inherited.definition.files.clone();
        let changed = |prompt: &&Arc<PublicPrompt>| {
            other.get_by_id(&prompt.id).is_some_and(|there| {
                !Arc::ptr_eq(&there.inherited.definition, &prompt.inherited.definition)
                    && files(there) != files(prompt)
            })
        };
        self.prompts.iter().filter(changed).map(|prompt| prompt.id.clone()).collect()
    }
}

/// What may have changed between two states.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangedPaths {
    /// Whether something changed that any prompt may depend on.
    pub(crate) anything: bool,
    /// Changed files, relative to the workspace root.
    pub(crate) paths: BTreeSet<String>,
}

impl ChangedPaths {
    /// Whether every change is inside the prompt directories `sources`.
    fn is_only_in(&self, sources: &BTreeSet<&str>) -> bool {
        let in_prompt = |path: &String| {
            std::path::Path::new(path)
                .ancestors()
                .filter_map(std::path::Path::to_str)
                .any(|above| sources.contains(above))
        };
        !self.anything && self.paths.iter().all(in_prompt)
    }
}

impl PublicState {
    pub(crate) fn new(engine: &Engine, exposure: &Arc<Exposure>) -> Self {
        Self {
            engine: engine.with_frozen_prompts(),
            exposure: Arc::clone(exposure),
            list: OnceLock::new(),
            known: RwLock::default(),
            previous_engine: None,
            fallback_used: AtomicBool::new(false),
            views: Mutex::default(),
        }
    }

    /// The state as seen by viewers with this reach.
    pub(crate) fn view_for(&self, reach: &Arc<Reach>) -> Arc<Self> {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = views.iter().find(|(known, _)| Arc::ptr_eq(known, reach)) {
            return Arc::clone(known);
        }
        let view = Arc::new(Self::new(&self.engine.with_reach(reach), &self.exposure));
        views.push((Arc::clone(reach), Arc::clone(&view)));
        view
    }

    /// The engine that may still render prompts that are broken now.
    pub(crate) fn previous_engine(&self) -> Option<&Engine> {
        self.previous_engine.as_ref()
    }

    /// Validates a call of `prompt`. A prompt that cannot be planned counts as valid: its render reports why.
    pub(crate) fn validate_call(&self, prompt: &PublicPrompt, variables: &Map<String, Value>) -> Validation {
        let request = Request::new(&prompt.id).with_variable_map(variables);
        let current = prompt.engine.as_ref().unwrap_or(&self.engine);
        let mut engines = std::iter::once(current).chain(self.previous_engine());
        engines.find_map(|engine| engine.validate(&request).ok()).unwrap_or_default()
    }

    /// Records that the previous engine served a prompt, so that it is kept.
    pub(crate) fn mark_fallback_used(&self) {
        self.fallback_used.store(true, Ordering::Relaxed);
    }

    /// The state after a change.
    pub(crate) fn next_state(
        &self,
        engine: &Engine,
        exposure: &Arc<Exposure>,
        touched: &ChangedPaths,
    ) -> Self {
        let mut next = Self::new(engine, exposure);
        let views = self.views.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let after = |(reach, view): (Arc<Reach>, Arc<Self>)| {
            let next = view.next_state(&engine.with_reach(&reach), exposure, touched);
            (reach, Arc::new(next))
        };
        next.views = Mutex::new(views.into_iter().map(after).collect());
        // While a prompt is broken, keep the engine from before it broke.
        next.previous_engine = if self.fallback_used.load(Ordering::Relaxed) {
            self.previous_engine.clone()
        } else {
            Some(self.engine.clone())
        };
        if let Some(before) = self.list.get() {
            let _ = next.list.set(self.next_list(before, &next, touched));
            return next;
        }
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let still = known.iter().filter_map(|(name, prompt)| {
            let read = PublicPrompt::from_engine(&next.engine, &prompt.id).map(Arc::new);
            Some((name.clone(), read.or_else(|error| self.last_good(prompt, &error)).ok()?))
        });
        let still = still.collect();
        *next.known.write().unwrap_or_else(PoisonError::into_inner) = still;
        next
    }

    fn next_list(&self, before: &PromptList, next: &Self, touched: &ChangedPaths) -> PromptList {
        let engine = &next.engine;
        let listings = engine.catalog().list();
        let definitions = listings.iter().filter_map(|listing| listing.definition.as_ref().ok());
        let old = before.prompts.iter().map(|prompt| &*prompt.inherited.definition.source);
        let sources: BTreeSet<&str> = definitions.map(|definition| &*definition.source).chain(old).collect();
        let narrow = touched.is_only_in(&sources);
        let mut prompts = Vec::with_capacity(listings.len());
        for listing in &listings {
            let id = listing.id.as_str();
            let known = before.get_by_id(id);
            let read = match (&listing.definition, known) {
                (Ok(definition), Some(known))
                    if narrow
                        && known.engine.is_none()
                        && !known.has_fixed_files()
                        && known.is_unchanged(engine, definition) =>
                {
                    Ok(Arc::clone(known))
                }
                (Ok(_), _) => PublicPrompt::from_engine(engine, id).map(Arc::new),
                (Err(error), _) => Err(error.clone()),
            };
            let kept = |error: Error| match known {
                Some(known) => self.last_good(known, &error),
                None => Err(error),
            };
            match read.or_else(kept) {
                Ok(prompt) => prompts.extend(Some(prompt).filter(|prompt| next.is_exposed(prompt))),
                Err(error) => log_left_out(id, &error),
            }
        }
        PromptList::new(prompts)
    }

    /// The last good version of a prompt. A conflict has none, and neither has a file of a message that is gone.
    fn last_good(&self, prompt: &PublicPrompt, error: &Error) -> Result<Arc<PublicPrompt>, Error> {
        let is_file = matches!(error.reason(), Some(Reason::File | Reason::Media));
        if is_file || matches!(error.code(), Code::Conflict | Code::NotFound | Code::Id | Code::Approval) {
            return Err(error.clone());
        }
        tracing::warn!(
            prompt = prompt.id,
            place = error.place().map(tracing::field::display),
            error = error.message(),
            "a prompt is broken; serving its last good version"
        );
        let engine = prompt.engine.clone().unwrap_or_else(|| self.engine.clone());
        Ok(Arc::new(prompt.with_engine(engine)))
    }

    /// All prompts.
    pub(crate) fn list(&self) -> &PromptList {
        self.list.get_or_init(|| {
            let read = |listing: hinagata::Listing| {
                let id = listing.id.as_str();
                let read = listing.definition.and_then(|_| PublicPrompt::from_engine(&self.engine, id));
                read.map(Arc::new).inspect_err(|error| log_left_out(id, error)).ok()
            };
            let readable = self.engine.catalog().list().into_iter().filter_map(read);
            PromptList::new(readable.filter(|prompt| self.is_exposed(prompt)).collect())
        })
    }

    /// The list, if it is loaded.
    pub(crate) fn loaded_list(&self) -> Option<&PromptList> {
        self.list.get()
    }

    /// Why the prompt is not served, if it is not.
    fn hidden_reason(&self, prompt: &PublicPrompt) -> Option<&'static str> {
        self.exposure.hidden_reason(&self.engine.catalog(), &prompt.id, &prompt.inherited.definition)
    }

    fn is_exposed(&self, prompt: &PublicPrompt) -> bool {
        self.hidden_reason(prompt).is_none()
    }

    /// Finds the prompt for a name in any spelling, with or without a version, if it is served.
    pub(crate) fn find_prompt(&self, name: &str, viewer: &Viewer) -> Result<Arc<PublicPrompt>, ErrorData> {
        let prompt = self.find_any_prompt(name, viewer)?;
        if self.list.get().is_some_and(|list| list.get_by_id(&prompt.id).is_some()) {
            return Ok(prompt);
        }
        match self.hidden_reason(&prompt) {
            Some(reason) => Err(prompt_hidden(&prompt.name, reason)),
            None => Ok(prompt),
        }
    }

    /// Finds the prompt for a name, also one that is served only as the content of a resource.
    pub(crate) fn find_any_prompt(
        &self,
        name: &str,
        viewer: &Viewer,
    ) -> Result<Arc<PublicPrompt>, ErrorData> {
        let (bare, version) = split_version(name);
        let found = self.find_by_name(bare, viewer)?.filter(|prompt| viewer.can_see(&prompt.id));
        let prompt = found.ok_or_else(|| self.not_found_error(bare, viewer))?;
        match version {
            Some(version) if version != prompt.version => Err(invalid_params(format!(
                "`{}` has version {}, not {}",
                prompt.name,
                prompt.version,
                truncate_for_display(version)
            ))),
            _ => Ok(prompt),
        }
    }

    fn find_by_name(&self, name: &str, viewer: &Viewer) -> Result<Option<Arc<PublicPrompt>>, ErrorData> {
        if let Some(found) = self.list.get().and_then(|list| list.get_by_name(name)) {
            return Ok(Some(Arc::clone(found)));
        }
        if let Some(found) = self.known.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            return Ok(Some(Arc::clone(found)));
        }
        let Some(id) = self.engine.catalog().resolve_id(name).ok().map(|id| id.as_str().to_owned()) else {
            // A short name stands for an id that is not a valid name.
            return Ok(name.starts_with("p-").then(|| self.list().get_by_name(name).cloned()).flatten());
        };
        if let Some(found) = self.list.get().and_then(|list| list.get_by_id(&id)) {
            return Ok(Some(Arc::clone(found)));
        }
        // Even that a prompt is broken must not be revealed to a viewer who cannot see it.
        if !viewer.can_see(&id) {
            return Ok(None);
        }
        let prompt = Arc::new(
            PublicPrompt::from_engine(&self.engine, &id)
                .map_err(|error| from_engine_error(&error, &self.engine.local_places()))?,
        );
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(name.to_owned(), Arc::clone(&prompt));
        Ok(Some(prompt))
    }

    /// The error for an unknown prompt. It mentions unreadable files that may contain the prompt.
    fn not_found_error(&self, name: &str, viewer: &Viewer) -> ErrorData {
        let is_plain = |error: &Error| {
            matches!(error.code(), Code::NotFound | Code::Id) && !error.details().contains_key("unread")
        };
        match self.engine.catalog().resolve_id(name) {
            Err(error) if viewer.can_see_all() && !is_plain(&error) => {
                from_engine_error(&error, &self.engine.local_places())
            }
            _ => prompt_not_found(name, self.near_names(name, viewer)),
        }
    }

    fn near_names(&self, name: &str, viewer: &Viewer) -> Vec<String> {
        let Some(list) = self.list.get() else { return Vec::new() };
        let next_name = |from: &str| {
            let place = list.prompts.partition_point(|prompt| prompt.name.as_str() < from);
            list.prompts.get(place).map(|prompt| prompt.name.as_str())
        };
        let is_seen = |name: &str| list.get_by_name(name).is_some_and(|prompt| viewer.can_see(&prompt.id));
        hinagata_value::near_sorted_names(name, next_name, is_seen)
    }
}

fn log_left_out(id: &str, error: &Error) {
    tracing::warn!(
        prompt = id,
        code = error.code().as_str(),
        place = error.place().map(tracing::field::display),
        candidates = error.details().get("candidates").map(tracing::field::display),
        error = error.message(),
        "skipping a prompt that cannot be rendered"
    );
}
