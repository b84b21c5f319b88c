//! Decodes files: UTF-8, UTF-16 and UTF-32 by their marks, other encodings by their bytes.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE};

/// Bytes at the start of a file that decide whether it is text.
pub(crate) const HEAD: usize = 8 << 10;

/// The encoding of files that are not UTF-8 and have no mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextEncoding(&'static Encoding);

impl TextEncoding {
    /// The encoding with this name: one of those that browsers know, such as `shift_jis` or `latin1`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Encoding::for_label_no_replacement(name.as_bytes()).map(Self)
    }

    /// The name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.0.name()
    }
}

/// A decoded text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub(crate) text: String,
    /// The encoding, if it is not UTF-8.
    pub(crate) encoding: Option<&'static str>,
    /// Whether U+FFFD replaces invalid bytes.
    pub(crate) replaced: bool,
}

/// The mark at the start of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Utf8,
    Utf16(&'static Encoding),
    Utf32 { little: bool },
}

impl Mark {
    /// The mark of `bytes`, and its length. The mark of UTF-32 starts with that of UTF-16.
    fn find(bytes: &[u8]) -> Option<(Self, usize)> {
        match bytes {
            [0xff, 0xfe, 0, 0, ..] => Some((Self::Utf32 { little: true }, 4)),
            [0, 0, 0xfe, 0xff, ..] => Some((Self::Utf32 { little: false }, 4)),
            [0xff, 0xfe, ..] => Some((Self::Utf16(UTF_16LE), 2)),
            [0xfe, 0xff, ..] => Some((Self::Utf16(UTF_16BE), 2)),
            [0xef, 0xbb, 0xbf, ..] => Some((Self::Utf8, 3)),
            _ => None,
        }
    }
}

/// Whether a file that starts with `head` is not text. `chosen` is the encoding of files without a mark.
pub(crate) fn is_binary(head: &[u8], chosen: Option<TextEncoding>) -> bool {
    let head = &head[..head.len().min(HEAD)];
    if Mark::find(head).is_some() || chosen.is_some_and(|chosen| has_wide_units(chosen.0)) {
        return false;
    }
    memchr::memchr(0, head).is_some() || !is_utf8_start(head) && has_many_controls(head)
}

/// Whether a file that starts with `head` is not text, for readers that replace everything but UTF-8.
pub(crate) fn has_nul(head: &[u8]) -> bool {
    memchr::memchr(0, &head[..head.len().min(HEAD)]).is_some()
}

fn has_wide_units(encoding: &'static Encoding) -> bool {
    encoding == UTF_16LE || encoding == UTF_16BE
}

/// Whether `head` is UTF-8, apart from a character that its end cuts.
fn is_utf8_start(head: &[u8]) -> bool {
    match str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && head.len() == HEAD,
    }
}

/// Whether a twentieth of `head` or more are control characters, which no encoding of text uses.
fn has_many_controls(head: &[u8]) -> bool {
    let is_control = |byte: &&u8| **byte < 0x20 && !matches!(**byte, b'\t'..=b'\r' | 0x1b);
    head.iter().filter(is_control).count() * 20 >= head.len()
}

/// Decodes a file. `chosen` is the encoding of files that are not UTF-8 and have no mark; otherwise their bytes decide.
pub(crate) fn decode(bytes: Vec<u8>, chosen: Option<TextEncoding>) -> Decoded {
    match Mark::find(&bytes) {
        Some((Mark::Utf8, length)) => decode_with(UTF_8, &bytes[length..]),
        Some((Mark::Utf16(encoding), length)) => decode_with(encoding, &bytes[length..]),
        Some((Mark::Utf32 { little }, length)) => decode_utf32(&bytes[length..], little),
        None if chosen.is_some_and(|chosen| has_wide_units(chosen.0)) && has_nul(&bytes) => {
            decode_with(chosen.map_or(UTF_8, |chosen| chosen.0), &bytes)
        }
        // Only this encoding of Japanese is valid UTF-8 and still means other characters.
        None if memchr::memchr(0x1b, &bytes).is_some() && guess(&bytes, chosen) == ISO_2022_JP => {
            decode_with(ISO_2022_JP, &bytes)
        }
        None => match String::from_utf8(bytes) {
            Ok(text) => Decoded { text, encoding: None, replaced: false },
            Err(error) => decode_with(guess(error.as_bytes(), chosen), error.as_bytes()),
        },
    }
}

