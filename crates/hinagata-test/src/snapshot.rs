//! Snapshots: texts that a case once had, in files beside the test file.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use crate::{checks::Verdict, difference::describe_difference};

/// The directory of snapshots, beside the test files.
pub(crate) const SNAPSHOTS: &str = "snapshots";

/// Longest name of a file, in characters without ending.
const MAX_NAME: usize = 80;

/// Largest snapshot that is read, in bytes.
const MAX_SNAPSHOT: u64 = 16 << 20;

/// What happens to snapshots that differ or do not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotMode {
    /// New ones are written, others are compared.
    WriteNew,
    /// New ones fail, others are compared: nobody would see what a machine writes.
    Refuse,
    /// All are written.
    Update,
}

impl SnapshotMode {
    /// What happens where the variable `CI` has this value; `is_update` asks for [`SnapshotMode::Update`].
    #[must_use]
    pub fn choose(is_update: bool, ci: Option<&str>) -> Self {
        match (is_update, ci) {
            (true, _) => Self::Update,
            (false, None | Some("" | "0" | "false")) => Self::WriteNew,
            (false, Some(_)) => Self::Refuse,
        }
    }
}

/// The snapshots of one test file.
#[derive(Debug)]
pub(crate) struct Snapshots {
    directory: PathBuf,
    mode: SnapshotMode,
    /// The name of the files of each case. Cases run in any order, so they are given before.
    names: HashMap<String, String>,
    state: Mutex<SnapshotState>,
}

#[derive(Debug, Default)]
struct SnapshotState {
    used: BTreeSet<String>,
    written: usize,
}

impl Snapshots {
    /// The snapshots of the test file at `path` with these cases.
    pub(crate) fn for_file(path: &Path, cases: &[String], mode: SnapshotMode) -> Self {
        let stem = path.file_stem().unwrap_or_default();
        let directory = path.parent().unwrap_or(Path::new("")).join(SNAPSHOTS).join(stem);
        let (mut names, mut taken) = (HashMap::new(), HashSet::new());
        for case in cases {
            let first = file_name(case);
            let (mut name, mut number) = (first.clone(), 1);
            while !taken.insert(name.clone()) {
                number += 1;
                name = format!("{first}-{number}");
            }
            names.insert(case.clone(), name);
        }
        Self { directory, mode, names, state: Mutex::default() }
    }

    /// Compares `text` with the snapshot of a case, or writes it. `parts` are added to the name of the case.
    pub(crate) fn check_text(&self, case: &str, parts: &[&str], ending: &str, text: &str) -> Verdict {
        let mut name = self.names.get(case).cloned().unwrap_or_else(|| file_name(case));
        for part in parts {
            name.push('.');
            name.push_str(&file_name(part));
        }
        let file = self.claim_name(&name, ending);
        let path = self.directory.join(&file);
        let known = match read_text(&path) {
            Ok(known) => known,
            Err(error) => {
                return Verdict::from_failure(format!("cannot read the snapshot `{file}`: {error}"));
            }
        };
        let is_same = known.as_deref() == Some(text);
        match (known, self.mode) {
            _ if is_same => Verdict::from_success(),
            (Some(known), SnapshotMode::WriteNew | SnapshotMode::Refuse) => {
                let message = format!("it differs from the snapshot `{file}`; `--update` accepts it");
                let difference = describe_difference(&known, text);
                let shown = if difference.is_empty() {
                    crate::difference::diff_lines(&known, text, "snapshot", "actual")
                } else {
                    difference
                };
                Verdict::from_failure(message).with_difference(shown)
            }
            (None, SnapshotMode::Refuse) => {
                let message =
                    format!("the snapshot `{file}` is new; write it where CI is not set, and commit it");
                Verdict::from_failure(message)
            }
            (_, SnapshotMode::WriteNew | SnapshotMode::Update) => match write_file(&path, text.as_bytes()) {
                Ok(()) => {
                    self.state.lock().unwrap_or_else(PoisonError::into_inner).written += 1;
                    Verdict::from_success()
                }
                Err(error) => Verdict::from_failure(format!("cannot write the snapshot `{file}`: {error}")),
            },
        }
    }

    /// A name that no other snapshot of this run has.
    fn claim_name(&self, name: &str, ending: &str) -> String {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = format!("{name}.{ending}");
        let mut number = 1;
        while !state.used.insert(file.clone()) {
            number += 1;
            file = format!("{name}.{number}.{ending}");
        }
        file
    }

