//! Replacements that packs propose, and the decisions of the user.

use std::{sync::Arc, time::SystemTime};

use hinagata_catalog::{
    Catalog, PackId, PromptId, not_approved,
    pack::{Decisions, Pack},
};
use hinagata_document::{Code, Error, Hint, Result};
use hinagata_workspace::layout::{PACKS, PROMPTS};
use serde::Serialize;

use super::{Packs, view::View};

/// A proposal of a pack to replace a prompt, tool or flow by its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Replacement {
    /// The kind of what it replaces.
    pub kind: ReplacementKind,
    /// The id of what it replaces.
    pub replaces: String,
    /// The id of the replacement in the pack.
    pub by: String,
    /// The decision of the user.
    pub state: ReplacementState,
}

/// The kind of a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplacementKind {
    /// A prompt.
    Prompt,
    /// A tool.
    Tool,
    /// A flow.
    Flow,
}

/// The decision of the user about a replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplacementState {
    /// No decision yet.
    Open,
    /// Accepted; it applies while the pack is approved.
    Accepted,
    /// Declined for this version of the pack.
    Declined,
}

impl Packs {
    /// Accepts the proposal of a pack to replace `prompt` by recording a resolution. If the pack proposes no
    /// replacement of that prompt, `prompt` is the id of a tool.
    ///
    /// # Errors
    /// Code `not_found` for an unknown pack, prompt or proposal; code `approval` if the pack is not approved; code
    /// `store` if the decision cannot be written.
    pub fn accept_replacement(&mut self, pack: &str, prompt: &str, now: SystemTime) -> Result<Replacement> {
        if let Some((found, own)) = self.find_tool_proposal(pack, prompt)? {
            return self.decide_on_tool(&found, prompt, &own, true, now);
        }
        let (found, replaced, own) = self.find_proposal(pack, prompt)?;
        let source = self.source_of(&found.id, &own)?;
        if !self.catalog.is_active(&found.id) {
            return Err(not_approved(&found.id));
        }
        self.catalog = self.catalog.set_resolution(replaced.as_str(), &source, now)?;
        let version = View::from_pack(&found).version();
        self.state_of(&found.id).set_declined(&version, replaced.as_str(), false)?;
        self.replacement(&found.id, &replaced)
    }

    /// Declines the proposal of a pack to replace `prompt`, for this version of the pack. Removes the resolution of an
    /// earlier acceptance.
    ///
    /// # Errors
    /// Code `not_found` for an unknown pack or proposal; code `store` if the decision cannot be written.
    pub fn decline_replacement(&mut self, pack: &str, prompt: &str, now: SystemTime) -> Result<Replacement> {
        if let Some((found, own)) = self.find_tool_proposal(pack, prompt)? {
            return self.decide_on_tool(&found, prompt, &own, false, now);
        }
        let (found, replaced, own) = self.find_proposal(pack, prompt)?;
        let version = View::from_pack(&found).version();
        self.state_of(&found.id).set_declined(&version, replaced.as_str(), true)?;
        if is_chosen(&self.catalog, &found.id, &replaced, &own) {
            self.catalog = self.catalog.unset_resolution(&replaced, now)?;
        }
        self.replacement(&found.id, &replaced)
    }

    /// The pack and its own tool, if it proposes to replace the tool `tool` and no prompt with that id.
    fn find_tool_proposal(&self, pack: &str, tool: &str) -> Result<Option<(Arc<Pack>, String)>> {
        let found = Arc::clone(self.pack(pack)?);
        let view = View::from_pack(&found);
        let Ok(manifest) = &view.manifest else { return Ok(None) };
        let wanted = PromptId::new(tool).ok();
        let is_prompt = manifest.replaces.prompts.keys().any(|old| PromptId::new(old).ok() == wanted);
        let own = manifest.replaces.tools.get(tool).filter(|_| wanted.is_none() || !is_prompt).cloned();
        Ok(own.map(|own| (found, own)))
    }

    fn decide_on_tool(
        &mut self,
        pack: &Arc<Pack>,
        tool: &str,
        own: &str,
        accepted: bool,
        now: SystemTime,
    ) -> Result<Replacement> {
        let source = tool_source(&pack.id, own);
        let chosen =
            self.catalog.resolutions().tools().any(|(id, found)| id == tool && found.source == source);
        if accepted {
            if !self.catalog.is_active(&pack.id) {
                return Err(not_approved(&pack.id));
            }
            if !self.catalog.tools().iter().any(|known| known.origin == source) {
                return Err(missing_replacement_error(&pack.id, own).with("tool", own));
            }
            self.catalog = self.catalog.set_tool_resolution(tool, Some(&source), now)?;
        } else if chosen {
            self.catalog = self.catalog.set_tool_resolution(tool, None, now)?;
        }
        let view = View::from_pack(pack);
        self.state_of(&pack.id).set_declined(&view.version(), &tool_key(tool), !accepted)?;
        let state = if accepted { ReplacementState::Accepted } else { ReplacementState::Declined };
        let (replaces, by) = (tool.to_owned(), own.to_owned());
        Ok(Replacement { kind: ReplacementKind::Tool, replaces, by, state })
    }

