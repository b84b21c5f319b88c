//! Methods for upper and lower case, and for character classes.

use hinagata_value::{Arguments, Result, Value};

use super::string::text;
use crate::{
    context::Context,
    library::{
        arguments::expect_none,
        tests,
        textual::{charge_characters, new_string},
        unicode::{self, push_folded, push_lower_at, push_title},
    },
};

/// The mapped text of `value`; the value itself if every byte is `unchanged` by the mapping.
fn map_text<'a>(
    cx: &Context<'_, 'a>,
    value: &Value<'a>,
    text: &str,
    unchanged: impl Fn(u8) -> bool,
    map: impl FnOnce(&str) -> String,
) -> Result<Value<'a>> {
    if text.bytes().all(unchanged) && value.as_str().is_some() {
        cx.heap.budget().step_bytes(text.len())?;
        return Ok(value.clone());
    }
    // Charged before mapping. The result is at most three times as long, and `new_string` charges for it.
    charge_characters(cx, text)?;
    new_string(cx, map(text), value.is_safe())
}

/// A text in lower case, safe if `value` is.
///
/// # Errors
/// When a limit is reached.
pub(crate) fn to_lower<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, text: &str) -> Result<Value<'a>> {
    map_text(
        cx,
        value,
        text,
        |byte| byte.is_ascii() && !byte.is_ascii_uppercase(),
        |text| if text.is_ascii() { text.to_ascii_lowercase() } else { text.to_lowercase() },
    )
}

/// A text in upper case, safe if `value` is.
///
/// # Errors
/// When a limit is reached.
pub(crate) fn to_upper<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, text: &str) -> Result<Value<'a>> {
    map_text(
        cx,
        value,
        text,
        |byte| byte.is_ascii() && !byte.is_ascii_lowercase(),
        |text| if text.is_ascii() { text.to_ascii_uppercase() } else { text.to_uppercase() },
    )
}

/// A text with its first character in title case and the others in lower case, safe if `value` is.
///
/// # Errors
/// When a limit is reached.
pub(crate) fn to_capitalized<'a>(cx: &Context<'_, 'a>, value: &Value<'a>, text: &str) -> Result<Value<'a>> {
    charge_characters(cx, text)?;
    let mut result = String::with_capacity(text.len());
    let mut rest = text.char_indices();
    if let Some((_, first)) = rest.next() {
        push_title(first, &mut result);
    }
    if text.contains('Σ') {
        // The lower case of a sigma depends on the text before it, including the first character.
        rest.for_each(|(at, character)| push_lower_at(text, at, character, &mut result));
    } else {
        result.push_str(&rest.as_str().to_lowercase());
    }
    new_string(cx, result, value.is_safe())
}

pub(super) fn lower<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "lower")?;
    to_lower(cx, receiver, text(receiver))
}

pub(super) fn upper<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "upper")?;
    to_upper(cx, receiver, text(receiver))
}

pub(super) fn capitalize<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "capitalize")?;
    to_capitalized(cx, receiver, text(receiver))
}

pub(super) fn casefold<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "casefold")?;
    by_character(cx, receiver, |_, _, character, result| push_folded(character, result))
}

pub(super) fn swap_case<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "swapcase")?;
    by_character(cx, receiver, |text, at, character, result| {
        if character.is_uppercase() {
            push_lower_at(text, at, character, result);
        } else if character.is_lowercase() {
            result.extend(character.to_uppercase());
        } else {
            result.push(character);
        }
    })
}

pub(super) fn title<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "title")?;
    let mut inside = false;
    by_character(cx, receiver, |text, at, character, result| {
        if inside {
            push_lower_at(text, at, character, result);
        } else {
            push_title(character, result);
        }
        inside = unicode::is_cased(character);
    })
}

/// Maps the receiver character by character; `map` gets the text and the byte offset.
fn by_character<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    mut map: impl FnMut(&str, usize, char, &mut String),
) -> Result<Value<'a>> {
    let text = text(receiver);
    charge_characters(cx, text)?;
    let mut result = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        map(text, at, character, &mut result);
    }
    new_string(cx, result, receiver.is_safe())
}

/// Whether the receiver is not empty and all its characters belong to a class.
fn all_characters<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
    name: &str,
    class: impl Fn(char) -> bool,
) -> Result<Value<'a>> {
    expect_none(arguments, name)?;
    let text = text(receiver);
    charge_characters(cx, text)?;
    Ok(Value::Bool(!text.is_empty() && text.chars().all(class)))
}

pub(super) fn is_alphanumeric<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    all_characters(cx, receiver, arguments, "isalnum", unicode::is_alphanumeric)
}

pub(super) fn is_alpha<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    all_characters(cx, receiver, arguments, "isalpha", unicode::is_alpha)
}

pub(super) fn is_decimal<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    all_characters(cx, receiver, arguments, "isdecimal", unicode::is_decimal)
}

pub(super) fn is_digit<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    all_characters(cx, receiver, arguments, "isdigit", unicode::is_digit)
}

pub(super) fn is_numeric<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    all_characters(cx, receiver, arguments, "isnumeric", unicode::is_numeric)
}

pub(super) fn is_space<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    all_characters(cx, receiver, arguments, "isspace", unicode::is_space)
}

pub(super) fn is_ascii<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    holds(cx, receiver, arguments, "isascii", str::is_ascii)
}

pub(super) fn is_printable<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    holds(cx, receiver, arguments, "isprintable", |text| text.chars().all(unicode::is_printable))
}

pub(super) fn is_lower<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    holds(cx, receiver, arguments, "islower", tests::is_lower)
}

pub(super) fn is_upper<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    holds(cx, receiver, arguments, "isupper", tests::is_upper)
}

pub(super) fn is_identifier<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    holds(cx, receiver, arguments, "isidentifier", |text| {
        let mut characters = text.chars();
        let starts = |first: char| first == '_' || unicode_ident::is_xid_start(first);
        characters.next().is_some_and(starts) && characters.all(unicode_ident::is_xid_continue)
    })
}

pub(super) fn is_title<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    holds(cx, receiver, arguments, "istitle", |text| {
        let (mut any, mut inside) = (false, false);
        for character in text.chars() {
            if character.is_uppercase() || unicode::is_title(character) {
                if inside {
                    return false;
                }
                inside = true;
                any = true;
            } else if character.is_lowercase() {
                if !inside {
                    return false;
                }
                any = true;
            } else {
                inside = false;
            }
        }
        any
    })
}

fn holds<'a>(
    cx: &Context<'_, 'a>,
    receiver: &Value<'a>,
    arguments: &Arguments<'_, 'a>,
    name: &str,
    test: impl FnOnce(&str) -> bool,
) -> Result<Value<'a>> {
    expect_none(arguments, name)?;
    let text = text(receiver);
    charge_characters(cx, text)?;
    Ok(Value::Bool(test(text)))
}
