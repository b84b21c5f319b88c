//! Finds similar names.
//!
//! A search has a constant bound of work, counted in steps: one cell of the table of edit distances is one step. Misses
//! are open to every caller of a daemon, so they must not cost more the more names there are.

/// Characters of a name that are compared.
const LONGEST: usize = 64;
/// Most names that are returned.
const MOST_NAMES: usize = 3;
/// Most steps of a search in a list; a name that is too long or too short costs one.
const LIST_STEPS: usize = 100_000;
/// Most steps of a search in sorted names.
const SORTED_STEPS: usize = 16_384;
/// Steps of finding one name among the sorted ones.
const SEEK_STEPS: usize = 64;

/// The names of `known` that are similar to `wanted`: at most three, the most similar first.
///
/// Its cost is bounded: names at the end of a list of many thousands may be left out.
pub fn near_names<'n>(wanted: &str, known: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    search_list(wanted, known, near_distance(wanted)).names
}

/// The names of which `wanted` is very likely a typo, the most similar first.
pub fn close_names<'n>(wanted: &str, known: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let length = wanted.chars().take(LONGEST).count();
    search_list(wanted, known, (length / 4).clamp(usize::from(length > 2), 3)).names
}

/// As [`near_names`] for sorted names, however many there are: `next_name` returns the first name that is not less than
/// its argument, and only names that `accept` approves are returned.
///
/// It calls `next_name` at most 256 times. If that is not enough, the names found so far are returned; they are the
/// nearest.
///
/// ```
/// let names = ["alpha", "beta", "gamma"];
/// let next_name = |from: &str| names.get(names.partition_point(|name| *name < from)).copied();
/// assert_eq!(hinagata_value::near_sorted_names("bata", next_name, |_| true), ["beta"]);
/// ```
pub fn near_sorted_names<'n>(
    wanted: &str,
    next_name: impl FnMut(&str) -> Option<&'n str>,
    accept: impl FnMut(&str) -> bool,
) -> Vec<String> {
    search_sorted(wanted, next_name, accept, near_distance(wanted)).names
}

/// The largest distance of a similar name.
fn near_distance(wanted: &str) -> usize {
    let length = wanted.chars().take(LONGEST).count();
    (length / 3 + usize::from(length > 1)).min(3)
}

/// The result of a search, and its cost.
struct Found {
    names: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "tests compare it with the bound"))]
    steps: usize,
}

fn search_list<'n>(wanted: &str, known: impl IntoIterator<Item = &'n str>, allowed: usize) -> Found {
    let mut known = known.into_iter().peekable();
    // Many calls have nothing to compare with, and need no table.
    if allowed == 0 || known.peek().is_none() {
        return Found { names: Vec::new(), steps: 0 };
    }
    let mut near: Vec<(usize, &str)> = Vec::new();
    let mut table = Table::new(wanted, allowed);
    for name in known {
        if table.steps >= LIST_STEPS {
            break;
        }
        table.steps += 1;
        if table.has_similar_length(name) && name != wanted && table.enter_name(name).is_none() {
            near.extend(table.distance().map(|distance| (distance, name)));
        }
    }
    near.sort_unstable();
    near.dedup();
    let names = near.into_iter().take(MOST_NAMES).map(|(_, name)| name.to_owned()).collect();
    Found { names, steps: table.steps }
}

/// Searches for other spellings, then for names with distance 1, then 2, and so on. Whole groups of names whose common
/// start is too different are skipped.
fn search_sorted<'n>(
    wanted: &str,
    mut next_name: impl FnMut(&str) -> Option<&'n str>,
    mut accept: impl FnMut(&str) -> bool,
    allowed: usize,
) -> Found {
    let (mut names, mut steps) = (Vec::new(), 0);
    let first = if allowed > 0 { 0 } else { 1 };
    for distance in first..=allowed {
        let mut table = Table::new(wanted, distance);
        let mut from = Some(String::new());
        while let Some(start) = from.take() {
            if steps + table.steps + SEEK_STEPS > SORTED_STEPS {
                return Found { names, steps: steps + table.steps };
            }
            table.steps += SEEK_STEPS;
            let Some(name) = next_name(&start) else { break };
            from = match table.enter_name(name) {
                Some(character) => table.next_start(character),
                None => {
                    let is_new = table.distance() == Some(distance) && name != wanted && !name.is_empty();
                    if is_new && accept(name) {
                        names.push(name.to_owned());
                    }
                    Some(format!("{name}\0"))
                }
            };
            if names.len() == MOST_NAMES {
                return Found { names, steps: steps + table.steps };
            }
        }
        steps += table.steps;
    }
    Found { names, steps }
}

