//! Prompts as tools, for clients without prompts: one tool per prompt, two that list and get prompts, and one that packs
//! files.

use std::sync::Arc;

use hinagata::definition::{Parameter, ValueType};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams,
        GetPromptResponse, GetPromptResult, JsonObject, MetaObject, PaginatedRequestParams, Tool,
        ToolAnnotations,
    },
    service::RequestContext,
};
use serde_json::{Map, Value, json};

use crate::{
    adapt::head_turns,
    backend::Viewer,
    failure::{invalid_params, truncate_for_display},
    messages::WARNINGS_KEY,
    pack_tool::{PACK_TOOL, call_pack_tool, pack_tool},
    page::take_page_of,
    prompt::PublicPrompt,
    session::Session,
    state::PromptList,
};

pub(crate) const LIST_TOOL: &str = "list_prompts";
const GET_TOOL: &str = "get_prompt";

/// Entries per page of [`LIST_TOOL`]: a model pays for each.
const MODEL_PAGE_SIZE: usize = 50;

/// Maximum characters of a description in [`LIST_TOOL`].
const MODEL_DESCRIPTION: usize = 200;

/// All tools that are visible to the viewer, by name. `packs` says whether files can be packed.
pub(crate) fn list_tools(prompts: &PromptList, viewer: &Viewer, packs: bool) -> Vec<Tool> {
    // The other tools render, which a key may not allow.
    if !viewer.can_render {
        return vec![list_tool()];
    }
    let fixed: Vec<Tool> = [list_tool(), get_tool()].into_iter().chain(packs.then(pack_tool)).collect();
    let seen = prompts.prompts.iter().filter(|prompt| viewer.can_see(&prompt.id));
    let own = seen
        .filter(|prompt| fixed.iter().all(|tool| tool.name != prompt.name))
        .map(|prompt| prompt_tool(prompt));
    let mut all: Vec<Tool> = own.chain(fixed.clone()).collect();
    all.sort_by(|one, other| one.name.cmp(&other.name));
    all
}

fn read_only() -> ToolAnnotations {
    ToolAnnotations::default().read_only(true)
}

fn prompt_tool(prompt: &PublicPrompt) -> Tool {
    let description = prompt.listed.description.clone().unwrap_or_default();
    let mut tool =
        Tool::new(prompt.name.clone(), description, Arc::new(schema(prompt))).with_annotations(read_only());
    tool.title.clone_from(&prompt.listed.title);
    tool
}

/// The JSON schema of a prompt's arguments.
fn schema(prompt: &PublicPrompt) -> JsonObject {
    let declared =
        prompt.inherited.parameters.iter().map(|parameter| (parameter.name.clone(), property(parameter)));
    let more = prompt.undeclared.iter().map(|name| (name.clone(), json!({})));
    let properties: Map<String, Value> = declared.chain(more).collect();
    let required: Vec<&str> = prompt
        .inherited
        .parameters
        .iter()
        .filter(|parameter| parameter.must_be_passed())
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
        ValueType::String | ValueType::File => Some("string"),
        ValueType::Integer => Some("integer"),
        ValueType::Number => Some("number"),
        ValueType::Boolean => Some("boolean"),
        ValueType::List => Some("array"),
        ValueType::Object => Some("object"),
        ValueType::Any | ValueType::Null => None,
    };
    if let Some(kind) = kind {
        property["type"] = kind.into();
    }
    if let Some(description) = &parameter.description {
        property["description"] = description.as_str().into();
    }
    if let Some(default) =
        parameter.default.as_ref().filter(|_| !parameter.secret && !parameter.must_be_passed())
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
            "query": {"type": "string", "description": "return only prompts whose name, title or description contains this text"},
            "cursor": {"type": "string", "description": "the cursor of the page, from the previous page"},
        },
        "additionalProperties": false,
    });
    Tool::new(LIST_TOOL, "List the available prompts with their arguments", Arc::new(object(schema)))
        .with_annotations(read_only())
}

fn get_tool() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "the name of the prompt"},
            "arguments": {"type": "object", "description": "the arguments of the prompt"},
        },
        "required": ["name"],
        "additionalProperties": false,
    });
    Tool::new(GET_TOOL, "Render a prompt and return its text", Arc::new(object(schema)))
        .with_annotations(read_only())
}

