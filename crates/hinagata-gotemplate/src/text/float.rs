//! Formats 64-bit floats in every layout of Go's `strconv`.
//!
//! The shortest digits come from `zmij`, digits with a precision from the standard library. Both are exact;
//! this module adds Go's layout. `%.2f` and the like have a fast path in integer arithmetic, because prompts
//! print them in loops.

use std::io::Write as _;

/// More significant digits than any 64-bit float has; further ones are zeros.
const MAX_SIGNIFICANT: usize = 800;
/// More decimals than any 64-bit float has.
const MAX_DECIMALS: usize = 1100;
/// Maximum number of digits that need no long arithmetic.
pub(crate) const CHEAP: usize = 17;

/// A layout of a float.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// `-d.dddde±dd`.
    Exponent,
    /// `-ddd.ddd`.
    Fixed,
    /// The shorter of the two, by the size of the exponent.
    General,
    /// `-ddddp±ddd`: the mantissa as an integer and a power of two.
    Binary,
    /// `-0x1.ddp±dd`.
    Hex,
}

/// Appends `value`. Without a precision, it has as many digits as are needed to parse the same float again.
/// `upper` writes `E`, `X` and `P` in upper case.
pub(crate) fn append_float(
    out: &mut Vec<u8>,
    value: f64,
    layout: Layout,
    precision: Option<usize>,
    upper: bool,
) {
    if value.is_nan() {
        out.extend_from_slice(b"NaN");
        return;
    }
    if value.is_infinite() {
        out.extend_from_slice(if value > 0.0 { b"+Inf" } else { b"-Inf" });
        return;
    }
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let value = value.abs();
    match (layout, precision) {
        (Layout::Exponent, None) => {
            let digits = Digits::shortest(value);
            exponent_form(out, &digits, digits.len().saturating_sub(1), upper);
        }
        (Layout::Exponent, Some(precision)) => {
            exponent_form(out, &Digits::rounded(value, precision.saturating_add(1)), precision, upper);
        }
        (Layout::Fixed, None) => {
            let digits = Digits::shortest(value);
            fixed_form(out, &digits, digits.decimals());
        }
        (Layout::Fixed, Some(precision)) => fixed(out, value, precision),
        (Layout::General, None) => general_form(out, &Digits::shortest(value), 6, None, upper),
        (Layout::General, Some(precision)) => {
            let precision = precision.max(1);
            general_form(out, &Digits::rounded(value, precision), precision, Some(precision), upper);
        }
        (Layout::Binary, _) => binary_form(out, value),
        (Layout::Hex, precision) => hex_form(out, value, precision, upper),
    }
}

/// The number of digits that [`append_float`] computes. More than [`CHEAP`] of them need long arithmetic.
pub(crate) fn exact_digits(value: f64, layout: Layout, precision: Option<usize>) -> usize {
    let decimals = precision.unwrap_or(0).min(MAX_DECIMALS);
    match layout {
        // 2^n has about 0.3 n digits. Beyond 53 bits, all of them are computed.
        Layout::Fixed if value.is_finite() => {
            let exponent = usize::try_from(split(value.abs()).1 + 53).unwrap_or(0);
            decimals + exponent * 3 / 10
        }
        Layout::Exponent | Layout::General => decimals,
        Layout::Fixed | Layout::Binary | Layout::Hex => 0,
    }
}

/// Appends `value` as `%v` prints it.
pub(crate) fn append_default(out: &mut Vec<u8>, value: f64) {
    match small_integer(value) {
        Some(integer) => out.extend_from_slice(itoa::Buffer::new().format(integer).as_bytes()),
        None => append_float(out, value, Layout::General, None, false),
    }
}

/// The integer that `%v` prints for `value`, if it is small enough to need no search for digits.
#[inline]
pub(crate) fn small_integer(value: f64) -> Option<i32> {
    let integer = value as i32;
    let same = f64::from(integer) == value && integer.unsigned_abs() < 1_000_000;
    (same && (integer != 0 || value.is_sign_positive())).then_some(integer)
}

/// Decimal digits of a float: `0.d1d2d3… × 10^point`, without trailing zeros.
struct Digits {
    digits: Vec<u8>,
    point: i32,
}

impl Digits {
    fn len(&self) -> usize {
        self.digits.len()
    }

