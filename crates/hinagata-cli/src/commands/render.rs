//! `hina render`: fills a prompt.

mod chat_template;
#[cfg(feature = "watch")]
mod watch;

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hinagata::{
    Content, Engine, Message, Rendered, RenderedBody, Warning,
    module::driver::{Formatted, OutputFormat},
    secret::Redactor,
};
use hinagata_packs::{LOCK_FILE, LockCheck, LockDrift};

use self::chat_template::TemplateArguments;
use crate::{
    call::CallArguments,
    failure::Failure,
    hints::hint_text,
    output::{self, Format, sanitize_text},
    request::{self, RequestArguments},
    workspace::{FrozenArgument, Globals, Workspace},
};

/// Render a prompt and print the result
///
/// Text is printed unchanged; a terminal gets a missing final newline. Messages are printed as a JSON list of role and
/// content, or one below the other on a terminal. Values are converted to the declared type: n=3 is a number if n is
/// declared as one.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    call: CallArguments,

    /// Format of the result: text, messages, the request body of a provider, or the text that a local model reads
    #[arg(long, value_parser = render_format_parser())]
    format: Option<RenderFormat>,

    #[command(flatten)]
    chat_template: TemplateArguments,

    #[command(flatten)]
    request: RequestArguments,

    #[command(flatten)]
    frozen: FrozenArgument,

    /// Render again whenever the prompt, its files, its variables or the settings change
    #[arg(long)]
    watch: bool,
}

const EXAMPLES: &str = r#"Examples:
  hina render general_system agent_name=Rumi
  hina render coding_system agent_name=Rumi 'tools:=@tools.yaml' --strict
  hina render daily_report --vars report.json --format messages
  hina render daily_report --vars report.json --format anthropic --model claude-opus-4-5
  hina render daily_report --format chat-template --template models/llama
  hina render coding_system --agent rumi --context model=large
  echo 'What is new?' | hina render question text=@-
  hina render daily_report --vars report.json --watch
  hina explain general_system agent_name=Rumi      where every part came from"#;

/// What the result is shown as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RenderFormat {
    Output(OutputFormat),
    /// Written by the chat template of a model.
    ChatTemplate,
}

fn render_format_parser() -> impl TypedValueParser<Value = RenderFormat> {
    const NAME: &str = "chat-template";
    let value = |format: OutputFormat| PossibleValue::new(format.name()).help(format.description());
    let own = PossibleValue::new(NAME)
        .help("The text that a local model reads, written by the template in `--template`");
    let known = |name: String| match name.as_str() {
        NAME => Ok(RenderFormat::ChatTemplate),
        other => OutputFormat::from_name(other).map(RenderFormat::Output).ok_or("unknown format"),
    };
    PossibleValuesParser::new(OutputFormat::ALL.map(value).into_iter().chain([own])).try_map(known)
}

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let globals = &arguments.frozen.apply_to(globals);
    if !arguments.watch {
        return render_once(arguments, globals).map(drop);
    }
    #[cfg(feature = "watch")]
    return watch::run(arguments, globals);
    #[cfg(not(feature = "watch"))]
    Err(crate::absent::missing_feature("render --watch", "watch"))
}

/// Prints the result; the files that hooks and parameters read on the way.
fn render_once(arguments: &Arguments, globals: &Globals) -> Result<Vec<PathBuf>, Failure> {
    let workspace = arguments.call.open_workspace(globals)?;
    let call = arguments.call.read()?;
    let engine = workspace.open_engine()?;
    let mut rendered = call.render_prompt(&workspace, &engine)?;
    rendered.warnings.extend(lock_warnings(&workspace, &engine, &rendered));
    let redactor = workspace.redactor();
    if let Some(text) = arguments.chat_text(&rendered)? {
        return print_chat_text(&workspace, &rendered, &text, globals).map(|()| rendered.read_files);
    }
    let made = arguments.build_request(&rendered, &redactor)?;
    rendered.warnings.extend(request::redaction_warnings(&redactor));
    print(&workspace, &rendered, (arguments.output_format(), made.as_ref()), globals)?;
    Ok(rendered.read_files)
}

