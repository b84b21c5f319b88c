//! What answers in place of programs: nothing leaves the machine, and what has no stub fails.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::SystemTime,
};

use hinagata::{
    Code, Error, Hint, Reason, Result,
    ports::{
        Clock, FixedSurroundings, HookJob, Hooks, Model, ModelRequest, PortFuture, Stage, Tool,
        ToolDocuments, ToolSet, Tools,
    },
};
use serde_json::Value;

use crate::case::Stubs;

/// The detail of errors about calls that no stub answers: the kind and name of the call.
pub(crate) const UNSTUBBED: &str = "unstubbed";

/// The key of a stub that fails.
const FAILS: &str = "$error";

/// Permissions of hooks that reach beyond the test.
const OUTSIDE: [&str; 2] = ["http_request", "subprocess"];

fn unstubbed_error(code: Code, kind: &str, name: &str, place: &str) -> Error {
    Error::new(code, format!("the {kind} `{name}` has no stub"))
        .with(UNSTUBBED, format!("{kind} {name}"))
        .with_hint(format!("add `{place}` to the stubs of the case"))
}

/// The value of a stub, or the error that it states.
fn stub_value(code: Code, value: &Value) -> Result<Value> {
    match value.as_object() {
        Some(fields) if fields.len() == 1 && fields.contains_key(FAILS) => {
            let message = fields[FAILS].as_str().map_or_else(|| fields[FAILS].to_string(), str::to_owned);
            Err(Error::new(code, message))
        }
        _ => Ok(value.clone()),
    }
}

fn ready<'a, T: Send + 'a>(result: Result<T>) -> PortFuture<'a, Result<T>> {
    Box::pin(std::future::ready(result))
}

/// The seed of random numbers in hooks.
const SEED: u64 = 0;

/// What the hooks of a case see.
pub(crate) fn fixed_surroundings(now: SystemTime, timezone: &str) -> FixedSurroundings {
    FixedSurroundings { now, timezone: timezone.to_owned(), seed: SEED }
}

/// A clock that stands still.
pub(crate) struct FixedClock(pub(crate) SystemTime);

impl Clock for FixedClock {
    fn now(&self) -> SystemTime {
        self.0
    }
}

/// The tools of a workspace, answered by stubs.
pub(crate) struct StubbedTools {
    inner: Option<Arc<dyn Tools>>,
    stubs: Arc<Stubs>,
    known: Mutex<Option<KnownSet>>,
}

/// The stubbed form of a set of tools.
struct KnownSet {
    of: Option<Arc<dyn ToolSet>>,
    set: Arc<dyn ToolSet>,
}

impl StubbedTools {
    pub(crate) fn new(inner: Option<Arc<dyn Tools>>, stubs: Arc<Stubs>) -> Self {
        Self { inner, stubs, known: Mutex::default() }
    }
}

impl Tools for StubbedTools {
    fn tool_set(&self, documents: &[ToolDocuments]) -> Arc<dyn ToolSet> {
        let inner = self.inner.as_ref().map(|inner| inner.tool_set(documents));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |other: &Option<Arc<dyn ToolSet>>| match (&inner, other) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            _ => false,
        };
        if let Some(known) = known.as_ref().filter(|known| is_same(&known.of)) {
            return Arc::clone(&known.set);
        }
        let set: Arc<dyn ToolSet> = Arc::new(StubbedSet::new(inner.as_deref(), Arc::clone(&self.stubs)));
        *known = Some(KnownSet { of: inner, set: Arc::clone(&set) });
        set
    }
}

struct StubbedSet {
    tools: BTreeMap<String, Arc<Tool>>,
    stubs: Arc<Stubs>,
}

impl StubbedSet {
    fn new(inner: Option<&dyn ToolSet>, stubs: Arc<Stubs>) -> Self {
        let mut tools = inner.map(|inner| inner.tools().clone()).unwrap_or_default();
        let ids: Vec<&String> = stubs.tools.keys().collect();
        for id in ids {
            if tools.values().any(|tool| tool.id == *id) {
                continue;
            }
            let (module, name) = match id.rsplit_once('.') {
                Some((module, name)) => (Some(module.to_owned()), name.to_owned()),
                None => (None, id.clone()),
            };
            let tool = Tool { id: id.clone(), module, name, ..Tool::default() };
            let function = id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
            tools.entry(function).or_insert_with(|| Arc::new(tool));
        }
        Self { tools, stubs }
    }
}

