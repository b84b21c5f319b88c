//! Outlines of languages whose bodies are indented.
//!
//! The body of a function is what is indented more than the line that starts it, up to the word that closes it in
//! languages that have one. Indentation is more robust here than counting words: `if` of Ruby opens a block in one place
//! and ends a statement in another.

use super::{
    Language, Outline,
    braces::{DATA_LINES, PARAMETER_LINES, RUN_LIMIT},
    language::{Role, Row, Vocabulary},
    lexer::{Lexer, Token, TokenKind},
    sheet::{LineRange, Sheet},
};

/// The outline of a text in a language with indented bodies.
pub(super) fn fold_indented(language: Language, text: &str) -> Outline<'_> {
    let row = language.0;
    let folder = Folder {
        row,
        words: Vocabulary::new(row),
        lexer: Lexer::new(row, text),
        sheet: Sheet::new(text),
        groups: Vec::new(),
        line: LogicalLine::default(),
        body: None,
        decorators: None,
        last_line: 0,
    };
    folder.fold_text(language)
}

struct Folder<'t> {
    row: &'static Row,
    words: Vocabulary,
    lexer: Lexer<'t>,
    sheet: Sheet<'t>,
    /// Open brackets.
    groups: Vec<Group>,
    line: LogicalLine,
    /// The body that is being read.
    body: Option<Body>,
    /// The first line of the decorators before the next item.
    decorators: Option<usize>,
    last_line: usize,
}

struct Group {
    bracket: u8,
    line: usize,
    has_items: bool,
    folds: usize,
}

/// A statement, which can have several lines in brackets.
#[derive(Clone, Copy, Debug, Default)]
struct LogicalLine {
    is_started: bool,
    /// Its first line, or that of what describes it.
    first: usize,
    indent: usize,
    has_words: bool,
    is_item: bool,
    is_function: bool,
    is_decorator: bool,
}

struct Body {
    indent: usize,
    /// The first line that is folded.
    first: usize,
    /// The last line with code.
    last: usize,
    is_empty: bool,
}

