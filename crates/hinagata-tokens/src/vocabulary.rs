//! A vocabulary as one block of bytes: a hash table that can be compiled in and used as it is.
//!
//! Parsing OpenAI's published files takes 240 ms and 45 MB, more than packing a project. The block is mapped with the
//! program, and only the pages that a text needs are read. The build script writes it with the same code.

use std::borrow::Cow;

/// Bits of a slot that hold the id of a token; the others hold a part of its hash.
const ID_BITS: u32 = 20;
const ID_MASK: u32 = (1 << ID_BITS) - 1;

/// The most tokens of a vocabulary; the highest id marks a free slot.
pub(crate) const MOST_TOKENS: usize = ID_MASK as usize;

const FREE: u32 = u32::MAX;

/// Bytes of the three numbers at the start: tokens, bits of a place in the table, bytes of the longest token.
const HEAD: usize = 12;

/// Tokens with their ids, which are their places in a list.
#[derive(Clone, Debug)]
pub(crate) struct Vocabulary {
    /// Head, ends of the tokens, slots, bytes of the tokens. Numbers are 32 bits, little-endian.
    data: Cow<'static, [u8]>,
    tokens: usize,
    bits: u32,
    longest: usize,
}

/// The block of a vocabulary. Of two equal tokens, the first counts.
pub(crate) fn encode_tokens(tokens: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let tokens = &tokens[..tokens.len().min(MOST_TOKENS)];
    // At most 4 of 5 slots are taken: neighbours are in one cache line, so longer searches cost little.
    let bits = (tokens.len() * 5 / 4 + 1).next_power_of_two().trailing_zeros().max(1);
    let longest = tokens.iter().map(|token| token.as_ref().len()).max().unwrap_or_default();
    let mut slots = vec![FREE; 1 << bits];
    let mut seen = std::collections::HashSet::new();
    for (id, token) in tokens.iter().enumerate() {
        if seen.insert(token.as_ref()) {
            let (mut place, mark) = place_of(hash_bytes(token.as_ref()), bits);
            while slots[place] != FREE {
                place = (place + 1) & (slots.len() - 1);
            }
            slots[place] = mark | id as u32;
        }
    }
    let ends = tokens.iter().scan(0, |end, token| {
        *end += token.as_ref().len() as u32;
        Some(*end)
    });
    let numbers = [tokens.len() as u32, bits, longest as u32].into_iter().chain(ends).chain(slots);
    let mut data: Vec<u8> = numbers.flat_map(u32::to_le_bytes).collect();
    data.extend(tokens.iter().flat_map(AsRef::as_ref));
    data
}

impl Vocabulary {
    /// The vocabulary in a block that [`encode_tokens`] wrote.
    pub(crate) fn from_block(data: impl Into<Cow<'static, [u8]>>) -> Self {
        let data = data.into();
        let [tokens, bits, longest] = [0, 1, 2].map(|place| read_number(&data, place * 4));
        Self { data, tokens: tokens as usize, bits, longest: longest as usize }
    }

    /// A vocabulary of these tokens.
    pub(crate) fn from_tokens(tokens: &[impl AsRef<[u8]>]) -> Self {
        Self::from_block(encode_tokens(tokens))
    }

    /// The id of a token.
    #[inline]
    pub(crate) fn find_token(&self, bytes: &[u8]) -> Option<u32> {
        if bytes.len() > self.longest {
            return None;
        }
        let (mut place, mark) = place_of(hash_bytes(bytes), self.bits);
        let slots = HEAD + self.tokens * 4;
        loop {
            let slot = read_number(&self.data, slots + place * 4);
            if slot == FREE {
                return None;
            }
            let id = slot & ID_MASK;
            if slot & !ID_MASK == mark && self.token_bytes(id) == bytes {
                return Some(id);
            }
            place = (place + 1) & ((1 << self.bits) - 1);
        }
    }

    /// The bytes of a token.
    fn token_bytes(&self, id: u32) -> &[u8] {
        let end_of = |id: usize| read_number(&self.data, HEAD + id * 4) as usize;
        let id = id as usize;
        let start = if id == 0 { 0 } else { end_of(id - 1) };
        let bytes = HEAD + (self.tokens + (1 << self.bits)) * 4;
        &self.data[bytes + start..bytes + end_of(id)]
    }

    /// Bytes of the longest token.
    pub(crate) fn longest_token(&self) -> usize {
        self.longest
    }
}

#[inline]
fn read_number(data: &[u8], at: usize) -> u32 {
    let bytes = data[at..at + 4].try_into().expect("the range has four bytes");
    u32::from_le_bytes(bytes)
}

/// The first slot of a token, and the part of its hash that the slot holds.
#[inline]
fn place_of(hash: u64, bits: u32) -> (usize, u32) {
    ((hash >> (64 - bits)) as usize, (hash as u32) << ID_BITS)
}

/// A quick hash that is the same on every machine.
#[inline]
fn hash_bytes(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| {
        let mixed = (hash ^ word).wrapping_mul(FACTOR);
        mixed ^ (mixed >> 32)
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let hash = words.iter().fold(bytes.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    let last = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    mix(mix(hash, last), FACTOR)
}
