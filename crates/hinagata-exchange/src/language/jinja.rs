//! Sources that are Jinja already: which of their lines are roles, and which of their tags print one variable.

use hinagata_jinja::{ParseOptions, Source, analyze_template, parse};
use hinagata_value::{Budget, Limits};

use super::TemplateProblem;

/// Fails for a source that is not valid Jinja.
pub(crate) fn check_source(source: &str) -> Result<(), TemplateProblem> {
    let budget = Budget::new(Limits::default());
    parse("template", source, &ParseOptions::default(), &budget).map(drop).map_err(|error| {
        let line = error.place().map_or(1, |place| place.line);
        let lines = source.split_inclusive('\n').take((line as usize).saturating_sub(1));
        TemplateProblem::new(lines.map(str::len).sum(), error.to_string())
    })
}

/// The variables that a source reads, in the order of their first use.
pub(crate) fn read_variables(source: &str) -> Vec<String> {
    let budget = Budget::new(Limits::default());
    let Ok(template) = parse("template", source, &ParseOptions::default(), &budget) else {
        return Vec::new();
    };
    let analysis = analyze_template(&template, &Source::new("template", source));
    let mut names: Vec<String> = Vec::new();
    for read in analysis.variables {
        if !names.iter().any(|name| **name == *read.path.root) {
            names.push(read.path.root.to_string());
        }
    }
    names
}

/// A piece of a Jinja source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'s> {
    /// Literal text.
    Text(&'s str),
    /// A tag or a comment, with its delimiters.
    Tag(&'s str),
}

/// Splits a source into text and tags. The content of `raw` blocks counts as tag.
pub(crate) fn split_pieces(source: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(found) = source[at..].find('{') {
        let open = at + found;
        let rest = &source[open..];
        let close = match rest.as_bytes().get(1) {
            Some(b'{') => "}}",
            Some(b'%') => "%}",
            Some(b'#') => "#}",
            _ => {
                push_text(&mut pieces, &source[at..=open]);
                at = open + 1;
                continue;
            }
        };
        push_text(&mut pieces, &source[at..open]);
        let mut length = tag_length(rest, close);
        let word = rest[2..length.max(2)].trim_start_matches(['-', '+']).trim_start();
        if close == "%}" && word.starts_with("raw") {
            length = raw_length(rest).unwrap_or(length);
        }
        pieces.push(Piece::Tag(&rest[..length]));
        at = open + length;
    }
    push_text(&mut pieces, &source[at..]);
    pieces
}

fn push_text<'s>(pieces: &mut Vec<Piece<'s>>, text: &'s str) {
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
}

/// The length of a tag; strings in it may contain its closer. The rest of the source, if it is not closed.
fn tag_length(text: &str, close: &str) -> usize {
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(2) {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if character == '\\' => escaped = true,
            Some(open) if character == open => quote = None,
            Some(_) => {}
            None if close != "#}" && matches!(character, '"' | '\'') => quote = Some(character),
            None if text[at..].starts_with(close) => return at + close.len(),
            None => {}
        }
    }
    text.len()
}

/// The length of a `raw` block with its tags.
fn raw_length(text: &str) -> Option<usize> {
    let mut from = 2;
    while let Some(found) = text[from..].find("{%") {
        let tag = &text[from + found..];
        let word = tag[2..].trim_start_matches(['-', '+']).trim_start();
        if word.starts_with("endraw") {
            return Some(from + found + tag.find("%}")? + 2);
        }
        from += found + 2;
    }
    None
}

/// The variable that a tag prints, if it does nothing else.
pub(crate) fn printed_variable(tag: &str) -> Option<&str> {
    let inner = tag.strip_prefix("{{")?.strip_suffix("}}")?;
    let inner = inner.trim_start_matches(['-', '+']).trim_end_matches(['-', '+']).trim();
    crate::names::is_identifier(inner).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_end_outside_of_strings() {
        let pieces = split_pieces("a {{ '}}' }} b {% raw %}{{ x }}{% endraw %}{c");
        let expected = [
            Piece::Text("a "),
            Piece::Tag("{{ '}}' }}"),
            Piece::Text(" b "),
            Piece::Tag("{% raw %}{{ x }}{% endraw %}"),
            Piece::Text("{"),
            Piece::Text("c"),
        ];
        assert_eq!(pieces, expected);
        assert_eq!(printed_variable("{{- talk -}}"), Some("talk"));
    }
}
