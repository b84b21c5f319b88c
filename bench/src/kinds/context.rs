//! Packing a large tree into one file.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::install::Installer;
use crate::measure::{Contest, Peer};
use crate::process::{OnTheWall, ProcessSide, printed};
use crate::row::{Figure, Goal, Row};
use crate::side::{Entrant, Side};

const KIND: &str = "context";
const REPOMIX: Goal = Goal { must: 1.0, stretch: Some(0.1) };
const CODE2PROMPT: Goal = Goal { must: 1.0, stretch: Some(0.5) };
/// Memory on four times the tree beside that on the tree: the budget bounds it, only the list of paths grows.
const GROWTH: Goal = Goal { must: 1.5, stretch: None };

/// Mebibytes of the tree.
const SIZE: u64 = 64;
/// Bytes that may be packed when memory is looked at.
const BUDGET: &str = "1000000";
/// No limit to speak of.
const ALL: &str = "10000000000";
/// Largest file of a tree; peers leave out larger ones.
const LARGEST: u64 = 256 << 10;
/// Raised when the choice of files changes.
const VERSION: u32 = 3;
/// What stands around the path of a file in XML.
const IN_XML: [&str; 2] = ["<file path=\"", "\">"];
/// Time between two looks at the memory of a process.
const LOOK: Duration = Duration::from_millis(1);

pub(crate) fn contests(installer: &Installer) -> Result<Vec<Contest>> {
    let hina = installer.hina()?;
    let tree = Tree::make(installer, &hina, SIZE)?;
    let sides = Sides { installer, tree: &tree };
    Ok(vec![Contest {
        kind: KIND,
        name: format!("packing {} files", tree.files.len()),
        expected: Some(listed(&tree.files)),
        ours: Entrant::new(sides.ours(&hina)),
        peers: vec![
            Peer { name: "repomix", goal: Some(REPOMIX), entrant: Entrant::new(sides.repomix()) },
            Peer { name: "code2prompt", goal: Some(CODE2PROMPT), entrant: Entrant::new(sides.code2prompt()) },
        ],
    }])
}

/// Peak memory of packing: of everything, and within a small budget on trees of two sizes.
pub(crate) fn amounts(installer: &Installer) -> Result<Vec<Row>> {
    let hina = installer.hina()?;
    let (small, large) = (Tree::make(installer, &hina, SIZE)?, Tree::make(installer, &hina, 4 * SIZE)?);
    let out = installer.cache.join("context-memory.txt");
    let all = peak(&mut packing(&hina, &small.root, ALL, &out))?;
    let within = peak(&mut packing(&hina, &small.root, BUDGET, &out))?;
    let within_large = peak(&mut packing(&hina, &large.root, BUDGET, &out))?;
    let row = |name: String, value: f64, unit: &str, goal| Row {
        kind: KIND.to_owned(),
        name,
        figure: Figure::Amount { value, unit: unit.to_owned() },
        goal,
    };
    let memory = |name: String, value: f64| row(name, value, "MiB", None);
    Ok(vec![
        memory(format!("peak memory, all of {SIZE} MiB"), all),
        memory(format!("peak memory, 1 MB of {SIZE} MiB"), within),
        memory(format!("peak memory, 1 MB of {} MiB", 4 * SIZE), within_large),
        row("memory on four times the tree".to_owned(), within_large / within, "times", Some(GROWTH)),
    ])
}

/// The largest size that a process has while it lives; it is looked at until it ends.
fn peak(command: &mut Command) -> Result<f64> {
    let mut child = command.stdin(Stdio::null()).spawn().context("cannot start hina")?;
    let path = format!("/proc/{}/status", child.id());
    let mut peak = 0.0_f64;
    let status = loop {
        let status = fs::read_to_string(&path).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let size = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        peak = peak.max(size.unwrap_or_default() / 1024.0);
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        std::thread::sleep(LOOK);
    };
    match status.success() && peak > 0.0 {
        true => Ok(peak),
        false => bail!("hina failed, or nobody saw its memory ({status})"),
    }
}

/// Rust sources of crates that cargo fetched, the same for all sides.
struct Tree {
    root: PathBuf,
    /// The paths of all its files, from the root.
    files: BTreeSet<String>,
}

