//! Filters with the semantics of JavaScript and mustache, which templates translated from other languages use.

use hinagata_value::{Arguments, Digits, Error, Event, Kind, Number, Result, Shape, Text, Value, walk_value};

use crate::{
    context::Context,
    library::{
        arguments::{bind_arguments, expect_none, expect_string, to_index, to_size},
        ops::{is_true, values_equal},
        textual::{charge_characters, copy_string, finish_text, to_textual},
        types::require_settled,
    },
};

/// `js`: the text that JavaScript prints for the value.
pub(super) fn js<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "js")?;
    require_settled(&value)?;
    match value.kind() {
        Kind::Str => Ok(value),
        Kind::None | Kind::Undefined => cx.heap.string(""),
        _ => {
            let mut text = cx.heap.text();
            write_js(cx, &value, &mut text)?;
            finish_text(text, false)
        }
    }
}

/// Appends the text of a value: lists without brackets, joined by commas; maps as `[object Object]`.
fn write_js<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, text: &mut Text<'a>) -> Result<()> {
    // How many maps are open: nothing in them is printed.
    let mut maps = 0_usize;
    walk_value(cx.heap, value, &mut |event| {
        match event {
            Event::Start(Shape::Map | Shape::Namespace, _) => {
                if maps == 0 {
                    text.push_str("[object Object]")?;
                }
                maps += 1;
            }
            Event::End(Shape::Map | Shape::Namespace, _) => maps = maps.saturating_sub(1),
            Event::Next if maps == 0 => text.push_str(",")?,
            Event::Scalar(scalar) if maps == 0 => write_scalar(cx, &scalar, text)?,
            _ => {}
        }
        Ok(())
    })
}

fn write_scalar<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, text: &mut Text<'a>) -> Result<()> {
    require_settled(value)?;
    match value.kind() {
        Kind::None | Kind::Undefined => Ok(()),
        Kind::Bool => text.push_str(if value.as_bool() == Some(true) { "true" } else { "false" }),
        Kind::Int | Kind::Float => match value.as_number() {
            Some(number) => write_number(number, text),
            None => text.push_str(&to_textual(cx, value)?),
        },
        _ => text.push_str(&to_textual(cx, value)?),
    }
}

/// Appends a number as `Number::toString` of ECMA-262 writes it.
fn write_number(number: Number, text: &mut Text<'_>) -> Result<()> {
    let float = number.as_f64();
    let Some(digits) = Digits::from_f64(float) else {
        return text.push_str(match float {
            _ if float.is_nan() => "NaN",
            _ if float > 0.0 => "Infinity",
            _ => "-Infinity",
        });
    };
    let shown = digits.as_str();
    if shown.is_empty() || float == 0.0 {
        return text.push_str("0");
    }
    if digits.negative {
        text.push_str("-")?;
    }
    let point = i64::from(digits.point);
    let length = i64::try_from(shown.len()).unwrap_or(i64::MAX);
    let zeros = |count: i64| usize::try_from(count).unwrap_or(0);
    if length <= point && point <= 21 {
        text.push_str(shown)?;
        return text.push_repeated("0", zeros(point - length));
    }
    if 0 < point && point <= 21 {
        let (whole, fraction) = shown.split_at(zeros(point));
        return text.push_fmt(format_args!("{whole}.{fraction}"));
    }
    if -6 < point && point <= 0 {
        text.push_str("0.")?;
        text.push_repeated("0", zeros(-point))?;
        return text.push_str(shown);
    }
    let (first, rest) = shown.split_at(1);
    text.push_str(first)?;
    if !rest.is_empty() {
        text.push_fmt(format_args!(".{rest}"))?;
    }
    let exponent = point - 1;
    text.push_fmt(format_args!("e{}{}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs()))
}

/// `json`: the value as `JSON.stringify` of JavaScript writes it, with an optional number of spaces per level.
pub(super) fn json<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [indent] = bind_arguments(arguments, "json", ["indent"], 0)?;
    let width = match indent {
        Some(indent) if !matches!(indent.kind(), Kind::None | Kind::Undefined) => {
            to_size(to_index(cx, indent)?).min(10)
        }
        _ => 0,
    };
    require_settled(&value)?;
    if value.is_undefined() {
        return cx.heap.string("undefined");
    }
    let mut text = cx.heap.text();
    write_json_like_js(cx, &value, width, 0, &mut text)?;
    finish_text(text, false)
}

fn write_json_like_js<'a>(
    cx: &Context<'_, 'a>,
    value: &Value<'a>,
    width: usize,
    depth: usize,
    text: &mut Text<'a>,
) -> Result<()> {
    let _level = cx.heap.budget().enter_level()?;
    cx.heap.budget().charge_steps(1)?;
    require_settled(value)?;
    let new_line = |depth: usize, text: &mut Text<'a>| match width {
        0 => Ok(()),
        _ => {
            text.push_str("\n")?;
            text.push_repeated(" ", width * depth)
        }
    };
    let is_map = matches!(value.kind(), Kind::Map | Kind::Namespace);
    match value.kind() {
        Kind::None | Kind::Undefined => text.push_str("null"),
        Kind::Str => write_string(cx, value.as_str().unwrap_or_default(), text),
        Kind::Map | Kind::Namespace | Kind::List | Kind::Tuple | Kind::Range | Kind::View | Kind::Once => {
            let (open, close) = if is_map { ("{", "}") } else { ("[", "]") };
            let entries = pairs_of(cx, value)?;
            text.push_str(open)?;
            for (index, (key, item)) in entries.iter().enumerate() {
                if index > 0 {
                    text.push_str(",")?;
                }
                new_line(depth + 1, text)?;
                if is_map {
                    write_string(cx, &to_textual(cx, key)?, text)?;
                    text.push_str(if width == 0 { ":" } else { ": " })?;
                }
                write_json_like_js(cx, item, width, depth + 1, text)?;
            }
            if !entries.is_empty() {
                new_line(depth, text)?;
            }
            text.push_str(close)
        }
        Kind::Bool | Kind::Int | Kind::Float => write_scalar(cx, value, text),
        _ => Err(Error::runtime("`json` works on data, not on functions and objects")),
    }
}

