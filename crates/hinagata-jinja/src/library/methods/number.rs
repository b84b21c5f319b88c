//! The methods of integers and floats.

use hinagata_value::{Arguments, Error, Number, Result, Value};

use super::Table;
use crate::{
    context::Context,
    library::{
        arguments::{expect_none, integer_too_large},
        number::{as_int, as_number},
        textual::new_string,
    },
};

/// The methods of integers and booleans.
pub(super) const INT_METHODS: Table = &[
    ("as_integer_ratio", int_ratio),
    ("bit_count", bit_count),
    ("bit_length", bit_length),
    ("conjugate", conjugate),
];

/// The methods of floats.
pub(super) const FLOAT_METHODS: Table =
    &[("as_integer_ratio", float_ratio), ("conjugate", conjugate), ("hex", hex), ("is_integer", is_integer)];

fn float(receiver: &Value<'_>) -> f64 {
    as_number(receiver).map_or(0.0, Number::as_f64)
}

fn conjugate<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "conjugate")?;
    cx.heap.number(as_number(receiver).unwrap_or(Number::Int(0)))
}

fn bit_length<'a>(
    _: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "bit_length")?;
    let bits = 128 - as_int(receiver).unwrap_or(0).unsigned_abs().leading_zeros();
    Ok(Value::Int(i64::from(bits)))
}

fn bit_count<'a>(
    _: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "bit_count")?;
    Ok(Value::Int(i64::from(as_int(receiver).unwrap_or(0).unsigned_abs().count_ones())))
}

fn int_ratio<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "as_integer_ratio")?;
    let int = cx.heap.int(as_int(receiver).unwrap_or(0))?;
    cx.heap.tuple_of([int, Value::Int(1)])
}

fn is_integer<'a>(
    _: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "is_integer")?;
    Ok(Value::Bool(float(receiver).is_finite() && float(receiver).fract() == 0.0))
}

fn float_ratio<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "as_integer_ratio")?;
    let mut numerator = float(receiver);
    if !numerator.is_finite() {
        return Err(Error::runtime("cannot convert an infinite or NaN float to an integer ratio"));
    }
    // Doubling is exact, and a float has at most 52 bits after its leading bit.
    let mut denominator = 1_i128;
    while numerator.fract() != 0.0 {
        numerator *= 2.0;
        denominator = denominator.checked_mul(2).ok_or_else(integer_too_large)?;
    }
    if numerator.abs() >= 2_f64.powi(127) {
        return Err(integer_too_large());
    }
    let numerator = cx.heap.int(numerator as i128)?;
    cx.heap.tuple_of([numerator, cx.heap.int(denominator)?])
}

/// The bits of a float as hexadecimal digits and a power of two.
fn hex<'a>(cx: &Context<'_, 'a>, receiver: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    expect_none(arguments, "hex")?;
    let float = float(receiver);
    let sign = if float.is_sign_negative() && !float.is_nan() { "-" } else { "" };
    if float.is_nan() || float.is_infinite() {
        let name = if float.is_nan() { "nan" } else { "inf" };
        return new_string(cx, format!("{sign}{name}"), false);
    }
    if float == 0.0 {
        return new_string(cx, format!("{sign}0x0.0p+0"), false);
    }
    let bits = float.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    let (lead, exponent) = match (bits >> 52) & 0x7ff {
        0 => (0, -1022),
        biased => (1, biased as i32 - 1023),
    };
    new_string(cx, format!("{sign}0x{lead}.{fraction:013x}p{exponent:+}"), false)
}
