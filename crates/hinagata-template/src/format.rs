//! Formats templates: spaces inside of tags, and nothing else.

use hinagata_value::{HighlightKind, HighlightToken, Limits};

use crate::{Language, Options, highlight_source};

/// The source with one space inside of the delimiters of each tag, none before a comma, and one behind it.
///
/// What is outside of tags, comments, strings and tags of several lines stay as they are: the template means and
/// renders the same. A source that is formatted does not change. A tag with a syntax error stays, too.
///
/// ```
/// use hinagata_template::{Language, Options, format_source};
///
/// let source = "{{name|default('x',true)}}  {%if a  -%} {# {{b}} #} {%endif%}";
/// let formatted = format_source(Language::Jinja, source, &Options::default());
/// assert_eq!(formatted, "{{ name|default('x', true) }}  {% if a -%} {# {{b}} #} {% endif %}");
/// ```
#[must_use]
pub fn format_source(language: Language, source: &str, options: &Options) -> String {
    let limits = Limits::default();
    let tokens = highlight_source(language, source, options, &limits);
    let mut formatted = String::with_capacity(source.len() + source.len() / 16);
    let mut written = 0;
    for tag in split_tags(source, &tokens) {
        for pair in tag.windows(2) {
            let [before, after] = pair else { continue };
            let Some(gap) = source.get(before.end..after.start) else { continue };
            if let Some(space) = space_between(source, before, after, gap) {
                formatted.push_str(&source[written..before.end]);
                formatted.push_str(space);
                written = after.start;
            }
        }
    }
    formatted.push_str(&source[written..]);
    let again = highlight_source(language, &formatted, options, &limits);
    if is_same(source, &tokens, &formatted, &again) { formatted } else { source.to_owned() }
}

/// The tokens of each tag, from its opening to its closing delimiter.
fn split_tags<'t>(source: &str, tokens: &'t [HighlightToken]) -> Vec<&'t [HighlightToken]> {
    let mut tags = Vec::new();
    let mut open = None;
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.kind == HighlightKind::Tag) {
        let text = source.get(token.start..token.end).unwrap_or_default();
        match (is_opener(text), is_closer(text), open) {
            (true, false, _) => open = Some(at),
            (false, true, Some(start)) => {
                tags.push(&tokens[start..=at]);
                open = None;
            }
            _ => open = None,
        }
    }
    tags
}

fn is_opener(text: &str) -> bool {
    (text.starts_with("{{") || text.starts_with("{%")) && !is_closer(text)
}

fn is_closer(text: &str) -> bool {
    // The white space that a delimiter trims belongs to it.
    let text = text.trim_end();
    text.ends_with("}}") || text.ends_with("%}")
}

/// What belongs between two tokens of a tag; `None` if the gap stays as it is.
fn space_between(
    source: &str,
    before: &HighlightToken,
    after: &HighlightToken,
    gap: &str,
) -> Option<&'static str> {
    if !gap.bytes().all(|byte| matches!(byte, b' ' | b'\t')) {
        return None;
    }
    let text = |token: &HighlightToken| source.get(token.start..token.end).unwrap_or_default();
    let is_edge = (before.kind == HighlightKind::Tag && is_opener(text(before)))
        || (after.kind == HighlightKind::Tag && is_closer(text(after)));
    let wanted = match () {
        () if is_edge => " ",
        () if text(after) == "," => "",
        () if text(before) == "," || !gap.is_empty() => " ",
        () => "",
    };
    // A comma before a closing bracket needs no space.
    let wanted = if text(before) == "," && matches!(text(after), ")" | "]" | "}") { "" } else { wanted };
    (gap != wanted).then_some(wanted)
}

/// Whether two sources have the same tokens.
fn is_same(a: &str, a_tokens: &[HighlightToken], b: &str, b_tokens: &[HighlightToken]) -> bool {
    let pieces = |source: &str, tokens: &[HighlightToken]| -> Vec<(HighlightKind, String)> {
        let text = |token: &HighlightToken| source.get(token.start..token.end).unwrap_or_default().to_owned();
        tokens.iter().map(|token| (token.kind, text(token))).collect()
    };
    pieces(a, a_tokens) == pieces(b, b_tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(language: Language, source: &str, expected: &str) {
        let formatted = format_source(language, source, &Options::default());
        assert_eq!(formatted, expected);
        assert_eq!(format_source(language, &formatted, &Options::default()), formatted);
    }

    #[test]
    fn jinja_tags_have_one_space_inside() {
        for (source, expected) in [
            ("{{a}}", "{{ a }}"),
            ("{{-a-}}", "{{- a -}}"),
            ("{{ -1}}", "{{ -1 }}"),
            ("{%  set x=1  %}", "{% set x=1 %}"),
            ("{%for k,v in m.items()%}{%endfor%}", "{% for k, v in m.items() %}{% endfor %}"),
            ("{{ f(a ,b,) }}", "{{ f(a, b,) }}"),
            ("{{ 'a  ,b'|e }}", "{{ 'a  ,b'|e }}"),
            ("{{ {'a':1} }}", "{{ {'a':1} }}"),
            ("{% raw %}{{a}}{% endraw %}", "{% raw %}{{a}}{% endraw %}"),
            ("{#a#} {{\n  a\n}}", "{#a#} {{\n  a\n}}"),
            ("{%if a-%} b {%endif-%}\n", "{% if a -%} b {% endif -%}\n"),
            ("{{ a", "{{ a"),
            ("{{ a + }}{{b}}", "{{ a + }}{{ b }}"),
        ] {
            check(Language::Jinja, source, expected);
        }
    }

    #[test]
    fn go_actions_have_one_space_inside() {
        for (source, expected) in [
            ("{{.a}}", "{{ .a }}"),
            ("{{- .a -}}", "{{- .a -}}"),
            (
                "{{if  .a}}{{printf \"%s  %d\"  .b   1}}{{end}}",
                "{{ if .a }}{{ printf \"%s  %d\" .b 1 }}{{ end }}",
            ),
            ("{{/* a */}}{{-1}}", "{{/* a */}}{{ -1 }}"),
            ("{{ `a  b` }}", "{{ `a  b` }}"),
        ] {
            check(Language::Go, source, expected);
        }
    }
}
