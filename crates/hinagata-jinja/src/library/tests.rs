//! The builtin tests, by name.

use hinagata_value::{Arguments, Error, Kind, Result, Value, near_names};

use super::{
    arguments::{bind_arguments, expect_none},
    filters,
    ops::{Order, compare_values, contains_value, iterate_value, remainder, value_length, values_equal},
    textual::{charge_characters, to_textual},
    types::require_settled,
    unicode::is_title,
};
use crate::context::{Context, UndefinedMode};

/// A test: takes the value left of `is` and the arguments.
pub(crate) type Test = for<'a> fn(&Context<'_, 'a>, &Value<'a>, &Arguments<'_, 'a>) -> Result<bool>;

/// The tests, sorted by name.
const TESTS: &[(&str, Test)] = &[
    ("!=", not_equal),
    ("<", less),
    ("<=", less_or_equal),
    ("==", equal),
    (">", greater),
    (">=", greater_or_equal),
    ("boolean", boolean),
    ("callable", callable),
    ("defined", defined),
    ("divisibleby", divisible_by),
    ("eq", equal),
    ("equalto", equal),
    ("escaped", escaped),
    ("even", even),
    ("false", is_false),
    ("filter", is_filter),
    ("float", float),
    ("ge", greater_or_equal),
    ("greaterthan", greater),
    ("gt", greater),
    ("in", is_in),
    ("integer", integer),
    ("iterable", iterable),
    ("js_same", filters::js_same),
    ("le", less_or_equal),
    ("lessthan", less),
    ("lower", lower),
    ("lt", less),
    ("mapping", mapping),
    ("ne", not_equal),
    ("none", is_none),
    ("number", number),
    ("odd", odd),
    ("sameas", same_as),
    ("sequence", sequence),
    ("string", string),
    ("test", is_test),
    ("true", is_exactly_true),
    ("undefined", undefined),
    ("upper", upper),
];

/// The test with this name.
pub(crate) fn find_test(name: &str) -> Option<Test> {
    TESTS.binary_search_by_key(&name, |(name, _)| name).ok().map(|at| TESTS[at].1)
}

/// The names of all tests.
pub(crate) fn test_names() -> impl Iterator<Item = &'static str> {
    TESTS.iter().map(|(name, _)| *name)
}

/// The error for an unknown test that was found at run time.
#[cold]
pub(crate) fn unknown_test(name: &str) -> Error {
    Error::runtime(format!("no test named '{name}'")).with_near(near_names(name, test_names()))
}

fn operand<'r, 'a>(name: &str, arguments: &Arguments<'r, 'a>) -> Result<&'r Value<'a>> {
    let [other] = bind_arguments(arguments, name, ["other"], 1)?;
    other.ok_or_else(|| Error::runtime(format!("`{name}` needs an argument")))
}

fn equal<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    values_equal(cx, value, operand("eq", arguments)?)
}

fn not_equal<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    values_equal(cx, value, operand("ne", arguments)?).map(|equal| !equal)
}

fn less<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    compare_values(cx, Order::Less, value, operand("lt", arguments)?)
}

fn less_or_equal<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    compare_values(cx, Order::LessOrEqual, value, operand("le", arguments)?)
}

fn greater<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    compare_values(cx, Order::Greater, value, operand("gt", arguments)?)
}

fn greater_or_equal<'a>(
    cx: &Context<'_, 'a>,
    value: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<bool> {
    compare_values(cx, Order::GreaterOrEqual, value, operand("ge", arguments)?)
}

fn is_in<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    let [sequence] = bind_arguments(arguments, "in", ["seq"], 1)?;
    contains_value(cx, value, sequence.unwrap_or(&Value::None))
}

fn boolean<'a>(_: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    kind_is(value, arguments, "boolean", |kind| kind == Kind::Bool)
}

fn integer<'a>(_: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    kind_is(value, arguments, "integer", |kind| kind == Kind::Int)
}

fn float<'a>(_: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    kind_is(value, arguments, "float", |kind| kind == Kind::Float)
}

fn number<'a>(_: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    kind_is(value, arguments, "number", |kind| matches!(kind, Kind::Int | Kind::Float | Kind::Bool))
}

fn string<'a>(_: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    kind_is(value, arguments, "string", |kind| kind == Kind::Str)
}

fn mapping<'a>(_: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    kind_is(value, arguments, "mapping", |kind| kind == Kind::Map)
}

fn is_none<'a>(_: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    kind_is(value, arguments, "none", |kind| kind == Kind::None)
}

fn kind_is(
    value: &Value<'_>,
    arguments: &Arguments<'_, '_>,
    name: &str,
    right: impl FnOnce(Kind) -> bool,
) -> Result<bool> {
    expect_none(arguments, name)?;
    require_settled(value)?;
    Ok(right(value.kind()))
}

fn is_false<'a>(_: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    expect_none(arguments, "false")?;
    require_settled(value)?;
    Ok(value.as_bool() == Some(false))
}

fn is_exactly_true<'a>(
    _: &Context<'_, 'a>,
    value: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<bool> {
    expect_none(arguments, "true")?;
    require_settled(value)?;
    Ok(value.as_bool() == Some(true))
}

/// A pending value is defined, whatever its result will be, so this does not wait for it.
fn defined<'a>(_: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    expect_none(arguments, "defined")?;
    Ok(!value.is_undefined())
}

