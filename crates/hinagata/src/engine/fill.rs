//! Filling the layers of a call: values of the engine, shared variables, files and providers.

use std::sync::Arc;

use serde_json::Value;

use super::{
    explain::Tracer,
    hooks::unavailable_value,
    late::find_provider,
    layers::{Layer, Layers},
    pipeline::Call,
    plan::PlannedProvider,
    python_time::PythonTime,
    rendered::Warning,
    system::System,
    wait::join_all,
};
use crate::{Agent, Code, Error, Result};

impl Call<'_> {
    /// Collects what the templates can reach and nobody gave.
    pub(super) async fn fill_layers(
        &self,
        layers: &mut Layers<'_>,
        agent: Option<&Agent>,
        python: &mut PythonTime,
        warnings: &mut Vec<Warning>,
        tracer: &mut Option<Tracer>,
    ) -> Result<()> {
        let Self { engine, plan, request, .. } = *self;
        let is_given = |layers: &Layers<'_>, name: &str| {
            request.variables.contains_key(name) || layers.agent.is_some_and(|agent| agent.contains_key(name))
        };
        if plan.fetches.system {
            warnings.extend(engine.0.host.unknown_zone().map(unknown_zone_warning));
            let system = System::new(&engine.0.host, engine.0.ports.clock.now(), request.context, agent);
            for (name, from) in plan.system.iter().filter(|(name, _)| plan.reaches(name)) {
                if let (false, Some(value)) = (is_given(layers, name), system.get(from)) {
                    layers.fetch(Layer::System, name, value);
                }
            }
            if plan.reaches("system") {
                layers.over.insert("system".to_owned(), system.all());
            }
        }
        if plan.fetches.call {
            for name in ["variables", "args"].into_iter().filter(|name| plan.reaches(name)) {
                layers.over.insert(name.to_owned(), Value::Object(request.variables.clone()));
            }
        }
        warnings.extend(self.add_environs(layers));
        for name in &plan.files {
            self.file_parameter(layers, name)?;
        }
        self.run_reached_providers(layers, python, warnings, tracer).await
    }

    /// Collects shared variables; what is wrong with them.
    fn add_environs(&self, layers: &mut Layers<'_>) -> Vec<Warning> {
        let plan = self.plan;
        let Some(store) = self.store.filter(|_| plan.fetches.environs) else { return Vec::new() };
        for (name, path) in plan.environ.iter().filter(|(name, _)| plan.reaches(name)) {
            if let Some(value) = store.environ(path) {
                layers.fetch(Layer::Environ, name, value.clone());
            }
        }
        if plan.is_store_prompt() || plan.reaches("environs") {
            layers.environs = Some(Arc::clone(store));
        }
        store
            .unread_environs()
            .map(|found| Warning::new(found.source.as_str(), found.error.clone()))
            .collect()
    }

    /// Runs the providers that are reached and not given, at the same time.
    async fn run_reached_providers(
        &self,
        layers: &mut Layers<'_>,
        python: &mut PythonTime,
        warnings: &mut Vec<Warning>,
        tracer: &mut Option<Tracer>,
    ) -> Result<()> {
        // A namespace in dispute is an error only where it would be used.
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

    /// Runs providers at the same time; one that fails gives a value that says so, and a warning.
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
            layers.fetch(Layer::Provider, namespace, value);
        }
    }

    /// Fetches what a template reaches whose name only the run told.
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
            match self.provided.known_value(namespace) {
                // A hook asked for it before.
                Some(value) => layers.fetch(Layer::Provider, namespace, value),
                None => wanted.extend(find_provider(&self.snapshot.catalog, namespace)?),
            }
        }
        self.run_providers(&wanted, layers, python, warnings, tracer).await;
        layers.late.extend_from_slice(namespaces);
        Ok(())
    }
}

fn unknown_zone_warning(name: &str) -> Warning {
    let error =
        Error::new(Code::Validation, format!("there is no time zone `{name}`; the machine's is used"))
            .with_hint("set `render.timezone` to a name such as Asia/Tokyo");
    Warning::new("render.timezone", error)
}
