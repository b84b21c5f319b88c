//! Filters on numbers.

use hinagata_value::{Arguments, Error, Number, Result, Value};

use super::flag;
use crate::{
    context::Context,
    library::{
        arguments::{bind_arguments, expect_none, integer_too_large, to_index},
        format::format_fixed,
        number::{
            NotInt, as_int, as_number, division_by_zero, negate, parse_float, parse_int, round_float,
            round_int, truncate_float,
        },
        textual::new_string,
        types::{require_settled, type_error, wrong_type},
    },
};

/// `abs`: the number without its sign.
pub(super) fn abs<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "abs")?;
    match as_number(&value) {
        Some(Number::Float(float)) => Ok(Value::Float(float.abs())),
        Some(number @ Number::Int(..0)) => cx.heap.number(negate(number)?),
        Some(number) => cx.heap.number(number),
        None => Err(type_error(cx, &value, |name| format!("`abs` works on numbers, not on {name}"))),
    }
}

/// `int`: the value as an integer, or a default if it cannot be converted.
pub(super) fn int<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [default, base] = bind_arguments(arguments, "int", ["default", "base"], 0)?;
    require_settled(&value)?;
    cx.require_defined(&value)?;
    let found = match value.as_str() {
        Some(text) => {
            charge_digits(cx, text)?;
            text_to_int(text, base)?
        }
        None => match as_number(&value) {
            Some(Number::Int(int)) => Some(int),
            Some(Number::Float(float)) if float.is_nan() => None,
            Some(Number::Float(float)) => Some(truncate_float(float)?),
            None => None,
        },
    };
    match (found, default) {
        (Some(int), _) => cx.heap.int(int),
        (None, Some(default)) => Ok(default.clone()),
        (None, None) => Ok(Value::Int(0)),
    }
}

/// Charges for parsing a number: each character is looked up among the digits of all scripts.
fn charge_digits(cx: &Context<'_, '_>, text: &str) -> Result<()> {
    cx.heap.budget().charge_steps(1 + (text.len() as u64 >> 2))
}

/// Parses a text as an integer, or as a float whose fraction is dropped.
fn text_to_int(text: &str, base: Option<&Value<'_>>) -> Result<Option<i128>> {
    let base = match base {
        None => Some(10),
        Some(base) => {
            as_int(base).and_then(|base| u32::try_from(base).ok()).filter(|base| matches!(base, 0 | 2..=36))
        }
    };
    match base.map(|base| parse_int(text, base)) {
        Some(Ok(int)) => return Ok(Some(int)),
        Some(Err(NotInt::TooLarge)) => return Err(integer_too_large()),
        Some(Err(NotInt::Malformed)) | None => {}
    }
    match parse_float(text) {
        Some(float) if float.is_finite() => truncate_float(float).map(Some),
        _ => Ok(None),
    }
}

/// `float`: the value as a float, or a default if it cannot be converted.
pub(super) fn float<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [default] = bind_arguments(arguments, "float", ["default"], 0)?;
    match (to_float(cx, &value)?, default) {
        (Some(float), _) => Ok(Value::Float(float)),
        (None, Some(default)) => Ok(default.clone()),
        (None, None) => Ok(Value::Float(0.0)),
    }
}

fn to_float<'a>(cx: &Context<'_, 'a>, value: &Value<'a>) -> Result<Option<f64>> {
    require_settled(value)?;
    cx.require_defined(value)?;
    match value.as_str() {
        Some(text) => {
            charge_digits(cx, text)?;
            Ok(parse_float(text))
        }
        None => Ok(as_number(value).map(Number::as_f64)),
    }
}

/// `round`: the number rounded to a number of decimal places, half to even, up or down.
pub(super) fn round<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [precision, method] = bind_arguments(arguments, "round", ["precision", "method"], 0)?;
    let method = match method {
        None => "common",
        Some(method) => method.as_str().unwrap_or_default(),
    };
    if !matches!(method, "common" | "ceil" | "floor") {
        return Err(Error::runtime("`round` has the methods 'common', 'ceil' and 'floor'"));
    }
    let Some(number) = as_number(&value) else {
        if method != "common" {
            cx.require_defined(&value)?;
        }
        return Err(type_error(cx, &value, |name| format!("`round` works on numbers, not on {name}")));
    };
    if let (Some(precision), "ceil" | "floor") = (precision, method) {
        cx.require_defined(precision)?;
    }
    let whole = precision.is_some_and(Value::is_none);
    let places = match precision {
        Some(precision) if !whole => to_index(cx, precision)?,
        _ => 0,
    };
    if let Number::Float(float) = number {
        // Rounding works on decimal digits, so all digits before and after the point are computed.
        let before = if float.abs() < 1e18 { 0 } else { 38 };
        cx.heap.budget().charge_steps(before + (places.unsigned_abs().min(324) >> 3))?;
    }
    match (method, number) {
        ("common", Number::Int(int)) => cx.heap.int(round_int(int, places)?),
        ("common", Number::Float(float)) if whole => cx.heap.int(truncate_float(round_float(float, 0))?),
        ("common", Number::Float(float)) => Ok(Value::Float(round_float(float, places))),
        (_, number) => round_directed(number, places, if method == "ceil" { f64::ceil } else { f64::floor }),
    }
}

/// Rounds up or down as `function(number * 10 ** places) / 10 ** places` does in Python.
fn round_directed<'a>(number: Number, places: i64, function: fn(f64) -> f64) -> Result<Value<'a>> {
    let float = match number {
        // Multiplying and dividing by the power does not change an integer.
        Number::Int(int) if places >= 0 => return Ok(Value::Float(int as f64)),
        Number::Int(int) => int as f64,
        Number::Float(float) => float,
    };
    // The float nearest to the power. The division below uses the exact power where it is an integer.
    let unit: f64 = format!("1e{places}").parse().unwrap_or(f64::INFINITY);
    let scaled = float * unit;
    if unit.is_infinite() || !scaled.is_finite() {
        return Err(Error::runtime("the number is too large to be rounded to so many places"));
    }
    let whole = function(scaled);
    if unit == 0.0 {
        return Err(division_by_zero());
    }
    Ok(Value::Float(match (whole == 0.0, places >= 0) {
        (true, _) => 0.0,
        // Parsing it as a decimal number rounds only once.
        (false, true) => format!("{whole:.0}e-{places}").parse().unwrap_or(whole / unit),
        (false, false) => whole / unit,
    }))
}

const DECIMAL: [&str; 8] = ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"];
const BINARY: [&str; 8] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"];

/// `filesizeformat`: a number of bytes in a readable unit.
pub(super) fn filesizeformat<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [binary] = bind_arguments(arguments, "filesizeformat", ["binary"], 0)?;
    let (base, units) = if flag(cx, binary, false)? { (1024_i128, BINARY) } else { (1000, DECIMAL) };
    let bytes = to_float(cx, &value)?.ok_or_else(|| {
        wrong_type(cx, &value, |name| format!("`filesizeformat` works on numbers, not on this {name}"))
    })?;
    if bytes == 1.0 {
        return new_string(cx, "1 Byte".to_owned(), false);
    }
    if bytes < base as f64 {
        return new_string(cx, format!("{} Bytes", truncate_float(bytes)?), false);
    }
    let mut limit = base;
    let mut unit = units[0];
    for name in units {
        limit *= base;
        unit = name;
        if bytes < limit as f64 {
            break;
        }
    }
    new_string(cx, format!("{} {unit}", format_fixed(base as f64 * bytes / limit as f64, 1)), false)
}
