//! Functions that every template can call, and functions that model chat templates expect.

use hinagata_value::{Arguments, Error, Range, Result, Text, Value};

use super::{
    arguments::{bind_arguments, bind_positional, expect_string, integer_or, to_index, to_size},
    methods::update_map,
    moment,
    ops::is_true,
    textual::{finish_text, to_textual},
};
use crate::context::Context;

/// `range(stop)`, `range(start, stop)`, `range(start, stop, step)`.
///
/// # Errors
/// When a bound is not an integer, the step is 0, or the range is longer than the limit.
pub(crate) fn range<'a>(cx: &Context<'_, 'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    let [first, second, step] = bind_positional(arguments, "range", 1)?;
    let first = to_index(cx, first.unwrap_or(&Value::None))?;
    let (start, stop) = match second {
        Some(stop) => (first, to_index(cx, stop)?),
        None => (0, first),
    };
    let range = Range::new(start, stop, integer_or(cx, step, 1)?);
    cx.heap.range(range.ok_or_else(|| Error::runtime("the step of a range cannot be zero"))?)
}

/// `dict(…)`: a map from the entries of a map or from pairs, and from keyword arguments.
///
/// # Errors
/// When the argument is neither a map nor pairs, or a limit is reached.
pub(crate) fn dict<'a>(cx: &Context<'_, 'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    let map = cx.heap.map()?.finish();
    if let Value::Map(map) = &map {
        update_map(cx, map, arguments, "dict")?;
    }
    Ok(map)
}

/// `raise_exception(message)`: lets a chat template refuse its input.
///
/// # Errors
/// Always.
pub(crate) fn raise_exception<'a>(cx: &Context<'_, 'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    let [message] = bind_arguments(arguments, "raise_exception", ["message"], 1)?;
    let message = to_textual(cx, message.unwrap_or(&Value::None))?.to_owned();
    Err(Error::runtime(message))
}

/// `strftime_now(format)`: the time of the render.
///
/// # Errors
/// When the format is not a string, or a limit is reached.
pub(crate) fn strftime_now<'a>(cx: &Context<'_, 'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    let [format] = bind_arguments(arguments, "strftime_now", ["format"], 1)?;
    let format = expect_string(cx, "strftime_now", format.unwrap_or(&Value::None))?;
    let mut text = cx.heap.text();
    moment::push(cx.settings.now, format, &mut text)?;
    finish_text(text, false)
}

/// The words that `lipsum` chooses from.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "lorem", "ipsum", "dolor", "sit", "amet", "consectetur", "adipiscing", "elit", "sed", "do", "eiusmod",
    "tempor", "incididunt", "ut", "labore", "et", "dolore", "magna", "aliqua", "enim", "ad", "minim", "veniam",
    "quis", "nostrud", "exercitation", "ullamco", "laboris", "nisi", "aliquip", "ex", "ea", "commodo",
    "consequat", "duis", "aute", "irure", "in", "reprehenderit", "voluptate", "velit", "esse", "cillum", "eu",
    "fugiat", "nulla", "pariatur", "excepteur", "sint", "occaecat", "cupidatat", "non", "proident", "sunt",
    "culpa", "qui", "officia", "deserunt", "mollit", "anim", "id", "est", "laborum",
];

/// `lipsum(n, html, min, max)`: paragraphs of filler text, equal in every render with the same seed.
///
/// # Errors
/// When `min` and `max` describe an empty range, or a limit is reached.
pub(crate) fn lipsum<'a>(cx: &Context<'_, 'a>, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
    let [count, html, least, most] = bind_arguments(arguments, "lipsum", ["n", "html", "min", "max"], 0)?;
    let count = to_size(integer_or(cx, count, 5)?);
    let html = match html {
        Some(html) => is_true(cx, html)?,
        None => true,
    };
    let (least, most) = (integer_or(cx, least, 20)?, integer_or(cx, most, 100)?);
    if least >= most && count > 0 {
        return Err(Error::runtime("`lipsum` needs a `min` below its `max`"));
    }
    let mut text = cx.heap.text();
    for paragraph in 0..count {
        if paragraph > 0 {
            text.push_str(if html { "\n" } else { "\n\n" })?;
        }
        if html {
            text.push_str("<p>")?;
        }
        let words = least.saturating_add(cx.random.random_below(most.abs_diff(least)).cast_signed());
        push_paragraph(cx, to_size(words), &mut text)?;
        if html {
            text.push_str("</p>")?;
        }
    }
    finish_text(text, html)
}

/// Appends sentences of about four to fourteen words with some commas.
fn push_paragraph<'a>(cx: &Context<'_, 'a>, words: usize, text: &mut Text<'a>) -> Result<()> {
    let mut last = usize::MAX;
    let mut sentence = 0;
    for word in 0..words {
        cx.heap.budget().charge_steps(1)?;
        let mut choice = cx.random.random_below(WORDS.len() as u64) as usize;
        if choice == last {
            choice = (choice + 1) % WORDS.len();
        }
        last = choice;
        if word > 0 {
            text.push_str(" ")?;
        }
        if sentence == 0 {
            text.push(char::from(WORDS[choice].as_bytes()[0].to_ascii_uppercase()))?;
            text.push_str(&WORDS[choice][1..])?;
            sentence = 4 + cx.random.random_below(11);
        } else {
            text.push_str(WORDS[choice])?;
        }
        sentence -= 1;
        if sentence == 0 && word + 1 < words {
            text.push_str(".")?;
        } else if word + 1 < words && sentence > 1 && cx.random.random_below(8) == 0 {
            text.push_str(",")?;
        }
    }
    text.push_str(".")
}
