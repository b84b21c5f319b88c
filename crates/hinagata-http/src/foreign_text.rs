//! Words of strangers in messages of ours.

/// The beginning of a text of a stranger: on one line, without control characters, and not longer than `most` characters.
#[must_use]
pub fn truncate_for_display(text: &str, most: usize) -> String {
    // No more words than characters can be shown.
    let mut words = text.split_whitespace().take(most).collect::<Vec<_>>().join(" ");
    words.retain(|found| !found.is_control());
    match words.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

/// The sentence of an error together with the sentences of what caused it.
#[must_use]
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let sentence = cause.to_string();
        // Some repeat their cause in their own sentence.
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
    fn words_are_put_on_one_line_and_cut_between_characters() {
        assert_eq!(truncate_for_display(" a\n\tb\u{7}  c ", 9), "a b c");
        assert_eq!(truncate_for_display("日本語", 3), "日本語");
        assert_eq!(truncate_for_display("日本語版", 3), "日本語…");
    }

    #[test]
    fn causes_are_told_once() {
        let inner = std::io::Error::other("it is closed");
        assert_eq!(with_causes(&std::io::Error::other(inner)), "it is closed");
    }
}