fn guess(bytes: &[u8], chosen: Option<TextEncoding>) -> &'static Encoding {
    if let Some(TextEncoding(encoding)) = chosen {
        return encoding;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Deny)
}

fn decode_with(encoding: &'static Encoding, bytes: &[u8]) -> Decoded {
    let (text, replaced) = encoding.decode_without_bom_handling(bytes);
    let encoding = (encoding != UTF_8).then(|| encoding.name());
    Decoded { text: text.into_owned(), encoding, replaced }
}

fn decode_utf32(bytes: &[u8], little: bool) -> Decoded {
    let (units, rest) = bytes.as_chunks::<4>();
    let mut replaced = !rest.is_empty();
    let text = units.iter().map(|unit| {
        let code = if little { u32::from_le_bytes(*unit) } else { u32::from_be_bytes(*unit) };
        char::from_u32(code).unwrap_or_else(|| {
            replaced = true;
            char::REPLACEMENT_CHARACTER
        })
    });
    let text = text.collect();
    Decoded { text, encoding: Some(if little { "UTF-32LE" } else { "UTF-32BE" }), replaced }
}

/// Decodes `bytes` as UTF-8; returns whether U+FFFD replaced invalid bytes.
pub(crate) fn decode_lossy(bytes: Vec<u8>) -> Decoded {
    let (text, replaced) = match String::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
    };
    Decoded { text, encoding: None, replaced }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> (String, Option<&'static str>) {
        let decoded = decode(bytes.to_vec(), None);
        assert!(!decoded.replaced, "{decoded:?}");
        (decoded.text, decoded.encoding)
    }

    #[test]
    fn marks_decide_and_are_removed() {
        let utf16: Vec<u8> = "\u{feff}é😀".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let utf32: Vec<u8> = "\u{feff}é😀".chars().flat_map(|found| (found as u32).to_be_bytes()).collect();
        assert_eq!(text("\u{feff}é😀".as_bytes()), ("é😀".to_owned(), None));
        assert_eq!(text(&utf16), ("é😀".to_owned(), Some("UTF-16LE")));
        assert_eq!(text(&utf32), ("é😀".to_owned(), Some("UTF-32BE")));
        assert!(!is_binary(&utf16, None) && !is_binary(&utf32, None));
    }

    #[test]
    fn bytes_without_a_mark_are_told_by_their_frequency() {
        assert_eq!(text("größer".as_bytes()), ("größer".to_owned(), None));
        assert_eq!(
            text(b"un caf\xe9 tr\xe8s serr\xe9\n"),
            ("un café très serré\n".to_owned(), Some("windows-1252"))
        );
        let japanese = encoding_rs::SHIFT_JIS.encode("日本語のテキストです。これはひらがなを含みます。").0;
        assert_eq!(text(&japanese).1, Some("Shift_JIS"));
        let seven_bits = ISO_2022_JP.encode("日本語のテキスト");
        assert_eq!(text(&seven_bits.0), ("日本語のテキスト".to_owned(), Some("ISO-2022-JP")));
        assert_eq!(text(b"\x1b[31mred\x1b[0m\n").1, None);
    }

    #[test]
    fn a_chosen_encoding_reads_everything_but_utf8() {
        let cyrillic = TextEncoding::from_name("koi8-r").expect("is known");
        let bytes = cyrillic.0.encode("привет").0.into_owned();
        assert_eq!(decode(bytes, Some(cyrillic)).text, "привет");
        assert_eq!(decode("привет".into(), Some(cyrillic)).text, "привет");
        let wide = TextEncoding::from_name("utf-16le").expect("is known");
        let bytes: Vec<u8> = "ab".encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(is_binary(&bytes, None) && !is_binary(&bytes, Some(wide)));
        assert_eq!(decode(bytes, Some(wide)).text, "ab");
        assert_eq!(TextEncoding::from_name("klingon"), None);
    }

    #[test]
    fn what_cannot_be_decoded_is_replaced_and_said() {
        let decoded = decode(vec![0xff, 0xfe, 0x00, 0xd8, b'a', 0], None);
        assert!(decoded.replaced && decoded.text.ends_with('a'), "{decoded:?}");
        let binary: Vec<u8> = (0..600_u32).map(|number| ((number * 7919) % 255 + 1) as u8).collect();
        assert!(is_binary(&binary, None));
    }
}
