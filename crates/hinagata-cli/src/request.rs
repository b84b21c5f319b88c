//! The format of a result: a text, messages, or the body of a provider's request.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use hinagata::{
    Warning,
    module::driver::{Files, Formatted, OutputFormat, RequestOptions, TurnRule},
    secret::{self, RedactedFile, Redactor},
    source::Directory,
};

use crate::{
    diagnostic::{Diagnostic, Level},
    exit,
    failure::Failure,
    output::{self, Format},
};

/// Largest file that is attached to a request, in bytes.
const LARGEST_FILE: u64 = 32 << 20;

/// Reads the name of an output format from the command line.
pub(crate) fn format_parser() -> impl TypedValueParser<Value = OutputFormat> {
    let value = |format: OutputFormat| PossibleValue::new(format.name()).help(format.description());
    let known = |name: String| OutputFormat::from_name(&name).ok_or("unknown format");
    PossibleValuesParser::new(OutputFormat::ALL.map(value)).try_map(known)
}

/// Reads the name of a rule about turns from the command line.
fn turns_parser() -> impl TypedValueParser<Value = TurnRule> {
    let value = |rule: TurnRule| PossibleValue::new(rule.name()).help(rule.description());
    let known = |name: String| TurnRule::from_name(&name).ok_or("unknown rule");
    PossibleValuesParser::new(TurnRule::ALL.map(value)).try_map(known)
}

/// Options of every command that makes requests.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct RequestArguments {
    /// Model of the request [default: the model of the prompt]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,

    /// Which neighbouring messages of one speaker become one [default: the rule of the provider]
    #[arg(long, value_name = "RULE", value_parser = turns_parser())]
    turns: Option<TurnRule>,

    /// Directory of attached files; without it, only URLs and inline data can be attached
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
}

impl RequestArguments {
    /// `options` with the arguments of the call, which only a provider request can have.
    pub(crate) fn apply_to(
        &self,
        output_format: Option<OutputFormat>,
        mut options: RequestOptions,
        redactor: &Redactor,
    ) -> Result<RequestOptions, Failure> {
        self.check_format(output_format)?;
        if let Some(model) = &self.model {
            options.model = Some(model.clone());
        }
        self.with_files(options, redactor)
    }

    /// Refuses arguments that need a provider request.
    pub(crate) fn check_format(&self, output_format: Option<OutputFormat>) -> Result<(), Failure> {
        let passed = [
            ("--model", self.model.is_some()),
            ("--files", self.files.is_some()),
            ("--turns", self.turns.is_some()),
        ];
        match passed.into_iter().find(|(_, passed)| *passed) {
            Some((name, _)) if output_format.and_then(OutputFormat::driver).is_none() => {
                Err(Failure::usage_error(format!(
                    "`{name}` requires a provider format such as `--format openai`"
                ))
                .with_hint("choose a provider with `--format`, such as `--format openai`"))
            }
            _ => Ok(()),
        }
    }

    /// Whether files may be attached.
    pub(crate) fn has_files(&self) -> bool {
        self.files.is_some()
    }

    /// The model that the call names.
    #[cfg(feature = "llm")]
    pub(crate) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// `options` with the rule about turns and the directory of attached files, whose secrets `redactor` redacts.
    pub(crate) fn with_files(
        &self,
        mut options: RequestOptions,
        redactor: &Redactor,
    ) -> Result<RequestOptions, Failure> {
        options.turns = self.turns.or(options.turns);
        match &self.files {
            None => Ok(options.with_files(Nowhere)),
            Some(path) => {
                let none = || Failure::usage_error(format!("directory `{}` not found", path.display()));
                let directory = Directory::open(path)?.ok_or_else(none)?;
                Ok(options.with_files(Attached { directory, redactor: redactor.clone() }))
            }
        }
    }
}

/// Warnings about attached files whose secrets are redacted.
pub(crate) fn redaction_warnings(redactor: &Redactor) -> Vec<Warning> {
    let warning = |file: RedactedFile| Warning { error: secret::redaction_warning(&file), about: file.path };
    redactor.take_redacted().into_iter().map(warning).collect()
}

/// Files in a directory that the caller passes, without their secrets. Data cannot access others.
struct Attached {
    directory: Directory,
    redactor: Redactor,
}

impl Files for Attached {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        let Self { directory, redactor } = self;
        let redacted = match directory.read_bytes(path, LARGEST_FILE) {
            Ok(Some(bytes)) => secret::redact_bytes(redactor, directory.path(), path, bytes),
            Ok(None) => return Err(format!("not found in {}", directory.path().display())),
            Err(error) => Err(error),
        };
        redacted.map_err(|error| error.message().to_owned())
    }
}

/// No files: data decides which are attached, and so the caller has to say which of theirs it may read.
struct Nowhere;

impl Files for Nowhere {
    fn read(&self, _path: &str) -> Result<Vec<u8>, String> {
        Err("pass the directory of attached files with `--files DIR`".to_owned())
    }
}

/// Warns about parts that a request cannot represent.
pub(crate) fn warn_left_out(notes: &[String]) {
    for note in notes {
        let mut diagnostic = Diagnostic::new("", exit::Code::Success, note.clone());
        diagnostic.level = Level::Warning;
        output::print_status(&diagnostic.render_text());
    }
}

/// Prints a request, and warns about parts that it cannot represent.
pub(crate) fn print_request(made: &Formatted, format: Format) -> Result<(), Failure> {
    if format == Format::Text {
        warn_left_out(made.notes());
    }
    output::print_json(&made.to_value())
}
