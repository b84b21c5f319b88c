//! Number and character literals, and the values they may have.
//!
//! A literal can have several types: `1e3` is a float and also the integer 1000. The type of the parameter
//! decides. Without one, the spelling does: see [`Number::ideal`].

use super::{float, quote};

/// A number literal with every value it can be read as.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Number {
    /// The literal as it was written.
    pub(crate) text: Box<str>,
    /// The value as a signed integer, if it has one.
    pub(crate) int: Option<i64>,
    /// The value as a float, if it has one.
    pub(crate) float: Option<f64>,
    /// Real and imaginary part of a literal that ends in `i`.
    pub(crate) complex: Option<(f64, f64)>,
}

/// The value of a literal where no parameter type decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ideal {
    /// An `int`.
    Int(i64),
    /// A `float64`.
    Float(f64),
    /// A `complex128`.
    Complex(f64, f64),
    /// An integer beyond 64 bits with sign: an error when it is used.
    Overflow,
}

/// How the lexer classified a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One number, perhaps imaginary.
    Plain,
    /// Two numbers: `1+2i`.
    Complex,
    /// A character in single quotes.
    Char,
}

impl Number {
    /// Reads a literal.
    ///
    /// # Errors
    /// Go's message about the invalid literal.
    pub(crate) fn parse(text: &str, form: Form) -> Result<Self, String> {
        match form {
            Form::Char => Self::from_char(text),
            Form::Complex => scan_complex(text).map(|(re, im)| Self::from_complex(text, re, im)),
            Form::Plain => Self::from_plain(text),
        }
    }

    fn from_char(text: &str) -> Result<Self, String> {
        let (code, tail) = quote::unquote_char(&text[1..]).ok_or("invalid syntax")?;
        if tail != "'" {
            return Err(format!("malformed character constant: {text}"));
        }
        let int = Some(i64::from(code));
        Ok(Self { text: text.into(), int, float: Some(f64::from(code)), complex: None })
    }

    fn from_complex(text: &str, re: f64, im: f64) -> Self {
        let float = (im == 0.0).then_some(re);
        Self { text: text.into(), int: float.and_then(exact_int), float, complex: Some((re, im)) }
    }

    fn from_plain(text: &str) -> Result<Self, String> {
        if let Some(imaginary) = text.strip_suffix('i').and_then(|part| parse_float(part).ok()) {
            return Ok(Self::from_complex(text, 0.0, imaginary));
        }
        let unsigned = parse_unsigned(text);
        if let Some(int) = parse_signed(text) {
            return Ok(Self { text: text.into(), int: Some(int), float: Some(int as f64), complex: None });
        }
        if let Some(uint) = unsigned {
            return Ok(Self { text: text.into(), int: None, float: Some(uint as f64), complex: None });
        }
        match parse_float(text) {
            Ok(_) if !has_float_mark(text) => Err(format!("integer overflow: {}", quote::quote_text(text))),
            Ok(float) => {
                Ok(Self { text: text.into(), int: exact_int(float), float: Some(float), complex: None })
            }
            Err(_) => Err(format!("illegal number syntax: {}", quote::quote_text(text))),
        }
    }

    /// The value where no parameter type decides.
    pub(crate) fn ideal(&self) -> Ideal {
        if let Some((re, im)) = self.complex {
            return Ideal::Complex(re, im);
        }
        let integer_form = is_hex_integer(&self.text) || self.text.starts_with('\'');
        match (self.float, self.int) {
            (Some(float), _) if !integer_form && has_float_mark(&self.text) => Ideal::Float(float),
            (_, Some(int)) => Ideal::Int(int),
            _ => Ideal::Overflow,
        }
    }
}

/// Whether the spelling makes a number a float. As in Go, the `e` of `-0x1e3` does.
fn has_float_mark(text: &str) -> bool {
    text.contains(['.', 'e', 'E', 'p', 'P'])
}

fn is_hex_integer(text: &str) -> bool {
    text.len() > 2 && (text.starts_with("0x") || text.starts_with("0X")) && !text.contains(['p', 'P'])
}

/// The integer that is equal to `float`.
fn exact_int(float: f64) -> Option<i64> {
    // Beyond this range the conversion is not exact, even if the rounded result is equal.
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    let int = float as i64;
    ((-LIMIT..LIMIT).contains(&float) && int as f64 == float).then_some(int)
}

