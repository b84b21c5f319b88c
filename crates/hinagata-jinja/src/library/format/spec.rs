//! Format specifications: `[[fill]align][sign][z][#][0][width][,][.precision][type]`.

use hinagata_value::{Error, Number, Result, Text, Value};

use super::{
    super::{
        number::as_number,
        print::print_value,
        types::{require_settled, type_error, type_name},
    },
    float::{Notation, digits},
    layout::{Align, Field, group_digits, int_digits, push_field, sign},
};
use crate::context::Context;

/// A format specification.
#[derive(Clone, Copy, Debug, Default)]
struct Spec {
    fill: Option<char>,
    align: Option<Align>,
    sign: Option<char>,
    positive_zero: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    grouping: Option<char>,
    precision: Option<usize>,
    conversion: Option<char>,
}

/// Appends a value formatted by a specification.
///
/// # Errors
/// When the specification is malformed or does not fit the type, or a limit is reached.
pub(super) fn push_formatted<'a>(
    cx: &Context<'_, 'a>,
    value: &Value<'a>,
    spec: &str,
    text: &mut Text<'a>,
) -> Result<()> {
    if spec.is_empty() {
        return print_value(cx, value, text);
    }
    require_settled(value)?;
    if let Some(string) = value.as_str() {
        return push_string(cx, string, Spec::parse(spec)?, text);
    }
    let Some(number) = as_number(value) else {
        return Err(type_error(cx, value, |name| format!("{name} takes no format specification")));
    };
    let spec = Spec::parse(spec)?;
    match (number, spec.conversion) {
        (Number::Int(int), None | Some('b' | 'c' | 'd' | 'n' | 'o' | 'x' | 'X')) => push_int(int, spec, text),
        (number, None | Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'n' | '%')) => {
            push_float(cx, number.as_f64(), spec, text)
        }
        (_, Some(conversion)) => Err(unknown_conversion(cx, conversion, value)),
    }
}

#[cold]
fn unknown_conversion<'a>(cx: &Context<'_, 'a>, conversion: char, value: &Value<'a>) -> Error {
    Error::runtime(format!("unknown format `{conversion}` for {}", type_name(cx, value)))
}

#[cold]
fn not_allowed(what: &str, conversion: &str) -> Error {
    Error::runtime(format!("a format of {conversion} cannot have {what}"))
}

impl Spec {
    fn parse(spec: &str) -> Result<Self> {
        let mut parsed = Self::default();
        let mut rest = parsed.take_align(spec);
        let mut take = |accepted_chars: &[char]| {
            let next_char = rest.chars().next().filter(|next| accepted_chars.contains(next))?;
            rest = &rest[next_char.len_utf8()..];
            Some(next_char)
        };
        parsed.sign = take(&['+', '-', ' ']);
        parsed.positive_zero = take(&['z']).is_some();
        parsed.alternate = take(&['#']).is_some();
        parsed.zero = parsed.fill.is_none() && take(&['0']).is_some();
        let (width, after) = number(rest)?;
        parsed.width = width.unwrap_or(0);
        rest = after;
        if let Some(after) = rest.strip_prefix([',', '_']) {
            parsed.grouping = rest.chars().next();
            if after.starts_with([',', '_']) {
                return Err(Error::runtime("a format allows only one kind of grouping"));
            }
            rest = after;
        }
        if let Some(after) = rest.strip_prefix('.') {
            let (precision, after) = number(after)?;
            parsed.precision =
                Some(precision.ok_or_else(|| Error::runtime("missing number after the point of a format"))?);
            rest = after;
        }
        let mut conversion = rest.chars();
        parsed.conversion = conversion.next();
        if conversion.next().is_some() {
            return Err(Error::runtime(format!("malformed format specification `{spec}`")));
        }
        Ok(parsed)
    }

    fn take_align<'s>(&mut self, spec: &'s str) -> &'s str {
        let mut characters = spec.chars();
        let (first, second) = (characters.next(), characters.next());
        if let (Some(fill), Some(align)) = (first, second.and_then(align_of)) {
            self.fill = Some(fill);
            self.align = Some(align);
            return characters.as_str();
        }
        if let Some(align) = first.and_then(align_of) {
            self.align = Some(align);
            return &spec[1..];
        }
        spec
    }

    fn field(self, default: Align) -> Field {
        let zeros = self.zero && self.align.is_none() && default == Align::Right;
        Field {
            width: self.width,
            fill: self.fill.unwrap_or(if self.zero { '0' } else { ' ' }),
            align: self.align.unwrap_or(if zeros { Align::AfterSign } else { default }),
        }
    }

    /// Appends a number whose integer digits may be grouped, followed by `tail`.
    fn push_number(
        self,
        text: &mut Text<'_>,
        sign: &str,
        whole: &str,
        tail: &str,
        group: usize,
    ) -> Result<()> {
        let field = self.field(Align::Right);
        let Some(separator) = self.grouping else {
            return push_field(text, field, sign, &[whole, tail].concat());
        };
        let zeros = field.fill == '0' && field.align == Align::AfterSign;
        let width = if zeros { field.width.saturating_sub(sign.len() + tail.len()) } else { 0 };
        text.budget().check_fill(width)?;
        let whole = group_digits(whole, separator, group, width);
        push_field(text, field, sign, &[&whole, tail].concat())
    }
}

fn align_of(character: char) -> Option<Align> {
    Some(match character {
        '<' => Align::Left,
        '>' => Align::Right,
        '^' => Align::Center,
        '=' => Align::AfterSign,
        _ => return None,
    })
}

