//! Filters on text.

use hinagata_value::{Arguments, Error, Result, Text, Value};

use super::{flag, optional_argument};
use crate::{
    context::Context,
    library::{
        arguments::{bind_arguments, expect_none, integer_or, to_size},
        format::percent,
        methods::{
            lines_without_ends, push_centered, replace_text, strip_set, to_capitalized, to_lower, to_upper,
        },
        ops::{add, value_length},
        print::{print_escaped, print_value},
        textual::{charge_characters, copy_string, finish_text, strip_text, to_textual},
        types::wrong_type,
        unicode::{is_line_end, is_space, is_word, push_lower_at},
    },
};

pub(super) fn upper<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "upper")?;
    to_upper(cx, &value, &to_textual(cx, &value)?)
}

pub(super) fn lower<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "lower")?;
    to_lower(cx, &value, &to_textual(cx, &value)?)
}

pub(super) fn capitalize<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "capitalize")?;
    to_capitalized(cx, &value, &to_textual(cx, &value)?)
}

pub(super) fn string<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "string")?;
    if value.as_str().is_some() {
        return Ok(value);
    }
    let mut text = cx.heap.text();
    print_value(cx, &value, &mut text)?;
    finish_text(text, false)
}

/// `title`: words with an upper-case first letter. Words end at spaces, `-` and opening brackets.
pub(super) fn title<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "title")?;
    let text = to_textual(cx, &value)?;
    charge_characters(cx, &text)?;
    let mut result = Text::with_capacity(cx.heap.budget(), text.len())?;
    let mut part = String::new();
    let mut rest = &*text;
    let separates = |character: char| matches!(character, '-' | '(' | '{' | '[' | '<') || is_space(character);
    while let Some(first) = rest.chars().next() {
        let separator = separates(first);
        let end = rest.find(|character| separates(character) != separator).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        part.clear();
        part.extend(first.to_uppercase());
        let tail = &word[first.len_utf8()..];
        for (at, character) in tail.char_indices() {
            push_lower_at(tail, at, character, &mut part);
        }
        result.push_str(&part)?;
        rest = after;
    }
    finish_text(result, false)
}

pub(super) fn trim<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [characters] = bind_arguments(arguments, "trim", ["chars"], 0)?;
    let set = strip_set(cx, "trim", characters)?;
    let text = to_textual(cx, &value)?;
    strip_text(cx, &value, &text, text.trim_start_matches(&set).trim_end_matches(&set))
}

pub(super) fn center<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [width] = bind_arguments(arguments, "center", ["width"], 0)?;
    let width = integer_or(cx, width, 80)?;
    let mut result = cx.heap.text();
    push_centered(&mut result, &to_textual(cx, &value)?, " ", width)?;
    finish_text(result, value.is_safe())
}

pub(super) fn replace<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [old, new, count] = bind_arguments(arguments, "replace", ["old", "new", "count"], 2)?;
    let (old, new) = (old.unwrap_or(&Value::None), new.unwrap_or(&Value::None));
    let count = integer_or(cx, optional_argument(count), -1)?;
    let old_text = to_textual(cx, old)?;
    if !cx.autoescape {
        let text = to_textual(cx, &value)?;
        let plain = if value.is_safe() { copy_string(cx, &text, false)? } else { value.clone() };
        return replace_text(cx, &plain, &text, &old_text, &to_textual(cx, new)?, count);
    }
    // If an argument is safe, the value is escaped and becomes safe.
    let mut escaped = cx.heap.text();
    let value = if !value.is_safe() && (old.is_safe() || new.is_safe()) {
        print_escaped(cx, &value, &mut escaped)?;
        finish_text(std::mem::replace(&mut escaped, cx.heap.text()), true)?
    } else {
        value
    };
    let text = to_textual(cx, &value)?;
    if value.is_safe() {
        print_escaped(cx, new, &mut escaped)?;
        return replace_text(cx, &value, &text, &old_text, escaped.as_str(), count);
    }
    replace_text(cx, &value, &text, &old_text, &to_textual(cx, new)?, count)
}

