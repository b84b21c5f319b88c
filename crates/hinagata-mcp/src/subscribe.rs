//! What a resource depends on, so that its subscribers are notified. What cannot be watched is refused.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use hinagata::definition::{Origin, Parameter, ValueType};
use hinagata_context::leads_out;
use rmcp::ErrorData;
use serde_json::{Map, Value};

use crate::{
    backend::Viewer,
    declared_resource::ResourceSource,
    failure::{from_engine_error, invalid_params, truncate_for_display},
    notices::ChangeNotice,
    project::ProjectSource,
    prompt::PublicPrompt,
    shared::{PROMPT_SCHEME, Shared, resource_not_found_error},
    state::PublicState,
    watched::{WatchGuard, WatchPlan, watched_files},
};

impl Shared {
    /// Watches the resource at `uri` until the guard is dropped. It blocks while watches are set.
    ///
    /// # Errors
    /// The resource does not exist or cannot be watched.
    pub(crate) fn watch_resource(self: &Arc<Self>, uri: &str) -> Result<WatchGuard, ErrorData> {
        let plan = self.watch_plan(uri)?;
        let shared = Arc::downgrade(self);
        self.watched.start_watching(uri, plan, move |change| {
            let Some(shared) = shared.upgrade() else { return };
            let mut notice = ChangeNotice::default();
            for (prompt, uri) in shared.watched.changed_by_files(&change) {
                match prompt {
                    Some(id) => notice.rewritten.push((id, uri)),
                    None => notice.updated.push(uri),
                }
            }
            shared.send_notice(notice);
        })
    }

    /// Whether the viewer may see the resource at `uri`.
    pub(crate) fn can_see_resource(&self, viewer: &Viewer, uri: &str) -> bool {
        let state = self.state_for(viewer);
        if let Some(name) = uri.strip_prefix(PROMPT_SCHEME) {
            return state.find_prompt(prompt_name(name), viewer).is_ok();
        }
        match self.resources().find_resource(uri).map(|(declared, _)| &declared.content) {
            Some(ResourceSource::Prompt(name)) => state.find_any_prompt(name, viewer).is_ok(),
            Some(_) => viewer.can_see_all(),
            None => embedding_prompt(&state, viewer, uri).is_some(),
        }
    }

    fn watch_plan(&self, uri: &str) -> Result<WatchPlan, ErrorData> {
        let missing = || resource_not_found_error(uri);
        let owner = Viewer::for_owner();
        let state = self.state_for(&owner);
        if let Some(name) = uri.strip_prefix(PROMPT_SCHEME) {
            // Every change of the list is compared with the list before.
            return state
                .find_prompt(prompt_name(name), &owner)
                .map(|_| WatchPlan::default())
                .map_err(|_| missing());
        }
        let resources = self.resources();
        let Some((declared, values)) = resources.find_resource(uri) else {
            let (prompt, fields) = embedding_prompt(&state, &owner, uri).ok_or_else(missing)?;
            let file = fields.get("file").and_then(Value::as_str);
            return self.prompt_plan(&state, &prompt, file);
        };
        match &declared.content {
            // It is part of the settings; all clients are notified when they change.
            ResourceSource::Text(_) | ResourceSource::Blob(_) => Ok(WatchPlan::default()),
            ResourceSource::File(_) => {
                let file = resources.file_path(declared, &values);
                file.map(|file| WatchPlan::for_file(&file)).ok_or_else(missing)
            }
            ResourceSource::Context(project) => {
                Ok(WatchPlan { context: Some(Arc::new(project.context.clone())), ..WatchPlan::default() })
            }
            ResourceSource::Prompt(name) => {
                let prompt = state.find_any_prompt(name, &owner).map_err(|_| missing())?;
                if let Some(why) = unwatched_reason(&prompt) {
                    let shown = truncate_for_display(uri);
                    return Err(invalid_params(format!("cannot watch `{shown}`: its prompt {why}")));
                }
                let files = file_arguments(&prompt, &values);
                self.prompt_plan(&state, &prompt, files.iter().map(String::as_str))
            }
        }
    }

    /// The plan for a resource of `prompt` that reads `files`.
    fn prompt_plan<'f>(
        &self,
        state: &PublicState,
        prompt: &PublicPrompt,
        files: impl IntoIterator<Item = &'f str>,
    ) -> Result<WatchPlan, ErrorData> {
        let engine = prompt.engine.as_ref().unwrap_or(&state.engine);
        let hash =
            engine.definition_hash(&prompt.id).map_err(|error| from_engine_error(&error, &self.places))?;
        let root = engine.root();
        let owner = prompt.inherited.body_definition().map(|owner| root.join(&owner.source)).ok();
        let project = match &self.options.project_source {
            ProjectSource::Fixed(directory) => Some(directory.clone()),
            ProjectSource::Absent | ProjectSource::Client { .. } => None,
        };
        let directories: Vec<PathBuf> = project.into_iter().chain([root]).chain(owner).collect();
        let beneath =
            |file: &str| directories.iter().map(|directory| directory.join(file)).collect::<Vec<_>>();
        let files = files.into_iter().filter(|file| !leads_out(file)).flat_map(beneath);
        let files = files.flat_map(|file| watched_files(&file)).collect();
        Ok(WatchPlan { files, prompt: Some((prompt.id.clone(), hash)), ..WatchPlan::default() })
    }
}

/// Why the text of a prompt cannot be watched.
fn unwatched_reason(prompt: &PublicPrompt) -> Option<&'static str> {
    let from_project = |parameter: &Parameter| matches!(parameter.origin, Origin::Project(_));
    match () {
        () if prompt.inherited.definition.hooks.has_any() => {
            Some("runs Python, which may depend on anything")
        }
        () if prompt.inherited.parameters.iter().any(from_project) => {
            Some("takes values from the project, which is not watched")
        }
        () => None,
    }
}

/// The name in a `prompt:` URI, without the file.
fn prompt_name(name: &str) -> &str {
    name.split('#').next().unwrap_or(name)
}

/// The prompt that embeds the resource at `uri`, and the fields of the resource.
fn embedding_prompt(
    state: &PublicState,
    viewer: &Viewer,
    uri: &str,
) -> Option<(Arc<PublicPrompt>, Map<String, Value>)> {
    let is_it = |fields: &&Map<String, Value>| fields.get("uri").and_then(Value::as_str) == Some(uri);
    let seen = state.list().prompts.iter().filter(|prompt| viewer.can_see(&prompt.id));
    let embeds = |prompt: &Arc<PublicPrompt>| {
        let fields = prompt.embedded_resources().into_iter().find(is_it)?.clone();
        Some((Arc::clone(prompt), fields))
    };
    seen.filter_map(embeds).next()
}

/// The files that parameters of a prompt name: values of a URI, or defaults.
fn file_arguments(prompt: &PublicPrompt, values: &BTreeMap<String, String>) -> Vec<String> {
    let files = prompt.inherited.parameters.iter().filter(|parameter| parameter.kind == ValueType::File);
    let named = files.filter_map(|parameter| {
        let default = || parameter.default.as_ref().and_then(Value::as_str).map(str::to_owned);
        values.get(&parameter.name).cloned().or_else(default)
    });
    named.collect()
}
