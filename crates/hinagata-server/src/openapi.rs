//! The OpenAPI document, built from the route table.

use hinagata::store::{EXTENSION_SCHEMA, TOOL_SCHEMA};
use serde_json::{Map, Value, json};

use crate::{
    access::Scope,
    route::{ErrorFormat, RouteSpec},
};

/// The document that describes `routes`.
pub(crate) fn openapi_document(routes: impl IntoIterator<Item = &'static RouteSpec>) -> Value {
    let mut paths = Map::new();
    for route in routes {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.to_lowercase()] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Hinagata",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "List, render and inspect prompts, and send them to models.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"key": []}, {}],
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": {"key": {
                "type": "http",
                "scheme": "bearer",
                "description": "a key of the settings, or the token that the daemon creates when it starts",
            }},
        },
    })
}

fn operation(route: &RouteSpec) -> Value {
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.summary,
        "tags": [route.tag],
        "responses": responses(route),
    });
    let parameters: Vec<Value> =
        path_parameters(route).chain(query_parameters(route)).chain(precondition_parameters(route)).collect();
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some((schema, required)) = route.body {
        let media = match schema {
            "Archive" => "application/octet-stream",
            "FileText" => "text/plain",
            _ => "application/json",
        };
        let mut content = json!({"schema": schema_reference(schema)});
        if let Some(example) = body_examples().get(schema) {
            content["example"] = example.clone();
        }
        operation["requestBody"] = json!({"required": required, "content": {media: content}});
    }
    match route.scope {
        None => operation["security"] = json!([{}]),
        Some(scope) => {
            operation["x-scope"] = scope.as_str().into();
            operation["security"] =
                if scope.is_open() { json!([{"key": []}, {}]) } else { json!([{"key": []}]) };
        }
    }
    operation
}

/// The operation id, such as `post_api_render_prompts_id`.
fn operation_id(route: &RouteSpec) -> String {
    let path: String = route.path.chars().filter(|c| !matches!(c, '{' | '}')).collect();
    let words: Vec<&str> = path.split(['/', '.']).filter(|word| !word.is_empty()).collect();
    let words = if words.is_empty() { "start".to_owned() } else { words.join("_") };
    format!("{}_{words}", route.method.to_lowercase())
}

/// The ids of documents: segments joined by `.`, without control characters.
const DOCUMENT_ID: &str = r"^[^\u0000-\u001f\u007f-\u009f/.]+(\.[^\u0000-\u001f\u007f-\u009f/.]+)*$";

/// What the parameter `{id}` or `{pack}` of a path is: description, pattern and example.
fn path_parameter(route: &RouteSpec, name: &str) -> (&'static str, &'static str, &'static str) {
    let group = route.path.trim_start_matches("/api/").split('/').next().unwrap_or_default();
    match (name, group) {
        ("path", _) => (
            "the path of the file, with its slashes",
            r"^[^/\u0000-\u001f]+(/[^/\u0000-\u001f]+)*$",
            "user_data/shared/prompts/hello/template.md",
        ),
        ("entry", _) => ("the entry of the trash", "^[0-9a-f]+-[0-9a-f]+$", "1771063200-0123456789ab"),
        ("pack", _) => ("the id of the pack", r"^[A-Za-z][A-Za-z0-9_-]*$", "greetings"),
        (_, "prompts") if route.path.ends_with("/rename") || route.tag == "tests" => {
            ("the id of the prompt, in any spelling", DOCUMENT_ID, "daily_report")
        }
        ("hash", _) => ("the hash of all files of the page", "^([0-9a-f]{16}|dev)$", "dev"),
        ("file", _) => ("the name of the file", "^[a-z-]+\\.[A-Za-z.]+$", "app.js"),
        (_, "extensions") => ("the id of the extension", DOCUMENT_ID, "review"),
        (_, "templates") => ("the id of the template", DOCUMENT_ID, "team.welcome"),
        (_, "environs") => ("the id of the environ", DOCUMENT_ID, "team.name"),
        (_, "tools") => ("the id of the tool", DOCUMENT_ID, "weather.current"),
        (_, "agents") => ("the name of the agent", DOCUMENT_ID, "manager"),
        (_, "packs") => ("the id of the prompt or tool", DOCUMENT_ID, "hello"),
        _ => ("the id of the prompt, in any spelling", DOCUMENT_ID, "general_system"),
    }
}

