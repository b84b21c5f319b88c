//! A project with many source files, the same on every machine: what packers are measured on.
//!
//! The files look like programs: names, calls, strings and comments of a vocabulary, in the shapes of six languages, with
//! sizes from half a kilobyte to some sixty, most of them small. Nothing in them looks like a secret or like the work of a
//! program, so that every packer takes all of them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Raised when the files change, so that older ones are made anew.
const VERSION: u32 = 1;

const WORDS: [&str; 96] = [
    "account", "address", "batch", "block", "border", "branch", "bridge", "buffer", "cache", "carrier",
    "chain", "channel", "chapter", "client", "column", "counter", "cursor", "delivery", "depth", "device",
    "digest", "draft", "edge", "entry", "event", "factor", "field", "filter", "folder", "frame", "gate",
    "graph", "group", "handle", "header", "index", "insert", "item", "journal", "kernel", "label", "ladder",
    "lamp", "lantern", "layer", "ledger", "length", "letter", "limit", "line", "link", "list", "loop",
    "margin", "marker", "member", "message", "meter", "model", "module", "morning", "node", "notice",
    "number", "offset", "order", "origin", "output", "packet", "page", "parcel", "parser", "path", "piece",
    "place", "planner", "point", "port", "prefix", "queue", "range", "reader", "record", "region", "report",
    "result", "river", "route", "scope", "section", "segment", "shape", "signal", "source", "stream",
    "writer",
];

const VERBS: [&str; 16] = [
    "add", "build", "check", "close", "count", "find", "join", "load", "merge", "move", "open", "read",
    "sort", "split", "store", "write",
];

/// The languages, and how often each occurs.
const LANGUAGES: [(Language, u64); 6] = [
    (Language { extension: "rs", comment: "// ", open: " {", close: "}", end: ";" }, 30),
    (Language { extension: "py", comment: "# ", open: ":", close: "", end: "" }, 25),
    (Language { extension: "ts", comment: "// ", open: " {", close: "}", end: ";" }, 20),
    (Language { extension: "go", comment: "// ", open: " {", close: "}", end: "" }, 10),
    (Language { extension: "c", comment: "/* ", open: " {", close: "}", end: ";" }, 10),
    (Language { extension: "md", comment: "", open: "", close: "", end: "" }, 5),
];

#[derive(Clone, Copy)]
struct Language {
    extension: &'static str,
    comment: &'static str,
    open: &'static str,
    close: &'static str,
    end: &'static str,
}

/// A project that was made.
pub(crate) struct Project {
    pub(crate) root: PathBuf,
    /// The paths of all its files, from the root.
    pub(crate) files: BTreeSet<String>,
}

impl Project {
    /// The project of about so many mebibytes, made beneath `cache` unless it is there.
    pub(crate) fn make(cache: &Path, mebibytes: u64) -> Result<Self> {
        let root = cache.join(format!("project-{VERSION}-{mebibytes}"));
        let complete = root.with_extension("complete");
        let is_complete = complete.exists();
        if !is_complete && root.exists() {
            fs::remove_dir_all(&root)?;
        }
        let mut files = BTreeSet::new();
        let mut chance = Chance(7);
        let mut room = mebibytes << 20;
        while room > 0 {
            let (path, text) = source_file(files.len(), &mut chance);
            room = room.saturating_sub(text.len() as u64);
            if !is_complete {
                write(&root.join(&path), &text)?;
            }
            files.insert(path);
        }
        fs::write(&complete, "")?;
        Ok(Self { root, files })
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    let directory = path.parent().context("a file is in a directory")?;
    fs::create_dir_all(directory)?;
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Numbers that look random and are the same on every machine.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn word(&mut self) -> &'static str {
        WORDS[self.below(WORDS.len() as u64) as usize]
    }

    fn name(&mut self) -> String {
        let verb = VERBS[self.below(VERBS.len() as u64) as usize];
        format!("{verb}_{}_{}", self.word(), self.word())
    }

    fn sentence(&mut self) -> String {
        let count = 5 + self.below(9);
        let words: Vec<&str> = (0..count).map(|_| self.word()).collect();
        format!("The {}.", words.join(" "))
    }

