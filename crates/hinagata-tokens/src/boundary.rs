//! Where counts can be added: borders that the patterns of OpenAI's tokenizers never cross.

/// Whether the tokens of `before` and of a text that starts with `next` add up to the tokens of both together, whatever
/// stands before `before`.
///
/// It holds for o200k and cl100k. There are more such borders; these are the ones that depend on few characters.
pub(crate) fn splits_between(before: &str, next: char) -> bool {
    let Some(last) = before.chars().next_back() else { return true };
    match (last, next) {
        // Signs take the line ends and slashes behind them: `);\n//` is one piece.
        ('\r' | '\n', '/') => {
            let line = before.trim_end_matches(['\r', '\n']);
            line.chars().next_back().is_some_and(|end| end.is_ascii_alphanumeric() || end.is_whitespace())
        }
        ('\r' | '\n', next) => !next.is_whitespace(),
        (last, '\r' | '\n') => last.is_ascii_alphanumeric(),
        // White space before a word belongs to it, or is a piece of its own, whatever is before.
        (last, next) => !last.is_whitespace() && next.is_whitespace(),
    }
}
