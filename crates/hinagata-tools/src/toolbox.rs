//! All tools: answers calls according to their definitions.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Instant,
};

use hinagata::{
    Diagnostic, Reason, Result,
    ports::{PortFuture, Tool, ToolDocuments, ToolSet, Tools},
};
use hinagata_http::LazyRuntime;
use serde_json::Value;
use tokio::{runtime::Handle, time::timeout};

use crate::{
    checks::{SchemaCheck, SchemaSide},
    definition::{CallKind, ToolDefinition},
    failure::tool_error,
    host_guard::{HostGuard, NameResolver, SystemResolver},
    http::HttpClients,
    module_gate::{ModuleGate, ModuleGates},
    restful::RestEndpoint,
    set::NamedTools,
    settings::{ToolSettings, seconds_to_duration},
};

/// Tools of documents, called over HTTP, gRPC and MCP. Cheap to clone.
#[derive(Clone)]
pub struct Toolbox(Arc<Inner>);

struct Inner {
    runtime: LazyRuntime,
    settings: ToolSettings,
    clients: HttpClients,
    #[cfg(feature = "mcp")]
    servers: crate::mcp::McpServers,
    #[cfg(feature = "grpc")]
    channels: crate::grpc::GrpcChannels,
    gates: ModuleGates,
    /// The last set with its documents. A set holds the toolbox, so the toolbox only holds it weakly.
    current: Mutex<Option<(Vec<ToolDocuments>, Weak<LoadedTools>)>>,
}

impl Toolbox {
    /// Creates tools with these settings. Threads start with the first call.
    #[must_use]
    pub fn new(settings: ToolSettings) -> Self {
        Self::with_parts(settings, Arc::new(SystemResolver), own_runtime(), Instant::now)
    }

    /// As [`Toolbox::new`], on the threads of `runtime`.
    #[must_use]
    pub fn on_runtime(settings: ToolSettings, runtime: Handle) -> Self {
        Self::with_parts(settings, Arc::new(SystemResolver), LazyRuntime::from_handle(runtime), Instant::now)
    }

    /// As [`Toolbox::new`], with its own name resolver.
    #[must_use]
    pub fn with_resolver(settings: ToolSettings, names: Arc<dyn NameResolver>) -> Self {
        Self::with_parts(settings, names, own_runtime(), Instant::now)
    }

    /// As [`Toolbox::new`], with its own clock for the pauses of modules that do not answer.
    #[must_use]
    pub fn with_clock(settings: ToolSettings, clock: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        Self::with_parts(settings, Arc::new(SystemResolver), own_runtime(), clock)
    }

    fn with_parts(
        settings: ToolSettings,
        names: Arc<dyn NameResolver>,
        runtime: LazyRuntime,
        clock: impl Fn() -> Instant + Send + Sync + 'static,
    ) -> Self {
        let guard = HostGuard::new(settings.hosts.clone(), names);
        Self(Arc::new(Inner {
            runtime,
            #[cfg(feature = "mcp")]
            servers: crate::mcp::McpServers::new(&settings, guard.clone()),
            #[cfg(feature = "grpc")]
            channels: crate::grpc::GrpcChannels::new(guard.clone()),
            clients: HttpClients::new(guard),
            gates: ModuleGates::new(settings.concurrency, clock),
            current: Mutex::default(),
            settings,
        }))
    }

    fn load_tools(&self, documents: &[ToolDocuments]) -> LoadedTools {
        let NamedTools { definitions, functions, mut diagnostics, .. } =
            NamedTools::from_documents(documents.iter().flat_map(|documents| documents.iter()));
        let mut entries = HashMap::new();
        for (id, definition) in definitions {
            let gate = self.0.gates.gate(&definition.tool);
            let entry = Entry::new(&self.0.settings, definition, gate);
            if let Err(error) = &entry.target {
                diagnostics.push(Diagnostic::error(&entry.definition.origin, error.clone()));
            }
            entries.insert(id, Arc::new(entry));
        }
        diagnostics.sort_by(|a, b| a.source.cmp(&b.source));
        LoadedTools { toolbox: self.clone(), functions, entries, diagnostics }
    }
}

impl Tools for Toolbox {
    fn tool_set(&self, documents: &[ToolDocuments]) -> Arc<dyn ToolSet> {
        // Held while definitions are read, so that they are read once.
        let mut current = self.0.current.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |known: &[ToolDocuments]| {
            known.len() == documents.len() && known.iter().zip(documents).all(|(a, b)| Arc::ptr_eq(a, b))
        };
        let known = current.as_ref().filter(|(known, _)| same(known)).and_then(|(_, set)| set.upgrade());
        known.unwrap_or_else(|| {
            let set = Arc::new(self.load_tools(documents));
            *current = Some((documents.to_vec(), Arc::downgrade(&set)));
            set
        })
    }
}