    fn language(&mut self) -> Language {
        let all: u64 = LANGUAGES.iter().map(|(_, often)| often).sum();
        let mut place = self.below(all);
        for (language, often) in LANGUAGES {
            if place < often {
                return language;
            }
            place -= often;
        }
        LANGUAGES[0].0
    }
}

/// The path and the text of the file with this number.
fn source_file(number: usize, chance: &mut Chance) -> (String, String) {
    let language = chance.language();
    let depth = 1 + chance.below(3);
    let directories: Vec<String> =
        (0..depth).map(|_| format!("{}s", WORDS[chance.below(24) as usize])).collect();
    let path = format!("{}/{}_{number}.{}", directories.join("/"), chance.word(), language.extension);
    // Sizes double with decreasing chance: most files are small.
    let doublings = (0..7).take_while(|_| chance.below(100) < 62).count();
    let size = (512 << doublings) + chance.below(512) as usize;
    let mut text = String::with_capacity(size + 1024);
    while text.len() < size {
        if language.open.is_empty() {
            write_prose(&mut text, chance);
        } else {
            write_function(&mut text, language, chance);
        }
    }
    (path, text)
}

fn write_prose(text: &mut String, chance: &mut Chance) {
    let _ = writeln!(text, "## {} and {}\n", chance.word(), chance.word());
    for _ in 0..3 + chance.below(4) {
        let _ = writeln!(text, "{} {}", chance.sentence(), chance.sentence());
    }
    text.push('\n');
}

fn write_function(text: &mut String, language: Language, chance: &mut Chance) {
    let Language { extension, comment, open, close, end } = language;
    let closing = if extension == "c" { " */" } else { "" };
    let _ = writeln!(text, "{comment}{}{closing}", chance.sentence());
    let (name, argument, kind) = (chance.name(), chance.word(), chance.word());
    let _ = match extension {
        "rs" => writeln!(text, "pub fn {name}({argument}: &{kind}::Handle) -> usize{open}"),
        "py" => writeln!(text, "def {name}({argument}, {kind}=None){open}"),
        "ts" => writeln!(text, "export function {name}({argument}: string): number{open}"),
        "go" => writeln!(text, "func {name}({argument} *{kind}) int{open}"),
        _ => writeln!(text, "int {name}(const char *{argument}){open}"),
    };
    for _ in 0..4 + chance.below(12) {
        write_statement(text, language, argument, chance);
    }
    let _ = writeln!(text, "    return {argument}{end}\n{close}\n");
}

fn write_statement(
    text: &mut String,
    Language { open, close, end, .. }: Language,
    argument: &str,
    chance: &mut Chance,
) {
    let (word, other) = (chance.word(), chance.word());
    let number = chance.below(1000);
    let _ = match chance.below(4) {
        0 => writeln!(text, "    {word} = {}({argument}, {number}){end}", chance.name()),
        1 => writeln!(text, "    {word}.{other} = \"{} {}\"{end}", chance.word(), chance.word()),
        2 => {
            let body = format!("        {other}.{}({word} + {number}){end}", chance.name());
            let close = if close.is_empty() { String::new() } else { format!("    {close}\n") };
            write!(text, "    if {word} > {number}{open}\n{body}\n{close}")
        }
        _ => writeln!(text, "    {}({word}, {other}[{number}]){end}", chance.name()),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_files_are_made_every_time() {
        let files = |seed| {
            let mut chance = Chance(seed);
            (0..40).map(|number| source_file(number, &mut chance)).collect::<Vec<_>>()
        };
        assert_eq!(files(7), files(7));
        assert_ne!(files(7), files(8));
        let paths: BTreeSet<String> = files(7).into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths.len(), 40);
    }

    #[test]
    fn lines_are_as_long_as_people_write_them() {
        let mut chance = Chance(7);
        for number in 0..200 {
            let (path, text) = source_file(number, &mut chance);
            assert!(text.len() / text.lines().count() < 200, "{path}");
        }
    }
}
