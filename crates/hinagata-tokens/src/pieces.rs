//! Which kind of piece a tokenizer found.

use crate::tally::{Kind, Tally, classify_letter, is_katakana};

/// What a piece adds to a tally; no piece has more characters than 32 bits can count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PieceTally {
    kind: Kind,
    tokens: u32,
    /// Its characters, if those of its kind count.
    characters: u32,
    katakana: u32,
}

impl PieceTally {
    /// The tally of a piece of so many tokens.
    pub(crate) fn from_piece(piece: &str, tokens: usize) -> Self {
        let kind = classify_piece(piece);
        let count = |counts: fn(&char) -> bool| piece.chars().filter(counts).count() as u32;
        let (characters, katakana) = match kind {
            Kind::Number | Kind::Han => (count(|_| true), 0),
            Kind::Kana => (count(|_| true), count(|letter| is_katakana(*letter))),
            _ => (0, 0),
        };
        Self { kind, tokens: tokens as u32, characters, katakana }
    }
}

impl Tally {
    /// Adds a piece.
    #[inline]
    pub(crate) fn add_piece(&mut self, piece: PieceTally) {
        self.add(piece.kind, piece.tokens as usize);
        if let Some(counted) = piece.kind.characters() {
            self.add(counted, piece.characters as usize);
            self.add(Kind::Katakana, piece.katakana as usize);
        }
    }
}

fn classify_piece(piece: &str) -> Kind {
    if piece.is_ascii() {
        return classify_ascii(piece.as_bytes());
    }
    if piece.trim().is_empty() {
        return Kind::Space;
    }
    let strongest = piece.chars().filter_map(classify_letter).max_by_key(|kind| match kind {
        Kind::Kana => 5,
        Kind::Hangul => 4,
        Kind::Han => 3,
        Kind::Other => 2,
        Kind::Accented => 1,
        _ => 0,
    });
    strongest.unwrap_or(Kind::Sign)
}

fn classify_ascii(piece: &[u8]) -> Kind {
    let is_joined = !matches!(piece, [b' ' | b'a'..=b'z' | b'A'..=b'Z', ..]);
    let (mut letters, mut small, mut digits, mut signs) = (0, 0, 0, 0);
    for byte in piece {
        letters += usize::from(byte.is_ascii_alphabetic());
        small += usize::from(byte.is_ascii_lowercase());
        digits += usize::from(byte.is_ascii_digit());
        signs += usize::from(byte.is_ascii_graphic());
    }
    match (letters, digits, signs) {
        (0, 0, 0) if piece == b" " => Kind::Gap,
        (0, 0, 0) => Kind::Space,
        (0, 0, _) => Kind::Sign,
        (0, ..) => Kind::Number,
        _ if is_joined => Kind::Joined,
        (2.., ..) if small == 0 => Kind::Capitals,
        _ => Kind::Word,
    }
}
