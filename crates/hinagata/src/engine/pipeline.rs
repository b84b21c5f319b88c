//! The steps of a call, in their order.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use hinagata_catalog::PromptHome;
use hinagata_template::Options;
use serde_json::{Map, Value};

use super::{
    Engine,
    explain::Tracer,
    file_secrets::FileSecrets,
    fill::first_layers,
    late::LateProviders,
    layers::Layers,
    plan::Plan,
    provided::Provided,
    python_time::PythonTime,
    rendered::{Rendered, RenderedBody, Warning},
    request::Request,
    run::{PendingCalls, RenderOutput, Run, Step},
    snapshot::Snapshot,
    tool_calls::ToolCalls,
    trace::Trace,
    validate::{RESERVED, Validation},
    wait::{block_on, unless_cancelled},
    withheld::Withheld,
};
use crate::{
    Agent, Code, Error, Hint, Reason, Result, definition::UndefinedMode, ports::Stage, secrets::Secrets,
    store::StoreSnapshot,
};

impl Engine {
    /// Renders a prompt.
    ///
    /// # Errors
    /// Every [`Code`]. Each error has `prompt_id` in its details.
    pub async fn render(&self, request: &Request<'_>) -> Result<Rendered> {
        match self.render_plain(request) {
            Some(done) => done,
            None => self.run_pipeline(request, None).await,
        }
    }

    /// As [`Engine::render`], blocking the thread.
    ///
    /// # Errors
    /// As [`Engine::render`].
    pub fn render_blocking(&self, request: &Request<'_>) -> Result<Rendered> {
        self.render_plain(request).unwrap_or_else(|| block_on(self.run_pipeline(request, None)))
    }

    /// Renders a prompt with a [`Rendered::trace`], which shows where every part of the result came from.
    ///
    /// # Errors
    /// As [`Engine::render`].
    pub async fn explain(&self, request: &Request<'_>) -> Result<Rendered> {
        self.run_pipeline(request, Some(Tracer::start(request.is_mapped))).await
    }

    /// As [`Engine::explain`], blocking the thread.
    ///
    /// # Errors
    /// As [`Engine::render`].
    pub fn explain_blocking(&self, request: &Request<'_>) -> Result<Rendered> {
        block_on(self.explain(request))
    }

    /// Checks variables against the declarations of the prompt. Renders and runs nothing.
    ///
    /// # Errors
    /// Errors of finding and reading the prompt.
    pub fn validate(&self, request: &Request<'_>) -> Result<Validation> {
        let (snapshot, store) = self.current();
        let plan = self.plan(&snapshot, store.as_deref(), request.prompt)?;
        let renamed = renamed_variables(&plan, request.variables);
        let request =
            &renamed.as_ref().map_or_else(|| request.clone(), |map| request.clone().with_variable_map(map));
        let agent = find_agent(&snapshot, request)?;
        let own = agent.as_deref().and_then(|agent| agent_variables(&snapshot, &plan, agent));
        Ok(validation(&plan, request, own))
    }

    async fn run_pipeline(&self, request: &Request<'_>, tracer: Option<Tracer>) -> Result<Rendered> {
        unless_cancelled(request.cancel.as_ref(), pin!(self.run_uncancelled(request, tracer))).await
    }

    async fn run_uncancelled(&self, request: &Request<'_>, tracer: Option<Tracer>) -> Result<Rendered> {
        let (snapshot, store) = self.current();
        let plan = self.load_plan(&snapshot, store.as_deref(), request.prompt, request.deadline).await?;
        let renamed = renamed_variables(&plan, request.variables);
        let request =
            &renamed.as_ref().map_or_else(|| request.clone(), |map| request.clone().with_variable_map(map));
        let call = Call::new(self, &snapshot, store.as_ref(), &plan, request);
        let named = |error: Error| error.with_default("prompt_id", plan.choice.id.as_str());
        call.run(tracer).await.map_err(|error| named(for_home(error, plan.untrusted_home.as_ref())))
    }
}

/// The error with the library to trust where it is not the workspace that lacks trust. Ports do not know libraries.
fn for_home(error: Error, home: Option<&PromptHome>) -> Error {
    match (home, error.hint().cloned()) {
        (Some(PromptHome::Library(root)), Some(hint)) => error.with_hint(hint_for_library(hint, root)),
        _ => error,
    }
}