/// The distances between the start of a name and every start of the wanted name, for each character of that name.
///
/// A distance is the number of insertions, deletions, replacements and swaps of neighbours. Case and the difference
/// between `-` and `_` cost nothing.
struct Table {
    /// The wanted name, folded.
    wanted: Vec<char>,
    /// The largest distance of interest; larger ones are stored as one more.
    allowed: u8,
    /// The name so far. Names that follow each other share their common start.
    path: Vec<char>,
    /// One row more than the path has characters.
    rows: Vec<Row>,
    steps: usize,
}

struct Row {
    cells: [u8; LONGEST + 1],
    least: u8,
}

impl Table {
    fn new(wanted: &str, allowed: usize) -> Self {
        let allowed = u8::try_from(allowed).unwrap_or(u8::MAX - 1);
        let mut cells = [allowed + 1; LONGEST + 1];
        for (cell, distance) in cells.iter_mut().zip(0..=allowed) {
            *cell = distance;
        }
        let wanted = wanted.chars().take(LONGEST).map(fold_character).collect();
        Self { wanted, allowed, path: Vec::new(), rows: vec![Row { cells, least: 0 }], steps: 0 }
    }

    fn has_similar_length(&self, name: &str) -> bool {
        let (least, most) = (self.wanted.len(), self.wanted.len() + usize::from(self.allowed));
        // A character has at most four bytes.
        if name.is_empty() || name.len() > 4 * most || name.len() + usize::from(self.allowed) < least {
            return false;
        }
        let length = name.chars().take(most + 1).count();
        length <= most && length + usize::from(self.allowed) >= least
    }

    /// Enters a name in place of the one before, up to the first character that makes it too different; returns it.
    fn enter_name(&mut self, name: &str) -> Option<char> {
        let common =
            self.path.iter().copied().zip(name.chars()).take_while(|(one, other)| one == other).count();
        self.path.truncate(common);
        self.rows.truncate(common + 1);
        name.chars().skip(common).find(|&character| !self.push_character(character))
    }

    /// Adds a character; false, and without effect, if the name becomes too different.
    fn push_character(&mut self, character: char) -> bool {
        let depth = self.path.len() + 1;
        let (band, far) = (usize::from(self.allowed), self.allowed + 1);
        let (above, folded) = (&self.rows[depth - 1].cells, fold_character(character));
        let before = self.path.last().copied().map(fold_character);
        let mut row = Row { cells: [far; LONGEST + 1], least: far };
        // Cells outside of the band are larger than any distance of interest.
        for end in depth.saturating_sub(band)..=(depth + band).min(self.wanted.len()) {
            let mut best = above[end] + 1;
            if end > 0 {
                let replaced = above[end - 1] + u8::from(self.wanted[end - 1] != folded);
                best = best.min(replaced).min(row.cells[end - 1] + 1);
            }
            if end > 1 && self.wanted[end - 2] == folded && before == Some(self.wanted[end - 1]) {
                best = best.min(self.rows[depth - 2].cells[end - 2] + 1);
            }
            row.cells[end] = best.min(far);
            row.least = row.least.min(best);
            self.steps += 1;
        }
        let is_similar = row.least <= self.allowed;
        if is_similar {
            self.path.push(character);
            self.rows.push(row);
        }
        is_similar
    }

    /// The distance of the entered name, if it is small enough.
    fn distance(&self) -> Option<usize> {
        let distance = self.rows.last()?.cells[self.wanted.len()];
        (distance <= self.allowed).then_some(usize::from(distance))
    }

    /// The first text after those that start with the path and `character`, with a start that is not too different.
    fn next_start(&mut self, mut character: char) -> Option<String> {
        loop {
            if let Some(next) = self.next_character(character) {
                return Some(self.path.iter().copied().chain([next]).collect());
            }
            self.rows.pop();
            character = self.path.pop()?;
        }
    }

    /// The least character greater than `after` that can follow the path.
    fn next_character(&self, after: char) -> Option<char> {
        let depth = self.path.len();
        let row = &self.rows[depth];
        if row.least < self.allowed {
            // One more difference is allowed, so every character can follow.
            return (after..=char::MAX).nth(1);
        }
        let same = (0..self.wanted.len()).filter(|&end| row.cells[end] == self.allowed);
        let last = self.path.last().copied().map(fold_character);
        let swapped = (1..self.wanted.len()).filter(|&end| {
            last == Some(self.wanted[end]) && self.rows[depth - 1].cells[end - 1] < self.allowed
        });
        let characters = same.chain(swapped.map(|end| end - 1)).map(|end| self.wanted[end]);
        characters.flat_map(spellings).filter(|&character| character > after).min()
    }
}

