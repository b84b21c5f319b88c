//! Finds similar names.

/// The names of `known` that are similar to `wanted`: at most three, the most similar first.
pub fn near_names<'n>(wanted: &str, known: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let length = wanted.chars().take(LONGEST).count();
    nearest(wanted, known, (length / 3 + usize::from(length > 1)).min(3))
}

/// The names of which `wanted` is very likely a typo, the most similar first.
pub fn close_names<'n>(wanted: &str, known: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let length = wanted.chars().take(LONGEST).count();
    nearest(wanted, known, (length / 4).clamp(usize::from(length > 2), 3))
}

/// Characters of a name that are compared.
const LONGEST: usize = 64;

fn nearest<'n>(wanted: &str, known: impl IntoIterator<Item = &'n str>, allowed: usize) -> Vec<String> {
    let start: Vec<char> = wanted.chars().take(LONGEST).collect();
    let mut near: Vec<(usize, &str)> = known
        .into_iter()
        .filter(|name| !name.is_empty() && name.len() <= 256 && *name != wanted)
        .map(|name| (distance(&start, name), name))
        .filter(|(distance, _)| (1..=allowed).contains(distance))
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(3).map(|(_, name)| name.to_owned()).collect()
}

/// The number of insertions, deletions, replacements and swaps of neighbours between two names. Case and the
/// difference between `-` and `_` cost nothing, but the distance of different names is at least 1.
fn distance(wanted: &[char], name: &str) -> usize {
    let fold = |character: &char| if *character == '-' { '_' } else { character.to_ascii_lowercase() };
    let a: Vec<char> = wanted.iter().map(fold).collect();
    let b: Vec<char> = name.chars().map(|character| fold(&character)).collect();
    if a == b {
        return usize::from(!wanted.iter().copied().eq(name.chars()));
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (row, &left) in a.iter().enumerate() {
        let mut line = vec![row + 1];
        for (column, &right) in b.iter().enumerate() {
            let replaced = above[column] + usize::from(left != right);
            let mut best = replaced.min(above[column + 1] + 1).min(line[column] + 1);
            if row > 0 && column > 0 && left == b[column - 1] && a[row - 1] == right {
                best = best.min(before[column - 1] + 1);
            }
            line.push(best);
        }
        before = std::mem::replace(&mut above, line);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_pen_are_found_and_strangers_are_not() {
        let known = ["upper", "lower", "replace", "agent_name", "x"];
        assert_eq!(near_names("uper", known), ["upper"]);
        assert_eq!(near_names("repalce", known), ["replace"]);
        assert_eq!(near_names("Agent-Name", known), ["agent_name"]);
        assert_eq!(near_names("y", known), [] as [&str; 0]);
        assert_eq!(near_names("zzzzzz", known), [] as [&str; 0]);
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
}
