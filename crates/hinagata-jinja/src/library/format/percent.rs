//! `%` formatting.

use hinagata_value::{Error, Kind, Number, Result, Text, Value};

use super::{
    super::{
        arguments::to_size,
        number::{as_int, as_number, truncate_float},
        print::{escape_html, print_escaped, print_repr, print_value, repr_ascii},
        textual::{finish_text, to_textual},
        types::{require_settled, type_error, wrong_type},
    },
    float::{Notation, digits},
    layout::{Align, Field, int_digits, push_field, sign},
    spec::first_characters,
};
use crate::context::Context;

/// `format % arguments`. If `safe`, the format is safe text and the arguments are escaped.
///
/// # Errors
/// When the format cannot take the values, or a limit is reached.
pub(crate) fn format_percent<'a>(
    cx: &Context<'_, 'a>,
    format: &str,
    arguments: &Value<'a>,
    safe: bool,
) -> Result<Value<'a>> {
    require_settled(arguments)?;
    let mut supply = Supply::new(cx, arguments, safe);
    let mut text = cx.heap.text();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at])?;
        if let Some(after) = rest[at + 1..].strip_prefix('%') {
            text.push_str("%")?;
            rest = after;
            continue;
        }
        let mut directive = Directive { rest: &rest[at + 1..], ..Directive::default() };
        directive.parse(&mut supply)?;
        directive.push(&mut supply, &mut text)?;
        rest = directive.rest;
    }
    text.push_str(rest)?;
    supply.finish()?;
    finish_text(text, safe)
}

/// The arguments in the order in which the format uses them.
struct Supply<'x, 'c, 'a> {
    cx: &'x Context<'c, 'a>,
    arguments: &'x Value<'a>,
    /// The index of the next item of a tuple; for a single argument, 1 once it is used.
    next: usize,
    /// The value of the last `%(key)`, which replaces the arguments.
    keyed_value: Option<Value<'a>>,
    safe: bool,
}

impl<'x, 'c, 'a> Supply<'x, 'c, 'a> {
    fn new(cx: &'x Context<'c, 'a>, arguments: &'x Value<'a>, safe: bool) -> Self {
        Self { cx, arguments, next: 0, keyed_value: None, safe }
    }

    fn take(&mut self) -> Result<Value<'a>> {
        let index = self.next;
        self.next += 1;
        let found = match &self.keyed_value {
            Some(keyed_value) => (index == 0).then(|| keyed_value.clone()),
            None if self.arguments.kind() == Kind::Tuple => self.cx.heap.item(self.arguments, index),
            None => (index == 0).then(|| self.arguments.clone()),
        };
        found.ok_or_else(|| Error::runtime("the format needs more arguments than were given"))
    }

    /// Looks up a key and makes its value the next and only argument.
    fn name(&mut self, key: &str) -> Result<()> {
        let found = match self.arguments.kind() {
            Kind::Map => self.cx.heap.entry(self.arguments, key),
            Kind::Undefined => return self.cx.require_defined(self.arguments),
            _ => return Err(Error::runtime("a format with names needs a map of arguments")),
        };
        let found =
            found.ok_or_else(|| Error::runtime(format!("the format needs an argument named '{key}'")))?;
        self.keyed_value = Some(found);
        self.next = 0;
        Ok(())
    }

    /// Refuses unused positional arguments.
    fn finish(&self) -> Result<()> {
        let count = match self.arguments.kind() {
            Kind::Tuple => self.cx.heap.len(self.arguments).unwrap_or(0),
            // A value with items may have been used by key.
            Kind::Map | Kind::List | Kind::Range | Kind::Bytes | Kind::Undefined => 0,
            _ if self.keyed_value.is_some() => 0,
            _ => 1,
        };
        if self.next < count {
            return Err(Error::runtime("not all arguments were used by the format"));
        }
        Ok(())
    }
}

/// One `%…` of a format.
#[derive(Clone, Copy, Debug, Default)]
struct Directive<'f> {
    rest: &'f str,
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    conversion: char,
}