impl ToolSet for StubbedSet {
    fn tools(&self) -> &BTreeMap<String, Arc<Tool>> {
        &self.tools
    }

    fn call_tool<'a>(&'a self, name: &'a str, _arguments: Value) -> PortFuture<'a, Result<Value>> {
        let id = self.tools.get(name).map_or(name, |tool| &tool.id);
        ready(match self.stubs.tools.get(id) {
            Some(value) => stub_value(Code::Tool, value),
            None => Err(unstubbed_error(Code::Tool, "tool", id, &format!("tools: {{{id}: …}}"))),
        })
    }
}

/// Hooks as the workspace runs them, with stubs in place of providers.
pub(crate) struct StubbedHooks {
    pub(crate) inner: Option<Arc<dyn Hooks>>,
    pub(crate) stubs: Arc<Stubs>,
    /// What hooks see in place of the machine's clock and random numbers.
    pub(crate) fixed: FixedSurroundings,
    pub(crate) is_trusted: bool,
    /// Whether hooks may reach beyond the test.
    pub(crate) may_call_out: bool,
}

impl Hooks for StubbedHooks {
    fn run_hook<'a>(&'a self, mut job: HookJob<'a>) -> PortFuture<'a, Result<Value>> {
        if let Stage::Provide { namespace } = job.stage {
            return ready(match self.stubs.providers.get(namespace) {
                Some(value) => stub_value(Code::Hook, value),
                None => {
                    let place = format!("providers: {{{namespace}: …}}");
                    Err(unstubbed_error(Code::Hook, "provider", namespace, &place))
                }
            });
        }
        let is_hook = !matches!(job.stage, Stage::Load);
        if is_hook && !self.is_trusted {
            let error = Error::new(
                Code::Approval,
                format!(
                    "`{}` of `{}` does not run in tests of an untrusted workspace",
                    job.stage.as_str(),
                    job.file
                ),
            );
            return ready(Err(error.with_reason(Reason::Untrusted).with_hint(Hint::TrustWorkspace)));
        }
        job.fixed = Some(self.fixed.clone());
        if !self.may_call_out {
            let permissions = std::mem::take(&mut job.permissions);
            let (out, kept): (Vec<&str>, Vec<&str>) =
                permissions.into_iter().partition(|permission| OUTSIDE.contains(permission));
            job.permissions = kept;
            job.withheld.extend(out);
        }
        match &self.inner {
            Some(inner) => inner.run_hook(job),
            None => ready(Err(Error::new(
                Code::Hook,
                format!("`{}` cannot run: Python is not available", job.stage.as_str()),
            )
            .with_reason(Reason::Unavailable))),
        }
    }
}

/// The stubs for models that hooks call, in their order; afterwards what answers without stubs.
pub(crate) struct StubbedModel {
    stubs: Arc<Stubs>,
    next: AtomicUsize,
    otherwise: Option<Arc<dyn Model>>,
}

impl StubbedModel {
    pub(crate) fn new(stubs: Arc<Stubs>, otherwise: Option<Arc<dyn Model>>) -> Self {
        Self { stubs, next: AtomicUsize::new(0), otherwise }
    }
}

impl Model for StubbedModel {
    fn call_model(&self, request: ModelRequest) -> PortFuture<'_, Result<Value>> {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        match (self.stubs.models.get(next), &self.otherwise) {
            (Some(value), _) => ready(stub_value(Code::Model, value)),
            (None, Some(otherwise)) => otherwise.call_model(request),
            (None, None) => {
                let name = request.model.as_deref().unwrap_or("default").to_owned();
                ready(Err(unstubbed_error(Code::Hook, "model", &name, "models: [answer]")))
            }
        }
    }
}