fn fold_character(character: char) -> char {
    if character == '-' { '_' } else { character.to_ascii_lowercase() }
}

/// The characters that are folded to this one.
fn spellings(folded: char) -> [char; 2] {
    [folded, if folded == '_' { '-' } else { folded.to_ascii_uppercase() }]
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, ops::Bound};

    use super::*;

    #[test]
    fn slips_of_the_pen_are_found_and_strangers_are_not() {
        let known = ["upper", "lower", "replace", "agent_name", "x"];
        let sorted = BTreeSet::from(known);
        for (wanted, found) in [
            ("uper", &["upper"][..]),
            ("repalce", &["replace"]),
            ("Agent-Name", &["agent_name"]),
            ("y", &[]),
            ("zzzzzz", &[]),
        ] {
            assert_eq!(near_names(wanted, known), found, "{wanted}");
            assert_eq!(in_order(wanted, &sorted).names, found, "{wanted}");
        }
        assert_eq!(near_names("upper", ["upper"]), [] as [&str; 0]);
    }

    #[test]
    fn only_slips_are_close() {
        let known = ["name", "id", "type", "version", "description"];
        assert_eq!(close_names("verison", known), ["version"]);
        assert_eq!(close_names("descripion", known), ["description"]);
        assert_eq!(
            (close_names("Name", known), close_names("typ", known)),
            (vec!["name".to_owned()], vec!["type".to_owned()])
        );
        for other in ["date", "kind", "is", "permission", "n"] {
            assert_eq!(close_names(other, known), [] as [&str; 0], "{other}");
        }
    }

    fn in_order(wanted: &str, names: &BTreeSet<&str>) -> Found {
        let next_name =
            |from: &str| names.range::<str, _>((Bound::Included(from), Bound::Unbounded)).next().copied();
        search_sorted(wanted, next_name, |_| true, near_distance(wanted))
    }

    /// Ids as a store has them, of which many are similar to each other.
    fn many_ids(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("bulk.group{}.template_number_x{number}", number % 100)).collect()
    }

    #[test]
    fn a_miss_among_many_names_has_a_constant_bound_of_work() {
        for count in [100, 10_000, 200_000] {
            let ids = many_ids(count);
            let sorted: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
            for wanted in [
                "bulk.group5.template_number_x5x",
                "aulk.gruop7.tmplate",
                "z",
                "quite.another",
                &"b".repeat(999),
            ] {
                let found = in_order(wanted, &sorted);
                // The last name may be entered after the last step that is counted against the bound.
                let last = (LONGEST + 3) * 7;
                assert!(found.steps <= SORTED_STEPS + last, "{wanted} among {count}: {} steps", found.steps);
                let found = search_list(wanted, sorted.iter().copied(), near_distance(wanted));
                assert!(found.steps <= LIST_STEPS + last, "{wanted} among {count}: {} steps", found.steps);
            }
        }
    }

    #[test]
    fn a_slip_is_found_among_many_names() {
        let ids = many_ids(10_000);
        let sorted: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
        let right = "bulk.group5.template_number_x4205";
        for wrong in [
            "blk.group5.template_number_x4205",
            "bulk.gruop5.template_number_x4205",
            "bulk.group5.tenplate_number_x4205",
            "xbulk.group5.template_number_x4205",
            "Bulk.Group5.Template-Number-X4205",
        ] {
            let found = in_order(wrong, &sorted);
            assert_eq!(
                found.names.first().map(String::as_str),
                Some(right),
                "{wrong}: {} steps",
                found.steps
            );
        }
    }

    #[test]
    fn sorted_names_are_searched_as_a_list_is() {
        let names = [
            "", "a", "ab", "abc", "abcd", "ab-cd", "ab_cd", "AB_CD", "bac", "bacd", "cab", "dcba", "é", "éa",
        ];
        let sorted = BTreeSet::from(names);
        for wanted in ["abc", "abdc", "bca", "ab_c", "abcde", "éb", "ea", "AB-CD", "dacb", "x", ""] {
            assert_eq!(in_order(wanted, &sorted).names, near_names(wanted, names), "{wanted}");
        }
    }
}