fn path_parameters(route: &RouteSpec) -> impl Iterator<Item = Value> {
    let names = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    names.map(|name| {
        let (meaning, pattern, example) = path_parameter(route, name);
        json!({
            "name": name, "in": "path", "required": true, "description": meaning, "example": example,
            "schema": {"type": "string", "minLength": 1, "pattern": pattern},
        })
    })
}

/// The cursor of a page: the hexadecimal digits of UTF-8.
const CURSOR: &str = "^([0-7][0-9a-fA-F]|([cC][2-9a-fA-F]|[dD][0-9a-fA-F])[89abAB][0-9a-fA-F]\
    |[eE]0[abAB][0-9a-fA-F][89abAB][0-9a-fA-F]|[eE][1-9a-cA-CefEF]([89abAB][0-9a-fA-F]){2}\
    |[eE][dD][89][0-9a-fA-F][89abAB][0-9a-fA-F]|[fF]0[9abAB][0-9a-fA-F]([89abAB][0-9a-fA-F]){2}\
    |[fF][1-3]([89abAB][0-9a-fA-F]){3}|[fF]48[0-9a-fA-F]([89abAB][0-9a-fA-F]){2})*$";

fn query_parameters(route: &RouteSpec) -> impl Iterator<Item = Value> {
    let path = route.path;
    route.query_params.iter().map(move |(name, meaning)| {
        let schema = match *name {
            "limit" => json!({"type": "integer", "minimum": 1, "maximum": 10_000}),
            "severity" => json!({"type": "string", "enum": ["error", "warning"]}),
            "view" if path == "/api/environs/{id}" => json!({"type": "string", "enum": ["stored", "merged"]}),
            "view" => json!({"type": "string", "enum": ["ids", "full"]}),
            "replace" | "approved" => json!({"type": "boolean"}),
            "tag" => json!({"type": "array", "items": {"type": "string"}}),
            "cursor" => json!({"type": "string", "pattern": CURSOR}),
            "variables" => json!({"type": "object"}),
            _ => json!({"type": "string"}),
        };
        let mut parameter = json!({"name": name, "in": "query", "required": false, "description": meaning});
        if schema["type"] == "object" {
            parameter["content"] = json!({"application/json": {"schema": schema}});
        } else {
            parameter["schema"] = schema;
        }
        parameter
    })
}

/// Whether the route changes a document of the store, which a request can make conditional, or a file, which it must.
fn is_conditional(route: &RouteSpec) -> bool {
    route.path == "/api/files/{path}" && route.method != "GET"
        || route.tag == "store" && matches!(route.method, "PUT" | "DELETE")
}

fn precondition_parameters(route: &RouteSpec) -> impl Iterator<Item = Value> {
    let all = [
        ("If-Match", "the ETag that the document must have; `*` for any document"),
        ("If-None-Match", "`*` if the document must not exist yet"),
    ];
    all.into_iter().filter(|_| is_conditional(route)).map(|(name, meaning)| {
        let schema = json!({"type": "string"});
        json!({"name": name, "in": "header", "required": false, "description": meaning, "schema": schema})
    })
}

fn responses(route: &RouteSpec) -> Value {
    let mut all = Map::new();
    for response in route.responses {
        let answer = all
            .entry(response.status.to_string())
            .or_insert_with(|| json!({"description": response.description}));
        if !response.media.is_empty() {
            answer["content"][response.media] = json!({"schema": schema_reference(response.schema)});
        }
    }
    for (status, meaning) in failures(route) {
        let content = failure_content(route.error_format);
        all.entry(status.to_string()).or_insert_with(|| json!({"description": meaning, "content": content}));
    }
    all.sort_keys();
    Value::Object(all)
}

/// The bodies of error responses in a format.
fn failure_content(format: ErrorFormat) -> Map<String, Value> {
    const PROBLEM: &str = "application/problem+json";
    let forms: &[(&str, &str)] = match format {
        ErrorFormat::Problem => &[(PROBLEM, "Problem")],
        ErrorFormat::Legacy => &[("application/json", "OldProblem")],
        ErrorFormat::Negotiated => &[(PROBLEM, "Problem"), ("application/json", "OldProblem")],
        ErrorFormat::OpenAi | ErrorFormat::ByClient => &[("application/json", "OpenAiError")],
        ErrorFormat::Anthropic => &[("application/json", "AnthropicError")],
    };
    let content =
        |(media, schema): &(&str, &str)| ((*media).to_owned(), json!({"schema": schema_reference(schema)}));
    forms.iter().map(content).collect()
}