impl Tree {
    /// A tree of about so many mebibytes, made unless it is there.
    fn make(installer: &Installer, hina: &Path, mebibytes: u64) -> Result<Self> {
        let root = installer.cache.join(format!("context-tree-{VERSION}-{mebibytes}"));
        let complete = root.with_extension("complete");
        if !complete.exists() {
            if root.exists() {
                fs::remove_dir_all(&root)?;
            }
            let mut room = mebibytes << 20;
            for package in packages()? {
                copy(&package, &root.join(package.file_name().context("has a name")?), &mut room)?;
            }
            if room > 0 {
                bail!("cargo has fetched too few crates for {mebibytes} MiB of sources");
            }
            remove_left_out(hina, &root)?;
            // Where it cannot be had, it is absent and leaves nothing out.
            if let Ok(repomix) = installer.repomix() {
                let out = installer.cache.join("context-repomix.txt");
                remove_unpacked(repomix_command(&repomix, &root, &out), &root, &out)?;
            }
            fs::write(&complete, "")?;
        }
        let mut files = BTreeSet::new();
        collect(&root, &root, &mut files)?;
        Ok(Self { root, files })
    }
}

/// The sources of crates, in a fixed order.
fn packages() -> Result<Vec<PathBuf>> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let sources = home.context("there is no home of cargo")?.join("registry/src");
    let mut packages = Vec::new();
    for registry in fs::read_dir(&sources).with_context(|| format!("cannot read {}", sources.display()))? {
        for package in fs::read_dir(registry?.path())? {
            packages.push(package?.path());
        }
    }
    packages.sort_by_key(|path| path.file_name().map(std::ffi::OsStr::to_owned));
    Ok(packages)
}

fn copy(from: &Path, to: &Path, room: &mut u64) -> Result<()> {
    let mut entries: Vec<_> = fs::read_dir(from)?.collect::<std::io::Result<_>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type()?);
        // Names that some packers leave out by themselves are left out for all.
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if *room == 0 || hidden {
            continue;
        }
        if kind.is_dir() {
            copy(&path, &to.join(entry.file_name()), room)?;
        } else if kind.is_file() && is_wanted(&path)? {
            fs::create_dir_all(to)?;
            *room = room.saturating_sub(fs::copy(&path, to.join(entry.file_name()))?);
        }
    }
    Ok(())
}

fn is_wanted(path: &Path) -> Result<bool> {
    let size = fs::metadata(path)?.len();
    let source = path.extension().is_some_and(|extension| extension == "rs");
    Ok(source && size > 0 && size <= LARGEST && is_plain(&fs::read(path)?))
}

/// Whether nobody takes it for something else than text: some packers leave out what holds replacement or control characters.
fn is_plain(bytes: &[u8]) -> bool {
    let odd =
        |found: char| found == char::REPLACEMENT_CHARACTER || found.is_control() && !"\n\r\t".contains(found);
    str::from_utf8(bytes).is_ok_and(|text| !text.contains(odd))
}

/// Removes what our rules leave out, so that every side packs all there is.
fn remove_left_out(hina: &Path, root: &Path) -> Result<()> {
    let mut command = Command::new(hina);
    command.args(["context", "pack", ".", "--json", "--max-files", ALL, "--max-bytes", ALL]);
    let packed: Value = serde_json::from_slice(&printed(command.current_dir(root))?)?;
    let entries = packed["report"]["entries"].as_array().context("hina tells what became of each file")?;
    for entry in entries.iter().filter(|entry| entry.get("left_out").is_some()) {
        let path = root.join(entry["path"].as_str().context("an entry has a path")?);
        if path.is_dir() { fs::remove_dir_all(path)? } else { fs::remove_file(path)? }
    }
    Ok(())
}

/// Removes what a command does not pack into `out`: rules for secrets differ, and all sides are to pack the same.
fn remove_unpacked(mut command: Command, root: &Path, out: &Path) -> Result<()> {
    printed(&mut command)?;
    let mut files = BTreeSet::new();
    collect(root, root, &mut files)?;
    let packed = named(&String::from_utf8_lossy(&fs::read(out)?), &files, IN_XML);
    for path in files.difference(&packed) {
        fs::remove_file(root.join(path))?;
    }
    Ok(())
}

