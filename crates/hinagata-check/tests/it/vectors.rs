//! The recorded cases of Jinja2 and Go: no error where a case prints, and most failures are found.
//!
//! The data of a case are its declarations: exactly these values.

use std::{collections::BTreeMap, path::Path};

use hinagata_check::{
    Field, Fields, Found, Level, ParseCache, Shape, Surroundings, Variables, check_template,
};
use hinagata_gotemplate::{Integers, MissingKey};
use hinagata_jinja::UndefinedMode;
use hinagata_template::{Language, MemorySources, Options, SourceText};
use hinagata_value::Functions;
use serde_json::Value;

// The functions that the cases register.
#[path = "../../../hinagata-gotemplate/tests/it/support/functions.rs"]
mod functions;

pub(crate) fn cases(kind: &str) -> Vec<Value> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors").join(kind);
    let mut files: Vec<_> = std::fs::read_dir(directory)
        .expect("the vectors are there")
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .collect();
    files.sort();
    let read = |path| {
        let text = std::fs::read_to_string(path).expect("a readable file");
        let file: Value = serde_json::from_str(&text).expect("JSON");
        file["cases"].as_array().cloned().unwrap_or_default()
    };
    files.into_iter().flat_map(read).collect()
}

fn variables(data: &Value) -> Variables {
    let known =
        data.as_object().into_iter().flatten().map(|(key, value)| {
            (key.clone(), Field { shape: Shape::of_value(value.clone()), required: true })
        });
    Variables { fields: Fields { known: known.collect(), rest: None }, ..Variables::default() }
}

fn errors(found: Vec<Found>) -> Vec<Found> {
    found.into_iter().filter(|found| found.level == Level::Error).collect()
}

fn is_exception(id: &str) -> bool {
    EXCEPTIONS.iter().any(|(known, _)| *known == id)
}

/// What the check says about a case of Jinja: its errors, each with its line.
fn check_jinja(case: &Value) -> Vec<(Found, u32)> {
    let options = &case["options"];
    let flag = |name: &str| options[name].as_bool().unwrap_or_default();
    let mut all = Options::default();
    all.jinja.trim_blocks = flag("trim_blocks");
    all.jinja.lstrip_blocks = flag("lstrip_blocks");
    all.jinja.keep_trailing_newline = flag("keep_trailing_newline");
    all.jinja.generation =
        options["extensions"].as_array().is_some_and(|names| names.contains(&"generation".into()));
    all.settings.autoescape = flag("autoescape");
    all.settings.immutable = options["sandbox"] == "immutable";
    all.settings.chat_host = options["host"] == "hf";
    all.settings.undefined = match options["undefined"].as_str() {
        Some("strict") => UndefinedMode::Error,
        Some("chainable") => UndefinedMode::Empty,
        _ => UndefinedMode::Jinja,
    };
    let texts: BTreeMap<String, String> = case["templates"]
        .as_object()
        .expect("templates")
        .iter()
        .map(|(name, text)| (name.clone(), text.as_str().unwrap_or_default().to_owned()))
        .collect();
    let mut sources = MemorySources::new();
    for (name, text) in &texts {
        sources.insert_source(name.as_str(), SourceText::new(Language::Jinja, text.as_str()));
    }
    let functions = Functions::new();
    let around = Surroundings { sources: &sources, options: &all, functions: &functions };
    let entry = case["entry"].as_str().unwrap_or_default();
    let report = check_template(entry, around, &variables(&case["data"]), &mut ParseCache::default());
    errors(report.found).into_iter().map(|found| with_line(found, &texts)).collect()
}

fn with_line(found: Found, texts: &BTreeMap<String, String>) -> (Found, u32) {
    let text = texts.get(&*found.template).map_or("", String::as_str);
    let before = text.get(..found.span.0 as usize).unwrap_or_default();
    let line = before.replace("\r\n", "\n").matches(['\n', '\r']).count() as u32 + 1;
    (found, line)
}

fn check_go(case: &Value) -> Vec<(Found, u32)> {
    let mut all = Options::default();
    let ints = case["ints"].as_bool().unwrap_or_default();
    all.go.integers = if ints { Integers::Exact } else { Integers::Float };
    let options = &case["options"];
    if let Some(delimiters) = options["delims"].as_array() {
        all.go.left = delimiters[0].as_str().unwrap_or_default().to_owned();
        all.go.right = delimiters[1].as_str().unwrap_or_default().to_owned();
    }
    all.go.missing_key =
        options["missingkey"].as_str().and_then(MissingKey::from_name).unwrap_or(MissingKey::Invalid);
    let mut texts = BTreeMap::new();
    let main = case["template"].as_str().map(|text| ("main".to_owned(), text.to_owned()));
    texts.extend(main);
    for (name, text) in case["templates"].as_object().into_iter().flatten() {
        texts.insert(name.clone(), text.as_str().unwrap_or_default().to_owned());
    }
    let mut sources = MemorySources::new();
    for (name, text) in &texts {
        sources.insert_source(name.as_str(), SourceText::new(Language::Go, text.as_str()));
    }
    let functions = functions::functions(all.go.integers);
    let all = all.with_functions(&functions);
    let around = Surroundings { sources: &sources, options: &all, functions: &functions };
    let entry = case["entry"].as_str().unwrap_or("main");
    let data = match &case["data"] {
        Value::Object(_) => variables(&case["data"]),
        _ => Variables {
            fields: Fields { rest: Some(Shape::ANY), ..Fields::default() },
            ..Variables::default()
        },
    };
    let report = check_template(entry, around, &data, &mut ParseCache::default());
    errors(report.found).into_iter().map(|found| with_line(found, &texts)).collect()
}

