//! Other spellings of a value: base64, percent-encoding, escapes of strings and markup.

/// The digits of base64; the last two differ in its variant for addresses.
const DIGITS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// The last two digits of base64 and of its variant for addresses.
const LAST_DIGITS: [[u8; 2]; 2] = [*b"+/", *b"-_"];

/// Values shorter than this are looked for as they are, not encoded: their encodings occur by chance.
const SHORTEST: usize = 8;

/// The spellings of `value` that differ from it.
pub(crate) fn encoded_forms(value: &[u8]) -> Vec<Vec<u8>> {
    if value.len() < SHORTEST {
        return Vec::new();
    }
    let mut forms = vec![
        escape_percent(value, false),
        escape_percent(value, true),
        escape_string(value),
        escape_markup(value),
    ];
    forms.extend(decode_percent(value));
    for last in LAST_DIGITS {
        forms.extend((0..3).map(|offset| encode_inner(value, offset, last)));
    }
    forms.retain(|form| form != value && form.len() >= SHORTEST);
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// Whether `byte` may belong to base64 text.
pub(crate) const fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=')
}

/// The digits that only `value` decides in the base64 of a text in which `offset` more bytes precede it.
fn encode_inner(value: &[u8], offset: usize, last: [u8; 2]) -> Vec<u8> {
    let bits: Vec<u8> = std::iter::repeat_n(0, offset).chain(value.iter().copied()).collect();
    // The first digits mix with what precedes, the last ones with what follows.
    let (from, to) = ((offset * 8).div_ceil(6), bits.len() * 8 / 6);
    (from..to).map(|place| base64_digit(&bits, place, last)).collect()
}

fn base64_digit(bytes: &[u8], place: usize, last: [u8; 2]) -> u8 {
    let (byte, shift) = (place * 6 / 8, place * 6 % 8);
    let pair = u16::from(bytes[byte]) << 8 | bytes.get(byte + 1).map_or(0, |next| u16::from(*next));
    let digit = usize::from(pair >> (10 - shift)) & 63;
    DIGITS.get(digit).copied().unwrap_or_else(|| last[digit - DIGITS.len()])
}

/// The bytes that base64 text encodes; `None` if it is not base64.
pub(crate) fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    let digits = &text[..text.len() - padding];
    if padding > 2 || digits.len() % 4 == 1 || (padding > 0 && !text.len().is_multiple_of(4)) {
        return None;
    }
    let (mut bytes, mut bits, mut count) = (Vec::with_capacity(digits.len() * 3 / 4), 0_u32, 0);
    for byte in digits {
        bits = bits << 6 | digit_value(*byte)?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

const fn digit_value(byte: u8) -> Option<u32> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    } as u32)
}

/// Percent-encoding, with digits in lower or upper case.
fn escape_percent(value: &[u8], lower: bool) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(value.len());
    for byte in value {
        match byte {
            b'-' | b'.' | b'_' | b'~' => escaped.push(*byte),
            byte if byte.is_ascii_alphanumeric() => escaped.push(*byte),
            byte if lower => escaped.extend_from_slice(format!("%{byte:02x}").as_bytes()),
            byte => escaped.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
    escaped
}

/// The value that `text` encodes with percent signs; `None` if it has none.
pub(crate) fn decode_percent(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |place: usize| (*text.get(place)? as char).to_digit(16);
    let (mut decoded, mut place, mut changed) = (Vec::with_capacity(text.len()), 0, false);
    while let Some(byte) = text.get(place) {
        match (byte, digit(place + 1), digit(place + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                place += 3;
                changed = true;
            }
            _ => {
                decoded.push(*byte);
                place += 1;
            }
        }
    }
    changed.then_some(decoded)
}

/// Escapes of JSON and of most programming languages.
fn escape_string(value: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(value.len());
    for byte in value {
        match byte {
            b'"' | b'\\' => escaped.extend_from_slice(&[b'\\', *byte]),
            b'\n' => escaped.extend_from_slice(b"\\n"),
            b'\r' => escaped.extend_from_slice(b"\\r"),
            b'\t' => escaped.extend_from_slice(b"\\t"),
            other => escaped.push(*other),
        }
    }
    escaped
}

/// Entities of XML and HTML.
fn escape_markup(value: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(value.len());
    for byte in value {
        match byte {
            b'&' => escaped.extend_from_slice(b"&amp;"),
            b'<' => escaped.extend_from_slice(b"&lt;"),
            b'>' => escaped.extend_from_slice(b"&gt;"),
            b'"' => escaped.extend_from_slice(b"&quot;"),
            other => escaped.push(*other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_within_encoded_text_is_one_of_its_forms() {
        let forms = encoded_forms(b"hunter2!pass");
        // base64 of `hunter2!pass`, `a:hunter2!pass` and `ab:hunter2!pass;`.
        for text in ["aHVudGVyMiFwYXNz", "YTpodW50ZXIyIXBhc3M=", "YWI6aHVudGVyMiFwYXNzOw=="] {
            let holds = |form: &Vec<u8>| text.contains(std::str::from_utf8(form).expect("is text"));
            assert!(forms.iter().any(holds), "{text}");
        }
        assert!(forms.contains(&b"hunter2%21pass".to_vec()));
        assert!(encoded_forms(b"a\"b\\c&d<e").contains(&b"a\\\"b\\\\c&d<e".to_vec()));
        assert!(encoded_forms(b"p%40ssw0rd").contains(&b"p@ssw0rd".to_vec()));
    }

    #[test]
    fn base64_is_decoded_or_refused() {
        assert_eq!(decode_base64(b"dXNlcjpwYXNzd29yZA==").as_deref(), Some(b"user:password".as_slice()));
        assert_eq!(decode_base64(b"dXNlcjpwYXNzd29yZA").as_deref(), Some(b"user:password".as_slice()));
        assert_eq!(decode_base64(b"-_-_").as_deref(), Some([0xfb, 0xff, 0xbf].as_slice()));
        for text in ["a", "ab!d", "ab=c", "abc===", "ab="] {
            assert_eq!(decode_base64(text.as_bytes()), None, "{text}");
        }
    }
}
