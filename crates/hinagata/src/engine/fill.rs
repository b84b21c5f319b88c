//! Fills the layers of a call. A new layer is inserted here.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    explain::Tracer,
    hooks::unavailable_value,
    late::find_provider,
    layers::{Layer, LayerEntry, LayerValues, Layers, Origin},
    pipeline::Call,
    plan::{Plan, PlannedProvider},
    python_time::PythonTime,
    rendered::Warning,
    request::Request,
    system::System,
    wait::join_all,
};
use crate::{Agent, Code, Error, PACKS, Result};

/// The layers that need no fetching: the call, the agent with its variables, and declared defaults.
pub(super) fn first_layers<'l>(
    plan: &'l Plan,
    request: &'l Request<'_>,
    agent: Option<(&'l Agent, &'l Map<String, Value>)>,
) -> Layers<'l> {
    let mut layers = Layers::with_capacity(plan.defaults.len() + 2);
    let declared = &plan.inherited.parameters;
    let values = if plan.is_store_prompt() {
        LayerValues::Declared { call: request.variables, only: declared }
    } else {
        LayerValues::Map(request.variables)
    };
    layers.insert(LayerEntry { layer: Layer::Call, values, origin: Origin::Source("call".into()) });
    if let Some((agent, variables)) = agent {
        let (values, origin) = (LayerValues::Map(variables), Origin::Source(agent.source.as_str().into()));
        layers.insert(LayerEntry { layer: Layer::Agent, values, origin });
    }
    for (layer, defaults) in &plan.defaults {
        let (values, origin) = (LayerValues::Map(defaults), Origin::Declaration(declared));
        layers.insert(LayerEntry { layer: *layer, values, origin });
    }
    layers
}

