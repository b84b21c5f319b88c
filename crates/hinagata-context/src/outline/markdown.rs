//! Outlines of Markdown: its headings.

use super::{
    Language, Outline,
    sheet::{RunLimit, Sheet},
};

/// Text between headings is folded if it is long enough to be worth it.
const RUN_LIMIT: RunLimit = RunLimit { lines: 0, head: 0 };

/// The outline of a text in Markdown.
pub(super) fn fold_markdown(language: Language, text: &str) -> Outline<'_> {
    let mut sheet = Sheet::new(text);
    let mut fence: Option<(u8, usize)> = None;
    for line in front_matter_end(&sheet)..sheet.len() {
        let content = sheet.line(line).trim_end();
        let inner = content.trim_start_matches(' ');
        let is_indented_code = content.len() - inner.len() > 3 || inner.starts_with('\t');
        let run = fence_run(inner).filter(|_| !is_indented_code);
        match (fence, run) {
            (Some((byte, len)), Some((found, count)))
                if byte == found && count >= len && inner.len() == count =>
            {
                fence = None;
            }
            (None, Some(run)) => fence = Some(run),
            (None, None) if !is_indented_code && is_heading(inner) => sheet.keep_lines(line, line),
            (None, None) if line > 0 && is_underline(content) && is_paragraph(sheet.line(line - 1)) => {
                sheet.keep_lines(line - 1, line);
            }
            _ => {}
        }
    }
    sheet.into_outline(language, RUN_LIMIT, None)
}

/// The line behind the data at the start of a file.
fn front_matter_end(sheet: &Sheet<'_>) -> usize {
    if sheet.len() == 0 || sheet.line(0).trim_end() != "---" {
        return 0;
    }
    (1..sheet.len()).find(|line| sheet.line(*line).trim_end() == "---").map_or(0, |line| line + 1)
}

/// The fence that a line starts with: its byte and length.
fn fence_run(line: &str) -> Option<(u8, usize)> {
    let byte = *line.as_bytes().first().filter(|byte| b"`~".contains(byte))?;
    let count = line.bytes().take_while(|found| *found == byte).count();
    let is_inline = byte == b'`' && line[count..].contains('`');
    (count >= 3 && !is_inline).then_some((byte, count))
}

fn is_heading(line: &str) -> bool {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    (1..=6).contains(&level) && line[level..].chars().next().is_none_or(char::is_whitespace)
}

/// Whether a line makes the line above a heading.
fn is_underline(line: &str) -> bool {
    let is_run = |byte: u8| line.len() > 1 && line.bytes().all(|found| found == byte);
    is_run(b'=') || is_run(b'-')
}

/// Whether a line is text of a paragraph, which an underline makes a heading.
fn is_paragraph(line: &str) -> bool {
    let is_text = |first: char| !first.is_whitespace() && !"#>|-*+`~<=:".contains(first);
    line.chars().next().is_some_and(is_text)
}
