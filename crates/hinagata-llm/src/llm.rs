//! The models of the settings.

use std::{
    ffi::OsString,
    sync::Arc,
    time::{Duration, Instant},
};

use hinagata::{
    Rendered, Result, Settings,
    module::{CompiledPrompt, driver::RequestOptions},
};
use hinagata_http::LazyRuntime;
use serde_json::{Map, Value};
use tokio::time::timeout;
use tracing::Instrument as _;

use crate::{
    Answer, AnswerStream, ChosenModel, Models, ProviderRequest,
    client::{Sender, read_body, timeout_error},
    models::Registry,
    request,
    retry::Retries,
    span,
};

/// The models of the settings, and the way to them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Llm(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    registry: Registry,
    sender: Sender,
    timeout: Duration,
    max_answer: usize,
    system: Option<String>,
    /// Most tokens of an answer to a hook.
    pub(crate) hook_tokens: u64,
    /// The threads of calls that hooks make.
    pub(crate) runtime: LazyRuntime,
}

impl Llm {
    /// The models that `settings` name, with keys that `env` gives, a variable of the environment for a name.
    ///
    /// Nothing is started and nobody is asked before the first call. A key goes to the provider's own address, to the one that the
    /// environment names beside it, or to the `base_url` that stands beside its `key_env`, and nowhere else.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`, with the setting that is wrong.
    pub fn new(settings: &Settings, env: impl Fn(&str) -> Option<OsString>) -> Result<Self> {
        let time = |name: &str, otherwise: u64| {
            settings.time(name).unwrap_or_else(|| Duration::from_secs(otherwise))
        };
        let retries = Retries { waits: settings.times("llm.retries")?, longest: time("llm.retry_after", 2) };
        let most = settings.count("llm.max_answer").and_then(|most| usize::try_from(most).ok());
        Ok(Self(Arc::new(Inner {
            registry: Registry::from_settings(settings, &env)?,
            sender: Sender::new(time("llm.connect_timeout", 10), retries),
            timeout: time("llm.timeout", 120),
            max_answer: most.unwrap_or(usize::MAX),
            system: settings.text("llm.system").map(str::to_owned),
            hook_tokens: settings.count("hooks.max_tokens").unwrap_or(u64::MAX),
            runtime: LazyRuntime::new("hinagata-llm"),
        })))
    }

    /// The configured models and providers.
    #[must_use]
    pub fn models(&self) -> Models {
        self.0.registry.models()
    }

    /// The model that a call names, else the one of the prompt, else the one of the settings.
    ///
    /// A name is that of a configured model, another name of one, `provider/model`, or what a provider calls it.
    ///
    /// # Errors
    /// Code `validation`, reason `model`, when nobody names one.
    pub fn choose_model(&self, asked: Option<&str>, of_prompt: Option<&str>) -> Result<ChosenModel> {
        self.0.registry.choose_model(asked, of_prompt)
    }

    /// The request that gives `rendered` to a model, with the options of a caller in the words of OpenAI.
    ///
    /// `messages` among them are said after those of the prompt; `model` and `stream` do not count.
    ///
    /// # Errors
    /// Code `validation` for options that cannot be followed; code `definition` for what the provider cannot be given.
    pub fn build_request(
        &self,
        choice: &ChosenModel,
        rendered: &Rendered,
        options: &Map<String, Value>,
    ) -> Result<ProviderRequest> {
        self.build_prompt_request(choice, rendered.prompt()?, rendered.request_options(), options)
    }

    /// As [`Llm::build_request`], of a compiled prompt and what it says itself about a request.
    ///
    /// # Errors
    /// As [`Llm::build_request`].
    pub fn build_prompt_request(
        &self,
        choice: &ChosenModel,
        prompt: Arc<CompiledPrompt>,
        base: RequestOptions,
        options: &Map<String, Value>,
    ) -> Result<ProviderRequest> {
        request::build_request(choice, prompt, base, options, self.0.system.as_deref())
    }

    /// The whole answer. Has to run on tokio; dropping the future ends the call.
    ///
    /// # Errors
    /// Code `model`; see [`crate::ProviderFailure`] for what the provider said.
    pub async fn send_chat(&self, request: ProviderRequest) -> Result<Answer> {
        let (started, span) = (Instant::now(), span::call_span(&request.choice));
        let answer = timeout(self.0.timeout, self.read_answer(&request)).instrument(span.clone()).await;
        let answer = answer.unwrap_or_else(|_| Err(timeout_error(&request.choice, self.0.timeout)));
        record_call(&request.choice, started, &answer);
        span::record_failure(&span, &answer);
        if let Ok(answer) = &answer {
            span::record_usage(&span, answer);
        }
        answer
    }

    async fn read_answer(&self, request: &ProviderRequest) -> Result<Answer> {
        let response = self.0.sender.send_request(request, false).await?;
        let status = response.status().as_u16();
        let raw = read_body(&request.choice, response, self.0.max_answer).await?;
        Ok(Answer { choice: request.choice.clone(), status, raw })
    }

    /// The answer as it comes, once it has begun. Has to run on tokio; dropping the stream ends the call.
    ///
    /// # Errors
    /// As [`Llm::send_chat`]; once it has begun, errors come as its last piece.
    pub async fn stream_chat(&self, request: ProviderRequest) -> Result<AnswerStream> {
        let (started, span) = (Instant::now(), span::call_span(&request.choice));
        let response = timeout(self.0.timeout, self.0.sender.send_request(&request, true))
            .instrument(span.clone())
            .await;
        let response = response.unwrap_or_else(|_| Err(timeout_error(&request.choice, self.0.timeout)));
        record_call(&request.choice, started, &response);
        span::record_failure(&span, &response);
        Ok(AnswerStream::new(request.choice, response?, self.0.timeout, self.0.max_answer))
    }
}

/// Tells logs and metrics how a call went.
fn record_call<T>(choice: &ChosenModel, started: Instant, result: &Result<T>) {
    let outcome = match result {
        Ok(_) => "ok",
        Err(error) => error.reason().unwrap_or("failed"),
    };
    let provider = choice.provider().to_owned();
    metrics::counter!("hinagata_model_calls_total", "provider" => provider.clone(), "outcome" => outcome.to_owned())
        .increment(1);
    metrics::histogram!("hinagata_model_call_seconds", "provider" => provider)
        .record(started.elapsed().as_secs_f64());
    if let Err(error) = result {
        tracing::warn!(provider = choice.provider(), model = choice.model(), reason = outcome, "{error}");
    }
}
