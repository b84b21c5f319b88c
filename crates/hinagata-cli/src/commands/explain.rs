//! `hina explain`: the origin of every part of a rendered prompt.

use std::{
    fmt::Write as _,
    path::{Path, PathBuf},
};

use anstyle::{AnsiColor, Style};
use hinagata::{
    ExplainMap, MapUnits, Rendered, SpanRow, Trace, TracedTemplate, TracedUse, TracedVariable,
    settings::group_digits,
};
use serde_json::Value;

use super::render::print_warnings;
use crate::{
    call::CallArguments,
    diagnostic::truncate_for_display,
    failure::Failure,
    hints::hint_text,
    output::{self, Format, sanitize_text},
    source_map_file,
    workspace::{Globals, Workspace},
};

/// Show where every part of a rendered prompt came from
///
/// Renders the prompt and prints, instead of the result, how the name was resolved, every variable with its layer and
/// the values it overrides, the templates, all calls, sizes and times.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Show every piece of the result with its origin: in colours on a terminal, else as a table
    #[arg(long)]
    spans: bool,

    /// Write a source map of the result to FILE, in the format of ECMA-426
    #[arg(long, value_name = "FILE")]
    source_map: Option<PathBuf>,

    #[command(flatten)]
    call: CallArguments,
}

const EXAMPLES: &str = "Examples:
  hina explain general_system agent_name=Rumi
  hina explain general_system agent_name=Rumi --spans
  hina explain general_system agent_name=Rumi --json";

/// Characters of a value that are shown.
const VALUE_WIDTH: usize = 50;

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let (call, engine) = (arguments.call.read()?, workspace.open_engine()?);
    let is_mapped = arguments.spans || arguments.source_map.is_some();
    let rendered = call.explain_prompt(&workspace, &engine, is_mapped)?;
    if let Some(path) = &arguments.source_map {
        write_source_map(path, &rendered)?;
    }
    match Format::from_globals(globals) {
        Format::Json if arguments.spans => {
            output::print_json(&rendered.to_mapped_json(hint_text, MapUnits::default()))
        }
        Format::Json => output::print_json(&rendered.to_json_with(hint_text)),
        Format::Text if arguments.spans => {
            print_warnings(&workspace, &rendered.warnings);
            print_spans(&workspace, &rendered)
        }
        Format::Text => {
            print_warnings(&workspace, &rendered.warnings);
            output::print_text(&page(&workspace, &rendered))
        }
    }
}

/// The map of a result, which was requested; `None` if the result has none.
fn map_of(rendered: &Rendered) -> Option<&ExplainMap> {
    rendered.trace.as_ref()?.map.as_deref()
}

/// The colour of each kind of span.
fn colour(kind: &str) -> Style {
    let colour = match kind {
        "value" => AnsiColor::Green,
        "derived" => AnsiColor::Yellow,
        "tool" => AnsiColor::Magenta,
        "computed" => AnsiColor::Cyan,
        "hook" => AnsiColor::Blue,
        "masked" => AnsiColor::Red,
        // The text of templates stays as it is.
        _ => return Style::new(),
    };
    colour.on_default()
}

fn print_spans(workspace: &Workspace, rendered: &Rendered) -> Result<(), Failure> {
    let Some(map) = map_of(rendered) else { return Err(no_source_map(rendered)) };
    if output::is_terminal() {
        output::print_text(&coloured(map))
    } else {
        output::print_text(&table(workspace, map))
    }
}

/// The result in the colours of its spans, and what they mean.
fn coloured(map: &ExplainMap) -> String {
    let mut text = String::new();
    let mut last = None;
    for row in map.span_rows() {
        let part = (row.message, row.part);
        if last.is_some_and(|last| last != part) {
            text.push_str("\n\n");
        }
        last = Some(part);
        let style = colour(row.kind);
        let lines: Vec<String> = row.piece.split('\n').map(sanitize_text).collect();
        let _ = write!(text, "{style}{}{style:#}", lines.join("\n"));
    }
    text.push_str("\n\n");
    for kind in ["text", "value", "derived", "tool", "computed", "hook", "masked"] {
        let style = colour(kind);
        let _ = write!(text, "{style}{kind}{style:#}  ");
    }
    text.push('\n');
    text
}

/// One line for each span.
fn table(workspace: &Workspace, map: &ExplainMap) -> String {
    let place = |row: &SpanRow<'_>| match row.file {
        Some(file) => format!("{}:{}:{}", workspace.display_path(file), row.line, row.column),
        None => String::new(),
    };
    let cells = |row: SpanRow<'_>| {
        let piece = truncate_for_display(&Value::from(row.piece).to_string(), VALUE_WIDTH);
        vec![row.kind.to_owned(), piece, place(&row), row.made_of.clone(), row.via]
    };
    let rows: Vec<_> = map.span_rows().map(cells).collect();
    output::format_table(&["KIND", "TEXT", "PLACE", "FROM", "VIA"], &rows)
}

/// The failure of asking for the source map of a module.
fn no_source_map(rendered: &Rendered) -> Failure {
    Failure::usage_error(format!("`{}` has no source map, because it is a module file", rendered.prompt_id()))
        .with_hint("explain it without `--spans` and `--source-map`")
}

fn write_source_map(path: &Path, rendered: &Rendered) -> Result<(), Failure> {
    let Some(map) = map_of(rendered) else { return Err(no_source_map(rendered)) };
    let map = source_map_file::to_source_map(map);
    let mut text = serde_json::to_string(&map).map_err(std::io::Error::other)?;
    text.push('\n');
    std::fs::write(path, text).map_err(|error| {
        Failure::from(std::io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display())))
    })
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