    /// Digits after the decimal point when written out in full.
    fn decimals(&self) -> usize {
        usize::try_from(self.digits.len() as i64 - i64::from(self.point)).unwrap_or(0)
    }

    fn shortest(value: f64) -> Self {
        Self::read(zmij::Buffer::new().format_finite(value).as_bytes())
    }

    fn rounded(value: f64, significant: usize) -> Self {
        let mut text = Vec::with_capacity(32);
        let decimals = significant.min(MAX_SIGNIFICANT) - 1;
        write!(text, "{value:.decimals$e}").expect("a vector takes any text");
        Self::read(&text)
    }

    /// Reads the digits of a printed float.
    fn read(text: &[u8]) -> Self {
        let mut digits = Vec::with_capacity(text.len());
        let mut point = None;
        let mut exponent = 0;
        for (at, &byte) in text.iter().enumerate() {
            match byte {
                b'.' => point = Some(digits.len()),
                b'e' => {
                    let text = std::str::from_utf8(&text[at + 1..]).unwrap_or_default();
                    exponent = text.parse().unwrap_or(0);
                    break;
                }
                _ => digits.push(byte),
            }
        }
        let point = point.unwrap_or(digits.len()) as i32 + exponent;
        let leading = digits.iter().take_while(|&&digit| digit == b'0').count();
        digits.drain(..leading);
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        let point = if digits.is_empty() { 0 } else { point - leading as i32 };
        Self { digits, point }
    }

    /// The digit at `index`, or zero beyond the ends.
    fn at(&self, index: i64) -> u8 {
        usize::try_from(index).ok().and_then(|index| self.digits.get(index)).copied().unwrap_or(b'0')
    }
}

fn exponent_form(out: &mut Vec<u8>, digits: &Digits, decimals: usize, upper: bool) {
    out.push(digits.at(0));
    if decimals > 0 {
        out.push(b'.');
        let known = &digits.digits[digits.len().min(1)..];
        let known = &known[..known.len().min(decimals)];
        out.extend_from_slice(known);
        out.resize(out.len() + decimals - known.len(), b'0');
    }
    let exponent = if digits.len() == 0 { 0 } else { digits.point - 1 };
    out.push(if upper { b'E' } else { b'e' });
    push_exponent(out, exponent);
}

/// Appends a signed exponent of at least two digits.
fn push_exponent(out: &mut Vec<u8>, exponent: i32) {
    out.push(if exponent < 0 { b'-' } else { b'+' });
    if exponent.unsigned_abs() < 10 {
        out.push(b'0');
    }
    out.extend_from_slice(itoa::Buffer::new().format(exponent.unsigned_abs()).as_bytes());
}

fn fixed_form(out: &mut Vec<u8>, digits: &Digits, decimals: usize) {
    let point = i64::from(digits.point);
    if point > 0 {
        out.extend((0..point).map(|index| digits.at(index)));
    } else {
        out.push(b'0');
    }
    if decimals > 0 {
        out.push(b'.');
        let known = digits.decimals().min(decimals);
        out.extend((point..point + known as i64).map(|index| digits.at(index)));
        out.resize(out.len() + decimals - known, b'0');
    }
}

fn general_form(out: &mut Vec<u8>, digits: &Digits, threshold: usize, precision: Option<usize>, upper: bool) {
    let exponent = i64::from(digits.point) - 1;
    let fits = digits.len() as i64 >= i64::from(digits.point);
    let threshold = match precision {
        Some(_) if threshold > digits.len() && fits => digits.len(),
        _ => threshold,
    };
    if exponent < -4 || exponent >= threshold as i64 {
        let significant = precision.unwrap_or(usize::MAX).min(digits.len());
        exponent_form(out, digits, significant.saturating_sub(1), upper);
    } else {
        fixed_form(out, digits, digits.decimals());
    }
}

fn fixed(out: &mut Vec<u8>, value: f64, decimals: usize) {
    if !fixed_by_integers(out, value, decimals) {
        let exact = decimals.min(MAX_DECIMALS);
        write!(out, "{value:.exact$}").expect("a vector takes any text");
        out.resize(out.len() + decimals - exact, b'0');
    }
}

