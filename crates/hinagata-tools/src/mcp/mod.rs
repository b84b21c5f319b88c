//! Tools of MCP servers: programs on standard input and output, or Streamable HTTP servers.
//!
//! Each server has one connection, opened with the first call. After a failure, the next call opens it again. A server
//! that cannot be reached is retried after a delay that grows each time.

mod bounded_client;
mod http;
mod program;
mod wrapped;

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use hinagata::{Error, Reason, Result};
use hinagata_http::{CallOutcome, CircuitBreaker};
use rmcp::{
    ServiceError,
    model::{CallToolRequestParams, CallToolResult},
};
use serde_json::{Map, Value, json};
use tokio::{sync::Mutex, time::timeout};

use self::{
    bounded_client::LastRefusal,
    program::ServerProgram,
    wrapped::{Wrapping, WrappingTools},
};
use crate::{
    checks::SchemaCheck,
    failure::{tool_error, truncate_for_display, with_causes},
    host_guard::HostGuard,
    http::{HttpClients, too_long_error},
    module_gate::new_breaker,
    settings::{McpServerSettings, ToolSettings},
};

/// How long a server may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// An open connection.
type Client = rmcp::service::RunningService<rmcp::RoleClient, ()>;

/// All configured servers.
pub(crate) struct McpServers(BTreeMap<String, Arc<McpServer>>);

impl McpServers {
    pub(crate) fn new(settings: &ToolSettings, guard: HostGuard) -> Self {
        let clients = Arc::new(HttpClients::new(guard));
        let server = |(name, own): (&String, &McpServerSettings)| {
            let server = McpServer {
                name: name.clone(),
                settings: own.clone(),
                max_answer: settings.max_answer,
                clients: Arc::clone(&clients),
                state: Mutex::new(ConnectionState { connection: None, breaker: new_breaker(1) }),
            };
            (name.clone(), Arc::new(server))
        };
        Self(settings.servers.iter().map(server).collect())
    }

    /// Calls a tool of a server. `returns` checks its result.
    ///
    /// # Errors
    /// Code `tool`.
    pub(crate) async fn call_tool(
        &self,
        server: &str,
        tool: &str,
        arguments: Value,
        returns: &SchemaCheck,
    ) -> Result<Value> {
        let server = self.server(server)?;
        let parameters = CallToolRequestParams::new(tool.to_owned());
        let parameters = match named_arguments(arguments)? {
            Some(arguments) => parameters.with_arguments(arguments),
            None => parameters,
        };
        let connection = server.connection().await?;
        let result = server.call(&connection, parameters).await?;
        let is_wrapped = match Wrapping::from_result(&result, returns) {
            Wrapping::Wrapped => true,
            Wrapping::Plain => false,
            Wrapping::Unclear => connection.wrapping_tools.contains(&connection.client, tool).await,
        };
        check_length(result_value(result, is_wrapped, returns.schema())?, server.max_answer)
    }
}

impl McpServers {
    fn server(&self, name: &str) -> Result<&Arc<McpServer>> {
        self.0.get(name).ok_or_else(|| tool_error(Reason::Unknown, format!("unknown MCP server `{name}`")))
    }

    /// The schemas of the arguments and results of a tool, as its server lists them.
    ///
    /// # Errors
    /// Code `tool`.
    pub(crate) async fn describe_tool(&self, server: &str, tool: &str) -> Result<Value> {
        let server = self.server(server)?;
        let connection = server.connection().await?;
        let tools = wrapped::list_tools(&connection.client).await;
        let tools = tools
            .map_err(|error| connection.call_error(&error))
            .map_err(|error| error.with("server", server.name.as_str()))?;
        let found = tools.iter().find(|found| found.name == tool).ok_or_else(|| {
            let near = hinagata_value::near_names(tool, tools.iter().map(|found| &*found.name));
            tool_error(Reason::Unknown, format!("the server `{}` lists no tool `{tool}`", server.name))
                .with_near(near)
        })?;
        Ok(json!({"input": &*found.input_schema, "output": found.output_schema.as_deref()}))
    }
}

/// One server and its connection.
struct McpServer {
    name: String,
    settings: McpServerSettings,
    max_answer: usize,
    clients: Arc<HttpClients>,
    state: Mutex<ConnectionState>,
}

struct ConnectionState {
    connection: Option<Arc<Connection>>,
    /// Refuses attempts to connect for a while after each failed one.
    breaker: CircuitBreaker,
}

/// A connection and the server program, which ends with it.
struct Connection {
    client: Client,
    program: Option<ServerProgram>,
    /// Why its HTTP client refused a response.
    refusal: LastRefusal,
    wrapping_tools: WrappingTools,
}

impl Connection {
    fn is_broken(&self) -> bool {
        self.client.is_closed() || self.client.peer().is_transport_closed()
    }

