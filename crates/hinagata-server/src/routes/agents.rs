//! Calls to agents, and packed contexts. Both hand out files of the workspace, so neither is open without a key.

use std::{
    path::{Component, Path},
    sync::Arc,
};

use hinagata::{Code, Error, Result, Warning};
use hinagata_agent::{ChatMessage, GivenContext, Invocation, Project, of_context};
use hinagata_context::{ContextOptions, Frame, Packer};
use serde_json::Value;

use crate::{
    answer,
    call::{Answer, Call},
    fields::Fields,
    problem::Problem,
    state::App,
};

/// `POST /api/agents/{id}/invoke`
pub(super) async fn invoke(mut call: Call) -> Answer {
    // Agents and packed files are of the whole workspace.
    call.require_unbound()?;
    let agent = call.param("id")?.to_owned();
    let mut fields = Fields::new(call.object().await?);
    let Some(prompt) = fields.text("prompt")? else {
        return Err(Problem::bad_request("the body needs `prompt`, what the user says"));
    };
    let history: Vec<ChatMessage> = match fields.value("history") {
        None => Vec::new(),
        Some(history) => serde_json::from_value(history)
            .map_err(|error| Problem::bad_request(format!("`history` is no list of messages: {error}")))?,
    };
    let (parent, variables) = (fields.text("parent")?, fields.object("variables")?);
    let context = fields.value("context").map(given_context).transpose()?;
    fields.finish()?;
    let invocation =
        Invocation { agent: Some(agent), parent, variables, history, context, ..Invocation::new(prompt) };
    let invoked = beside(&call.app, move |app| project(app)?.invoke(&invocation, Some(&app.engine))).await?;
    answer::json(&invoked.to_json())
}

/// A context in the place of what would be packed: a text, or what packing answered.
fn given_context(context: Value) -> Result<GivenContext, Problem> {
    match context {
        Value::String(text) => Ok(GivenContext::new(text)),
        packed => serde_json::from_value(packed)
            .map_err(|error| Problem::bad_request(format!("`context` is no packed context: {error}"))),
    }
}

/// `POST /api/context/pack`
pub(super) async fn pack(mut call: Call) -> Answer {
    call.require_unbound()?;
    let asked = Asked::read(Fields::new(call.object().await?))?;
    let packed = beside(&call.app, move |app| {
        let project = project(app)?;
        let mut warnings = project.settings_warnings();
        warnings.extend(asked.lowered(&project.context));
        let options = asked.over(project.context.clone());
        let packed = Packer::new(&options).pack().map_err(of_context)?;
        warnings.extend(project.warnings(&packed.report));
        Ok((packed, warnings))
    });
    let (packed, warnings) = packed.await?;
    let mut body = serde_json::to_value(&packed)
        .map_err(|error| Error::new(Code::Store, "the context cannot be written").with_source(error))?;
    body["warnings"] = warnings.iter().map(Warning::to_json).collect();
    answer::json(&body)
}

/// What a call says about what is packed; rules about secrets and ignored files are not the caller's.
struct Asked {
    include: Option<Vec<String>>,
    exclude: Vec<String>,
    focus: Vec<String>,
    frame: Option<Frame>,
    max_bytes: Option<u64>,
    max_files: Option<u64>,
    max_tokens: Option<u64>,
    model: Option<String>,
}

impl Asked {
    fn read(mut fields: Fields) -> Result<Self, Problem> {
        let asked = Self {
            include: patterns(&mut fields, "include")?,
            exclude: patterns(&mut fields, "exclude")?.unwrap_or_default(),
            focus: patterns(&mut fields, "focus")?.unwrap_or_default(),
            frame: frame(fields.text("format")?)?,
            max_bytes: fields.number("max_bytes")?,
            max_files: fields.number("max_files")?,
            max_tokens: fields.number("max_tokens")?,
            model: fields.text("model")?,
        };
        fields.finish()?;
        Ok(asked)
    }

    /// Budgets that a caller asks for and does not get, as the settings set lower ones.
    fn lowered(&self, options: &ContextOptions) -> Vec<Warning> {
        let budgets = [
            ("max_bytes", self.max_bytes, Some(options.max_bytes)),
            ("max_files", self.max_files, Some(options.max_files as u64)),
            ("max_tokens", self.max_tokens, options.tokens.max.map(|most| most as u64)),
        ];
        let lowered = |(name, asked, most): (&str, Option<u64>, Option<u64>)| {
            let (asked, most) = (asked?, most?);
            let message = format!("`{name}` is {most}, as the settings say, and not {asked}");
            let error = Error::definition("settings", message).with("setting", format!("context.{name}"));
            (asked > most).then(|| Warning { about: name.to_owned(), error })
        };
        budgets.into_iter().filter_map(lowered).collect()
    }

    fn over(self, mut options: ContextOptions) -> ContextOptions {
        if let Some(include) = self.include {
            options.include = include;
            options.resources.clear();
        }
        options.exclude.extend(self.exclude);
        options.focus.extend(self.focus);
        options.frame = self.frame.unwrap_or(options.frame);
        let within = |asked: Option<u64>, most: u64| asked.map_or(most, |asked| asked.min(most));
        options.max_bytes = within(self.max_bytes, options.max_bytes);
        let files = options.max_files as u64;
        options.max_files = usize::try_from(within(self.max_files, files)).unwrap_or(options.max_files);
        let tokens = self.max_tokens.and_then(|tokens| usize::try_from(tokens).ok());
        options.tokens.max = match (tokens, options.tokens.max) {
            (Some(asked), Some(most)) => Some(asked.min(most)),
            (asked, most) => asked.or(most),
        };
        options.tokens.model = self.model.or(options.tokens.model);
        options.tokens.count = true;
        options
    }
}

fn project(app: &App) -> Result<Project> {
    Project::from_settings(&app.workspace.settings, &app.engine.root(), app.workspace.trust.is_trusted())
}

/// Reads files on a thread that may wait for them.
async fn beside<T: Send + 'static>(
    app: &Arc<App>,
    work: impl FnOnce(&App) -> Result<T> + Send + 'static,
) -> Result<T, Problem> {
    let app = Arc::clone(app);
    let done = tokio::task::spawn_blocking(move || work(&app)).await;
    done.unwrap_or_else(|_| Err(Error::new(Code::Store, "the files could not be read")))
        .map_err(Problem::from)
}

fn frame(name: Option<String>) -> Result<Option<Frame>, Problem> {
    let Some(name) = name else { return Ok(None) };
    Frame::named(&name).map(Some).ok_or_else(|| {
        Problem::bad_request(format!("there is no format `{name}`")).hint("`plain`, `markdown` or `xml`")
    })
}

/// Patterns beneath the directory that is packed: a caller does not lead out of it.
fn patterns(fields: &mut Fields, name: &'static str) -> Result<Option<Vec<String>>, Problem> {
    let wrong = |what: &str| Problem::bad_request(format!("`{name}` {what}"));
    let Some(patterns) = fields.list(name)? else { return Ok(None) };
    let inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    let mut all = Vec::with_capacity(patterns.len());
    for pattern in patterns {
        let Value::String(pattern) = pattern else { return Err(wrong("is no list of patterns")) };
        // A brace can hide what a path shows.
        if !Path::new(&pattern).components().all(inside) || pattern.contains("..") {
            return Err(wrong("leads out of the directory that is packed"));
        }
        all.push(pattern);
    }
    Ok(Some(all))
}
