//! The templates of `str.format`, as LangChain uses them.

use super::TemplateProblem;
use crate::jinja_text::{JinjaText, quote_string};
use crate::names::Names;

/// Translates `source`.
pub(crate) fn translate(source: &str, names: &mut Names) -> Result<String, TemplateProblem> {
    let mut text = JinjaText::default();
    let mut at = 0;
    while let Some(found) = source[at..].find(['{', '}']) {
        let brace = at + found;
        text.push_text(&source[at..brace]);
        let rest = &source[brace..];
        if rest.starts_with("{{") || rest.starts_with("}}") {
            text.push_text(&rest[..1]);
            at = brace + 2;
            continue;
        }
        if rest.starts_with('}') {
            return Err(TemplateProblem::new(brace, "a single `}` has to be written `}}`"));
        }
        let Some(end) = field_end(rest) else {
            return Err(TemplateProblem::new(brace, "`{` is not closed; a literal one is written `{{`"));
        };
        text.push_print(&field(&rest[1..end], brace, names)?);
        at = brace + end + 1;
    }
    text.push_text(&source[at..]);
    Ok(text.finish())
}

/// Where the field that starts at the beginning of `text` ends.
fn field_end(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

fn field(field: &str, offset: usize, names: &mut Names) -> Result<String, TemplateProblem> {
    let end = field.find(['!', ':']).unwrap_or(field.len());
    let (name, format) = field.split_at(end);
    if name.is_empty() || name.chars().all(|character| character.is_ascii_digit()) {
        return Err(TemplateProblem::new(offset, "a field needs the name of a variable"));
    }
    if name.contains(['.', '[', ']', '{', '}']) {
        return Err(TemplateProblem::new(
            offset,
            format!("`{{{name}}}` reads an attribute; only plain variables are allowed"),
        ));
    }
    if format.contains(['{', '}']) {
        return Err(TemplateProblem::new(offset, "a field inside of a format is not supported"));
    }
    let variable = names.variable(name);
    Ok(match format {
        "" => variable,
        format => format!("{}.format({variable})", quote_string(&format!("{{{format}}}"))),
    })
}
