//! `str.format`: templates with fields in braces.
//!
//! Attributes and items in field names obey the rules of the sandbox, as `.` and `[]` do.

use std::collections::HashMap;

use hinagata_value::{Arguments, Error, Kind, Result, Text, Value};

use super::{
    super::{
        ops::{get_attribute, get_item},
        print::{escape_html, print_repr, print_value, repr_ascii},
        textual::finish_text,
        types::type_error,
    },
    spec::push_formatted,
};
use crate::context::Context;

/// The nesting limit for fields: a specification may contain fields, whose specification may too.
const DEPTH: usize = 2;

/// The source of the values of fields.
#[derive(Clone, Copy)]
pub(crate) enum Fields<'r, 'a> {
    /// The arguments of `format`.
    Arguments(&'r Arguments<'r, 'a>),
    /// The map of `format_map`.
    Map(&'r Value<'a>),
}

/// `template.format(…)`. If `safe`, the template is safe text and the fields are escaped.
///
/// # Errors
/// When the template is malformed, a field has no value, or a limit is reached.
pub(crate) fn format_template<'a>(
    cx: &Context<'_, 'a>,
    template: &str,
    fields: Fields<'_, 'a>,
    safe: bool,
) -> Result<Value<'a>> {
    let mut text = cx.heap.text();
    let mut formatter = Formatter { cx, fields, safe, numbering: Numbering::Open, places: None };
    formatter.push(template, DEPTH, &mut text)?;
    finish_text(text, safe)
}

/// How positional fields are numbered.
#[derive(Clone, Copy, Debug)]
enum Numbering {
    /// Not decided yet.
    Open,
    /// Fields are empty and numbered in order; this is the next number.
    Automatic(usize),
    /// Fields have explicit numbers.
    Manual,
}

struct Formatter<'x, 'c, 'a> {
    cx: &'x Context<'c, 'a>,
    fields: Fields<'x, 'a>,
    safe: bool,
    numbering: Numbering,
    /// The index of each keyword argument, built on the first use.
    places: Option<HashMap<&'x str, usize>>,
}

/// A parsed replacement field.
struct Field<'t> {
    name: &'t str,
    conversion: Option<char>,
    spec: &'t str,
}

impl<'a> Formatter<'_, '_, 'a> {
    /// Appends a template with its fields replaced. Recurses into specifications up to `depth` levels.
    fn push(&mut self, template: &str, depth: usize, text: &mut Text<'a>) -> Result<()> {
        let mut rest = template;
        while let Some(at) = rest.find(['{', '}']) {
            text.push_str(&rest[..at])?;
            let brace = &rest[at..=at];
            let after = &rest[at + 1..];
            if let Some(after) = after.strip_prefix(brace) {
                text.push_str(brace)?;
                rest = after;
                continue;
            }
            if brace == "}" {
                return Err(Error::runtime("a single `}` is in the format"));
            }
            let (field, after) = Field::parse(after)?;
            self.push_field(&field, depth, text)?;
            rest = after;
        }
        text.push_str(rest)
    }

    fn push_field(&mut self, field: &Field<'_>, depth: usize, text: &mut Text<'a>) -> Result<()> {
        let value = self.value(field.name)?;
        let value = self.convert(value, field.conversion)?;
        if !field.spec.contains(['{', '}']) {
            return self.push_value(&value, field.spec, text);
        }
        let Some(depth) = depth.checked_sub(1) else {
            return Err(Error::runtime("fields of a format are nested too deeply"));
        };
        let mut spec = self.cx.heap.text();
        self.push(field.spec, depth, &mut spec)?;
        self.push_value(&value, spec.as_str(), text)
    }

    fn push_value(&self, value: &Value<'a>, spec: &str, text: &mut Text<'a>) -> Result<()> {
        if !self.safe {
            return push_formatted(self.cx, value, spec, text);
        }
        if value.is_safe() {
            return match spec {
                "" => print_value(self.cx, value, text),
                _ => Err(Error::runtime("safe text takes no format specification")),
            };
        }
        let mut plain = self.cx.heap.text();
        push_formatted(self.cx, value, spec, &mut plain)?;
        escape_html(plain.as_str(), text)
    }

