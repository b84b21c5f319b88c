//! Merges the two sides of a conflict in a lock.

use std::collections::BTreeMap;

use hinagata_document::{Code, Error, Hint, Result};

use super::{LOCK_FILE, Lock, LockedPack, format::invalid_error};
use crate::range::parse_version;

/// A lock, and what both sides of a merge say where they differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergedLock {
    /// The merged lock. It lacks the packs in `undecided`.
    pub lock: Lock,
    /// Whether the text had conflict markers.
    pub had_conflict: bool,
    /// Packs that both sides lock at one version with other files, or whose versions cannot be compared.
    pub undecided: BTreeMap<String, [LockedPack; 2]>,
}

/// Whether the text has markers of a conflict.
pub(super) fn has_conflict(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("<<<<<<< "))
}

impl MergedLock {
    /// Reads the text of a lock that can have markers of conflicts.
    ///
    /// # Errors
    /// Code `lock` if the markers are incomplete or a side is invalid.
    pub fn parse(text: &str) -> Result<Self> {
        if !has_conflict(text) {
            return Ok(Self { lock: Lock::parse(text)?, had_conflict: false, undecided: BTreeMap::new() });
        }
        let Sides { ours, base, theirs } = split_sides(text)?;
        let side = |name: &str, text: &str| {
            Lock::parse(text)
                .map_err(|error| error.map_message(|message| format!("{message} ({name} of the conflict)")))
        };
        let (ours, theirs) = (side("our side", &ours)?, side("their side", &theirs)?);
        // Without the base of the merge, what only one side has was added by it.
        let base = base.and_then(|base| Lock::parse(&base).ok()).unwrap_or_default();
        let mut undecided = BTreeMap::new();
        let lock = Lock {
            semantics: ours.semantics.max(theirs.semantics),
            packs: merge_maps(&base.packs, &ours.packs, &theirs.packs, |id, ours, theirs| {
                newer_pack(ours, theirs).or_else(|| {
                    undecided.insert(id.to_owned(), [ours.clone(), theirs.clone()]);
                    None
                })
            }),
            // What is chosen and defined now is read from the workspace, which decides where both sides differ.
            resolutions: merge_maps(&base.resolutions, &ours.resolutions, &theirs.resolutions, |_, _, _| {
                None
            }),
            tools: merge_maps(&base.tools, &ours.tools, &theirs.tools, |_, _, _| None),
            tool_schemas: merge_maps(
                &base.tool_schemas,
                &ours.tool_schemas,
                &theirs.tool_schemas,
                |_, _, _| None,
            ),
            tokenizers: merge_maps(&base.tokenizers, &ours.tokenizers, &theirs.tokenizers, |_, _, _| None),
            prompts: match (&ours.prompts, &theirs.prompts) {
                (None, None) => None,
                (ours, theirs) => {
                    let none = BTreeMap::new();
                    let [base, ours, theirs] =
                        [&base.prompts, ours, theirs].map(|side| side.as_ref().unwrap_or(&none));
                    Some(merge_maps(base, ours, theirs, |_, _, _| None))
                }
            },
        };
        Ok(Self { lock, had_conflict: true, undecided })
    }

    /// The lock, if both sides could be merged.
    ///
    /// # Errors
    /// Code `lock`, naming what differs.
    pub fn into_decided(self) -> Result<Lock> {
        let Some((id, [ours, theirs])) = self.undecided.first_key_value() else { return Ok(self.lock) };
        let named = |pack: &LockedPack| match &pack.location {
            Some(location) => format!("{} from {}", pack.version, location.describe()),
            None => pack.version.clone(),
        };
        Err(Error::new(
            Code::Lock,
            format!(
                "both sides of the conflict in {LOCK_FILE} lock other files of `{id}`: {} and {}",
                named(ours),
                named(theirs)
            ),
        )
        .with("pack_id", id.as_str())
        .with_hint(
            Hint::from("install the pack of one side, or keep its lines and remove the others")
                .then(Hint::LockWorkspace),
        ))
    }
}

/// The pack with the higher version, if the versions decide.
fn newer_pack(ours: &LockedPack, theirs: &LockedPack) -> Option<LockedPack> {
    let (our_version, their_version) = (parse_version(&ours.version)?, parse_version(&theirs.version)?);
    match our_version.cmp(&their_version) {
        std::cmp::Ordering::Greater => Some(ours.clone()),
        std::cmp::Ordering::Less => Some(theirs.clone()),
        std::cmp::Ordering::Equal => None,
    }
}

/// Merges by key: what one side changed counts; `decide` chooses where both did.
fn merge_maps<T: Clone + PartialEq>(
    base: &BTreeMap<String, T>,
    ours: &BTreeMap<String, T>,
    theirs: &BTreeMap<String, T>,
    mut decide: impl FnMut(&str, &T, &T) -> Option<T>,
) -> BTreeMap<String, T> {
    let keys: std::collections::BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let mut merged = BTreeMap::new();
    for key in keys {
        let (before, our, their) = (base.get(key), ours.get(key), theirs.get(key));
        let value = match (our, their) {
            (our, their) if our == their => our.cloned(),
            (our, their) if our == before => their.cloned(),
            (our, their) if their == before => our.cloned(),
            (Some(our), Some(their)) => decide(key, our, their),
            // One side removed what the other changed.
            (our, their) => our.or(their).cloned(),
        };
        if let Some(value) = value {
            merged.insert(key.clone(), value);
        }
    }
    merged
}

