//! Chooses one version of every pack so that all ranges are met.

use std::collections::BTreeMap;

use hinagata_document::{Code, Error, Reason, Result};

use crate::{location::PackLocation, range::VersionRange};

/// Most versions that are tried.
const MOST_STEPS: usize = 50_000;

/// A version that can be chosen.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) version: String,
    pub(super) location: PackLocation,
    pub(super) requires: BTreeMap<String, String>,
}

/// What somebody asks of a pack.
#[derive(Clone, Debug)]
pub(super) struct Demand {
    pub(super) range: VersionRange,
    /// Who asks: a pack with its version, or the settings.
    pub(super) asker: String,
}

/// The candidates of a pack that an index has, the preferred one first.
pub(super) type Candidates<'c> = &'c mut dyn FnMut(&str) -> Result<Vec<Candidate>>;

/// Chooses versions of the packs that `demands` and their choices require, beside those of `fixed`.
///
/// # Errors
/// Code `definition`, reason `requires`, naming the askers that exclude each other; those of `candidates`.
pub(super) fn solve_versions(
    fixed: &BTreeMap<String, String>,
    demands: &BTreeMap<String, Vec<Demand>>,
    candidates: Candidates<'_>,
) -> Result<BTreeMap<String, Candidate>> {
    let mut solver = Solver { fixed, candidates, known: BTreeMap::new(), steps: 0, first_conflict: None };
    let solved = solver.extend(demands, BTreeMap::new())?;
    solved.ok_or_else(|| {
        solver
            .first_conflict
            .unwrap_or_else(|| Error::definition(Reason::Requires, "no versions of the packs fit together"))
    })
}

struct Solver<'s> {
    fixed: &'s BTreeMap<String, String>,
    candidates: Candidates<'s>,
    known: BTreeMap<String, Vec<Candidate>>,
    steps: usize,
    first_conflict: Option<Error>,
}

impl Solver<'_> {
    /// Extends `chosen` until every demand is met; `None` if that is impossible.
    fn extend(
        &mut self,
        demands: &BTreeMap<String, Vec<Demand>>,
        chosen: BTreeMap<String, Candidate>,
    ) -> Result<Option<BTreeMap<String, Candidate>>> {
        for (id, demands) in demands {
            let version = self.fixed.get(id).or_else(|| chosen.get(id).map(|candidate| &candidate.version));
            let Some(version) = version else { continue };
            if let Some(failed) = demands.iter().find(|demand| !demand.range.contains_version(version)) {
                let met = demands.iter().find(|demand| demand.range.contains_version(version));
                self.note_conflict(id, version, failed, met);
                return Ok(None);
            }
        }
        let open = demands.keys().find(|id| !self.fixed.contains_key(*id) && !chosen.contains_key(*id));
        let Some(id) = open.cloned() else { return Ok(Some(chosen)) };
        let mut fits_any = false;
        for candidate in self.candidates_of(&id)? {
            self.steps += 1;
            if self.steps > MOST_STEPS {
                return Err(Error::definition(
                    Reason::Requires,
                    format!("no versions that fit together were found after trying {MOST_STEPS}"),
                )
                .with_hint("narrow the ranges in `[packs]`"));
            }
            if !demands[&id].iter().all(|demand| demand.range.contains_version(&candidate.version)) {
                continue;
            }
            fits_any = true;
            let mut demands = demands.clone();
            for (required, range) in &candidate.requires {
                let asker = format!("`{id}` {}", candidate.version);
                demands.entry(required.clone()).or_default().push(read_demand(asker, range)?);
            }
            let mut chosen = chosen.clone();
            chosen.insert(id.clone(), candidate);
            if let Some(solved) = self.extend(&demands, chosen)? {
                return Ok(Some(solved));
            }
        }
        if !fits_any {
            self.note_unmet(&id, &demands[&id]);
        }
        Ok(None)
    }

    fn candidates_of(&mut self, id: &str) -> Result<Vec<Candidate>> {
        if let Some(known) = self.known.get(id) {
            return Ok(known.clone());
        }
        let found = (self.candidates)(id)?;
        self.known.insert(id.to_owned(), found.clone());
        Ok(found)
    }

    fn note_conflict(&mut self, id: &str, version: &str, failed: &Demand, met: Option<&Demand>) {
        let other = match met {
            Some(met) => format!("{} requires {}, so it is {version}", met.asker, met.range),
            None => format!("it is {version}"),
        };
        let message = format!(
            "the pack `{id}` cannot be chosen: {} requires {}, and {other}",
            failed.asker, failed.range
        );
        self.first_conflict.get_or_insert_with(|| conflict_error(id, message));
    }

    fn note_unmet(&mut self, id: &str, demands: &[Demand]) {
        let asked: Vec<String> =
            demands.iter().map(|demand| format!("{} requires {}", demand.asker, demand.range)).collect();
        let has_any = self.known.get(id).is_some_and(|known| !known.is_empty());
        let message = match has_any {
            true => format!("no version of the pack `{id}` fits: {}", asked.join(", and ")),
            false => format!("the pack `{id}` is in no index: {}", asked.join(", and ")),
        };
        self.first_conflict.get_or_insert_with(|| conflict_error(id, message));
    }
}

