//! The table of string methods, and methods that fit no other file.

use hinagata_value::{Arguments, Error, Kind, Result, Text, Value};

use super::{Table, bytes, case, pad, search, split};
use crate::{
    context::Context,
    library::{
        arguments::{
            bind_arguments, bind_positional, expect_none, expect_string, integer_or, no_keywords_error,
            to_index,
        },
        filters::{strip_tags, unescape_html},
        format::template::{self, Fields},
        number::as_int,
        print::print_escaped,
        textual::{finish_text, new_string, part_of},
        types::type_error,
    },
};

/// The methods of all strings.
pub(super) const METHODS: Table = &[
    ("capitalize", case::capitalize),
    ("casefold", case::casefold),
    ("center", pad::center),
    ("count", search::count),
    ("encode", bytes::encode),
    ("endswith", search::ends_with),
    ("expandtabs", pad::expand_tabs),
    ("find", search::find),
    ("format", format),
    ("format_map", format_map),
    ("index", search::index_of),
    ("isalnum", case::is_alphanumeric),
    ("isalpha", case::is_alpha),
    ("isascii", case::is_ascii),
    ("isdecimal", case::is_decimal),
    ("isdigit", case::is_digit),
    ("isidentifier", case::is_identifier),
    ("islower", case::is_lower),
    ("isnumeric", case::is_numeric),
    ("isprintable", case::is_printable),
    ("isspace", case::is_space),
    ("istitle", case::is_title),
    ("isupper", case::is_upper),
    ("join", split::join),
    ("ljust", pad::justify_left),
    ("lower", case::lower),
    ("lstrip", split::strip_left),
    ("maketrans", make_table),
    ("partition", search::partition),
    ("removeprefix", search::remove_prefix),
    ("removesuffix", search::remove_suffix),
    ("replace", search::replace),
    ("rfind", search::find_last),
    ("rindex", search::index_of_last),
    ("rjust", pad::justify_right),
    ("rpartition", search::partition_last),
    ("rsplit", split::split_right),
    ("rstrip", split::strip_right),
    ("split", split::split),
    ("splitlines", split::split_lines),
    ("startswith", search::starts_with),
    ("strip", split::strip),
    ("swapcase", case::swap_case),
    ("title", case::title),
    ("translate", translate),
    ("upper", case::upper),
    ("zfill", pad::zero_fill),
];

/// The methods that only safe strings have.
pub(super) const SAFE_METHODS: Table =
    &[("escape", safe_escape), ("striptags", safe_strip_tags), ("unescape", safe_unescape)];

/// The text of a receiver, which is always a string here.
pub(super) fn text<'v>(receiver: &'v Value<'_>) -> &'v str {
    receiver.as_str().unwrap_or_default()
}

fn format<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    template::format_template(cx, text(receiver), Fields::Arguments(arguments), receiver.is_safe())
}

fn format_map<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [map] = bind_positional(arguments, "format_map", 1)?;
    template::format_template(
        cx,
        text(receiver),
        Fields::Map(map.unwrap_or(&Value::None)),
        receiver.is_safe(),
    )
}

fn safe_strip_tags<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "striptags")?;
    strip_tags(cx, text(receiver))
}

fn safe_escape<'a>(cx: &Context<'_, 'a>, _: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    let [value] = bind_positional(arguments, "escape", 1)?;
    let mut text = cx.heap.text();
    print_escaped(cx, value.unwrap_or(&Value::None), &mut text)?;
    finish_text(text, true)
}

fn safe_unescape<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "unescape")?;
    cx.heap.budget().charge_steps(text(receiver).bytes().filter(|byte| *byte == b'&').count() as u64 * 32)?;
    new_string(cx, unescape_html(text(receiver)), false)
}

/// `translate`: replaces characters by a table from code points to text, other code points, or none.
fn translate<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [table] = bind_positional(arguments, "translate", 1)?;
    let table = table.unwrap_or(&Value::None);
    let mut result = cx.heap.text();
    for character in text(receiver).chars() {
        cx.heap.budget().charge_steps(1)?;
        match translate_character(cx, table, character)? {
            None => result.push(character)?,
            Some(value) if value.is_none() => {}
            Some(value) => match (value.as_str(), as_int(&value)) {
                (Some(text), _) => result.push_str(text)?,
                (_, Some(code)) => result.push(character_of(code)?)?,
                _ => {
                    return Err(type_error(cx, &value, |name| {
                        format!("a character is translated to text, a number or none, not {name}")
                    }));
                }
            },
        }
    }
    finish_text(result, receiver.is_safe())
}