fn write_string(cx: &Context<'_, '_>, string: &str, text: &mut Text<'_>) -> Result<()> {
    charge_characters(cx, string)?;
    text.push_str("\"")?;
    let mut from = 0;
    for (at, character) in string.char_indices() {
        let short = match character {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '\u{8}' => "\\b",
            '\u{c}' => "\\f",
            control if control < ' ' => "",
            _ => continue,
        };
        text.push_str(&string[from..at])?;
        match short {
            "" => text.push_fmt(format_args!("\\u{:04x}", u32::from(character)))?,
            short => text.push_str(short)?,
        }
        from = at + character.len_utf8();
    }
    text.push_str(&string[from..])?;
    text.push_str("\"")
}

/// The entries of a container in the order of JavaScript: keys that are whole numbers first, in their order.
fn pairs_of<'a>(cx: &Context<'_, 'a>, value: &Value<'a>) -> Result<Vec<(Value<'a>, Value<'a>)>> {
    let budget = cx.heap.budget();
    let mut pairs = Vec::new();
    match value.kind() {
        Kind::Map | Kind::Namespace => {
            for entry in cx.heap.entries(value).into_iter().flatten() {
                budget.charge_steps(1)?;
                pairs.push(entry);
            }
            // A stable sort keeps the order of all other keys.
            pairs.sort_by_key(|(key, _)| {
                key.as_str().and_then(array_index).map_or((1, 0), |index| (0, index))
            });
        }
        Kind::List | Kind::Tuple | Kind::Range | Kind::View | Kind::Once => {
            for (index, item) in cx.heap.iter(value).into_iter().flatten().enumerate() {
                budget.charge_steps(1)?;
                pairs.push((Value::Int(i64::try_from(index).unwrap_or(i64::MAX)), item));
            }
        }
        _ => {}
    }
    Ok(pairs)
}

/// The number that a key spells in its canonical form, if JavaScript treats it as an index.
fn array_index(key: &str) -> Option<u32> {
    let is_canonical = key == "0" || !key.starts_with(['0', '+']);
    let index = is_canonical.then(|| key.parse::<u32>().ok()).flatten()?;
    (index < u32::MAX).then_some(index)
}

