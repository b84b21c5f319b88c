//! Places in an answer that may contain JSON.

/// The contents of code blocks that are marked as JSON, or that have no mark and look like JSON.
pub(super) fn code_blocks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let (_, after) = rest.split_once("```")?;
            let Some((block, after)) = after.split_once("```") else {
                rest = "";
                return None;
            };
            rest = after;
            let (language, content) = block.split_once('\n').unwrap_or(("", block));
            let language = language.trim();
            let content = content.trim();
            if language.eq_ignore_ascii_case("json")
                || (language.is_empty() && content.starts_with(['{', '[']))
            {
                return Some(content);
            }
        }
    })
}

/// Objects and lists between other text: from an opening bracket to its closing bracket.
pub(super) fn balanced_texts(text: &str) -> impl Iterator<Item = &str> {
    let mut start = 0;
    std::iter::from_fn(move || {
        loop {
            let open = start + text.get(start..)?.find(['{', '['])?;
            match closing_length(&text[open..]) {
                Some(length) => {
                    start = open + length;
                    return Some(&text[open..start]);
                }
                // The bracket is never closed, but one inside may be.
                None => start = open + 1,
            }
            // Limits the time for a text of only opening brackets, which is searched once for each.
            if text.len() - start > LONGEST_UNCLOSED {
                return None;
            }
        }
    })
}

/// Most bytes that are searched again after a bracket that is never closed.
const LONGEST_UNCLOSED: usize = 64 << 10;

/// The length up to the bracket that closes the first one; brackets in strings are skipped.
fn closing_length(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (place, byte) in text.bytes().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(place + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The text from the first bracket, if it is never closed: an answer that the end cuts off.
#[cfg(feature = "schema")]
pub(super) fn cut_off_text(text: &str) -> Option<&str> {
    let open = text.find(['{', '['])?;
    closing_length(&text[open..]).is_none().then(|| text[open..].trim_end())
}
