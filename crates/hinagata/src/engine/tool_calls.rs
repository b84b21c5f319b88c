//! Runs the tool calls of one render: pure calls concurrently and equal ones once. A failed call can have a fallback
//! value.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use hinagata_value::CallId;
use serde_json::Value;

use super::{
    explain::Tracer, plan::Plan, rendered::Warning, run::WantedCall, tools::KnownTools, wait::join_all,
};
use crate::{
    Code, Error, Result,
    ports::{self, OnError, Tool},
    secrets::Secrets,
};

/// The result of a call for the template: a value, or the message of the failure.
type Outcome = Result<Value, String>;

/// The position of a call: the index of the template, and its call.
type Place = (usize, CallId);

/// The calls of one render over all passes.
pub(super) struct ToolCalls<'c> {
    tools: &'c KnownTools,
    /// What the prompt sets for failed calls.
    on_error: Option<OnError>,
    secrets: Arc<Secrets>,
    /// Results of pure calls by tool and arguments, shared by the templates of the prompt, with the number of the call.
    known: HashMap<(String, String), (Outcome, u32)>,
    /// The failure that ends the render.
    fatal: Option<Error>,
}

/// A call and the places that wait for it.
struct Pending {
    tool: Arc<Tool>,
    function: String,
    arguments: Value,
    key: Option<(String, String)>,
    places: Vec<Place>,
}

/// A finished call with its result and its time.
type FinishedCall = (Pending, Result<Value>, Duration);

impl<'c> ToolCalls<'c> {
    pub(super) fn new(tools: &'c KnownTools, plan: &Plan, secrets: Arc<Secrets>) -> Self {
        Self {
            tools,
            on_error: plan.inherited.definition.on_error,
            secrets,
            known: HashMap::new(),
            fatal: None,
        }
    }

    /// Runs the calls that a pass waits for, and returns their results with their numbers in the trace.
    pub(super) async fn run_calls(
        &mut self,
        wanted: Vec<WantedCall>,
        warnings: &mut Vec<Warning>,
        tracer: &mut Option<Tracer>,
    ) -> Vec<(Place, Outcome, u32)> {
        let mut all = Vec::with_capacity(wanted.len());
        let (pure, ordered) = self.sort_calls(wanted, &mut all);
        let made = join_all(self.call_futures(pure, ordered)).await;
        for (pending, result, took) in made.into_iter().flatten() {
            let result = result.map_err(|error| self.secrets.redact_error(error));
            let number = tracer.as_mut().map_or(0, |tracer| {
                tracer.record_call("tool", &pending.tool.id, took, result.as_ref().err())
            });
            let outcome = self.apply_on_error(&pending.tool, result, warnings);
            all.extend(pending.places.iter().map(|place| (*place, outcome.clone(), number)));
            if let Some(key) = pending.key {
                self.known.insert(key, (outcome, number));
            }
        }
        all
    }

    /// Converts the error of a pass to the failure of the tool that caused it.
    pub(super) fn explain_failure(&self, error: Error) -> Error {
        match &self.fatal {
            // The pass after a failed call stops at it with a runtime error.
            Some(fatal) if error.code() == Code::RenderRuntime => {
                let code = if fatal.code() == Code::Lock { Code::Lock } else { Code::Tool };
                let mut error = error.with_code(code);
                for (key, value) in fatal.details() {
                    error = error.with(key, value.clone());
                }
                if let Some(reason) = fatal.reason() {
                    error = error.with_reason(reason);
                }
                match fatal.hint() {
                    Some(hint) => error.with_hint(hint),
                    None => error.with_hint("set `on_error` to `default` to continue without it"),
                }
            }
            _ => error,
        }
    }

    /// Splits calls into pure and ordered ones. Results that are known go to `done`.
    fn sort_calls(
        &self,
        wanted: Vec<WantedCall>,
        done: &mut Vec<(Place, Outcome, u32)>,
    ) -> (Vec<Pending>, Vec<Pending>) {
        let (mut pure, mut ordered): (Vec<Pending>, Vec<Pending>) = (Vec::new(), Vec::new());
        for WantedCall { place, function, arguments, pure: is_pure } in wanted {
            let Some(tool) = self.tools.set.tools().get(&function).map(Arc::clone) else {
                done.push((place, Err(format!("unknown tool `{function}`")), u32::MAX));
                continue;
            };
            let key = is_pure.then(|| (tool.id.clone(), arguments.to_string()));
            if let Some((outcome, number)) = key.as_ref().and_then(|key| self.known.get(key)) {
                done.push((place, outcome.clone(), *number));
                continue;
            }
            let same = |other: &&mut Pending| key.is_some() && other.key == key;
            match pure.iter_mut().find(same) {
                Some(other) => other.places.push(place),
                None => {
                    let list = if is_pure { &mut pure } else { &mut ordered };
                    list.push(Pending { tool, function, arguments, key, places: vec![place] });
                }
            }
        }
        (pure, ordered)
    }

    /// One future for each pure call, and one that runs the others in order.
    fn call_futures(
        &self,
        pure: Vec<Pending>,
        ordered: Vec<Pending>,
    ) -> Vec<ports::PortFuture<'c, Vec<FinishedCall>>> {
        let tools = self.tools;
        let groups = pure.into_iter().map(|one| vec![one]).chain([ordered]);
        let run = move |group: Vec<Pending>| async move {
            let mut made = Vec::new();
            for mut pending in group {
                let (started, arguments) = (Instant::now(), std::mem::take(&mut pending.arguments));
                let result = tools.set.call_tool(&pending.function, arguments).await;
                made.push((pending, result, started.elapsed()));
            }
            made
        };
        groups.filter(|group| !group.is_empty()).map(|group| Box::pin(run(group)) as _).collect()
    }

    fn apply_on_error(&mut self, tool: &Tool, result: Result<Value>, warnings: &mut Vec<Warning>) -> Outcome {
        let error = match result {
            Ok(value) => return Ok(value),
            Err(error) => error.with_default("tool", tool.id.as_str()),
        };
        match self.on_error.unwrap_or(tool.on_error) {
            // A tool that is not the locked one has no result that could stand in for its own.
            OnError::Default if error.code() != Code::Lock => {
                let told = error.map_message(|message| format!("the tool `{}` failed: {message}", tool.id));
                warnings.push(Warning::new(format!("tool {}", tool.id), told));
                Ok(tool.fallback.clone())
            }
            OnError::Default | OnError::Fail => {
                let message = error.message().to_owned();
                self.fatal.get_or_insert(error);
                Err(message)
            }
        }
    }
}
