//! Changes the texts of files: line numbers, empty lines, long runs of Base64, cuts.

use std::borrow::Cow;

use crate::{
    options::TextForm,
    outline::{Outline, OutlinePart},
};

/// The shortest run of Base64 that is shortened, in characters.
const LONG_RUN: usize = 256;

/// The shortest run of Base64 in a `data:` address that is shortened.
const LONG_ADDRESS: usize = 64;

/// The characters of a run that stay.
const KEPT: usize = 32;

/// A line of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TextLine<'t> {
    /// The number in the file; a mark has none.
    pub(crate) number: Option<usize>,
    /// The text, without its end.
    pub(crate) text: &'t str,
}

/// The lines of a whole text.
pub(crate) fn text_lines(text: &str) -> impl Iterator<Item = TextLine<'_>> {
    text.lines_with_ends().enumerate().map(|(index, text)| TextLine { number: Some(index + 1), text })
}

/// Splits at `\n` and keeps `\r`, so that lines can be joined again.
trait LinesWithEnds {
    fn lines_with_ends(&self) -> impl Iterator<Item = &str>;
}

impl LinesWithEnds for str {
    fn lines_with_ends(&self) -> impl Iterator<Item = &str> {
        self.strip_suffix('\n').unwrap_or(self).split('\n')
    }
}

/// A whole text in its form.
pub(crate) fn shape_text(text: &str, form: TextForm) -> Cow<'_, str> {
    if !form.line_numbers && !form.remove_empty_lines || text.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(shape_lines(text_lines(text), form, line_count(text)))
}

/// Lines in their form; `last` is the highest number.
pub(crate) fn shape_lines<'t>(
    lines: impl IntoIterator<Item = TextLine<'t>>,
    form: TextForm,
    last: usize,
) -> String {
    let width = last.to_string().len();
    let mut shaped = String::new();
    for line in lines {
        if form.remove_empty_lines && line.text.trim().is_empty() {
            continue;
        }
        if form.line_numbers {
            match line.number {
                Some(number) => shaped.push_str(&format!("{number:>width$}: ")),
                None => shaped.push_str(&" ".repeat(width + 2)),
            }
        }
        shaped.push_str(line.text);
        shaped.push('\n');
    }
    shaped
}

/// An outline in its form; `last` is the number of the last line of the file.
pub(crate) fn shape_outline(outline: &Outline<'_>, form: TextForm, last: usize) -> String {
    if !form.line_numbers && !form.remove_empty_lines {
        return outline.to_string();
    }
    let marks: Vec<String> = outline.parts().iter().map(OutlinePart::to_string).collect();
    let lines = outline.parts().iter().zip(&marks).flat_map(|(part, text)| {
        let first = match part {
            OutlinePart::Lines { first, .. } => Some(*first),
            OutlinePart::Fold { .. } => None,
        };
        text_lines(text)
            .enumerate()
            .map(move |(index, line)| TextLine { number: first.map(|first| first + index), text: line.text })
    });
    shape_lines(lines, form, last)
}

/// The number of lines.
pub(crate) fn line_count(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() + usize::from(!text.ends_with('\n'))
}

/// The mark in place of lines.
pub(crate) fn cut_mark(lines: usize) -> String {
    let plural = if lines == 1 { "" } else { "s" };
    format!("⋯ {lines} line{plural}")
}

/// The largest start and end of `text` that `fits`, in its form, with a mark between them; `None` if nothing fits.
pub(crate) fn cut_text(text: &str, form: TextForm, fits: &dyn Fn(&str) -> bool) -> Option<String> {
    let lines: Vec<TextLine<'_>> = text_lines(text).collect();
    let shape = |kept: usize| {
        let (head, tail) = (kept - kept / 3, kept / 3);
        let mark = cut_mark(lines.len() - kept);
        let mark = TextLine { number: None, text: &mark };
        let end = &lines[lines.len() - tail..];
        shape_lines(lines[..head].iter().chain([&mark]).chain(end).copied(), form, lines.len())
    };
    largest_fitting(lines.len(), &shape, fits)
}

/// The largest start of a text that `fits`, in its form, with a mark behind it; `None` if nothing fits. `start` is what
/// was read of the text, `size` the bytes of all of it.
pub(crate) fn cut_end(start: &str, size: u64, form: TextForm, fits: &dyn Fn(&str) -> bool) -> Option<String> {
    let lines: Vec<TextLine<'_>> = text_lines(start).collect();
    let shape = |kept: usize| {
        let bytes: usize = lines[..kept].iter().map(|line| line.text.len() + 1).sum();
        let mark = format!("⋯ {} bytes", size.saturating_sub(bytes as u64));
        let mark = TextLine { number: None, text: &mark };
        shape_lines(lines[..kept].iter().chain([&mark]).copied(), form, lines.len())
    };
    largest_fitting(lines.len(), &shape, fits)
}