/// Parses a number at the start of a text; returns the rest too.
fn number(text: &str) -> Result<(Option<usize>, &str)> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    if end == 0 {
        return Ok((None, text));
    }
    let number: i64 = text[..end].parse().map_err(|_| Error::runtime("a number of a format is too large"))?;
    Ok((Some(usize::try_from(number).unwrap_or(usize::MAX)), &text[end..]))
}

fn push_string(cx: &Context<'_, '_>, string: &str, spec: Spec, text: &mut Text<'_>) -> Result<()> {
    match spec {
        Spec { conversion: Some(conversion), .. } if conversion != 's' => {
            return Err(Error::runtime(format!("unknown format `{conversion}` for str")));
        }
        Spec { sign: Some(_), .. } => return Err(not_allowed("a sign", "text")),
        Spec { positive_zero: true, .. } => return Err(not_allowed("`z`", "text")),
        Spec { alternate: true, .. } => return Err(not_allowed("`#`", "text")),
        Spec { grouping: Some(_), .. } => return Err(not_allowed("groups", "text")),
        Spec { align: Some(Align::AfterSign), .. } => return Err(not_allowed("the alignment `=`", "text")),
        _ => {}
    }
    cx.heap.budget().step_bytes(string.len())?;
    push_field(text, spec.field(Align::Left), "", first_characters(string, spec.precision))
}

/// The first `count` characters of a text.
pub(super) fn first_characters(text: &str, count: Option<usize>) -> &str {
    match count.and_then(|count| text.char_indices().nth(count)) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}

fn push_int(int: i128, spec: Spec, text: &mut Text<'_>) -> Result<()> {
    let conversion = spec.conversion.unwrap_or('d');
    if spec.precision.is_some() {
        return Err(not_allowed("a precision", "an integer"));
    }
    if spec.positive_zero {
        return Err(not_allowed("`z`", "an integer"));
    }
    if conversion == 'c' {
        return push_character(int, spec, text);
    }
    let decimal = matches!(conversion, 'd' | 'n');
    match spec.grouping {
        Some(_) if conversion == 'n' => return Err(not_allowed("groups", "the type `n`")),
        Some(',') if !decimal => return Err(not_allowed("groups by `,`", "this base")),
        _ => {}
    }
    let prefix = match conversion {
        'b' | 'o' | 'x' | 'X' if spec.alternate => format!("0{conversion}"),
        _ => String::new(),
    };
    let sign = [sign(int < 0, spec.sign), &prefix].concat();
    let digits = int_digits(int.unsigned_abs(), conversion);
    spec.push_number(text, &sign, &digits, "", if decimal { 3 } else { 4 })
}

fn push_character(int: i128, spec: Spec, text: &mut Text<'_>) -> Result<()> {
    if spec.sign.is_some() || spec.alternate || spec.grouping.is_some() {
        return Err(not_allowed("a sign, `#` or groups", "a character"));
    }
    let character = u32::try_from(int).ok().and_then(char::from_u32);
    let character = character.ok_or_else(|| Error::runtime(format!("{int} is not a character")))?;
    // Right-aligned, because Python formats it as a number.
    push_field(text, spec.field(Align::Right), "", character.encode_utf8(&mut [0; 4]))
}

fn push_float(cx: &Context<'_, '_>, float: f64, spec: Spec, text: &mut Text<'_>) -> Result<()> {
    let budget = cx.heap.budget();
    let conversion = spec.conversion.unwrap_or(' ');
    if conversion == 'n' && spec.grouping.is_some() {
        return Err(not_allowed("groups", "the type `n`"));
    }
    let value = if conversion == '%' { float * 100.0 } else { float };
    let notation = match conversion {
        'e' | 'E' => Notation::Scientific,
        'f' | 'F' | '%' => Notation::Fixed,
        'g' | 'G' | 'n' => Notation::General,
        _ => Notation::GeneralWithPoint,
    };
    let mut number_text = match (spec.conversion, spec.precision) {
        (None, None) => shortest(value.abs(), spec.alternate),
        (_, precision) => digits(budget, value, notation, precision.unwrap_or(6), spec.alternate)?,
    };
    if matches!(conversion, 'E' | 'F' | 'G') {
        number_text.make_ascii_uppercase();
    }
    if conversion == '%' {
        number_text.push('%');
    }
    let vanished =
        spec.positive_zero && !number_text.bytes().any(|byte| matches!(byte, b'1'..=b'9' | b'i' | b'n'));
    let negative = value.is_sign_negative() && !value.is_nan() && !vanished;
    let whole = number_text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(number_text.len());
    let (whole, tail) = number_text.split_at(whole);
    if whole.is_empty() {
        // Infinity and NaN have no digits to group.
        let plain = Spec { grouping: None, ..spec };
        return plain.push_number(text, sign(negative, spec.sign), "", tail, 3);
    }
    spec.push_number(text, sign(negative, spec.sign), whole, tail, 3)
}

/// The fewest digits that identify the float.
fn shortest(float: f64, alternate: bool) -> String {
    let mut number_text = String::with_capacity(24);
    hinagata_value::write_float_repr(float, &mut number_text);
    if alternate && float.is_finite() && !number_text.contains('.') {
        let exponent = number_text.find('e').unwrap_or(number_text.len());
        number_text.insert(exponent, '.');
    }
    number_text
}
