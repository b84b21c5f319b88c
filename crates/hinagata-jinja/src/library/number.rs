//! Numbers as Python computes with them, and as it reads them from text.

use hinagata_value::{Error, Number, Result, Value};

use super::{
    arguments::integer_too_large,
    unicode::{decimal, is_space},
};

/// The integer of a value; true and false are 1 and 0.
#[inline]
pub(crate) fn as_int(value: &Value<'_>) -> Option<i128> {
    match value {
        Value::Int(int) => Some(i128::from(*int)),
        _ => match as_number(value)? {
            Number::Int(int) => Some(int),
            Number::Float(_) => None,
        },
    }
}

/// The number of a value; true and false are 1 and 0.
#[inline]
pub(crate) fn as_number(value: &Value<'_>) -> Option<Number> {
    value.as_number().or_else(|| value.as_bool().map(|flag| Number::Int(i128::from(flag))))
}

/// The error for dividing by zero.
#[cold]
pub(crate) fn division_by_zero() -> Error {
    Error::runtime("division by zero")
}

/// `a + b`.
///
/// # Errors
/// When the result has more than 128 bits.
pub(crate) fn add(a: Number, b: Number) -> Result<Number> {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => a.checked_add(b).map(Number::Int).ok_or_else(integer_too_large),
        _ => Ok(Number::Float(a.as_f64() + b.as_f64())),
    }
}

/// `a - b`.
///
/// # Errors
/// When the result has more than 128 bits.
pub(crate) fn subtract(a: Number, b: Number) -> Result<Number> {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => a.checked_sub(b).map(Number::Int).ok_or_else(integer_too_large),
        _ => Ok(Number::Float(a.as_f64() - b.as_f64())),
    }
}

/// `a * b`.
///
/// # Errors
/// When the result has more than 128 bits.
pub(crate) fn multiply(a: Number, b: Number) -> Result<Number> {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => a.checked_mul(b).map(Number::Int).ok_or_else(integer_too_large),
        _ => Ok(Number::Float(a.as_f64() * b.as_f64())),
    }
}

/// `a / b`, a float whatever the operands are.
///
/// # Errors
/// When `b` is zero.
pub(crate) fn divide(a: Number, b: Number) -> Result<Number> {
    if b.as_f64() == 0.0 {
        return Err(division_by_zero());
    }
    Ok(Number::Float(match (a, b) {
        (Number::Int(a), Number::Int(b)) => divide_ints(a, b),
        _ => a.as_f64() / b.as_f64(),
    }))
}

/// The float nearest to the quotient of two integers, however large they are.
fn divide_ints(a: i128, b: i128) -> f64 {
    const EXACT: u128 = 1 << 53;
    let (top, bottom) = (a.unsigned_abs(), b.unsigned_abs());
    if top <= EXACT && bottom <= EXACT {
        return a as f64 / b as f64;
    }
    // One rounding only: 64 bits of the quotient, the last of which says whether anything follows.
    let (mut quotient, mut rest) = (top / bottom, top % bottom);
    let mut exponent = 0_i32;
    while quotient >> 63 == 0 && rest != 0 {
        // The rest is below the divisor and that below 2^127, so doubling it cannot overflow.
        rest <<= 1;
        quotient = (quotient << 1) | u128::from(rest >= bottom);
        if rest >= bottom {
            rest -= bottom;
        }
        exponent -= 1;
    }
    let surplus = (128 - quotient.leading_zeros()).saturating_sub(64);
    let lost = quotient & ((1_u128 << surplus) - 1) != 0 || rest != 0;
    let rounded = ((quotient >> surplus) | u128::from(lost)) as f64;
    let float = rounded * 2_f64.powi(exponent + surplus.cast_signed());
    if (a < 0) == (b < 0) { float } else { -float }
}

