//! Finds unchanged pieces of the inputs in a text that was made of them: by `join`, `tojson`, `indent` or `~`.

use std::collections::HashMap;

/// The fewest characters of a piece. Shorter ones are found by chance.
const SHORTEST: usize = 4;

/// The most bytes of a text that is refined.
const MOST_TEXT: usize = 64 << 10;

/// The most bytes of all inputs of a text that is refined.
const MOST_INPUT: usize = 256 << 10;

/// The most bytes that are compared for one text.
const MOST_COMPARED: usize = 4 << 20;

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

/// The pieces of `text` that are, in order, unchanged pieces of exactly one of `inputs`.
pub(crate) fn find_pieces(text: &str, inputs: &[&str]) -> Vec<Piece> {
    let size: usize = inputs.iter().map(|input| input.len()).sum();
    if text.len() > MOST_TEXT || size > MOST_INPUT || text.len() < SHORTEST {
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
    let mut compared = 0;
    let mut pieces: Vec<Piece> = Vec::new();
    let mut at = 0;
    for (start, gram) in grams_of(text) {
        if start < at || compared > MOST_COMPARED {
            continue;
        }
        let Some(places) = grams.get(gram) else { continue };
        let mut best: Option<(usize, Piece)> = None;
        let mut is_unique = true;
        let in_order = places.iter().filter(|(input, from)| *from >= next[*input] || *from == 0);
        let is_common = in_order.clone().nth(MOST_TRIED).is_some();
        for &(input, from) in in_order.take(MOST_TRIED) {
            let len = common_prefix(&text[start..], &inputs[input][from..]);
            compared += len;
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

/// The pieces of `after` that are unchanged from `before`, in order: the common start and end, and what is found between
/// them with bounded work.
#[must_use]
pub fn unchanged_pieces(before: &str, after: &str) -> Vec<Piece> {
    let head = common_prefix(after, before);
    let (rest_before, rest_after) = (&before[head..], &after[head..]);
    let bytes = rest_before.bytes().rev().zip(rest_after.bytes().rev());
    let mut tail = bytes.take_while(|(a, b)| a == b).count();
    while !rest_after.is_char_boundary(rest_after.len() - tail) {
        tail -= 1;
    }
    let piece = |start, len, from| Piece { start, end: start + len, input: 0, from };
    let mut pieces = vec![piece(0, head, 0)];
    let middle_before = &rest_before[..rest_before.len() - tail];
    let middle_after = &rest_after[..rest_after.len() - tail];
    pieces.extend(
        find_pieces(middle_after, &[middle_before])
            .into_iter()
            .map(|found| piece(head + found.start, found.end - found.start, head + found.from)),
    );
    pieces.push(piece(after.len() - tail, tail, before.len() - tail));
    pieces.retain(|piece| piece.end > piece.start);
    pieces
}

/// All runs of [`SHORTEST`] characters, with their places.
fn grams_of(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let starts = text.char_indices().map(|(at, _)| at);
    let ends = text.char_indices().map(|(at, _)| at).skip(SHORTEST).chain([text.len()]);
    let count = text.chars().take(SHORTEST).count();
    starts.zip(ends).filter(move |_| count == SHORTEST).map(|(start, end)| (start, &text[start..end]))
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
        find_pieces(text, inputs).into_iter().map(|p| (&text[p.start..p.end], p.input, p.from)).collect()
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
    }

    #[test]
    fn the_work_is_bounded() {
        let long = "a".repeat(MOST_TEXT);
        let inputs: Vec<&str> = vec![&long[..2048]; 100];
        assert!(find_pieces(&long, &inputs).is_empty(), "all inputs are the same");
        assert!(find_pieces(&"x".repeat(MOST_TEXT + 1), &["xxxx"]).is_empty(), "too long");
    }
}
