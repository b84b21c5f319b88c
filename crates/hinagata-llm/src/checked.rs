//! Answers that follow a schema: a wrong one is sent back once with its faults.

use std::{fmt::Write as _, sync::Arc, time::Instant};

use hinagata::{
    Code, Error, Rendered, Result, Settings,
    definition::module_error,
    module::{
        CompiledPrompt, Element, Message,
        answer::{AnswerFault, AnswerMode, AnswerSchema, CheckedAnswer},
        driver::RequestOptions,
    },
};
use serde_json::{Map, Value, json};

use crate::{Answer, ChosenModel, Llm};

/// Most bytes of a wrong answer that an error contains.
const MOST_TEXT: usize = 16 << 10;

/// A call of a model: everything that its requests are built from.
#[derive(Clone, Debug)]
pub struct ChatCall {
    /// The model.
    pub choice: ChosenModel,
    /// The prompt; its schema is that of the answer.
    pub prompt: Arc<CompiledPrompt>,
    /// The options of the prompt.
    pub base: RequestOptions,
    /// The options of the call, as OpenAI names them.
    pub options: Map<String, Value>,
}

impl ChatCall {
    /// The call that sends `rendered`.
    ///
    /// # Errors
    /// If the result contains messages that no provider accepts.
    pub fn from_rendered(
        choice: ChosenModel,
        rendered: &Rendered,
        options: Map<String, Value>,
    ) -> Result<Self> {
        Ok(Self { choice, prompt: rendered.prompt()?, base: rendered.request_options(), options })
    }

    /// Replaces the schema of the answer.
    #[must_use]
    pub fn with_schema(mut self, schema: Value) -> Self {
        Arc::make_mut(&mut self.prompt).schema = Some(Arc::new(schema));
        self
    }
}

/// How answers with a schema are checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerRules {
    mode: AnswerMode,
    retries: u64,
}

impl AnswerRules {
    pub(crate) fn from_settings(settings: &Settings) -> Self {
        let mode = settings.text("answers.mode").and_then(AnswerMode::from_name).unwrap_or_default();
        Self { mode, retries: settings.count("answers.retries").unwrap_or(1) }
    }
}

/// An answer, and its value if the prompt has a schema.
#[derive(Clone, Debug)]
pub struct CheckedReply {
    /// The last answer of the provider.
    pub answer: Answer,
    /// The value; `None` without a schema, or if the model calls tools instead.
    pub checked: Option<CheckedAnswer>,
    /// The number of requests.
    pub attempts: u64,
    /// Parts of the prompt or options that the provider does not support.
    pub notes: Vec<String>,
}

impl CheckedReply {
    /// The value with what was done to the text, for answers in JSON.
    #[must_use]
    pub fn verdict(&self) -> Option<Value> {
        let checked = self.checked.as_ref()?;
        Some(json!({"value": checked.value, "repairs": checked.repairs, "attempts": self.attempts}))
    }
}

impl Llm {
    /// Sends a prompt, and checks the answer against the schema of the prompt.
    ///
    /// A wrong answer is asked again with its own text and all faults, `answers.retries` times, within the time and the
    /// tokens of one call. Requires tokio; dropping the future cancels the call.
    ///
    /// # Errors
    /// Those of [`Llm::build_prompt_request`] and [`Llm::send_chat`]; code `answer` with the text and every fault.
    pub async fn send_checked(&self, call: ChatCall) -> Result<CheckedReply> {
        let schema = self.answer_schema(&call.prompt)?;
        let (started, mut time, mut call, mut attempts) = (Instant::now(), self.0.timeout, call, 0);
        loop {
            attempts += 1;
            let ChatCall { choice, prompt, base, options } = &call;
            let request = self.build_prompt_request(choice, Arc::clone(prompt), base.clone(), options)?;
            let notes = request.notes().to_vec();
            let answer = self.send_chat_within(request, time).await?;
            let Some(schema) = &schema else {
                return Ok(CheckedReply { answer, checked: None, attempts, notes });
            };
            let text = answer.text()?;
            if text.is_empty() && answer.has_tool_calls() {
                return Ok(CheckedReply { answer, checked: None, attempts, notes });
            }
            let faults = match schema.check_answer(&text, self.0.answers.mode) {
                Ok(checked) => {
                    return Ok(CheckedReply { answer, checked: Some(checked), attempts, notes });
                }
                Err(faults) => faults,
            };
            time = self.0.timeout.saturating_sub(started.elapsed());
            if attempts > self.0.answers.retries || time.is_zero() || !call.spend_tokens(&answer) {
                return Err(answer_error(&text, &faults, attempts));
            }
            call.add_faults(&text, &faults);
        }
    }

