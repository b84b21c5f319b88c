//! Folders of prompts with the request that each driver makes of them.
//!
//! A case is a folder with `prompt.json` and, where it needs them, `options.json`; beside it stand the request of each
//! driver as `DRIVER.json`, its text as `text.md`, or why there is none as `DRIVER.txt`. With the environment
//! variable `HINAGATA_BLESS` these are written instead of compared. Every request is also held against a JSON Schema of
//! what the provider takes, in `tests/schemas`.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
};

use crate::common::{Schemas, folder};
use hinagata_module::{
    CompiledPrompt, Element, TextOptions,
    driver::{self, DataRole, Driver, Files, RequestOptions, Tool, TurnRule},
    json,
};
use serde_json::Value;

/// The cases in `tests/requests`.
fn cases() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder("requests")).expect("a folder");
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.expect("is there").path()).collect();
    all.sort();
    all
}

fn read(path: &Path) -> Option<Value> {
    fs::read_to_string(path).ok().map(|text| serde_json::from_str(&text).expect("JSON"))
}

fn prompt(case: &Path) -> CompiledPrompt {
    CompiledPrompt::from_json(&read(&case.join("prompt.json")).expect("a prompt")).expect("is well formed")
}

/// Files that a case brings along.
struct Given(BTreeMap<String, String>);

impl Files for Given {
    fn read(&self, path: &str) -> Result<Vec<u8>, String> {
        self.0.get(path).map(|text| text.clone().into_bytes()).ok_or_else(|| "there is none".to_owned())
    }
}

fn options(case: &Path) -> RequestOptions {
    let given = read(&case.join("options.json")).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let tool = |tool: &Value| Tool {
        name: text(&tool["name"]),
        description: text(&tool["description"]),
        parameters: tool["parameters"].clone(),
    };
    let options = RequestOptions {
        model: given["model"].as_str().map(str::to_owned),
        max_tokens: given["max_tokens"].as_u64(),
        temperature: given["temperature"].as_f64(),
        top_p: given["top_p"].as_f64(),
        top_k: given["top_k"].as_u64(),
        stop: given["stop"].as_array().into_iter().flatten().map(text).collect(),
        seed: given["seed"].as_i64(),
        stream: given["stream"].as_bool(),
        tools: given["tools"].as_array().into_iter().flatten().map(tool).collect(),
        turns: given["turns"].as_str().and_then(TurnRule::from_name),
        data_role: if given["data_role"] == "system" { DataRole::System } else { DataRole::User },
        ..RequestOptions::default()
    };
    match given["files"].as_object() {
        Some(files) => options
            .with_files(Given(files.iter().map(|(name, content)| (name.clone(), text(content))).collect())),
        None => options,
    }
}

/// The name of the file of a driver, and what belongs into it.
fn made(driver: Driver, prompt: &CompiledPrompt, options: &RequestOptions) -> (String, String) {
    match driver.format(prompt, options) {
        Err(error) => {
            let hint = error.problems().iter().find_map(|problem| problem.hint.as_deref()).unwrap_or("none");
            (format!("{}.txt", driver.name()), format!("{error}\nhint: {hint}\n"))
        }
        Ok(made) => {
            let notes: String = made.notes().iter().map(|note| format!("// {note}\n")).collect();
            (
                format!("{}.json", driver.name()),
                format!("{notes}{}\n", json::to_pretty_string(&made.to_value())),
            )
        }
    }
}

/// Everything that a case makes, by the names of its files.
fn results(case: &Path) -> Vec<(String, String)> {
    let (prompt, options) = (prompt(case), options(case));
    let text = driver::format_text(&prompt, &TextOptions::default());
    let mut all = vec![("text.md".to_owned(), format!("{}\n", text.body()))];
    all.extend(Driver::ALL.map(|driver| made(driver, &prompt, &options)));
    all
}

/// Writes what a case makes, in the place of what it made before.
fn bless(case: &Path) {
    for driver in Driver::ALL {
        for end in ["json", "txt"] {
            // One of the two does not exist.
            let _ = fs::remove_file(case.join(format!("{}.{end}", driver.name())));
        }
    }
    for (name, given) in results(case) {
        fs::write(case.join(name), given).expect("can be written");
    }
}

#[test]
fn every_driver_makes_the_request_that_is_written_down() {
    if env::var_os("HINAGATA_BLESS").is_some() {
        cases().iter().for_each(|case| bless(case));
    }
    let mut failures = Vec::new();
    for case in cases() {
        for (name, given) in results(&case) {
            let path = case.join(name);
            let wanted = fs::read_to_string(&path).unwrap_or_else(|error| error.to_string());
            if given != wanted {
                failures.push(format!("{}:\nwanted: {wanted}\ngiven:  {given}", path.display()));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn every_request_is_one_that_the_provider_takes() {
    let schemas = Schemas::read();
    // Conversations have parts that providers wrote themselves; the types of the SDKs decide about those.
    let is_ours = |case: &PathBuf| !case.to_string_lossy().contains("conversation-");
    for case in cases().into_iter().filter(is_ours) {
        let (prompt, options) = (prompt(&case), options(&case));
        for driver in Driver::ALL {
            if let Ok(made) = driver.format(&prompt, &options) {
                let problem = schemas.problem(driver, &made.to_value());
                assert_eq!(problem, None, "{} {}", case.display(), made.body());
            }
        }
    }
}

#[test]
fn the_schemas_refuse_what_a_provider_refuses() {
    let schemas = Schemas::read();
    let wrong = [
        (Driver::OpenAi, r#"{"messages": [{"role": "user", "text": "x"}]}"#),
        (Driver::OpenAi, r#"{"messages": [{"role": "robot", "content": "x"}]}"#),
        (
            Driver::OpenAiResponses,
            r#"{"input": [{"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}]}"#,
        ),
        (Driver::Anthropic, r#"{"max_tokens": 1, "messages": []}"#),
        (
            Driver::Anthropic,
            r#"{"max_tokens": 1, "messages": [{"role": "assistant", "content": [{"type": "text", "text": "x"}]}]}"#,
        ),
        (
            Driver::Anthropic,
            r#"{"max_tokens": 1, "messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]}"#,
        ),
        (Driver::Gemini, r#"{"contents": [{"role": "user", "parts": []}]}"#),
        (
            Driver::Gemini,
            r#"{"contents": [{"role": "user", "parts": [{"text": "x"}]}], "generationConfig": {"responseSchema": {"type": "object"}}}"#,
        ),
        (Driver::Ollama, r#"{"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]}"#),
    ];
    for (driver, body) in wrong {
        let body = serde_json::from_str(body).expect("JSON");
        assert!(schemas.problem(driver, &body).is_some(), "{}: {body}", driver.name());
    }
}

#[test]
fn the_cases_have_every_kind_of_element() {
    let mut kinds: Vec<String> = cases()
        .iter()
        .flat_map(|case| prompt(case).elements().map(Element::kind).map(str::to_owned).collect::<Vec<_>>())
        .collect();
    kinds.sort();
    kinds.dedup();
    assert_eq!(kinds, ["chunk", "json", "material", "message", "section", "subsection", "text"]);
}