fn undefined<'a>(_: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    expect_none(arguments, "undefined")?;
    Ok(value.is_undefined())
}

fn callable<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    expect_none(arguments, "callable")?;
    require_settled(value)?;
    Ok(match value {
        Value::Function(_) => true,
        Value::Engine(object) => cx.objects.is_callable(*object),
        // As in Jinja2, where an undefined value has a `__call__` that fails.
        Value::Undefined(_) => true,
        _ => false,
    })
}

fn odd<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    expect_none(arguments, "odd")?;
    let rest = remainder(cx, value, &Value::Int(2))?;
    values_equal(cx, &rest, &Value::Int(1))
}

fn even<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    expect_none(arguments, "even")?;
    let rest = remainder(cx, value, &Value::Int(2))?;
    values_equal(cx, &rest, &Value::Int(0))
}

fn divisible_by<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    let [number] = bind_arguments(arguments, "divisibleby", ["num"], 1)?;
    let rest = remainder(cx, value, number.unwrap_or(&Value::None))?;
    values_equal(cx, &rest, &Value::Int(0))
}

fn escaped<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    expect_none(arguments, "escaped")?;
    require_settled(value)?;
    // In Jinja2 only a chainable undefined value has `__html__`.
    let empty = value.is_undefined() && cx.settings.undefined == UndefinedMode::Empty;
    Ok(value.is_safe() || empty)
}

fn is_filter<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    expect_none(arguments, "filter")?;
    is_name(cx, value, |name| filters::find_filter(name).is_some())
}

fn is_test<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    expect_none(arguments, "test")?;
    is_name(cx, value, |name| find_test(name).is_some())
}

fn is_name<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, known: impl FnOnce(&str) -> bool) -> Result<bool> {
    require_settled(value)?;
    cx.check_use(value)?;
    match (value.kind(), value.as_str()) {
        (_, Some(name)) => Ok(known(name)),
        (Kind::List | Kind::Map | Kind::View, _) => {
            Err(Error::runtime("a name is needed, not a list or map"))
        }
        _ => Ok(false),
    }
}

fn same_as<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    let [other] = bind_arguments(arguments, "sameas", ["other"], 1)?;
    let other = other.unwrap_or(&Value::None);
    require_settled(value)?;
    require_settled(other)?;
    if let (Some(text), Some(other)) = (value.as_str(), other.as_str()) {
        cx.heap.budget().step_bytes(text.len().min(other.len()))?;
    }
    Ok(is_same(value, other))
}

/// Identity of values. Python has one object for equal constants and small integers, so equal scalars of
/// the same type count as the same.
fn is_same<'a>(a: &Value<'a>, b: &Value<'a>) -> bool {
    if a.is_same_container(b) {
        return true;
    }
    match (a, b) {
        (Value::Undefined(a), Value::Undefined(b)) => match (a.name, b.name) {
            (Some(a), Some(b)) => std::ptr::eq(a, b),
            _ => false,
        },
        (Value::Engine(a), Value::Engine(b)) => a == b,
        (Value::Function(a), Value::Function(b)) => std::ptr::eq(*a, *b),
        (Value::Host(a), Value::Host(b)) => std::rc::Rc::ptr_eq(a, b),
        (Value::Range(a), Value::Range(b)) => std::rc::Rc::ptr_eq(a, b),
        _ if a.kind() != b.kind() || a.is_safe() != b.is_safe() => false,
        _ => match (a.kind(), a.as_str(), b.as_str()) {
            (Kind::None, ..) => true,
            (Kind::Bool, ..) => a.as_bool() == b.as_bool(),
            (Kind::Int | Kind::Float, ..) => a.as_number() == b.as_number(),
            (_, Some(a), Some(b)) => a == b,
            _ => false,
        },
    }
}

fn sequence<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    expect_none(arguments, "sequence")?;
    require_settled(value)?;
    Ok(match value.kind() {
        Kind::View => false,
        _ => value_length(cx, value).is_ok(),
    })
}

fn iterable<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    expect_none(arguments, "iterable")?;
    require_settled(value)?;
    match value.kind() {
        // Checked by kind, because iterating over a string would create a value for each character.
        Kind::Str
        | Kind::Once
        | Kind::List
        | Kind::Tuple
        | Kind::Map
        | Kind::Range
        | Kind::View
        | Kind::Bytes => Ok(true),
        Kind::Undefined => iterate_value(cx, value).map(|_| true),
        _ => Ok(false),
    }
}

fn lower<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    expect_none(arguments, "lower")?;
    let text = to_textual(cx, value)?;
    charge_characters(cx, &text)?;
    Ok(is_lower(&text))
}

fn upper<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<bool> {
    expect_none(arguments, "upper")?;
    let text = to_textual(cx, value)?;
    charge_characters(cx, &text)?;
    Ok(is_upper(&text))
}

/// Whether a text has cased characters and all of them are in lower case.
pub(crate) fn is_lower(text: &str) -> bool {
    let mut any = false;
    for character in text.chars() {
        if character.is_uppercase() || is_title(character) {
            return false;
        }
        any |= character.is_lowercase();
    }
    any
}

/// Whether a text has cased characters and all of them are in upper case.
pub(crate) fn is_upper(text: &str) -> bool {
    let mut any = false;
    for character in text.chars() {
        if character.is_lowercase() || is_title(character) {
            return false;
        }
        any |= character.is_uppercase();
    }
    any
}
