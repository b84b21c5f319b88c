//! Trace spans of calls, named as OpenTelemetry names calls of models.

use hinagata::{Reason, Result};
use serde_json::Value;
use tracing::{
    Span,
    field::{Empty, display},
};

use crate::{Answer, ChosenModel};

/// The target of all trace spans. Their level is the finest one, so that logs do not contain them.
pub const SPANS: &str = "hinagata_span";

/// The trace span of a call; disabled if traces are not collected.
pub(crate) fn call_span(choice: &ChosenModel) -> Span {
    let span = tracing::trace_span!(
        target: SPANS,
        "chat",
        otel.name = Empty,
        otel.kind = "client",
        otel.status_code = Empty,
        error.type = Empty,
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = Empty,
        gen_ai.request.model = choice.model(),
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
    );
    if !span.is_disabled() {
        span.record("otel.name", display(format_args!("chat {}", choice.model())));
        span.record("gen_ai.provider.name", telemetry_provider(choice));
    }
    span
}

/// The name of a provider in OpenTelemetry, else the configured name.
fn telemetry_provider(choice: &ChosenModel) -> &str {
    let spec = choice.kind().spec();
    if choice.provider() == spec.name { spec.telemetry_name } else { choice.provider() }
}

/// Records the failure of a call.
pub(crate) fn record_failure<T>(span: &Span, result: &Result<T>) {
    if let Err(error) = result
        && !span.is_disabled()
    {
        span.record("otel.status_code", "ERROR");
        span.record("error.type", error.reason().map_or(error.code().as_str(), Reason::as_str));
    }
}

/// Records the token usage of an answer.
pub(crate) fn record_usage(span: &Span, answer: &Answer) {
    if span.is_disabled() {
        return;
    }
    let Ok(completion) = answer.to_completion() else { return };
    for (field, name) in [
        ("gen_ai.usage.input_tokens", "/usage/prompt_tokens"),
        ("gen_ai.usage.output_tokens", "/usage/completion_tokens"),
    ] {
        if let Some(count) = completion.pointer(name).and_then(Value::as_u64) {
            span.record(field, count);
        }
    }
}
