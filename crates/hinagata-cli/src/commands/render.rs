//! `hina render`: fills a prompt.

#[cfg(feature = "watch")]
mod watch;

use std::path::PathBuf;

use hinagata::{
    Content, Message, Rendered, RenderedBody, Warning,
    module::driver::{Formatted, OutputFormat},
    secret::Redactor,
};

use crate::{
    call::CallArguments,
    failure::Failure,
    hints::hint_text,
    output::{self, Format, sanitize_text},
    request::{self, RequestArguments, format_parser},
    workspace::{Globals, Workspace},
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

    /// Format of the result: text, messages or the request body of a provider
    #[arg(long, value_parser = format_parser())]
    format: Option<OutputFormat>,

    #[command(flatten)]
    request: RequestArguments,

    /// Render again whenever the prompt, its files, its variables or the settings change
    #[arg(long)]
    watch: bool,
}

const EXAMPLES: &str = r#"Examples:
  hina render general_system agent_name=Rumi
  hina render coding_system agent_name=Rumi 'tools:=@tools.yaml' --strict
  hina render daily_report --vars report.json --format messages
  hina render daily_report --vars report.json --format anthropic --model claude-opus-4-5
  hina render coding_system --agent rumi --context model=large
  echo 'What is new?' | hina render question text=@-
  hina render daily_report --vars report.json --watch
  hina explain general_system agent_name=Rumi      where every part came from"#;

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
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
    let workspace = Workspace::open(globals)?;
    let call = arguments.call.read()?;
    let engine = workspace.open_engine()?;
    let mut rendered = call.render_prompt(&workspace, &engine)?;
    let redactor = workspace.redactor();
    let made = arguments.build_request(&rendered, &redactor)?;
    rendered.warnings.extend(request::redaction_warnings(&redactor));
    print(&workspace, &rendered, (arguments.format, made.as_ref()), globals)?;
    Ok(rendered.read_files)
}

impl Arguments {
    /// The provider request, if one is requested.
    fn build_request(&self, rendered: &Rendered, redactor: &Redactor) -> Result<Option<Formatted>, Failure> {
        let options = self.request.apply_to(self.format, rendered.request_options(), redactor)?;
        let driver = self.format.and_then(OutputFormat::driver);
        Ok(driver.map(|driver| rendered.format_request(driver, &options)).transpose()?)
    }
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
