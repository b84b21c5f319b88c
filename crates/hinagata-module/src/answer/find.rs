//! Places in an answer where JSON may stand.

/// The contents of blocks of code that are marked as JSON, or marked as nothing and look like it.
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

/// Objects and lists among other text: from an opening bracket to the one that closes it.
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
                // Nothing that starts further right is closed by what is missing here, but something inside may be.
                None => start = open + 1,
            }
            // A text of nothing but opening brackets would be looked at once for each.
            if text.len() - start > LONGEST_UNCLOSED {
                return None;
            }
        }
    })
}

/// Text that is looked at again when a bracket in it is never closed.
const LONGEST_UNCLOSED: usize = 64 << 10;

/// The length up to the bracket that closes the first one; brackets in strings do not count.
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
