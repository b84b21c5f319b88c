//! Runs the Python of a call (providers, `pre_render`, `post_render`) and answers its requests to the engine.

use std::time::{Duration, Instant};

use hinagata_template::{Render, Sources};
use hinagata_workspace::permissions_needing_trust;
use serde_json::{Map, Value, json};

use super::{
    explain::Tracer,
    late::{find_provider, reached_namespaces},
    layers::Layers,
    own_files::OwnFiles,
    pipeline::Call,
    places::with_places,
    plan::{PlannedProvider, seconds},
    python_time::PythonTime,
    rendered::Warning,
    sources::{PromptSources, TemplateFile},
    withheld::Declarer,
};
use crate::{
    Code, Error, PACKS, Reason, Result,
    ports::{Capabilities, HookJob, ModelRequest, PortFuture, QueueTime, Stage},
};

/// Maximum size of a Python file of a pack, in bytes.
const LARGEST: u64 = 256 << 10;

impl Call<'_> {
    /// Runs a hook of the prompt.
    pub(super) async fn run_hook(
        &self,
        stage: Stage<'_>,
        layers: &Layers<'_>,
        python: &mut PythonTime,
        tracer: &mut Option<Tracer>,
    ) -> Result<Value> {
        let name = stage.as_str();
        let time = python.remaining();
        if time.is_zero() {
            return Err(python.exhausted_error(name));
        }
        let waited = QueueTime::default();
        let definition = &self.plan.inherited.definition;
        let hooks = self.engine.0.ports.hooks.as_ref().ok_or_else(|| no_python_error(name))?;
        let declarer = self.plan.untrusted_home.clone().map(Declarer::Prompt);
        let (permissions, withheld) =
            self.split_permissions(declarer, definition.permissions.granted_names().collect());
        let file = self.plan.hook_file();
        let own = OwnFiles::for_prompt(&self.snapshot.catalog, &self.plan.choice.entry, &file)?;
        let abilities = CallCapabilities::new(self, Some(layers), &waited);
        let job = HookJob {
            stage,
            file: &file,
            source: definition.hooks.source.as_deref().unwrap_or_default(),
            context: self.plain_context(permissions.contains(&"session_state")),
            permissions,
            withheld,
            root: self.snapshot.catalog.root(),
            workspace: self.hook_workspace(),
            own_directory: own.directory,
            path: own.file,
            owner: self.owner(),
            time,
            deadline: self.request.deadline,
            fixed: None,
            waited: &waited,
            secrets: self.secrets(),
            capabilities: &abilities,
        };
        let started = Instant::now();
        let result = hooks.run_hook(job).await;
        let took = started.elapsed().saturating_sub(waited.total());
        if let Some(tracer) = tracer {
            tracer.record_call("hook", name, took, result.as_ref().err());
        }
        let result = result.map_err(|error| {
            let error = error.with_default("stage", name);
            if error.code() == Code::HookTimeout { python.with_account(error) } else { error }
        });
        python.record_spent(if name == "pre_render" { "`pre_render`" } else { "`post_render`" }, took);
        result
    }

    /// The owner of the prompt's Python: its pack, or the prompt.
    fn owner(&self) -> &str {
        let entry = &self.plan.choice.entry;
        entry.pack().map_or_else(|| entry.source(), |pack| pack.as_str())
    }

    /// Runs a provider and measures its time.
    pub(super) fn time_provider<'s>(
        &'s self,
        planned: &'s PlannedProvider,
        python: &'s PythonTime,
        time: Duration,
    ) -> PortFuture<'s, (Result<Value>, Duration)> {
        Box::pin(async move {
            if time.is_zero() {
                return (Err(python.exhausted_error("provide")), Duration::ZERO);
            }
            let (started, waited) = (Instant::now(), QueueTime::default());
            let result = self.run_provider(planned, time, &waited).await;
            (result, started.elapsed().saturating_sub(waited.total()))
        })
    }

    /// The value of a provider that a hook requests. A failure is a warning.
    async fn provide_softly(
        &self,
        planned: &PlannedProvider,
        waited: &QueueTime,
    ) -> (Value, Option<Warning>) {
        // The time of the hook that waits for it limits it too.
        match self.run_provider(planned, seconds(&self.plan.max_execution_time), waited).await {
            Ok(value) => (value, None),
            Err(error) => (
                unavailable_value(),
                Some(Warning::new(format!("provider {}", planned.provider.namespace), error)),
            ),
        }
    }

    async fn run_provider(
        &self,
        planned: &PlannedProvider,
        time: Duration,
        waited: &QueueTime,
    ) -> Result<Value> {
        let PlannedProvider { pack, provider } = planned;
        let hooks = self.engine.0.ports.hooks.as_ref().ok_or_else(|| no_python_error("provide"))?;
        let catalog = &self.snapshot.catalog;
        let Some(source) = catalog.pack_file(pack, &provider.file, LARGEST)? else {
            return Err(Error::new(
                Code::Hook,
                format!("file `{}` not found in the pack `{pack}`", provider.file),
            ));
        };
        let file = format!("{PACKS}/{pack}/{}", provider.file);
        let own = OwnFiles::for_pack(catalog, pack, &file)?;
        let abilities = CallCapabilities::new(self, None, waited);
        let is_trusted = self.engine.0.options.trusted;
        let declarer = (!is_trusted).then(|| Declarer::Provider(provider.namespace.clone()));
        let (permissions, withheld) = self.split_permissions(declarer, provider.permissions());
        let job = HookJob {
            stage: Stage::Provide { namespace: &provider.namespace },
            file: &file,
            source: &source,
            permissions,
            withheld,
            context: self.plain_context(false),
            root: catalog.root(),
            workspace: self.workspace(),
            own_directory: own.directory,
            path: own.file,
            owner: pack.as_str(),
            time,
            deadline: self.request.deadline,
            fixed: None,
            waited,
            secrets: self.secrets(),
            capabilities: &abilities,
        };
        match hooks.run_hook(job).await? {
            Value::Object(map) => Ok(Value::Object(map)),
            other => Err(Error::new(
                Code::Hook,
                format!(
                    "`provide` must return a dict, not {}",
                    hinagata_value::ValueType::of_value(&other).name()
                ),
            )
            .with("exception", "TypeError")),
        }
    }

    /// Splits declared permissions into granted and withheld ones, and records the latter for the declarer, if it is not
    /// trusted.
    fn split_permissions<'s>(
        &self,
        declarer: Option<Declarer>,
        declared: Vec<&'s str>,
    ) -> (Vec<&'s str>, Vec<&'s str>) {
        let Some(declarer) = declarer else { return (declared, Vec::new()) };
        let withheld = permissions_needing_trust(declared.iter().copied());
        self.withheld.note(declarer, &withheld);
        (declared.into_iter().filter(|name| !withheld.contains(name)).collect(), withheld)
    }

    fn plain_context(&self, session_state: bool) -> Map<String, Value> {
        let context = self.request.context;
        let mut all = Map::new();
        all.insert("workspace_path".to_owned(), self.workspace().to_string_lossy().into());
        all.insert("session".to_owned(), Value::Object(context.session.clone()));
        if session_state {
            all.insert("session_state".to_owned(), Value::Object(context.session_state.clone()));
        }
        all
    }
}

