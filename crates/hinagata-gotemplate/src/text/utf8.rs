//! Reads text that may not be UTF-8, as Go's `range` over a string does.

/// One step of reading bytes as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rune {
    /// A character and the bytes it takes.
    Char(char, usize),
    /// A byte that does not start a valid sequence.
    Bad(u8),
}

impl Rune {
    /// Number of bytes of this step.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Char(_, len) => len,
            Self::Bad(_) => 1,
        }
    }

    /// The character, U+FFFD for a bad byte.
    pub(crate) fn char(self) -> char {
        match self {
            Self::Char(c, _) => c,
            Self::Bad(_) => char::REPLACEMENT_CHARACTER,
        }
    }
}

/// The first rune of `bytes`, `None` at the end.
pub(crate) fn first_rune(bytes: &[u8]) -> Option<Rune> {
    let &byte = bytes.first()?;
    let len = match byte {
        0..=0x7f => return Some(Rune::Char(char::from(byte), 1)),
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return Some(Rune::Bad(byte)),
    };
    let sequence = bytes.get(..len).and_then(|sequence| std::str::from_utf8(sequence).ok());
    Some(match sequence.and_then(|text| text.chars().next()) {
        Some(c) => Rune::Char(c, len),
        None => Rune::Bad(byte),
    })
}

/// The runes of `bytes` in order, each with its offset.
pub(crate) fn runes(bytes: &[u8]) -> impl Iterator<Item = (usize, Rune)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rune = first_rune(&bytes[at..])?;
        let offset = at;
        at += rune.len();
        Some((offset, rune))
    })
}

/// Number of runes in `bytes`. An invalid byte counts as one.
pub(crate) fn count_runes(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.chars().count(),
        Err(_) => runes(bytes).count(),
    }
}

/// The longest prefix of `bytes` with at most `limit` runes.
pub(crate) fn truncate_runes(bytes: &[u8], limit: usize) -> &[u8] {
    if bytes.len() <= limit {
        return bytes;
    }
    let end = runes(bytes).nth(limit).map_or(bytes.len(), |(offset, _)| offset);
    &bytes[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bad_byte_is_one_rune() {
        // A truncated sequence, a surrogate, an overlong form and a stray continuation byte.
        for (bytes, runes) in [
            (&b"\xe2\x82"[..], 2),
            (b"\xed\xa0\x80", 3),
            (b"\xc0\x80", 2),
            (b"a\x80b", 3),
            ("é語🚀".as_bytes(), 3),
        ] {
            assert_eq!(count_runes(bytes), runes, "{bytes:x?}");
        }
        assert_eq!(truncate_runes("é語🚀".as_bytes(), 2), "é語".as_bytes());
        assert_eq!(truncate_runes(b"\xff\xfeab", 1), b"\xff");
    }
}