/// Writes `value` with `decimals` digits using 128-bit integers, if they can represent it exactly.
fn fixed_by_integers(out: &mut Vec<u8>, value: f64, decimals: usize) -> bool {
    const POWERS: [u64; 10] =
        [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];
    let Some(&power) = POWERS.get(decimals) else { return false };
    let (mantissa, exponent) = split(value);
    // Only values below 2^53 fit into 64 bits. Larger ones have no fraction.
    if exponent > 0 || value >= 9e9 {
        return false;
    }
    let shift = -exponent;
    let product = u128::from(mantissa) * u128::from(power);
    let scaled = if shift > 100 {
        0
    } else {
        let floor = product >> shift;
        let rest = product - (floor << shift);
        let half = (1_u128 << shift) >> 1;
        let up = shift > 0 && (rest > half || rest == half && floor & 1 == 1);
        floor + u128::from(up)
    };
    let Ok(scaled) = u64::try_from(scaled) else { return false };
    out.extend_from_slice(itoa::Buffer::new().format(scaled / power).as_bytes());
    if decimals > 0 {
        out.push(b'.');
        let mut buffer = itoa::Buffer::new();
        let fraction = buffer.format(scaled % power);
        out.resize(out.len() + decimals - fraction.len(), b'0');
        out.extend_from_slice(fraction.as_bytes());
    }
    true
}

/// Mantissa and power of two of a finite, non-negative float.
fn split(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    match (bits >> 52) as i32 & 0x7ff {
        0 => (fraction, -1074),
        exponent => (fraction | 1 << 52, exponent - 1075),
    }
}

fn binary_form(out: &mut Vec<u8>, value: f64) {
    let (mantissa, exponent) = split(value);
    out.extend_from_slice(itoa::Buffer::new().format(mantissa).as_bytes());
    out.push(b'p');
    if exponent >= 0 {
        out.push(b'+');
    }
    out.extend_from_slice(itoa::Buffer::new().format(exponent).as_bytes());
}

fn hex_form(out: &mut Vec<u8>, value: f64, precision: Option<usize>, upper: bool) {
    let (mut mantissa, exponent) = split(value);
    // The leading one is moved to bit 60, so that each hexadecimal digit is one shift.
    let mut power = if mantissa == 0 { 0 } else { exponent + 52 };
    if mantissa != 0 {
        let shift = mantissa.leading_zeros() as i32 - 3;
        mantissa <<= shift;
        power -= shift - 8;
    }
    if let Some(digits) = precision.filter(|&digits| digits < 15) {
        let shift = 60 - 4 * digits as u32;
        let rest = mantissa & ((1 << shift) - 1);
        let half = 1 << (shift - 1);
        mantissa >>= shift;
        if rest > half || rest == half && mantissa & 1 == 1 {
            mantissa += 1;
        }
        mantissa <<= shift;
        if mantissa >> 61 != 0 {
            mantissa >>= 1;
            power += 1;
        }
    }
    let alphabet: &[u8; 16] = if upper { b"0123456789ABCDEF" } else { b"0123456789abcdef" };
    out.extend([b'0', if upper { b'X' } else { b'x' }, b'0' + (mantissa >> 60 & 1) as u8]);
    mantissa <<= 4;
    let has_fraction = mantissa != 0;
    let mut push_digit = |out: &mut Vec<u8>| {
        out.push(alphabet[(mantissa >> 60) as usize]);
        mantissa <<= 4;
        mantissa != 0
    };
    match precision {
        None if has_fraction => {
            out.push(b'.');
            while push_digit(out) {}
        }
        Some(digits) if digits > 0 => {
            out.push(b'.');
            let known = digits.min(15);
            for _ in 0..known {
                push_digit(out);
            }
            out.resize(out.len() + digits - known, b'0');
        }
        _ => {}
    }
    out.push(if upper { b'P' } else { b'p' });
    push_exponent(out, power);
}

/// Returns `mantissa × 2^exponent`, rounded to the nearest float, ties to even.
///
/// The lowest bit may be the union of all bits below it, if at least two bits are to spare.
pub(crate) fn scale_mantissa(mantissa: u64, exponent: i64) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let bits = 64 - i64::from(mantissa.leading_zeros());
    let leading = exponent.saturating_add(bits - 1);
    if leading > 1023 {
        return f64::INFINITY;
    }
    // Below 2^-1022 floats have fewer bits, down to none.
    let kept = 53 - (-1022 - leading).max(0);
    if kept < 0 {
        return 0.0;
    }
    let rounded = shift_rounding(mantissa, bits - kept);
    if leading < -1022 {
        f64::from_bits(rounded)
    } else {
        // A carry out of the mantissa correctly increments the exponent.
        f64::from_bits((((leading + 1022) as u64) << 52) + rounded)
    }
}

