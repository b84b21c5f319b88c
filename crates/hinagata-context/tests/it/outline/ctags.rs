//! Compares outlines with the functions and types that Universal Ctags finds.
//!
//! The sources are those that are there when tests run: the crates that the workspace uses, the packages of
//! `HINAGATA_TEST_PYTHON`, the library of `HINAGATA_TEST_GO`, and the fixtures. `HINAGATA_OUTLINES` names a directory with
//! further sources; their figures are printed and not judged, because Ctags also finds what is no function: text of
//! here-documents, properties of objects.

use std::{
    collections::{BTreeMap, HashSet},
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use hinagata_context::outline::outline_text;

use super::{fixtures::fixtures, kept_lines};

/// The least share of functions and types whose line stays.
const MIN_KEPT: f64 = 0.98;

/// The largest share of bytes that stay.
const MAX_BYTES: f64 = 0.5;

/// About how many bytes of a language are compared.
const ENOUGH: u64 = 12 << 20;

/// A language of Ctags.
struct Subject {
    name: &'static str,
    extensions: &'static [&'static str],
    /// The kinds of Ctags that are functions.
    functions: &'static [&'static str],
    /// The kinds of Ctags that are types.
    types: &'static [&'static str],
}

const SUBJECTS: &[Subject] = &[
    Subject {
        name: "Rust",
        extensions: &["rs"],
        functions: &["function", "method"],
        types: &["struct", "enum", "interface", "typedef"],
    },
    Subject { name: "Python", extensions: &["py"], functions: &["function", "member"], types: &["class"] },
    // Ctags calls every object with properties a class.
    Subject {
        name: "JavaScript",
        extensions: &["js", "mjs", "cjs", "jsx"],
        functions: &["function", "method", "generator", "getter", "setter"],
        types: &[],
    },
    Subject {
        name: "TypeScript",
        extensions: &["ts", "tsx"],
        functions: &["function", "method", "generator"],
        types: &["class", "interface", "enum", "alias"],
    },
    Subject {
        name: "Go",
        extensions: &["go"],
        functions: &["func", "methodSpec"],
        types: &["struct", "interface", "type", "talias"],
    },
    Subject {
        name: "Java",
        extensions: &["java"],
        functions: &["method"],
        types: &["class", "interface", "enum", "annotation"],
    },
    Subject {
        name: "C",
        extensions: &["c"],
        functions: &["function"],
        types: &["struct", "union", "enum", "typedef"],
    },
    Subject {
        name: "C++",
        extensions: &["cc", "cpp", "h", "hpp"],
        functions: &["function"],
        types: &["class", "struct", "union", "enum", "typedef"],
    },
    Subject {
        name: "C#",
        extensions: &["cs"],
        functions: &["method"],
        types: &["class", "interface", "struct", "enum"],
    },
    Subject {
        name: "Ruby",
        extensions: &["rb"],
        functions: &["method", "singletonMethod"],
        types: &["class", "module"],
    },
    Subject {
        name: "PHP",
        extensions: &["php"],
        functions: &["function"],
        types: &["class", "interface", "trait"],
    },
    Subject { name: "Sh", extensions: &["sh", "bash"], functions: &["function"], types: &[] },
    Subject {
        name: "Kotlin",
        extensions: &["kt"],
        functions: &["method"],
        types: &["class", "interface", "object", "typealias"],
    },
    Subject { name: "Lua", extensions: &["lua"], functions: &["function"], types: &[] },
];

impl Subject {
    fn covers(&self, path: &Path) -> bool {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        self.extensions.contains(&extension)
    }
}

/// The command, if it is installed. Other programs are called `ctags`, too.
fn ctags_command() -> Option<&'static str> {
    let is_universal = |name: &&&str| {
        let version = Command::new(name).arg("--version").output();
        version.is_ok_and(|version| String::from_utf8_lossy(&version.stdout).starts_with("Universal Ctags"))
    };
    ["ctags-universal", "ctags"].iter().find(is_universal).copied()
}

struct Tag {
    name: String,
    line: usize,
    /// The last line, in languages for which Ctags knows it.
    end: Option<usize>,
    kind: String,
    /// The kind and the name of what surrounds it.
    scope: Option<(String, String)>,
}

impl Tag {
    /// Reads a line: name, file, pattern and fields, separated by tabs.
    fn parse(line: &str) -> Option<(&str, Self)> {
        let (head, fields) = line.split_once(";\"\t")?;
        let mut head = head.split('\t');
        let (name, file) = (head.next()?.to_owned(), head.next()?);
        let mut fields = fields.split('\t');
        let kind = fields.next()?.to_owned();
        let fields: BTreeMap<&str, &str> = fields.filter_map(|field| field.split_once(':')).collect();
        let number = |key| fields.get(key).and_then(|value: &&str| value.parse().ok());
        let scope = fields.get("scope").and_then(|scope| scope.split_once(':'));
        let scope = scope.map(|(kind, name)| (kind.to_owned(), name.to_owned()));
        Some((file, Self { name, line: number("line")?, end: number("end"), kind, scope }))
    }
}

