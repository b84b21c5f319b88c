//! Splits a Handlebars source into text and tags, and removes the lines of tags that stand alone.

use super::super::TemplateProblem;

/// What a tag does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TagKind {
    /// `{{x}}`, `{{{x}}}` and `{{&x}}`.
    Print,
    /// `{{#x}}`.
    Open,
    /// `{{^x}}`.
    OpenInverse,
    /// `{{else}}` and `{{^}}`, with the rest of `{{else if x}}`.
    Else,
    /// `{{/x}}`.
    Close,
    /// `{{>x}}`.
    Partial,
    /// `{{#>x}}`.
    PartialBlock,
    /// `{{#*inline "x"}}`.
    Inline,
    /// `{{! … }}`.
    Comment,
}

/// A piece of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Literal text.
    Text(String),
    /// A tag.
    Tag(Tag),
}

/// A tag: its kind and what is written in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) kind: TagKind,
    pub(super) inner: String,
    /// The offset of the tag.
    pub(super) offset: usize,
    /// The offset of `inner`.
    pub(super) inner_offset: usize,
    strip_left: bool,
    strip_right: bool,
    /// The indentation of a partial that stands alone.
    pub(super) indent: String,
}

/// Splits `source` into tokens.
pub(super) fn scan_tokens(source: &str) -> Result<Vec<Token>, TemplateProblem> {
    let mut tokens = Vec::new();
    let mut text = String::new();
    let mut at = 0;
    while let Some(found) = source[at..].find("{{") {
        let open = at + found;
        let before = &source[at..open];
        // `\{{` is text, `\\{{` is a backslash and a tag.
        if before.ends_with("\\\\") {
            text.push_str(&before[..before.len() - 1]);
        } else if let Some(plain) = before.strip_suffix('\\') {
            text.push_str(plain);
            text.push_str("{{");
            at = open + 2;
            continue;
        } else {
            text.push_str(before);
        }
        let (tag, end) = scan_tag(source, open)?;
        if !text.is_empty() || tokens.is_empty() {
            tokens.push(Token::Text(std::mem::take(&mut text)));
        }
        tokens.push(Token::Tag(tag));
        at = end;
    }
    text.push_str(&source[at..]);
    tokens.push(Token::Text(text));
    strip_whitespace(&mut tokens);
    Ok(tokens)
}

fn scan_tag(source: &str, open: usize) -> Result<(Tag, usize), TemplateProblem> {
    let rest = &source[open..];
    if rest.starts_with("{{{{") {
        return Err(TemplateProblem::new(open, "raw blocks `{{{{…}}}}` are not supported"));
    }
    let triple = rest.starts_with("{{{");
    let mut start = open + if triple { 3 } else { 2 };
    let strip_left = source[start..].starts_with('~');
    start += usize::from(strip_left);
    if source[start..].starts_with('!') {
        return scan_comment(source, open, start, strip_left);
    }
    let close = if triple { "}}}" } else { "}}" };
    let Some(length) = find_close(&source[start..], close) else {
        return Err(TemplateProblem::new(open, "the tag is not closed"));
    };
    let mut inner = &source[start..start + length];
    let end = start + length + close.len();
    let strip_right = inner.ends_with('~');
    if strip_right {
        inner = &inner[..inner.len() - 1];
    }
    let trimmed = inner.trim_start();
    let mut inner_offset = start + (inner.len() - trimmed.len());
    let (kind, skipped) = tag_kind(trimmed, triple);
    let inner = &trimmed[skipped..];
    inner_offset += skipped;
    let tag = Tag {
        kind,
        inner: inner.trim_end().to_owned(),
        offset: open,
        inner_offset,
        strip_left,
        strip_right,
        indent: String::new(),
    };
    Ok((tag, end))
}

