//! Packing a large project into one file: time, memory, and the number of tokens.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::install::Installer;
use crate::measure::{Contest, Peer};
use crate::process::{OnTheWall, ProcessSide, printed};
use crate::project::Project;
use crate::row::{Figure, Goal, Row};
use crate::side::{Entrant, Side};

const KIND: &str = "context";
const REPOMIX: Goal = Goal { must: 0.1, stretch: None };
const CODE2PROMPT: Goal = Goal { must: 1.0, stretch: Some(0.5) };
/// Memory on four times the project beside that on the project: the budget bounds it, only the list of paths grows.
const GROWTH: Goal = Goal { must: 1.5, stretch: None };
/// Tokens that are counted wrong.
const EXACT: Goal = Goal { must: 0.0, stretch: None };

/// Mebibytes of the project.
const SIZE: u64 = 64;
/// Mebibytes of the project whose tokens are counted by another program.
const SMALL: u64 = 4;
/// What stands around the path of a file in XML.
const IN_XML: [&str; 2] = ["<file path=\"", "\">"];
/// Time between two looks at the memory of processes.
const LOOK: Duration = Duration::from_millis(1);

/// What `hina context pack` is told: everything counted, as its peers do, or its default budget.
const ALL: &str = "--max-tokens none --top-files-len 1";
const BUDGET: &str = "--max-tokens 100000";

/// Counts the tokens of a file with the package that repomix counts with.
const COUNT: &str = "const fs = require('fs'); const { countTokens } = require('gpt-tokenizer/cjs/encoding/o200k_base'); \
                     console.log(countTokens(fs.readFileSync(process.argv[1], 'utf8'), { disallowedSpecial: new Set() }))";

pub(crate) fn contests(installer: &Installer) -> Result<Vec<Contest>> {
    let hina = installer.hina()?;
    let project = Project::make(&installer.cache, SIZE)?;
    let sides = Sides { installer, project: &project };
    Ok(vec![Contest {
        kind: KIND,
        name: format!("packing {} files", project.files.len()),
        expected: Some(listed(&project.files)),
        ours: Entrant::new(sides.ours(&hina)),
        peers: vec![
            Peer { name: "repomix", goal: Some(REPOMIX), entrant: Entrant::new(sides.repomix()) },
            Peer { name: "code2prompt", goal: Some(CODE2PROMPT), entrant: Entrant::new(sides.code2prompt()) },
        ],
    }])
}

/// Peak memory of packing, beside that of the peers and on projects of two sizes; and tokens that are counted wrong.
pub(crate) fn amounts(installer: &Installer) -> Result<Vec<Row>> {
    let hina = installer.hina()?;
    let (small, large) = (Project::make(&installer.cache, SIZE)?, Project::make(&installer.cache, 4 * SIZE)?);
    let out = installer.cache.join("context-memory.txt");
    let all = peak(&mut packing(&hina, &small.root, ALL, &out))?;
    let within = peak(&mut packing(&hina, &small.root, BUDGET, &out))?;
    let within_large = peak(&mut packing(&hina, &large.root, BUDGET, &out))?;
    let mut rows = vec![
        memory(format!("peak memory, all of {SIZE} MiB"), all),
        memory(format!("peak memory, 100 000 tokens of {SIZE} MiB"), within),
        memory(format!("peak memory, 100 000 tokens of {} MiB", 4 * SIZE), within_large),
        amount("memory on four times the project".to_owned(), within_large / within, "times", Some(GROWTH)),
    ];
    // A peer that cannot be had has no memory; the row of its time says why.
    if let Ok(program) = installer.repomix() {
        let theirs = peak(&mut repomix_command(&program, &small.root, &out))?;
        rows.push(memory(format!("peak memory of repomix, all of {SIZE} MiB"), theirs));
        rows.push(amount("memory beside that of repomix".to_owned(), all / theirs, "times", Some(REPOMIX)));
        rows.push(wrong_tokens(installer, &hina, &program)?);
    }
    if let Ok(program) = installer.code2prompt() {
        let theirs = peak(&mut code2prompt_command(&program, &small.root, &out))?;
        rows.push(memory(format!("peak memory of code2prompt, all of {SIZE} MiB"), theirs));
        rows.push(amount(
            "memory beside that of code2prompt".to_owned(),
            all / theirs,
            "times",
            Some(CODE2PROMPT),
        ));
    }
    Ok(rows)
}

fn amount(name: String, value: f64, unit: &str, goal: Option<Goal>) -> Row {
    Row { kind: KIND.to_owned(), name, figure: Figure::Amount { value, unit: unit.to_owned() }, goal }
}

fn memory(name: String, value: f64) -> Row {
    amount(name, value, "MiB", None)
}

