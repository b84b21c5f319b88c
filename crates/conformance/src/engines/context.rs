//! Adapts the product's agents and packer to recorded cases, in the profile of the original program.

use std::path::Path;

use hinagata::{
    Code, Error, Reason, Result,
    module::{Role, json::messages_to_json, read_messages},
};
use hinagata_agent::{GivenContext, Invocation, Profile, Project, PromptSource, context_error};
use hinagata_context::{PackedContext, Packer};
use serde_json::{Value, json};

use crate::kinds::context::{ContextEngine, ContextOutcome, ContextQuestion};

/// The agents and the packer as the product ships them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context;

impl Context {
    /// Whether this build has the engine.
    pub const READY: bool = true;
}

impl ContextEngine for Context {
    fn answer_question(&self, root: &Path, question: &ContextQuestion) -> ContextOutcome {
        let answer = match question {
            ContextQuestion::Pack(context) => pack(root, context),
            ContextQuestion::Prompt { config, invocation } => prompt(root, config, invocation),
            ContextQuestion::Config { file, report } => config(file, report),
        };
        match answer {
            Ok(answer) => ContextOutcome::Answer(answer),
            Err(error) => failure(&error),
        }
    }
}

fn pack(root: &Path, context: &Value) -> Result<Value> {
    let project = Project::read(&json!({"context": context}), root, Profile::Compat)?;
    let packer = Packer::new(&project.context);
    let PackedContext { files, total_bytes, text, resources, .. } = packer.pack().map_err(context_error)?;
    let stats = packer.estimate_stats().map_err(context_error)?;
    Ok(json!({
        "packed": {"files": files, "totalBytes": total_bytes, "text": text, "resources": resources},
        "stats": stats,
    }))
}

fn prompt(root: &Path, config: &Value, invocation: &Value) -> Result<Value> {
    let project = Project::read(config, root, Profile::Compat)?;
    let invoked = project.invoke(&call(invocation)?, None)?;
    Ok(
        json!({"system": invoked.system, "user": invoked.user, "messages": messages_to_json(&invoked.messages)}),
    )
}

fn call(invocation: &Value) -> Result<Invocation> {
    let text = |key: &str| invocation.get(key).and_then(Value::as_str).map(str::to_owned);
    let history = invocation.get("history").cloned().unwrap_or_else(|| json!([]));
    let history = read_messages(&history)
        .map_err(|error| Error::new(Code::Validation, "invalid `history`").with_source(error))?;
    Ok(Invocation {
        agent: text("agent"),
        parent: text("parent"),
        prompt: text("prompt").unwrap_or_default(),
        variables: invocation.get("variables").and_then(Value::as_object).cloned().unwrap_or_default(),
        history,
        prompt_role: text("promptRole").as_deref().and_then(Role::from_name),
        prompt_template: invocation.get("promptTemplate").map(PromptSource::from_value).transpose()?,
        context: invocation.get("context").map(given_context).transpose()?,
    })
}

fn given_context(context: &Value) -> Result<GivenContext> {
    serde_json::from_value(context.clone())
        .map_err(|error| Error::new(Code::Validation, "invalid `context`").with_source(error))
}

fn config(file: &Path, report: &[String]) -> Result<Value> {
    let config = Project::load(file, Profile::Compat)?.to_value();
    let entry = |key: &String| {
        let found = key.split('.').try_fold(&config, |value, part| value.get(part));
        (key.clone(), found.cloned().unwrap_or_default())
    };
    Ok(json!({"config": report.iter().map(entry).collect::<serde_json::Map<_, _>>()}))
}

fn failure(error: &Error) -> ContextOutcome {
    let listed = error.details().get("paths").and_then(Value::as_array);
    let kind = match (error.code(), error.reason()) {
        (Code::RenderTemplateNotFound, Some(Reason::TemplateFileMissing)) => "template_file_missing",
        (Code::RenderTemplateNotFound, _) => "template_not_found",
        (Code::RenderSyntax | Code::RenderRuntime, Some(Reason::UnknownFilter)) => "unknown_filter",
        (Code::RenderSyntax, _) => "template_syntax",
        (Code::RenderRuntime | Code::RenderUndefined, _) => "template_runtime",
        (Code::Definition, Some(Reason::Syntax)) => "config_parse",
        (Code::Definition, _) if error.details().contains_key("version") => "config_version",
        (Code::Definition, _) if listed.is_some() => "config_invalid",
        (code, _) => code.as_str(),
    };
    let paths = listed.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    ContextOutcome::Error { kind: kind.to_owned(), paths, message: error.to_string() }
}
