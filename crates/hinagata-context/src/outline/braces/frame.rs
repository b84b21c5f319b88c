//! Brackets that are walked or skipped.

use super::{
    super::{
        language::{Signatures, Statements},
        lexer::{Token, TokenKind},
    },
    DATA_LINES, Folder, PARAMETER_LINES,
    statement::{Annotation, BlockKind, Last, Statement},
};

/// Brackets in more brackets than this are skipped like bodies, which need less memory.
const MAX_DEPTH: usize = 200;

/// An open bracket that is walked.
pub(super) struct Frame {
    bracket: u8,
    pub(super) kind: BlockKind,
    pub(super) line: usize,
    /// The statement that the bracket belongs to.
    outer: Statement,
    pub(super) has_items: bool,
    /// Whether a blank stands before it.
    is_spaced: bool,
    /// Whether all that stands in it is declared: `type (` of Go.
    pub(super) is_item_list: bool,
    /// Whether functions directly in it are walked, as those that are called at once.
    walks_functions: bool,
    /// The number of folds before it.
    folds: usize,
}

impl Frame {
    /// Whether commas end statements in it.
    pub(super) fn has_values(&self) -> bool {
        matches!(self.kind, BlockKind::Data | BlockKind::Values)
    }
}

impl Folder<'_> {
    pub(super) fn open_group(&mut self, bracket: u8, token: &Token) {
        if self.frames.len() >= MAX_DEPTH {
            return self.skip_body(bracket, token.line);
        }
        let statement = &self.statement;
        let is_call_at_once = self.frames.is_empty()
            && (statement.last == Last::Start || matches!(statement.last, Last::Byte(b'}' | b'!')));
        let walks_functions = bracket == b'('
            && (statement.opens_call
                || is_call_at_once
                || (statement.last == Last::Start
                    && self.frames.last().is_some_and(|frame| frame.walks_functions)));
        let is_item_list = statement.has_item_list && bracket == b'(';
        self.push_frame(Frame {
            bracket,
            kind: BlockKind::Data,
            line: token.line,
            outer: self.statement,
            has_items: false,
            is_spaced: self.lexer.text[..token.start].ends_with(b" "),
            is_item_list,
            walks_functions,
            folds: self.sheet.fold_count(),
        });
    }

    pub(super) fn open_brace(&mut self, token: &Token) {
        let frame = self.frames.last();
        let is_c_like = self.row.signatures == Signatures::Everywhere;
        let has_bare_bodies =
            self.row.forms.has_bare_bodies && frame.is_none_or(|frame| frame.kind != BlockKind::Data);
        let mut kind = self.statement.block_kind(is_c_like, has_bare_bodies);
        if kind == BlockKind::Body && frame.is_some_and(|frame| frame.walks_functions) {
            kind = BlockKind::Data;
        }
        if kind != BlockKind::Data {
            self.keep_header(token.line);
        }
        if kind == BlockKind::Body || self.frames.len() >= MAX_DEPTH {
            return self.skip_body(b'{', token.line);
        }
        self.push_frame(Frame {
            bracket: b'{',
            kind,
            line: token.line,
            outer: self.statement,
            has_items: false,
            is_spaced: false,
            is_item_list: false,
            walks_functions: false,
            folds: self.sheet.fold_count(),
        });
    }

    fn push_frame(&mut self, frame: Frame) {
        self.open_braces += usize::from(frame.bracket == b'{');
        self.frames.push(frame);
        self.statement = Statement::default();
    }

    /// Keeps the lines of an item up to the brace of its block.
    fn keep_header(&mut self, line: usize) {
        self.statement.is_item = true;
        self.sheet.keep_lines(self.statement.unlabelled, line);
        self.statement.unlabelled = line;
        self.note_item();
    }

    /// Ends the block of a statement on `line`.
    fn close_block(&mut self, line: usize) {
        self.sheet.keep_lines(line, line);
        self.statement.unlabelled = line;
        self.statement.is_closed = true;
        self.statement.last = Last::Byte(b'}');
        self.last_line = line;
    }

    pub(super) fn close_bracket(&mut self, bracket: u8, line: usize) {
        let is_brace = bracket == b'}';
        let closes = if is_brace {
            self.open_braces > 0
        } else {
            self.frames.last().is_some_and(|frame| frame.bracket != b'{')
        };
        if !closes {
            return;
        }
        // A brace also ends parentheses in it that do not close.
        while let Some(frame) = self.frames.last() {
            let is_matching = !is_brace || frame.bracket == b'{';
            self.close_frame(line);
            if is_matching {
                return;
            }
        }
    }

    fn close_frame(&mut self, line: usize) {
        self.end_statement();
        let Some(frame) = self.frames.pop() else { return };
        self.open_braces -= usize::from(frame.bracket == b'{');
        self.statement = frame.outer;
        if frame.kind != BlockKind::Data {
            self.note_item();
            // Behind the members of a type, a value of the type can follow; but types also stand in angle brackets.
            if frame.outer.angles.is_none() {
                self.statement.container = None;
                self.statement.is_assigned = true;
            }
            return self.close_block(line);
        }
        if frame.has_items || frame.is_item_list {
            self.keep_header(frame.line);
            self.close_block(line);
        } else {
            self.fold_data(&frame, line);
        }
        self.statement.is_closed = frame.bracket == b'{' && !frame.outer.is_assigned;
        self.statement.last = Last::Byte(if frame.bracket == b'(' { b')' } else { frame.bracket + 2 });
        self.note_parentheses(frame.bracket);
    }

    fn fold_data(&mut self, frame: &Frame, line: usize) {
        // `import (` and `const (` of Go.
        let is_list =
            self.row.statements == Statements::Lines && frame.outer.last == Last::Word && frame.is_spaced;
        let limit = if frame.bracket == b'(' && !is_list { PARAMETER_LINES } else { DATA_LINES };
        if line.saturating_sub(frame.line + 1) > limit {
            self.sheet.drop_folds(frame.folds);
            self.sheet.fold_lines(frame.line + 1, line);
        }
    }

    fn note_parentheses(&mut self, bracket: u8) {
        let statement = &mut self.statement;
        let is_annotation = statement.annotation == Annotation::Named;
        statement.annotation = Annotation::None;
        statement.has_parentheses |= bracket == b'('
            && !is_annotation
            && !statement.is_assigned
            && !statement.has_colon
            && statement.angles.is_none();
    }

    /// Skips a body that was opened on `line` by `bracket`, and folds it.
    fn skip_body(&mut self, bracket: u8, line: usize) {
        self.body.clear();
        self.body.push(bracket);
        while let Some(token) = self.lexer.next_bracket() {
            match token.kind {
                TokenKind::Open(bracket) => self.body.push(bracket),
                TokenKind::Close(bracket) => {
                    self.close_in_body(bracket);
                    if self.body.is_empty() {
                        self.sheet.fold_lines(line + 1, token.line);
                        return self.close_block(token.line);
                    }
                }
                TokenKind::Directive => self.take_condition(&token),
                _ => {}
            }
        }
        self.unclosed = Some(line);
    }

    /// Closes brackets in a body: a brace ends parentheses in it that do not close, and other brackets end each other.
    fn close_in_body(&mut self, bracket: u8) {
        if bracket == b'}' {
            while self.body.pop().is_some_and(|open| open != b'{') {}
        } else if self.body.last().is_some_and(|open| *open != b'{') {
            self.body.pop();
        }
    }
}
