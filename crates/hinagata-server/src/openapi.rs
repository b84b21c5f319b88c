//! The OpenAPI document, built from the route table.

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
    let parameters: Vec<Value> = path_parameters(route.path)
        .chain(query_parameters(route))
        .chain(precondition_parameters(route))
        .collect();
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some((schema, required)) = route.body {
        let media = if schema == "Archive" { "application/octet-stream" } else { "application/json" };
        operation["requestBody"] =
            json!({"required": required, "content": {media: {"schema": schema_reference(schema)}}});
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

fn path_parameters(path: &str) -> impl Iterator<Item = Value> {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    names.map(|name| {
        let meaning = match name {
            "pack" => "the id of the pack",
            _ => "the id, in any spelling",
        };
        json!({
            "name": name, "in": "path", "required": true, "description": meaning,
            "schema": {"type": "string", "minLength": 1},
        })
    })
}

fn query_parameters(route: &RouteSpec) -> impl Iterator<Item = Value> {
    let path = route.path;
    route.query_params.iter().map(move |(name, meaning)| {
        let schema = match *name {
            "limit" => json!({"type": "integer", "minimum": 1, "maximum": 10_000}),
            "severity" => json!({"type": "string", "enum": ["error", "warning"]}),
            "view" if path == "/api/environs/{id}" => json!({"type": "string", "enum": ["stored", "merged"]}),
            "view" => json!({"type": "string", "enum": ["ids", "full"]}),
            "replace" => json!({"type": "boolean"}),
            "tag" => json!({"type": "array", "items": {"type": "string"}}),
            "cursor" => json!({"type": "string", "pattern": "^([0-9a-f]{2})*$"}),
            _ => json!({"type": "string"}),
        };
        json!({"name": name, "in": "query", "required": false, "description": meaning, "schema": schema})
    })
}

/// Whether the route changes a document of the store, which a request can make conditional.
fn is_conditional(route: &RouteSpec) -> bool {
    route.tag == "store" && route.method != "GET"
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
        let mut content = Map::new();
        if route.error_format != ErrorFormat::Legacy {
            content.insert(
                "application/problem+json".to_owned(),
                json!({"schema": schema_reference("Problem")}),
            );
        }
        if route.error_format != ErrorFormat::Problem {
            content.insert("application/json".to_owned(), json!({"schema": schema_reference("OldProblem")}));
        }
        all.entry(status.to_string()).or_insert_with(|| json!({"description": meaning, "content": content}));
    }
    Value::Object(all)
}

/// The error responses of a route.
fn failures(route: &RouteSpec) -> Vec<(u16, &'static str)> {
    let Some(scope) = route.scope else { return vec![(503, "not ready")] };
    let mut all = vec![
        (400, "invalid request"),
        (401, "missing or unknown key"),
        (403, "scope not granted, or origin or host not allowed"),
        (429, "rate limit exceeded"),
        (503, "overloaded, time limit exceeded, or store unavailable"),
    ];
    if route.path.contains('{') {
        all.push((404, "not found"));
        all.push((409, "several candidates, or already exists"));
    }
    if route.body.is_some() {
        all.push((413, "body too large"));
    }
    if is_conditional(route) {
        all.push((412, "the document is not as `If-Match` or `If-None-Match` requires"));
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

fn schemas() -> Value {
    serde_json::from_str(include_str!("schemas.json")).unwrap_or_default()
}
