//! Finds unchanged pieces of the inputs in a text that was made of them: by `join`, `tojson`, `indent` or `~`.

use hashbrown::HashMap;

/// The fewest characters of a piece. Shorter ones are found by chance.
const SHORTEST: usize = 4;

/// The most bytes of a text that is refined.
const MOST_TEXT: usize = 64 << 10;

/// The most bytes of all inputs of a text that is refined.
const MOST_INPUT: usize = 256 << 10;

/// The work for one text in [`unchanged_pieces`].
const TEXT_WORK: usize = 8 << 20;

/// The work for all texts of one render: about as many bytes are read.
const RENDER_WORK: usize = 32 << 20;

/// The most places of an input that are tried for one place of the text.
const MOST_TRIED: usize = 16;

/// A piece of the text that is a piece of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its first byte in the text.
    pub start: usize,
    /// The byte after its last one in the text.
    pub end: usize,
    /// The input, by its number.
    pub input: usize,
    /// Where it starts in the input.
    pub from: usize,
}

/// How much work is left: bytes that are read, places that are tried.
#[derive(Debug)]
pub struct Work {
    left: usize,
    is_used_up: bool,
}

impl Default for Work {
    /// The work for one render.
    fn default() -> Self {
        Self::new(RENDER_WORK)
    }
}

impl Work {
    pub(crate) fn new(left: usize) -> Self {
        Self { left, is_used_up: false }
    }

    /// Takes `amount` of what is left; returns whether there was enough.
    pub(crate) fn spend(&mut self, amount: usize) -> bool {
        match self.left.checked_sub(amount) {
            Some(left) if !self.is_used_up => self.left = left,
            _ => self.is_used_up = true,
        }
        !self.is_used_up
    }

    /// Whether something was left undone.
    #[must_use]
    pub fn is_used_up(&self) -> bool {
        self.is_used_up
    }
}

/// The pieces of `text` that are, in order, unchanged pieces of exactly one of `inputs`. None once `work` is used up.
#[must_use]
pub fn find_pieces(text: &str, inputs: &[&str], work: &mut Work) -> Vec<Piece> {
    let size: usize = inputs.iter().map(|input| input.len()).sum();
    if text.len() > MOST_TEXT || size > MOST_INPUT || size.min(text.len()) < SHORTEST {
        return Vec::new();
    }
    if !work.spend(size + text.len()) {
        return Vec::new();
    }
    let mut grams: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
    for (number, input) in inputs.iter().enumerate() {
        for (from, gram) in grams_of(input) {
            grams.entry(gram).or_default().push((number, from));
        }
    }
    if grams.is_empty() {
        return Vec::new();
    }
    // Where the next piece of each input may start.
    let mut next = vec![0; inputs.len()];
    let mut pieces: Vec<Piece> = Vec::new();
    let mut at = 0;
    for (start, gram) in grams_of(text) {
        if start < at {
            continue;
        }
        let Some(places) = grams.get(gram) else { continue };
        if !work.spend(places.len()) {
            break;
        }
        let mut best: Option<(usize, Piece)> = None;
        let mut is_unique = true;
        let in_order = places.iter().filter(|(input, from)| *from >= next[*input] || *from == 0);
        let is_common = in_order.clone().nth(MOST_TRIED).is_some();
        for &(input, from) in in_order.take(MOST_TRIED) {
            let len = common_prefix(&text[start..], &inputs[input][from..]);
            if !work.spend(len) {
                return pieces;
            }
            // An input that was used may start again, but only as a whole.
            if from < next[input] && len < inputs[input].len() {
                continue;
            }
            match &best {
                Some((longest, piece)) if *longest == len => is_unique &= piece.input == input,
                Some((longest, _)) if *longest > len => {}
                _ => {
                    best = Some((len, Piece { start, end: start + len, input, from }));
                    is_unique = true;
                }
            }
        }
        if let Some((len, piece)) = best {
            at = piece.end;
            if is_unique && !is_common {
                next[piece.input] = piece.from + len;
                pieces.push(piece);
            }
        }
    }
    pieces
}