fn find_tags(ctags: &str, subject: &Subject, files: &[PathBuf]) -> BTreeMap<PathBuf, Vec<Tag>> {
    let mut list = tempfile::NamedTempFile::new().expect("a temporary file");
    for file in files {
        writeln!(list, "{}", file.display()).expect("is writable");
    }
    let output = Command::new(ctags)
        .args(["--options=NONE", "-f", "-", "--sort=no", "--fields=+neKZ"])
        .arg(format!("--language-force={}", subject.name))
        .arg("-L")
        .arg(list.path())
        .output()
        .expect("it started before");
    let mut tags: BTreeMap<PathBuf, Vec<Tag>> = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if let Some((file, tag)) = Tag::parse(line) {
            tags.entry(file.into()).or_default().push(tag);
        }
    }
    tags
}

/// The functions and types outside of other functions.
fn outer_tags<'t>(subject: &Subject, tags: &'t [Tag]) -> Vec<&'t Tag> {
    let is_function = |tag: &&&Tag| subject.functions.contains(&tag.kind.as_str());
    let full_name = |tag: &Tag| match &tag.scope {
        Some((_, scope)) => format!("{scope}::{}", tag.name),
        None => tag.name.clone(),
    };
    let functions: HashSet<String> =
        tags.iter().filter(|tag| is_function(&tag)).map(|tag| full_name(tag).replace('.', "::")).collect();
    let is_in_function = |(kind, scope): &(String, String)| {
        let scope = scope.replace('.', "::");
        let mut ends = scope.match_indices("::").map(|(end, _)| end).chain([scope.len()]);
        subject.functions.contains(&kind.as_str()) || ends.any(|end| functions.contains(&scope[..end]))
    };
    let mut spans: Vec<_> =
        tags.iter().filter(|tag| is_function(&tag)).filter_map(|tag| Some((tag.line, tag.end?))).collect();
    spans.sort_unstable();
    let mut sorted: Vec<&Tag> = tags.iter().collect();
    sorted.sort_by_key(|tag| tag.line);
    let mut spans = spans.into_iter().peekable();
    let mut last = 0;
    let mut outer = Vec::new();
    for tag in sorted {
        while let Some((_, end)) = spans.next_if(|(line, _)| *line < tag.line) {
            last = last.max(end);
        }
        let is_wanted = is_function(&&tag) || subject.types.contains(&tag.kind.as_str());
        // Ctags names functions without a name itself. Fixtures have text that is no function, under such a name.
        let has_name =
            !tag.name.starts_with("Anonymous") && !tag.name.starts_with("not_a_") && tag.name != "<lambda>";
        if is_wanted && has_name && tag.line > last && !tag.scope.as_ref().is_some_and(is_in_function) {
            outer.push(tag);
        }
    }
    outer
}

/// What became of the functions, types and bytes of some files.
#[derive(Default)]
struct Figures {
    files: usize,
    tags: usize,
    kept: usize,
    bytes: usize,
    outline: usize,
    lost: Vec<String>,
}

fn compare(ctags: &str, subject: &Subject, files: &[PathBuf]) -> Figures {
    let mut found = find_tags(ctags, subject, files);
    let mut figures = Figures::default();
    for path in files {
        let Ok(text) = fs::read_to_string(path) else { continue };
        let outline = outline_text(&path.to_string_lossy(), &text);
        let kept: HashSet<usize> = kept_lines(&outline, &text).into_iter().collect();
        figures.files += 1;
        figures.bytes += text.len();
        figures.outline += outline.to_string().len();
        for tag in outer_tags(subject, &found.remove(path).unwrap_or_default()) {
            figures.tags += 1;
            if kept.contains(&tag.line) {
                figures.kept += 1;
            } else {
                figures.lost.push(format!("{}:{} {} {}", path.display(), tag.line, tag.kind, tag.name));
            }
        }
    }
    figures
}

/// The files of a language beneath a directory, in order.
fn find_sources(directory: &Path, subject: &Subject, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() && !path.is_symlink() {
            find_sources(&path, subject, found);
        } else if subject.covers(&path) && path.is_file() {
            found.push(path);
        }
    }
}

/// Some of the files, evenly chosen, that together have about as many bytes as are enough.
fn choose_evenly(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let bytes: u64 = files.iter().filter_map(|file| Some(file.metadata().ok()?.len())).sum();
    let step = usize::try_from(bytes.div_ceil(ENOUGH)).unwrap_or(1).max(1);
    files.into_iter().step_by(step).collect()
}

fn run_cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo writes UTF-8")
}