fn hint_for_library(hint: Hint, root: &Path) -> Hint {
    match hint {
        Hint::TrustWorkspace => Hint::TrustLibrary { path: root.display().to_string() },
        Hint::Steps(steps) => {
            Hint::Steps(steps.into_iter().map(|step| hint_for_library(step, root)).collect())
        }
        step => step,
    }
}

/// The agent of the call; `None` if it names none or an unknown one.
fn find_agent(snapshot: &Snapshot, request: &Request<'_>) -> Result<Option<Arc<Agent>>> {
    request.context.agent().map_or(Ok(None), |id| snapshot.agent(id))
}

/// The variables that the agent sets for this prompt.
fn agent_variables<'a>(snapshot: &Snapshot, plan: &Plan, agent: &'a Agent) -> Option<&'a Map<String, Value>> {
    let own = snapshot.catalog.resolve_id(agent.prompt_id.as_deref()?).ok()?;
    (own == plan.choice.id).then_some(&agent.prompt_variables)
}

fn validation(plan: &Plan, request: &Request<'_>, agent: Option<&Map<String, Value>>) -> Validation {
    let parameters = plan.inherited.parameters.iter().zip(&plan.keys);
    let mut found = Validation::check_call(parameters, request.variables, agent, &plan.schemas);
    found.unknown = plan.unknown_variables(request.variables);
    // Undeclared variables of a store prompt are under `variables` only, so they cannot hide a reserved name.
    if plan.is_store_prompt() {
        found.allow_reserved();
    }
    found
}

/// The variables with the names of parameters in place of their aliases; `None` if the call uses no alias.
pub(super) fn renamed_variables(plan: &Plan, variables: &Map<String, Value>) -> Option<Map<String, Value>> {
    if !plan.has_aliases {
        return None;
    }
    let mut renamed: Option<Map<String, Value>> = None;
    for parameter in plan.inherited.parameters.iter().filter(|parameter| !parameter.aliases.is_empty()) {
        let used = parameter.aliases.iter().find(|alias| variables.contains_key(*alias));
        if let Some(alias) = used.filter(|_| !variables.contains_key(&parameter.name)) {
            let map = renamed.get_or_insert_with(|| variables.clone());
            if let Some(value) = map.shift_remove(alias) {
                map.insert(parameter.name.clone(), value);
            }
        }
    }
    renamed
}

/// The hint for a caller who lacks shared variables.
const NEEDS_ENVIRONS: &str =
    "pass the variable with the call, or allow the shared variable in `environs` of the key";

/// A call in progress.
pub(super) struct Call<'c> {
    pub(super) engine: &'c Engine,
    pub(super) snapshot: &'c Snapshot,
    /// The snapshot of the store that belongs to it.
    pub(super) store: Option<&'c Arc<StoreSnapshot>>,
    pub(super) plan: &'c Plan,
    pub(super) request: &'c Request<'c>,
    /// Values of providers that hooks requested.
    pub(super) provided: Provided,
    pub(super) withheld: Withheld,
    /// Redacts secrets in files.
    pub(super) file_secrets: FileSecrets<'c>,
    /// The files that hooks and parameters read.
    pub(super) files: Mutex<BTreeSet<PathBuf>>,
    /// Every value that was secret at any time of the call.
    secrets: Mutex<Arc<Secrets>>,
}

impl<'c> Call<'c> {
    fn new(
        engine: &'c Engine,
        snapshot: &'c Snapshot,
        store: Option<&'c Arc<StoreSnapshot>>,
        plan: &'c Plan,
        request: &'c Request<'c>,
    ) -> Self {
        Self {
            engine,
            snapshot,
            store,
            plan,
            request,
            provided: Provided::default(),
            withheld: Withheld::default(),
            file_secrets: FileSecrets::new(&engine.0.options, plan.untrusted_home.is_none()),
            files: Mutex::default(),
            secrets: Mutex::default(),
        }
    }
}

