//! All tools: answers calls by what their definitions say.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Instant,
};

use hinagata::{
    Diagnostic, Result,
    ports::{PortFuture, Tool, ToolDocuments, ToolSet, Tools},
};
use hinagata_http::LazyRuntime;
use serde_json::Value;
use tokio::{runtime::Handle, sync::Semaphore, time::timeout};

use crate::{
    checks::{Check, Side},
    definition::{CallKind, ToolDefinition},
    failure::failed,
    http::Clients,
    reach::{Names, Reach, SystemNames},
    restful::Endpoint,
    set::Named,
    settings::{ToolSettings, seconds},
};

/// Tools of documents, called over HTTP, gRPC and MCP. Cheap to clone.
#[derive(Clone)]
pub struct Toolbox(Arc<Inner>);

struct Inner {
    runtime: LazyRuntime,
    settings: ToolSettings,
    clients: Clients,
    #[cfg(feature = "mcp")]
    servers: crate::mcp::Servers,
    #[cfg(feature = "grpc")]
    channels: crate::grpc::Channels,
    /// Calls that may start.
    room: Semaphore,
    /// The set that was asked for last, with its documents. A set holds this, so this does not hold the set.
    current: Mutex<Option<(Vec<ToolDocuments>, Weak<Set>)>>,
}

impl Toolbox {
    /// Tools with these settings. Threads are started with the first call.
    #[must_use]
    pub fn new(settings: ToolSettings) -> Self {
        Self::with_parts(settings, Arc::new(SystemNames), LazyRuntime::new("hinagata-tools"))
    }

    /// As [`Toolbox::new`], on the threads of `runtime`.
    #[must_use]
    pub fn on(settings: ToolSettings, runtime: Handle) -> Self {
        Self::with_parts(settings, Arc::new(SystemNames), LazyRuntime::of(runtime))
    }

    /// As [`Toolbox::new`], with other names than those of the system.
    #[must_use]
    pub fn with_names(settings: ToolSettings, names: Arc<dyn Names>) -> Self {
        Self::with_parts(settings, names, LazyRuntime::new("hinagata-tools"))
    }

    fn with_parts(settings: ToolSettings, names: Arc<dyn Names>, runtime: LazyRuntime) -> Self {
        let reach = Reach::new(settings.hosts.clone(), names);
        Self(Arc::new(Inner {
            runtime,
            #[cfg(feature = "mcp")]
            servers: crate::mcp::Servers::new(&settings, reach.clone()),
            #[cfg(feature = "grpc")]
            channels: crate::grpc::Channels::new(reach.clone()),
            clients: Clients::new(reach),
            room: Semaphore::new(settings.concurrency),
            current: Mutex::default(),
            settings,
        }))
    }

    fn set(&self, documents: &[ToolDocuments]) -> Set {
        let Named { definitions, functions, mut diagnostics, .. } =
            Named::read(documents.iter().flat_map(|documents| documents.iter()));
        let mut entries = HashMap::new();
        for (id, definition) in definitions {
            let entry = Entry::new(&self.0.settings, definition);
            if let Err(error) = &entry.target {
                diagnostics.push(Diagnostic::error(&entry.definition.origin, error.clone()));
            }
            entries.insert(id, Arc::new(entry));
        }
        diagnostics.sort_by(|a, b| a.source.cmp(&b.source));
        Set { toolbox: self.clone(), functions, entries, diagnostics }
    }
}

impl Tools for Toolbox {
    fn tools(&self, documents: &[ToolDocuments]) -> Arc<dyn ToolSet> {
        // Held while definitions are read, so that they are read once.
        let mut current = self.0.current.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |known: &[ToolDocuments]| {
            known.len() == documents.len() && known.iter().zip(documents).all(|(a, b)| Arc::ptr_eq(a, b))
        };
        let known = current.as_ref().filter(|(known, _)| same(known)).and_then(|(_, set)| set.upgrade());
        known.unwrap_or_else(|| {
            let set = Arc::new(self.set(documents));
            *current = Some((documents.to_vec(), Arc::downgrade(&set)));
            set
        })
    }
}

/// One state of the tools.
struct Set {
    toolbox: Toolbox,
    functions: BTreeMap<String, Arc<Tool>>,
    entries: HashMap<String, Arc<Entry>>,
    diagnostics: Vec<Diagnostic>,
}

impl ToolSet for Set {
    fn tools(&self) -> &BTreeMap<String, Arc<Tool>> {
        &self.functions
    }

    fn call<'a>(&'a self, name: &'a str, arguments: Value) -> PortFuture<'a, Result<Value>> {
        let Some(entry) = self.functions.get(name).and_then(|tool| self.entries.get(&tool.id)) else {
            let error = failed("unknown", format!("there is no tool `{name}`"));
            return Box::pin(std::future::ready(Err(error)));
        };
        let (inner, entry) = (Arc::clone(&self.toolbox.0), Arc::clone(entry));
        let running = async move { inner.call(&entry, arguments).await };
        let running = self.toolbox.0.runtime.spawn(running);
        Box::pin(async move {
            running.await.unwrap_or_else(|stopped| Err(failed("runtime", stopped.to_string())))
        })
    }

    fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

/// A tool that can be called.
struct Entry {
    definition: ToolDefinition,
    /// Where it is called, or why it cannot be.
    target: Result<Target>,
    parameters: Check,
    returns: Check,
}

enum Target {
    Restful(Endpoint),
    #[cfg(feature = "grpc")]
    Grpc(String),
    Mcp(String),
}

impl Entry {
    fn new(settings: &ToolSettings, definition: ToolDefinition) -> Self {
        let module = definition.tool.module.as_deref();
        let target = match &definition.call {
            CallKind::Restful { method, url } => {
                Endpoint::new(settings, module, method, url).map(Target::Restful)
            }
            #[cfg(feature = "grpc")]
            CallKind::Grpc { url } => Ok(Target::Grpc(url.clone())),
            #[cfg(not(feature = "grpc"))]
            CallKind::Grpc { .. } => Err(failed("unsupported", "this build cannot call tools of gRPC")),
            CallKind::Mcp => server_name(settings, module).map(Target::Mcp),
        };
        let target = target.map_err(|error| error.with("tool", definition.tool.id.as_str()));
        let parameters = Check::new(definition.tool.parameters.as_ref());
        let returns = Check::new(definition.returns.as_ref());
        Self { definition, target, parameters, returns }
    }

    fn module(&self) -> Option<&str> {
        self.definition.tool.module.as_deref()
    }
}

fn server_name(settings: &ToolSettings, module: Option<&str>) -> Result<String> {
    let module = module.unwrap_or_default();
    if settings.servers.contains_key(module) {
        return Ok(module.to_owned());
    }
    let known = settings.servers.keys().map(String::as_str);
    Err(hinagata::Error::definition("tool", format!("there is no server `{module}` of MCP"))
        .with_near(hinagata_value::near_names(module, known))
        .with_hint(format!("set `mcp_servers.{module}`")))
}

impl Inner {
    /// Calls a tool, and tells logs and metrics how it went.
    async fn call(&self, entry: &Entry, arguments: Value) -> Result<Value> {
        let (started, id) = (Instant::now(), &entry.definition.tool.id);
        let result = self.checked(entry, arguments).await;
        let outcome = match &result {
            Ok(_) => "ok",
            Err(error) => error.reason().unwrap_or("failed"),
        };
        let labels = [("tool", id.clone()), ("outcome", outcome.to_owned())];
        metrics::counter!("hinagata_tool_calls_total", &labels).increment(1);
        metrics::histogram!("hinagata_tool_call_seconds", "tool" => id.clone())
            .record(started.elapsed().as_secs_f64());
        if let Err(error) = &result {
            tracing::warn!(tool = %id, reason = outcome, "a call of a tool failed: {error}");
        }
        result.map_err(|error| error.with("tool", id.as_str()))
    }

    async fn checked(&self, entry: &Entry, arguments: Value) -> Result<Value> {
        entry.parameters.run(Side::Arguments, &arguments)?;
        let target = entry.target.as_ref().map_err(|error| {
            let failed = failed("definition", error.message());
            error.hint().map_or(failed.clone(), |hint| failed.with_hint(hint))
        })?;
        let time = self.time(entry);
        let answer = timeout(time, self.answer(entry, target, arguments)).await.map_err(|_| {
            failed("timeout", format!("it did not answer within {time:?}"))
                .with("limit", time.as_secs_f64())
                .with_hint("raise `tools.timeout`, or see why it is slow")
        })??;
        entry.returns.run(Side::Answer, &answer)?;
        Ok(answer)
    }

    fn time(&self, entry: &Entry) -> std::time::Duration {
        let of_module = self.settings.module(entry.module()).and_then(|module| seconds(module.timeout));
        let of_server = match &entry.target {
            Ok(Target::Mcp(server)) => {
                self.settings.servers.get(server).and_then(|server| seconds(server.timeout))
            }
            _ => None,
        };
        of_server.or(of_module).unwrap_or(self.settings.timeout)
    }

    async fn answer(&self, entry: &Entry, target: &Target, arguments: Value) -> Result<Value> {
        let _room = self.room.acquire().await.map_err(|_| failed("runtime", "the tools are shut down"))?;
        match target {
            Target::Restful(endpoint) => {
                endpoint.call(&self.clients, &self.settings, entry.module(), &arguments).await
            }
            #[cfg(feature = "grpc")]
            Target::Grpc(url) => {
                let module = self.settings.module(entry.module());
                let limits =
                    crate::grpc::CallLimits { max_answer: self.settings.max_answer, time: self.time(entry) };
                self.channels.call(url, module, &limits, arguments).await
            }
            #[cfg(feature = "mcp")]
            Target::Mcp(server) => {
                let returns = entry.definition.returns.as_ref();
                self.servers.call(server, &entry.definition.tool.name, arguments, returns).await
            }
            #[cfg(not(feature = "mcp"))]
            Target::Mcp(_) => Err(failed("unsupported", "this build cannot call tools of MCP")),
        }
    }
}