impl Call<'_> {
    /// Fetches every value that a template can reach and that neither the call nor the agent passes.
    pub(super) async fn fill_layers<'l>(
        &'l self,
        layers: &mut Layers<'l>,
        agent: Option<&Agent>,
        python: &mut PythonTime,
        warnings: &mut Vec<Warning>,
        tracer: &mut Option<Tracer>,
    ) -> Result<()> {
        let Self { engine, plan, request, .. } = *self;
        if plan.fetches.system {
            warnings.extend(engine.0.host.unknown_zone().map(unknown_zone_warning));
            let system = System::new(&engine.0.host, engine.0.ports.clock.now(), request.context, agent);
            self.insert_system(layers, &system);
        }
        if plan.fetches.call {
            for name in ["variables", "args"].into_iter().filter(|name| plan.reaches(name)) {
                let variables = Value::Object(self.variables_with_defaults());
                layers.insert_value(Layer::Call, Origin::Reserved, name, variables);
            }
        }
        warnings.extend(self.insert_environs(layers));
        self.insert_project_values(layers, warnings, tracer).await?;
        for name in &plan.files {
            self.insert_file(layers, name)?;
        }
        self.run_reached_providers(layers, python, warnings, tracer).await
    }

    /// The variables of the call, and the declared defaults of those that it does not pass.
    fn variables_with_defaults(&self) -> Map<String, Value> {
        let Self { plan, request, .. } = *self;
        let mut variables = request.variables.clone();
        for (name, default) in plan.defaults.iter().flat_map(|(_, defaults)| defaults) {
            if !variables.contains_key(name) {
                variables.insert(name.clone(), default.clone());
            }
        }
        variables
    }

    /// Inserts `system` and the variables that are declared to come from there.
    fn insert_system<'l>(&'l self, layers: &mut Layers<'l>, system: &System<'_>) {
        let plan = self.plan;
        let is_passed = |name: &str| layers.visible_hit(name).is_some_and(|hit| hit.layer >= Layer::Agent);
        let wanted = plan.system.iter().filter(|(name, _)| plan.reaches(name) && !is_passed(name));
        let values: Map<String, Value> =
            wanted.filter_map(|(name, from)| Some((name.clone(), system.get(from)?))).collect();
        if !values.is_empty() {
            let origin = Origin::Path { root: "system", names: &plan.system };
            layers.insert(LayerEntry { layer: Layer::System, values: LayerValues::Owned(values), origin });
        }
        if plan.reaches("system") {
            layers.insert_value(Layer::System, Origin::Reserved, "system", system.all());
        }
    }

    /// Inserts shared variables, and returns warnings about those that cannot be read.
    fn insert_environs<'l>(&'l self, layers: &mut Layers<'l>) -> Vec<Warning> {
        let plan = self.plan;
        let Some(store) = self.store.filter(|_| plan.fetches.environs) else { return Vec::new() };
        let path = |names| Origin::Path { root: "environs", names };
        let declared = plan.environ.iter().filter(|(name, _)| plan.reaches(name));
        let values: Map<String, Value> =
            declared.filter_map(|(name, path)| Some((name.clone(), store.environ(path)?.clone()))).collect();
        let mut insert = |values, origin| layers.insert(LayerEntry { layer: Layer::Environ, values, origin });
        if !values.is_empty() {
            insert(LayerValues::Owned(values), path(&plan.environ));
        }
        if plan.is_store_prompt() {
            insert(LayerValues::Store(Arc::clone(store)), path(&[]));
        }
        if plan.is_store_prompt() || plan.reaches("environs") {
            insert(LayerValues::Environs(Arc::clone(store)), Origin::Reserved);
        }
        store
            .unread_environs()
            .map(|found| Warning::new(found.source.as_str(), found.error.clone()))
            .collect()
    }

    /// Runs the providers whose namespaces templates reach and no layer has, concurrently.
    async fn run_reached_providers<'l>(
        &'l self,
        layers: &mut Layers<'l>,
        python: &mut PythonTime,
        warnings: &mut Vec<Warning>,
        tracer: &mut Option<Tracer>,
    ) -> Result<()> {
        // A conflict of namespaces is an error only if the namespace is used.
        let all = match &self.plan.providers {
            Ok(all) => all,
            Err(error) => {
                let namespace = error.details().get("namespace").and_then(Value::as_str).unwrap_or_default();
                return if layers.get(namespace).is_some() { Ok(()) } else { Err(error.clone()) };
            }
        };
        let wanted = all.iter().filter(|planned| layers.get(&planned.provider.namespace).is_none());
        let wanted: Vec<PlannedProvider> = wanted.cloned().collect();
        self.run_providers(&wanted, layers, python, warnings, tracer).await;
        Ok(())
    }

    /// Runs providers concurrently. A provider that fails adds a warning, and its value says that it is unavailable.
    async fn run_providers(
        &self,
        wanted: &[PlannedProvider],
        layers: &mut Layers<'_>,
        python: &mut PythonTime,
        warnings: &mut Vec<Warning>,
        tracer: &mut Option<Tracer>,
    ) {
        let time = python.remaining();
        let jobs = wanted.iter().map(|planned| self.time_provider(planned, python, time));
        let results = join_all(jobs.collect()).await;
        let longest = results.iter().map(|(_, took)| *took).max();
        if let Some(longest) = longest {
            python.record_spent("the providers", longest);
        }
        for (planned, (result, took)) in wanted.iter().zip(results) {
            let namespace = &planned.provider.namespace;
            if let Some(tracer) = tracer {
                tracer.record_call("provider", namespace, took, result.as_ref().err());
            }
            let value = result.unwrap_or_else(|error| {
                warnings.push(Warning::new(format!("provider {namespace}"), error));
                unavailable_value()
            });
            insert_provided(layers, planned, value);
        }
    }

    /// Runs the providers that a dynamically included template reaches.
    pub(super) async fn run_late_providers(
        &self,
        namespaces: &[String],
        layers: &mut Layers<'_>,
        python: &mut PythonTime,
        warnings: &mut Vec<Warning>,
        tracer: &mut Option<Tracer>,
    ) -> Result<()> {
        let mut wanted = Vec::new();
        for namespace in namespaces {
            let Some(planned) = find_provider(&self.snapshot.catalog, namespace)? else { continue };
            match self.provided.known_value(namespace) {
                // A hook requested it before.
                Some(value) => insert_provided(layers, &planned, value),
                None => wanted.push(planned),
            }
        }
        self.run_providers(&wanted, layers, python, warnings, tracer).await;
        Ok(())
    }
}

fn insert_provided(layers: &mut Layers<'_>, planned: &PlannedProvider, value: Value) {
    let PlannedProvider { pack, provider } = planned;
    let origin = Origin::Source(format!("{PACKS}/{pack}/{}", provider.file).into());
    layers.insert_value(Layer::Provider, origin, &provider.namespace, value);
}

fn unknown_zone_warning(name: &str) -> Warning {
    let error =
        Error::new(Code::Validation, format!("unknown time zone `{name}`; using that of the machine"))
            .with_hint("set `render.timezone` to a name such as Asia/Tokyo");
    Warning::new("render.timezone", error)
}