impl Call<'_> {
    fn finish_render(
        &self,
        output: RenderOutput,
        warnings: Vec<Warning>,
        trace: Option<Box<Trace>>,
    ) -> Rendered {
        let read = std::mem::take(&mut *self.files.lock().unwrap_or_else(PoisonError::into_inner));
        let rendered = finish_render(self.plan, output, warnings, &self.file_secrets);
        Rendered { trace, read_files: read.into_iter().collect(), ..rendered }
    }

    fn known_secrets(&self) -> MutexGuard<'_, Arc<Secrets>> {
        self.secrets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every value that is secret so far.
    pub(super) fn secrets(&self) -> Arc<Secrets> {
        Arc::clone(&self.known_secrets())
    }

    /// Adds the current values of secret variables.
    fn note_secrets(&self, layers: &Layers<'_>) {
        if self.plan.secrets().next().is_some() {
            Arc::make_mut(&mut self.known_secrets()).add_layers(self.plan, layers);
        }
    }

    async fn run(&self, mut tracer: Option<Tracer>) -> Result<Rendered> {
        let Self { snapshot, plan, request, .. } = *self;
        record_phase(&mut tracer, |times| &mut times.prepare);
        let mut warnings = plan.warnings.clone();
        let agent = find_agent(snapshot, request)?;
        if let (Some(id), None) = (request.context.agent(), &agent) {
            warnings.push(Warning::new(format!("agent {id}"), snapshot.catalog.unknown_agent(id)));
        }
        if let Some(agent) = &agent {
            let of_agent = |error: &Error| Warning::new(agent.source.as_str(), error.clone());
            warnings.extend(agent.warnings.iter().map(of_agent));
        }
        let own = agent.as_deref().and_then(|agent| agent_variables(snapshot, plan, agent));
        if !request.unchecked {
            self.check_variables(own, &mut warnings)?;
        }
        let withheld = self.withheld_environs();
        warnings.extend(withheld.clone());
        let mut layers = first_layers(plan, request, agent.as_deref().zip(own));
        self.note_secrets(&layers);
        let mut python = PythonTime::new(&plan.max_execution_time);
        if plan.fetches.anything {
            let filled = self
                .fill_layers(&mut layers, agent.as_deref(), &mut python, &mut warnings, &mut tracer)
                .await;
            self.note_secrets(&layers);
            filled.map_err(|error| self.secrets().redact_error(error))?;
        }
        record_phase(&mut tracer, |times| &mut times.scope);
        let result = self.render_body(&mut layers, &mut python, &mut warnings, &mut tracer).await;
        let secrets = self.secrets();
        let output = result.map_err(|error| {
            let error = secrets.redact_error(plan.with_output_limit(error));
            match &withheld {
                Some(_) if error.code() == Code::RenderUndefined => error.with_hint(NEEDS_ENVIRONS),
                _ => error,
            }
        })?;
        warnings.extend(layers.long_numbers());
        warnings.extend(self.withheld.take_warnings());
        warnings.extend(self.provided.take_warnings());
        for warning in &mut warnings {
            warning.error = secrets.redact_error(warning.error.clone());
        }
        let Some(tracer) = tracer else { return Ok(self.finish_render(output, warnings, None)) };
        let map = tracer.is_mapped.then(|| self.explain_map(&layers, &output, tracer.calls()));
        let mut output = output;
        let mut trace = tracer.into_trace(self, &layers, &output.body);
        self.mask_body(&mut output, map.as_ref());
        trace.map = map.map(Box::new);
        Ok(self.finish_render(output, warnings, Some(Box::new(trace))))
    }

    /// Warns a caller with a restricted reach that a template may lack shared variables. It does not name them, because the
    /// caller may not know them.
    fn withheld_environs(&self) -> Option<Warning> {
        let Self { engine, snapshot, store, plan, .. } = *self;
        snapshot.catalog.reach()?;
        let all = engine.0.ports.store.as_ref()?.snapshot();
        let is_whole = store.is_some_and(|store| store.environs.len() == all.environs.len());
        let parameters = &plan.inherited.parameters;
        let by_name = || {
            plan.is_store_prompt()
                && plan.template_variables().iter().any(|name| parameters.get(name).is_none())
        };
        let declared = || plan.environ.iter().any(|(name, _)| plan.reaches(name));
        let can_miss = !is_whole && (plan.reaches("environs") || declared() || by_name());
        can_miss.then(|| {
            let message = "some shared variables are not available to this caller";
            Warning::new("environs", Error::new(Code::Approval, message).with_hint(NEEDS_ENVIRONS))
        })
    }

    fn check_variables(&self, agent: Option<&Map<String, Value>>, warnings: &mut Vec<Warning>) -> Result<()> {
        let parameters = &self.plan.inherited.parameters;
        let found = validation(self.plan, self.request, agent);
        for problem in &found.type_warnings {
            let message =
                format!("`{}` should be {}, not {}", problem.name, problem.expected, problem.actual);
            warnings.push(Warning::new(problem.name.clone(), Error::new(Code::Validation, message)));
        }
        warnings.extend(self.plan.warn_of_unknown(&found.unknown));
        found.into_error(&self.plan.choice.id, parameters).map_or(Ok(()), Err)
    }

    async fn render_body(
        &self,
        layers: &mut Layers<'_>,
        python: &mut PythonTime,
        warnings: &mut Vec<Warning>,
        tracer: &mut Option<Tracer>,
    ) -> Result<RenderOutput> {
        let definition = &self.plan.inherited.definition;
        if definition.hooks.pre_render.is_some() {
            let before = layers.flatten();
            let stage = Stage::PreRender { variables: &before };
            let after = self.run_hook(stage, layers, python, tracer).await?;
            match after {
                Value::Object(variables) => {
                    warnings.extend(dropped_change_warnings(&before, &variables));
                    layers.replace_visible(variables, self.plan.hook_file());
                }
                other => return Err(wrong_result_error("pre_render", "a dict", &other)),
            }
            self.note_secrets(layers);
        }
        record_phase(tracer, |times| &mut times.hooks);
        let mode = self.request.undefined.unwrap_or(self.plan.undefined);
        if mode == UndefinedMode::Error {
            self.refuse_missing(layers)?;
        }
        let mut output = self.render_templates(layers, mode, python, warnings, tracer).await?;
        record_phase(tracer, |times| &mut times.render);
        if definition.hooks.post_render.is_some() {
            let maps = std::mem::take(&mut output.maps);
            output = self.post_render(output.body, layers, python, tracer).await?.into();
            output.maps = self.maps_after_hook(maps, &output.body);
            record_phase(tracer, |times| &mut times.hooks);
        }
        self.plan.check_output_limit(output)
    }

    async fn post_render(
        &self,
        body: RenderedBody,
        layers: &Layers<'_>,
        python: &mut PythonTime,
        tracer: &mut Option<Tracer>,
    ) -> Result<RenderedBody> {
        let RenderedBody::Text(text) = body else {
            return Err(Error::definition(
                Reason::PostRender,
                "`post_render` requires a text, and this prompt has messages",
            )
            .with_hint("remove `post_render`, or write the prompt as one text"));
        };
        let variables = layers.flatten();
        let stage = Stage::PostRender { text: &text, variables: &variables };
        match self.run_hook(stage, layers, python, tracer).await? {
            Value::String(text) => Ok(RenderedBody::Text(text)),
            other => Err(wrong_result_error("post_render", "a string", &other)),
        }
    }

    /// Runs passes over the templates until none waits for a tool or a provider.
    async fn render_templates(
        &self,
        layers: &mut Layers<'_>,
        mode: UndefinedMode,
        python: &mut PythonTime,
        warnings: &mut Vec<Warning>,
        tracer: &mut Option<Tracer>,
    ) -> Result<RenderOutput> {
        let plan = self.plan;
        let other_mode =
            (mode != plan.undefined).then(|| Arc::new((*plan.options).clone().with_undefined(mode.into())));
        let mut pending = PendingCalls::default();
        let mut calls = plan.tools.as_ref().map(|tools| ToolCalls::new(tools, plan, self.secrets()));
        let mut wanted_before: Vec<String> = Vec::new();
        loop {
            // A run is not `Send`: it ends before anything is awaited.
            let (step, namespaces) = {
                let late = plan.reads.anything.then(|| LateProviders::new(self, layers));
                let is_mapped = tracer.as_ref().is_some_and(|tracer| tracer.is_mapped);
                let run =
                    Run { late: late.as_ref(), is_mapped, ..self.template_run(other_mode.clone(), mode) };
                let step = match calls {
                    None => run.run_immediately(layers).map(Step::Done),
                    Some(_) => run.run_pass(layers, &mut pending),
                };
                (step, late.map(LateProviders::into_wanted).unwrap_or_default())
            };
            // Each round fetches new namespaces, so the number of rounds is bounded by their number.
            if !namespaces.is_empty() && namespaces != wanted_before {
                self.run_late_providers(&namespaces, layers, python, warnings, tracer).await?;
                wanted_before = namespaces;
                continue;
            }
            match (step, &mut calls) {
                (Err(error), Some(calls)) => return Err(calls.explain_failure(error)),
                (Err(error), None) => return Err(error),
                (Ok(Step::Done(output)), _) => return Ok(output),
                (Ok(Step::Wait(wanted)), Some(calls)) => {
                    for (place, outcome, number) in calls.run_calls(wanted, warnings, tracer).await {
                        pending.resolve(place, outcome, number);
                    }
                }
                (Ok(Step::Wait(_)), None) => {
                    return Err(Error::new(
                        Code::RenderRuntime,
                        "a template waits for a call, and no tool can answer it",
                    ));
                }
            }
        }
    }

    fn template_run(&self, options: Option<Arc<Options>>, undefined: UndefinedMode) -> Run<'_> {
        let Self { engine, snapshot, plan, request, .. } = *self;
        Run { options, undefined, ..Run::new(engine, snapshot, plan, request, &self.file_secrets) }
    }
}

