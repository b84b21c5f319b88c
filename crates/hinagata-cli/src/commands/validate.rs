//! `hina validate`: checks variables against the parameters of a prompt.

use hinagata::{TypeProblem, Validation};

use crate::{
    call::CallArguments,
    diagnostic::did_you_mean,
    exit,
    failure::Failure,
    output::{self, Format, sanitize_text},
    workspace::Globals,
};

/// Check variables against what a prompt declares
///
/// The command renders nothing and runs nothing. The exit code is 1 if the variables are invalid.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    call: CallArguments,
}

const EXAMPLES: &str = "Examples:
  hina validate general_system agent_name=Rumi
  hina validate coding_system --vars call.json --json";

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = arguments.call.open_workspace(globals)?;
    let (call, engine) = (arguments.call.read()?, workspace.open_engine()?);
    let found = call.validate_variables(&workspace, &engine)?;
    workspace.warn_unread(&engine.catalog());
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&found)?,
        Format::Text => output::print_text(&text(&found))?,
    }
    if found.valid { Ok(()) } else { Err(Failure::Printed(exit::Code::Failed)) }
}

fn text(found: &Validation) -> String {
    let typed = |what: &str, problem: &TypeProblem| {
        format!("{what}: `{}` should be {}, not {}", problem.name, problem.expected, problem.actual)
    };
    let mut lines: Vec<String> = found.missing.iter().map(|name| format!("missing: `{name}`")).collect();
    lines.extend(found.type_errors.iter().map(|problem| typed("wrong type", problem)));
    lines.extend(
        found
            .schema_errors
            .iter()
            .map(|problem| format!("wrong value: `{}{}`: {}", problem.name, problem.path, problem.message)),
    );
    lines.extend(found.reserved.iter().map(|name| format!("reserved: `{name}` cannot be passed")));
    lines.extend(found.unknown.iter().map(|unknown| {
        let near = did_you_mean(&unknown.near).map(|near| format!("; {near}")).unwrap_or_default();
        format!("warning: undeclared variable `{}`{near}", unknown.name)
    }));
    lines.extend(found.type_warnings.iter().map(|problem| typed("warning", problem)));
    if found.valid {
        lines.insert(0, "valid".to_owned());
    }
    lines.iter().map(|line| format!("{}\n", sanitize_text(line))).collect()
}