/// The kind of a tag, and the length of the sign that says so.
fn tag_kind(inner: &str, triple: bool) -> (TagKind, usize) {
    if triple {
        return (TagKind::Print, 0);
    }
    for (sign, kind) in [
        ("#>", TagKind::PartialBlock),
        ("#*", TagKind::Inline),
        ("#", TagKind::Open),
        ("/", TagKind::Close),
        (">", TagKind::Partial),
        ("&", TagKind::Print),
    ] {
        if inner.starts_with(sign) {
            return (kind, sign.len());
        }
    }
    if let Some(rest) = inner.strip_prefix('^') {
        return if rest.trim().is_empty() { (TagKind::Else, 1) } else { (TagKind::OpenInverse, 1) };
    }
    match inner.strip_prefix("else") {
        Some(rest) if rest.is_empty() || rest.starts_with(char::is_whitespace) => (TagKind::Else, 4),
        _ => (TagKind::Print, 0),
    }
}

fn scan_comment(
    source: &str,
    open: usize,
    start: usize,
    strip_left: bool,
) -> Result<(Tag, usize), TemplateProblem> {
    let rest = &source[start..];
    let found = match rest.starts_with("!--") {
        true => ["--}}", "--~}}"]
            .into_iter()
            .filter_map(|close| Some((rest.find(close)?, close.len(), close.contains('~'))))
            .min(),
        false => rest.find("}}").map(|at| (at, 2, rest[..at].ends_with('~'))),
    };
    let Some((length, close, strip_right)) = found else {
        return Err(TemplateProblem::new(open, "the comment is not closed"));
    };
    let tag = Tag {
        kind: TagKind::Comment,
        inner: String::new(),
        offset: open,
        inner_offset: start,
        strip_left,
        strip_right,
        indent: String::new(),
    };
    Ok((tag, start + length + close))
}

/// Where `close` stands outside of strings and `[…]`.
fn find_close(text: &str, close: &str) -> Option<usize> {
    let mut quote = None;
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, '[') => quote = Some(']'),
            (None, '}') if text[at..].starts_with(close) => return Some(at),
            _ => {}
        }
    }
    None
}

/// Removes whitespace next to `~`, and the lines of tags that stand alone.
fn strip_whitespace(tokens: &mut [Token]) {
    let original: Vec<Option<String>> = tokens
        .iter()
        .map(|token| match token {
            Token::Text(text) => Some(text.clone()),
            Token::Tag(_) => None,
        })
        .collect();
    let last = tokens.len().saturating_sub(1);
    for index in 0..tokens.len() {
        let Token::Tag(tag) = &tokens[index] else { continue };
        let (strip_left, strip_right, kind) = (tag.strip_left, tag.strip_right, tag.kind);
        let before = index.checked_sub(1).and_then(|before| original[before].as_deref());
        let after = original.get(index + 1).and_then(Option::as_deref);
        let starts_line = before.is_some_and(|text| match text.rfind('\n') {
            Some(at) => text[at + 1..].trim().is_empty(),
            None => index == 1 && text.trim().is_empty(),
        });
        let ends_line = after.is_some_and(|text| match text.find('\n') {
            Some(at) => text[..at].trim().is_empty(),
            None => index + 1 == last && text.trim().is_empty(),
        });
        let alone = kind != TagKind::Print && starts_line && ends_line;
        if let Some(Token::Text(text)) = index.checked_sub(1).map(|before| &mut tokens[before]) {
            if alone {
                let kept = text.trim_end_matches([' ', '\t']).len();
                let indent = text.split_off(kept);
                if let Token::Tag(tag) = &mut tokens[index] {
                    tag.indent = indent;
                }
            }
            if strip_left && let Token::Text(text) = &mut tokens[index - 1] {
                text.truncate(text.trim_end().len());
            }
        }
        if let Some(Token::Text(text)) = tokens.get_mut(index + 1) {
            if alone {
                let rest = text.trim_start_matches([' ', '\t']);
                let rest = rest.strip_prefix('\r').filter(|rest| rest.starts_with('\n')).unwrap_or(rest);
                *text = rest.strip_prefix('\n').unwrap_or(rest).to_owned();
            }
            if strip_right {
                *text = text.trim_start().to_owned();
            }
        }
    }
}
