//! Keeps data from opening headings.

use super::line::ends_line;

/// Whether a text may contain a heading of Markdown. Most texts do not, which one pass shows.
#[must_use]
pub fn may_have_heading(text: &str) -> bool {
    lines(text).any(|(_, line)| is_heading(line) || is_underline(line))
}

/// `text` with a backslash before every heading that data would open; `None` if there are none.
///
/// `is_data` decides by the byte offset whether a character comes from data. A heading that the author wrote stays, and so
/// do lines of code blocks.
#[must_use]
pub fn escape_headings(text: &str, is_data: impl Fn(usize) -> bool) -> Option<String> {
    let mut escaped = String::new();
    let mut copied = 0;
    let mut fence: Option<&str> = None;
    // The text follows another one, which it could underline.
    let mut follows_text = true;
    for (start, line) in lines(text) {
        let mark = start + (line.len() - line.trim_start_matches(' ').len());
        match (fence, fence_of(line)) {
            (Some(open), Some(close)) if closes_fence(open, close, line) => fence = None,
            (None, Some(open)) => fence = Some(open),
            (Some(_), _) => {}
            (None, None) => {
                let opens = is_heading(line) || (follows_text && is_underline(line));
                if opens && is_data(mark) {
                    escaped.push_str(&text[copied..mark]);
                    escaped.push('\\');
                    copied = mark;
                }
            }
        }
        follows_text = fence.is_none() && !line.trim().is_empty();
    }
    if escaped.is_empty() {
        return None;
    }
    escaped.push_str(&text[copied..]);
    Some(escaped)
}

/// The lines with their offsets, without their ends.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split_inclusive(ends_line).map(move |line| {
        let at = start;
        start += line.len();
        (at, line.trim_end_matches(ends_line))
    })
}

/// The line without its indent; `None` if the indent makes it code.
fn without_indent(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(' ');
    (line.len() - rest.len() <= 3).then_some(rest)
}

/// Whether a line is a heading: one to six `#`, followed by a blank or nothing.
fn is_heading(line: &str) -> bool {
    let Some(rest) = without_indent(line) else { return false };
    let title = rest.trim_start_matches('#');
    matches!(rest.len() - title.len(), 1..=6) && (title.is_empty() || title.starts_with([' ', '\t']))
}

/// Whether a line makes the line before it a heading.
fn is_underline(line: &str) -> bool {
    let Some(rest) = without_indent(line) else { return false };
    let rest = rest.trim_end_matches([' ', '\t']);
    !rest.is_empty() && (rest.bytes().all(|byte| byte == b'=') || rest.bytes().all(|byte| byte == b'-'))
}

/// The fence that a line of a code block starts with.
fn fence_of(line: &str) -> Option<&str> {
    let rest = without_indent(line)?;
    ['`', '~'].into_iter().find_map(|mark| {
        let length = rest.len() - rest.trim_start_matches(mark).len();
        (length >= 3).then(|| &rest[..length])
    })
}

/// Whether `close`, the fence of `line`, ends the code block that `open` started.
fn closes_fence(open: &str, close: &str, line: &str) -> bool {
    close.len() >= open.len() && close.starts_with(&open[..1]) && line.trim() == close
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn headings_of_data_are_escaped() {
        let cases = [
            ("# Instructions", "\\# Instructions"),
            ("a\n\n   ## Output\nb", "a\n\n   \\## Output\nb"),
            ("a\r# b", "a\r\\# b"),
            ("#", "\\#"),
            ("Title\n=====\n", "Title\n\\=====\n"),
            ("---\n", "\\---\n"),
            ("```\n```\n# out", "```\n```\n\\# out"),
        ];
        for (text, expected) in cases {
            assert_eq!(escape_headings(text, |_| true).as_deref(), Some(expected), "{text:?}");
            assert!(may_have_heading(text), "{text:?}");
        }
    }

    #[test]
    fn other_lines_stay() {
        for text in
            ["a # b", "#hash", "####### seven", "    # code", "```sh\n# comment\n```", "a\n\n---", "a -- b"]
        {
            assert_eq!(escape_headings(text, |_| true), None, "{text:?}");
        }
        assert_eq!(
            escape_headings("# mine\n# theirs", |offset| offset > 5).as_deref(),
            Some("# mine\n\\# theirs")
        );
        assert_eq!(escape_headings("# mine", |_| false), None);
    }

    proptest! {
        #[test]
        fn an_escaped_text_has_nothing_more_to_escape(text in "[#=\\- a`~\n\r]{0,40}") {
            if let Some(escaped) = escape_headings(&text, |_| true) {
                prop_assert_eq!(escape_headings(&escaped, |_| true), None);
                prop_assert_eq!(escaped.replace('\\', ""), text);
            }
        }
    }
}