/// The directories of the crates that the workspace uses on this platform; others need not be there.
fn crate_directories() -> Vec<PathBuf> {
    let version = run_cargo(&["-vV"]);
    let platform = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("cargo names it");
    let arguments =
        ["metadata", "--locked", "--offline", "--format-version", "1", "--filter-platform", platform];
    let metadata: serde_json::Value =
        serde_json::from_str(&run_cargo(&arguments)).expect("cargo writes JSON");
    let packages = metadata["packages"].as_array().expect("has packages");
    let dependencies = packages.iter().filter(|package| package["source"].is_string());
    let manifests = dependencies.filter_map(|package| package["manifest_path"].as_str());
    manifests.filter_map(|manifest| Some(Path::new(manifest).parent()?.to_owned())).collect()
}

/// What a command of the test environment prints, if a variable names the command.
fn ask_command(variable: &str, arguments: &[&str]) -> Option<PathBuf> {
    let output = Command::new(env::var_os(variable)?).args(arguments).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().into())
}

/// Sources of languages that are there when tests run, and the variables that name those which are not.
fn corpora() -> (Vec<(&'static str, Vec<PathBuf>)>, Vec<&'static str>) {
    let crates = crate_directories();
    let mut corpora = vec![("Rust", crates.clone()), ("C", crates)];
    let mut missing = Vec::new();
    let python = ["-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"];
    match ask_command("HINAGATA_TEST_PYTHON", &python) {
        Some(packages) => corpora.push(("Python", vec![packages])),
        None => missing.push("HINAGATA_TEST_PYTHON"),
    }
    match ask_command("HINAGATA_TEST_GO", &["env", "GOROOT"]) {
        Some(root) => {
            corpora.push(("Go", vec![root.join("src")]));
            corpora[1].1.push(root.join("src"));
        }
        None => missing.push("HINAGATA_TEST_GO"),
    }
    (corpora, missing)
}

#[expect(clippy::print_stderr, reason = "the figures are worth reading, and so is what was not compared")]
fn report(title: &str, subject: &Subject, figures: &Figures) {
    eprintln!(
        "{title} {}: {} files, {} of {} functions and types kept, {:.3} of {} bytes",
        subject.name,
        figures.files,
        figures.kept,
        figures.tags,
        figures.outline as f64 / figures.bytes as f64,
        figures.bytes,
    );
}

#[expect(clippy::print_stderr, reason = "whoever runs the tests must know that this one did nothing")]
fn find_ctags() -> Option<&'static str> {
    let ctags = ctags_command();
    if ctags.is_none() {
        eprintln!("NOTHING WAS COMPARED: install universal-ctags, or run ./test --install");
    }
    ctags
}

#[test]
#[expect(clippy::print_stderr, reason = "whoever runs the tests must know what was not compared")]
fn outlines_keep_functions_and_types_and_half_of_the_bytes() {
    let Some(ctags) = find_ctags() else { return };
    let (corpora, missing) = corpora();
    for variable in missing {
        eprintln!("NOT COMPARED: set {variable}, or run ./test, which sets it");
    }
    for (name, directories) in corpora {
        let subject = SUBJECTS.iter().find(|subject| subject.name == name).expect("is listed");
        let mut files = Vec::new();
        for directory in directories {
            find_sources(&directory, subject, &mut files);
        }
        let figures = compare(ctags, subject, &choose_evenly(files));
        report("sources", subject, &figures);
        assert!(
            figures.tags > 200,
            "{name}: {} functions and types in {} files",
            figures.tags,
            figures.files
        );
        let lost = &figures.lost[..figures.lost.len().min(20)];
        assert!(figures.kept as f64 >= MIN_KEPT * figures.tags as f64, "{name} loses {lost:#?}");
        assert!(figures.outline as f64 <= MAX_BYTES * figures.bytes as f64, "{name} saves too little");
    }
}

#[test]
fn outlines_of_fixtures_keep_functions_and_types() {
    let Some(ctags) = find_ctags() else { return };
    let fixtures: Vec<_> = fixtures().into_iter().filter(|path| !path.ends_with("unclosed.c")).collect();
    for subject in SUBJECTS {
        let files: Vec<PathBuf> = fixtures.iter().filter(|path| subject.covers(path)).cloned().collect();
        let figures = compare(ctags, subject, &files);
        report("fixtures", subject, &figures);
        assert!(figures.tags > 0, "{}", subject.name);
        assert_eq!(figures.lost, Vec::<String>::new());
    }
}

#[test]
fn further_sources_are_compared_on_request() {
    let Some(directory) = env::var_os("HINAGATA_OUTLINES") else { return };
    let Some(ctags) = find_ctags() else { return };
    for subject in SUBJECTS {
        let mut files = Vec::new();
        find_sources(Path::new(&directory), subject, &mut files);
        if !files.is_empty() {
            report("further", subject, &compare(ctags, subject, &files));
        }
    }
}