    /// The error of a failed request.
    fn call_error(&self, error: &ServiceError) -> Error {
        if let Some(limit) = self.program.as_ref().and_then(ServerProgram::exceeded_limit) {
            return tool_error(Reason::Size, format!("the server sent a message of more than {limit} bytes"))
                .with("limit", limit)
                .with_hint("raise `tools.max_answer`, or request less");
        }
        if let Some(refused) = self.refusal.take() {
            return refused;
        }
        match error {
            ServiceError::McpError(error) => tool_error(
                Reason::Status,
                format!("the server rejected the call: {}", truncate_for_display(&error.message)),
            )
            .with("status", error.code.0),
            other => tool_error(Reason::Connect, format!("the connection failed: {}", with_causes(other))),
        }
    }
}

impl McpServer {
    async fn call(
        &self,
        connection: &Connection,
        parameters: CallToolRequestParams,
    ) -> Result<CallToolResult> {
        let result = connection.client.call_tool(parameters).await;
        result
            .map_err(|error| connection.call_error(&error))
            .map_err(|error| error.with("server", self.name.as_str()))
    }

    /// The open connection, or a new one.
    async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>> {
        let server = Arc::clone(self);
        // Not as a part of the call: a server may take longer to start than a call may take.
        let making = tokio::spawn(async move { server.connected().await });
        making.await.unwrap_or_else(|_| Err(tool_error(Reason::Runtime, "the tools are shut down")))
    }

    async fn connected(&self) -> Result<Arc<Connection>> {
        // Held while connecting: other calls need the same connection.
        let mut state = self.state.lock().await;
        if let Some(connection) = state.connection.as_ref().filter(|known| !known.is_broken()) {
            return Ok(Arc::clone(connection));
        }
        state.connection = None;
        let attempt = state.breaker.admit_call(Instant::now()).map_err(|left| {
            let message = format!("the server `{}` failed; next attempt in {left:.1?}", self.name);
            tool_error(Reason::Down, message).with("server", self.name.as_str())
        })?;
        let slow =
            || tool_error(Reason::Timeout, format!("the server `{}` did not start in time", self.name));
        let made = timeout(START_TIMEOUT, self.connect()).await.unwrap_or_else(|_| Err(slow()));
        let outcome = match &made {
            Ok(_) => CallOutcome::Answered,
            Err(_) => CallOutcome::Failed { requested_pause: None },
        };
        state.breaker.record_outcome(attempt, outcome, Instant::now());
        let made = Arc::new(made.map_err(|error| error.with("server", self.name.as_str()))?);
        state.connection = Some(Arc::clone(&made));
        Ok(made)
    }

    async fn connect(&self) -> Result<Connection> {
        match (&self.settings.command, &self.settings.url) {
            (Some(command), None) => {
                let (program, client) =
                    program::connect_program(&self.name, command, &self.settings, self.max_answer).await?;
                Ok(Connection {
                    client,
                    program: Some(program),
                    refusal: LastRefusal::default(),
                    wrapping_tools: WrappingTools::default(),
                })
            }
            (None, Some(url)) => {
                let (client, refusal) =
                    http::connect_url(url, &self.settings.headers, &self.clients, self.max_answer).await?;
                Ok(Connection { client, program: None, refusal, wrapping_tools: WrappingTools::default() })
            }
            _ => Err(tool_error(
                Reason::Definition,
                format!("`mcp_servers.{}` requires either `command` or `url`", self.name),
            )
            .with_hint("set exactly one of them")),
        }
    }
}

/// The named arguments, which MCP requires.
fn named_arguments(arguments: Value) -> Result<Option<Map<String, Value>>> {
    match arguments {
        Value::Object(arguments) => Ok(Some(arguments)),
        Value::Array(none) if none.is_empty() => Ok(None),
        _ => Err(tool_error(Reason::Arguments, "MCP tools require named arguments")
            .with_hint("declare them as an object in the `parameters` of the tool")),
    }
}

/// The result as a value: the structured content, without its wrapper if it has one, else the texts.
fn result_value(result: CallToolResult, is_wrapped: bool, returns: Option<&Value>) -> Result<Value> {
    let texts: Vec<&str> =
        result.content.iter().filter_map(|block| block.as_text()).map(|text| text.text.as_str()).collect();
    let text = texts.join("\n");
    if result.is_error == Some(true) {
        return Err(tool_error(
            Reason::Status,
            format!("the tool reported an error: {}", truncate_for_display(&text)),
        ));
    }
    if let Some(structured) = result.structured_content {
        return Ok(if is_wrapped { wrapped::unwrap_result(structured) } else { structured });
    }
    if texts.is_empty() && !result.content.is_empty() {
        return Err(tool_error(Reason::Answer, "the response contains no text"));
    }
    // Many servers send JSON as text. It is parsed if the definition declares another type than string.
    let as_json = returns.is_some_and(|schema| schema.get("type").is_some_and(|kind| kind != "string"));
    let read = as_json.then(|| serde_json::from_str(&text).ok()).flatten();
    Ok(read.unwrap_or(Value::String(text)))
}

/// Checks the size of the response.
fn check_length(answer: Value, most: usize) -> Result<Value> {
    let length = match &answer {
        Value::String(text) => text.len(),
        other => other.to_string().len(),
    };
    if length <= most {
        return Ok(answer);
    }
    Err(too_long_error(most))
}