/// One state of the tools.
struct LoadedTools {
    toolbox: Toolbox,
    functions: BTreeMap<String, Arc<Tool>>,
    entries: HashMap<String, Arc<Entry>>,
    diagnostics: Vec<Diagnostic>,
}

impl ToolSet for LoadedTools {
    fn tools(&self) -> &BTreeMap<String, Arc<Tool>> {
        &self.functions
    }

    fn call_tool<'a>(&'a self, name: &'a str, arguments: Value) -> PortFuture<'a, Result<Value>> {
        let Some(entry) = self.functions.get(name).and_then(|tool| self.entries.get(&tool.id)) else {
            let error = tool_error(Reason::Unknown, format!("unknown tool `{name}`"));
            return Box::pin(std::future::ready(Err(error)));
        };
        let (inner, entry) = (Arc::clone(&self.toolbox.0), Arc::clone(entry));
        let running = async move { inner.call(&entry, arguments).await };
        let running = self.toolbox.0.runtime.spawn(running);
        Box::pin(async move {
            running.await.unwrap_or_else(|stopped| Err(tool_error(Reason::Runtime, stopped.to_string())))
        })
    }

    fn server_schema<'a>(&'a self, name: &'a str) -> PortFuture<'a, Result<Option<Value>>> {
        let Some(entry) = self.functions.get(name).and_then(|tool| self.entries.get(&tool.id)) else {
            let error = tool_error(Reason::Unknown, format!("unknown tool `{name}`"));
            return Box::pin(std::future::ready(Err(error)));
        };
        let (inner, entry) = (Arc::clone(&self.toolbox.0), Arc::clone(entry));
        let running = self.toolbox.0.runtime.spawn(async move { inner.server_schema(&entry).await });
        Box::pin(async move {
            running.await.unwrap_or_else(|stopped| Err(tool_error(Reason::Runtime, stopped.to_string())))
        })
    }

    fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

/// A tool that can be called.
struct Entry {
    definition: ToolDefinition,
    /// Where it is called, or why it cannot be called.
    target: Result<Target>,
    parameters: SchemaCheck,
    returns: SchemaCheck,
    gate: Arc<ModuleGate>,
}

enum Target {
    Restful(RestEndpoint),
    #[cfg(feature = "grpc")]
    Grpc(String),
    Mcp(String),
}

impl Entry {
    fn new(settings: &ToolSettings, definition: ToolDefinition, gate: Arc<ModuleGate>) -> Self {
        let module = definition.tool.module.as_deref();
        let target = match &definition.call {
            CallKind::Restful { method, url } => {
                RestEndpoint::new(settings, module, method, url).map(Target::Restful)
            }
            #[cfg(feature = "grpc")]
            CallKind::Grpc { url } => Ok(Target::Grpc(url.clone())),
            #[cfg(not(feature = "grpc"))]
            CallKind::Grpc { .. } => {
                Err(tool_error(Reason::Unsupported, "this build does not support gRPC tools"))
            }
            CallKind::Mcp => server_name(settings, module).map(Target::Mcp),
        };
        let target = target.map_err(|error| error.with("tool", definition.tool.id.as_str()));
        let parameters = SchemaCheck::new(definition.tool.parameters.as_ref());
        let returns = SchemaCheck::new(definition.returns.as_ref());
        Self { definition, target, parameters, returns, gate }
    }

    fn module(&self) -> Option<&str> {
        self.definition.tool.module.as_deref()
    }
}

/// Threads of its own.
fn own_runtime() -> LazyRuntime {
    LazyRuntime::new("hinagata-tools")
}

fn server_name(settings: &ToolSettings, module: Option<&str>) -> Result<String> {
    let module = module.unwrap_or_default();
    if settings.servers.contains_key(module) {
        return Ok(module.to_owned());
    }
    let known = settings.servers.keys().map(String::as_str);
    Err(hinagata::Error::definition(Reason::Tool, format!("unknown MCP server `{module}`"))
        .with_near(hinagata_value::near_names(module, known))
        .with_hint(format!("set `mcp_servers.{module}`")))
}

impl Inner {
    /// Calls a tool and records the outcome in logs and metrics.
    async fn call(&self, entry: &Entry, arguments: Value) -> Result<Value> {
        let (started, id) = (Instant::now(), &entry.definition.tool.id);
        let result = self.checked_call(entry, arguments).await;
        let outcome = match &result {
            Ok(_) => "ok",
            Err(error) => error.reason().map_or("failed", Reason::as_str),
        };
        let labels = [("tool", id.clone()), ("outcome", outcome.to_owned())];
        metrics::counter!("hinagata_tool_calls_total", &labels).increment(1);
        metrics::histogram!("hinagata_tool_call_seconds", "tool" => id.clone())
            .record(started.elapsed().as_secs_f64());
        match &result {
            Ok(_) => {}
            // The start of the pause was logged. A line for each refused call would hide it.
            Err(error) if error.reason() == Some(Reason::Down) => {
                tracing::debug!(tool = %id, reason = outcome, "tool call refused: {error}");
            }
            Err(error) => tracing::warn!(tool = %id, reason = outcome, "tool call failed: {error}"),
        }
        result.map_err(|error| error.with("tool", id.as_str()))
    }

