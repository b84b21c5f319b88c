//! What a request says: which prompt, with which variables, and what for the model.

use hinagata_llm::{Dialect, FaceRequest};
use hinagata_value::ValueType;
use serde_json::{Map, Value};

use crate::{fields::Fields, problem::Problem, query};

/// How the name of a prompt as a model starts.
pub(super) const PREFIX: &str = "prompt/";

/// A request of a face.
#[derive(Debug)]
pub(super) struct VirtualRequest {
    pub(super) face: FaceRequest,
    /// The prompt; `None` for a call of a model alone.
    pub(super) prompt: Option<PromptReference>,
    /// The real model, if the caller names one.
    pub(super) model: Option<String>,
    pub(super) stream: bool,
    /// `metadata` of the request, which can have variables.
    pub(super) metadata: Map<String, Value>,
}

/// A prompt, as a request names it, with the variables beside its name.
#[derive(Debug, Default, PartialEq)]
pub(super) struct PromptReference {
    pub(super) name: String,
    pub(super) version: Option<String>,
    /// The variables, from the weakest source to the strongest.
    pub(super) variables: Vec<Map<String, Value>>,
}

impl VirtualRequest {
    /// Reads the body of a request.
    pub(super) fn from_body(dialect: Dialect, body: Map<String, Value>) -> Result<Self, Problem> {
        let mut fields = Fields::new(body);
        let model = fields.take_string("model")?.filter(|model| !model.trim().is_empty());
        let stream = fields.take_boolean("stream")?.unwrap_or(false);
        let template = fields.take_value("prompt");
        let variables = fields.take_object("variables")?;
        let metadata = fields.take_object("metadata")?;
        let mut rest = fields.into_rest();
        let (prompt, model) = match (model, template) {
            (Some(model), Some(_)) if model.starts_with(PREFIX) => {
                return Err(Problem::bad_request(format!(
                    "both `model` (`{model}`) and `prompt` name a prompt"
                ))
                .about_param("prompt")
                .with_hint("leave out one of them"));
            }
            (Some(model), None) => match model.strip_prefix(PREFIX) {
                Some(reference) => (Some(PromptReference::from_model(reference)?), None),
                None => (None, Some(model)),
            },
            (model, Some(template)) => (Some(PromptReference::from_object(template)?), model),
            (None, None) => (None, None),
        };
        let prompt = match (prompt, variables.is_empty()) {
            (Some(mut prompt), _) => {
                prompt.variables.push(variables);
                Some(prompt)
            }
            (None, true) => None,
            (None, false) => {
                return Err(Problem::bad_request("`variables` belong to a prompt, and none is named")
                    .about_param("variables")
                    .with_hint("name it as the model, as in `prompt/ID`"));
            }
        };
        let user = metadata.get("user_id").filter(|_| dialect == Dialect::Messages);
        if let Some(user) = user {
            // Anthropic's only key of metadata goes on.
            rest.insert("metadata".to_owned(), serde_json::json!({"user_id": user}));
        } else if prompt.is_none() && !metadata.is_empty() {
            rest.insert("metadata".to_owned(), metadata.clone().into());
        }
        let face = FaceRequest::from_body(dialect, rest)?;
        Ok(Self { face, prompt, model, stream, metadata })
    }
}

impl PromptReference {
    /// Reads `ID`, `ID@VERSION` and `ID?name=value`.
    fn from_model(reference: &str) -> Result<Self, Problem> {
        let (name, query) = reference.split_once('?').unwrap_or((reference, ""));
        let (name, version) = match name.rsplit_once('@') {
            Some((name, version)) => (name, Some(version.to_owned())),
            None => (name, None),
        };
        if name.is_empty() || version.as_deref() == Some("") {
            return Err(Problem::bad_request(format!("invalid model `{PREFIX}{reference}`"))
                .about_param("model")
                .with_hint("write `prompt/ID`, `prompt/ID@VERSION` or `prompt/ID?variable=value`"));
        }
        let pairs = query::parse_pairs(query).into_iter().map(|(name, value)| (name, Value::String(value)));
        Ok(Self { name: name.to_owned(), version, variables: vec![pairs.collect()] })
    }

    /// Reads the object of the field `prompt`.
    fn from_object(template: Value) -> Result<Self, Problem> {
        let wrong = |message: String| Problem::bad_request(message).about_param("prompt");
        let Value::Object(template) = template else {
            let found = ValueType::of_value(&template).noun();
            return Err(wrong(format!("`prompt` must be an object with `id`, not {found}")));
        };
        let mut fields = Fields::new(template);
        let id = fields.take_string("id")?.filter(|id| !id.is_empty());
        let name = id.ok_or_else(|| wrong("`prompt` has no `id`".to_owned()))?;
        let version = fields.take_string("version")?;
        let variables = fields.take_object("variables")?;
        fields.check_unknown()?;
        let variables =
            variables.into_iter().map(|(name, value)| Ok((name.clone(), plain_value(&name, value)?)));
        Ok(Self { name, version, variables: vec![variables.collect::<Result<_, Problem>>()?] })
    }
}

/// The value of a variable of a prompt object: OpenAI's clients can pass a text as a part.
fn plain_value(name: &str, value: Value) -> Result<Value, Problem> {
    match value.get("type").and_then(Value::as_str) {
        Some("input_text") => Ok(value.get("text").cloned().unwrap_or_default()),
        Some(kind @ ("input_image" | "input_file")) => Err(Problem::bad_request(format!(
            "the variable `{name}` is a part of type `{kind}`, which no prompt takes"
        ))
        .about_param("prompt")
        .with_hint("send it in a message")),
        _ => Ok(value),
    }
}
