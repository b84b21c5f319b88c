//! Definitions of tools, in both document formats.

use std::sync::LazyLock;

use hinagata::{
    Error, Reason, Result,
    ports::{OnError, Tool, ToolDocument},
    store::TOOL_SCHEMA,
};
use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::fallback::empty_value;

static SCHEMA: LazyLock<Validator> = LazyLock::new(|| {
    let schema = serde_json::from_str(TOOL_SCHEMA).expect("the shipped schema is JSON");
    jsonschema::validator_for(&schema).expect("the shipped schema is valid")
});

/// The mark of FastMCP in the schema of a result that wraps a plain value as `{"result": value}`.
pub(crate) const WRAPPER_MARK: &str = "x-fastmcp-wrap-result";

/// Maximum reported problems of one document.
const MAX_PROBLEMS: usize = 10;

/// A tool: how templates see it, how it is called, and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// The tool as templates see it.
    pub tool: Tool,
    /// The file or key of the definition.
    pub origin: String,
    /// How the tool is called.
    pub call: CallKind,
    /// The schema of its result.
    pub returns: Option<Value>,
}

/// How a tool is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// With an HTTP request.
    Restful {
        /// The method.
        method: String,
        /// The URL, or a path relative to a configured one.
        url: String,
    },
    /// With gRPC.
    Grpc {
        /// `host:port/package.Service/Method`.
        url: String,
    },
    /// With MCP. The module names the server.
    Mcp,
}

impl ToolDefinition {
    /// Reads a definition from a document.
    ///
    /// # Errors
    /// Code `definition`, reason `tool`, with every problem.
    pub fn from_document(document: &ToolDocument) -> Result<Self> {
        check_document(&document.document).map_err(|error| {
            error.with("tool", document.id.as_str()).with("source", document.origin.as_str())
        })?;
        let fields = DocumentFields(&document.document);
        let (module, name) = match document.id.rsplit_once('.') {
            Some((module, name)) => (Some(module), name),
            None => (None, document.id.as_str()),
        };
        let call = fields.call();
        let returns = fields.schema("returns").map(|schema| match call {
            CallKind::Mcp => unwrapped_schema(schema),
            _ => schema,
        });
        let fallback = match document.document.get("default") {
            Some(default) => default.clone(),
            None => returns.as_ref().map_or_else(|| Value::from(""), empty_value),
        };
        let tool = Tool {
            id: document.id.clone(),
            module: fields.text("module").filter(|module| !module.is_empty()).or(module).map(str::to_owned),
            name: fields.text("name").unwrap_or(name).to_owned(),
            description: fields.text("description").map(str::to_owned),
            parameters: fields.schema("parameters"),
            pure: fields.0.get("pure").and_then(Value::as_bool).unwrap_or(true),
            on_error: fields.text("on_error").and_then(OnError::from_name).unwrap_or_default(),
            fallback,
        };
        Ok(Self { tool, origin: document.origin.clone(), call, returns })
    }
}

/// Checks a document against the schema of definitions.
///
/// # Errors
/// Code `definition`, reason `tool`, with every problem.
pub fn check_document(document: &Value) -> Result<()> {
    let problem = |error: jsonschema::ValidationError<'_>| {
        let place = error.instance_path().to_string();
        let field = place.trim_start_matches('/').replace('/', ".");
        (field, error.to_string())
    };
    let mut problems: Vec<(String, String)> =
        SCHEMA.iter_errors(document).take(MAX_PROBLEMS).map(problem).collect();
    problems.extend(url_problem(document));
    let Some((field, message)) = problems.first() else { return Ok(()) };
    let sentence = match field.as_str() {
        "" => format!("invalid tool definition: {message}"),
        field => format!("invalid `{field}` in a tool definition: {message}"),
    };
    let all: Vec<Value> =
        problems.iter().map(|(field, message)| json!({"field": field, "message": message})).collect();
    Err(Error::definition(Reason::Tool, sentence)
        .with("problems", all)
        .with_hint("see docs/reference/tools.md for the fields of a tool"))
}

/// Checks that a schema cannot express.
fn url_problem(document: &Value) -> Option<(String, String)> {
    let fields = DocumentFields(document);
    let field = |text: &str| ("url".to_owned(), text.to_owned());
    match fields.call() {
        CallKind::Restful { url, .. } if url.contains("://") => match reqwest::Url::parse(&url) {
            Err(error) => Some(("url".to_owned(), format!("invalid URL: {error}"))),
            Ok(url) if !matches!(url.scheme(), "http" | "https") => {
                Some(field("only http and https URLs are supported"))
            }
            Ok(url) if !url.username().is_empty() || url.password().is_some() => {
                Some(field("a URL must not contain credentials; set headers in the settings"))
            }
            Ok(_) => None,
        },
        CallKind::Restful { url, .. } => {
            let up = url.split(['/', '?', '#']).any(|part| matches!(part, ".." | "%2e%2e" | "%2E%2E"));
            up.then(|| field("a relative URL must not contain `..`"))
        }
        CallKind::Grpc { url } => {
            let whole = url.split('/').filter(|part| !part.is_empty()).count() == 3 && !url.contains("://");
            (!whole).then(|| field("expected host:port/package.Service/Method"))
        }
        CallKind::Mcp => None,
    }
}

/// The fields of a tool document.
struct DocumentFields<'d>(&'d Value);

