//! Python literals as data: everything that JSON can represent, with tuples as lists.

use serde_json::Number;

use super::strings::{self, NotLiteral};
use super::tokens::{Kind, Token};
use crate::{Cursor, Data, LineColumn, Node};

/// Maximum nesting of containers.
const DEPTH: usize = 64;

/// Why tokens are not a literal.
#[derive(Debug)]
pub enum LiteralError {
    /// Python computes the value at run time; the expression is at this offset.
    Computed(usize),
    /// The literal is invalid: a message and its offset.
    Invalid(String, usize),
}

/// Parses all of `tokens` as one value.
pub fn parse<'a>(text: &'a str, tokens: &'a [Token], cursor: &mut Cursor<'a>) -> Result<Node, LiteralError> {
    let mut reader = Reader { text, tokens, at: 0, cursor };
    let first = reader.value(0)?;
    // `A = 1, 2` is a tuple.
    let node = match reader.peek() {
        "," => reader.bare_tuple(first)?,
        _ => first,
    };
    match reader.tokens.get(reader.at) {
        None => Ok(node),
        Some(token) => Err(LiteralError::Computed(token.start)),
    }
}

struct Reader<'a, 'c> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
    cursor: &'c mut Cursor<'a>,
}

impl<'a> Reader<'a, '_> {
    fn peek(&self) -> &'a str {
        self.tokens.get(self.at).map_or("", |token| token.text(self.text))
    }

    fn offset(&self) -> usize {
        let token = self.tokens.get(self.at).or_else(|| self.tokens.last());
        token.map_or(0, |token| token.start)
    }

    fn take(&mut self, expected: &str) -> bool {
        let found = self.peek() == expected
            && self.tokens.get(self.at).is_some_and(|token| token.kind == Kind::Operator);
        self.at += usize::from(found);
        found
    }

    fn computed_error<T>(&self) -> Result<T, LiteralError> {
        Err(LiteralError::Computed(self.offset()))
    }

    fn value(&mut self, depth: usize) -> Result<Node, LiteralError> {
        let Some(&token) = self.tokens.get(self.at) else { return self.computed_error() };
        if depth > DEPTH {
            return Err(LiteralError::Invalid(format!("more than {DEPTH} nested containers"), token.start));
        }
        let at = self.cursor.line_column_at(token.start);
        let data = match token.kind {
            Kind::String => Data::String(self.strings()?),
            Kind::Number => Data::Number(self.number(false)?),
            Kind::Name => self.name()?,
            Kind::Operator => match token.text(self.text) {
                "-" => self.signed(true)?,
                "+" => self.signed(false)?,
                "[" => Data::List(self.items("[", "]", depth)?.0),
                "(" => return self.parentheses(at, depth),
                "{" => self.braces(depth)?,
                _ => return self.computed_error(),
            },
        };
        Ok(Node::new(at, data))
    }

    fn name(&mut self) -> Result<Data, LiteralError> {
        let data = match self.peek() {
            "True" => Data::Bool(true),
            "False" => Data::Bool(false),
            "None" => Data::Null,
            _ => return self.computed_error(),
        };
        self.at += 1;
        Ok(data)
    }

    /// One string, or several adjacent ones, which Python concatenates.
    fn strings(&mut self) -> Result<String, LiteralError> {
        let mut result = String::new();
        while let Some(token) = self.tokens.get(self.at).filter(|token| token.kind == Kind::String) {
            match strings::decode_literal(token.text(self.text)) {
                Ok(text) => result.push_str(&text),
                Err(NotLiteral::Computed) => return Err(LiteralError::Computed(token.start)),
                Err(NotLiteral::Invalid(message)) => {
                    return Err(LiteralError::Invalid(message.to_owned(), token.start));
                }
            }
            self.at += 1;
        }
        Ok(result)
    }

    fn signed(&mut self, negative: bool) -> Result<Data, LiteralError> {
        self.at += 1;
        match self.tokens.get(self.at) {
            Some(token) if token.kind == Kind::Number => Ok(Data::Number(self.number(negative)?)),
            _ => self.computed_error(),
        }
    }

    fn number(&mut self, negative: bool) -> Result<Number, LiteralError> {
        let token = self.peek();
        let number = parse_number(token, negative).ok_or(LiteralError::Computed(self.offset()))?;
        self.at += 1;
        Ok(number)
    }

    /// `()`, `(value)` and tuples.
    fn parentheses(&mut self, at: LineColumn, depth: usize) -> Result<Node, LiteralError> {
        let (mut items, commas) = self.items("(", ")", depth)?;
        if items.len() == 1 && !commas {
            return Ok(items.remove(0));
        }
        Ok(Node::new(at, Data::List(items)))
    }

    /// The values between brackets, and whether a comma separates or follows them.
    fn items(&mut self, open: &str, close: &str, depth: usize) -> Result<(Vec<Node>, bool), LiteralError> {
        self.take(open);
        let (mut items, mut commas) = (Vec::new(), false);
        while !self.take(close) {
            items.push(self.value(depth + 1)?);
            if self.take(",") {
                commas = true;
            } else if self.peek() != close {
                return self.computed_error();
            }
        }
        Ok((items, commas))
    }

    fn bare_tuple(&mut self, first: Node) -> Result<Node, LiteralError> {
        let at = first.at;
        let mut items = vec![first];
        while self.take(",") && self.at < self.tokens.len() {
            items.push(self.value(1)?);
        }
        Ok(Node::new(at, Data::List(items)))
    }

    /// A dict with strings as keys. A repeated key replaces the value, as in Python.
    fn braces(&mut self, depth: usize) -> Result<Data, LiteralError> {
        self.take("{");
        let mut entries: Vec<(String, Node)> = Vec::new();
        let mut places = std::collections::HashMap::new();
        while !self.take("}") {
            if self.tokens.get(self.at).is_none_or(|token| token.kind != Kind::String) {
                return self.computed_error();
            }
            let key = self.strings()?;
            if !self.take(":") {
                return self.computed_error();
            }
            let value = self.value(depth + 1)?;
            match places.get(&key) {
                Some(&place) => entries[place] = (key, value),
                None => {
                    places.insert(key.clone(), entries.len());
                    entries.push((key, value));
                }
            }
            if !self.take(",") && self.peek() != "}" {
                return self.computed_error();
            }
        }
        Ok(Data::Map(entries))
    }
}

/// The number of `token`, if 64 bits can represent it.
fn parse_number(token: &str, negative: bool) -> Option<Number> {
    let digits = token.replace('_', "").to_ascii_lowercase();
    let radix = match digits.get(..2) {
        Some("0x") => 16,
        Some("0o") => 8,
        Some("0b") => 2,
        _ => 10,
    };
    if radix != 10 {
        return signed_integer(u64::from_str_radix(&digits[2..], radix).ok()?, negative);
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return signed_integer(digits.parse().ok()?, negative);
    }
    if digits.bytes().any(|byte| !matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'+' | b'-')) {
        return None;
    }
    let float: f64 = digits.parse().ok()?;
    Number::from_f64(if negative { -float } else { float })
}

fn signed_integer(value: u64, negative: bool) -> Option<Number> {
    if !negative {
        return Some(value.into());
    }
    i64::try_from(-i128::from(value)).ok().map(Number::from)
}