/// `a // b`: the quotient rounded down.
///
/// # Errors
/// When `b` is zero, or the result has more than 128 bits.
pub(crate) fn floor_divide(a: Number, b: Number) -> Result<Number> {
    match (a, b) {
        (Number::Int(_), Number::Int(0)) => Err(division_by_zero()),
        (Number::Int(a), Number::Int(b)) => {
            let quotient = a.checked_div(b).ok_or_else(integer_too_large)?;
            let inexact = quotient.wrapping_mul(b) != a;
            Ok(Number::Int(if inexact && (a < 0) != (b < 0) { quotient - 1 } else { quotient }))
        }
        _ => divide_floats(a.as_f64(), b.as_f64()).map(|(quotient, _)| Number::Float(quotient)),
    }
}

/// `a % b`: the rest of the division rounded down, which has the sign of `b`.
///
/// # Errors
/// When `b` is zero.
pub(crate) fn remainder(a: Number, b: Number) -> Result<Number> {
    match (a, b) {
        (Number::Int(_), Number::Int(0)) => Err(division_by_zero()),
        (Number::Int(a), Number::Int(b)) => {
            let rest = a.wrapping_rem(b);
            Ok(Number::Int(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }))
        }
        _ => divide_floats(a.as_f64(), b.as_f64()).map(|(_, rest)| Number::Float(rest)),
    }
}

/// The quotient rounded down and the rest, for floats.
fn divide_floats(a: f64, b: f64) -> Result<(f64, f64)> {
    if b == 0.0 {
        return Err(division_by_zero());
    }
    let mut rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest == 0.0 {
        rest = 0.0_f64.copysign(b);
    } else if (b < 0.0) != (rest < 0.0) {
        rest += b;
        quotient -= 1.0;
    }
    let mut floor = quotient.floor();
    if quotient == 0.0 {
        floor = 0.0_f64.copysign(a / b);
    } else if quotient - floor > 0.5 {
        floor += 1.0;
    }
    Ok((floor, rest))
}

/// `a ** b`.
///
/// # Errors
/// When the result has more than 128 bits, is too large for a float or complex, or divides by zero.
pub(crate) fn power(a: Number, b: Number) -> Result<Number> {
    if let (Number::Int(base), Number::Int(exponent @ 0..)) = (a, b) {
        return power_ints(base, exponent).map(Number::Int);
    }
    let (base, exponent) = (a.as_f64(), b.as_f64());
    if base == 0.0 && exponent < 0.0 {
        return Err(Error::runtime("zero cannot be raised to a negative power"));
    }
    if base < 0.0 && base.is_finite() && exponent.is_finite() && exponent.fract() != 0.0 {
        return Err(Error::runtime("a negative number to a fractional power is a complex number"));
    }
    let result = base.powf(exponent);
    if result.is_infinite() && base.is_finite() && exponent.is_finite() {
        return Err(Error::runtime("the result of the power is too large"));
    }
    Ok(Number::Float(result))
}

fn power_ints(base: i128, exponent: i128) -> Result<i128> {
    match base {
        0 => Ok(i128::from(exponent == 0)),
        1 => Ok(1),
        -1 => Ok(if exponent % 2 == 0 { 1 } else { -1 }),
        _ => u32::try_from(exponent)
            .ok()
            .and_then(|exponent| base.checked_pow(exponent))
            .ok_or_else(integer_too_large),
    }
}

/// `-a`.
///
/// # Errors
/// When the result has more than 128 bits.
pub(crate) fn negate(a: Number) -> Result<Number> {
    match a {
        Number::Int(int) => int.checked_neg().map(Number::Int).ok_or_else(integer_too_large),
        Number::Float(float) => Ok(Number::Float(-float)),
    }
}

/// A float as the integer it is without its fraction.
///
/// # Errors
/// When it is infinite or no number, or has more than 128 bits.
pub(crate) fn truncate(float: f64) -> Result<i128> {
    if float.is_nan() {
        return Err(Error::runtime("a float that is no number has no integer"));
    }
    if float.is_infinite() {
        return Err(Error::runtime("an infinite float has no integer"));
    }
    // 2^127 is exact as a float; everything below it in size fits.
    if float.abs() >= 2_f64.powi(127) { Err(integer_too_large()) } else { Ok(float as i128) }
}