/// The value of a provider that failed.
pub(super) fn unavailable_value() -> Value {
    json!({"available": false})
}

fn no_python_error(stage: &str) -> Error {
    Error::new(Code::Hook, format!("`{stage}` cannot run: Python is not available"))
        .with_reason(Reason::Unavailable)
        .with("stage", stage)
}

/// Answers the requests of a call's Python.
struct CallCapabilities<'a, 'c> {
    call: &'a Call<'c>,
    /// The variables; `None` for a provider.
    layers: Option<&'a Layers<'a>>,
    /// Also records the waits of providers that it requests.
    waited: &'a QueueTime,
}

impl<'a, 'c> CallCapabilities<'a, 'c> {
    fn new(call: &'a Call<'c>, layers: Option<&'a Layers<'a>>, waited: &'a QueueTime) -> Self {
        Self { call, layers, waited }
    }

    /// Renders a template after running the providers that it reaches.
    async fn render(&self, name: &str, variables: &Map<String, Value>) -> Result<String> {
        let mut all = self.layers.map(Layers::flatten).unwrap_or_default();
        all.extend(variables.iter().map(|(name, value)| (name.clone(), value.clone())));
        let missing = self.reached(name)?;
        for namespace in
            missing.iter().filter(|namespace| !all.contains_key(*namespace)).cloned().collect::<Vec<_>>()
        {
            if let Some(value) = self.provided(&namespace).await? {
                all.insert(namespace, value);
            }
        }
        self.render_with(name, &all)
    }

