//! The filter `wordwrap`: lines of a maximum width, broken at spaces and hyphens.

use hinagata_value::{Arguments, Error, Result, Text, Value};

use super::{flag, optional_argument};
use crate::{
    context::Context,
    library::{
        arguments::{bind_arguments, integer_or, to_size},
        methods::lines_without_ends,
        textual::{charge_characters, finish_text, to_textual},
        types::wrong_type,
        unicode::{is_decimal, is_space, is_word},
    },
};

/// How words are broken.
#[derive(Clone, Copy)]
struct Style {
    width: usize,
    break_long_words: bool,
    break_on_hyphens: bool,
}

/// `wordwrap`: the text with lines of a maximum width.
pub(super) fn wordwrap<'a>(
    cx: &Context<'_, 'a>,
    value: Value<'a>,
    arguments: &Arguments<'_, 'a>,
) -> Result<Value<'a>> {
    let [width, break_long_words, separator, break_on_hyphens] = bind_arguments(
        arguments,
        "wordwrap",
        ["width", "break_long_words", "wrapstring", "break_on_hyphens"],
        0,
    )?;
    let width = integer_or(cx, width, 79)?;
    let style = Style {
        width: to_size(width),
        break_long_words: flag(cx, break_long_words, true)?,
        break_on_hyphens: flag(cx, break_on_hyphens, true)?,
    };
    separator.map_or(Ok(()), |separator| cx.require_defined(separator))?;
    let separator = optional_argument(separator).map(|separator| to_textual(cx, separator)).transpose()?;
    let separator = separator.as_deref().unwrap_or("\n");
    let Some(text) = value.as_str() else {
        return Err(wrong_type(cx, &value, |name| format!("`wordwrap` works on strings, not on {name}")));
    };
    if width <= 0 && lines_without_ends(text).next().is_some() {
        return Err(Error::runtime("`wordwrap` needs a width above 0"));
    }
    charge_characters(cx, text)?;
    let mut result = cx.heap.text();
    for (at, line) in lines_without_ends(text).enumerate() {
        if at > 0 {
            result.push_str(separator)?;
        }
        push_wrapped(line, style, separator, &mut result)?;
    }
    finish_text(result, false)
}

/// A piece of a line that is not broken, and its length in characters.
type Chunk<'t> = (&'t str, usize);

fn push_wrapped(line: &str, style: Style, separator: &str, result: &mut Text<'_>) -> Result<()> {
    let mut chunks = Chunks { line, at: 0, hyphens: style.break_on_hyphens };
    let mut next = chunks.next();
    let mut any = false;
    let mut row: Vec<Chunk<'_>> = Vec::new();
    while next.is_some() {
        result.budget().charge_steps(1)?;
        row.clear();
        let mut len = 0;
        if any && next.is_some_and(is_blank) {
            next = chunks.next();
        }
        while let Some(chunk) = next.filter(|chunk| len + chunk.1 <= style.width) {
            len += chunk.1;
            row.push(chunk);
            next = chunks.next();
        }
        if let Some(chunk) = next.filter(|chunk| chunk.1 > style.width) {
            if style.break_long_words {
                let (head, tail) = split_chunk(chunk, style.width - len, style.break_on_hyphens);
                row.push(head);
                next = Some(tail);
            } else if row.is_empty() {
                row.push(chunk);
                next = chunks.next();
            }
        }
        if row.last().is_some_and(|chunk| is_blank(*chunk)) {
            row.pop();
        }
        if !row.is_empty() {
            if any {
                result.push_str(separator)?;
            }
            any = true;
            row.iter().try_for_each(|chunk| result.push_str(chunk.0))?;
        }
    }
    Ok(())
}

fn is_blank(chunk: Chunk<'_>) -> bool {
    chunk.0.chars().all(is_space)
}

/// Splits a word that is too long, after its last hyphen that fits or where the line is full.
fn split_chunk(chunk: Chunk<'_>, room: usize, on_hyphens: bool) -> (Chunk<'_>, Chunk<'_>) {
    let place = |count: usize| chunk.0.char_indices().nth(count).map_or(chunk.0.len(), |(at, _)| at);
    let mut end = place(room);
    let mut len = room;
    if on_hyphens
        && let Some(hyphen) = chunk.0[..end].rfind('-')
        && chunk.0[..hyphen].chars().any(|character| character != '-')
    {
        end = hyphen + 1;
        len = chunk.0[..end].chars().count();
    }
    ((&chunk.0[..end], len), (&chunk.0[end..], chunk.1 - len))
}

/// The chunks of a line: spaces, words, and parts of words with hyphens.
struct Chunks<'t> {
    line: &'t str,
    at: usize,
    hyphens: bool,
}

impl<'t> Iterator for Chunks<'t> {
    type Item = Chunk<'t>;

    fn next(&mut self) -> Option<Chunk<'t>> {
        let rest = &self.line[self.at..];
        let first = rest.chars().next()?;
        let len = if is_wrap_space(first) {
            rest.find(|next| !is_wrap_space(next)).unwrap_or(rest.len())
        } else if self.hyphens {
            dashes(self.line, self.at).unwrap_or_else(|| word_len(self.line, self.at))
        } else {
            rest.find(is_wrap_space).unwrap_or(rest.len())
        };
        self.at += len;
        Some((&rest[..len], rest[..len].chars().count()))
    }
}

/// Whether a character is ASCII whitespace: only that separates words here.
fn is_wrap_space(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | ' ')
}

fn is_letter(character: char) -> bool {
    is_word(character) && !is_decimal(character)
}

fn is_word_or_punctuation(character: char) -> bool {
    is_word(character) || matches!(character, '!' | '"' | '\'' | '&' | '.' | ',' | '?')
}

/// The length of a dash of two or more hyphens at a byte offset, if it is between words.
fn dashes(line: &str, at: usize) -> Option<usize> {
    // Checked first, so that a long run of hyphens is not counted again at each of them.
    if !line[..at].chars().next_back().is_some_and(is_word_or_punctuation) {
        return None;
    }
    let len = line[at..].len() - line[at..].trim_start_matches('-').len();
    let after = line[at + len..].chars().next().is_some_and(is_word);
    (len >= 2 && after).then_some(len)
}

/// The length of the word at a byte offset, up to its end, a hyphen where it may break, or a dash.
fn word_len(line: &str, at: usize) -> usize {
    let mut places = line[at..].char_indices().map(|(offset, character)| (at + offset, character));
    // A word has at least one character, whatever it is.
    places.next();
    for (place, character) in places {
        if character == '-' && breaks(line, place) {
            return place + 1 - at;
        }
        if is_wrap_space(character) || (character == '-' && dashes(line, place).is_some()) {
            return place - at;
        }
    }
    line.len() - at
}

/// Whether a word may be broken after a hyphen: it needs letters before and after it.
fn breaks(line: &str, hyphen: usize) -> bool {
    let mut before = line[..hyphen].chars().rev();
    let before = (before.next(), before.next(), before.next());
    let letters = match before {
        (Some(last), Some('-'), Some(first)) => is_letter(last) && is_letter(first),
        (Some(last), Some(first), _) => is_letter(last) && is_letter(first),
        _ => false,
    };
    let mut after = line[hyphen + 1..].chars();
    let first = after.next();
    let second = match after.next() {
        Some('-') => after.next(),
        second => second,
    };
    letters && first.is_some_and(is_letter) && second.is_some_and(is_letter)
}