/// The differences from the lock that can have changed the result. With `--frozen` there are none.
fn lock_warnings(workspace: &Workspace, engine: &Engine, rendered: &Rendered) -> Vec<Warning> {
    let host = &workspace.host;
    if !host.root.path.join(LOCK_FILE).is_file() || host.is_frozen() {
        return Vec::new();
    }
    let (prompt, source) = (rendered.prompt_id().as_str(), rendered.source());
    let drifts = LockCheck::open(&host.root.path, &host.settings).map(|lock| {
        lock.prompt_drifts(&engine.catalog(), prompt, source, || rendered.definition_hash().to_owned())
    });
    let errors =
        drifts.map_or_else(|error| vec![error], |drifts| drifts.iter().map(LockDrift::to_error).collect());
    errors.into_iter().map(|error| Warning { about: LOCK_FILE.to_owned(), error }).collect()
}

impl Arguments {
    /// The format, unless a chat template writes the result.
    fn output_format(&self) -> Option<OutputFormat> {
        match self.format {
            Some(RenderFormat::Output(format)) => Some(format),
            Some(RenderFormat::ChatTemplate) | None => None,
        }
    }

    /// The text of a chat template, if one is named.
    fn chat_text(&self, rendered: &Rendered) -> Result<Option<String>, Failure> {
        match self.format {
            None if !self.chat_template.is_named() => Ok(None),
            Some(RenderFormat::ChatTemplate) | None => {
                self.request.check_format(None)?;
                self.chat_template.format_text(rendered).map(Some)
            }
            Some(RenderFormat::Output(_)) if self.chat_template.is_named() => {
                Err(Failure::usage_error("`--template` needs `--format chat-template`"))
            }
            Some(RenderFormat::Output(_)) => Ok(None),
        }
    }

    /// The provider request, if one is requested.
    fn build_request(&self, rendered: &Rendered, redactor: &Redactor) -> Result<Option<Formatted>, Failure> {
        let options = self.request.apply_to(self.output_format(), rendered.request_options(), redactor)?;
        let driver = self.output_format().and_then(OutputFormat::driver);
        Ok(driver.map(|driver| rendered.format_request(driver, &options)).transpose()?)
    }
}

/// Prints the text of a chat template.
fn print_chat_text(
    workspace: &Workspace,
    rendered: &Rendered,
    text: &str,
    globals: &Globals,
) -> Result<(), Failure> {
    if Format::from_globals(globals) == Format::Json {
        let mut all = formatted_json(rendered, None, None);
        all["body"] = text.into();
        return output::print_json(&all);
    }
    print_warnings(workspace, &rendered.warnings);
    output::print_exactly(text)
}

fn print(
    workspace: &Workspace,
    rendered: &Rendered,
    (output_format, made): (Option<OutputFormat>, Option<&Formatted>),
    globals: &Globals,
) -> Result<(), Failure> {
    if Format::from_globals(globals) == Format::Json {
        return output::print_json(&formatted_json(rendered, output_format, made));
    }
    print_warnings(workspace, &rendered.warnings);
    if let Some(made) = made {
        return request::print_request(made, Format::Text);
    }
    match (&rendered.body, output_format) {
        (RenderedBody::Text(text), None) => output::print_exactly(text),
        (_, Some(OutputFormat::Text)) => output::print_exactly(&rendered.text()),
        _ if output::is_terminal() => output::print_text(&format_messages(&rendered.messages())),
        _ => output::print_json(&RenderedBody::Messages(rendered.messages()).to_json()),
    }
}

/// The result for scripts, its body in the requested format.
fn formatted_json(
    rendered: &Rendered,
    output_format: Option<OutputFormat>,
    made: Option<&Formatted>,
) -> serde_json::Value {
    let mut all = rendered.to_json_with(hint_text);
    if let Some(made) = made {
        all["body"] = made.to_value();
        all["left_out"] = made.notes().into();
    }
    match output_format {
        Some(OutputFormat::Text) => all["body"] = rendered.text().into(),
        Some(OutputFormat::Messages) => all["body"] = RenderedBody::Messages(rendered.messages()).to_json(),
        _ => {}
    }
    all
}

/// Prints the warnings of a render.
pub(super) fn print_warnings(workspace: &Workspace, warnings: &[Warning]) {
    warnings.iter().for_each(|warning| workspace.print_call_warning(warning));
}

/// Messages for display, each below a line with its role.
fn format_messages(messages: &[Message]) -> String {
    let bold = anstyle::Style::new().bold();
    let message = |message: &Message| {
        let parts: Vec<String> = message.content.iter().map(format_part).collect();
        format!("{bold}── {}{bold:#}\n{}\n", sanitize_text(&message.role), parts.join("\n"))
    };
    messages.iter().map(message).collect::<Vec<_>>().join("\n")
}

fn format_part(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Part { kind, content } => {
            format!("[{} {}]", sanitize_text(kind), sanitize_text(&content.to_string()))
        }
    }
}