fn shift_rounding(mantissa: u64, right: i64) -> u64 {
    if right <= 0 {
        return mantissa << -right;
    }
    let wide = u128::from(mantissa);
    let floor = wide >> right;
    let rest = wide - (floor << right);
    let half = 1_u128 << (right - 1);
    (floor + u128::from(rest > half || rest == half && floor & 1 == 1)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: f64, layout: Layout, precision: Option<usize>) -> String {
        let mut out = Vec::new();
        append_float(&mut out, value, layout, precision, false);
        String::from_utf8(out).expect("is ASCII")
    }

    #[test]
    fn default_layout_has_exponents_from_a_million_on() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (100_000.0, "100000"),
            (1e6, "1e+06"),
            (123_456_789.0, "1.23456789e+08"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (1e21, "1e+21"),
            (5e-324, "5e-324"),
            (123_456.789, "123456.789"),
            (f64::INFINITY, "+Inf"),
            (f64::NAN, "NaN"),
        ] {
            let mut out = Vec::new();
            append_default(&mut out, value);
            assert_eq!(String::from_utf8(out).expect("is ASCII"), expected);
        }
    }

    #[test]
    fn precision_rounds_exactly() {
        for (value, precision, expected) in [
            (2.5, 0, "2"),
            (3.5, 0, "4"),
            (0.125, 2, "0.12"),
            (2.675, 2, "2.67"),
            (1e9, 2, "1000000000.00"),
            (999.995, 2, "1000.00"),
            (1e22, 1, "10000000000000000000000.0"),
            (1e-30, 3, "0.000"),
        ] {
            assert_eq!(text(value, Layout::Fixed, Some(precision)), expected);
        }
        assert_eq!(text(0.1, Layout::Fixed, Some(60)).len(), 62);
        assert_eq!(text(0.1, Layout::Fixed, Some(70_000)).len(), 70_002);
        assert_eq!(text(0.1, Layout::Exponent, Some(70_000)).len(), 70_006);
        assert_eq!(text(0.0, Layout::Exponent, Some(2)), "0.00e+00");
        assert_eq!(text(1234.5678, Layout::General, Some(3)), "1.23e+03");
        assert_eq!(text(100.0, Layout::General, Some(3)), "100");
        assert_eq!(text(100_000.0, Layout::General, Some(17)), "100000");
    }

    #[test]
    fn powers_of_two_have_layouts_of_their_own() {
        assert_eq!(text(1.0, Layout::Binary, None), "4503599627370496p-52");
        assert_eq!(text(0.0, Layout::Binary, None), "0p-1074");
        assert_eq!(text(1.0, Layout::Hex, None), "0x1p+00");
        assert_eq!(text(0.1, Layout::Hex, None), "0x1.999999999999ap-04");
        assert_eq!(text(0.1, Layout::Hex, Some(3)), "0x1.99ap-04");
        assert_eq!(text(0.1, Layout::Hex, Some(0)), "0x1p-03");
        assert_eq!(text(1.96875, Layout::Hex, Some(0)), "0x1p+01");
        assert_eq!(text(5e-324, Layout::Hex, None), "0x1p-1074");
        assert_eq!(text(0.0, Layout::Hex, Some(2)), "0x0.00p+00");
        assert_eq!(text(1.5, Layout::Hex, Some(20)), "0x1.80000000000000000000p+00");
    }

    #[test]
    fn the_integer_shortcut_agrees_with_the_standard_library() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for round in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = match round % 3 {
                0 => f64::from_bits(state & !(1 << 63)),
                1 => (state >> 40) as f64 / 1000.0,
                _ => (state >> 44) as f64 / 64.0,
            };
            let mut out = Vec::new();
            let decimals = (state >> 7) as usize % 10;
            if value.is_finite() && fixed_by_integers(&mut out, value, decimals) {
                assert_eq!(String::from_utf8(out).expect("is ASCII"), format!("{value:.decimals$}"));
            }
        }
    }
}
