//! Prints results to standard output, status to standard error, and aligned tables.

use std::io::{self, IsTerminal as _, Write as _};

use annotate_snippets::normalize_untrusted_str;
use serde::Serialize;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::{diagnostic::Diagnostic, failure::Failure, workspace::Globals};

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Text for users.
    Text,
    /// For scripts.
    Json,
}

impl Format {
    /// The format that the options select.
    pub(crate) fn from_globals(globals: &Globals) -> Self {
        if globals.json { Self::Json } else { Self::Text }
    }
}

/// Whether standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether a result is shown to a person, in colours.
pub(crate) fn has_colours() -> bool {
    let stdout = io::stdout();
    stdout.is_terminal() && anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never
}

/// Prints a result. Colours are removed unless the output is a terminal that supports them.
pub(crate) fn print_text(text: &str) -> Result<(), Failure> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

/// Prints a text unchanged. On a terminal, a missing last newline is added.
pub(crate) fn print_exactly(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    if stdout.is_terminal() && !text.is_empty() && !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    Ok(stdout.flush()?)
}

/// Prints a part of a text immediately. On a terminal, control characters are removed.
#[cfg(feature = "llm")]
pub(crate) fn print_part(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let steers = |found: char| found.is_control() && !matches!(found, '\n' | '\t');
    match stdout.is_terminal() && text.contains(steers) {
        true => stdout.write_all(text.replace(steers, "").as_bytes())?,
        false => stdout.write_all(text.as_bytes())?,
    }
    Ok(stdout.flush()?)
}

/// Prints a result for scripts.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
    text.push('\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}

/// Prints a large result for scripts, on one line.
pub(crate) fn print_json_line(value: &impl Serialize) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    serde_json::to_writer(io::BufWriter::new(&mut stdout), value).map_err(io::Error::other)?;
    stdout.write_all(b"\n")?;
    Ok(stdout.flush()?)
}

/// Prints a status to standard error. Write errors are ignored.
pub(crate) fn print_status(text: &str) {
    let _ = anstream::stderr().write_all(text.as_bytes());
}

/// Prints a diagnostic to standard error. Scripts read a line of JSON.
pub(crate) fn print_diagnostic(diagnostic: &Diagnostic, format: Format) {
    print_status(&match format {
        Format::Text => diagnostic.render_text(),
        Format::Json => {
            format!("{}\n", serde_json::json!({diagnostic.level.as_str(): diagnostic.to_json()}))
        }
    });
}

/// An untrusted text, on one line and without control characters.
pub(crate) fn sanitize_text(text: &str) -> String {
    normalize_untrusted_str(&text.replace(['\n', '\r', '\t'], " "))
}

/// The name of a state or a kind, as scripts read it.
pub(crate) fn serialized_name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        other => other.unwrap_or_default().to_string(),
    }
}

/// Aligns rows to columns with two spaces between them. Cells must be free of control characters.
pub(crate) fn align_columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max();
    let widths: Vec<usize> = (0..count).map(|column| width(column).unwrap_or_default()).collect();
    rows.iter().map(|row| format_row(row, &widths)).collect()
}

fn format_row(row: &[String], widths: &[usize]) -> String {
    let mut line = String::new();
    for (cell, width) in row.iter().zip(widths) {
        line.push_str(cell);
        line.extend(std::iter::repeat_n(' ', width - cell.width() + 2));
    }
    format!("{}\n", line.trim_end())
}

/// The width of the terminal in characters, if known.
#[cfg(unix)]
fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col.into())
}

#[cfg(not(unix))]
fn terminal_width() -> Option<usize> {
    None
}

/// Aligns rows to columns and truncates lines to `width`.
fn fit_columns(rows: &[Vec<String>], width: usize) -> String {
    let fit = |line: &str| match line.width() > width {
        true => format!("{}…\n", truncate_to_width(line, width.saturating_sub(1))),
        false => format!("{line}\n"),
    };
    align_columns(rows).lines().map(fit).collect()
}

/// As much of `text` as is at most `width` wide.
fn truncate_to_width(text: &str, width: usize) -> &str {
    let mut taken = 0;
    let end = text.char_indices().find(|(_, character)| {
        taken += character.width().unwrap_or_default();
        taken > width
    });
    end.map_or(text, |(at, _)| &text[..at])
}

/// Formats rows: columns with a heading on a terminal, tab-separated values elsewhere.
pub(crate) fn format_table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| sanitize_text(cell)).collect()).collect();
    if !is_terminal() {
        return rows.iter().map(|row| format!("{}\n", row.join("\t").trim_end())).collect();
    }
    let mut all = vec![heading.iter().map(|&cell| cell.to_owned()).collect()];
    all.extend(rows);
    fit_columns(&all, terminal_width().unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|&cell| cell.to_owned()).collect()
    }

    #[test]
    fn columns_are_as_wide_as_what_is_seen() {
        let rows = [row(&["a", "x", "1"]), row(&["日本", "", "2"]), row(&["b"])];
        assert_eq!(align_columns(&rows), "a     x  1\n日本     2\nb\n");
    }

    #[test]
    fn lines_fit_the_terminal() {
        let rows = [row(&["a", "日本語です"]), row(&["b", "short"])];
        assert_eq!(fit_columns(&rows, 8), "a  日本…\nb  short\n");
        assert_eq!(fit_columns(&rows, 0), "…\n…\n");
        assert_eq!(fit_columns(&rows, usize::MAX), align_columns(&rows));
    }

    #[test]
    fn people_and_scripts_read_the_same_words() {
        assert_eq!(serialized_name(&hinagata::Approval::Modified), "modified");
    }

    #[test]
    fn strangers_cannot_write_to_the_terminal() {
        let cleaned = sanitize_text("a\x1b[2J\nb\tc");
        assert!(!cleaned.contains(['\x1b', '\n', '\t']), "{cleaned:?}");
        assert!(cleaned.ends_with(" b c"), "{cleaned:?}");
    }
}
