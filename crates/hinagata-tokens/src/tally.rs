//! What a text consists of, as far as tokenizers differ on it: the numbers that estimates are computed from.
//!
//! A tokenizer of another family has more or fewer tokens than o200k by kind of piece rather than by language: one
//! splits numbers into digits, another has no tokens for capitals or for `_name`. So the tokens of o200k are counted by
//! kind of piece. Tallies of two texts can be added wherever o200k never merges across the border.

use std::ops::AddAssign;

/// What a piece or a character is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// Tokens of words in ASCII.
    #[default]
    Word,
    /// Tokens of words in capitals.
    Capitals,
    /// Tokens of words behind a sign other than a space: `_name`, `.name`.
    Joined,
    /// Tokens of words with other Latin letters.
    Accented,
    /// Tokens of numbers.
    Number,
    /// Digits.
    Digit,
    /// Tokens of signs.
    Sign,
    /// Single spaces that belong to no word.
    Gap,
    /// Tokens of other white space.
    Space,
    /// Tokens of signs of full width: `。`, `「`.
    WideSign,
    /// Tokens of Chinese characters without kana.
    Han,
    /// Characters of these pieces.
    HanCharacter,
    /// Tokens of pieces with kana.
    Kana,
    /// Characters of these pieces.
    KanaCharacter,
    /// Those of them that are katakana.
    Katakana,
    /// Tokens of Korean.
    Hangul,
    /// Tokens of other scripts.
    Other,
}

/// The kinds that count characters instead of tokens.
pub(crate) const CHARACTERS: [Kind; 4] =
    [Kind::Digit, Kind::HanCharacter, Kind::KanaCharacter, Kind::Katakana];

/// How many kinds there are.
pub(crate) const KINDS: usize = Kind::Other as usize + 1;

/// Numbers by [`Kind`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally(pub(crate) [u64; KINDS]);

impl Tally {
    pub(crate) fn add(&mut self, kind: Kind, count: usize) {
        self.0[kind as usize] += count as u64;
    }

    /// The tokens of o200k.
    pub(crate) fn tokens(&self) -> u64 {
        self.0.iter().sum::<u64>() - CHARACTERS.iter().map(|kind| self.0[*kind as usize]).sum::<u64>()
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        for (mine, its) in self.0.iter_mut().zip(other.0) {
            *mine += its;
        }
    }
}

impl Kind {
    /// The kind that counts the characters of pieces of this kind, if they count.
    #[inline]
    pub(crate) fn characters(self) -> Option<Self> {
        match self {
            Self::Number => Some(Self::Digit),
            Self::Han => Some(Self::HanCharacter),
            Self::Kana => Some(Self::KanaCharacter),
            _ => None,
        }
    }
}

pub(crate) fn is_katakana(letter: char) -> bool {
    matches!(letter, '\u{30a0}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}')
}

/// The kind of a letter or of a sign of full width; `None` for other signs and for letters of ASCII.
pub(crate) fn classify_letter(letter: char) -> Option<Kind> {
    Some(match letter {
        '\0'..='\x7f' => return None,
        // Kana, also of half width.
        '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}' => Kind::Kana,
        '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{a960}'..='\u{d7ff}' => Kind::Hangul,
        '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => Kind::Han,
        // Punctuation of ideographs, and forms of full width.
        '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff65}' | '\u{ffe0}'..='\u{ffef}' => {
            if letter.is_alphanumeric() { Kind::Han } else { Kind::WideSign }
        }
        '\u{c0}'..='\u{36f}' | '\u{1e00}'..='\u{1eff}' if letter != '×' && letter != '÷' => Kind::Accented,
        other if other.is_alphanumeric() => Kind::Other,
        _ => return None,
    })
}
