//! Formats scalars with flags, width and precision.

use hinagata_value::Result;

use super::sink::Sink;
use crate::text::{
    float::{self, Layout},
    quote::{self, Keep},
    unicode::is_print,
    utf8,
};

/// The part of a directive between `%` and the verb.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spec {
    pub(crate) width: Option<usize>,
    pub(crate) precision: Option<usize>,
    pub(crate) minus: bool,
    pub(crate) plus: bool,
    pub(crate) sharp: bool,
    pub(crate) space: bool,
    pub(crate) zero: bool,
    /// `%#v`: the value as Go source.
    pub(crate) sharp_v: bool,
}

/// The base of a printed integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Binary,
    Octal,
    /// Octal with the prefix `0o`.
    PrefixedOctal,
    Decimal,
    Hex,
    UpperHex,
}

const SPACES: &str = "                                                                ";
const ZEROS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

impl Spec {
    /// Adapts the flags to the verb `v`: `#` means Go syntax, `+` has no effect.
    pub(crate) fn use_default_verb(&mut self) {
        self.sharp_v = std::mem::take(&mut self.sharp);
        self.plus = false;
    }

    fn write_fill(&self, sink: &mut impl Sink, count: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        sink.budget().check_fill(count)?;
        let run = if self.zero && !self.minus { ZEROS } else { SPACES };
        let mut left = count;
        while left > 0 {
            let part = left.min(run.len());
            sink.write_text(&run[..part])?;
            left -= part;
        }
        Ok(())
    }

    /// Writes `text`, padded to the width.
    pub(crate) fn write_padded(&self, sink: &mut impl Sink, text: &[u8]) -> Result<()> {
        let missing = match self.width {
            None | Some(0) => return sink.write_bytes(text),
            Some(width) => width.saturating_sub(utf8::count_runes(text)),
        };
        if !self.minus {
            self.write_fill(sink, missing)?;
        }
        sink.write_bytes(text)?;
        if self.minus {
            self.write_fill(sink, missing)?;
        }
        Ok(())
    }

    fn without_zero(&self) -> Self {
        Self { zero: false, ..*self }
    }

