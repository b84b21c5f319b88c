//! Finds the ends of pieces in ASCII by hand: several times as fast as an automaton, which has to know all of Unicode.
//!
//! Most text of programs is ASCII. Where a character that is not may belong to a piece, or decides where it ends, this
//! module says nothing, and the pattern itself is asked.

/// The patterns that are known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuickPattern {
    O200k,
    Cl100k,
}

/// What the patterns distinguish, as bits.
mod class {
    pub(super) const UPPER: u8 = 1;
    pub(super) const LOWER: u8 = 1 << 1;
    pub(super) const LETTER: u8 = UPPER | LOWER;
    pub(super) const DIGIT: u8 = 1 << 2;
    pub(super) const SIGN: u8 = 1 << 3;
    pub(super) const BLANK: u8 = 1 << 4;
    pub(super) const LINE_END: u8 = 1 << 5;
    /// A byte of a character that is not ASCII.
    pub(super) const WIDE: u8 = 1 << 6;
    /// What no byte is.
    pub(super) const END: u8 = 0;
}

static CLASSES: [u8; 256] = {
    let mut classes = [class::WIDE; 256];
    let mut byte = 0;
    while byte < 0x80 {
        classes[byte] = match byte as u8 {
            b'A'..=b'Z' => class::UPPER,
            b'a'..=b'z' => class::LOWER,
            b'0'..=b'9' => class::DIGIT,
            b'\r' | b'\n' => class::LINE_END,
            b' ' | b'\t' | b'\x0b' | b'\x0c' => class::BLANK,
            _ => class::SIGN,
        };
        byte += 1;
    }
    classes
};

#[inline]
fn class_at(text: &[u8], at: usize) -> u8 {
    text.get(at).map_or(class::END, |byte| CLASSES[usize::from(*byte)])
}

/// The end of the run of these classes from `start` on.
#[inline]
fn run_end(text: &[u8], start: usize, classes: u8) -> usize {
    let mut end = start;
    while class_at(text, end) & classes != 0 {
        end += 1;
    }
    end
}

/// The end of the run of small letters from `start` on: eight bytes at once, because a loop over bytes ends after a number
/// of steps that the processor cannot predict.
#[inline]
fn small_letters_end(text: &[u8], start: usize) -> usize {
    let mut end = start;
    while let Some(block) = text[end..].first_chunk() {
        let length = small_letters(u64::from_le_bytes(*block));
        end += length;
        if length < 8 {
            return end;
        }
    }
    run_end(text, end, class::LOWER)
}

/// The number of small letters that eight bytes start with.
#[inline]
fn small_letters(bytes: u64) -> usize {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * EACH;
    // The highest bit of each sum says whether the byte is at least `a`, and whether it is more than `z`.
    let low = bytes & !HIGH;
    let from_a = low + (0x80 - u64::from(b'a')) * EACH;
    let beyond_z = low + (0x7f - u64::from(b'z')) * EACH;
    let others = (!from_a | beyond_z | bytes) & HIGH;
    others.trailing_zeros() as usize / 8
}

impl QuickPattern {
    /// The end of the piece that starts at `start`, which is before the end; `None` if the pattern has to be asked.
    #[inline]
    pub(crate) fn piece_end(self, text: &[u8], start: usize) -> Option<usize> {
        let (first, second) = (class_at(text, start), class_at(text, start + 1));
        // Most pieces are words, with a character before them or without: both take the same way through the program.
        let is_led = first & (class::SIGN | class::BLANK) != 0;
        let letter = if is_led { second } else { first };
        if letter & class::LETTER != 0 && !(self == Self::Cl100k && text[start] == b'\'') {
            return self.word_end(text, start + usize::from(is_led));
        }
        match first {
            class::DIGIT => return number_end(text, start),
            class::LINE_END => return blanks_end(text, start),
            class::WIDE => return None,
            _ => {}
        }
        // Here, short forms are pieces of their own: `'s`, also in `'self`.
        if self == Self::Cl100k {
            let end = short_form_end(text, start)?;
            if end > start {
                return Some(end);
            }
        }
        match second {
            class::UPPER | class::LOWER => self.word_end(text, start + 1),
            class::WIDE => None,
            _ if first == class::SIGN => self.signs_end(text, start),
            class::SIGN if text[start] == b' ' => self.signs_end(text, start + 1),
            _ => blanks_end(text, start),
        }
    }

    #[inline]
    fn word_end(self, text: &[u8], start: usize) -> Option<usize> {
        let end = match self {
            Self::O200k => small_letters_end(text, run_end(text, start, class::UPPER)),
            Self::Cl100k => run_end(text, start, class::LETTER),
        };
        match (class_at(text, end), self) {
            (class::WIDE, _) => None,
            (class::SIGN, Self::O200k) => short_form_end(text, end),
            _ => Some(end),
        }
    }

    /// Signs take the line ends behind them, in o200k also slashes.
    #[inline]
    fn signs_end(self, text: &[u8], start: usize) -> Option<usize> {
        let mut end = run_end(text, start, class::SIGN);
        match class_at(text, end) {
            class::WIDE => return None,
            class::LINE_END => {}
            _ => return Some(end),
        }
        let takes = |byte: &u8| matches!(byte, b'\r' | b'\n') || self == Self::O200k && *byte == b'/';
        while text.get(end).is_some_and(takes) {
            end += 1;
        }
        Some(end)
    }
}

/// The end of the short form at `at` (`'s`, `'LL`); `at` if there is none.
#[inline]
fn short_form_end(text: &[u8], at: usize) -> Option<usize> {
    if text[at] != b'\'' {
        return Some(at);
    }
    let second = text.get(at + 2).map(u8::to_ascii_lowercase);
    Some(match (text.get(at + 1).map(u8::to_ascii_lowercase), second) {
        // `ſ` is an `s` in another case.
        (Some(0x80..), _) => return None,
        (Some(b's' | b't' | b'm' | b'd'), _) => at + 2,
        (Some(b'r' | b'v'), Some(b'e')) | (Some(b'l'), Some(b'l')) => at + 3,
        _ => at,
    })
}

/// Numbers are split every three digits.
#[inline]
fn number_end(text: &[u8], start: usize) -> Option<usize> {
    let mut end = start;
    while end < start + 3 {
        match class_at(text, end) {
            class::DIGIT => end += 1,
            class::WIDE => return None,
            _ => break,
        }
    }
    Some(end)
}

/// White space ends behind its last line end; else before its last character, which belongs to what follows.
#[inline]
fn blanks_end(text: &[u8], start: usize) -> Option<usize> {
    let end = run_end(text, start, class::BLANK | class::LINE_END);
    let class = class_at(text, end);
    if class == class::WIDE {
        return None;
    }
    let last_line_end = text[start..end].iter().rposition(|byte| matches!(byte, b'\r' | b'\n'));
    Some(match last_line_end {
        Some(place) => start + place + 1,
        None if class == class::END || end == start + 1 => end,
        None => end - 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_letters_are_told_from_every_other_byte_at_every_place() {
        for place in 0..8 {
            for byte in 0..=u8::MAX {
                let mut bytes = *b"azmnybaz";
                bytes[place] = byte;
                let expected = bytes.iter().position(|byte| !byte.is_ascii_lowercase()).unwrap_or(8);
                assert_eq!(small_letters(u64::from_le_bytes(bytes)), expected, "{byte} at {place}");
            }
        }
    }
}