/// `each`: the items of a list, the values of a map, else nothing.
pub(super) fn each<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "each")?;
    require_settled(&value)?;
    if value.kind() == Kind::List {
        return Ok(value);
    }
    cx.heap.list_of(pairs_of(cx, &value)?.into_iter().map(|(_, item)| item))
}

/// `pairs`: the indices and items of a list, the keys and values of a map, else nothing.
pub(super) fn pairs<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "pairs")?;
    require_settled(&value)?;
    let mut list = cx.heap.list()?;
    for (key, item) in pairs_of(cx, &value)? {
        list.push(cx.heap.tuple_of([key, item])?)?;
    }
    Ok(list.finish())
}

/// `section`: what a section of a template goes over: a list itself, `here` for true, nothing for what the dialect
/// calls false, else the value alone.
pub(super) fn section<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [here, dialect] = bind_arguments(arguments, "section", ["here", "dialect"], 0)?;
    require_settled(&value)?;
    let dialect = dialect.map_or(Ok("mustache"), |dialect| expect_string(cx, "section", dialect))?;
    let is_false = match (dialect, value.kind()) {
        (_, Kind::None | Kind::Undefined) => true,
        ("handlebars", Kind::Bool) => value.as_bool() == Some(false),
        ("handlebars", kind) => kind == Kind::List && cx.heap.len(&value) == Some(0),
        ("mustache", Kind::Map) => false,
        ("mustache" | "chevron", _) => !is_true(cx, &value)?,
        _ => {
            return Err(Error::runtime(format!(
                "unknown dialect '{dialect}' of `section`: expected mustache, chevron or handlebars"
            )));
        }
    };
    if is_false {
        return cx.heap.list_of([]);
    }
    match value.kind() {
        Kind::List => Ok(value),
        Kind::Bool => cx.heap.list_of([here.cloned().unwrap_or(Value::None)]),
        _ => cx.heap.list_of([value]),
    }
}

/// `at`: the value under the keys, one after the other: own keys of maps, whole numbers and `length` of lists, `length`
/// of strings in UTF-16 units; else undefined.
pub(super) fn at<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    if !arguments.named.is_empty() {
        return Err(Error::runtime("`at` takes keys without names"));
    }
    let mut found = value;
    for key in arguments.positional {
        found = own_key(cx, &found, key)?.unwrap_or_else(|| cx.heap.undefined_value(&found, None));
    }
    require_settled(&found)?;
    Ok(found)
}

/// The value under one key, as [`at`] finds it.
fn own_key<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, key: &Value<'a>) -> Result<Option<Value<'a>>> {
    require_settled(value)?;
    require_settled(key)?;
    cx.heap.budget().charge_steps(1)?;
    let index = key
        .as_i64()
        .and_then(|index| usize::try_from(index).ok())
        .or_else(|| key.as_str().and_then(array_index).and_then(|index| usize::try_from(index).ok()));
    let is_length = key.as_str() == Some("length");
    Ok(match value.kind() {
        Kind::Map | Kind::Namespace => match (key.as_str(), key.kind()) {
            (Some(name), _) => cx.heap.entry(value, name),
            (None, Kind::Int | Kind::Float | Kind::Bool) => {
                let mut name = cx.heap.text();
                write_scalar(cx, key, &mut name)?;
                cx.heap.entry(value, name.as_str())
            }
            _ => None,
        },
        Kind::List | Kind::Tuple | Kind::Range => match index {
            Some(index) => cx.heap.item(value, index),
            None if is_length => {
                cx.heap.len(value).map(|len| Value::Int(i64::try_from(len).unwrap_or(i64::MAX)))
            }
            None => None,
        },
        Kind::Str => {
            let text = value.as_str().unwrap_or_default();
            charge_characters(cx, text)?;
            match index {
                // Half of a character outside of the first plane is no text.
                Some(index) => {
                    let mut units = 0;
                    let found = text.chars().find(|character| {
                        let here = units == index;
                        units += character.len_utf16();
                        here
                    });
                    found
                        .filter(|character| character.len_utf16() == 1)
                        .map(|character| copy_string(cx, character.encode_utf8(&mut [0; 4]), false))
                        .transpose()?
                }
                None if is_length => {
                    Some(Value::Int(i64::try_from(text.encode_utf16().count()).unwrap_or(i64::MAX)))
                }
                None => None,
            }
        }
        _ => None,
    })
}

