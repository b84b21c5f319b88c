//! Prompts as tools, for clients that have no prompts: one for each, and two that list and get them.

use std::sync::Arc;

use hinagata::definition::{Parameter, Type};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams,
        GetPromptResponse, GetPromptResult, JsonObject, MetaObject, PaginatedRequestParams, Role, Tool,
        ToolAnnotations,
    },
    service::RequestContext,
};
use serde_json::{Map, Value, json};

use crate::{
    door::Viewer,
    failure::{invalid, shown},
    messages::WARNINGS,
    page::page,
    prompt::{PublicPrompt, is_required},
    session::Session,
    state::List,
};

const LIST: &str = "list_prompts";
const GET: &str = "get_prompt";

/// All tools that are there for the viewer, by name.
pub(crate) fn list(prompts: &List, viewer: &Viewer) -> Vec<Tool> {
    let seen = prompts.prompts.iter().filter(|prompt| viewer.sees(&prompt.id));
    let own = seen.filter(|prompt| ![LIST, GET].contains(&prompt.name.as_str())).map(|prompt| tool(prompt));
    let mut all: Vec<Tool> = own.chain([list_tool(), get_tool()]).collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

fn reading() -> ToolAnnotations {
    ToolAnnotations::default().read_only(true)
}

fn tool(prompt: &PublicPrompt) -> Tool {
    let description = prompt.listed.description.clone().unwrap_or_default();
    let mut tool =
        Tool::new(prompt.name.clone(), description, Arc::new(schema(prompt))).with_annotations(reading());
    tool.title.clone_from(&prompt.listed.title);
    tool
}

/// The arguments of a prompt as a schema.
fn schema(prompt: &PublicPrompt) -> JsonObject {
    let declared =
        prompt.inherited.parameters.iter().map(|parameter| (parameter.name.clone(), property(parameter)));
    let more = prompt.undeclared.iter().map(|name| (name.clone(), json!({})));
    let properties: Map<String, Value> = declared.chain(more).collect();
    let required: Vec<&str> = prompt
        .inherited
        .parameters
        .iter()
        .filter(|parameter| is_required(parameter))
        .map(|parameter| parameter.name.as_str())
        .collect();
    object(json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    }))
}

fn property(parameter: &Parameter) -> Value {
    let mut property = match &parameter.schema {
        Some(Value::Object(schema)) => Value::Object(schema.clone()),
        _ => json!({}),
    };
    let kind = match parameter.kind {
        Type::String | Type::File => Some("string"),
        Type::Integer => Some("integer"),
        Type::Number => Some("number"),
        Type::Boolean => Some("boolean"),
        Type::List => Some("array"),
        Type::Dict => Some("object"),
        Type::Any => None,
    };
    if let Some(kind) = kind {
        property["type"] = kind.into();
    }
    if let Some(description) = &parameter.description {
        property["description"] = description.as_str().into();
    }
    if let Some(default) = parameter.default.as_ref().filter(|_| !parameter.secret && !is_required(parameter))
    {
        property["default"] = default.clone();
    }
    property
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

fn list_tool() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "only prompts with this text in name, title or description"},
            "cursor": {"type": "string", "description": "where the page starts, as the page before tells"},
        },
        "additionalProperties": false,
    });
    Tool::new(LIST, "Lists the prompts there are, with their arguments", Arc::new(object(schema)))
        .with_annotations(reading())
}

fn get_tool() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "the name of the prompt"},
            "arguments": {"type": "object", "description": "its arguments"},
        },
        "required": ["name"],
        "additionalProperties": false,
    });
    Tool::new(GET, "Fills in a prompt and gives its text", Arc::new(object(schema)))
        .with_annotations(reading())
}