    /// The number of snapshots that were written.
    pub(crate) fn count_written(&self) -> usize {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).written
    }

    /// The files that belong to no snapshot of this run, sorted.
    pub(crate) fn find_orphans(&self) -> Vec<PathBuf> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(entries) = fs::read_dir(&self.directory) else { return Vec::new() };
        let is_snapshot = |name: &str| name.ends_with(".txt") || name.ends_with(".json");
        let mut orphans: Vec<PathBuf> = entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
            .filter(|entry| {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                is_snapshot(&name) && !state.used.contains(&*name)
            })
            .map(|entry| entry.path())
            .collect();
        orphans.sort();
        orphans
    }
}

/// The name of a file for the name of a case.
fn file_name(name: &str) -> String {
    let mut file = String::new();
    for character in name.chars() {
        if character.is_alphanumeric() {
            file.extend(character.to_lowercase());
        } else if !file.ends_with('-') && !file.is_empty() {
            file.push('-');
        }
    }
    let file = file.trim_end_matches('-');
    if file.is_empty() {
        return "snapshot".to_owned();
    }
    match file.char_indices().nth(MAX_NAME) {
        // Long names that start alike stay different.
        Some((end, _)) => {
            let digest = hinagata::Digest::sha256(name.as_bytes()).to_string();
            format!("{}-{}", &file[..end], &digest[..8])
        }
        None => file.to_owned(),
    }
}

fn read_text(path: &Path) -> io::Result<Option<String>> {
    match fs::metadata(path) {
        Ok(found) if found.len() > MAX_SNAPSHOT => Err(io::Error::other("it is larger than 16 MiB")),
        Ok(_) => fs::read_to_string(path).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a file by way of a temporary one, with the directories above it.
pub(crate) fn write_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let mut file = tempfile::Builder::new().prefix(".hina-").tempfile_in(directory)?;
    file.write_all(content)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_cases_are_names_of_files() {
        assert_eq!(file_name("Urgent: it burns!"), "urgent-it-burns");
        assert_eq!(file_name("緊急 [lang=ja]"), "緊急-lang-ja");
        assert_eq!(file_name("../.."), "snapshot");
        assert_eq!(file_name(&"a".repeat(200)).chars().count(), MAX_NAME + 9);
    }

    #[test]
    fn a_machine_writes_no_new_snapshots() {
        for person in [None, Some(""), Some("0"), Some("false")] {
            assert_eq!(SnapshotMode::choose(false, person), SnapshotMode::WriteNew, "{person:?}");
        }
        assert_eq!(SnapshotMode::choose(false, Some("true")), SnapshotMode::Refuse);
        assert_eq!(SnapshotMode::choose(true, Some("true")), SnapshotMode::Update);
    }

    #[test]
    fn a_snapshot_is_written_compared_and_updated() {
        let place = tempfile::tempdir().expect("a directory");
        let file = place.path().join("tests/greeting.yaml");
        let run = |mode, text| {
            let snapshots = Snapshots::for_file(&file, &[], mode);
            (
                snapshots.check_text("Hello", &[], "txt", text).passed,
                snapshots.count_written(),
                snapshots.find_orphans().len(),
            )
        };
        assert_eq!(run(SnapshotMode::Refuse, "one"), (false, 0, 0));
        assert_eq!(run(SnapshotMode::WriteNew, "one"), (true, 1, 0));
        assert_eq!(run(SnapshotMode::Refuse, "one"), (true, 0, 0));
        assert_eq!(run(SnapshotMode::WriteNew, "two"), (false, 0, 0));
        assert_eq!(run(SnapshotMode::Update, "two"), (true, 1, 0));
        let snapshots = Snapshots::for_file(&file, &[], SnapshotMode::Refuse);
        assert_eq!(snapshots.find_orphans(), [place.path().join("tests/snapshots/greeting/hello.txt")]);
    }

    #[test]
    fn equal_names_are_numbered() {
        let place = tempfile::tempdir().expect("a directory");
        let cases = ["x".to_owned(), "X!".to_owned()];
        let snapshots = Snapshots::for_file(&place.path().join("a.yaml"), &cases, SnapshotMode::WriteNew);
        let checked: [(&str, &[&str]); 4] = [("X!", &[]), ("x", &[]), ("x", &[]), ("x", &["in full"])];
        for (case, parts) in checked {
            assert!(snapshots.check_text(case, parts, "txt", case).passed);
        }
        for file in ["x.txt", "x-2.txt", "x.2.txt", "x.in-full.txt"] {
            assert!(place.path().join("snapshots/a").join(file).exists(), "{file}");
        }
    }
}