/// How many tokens our count of a packed text is off, by the count of another program.
fn wrong_tokens(installer: &Installer, hina: &Path, repomix: &Path) -> Result<Row> {
    let project = Project::make(&installer.cache, SMALL)?;
    let out = installer.cache.join("context-tokens.xml");
    let packed = printed(
        Command::new(hina)
            .args(["context", "pack", ".", "--format", "xml", "--max-tokens", "none"])
            .args(["--model", "gpt-4o", "--json"])
            .current_dir(&project.root),
    )?;
    let packed: serde_json::Value = serde_json::from_slice(&packed)?;
    fs::write(&out, packed["text"].as_str().context("hina prints the text")?)?;
    let ours = packed["report"]["totalTokens"].as_u64().context("hina counts tokens")?;
    // The command is a link in `node_modules/.bin`.
    let home = repomix.ancestors().nth(3).context("repomix has a directory")?;
    let theirs = printed(Command::new("node").args(["-e", COUNT]).arg(&out).current_dir(home))?;
    let theirs: u64 = String::from_utf8_lossy(&theirs).trim().parse().context("node prints a number")?;
    Ok(amount(
        format!("tokens of {SMALL} MiB that gpt-tokenizer counts otherwise"),
        ours.abs_diff(theirs) as f64,
        "tokens",
        Some(EXACT),
    ))
}

/// The largest size that a process and those that it starts have together; they are looked at until it ends.
fn peak(command: &mut Command) -> Result<f64> {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().context("cannot start a packer")?;
    let mut peak = 0.0_f64;
    let status = loop {
        peak = peak.max(memory_of_tree(child.id()));
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        std::thread::sleep(LOOK);
    };
    match status.success() && peak > 0.0 {
        true => Ok(peak),
        false => bail!("a packer failed, or nobody saw its memory ({status})"),
    }
}

/// The memory of a process, at most so far, and of those that it started, now, in mebibytes.
fn memory_of_tree(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let own = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or_default();
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    let started = children.split_whitespace().filter_map(|child| child.parse().ok());
    own / 1024.0 + started.map(memory_of_tree).sum::<f64>()
}

fn listed(paths: &BTreeSet<String>) -> Vec<u8> {
    paths.iter().flat_map(|path| format!("{path}\n").into_bytes()).collect()
}

/// `hina context pack` into a file.
fn packing(hina: &Path, root: &Path, options: &str, out: &Path) -> Command {
    const LINE: &str = "exec \"$1\" context pack . --format xml --no-tree $2 > \"$3\"";
    let mut command = Command::new("sh");
    command.args(["-c", LINE, "sh"]).arg(hina).arg(options).arg(out).current_dir(root).stderr(Stdio::null());
    command
}

/// repomix into a file; it looks for secrets and counts tokens as we do.
fn repomix_command(repomix: &Path, root: &Path, out: &Path) -> Command {
    let mut command = Command::new(repomix);
    command.args([".", "--quiet", "--style", "xml", "--no-default-patterns", "--no-directory-structure"]);
    command.args(["--no-file-summary", "--output"]).arg(out).current_dir(root).stderr(Stdio::null());
    command
}

/// code2prompt into a file; it counts tokens as we do.
fn code2prompt_command(code2prompt: &Path, root: &Path, out: &Path) -> Command {
    let mut command = Command::new(code2prompt);
    command.args([".", "--quiet", "--no-clipboard", "--output-file"]).arg(out);
    command.current_dir(root).stderr(Stdio::null());
    command
}

/// What the sides are made of.
struct Sides<'s> {
    installer: &'s Installer,
    project: &'s Project,
}

impl Sides<'_> {
    /// Where a side writes to.
    fn out(&self, side: &str) -> PathBuf {
        self.installer.cache.join(format!("context-{side}.txt"))
    }

    fn ours(&self, hina: &Path) -> Result<Box<dyn Side>> {
        let hina = hina.to_owned();
        self.side(String::new(), "ours", IN_XML, move |root, out| packing(&hina, root, ALL, out))
    }

    fn repomix(&self) -> Result<Box<dyn Side>> {
        let program = self.installer.repomix()?;
        let version = format!("repomix {}", version(&program)?);
        self.side(version, "repomix", IN_XML, move |root, out| repomix_command(&program, root, out))
    }

    fn code2prompt(&self) -> Result<Box<dyn Side>> {
        let program = self.installer.code2prompt()?;
        let version = version(&program)?;
        self.side(version, "code2prompt", ["`", "`:"], move |root, out| {
            code2prompt_command(&program, root, out)
        })
    }

    /// A side whose output is the list of the files that it packed; their paths stand between the two texts of `around`.
    fn side(
        &self,
        version: String,
        name: &str,
        around: [&'static str; 2],
        command: impl Fn(&Path, &Path) -> Command + Clone + 'static,
    ) -> Result<Box<dyn Side>> {
        let (root, out, files) = (self.project.root.clone(), self.out(name), self.project.files.clone());
        let (once, once_root, once_out) = (command.clone(), root.clone(), out.clone());
        let output = move || {
            printed(&mut once(&once_root, &once_out))?;
            let text = fs::read(&once_out).with_context(|| format!("cannot read {}", once_out.display()))?;
            Ok(listed(&named(&String::from_utf8_lossy(&text), &files, around)))
        };
        Ok(Box::new(OnTheWall(ProcessSide::new(version, move || command(&root, &out), output))))
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
}