/// Why a text gave no integer.
#[derive(Debug)]
pub(crate) enum NotInt {
    /// It is not written as one.
    Malformed,
    /// It has more than 128 bits.
    TooLarge,
}

/// A text without the white space that Python allows around a number: all of Unicode's, except that
/// a text of ASCII alone has no separators among it.
fn trimmed(text: &str) -> &str {
    if text.is_ascii() {
        text.trim_matches(|character| matches!(character, ' ' | '\t'..='\r'))
    } else {
        text.trim_matches(is_space)
    }
}

/// Reads an integer as `int(text, base)` does: spaces around it, a sign, a prefix, `_` between
/// digits, digits of any script. A base of 0 takes the prefix for it.
///
/// # Errors
/// When the text is no integer of that base.
pub(crate) fn parse_int(text: &str, base: u32) -> Result<i128, NotInt> {
    let text = trimmed(text);
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (base, digits, prefixed) = without_prefix(digits, base);
    let mut value = Some(0_i128);
    let mut after_digit = prefixed;
    let mut any = false;
    for character in digits.chars() {
        if character == '_' {
            if !after_digit {
                return Err(NotInt::Malformed);
            }
            after_digit = false;
            continue;
        }
        let digit = digit_of(character).filter(|digit| *digit < base).ok_or(NotInt::Malformed)?;
        value = value.and_then(|value| {
            let shifted = value.checked_mul(i128::from(base))?;
            if negative {
                shifted.checked_sub(i128::from(digit))
            } else {
                shifted.checked_add(i128::from(digit))
            }
        });
        after_digit = true;
        any = true;
    }
    if !any || !after_digit {
        return Err(NotInt::Malformed);
    }
    value.ok_or(NotInt::TooLarge)
}

/// Takes the prefix of a base off; says the base, the rest, and whether there was one.
fn without_prefix(digits: &str, base: u32) -> (u32, &str, bool) {
    let prefixes = [(16, "0x", "0X"), (8, "0o", "0O"), (2, "0b", "0B")];
    for (prefix_base, lower, upper) in prefixes {
        if (base == prefix_base || base == 0)
            && let Some(rest) = digits.strip_prefix(lower).or_else(|| digits.strip_prefix(upper))
        {
            return (prefix_base, rest, true);
        }
    }
    if base == 0 {
        // Without a prefix a leading zero means nothing but zero: anything else was octal once.
        let zeros_only = digits.chars().all(|character| matches!(character, '0' | '_'));
        let base = if digits.starts_with('0') && !zeros_only { 1 } else { 10 };
        return (base, digits, false);
    }
    (base, digits, false)
}

fn digit_of(character: char) -> Option<u32> {
    character.to_digit(36).or_else(|| decimal(character))
}

/// Reads a float as `float(text)` does; `None` when the text is none.
pub(crate) fn parse_float(text: &str) -> Option<f64> {
    let text = trimmed(text);
    let mut plain = String::with_capacity(text.len());
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        if character == '_' {
            let after = text[at + 1..].chars().next();
            let between = decimal(before).is_some() && after.is_some_and(|after| decimal(after).is_some());
            if !between {
                return None;
            }
        } else {
            match decimal(character) {
                Some(digit) => plain.push(char::from_digit(digit, 10)?),
                None if character.is_ascii() => plain.push(character.to_ascii_lowercase()),
                None => return None,
            }
        }
        before = character;
    }
    let unsigned = plain.strip_prefix(['+', '-']).unwrap_or(&plain);
    let named = matches!(unsigned, "inf" | "infinity" | "nan");
    if !named && !unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    plain.parse().ok()
}

