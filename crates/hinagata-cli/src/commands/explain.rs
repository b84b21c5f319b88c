//! `hina explain`: the origin of every part of a rendered prompt.

use hinagata::{Rendered, Trace, TracedTemplate, TracedUse, TracedVariable, settings::group_digits};
use serde_json::Value;

use super::render::print_warnings;
use crate::{
    call::CallArguments,
    diagnostic::truncate_for_display,
    failure::Failure,
    hints::hint_text,
    output::{self, Format, sanitize_text},
    workspace::{Globals, Workspace},
};

/// Show where every part of a rendered prompt came from
///
/// Renders the prompt and prints, instead of the result, how the name was resolved, every variable with its layer and
/// the values it overrides, the templates, all calls, sizes and times.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    call: CallArguments,
}

const EXAMPLES: &str = "Examples:
  hina explain general_system agent_name=Rumi
  hina explain general_system agent_name=Rumi --json";

/// Characters of a value that are shown.
const VALUE_WIDTH: usize = 50;

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let (call, engine) = (arguments.call.read()?, workspace.open_engine()?);
    let rendered = call.render_prompt(&workspace, &engine, true)?;
    match Format::from_globals(globals) {
        Format::Json => output::print_json(&rendered.to_json_with(hint_text)),
        Format::Text => {
            print_warnings(&workspace, &rendered.warnings);
            output::print_text(&page(&workspace, &rendered))
        }
    }
}

fn page(workspace: &Workspace, rendered: &Rendered) -> String {
    let Some(trace) = &rendered.trace else { return String::new() };
    let mut page = format!("{} {}\n\n", rendered.prompt_id(), sanitize_text(rendered.version()));
    page.push_str(&output::align_columns(&facts(workspace, trace)));
    section(
        &mut page,
        "Variables",
        &trace.variables.iter().flat_map(|one| variable(workspace, one)).collect::<Vec<_>>(),
    );
    section(
        &mut page,
        "Templates",
        &trace.templates.iter().flat_map(|one| template(workspace, one)).collect::<Vec<_>>(),
    );
    section(&mut page, "Calls", &calls(trace));
    page
}

fn section(page: &mut String, title: &str, rows: &[Vec<String>]) {
    if !rows.is_empty() {
        let indented = rows.iter().map(|row| {
            let mut row = row.clone();
            row[0].insert_str(0, "  ");
            row
        });
        page.push_str(&format!("\n{title}\n{}", output::align_columns(&indented.collect::<Vec<_>>())));
    }
}

fn facts(workspace: &Workspace, trace: &Trace) -> Vec<Vec<String>> {
    let chosen = &trace.chosen;
    let why = match chosen.reason {
        "resolution" => ", by resolution",
        "replacement" => ", by accepted replacement",
        _ => "",
    };
    let size = |size: &hinagata::Size| {
        let role = size.role.as_ref().map(|role| format!("{}: ", sanitize_text(role))).unwrap_or_default();
        format!("{role}{} characters", group_digits(size.characters as u64))
    };
    let times = &trace.times;
    let mut rows = vec![("source", format!("{}{why}", workspace.display_path(&chosen.source)))];
    if chosen.asked != chosen.prompt_id {
        rows.insert(0, ("requested", chosen.asked.clone()));
    }
    if let [_, parents @ ..] = chosen.extends.as_slice()
        && !parents.is_empty()
    {
        rows.push(("extends", parents.join(", then ")));
    }
    rows.push(("size", trace.sizes.iter().map(size).collect::<Vec<_>>().join(", ")));
    rows.push((
        "time",
        format!(
            "prepare {:.1?}, variables {:.1?}, hooks {:.1?}, render {:.1?}",
            times.prepare, times.scope, times.hooks, times.render
        ),
    ));
    rows.into_iter().map(|(name, value)| vec![name.to_owned(), sanitize_text(&value)]).collect()
}

/// A line for the value in use, and one for each value that it overrides.
fn variable(workspace: &Workspace, variable: &TracedVariable) -> Vec<Vec<String>> {
    let layer = match variable.layer {
        Some(_) if variable.value.is_none() => "removed by `pre_render`",
        Some(layer) => layer.as_str(),
        None if variable.condition_only => "undefined, only tested",
        None => "undefined",
    };
    let value = variable.value.as_ref().map(value).unwrap_or_default();
    let origin = origin(workspace, variable.origin.as_deref().unwrap_or_default(), layer);
    let mut rows = vec![[&*variable.name, &*value, layer, &*origin].map(sanitize_text).to_vec()];
    rows.extend(variable.lost.iter().map(|lost| {
        let layer = lost.layer.as_str();
        let origin = self::origin(workspace, &lost.origin, layer);
        [" overrides", &*self::value(&lost.value), layer, &*origin].map(sanitize_text).to_vec()
    }));
    rows
}

/// The origin of a value, unless it is the same as the layer.
fn origin(workspace: &Workspace, origin: &str, layer: &str) -> String {
    if origin == layer || origin.is_empty() {
        return String::new();
    }
    // A place has line and column after its file.
    let file = origin.trim_end_matches(|c: char| c.is_ascii_digit() || c == ':');
    format!("{}{}", workspace.display_path(file), &origin[file.len()..])
}

fn value(value: &Value) -> String {
    truncate_for_display(&value.to_string(), VALUE_WIDTH)
}

/// A line for the file, and one for each template that it names.
fn template(workspace: &Workspace, template: &TracedTemplate) -> Vec<Vec<String>> {
    let mut rows =
        vec![vec![sanitize_text(&workspace.display_path(&template.file)), template.engine.to_owned()]];
    let used = |used: &TracedUse| {
        let name = if used.name.is_empty() { "(decided at run time)" } else { &used.name };
        let file =
            used.file.as_ref().map_or_else(|| "not found".to_owned(), |file| workspace.display_path(file));
        let what = format!("  {} {}, line {}", used.how, sanitize_text(name), used.line);
        vec![what, sanitize_text(&file)]
    };
    rows.extend(template.uses.iter().map(used));
    rows
}

fn calls(trace: &Trace) -> Vec<Vec<String>> {
    let row = |call: &hinagata::TracedCall| {
        let error = call.error.as_deref().map(|error| format!("failed: {error}")).unwrap_or_default();
        vec![
            format!("{} {}", call.kind, sanitize_text(&call.name)),
            format!("{:.1?}", call.time),
            sanitize_text(&error),
        ]
    };
    trace.calls.iter().map(row).collect()
}