/// The pieces of `after` that are unchanged from `before`, in order: the common start and end, the lines that both have
/// once, and what is found around them with bounded work.
#[must_use]
pub fn unchanged_pieces(before: &str, after: &str) -> Vec<Piece> {
    let mut aligned =
        Aligned { before, after, pieces: Vec::new(), start: (0, 0), work: Work::new(TEXT_WORK) };
    let head = common_prefix(after, before);
    let tail = common_suffix(&before[head..], &after[head..]);
    let ends = (before.len() - tail, after.len() - tail);
    aligned.add(0, 0, head);
    for (from, start, length) in common_lines(&before[head..ends.0], &after[head..ends.1]) {
        aligned.add_with_surroundings(head + from, head + start, length, ends);
    }
    aligned.fill_gap(ends);
    aligned.add(ends.0, ends.1, tail);
    aligned.pieces
}

/// Two texts, aligned up to the bytes `start` of both.
struct Aligned<'t> {
    before: &'t str,
    after: &'t str,
    pieces: Vec<Piece>,
    start: (usize, usize),
    work: Work,
}

impl Aligned<'_> {
    fn add(&mut self, from: usize, start: usize, length: usize) {
        let piece = Piece { start, end: start + length, input: 0, from };
        match self.pieces.last_mut() {
            Some(last) if last.end == start && last.from + (last.end - last.start) == from => {
                last.end = piece.end;
            }
            _ if length > 0 => self.pieces.push(piece),
            _ => {}
        }
        self.start = (from + length, piece.end);
    }

    /// Adds a common piece with what is common around it, and what is found before it.
    fn add_with_surroundings(&mut self, from: usize, start: usize, length: usize, ends: (usize, usize)) {
        if from < self.start.0 || start < self.start.1 {
            return;
        }
        let ahead = common_suffix(&self.before[self.start.0..from], &self.after[self.start.1..start]);
        let behind = common_prefix(&self.after[start + length..ends.1], &self.before[from + length..ends.0]);
        self.fill_gap((from - ahead, start - ahead));
        self.add(from - ahead, start - ahead, ahead + length + behind);
    }

    /// Adds the pieces that are found between what is aligned and `ends`.
    fn fill_gap(&mut self, ends: (usize, usize)) {
        let (first, start) = self.start;
        let (before, after) = (&self.before[first..ends.0], &self.after[start..ends.1]);
        for piece in find_pieces(after, &[before], &mut self.work) {
            self.add(first + piece.from, start + piece.start, piece.end - piece.start);
        }
    }
}

/// The lines that both texts have exactly once, in an order that they have in both: the bytes in both, and the length.
fn common_lines(before: &str, after: &str) -> Vec<(usize, usize, usize)> {
    let lines = |text| {
        let mut at = 0;
        let mut all: HashMap<&str, (usize, usize)> = HashMap::new();
        for line in str::split_inclusive(text, '\n') {
            all.entry(line).and_modify(|(_, count)| *count += 1).or_insert((at, 1));
            at += line.len();
        }
        all
    };
    let (mine, theirs) = (lines(before), lines(after));
    let once = mine.iter().filter(|(line, (_, count))| *count == 1 && line.trim().len() >= SHORTEST);
    let mut common: Vec<(usize, usize, usize)> = once
        .filter_map(|(line, (from, _))| match theirs.get(line) {
            Some((start, 1)) => Some((*from, *start, line.len())),
            _ => None,
        })
        .collect();
    common.sort_unstable();
    longest_increasing(&common)
}

