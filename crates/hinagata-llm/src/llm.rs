//! The configured models.

use std::{
    ffi::OsString,
    path::Path,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use hinagata::{
    Reason, Rendered, Result, Settings,
    module::{CompiledPrompt, driver::RequestOptions},
};
use hinagata_http::{BreakerRules, LazyRuntime};
use serde_json::{Map, Value};
use tracing::Instrument as _;

use crate::{
    Answer, AnswerStream, ChosenModel, Dialect, Models, ProviderRequest, StreamFace,
    answer_rules::AnswerRules,
    call_metrics::CallMetrics,
    client::{Sender, read_body},
    connector::Connector,
    gate::{Clock, GateRules},
    models::Registry,
    proxies::Proxies,
    request,
    retry::Retries,
    span,
};

/// The configured models, and the connections to them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Llm(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    registry: Registry,
    sender: Sender,
    pub(crate) timeout: Duration,
    max_answer: usize,
    system: Option<String>,
    /// How answers with a schema are checked.
    pub(crate) answers: AnswerRules,
    /// Most tokens of an answer to a hook.
    pub(crate) hook_tokens: u64,
    /// The threads for calls from hooks.
    pub(crate) runtime: LazyRuntime,
}

impl Llm {
    /// The models in `settings`; `env` reads an environment variable.
    ///
    /// No connection is opened before the first call. A key is sent to the provider's own address, to the address that the environment
    /// sets for that provider, or to the `base_url` beside its `key_env`, and to no other address.
    ///
    /// # Errors
    /// Code `definition`, reason `settings`, with the name of the invalid setting.
    pub fn new(settings: &Settings, env: impl Fn(&str) -> Option<OsString>) -> Result<Self> {
        Self::with_clock(settings, env, Instant::now)
    }

