//! Changes of files that remove findings.

use hinagata_document::Place;

use crate::finding::Finding;

/// The codes whose findings go away when a misspelt name is replaced by a similar one.
const SPELLINGS: [&str; 15] = [
    "syntax.unknown-key",
    "name.filter",
    "name.test",
    "name.function",
    "name.method",
    "name.tool",
    "variable.undeclared",
    "type.path",
    "type.tool-argument",
    "template.missing",
    "block.orphan",
    "message.role",
    "pack.listed",
    "hook.permission",
    "allow.unknown",
];

/// A change of a file that removes a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// What it does, as a short sentence.
    pub title: String,
    /// The file, as a path from the workspace root.
    pub file: String,
    /// The first byte that it replaces, and the byte behind the last.
    pub range: (usize, usize),
    /// The text in their place.
    pub text: String,
    /// Whether every render stays equal to the byte.
    pub is_safe: bool,
}

/// The change of a file with the content `text` that removes a finding, if there is one that does not guess more than a
/// spelling. None grants a permission.
#[must_use]
pub fn find_fix(finding: &Finding, text: &str) -> Option<Fix> {
    let place = finding.place()?;
    let start = offset_of(text, place)?;
    match finding.code.code {
        "allow.unused" => remove_silence(finding, text, place, start),
        code if SPELLINGS.contains(&code) => correct_spelling(finding, text, start),
        _ => None,
    }
}

/// The text with all fixes that do not overlap an earlier one, and how many were applied.
#[must_use]
pub fn apply_fixes(text: &str, fixes: &[Fix]) -> (String, usize) {
    let mut sorted: Vec<&Fix> = fixes.iter().collect();
    sorted.sort_by_key(|fix| fix.range);
    let (mut changed, mut written, mut applied) = (String::with_capacity(text.len()), 0, 0);
    for fix in sorted {
        let (start, end) = fix.range;
        let Some(between) = text.get(written..start).filter(|_| start >= written && end >= start) else {
            continue;
        };
        changed.push_str(between);
        changed.push_str(&fix.text);
        (written, applied) = (end, applied + 1);
    }
    changed.push_str(text.get(written..).unwrap_or_default());
    (changed, applied)
}

/// The first name that a message quotes. Those of the engines have the quotes of Jinja2 and Go.
fn quoted_name(message: &str) -> Option<&str> {
    let start = message.find(['`', '\'', '"'])?;
    let quote = message[start..].chars().next()?;
    let name = message[start + 1..].split(quote).next()?;
    (!name.is_empty()).then_some(name)
}

