//! Asks for missing and wrong arguments with a form, in several rounds. A client of the newest revision receives the
//! form as a result, an older one as a request.

use hinagata::definition::{Origin, Parameter};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, InputRequest,
        InputRequiredResult, InputResponses, JsonObject, ProtocolVersion,
    },
    service::RequestContext,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    arguments::{check_arguments, problems_error},
    failure::{invalid_params, invalid_params_with},
    form::form_field,
    host::HostView,
    line::LineArguments,
    placeholder::Placeholders,
    prompt::PublicPrompt,
    state::PublicState,
};

/// The id of the form in a response.
const FORM_ID: &str = "user_context";

/// How often a person is asked in one call.
const MAX_ROUNDS: u32 = 3;

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

/// The outcome of collecting the arguments of a call.
pub(crate) enum CollectedInput {
    /// The variables of the render.
    Variables(Map<String, Value>),
    /// The client has to ask for more.
    Asks(Box<InputRequiredResult>),
}

/// The state of a call between rounds, which the client keeps. It has only what the client itself sent, and is checked
/// like arguments, so it needs no signature.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct AskedState {
    /// How often the form was shown.
    round: u32,
    /// What was entered so far.
    answers: JsonObject,
}

/// What a client of the newest revision brings back from earlier rounds.
#[derive(Clone, Copy)]
pub(crate) struct EarlierRounds<'r> {
    pub(crate) state: Option<&'r str>,
    pub(crate) responses: Option<&'r InputResponses>,
}

/// A call whose arguments are collected.
pub(crate) struct InputCall<'c> {
    pub(crate) state: &'c PublicState,
    pub(crate) prompt: &'c PublicPrompt,
    pub(crate) view: HostView,
    pub(crate) given: LineArguments,
    /// Arguments whose values the host inserts later.
    pub(crate) placeholders: &'c Placeholders,
    /// Cancelled when the client sends nothing any more: a form is not waited for then.
    pub(crate) input_ended: &'c CancellationToken,
}

/// What is known of the arguments, and what is wrong with them.
struct InputDraft<'p> {
    variables: Map<String, Value>,
    /// Everything as it was passed or typed.
    entered: JsonObject,
    missing: Vec<&'p Parameter>,
    /// Arguments of another type, with a sentence about each.
    type_problems: Vec<(String, String)>,
    /// Arguments that do not match their schema. A render reports them, too.
    schema_problems: Vec<(String, String)>,
}

impl InputDraft<'_> {
    fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.type_problems.is_empty() && self.schema_problems.is_empty()
    }

    fn problems(&self) -> impl Iterator<Item = &(String, String)> {
        self.type_problems.iter().chain(&self.schema_problems)
    }

    /// The variables for a client that cannot be asked, or the error about what is wrong or missing.
    fn into_variables(self, prompt: &PublicPrompt) -> Result<Map<String, Value>, ErrorData> {
        if !self.type_problems.is_empty() {
            return Err(problems_error(&self.type_problems));
        }
        if self.missing.is_empty() { Ok(self.variables) } else { Err(missing_error(prompt, &self.missing)) }
    }
}

/// The error that names every missing argument.
fn missing_error(prompt: &PublicPrompt, missing: &[&Parameter]) -> ErrorData {
    let names: Vec<&str> = missing.iter().map(|parameter| parameter.name.as_str()).collect();
    let message = match names.as_slice() {
        [one] => format!("`{}` requires the argument `{one}`", prompt.name),
        many => format!("`{}` requires the arguments `{}`", prompt.name, many.join("`, `")),
    };
    invalid_params_with(message, json!({"code": "validation", "missing": names}))
}