    /// As [`Llm::new`], for the workspace at `root`, where relative paths of its settings start.
    ///
    /// # Errors
    /// As [`Llm::new`].
    pub fn for_workspace(
        settings: &Settings,
        root: &Path,
        env: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self> {
        Self::build(settings, root, &env, Clock(Arc::new(Instant::now)))
    }

    /// As [`Llm::new`], with a clock: it decides how long the calls of a failing provider are suspended.
    ///
    /// # Errors
    /// As [`Llm::new`].
    pub fn with_clock(
        settings: &Settings,
        env: impl Fn(&str) -> Option<OsString>,
        clock: impl Fn() -> Instant + Send + Sync + 'static,
    ) -> Result<Self> {
        Self::build(settings, Path::new(""), &env, Clock(Arc::new(clock)))
    }

    fn build(
        settings: &Settings,
        root: &Path,
        env: &dyn Fn(&str) -> Option<OsString>,
        clock: Clock,
    ) -> Result<Self> {
        let time = |name: &str, otherwise: u64| {
            settings.time(name).unwrap_or_else(|| Duration::from_secs(otherwise))
        };
        let retries = Retries { waits: settings.times("llm.retries")?, longest: time("llm.retry_after", 2) };
        let count = |name: &str| settings.count(name).and_then(|count| usize::try_from(count).ok());
        let pause = time("llm.breaker_pause", 10);
        let rules = GateRules {
            concurrency: count("llm.concurrency").unwrap_or(usize::MAX).max(1),
            breaker: BreakerRules {
                max_failures: settings.count("llm.breaker_failures").unwrap_or(0),
                first_pause: pause,
                longest_pause: pause,
            },
        };
        let connector = Connector::new(Proxies::from_env(env), time("llm.connect_timeout", 10));
        let most = settings.count("llm.max_answer").and_then(|most| usize::try_from(most).ok());
        Ok(Self(Arc::new(Inner {
            registry: Registry::from_settings(settings, root, env)?,
            sender: Sender::new(connector, retries, rules, clock),
            timeout: time("llm.timeout", 120),
            max_answer: most.unwrap_or(usize::MAX),
            system: settings.text("llm.system").map(str::to_owned),
            answers: AnswerRules::from_settings(settings),
            hook_tokens: settings.count("hooks.max_tokens").unwrap_or(u64::MAX),
            runtime: LazyRuntime::new("hinagata-llm"),
        })))
    }

    /// The configured models and providers.
    #[must_use]
    pub fn models(&self) -> Models {
        self.0.registry.models()
    }

    /// The model of the call, else of the prompt, else of the settings.
    ///
    /// A name can be a configured model, an alias, `provider/model`, or a name that a provider knows.
    ///
    /// # Errors
    /// Code `validation`, reason `model`, if none of them sets a model.
    pub fn choose_model(&self, asked: Option<&str>, of_prompt: Option<&str>) -> Result<ChosenModel> {
        self.0.registry.choose_model(asked, of_prompt)
    }

    /// A model and those that are called where it cannot answer, in order.
    ///
    /// # Errors
    /// As [`Llm::choose_model`].
    pub fn fallback_chain(&self, choice: &ChosenModel) -> Result<Vec<ChosenModel>> {
        self.0.registry.fallback_chain(choice)
    }

    /// The request that sends `rendered` to a model, with options as OpenAI names them.
    ///
    /// `messages` in the options follow those of the prompt; `model` and `stream` are ignored.
    ///
    /// # Errors
    /// Code `validation` for invalid options; code `definition` for content that the provider does not accept.
    pub fn build_request(
        &self,
        choice: &ChosenModel,
        rendered: &Rendered,
        options: &Map<String, Value>,
    ) -> Result<ProviderRequest> {
        self.build_prompt_request(choice, rendered.prompt()?, rendered.request_options(), options)
    }

    /// As [`Llm::build_request`], for a compiled prompt with its own request options.
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

    /// Sends a request and returns the complete answer. Requires tokio; dropping the future cancels the call.
    ///
    /// # Errors
    /// Code `model`; [`crate::ProviderFailure`] holds the response of the provider.
    pub async fn send_chat(&self, request: ProviderRequest) -> Result<Answer> {
        self.send_chat_within(request, self.0.timeout).await
    }

    /// As [`Llm::send_chat`], within `time`.
    pub(crate) async fn send_chat_within(&self, request: ProviderRequest, time: Duration) -> Result<Answer> {
        let (started, span) = (Instant::now(), span::call_span(&request.choice));
        let call = pin!(self.read_answer(&request));
        let call = self.0.sender.guard_call(&request.choice, time, call);
        let answer = if span.is_disabled() { call.await } else { call.instrument(span.clone()).await };
        let answer = answer.map(|(answer, _)| answer);
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
        Answer::from_response(request.choice.clone(), status, raw)
    }

    /// Sends a request and returns the answer as a stream, as soon as it begins. Requires tokio; dropping the stream
    /// cancels the call.
    ///
    /// # Errors
    /// As [`Llm::send_chat`]; after the stream has started, an error is its last item.
    pub async fn stream_chat(&self, request: ProviderRequest) -> Result<AnswerStream> {
        self.stream_chat_as(request, StreamFace::new(Dialect::ChatCompletions)).await
    }

    /// As [`Llm::stream_chat`], in the dialect of `face`.
    ///
    /// # Errors
    /// As [`Llm::stream_chat`].
    pub async fn stream_chat_as(&self, request: ProviderRequest, face: StreamFace) -> Result<AnswerStream> {
        let (started, span) = (Instant::now(), span::call_span(&request.choice));
        let call = pin!(self.start_stream(&request, face));
        let call = self.0.sender.guard_call(&request.choice, self.0.timeout, call);
        let stream = call.instrument(span.clone()).await;
        record_call(&request.choice, started, &stream);
        span::record_failure(&span, &stream);
        stream.map(|(stream, pass)| stream.with_pass(pass))
    }

    async fn start_stream(&self, request: &ProviderRequest, face: StreamFace) -> Result<AnswerStream> {
        let response = self.0.sender.send_request(request, true).await?;
        AnswerStream::start(request.choice.clone(), response, self.0.timeout, self.0.max_answer, face).await
    }
}

/// Records the outcome of a call in logs and metrics.
fn record_call<T>(choice: &ChosenModel, started: Instant, result: &Result<T>) {
    let failure = result.as_ref().err().map(|error| error.reason().map_or("failed", Reason::as_str));
    let endpoint = &choice.endpoint;
    let metrics = endpoint.metrics.get_or_init(|| CallMetrics::new(&endpoint.name));
    metrics.record_call(started.elapsed(), failure);
    if let Err(error) = result {
        // The cause of refused calls was logged already.
        if matches!(error.reason(), Some(Reason::Busy | Reason::Down)) {
            tracing::debug!(
                provider = choice.provider(),
                model = choice.model(),
                reason = failure,
                "{error}"
            );
            return;
        }
        tracing::warn!(provider = choice.provider(), model = choice.model(), reason = failure, "{error}");
    }
}