    /// The pack, the prompt that it proposes to replace, and its own prompt.
    fn find_proposal(&self, pack: &str, prompt: &str) -> Result<(Arc<Pack>, PromptId, PromptId)> {
        let found = Arc::clone(self.pack(pack)?);
        let view = View::from_pack(&found);
        let manifest = view.manifest.as_ref().map_err(Clone::clone)?;
        let wanted = PromptId::new(prompt)?;
        let proposals = &manifest.replaces.prompts;
        let is_wanted = |old: &str| PromptId::new(old).is_ok_and(|old| old == wanted);
        let Some((_, own)) = proposals.iter().find(|(old, _)| is_wanted(old)) else {
            let near = hinagata_value::near_names(wanted.as_str(), proposals.keys().map(String::as_str));
            return Err(Error::new(
                Code::NotFound,
                format!("the pack `{pack}` does not propose to replace `{wanted}`"),
            )
            .with("pack_id", pack)
            .with("prompt_id", wanted.as_str())
            .with_near(near)
            .with_hint(Hint::ShowPack { pack: pack.to_string() }));
        };
        let own = PromptId::new(own)?;
        Ok((found, wanted, own))
    }

    /// The directory of a prompt of the pack, as a path from the workspace root.
    fn source_of(&self, pack: &PackId, own: &PromptId) -> Result<String> {
        let found = View::from_pack(self.pack(pack.as_str())?);
        let entry = found.prompts.as_ref().and_then(|prompts| prompts.find(own).next());
        entry
            .map(|entry| entry.source().to_owned())
            .ok_or_else(|| missing_replacement_error(pack, own.as_str()).with("prompt_id", own.as_str()))
    }

    fn replacement(&self, pack: &PackId, replaced: &PromptId) -> Result<Replacement> {
        let is_it = |proposal: &Replacement| {
            proposal.kind == ReplacementKind::Prompt
                && PromptId::new(&proposal.replaces).is_ok_and(|old| old == *replaced)
        };
        let view = View::from_pack(self.pack(pack.as_str())?);
        let gone =
            || Error::new(Code::NotFound, format!("the pack `{pack}` no longer proposes this replacement"));
        self.replacements(&view).into_iter().find(is_it).ok_or_else(gone)
    }

    /// All proposals of a pack, in order.
    pub(super) fn replacements(&self, view: &View<'_>) -> Vec<Replacement> {
        let Ok(manifest) = &view.manifest else { return Vec::new() };
        let decisions = self.state_of(view.id()).decisions().unwrap_or_default();
        let declined = |old: &str| is_declined(&decisions, &manifest.version, old);
        let prompt = |old: &String, own: &String| match (PromptId::new(old), PromptId::new(own)) {
            (Ok(old), Ok(own)) if is_chosen(&self.catalog, view.id(), &old, &own) => {
                ReplacementState::Accepted
            }
            (Ok(old), _) if declined(old.as_str()) => ReplacementState::Declined,
            _ => ReplacementState::Open,
        };
        let tool = |old: &String, own: &String| {
            let source = tool_source(view.id(), own);
            match self.catalog.resolutions().tools().any(|(id, found)| id == old && found.source == source) {
                true => ReplacementState::Accepted,
                false if declined(&tool_key(old)) => ReplacementState::Declined,
                false => ReplacementState::Open,
            }
        };
        let proposals = &manifest.replaces;
        let all = |kind: ReplacementKind, names: &std::collections::BTreeMap<String, String>| {
            let proposal = |(old, own): (&String, &String)| Replacement {
                kind,
                replaces: old.clone(),
                by: own.clone(),
                state: match kind {
                    ReplacementKind::Prompt => prompt(old, own),
                    ReplacementKind::Tool => tool(old, own),
                    ReplacementKind::Flow => ReplacementState::Open,
                },
            };
            names.iter().map(proposal).collect::<Vec<_>>()
        };
        [
            all(ReplacementKind::Prompt, &proposals.prompts),
            all(ReplacementKind::Tool, &proposals.tools),
            all(ReplacementKind::Flow, &proposals.flows),
        ]
        .concat()
    }
}

/// The file of a tool of the pack, as a path from the workspace root. `own` can have the name of the pack as a prefix.
fn tool_source(pack: &PackId, own: &str) -> String {
    let name = own.strip_prefix(pack.as_str()).and_then(|rest| rest.strip_prefix('.')).unwrap_or(own);
    format!("{PACKS}/{pack}/tools/{name}.json")
}

/// The key of a decision about a tool, among those about prompts.
fn tool_key(tool: &str) -> String {
    format!("tool:{tool}")
}

fn missing_replacement_error(pack: &PackId, own: &str) -> Error {
    Error::new(Code::NotFound, format!("the pack `{pack}` proposes `{own}`, but does not contain it"))
        .with("pack_id", pack.as_str())
        .with_hint(Hint::from("decline the replacement").then(Hint::ShowPack { pack: pack.to_string() }))
}

fn is_declined(decisions: &Decisions, version: &str, prompt: &str) -> bool {
    decisions.declined.get(version).is_some_and(|prompts| prompts.contains(prompt))
}

/// Whether a resolution replaces `replaced` by the prompt `own` of the pack.
fn is_chosen(catalog: &Catalog, pack: &PackId, replaced: &PromptId, own: &PromptId) -> bool {
    let Some(recorded) = catalog.resolutions().get(replaced) else { return false };
    let prefix = format!("{PACKS}/{pack}/{PROMPTS}/");
    let name = recorded.source.strip_prefix(&prefix).and_then(PromptId::from_directory_name);
    name.is_some_and(|name| name == *own)
}
