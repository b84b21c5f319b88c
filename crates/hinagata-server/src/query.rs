//! URL queries and paths.

use hinagata_value::encoding::decode_percent;

/// The decoded names and values of a query. A name without `=` has an empty value.
pub(crate) fn parse_pairs(query: &str) -> Vec<(String, String)> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decode_text(name), decode_text(value))
    };
    query.split('&').filter(|part| !part.is_empty()).map(pair).collect()
}

fn decode_text(text: &str) -> String {
    String::from_utf8_lossy(&decode_percent(&text.replace('+', " "))).into_owned()
}

/// Decodes a path segment, where a plus is literal; `None` where it is not UTF-8.
pub(crate) fn decode_path_segment(part: &str) -> Option<String> {
    String::from_utf8(decode_percent(part)).ok()
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
            parse_pairs(&format!("x={}", hinagata_value::encoding::encode_percent("日 &=%"))),
            [("x".to_owned(), "日 &=%".to_owned())]
        );
    }
}
