//! All agents of a workspace: their names and diagnostics.

use hinagata_document::{Code, Diagnostic, Error, Hint, Reason, Result};
use hinagata_workspace::{
    Directory,
    layout::{AGENTS, SHARED},
};

use crate::{Approval, Catalog, PackId};

impl Catalog {
    /// The directories of agents, each with its path from the workspace root.
    fn agent_places(&self) -> Vec<(String, Result<Option<Directory>>)> {
        let place =
            |place: String, directory: &Directory| (format!("{place}/{AGENTS}"), directory.directory(AGENTS));
        let own = match self.shared_directory() {
            Ok(directory) => directory.map(|directory| place(SHARED.to_owned(), directory)),
            Err(error) => Some((format!("{SHARED}/{AGENTS}"), Err(error))),
        };
        own.into_iter().chain(self.active_packs().map(|pack| place(pack.path(), pack.directory()))).collect()
    }

    /// The names of all agents, in order.
    #[must_use]
    pub fn agent_names(&self) -> Vec<String> {
        let listed = self.agent_places().into_iter().filter_map(|(_, opened)| opened.ok()??.list().ok());
        let is_agent = |name: &String| !name.starts_with('.');
        let mut names: Vec<String> = listed
            .flatten()
            .filter(|listed| listed.directory)
            .map(|listed| listed.name)
            .filter(is_agent)
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The error for an unknown agent.
    #[must_use]
    pub fn unknown_agent(&self, id: &str) -> Error {
        let places = self.agent_places();
        let listed = places.iter().filter_map(|(_, opened)| opened.as_ref().ok()?.as_ref()?.list().ok());
        let names: Vec<String> =
            listed.flatten().filter(|listed| listed.directory).map(|listed| listed.name).collect();
        let near = hinagata_value::near_names(id, names.iter().map(String::as_str));
        let hint = match self.agent_of_unused_pack(id) {
            Some((pack, state)) => Hint::Advice(format!("the pack `{pack}` has one, but is {state}"))
                .then(Hint::ShowPack { pack: pack.to_string() }),
            None => Hint::Advice(format!("define it in {SHARED}/{AGENTS}/{id}/agent.json")),
        };
        Error::new(Code::NotFound, format!("agent `{id}` not found"))
            .with("agent_id", id)
            .with_near(near)
            .with_hint(hint)
    }

    /// An unused pack that has the agent, and its state.
    fn agent_of_unused_pack(&self, id: &str) -> Option<(&PackId, Approval)> {
        // A caller who can use only some prompts learns nothing about packs.
        let packs = self.opened_packs().iter().filter(|_| self.reach().is_none());
        let mut unused = packs.filter(|pack| !self.is_active(&pack.id));
        let agent = format!("{AGENTS}/{id}");
        let pack =
            unused.find(|pack| pack.directory().directory(&agent).is_ok_and(|found| found.is_some()))?;
        Some((&pack.id, pack.approval()))
    }

    /// The diagnostics of agents.
    pub(crate) fn check_agents(&self) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for (place, opened) in self.agent_places() {
            match opened.and_then(|directory| directory.map_or_else(|| Ok(Vec::new()), |found| found.list()))
            {
                Ok(listed) => {
                    for listed in listed.into_iter().filter(|listed| listed.directory) {
                        found.extend(self.check_agent(&place, &listed.name));
                    }
                }
                Err(error) => found.push(Diagnostic::error(&*place, error.in_file(&place))),
            }
        }
        found
    }

    fn check_agent(&self, place: &str, name: &str) -> Vec<Diagnostic> {
        let source = format!("{place}/{name}");
        match self.agent(name) {
            // The agent of the user hides the agent of a pack.
            Ok(Some(agent)) if !agent.source.starts_with(place) => Vec::new(),
            Ok(Some(agent)) => {
                agent.warnings.into_iter().map(|error| Diagnostic::warning(&*source, error)).collect()
            }
            Ok(None) => {
                let message = format!("the agent `{name}` has no agent.json");
                vec![Diagnostic::warning(
                    &*source,
                    Error::definition(Reason::NoAgent, message).in_file(&source),
                )]
            }
            Err(error) => vec![Diagnostic::error(source, error)],
        }
    }
}
