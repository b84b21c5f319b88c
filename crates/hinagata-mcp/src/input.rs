//! Asking for what is missing: a form made of the parameters, which a client of the newest revision gets as an answer and
//! an older one as a request.

use hinagata::definition::{Parameter, Type};
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
};

/// The name of the one question that is asked.
const FORM_ID: &str = "user_context";

/// The parameters that have to be given and are not.
pub(crate) fn missing_parameters<'p>(
    prompt: &'p PublicPrompt,
    variables: &Map<String, Value>,
) -> Vec<&'p Parameter> {
    prompt.required_parameters().filter(|parameter| !variables.contains_key(&parameter.name)).collect()
}

/// The error that names everything that is missing.
pub(crate) fn missing_error(prompt: &PublicPrompt, missing: &[&Parameter]) -> ErrorData {
    let names: Vec<&str> = missing.iter().map(|parameter| parameter.name.as_str()).collect();
    let message = match names.as_slice() {
        [one] => format!("`{}` needs the argument `{one}`", prompt.name),
        many => format!("`{}` needs the arguments `{}`", prompt.name, many.join("`, `")),
    };
    invalid_params_with(message, json!({"code": "validation", "missing": names}))
}

/// Whether the client takes questions in its answers.
pub(crate) fn supports_input_required(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Whether the client shows forms.
pub(crate) fn supports_forms(context: &RequestContext<RoleServer>) -> bool {
    let asked = context.client_capabilities().and_then(|capabilities| capabilities.elicitation);
    asked.is_some_and(|asked| asked.form.is_some() || asked.url.is_none())
}

/// The answer that asks for what is missing.
pub(crate) fn input_required_result(
    prompt: &PublicPrompt,
    missing: &[&Parameter],
) -> Option<InputRequiredResult> {
    let request = ElicitRequest::new(input_form(prompt, missing)?);
    let requests = [(FORM_ID.to_owned(), InputRequest::Elicitation(request))].into();
    Some(InputRequiredResult::from_input_requests(requests))
}

/// The form that asks for what is missing.
pub(crate) fn input_form(prompt: &PublicPrompt, missing: &[&Parameter]) -> Option<ElicitRequestParams> {
    let properties: Map<String, Value> =
        missing.iter().map(|parameter| (parameter.name.clone(), form_field(parameter))).collect();
    let names: Vec<&str> = missing.iter().map(|parameter| parameter.name.as_str()).collect();
    let schema = json!({"type": "object", "properties": properties, "required": names});
    let requested_schema: ElicitationSchema = serde_json::from_value(schema).ok()?;
    let title = prompt.listed.title.as_deref().unwrap_or(&prompt.name);
    let message =
        format!("The prompt `{title}` needs {}", if names.len() == 1 { "a value" } else { "values" });
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

fn form_field(parameter: &Parameter) -> Value {
    let mut field = json!({"title": parameter.name});
    let texts: Option<Vec<&str>> =
        enum_values(parameter).and_then(|values| values.iter().map(Value::as_str).collect());
    let as_json = matches!(parameter.kind, Type::List | Type::Dict);
    field["type"] = match parameter.kind {
        Type::Integer => "integer",
        Type::Number => "number",
        Type::Boolean => "boolean",
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

/// What the responses of a client say, as variables.
pub(crate) fn variables_from_responses(
    prompt: &PublicPrompt,
    responses: &InputResponses,
) -> Result<Map<String, Value>, ErrorData> {
    let Some(response) = responses.get(FORM_ID) else {
        return Err(invalid_params(format!("`inputResponses` has no `{FORM_ID}`")));
    };
    let result: ElicitResult = serde_json::from_value(response.clone()).map_err(|_| {
        invalid_params(format!("`inputResponses.{FORM_ID}` is no answer to a form: it has no `action`"))
    })?;
    variables_from_form(prompt, &result)
}

/// What was filled in, as variables; nothing where the form was declined.
pub(crate) fn variables_from_form(
    prompt: &PublicPrompt,
    result: &ElicitResult,
) -> Result<Map<String, Value>, ErrorData> {
    let filled = match (&result.action, &result.content) {
        (ElicitationAction::Accept, Some(Value::Object(filled))) => filled,
        (ElicitationAction::Accept, Some(_)) => {
            return Err(invalid_params("the `content` of an answer is no object"));
        }
        _ => return Ok(Map::new()),
    };
    let mut variables = Map::new();
    // What was not asked for is not taken.
    for parameter in prompt.required_parameters() {
        if let Some(value) = filled.get(&parameter.name).filter(|value| !value.is_null()) {
            variables
                .insert(parameter.name.clone(), convert_argument(parameter, value).map_err(invalid_params)?);
        }
    }
    Ok(variables)
}
