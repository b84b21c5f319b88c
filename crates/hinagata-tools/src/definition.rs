//! The definition of a tool, as documents of both forms give it.

use std::sync::LazyLock;

use hinagata::{
    Error, Result,
    ports::{OnError, Tool, ToolDocument},
    store::TOOL_SCHEMA,
};
use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::fallback::empty_value;

static SCHEMA: LazyLock<Validator> = LazyLock::new(|| {
    let schema = serde_json::from_str(TOOL_SCHEMA).expect("the shipped schema is JSON");
    jsonschema::validator_for(&schema).expect("the shipped schema is one")
});

/// Problems of one document that are told.
const MAX_PROBLEMS: usize = 10;

/// A tool: how templates see it, how it is called, and what it takes and gives.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// As templates see it.
    pub tool: Tool,
    /// The file or key that it was read from.
    pub origin: String,
    /// How it is called.
    pub call: CallKind,
    /// The schema of its result.
    pub returns: Option<Value>,
}

/// How a tool is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// By a request of HTTP.
    Restful {
        /// The method.
        method: String,
        /// The address, or what is added to a configured one.
        url: String,
    },
    /// By gRPC.
    Grpc {
        /// `host:port/package.Service/Method`.
        url: String,
    },
    /// By MCP: the module names the server.
    Mcp,
}

impl ToolDefinition {
    /// Reads a document.
    ///
    /// # Errors
    /// Code `definition`, reason `tool`, with every problem of it.
    pub fn from_document(document: &ToolDocument) -> Result<Self> {
        check_document(&document.document).map_err(|error| {
            error.with("tool", document.id.as_str()).with("source", document.origin.as_str())
        })?;
        let fields = DocumentFields(&document.document);
        let (module, name) = match document.id.rsplit_once('.') {
            Some((module, name)) => (Some(module), name),
            None => (None, document.id.as_str()),
        };
        let returns = fields.schema("returns");
        let fallback = match document.document.get("default") {
            Some(default) => default.clone(),
            None => returns.as_ref().map_or_else(|| Value::from(""), empty_value),
        };
        let tool = Tool {
            id: document.id.clone(),
            module: fields.text("module").or(module).map(str::to_owned),
            name: fields.text("name").unwrap_or(name).to_owned(),
            description: fields.text("description").map(str::to_owned),
            parameters: fields.schema("parameters"),
            pure: fields.0.get("pure").and_then(Value::as_bool).unwrap_or(true),
            on_error: fields.text("on_error").and_then(OnError::named).unwrap_or_default(),
            fallback,
        };
        Ok(Self { tool, origin: document.origin.clone(), call: fields.call(), returns })
    }
}

/// Checks a document against the schema of definitions, before it is written or used.
///
/// # Errors
/// Code `definition`, reason `tool`, with every problem of it.
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
    let told = match field.as_str() {
        "" => format!("this is no tool: {message}"),
        field => format!("`{field}` of a tool is wrong: {message}"),
    };
    let all: Vec<Value> =
        problems.iter().map(|(field, message)| json!({"field": field, "message": message})).collect();
    Err(Error::definition("tool", told)
        .with("problems", all)
        .with_hint("docs/reference/tools.md tells what a tool consists of"))
}

/// What no schema can say.
fn url_problem(document: &Value) -> Option<(String, String)> {
    let fields = DocumentFields(document);
    let field = |text: &str| ("url".to_owned(), text.to_owned());
    match fields.call() {
        CallKind::Restful { url, .. } if url.contains("://") => match reqwest::Url::parse(&url) {
            Err(error) => Some(("url".to_owned(), format!("it is no address: {error}"))),
            Ok(url) if !matches!(url.scheme(), "http" | "https") => {
                Some(field("only http and https addresses can be called"))
            }
            Ok(url) if !url.username().is_empty() || url.password().is_some() => {
                Some(field("an address holds no user and password; headers come from the settings"))
            }
            Ok(_) => None,
        },
        CallKind::Restful { url, .. } => {
            let up = url.split(['/', '?', '#']).any(|part| matches!(part, ".." | "%2e%2e" | "%2E%2E"));
            up.then(|| field("a relative address cannot lead up by `..`"))
        }
        CallKind::Grpc { url } => {
            let whole = url.split('/').filter(|part| !part.is_empty()).count() == 3 && !url.contains("://");
            (!whole).then(|| field("it should be host:port/package.Service/Method"))
        }
        CallKind::Mcp => None,
    }
}

/// The fields of a document that was checked, or is about to be.
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

    /// A schema; a list of fields stands for an object of them, and an empty one for none.
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

/// An object schema of a list of fields, each with its name.
fn object_schema(fields: &[Value]) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for field in fields {
        let Some(name) = field.get("name").and_then(Value::as_str) else { continue };
        let mut schema = field.as_object().cloned().unwrap_or_default();
        schema.shift_remove("name");
        // In a list, whether a field must be there is said with it.
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
    fn both_forms_of_a_document_give_the_same_tool() {
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
    fn what_a_document_does_not_say_has_defaults() {
        let found = read("code.base.find", json!({"url": "/find"})).expect("reads");
        assert_eq!((found.tool.module.as_deref(), found.tool.name.as_str()), (Some("code.base"), "find"));
        assert_eq!(found.call, CallKind::Restful { method: "POST".to_owned(), url: "/find".to_owned() });
        assert!(
            found.tool.pure && found.tool.on_error == OnError::Default && found.tool.parameters.is_none()
        );
        assert_eq!(found.tool.fallback, json!(""));
    }

    #[test]
    fn a_list_of_parameters_is_an_object() {
        let list =
            json!([{"name": "code", "type": "string", "required": true}, {"name": "n", "type": "integer"}]);
        let found = read("a", json!({"url": "/x", "parameters": list, "returns": []})).expect("reads");
        let wanted = json!({"type": "object", "properties": {"code": {"type": "string"}, "n": {"type": "integer"}}, "required": ["code"]});
        assert_eq!((found.tool.parameters, found.returns), (Some(wanted), None));
    }

    #[test]
    fn a_wrong_document_says_what_is_wrong_with_it() {
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
            let error = read("a.b", document.clone()).expect_err("is wrong");
            assert_eq!(error.reason(), Some("tool"));
            assert_eq!(error.details()["problems"][0]["field"], field, "{document} {error:?}");
            assert_eq!(error.details()["source"], "here");
        }
    }
}