    fn truncated<'t>(&self, sink: &impl Sink, text: &'t [u8]) -> Result<&'t [u8]> {
        let Some(limit) = self.precision.filter(|&limit| limit < text.len()) else { return Ok(text) };
        sink.budget().charge_steps(limit as u64 >> 3)?;
        Ok(utf8::truncate_runes(text, limit))
    }

    /// Writes a string with `%s`.
    #[inline]
    pub(crate) fn write_string(&self, sink: &mut impl Sink, text: &[u8]) -> Result<()> {
        self.write_padded(sink, self.truncated(sink, text)?)
    }

    /// Writes a string with `%q`.
    pub(crate) fn write_quoted(&self, sink: &mut impl Sink, text: &[u8]) -> Result<()> {
        let text = self.truncated(sink, text)?;
        // An escaped byte takes up to four bytes.
        let room = text.len().saturating_mul(4);
        sink.budget().charge_bytes(room)?;
        let result = self.write_quoted_unmetered(sink, text);
        sink.budget().release_bytes(room);
        result
    }

    fn write_quoted_unmetered(&self, sink: &mut impl Sink, text: &[u8]) -> Result<()> {
        sink.budget().charge_steps(text.len() as u64 >> 4)?;
        let mut quoted = Vec::with_capacity(text.len() + 2);
        if self.sharp && quote::can_backquote(text) {
            quoted.push(b'`');
            quoted.extend_from_slice(text);
            quoted.push(b'`');
        } else {
            quote::quote_into(&mut quoted, text, self.keep());
        }
        self.write_padded(sink, &quoted)
    }

    fn keep(&self) -> Keep {
        if self.plus { Keep::Ascii } else { Keep::Printable }
    }

    /// Writes a string with `%x` or `%X`.
    pub(crate) fn write_hex_string(&self, sink: &mut impl Sink, text: &[u8], upper: bool) -> Result<()> {
        let text = &text[..self.precision.unwrap_or(text.len()).min(text.len())];
        if text.is_empty() {
            return self.write_fill(sink, self.width.unwrap_or(0));
        }
        let room = text.len().saturating_mul(5);
        sink.budget().charge_bytes(room)?;
        let result = self.write_hex_unmetered(sink, text, upper);
        sink.budget().release_bytes(room);
        result
    }

    fn write_hex_unmetered(&self, sink: &mut impl Sink, text: &[u8], upper: bool) -> Result<()> {
        sink.budget().step_bytes(text.len().saturating_mul(5))?;
        let (digits, prefix) = alphabet(upper);
        let mut hex = Vec::with_capacity(text.len() * 2 + 2);
        for (at, &byte) in text.iter().enumerate() {
            if self.space && at > 0 {
                hex.push(b' ');
            }
            if self.sharp && (self.space || at == 0) {
                hex.extend([b'0', prefix]);
            }
            hex.extend([digits[usize::from(byte >> 4)], digits[usize::from(byte & 0xf)]]);
        }
        self.write_padded(sink, &hex)
    }

    /// Writes a boolean with `%t`.
    pub(crate) fn write_boolean(&self, sink: &mut impl Sink, value: bool) -> Result<()> {
        self.write_padded(sink, if value { b"true" } else { b"false" })
    }

    /// Writes an integer in a base.
    pub(crate) fn write_integer(&self, sink: &mut impl Sink, value: i128, base: Base) -> Result<()> {
        let magnitude = value.unsigned_abs() as u64;
        let sign = if value < 0 {
            Some(b'-')
        } else if self.plus {
            Some(b'+')
        } else {
            self.space.then_some(b' ')
        };
        if base == Base::Decimal && self.width.is_none() && self.precision.is_none() && sign.is_none() {
            return sink.write_text(itoa::Buffer::new().format(magnitude));
        }
        if self.precision == Some(0) && magnitude == 0 {
            return self.without_zero().write_fill(sink, self.width.unwrap_or(0));
        }
        let least = match (self.precision, self.width) {
            (Some(precision), _) => precision,
            (None, Some(width)) if self.zero && !self.minus => {
                width.saturating_sub(usize::from(sign.is_some()))
            }
            _ => 0,
        };
        sink.budget().check_fill(least)?;
        let mut digits = Vec::with_capacity(24);
        push_digits(&mut digits, magnitude, base);
        let mut text = Vec::with_capacity(least.max(digits.len()) + 4);
        text.extend(sign);
        let zeros = least.saturating_sub(digits.len());
        let leads_with_zero = zeros > 0 || digits.first() == Some(&b'0');
        self.push_prefix(&mut text, base, leads_with_zero);
        text.resize(text.len() + zeros, b'0');
        text.append(&mut digits);
        self.without_zero().write_padded(sink, &text)
    }

    fn push_prefix(&self, text: &mut Vec<u8>, base: Base, leads_with_zero: bool) {
        if base == Base::PrefixedOctal {
            text.extend(b"0o");
        }
        if self.sharp {
            match base {
                Base::Binary => text.extend(b"0b"),
                Base::Octal | Base::PrefixedOctal if !leads_with_zero => text.push(b'0'),
                Base::Hex => text.extend(b"0x"),
                Base::UpperHex => text.extend(b"0X"),
                _ => {}
            }
        }
    }

    /// Writes a character with `%c`.
    pub(crate) fn write_character(&self, sink: &mut impl Sink, code: i64) -> Result<()> {
        self.write_padded(sink, character(code).encode_utf8(&mut [0; 4]).as_bytes())
    }

    /// Writes the character with this code with `%q`.
    pub(crate) fn write_quoted_character(&self, sink: &mut impl Sink, code: i64) -> Result<()> {
        let mut quoted = Vec::with_capacity(12);
        quote::quote_char_into(&mut quoted, character(code), self.keep());
        self.write_padded(sink, &quoted)
    }

    /// Writes a code point with `%U`.
    pub(crate) fn write_unicode(&self, sink: &mut impl Sink, code: i64) -> Result<()> {
        let code = code as u64;
        let least = self.precision.unwrap_or(0).max(4);
        sink.budget().check_fill(least)?;
        let mut text = format!("U+{code:0>4X}").into_bytes();
        let missing = (least + 2).saturating_sub(text.len());
        text.splice(2..2, std::iter::repeat_n(b'0', missing));
        if self.sharp
            && let Some(c) = u32::try_from(code).ok().and_then(char::from_u32).filter(|&c| is_print(c))
        {
            text.extend(b" '");
            quote::push_char(&mut text, c);
            text.push(b'\'');
        }
        self.without_zero().write_padded(sink, &text)
    }

    /// Writes a float. `default` is the number of decimals if the directive has no precision.
    pub(crate) fn write_float(
        &self,
        sink: &mut impl Sink,
        value: f64,
        layout: Layout,
        upper: bool,
        default: Option<usize>,
    ) -> Result<()> {
        let precision = self.precision.or(default);
        sink.budget().check_fill(precision.unwrap_or(0))?;
        let digits = float::exact_digits(value, layout, precision);
        if digits > float::CHEAP {
            // Exact digits need long arithmetic. Their number is bounded.
            sink.budget().charge_steps(2 * digits as u64)?;
        }
        let mut text = Vec::with_capacity(32);
        // The text always starts with a sign, which may be removed below.
        if value.is_nan() || value.is_sign_positive() && value.is_finite() {
            text.push(b'+');
        }
        float::append_float(&mut text, value, layout, precision, upper);
        if self.space && !self.plus && text[0] == b'+' {
            text[0] = b' ';
        }
        if !value.is_finite() {
            let shown = if value.is_nan() && !self.space && !self.plus { &text[1..] } else { &text[..] };
            return self.without_zero().write_padded(sink, shown);
        }
        if self.sharp && layout != Layout::Binary {
            self.keep_zeros(&mut text, layout, upper, precision);
        }
        if !self.plus && text[0] == b'+' {
            return self.write_padded(sink, &text[1..]);
        }
        match self.width {
            Some(width) if self.zero && !self.minus && width > text.len() => {
                sink.write_bytes(&text[..1])?;
                self.write_fill(sink, width - text.len())?;
                sink.write_bytes(&text[1..])
            }
            _ => self.write_padded(sink, &text),
        }
    }

    /// `%#g` and the like: adds a decimal point, and trailing zeros up to the precision.
    fn keep_zeros(&self, text: &mut Vec<u8>, layout: Layout, upper: bool, precision: Option<usize>) {
        let mut digits = match layout {
            Layout::General => precision.unwrap_or(6),
            Layout::Hex if !upper => precision.unwrap_or(6),
            _ => 0,
        } as i64;
        let exponent_marks: &[u8] = if layout == Layout::Hex { b"pP" } else { b"pPeE" };
        let split = text[1..].iter().position(|byte| exponent_marks.contains(byte));
        let tail = split.map(|at| text.split_off(at + 1)).unwrap_or_default();
        let has_point = text.contains(&b'.');
        let significant =
            text[1..].iter().filter(|&&byte| byte != b'.').skip_while(|&&byte| byte == b'0').count();
        digits -= significant as i64;
        if !has_point {
            if text.len() == 2 && text[1] == b'0' {
                digits -= 1;
            }
            text.push(b'.');
        }
        text.resize(text.len() + usize::try_from(digits).unwrap_or(0), b'0');
        text.extend(tail);
    }
}

fn alphabet(upper: bool) -> (&'static [u8; 16], u8) {
    if upper { (b"0123456789ABCDEF", b'X') } else { (b"0123456789abcdef", b'x') }
}

fn push_digits(out: &mut Vec<u8>, value: u64, base: Base) {
    use std::io::Write as _;
    let written = match base {
        Base::Binary => write!(out, "{value:b}"),
        Base::Octal | Base::PrefixedOctal => write!(out, "{value:o}"),
        Base::Decimal => write!(out, "{value}"),
        Base::Hex => write!(out, "{value:x}"),
        Base::UpperHex => write!(out, "{value:X}"),
    };
    written.expect("a vector takes any text");
}

/// The character with this code, or U+FFFD if the code is invalid.
fn character(code: i64) -> char {
    u32::try_from(code).ok().and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER)
}