impl<'t> Folder<'t> {
    fn fold_text(mut self, language: Language) -> Outline<'t> {
        while let Some(token) = self.lexer.next_token() {
            self.take_token(&token);
        }
        self.end_line();
        self.end_body();
        let unclosed = self.lexer.unclosed.or(self.groups.first().map(|group| group.line));
        self.sheet.into_outline(language, RUN_LIMIT, unclosed)
    }

    fn take_token(&mut self, token: &Token) {
        if token.kind == TokenKind::Comment {
            return self.take_comment(token);
        }
        if self.starts_line(token) {
            self.start_line(token);
        }
        self.last_line = token.last_line;
        if let Some(body) = &mut self.body {
            body.last = token.last_line;
        }
        match token.kind {
            TokenKind::Open(bracket) => {
                let folds = self.sheet.fold_count();
                self.groups.push(Group { bracket, line: token.line, has_items: false, folds });
            }
            TokenKind::Close(_) => self.close_group(token.line),
            TokenKind::Word => self.take_word(token),
            TokenKind::Text | TokenKind::Outside if self.body.is_none() => {
                self.sheet.fold_lines(token.line + 1, token.last_line);
            }
            _ => {}
        }
    }

    fn take_comment(&mut self, token: &Token) {
        if !token.is_first || !self.is_between_lines() {
            return;
        }
        self.end_line();
        let indent = self.sheet.indent(token.line);
        match &mut self.body {
            Some(body) if indent > body.indent => body.last = token.last_line,
            _ => self.sheet.note_comment(token.line, token.last_line),
        }
    }

    fn is_between_lines(&self) -> bool {
        let is_open = |group: &Group| group.bracket != b'{' || !self.row.forms.has_functions_in_braces;
        !self.groups.last().is_some_and(is_open)
    }

    /// Whether a statement starts with `token`.
    fn starts_line(&self, token: &Token) -> bool {
        let is_continued = || {
            let line = &self.lexer.text[..token.start];
            let line = line.trim_ascii_end();
            line.ends_with(b"\\")
        };
        token.is_first && self.is_between_lines() && !is_continued()
    }

    fn start_line(&mut self, token: &Token) {
        self.end_line();
        let role = match token.kind {
            TokenKind::Word => self.words.role(self.lexer.text_of(token)),
            _ => None,
        };
        let indent = self.sheet.indent(token.line);
        if self.body.is_some() && self.is_in_body(token, indent, role) {
            return;
        }
        let comment = self.sheet.flush_comment(token.line);
        if role == Some(Role::End) {
            self.sheet.keep_lines(token.line, token.last_line);
        }
        let is_docstring = token.kind == TokenKind::Text && self.row.forms.has_docstrings;
        if is_docstring {
            self.keep_docstring(token);
        }
        self.line = LogicalLine {
            is_started: true,
            first: self.decorators.take().or(comment).unwrap_or(token.line),
            indent,
            is_decorator: token.kind == TokenKind::Punctuation(b'@') && self.row.forms.has_docstrings,
            ..LogicalLine::default()
        };
    }

    /// Keeps the first sentence of a string that describes what surrounds it; returns the line behind.
    fn keep_docstring(&mut self, token: &Token) -> usize {
        let lines = LineRange { first: token.line, last: token.last_line };
        let end = token.line + self.sheet.described_lines(lines);
        self.sheet.keep_lines(token.line, end - 1);
        if self.body.is_none() {
            self.sheet.fold_comment(lines);
        }
        end
    }

    /// Whether the line that starts with `token` belongs to the body; ends the body otherwise.
    fn is_in_body(&mut self, token: &Token, indent: usize, role: Option<Role>) -> bool {
        let Some(body) = &mut self.body else { return false };
        let continues = indent == body.indent && role == Some(Role::Continuation);
        if indent > body.indent || continues {
            let is_empty = std::mem::take(&mut body.is_empty);
            if is_empty && self.row.forms.has_docstrings && token.kind == TokenKind::Text {
                let end = self.keep_docstring(token);
                if let Some(body) = &mut self.body {
                    body.first = end;
                }
            }
            return true;
        }
        self.end_body();
        false
    }

    fn end_body(&mut self) {
        if let Some(body) = self.body.take() {
            self.sheet.fold_lines(body.first, body.last + 1);
        }
    }

    /// Ends a statement on the last line that was read.
    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !line.is_started {
            return;
        }
        if line.is_decorator {
            self.decorators = Some(line.first);
            return;
        }
        if line.is_item {
            self.sheet.keep_lines(line.first, self.last_line);
            if let Some(group) = self.groups.last_mut() {
                group.has_items = true;
            }
        }
        if line.is_function {
            let (indent, first) = (line.indent, self.last_line + 1);
            self.body = Some(Body { indent, first, last: self.last_line, is_empty: true });
        }
    }

    fn take_word(&mut self, token: &Token) {
        if !self.line.is_started || !self.is_between_lines() {
            return;
        }
        let is_first = !std::mem::replace(&mut self.line.has_words, true);
        let is_member = self.lexer.text[..token.start].ends_with(b".");
        match self.words.role(self.lexer.text_of(token)) {
            Some(Role::Function) if !is_member => {
                self.line.is_item = true;
                self.line.is_function = true;
            }
            Some(Role::BlockCall) if is_first => {
                self.line.is_item = true;
                self.line.is_function = true;
            }
            Some(Role::Container) if is_first => self.line.is_item = true,
            _ => {}
        }
    }

    fn close_group(&mut self, line: usize) {
        let Some(group) = self.groups.pop() else { return };
        if group.has_items {
            if let Some(outer) = self.groups.last_mut() {
                outer.has_items = true;
            }
            return;
        }
        let limit = if group.bracket == b'(' { PARAMETER_LINES } else { DATA_LINES };
        if self.body.is_none() && line.saturating_sub(group.line + 1) > limit {
            self.sheet.drop_folds(group.folds);
            self.sheet.fold_lines(group.line + 1, line);
        }
    }
}