impl<'d> DocumentFields<'d> {
    fn text(&self, key: &str) -> Option<&'d str> {
        self.0.get(key)?.as_str()
    }

    fn call(&self) -> CallKind {
        let kind = self.text("type").unwrap_or(match self.0.get("grpc") {
            Some(_) => "grpc",
            None => "restful",
        });
        let field = |key: &str| {
            let inner = self.0.get(kind).and_then(|inner| inner.get(key)?.as_str());
            inner.or_else(|| self.text(key)).map(str::to_owned)
        };
        let url = || field("url").unwrap_or_default();
        match kind {
            "mcp" => CallKind::Mcp,
            "grpc" => CallKind::Grpc { url: url() },
            _ => {
                let method = field("method").unwrap_or_else(|| "POST".to_owned());
                CallKind::Restful { method, url: url() }
            }
        }
    }

    /// A schema. A list of fields stands for an object, and an empty one for no schema.
    fn schema(&self, key: &str) -> Option<Value> {
        match self.0.get(key)? {
            Value::Null => None,
            Value::Object(schema) if schema.is_empty() => None,
            Value::Array(fields) if fields.is_empty() => None,
            Value::Array(fields) => Some(object_schema(fields)),
            other => Some(other.clone()),
        }
    }
}

/// The schema of the value itself, where FastMCP marks a schema as that of a wrapper with the one property `result`.
fn unwrapped_schema(schema: Value) -> Value {
    if schema.get(WRAPPER_MARK) != Some(&Value::Bool(true)) {
        return schema;
    }
    let Some(mut inner) = schema.pointer("/properties/result").cloned() else { return schema };
    // References of the inner schema lead to definitions of the whole one.
    if let (Some(inner), Some(definitions)) = (inner.as_object_mut(), schema.get("$defs")) {
        inner.entry("$defs").or_insert_with(|| definitions.clone());
    }
    inner
}

/// The object schema for a list of named fields.
fn object_schema(fields: &[Value]) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for field in fields {
        let Some(name) = field.get("name").and_then(Value::as_str) else { continue };
        let mut schema = field.as_object().cloned().unwrap_or_default();
        schema.shift_remove("name");
        // In a list, each field says itself whether it is required.
        if schema.shift_remove("required") == Some(Value::Bool(true)) {
            required.push(name.to_owned());
        }
        properties.insert(name.to_owned(), Value::Object(schema));
    }
    json!({"type": "object", "properties": properties, "required": required})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(id: &str, document: Value) -> Result<ToolDefinition> {
        ToolDefinition::from_document(&ToolDocument {
            id: id.to_owned(),
            origin: "here".to_owned(),
            document,
            replaces: false,
        })
    }

    #[test]
    fn both_formats_give_the_same_tool() {
        let top = json!({"name": "zh_en", "module": "translator", "type": "restful", "url": "/zh/en", "method": "PUT"});
        let nested =
            json!({"name": "zh_en", "module": "translator", "restful": {"url": "/zh/en", "method": "PUT"}});
        let (top, nested) = (read("a.b", top).expect("reads"), read("a.b", nested).expect("reads"));
        assert_eq!(top, nested);
        assert_eq!(top.call, CallKind::Restful { method: "PUT".to_owned(), url: "/zh/en".to_owned() });
        let grpc = read("a", json!({"grpc": {"url": "h:1/p.S/M"}})).expect("reads");
        assert_eq!(grpc.call, CallKind::Grpc { url: "h:1/p.S/M".to_owned() });
    }

    #[test]
    fn missing_fields_have_defaults() {
        let found = read("code.base.find", json!({"url": "/find"})).expect("reads");
        assert_eq!((found.tool.module.as_deref(), found.tool.name.as_str()), (Some("code.base"), "find"));
        assert_eq!(found.call, CallKind::Restful { method: "POST".to_owned(), url: "/find".to_owned() });
        assert!(
            found.tool.pure && found.tool.on_error == OnError::Default && found.tool.parameters.is_none()
        );
        assert_eq!(found.tool.fallback, json!(""));
    }

    #[test]
    fn a_list_of_parameters_becomes_an_object_schema() {
        let list =
            json!([{"name": "code", "type": "string", "required": true}, {"name": "n", "type": "integer"}]);
        let found = read("a", json!({"url": "/x", "parameters": list, "returns": []})).expect("reads");
        let wanted = json!({"type": "object", "properties": {"code": {"type": "string"}, "n": {"type": "integer"}}, "required": ["code"]});
        assert_eq!((found.tool.parameters, found.returns), (Some(wanted), None));
    }

    #[test]
    fn an_invalid_document_is_reported_with_its_field() {
        let cases = [
            (json!([]), ""),
            (json!({"type": "soap", "url": "/x"}), "type"),
            (json!({"name": "x"}), ""),
            (json!({"url": "ftp://host/x"}), "url"),
            (json!({"url": "http://user:word@host/x"}), "url"),
            (json!({"url": "../x"}), "url"),
            (json!({"type": "grpc", "url": "host/x"}), "url"),
            (json!({"url": "/x", "on_error": "stop"}), "on_error"),
        ];
        for (document, field) in cases {
            let error = read("a.b", document.clone()).expect_err("is invalid");
            assert_eq!(error.reason(), Some(Reason::Tool));
            assert_eq!(error.details()["problems"][0]["field"], field, "{document} {error:?}");
            assert_eq!(error.details()["source"], "here");
        }
    }
}
