//! A call of a prompt as the command line writes it: which prompt, with which variables, for whom.

use std::{
    env,
    error::Error as _,
    path::{Path, PathBuf},
};

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use hinagata::{
    Context, Engine, Rendered, Request, Validation, definition::UndefinedMode,
    exchange::Format as PromptFormat, from_text, source::unknown_format,
};
use hinagata_value::{ValueType, near_names};
use serde_json::{Map, Value as Json};

use crate::{
    completion,
    failure::Failure,
    input::Inputs,
    stack,
    variables::{self, VariableArguments, Variables},
    workspace::{Globals, Workspace},
};

/// The fields of a context.
const CONTEXT: [&str; 7] =
    ["agent_id", "language", "model", "session", "session_id", "session_state", "workspace_path"];

/// The fields of a context that are objects. All others are text.
const OBJECTS: [&str; 2] = ["session", "session_state"];

/// The format called `name`.
pub(crate) fn parse_format(name: &str) -> Result<PromptFormat, String> {
    PromptFormat::from_name(name).ok_or_else(|| {
        let error = unknown_format(name);
        let hint = error.hint().map(ToString::to_string).unwrap_or_default();
        format!("{}; {hint}", error.message())
    })
}

/// Options of every command that calls a prompt.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CallArguments {
    /// The prompt, by any of its names, or the path of a file of another format
    #[arg(add = completion::complete_prompts())]
    pub(crate) id: String,

    /// The format of the file, if the prompt is a path and its content does not tell it
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    from: Option<PromptFormat>,

    #[command(flatten)]
    variables: VariableArguments,

    /// Use this agent's variables
    #[arg(long, value_name = "ID")]
    agent: Option<String>,

    /// Context of the call, written like variables: model, language, workspace_path, session.…
    #[arg(long, value_name = "NAME=VALUE")]
    context: Vec<String>,

    /// The directory of the project, for variables of type file [default: the working directory]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,

    /// Fail on undefined variables; same as --undefined error
    #[arg(long, conflicts_with = "undefined")]
    strict: bool,

    /// How undefined variables behave [default: as the prompt declares, else empty]
    #[arg(long, value_name = "MODE", value_parser = undefined_parser())]
    undefined: Option<UndefinedMode>,
}

fn undefined_parser() -> impl clap::builder::TypedValueParser<Value = UndefinedMode> {
    PossibleValuesParser::new(UndefinedMode::NAMES)
        .map(|name| UndefinedMode::from_name(&name).expect("only names of modes are possible"))
}

/// A call whose arguments were read.
pub(crate) struct Call {
    id: String,
    variables: Variables,
    /// The agent that `--agent` names.
    agent: Option<String>,
    context: Context,
    undefined: Option<UndefinedMode>,
}

impl CallArguments {
    /// The files that the variables come from.
    #[cfg(feature = "watch")]
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.variables.files()
    }

    /// Whether standard input is read, which is possible only once.
    #[cfg(feature = "watch")]
    pub(crate) fn uses_stdin(&self) -> bool {
        self.variables.uses_stdin()
    }

    /// Opens the workspace of the call.
    pub(crate) fn open_workspace(&self, globals: &Globals) -> Result<Workspace, Failure> {
        Workspace::open_for(globals, &self.id, self.from)
    }

    /// The file of another format that the call names.
    #[cfg(feature = "watch")]
    pub(crate) fn foreign_file(&self, globals: &Globals) -> Option<PathBuf> {
        let places = globals.open_options_for(&self.id, self.from).named_files;
        places.into_iter().next().map(|place| PathBuf::from(place.path))
    }

    /// Reads files and standard input.
    pub(crate) fn read(&self) -> Result<Call, Failure> {
        let inputs = Inputs::default();
        let variables = self.variables.read(&inputs)?;
        let mut context = variables::read_variables(&[], &self.context, &inputs)?.values;
        if let Some(unknown) = context.keys().find(|name| !CONTEXT.contains(&name.as_str())) {
            return Err(Failure::usage_error(format!("unknown context field `{unknown}`"))
                .with_near(near_names(unknown, CONTEXT))
                .with_hint(format!("it has {}", CONTEXT.join(", "))));
        }
        check_context(&context)?;
        if let Some(agent) = &self.agent {
            context.insert("agent_id".to_owned(), agent.as_str().into());
        }
        let mut context = Context::from_map(&context);
        context.workspace_path =
            context.workspace_path.filter(|path| !path.is_empty()).map(|path| full_path(&path));
        context.project = match &self.project {
            Some(directory) => Some(project_directory(directory)?),
            None => env::current_dir().ok(),
        };
        let undefined = if self.strict { Some(UndefinedMode::Error) } else { self.undefined };
        Ok(Call { id: self.id.clone(), variables, agent: self.agent.clone(), context, undefined })
    }
}

