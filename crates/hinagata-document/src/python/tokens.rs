//! Splits Python into logical lines of tokens. It handles strings, brackets and continued lines, but no grammar.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name or keyword.
    Name,
    /// A number.
    Number,
    /// A string with its prefix and quotes.
    String,
    /// Anything else: an operator, a bracket, a comma.
    Operator,
}

/// A piece of the source.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// The kind.
    pub kind: Kind,
    /// The offset of its first byte.
    pub start: usize,
    /// The offset after its last byte.
    pub end: usize,
}

impl Token {
    /// Its text in `source`, from which it was read.
    pub fn text<'a>(&self, source: &'a str) -> &'a str {
        source.get(self.start..self.end).unwrap_or_default()
    }
}

/// A logical line; `;` ends one too.
#[derive(Debug)]
pub struct Line {
    /// The indentation in columns; a tab extends to the next multiple of eight.
    pub indent: usize,
    /// Its tokens.
    pub tokens: Vec<Token>,
}

impl Line {
    /// The offset of its first token.
    pub fn start(&self) -> usize {
        self.tokens.first().map_or(0, |token| token.start)
    }
}

/// Why a source is not valid Python.
#[derive(Debug)]
pub struct Problem {
    /// The message.
    pub message: String,
    /// The offset of the byte at which it was found.
    pub offset: usize,
}

/// Maximum nesting of strings inside the braces of f-strings.
const STRING_DEPTH: usize = 16;

/// The logical lines of `source`.
pub fn split_lines(source: &str) -> Result<Vec<Line>, Problem> {
    let mut scanner = Scanner {
        source: source.as_bytes(),
        text: source,
        at: 0,
        lines: Vec::new(),
        line: None,
        brackets: Vec::new(),
    };
    scanner.run()?;
    Ok(scanner.lines)
}

struct Scanner<'a> {
    source: &'a [u8],
    text: &'a str,
    at: usize,
    lines: Vec<Line>,
    line: Option<Line>,
    /// The open brackets, with their offsets.
    brackets: Vec<(u8, usize)>,
}