/// Calls a tool. What goes wrong in it is told to the model; an unknown tool is a mistake of the client.
pub(crate) async fn call(
    session: &Session,
    viewer: &Viewer,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let arguments = request.arguments.unwrap_or_default();
    let asked = match &*request.name {
        LIST => return list_prompts(session, viewer, &arguments).await,
        GET => get_arguments(arguments)?,
        name => (name.to_owned(), arguments),
    };
    let state = session.shared().state(viewer);
    if let Err(error) = state.find(&asked.0, viewer) {
        return match &*request.name {
            GET => Ok(failed(&error).into()),
            name => Err(invalid(format!("there is no tool `{}`", shown(name)))),
        };
    }
    let mut get = GetPromptRequestParams::new(asked.0).with_arguments(asked.1);
    get.input_responses = request.input_responses;
    get.request_state = request.request_state;
    Ok(match session.got(viewer, &get, context).await {
        Ok(GetPromptResponse::Complete(result)) => completed(result).into(),
        Ok(GetPromptResponse::InputRequired(result)) => result.into(),
        Ok(_) => failed(&invalid("this client cannot be answered")).into(),
        Err(error) => failed(&error).into(),
    })
}

/// What a prompt gave, with what did not work as it should.
fn completed(mut result: GetPromptResult) -> CallToolResult {
    let warnings = result.meta.as_mut().and_then(|meta| meta.0.remove(WARNINGS));
    let mut completed = CallToolResult::success(blocks(result));
    completed.meta = warnings.map(|told| MetaObject(Map::from_iter([(WARNINGS.to_owned(), told)])));
    completed
}

fn failed(error: &ErrorData) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(error.message.to_string())])
}

fn get_arguments(mut arguments: JsonObject) -> Result<(String, JsonObject), ErrorData> {
    let Some(Value::String(name)) = arguments.remove("name") else {
        return Err(invalid(format!("`{GET}` needs the argument `name`")));
    };
    match arguments.remove("arguments") {
        None | Some(Value::Null) => Ok((name, JsonObject::new())),
        Some(Value::Object(given)) => Ok((name, given)),
        Some(_) => Err(invalid("`arguments` must be an object")),
    }
}

async fn list_prompts(
    session: &Session,
    viewer: &Viewer,
    arguments: &JsonObject,
) -> Result<CallToolResponse, ErrorData> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let query = text("query").unwrap_or_default().to_lowercase();
    let state = session.shared().listed(viewer).await;
    let has = |prompt: &&PublicPrompt| {
        let listed = &prompt.listed;
        let texts = [Some(&prompt.name), listed.title.as_ref(), listed.description.as_ref()];
        texts.into_iter().flatten().any(|text| text.to_lowercase().contains(&query))
    };
    let seen = state.list().prompts.iter().map(|prompt| &**prompt).filter(|prompt| viewer.sees(&prompt.id));
    let asked =
        text("cursor").map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor.to_owned())));
    let (prompts, next) = page(seen.filter(has), |prompt| &prompt.name, asked.as_ref())?;
    let text = listing(&prompts, next.as_deref()).to_string();
    Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
}

/// A page of the list as data.
fn listing(prompts: &[&PublicPrompt], next: Option<&str>) -> Value {
    let entry = |prompt: &&PublicPrompt| {
        let listed = &prompt.listed;
        let arguments: Vec<_> = listed.arguments.iter().flatten().collect();
        json!({"name": prompt.name, "title": listed.title, "description": listed.description, "arguments": arguments})
    };
    json!({"prompts": prompts.iter().map(entry).collect::<Vec<_>>(), "next_cursor": next})
}

/// The contents of all messages; who says a text stands before it where several speak.
fn blocks(result: GetPromptResult) -> Vec<ContentBlock> {
    let several = result.messages.iter().any(|message| message.role == Role::Assistant);
    let block = |message: rmcp::model::PromptMessage| match (message.content, several) {
        (ContentBlock::Text(text), true) => {
            let who = if message.role == Role::Assistant { "assistant" } else { "user" };
            ContentBlock::text(format!("{who}: {}", text.text))
        }
        (content, _) => content,
    };
    result.messages.into_iter().map(block).collect()
}
