//! `hina render-file`: fills one template file.

mod advice;
mod entry;
mod options;
mod render;
mod report;
mod set;

use std::{
    fs,
    path::{Path, PathBuf},
};

use hinagata::{Settings, definition::UndefinedMode};
use hinagata_template::{Language, Options};
use hinagata_value::{Limits, near_names};
use serde_json::Value as Json;

use self::entry::display_name;
use crate::{
    failure::Failure,
    files,
    input::{Inputs, system_message},
    output::Format,
    stack,
    variables::VariableArguments,
    workspace::{Globals, Workspace},
};

/// Render a template file
///
/// Files with the extension .gotmpl or .tmpl are Go templates, all others Jinja. The text is printed unchanged; a
/// terminal gets a missing final newline.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The template file; - reads it from standard input
    template: PathBuf,

    #[command(flatten)]
    variables: VariableArguments,

    /// The directory that other templates are loaded from [default: the template's own]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,

    /// The template language, whatever the file is called
    #[arg(long)]
    engine: Option<options::LanguageArgument>,

    /// Set a limit; same as --set limits.NAME=VALUE; `hina limits` lists all limits
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<String>,

    /// Print the origin of every part of the text instead of the text
    #[arg(long)]
    explain: bool,

    /// Print timings to standard error
    #[arg(long)]
    time: bool,

    #[command(flatten)]
    behaviour: options::Behaviour,

    /// A file whose templates are added to those of the template, as Go's ParseFiles does
    #[arg(long, value_name = "FILE", help_heading = "Go", conflicts_with = "root")]
    with: Vec<PathBuf>,
}

const EXAMPLES: &str = r#"Examples:
  hina render-file hello.md name=Rumi
  hina render-file hello.md user.name=Rumi 'tags:=["a", "b"]' notes=@notes.txt
  hina render-file hello.md --vars vars.json --strict
  echo 'Hello {{ name }}!' | hina render-file - name=Rumi
  hina render-file page.gotmpl --vars vars.json --with layout.gotmpl
  hina render-file chat_template.jinja --chat 'messages:=@messages.json'"#;

/// One render: everything is read but the templates that it includes.
struct Request<'a> {
    arguments: &'a Arguments,
    engine: Language,
    source: String,
    /// The sources of `--with`, in its order.
    more: Vec<String>,
    variables: Json,
    settings: &'a Settings,
    limits: Limits,
}

impl Request<'_> {
    /// The options of the template.
    fn options(&self) -> Options {
        let configured = self.settings.undefined().and_then(UndefinedMode::from_name);
        self.arguments.behaviour.options(configured.unwrap_or(UndefinedMode::Empty))
    }
}

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let engine = match arguments.engine {
        Some(language) => language.into(),
        None => Language::from_file_name(&arguments.template.to_string_lossy()),
    };
    if engine == Language::Jinja && !arguments.with.is_empty() {
        return Err(Failure::usage_error("`--with` is for Go templates, and this is a Jinja template")
            .with_hint("Jinja loads other templates by itself; `--engine` sets the language"));
    }
    let limits = arguments.limits.iter().map(|limit| format!("limits.{limit}"));
    // `--root` of this command is about templates.
    let workspace = Workspace::open(&globals.without_root().with_settings(limits))?;
    let settings = &workspace.host.settings;
    let limits = settings.limits();
    let inputs = Inputs::default();
    let source = read_template(&arguments.template, "TEMPLATE", &inputs, settings)?;
    let more = arguments
        .with
        .iter()
        .map(|file| read_template(file, "--with -", &inputs, settings))
        .collect::<Result<_, _>>()?;
    let variables = Json::Object(arguments.variables.read(&inputs)?.values);
    let request = Request { arguments, engine, source, more, variables, settings, limits };
    let outcome = stack::run_with_stack(&request.limits, || match request.more.is_empty() {
        true => render::render_template(&request),
        false => set::render_set(&request),
    })?;
    report::print_outcome(
        &outcome.with_variables(&request.variables),
        arguments.time,
        Format::from_globals(globals),
    )
}

/// The text of the template that the user named with `argument`.
fn read_template(
    path: &Path,
    argument: &str,
    inputs: &Inputs,
    settings: &Settings,
) -> Result<String, Failure> {
    let shown = display_name(path);
    if path.is_dir() {
        return Err(
            Failure::usage_error(format!("`{shown}` is a directory")).with_hint("pass a template file in it")
        );
    }
    match inputs.open(path, argument)? {
        Ok(reader) => files::read_source(&shown, reader, &settings.limits()).map_err(|error| {
            advice::with_limit_hint(Failure::from_template(&error, str::to_owned), &error, settings)
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(Failure::not_found(format!("file `{shown}` not found")).with_near(near_files(path)))
        }
        Err(error) => Err(Failure::usage_error(format!("cannot read `{shown}`: {}", system_message(&error)))),
    }
}

/// The file beside `path` whose name is closest to its own.
fn near_files(path: &Path) -> Vec<String> {
    const MOST: usize = 1_000;
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let Ok(entries) = fs::read_dir(entry::directory_of(path)) else { return Vec::new() };
    let names: Vec<_> =
        entries.take(MOST).flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let near = near_names(name, names.iter().map(String::as_str));
    near.iter().take(1).map(|near| path.with_file_name(near).display().to_string()).collect()
}
