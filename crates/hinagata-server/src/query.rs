//! URL queries and paths.

/// The decoded names and values of a query. A name without `=` has an empty value.
pub(crate) fn parse_pairs(query: &str) -> Vec<(String, String)> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode_text(name), decode_text(value))
    };
    query.split('&').filter(|part| !part.is_empty()).map(pair).collect()
}

fn decode_text(text: &str) -> String {
    String::from_utf8_lossy(&decode_bytes(text)).into_owned()
}

fn decode_bytes(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut all = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = |offset: usize| bytes.get(at + offset).and_then(|byte| (*byte as char).to_digit(16));
        match (bytes[at], hex(1), hex(2)) {
            (b'%', Some(high), Some(low)) => {
                all.push(u8::try_from(high * 16 + low).unwrap_or_default());
                at += 3;
                continue;
            }
            (b'+', _, _) => all.push(b' '),
            (byte, _, _) => all.push(byte),
        }
        at += 1;
    }
    all
}

/// Decodes a path segment; `None` where it is not UTF-8.
pub(crate) fn decode_path_segment(part: &str) -> Option<String> {
    if !part.contains('%') {
        return Some(part.to_owned());
    }
    // A plus is literal in a path.
    String::from_utf8(decode_bytes(&part.replace('+', "%2B"))).ok()
}

/// Percent-encodes `text`.
pub(crate) fn encode_component(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_decoded() {
        let all = parse_pairs("a=1&b=%E6%97%A5+x&c&&d=%zz%4");
        let expected = [("a", "1"), ("b", "日 x"), ("c", ""), ("d", "%zz%4")];
        assert_eq!(all, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(
            parse_pairs(&format!("x={}", encode_component("日 &=%"))),
            [("x".to_owned(), "日 &=%".to_owned())]
        );
    }
}