fn parse_signed(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let magnitude = i128::from(parse_unsigned(digits)?);
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

fn parse_unsigned(text: &str) -> Option<u64> {
    let bytes = text.as_bytes();
    let (radix, digits) = match (bytes.first()?, bytes.get(1).map(u8::to_ascii_lowercase)) {
        (b'0', Some(b'b')) if bytes.len() > 2 => (2, &bytes[2..]),
        (b'0', Some(b'o')) if bytes.len() > 2 => (8, &bytes[2..]),
        (b'0', Some(b'x')) if bytes.len() > 2 => (16, &bytes[2..]),
        (b'0', _) => (8, &bytes[1..]),
        _ => (10, bytes),
    };
    let mut value = 0_u64;
    for &digit in digits.iter().filter(|&&byte| byte != b'_') {
        let digit = char::from(digit).to_digit(radix)?;
        value = value.checked_mul(u64::from(radix))?.checked_add(u64::from(digit))?;
    }
    underscores_are_placed_well(text).then_some(value)
}

/// Whether all underscores are between digits, or between the base prefix and a digit.
fn underscores_are_placed_well(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let prefix = unsigned.get(..2).map(str::to_ascii_lowercase);
    let hex = prefix.as_deref() == Some("0x");
    let (body, mut before_is_digit) = match prefix.as_deref() {
        Some("0x" | "0o" | "0b") => (&unsigned[2..], true),
        _ => (unsigned, false),
    };
    let mut after_underscore = false;
    for byte in body.bytes() {
        let digit = byte.is_ascii_digit() || hex && byte.is_ascii_hexdigit();
        let fits = match byte {
            b'_' => before_is_digit,
            _ => digit || !after_underscore,
        };
        if !fits {
            return false;
        }
        (before_is_digit, after_underscore) = (digit, byte == b'_');
    }
    !after_underscore
}

/// Why a float literal is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadFloat {
    /// Not the syntax of a float.
    Syntax,
    /// Too large for 64 bits.
    Range,
}

/// Reads a decimal or hexadecimal float, rounded correctly.
pub(crate) fn parse_float(text: &str) -> Result<f64, BadFloat> {
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let hex = unsigned.len() > 2 && unsigned.as_bytes()[..2].eq_ignore_ascii_case(b"0x");
    let magnitude = if hex { parse_hex_float(&unsigned[2..])? } else { parse_decimal_float(unsigned)? };
    if !underscores_are_placed_well(text) {
        return Err(BadFloat::Syntax);
    }
    if magnitude.is_infinite() {
        return Err(BadFloat::Range);
    }
    Ok(if negative { -magnitude } else { magnitude })
}

/// The parts of a float literal without its sign and prefix.
struct FloatParts {
    /// Digits of the mantissa without point and underscores.
    digits: String,
    /// Number of digits after the point.
    fraction: i64,
    exponent: Option<i64>,
}

fn float_parts(text: &str, hex: bool) -> Option<FloatParts> {
    let mut parts = FloatParts { digits: String::with_capacity(text.len()), fraction: 0, exponent: None };
    let mut seen_point = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'_' => {}
            b'.' if !seen_point => seen_point = true,
            _ if byte.is_ascii_digit() || hex && byte.is_ascii_hexdigit() => {
                parts.digits.push(char::from(byte));
                parts.fraction += i64::from(seen_point);
            }
            b'e' | b'E' if !hex => return finish_exponent(parts, &text.as_bytes()[at + 1..]),
            b'p' | b'P' if hex => return finish_exponent(parts, &text.as_bytes()[at + 1..]),
            _ => return None,
        }
    }
    (!parts.digits.is_empty()).then_some(parts)
}

fn finish_exponent(mut parts: FloatParts, text: &[u8]) -> Option<FloatParts> {
    let (negative, digits) = match text.first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if !digits.first()?.is_ascii_digit() || parts.digits.is_empty() {
        return None;
    }
    let mut exponent = 0_i64;
    for &byte in digits.iter().filter(|&&byte| byte != b'_') {
        if !byte.is_ascii_digit() {
            return None;
        }
        // Beyond this every mantissa under- or overflows.
        exponent = (exponent * 10 + i64::from(byte - b'0')).min(1 << 40);
    }
    parts.exponent = Some(if negative { -exponent } else { exponent });
    Some(parts)
}

fn parse_decimal_float(text: &str) -> Result<f64, BadFloat> {
    let parts = float_parts(text, false).ok_or(BadFloat::Syntax)?;
    let exponent = parts.exponent.unwrap_or(0) - parts.fraction;
    format!("{}e{exponent}", parts.digits).parse().map_err(|_| BadFloat::Syntax)
}

fn parse_hex_float(text: &str) -> Result<f64, BadFloat> {
    let parts = float_parts(text, true).ok_or(BadFloat::Syntax)?;
    let exponent = parts.exponent.ok_or(BadFloat::Syntax)?;
    let mut mantissa = 0_u64;
    let mut dropped = 0_i64;
    let mut sticky = false;
    for digit in parts.digits.chars().filter_map(|digit| digit.to_digit(16)) {
        if mantissa >> 60 == 0 {
            mantissa = mantissa << 4 | u64::from(digit);
        } else {
            dropped += 1;
            sticky |= digit != 0;
        }
    }
    let exponent = exponent - 4 * parts.fraction + 4 * dropped;
    Ok(float::scale_mantissa(mantissa | u64::from(sticky), exponent))
}

