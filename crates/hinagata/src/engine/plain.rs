//! The short way of a plain call: its plan is cached, and it fetches, runs and waits for nothing.
//!
//! It has the result of the steps in `pipeline.rs`, without futures and without what those keep for other calls.

use std::collections::BTreeSet;

use hinagata_value::{Key, Variables};
use serde_json::{Map, Value};

use super::{
    Engine,
    file_secrets::FileSecrets,
    fill::first_layers,
    layers::{Layer, long_numbers},
    pipeline::{finish_render, renamed_variables},
    plan::Plan,
    rendered::Rendered,
    request::Request,
    run::Run,
    snapshot::Snapshot,
    validate::{count_fitting, reserved},
};
use crate::{Error, Result, secrets::Secrets};

impl Engine {
    /// The result of a plain call; `None` for other calls.
    pub(super) fn render_plain(&self, request: &Request<'_>) -> Option<Result<Rendered>> {
        // A restricted reach takes the long path, which has the same result.
        if self.1.is_some() {
            return None;
        }
        let snapshot = self.0.current.load();
        let plan = snapshot.plans.get(request.prompt).filter(|plan| plan.is_plain)?;
        let store = self.store();
        if !self.0.frozen && store.as_ref().is_some_and(|store| !snapshot.has_prompts_of(store)) {
            return None;
        }
        if !plan.has_tools(self.tools(&snapshot, store.as_deref()).as_ref()) {
            return None;
        }
        if renamed_variables(&plan, request.variables).is_some() || !is_plain(&plan, request) {
            return None;
        }
        snapshot.counts.record_hit();
        let rendered = self.run_plain(&snapshot, &plan, request);
        Some(rendered.map_err(|error| error.with_default("prompt_id", plan.choice.id.as_str())))
    }

    fn run_plain(&self, snapshot: &Snapshot, plan: &Plan, request: &Request<'_>) -> Result<Rendered> {
        let file_secrets = FileSecrets::new(&self.0.options, plan.untrusted_home.is_none());
        let layers = || first_layers(plan, request, None);
        let run = Run::new(self, snapshot, plan, request, &file_secrets);
        let variables = PlainVariables { call: request.variables, defaults: &plan.defaults };
        let output = run.run_text(&variables).unwrap_or_else(|| run.run_immediately(&layers()));
        let output = output.and_then(|output| plan.check_output_limit(output));
        let redacted =
            |error: Error| Secrets::from_layers(plan, &layers()).redact_error(plan.with_output_limit(error));
        // Those of declared defaults are no part of a plain plan.
        let warnings = long_numbers(request.variables).collect();
        Ok(finish_render(plan, output.map_err(redacted)?, warnings, &file_secrets))
    }
}

/// The variables of a plain call, as its layers have them.
struct PlainVariables<'a> {
    call: &'a Map<String, Value>,
    /// The strongest first.
    defaults: &'a [(Layer, Map<String, Value>)],
}

impl Variables for PlainVariables<'_> {
    fn find(&self, key: &Key) -> Option<&Value> {
        key.find_in(self.call).or_else(|| self.defaults.iter().find_map(|(_, values)| key.find_in(values)))
    }

    fn names(&self) -> Vec<&str> {
        let defaults = self.defaults.iter().flat_map(|(_, values)| values.keys());
        let names: BTreeSet<&str> = self.call.keys().chain(defaults).map(String::as_str).collect();
        names.into_iter().collect()
    }
}

/// Whether a call of a plain plan is plain: it asks for nothing else, and its variables match their declarations.
fn is_plain(plan: &Plan, request: &Request<'_>) -> bool {
    let variables = request.variables;
    request.undefined.is_none()
        && request.context.agent().is_none()
        && count_fitting(plan.inherited.parameters.iter().zip(&plan.keys), variables).is_some_and(
            |declared| {
                // No declared name is reserved.
                declared == variables.len()
                    || (reserved(variables).is_empty() && variables.keys().all(|name| plan.is_known(name)))
            },
        )
}