/// The texts of the sides of a conflict.
struct Sides {
    ours: String,
    base: Option<String>,
    theirs: String,
}

fn split_sides(text: &str) -> Result<Sides> {
    #[derive(Clone, Copy, PartialEq, Eq)]
    enum Part {
        Common,
        Ours,
        Base,
        Theirs,
    }
    let mut sides = [String::new(), String::new(), String::new()];
    let (mut part, mut has_base) = (Part::Common, false);
    for line in text.split_inclusive('\n') {
        let mark = line.trim_end();
        part = match part {
            Part::Common if mark.starts_with("<<<<<<< ") => Part::Ours,
            Part::Ours if mark.starts_with("|||||||") => {
                has_base = true;
                Part::Base
            }
            Part::Ours | Part::Base if mark == "=======" => Part::Theirs,
            Part::Theirs if mark.starts_with(">>>>>>> ") => Part::Common,
            part => {
                for (side, of_side) in sides.iter_mut().zip([Part::Ours, Part::Base, Part::Theirs]) {
                    if part == Part::Common || part == of_side {
                        side.push_str(line);
                    }
                }
                part
            }
        };
    }
    if part != Part::Common {
        return Err(invalid_error("its conflict markers are incomplete"));
    }
    let [ours, base, theirs] = sides;
    Ok(Sides { ours, base: has_base.then_some(base), theirs })
}

#[cfg(test)]
mod tests {
    use super::{super::format::tests::sample, *};

    fn conflict(common: &str, ours: &str, base: Option<&str>, theirs: &str) -> String {
        let base = base.map(|base| format!("||||||| base\n{base}")).unwrap_or_default();
        format!("{common}<<<<<<< HEAD\n{ours}{base}=======\n{theirs}>>>>>>> other\n")
    }

    fn row(id: &str, version: &str, tree: char) -> String {
        format!(
            "\n[[pack]]\nid = \"{id}\"\nversion = \"{version}\"\ntree = \"{}\"\n",
            tree.to_string().repeat(64)
        )
    }

    const TOP: &str = "version = 1\nsemantics = 1\n";

    #[test]
    fn what_each_side_added_is_kept_and_the_newer_version_wins() {
        let text = conflict(
            TOP,
            &[row("a", "1.2.0", 'a'), row("b", "1.0.0", 'b')].concat(),
            None,
            &[row("a", "1.10.0", 'c'), row("c", "1.0.0", 'd')].concat(),
        );
        assert_eq!(Lock::parse(&text).expect_err("has markers").code(), Code::Lock);
        let merged = MergedLock::parse(&text).expect("merges");
        assert!(merged.had_conflict && merged.undecided.is_empty());
        let versions: Vec<_> =
            merged.lock.packs.iter().map(|(id, pack)| (id.as_str(), pack.version.as_str())).collect();
        assert_eq!(versions, [("a", "1.10.0"), ("b", "1.0.0"), ("c", "1.0.0")]);
    }

    #[test]
    fn with_the_base_what_one_side_removed_stays_removed() {
        let base = [row("a", "1.0.0", 'a'), row("b", "1.0.0", 'b')].concat();
        let theirs = row("b", "1.0.0", 'b');
        let ours = [row("a", "1.0.0", 'a'), row("b", "0.9.0", 'c')].concat();
        let merged = MergedLock::parse(&conflict(TOP, &ours, Some(&base), &theirs)).expect("merges");
        let versions: Vec<_> =
            merged.lock.packs.iter().map(|(id, pack)| (id.as_str(), pack.version.as_str())).collect();
        assert_eq!(versions, [("b", "0.9.0")], "ours changed b, theirs removed a");
    }

    #[test]
    fn one_version_with_other_files_is_not_decided_by_guessing() {
        let text = conflict(TOP, &row("a", "1.0.0", 'a'), None, &row("a", "1.0.0", 'b'));
        let merged = MergedLock::parse(&text).expect("merges");
        assert!(merged.undecided.contains_key("a") && merged.lock.packs.is_empty());
        assert!(merged.into_decided().expect_err("is open").message().contains("`a`"));
    }

    #[test]
    fn a_lock_without_markers_is_itself_and_broken_markers_are_an_error() {
        let lock = sample();
        let merged = MergedLock::parse(&lock.to_string()).expect("parses");
        assert_eq!(merged, MergedLock { lock, had_conflict: false, undecided: BTreeMap::new() });
        let text = conflict(TOP, &row("a", "1.0.0", 'a'), None, &row("a", "1.0.0", 'b'));
        let cut = text.replace(">>>>>>> other\n", "");
        assert!(MergedLock::parse(&cut).expect_err("is cut").message().contains("incomplete"));
    }
}