    /// Checks the text of a streamed answer.
    ///
    /// # Errors
    /// Code `answer` with the text and every fault.
    pub fn check_text(&self, prompt: &CompiledPrompt, text: &str) -> Result<Option<CheckedAnswer>> {
        let Some(schema) = self.answer_schema(prompt)? else { return Ok(None) };
        let checked = schema.check_answer(text, self.0.answers.mode);
        checked.map(Some).map_err(|faults| answer_error(text, &faults, 1))
    }

    /// The schema of a prompt, unless answers are not checked.
    fn answer_schema(&self, prompt: &CompiledPrompt) -> Result<Option<AnswerSchema>> {
        match &prompt.schema {
            Some(schema) if !schema.is_null() && self.0.answers.mode != AnswerMode::Off => {
                AnswerSchema::new(Arc::clone(schema)).map(Some).map_err(module_error)
            }
            _ => Ok(None),
        }
    }
}

impl ChatCall {
    /// Subtracts the tokens of an answer from those of the call; returns whether any are left.
    fn spend_tokens(&mut self, answer: &Answer) -> bool {
        let used = answer.answer_tokens().unwrap_or(0);
        let mut left = true;
        let mut spend = |limit: u64| {
            let rest = limit.saturating_sub(used);
            left &= rest > 0;
            rest
        };
        self.base.max_tokens = self.base.max_tokens.map(&mut spend);
        for name in ["max_tokens", "max_completion_tokens"] {
            if let Some(limit) = self.options.get(name).and_then(Value::as_u64) {
                self.options.insert(name.to_owned(), spend(limit).into());
            }
        }
        left
    }

    /// Appends a wrong answer and its faults to the conversation.
    fn add_faults(&mut self, text: &str, faults: &[AnswerFault]) {
        let mut request = "The answer does not follow the JSON Schema:\n".to_owned();
        for AnswerFault { path, message } in faults {
            let place = if path.is_empty() { "the whole answer" } else { path };
            // Writing to a string cannot fail.
            let _ = writeln!(request, "- {place}: {message}");
        }
        request.push_str("\nAnswer again with JSON alone that follows the schema, without any other text.");
        let prompt = Arc::make_mut(&mut self.prompt);
        let answer = (!text.trim().is_empty()).then(|| Element::Message(Message::assistant(text)));
        prompt.output.extend(answer);
        prompt.output.push(Element::Message(Message::user(request)));
    }
}

/// The error of an answer that does not follow its schema.
fn answer_error(text: &str, faults: &[AnswerFault], attempts: u64) -> Error {
    let end = text.floor_char_boundary(MOST_TEXT);
    let list: Vec<Value> =
        faults.iter().map(|fault| json!({"path": fault.path, "message": fault.message})).collect();
    let first = faults.first();
    let message = match first {
        Some(fault) if fault.path.is_empty() => format!("the answer is wrong: {}", fault.message),
        Some(fault) => format!("the answer is wrong at {}: {}", fault.path, fault.message),
        None => "the answer does not follow its schema".to_owned(),
    };
    let message = match faults.len().saturating_sub(1) {
        0 => message,
        1 => format!("{message}, and 1 more fault"),
        more => format!("{message}, and {more} more faults"),
    };
    Error::new(Code::Answer, message)
        .with("text", &text[..end])
        .with("faults", list)
        .with("attempts", attempts)
        .with_hint("use a model with structured output, simplify the schema, or raise `answers.retries`")
}