impl Scanner<'_> {
    fn run(&mut self) -> Result<(), Problem> {
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\n' | b'\r' => self.line_break(),
                b' ' | b'\t' | 0x0c => self.at += 1,
                b'#' => self.comment(),
                b'\\' => self.continuation()?,
                b'"' | b'\'' => self.string(self.at)?,
                b'0'..=b'9' => self.number(),
                b'.' if self.peek(1).is_some_and(|next| next.is_ascii_digit()) => self.number(),
                b';' if self.brackets.is_empty() => self.semicolon(),
                b'_' | b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => self.name()?,
                _ => self.operator(byte)?,
            }
        }
        if let Some(&(bracket, offset)) = self.brackets.last() {
            return Err(Problem { message: format!("`{}` is never closed", char::from(bracket)), offset });
        }
        self.end_line();
        Ok(())
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.source.get(self.at + ahead).copied()
    }

    fn line_break(&mut self) {
        self.at += 1;
        if self.brackets.is_empty() {
            self.end_line();
        }
    }

    fn semicolon(&mut self) {
        self.at += 1;
        let indent = self.line.as_ref().map_or(0, |line| line.indent);
        self.end_line();
        self.line = Some(Line { indent, tokens: Vec::new() });
    }

    fn end_line(&mut self) {
        if let Some(line) = self.line.take().filter(|line| !line.tokens.is_empty()) {
            self.lines.push(line);
        }
    }

    fn comment(&mut self) {
        while self.peek(0).is_some_and(|byte| byte != b'\n' && byte != b'\r') {
            self.at += 1;
        }
    }

    fn continuation(&mut self) -> Result<(), Problem> {
        let length = match (self.peek(1), self.peek(2)) {
            (Some(b'\r'), Some(b'\n')) => 3,
            (Some(b'\n' | b'\r'), _) => 2,
            (None, _) => 1,
            _ => return Err(self.problem("`\\` must be the last character of its line")),
        };
        self.at += length;
        Ok(())
    }

    fn problem(&self, message: impl Into<String>) -> Problem {
        Problem { message: message.into(), offset: self.at }
    }

    fn push(&mut self, kind: Kind, start: usize) {
        let (source, end) = (self.source, self.at);
        let line =
            self.line.get_or_insert_with(|| Line { indent: indentation(source, start), tokens: Vec::new() });
        line.tokens.push(Token { kind, start, end });
    }

    fn number(&mut self) {
        let start = self.at;
        while let Some(byte) = self.peek(0) {
            let sign_of_exponent = matches!(byte, b'+' | b'-')
                && matches!(self.source[self.at - 1], b'e' | b'E')
                && !self.source[start..].starts_with(b"0x")
                && !self.source[start..].starts_with(b"0X");
            if !(byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.' || sign_of_exponent) {
                break;
            }
            self.at += 1;
        }
        self.push(Kind::Number, start);
    }

    fn name(&mut self) -> Result<(), Problem> {
        let start = self.at;
        for character in self.text[start..].chars() {
            let part = match character.is_ascii() {
                true => character == '_' || character.is_ascii_alphanumeric(),
                // Python checks which letters a name may have.
                false => !character.is_whitespace(),
            };
            if !part {
                break;
            }
            self.at += character.len_utf8();
        }
        if self.at == start {
            return Err(self.problem("invalid character"));
        }
        if matches!(self.peek(0), Some(b'"' | b'\'')) && is_prefix(&self.text[start..self.at]) {
            return self.string(start);
        }
        self.push(Kind::Name, start);
        Ok(())
    }

    /// Reads a string whose quotes begin here and whose prefix begins at `start`.
    fn string(&mut self, start: usize) -> Result<(), Problem> {
        let formatted = self.text[start..self.at].contains(['f', 'F', 't', 'T']);
        self.skip_string(start, formatted, 0)?;
        self.push(Kind::String, start);
        Ok(())
    }

    fn skip_string(&mut self, start: usize, formatted: bool, depth: usize) -> Result<(), Problem> {
        let unclosed = |message: &str| Problem { message: message.to_owned(), offset: start };
        if depth > STRING_DEPTH {
            return Err(unclosed("strings are nested too deeply"));
        }
        let quote = self.source[self.at];
        let triple = self.source[self.at..].starts_with(&[quote; 3]);
        self.at += if triple { 3 } else { 1 };
        loop {
            match self.peek(0) {
                None => return Err(unclosed("unterminated string")),
                Some(b'\\') => self.at += if self.source[self.at..].starts_with(b"\\\r\n") { 3 } else { 2 },
                Some(b'\n' | b'\r') if !triple => {
                    return Err(unclosed("string is not terminated on its line"));
                }
                Some(byte)
                    if byte == quote && (!triple || self.source[self.at..].starts_with(&[quote; 3])) =>
                {
                    self.at += if triple { 3 } else { 1 };
                    return Ok(());
                }
                Some(b'{') if formatted && self.peek(1) == Some(b'{') => self.at += 2,
                Some(b'{') if formatted => self.skip_replacement(start, depth)?,
                Some(_) => self.at += 1,
            }
        }
    }

    /// Skips a replacement field of an f-string, which may contain strings with the same quotes.
    fn skip_replacement(&mut self, start: usize, depth: usize) -> Result<(), Problem> {
        let mut braces = 0_usize;
        loop {
            match self.peek(0) {
                None => return Err(Problem { message: "unterminated string".into(), offset: start }),
                Some(b'{') => braces += 1,
                Some(b'}') => {
                    braces -= 1;
                    if braces == 0 {
                        self.at += 1;
                        return Ok(());
                    }
                }
                Some(b'"' | b'\'') => {
                    let formatted = self.at > 0 && matches!(self.source[self.at - 1], b'f' | b'F');
                    self.skip_string(start, formatted, depth + 1)?;
                    continue;
                }
                Some(_) => {}
            }
            self.at += 1;
        }
    }

    fn operator(&mut self, byte: u8) -> Result<(), Problem> {
        let start = self.at;
        match byte {
            b'(' | b'[' | b'{' => self.brackets.push((byte, start)),
            b')' | b']' | b'}' => self.close(byte)?,
            b'+' | b'-' | b'*' | b'/' | b'%' | b'@' | b'&' | b'|' | b'^' | b'~' | b'<' | b'>' | b'='
            | b'!' | b':' | b',' | b'.' | b';' => {}
            other => {
                return Err(
                    self.problem(format!("unexpected character `{}`", char::from(other).escape_default()))
                );
            }
        }
        self.at += 1;
        // Operators such as `==` and `+=` must not be read as `=`.
        if matches!(
            byte,
            b'=' | b'!' | b'<' | b'>' | b'+' | b'-' | b'*' | b'/' | b'%' | b'@' | b'&' | b'|' | b'^' | b':'
        ) {
            while matches!(self.peek(0), Some(b'='))
                || (self.peek(0) == Some(byte) && matches!(byte, b'*' | b'/' | b'<' | b'>'))
            {
                self.at += 1;
            }
        }
        self.push(Kind::Operator, start);
        Ok(())
    }

    fn close(&mut self, byte: u8) -> Result<(), Problem> {
        let expected = match byte {
            b')' => b'(',
            b']' => b'[',
            _ => b'{',
        };
        match self.brackets.pop() {
            Some((open, _)) if open == expected => Ok(()),
            _ => Err(self.problem(format!("unmatched `{}`", char::from(byte)))),
        }
    }
}

fn indentation(source: &[u8], start: usize) -> usize {
    let line = source[..start].iter().rposition(|&byte| matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1);
    source[line..start].iter().fold(0, |column, &byte| match byte {
        b'\t' => (column / 8 + 1) * 8,
        b' ' => column + 1,
        _ => column,
    })
}

fn is_prefix(word: &str) -> bool {
    matches!(
        word.to_ascii_lowercase().as_str(),
        "r" | "u" | "b" | "f" | "t" | "br" | "rb" | "fr" | "rf" | "tr" | "rt"
    )
}
