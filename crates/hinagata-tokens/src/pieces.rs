//! Which kind of piece a tokenizer found.

use crate::tally::{Kind, Tally, classify_letter};

impl Tally {
    /// Adds a piece of so many tokens.
    pub(crate) fn add_piece(&mut self, piece: &str, tokens: usize) {
        let kind = classify_piece(piece);
        self.add(kind, tokens);
        self.add_characters(kind, piece, 1);
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
