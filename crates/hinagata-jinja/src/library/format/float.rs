//! The digits of floats in fixed, scientific and general notation, exact to any number of places.

use hinagata_value::{Budget, Result};

/// A float has only zeros after this many digits; further zeros are appended without computing them.
const MAX_FLOAT_DIGITS: usize = 1100;

/// The notation of a float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Notation {
    /// `1234.500000`
    Fixed,
    /// `1.234500e+03`
    Scientific,
    /// The shorter of both, without trailing zeros.
    General,
    /// As general, but fixed notation always has a digit after the point.
    GeneralWithPoint,
}

/// The text of a float without its sign, in lower case.
///
/// `alternate` keeps a point and zeros that would be omitted otherwise.
///
/// # Errors
/// When the number of digits exceeds the limit for one operation.
pub(super) fn digits(
    budget: &Budget,
    float: f64,
    notation: Notation,
    precision: usize,
    alternate: bool,
) -> Result<String> {
    budget.check_fill(precision)?;
    // Digits of a float are computed one by one.
    budget.charge_steps(precision.min(MAX_FLOAT_DIGITS) as u64 >> 2)?;
    let float = float.abs();
    if float.is_nan() {
        return Ok("nan".to_owned());
    }
    if float.is_infinite() {
        return Ok("inf".to_owned());
    }
    Ok(match notation {
        Notation::Fixed => with_point(format_fixed(float, precision), alternate),
        Notation::Scientific => scientific(float, precision, alternate),
        Notation::General => general(float, precision, alternate, false),
        Notation::GeneralWithPoint => general(float, precision, alternate, true),
    })
}

/// A float with exactly `precision` digits after the point.
pub(crate) fn format_fixed(float: f64, precision: usize) -> String {
    if float.is_nan() {
        return "nan".to_owned();
    }
    let computed_digits = precision.min(MAX_FLOAT_DIGITS);
    let mut text = format!("{float:.computed_digits$}");
    text.extend(std::iter::repeat_n('0', precision - computed_digits));
    text
}

fn with_point(mut text: String, alternate: bool) -> String {
    if alternate && !text.contains('.') {
        text.push('.');
    }
    text
}

/// The mantissa with `precision` digits after the point, and the exponent.
fn parts(float: f64, precision: usize) -> (String, i32) {
    let computed_digits = precision.min(MAX_FLOAT_DIGITS);
    let text = format!("{float:.computed_digits$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mut mantissa = mantissa.to_owned();
    mantissa.extend(std::iter::repeat_n('0', precision - computed_digits));
    (mantissa, exponent.parse().unwrap_or(0))
}

fn scientific(float: f64, precision: usize, alternate: bool) -> String {
    let (mantissa, exponent) = parts(float, precision);
    with_exponent(&with_point(mantissa, alternate), exponent)
}

fn with_exponent(mantissa: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

fn general(float: f64, precision: usize, alternate: bool, with_digit: bool) -> String {
    let precision = precision.max(1);
    let (mantissa, exponent) = parts(float, precision - 1);
    let places = i64::try_from(precision).unwrap_or(i64::MAX);
    let largest = if with_digit { places - 1 } else { places };
    if exponent < -4 || i64::from(exponent) >= largest {
        let mantissa = if alternate { with_point(mantissa, true) } else { without_zeros(mantissa) };
        return with_exponent(&mantissa, exponent);
    }
    let behind = usize::try_from(places - 1 - i64::from(exponent)).unwrap_or(0);
    let text = format_fixed(float, behind);
    match (alternate, with_digit) {
        (true, _) => with_point(text, true),
        (false, false) => without_zeros(text),
        (false, true) => {
            let text = without_zeros(text);
            if text.contains('.') { text } else { text + ".0" }
        }
    }
}

/// Removes trailing zeros after the point, and the point if no digit follows it.
fn without_zeros(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