/// Parses `1+2i` as Go's scanner for complex numbers does, with the same messages.
fn scan_complex(text: &str) -> Result<(f64, f64), String> {
    const MALFORMED: &str = "syntax error scanning complex number";
    let mut rest = text.as_bytes();
    let real = float_token(&mut rest);
    let sign = accept(&mut rest, b"+-").ok_or(MALFORMED)?;
    let imaginary = float_token(&mut rest);
    accept(&mut rest, b"i").ok_or(MALFORMED)?;
    let imaginary = format!("{}{imaginary}", char::from(sign));
    Ok((scan_float(&real)?, scan_float(&imaginary)?))
}

fn scan_float(text: &str) -> Result<f64, String> {
    parse_float(text).map_err(|bad| {
        let why = match bad {
            BadFloat::Syntax => "invalid syntax",
            BadFloat::Range => "value out of range",
        };
        format!("strconv.ParseFloat: parsing {}: {why}", quote::quote_text(text))
    })
}

fn accept(rest: &mut &[u8], set: &[u8]) -> Option<u8> {
    let (&first, tail) = rest.split_first()?;
    set.contains(&first).then(|| {
        *rest = tail;
        first
    })
}

/// Takes a float from the front of `rest`, without checking that it is valid.
fn float_token(rest: &mut &[u8]) -> String {
    const DECIMAL: &[u8] = b"0123456789_";
    let mut token = String::new();
    let mut take = |rest: &mut &[u8], set: &[u8]| {
        let taken = accept(rest, set);
        token.extend(taken.map(char::from));
        taken.is_some()
    };
    take(rest, b"+-");
    // Go's scanner looks for `Inf` here and keeps the characters even if they are something else.
    if take(rest, b"iI") && take(rest, b"nN") && take(rest, b"fF") {
        return token;
    }
    let hex = take(rest, b"0") && take(rest, b"xX");
    let digits = if hex { b"0123456789_aAbBcCdDeEfF" } else { DECIMAL };
    while take(rest, digits) {}
    if take(rest, b".") {
        while take(rest, digits) {}
    }
    if take(rest, if hex { b"pP" } else { b"eEpP" }) {
        take(rest, b"+-");
        while take(rest, DECIMAL) {}
    }
    token
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Result<Ideal, String> {
        Number::parse(text, Form::Plain).map(|number| number.ideal())
    }

    #[test]
    fn the_spelling_decides_the_type() {
        for (text, ideal) in [
            ("12_345", Ideal::Int(12345)),
            ("0x_dead_beef", Ideal::Int(0xdead_beef)),
            ("0755", Ideal::Int(493)),
            ("0_17", Ideal::Int(15)),
            ("-0x10", Ideal::Int(-16)),
            ("-0x1e3", Ideal::Float(-483.0)),
            ("0x1e3", Ideal::Int(483)),
            ("0X1.FP+3", Ideal::Float(15.5)),
            ("089.5", Ideal::Float(89.5)),
            ("4.", Ideal::Float(4.0)),
            ("1e-400", Ideal::Float(0.0)),
            ("1.5i", Ideal::Complex(0.0, 1.5)),
            ("9223372036854775808", Ideal::Overflow),
            ("-9223372036854775808", Ideal::Int(i64::MIN)),
        ] {
            assert_eq!(plain(text), Ok(ideal), "{text}");
        }
        assert_eq!(Number::parse("1e3", Form::Plain).expect("is right").int, Some(1000));
    }

    #[test]
    fn wrong_literals_are_named_as_go_names_them() {
        for text in ["0x", "1__0", "10_", "1e", "0x1.5", "1e400", "+", "0x1e3i"] {
            assert_eq!(plain(text), Err(format!("illegal number syntax: {text:?}")));
        }
        for text in ["18446744073709551616", "089", "-9223372036854775809"] {
            assert_eq!(plain(text), Err(format!("integer overflow: {text:?}")));
        }
        let complex = |text| Number::parse(text, Form::Complex).expect_err("is wrong");
        assert_eq!(complex("1+i"), "syntax error scanning complex number");
        assert_eq!(complex("0b1+2i"), "syntax error scanning complex number");
        assert_eq!(complex("+-1i"), "strconv.ParseFloat: parsing \"+\": invalid syntax");
        assert_eq!(complex("1e400+1i"), "strconv.ParseFloat: parsing \"1e400\": value out of range");
    }

    #[test]
    fn hexadecimal_floats_are_rounded_once() {
        assert_eq!(parse_float("0x1.fffffffffffff8p0"), Ok(2.0));
        assert_eq!(parse_float("0x1.fffffffffffff7p0"), Ok(1.999_999_999_999_999_8));
        assert_eq!(parse_float("0x1.00000000000008000000000000001p0"), Ok(1.000_000_000_000_000_2));
        assert_eq!(parse_float("0x1p-1074"), Ok(5e-324));
        assert_eq!(parse_float("0x1p-1075"), Ok(0.0));
        assert_eq!(parse_float("0x1.8p-1075"), Ok(5e-324));
        assert_eq!(parse_float("0x1p1024"), Err(BadFloat::Range));
        assert_eq!(parse_float("-0x.8p1"), Ok(-1.0));
    }
}
