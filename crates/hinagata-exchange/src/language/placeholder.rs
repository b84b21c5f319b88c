//! Small languages that replace placeholders: one scanner, and what each owner accepts.

use super::{TemplateLoss, TemplateProblem};
use crate::jinja_text::{JinjaText, quote_string};
use crate::names::Names;
use crate::report::LossCode;

/// What a placeholder becomes.
pub(crate) enum Replacement {
    /// An expression that is printed.
    Print(String),
    /// A finished piece of a template.
    Template(String),
    /// Text.
    Text(String),
}

/// A piece of a template that a scanner recognises: its length, and what it becomes; `None` if it is text.
pub(crate) type Recognise<'r> =
    dyn FnMut(&str, usize) -> Result<Option<(usize, Replacement)>, TemplateProblem> + 'r;

/// Replaces every placeholder that `recognise` finds at one of the `starts`.
pub(crate) fn replace(
    source: &str,
    starts: &[char],
    recognise: &mut Recognise<'_>,
) -> Result<JinjaText, TemplateProblem> {
    let mut text = JinjaText::default();
    let (mut from, mut at) = (0, 0);
    while let Some(found) = source[at..].find(starts) {
        let place = at + found;
        let first = source[place..].chars().next().map_or(1, char::len_utf8);
        match recognise(&source[place..], place)? {
            Some((length, replacement)) => {
                text.push_text(&source[from..place]);
                match replacement {
                    Replacement::Print(expression) => text.push_print(&expression),
                    Replacement::Template(template) => text.push_statements(&template),
                    Replacement::Text(literal) => text.push_text(&literal),
                }
                at = place + length.max(first);
                from = at;
            }
            None => at = place + first,
        }
    }
    text.push_text(&source[from..]);
    Ok(text)
}

/// `{{name}}`: the name and the length of the placeholder at the start of `text`.
pub(crate) fn braces(text: &str) -> Option<(&str, usize)> {
    let inner = text.strip_prefix("{{")?;
    let end = inner.find("}}")?;
    Some((&inner[..end], end + 4))
}

/// `{{name}}` without spaces, as GitHub reads it.
pub(crate) fn translate_strict(source: &str, names: &mut Names) -> Result<String, TemplateProblem> {
    let text = replace(source, &['{'], &mut |rest, _| {
        Ok(braces(rest)
            .filter(|(name, _)| !name.is_empty() && !name.contains([' ', '\t', '\n', '{', '}']))
            .map(|(name, length)| (length, Replacement::Print(names.variable(name)))))
    })?;
    Ok(text.finish())
}

/// `{{ name }}` of Langfuse: anything between braces is a name, null prints nothing.
pub(crate) fn translate_langfuse(
    source: &str,
    names: &mut Names,
    include: &mut dyn FnMut(&str, usize) -> String,
) -> Result<String, TemplateProblem> {
    const REFERENCE: &str = "@@@langfusePrompt:";
    let text = replace(source, &['{', '@'], &mut |rest, offset| {
        if let Some(inner) = rest.strip_prefix(REFERENCE)
            && let Some(end) = inner.find("@@@")
        {
            let name =
                inner[..end].split('|').find_map(|part| part.strip_prefix("name=")).unwrap_or_default();
            let template = include(name, offset);
            return Ok(Some((REFERENCE.len() + end + 3, Replacement::Template(template))));
        }
        let found = braces(rest).filter(|(name, _)| !name.trim().is_empty() && !name.contains(['{', '}']));
        Ok(found.map(|(name, length)| {
            let name = names.variable(name.trim());
            (length, Replacement::Print(format!("{name} if {name} is not none else \"\"")))
        }))
    })?;
    Ok(text.finish())
}

/// `{{name}}` and `{{plugin:…}}` of fabric.
pub(crate) fn translate_fabric(
    source: &str,
    names: &mut Names,
    losses: &mut Vec<TemplateLoss>,
) -> Result<String, TemplateProblem> {
    let text = replace(source, &['{'], &mut |rest, offset| {
        let Some((inner, length)) = braces(rest).filter(|(name, _)| !name.trim().is_empty()) else {
            return Ok(None);
        };
        let mut words = inner.trim().split(':');
        let kind = words.next().unwrap_or_default();
        if !matches!(kind, "plugin" | "ext") || !inner.contains(':') {
            return Ok(Some((length, Replacement::Print(names.variable(inner.trim())))));
        }
        let plugin = words.next().unwrap_or_default();
        let function = names.variable(&format!("{kind}_{plugin}"));
        let arguments: Vec<String> = words.map(quote_string).collect();
        losses.push(TemplateLoss::new(
            LossCode::Helper,
            offset,
            format!("`{{{{{inner}}}}}`, which fabric computes"),
            format!("a tool called `{function}`"),
        ));
        Ok(Some((length, Replacement::Print(format!("{function}({})", arguments.join(", "))))))
    })?;
    Ok(text.finish())
}

/// `{{$name}}`, `{{'text'}}` and `{{plugin.function}}` of Semantic Kernel.
pub(crate) fn translate_kernel(
    source: &str,
    names: &mut Names,
    losses: &mut Vec<TemplateLoss>,
) -> Result<JinjaText, TemplateProblem> {
    replace(source, &['{'], &mut |rest, offset| {
        let Some((inner, length)) = braces(rest) else { return Ok(None) };
        let inner = inner.trim();
        if let Some(name) = inner.strip_prefix('$') {
            if name.is_empty() {
                return Err(TemplateProblem::new(offset, "a variable needs a name after `$`"));
            }
            return Ok(Some((length, Replacement::Print(names.variable(name)))));
        }
        if let Some(quote) = inner.chars().next().filter(|first| matches!(first, '\'' | '"')) {
            let Some(text) = inner.strip_prefix(quote).and_then(|text| text.strip_suffix(quote)) else {
                return Err(TemplateProblem::new(offset, "the text value is not closed"));
            };
            return Ok(Some((
                length,
                Replacement::Text(text.replace(&format!("\\{quote}"), &quote.to_string())),
            )));
        }
        if inner.is_empty() {
            return Err(TemplateProblem::new(offset, "the code block is empty"));
        }
        let mut words = inner.split_whitespace();
        let called = words.next().unwrap_or_default();
        let function = names.variable(&called.replace('.', "_"));
        let mut arguments = Vec::new();
        for word in words {
            let (key, value) = word.split_once('=').map_or((None, word), |(key, value)| (Some(key), value));
            let value = match value.strip_prefix('$') {
                Some(name) => names.variable(name),
                None => quote_string(value.trim_matches(['\'', '"'])),
            };
            match key.filter(|key| crate::names::is_identifier(key)) {
                Some(key) => arguments.push(format!("{key}={value}")),
                None => arguments.insert(0, value),
            }
        }
        losses.push(TemplateLoss::new(
            LossCode::Helper,
            offset,
            format!("the function `{called}`, which the format does not define"),
            format!("a tool called `{function}`"),
        ));
        Ok(Some((length, Replacement::Print(format!("{function}({})", arguments.join(", "))))))
    })
}