/// Replaces the name that the message quotes by the most similar one.
fn correct_spelling(finding: &Finding, text: &str, start: usize) -> Option<Fix> {
    let near = finding.error.near().first()?;
    let name = quoted_name(finding.error.message())?;
    let line = text.get(start..)?.split('\n').next()?;
    let end = finding.length.map_or(line.len(), |length| (length as usize).min(line.len()));
    let part = line.get(..end).unwrap_or(line);
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let mut found = part.match_indices(name).map(|(at, _)| at).filter(|at| {
        let before = part[..*at].chars().next_back();
        let after = part[at + name.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    });
    let at = found.next()?;
    // Two of them: which one is meant is not known.
    if found.next().is_some() && finding.length.is_none() {
        return None;
    }
    Some(Fix {
        title: format!("replace `{name}` by `{near}`"),
        file: finding.file().to_owned(),
        range: (start + at, start + at + name.len()),
        text: near.clone(),
        is_safe: finding.code.code == "allow.unknown",
    })
}

/// Removes a silence without effect: its code from the list, or the comment if it was the only one.
fn remove_silence(finding: &Finding, text: &str, place: &Place, start: usize) -> Option<Fix> {
    let code = finding.error.message().split('`').nth(1)?;
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line = text.get(line_start..)?.split('\n').next()?;
    let mark = start - line_start;
    let open = mark + line.get(mark..)?.find('(')? + 1;
    let close = open + line.get(open..)?.find(')')?;
    let codes: Vec<&str> = line[open..close].split(',').map(str::trim).collect();
    let left: Vec<&str> = codes.iter().copied().filter(|other| *other != code).collect();
    let fix = |from: usize, to: usize, with: String| Fix {
        title: format!("remove the silence of `{code}`"),
        file: place.file.clone(),
        range: (line_start + from, line_start + to),
        text: with,
        is_safe: true,
    };
    if !left.is_empty() {
        return Some(fix(open, close, left.join(", ")));
    }
    let (from, end) = comment_range(line, mark, close)?;
    let comment = &line[from..end];
    // The last end of a line is not part of a Jinja template, so something has to stay behind it.
    let is_last = line_start + end == text.len();
    // A comment that removes the space around it has to stay.
    let with = match comment {
        _ if comment.starts_with("{#-") || comment.ends_with("-#}") => {
            let sign = |is: bool| if is { "-" } else { "" };
            format!("{{#{} {}#}}", sign(comment.starts_with("{#-")), sign(comment.ends_with("-#}")))
        }
        _ if comment.starts_with("{{-") => {
            format!("{{{{- /* */ {}}}}}", if comment.ends_with("-}}") { "-" } else { "" })
        }
        _ if comment.ends_with("-}}") => "{{/* */ -}}".to_owned(),
        // Without the comment, the braces on both sides would be a tag.
        _ if (is_last || line[..from].ends_with('{')) && comment.starts_with("{#") => "{# #}".to_owned(),
        _ if line[..from].ends_with('{') => "{{/* */}}".to_owned(),
        _ => String::new(),
    };
    Some(fix(from, end, with))
}

/// The bytes of the comment around a silence of a line.
fn comment_range(line: &str, mark: usize, close: usize) -> Option<(usize, usize)> {
    let before = line[..mark].trim_end();
    let after = &line[close..];
    if let Some(opener) = ["{#-", "{#"].into_iter().find(|opener| before.ends_with(opener)) {
        return Some((before.len() - opener.len(), close + after.find("#}")? + 2));
    }
    if let Some(opener) = ["{{- /*", "{{/*"].into_iter().find(|opener| before.ends_with(opener)) {
        return Some((before.len() - opener.len(), close + after.find("}}")? + 2));
    }
    // The space before a comment of YAML or Python belongs to it.
    let hash = before.strip_suffix('#')?;
    Some((hash.trim_end().len(), line.trim_end_matches('\r').len()))
}

/// The byte of a place.
fn offset_of(text: &str, place: &Place) -> Option<usize> {
    let line_start = match place.line.checked_sub(1)? {
        0 => 0,
        above => text.match_indices('\n').nth(above as usize - 1)?.0 + 1,
    };
    let line = text.get(line_start..)?.split('\n').next()?;
    let column = place.column.saturating_sub(1) as usize;
    let inside = line.char_indices().map(|(at, _)| at).chain([line.len()]).nth(column)?;
    Some(line_start + inside)
}

#[cfg(test)]
mod tests {
    use hinagata_template::{Language, NoSources};

    use super::*;
    use crate::{CheckOptions, check_text};

    fn fixed(text: &str, language: Language) -> (String, Vec<bool>) {
        let findings = check_text("a", text, language, &NoSources, &CheckOptions::default());
        let fixes: Vec<Fix> = findings.iter().filter_map(|finding| find_fix(finding, text)).collect();
        (apply_fixes(text, &fixes).0, fixes.iter().map(|fix| fix.is_safe).collect())
    }

    #[test]
    fn silences_without_effect_are_removed_and_renders_stay() {
        for (text, expected) in [
            ("a {# hina: allow(name.filter) x #}\nb", "a \nb"),
            ("a {#- hina: allow(name.filter) -#}\nb", "a {#- -#}\nb"),
            (
                "{# hina: allow(name.filter, name.test) #}{{ 1|uper }}",
                "{# hina: allow(name.filter) #}{{ 1|uper }}",
            ),
        ] {
            assert_eq!(fixed(text, Language::Jinja).0, expected, "{text}");
        }
        assert_eq!(fixed("a\n{# hina: allow(name.filter) #}", Language::Jinja).0, "a\n{# #}");
        let go = "a {{/* hina: allow(name.filter) */}} b";
        assert_eq!(fixed(go, Language::Go).0, "a  b");
        let trimmed = "a {{- /* hina: allow(name.filter) */ -}} b";
        assert_eq!(fixed(trimmed, Language::Go).0, "a {{- /* */ -}} b");
    }

    #[test]
    fn a_similar_name_is_a_guess() {
        assert_eq!(fixed("{{ a|uper }}", Language::Jinja), ("{{ a|upper }}".to_owned(), vec![false]));
        assert_eq!(fixed("{# hina: allow(name.fliter) #}", Language::Jinja).1, [true]);
    }
}
