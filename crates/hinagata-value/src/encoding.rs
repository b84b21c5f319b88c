//! Hexadecimal and percent encoding.

use std::fmt::Write as _;

/// The bytes as lower-case hexadecimal digits.
#[must_use]
pub fn encode_hex(bytes: impl IntoIterator<Item = u8>) -> String {
    let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
    let digits: Vec<u8> = bytes.into_iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect();
    String::from_utf8(digits).expect("digits are ASCII")
}

/// Decodes hexadecimal digits. `None` for any other text or an odd number of digits.
#[must_use]
pub fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits.chunks(2).map(|pair| Some(hex_digit(pair[0])? << 4 | hex_digit(pair[1])?)).collect()
}

/// Percent-encodes a text for a URL: all characters except unreserved ones.
#[must_use]
pub fn encode_percent(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            byte => {
                // Writing to a string does not fail.
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
    }
    encoded
}

/// Percent-decodes a text. `None` for a percent sign without two digits, or if the result is not UTF-8.
#[must_use]
pub fn decode_percent_strict(text: &str) -> Option<String> {
    let mut after = text.split('%').skip(1);
    let has_digits = |rest: &str| rest.bytes().take(2).filter_map(hex_digit).count() == 2;
    if after.all(has_digits) { String::from_utf8(decode_percent(text)).ok() } else { None }
}

/// Percent-decodes a text. A percent sign without two digits is kept.
#[must_use]
pub fn decode_percent(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digit = |offset: usize| bytes.get(at + offset).copied().and_then(hex_digit);
        match (byte, digit(1), digit(2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push(high << 4 | low);
                at += 3;
            }
            _ => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    decoded
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives_hexadecimal_digits() {
        let bytes: Vec<u8> = (0..=255).collect();
        let text = encode_hex(bytes.iter().copied());
        assert!(text.starts_with("000102") && text.ends_with("feff"));
        assert_eq!(decode_hex(&text), Some(bytes));
    }

    #[test]
    fn only_pairs_of_digits_are_decoded() {
        assert_eq!(decode_hex("0G"), None);
        assert_eq!(decode_hex("0"), None);
        assert_eq!(decode_hex("é"), None);
        assert_eq!(decode_hex("fF"), Some(vec![0xff]));
    }

    #[test]
    fn text_survives_percent_signs() {
        for text in ["", "a-b_c.d~e", "a b/c?d=e&f", "日本%20"] {
            assert_eq!(decode_percent(&encode_percent(text)), text.as_bytes());
        }
        assert_eq!(encode_percent("a b/é"), "a%20b%2F%C3%A9");
    }

    #[test]
    fn a_percent_sign_without_digits_stays() {
        assert_eq!(decode_percent("100%"), b"100%");
        assert_eq!(decode_percent("%zz%4"), b"%zz%4");
        for text in ["100%", "%zz", "%4", "%%41", "%ff"] {
            assert_eq!(decode_percent_strict(text), None, "{text}");
        }
        assert_eq!(decode_percent_strict("%e6%97%a5+a").as_deref(), Some("日+a"));
    }
}