fn translate_character<'a>(
    cx: &Context<'_, 'a>,
    table: &Value<'a>,
    character: char,
) -> Result<Option<Value<'a>>> {
    let code = u32::from(character);
    match table.kind() {
        Kind::Map => cx.heap.lookup(table, &Value::Int(i64::from(code))),
        Kind::List | Kind::Tuple => Ok(cx.heap.item(table, code as usize)),
        Kind::Str => Ok(None),
        _ => Err(type_error(cx, table, |name| format!("`translate` needs a map, not {name}"))),
    }
}

fn character_of(code: i128) -> Result<char> {
    u32::try_from(code)
        .ok()
        .and_then(char::from_u32)
        .ok_or_else(|| Error::runtime(format!("{code} is not a character")))
}

/// `maketrans`: creates a table for `translate` from a map, or from texts of the same length.
fn make_table<'a>(cx: &Context<'_, 'a>, _: &Value<'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    let [from, to, without] = bind_positional(arguments, "maketrans", 1)?;
    let from = from.unwrap_or(&Value::None);
    let mut table = cx.heap.map()?;
    let Some(to) = to else {
        let Some(entries) = cx.heap.entries(from).filter(|_| from.kind() == Kind::Map) else {
            return Err(type_error(cx, from, |name| {
                format!("`maketrans` of one argument needs a map, not {name}")
            }));
        };
        for (key, value) in entries {
            table.insert(table_key(cx, &key)?, value)?;
        }
        return Ok(table.finish());
    };
    let (from, to) = (expect_string(cx, "maketrans", from)?, expect_string(cx, "maketrans", to)?);
    if from.chars().count() != to.chars().count() {
        return Err(Error::runtime("the first two arguments of `maketrans` must be of equal length"));
    }
    let number = |character: char| Value::Int(i64::from(u32::from(character)));
    for (from, to) in from.chars().zip(to.chars()) {
        table.insert(number(from), number(to))?;
    }
    if let Some(without) = without {
        for character in expect_string(cx, "maketrans", without)?.chars() {
            table.insert(number(character), Value::None)?;
        }
    }
    Ok(table.finish())
}

fn table_key<'a>(cx: &Context<'_, 'a>, key: &Value<'a>) -> Result<Value<'a>> {
    let Some(text) = key.as_str() else { return to_index(cx, key).map(Value::Int) };
    let mut characters = text.chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) => Ok(Value::Int(i64::from(u32::from(character)))),
        _ => Err(Error::runtime("keys of a table for `translate` are single characters or numbers")),
    }
}

/// Refuses keyword arguments.
pub(super) fn refuse_keywords(arguments: &Arguments<'_, '_>, method: &str) -> Result<()> {
    if arguments.named.is_empty() { Ok(()) } else { Err(no_keywords_error(method)) }
}

/// A list of parts of a string, which are safe if the string is.
pub(super) fn parts<'a, 't>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    parts: impl Iterator<Item = &'t str>,
) -> Result<Value<'a>> {
    let mut list = cx.heap.list()?;
    for part in parts {
        list.push(part_of(cx, receiver, part)?)?;
    }
    Ok(list.finish())
}

/// The string that `write` appends, safe if the receiver is.
pub(super) fn build_string<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    write: impl FnOnce(&mut Text<'a>) -> Result<()>,
) -> Result<Value<'a>> {
    let mut text = cx.heap.text();
    write(&mut text)?;
    finish_text(text, receiver.is_safe())
}

/// Binds the arguments of a method that takes a separator and a count.
pub(super) fn separator<'r, 'a>(
    cx: &Context<'_, 'a>,
    method: &str,
    arguments: &Arguments<'r, 'a>,
) -> Result<(Option<&'r str>, i64)> {
    let [separator, most] = bind_arguments(arguments, method, ["sep", "maxsplit"], 0)?;
    let separator = match separator.filter(|separator| !separator.is_none()) {
        None => None,
        Some(value) => match expect_string(cx, method, value)? {
            "" => return Err(Error::runtime("a separator cannot be empty")),
            text => Some(text),
        },
    };
    Ok((separator, integer_or(cx, most, -1)?))
}
