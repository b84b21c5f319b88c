//! Outlines of JSON, YAML and TOML: two levels of keys.

use super::{
    Language, Outline,
    lexer::{Lexer, TokenKind},
    sheet::{LineRange, RunLimit, Sheet},
};

/// Levels that stay.
const LEVELS: usize = 2;

/// Keys are what an outline of data is for, so more of them stay in a row than statements of code. Keys of the first
/// level that have keys of their own always stay.
const RUN_LIMIT: RunLimit = RunLimit { lines: 60, head: 30 };

/// The outline of a text in JSON.
pub(super) fn fold_json(language: Language, text: &str) -> Outline<'_> {
    let mut sheet = Sheet::new(text);
    let mut lexer = Lexer::new(language.0, text);
    let mut open = Vec::new();
    while let Some(token) = lexer.next_token() {
        match token.kind {
            TokenKind::Comment if token.is_first => sheet.note_comment(token.line, token.last_line),
            TokenKind::Open(_) => open.push(token.line),
            TokenKind::Close(_) => {
                let Some(line) = open.pop() else { continue };
                match open.len() {
                    1 => {
                        sheet.keep_lines(line, line);
                        sheet.keep_lines(token.line, token.line);
                    }
                    LEVELS.. => sheet.fold_lines(line + 1, token.line),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    sheet.into_outline(language, RUN_LIMIT, lexer.unclosed.or(open.first().copied()))
}

/// The outline of a text in YAML.
pub(super) fn fold_yaml(language: Language, text: &str) -> Outline<'_> {
    let mut sheet = Sheet::new(text);
    // The columns and lines of the keys and list items around a line.
    let mut levels: Vec<(usize, usize)> = Vec::new();
    let mut deep = DeepLines::default();
    for line in 0..sheet.len() {
        let content = sheet.line(line).trim_end();
        let inner = content.trim_start_matches(' ');
        if inner.is_empty() {
            continue;
        }
        if inner.starts_with('#') {
            sheet.note_comment(line, line);
            continue;
        }
        let is_marker = content.starts_with("---") || content.starts_with("...");
        let is_item = inner == "-" || inner.starts_with("- ");
        // An item of a list can stand in the column of the key that it belongs to.
        let column = 2 * (content.len() - inner.len()) + usize::from(is_item);
        while levels.last().is_some_and(|(level, _)| *level >= column || is_marker) {
            levels.pop();
        }
        if !is_marker {
            levels.push((column, line));
        }
        deep.add_lines(&mut sheet, line, line, levels.len() > LEVELS);
        if let [(_, key), _] = levels[..] {
            sheet.keep_lines(key, key);
        }
        sheet.flush_comment(line);
    }
    deep.fold_lines(&mut sheet);
    sheet.into_outline(language, RUN_LIMIT, None)
}

/// The outline of a text in TOML.
pub(super) fn fold_toml(language: Language, text: &str) -> Outline<'_> {
    let mut sheet = Sheet::new(text);
    let mut lexer = Lexer::new(language.0, text);
    let mut open: Vec<usize> = Vec::new();
    let mut deep = DeepLines::default();
    // How many keys lead to the current table.
    let mut table = 0;
    let mut is_deep = false;
    while let Some(token) = lexer.next_token() {
        if token.kind == TokenKind::Comment {
            if token.is_first && open.is_empty() {
                sheet.note_comment(token.line, token.last_line);
            }
            continue;
        }
        sheet.flush_comment(token.line);
        if token.is_first && open.is_empty() {
            let is_header = token.kind == TokenKind::Open(b'[');
            if is_header {
                table = table_level(sheet.line(token.line));
                sheet.keep_lines(token.line, token.line);
            }
            is_deep = table + usize::from(!is_header) > LEVELS;
        }
        deep.add_lines(&mut sheet, token.line, token.last_line, is_deep);
        match token.kind {
            TokenKind::Open(_) => open.push(token.line),
            TokenKind::Close(_) => {
                if let Some(line) = open.pop() {
                    sheet.fold_lines(line + 1, token.line);
                }
            }
            _ => sheet.fold_lines(token.line + 1, token.last_line),
        }
    }
    deep.fold_lines(&mut sheet);
    sheet.into_outline(language, RUN_LIMIT, lexer.unclosed.or(open.first().copied()))
}

/// Consecutive lines that are too deep.
#[derive(Default)]
struct DeepLines(Option<LineRange>);

impl DeepLines {
    /// Adds lines if they are too deep; folds what is there otherwise.
    fn add_lines(&mut self, sheet: &mut Sheet<'_>, first: usize, last: usize, is_deep: bool) {
        if is_deep {
            self.0.get_or_insert(LineRange { first, last }).last = last;
        } else {
            self.fold_lines(sheet);
        }
    }

    fn fold_lines(&mut self, sheet: &mut Sheet<'_>) {
        if let Some(LineRange { first, last }) = self.0.take() {
            sheet.fold_lines(first, last + 1);
        }
    }
}

/// How many keys the header of a table has.
fn table_level(line: &str) -> usize {
    let mut quote = None;
    let mut level = 1;
    for found in line.trim_start().trim_start_matches('[').chars() {
        match (quote, found) {
            (None, ']') => break,
            (None, '.') => level += 1,
            (None, '"' | '\'') => quote = Some(found),
            (Some(open), _) if open == found => quote = None,
            _ => {}
        }
    }
    level
}