/// The project directory that a flag names, without links.
pub(crate) fn project_directory(directory: &Path) -> Result<PathBuf, Failure> {
    let found = directory.canonicalize().ok().filter(|found| found.is_dir());
    found.ok_or_else(|| {
        Failure::usage_error(format!("`{}` is not a directory", directory.display()))
            .with_hint("`--project` names the directory of a project")
    })
}

/// Refuses a value that the context has no use for.
fn check_context(context: &Map<String, Json>) -> Result<(), Failure> {
    for (name, value) in context {
        let (fits, wanted) = match OBJECTS.contains(&name.as_str()) {
            true => (value.is_object(), ValueType::Object),
            // An id may be a number as well.
            false => (value.is_string() || name == "session_id" && value.is_number(), ValueType::String),
        };
        if !fits {
            return Err(Failure::usage_error(format!("`{name}` of the context must be {}", wanted.noun()))
                .with_hint(format!("`--context {name}…` is {}", ValueType::of_value(value).noun())));
        }
    }
    Ok(())
}

/// A path of the call from the current directory, with `~` for the home directory: hooks run elsewhere.
fn full_path(written: &str) -> String {
    let inner = written.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let home = inner.and_then(|inner| Some(env::home_dir()?.join(inner.trim_start_matches('/'))));
    let path = home.unwrap_or_else(|| PathBuf::from(written));
    let full = match path.is_absolute() {
        true => path,
        false => path.canonicalize().or_else(|_| std::path::absolute(&path)).unwrap_or(path),
    };
    // A value that is not text was not given as text.
    full.to_str().map_or_else(|| written.to_owned(), str::to_owned)
}

impl Call {
    /// The same call for a model, unless its context names one.
    #[cfg(feature = "llm")]
    pub(crate) fn for_model(mut self, model: Option<&str>) -> Self {
        self.context.model = self.context.model.or_else(|| model.map(str::to_owned));
        self
    }

    /// Renders the prompt.
    pub(crate) fn render_prompt(&self, workspace: &Workspace, engine: &Engine) -> Result<Rendered, Failure> {
        self.run_request(workspace, engine, Engine::render_blocking)
    }

    /// Renders the prompt with a trace, and with a source map if it `is_mapped`.
    pub(crate) fn explain_prompt(
        &self,
        workspace: &Workspace,
        engine: &Engine,
        is_mapped: bool,
    ) -> Result<Rendered, Failure> {
        self.run_request(workspace, engine, |engine, request| match is_mapped {
            true => engine.explain_blocking(request),
            false => engine.explain_blocking(&request.clone().without_map()),
        })
    }

