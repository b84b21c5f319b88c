//! The lexer: turns a source into tokens, one at a time.
//!
//! Tokens are read when the parser requests them, as in Jinja2. So the first error of a source is reported
//! first, whether the lexer or the parser finds it. Offsets refer to the unchanged source. `\r\n` and `\r`
//! count as one newline and become `\n` in text and strings.

mod highlight;
mod literal;
mod token;

use std::borrow::Cow;

use hinagata_value::{Budget, Error, Result};

pub use highlight::highlight_source;
pub(crate) use token::{Op, Token, TokenKind};

use crate::{ast::Span, options::ParseOptions, source::Origin};

/// What the lexer reads next.
#[derive(Clone, Copy, Debug)]
enum Mode {
    /// Text up to the next opener.
    Text,
    /// The opener at the current position.
    Opener(Opener),
    /// The text of a raw block.
    Raw,
    /// Tokens of a tag.
    Tag(Tag),
}

/// The two kinds of tags that contain tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tag {
    Block,
    Variable,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Opener {
    Tag(Tag),
    Comment,
    /// A whole `{% raw %}`; `len` bytes long.
    Raw {
        len: usize,
    },
}

/// The whitespace control sign after an opener or before a closer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sign {
    None,
    /// `-`: remove all whitespace.
    Minus,
    /// `+`: remove nothing, whatever the options say.
    Plus,
}

impl Sign {
    fn at_offset(bytes: &[u8], at: usize) -> Self {
        match bytes.get(at) {
            Some(b'-') => Self::Minus,
            Some(b'+') => Self::Plus,
            _ => Self::None,
        }
    }

    fn len(self) -> usize {
        usize::from(self != Self::None)
    }
}

