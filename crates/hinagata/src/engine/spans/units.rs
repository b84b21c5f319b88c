//! The units in which lengths and offsets of an answer count.

use std::cell::OnceCell;

/// The unit in which lengths and offsets of an answer count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapUnits {
    /// Bytes.
    #[default]
    Utf8,
    /// Code units of UTF-16, as JavaScript counts.
    Utf16,
    /// Characters.
    Chars,
}

impl MapUnits {
    /// The unit called `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "utf8" => Some(Self::Utf8),
            "utf16" => Some(Self::Utf16),
            "chars" => Some(Self::Chars),
            _ => None,
        }
    }

    pub(super) fn length(self, text: &str) -> usize {
        match self {
            Self::Utf8 => text.len(),
            Self::Utf16 => text.chars().map(char::len_utf16).sum(),
            Self::Chars => text.chars().count(),
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf8",
            Self::Utf16 => "utf16",
            Self::Chars => "chars",
        }
    }
}

/// Bytes between two known offsets.
const BLOCK: usize = 1024;

/// Converts bytes of one text to units, in time that does not grow with the text.
pub(super) struct UnitOffsets<'t> {
    text: &'t str,
    units: MapUnits,
    /// The units before each block, once they were needed.
    blocks: OnceCell<Vec<usize>>,
}

impl<'t> UnitOffsets<'t> {
    pub(super) fn new(text: &'t str, units: MapUnits) -> Self {
        Self { text, units, blocks: OnceCell::new() }
    }

    /// The units before a byte.
    pub(super) fn units_before(&self, byte: usize) -> usize {
        let byte = byte.min(self.text.len());
        if self.units == MapUnits::Utf8 {
            return byte;
        }
        let block = self.text.floor_char_boundary(byte / BLOCK * BLOCK);
        let before = self.blocks.get_or_init(|| self.count_blocks());
        let rest = self.text.get(block..self.text.floor_char_boundary(byte)).unwrap_or_default();
        before[byte / BLOCK] + self.units.length(rest)
    }

    fn count_blocks(&self) -> Vec<usize> {
        let mut counted = (0, 0);
        (0..=self.text.len() / BLOCK)
            .map(|block| {
                let end = self.text.floor_char_boundary(block * BLOCK);
                counted = (end, counted.1 + self.units.length(&self.text[counted.0..end]));
                counted.1
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_the_units_before_it() {
        let text = "ab雛😀".repeat(700);
        for units in [MapUnits::Utf8, MapUnits::Utf16, MapUnits::Chars] {
            let offsets = UnitOffsets::new(&text, units);
            for (byte, _) in text.char_indices().chain([(text.len(), ' ')]) {
                assert_eq!(offsets.units_before(byte), units.length(&text[..byte]), "{units:?} {byte}");
            }
        }
    }
}
