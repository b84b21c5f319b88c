//! `hina explain`: the origin of every part of a rendered prompt.

use std::{
    cmp::Reverse,
    fmt::Write as _,
    path::{Path, PathBuf},
};

use anstyle::{AnsiColor, Style};
use hinagata::{
    AbsentRow, ExplainMap, MapUnits, Rendered, RenderedBody, RequestMap, RequestRow, Share, Shares, SpanRow,
    Trace, TracedTemplate, TracedUse, TracedVariable, module::driver::OutputFormat, settings::group_digits,
};
use serde_json::Value;

use super::render::print_warnings;
use crate::{
    call::CallArguments,
    diagnostic::truncate_for_display,
    failure::Failure,
    hints::hint_text,
    output::{self, Format, sanitize_text},
    request::{RequestArguments, format_parser},
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

    /// With --spans, show the pieces of this format instead: text, messages or the request body of a provider
    #[arg(long, value_parser = format_parser(), requires = "spans")]
    format: Option<OutputFormat>,
}

const EXAMPLES: &str = "Examples:
  hina explain general_system agent_name=Rumi
  hina explain general_system agent_name=Rumi --spans
  hina explain general_system agent_name=Rumi --spans --format anthropic
  hina explain general_system agent_name=Rumi --json";

/// Characters of a value that are shown.
const VALUE_WIDTH: usize = 50;

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = arguments.call.open_workspace(globals)?;
    let (call, engine) = (arguments.call.read()?, workspace.open_engine()?);
    let is_mapped = arguments.spans || arguments.source_map.is_some();
    let rendered = call.explain_prompt(&workspace, &engine, is_mapped)?;
    if let Some(path) = &arguments.source_map {
        write_source_map(&workspace, path, &rendered)?;
    }
    match Format::from_globals(globals) {
        Format::Json if arguments.spans => {
            let request = request_of(&workspace, &rendered, arguments.format)?;
            let units = MapUnits::default();
            output::print_json_line(&rendered.to_mapped_request_json(hint_text, units, request.as_ref()))
        }
        Format::Json => output::print_json(&rendered.to_json_with(hint_text)),
        Format::Text if arguments.spans => {
            print_warnings(&workspace, &rendered.warnings);
            print_spans(&workspace, &rendered, arguments.format)
        }
        Format::Text => {
            print_warnings(&workspace, &rendered.warnings);
            output::print_text(&page(&workspace, &rendered))
        }
    }
}

/// The colour of each kind of span.
fn colour(kind: &str) -> Style {
    let colour = match kind {
        "value" => AnsiColor::Green,
        "derived" => AnsiColor::Yellow,
        "tool" => AnsiColor::Magenta,
        "computed" => AnsiColor::Cyan,
        "frame" => AnsiColor::BrightBlack,
        "hook" => AnsiColor::Blue,
        "masked" => AnsiColor::Red,
        // The text of templates stays as it is.
        _ => return Style::new(),
    };
    colour.on_default()
}

fn print_spans(
    workspace: &Workspace,
    rendered: &Rendered,
    format: Option<OutputFormat>,
) -> Result<(), Failure> {
    let Some(map) = rendered.source_map() else { return Ok(()) };
    let request = request_of(workspace, rendered, format)?;
    let rows = shown_rows(map, request.as_ref());
    // A request holds only what is there.
    let absent: Vec<_> = map.absent_rows().filter(|_| request.is_none()).collect();
    match output::has_colours() {
        true => {
            let mut page = coloured(&rows, &roles(rendered));
            section(
                &mut page,
                "Absent",
                &absent.iter().map(|row| absence(workspace, row)).collect::<Vec<_>>(),
            );
            section(&mut page, "Shares", &shares(workspace, &map.shares()));
            output::print_text(&page)
        }
        false => output::print_text(&table(workspace, rows, &absent, &roles(rendered))),
    }
}

/// The roles of the messages.
fn roles(rendered: &Rendered) -> Vec<&str> {
    match &rendered.body {
        RenderedBody::Text(_) => Vec::new(),
        RenderedBody::Messages(messages) => messages.iter().map(|message| message.role.as_str()).collect(),
    }
}

/// The request whose pieces are shown.
fn request_of(
    workspace: &Workspace,
    rendered: &Rendered,
    format: Option<OutputFormat>,
) -> Result<Option<RequestMap>, Failure> {
    let Some(format) = format else { return Ok(None) };
    let options =
        RequestArguments::default().with_files(rendered.request_options(), &workspace.redactor())?;
    Ok(rendered.explain_request(format, &options)?)
}

/// The spans of the result, or those of a request, each with the origin of what it shows.
fn shown_rows<'m>(map: &'m ExplainMap, request: Option<&'m RequestMap>) -> Vec<SpanRow<'m>> {
    let rows: Vec<SpanRow<'m>> = map.span_rows().collect();
    let Some(request) = request else { return rows };
    let of_request = |piece: RequestRow<'m>| match piece.row {
        Some(row) => SpanRow { piece: piece.piece, message: None, part: 0, ..rows[row].clone() },
        None => SpanRow {
            message: None,
            part: 0,
            piece: piece.piece,
            kind: "frame",
            file: None,
            line: 0,
            column: 0,
            variable: None,
            made_of: piece.section.to_owned(),
            filters: &[],
            via: String::new(),
            place: None,
        },
    };
    request.rows(map).map(of_request).collect()
}