/// Cases that print, where the check is right to report an error, with the reason.
const EXCEPTIONS: [(&str, &str); 2] = [
    ("limits/paren-depth-1000", "the product's limits are lower than Go's"),
    ("arithmetic/pow-bigger-than-128-bits", "the product's integers have 128 bits"),
];

struct Tally {
    printing: usize,
    wrong: Vec<String>,
    failing: usize,
    found: usize,
    missed: Vec<String>,
    syntax: usize,
    syntax_missed: Vec<String>,
}

impl Tally {
    fn new() -> Self {
        Self {
            printing: 0,
            wrong: Vec::new(),
            failing: 0,
            found: 0,
            missed: Vec::new(),
            syntax: 0,
            syntax_missed: Vec::new(),
        }
    }

    fn finish(self, name: &str) {
        println!(
            "{name}: {} print, {} with a wrong error; {} of {} failures found ({} %); {} of {} syntax errors",
            self.printing,
            self.wrong.len(),
            self.found,
            self.failing,
            self.found * 100 / self.failing.max(1),
            self.syntax - self.syntax_missed.len(),
            self.syntax,
        );
        if std::env::var_os("HINAGATA_MISSED").is_some() {
            println!("missed: {:#?}", self.missed);
        }
        assert!(self.wrong.is_empty(), "errors where nothing fails: {:#?}", self.wrong);
        assert!(
            self.syntax_missed.is_empty(),
            "syntax errors not found on their line: {:#?}",
            self.syntax_missed
        );
        assert!(self.found * 100 >= self.failing * 60, "60 % of the failures must be found");
    }
}

#[test]
fn jinja_cases_are_judged_as_jinja2_does() {
    let mut tally = Tally::new();
    for case in cases("jinja") {
        let id = case["id"].as_str().unwrap_or_default();
        let expected = &case["expect"]["error"];
        let kind = expected["kind"].as_str();
        // Rules of the product, attacks that may fail or print harmless text, and documented differences.
        let is_open = case["source"] == "policy" || case["accept"]["any_error"] == true;
        if kind == Some("limit") || (kind.is_none() && is_open) {
            continue;
        }
        let found = check_jinja(&case);
        let shown = || {
            let lines: Vec<String> = found
                .iter()
                .map(|(one, line)| format!("{}:{line} {} {}", one.template, one.code.code, one.message))
                .collect();
            format!("{id}: {}", lines.join("; "))
        };
        let line = expected["line"].as_u64().map(|line| line as u32);
        let on_line = found.iter().any(|(_, at)| line.is_none_or(|line| line == *at));
        match kind {
            None if is_exception(id) => {}
            None => {
                tally.printing += 1;
                if !found.is_empty() {
                    tally.wrong.push(format!("{} {}", shown(), case["templates"]));
                }
            }
            Some("syntax") => {
                tally.syntax += 1;
                if !on_line {
                    tally.syntax_missed.push(format!("{} expected {expected}", shown()));
                }
            }
            Some(_) => {
                tally.failing += 1;
                if on_line {
                    tally.found += 1;
                } else {
                    tally.missed.push(format!("{} {} {}", shown(), expected["kind"], case["templates"]));
                }
            }
        }
    }
    tally.finish("jinja");
}

#[test]
fn go_cases_are_judged_as_go_does() {
    let mut tally = Tally::new();
    for case in cases("gotemplate") {
        let id = case["id"].as_str().unwrap_or_default();
        let expect = &case["expect"];
        // Sources that share one set: in a workspace, each source has a set of its own.
        if case["templates"].is_object() {
            continue;
        }
        let found = check_go(&case);
        let shown = || {
            let lines: Vec<String> = found
                .iter()
                .map(|(one, line)| format!("{}:{line} {} {}", one.template, one.code.code, one.message))
                .collect();
            format!("{id}: {}", lines.join("; "))
        };
        if is_exception(id) {
            continue;
        }
        if expect["output"].is_string() || expect["output_base64"].is_string() {
            tally.printing += 1;
            if !found.is_empty() {
                tally.wrong.push(format!("{} {} {}", shown(), case["template"], case["templates"]));
            }
        } else if expect["exec_error"].is_string() {
            tally.failing += 1;
            if found.is_empty() {
                tally.missed.push(format!("{id} {} {}", case["template"], expect["exec_error"]));
            } else {
                tally.found += 1;
            }
        } else {
            tally.syntax += 1;
            let message = expect["parse_error"].as_str().unwrap_or_default();
            let line: Option<u32> = message.split(':').nth(2).and_then(|line| line.trim().parse().ok());
            if !found.iter().any(|(_, at)| line.is_none_or(|line| line == *at)) {
                tally.syntax_missed.push(format!("{} expected {message}", shown()));
            }
        }
    }
    tally.finish("gotemplate");
}