/// `format`: `%` formatting with the arguments of the filter.
pub(super) fn format<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    if !arguments.positional.is_empty() && !arguments.named.is_empty() {
        return Err(Error::runtime("`format` takes arguments by place or by name, not both"));
    }
    let values = if arguments.named.is_empty() {
        cx.heap.tuple_of(arguments.positional.iter().cloned())?
    } else {
        let mut map = cx.heap.map()?;
        for (name, value) in arguments.named {
            map.insert(cx.heap.string(name)?, value.clone())?;
        }
        map.finish()
    };
    percent::format_value(cx, &value, &values)
}

/// `indent`: indents every line with spaces or a text. By default the first line and blank lines are not
/// indented.
pub(super) fn indent<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [width, first, blank] = bind_arguments(arguments, "indent", ["width", "first", "blank"], 0)?;
    let (first, blank) = (flag(cx, first, false)?, flag(cx, blank, false)?);
    width.map_or(Ok(()), |width| cx.require_defined(width))?;
    let (indent, times) = match width.and_then(Value::as_str) {
        Some(text) => (text, 1),
        None => (" ", to_size(integer_or(cx, width, 4)?)),
    };
    let Some(text) = value.as_str() else {
        return Err(wrong_type(cx, &value, |name| format!("`indent` works on strings, not on {name}")));
    };
    charge_characters(cx, text)?;
    // A line end at the end of the text starts one more line; an empty text has one line.
    let more = text.is_empty() || (text.ends_with(is_line_end) && !text.ends_with('\r'));
    let all = || lines_without_ends(text).chain(more.then_some(""));
    let each = indent.len().saturating_mul(times);
    cx.heap.budget().check_fill(each.saturating_mul(all().count() - usize::from(!first)))?;
    let mut result = cx.heap.text();
    for (at, line) in all().enumerate() {
        if at > 0 {
            result.push_str("\n")?;
        }
        if (at == 0 && first) || (at > 0 && (blank || !line.is_empty())) {
            result.push_repeated(indent, times)?;
        }
        result.push_str(line)?;
    }
    finish_text(result, value.is_safe())
}

/// `truncate`: the text shortened to a length, with a mark at its end.
pub(super) fn truncate<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [limit, kill_words, end, leeway] =
        bind_arguments(arguments, "truncate", ["length", "killwords", "end", "leeway"], 0)?;
    let end = match end {
        Some(end) => end.clone(),
        None => cx.heap.string("...")?,
    };
    let end_len = i64::try_from(value_length(cx, &end)?).unwrap_or(i64::MAX);
    limit.map_or(Ok(()), |limit| cx.require_defined(limit))?;
    let limit = integer_or(cx, limit, 255)?;
    let leeway = integer_or(cx, optional_argument(leeway), 5)?;
    if limit < end_len {
        return Err(Error::runtime(format!(
            "`truncate` cannot cut to {limit} characters: its end has {end_len}"
        )));
    }
    if leeway < 0 {
        return Err(Error::runtime("the leeway of `truncate` cannot be negative"));
    }
    let len = i64::try_from(value_length(cx, &value)?).unwrap_or(i64::MAX);
    if len <= limit.saturating_add(leeway) {
        return Ok(value);
    }
    let Some(text) = value.as_str() else {
        return Err(wrong_type(cx, &value, |name| format!("`truncate` works on strings, not on {name}")));
    };
    let shortened_text =
        text.char_indices().nth(to_size(limit - end_len)).map_or(text, |(at, _)| &text[..at]);
    let shortened_text = match shortened_text.rfind(' ') {
        Some(space) if !flag(cx, kill_words, false)? => &shortened_text[..space],
        _ => shortened_text,
    };
    add(cx, &copy_string(cx, shortened_text, value.is_safe())?, &end)
}

/// `wordcount`: the number of words, which are runs of letters, digits and `_`.
pub(super) fn wordcount<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    expect_none(arguments, "wordcount")?;
    let text = to_textual(cx, &value)?;
    charge_characters(cx, &text)?;
    let mut inside = false;
    let mut count = 0;
    for character in text.chars() {
        let word = is_word(character);
        count += i64::from(word && !inside);
        inside = word;
    }
    Ok(Value::Int(count))
}