/// The result in the colours of its spans, and what they mean. Messages have their roles above them.
fn coloured(rows: &[SpanRow<'_>], roles: &[&str]) -> String {
    let mut text = String::new();
    let mut last = None;
    for row in rows {
        let part = (row.message, row.part);
        if last.is_some_and(|last| last != part) {
            text.push_str("\n\n");
        }
        if last.is_none_or(|(message, _)| message != row.message)
            && let Some(role) = row.message.and_then(|message| roles.get(message))
        {
            let bold = Style::new().bold();
            let _ = writeln!(text, "{bold}{}{bold:#}", sanitize_text(role));
        }
        last = Some(part);
        let style = colour(row.kind);
        let lines: Vec<String> = row.piece.split('\n').map(sanitize_text).collect();
        let _ = write!(text, "{style}{}{style:#}", lines.join("\n"));
    }
    text.push_str("\n\n");
    for kind in ["text", "value", "derived", "tool", "computed", "frame", "hook", "masked"] {
        let style = colour(kind);
        let _ = write!(text, "{style}{kind}{style:#}  ");
    }
    text.push('\n');
    text
}

/// One line for each span, and for each thing that is absent, in the order of the result.
fn table(workspace: &Workspace, rows: Vec<SpanRow<'_>>, absent: &[AbsentRow<'_>], roles: &[&str]) -> String {
    let cells = |row: SpanRow<'_>| {
        let piece = truncate_for_display(&Value::from(row.piece).to_string(), VALUE_WIDTH);
        let from: Vec<&str> =
            std::iter::once(&*row.made_of).chain(row.filters.iter().map(String::as_str)).collect();
        let place = row.file.map(|file| place(workspace, file, row.line, row.column));
        let message = message_cell(roles, row.message);
        vec![row.kind.to_owned(), piece, place.unwrap_or_default(), from.join(" | "), row.via, message]
    };
    let absence_cells = |row: &AbsentRow<'_>| {
        let mut cells = vec!["absent".to_owned()];
        cells.extend(absence(workspace, row));
        cells.push(message_cell(roles, row.message));
        cells
    };
    let mut absent = absent.iter().peekable();
    let mut lines = Vec::with_capacity(rows.len() + absent.len());
    for (number, row) in rows.into_iter().enumerate() {
        while let Some(row) = absent.next_if(|row| row.next <= number) {
            lines.push(absence_cells(row));
        }
        lines.push(cells(row));
    }
    lines.extend(absent.map(absence_cells));
    output::format_table(&["KIND", "TEXT", "PLACE", "FROM", "VIA", "MESSAGE"], &lines)
}

/// The number of a message, from 1, and its role; empty for a text.
fn message_cell(roles: &[&str], message: Option<usize>) -> String {
    message.map_or_else(String::new, |index| match roles.get(index) {
        Some(role) => format!("{} {role}", index + 1),
        None => (index + 1).to_string(),
    })
}

fn place(workspace: &Workspace, file: &str, line: u32, column: u32) -> String {
    format!("{}:{line}:{column}", workspace.display_path(file))
}

/// Why something is absent, its place, the variables that the reason depends on, and the steps to it.
fn absence(workspace: &Workspace, row: &AbsentRow<'_>) -> Vec<String> {
    let place = place(workspace, row.file, row.line, row.column);
    let cells = [row.reason, &place, &row.inputs.join(", "), &row.via];
    cells.map(sanitize_text).to_vec()
}

/// A line for each file, variable, layer and tool that the result comes from, the largest of each first.
fn shares(workspace: &Workspace, shares: &Shares) -> Vec<Vec<String>> {
    let line = |kind: &str, name: &str, share: &Share| {
        let part = 100.0 * share.bytes as f64 / shares.all.bytes.max(1) as f64;
        let tokens = share.tokens.map(|tokens| format!("{} tokens", group_digits(tokens as u64)));
        let cells = [
            kind.to_owned(),
            name.to_owned(),
            format!("{part:.1} %"),
            format!("{} bytes", group_digits(share.bytes as u64)),
            tokens.unwrap_or_default(),
        ];
        cells.iter().map(|cell| sanitize_text(cell)).collect()
    };
    let tables = [
        ("file", &shares.files),
        ("variable", &shares.variables),
        ("layer", &shares.layers),
        ("tool", &shares.tools),
    ];
    let mut lines = Vec::new();
    for (kind, table) in tables {
        let mut all: Vec<_> = table.iter().collect();
        all.sort_by_key(|(_, share)| Reverse(share.bytes));
        lines.extend(all.into_iter().map(|(name, share)| match kind {
            "file" => line(kind, &workspace.display_path(name), share),
            _ => line(kind, name, share),
        }));
    }
    lines.push(line("all", "", &shares.all));
    lines
}

fn write_source_map(workspace: &Workspace, path: &Path, rendered: &Rendered) -> Result<(), Failure> {
    let Some(map) = rendered.source_map() else { return Ok(()) };
    // Tools look for the sources beside the map.
    let directory = std::path::absolute(path)?.parent().map(Path::to_path_buf).unwrap_or_default();
    let map = source_map_file::to_source_map(map, |file| workspace.path_from(&directory, file));
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
    let about = if trace.tokens_of.exact { "" } else { "about " };
    let size = |size: &hinagata::Size| {
        let role = size.role.as_ref().map(|role| format!("{}: ", sanitize_text(role))).unwrap_or_default();
        let (characters, tokens) = (group_digits(size.characters as u64), group_digits(size.tokens as u64));
        format!("{role}{characters} characters, {about}{tokens} tokens")
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
    rows.push(("size", trace.sizes.iter().map(size).collect::<Vec<_>>().join("; ")));
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