    fn convert(&self, value: Value<'a>, conversion: Option<char>) -> Result<Value<'a>> {
        let Some(conversion) = conversion else { return Ok(value) };
        let mut text = self.cx.heap.text();
        match conversion {
            's' => print_value(self.cx, &value, &mut text)?,
            'r' => print_repr(self.cx, &value, &mut text)?,
            'a' => repr_ascii(self.cx, &value, &mut text)?,
            other => return Err(Error::runtime(format!("unknown conversion `!{other}` in a format"))),
        }
        finish_text(text, false)
    }

    /// The value of a field name, including its attributes and items.
    fn value(&mut self, name: &str) -> Result<Value<'a>> {
        let end = name.find(['.', '[']).unwrap_or(name.len());
        let (first, mut rest) = name.split_at(end);
        let mut value = self.first(first, name)?;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('.') {
                let end = after.find(['.', '[']).unwrap_or(after.len());
                let (name, after) = after.split_at(end);
                if name.is_empty() {
                    return Err(Error::runtime("an attribute in the format has no name"));
                }
                value = get_attribute(self.cx, &value, name, None)?;
                rest = after;
            } else if let Some(after) = rest.strip_prefix('[') {
                let (key, after) =
                    after.split_once(']').ok_or_else(|| Error::runtime("`]` is missing in the format"))?;
                if key.is_empty() {
                    return Err(Error::runtime("an item in the format has no key"));
                }
                value = self.item(&value, key)?;
                rest = after;
            } else {
                return Err(Error::runtime("only `.` or `[` may follow `]` in a field of a format"));
            }
        }
        Ok(value)
    }

    fn item(&self, value: &Value<'a>, key: &str) -> Result<Value<'a>> {
        let key = match index(key) {
            Some(index) => Value::Int(i64::try_from(index).unwrap_or(i64::MAX)),
            None => self.cx.heap.string(key)?,
        };
        get_item(self.cx, value, &key)
    }

    /// The value of the first part of a field name: a number, a name, or empty.
    fn first(&mut self, first: &str, whole: &str) -> Result<Value<'a>> {
        let number = match (self.numbering, whole.is_empty(), index(first)) {
            (Numbering::Open, true, _) => {
                self.numbering = Numbering::Automatic(1);
                Some(0)
            }
            (Numbering::Automatic(next), true, _) => {
                self.numbering = Numbering::Automatic(next + 1);
                Some(next)
            }
            (Numbering::Manual, true, _) | (Numbering::Automatic(_), false, Some(_)) => {
                return Err(Error::runtime("a format cannot mix fields with numbers and fields without"));
            }
            (_, false, Some(number)) => {
                self.numbering = Numbering::Manual;
                Some(number)
            }
            (_, false, None) => None,
        };
        match (self.fields, number) {
            (Fields::Arguments(arguments), Some(number)) => arguments.positional.get(number).cloned(),
            (Fields::Arguments(arguments), None) => {
                let names = || arguments.named.iter().map(|(name, _)| *name).zip(0..).collect();
                let place = self.places.get_or_insert_with(names).get(first);
                place.map(|place: &usize| arguments.named[*place].1.clone())
            }
            (Fields::Map(_), Some(_)) => None,
            (Fields::Map(map), None) if map.kind() == Kind::Map => self.cx.heap.entry(map, first),
            (Fields::Map(map), None) => {
                return Err(type_error(self.cx, map, |name| format!("`format_map` needs a map, not {name}")));
            }
        }
        .ok_or_else(|| match number {
            Some(number) => Error::runtime(format!("the format has no argument {number}")),
            None => Error::runtime(format!("the format has no argument named '{first}'")),
        })
    }
}

/// Parses a text of digits.
fn index(text: &str) -> Option<usize> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(usize::MAX))
}

impl<'t> Field<'t> {
    /// Parses a field after its opening brace; returns the text after its closing brace too.
    fn parse(text: &'t str) -> Result<(Self, &'t str)> {
        if text.is_empty() {
            return Err(Error::runtime("a single `{` is in the format"));
        }
        let end = name_end(text)?;
        let name = &text[..end];
        let mut rest = &text[end + 1..];
        let mut conversion = None;
        match text.as_bytes()[end] {
            b'}' => return Ok((Self { name, conversion, spec: "" }, rest)),
            b'!' => {
                let mut characters = rest.chars();
                conversion = characters.next();
                if conversion.is_none() {
                    return Err(Error::runtime("a conversion is missing at the end of the format"));
                }
                rest = characters.as_str();
                match characters.next() {
                    Some('}') => return Ok((Self { name, conversion, spec: "" }, characters.as_str())),
                    Some(':') => rest = characters.as_str(),
                    Some(_) => return Err(Error::runtime("expected `:` after the conversion in a format")),
                    None => {}
                }
            }
            _ => {}
        }
        let end = closing(rest).ok_or_else(|| Error::runtime("`}` is missing in the format"))?;
        Ok((Self { name, conversion, spec: &rest[..end] }, &rest[end + 1..]))
    }
}

/// The end of the name of a field: a `}`, `:` or `!` outside brackets.
fn name_end(text: &str) -> Result<usize> {
    let mut brackets = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b']' => brackets = false,
            _ if brackets => {}
            b'[' => brackets = true,
            b'{' => return Err(Error::runtime("`{` is in the name of a field of the format")),
            b'}' | b':' | b'!' => return Ok(at),
            _ => {}
        }
    }
    Err(Error::runtime("`}` is missing in the format"))
}

/// The offset of the brace that closes a field.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 0 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}
