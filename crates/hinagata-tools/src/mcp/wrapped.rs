//! Plain values that a server wraps in an object.
//!
//! Structured content is an object. So FastMCP returns `{"result": 5}` for a tool whose function returns 5, and marks
//! the output schema of the tool. Other SDKs wrap without a mark, and the definition of the tool decides.

use std::{collections::HashSet, time::Duration};

use rmcp::{
    ServiceError,
    model::{CallToolResult, PaginatedRequestParams, Tool},
};
use serde_json::Value;
use tokio::{sync::OnceCell, time::timeout};

use super::Client;
use crate::{checks::SchemaCheck, definition::WRAPPER_MARK};

/// The only property of a wrapper.
const PROPERTY: &str = "result";

/// How long to wait for the list of tools. Without it, nothing is unwrapped.
const LIST_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum pages of the list.
const MAX_PAGES: usize = 64;

/// Whether a result is a wrapped value, as far as the result and the definition tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrapping {
    Wrapped,
    Plain,
    /// The output schema of the tool decides.
    Unclear,
}

impl Wrapping {
    /// Compares the structured content of `result` with what the definition declares.
    pub(super) fn from_result(result: &CallToolResult, returns: &SchemaCheck) -> Self {
        let Some(whole) = result.structured_content.as_ref().filter(|_| result.is_error != Some(true)) else {
            return Self::Plain;
        };
        let Some(inner) = wrapped_value(whole) else { return Self::Plain };
        match (returns.is_match(inner), returns.is_match(whole)) {
            (Some(true), Some(false)) => Self::Wrapped,
            (Some(false), Some(true)) => Self::Plain,
            _ if is_marked(result) => Self::Wrapped,
            _ => Self::Unclear,
        }
    }
}

/// The value in an object with the single property `result`.
fn wrapped_value(whole: &Value) -> Option<&Value> {
    whole.as_object().filter(|properties| properties.len() == 1)?.get(PROPERTY)
}

/// Whether the result itself says that it is wrapped, as those of newer FastMCP servers do.
fn is_marked(result: &CallToolResult) -> bool {
    let mark = result.meta.as_ref().and_then(|meta| meta.0.get("fastmcp")?.get("wrap_result")?.as_bool());
    mark == Some(true)
}

/// The value in a wrapper.
pub(super) fn unwrap_result(whole: Value) -> Value {
    match whole {
        Value::Object(mut properties) => properties.shift_remove(PROPERTY).unwrap_or_default(),
        other => other,
    }
}

/// The tools of a server whose results are wrapped, asked for when it first matters.
#[derive(Debug, Default)]
pub(super) struct WrappingTools(OnceCell<HashSet<String>>);

impl WrappingTools {
    /// Whether the server wraps the results of `tool`.
    pub(super) async fn contains(&self, client: &Client, tool: &str) -> bool {
        let listed = self.0.get_or_try_init(|| async {
            match timeout(LIST_TIMEOUT, list_wrapping(client)).await {
                Ok(Ok(tools)) => Ok(tools),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err(format!("no response within {LIST_TIMEOUT:?}")),
            }
        });
        match listed.await {
            Ok(tools) => tools.contains(tool),
            Err(error) => {
                tracing::debug!(tool, "the output schemas of the tools are unknown: {error}");
                false
            }
        }
    }
}

async fn list_wrapping(client: &Client) -> Result<HashSet<String>, ServiceError> {
    let tools = list_tools(client).await?;
    let marked = tools.iter().filter(|tool| {
        let schema = tool.output_schema.as_ref();
        schema.is_some_and(|schema| schema.get(WRAPPER_MARK) == Some(&Value::Bool(true)))
    });
    Ok(marked.map(|tool| tool.name.to_string()).collect())
}

/// All tools of a server.
pub(super) async fn list_tools(client: &Client) -> Result<Vec<Tool>, ServiceError> {
    let (mut tools, mut cursor) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let page = client.list_tools(Some(PaginatedRequestParams::default().with_cursor(cursor))).await?;
        tools.extend(page.tools);
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    Ok(tools)
}
