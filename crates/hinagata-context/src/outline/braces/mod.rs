//! Outlines of languages whose bodies stand in braces.
//!
//! Outside of functions, every statement is read up to its block. The words before the block say whether it is the body
//! of a function, which is folded, the members of a container, which are walked the same way, or data.

mod frame;
mod statement;

use super::{
    Language, Outline,
    language::{RawString, Role, Row, Signatures, Statements, Vocabulary},
    lexer::{Lexer, Token, TokenKind, directive_name, is_word_byte},
    sheet::{RunLimit, Sheet},
};
use frame::Frame;
use statement::{Annotation, BlockKind, Last, Statement};

/// Data in brackets with more lines than this is folded, if it declares nothing.
pub(super) const DATA_LINES: usize = 5;

/// The same for parentheses: parameters of functions stand there.
pub(super) const PARAMETER_LINES: usize = 12;

/// Most lines in a row that declare nothing.
pub(super) const RUN_LIMIT: RunLimit = RunLimit { lines: 12, head: 6 };

/// The outline of a text in a language with braces.
pub(super) fn fold_braces(language: Language, text: &str) -> Outline<'_> {
    let row = language.0;
    let folder = Folder {
        row,
        words: Vocabulary::new(row),
        lexer: Lexer::new(row, text),
        sheet: Sheet::new(text),
        frames: Vec::new(),
        open_braces: 0,
        statement: Statement::default(),
        last_line: 0,
        body: Vec::new(),
        conditions: Vec::new(),
        unclosed: None,
    };
    folder.fold_text(language)
}

struct Folder<'t> {
    row: &'static Row,
    words: Vocabulary,
    lexer: Lexer<'t>,
    sheet: Sheet<'t>,
    /// Open brackets that are walked.
    frames: Vec<Frame>,
    /// How many of the frames are braces.
    open_braces: usize,
    statement: Statement,
    /// The last line of the last token.
    last_line: usize,
    /// Open brackets of the body that is being skipped, its own included.
    body: Vec<u8>,
    /// The number of open brackets at the start of each open condition of the preprocessor.
    conditions: Vec<usize>,
    /// The line of a body that does not close.
    unclosed: Option<usize>,
}