    fn run_request(
        &self,
        workspace: &Workspace,
        engine: &Engine,
        run: impl FnOnce(&Engine, &Request<'_>) -> hinagata::Result<Rendered> + Send,
    ) -> Result<Rendered, Failure> {
        self.check_caller(workspace, engine)?;
        let variables = self.typed_variables(workspace, engine)?;
        let request = self.request(&variables);
        stack::run_with_stack(&workspace.host.settings.limits(), || {
            run(engine, &request).map_err(|error| with_limit_hint(error, workspace))
        })
    }

    /// Fails for an unknown agent, and warns about a missing workspace path.
    fn check_caller(&self, workspace: &Workspace, engine: &Engine) -> Result<(), Failure> {
        if let Some(path) = self.context.workspace_path.as_ref().filter(|path| !Path::new(path).is_dir()) {
            workspace.print_advice(
                format!("the workspace path `{path}` is not a directory"),
                "hooks, providers and variables of type `file` find no files there",
            );
        }
        let Some(agent) = &self.agent else { return Ok(()) };
        let catalog = engine.catalog();
        match catalog.agent(agent)? {
            Some(_) => Ok(()),
            None => Err(Failure::from(catalog.unknown_agent(agent))
                .with_hint("`--context agent_id=…` names an agent that has no file")),
        }
    }

    /// The result of checking the variables.
    pub(crate) fn validate_variables(
        &self,
        workspace: &Workspace,
        engine: &Engine,
    ) -> Result<Validation, Failure> {
        self.check_caller(workspace, engine)?;
        engine.load_definition_blocking(&self.id)?;
        let parameters = engine.definition(&self.id)?.parameters;
        let mut variables = self.variables.values.clone();
        let mut type_errors = Vec::new();
        for (name, text) in self.variables.texts() {
            match parameters.get(name).map(|parameter| from_text(parameter, text)) {
                Some(Ok(value)) => drop(variables.insert(name.to_owned(), value)),
                Some(Err(problem)) => type_errors.push(problem),
                None => {}
            }
        }
        let mut found = engine.validate(&self.request(&variables))?;
        // A text that is not a value of the declared type stops a render, regardless of the variable's class.
        found.type_warnings.retain(|problem| !type_errors.contains(problem));
        type_errors.retain(|problem| !found.type_errors.contains(problem));
        found.type_errors.extend(type_errors);
        found.valid &= found.type_errors.is_empty();
        Ok(found)
    }

    fn request<'a>(&'a self, variables: &'a Map<String, Json>) -> Request<'a> {
        let request = Request::new(&self.id).with_variable_map(variables).with_context(&self.context);
        match self.undefined {
            Some(mode) => request.with_undefined(mode),
            None => request,
        }
    }

    /// The variables. Texts are converted to the declared types.
    fn typed_variables(&self, workspace: &Workspace, engine: &Engine) -> Result<Map<String, Json>, Failure> {
        let mut variables = self.variables.values.clone();
        if self.variables.texts().next().is_some() {
            // Declarations may have to be computed. If that fails, the render reports the same error.
            engine.load_definition_blocking(&self.id).map_err(|error| with_limit_hint(error, workspace))?;
            let typed = engine.variables_from_text(&self.id, self.variables.texts());
            variables.extend(typed.map_err(with_type_hint)?);
        }
        Ok(variables)
    }
}

/// The hint on how to write a value that cannot be given as text.
fn with_type_hint(error: hinagata::Error) -> Failure {
    let problems = error.details().get("type_errors").and_then(Json::as_array);
    let written = problems.into_iter().flatten().find_map(|problem| {
        let name = problem["name"].as_str()?;
        match problem["expected"].as_str()? {
            "list" => Some(format!("a list is written as JSON: `{name}:='[\"a\", \"b\"]'`")),
            "dict" => Some(format!("an object is written as JSON: `{name}:='{{\"a\": 1}}'`")),
            _ => None,
        }
    });
    written.into_iter().fold(Failure::from(error), Failure::with_hint)
}

/// Names the setting of the limit that was reached.
fn with_limit_hint(error: hinagata::Error, workspace: &Workspace) -> Failure {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<hinagata_value::Error>());
    let name = cause.and_then(hinagata_value::Error::limit).map(|limit| format!("limits.{}", limit.as_str()));
    let advice = name.and_then(|name| {
        let found = workspace.host.settings.get(&name)?;
        let now = found.setting.kind.format_value(&found.value);
        Some(format!("`--set {name}=…` sets it for one call; it is {now} now"))
    });
    advice.into_iter().fold(Failure::from(error), Failure::with_hint)
}
