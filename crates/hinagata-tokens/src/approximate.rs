//! Approximates the tally of a text by its characters, for builds without vocabularies.
//!
//! It goes line by line and follows the pattern of o200k; how many tokens a piece of some length has on average was
//! measured on the texts that the factors were fitted to.

use crate::tally::{Kind, Tally, classify_letter, is_katakana};

/// What a character belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    Letters(Kind),
    Digits,
    Signs,
    Blanks,
}

/// Hundredths of the approximate tally of a text; they can be added at the ends of lines.
pub(crate) fn approximate_text(text: &str) -> Tally {
    let mut hundredths = Tally::default();
    for line in text.split_inclusive('\n') {
        let line = line.strip_suffix('\n').unwrap_or(line);
        approximate_line(line.strip_suffix('\r').unwrap_or(line), &mut hundredths);
    }
    hundredths
}

/// Adds the hundredths of tokens of a line.
fn approximate_line(line: &str, tally: &mut Tally) {
    let mut rest = line;
    // What was before a word: its last character belongs to the word.
    let (mut signs, mut blanks) = (0, 0);
    while let Some(first) = rest.chars().next() {
        let run = classify(first);
        let length = run_length(rest, run);
        let (piece, after) = rest.split_at(length);
        let characters = piece.chars().count();
        match run {
            Run::Letters(kind) => {
                let kind = piece_kind(piece, kind, signs > 0);
                add_before(tally, signs.max(1) - 1, blanks.max(1) - 1);
                tally.add(kind, letter_tokens(kind, characters));
                add_characters(tally, kind, piece);
            }
            Run::Digits => {
                add_before(tally, signs, blanks);
                tally.add(Kind::Number, 100 * characters.div_ceil(3));
                add_characters(tally, Kind::Number, piece);
            }
            Run::Signs => add_before(tally, 0, blanks.max(1) - 1),
            Run::Blanks => add_before(tally, signs, 0),
        }
        (signs, blanks) = match run {
            Run::Signs => (characters, 0),
            Run::Blanks => (0, characters),
            _ => (0, 0),
        };
        rest = after;
    }
    add_before(tally, signs, blanks);
    // The end of a line belongs to signs before it, and to the ends of empty lines behind it.
    if signs == 0 && !line.is_empty() {
        tally.add(Kind::Space, 100);
    }
}

/// Adds the hundredths of the characters of a piece whose characters count.
fn add_characters(tally: &mut Tally, kind: Kind, piece: &str) {
    let count = |counts: fn(&char) -> bool| 100 * piece.chars().filter(counts).count();
    if let Some(counted) = kind.characters() {
        tally.add(counted, count(|_| true));
    }
    if kind == Kind::Kana {
        tally.add(Kind::Katakana, count(|letter| is_katakana(*letter)));
    }
}

fn classify(character: char) -> Run {
    match character {
        'a'..='z' | 'A'..='Z' => Run::Letters(Kind::Word),
        other if other.is_whitespace() => Run::Blanks,
        other if other.is_numeric() => Run::Digits,
        other => match classify_letter(other) {
            None | Some(Kind::WideSign) => Run::Signs,
            Some(kind) => Run::Letters(kind),
        },
    }
}

/// The bytes of the run at the start of a text. Accented letters belong to their word, kanji to the kana around them.
fn run_length(text: &str, run: Run) -> usize {
    let continues = |(before, character): (char, char)| match (run, classify(character)) {
        (Run::Letters(Kind::Word | Kind::Accented), Run::Letters(Kind::Word | Kind::Accented)) => {
            !(before.is_lowercase() && character.is_uppercase())
        }
        (Run::Letters(Kind::Han | Kind::Kana), Run::Letters(Kind::Han | Kind::Kana)) => true,
        (run, other) => run == other,
    };
    let pairs = text.chars().zip(text.chars().skip(1)).take_while(|pair| continues(*pair));
    let first = text.chars().next().map_or(0, char::len_utf8);
    first + pairs.map(|(_, character)| character.len_utf8()).sum::<usize>()
}

/// The kind of a run whose first letter is of the kind `first`.
fn piece_kind(piece: &str, first: Kind, is_joined: bool) -> Kind {
    let has_kind = |kind: Kind| piece.chars().any(|letter| classify_letter(letter) == Some(kind));
    match first {
        Kind::Han if has_kind(Kind::Kana) => Kind::Kana,
        Kind::Word if has_kind(Kind::Accented) => Kind::Accented,
        Kind::Word if is_joined => Kind::Joined,
        Kind::Word if piece.len() > 1 && !piece.contains(|letter: char| letter.is_lowercase()) => {
            Kind::Capitals
        }
        first => first,
    }
}

/// Adds signs and blanks that belong to no word.
fn add_before(tally: &mut Tally, signs: usize, blanks: usize) {
    if signs > 0 {
        // Long runs are lines of one sign, which have tokens of their own.
        tally.add(Kind::Sign, 100 + 45 * signs.clamp(3, 12).saturating_sub(3) + 6 * signs.saturating_sub(12));
    }
    match blanks {
        0 => {}
        1 => tally.add(Kind::Gap, 100),
        _ => tally.add(Kind::Space, 100 + blanks),
    }
}

/// The hundredths of tokens of a word.
fn letter_tokens(kind: Kind, characters: usize) -> usize {
    let above = |most: usize| characters.saturating_sub(most);
    match kind {
        Kind::Word => 100 + 6 * above(3) + 25 * above(14),
        Kind::Joined => 105 + 12 * above(3) + 20 * above(14),
        Kind::Capitals => 100 + 30 * above(2),
        Kind::Accented => 110 + 20 * above(3),
        Kind::Han => (86 * characters).max(100),
        Kind::Kana => (78 * characters).max(100),
        Kind::Hangul => (68 * characters).max(100),
        _ => 100 + 25 * above(3),
    }
}
