//! Arithmetic, parsing and rounding of numbers as in Python.

mod parse;
mod round;

pub(crate) use parse::{NotInt, parse_float, parse_int};
pub(crate) use round::{round_float, round_int};

use hinagata_value::{Error, Number, Result, Value};

use super::arguments::integer_too_large;

/// The value as an integer; true and false are 1 and 0.
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

/// The value as a number; true and false are 1 and 0.
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

/// `a / b`, which is always a float.
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
    // Rounds only once: 64 bits of the quotient, of which the last is set if the rest is not zero.
    let (mut quotient, mut rest) = (top / bottom, top % bottom);
    let mut exponent = 0_i32;
    while quotient >> 63 == 0 && rest != 0 {
        // The rest is less than the divisor, which is at most 2^127, so doubling it cannot overflow.
        rest <<= 1;
        quotient = (quotient << 1) | u128::from(rest >= bottom);
        if rest >= bottom {
            rest -= bottom;
        }
        exponent -= 1;
    }
    let surplus = (128 - quotient.leading_zeros()).saturating_sub(64);
    let is_inexact = quotient & ((1_u128 << surplus) - 1) != 0 || rest != 0;
    let rounded = ((quotient >> surplus) | u128::from(is_inexact)) as f64;
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

/// `a % b`: the remainder of the floor division, which has the sign of `b`.
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

/// The quotient rounded down and the remainder of two floats.
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

/// A float as an integer, without its fraction.
///
/// # Errors
/// When it is infinite or NaN, or has more than 128 bits.
pub(crate) fn truncate_float(float: f64) -> Result<i128> {
    if float.is_nan() {
        return Err(Error::runtime("cannot convert float NaN to an integer"));
    }
    if float.is_infinite() {
        return Err(Error::runtime("cannot convert float infinity to an integer"));
    }
    // 2^127 is exact as a float; every smaller absolute value fits.
    if float.abs() >= 2_f64.powi(127) { Err(integer_too_large()) } else { Ok(float as i128) }
}

#[cfg(test)]
mod tests {
    use super::*;

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