/// The error responses of a route.
fn failures(route: &RouteSpec) -> Vec<(u16, &'static str)> {
    let Some(scope) = route.scope else {
        let mut all = vec![(503, "not ready")];
        if route.path.contains('{') {
            all.push((404, "not found"));
        }
        return all;
    };
    let mut all = vec![
        (400, "invalid request"),
        (401, "missing or unknown key"),
        (403, "scope not granted, or origin or host not allowed"),
        (429, "rate limit exceeded"),
        (503, "overloaded, time limit exceeded, or store unavailable"),
    ];
    // Drafts and checks name prompts and files in the body.
    let is_virtual = route.error_format.is_virtual() && route.method == "POST";
    if route.path.contains('{') || matches!(route.path, "/api/draft" | "/api/check") || is_virtual {
        all.push((404, "not found"));
        all.push((409, "several candidates, or already exists"));
    }
    if route.body.is_some() {
        all.push((413, "body too large"));
    }
    if is_conditional(route) {
        all.push((412, "the document is not as `If-Match` or `If-None-Match` requires"));
        if route.tag == "files" {
            all.push((428, "neither `If-Match` nor `If-None-Match`"));
        }
    }
    if route.path.ends_with("/tests") && route.body.is_some() {
        all.push((412, "the test file has just changed"));
    }
    if route.path == "/api/prompts" && route.body.is_some() {
        all.push((409, "a prompt with this id exists"));
    }
    if route.path == "/api/packs" {
        all.push((409, "a pack with this name exists"));
    }
    if scope != Scope::Read || route.path.contains('{') {
        all.push((500, "the render failed, or a definition is invalid"));
    }
    if scope != Scope::Read {
        all.push((502, "a model or tool failed"));
    }
    all
}

fn schema_reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

/// The example bodies, by the name of their schema.
fn body_examples() -> Value {
    serde_json::from_str(include_str!("examples.json")).unwrap_or_default()
}

/// All schemas by name. Those of documents that other programs write are the ones that `hina store schema` prints.
fn schemas() -> Value {
    let mut all: Map<String, Value> = serde_json::from_str(include_str!("schemas.json")).unwrap_or_default();
    add_document_schema(&mut all, "Extension", EXTENSION_SCHEMA);
    add_document_schema(&mut all, "Tool", TOOL_SCHEMA);
    // A template is a prompt of an extension whose name is its id.
    let mut template = all.get("ExtensionPrompt").cloned().unwrap_or_default();
    template["required"] = json!([]);
    all.insert("Template".to_owned(), template);
    all.into()
}

/// Adds a JSON Schema as `name`, and each of its definitions as a schema of its own.
fn add_document_schema(all: &mut Map<String, Value>, name: &str, text: &str) {
    let Ok(Value::Object(mut schema)) = serde_json::from_str(text) else { return };
    schema.shift_remove("$schema");
    let definitions = schema.shift_remove("$defs");
    let mut parts = vec![(name.to_owned(), Value::Object(schema))];
    if let Some(Value::Object(definitions)) = definitions {
        parts.extend(definitions.into_iter().map(|(part, schema)| (definition_name(name, &part), schema)));
    }
    for (part, mut schema) in parts {
        move_references(&mut schema, name);
        all.insert(part, schema);
    }
}

/// The name of a definition among all schemas, such as `ExtensionPrompt`.
fn definition_name(name: &str, part: &str) -> String {
    let (first, rest) = part.split_at_checked(1).unwrap_or((part, ""));
    format!("{name}{}{rest}", first.to_uppercase())
}

fn move_references(schema: &mut Value, name: &str) {
    match schema {
        Value::Object(members) => {
            for (key, member) in members {
                match member.as_str().and_then(|target| target.strip_prefix("#/$defs/")) {
                    Some(part) if key == "$ref" => {
                        *member = format!("#/components/schemas/{}", definition_name(name, part)).into();
                    }
                    _ => move_references(member, name),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| move_references(item, name)),
        _ => {}
    }
}