impl<'t> Folder<'t> {
    fn fold_text(mut self, language: Language) -> Outline<'t> {
        while let Some(token) = self.lexer.next_token() {
            self.take_token(&token);
        }
        self.end_statement();
        let frame = self.frames.last().map(|frame| frame.line);
        let unclosed = self.unclosed.or(self.lexer.unclosed).or(frame);
        self.sheet.into_outline(language, RUN_LIMIT, unclosed)
    }

    fn take_token(&mut self, token: &Token) {
        match token.kind {
            TokenKind::Comment if token.is_first => {
                return self.sheet.note_comment(token.line, token.last_line);
            }
            TokenKind::Comment => return,
            TokenKind::Directive => return self.take_directive(token),
            TokenKind::Outside => return self.take_outside(token),
            _ => self.start_statement(token),
        }
        // A body moves it further.
        self.last_line = token.last_line;
        match token.kind {
            TokenKind::Word => self.take_word(token),
            TokenKind::Open(b'{') => self.open_brace(token),
            TokenKind::Open(bracket) => self.open_group(bracket, token),
            TokenKind::Close(bracket) => self.close_bracket(bracket, token.line),
            TokenKind::Punctuation(byte) => self.take_punctuation(byte, token),
            _ => {
                self.sheet.fold_lines(token.line + 1, token.last_line);
                self.statement.last = Last::Text;
            }
        }
    }

    fn start_statement(&mut self, token: &Token) {
        if self.statement.is_started && self.is_ended_by(token) {
            self.end_statement();
        }
        self.statement.is_closed = false;
        let comment = self.sheet.flush_comment(token.line);
        if !self.statement.is_started && !matches!(token.kind, TokenKind::Close(_)) {
            self.statement.is_started = true;
            self.statement.indent = self.sheet.indent(token.line);
            self.statement.unlabelled = comment.unwrap_or(token.line);
        }
    }

    /// Whether the statement ends before `token`.
    fn is_ended_by(&self, token: &Token) -> bool {
        let statement = &self.statement;
        if statement.is_closed {
            return !matches!(
                token.kind,
                TokenKind::Open(b'(' | b'{')
                    | TokenKind::Close(_)
                    | TokenKind::Punctuation(b',' | b'.' | b';' | b'=' | b'?' | b'|' | b'>')
            );
        }
        if token.line == self.last_line || matches!(token.kind, TokenKind::Open(b'{') | TokenKind::Close(_)) {
            return false;
        }
        match self.row.statements {
            Statements::Semicolons => false,
            Statements::EveryLine => true,
            Statements::Lines => {
                let is_operator = matches!(
                    token.kind,
                    TokenKind::Punctuation(
                        b'.' | b',' | b'?' | b':' | b'=' | b'&' | b'|' | b'<' | b'>' | b'+'
                    )
                );
                let expects_more = match statement.last {
                    Last::Byte(byte) => !b")]}>;".contains(&byte),
                    Last::Arrow => true,
                    Last::Start | Last::Word | Last::Text => false,
                };
                let continues_head = statement.container.is_some() && self.continues_head(token);
                !is_operator
                    && !expects_more
                    && !continues_head
                    && self.sheet.indent(token.line) <= statement.indent
            }
        }
    }

    /// Whether a token at the start of a line continues the head of a container. An annotation can stand between the name
    /// of a class and its constructor.
    fn continues_head(&self, token: &Token) -> bool {
        token.kind == TokenKind::Punctuation(b'@')
            || (token.kind == TokenKind::Word
                && self.words.role(self.lexer.text_of(token)) == Some(Role::Continuation))
    }

    /// Ends the statement on the last line that was read, and keeps its lines if it declares something.
    fn end_statement(&mut self) {
        let statement = std::mem::take(&mut self.statement);
        if statement.is_started && (statement.is_item || self.declares_signature(&statement)) {
            self.sheet.keep_lines(statement.unlabelled, self.last_line);
            self.note_item();
        }
    }

    fn note_item(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.has_items = true;
        }
    }

    /// Whether the parentheses of a statement without a body declare a function.
    fn declares_signature(&self, statement: &Statement) -> bool {
        let frame = self.frames.last();
        let is_signature = match self.row.signatures {
            Signatures::Never => false,
            Signatures::InContainers => frame.is_some_and(|frame| frame.kind == BlockKind::Members),
            Signatures::Everywhere => frame.is_none_or(|frame| frame.kind == BlockKind::Members),
        };
        frame.is_some_and(|frame| frame.is_item_list) || (is_signature && statement.has_parentheses)
    }

    fn take_word(&mut self, token: &Token) {
        let is_named = self.statement.annotation == Annotation::Started;
        self.statement.annotation = if is_named { Annotation::Named } else { Annotation::None };
        let role = self.words.role(self.lexer.text_of(token));
        if let Some(role) = role
            && self.statement.angles.is_none()
            && !self.is_member(token)
        {
            let next = self.lexer.peek_byte().unwrap_or(b';');
            self.statement.read_role(role, next, self.row.forms.has_dollar_words);
        }
        // A list that follows in braces is a value, as behind `=`.
        self.statement.last = if role == Some(Role::List) { Last::Byte(b'=') } else { Last::Word };
    }

    /// Whether a word is the name of a member, which has no other meaning.
    fn is_member(&self, token: &Token) -> bool {
        let preceding = &self.lexer.text[..token.start];
        preceding.ends_with(b".") || preceding.ends_with(b"->") || preceding.ends_with(b"::")
    }

    fn take_punctuation(&mut self, byte: u8, token: &Token) {
        let text = self.lexer.text;
        let (preceding, next) = (&text[..token.start], text.get(token.end).copied().unwrap_or_default());
        let statement = &mut self.statement;
        statement.annotation = match byte {
            b'@' => Annotation::Started,
            b'.' if statement.annotation == Annotation::Named => Annotation::Started,
            _ => Annotation::None,
        };
        let is_arrow = byte == b'>' && (preceding.ends_with(b"=") || preceding.ends_with(b"-"));
        let follows_name = preceding.last().is_some_and(|last| is_word_byte(*last));
        statement.angles = match (byte, statement.angles) {
            (b'<', Some(angles)) => Some(angles + 1),
            (b'<', None) if follows_name && !preceding.ends_with(b"operator") => Some(1),
            (b'>', Some(angles)) if is_arrow => Some(angles),
            (b'>', Some(angles)) if angles > 1 => Some(angles - 1),
            (b'>' | b';', _) => None,
            (_, angles) => angles,
        };
        let is_closure = byte == b'|' && self.row.raw == RawString::Rust;
        let is_colon = byte == b':' && next != b':' && !preceding.ends_with(b":") && !statement.is_assigned;
        statement.has_initialisers |= is_colon && statement.last == Last::Byte(b')');
        statement.has_colon |= is_colon;
        // The type of a function.
        statement.has_parentheses |= is_arrow && !statement.is_assigned;
        statement.last = if is_arrow || is_closure { Last::Arrow } else { Last::Byte(byte) };
        match byte {
            b';' => self.end_list_and_statement(),
            b',' if self.frames.last().is_some_and(Frame::has_values) => self.end_statement(),
            b':' if statement.is_label => self.statement = Statement::default(),
            b'=' if statement.angles.is_none() => {
                let is_comparison =
                    b"=>".contains(&next) || preceding.last().is_some_and(|last| b"=!<>".contains(last));
                let is_operator = preceding.ends_with(b"operator");
                statement.is_assigned |= !is_comparison && !is_operator && !statement.has_initialisers;
            }
            _ => {}
        }
    }

    fn end_list_and_statement(&mut self) {
        if let Some(frame) = self.frames.last_mut()
            && frame.kind == BlockKind::Values
        {
            frame.kind = BlockKind::Members;
        }
        self.end_statement();
    }

    /// Text around code ends a statement.
    fn take_outside(&mut self, token: &Token) {
        self.sheet.flush_comment(token.line);
        self.end_statement();
        self.sheet.fold_lines(token.line + 1, token.last_line);
        self.last_line = token.last_line;
    }

    fn take_directive(&mut self, token: &Token) {
        self.sheet.flush_comment(token.line);
        self.sheet.fold_lines(token.line + 1, token.last_line + 1);
        self.take_condition(token);
    }

    /// Follows a condition of the preprocessor. If its first branch leaves brackets open, or closes more than it opens,
    /// the other branches do the same, so they do not count.
    fn take_condition(&mut self, token: &Token) {
        let line = self.lexer.text_of(token);
        let depth = self.frames.len() + self.body.len();
        match directive_name(line) {
            name @ (b"if" | b"ifdef" | b"ifndef") => {
                let is_never = name == b"if" && is_zero(line) && !self.lexer.skip_branch(true);
                if !is_never {
                    self.conditions.push(depth);
                }
            }
            b"else" | b"elif" | b"elseif" if self.conditions.last().is_some_and(|open| *open != depth) => {
                self.conditions.pop();
                self.lexer.skip_branch(false);
            }
            b"endif" => {
                self.conditions.pop();
            }
            _ => {}
        }
    }
}

/// Whether a condition of the preprocessor is `#if 0`.
fn is_zero(line: &[u8]) -> bool {
    let condition = line.trim_ascii_start().strip_prefix(b"#").unwrap_or_default().trim_ascii_start();
    let condition = condition.strip_prefix(b"if").unwrap_or_default().trim_ascii();
    condition.first() == Some(&b'0') && condition.get(1).is_none_or(|byte| !is_word_byte(*byte))
}