impl InputCall<'_> {
    /// Collects the variables of a call. Asks for what is missing or wrong if the client can show a form.
    pub(crate) async fn collect_input(
        &self,
        earlier: EarlierRounds<'_>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CollectedInput, ErrorData> {
        let mut asked = asked_state(earlier)?;
        if let Some(responses) = earlier.responses {
            asked.answers.extend(self.read_answers(&response_of(responses)?)?);
        }
        loop {
            let draft = self.check_input(&asked.answers)?;
            if draft.is_complete() || !self.view.forms || asked.round >= MAX_ROUNDS {
                return draft.into_variables(self.prompt).map(CollectedInput::Variables);
            }
            self.refuse_secrets(&draft)?;
            let Some(form) = self.input_form(&draft) else {
                return draft.into_variables(self.prompt).map(CollectedInput::Variables);
            };
            asked.round += 1;
            if supports_input_required(context) {
                return Ok(CollectedInput::Asks(Box::new(input_required(form, &asked))));
            }
            let answer = tokio::select! {
                answer = context.peer.create_elicitation(form) => answer,
                () = self.input_ended.cancelled() => {
                    return draft.into_variables(self.prompt).map(CollectedInput::Variables);
                }
            };
            match answer {
                Ok(result) => asked.answers.extend(self.read_answers(&result)?),
                // A client that fails to show the form is treated as one without forms.
                Err(error) => {
                    tracing::debug!(%error, prompt = self.prompt.id, "the client did not show the form");
                    return draft.into_variables(self.prompt).map(CollectedInput::Variables);
                }
            }
        }
    }

    /// Checks what was passed and entered.
    fn check_input(&self, answers: &JsonObject) -> Result<InputDraft<'_>, ErrorData> {
        let mut entered = self.given.arguments.clone();
        entered.extend(answers.clone());
        let mut checked = check_arguments(self.prompt, &entered)?;
        if let Some(name) = self.given.cut.as_ref().filter(|name| !answers.contains_key(*name)) {
            let sentence =
                format!("`{name}` may lack words: the host passes on only so many, so complete it here");
            checked.problems.push((name.clone(), sentence));
        }
        let validation = self.state.validate_call(self.prompt, &checked.variables);
        let is_wrong = |name: &String| checked.problems.iter().any(|(wrong, _)| wrong == name);
        let comes_later = |name: &String| self.placeholders.names().any(|known| known == name);
        let missing = validation.missing.iter().filter(|name| !is_wrong(name) && !comes_later(name));
        let schema_problems = validation.schema_errors.iter().map(|problem| {
            (problem.name.clone(), format!("`{}{}`: {}", problem.name, problem.path, problem.message))
        });
        Ok(InputDraft {
            missing: missing.filter_map(|name| self.prompt.inherited.parameters.get(name)).collect(),
            schema_problems: schema_problems.collect(),
            type_problems: checked.problems,
            variables: checked.variables,
            entered,
        })
    }

    /// A secret is never asked for in a form, as the protocol demands.
    fn refuse_secrets(&self, draft: &InputDraft<'_>) -> Result<(), ErrorData> {
        let parameters = &self.prompt.inherited.parameters;
        let wrong = draft.problems().filter_map(|(name, _)| parameters.get(name));
        let secret: Vec<&str> = draft
            .missing
            .iter()
            .copied()
            .chain(wrong)
            .filter(|parameter| parameter.secret)
            .map(|parameter| parameter.name.as_str())
            .collect();
        if secret.is_empty() {
            return Ok(());
        }
        let missing: Vec<&str> = draft.missing.iter().map(|parameter| parameter.name.as_str()).collect();
        Err(invalid_params_with(
            format!(
                "`{}` is secret and is not asked for in a form: pass it as an argument, or let it come from the \
                 settings with `source: environ`",
                secret.join("`, `")
            ),
            json!({"code": "validation", "missing": missing, "secret": secret}),
        ))
    }

    /// The parameters that a form shows: all that were not passed rightly, without secrets.
    fn asked_parameters(&self) -> Result<Vec<&Parameter>, ErrorData> {
        let draft = self.check_input(&JsonObject::new())?;
        let is_wrong = |name: &str| draft.problems().any(|(wrong, _)| wrong == name);
        let is_asked = |parameter: &&Parameter| {
            let open = !draft.variables.contains_key(&parameter.name) || is_wrong(&parameter.name);
            open && !parameter.secret && parameter.origin == Origin::Default
        };
        let all = self.prompt.inherited.parameters.iter().filter(is_asked);
        let (required, optional): (Vec<&Parameter>, Vec<&Parameter>) =
            all.partition(|parameter| parameter.must_be_passed());
        Ok(required.into_iter().chain(optional).collect())
    }

    /// The form for what is missing or wrong, and for optional arguments that were not passed.
    fn input_form(&self, draft: &InputDraft<'_>) -> Option<ElicitRequestParams> {
        let asked = self.asked_parameters().ok()?;
        let field = |parameter: &&Parameter| {
            let typed = draft.variables.get(&parameter.name).or_else(|| draft.entered.get(&parameter.name));
            (parameter.name.clone(), form_field(parameter, typed, self.view.revision))
        };
        let properties: Map<String, Value> = asked.iter().map(field).collect();
        let required: Vec<&str> = asked
            .iter()
            .filter(|parameter| parameter.must_be_passed())
            .map(|parameter| parameter.name.as_str())
            .collect();
        let schema = json!({"type": "object", "properties": properties, "required": required});
        let requested_schema: ElicitationSchema = serde_json::from_value(schema)
            .inspect_err(|error| tracing::warn!(%error, prompt = self.prompt.id, "a form cannot be made"))
            .ok()?;
        let message = self.form_message(draft);
        Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
    }

    fn form_message(&self, draft: &InputDraft<'_>) -> String {
        let title = self.prompt.listed.title.as_deref().unwrap_or(&self.prompt.name);
        let mut sentences: Vec<String> = draft.problems().map(|(_, problem)| problem.clone()).collect();
        match draft.missing.as_slice() {
            [] => {}
            [_] => sentences.insert(0, format!("The prompt `{title}` requires a value")),
            _ => sentences.insert(0, format!("The prompt `{title}` requires values")),
        }
        sentences.join(". ")
    }

    /// What was entered in a form. Fields that were not asked for are ignored.
    fn read_answers(&self, result: &ElicitResult) -> Result<JsonObject, ErrorData> {
        let filled = match (&result.action, &result.content) {
            (ElicitationAction::Accept, Some(Value::Object(filled))) => filled,
            (ElicitationAction::Accept, None) => return Ok(JsonObject::new()),
            (ElicitationAction::Accept, Some(_)) => {
                return Err(invalid_params("`content` must be an object"));
            }
            (ElicitationAction::Cancel, _) => return Err(self.refused_error("cancelled")),
            _ => return Err(self.refused_error("declined")),
        };
        let asked = self.asked_parameters()?;
        let entered =
            |parameter: &&Parameter| Some((parameter.name.clone(), filled.get(&parameter.name)?.clone()));
        Ok(asked.iter().filter_map(entered).collect())
    }

    /// The error for a form that a person did not submit.
    fn refused_error(&self, action: &str) -> ErrorData {
        let draft = self.check_input(&JsonObject::new());
        let missing: Vec<String> = draft
            .map(|draft| draft.missing.iter().map(|parameter| parameter.name.clone()).collect())
            .unwrap_or_default();
        invalid_params_with(
            format!("the form of `{}` was {action}, so the prompt is not rendered", self.prompt.name),
            json!({"code": "validation", "action": action, "missing": missing}),
        )
    }
}