/// Rounds a float to `digits` places behind the point, the even neighbour where two are as near.
///
/// The decision is made on the exact decimal value, so 2.675 becomes 2.67.
pub(crate) fn round_float(float: f64, digits: i64) -> f64 {
    if !float.is_finite() || float == 0.0 {
        return float;
    }
    if digits >= 0 {
        // More places than a float has change nothing.
        let places = usize::try_from(digits).unwrap_or(usize::MAX);
        if places > 323 {
            return float;
        }
        return format!("{float:.places$}").parse().unwrap_or(float);
    }
    // Left of the point: exact as an integer up to 2^127, far beyond which a float has no digits.
    let places = digits.unsigned_abs();
    if places > 308 {
        return 0.0_f64.copysign(float);
    }
    let text = format!("{:.0}", float.abs().trunc());
    let rounded = round_digits(&text, places as usize, float.abs().fract() != 0.0);
    let value: f64 = rounded.parse().unwrap_or(float.abs());
    value.copysign(float)
}

/// Rounds decimal digits to a multiple of `10^places`; `more` says whether a fraction follows.
fn round_digits(digits: &str, places: usize, more: bool) -> String {
    let keep = digits.len().saturating_sub(places);
    let (head, tail) = digits.split_at(keep);
    let padded = format!("{}{tail}", "0".repeat(places - tail.len()));
    let half = format!("5{}", "0".repeat(places - 1));
    let odd = head.bytes().last().is_some_and(|digit| (digit - b'0') % 2 == 1);
    let up = match padded.as_str().cmp(half.as_str()) {
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Equal => more || odd,
        std::cmp::Ordering::Less => false,
    };
    let head = if up { increment(head) } else { head.to_owned() };
    let head = if head.is_empty() { "0".to_owned() } else { head };
    format!("{head}{}", "0".repeat(places))
}

/// One more than the number written by these digits.
fn increment(digits: &str) -> String {
    let mut bytes = digits.as_bytes().to_vec();
    for byte in bytes.iter_mut().rev() {
        if *byte < b'9' {
            *byte += 1;
            return String::from_utf8(bytes).unwrap_or_default();
        }
        *byte = b'0';
    }
    format!("1{}", String::from_utf8(bytes).unwrap_or_default())
}