/// The text of the most lines that fits: fewer than `count`, and more than none.
fn largest_fitting(
    count: usize,
    shape: &dyn Fn(usize) -> String,
    fits: &dyn Fn(&str) -> bool,
) -> Option<String> {
    // `low` fits, unless it is zero; `high` does not.
    let (mut low, mut high) = (0, count);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if fits(&shape(middle)) { low = middle } else { high = middle }
    }
    (low > 0).then(|| shape(low))
}

/// The text with marks in place of long runs of Base64; `None` if it has none.
pub(crate) fn shorten_base64(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut shortened = String::new();
    let (mut copied, mut place) = (0, 0);
    while place < bytes.len() {
        let length = run_length(&bytes[place..]);
        let run = &bytes[place..place + length];
        let shortest = if text[..place].ends_with("base64,") { LONG_ADDRESS } else { LONG_RUN };
        if length >= shortest && is_mixed(run) {
            shortened.push_str(&text[copied..place + KEPT]);
            shortened.push_str(&format!("⋯ {} characters", length - KEPT));
            copied = place + length;
        }
        place += match length {
            0 => text[place..].chars().next().map_or(1, char::len_utf8),
            length => length,
        };
    }
    (copied > 0).then(|| shortened + &text[copied..])
}

/// The length of the run of Base64 at the start, with the signs that fill it up.
fn run_length(bytes: &[u8]) -> usize {
    let is_digit = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(**byte, b'+' | b'/' | b'-' | b'_');
    let digits = bytes.iter().take_while(is_digit).count();
    digits + bytes[digits..].iter().take(2).take_while(|byte| **byte == b'=').count()
}

/// Whether a run has capitals, small letters and digits, as encoded bytes have and rulers and words do not.
fn is_mixed(run: &[u8]) -> bool {
    run.iter().any(u8::is_ascii_uppercase)
        && run.iter().any(u8::is_ascii_lowercase)
        && run.iter().any(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERED: TextForm =
        TextForm { line_numbers: true, remove_empty_lines: true, truncate_base64: false, compress: false };

    #[test]
    fn line_numbers_are_those_of_the_file() {
        let text = "a\n\n\tb\r\n".to_owned() + &"\n".repeat(7) + "c";
        assert_eq!(shape_text(&text, NUMBERED), " 1: a\n 3: \tb\r\n11: c\n");
        assert_eq!(shape_text("a\n\nb", TextForm { line_numbers: false, ..NUMBERED }), "a\nb\n");
        assert_eq!(shape_text(&text, TextForm::default()), text);
    }

    #[test]
    fn a_cut_text_keeps_its_start_and_its_end() {
        let text: String = (1..=20).map(|number| format!("line {number}\n")).collect();
        let cut = cut_text(&text, TextForm::default(), &|text| text.lines().count() <= 5).expect("fits");
        assert_eq!(cut, "line 1\nline 2\nline 3\n⋯ 16 lines\nline 20\n");
        assert_eq!(cut_text(&text, TextForm::default(), &|_| false), None);
        let cut = cut_end(&text, 1_000, TextForm::default(), &|text| text.lines().count() <= 3);
        assert_eq!(cut.as_deref(), Some("line 1\nline 2\n⋯ 986 bytes\n"));
        let cut = cut_text(&text, NUMBERED, &|text| text.lines().count() <= 3).expect("fits");
        assert_eq!(cut, " 1: line 1\n 2: line 2\n    ⋯ 18 lines\n");
    }

    #[test]
    fn long_runs_of_base64_are_shortened() {
        let run = "aB3+".repeat(100);
        let text = format!("é src=\"data:image/png;base64,{}\" key={run}ü", &run[..80]);
        let start = &run[..32];
        assert_eq!(
            shorten_base64(&text).expect("is shortened"),
            format!("é src=\"data:image/png;base64,{start}⋯ 48 characters\" key={start}⋯ 368 charactersü")
        );
        for text in ["=".repeat(400), "a".repeat(400), run[..250].to_owned(), String::new()] {
            assert_eq!(shorten_base64(&text), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn shortening_never_fails(text in "[aZ0é=/ ]{0,300}|\\PC{0,200}", more in "[a-zA-Z0-9]{200,400}") {
            let _ = shorten_base64(&format!("{text}{more}{text}"));
        }
    }
}