fn input_required(form: ElicitRequestParams, asked: &AskedState) -> InputRequiredResult {
    let requests = [(FORM_ID.to_owned(), InputRequest::Elicitation(ElicitRequest::new(form)))].into();
    let mut result = InputRequiredResult::from_input_requests(requests);
    result.request_state = serde_json::to_string(asked).ok();
    result
}

/// The state that the client kept since the last round.
fn asked_state(earlier: EarlierRounds<'_>) -> Result<AskedState, ErrorData> {
    match (earlier.state, earlier.responses) {
        (Some(state), _) => serde_json::from_str(state)
            .map_err(|_| invalid_params("invalid `requestState`; pass the one of the last result unchanged")),
        // A client that does not keep the state has been asked at least once.
        (None, Some(_)) => Ok(AskedState { round: 1, ..AskedState::default() }),
        (None, None) => Ok(AskedState::default()),
    }
}

fn response_of(responses: &InputResponses) -> Result<ElicitResult, ErrorData> {
    let response = responses
        .get(FORM_ID)
        .ok_or_else(|| invalid_params(format!("`{FORM_ID}` is missing in `inputResponses`")))?;
    serde_json::from_value(response.clone())
        .map_err(|_| invalid_params(format!("invalid `inputResponses.{FORM_ID}`: `action` is missing")))
}