/// `up`: the value at a dotted path if every key is there, else `other`.
pub(super) fn up<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [path, other] = bind_arguments(arguments, "up", ["path", "other"], 0)?;
    require_settled(&value)?;
    let Some(path) = path else { return Err(Error::runtime("`up` needs a dotted path")) };
    let path = expect_string(cx, "up", path)?;
    let mut found = value;
    for name in path.split('.') {
        let key = cx.heap.string(name)?;
        match own_key(cx, &found, &key)? {
            Some(next) => found = next,
            None => return Ok(other.cloned().unwrap_or(Value::None)),
        }
    }
    require_settled(&found)?;
    Ok(found)
}

/// `words`: the words of a command line, split as a shell splits them: at whitespace outside of quotes.
pub(super) fn words<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "words")?;
    require_settled(&value)?;
    let textual = to_textual(cx, &value)?;
    charge_characters(cx, &textual)?;
    let mut words = cx.heap.list()?;
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = textual.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some('"') | None, '\\') => word.get_or_insert_default().extend(characters.next()),
            (Some(_), _) => word.get_or_insert_default().push(character),
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, _) if character.is_whitespace() => {
                if let Some(word) = word.take() {
                    words.push(cx.heap.string(&word)?)?;
                }
            }
            (None, _) => word.get_or_insert_default().push(character),
        }
    }
    if let Some(word) = word {
        words.push(cx.heap.string(&word)?)?;
    }
    Ok(words.finish())
}

/// `prefix`: a text before every line, but not before an empty last one. Lines end at `\n` only.
pub(super) fn prefix<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [prefix] = bind_arguments(arguments, "prefix", ["text"], 0)?;
    require_settled(&value)?;
    let prefix = prefix.map_or(Ok(""), |prefix| expect_string(cx, "prefix", prefix))?;
    let textual = to_textual(cx, &value)?;
    charge_characters(cx, &textual)?;
    let mut text = cx.heap.text();
    for line in textual.split_inclusive('\n') {
        text.push_str(prefix)?;
        text.push_str(line)?;
    }
    finish_text(text, false)
}

/// `html`: the characters that a dialect of mustache escapes for HTML, as it escapes them.
pub(super) fn html<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [dialect] = bind_arguments(arguments, "html", ["dialect"], 0)?;
    require_settled(&value)?;
    let dialect = dialect.map_or(Ok("mustache"), |dialect| expect_string(cx, "html", dialect))?;
    let all = match dialect {
        "mustache" => true,
        "chevron" => false,
        _ => {
            return Err(Error::runtime(format!(
                "unknown dialect '{dialect}' of `html`: expected mustache or chevron"
            )));
        }
    };
    let textual = to_textual(cx, &value)?;
    charge_characters(cx, &textual)?;
    let mut text = cx.heap.text();
    let mut from = 0;
    for (at, byte) in textual.bytes().enumerate() {
        let replacement = match byte {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            b'\'' if all => "&#39;",
            b'/' if all => "&#x2F;",
            b'`' if all => "&#x60;",
            b'=' if all => "&#x3D;",
            _ => continue,
        };
        text.push_str(&textual[from..at])?;
        text.push_str(replacement)?;
        from = at + 1;
    }
    text.push_str(&textual[from..])?;
    finish_text(text, true)
}

/// `js_same`: `===` of JavaScript: no conversion, true is not 1, null is not undefined, two lists are never the same.
pub(crate) fn js_same<'a>(
    cx: &Context<'_, 'a>,
    value: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<bool> {
    let [other] = bind_arguments(arguments, "js_same", ["other"], 0)?;
    let other = other.unwrap_or(&Value::None);
    require_settled(value)?;
    require_settled(other)?;
    Ok(match (value.kind(), other.kind()) {
        (Kind::Int | Kind::Float, Kind::Int | Kind::Float) => {
            let number = |value: &Value<'a>| value.as_number().map(Number::as_f64);
            number(value) == number(other)
        }
        (a, b) if a != b => false,
        (Kind::None | Kind::Undefined, _) => true,
        (Kind::Bool, _) => value.as_bool() == other.as_bool(),
        (Kind::Str, _) => values_equal(cx, value, other)?,
        _ => value.is_same_container(other),
    })
}