/// Reads tokens from one source.
#[derive(Debug)]
pub(crate) struct Lexer<'s> {
    origin: Origin<'s>,
    /// The source, without its last newline unless that is kept.
    text: &'s str,
    options: &'s ParseOptions,
    budget: &'s Budget,
    at: usize,
    line: u32,
    /// The line of the last token.
    last_line: u32,
    mode: Mode,
    /// The open brackets of this tag with their places.
    brackets: Vec<(Op, Span)>,
    /// Whether the text that was read last ends with a newline.
    line_starting: bool,
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(origin: Origin<'s>, options: &'s ParseOptions, budget: &'s Budget) -> Self {
        let text = origin.text;
        let text = match text.strip_suffix('\n') {
            _ if options.keep_trailing_newline => text,
            Some(rest) => rest.strip_suffix('\r').unwrap_or(rest),
            None => text.strip_suffix('\r').unwrap_or(text),
        };
        Self {
            origin,
            text,
            options,
            budget,
            at: 0,
            line: 1,
            last_line: 1,
            mode: Mode::Text,
            brackets: Vec::new(),
            line_starting: true,
        }
    }

    /// Returns the next token; at the end always [`TokenKind::Eof`].
    ///
    /// # Errors
    /// When the source is not a valid token here, or a limit is reached.
    pub(crate) fn next_token(&mut self) -> Result<Token<'s>> {
        let start = self.at;
        let token = self.read()?;
        let cost = self.budget.step_bytes(self.at - start);
        cost.map_err(|error| error.with_place(|| self.origin.place(token.span)))?;
        self.last_line = token.span.line;
        Ok(token)
    }

    fn read(&mut self) -> Result<Token<'s>> {
        loop {
            let token = match self.mode {
                Mode::Text => self.read_text(),
                Mode::Opener(opener) => self.read_opener(opener)?,
                Mode::Raw => self.read_raw()?,
                Mode::Tag(tag) => self.read_in_tag(tag)?,
            };
            if let Some(token) = token {
                return Ok(token);
            }
        }
    }

    /// Moves to `end` and counts lines.
    fn advance(&mut self, end: usize) {
        let passed = &self.text.as_bytes()[self.at..end];
        self.line += newlines(passed);
        self.line_starting = matches!(passed.last(), Some(b'\n' | b'\r'));
        self.at = end;
    }

    /// Returns the token from here to `end` and moves to `end`.
    fn token(&mut self, end: usize, kind: TokenKind<'s>) -> Token<'s> {
        let span = self.span(end);
        self.advance(end);
        Token { kind, span }
    }

    fn span(&self, end: usize) -> Span {
        // The parser refuses sources whose offsets do not fit.
        Span { start: self.at as u32, end: end as u32, line: self.line }
    }

    fn eof(&self) -> Token<'s> {
        let end = self.text.len() as u32;
        Token { kind: TokenKind::Eof, span: Span { start: end, end, line: self.last_line } }
    }

    fn read_text(&mut self) -> Option<Token<'s>> {
        if self.at >= self.text.len() {
            return Some(self.eof());
        }
        let Some((end, opener, sign)) = self.find_opener() else {
            let text = &self.text[self.at..];
            return Some(self.token(self.text.len(), TokenKind::Data(with_newlines(text))));
        };
        let lstrip = opener != Opener::Tag(Tag::Variable);
        let token = self.data(end, sign, lstrip);
        self.mode = Mode::Opener(opener);
        token
    }

    /// Finds the next opener; returns its start, its kind and its sign.
    fn find_opener(&self) -> Option<(usize, Opener, Sign)> {
        let syntax = &self.options.syntax;
        let bytes = self.text.as_bytes();
        let openers = [
            (syntax.block.open, Opener::Tag(Tag::Block)),
            (syntax.variable.open, Opener::Tag(Tag::Variable)),
            (syntax.comment.open, Opener::Comment),
        ];
        let firsts = openers.map(|(open, _)| open.as_bytes()[0]);
        for at in self.at..bytes.len() {
            if !firsts.contains(&bytes[at]) {
                continue;
            }
            let here = openers.iter().filter(|(open, _)| bytes[at..].starts_with(open.as_bytes()));
            if let Some(&(open, opener)) = here.max_by_key(|(open, _)| open.len()) {
                let sign = Sign::at_offset(bytes, at + open.len());
                let raw = (opener == Opener::Tag(Tag::Block)).then(|| self.raw_len(at)).flatten();
                return Some((at, raw.map_or(opener, |len| Opener::Raw { len }), sign));
            }
        }
        None
    }

    /// The length of the `{% raw %}` at `at`, including the whitespace that a `-%}` removes.
    fn raw_len(&self, at: usize) -> Option<usize> {
        let end = self.keyword_end(at, "raw")?;
        let close = self.options.syntax.block.close;
        let rest = &self.text[end..];
        if let Some(rest) = rest.strip_prefix('-').and_then(|rest| rest.strip_prefix(close)) {
            return Some(self.text.len() - trim_start(rest).len() - at);
        }
        rest.starts_with(close).then(|| end + close.len() - at)
    }

    /// The offset of the expected closer, if the block tag at `at` consists of `keyword` only.
    fn keyword_end(&self, at: usize, keyword: &str) -> Option<usize> {
        let open = at + self.options.syntax.block.open.len();
        let open = open + Sign::at_offset(self.text.as_bytes(), open).len();
        let rest = trim_start(&self.text[open..]).strip_prefix(keyword)?;
        Some(self.text.len() - trim_start(rest).len())
    }

    /// Reads text up to `end` and strips its end as `sign` and `lstrip` of the next opener require; `None`
    /// if empty.
    fn data(&mut self, end: usize, sign: Sign, lstrip: bool) -> Option<Token<'s>> {
        let text = &self.text[self.at..end];
        let stripped_text = match sign {
            Sign::Minus => text.trim_end_matches(is_space),
            Sign::None if lstrip && self.options.lstrip_blocks => {
                let line = text.rfind(['\n', '\r']).map_or(0, |newline| newline + 1);
                if text[line..].chars().all(is_space) && (line > 0 || self.line_starting) {
                    &text[..line]
                } else {
                    text
                }
            }
            _ => text,
        };
        let span = self.span(self.at + stripped_text.len());
        self.advance(end);
        (!stripped_text.is_empty())
            .then(|| Token { kind: TokenKind::Data(with_newlines(stripped_text)), span })
    }

    fn read_opener(&mut self, opener: Opener) -> Result<Option<Token<'s>>> {
        let syntax = &self.options.syntax;
        let (open, kind) = match opener {
            Opener::Raw { len } => {
                self.advance(self.at + len);
                self.mode = Mode::Raw;
                return Ok(None);
            }
            Opener::Comment => return self.skip_comment().map(|()| None),
            Opener::Tag(Tag::Block) => (syntax.block.open, TokenKind::BlockBegin),
            Opener::Tag(Tag::Variable) => (syntax.variable.open, TokenKind::VariableBegin),
        };
        let end = self.at + open.len();
        let end = end + Sign::at_offset(self.text.as_bytes(), end).len();
        if let Opener::Tag(tag) = opener {
            self.mode = Mode::Tag(tag);
        }
        Ok(Some(self.token(end, kind)))
    }

    /// Skips a comment. As in Jinja2, an opener at the very end of the source is not an error.
    fn skip_comment(&mut self) -> Result<()> {
        let comment = self.options.syntax.comment;
        let bytes = self.text.as_bytes();
        let open = self.at + comment.open.len();
        let inside = open + Sign::at_offset(bytes, open).len();
        self.mode = Mode::Text;
        let Some(len) = self.text[inside..].find(comment.close) else {
            let span = self.span(inside);
            self.advance(self.text.len());
            return if inside == self.text.len() {
                Ok(())
            } else {
                Err(self
                    .origin
                    .syntax_error(span, format!("the comment is not closed by `{}`", comment.close)))
            };
        };
        let close = inside + len;
        let sign = if len > 0 { Sign::at_offset(bytes, close - 1) } else { Sign::None };
        let end = self.tag_end(close + comment.close.len(), sign);
        self.advance(end);
        Ok(())
    }

    /// The end of a tag whose closer ends at `end`, including the whitespace that the tag removes.
    fn tag_end(&self, end: usize, sign: Sign) -> usize {
        match sign {
            Sign::Minus => self.text.len() - trim_start(&self.text[end..]).len(),
            Sign::None if self.options.trim_blocks => end + newline_len(&self.text.as_bytes()[end..]),
            _ => end,
        }
    }

    /// Reads the text of a raw block up to its end tag. As for comments, an empty rest is not an error.
    fn read_raw(&mut self) -> Result<Option<Token<'s>>> {
        let block = self.options.syntax.block;
        let mut from = self.at;
        while let Some(found) = self.text[from..].find(block.open) {
            let open = from + found;
            if let Some(end) = self.endraw_end(open) {
                let sign = Sign::at_offset(self.text.as_bytes(), open + block.open.len());
                let token = self.data(open, sign, true);
                self.advance(end);
                self.mode = Mode::Text;
                return Ok(token);
            }
            from = open + block.open.len();
        }
        if self.at == self.text.len() {
            return Ok(Some(self.eof()));
        }
        let error =
            self.origin.syntax_error(self.span(self.text.len()), "the raw block is not closed by `endraw`");
        Err(error.with_hint(format!("close it with `{} endraw {}`", block.open, block.close)))
    }

    /// The end of the `{% endraw %}` at `at`, if there is one.
    fn endraw_end(&self, at: usize) -> Option<usize> {
        let end = self.keyword_end(at, "endraw")?;
        let sign = Sign::at_offset(self.text.as_bytes(), end);
        let close = self.options.syntax.block.close;
        self.text[end + sign.len()..]
            .starts_with(close)
            .then(|| self.tag_end(end + sign.len() + close.len(), sign))
    }

    fn read_in_tag(&mut self, tag: Tag) -> Result<Option<Token<'s>>> {
        let rest = &self.text[self.at..];
        let Some(first) = rest.chars().next() else { return Ok(Some(self.eof())) };
        if self.brackets.is_empty()
            && let Some(end) = self.closer_end(tag)
        {
            self.mode = Mode::Text;
            let kind = if tag == Tag::Block { TokenKind::BlockEnd } else { TokenKind::VariableEnd };
            return Ok(Some(self.token(end, kind)));
        }
        if is_space(first) {
            self.advance(self.text.len() - trim_start(rest).len());
            return Ok(None);
        }
        self.read_token(first).map(Some)
    }

    /// The end of the tag, if its closer is here.
    fn closer_end(&self, tag: Tag) -> Option<usize> {
        let syntax = &self.options.syntax;
        let sign = Sign::at_offset(self.text.as_bytes(), self.at);
        let rest = &self.text[self.at + sign.len()..];
        let end = self.at + sign.len();
        match tag {
            Tag::Block if rest.starts_with(syntax.block.close) => {
                Some(self.tag_end(end + syntax.block.close.len(), sign))
            }
            // A `+` is an operator here, and no option trims after a print tag.
            Tag::Variable if sign != Sign::Plus && rest.starts_with(syntax.variable.close) => {
                let end = end + syntax.variable.close.len();
                Some(if sign == Sign::Minus { self.tag_end(end, sign) } else { end })
            }
            _ => None,
        }
    }

    fn read_token(&mut self, first: char) -> Result<Token<'s>> {
        let rest = &self.text[self.at..];
        let bytes = rest.as_bytes();
        if first.is_ascii_digit() {
            // In `a.1.5`, `1.5` is not a float: both dots separate attributes.
            let after_dot = self.text[..self.at].ends_with('.');
            let len = if after_dot { 0 } else { literal::float_len(bytes) };
            if len > 0 {
                return Ok(self.token(self.at + len, TokenKind::Float(literal::float(&rest[..len]))));
            }
            let (len, base) = literal::integer_len(bytes);
            return Ok(self.token(self.at + len, TokenKind::Int(literal::integer(&rest[..len], base))));
        }
        if is_name(first) {
            return self.read_name();
        }
        if let '\'' | '"' = first {
            return self.read_string();
        }
        match Op::at_start_of(rest) {
            Some(op) => self.read_operator(op),
            None => Err(self.unexpected_error(first)),
        }
    }

    fn read_name(&mut self) -> Result<Token<'s>> {
        let rest = &self.text[self.at..];
        let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
        let mut chars = name.chars();
        let starts = chars.next().is_some_and(|c| c == '_' || unicode_ident::is_xid_start(c));
        if !starts || !chars.all(unicode_ident::is_xid_continue) {
            let span = self.span(self.at + name.len());
            return Err(self.origin.syntax_error(span, format!("`{name}` is not a valid name")));
        }
        Ok(self.token(self.at + name.len(), TokenKind::Name(name)))
    }

    fn read_string(&mut self) -> Result<Token<'s>> {
        let rest = &self.text[self.at..];
        let Some(len) = literal::string_len(rest.as_bytes()) else {
            let error = self.origin.syntax_error(self.span(self.at + 1), "the string is not closed");
            return Err(error.with_hint(format!("close it with `{}`", &rest[..1])));
        };
        match literal::string(&rest[1..len - 1]) {
            Ok(value) => Ok(self.token(self.at + len, TokenKind::Str(value))),
            Err(message) => Err(self.origin.syntax_error(self.span(self.at + len), message)),
        }
    }

    fn read_operator(&mut self, op: Op) -> Result<Token<'s>> {
        let end = self.at + op.as_str().len();
        let span = self.span(end);
        if op.closer().is_some() {
            self.brackets.push((op, span));
        } else if let Op::CloseParen | Op::CloseBracket | Op::CloseBrace = op {
            match self.brackets.pop() {
                Some((open, _)) if open.closer() == Some(op) => {}
                open => return Err(self.unbalanced_error(op, span, open)),
            }
        }
        Ok(self.token(end, TokenKind::Op(op)))
    }

    #[cold]
    fn unbalanced_error(&self, op: Op, span: Span, open: Option<(Op, Span)>) -> Error {
        let found = op.as_str();
        let Some((open, at)) = open else {
            return self.origin.syntax_error(span, format!("unmatched `{found}`"));
        };
        let (open, expected_closer) = (open.as_str(), open.closer().map_or("", Op::as_str));
        let message =
            format!("found `{found}`, expected `{expected_closer}` for the `{open}` of line {}", at.line);
        self.origin.syntax_error(span, message)
    }

    #[cold]
    fn unexpected_error(&self, c: char) -> Error {
        let span = self.span(self.at + c.len_utf8());
        let error = self.origin.syntax_error(span, format!("unexpected character `{}`", c.escape_debug()));
        match c {
            '&' => error.with_hint("write `and`"),
            '!' => error.with_hint("write `not`"),
            '?' => error.with_hint("write `value if test else other`"),
            '`' | '“' | '”' | '‘' | '’' => error.with_hint("strings are quoted with `'` or `\"`"),
            _ => error,
        }
    }
}

/// Whether Python treats `c` as whitespace: Unicode whitespace and the four ASCII separators.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\x1c'..='\x1f')
}

/// Whether `c` continues a run that is read as one name, even if the name is then invalid.
fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || c == '_'
        || (!c.is_ascii() && (unicode_ident::is_xid_continue(c) || c.is_numeric()))
}

fn trim_start(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

/// The length of the newline that `bytes` starts with.
fn newline_len(bytes: &[u8]) -> usize {
    match bytes {
        [b'\r', b'\n', ..] => 2,
        [b'\r' | b'\n', ..] => 1,
        _ => 0,
    }
}

fn newlines(bytes: &[u8]) -> u32 {
    let mut count = 0;
    let mut last = 0;
    for &byte in bytes {
        count += u32::from(byte == b'\r' || (byte == b'\n' && last != b'\r'));
        last = byte;
    }
    count
}

/// `text` with every newline as `\n`.
fn with_newlines(text: &str) -> Cow<'_, str> {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n").into() } else { text.into() }
}
