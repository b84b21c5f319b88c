//! Asks for missing arguments with a form. A client of the newest revision receives the form as a result, an older one
//! as a request.

use hinagata::definition::{Parameter, ValueType};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, InputRequest,
        InputRequiredResult, InputResponses, ProtocolVersion,
    },
    service::RequestContext,
};
use serde_json::{Map, Value, json};

use crate::{
    arguments::convert_argument,
    failure::{invalid_params, invalid_params_with},
    prompt::{PublicPrompt, enum_values},
    state::PublicState,
};

/// The id of the form in a response.
const FORM_ID: &str = "user_context";

/// The required parameters that are missing, as the engine validates the call.
pub(crate) fn missing_parameters<'p>(
    state: &PublicState,
    prompt: &'p PublicPrompt,
    variables: &Map<String, Value>,
) -> Vec<&'p Parameter> {
    let missing = state.validate_call(prompt, variables).missing;
    missing.iter().filter_map(|name| prompt.inherited.parameters.get(name)).collect()
}

/// The error that names every missing argument.
pub(crate) fn missing_error(prompt: &PublicPrompt, missing: &[&Parameter]) -> ErrorData {
    let names: Vec<&str> = missing.iter().map(|parameter| parameter.name.as_str()).collect();
    let message = match names.as_slice() {
        [one] => format!("`{}` requires the argument `{one}`", prompt.name),
        many => format!("`{}` requires the arguments `{}`", prompt.name, many.join("`, `")),
    };
    invalid_params_with(message, json!({"code": "validation", "missing": names}))
}

/// Whether the client supports results that require input.
pub(crate) fn supports_input_required(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Whether the client can show forms.
pub(crate) fn supports_forms(context: &RequestContext<RoleServer>) -> bool {
    let elicitation = context.client_capabilities().and_then(|capabilities| capabilities.elicitation);
    elicitation.is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none())
}

/// The result that requests the missing arguments.
pub(crate) fn input_required_result(
    prompt: &PublicPrompt,
    missing: &[&Parameter],
) -> Option<InputRequiredResult> {
    let request = ElicitRequest::new(input_form(prompt, missing)?);
    let requests = [(FORM_ID.to_owned(), InputRequest::Elicitation(request))].into();
    Some(InputRequiredResult::from_input_requests(requests))
}

/// The form for the missing arguments.
pub(crate) fn input_form(prompt: &PublicPrompt, missing: &[&Parameter]) -> Option<ElicitRequestParams> {
    let properties: Map<String, Value> =
        missing.iter().map(|parameter| (parameter.name.clone(), form_field(parameter))).collect();
    let names: Vec<&str> = missing.iter().map(|parameter| parameter.name.as_str()).collect();
    let schema = json!({"type": "object", "properties": properties, "required": names});
    let requested_schema: ElicitationSchema = serde_json::from_value(schema).ok()?;
    let title = prompt.listed.title.as_deref().unwrap_or(&prompt.name);
    let message =
        format!("The prompt `{title}` requires {}", if names.len() == 1 { "a value" } else { "values" });
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

fn form_field(parameter: &Parameter) -> Value {
    let mut field = json!({"title": parameter.name});
    let texts: Option<Vec<&str>> =
        enum_values(parameter).and_then(|values| values.iter().map(Value::as_str).collect());
    let as_json = matches!(parameter.kind, ValueType::List | ValueType::Object);
    field["type"] = match parameter.kind {
        ValueType::Integer => "integer",
        ValueType::Number => "number",
        ValueType::Boolean => "boolean",
        _ => "string",
    }
    .into();
    if let (Some(texts), "string") = (texts, field["type"].as_str().unwrap_or_default()) {
        field["enum"] = texts.into();
    }
    let mut description = parameter.description.clone().unwrap_or_default();
    if as_json {
        description.push_str(if description.is_empty() { "as JSON" } else { " (as JSON)" });
    }
    if !description.is_empty() {
        field["description"] = description.into();
    }
    field
}

/// The variables in a client's responses.
pub(crate) fn variables_from_responses(
    prompt: &PublicPrompt,
    responses: &InputResponses,
) -> Result<Map<String, Value>, ErrorData> {
    let Some(response) = responses.get(FORM_ID) else {
        return Err(invalid_params(format!("`{FORM_ID}` is missing in `inputResponses`")));
    };
    let result: ElicitResult = serde_json::from_value(response.clone())
        .map_err(|_| invalid_params(format!("invalid `inputResponses.{FORM_ID}`: `action` is missing")))?;
    variables_from_form(prompt, &result)
}

/// The variables in a submitted form. None if the form was declined.
pub(crate) fn variables_from_form(
    prompt: &PublicPrompt,
    result: &ElicitResult,
) -> Result<Map<String, Value>, ErrorData> {
    let filled = match (&result.action, &result.content) {
        (ElicitationAction::Accept, Some(Value::Object(filled))) => filled,
        (ElicitationAction::Accept, Some(_)) => {
            return Err(invalid_params("`content` must be an object"));
        }
        _ => return Ok(Map::new()),
    };
    let mut variables = Map::new();
    // Fields that were not requested are ignored.
    for parameter in prompt.required_parameters() {
        if let Some(value) = filled.get(&parameter.name).filter(|value| !value.is_null()) {
            variables
                .insert(parameter.name.clone(), convert_argument(parameter, value).map_err(invalid_params)?);
        }
    }
    Ok(variables)
}
