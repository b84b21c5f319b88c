//! `hina module`: module files, stage by stage.

use std::path::PathBuf;

use hinagata::{
    RenderedBody,
    definition::{AdHocModules, PRESETS, Parameter, module_error, preset},
    from_text,
    module::{
        CompiledPrompt, Order, Part, TextOptions,
        driver::{OutputFormat, RequestOptions},
        prompt_text,
    },
};
use serde_json::{Map, Value, json};

use crate::{
    diagnostic::{Diagnostic, Level},
    exit,
    failure::Failure,
    input::Inputs,
    output::{self, Format},
    request::{self, RequestArguments, format_parser},
    stack,
    variables::{self, Variables},
    workspace::{Globals, Workspace},
};

/// Inspect module files stage by stage
///
/// Use `hina render` for modules that are prompts. This command reads module files that need not belong to a prompt: it
/// merges them in order, with everything they use, and compiles them with variables. It obeys `model`, `config`, `order`
/// and `undefined` of the files; the last file that has a key sets it. What it prints as JSON can be passed as a file.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    stage: Stage,
}

const EXAMPLES: &str = "Examples:
  hina module merge triage.yaml tone.yaml
  hina module compile triage.yaml tone.yaml 'ticket:=@ticket.json'
  hina module format triage.yaml 'ticket:=@ticket.json' --format anthropic --model claude-opus-4-5
  hina module preset
  hina module preset stream > presets/stream.yaml";

#[derive(clap::Subcommand)]
enum Stage {
    /// Merge module files and print the result
    Merge {
        /// Module files, merged in their order
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Compile module files with variables and print every element
    Compile {
        #[command(flatten)]
        call: ModuleCall,

        /// As a list of elements without titles, in the order in which they are written
        #[arg(long, conflicts_with = "order")]
        flat: bool,
    },
    /// Print the prompt as text, messages or a request body
    Format {
        #[command(flatten)]
        call: ModuleCall,

        /// The shape of the result
        #[arg(long, default_value = "text", value_parser = format_parser())]
        format: OutputFormat,

        #[command(flatten)]
        request: RequestArguments,
    },
    /// List the built-in modules, or print one
    Preset {
        /// The preset
        #[arg(value_parser = clap::builder::PossibleValuesParser::new(PRESETS.iter().map(|(name, _)| *name)))]
        name: Option<String>,
    },
}

/// Module files and variables.
#[derive(clap::Args)]
struct ModuleCall {
    /// Module files, merged in their order, and variables: name=text, name:=json, name=@file, name:=@file
    #[arg(required = true, value_name = "FILE|NAME=VALUE")]
    arguments: Vec<String>,

    /// Read variables from a JSON or YAML file; NAME=VALUE overrides them; - reads standard input
    #[arg(long, value_name = "FILE")]
    vars: Vec<PathBuf>,

