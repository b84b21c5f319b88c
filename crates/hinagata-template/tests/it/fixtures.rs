//! Folders of templates with what they give.
//!
//! A case is a folder with an entry `main.*`, further templates under their file names, `data.json` and
//! `options.json` where it needs them, and any of `expected.txt`, `messages.json` and `error.txt`. With
//! the environment variable `HINAGATA_BLESS` the expectations are written instead of compared.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
};

use hinagata_jinja::UndefinedMode;
use hinagata_template::{Content, Language, MemorySources, Message, Options, Render, Sources, Template};
use hinagata_value::{Error, Limits};
use serde_json::{Value as Json, json};

const EXPECTATIONS: [&str; 3] = ["expected.txt", "messages.json", "error.txt"];

#[test]
fn every_case_gives_what_it_says() {
    let mut cases = Vec::new();
    find_cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"), &mut cases);
    assert!(cases.len() > 30, "the cases are found");
    let failures: Vec<String> = cases.iter().flat_map(|case| run(case)).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

fn find_cases(folder: &Path, cases: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("is there").path()).collect();
    entries.sort();
    if entries.iter().any(|entry| entry.file_stem().is_some_and(|stem| stem == "main")) {
        cases.push(folder.to_owned());
        return;
    }
    entries.iter().filter(|entry| entry.is_dir()).for_each(|entry| find_cases(entry, cases));
}

/// The failures of one case.
fn run(folder: &Path) -> Vec<String> {
    let case = Case::read(folder);
    let mut failures = Vec::new();
    let mut expected = 0;
    for file in EXPECTATIONS {
        let path = folder.join(file);
        let Ok(wanted) = fs::read_to_string(&path) else { continue };
        expected += 1;
        let given = match file {
            "expected.txt" => case.text(),
            "messages.json" => case.messages(),
            _ => case.error(),
        };
        if given == wanted {
            continue;
        }
        if env::var_os("HINAGATA_BLESS").is_some() {
            fs::write(&path, given).expect("can be written");
        } else {
            failures.push(format!("{}:\nwanted: {wanted}\ngiven:  {given}", path.display()));
        }
    }
    if expected == 0 {
        failures.push(format!("{}: nothing is expected", folder.display()));
    }
    failures
}

struct Case {
    sources: MemorySources,
    main: String,
    data: Json,
    options: Options,
}

impl Case {
    fn read(folder: &Path) -> Self {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("is there").path();
            let name = path.file_name().expect("has one").to_string_lossy().into_owned();
            files.insert(name, fs::read_to_string(&path).expect("UTF-8"));
        }
        let json = |name: &str| files.get(name).map(|text| serde_json::from_str::<Json>(text).expect("JSON"));
        let data = json("data.json").unwrap_or_else(|| json!({}));
        let options = options(&json("options.json").unwrap_or_default());
        let main = files.keys().find(|name| name.starts_with("main.")).expect("an entry").clone();
        let reserved = |name: &String| EXPECTATIONS.contains(&name.as_str()) || name.ends_with(".json");
        let sources = files.into_iter().filter(|(name, _)| !reserved(name)).collect();
        Self { sources, main, data, options }
    }

    fn compile(&self) -> Result<Template, Error> {
        let source = self.sources.source(&self.main)?.expect("is there");
        let language = Language::from_file_name(&self.main);
        Template::compile(language, &self.main, source.text(), &self.options, &Limits::default())
    }

    fn text(&self) -> String {
        let text = self
            .compile()
            .and_then(|main| Render::new().with_sources(&self.sources).render_text(&main, &self.data));
        text.unwrap_or_else(|error| shown(&error))
    }

    fn messages(&self) -> String {
        let messages = self
            .compile()
            .and_then(|main| Render::new().with_sources(&self.sources).render_messages(&main, &self.data));
        match messages {
            Ok(messages) => messages.iter().map(|message| format!("{}\n", message_json(message))).collect(),
            Err(error) => shown(&error),
        }
    }

    fn error(&self) -> String {
        let text = self
            .compile()
            .and_then(|main| Render::new().with_sources(&self.sources).render_text(&main, &self.data));
        match text {
            Ok(text) => format!("no error, but this text: {text}"),
            Err(error) => shown(&error),
        }
    }
}

fn options(json: &Json) -> Options {
    let mut options = Options::default();
    options.settings.autoescape = json["autoescape"] == true;
    match json["undefined"].as_str() {
        Some("jinja") => options.with_undefined(UndefinedMode::Jinja),
        Some("error") => options.with_undefined(UndefinedMode::Error),
        _ => options,
    }
}

fn message_json(message: &Message) -> Json {
    let content: Vec<Json> = message
        .content
        .iter()
        .map(|content| match content {
            Content::Text(text) => json!(text),
            Content::Part { kind, content } => json!({ (kind.as_str()): content }),
        })
        .collect();
    json!({"role": message.role, "content": content})
}

/// The error with its place and the way to it.
fn shown(error: &Error) -> String {
    let mut text = format!("{}: {error}\n", error.kind().as_str());
    if let Some(place) = error.place() {
        text.push_str(&format!("at {place}\n"));
    }
    for place in error.chain() {
        text.push_str(&format!("via {place}\n"));
    }
    if !error.near().is_empty() {
        text.push_str(&format!("near: {}\n", error.near().join(", ")));
    }
    if let Some(hint) = error.hint() {
        text.push_str(&format!("hint: {hint}\n"));
    }
    text
}