/// Rounds an integer to `digits` places; to the even neighbour where two are as near.
///
/// # Errors
/// When the result has more than 128 bits.
pub(crate) fn round_int(int: i128, digits: i64) -> Result<i128> {
    let places = match u32::try_from(digits.min(0).unsigned_abs()) {
        Ok(0) => return Ok(int),
        Ok(places @ ..=38) => places,
        _ => return Ok(0),
    };
    let unit = 10_i128.pow(places);
    let floor = int.div_euclid(unit);
    let rest = int.rem_euclid(unit);
    let up = rest > unit - rest || (rest == unit - rest && floor % 2 != 0);
    (floor + i128::from(up)).checked_mul(unit).ok_or_else(integer_too_large)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_python_reads_them() {
        for (text, base, expected) in [
            ("42", 10, Some(42)),
            (" \t-7\n", 10, Some(-7)),
            ("+5", 10, Some(5)),
            ("1_000", 10, Some(1000)),
            ("1__0", 10, None),
            ("_1", 10, None),
            ("1_", 10, None),
            ("", 10, None),
            ("-", 10, None),
            ("１２", 10, Some(12)),
            ("٣", 10, Some(3)),
            ("ff", 16, Some(255)),
            ("0xff", 16, Some(255)),
            ("0x_f", 16, Some(15)),
            ("0xff", 10, None),
            ("0b11", 2, Some(3)),
            ("0o17", 8, Some(15)),
            ("0x1f", 0, Some(31)),
            ("010", 0, None),
            ("0", 0, Some(0)),
            ("00", 0, Some(0)),
            ("12", 0, Some(12)),
            ("z", 36, Some(35)),
            ("3.7", 10, None),
            ("- 5", 10, None),
            ("170141183460469231731687303715884105727", 10, Some(i128::MAX)),
            ("-170141183460469231731687303715884105728", 10, Some(i128::MIN)),
        ] {
            assert_eq!(parse_int(text, base).ok(), expected, "{text} in base {base}");
        }
        assert!(matches!(parse_int(&"9".repeat(40), 10), Err(NotInt::TooLarge)));
    }

    #[test]
    fn floats_are_read_as_python_reads_them() {
        for (text, expected) in [
            ("1.5", Some(1.5)),
            (" 2 ", Some(2.0)),
            ("1e-3", Some(0.001)),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            ("-inf", Some(f64::NEG_INFINITY)),
            ("Infinity", Some(f64::INFINITY)),
            ("1_000.5", Some(1000.5)),
            ("1_.5", None),
            ("abc", None),
            ("", None),
            (".", None),
            ("1e", None),
            ("infinit", None),
            ("１.５", Some(1.5)),
        ] {
            assert_eq!(parse_float(text), expected, "{text}");
        }
        assert!(parse_float("nan").is_some_and(f64::is_nan));
    }

    #[test]
    fn rounding_is_exact_and_to_even() {
        for (float, digits, expected) in [
            (2.5, 0, 2.0),
            (3.5, 0, 4.0),
            (-2.5, 0, -2.0),
            (2.675, 2, 2.67),
            (42.55, 1, 42.5),
            (-2.567, 2, -2.57),
            (1250.0, -2, 1200.0),
            (1350.0, -2, 1400.0),
            (1250.5, -2, 1300.0),
            (49.9, -2, 0.0),
            (50.0, -2, 0.0),
            (50.1, -2, 100.0),
            (950.0, -2, 1000.0),
            (1e-7, 3, 0.0),
            (1e300, 5, 1e300),
            (1.5, 400, 1.5),
            (123.0, -400, 0.0),
        ] {
            assert_eq!(round_float(float, digits), expected, "{float} to {digits}");
        }
        assert_eq!(round_int(1234, -2).ok(), Some(1200));
        assert_eq!(round_int(1250, -2).ok(), Some(1200));
        assert_eq!(round_int(1350, -2).ok(), Some(1400));
        assert_eq!(round_int(-1250, -2).ok(), Some(-1200));
        assert_eq!(round_int(5, -1).ok(), Some(0));
        assert_eq!(round_int(15, -1).ok(), Some(20));
        assert_eq!(round_int(7, 3).ok(), Some(7));
    }

    #[test]
    fn large_quotients_are_rounded_once() {
        assert_eq!(divide_ints(9_007_199_254_740_993, 1), 9_007_199_254_740_992.0);
        assert_eq!(divide_ints(i128::MAX, 3), 5.671_372_782_015_641e37);
        assert_eq!(divide_ints(1, i128::MAX), 5.877_471_754_111_438e-39);
        assert_eq!(divide_ints(i128::MIN, -1), 1.701_411_834_604_692_3e38);
        assert_eq!(divide_ints(10_i128.pow(30), 7), 1.428_571_428_571_428_5e29);
    }

    #[test]
    fn division_rounds_down() {
        let int = |result: Result<Number>| match result {
            Ok(Number::Int(int)) => int,
            other => panic!("{other:?}"),
        };
        for (a, b, quotient, rest) in
            [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (6, 3, 2, 0)]
        {
            assert_eq!(int(floor_divide(Number::Int(a), Number::Int(b))), quotient);
            assert_eq!(int(remainder(Number::Int(a), Number::Int(b))), rest);
        }
        assert!(floor_divide(Number::Int(i128::MIN), Number::Int(-1)).is_err());
        assert_eq!(int(remainder(Number::Int(i128::MIN), Number::Int(-1))), 0);
        for (a, b, quotient, rest) in
            [(7.5, 2.0, 3.0, 1.5), (-7.5, 2.0, -4.0, 0.5), (-0.5, 2.0, -1.0, 1.5), (10.0, 3.5, 2.0, 3.0)]
        {
            assert_eq!(divide_floats(a, b).ok(), Some((quotient, rest)));
        }
    }
}
