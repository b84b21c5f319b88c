//! Adapts the product's prompt engine to recorded calls.

use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

use hinagata::definition::{Inherited, ParameterClass};
use hinagata::ports::Clock;
use hinagata::{
    Approval, Approvals, Catalog, Code, Context, Engine as PromptEngine, EngineOptions, Error, RenderedBody,
    Request, Result,
};
use hinagata_python::{HookOptions, HookPool};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::kinds::rumi::{Operation, RumiCall, RumiEngine, RumiOutcome};

/// The engine as the product ships it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rumi;

impl Rumi {
    /// Whether this build has the engine.
    pub const READY: bool = true;
}

impl RumiEngine for Rumi {
    fn answer_call(&self, call: &RumiCall) -> RumiOutcome {
        let engine = open(call);
        let catalog = engine.catalog();
        let name = call.prompt_id.as_str();
        let answer = match call.operation {
            Operation::ResolveId => catalog.resolve_id(name).map(|id| json!({"prompt_id": id})),
            Operation::Candidates => {
                catalog.candidates(name).map(|candidates| json!({"candidates": candidates}))
            }
            Operation::Definition => definition(&catalog, name),
            Operation::Render => render(&engine, call),
            Operation::Validate => validate(&engine, call),
        };
        match answer {
            Ok(Value::Object(answer)) => RumiOutcome::Answer(answer),
            Ok(other) => RumiOutcome::Answer(Map::from_iter([("answer".to_owned(), other)])),
            Err(error) => failure(&error),
        }
    }
}

/// Runs the Python of all cases. It starts with the first case that needs it.
static HOOKS: LazyLock<Arc<HookPool>> = LazyLock::new(|| Arc::new(HookPool::new(HookOptions::default())));

/// The time at which the cases were recorded.
struct Fixed(SystemTime);

impl Clock for Fixed {
    fn now(&self) -> SystemTime {
        self.0
    }
}

fn open(call: &RumiCall) -> PromptEngine {
    let host = |key: &str| call.host.get(key).and_then(Value::as_str).map(str::to_owned);
    let options = EngineOptions {
        timezone: host("timezone"),
        os: host("os"),
        language: host("language"),
        trusted: true,
        ..EngineOptions::default()
    };
    let mut builder = PromptEngine::builder(&call.root)
        .with_options(options)
        .with_approvals(approvals(call))
        .with_hooks(Arc::<HookPool>::clone(&HOOKS));
    if let Some(now) = host("clock").and_then(|clock| clock.parse::<Timestamp>().ok()) {
        builder = builder.with_clock(Arc::new(Fixed(now.into())));
    }
    builder.open()
}

fn approvals(call: &RumiCall) -> Approvals {
    let state = |(name, state): (&String, &String)| {
        let state = match state.as_str() {
            "approved" => Approval::Approved,
            "modified" => Approval::Modified,
            _ => Approval::Pending,
        };
        (name.clone(), state)
    };
    call.approvals.iter().map(state).collect()
}

fn context(call: &RumiCall) -> Context {
    let mut context = Context::from_map(&call.context);
    if let Some(Value::Object(state)) = call.host.get("session_state") {
        context.session_state = state.clone();
    }
    context
}

fn render(engine: &PromptEngine, call: &RumiCall) -> Result<Value> {
    let context = context(call);
    let request = Request::new(&call.prompt_id).with_variable_map(&call.variables).with_context(&context);
    let rendered = engine.render_blocking(&request)?;
    let body = match &rendered.body {
        RenderedBody::Text(_) => "text",
        RenderedBody::Messages(_) => "messages",
    };
    Ok(json!({body: rendered.body.to_json(), "warnings": rendered.warnings.len()}))
}

fn validate(engine: &PromptEngine, call: &RumiCall) -> Result<Value> {
    let context = context(call);
    let request = Request::new(&call.prompt_id).with_variable_map(&call.variables).with_context(&context);
    Ok(serde_json::to_value(engine.validate(&request)?).unwrap_or_default())
}

fn definition(catalog: &Catalog, name: &str) -> Result<Value> {
    let choice = catalog.choose(name)?;
    let found = catalog.inherited_definition(&choice)?;
    let Inherited { definition, parameters, .. } = &found;
    let limits = catalog.defaults()?.limits(&definition.limits);
    let names = |class: ParameterClass| parameters.names(class);
    Ok(json!({"definition": {
        "prompt_id": choice.id,
        "source": definition.source,
        "type": definition.metadata.kind,
        "version": definition.metadata.version,
        "extends": definition.metadata.extends,
        "variables": {
            "required": names(ParameterClass::Required), "optional": names(ParameterClass::Optional), "custom": names(ParameterClass::Custom),
        },
        "permissions": definition.permissions.granted_names().collect::<Vec<_>>(),
        "limits": {
            "max_execution_time": limits.max_execution_time, "max_output_size": limits.max_output_size,
        },
    }}))
}

fn failure(error: &Error) -> RumiOutcome {
    let kind = match error.code() {
        Code::Id => "PromptIdError",
        Code::NotFound => "PromptNotFoundError",
        Code::Conflict => "PromptConflictError",
        Code::Validation => "PromptValidationError",
        Code::Definition => "PromptDefinitionError",
        Code::OutputLimit => "PromptLimitError",
        Code::Hook => "PromptHookError",
        Code::HookTimeout => "PromptTimeoutError",
        _ => "PromptRenderError",
    };
    RumiOutcome::Error { kind: kind.into(), message: error.to_string(), details: error.details().clone() }
}