pub(super) fn finish_render(
    plan: &Plan,
    output: RenderOutput,
    mut warnings: Vec<Warning>,
    file_secrets: &FileSecrets<'_>,
) -> Rendered {
    let RenderOutput { body, module, .. } = output;
    warnings.extend(file_secrets.take_warnings());
    for left_out in module.iter().flat_map(|prompt| &prompt.warnings) {
        let error = Error::definition(Reason::Module, left_out.message.clone());
        warnings.push(Warning::new(left_out.path.clone(), error));
    }
    let about = Arc::clone(&plan.about);
    Rendered { body, module, warnings, trace: None, read_files: Vec::new(), about }
}

impl Plan {
    /// Adds the limit of the prompt to the error of an output that the template limit stopped.
    pub(super) fn with_output_limit(&self, error: Error) -> Error {
        match error.code() {
            Code::OutputLimit => error.with_default("limit", self.max_output_size),
            _ => error,
        }
    }

    pub(super) fn check_output_limit(&self, output: RenderOutput) -> Result<RenderOutput> {
        let limit = self.max_output_size;
        // For most texts the byte length is enough.
        let fits = matches!(&output.body, RenderedBody::Text(text) if text.len() as u64 <= limit);
        let actual = if fits { 0 } else { output.body.characters() as u64 };
        if actual <= limit {
            return Ok(output);
        }
        Err(Error::new(
            Code::OutputLimit,
            format!("the result has {actual} characters; the limit is {limit}"),
        )
        .with("limit", limit)
        .with("actual", actual)
        .with_hint("raise the setting `limits.max_output_size` or `max_output_size` in the prompt's limits, or render less"))
    }
}

/// Warns that changes of `pre_render` under reserved names are dropped.
fn dropped_change_warnings(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<Warning> {
    let is_changed = |name: &&str| after.get(*name).is_some_and(|value| before.get(*name) != Some(value));
    let warning = |name: &str| {
        let message = format!("`pre_render` changed the reserved name `{name}`; the change is dropped");
        let error = Error::new(Code::Hook, message)
            .with_reason(Reason::Reserved)
            .with("variable", name)
            .with_hint("use another name for it");
        Warning::new(name, error)
    };
    RESERVED.into_iter().filter(is_changed).map(warning).collect()
}

fn wrong_result_error(stage: &'static str, wanted: &str, found: &Value) -> Error {
    let kind = hinagata_value::ValueType::of_value(found).name();
    Error::new(Code::Hook, format!("`{stage}` must return {wanted}, not {kind}"))
        .with("stage", stage)
        .with("exception", "TypeError")
}

pub(super) fn record_phase(
    tracer: &mut Option<Tracer>,
    step: impl FnOnce(&mut super::trace::Times) -> &mut Duration,
) {
    if let Some(tracer) = tracer {
        tracer.record_phase(step);
    }
}
