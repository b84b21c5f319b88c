//! How a SentencePiece model changes a text before it encodes it.

use super::{FixedSymbols, SPACE, proto::NormalizerFields};

/// Normalizes texts.
#[derive(Debug)]
pub(super) struct Normalizer {
    characters: Option<CharacterMap>,
    adds_space: bool,
    removes_spaces: bool,
    escapes_spaces: bool,
    spaces_are_suffixes: bool,
}

impl Normalizer {
    pub(super) fn new(fields: &NormalizerFields, spaces_are_suffixes: bool) -> Result<Self, String> {
        Ok(Self {
            adds_space: fields.adds_space.unwrap_or(true),
            removes_spaces: fields.removes_spaces.unwrap_or(true),
            escapes_spaces: fields.escapes_spaces.unwrap_or(true),
            spaces_are_suffixes,
            characters: match fields.characters.is_empty() {
                true => None,
                false => Some(CharacterMap::parse(&fields.characters)?),
            },
        })
    }

    pub(super) fn normalize_text(&self, text: &str, symbols: &FixedSymbols) -> String {
        let mut rest = text;
        if self.removes_spaces {
            while let Some((" ", length)) = self.next_prefix(rest, symbols) {
                rest = &rest[length..];
            }
        }
        let mut out = String::with_capacity(rest.len() + rest.len() / 4);
        if rest.is_empty() {
            return out;
        }
        let space = if self.escapes_spaces { SPACE } else { ' ' };
        if self.adds_space && !self.spaces_are_suffixes {
            out.push(space);
        }
        let mut after_space = self.removes_spaces;
        while let Some((mut prefix, length)) = self.next_prefix(rest, symbols) {
            if after_space {
                prefix = prefix.trim_start_matches(' ');
            }
            out.extend(prefix.chars().map(|character| if character == ' ' { space } else { character }));
            if !prefix.is_empty() {
                after_space = self.removes_spaces && prefix.ends_with(' ');
            }
            rest = &rest[length..];
        }
        if self.removes_spaces {
            out.truncate(out.trim_end_matches(space).len());
        }
        if self.adds_space && self.spaces_are_suffixes {
            out.push(space);
        }
        out
    }

    /// What the start of a text becomes, and how many bytes it replaces.
    fn next_prefix<'t>(&'t self, text: &'t str, symbols: &FixedSymbols) -> Option<(&'t str, usize)> {
        let first = text.chars().next()?;
        if let Some(symbol) = symbols.find_prefix(text) {
            return Some((symbol, symbol.len()));
        }
        let mapped = self.characters.as_ref().and_then(|characters| characters.find_prefix(text));
        let length = first.len_utf8();
        Some(mapped.unwrap_or((&text[..length], length)))
    }
}

/// A double-array trie from texts to their normal forms.
#[derive(Debug)]
struct CharacterMap {
    units: Vec<u32>,
    /// The normal forms, each ended by a NUL.
    forms: String,
}

impl CharacterMap {
    fn parse(data: &[u8]) -> Result<Self, String> {
        let invalid = || "its character map is invalid".to_owned();
        let (size, data) = data.split_first_chunk::<4>().ok_or_else(invalid)?;
        let size = u32::from_le_bytes(*size) as usize;
        let (units, forms) = data.split_at_checked(size).ok_or_else(invalid)?;
        let (units, rest) = units.as_chunks::<4>();
        let forms = String::from_utf8(forms.to_vec()).map_err(|_| invalid())?;
        if units.is_empty() || !rest.is_empty() {
            return Err(invalid());
        }
        Ok(Self { units: units.iter().map(|unit| u32::from_le_bytes(*unit)).collect(), forms })
    }

    /// The normal form of the longest known start of a text, and the length of that start.
    fn find_prefix(&self, text: &str) -> Option<(&str, usize)> {
        let mut place = offset_of(*self.units.first()?);
        let mut found = None;
        for (at, byte) in text.bytes().enumerate() {
            place ^= usize::from(byte);
            let Some(unit) = self.units.get(place).copied().filter(|unit| label_of(*unit) == u32::from(byte))
            else {
                break;
            };
            place ^= offset_of(unit);
            if has_leaf(unit) {
                let value = self.units.get(place).map(|leaf| (*leaf & !(1 << 31)) as usize);
                found = value.map(|value| (value, at + 1));
            }
        }
        let (value, length) = found?;
        let form = self.forms.get(value..)?.split('\0').next()?;
        // A map that ends within a character is invalid.
        text.is_char_boundary(length).then_some((form, length))
    }
}

fn label_of(unit: u32) -> u32 {
    unit & (1 << 31 | 0xff)
}

fn has_leaf(unit: u32) -> bool {
    unit >> 8 & 1 == 1
}

fn offset_of(unit: u32) -> usize {
    ((unit >> 10) << ((unit & 1 << 9) >> 6)) as usize
}
