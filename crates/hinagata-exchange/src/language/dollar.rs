//! `$name` and `${name}` of Python's `string.Template`, as the program `llm` uses them.

use super::TemplateProblem;
use crate::jinja_text::JinjaText;
use crate::names::Names;

/// Translates `source`.
pub(crate) fn translate(source: &str, names: &mut Names) -> Result<String, TemplateProblem> {
    let mut text = JinjaText::default();
    let mut at = 0;
    while let Some(found) = source[at..].find('$') {
        let dollar = at + found;
        text.push_text(&source[at..dollar]);
        let rest = &source[dollar + 1..];
        if rest.starts_with('$') {
            text.push_text("$");
            at = dollar + 2;
            continue;
        }
        let (name, length) = match rest.strip_prefix('{') {
            Some(inner) => match inner.find('}') {
                Some(end) => (&inner[..end], end + 2),
                None => ("", 0),
            },
            None => {
                let end =
                    rest.find(|character: char| !(character.is_ascii_alphanumeric() || character == '_'));
                let name = &rest[..end.unwrap_or(rest.len())];
                (name, name.len())
            }
        };
        if !crate::names::is_identifier(name) {
            return Err(TemplateProblem::new(dollar, "invalid placeholder; a literal `$` is written `$$`"));
        }
        text.push_print(&names.variable(name));
        at = dollar + 1 + length;
    }
    text.push_text(&source[at..]);
    Ok(text.finish())
}