/// What `asker` asks of a pack.
pub(super) fn read_demand(asker: String, range: &str) -> Result<Demand> {
    let range = VersionRange::parse(range).map_err(|error| {
        error.map_message(|message| format!("{asker} has an invalid requirement: {message}"))
    })?;
    Ok(Demand { range, asker })
}

fn conflict_error(id: &str, message: String) -> Error {
    Error::new(Code::Definition, message)
        .with_reason(Reason::Requires)
        .with("pack_id", id)
        .with_hint("widen a range, or choose another version of one of the packs that ask")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index from lines such as `a 1.0.0 b=1 c=2`, the preferred versions first.
    fn candidates(text: &'static str) -> impl FnMut(&str) -> Result<Vec<Candidate>> {
        move |id: &str| {
            let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            let of_pack = lines.filter(|words| words.first() == Some(&id));
            let candidate = |words: Vec<&str>| Candidate {
                version: words[1].to_owned(),
                location: PackLocation::File("x".to_owned()),
                requires: words[2..]
                    .iter()
                    .filter_map(|word| {
                        word.split_once('=').map(|(id, range)| (id.to_owned(), range.to_owned()))
                    })
                    .collect(),
            };
            Ok(of_pack.map(candidate).collect())
        }
    }

    fn solve(index: &'static str, demands: &[(&str, &str)], fixed: &[(&str, &str)]) -> Result<String> {
        let mut wanted = BTreeMap::<String, Vec<Demand>>::new();
        for (id, range) in demands {
            wanted.entry((*id).to_owned()).or_default().push(read_demand("[packs]".to_owned(), range)?);
        }
        let fixed = fixed.iter().map(|(id, version)| ((*id).to_owned(), (*version).to_owned())).collect();
        let solved = solve_versions(&fixed, &wanted, &mut candidates(index))?;
        Ok(solved.iter().map(|(id, found)| format!("{id} {}", found.version)).collect::<Vec<_>>().join(", "))
    }

    #[test]
    fn the_preferred_versions_are_chosen_and_others_where_those_exclude_each_other() {
        let index = "a 2.0.0 c=2\na 1.5.0 c=1\nb 1.0.0 c=1\nc 2.1.0\nc 1.9.0\nc 1.0.0";
        assert_eq!(solve(index, &[("a", "*")], &[]).expect("fits"), "a 2.0.0, c 2.1.0");
        assert_eq!(solve(index, &[("a", "*"), ("b", "1")], &[]).expect("fits"), "a 1.5.0, b 1.0.0, c 1.9.0");
        assert_eq!(solve(index, &[("a", "*")], &[("c", "1.0.0")]).expect("fits"), "a 1.5.0");
        let circle = "a 1.0.0 b=1\nb 1.0.0 a=1";
        assert_eq!(solve(circle, &[("a", "1")], &[]).expect("fits"), "a 1.0.0, b 1.0.0");
    }

    #[test]
    fn ranges_that_exclude_each_other_name_both_askers() {
        let index = "a 2.0.0 c=2\nb 1.0.0 c=1\nc 2.1.0\nc 1.9.0";
        let error = solve(index, &[("a", "2"), ("b", "1")], &[]).expect_err("cannot fit");
        let message = error.message();
        assert!(
            message.contains("`a` 2.0.0 requires 2") && message.contains("`b` 1.0.0 requires 1"),
            "{message}"
        );
        let error = solve("a 1.0.0 ghost=1", &[("a", "1")], &[]).expect_err("is missing");
        assert!(error.message().contains("`ghost` is in no index: `a` 1.0.0 requires 1"), "{error:?}");
        let error = solve("a 1.0.0 b=1", &[("a", "1")], &[("b", "2.0.0")]).expect_err("is fixed");
        assert!(error.message().contains("it is 2.0.0"), "{error:?}");
        assert!(solve("a 1.0.0 b=one", &[("a", "1")], &[]).is_err());
    }
}