impl<'f> Directive<'f> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.chars().next()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn take(&mut self, accepted_chars: &[char]) -> Option<char> {
        self.rest.chars().next().filter(|next| accepted_chars.contains(next))?;
        self.next()
    }

    fn parse(&mut self, supply: &mut Supply<'_, '_, '_>) -> Result<()> {
        if self.take(&['(']).is_some() {
            let key = self.key()?;
            supply.name(key)?;
        }
        while let Some(flag) = self.take(&['-', '+', ' ', '#', '0']) {
            match flag {
                '-' => self.left = true,
                '+' => self.plus = true,
                ' ' => self.space = true,
                '#' => self.alternate = true,
                _ => self.zero = true,
            }
        }
        if let Some(width) = self.number(supply)? {
            self.left |= width < 0;
            self.width = to_size(width.saturating_abs());
        }
        if self.take(&['.']).is_some() {
            self.precision = Some(to_size(self.number(supply)?.unwrap_or(0)));
        }
        self.take(&['h', 'l', 'L']);
        self.conversion = self.next().ok_or_else(|| Error::runtime("the format ends inside of `%`"))?;
        Ok(())
    }

    /// Reads the key in parentheses, which may contain parentheses.
    fn key(&mut self) -> Result<&'f str> {
        let whole = self.rest;
        let mut depth = 1;
        while let Some(next) = self.next() {
            match next {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok(&whole[..whole.len() - self.rest.len() - 1]);
            }
        }
        Err(Error::runtime("the format ends inside of a name"))
    }

    /// Reads a width or precision: digits, or `*` for the next argument.
    fn number(&mut self, supply: &mut Supply<'_, '_, '_>) -> Result<Option<i64>> {
        if self.take(&['*']).is_some() {
            let value = supply.take()?;
            return match as_int(&value) {
                Some(int) if !supply.safe => {
                    Ok(Some(int.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64))
                }
                _ => Err(type_error(supply.cx, &value, |name| {
                    format!("`*` of a format needs an integer, not {name}")
                })),
            };
        }
        let end = self.rest.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(self.rest.len());
        let digits = &self.rest[..end];
        self.rest = &self.rest[end..];
        if digits.is_empty() {
            return Ok(None);
        }
        // A number that does not fit exceeds every limit.
        Ok(Some(digits.parse().unwrap_or(i64::MAX)))
    }

    fn push<'a>(self, supply: &mut Supply<'_, '_, 'a>, text: &mut Text<'a>) -> Result<()> {
        let value = supply.take()?;
        require_settled(&value)?;
        let (cx, safe) = (supply.cx, supply.safe);
        match self.conversion {
            's' | 'r' | 'a' => self.push_text(cx, &value, safe, text),
            'd' | 'i' | 'u' => {
                let int = truncate_value(cx, &value)?;
                self.push_int(int, 'd', text)
            }
            'o' | 'x' | 'X' => match as_int(&value) {
                Some(int) if !safe => self.push_int(int, self.conversion, text),
                _ => Err(type_error(cx, &value, |name| {
                    format!("`%{}` needs an integer, not {name}", self.conversion)
                })),
            },
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
                let number = as_number(&value).ok_or_else(|| {
                    wrong_type(cx, &value, |name| {
                        format!("`%{}` needs a number, not {name}", self.conversion)
                    })
                })?;
                self.push_float(number.as_f64(), text)
            }
            'c' => self.push_character(cx, &value, safe, text),
            other => Err(Error::runtime(format!("unknown format `%{other}`"))),
        }
    }

    fn field(self, zeros: bool) -> Field {
        match (self.left, self.zero && zeros) {
            (true, _) => Field { width: self.width, fill: ' ', align: Align::Left },
            (false, true) => Field { width: self.width, fill: '0', align: Align::AfterSign },
            (false, false) => Field { width: self.width, fill: ' ', align: Align::Right },
        }
    }

    fn push_text<'a>(
        self,
        cx: &Context<'_, 'a>,
        value: &Value<'a>,
        safe: bool,
        text: &mut Text<'a>,
    ) -> Result<()> {
        if self.conversion == 's' && self.width == 0 && self.precision.is_none() {
            return if safe { print_escaped(cx, value, text) } else { print_value(cx, value, text) };
        }
        let mut value_text = cx.heap.text();
        match (self.conversion, safe) {
            ('s', true) => print_escaped(cx, value, &mut value_text)?,
            ('s', false) => print_value(cx, value, &mut value_text)?,
            ('r', _) => print_repr(cx, value, &mut value_text)?,
            _ => repr_ascii(cx, value, &mut value_text)?,
        }
        if safe && self.conversion != 's' {
            let plain = std::mem::replace(&mut value_text, cx.heap.text());
            escape_html(plain.as_str(), &mut value_text)?;
        }
        push_field(text, self.field(false), "", first_characters(value_text.as_str(), self.precision))
    }

    fn sign(self, negative: bool) -> &'static str {
        let sign_option = if self.plus { Some('+') } else { self.space.then_some(' ') };
        sign(negative, sign_option)
    }

    fn push_int(self, int: i128, conversion: char, text: &mut Text<'_>) -> Result<()> {
        let prefix = match conversion {
            'o' if self.alternate => "0o",
            'x' if self.alternate => "0x",
            'X' if self.alternate => "0X",
            _ => "",
        };
        let digits = int_digits(int.unsigned_abs(), conversion);
        let zeros = self.precision.unwrap_or(0).saturating_sub(digits.len());
        text.budget().check_fill(zeros)?;
        let digits = if zeros > 0 { "0".repeat(zeros) + &digits } else { digits };
        let sign = [self.sign(int < 0), prefix].concat();
        push_field(text, self.field(true), &sign, &digits)
    }

    fn push_float(self, float: f64, text: &mut Text<'_>) -> Result<()> {
        let notation = match self.conversion {
            'e' | 'E' => Notation::Scientific,
            'f' | 'F' => Notation::Fixed,
            _ => Notation::General,
        };
        let mut number_text =
            digits(text.budget(), float, notation, self.precision.unwrap_or(6), self.alternate)?;
        if self.conversion.is_ascii_uppercase() {
            number_text.make_ascii_uppercase();
        }
        let negative = float.is_sign_negative() && !float.is_nan();
        push_field(text, self.field(true), self.sign(negative), &number_text)
    }

    fn push_character<'a>(
        self,
        cx: &Context<'_, 'a>,
        value: &Value<'a>,
        safe: bool,
        text: &mut Text<'a>,
    ) -> Result<()> {
        let character = match (value.as_str(), as_int(value)) {
            _ if safe => None,
            (Some(string), _) => single(string),
            (_, Some(code)) => {
                let character = u32::try_from(code).ok().and_then(char::from_u32);
                Some(character.ok_or_else(|| Error::runtime(format!("{code} is not a character")))?)
            }
            _ => None,
        };
        match character {
            Some(character) => push_field(text, self.field(false), "", character.encode_utf8(&mut [0; 4])),
            None => Err(type_error(cx, value, |_| "`%c` needs an integer or one character".to_owned())),
        }
    }
}

/// The character of a text of length one.
fn single(text: &str) -> Option<char> {
    let mut characters = text.chars();
    let first = characters.next()?;
    characters.next().is_none().then_some(first)
}

/// The number of a value, truncated to an integer.
fn truncate_value<'a>(cx: &Context<'_, 'a>, value: &Value<'a>) -> Result<i128> {
    match as_number(value) {
        Some(Number::Int(int)) => Ok(int),
        Some(Number::Float(float)) => truncate_float(float),
        None => Err(wrong_type(cx, value, |name| format!("`%d` needs a number, not {name}"))),
    }
}

/// `value|format(...)`: formats the text of a value with positional or keyword arguments.
///
/// # Errors
/// As [`format_percent()`].
pub(crate) fn format_value<'a>(
    cx: &Context<'_, 'a>,
    value: &Value<'a>,
    arguments: &Value<'a>,
) -> Result<Value<'a>> {
    let text = to_textual(cx, value)?;
    format_percent(cx, &text, arguments, value.is_safe())
}