/// Calls a tool. Failures are reported to the model. An unknown tool is an error of the client.
pub(crate) async fn call_tool(
    session: &Session,
    viewer: &Viewer,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let arguments = request.arguments.unwrap_or_default();
    if let Some(project) = session.packed_project(viewer).filter(|_| request.name == PACK_TOOL) {
        return call_pack_tool(project, arguments, session.places()).await;
    }
    let (name, prompt_arguments) = match &*request.name {
        LIST_TOOL => return list_prompts(session, viewer, &arguments).await,
        GET_TOOL => get_arguments(arguments)?,
        name => (name.to_owned(), arguments),
    };
    let state = session.shared().state_for(viewer);
    if let Err(error) = state.find_prompt(&name, viewer) {
        return match &*request.name {
            GET_TOOL => Ok(error_result(&error).into()),
            name => Err(invalid_params(format!("tool `{}` not found", truncate_for_display(name)))),
        };
    }
    let mut get = GetPromptRequestParams::new(name).with_arguments(prompt_arguments);
    get.input_responses = request.input_responses;
    get.request_state = request.request_state;
    Ok(match session.get_prompt_now(viewer, &get, session.tool_view(context), context).await {
        Ok(GetPromptResponse::Complete(result)) => tool_result(result).into(),
        Ok(GetPromptResponse::InputRequired(result)) => result.into(),
        Ok(_) => error_result(&invalid_params("unsupported response")).into(),
        Err(error) => error_result(&error).into(),
    })
}

/// The result of a prompt, with its warnings.
fn tool_result(mut result: GetPromptResult) -> CallToolResult {
    let warnings = result.meta.as_mut().and_then(|meta| meta.0.remove(WARNINGS_KEY));
    let mut completed = CallToolResult::success(blocks(result));
    completed.meta =
        warnings.map(|warnings| MetaObject(Map::from_iter([(WARNINGS_KEY.to_owned(), warnings)])));
    completed
}

fn error_result(error: &ErrorData) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(error.message.to_string())])
}

fn get_arguments(mut arguments: JsonObject) -> Result<(String, JsonObject), ErrorData> {
    let Some(Value::String(name)) = arguments.remove("name") else {
        return Err(invalid_params(format!("`{GET_TOOL}` requires the argument `name`")));
    };
    match arguments.remove("arguments") {
        None | Some(Value::Null) => Ok((name, JsonObject::new())),
        Some(Value::Object(given)) => Ok((name, given)),
        Some(_) => Err(invalid_params("`arguments` must be an object")),
    }
}

async fn list_prompts(
    session: &Session,
    viewer: &Viewer,
    arguments: &JsonObject,
) -> Result<CallToolResponse, ErrorData> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let query = text("query").unwrap_or_default().to_lowercase();
    let state = session.shared().state_with_list(viewer).await;
    let has = |prompt: &&PublicPrompt| {
        let listed = &prompt.listed;
        let texts = [Some(&prompt.name), listed.title.as_ref(), listed.description.as_ref()];
        texts.into_iter().flatten().any(|text| text.to_lowercase().contains(&query))
    };
    let seen =
        state.list().prompts.iter().map(|prompt| &**prompt).filter(|prompt| viewer.can_see(&prompt.id));
    let page =
        text("cursor").map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor.to_owned())));
    let (prompts, next) =
        take_page_of(MODEL_PAGE_SIZE, seen.filter(has), |prompt| &prompt.name, page.as_ref())?;
    let text = listing(&prompts, next.as_deref()).to_string();
    Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
}

/// A page of the list as JSON, as short as a model needs it.
fn listing(prompts: &[&PublicPrompt], next: Option<&str>) -> Value {
    let entry = |prompt: &&PublicPrompt| {
        let metadata = &prompt.inherited.definition.metadata;
        let mut entry = json!({"name": prompt.name});
        let about = metadata.description.as_deref().or(prompt.listed.title.as_deref());
        if let Some(about) = about.map(str::trim).filter(|about| !about.is_empty()) {
            entry["description"] = truncate_description(about).into();
        }
        let names = |required: bool| -> Vec<&str> {
            let arguments = prompt.listed.arguments.iter().flatten();
            let wanted = arguments.filter(|argument| argument.required.unwrap_or_default() == required);
            wanted.map(|argument| argument.name.as_str()).collect()
        };
        for (kind, names) in [("required", names(true)), ("optional", names(false))] {
            if !names.is_empty() {
                entry[kind] = names.into();
            }
        }
        entry
    };
    let mut page = json!({"prompts": prompts.iter().map(entry).collect::<Vec<_>>()});
    if let Some(next) = next {
        page["next_cursor"] = next.into();
    }
    page
}

fn truncate_description(text: &str) -> String {
    match text.char_indices().nth(MODEL_DESCRIPTION) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The contents of all messages. Each turn starts with its role if the assistant speaks, too.
fn blocks(result: GetPromptResult) -> Vec<ContentBlock> {
    head_turns(result.messages).into_iter().map(|message| message.content).collect()
}