    /// The order of sections [default: as the last file says, else standard]
    #[arg(long, value_parser = ["standard", "cache"])]
    order: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    match &arguments.stage {
        Stage::Merge { files } => {
            let modules = AdHocModules::from_files(files)?;
            print_file_warnings(&modules, globals);
            warn_of_secrets(&modules, globals);
            output::print_json(&modules.to_json())
        }
        Stage::Compile { call, flat } => {
            let (prompt, _) = call.compile(*flat, globals)?;
            output::print_json(&prompt.to_json_with_order())
        }
        Stage::Format { call, format, request } => {
            // Only attached files need the settings.
            let workspace = request.has_files().then(|| Workspace::open(globals)).transpose()?;
            let redactor = workspace.as_ref().map(Workspace::redactor).unwrap_or_default();
            request.check_format(Some(*format))?;
            let (prompt, options) = call.compile(false, globals)?;
            let options = request.apply_to(Some(*format), options, &redactor)?;
            print(&prompt, *format, &options, globals)?;
            for warning in request::redaction_warnings(&redactor) {
                workspace.iter().for_each(|workspace| workspace.print_call_warning(&warning));
            }
            Ok(())
        }
        Stage::Preset { name } => print_preset(name.as_deref(), globals),
    }
}

impl ModuleCall {
    /// The compiled prompt, and the model and its options that the files set.
    fn compile(&self, flat: bool, globals: &Globals) -> Result<(CompiledPrompt, RequestOptions), Failure> {
        // An argument with `=` is a variable. A file with such a name can be passed as `./a=b.yaml`.
        let is_file = |argument: &&String| !argument.contains('=') || argument.starts_with("./");
        let (files, assignments): (Vec<&String>, Vec<&String>) = self.arguments.iter().partition(is_file);
        if files.is_empty() {
            return Err(Failure::usage_error("no module file")
                .with_hint("pass at least one `.yaml`, `.json` or `.toml`"));
        }
        if let [file] = files.as_slice()
            && let Some(prompt) = read_compiled(file)?
        {
            if flat || self.order.is_some() || !assignments.is_empty() || !self.vars.is_empty() {
                return Err(Failure::usage_error(format!("`{file}` is a compiled prompt"))
                    .with_hint("pass it without variables, `--vars`, `--order` and `--flat`"));
            }
            return Ok((prompt, RequestOptions::default()));
        }
        let modules = AdHocModules::from_files(files)?;
        print_file_warnings(&modules, globals);
        let assignments: Vec<String> = assignments.into_iter().cloned().collect();
        let passed = variables::read_variables(&self.vars, &assignments, &Inputs::default())?;
        let variables = typed_variables(&modules, &passed)?;
        let order = self.order.as_deref().and_then(Order::from_name);
        let prompt = stack::run_with_stack(&hinagata_value::Limits::default(), || {
            let compiled =
                if flat { modules.compile_flat(&variables) } else { modules.compile(&variables, order) };
            Ok::<_, Failure>(compiled?)
        })?;
        for warning in &prompt.warnings {
            print_warning(Diagnostic::new("", exit::Code::Success, warning.to_string()), globals);
        }
        Ok((prompt, modules.request_options()))
    }
}

/// The prompt in a file that `hina module compile` printed; `None` for other files.
fn read_compiled(file: &str) -> Result<Option<CompiledPrompt>, Failure> {
    // Whoever reads the file as a module reports that it is missing or invalid.
    let text = if file.ends_with(".json") { std::fs::read(file).unwrap_or_default() } else { Vec::new() };
    let Ok(document) = serde_json::from_slice::<Value>(&text) else { return Ok(None) };
    let has_part = |part: &Part| document.get(part.name()).is_some_and(Value::is_array);
    if !Part::ALL.iter().all(has_part) {
        return Ok(None);
    }
    Ok(Some(CompiledPrompt::from_json(&document).map_err(|error| module_error(error.prefix_path(file)))?))
}

/// The variables. Texts are converted to the declared types.
pub(super) fn typed_variables(
    modules: &AdHocModules,
    passed: &Variables,
) -> Result<Map<String, Value>, Failure> {
    let mut all = passed.values.clone();
    for (name, text) in passed.texts() {
        let Some(parameter) = modules.context().get(name) else { continue };
        let value = from_text(parameter, text).map_err(|problem| {
            Failure::usage_error(format!("`{name}` must be of type {}, not text", problem.expected))
                .with_hint(format!("write it as JSON: `{name}:=…`"))
        })?;
        all.insert(name.to_owned(), value);
    }
    Ok(all)
}

fn print_file_warnings(modules: &AdHocModules, globals: &Globals) {
    for warning in modules.warnings() {
        print_warning(Diagnostic::from(warning), globals);
    }
}

/// Warns that the merged module lacks the defaults of secrets.
fn warn_of_secrets(modules: &AdHocModules, globals: &Globals) {
    let is_hidden = |parameter: &&Parameter| parameter.secret && parameter.default.is_some();
    for Parameter { name, .. } in modules.context().iter().filter(is_hidden) {
        let message = format!("the default of `{name}` is left out because it is secret");
        print_warning(Diagnostic::new("", exit::Code::Success, message), globals);
    }
}

fn print_warning(mut diagnostic: Diagnostic, globals: &Globals) {
    diagnostic.level = Level::Warning;
    output::print_diagnostic(&diagnostic, Format::from_globals(globals));
}

fn print(
    prompt: &CompiledPrompt,
    output_format: OutputFormat,
    options: &RequestOptions,
    globals: &Globals,
) -> Result<(), Failure> {
    let format = Format::from_globals(globals);
    match (output_format.driver(), output_format) {
        (Some(driver), _) => {
            let made = driver.format(prompt, options).map_err(module_error)?;
            request::print_request(&made, format)
        }
        (None, OutputFormat::Messages) => output::print_json(&RenderedBody::from(prompt).to_json()),
        (None, _) if format == Format::Json => {
            output::print_json(&json!({"text": prompt_text(prompt, &TextOptions::default())}))
        }
        (None, _) => output::print_exactly(&prompt_text(prompt, &TextOptions::default())),
    }
}

fn print_preset(name: Option<&str>, globals: &Globals) -> Result<(), Failure> {
    match (name.and_then(preset), Format::from_globals(globals)) {
        (Some(text), Format::Text) => output::print_exactly(text),
        (Some(text), Format::Json) => output::print_json(&json!({"name": name, "text": text})),
        (None, Format::Json) => {
            output::print_json(&PRESETS.iter().map(|(name, _)| *name).collect::<Vec<_>>())
        }
        (None, Format::Text) => {
            let row = |(name, text): &(&str, &str)| vec![(*name).to_owned(), description(text)];
            output::print_text(&output::align_columns(&PRESETS.iter().map(row).collect::<Vec<_>>()))
        }
    }
}

/// The description of a preset.
fn description(text: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix("description: "));
    line.unwrap_or_default().to_owned()
}