    /// The namespaces of providers that a template reaches.
    fn reached(&self, name: &str) -> Result<Vec<String>> {
        let Call { snapshot, plan, .. } = *self.call;
        let sources = PromptSources::new(&snapshot.catalog, &plan.known);
        let (Some(_), Some((joined, file))) = (self.layers, self.template(&sources, name)?) else {
            return Ok(Vec::new());
        };
        let reached = reached_namespaces(&snapshot.catalog, (&plan.options, &plan.limits), &joined, &file);
        Ok(reached.into_iter().collect())
    }

    /// The template that `include` in the prompt would find as `name`.
    fn template(
        &self,
        sources: &PromptSources<'_>,
        name: &str,
    ) -> Result<Option<(String, std::sync::Arc<TemplateFile>)>> {
        let plan = self.call.plan;
        // Names resolve as in the prompt's own files.
        let own = plan.hook_file();
        let from = plan.known.file(&own).map_or_else(|| plan.main_file().to_owned(), |_| own);
        let joined = match plan.joined.get(&from, name) {
            Some(joined) => joined.to_owned(),
            None => {
                Sources::join(sources, &from, name).map_err(|error| with_places(error, sources))?.into_owned()
            }
        };
        Ok(sources.file(&joined).map(|file| (joined, file)))
    }

    fn render_with(&self, name: &str, variables: &Map<String, Value>) -> Result<String> {
        let Call { engine, snapshot, plan, .. } = *self.call;
        let sources = PromptSources::new(&snapshot.catalog, &plan.known);
        let placed = |error| with_places(error, &sources);
        let Some((joined, file)) = self.template(&sources, name)? else {
            return Err(Error::new(Code::RenderTemplateNotFound, format!("template `{name}` not found"))
                .with_reason(Reason::TemplateNotFound)
                .with("template", name));
        };
        let limits = plan.limits.clone();
        let template = engine.0.cache.get(&joined, &file.source, &plan.options, &limits).map_err(placed)?;
        let mut render = Render::new()
            .with_limits(limits)
            .with_sources(&sources)
            .with_joined(&plan.joined)
            .with_cache(&engine.0.cache);
        if let Some(cancel) = &self.call.request.cancel {
            render = render.with_cancel(cancel.clone());
        }
        render.render_text(&template, variables).map_err(placed)
    }

    async fn variable(&self, path: &str) -> Result<Option<Value>> {
        let (namespace, rest) = path.split_once('.').unwrap_or((path, ""));
        if let Some(layers) = self.layers.filter(|layers| layers.get(namespace).is_some()) {
            return Ok(layers.at_path(path).cloned());
        }
        let Some(value) = self.provided(namespace).await? else { return Ok(None) };
        let mut keys = rest.split('.').filter(|key| !key.is_empty());
        Ok(keys.try_fold(&value, |value, key| value.get(key)).cloned())
    }

    /// The value of a namespace. Its provider runs once for all requests.
    async fn provided(&self, namespace: &str) -> Result<Option<Value>> {
        let call = self.call;
        let Some(planned) = find_provider(&call.snapshot.catalog, namespace)? else { return Ok(None) };
        Ok(Some(call.provided.get(namespace, call.provide_softly(&planned, self.waited)).await))
    }
}

impl Capabilities for CallCapabilities<'_, '_> {
    fn render_template<'a>(
        &'a self,
        name: &'a str,
        variables: &'a Map<String, Value>,
    ) -> PortFuture<'a, Result<String>> {
        Box::pin(self.render(name, variables))
    }

    fn get_variable<'a>(&'a self, path: &'a str) -> PortFuture<'a, Result<Option<Value>>> {
        Box::pin(self.variable(path))
    }

    fn read_file<'a>(&'a self, path: &'a str) -> PortFuture<'a, Result<String>> {
        Box::pin(async move { self.call.read_beneath(path) })
    }

    fn llm_call<'a>(&'a self, request: ModelRequest) -> PortFuture<'a, Result<Value>> {
        match &self.call.engine.0.ports.model {
            Some(model) => model.call_model(request),
            None => Box::pin(async {
                Err(Error::new(Code::Model, "no model is configured")
                    .with_hint("configure one in the settings"))
            }),
        }
    }
}