    async fn checked_call(&self, entry: &Entry, arguments: Value) -> Result<Value> {
        entry.parameters.check_value(SchemaSide::Arguments, &arguments)?;
        let target = entry.target.as_ref().map_err(|error| {
            let mapped = tool_error(Reason::Definition, error.message());
            error.hint().map_or(mapped.clone(), |hint| mapped.with_hint(hint))
        })?;
        let call = entry.gate.admit_call()?;
        let (started, time) = (Instant::now(), self.call_timeout(entry));
        let room = entry.gate.acquire_room(time).await?;
        // Waiting for room is a part of the time of the call.
        let left = time.saturating_sub(started.elapsed());
        let timeout_error = || {
            tool_error(Reason::Timeout, format!("no response within {time:?}"))
                .with("limit", time.as_secs_f64())
                .with_hint("raise `tools.timeout`, or find out why the tool is slow")
        };
        let answer = timeout(left, self.answer_from(entry, target, arguments)).await;
        let answer = answer.unwrap_or_else(|_| Err(timeout_error()));
        call.record_result(&answer, &room);
        drop(room);
        let answer = answer?;
        entry.returns.check_value(SchemaSide::Answer, &answer)?;
        Ok(answer)
    }

    /// The schemas of a tool in the words of its server.
    async fn server_schema(&self, entry: &Entry) -> Result<Option<Value>> {
        let described = async {
            match entry.target.as_ref().map_err(Clone::clone)? {
                Target::Restful(_) => Ok(None),
                #[cfg(feature = "grpc")]
                Target::Grpc(url) => {
                    self.channels.describe_method(url, self.settings.module(entry.module())).await.map(Some)
                }
                #[cfg(feature = "mcp")]
                Target::Mcp(server) => {
                    self.servers.describe_tool(server, &entry.definition.tool.name).await.map(Some)
                }
                #[cfg(not(feature = "mcp"))]
                Target::Mcp(_) => {
                    Err(tool_error(Reason::Unsupported, "this build does not support MCP tools"))
                }
            }
        };
        let time = self.call_timeout(entry);
        let described = timeout(time, described).await.unwrap_or_else(|_| {
            Err(tool_error(Reason::Timeout, format!("no response within {time:?}"))
                .with_hint("raise `tools.timeout`, or find out why the server is slow"))
        });
        described.map_err(|error| error.with("tool", entry.definition.tool.id.as_str()))
    }

    fn call_timeout(&self, entry: &Entry) -> std::time::Duration {
        let of_module =
            self.settings.module(entry.module()).and_then(|module| seconds_to_duration(module.timeout));
        let of_server = match &entry.target {
            Ok(Target::Mcp(server)) => {
                self.settings.servers.get(server).and_then(|server| seconds_to_duration(server.timeout))
            }
            _ => None,
        };
        of_server.or(of_module).unwrap_or(self.settings.timeout)
    }

    async fn answer_from(&self, entry: &Entry, target: &Target, arguments: Value) -> Result<Value> {
        match target {
            Target::Restful(endpoint) => {
                endpoint.call_tool(&self.clients, &self.settings, entry.module(), &arguments).await
            }
            #[cfg(feature = "grpc")]
            Target::Grpc(url) => {
                let module = self.settings.module(entry.module());
                let limits = crate::grpc::GrpcCallLimits {
                    max_answer: self.settings.max_answer,
                    time: self.call_timeout(entry),
                };
                self.channels.call_method(url, module, &limits, arguments).await
            }
            #[cfg(feature = "mcp")]
            Target::Mcp(server) => {
                let name = &entry.definition.tool.name;
                self.servers.call_tool(server, name, arguments, &entry.returns).await
            }
            #[cfg(not(feature = "mcp"))]
            Target::Mcp(_) => Err(tool_error(Reason::Unsupported, "this build does not support MCP tools")),
        }
    }
}