/// The longest list of items whose second number increases.
fn longest_increasing(items: &[(usize, usize, usize)]) -> Vec<(usize, usize, usize)> {
    // The item that ends the best list of each length, and the item before each.
    let mut ends: Vec<usize> = Vec::new();
    let mut previous = vec![None; items.len()];
    for (index, item) in items.iter().enumerate() {
        let length = ends.partition_point(|end| items[*end].1 < item.1);
        previous[index] = length.checked_sub(1).map(|before| ends[before]);
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut found: Vec<_> = std::iter::successors(ends.last().copied(), |index| previous[*index])
        .map(|index| items[index])
        .collect();
    found.reverse();
    found
}

/// All runs of [`SHORTEST`] characters, with their places.
fn grams_of(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let starts = text.char_indices().map(|(at, _)| at);
    let ends = text.char_indices().map(|(at, _)| at).skip(SHORTEST).chain([text.len()]);
    let count = text.chars().take(SHORTEST).count();
    starts.zip(ends).filter(move |_| count == SHORTEST).map(|(start, end)| (start, &text[start..end]))
}

/// The length in bytes of the characters with which both texts end.
fn common_suffix(a: &str, b: &str) -> usize {
    let mut len = a.bytes().rev().zip(b.bytes().rev()).take_while(|(a, b)| a == b).count();
    while !a.is_char_boundary(a.len() - len) {
        len -= 1;
    }
    len
}

/// The length in bytes of the characters with which both texts start.
fn common_prefix(a: &str, b: &str) -> usize {
    let len = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    a.floor_char_boundary(len).min(b.floor_char_boundary(len))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces<'t>(text: &'t str, inputs: &[&str]) -> Vec<(&'t str, usize, usize)> {
        let mut work = Work::new(TEXT_WORK);
        find_pieces(text, inputs, &mut work)
            .into_iter()
            .map(|p| (&text[p.start..p.end], p.input, p.from))
            .collect()
    }

    #[test]
    fn joined_texts_are_found_and_separators_are_not() {
        assert_eq!(pieces("alpha, beta!", &["alpha", "beta!"]), [("alpha", 0, 0), ("beta!", 1, 0)]);
        assert_eq!(pieces("雛形です、ありがとう", &["雛形です", "ありがとう"]).len(), 2);
    }

    #[test]
    fn an_indented_text_is_found_line_by_line() {
        let found = pieces("first line\n    second line", &["first line\nsecond line"]);
        assert_eq!(found, [("first line\n", 0, 0), ("second line", 0, 11)]);
    }

    #[test]
    fn a_piece_of_two_inputs_belongs_to_neither() {
        assert_eq!(pieces("same", &["same", "same"]), []);
        assert_eq!(pieces("abc", &["abc"]), [], "three characters may be chance");
    }

    #[test]
    fn pieces_follow_the_order_of_the_input_and_a_whole_input_may_repeat() {
        assert_eq!(pieces("world hello", &["hello world"]), [("world", 0, 6)]);
        assert_eq!(pieces("name/name", &["name"]), [("name", 0, 0), ("name", 0, 0)]);
    }

    #[test]
    fn a_changed_text_keeps_its_start_its_end_and_long_pieces_between() {
        let (before, after) = ("Dear Yuki, the lamp is lit. Bye", "Dear Rumi, now the lamp is lit? Bye");
        let kept: Vec<_> = unchanged_pieces(before, after)
            .into_iter()
            .map(|piece| {
                let text = &after[piece.start..piece.end];
                assert_eq!(text, &before[piece.from..piece.from + text.len()]);
                text
            })
            .collect();
        assert_eq!(kept, ["Dear ", " the lamp is lit", " Bye"]);
        assert_eq!(unchanged_pieces("雛", "雞"), [], "half a character is none");
        assert_eq!(unchanged_pieces("same", "same").len(), 1);
    }

    #[test]
    fn long_texts_are_aligned_by_their_lines() {
        let lines: Vec<String> = (0..20_000).map(|number| format!("line {}\n", number % 15_000)).collect();
        let before = lines.concat();
        let after = format!("new\n{}", before.replace("line 7000\n", "other\n").replace("line 14999\n", ""));
        let pieces = unchanged_pieces(&before, &after);
        let kept: usize = pieces.iter().map(|piece| piece.end - piece.start).sum();
        assert!(after.len() - kept < 30, "{} bytes are new", after.len() - kept);
        let mut end = (0, 0);
        for piece in &pieces {
            assert!(piece.start >= end.0 && piece.from >= end.1, "in order");
            let length = piece.end - piece.start;
            assert_eq!(after[piece.start..piece.end], before[piece.from..piece.from + length]);
            end = (piece.end, piece.from + length);
        }
    }

    #[test]
    fn the_work_is_bounded() {
        let long = "a".repeat(MOST_TEXT);
        let inputs: Vec<&str> = vec![&long[..2048]; 100];
        assert!(pieces(&long, &inputs).is_empty(), "all inputs are the same");
        assert!(pieces(&"x".repeat(MOST_TEXT + 1), &["xxxx"]).is_empty(), "too long");
        let mut work = Work::new(100);
        assert!(find_pieces("alpha, beta!", &["alpha", "beta!"], &mut work).len() == 2 && !work.is_used_up());
        // Every place of the text could continue at many places of the input.
        let (text, input) = ("abcdX".repeat(MOST_TEXT / 5), "abcd".repeat(MOST_INPUT / 4));
        assert!(find_pieces(&text, &[&input], &mut Work::new(1 << 20)).len() < 100);
    }
}