fn collect(root: &Path, directory: &Path, files: &mut BTreeSet<String>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            collect(root, &path, files)?;
        } else {
            files.insert(path.strip_prefix(root)?.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

fn listed(paths: &BTreeSet<String>) -> Vec<u8> {
    paths.iter().flat_map(|path| format!("{path}\n").into_bytes()).collect()
}

/// `hina context pack` with a budget in bytes, into a file.
fn packing(hina: &Path, tree: &Path, bytes: &str, out: &Path) -> Command {
    const LINE: &str =
        "exec \"$1\" context pack . --format xml --max-files 1000000 --max-bytes \"$2\" > \"$3\"";
    let mut command = Command::new("sh");
    command.args(["-c", LINE, "sh"]).arg(hina).arg(bytes).arg(out).current_dir(tree).stderr(Stdio::null());
    command
}

/// repomix into a file, looking for secrets as we do.
fn repomix_command(repomix: &Path, tree: &Path, out: &Path) -> Command {
    let mut command = Command::new(repomix);
    command.args([".", "--quiet", "--style", "xml", "--no-default-patterns", "--output"]).arg(out);
    command.current_dir(tree).stderr(Stdio::null());
    command
}

/// What the sides are made of.
struct Sides<'s> {
    installer: &'s Installer,
    tree: &'s Tree,
}

impl Sides<'_> {
    /// Where a side writes to.
    fn out(&self, side: &str) -> PathBuf {
        self.installer.cache.join(format!("context-{side}.txt"))
    }

    fn ours(&self, hina: &Path) -> Result<Box<dyn Side>> {
        let (hina, tree, out) = (hina.to_owned(), self.tree.root.clone(), self.out("ours"));
        let command = {
            let out = out.clone();
            move || packing(&hina, &tree, ALL, &out)
        };
        self.side(String::new(), command, out, IN_XML)
    }

    fn repomix(&self) -> Result<Box<dyn Side>> {
        let program = self.installer.repomix()?;
        let version = format!("repomix {}", version(&program)?);
        let (tree, out) = (self.tree.root.clone(), self.out("repomix"));
        let command = {
            let out = out.clone();
            move || repomix_command(&program, &tree, &out)
        };
        self.side(version, command, out, IN_XML)
    }

    fn code2prompt(&self) -> Result<Box<dyn Side>> {
        let program = self.installer.code2prompt()?;
        let version = version(&program)?;
        let (tree, out) = (self.tree.root.clone(), self.out("code2prompt"));
        let command = {
            let out = out.clone();
            move || {
                let mut command = Command::new(&program);
                command.args([".", "--quiet", "--no-clipboard", "--output-file"]).arg(&out);
                command.current_dir(&tree).stderr(Stdio::null());
                command
            }
        };
        self.side(version, command, out, ["`", "`:"])
    }

    /// A side whose output is the list of the files that it packed; their paths stand between the two texts of `around`.
    fn side(
        &self,
        version: String,
        command: impl Fn() -> Command + Clone + 'static,
        out: PathBuf,
        around: [&'static str; 2],
    ) -> Result<Box<dyn Side>> {
        let (once, files) = (command.clone(), self.tree.files.clone());
        let output = move || {
            printed(&mut once())?;
            let text = fs::read(&out).with_context(|| format!("cannot read {}", out.display()))?;
            Ok(listed(&named(&String::from_utf8_lossy(&text), &files, around)))
        };
        Ok(Box::new(OnTheWall(ProcessSide::new(version, command, output))))
    }
}

/// The files that a packed text names. Contents may hold such lines too; only files that there are count.
fn named(text: &str, files: &BTreeSet<String>, [start, end]: [&str; 2]) -> BTreeSet<String> {
    let path = |line: &str| Some(line.strip_prefix(start)?.split_once(end)?.0.to_owned());
    text.lines().filter_map(path).filter(|path| files.contains(path)).collect()
}

fn version(program: &Path) -> Result<String> {
    let printed = printed(Command::new(program).arg("--version"))?;
    Ok(String::from_utf8_lossy(&printed).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_there_are_count_as_packed() {
        let files: BTreeSet<String> = ["a.rs", "b/c.rs"].map(str::to_owned).into();
        let text =
            "<file path=\"a.rs\">\n<file path=\"none.rs\">\n let x = \"<file path=\\\"b/c.rs\\\">\";\n";
        assert_eq!(named(text, &files, IN_XML).into_iter().collect::<Vec<_>>(), ["a.rs"]);
        assert_eq!(listed(&files), b"a.rs\nb/c.rs\n");
    }

    #[test]
    fn odd_files_are_nobodys_work() {
        assert!(is_plain("fn é() {}\r\n\t".as_bytes()));
        for odd in [&b"\xff"[..], b"\0", b"\x1b[0m", "\u{fffd}".as_bytes()] {
            assert!(!is_plain(odd), "{odd:?}");
        }
    }
}
