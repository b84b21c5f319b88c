//! Foreign text in error messages.

/// The start of a foreign text on one line, without control characters, and at most `most` characters long.
#[must_use]
pub fn truncate_for_display(text: &str, most: usize) -> String {
    // At most `most` words can be shown.
    let mut words = text.split_whitespace().take(most).collect::<Vec<_>>().join(" ");
    words.retain(|found| !found.is_control());
    match words.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

/// The message of an error, followed by those of its causes.
#[must_use]
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let sentence = cause.to_string();
        // Some errors repeat the message of their cause.
        if !text.contains(&sentence) {
            text = format!("{text}: {sentence}");
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_joined_to_one_line_and_truncated_between_characters() {
        assert_eq!(truncate_for_display(" a\n\tb\u{7}  c ", 9), "a b c");
        assert_eq!(truncate_for_display("日本語", 3), "日本語");
        assert_eq!(truncate_for_display("日本語版", 3), "日本語…");
    }

    #[test]
    fn a_repeated_cause_appears_once() {
        let inner = std::io::Error::other("it is closed");
        assert_eq!(with_causes(&std::io::Error::other(inner)), "it is closed");
    }
}
