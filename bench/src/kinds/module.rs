//! Merging, compiling and formatting a large module: ours, and the recorded figures of the framework that modules
//! come from.
//!
//! The recorded side cannot run here. Its times were taken by its own clock on another busy machine, and include
//! what ours include: merge, compile, and the bytes of the result. Its requests look different from ours, so ours are
//! held against files of their own, and against the numbers of the workload.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use hinagata_module::driver::{self, Driver, RequestOptions};
use hinagata_module::{
    Chunk, CompiledPrompt, ContentWithUsage, Element, Entry, Material, Message, PromptModule, Role, Section,
    Text, TextOptions, merge_modules,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::install::Installer;
use crate::measure::{Contest, Peer};
use crate::row::Goal;
use crate::side::{Entrant, Lap, Side};
use crate::workload;

const KIND: &str = "module";
/// At least ten times as fast.
const RECORDED: Goal = Goal { must: 0.1, stretch: None };

/// What is measured: a driver, the file with what it has to give, and the recorded row that it is held against. The
/// recording has three rows with bytes, none of them Anthropic's: formatting for Anthropic took it as long as for OpenAI, but
/// the row that is left, the plain messages, asks for more.
const ROWS: [(Option<Driver>, &str, &str); 3] = [
    (None, "text.md", "merge+compile+text, as UTF-8 bytes"),
    (Some(Driver::OpenAi), "openai.json", "merge+compile+openai, as JSON bytes"),
    (Some(Driver::Anthropic), "anthropic.json", "merge+compile+messages, as JSON bytes"),
];

/// The modules and the context of `workloads/module`.
#[derive(Deserialize)]
struct ModuleWorkload {
    modules: Vec<Map<String, Value>>,
    context: Value,
}

/// What the framework was recorded to take, and what its result has.
#[derive(Deserialize)]
struct Recorded {
    output: RecordedOutput,
    reference_ns_per_op: BTreeMap<String, RecordedTime>,
    node: String,
}

#[derive(Deserialize)]
struct RecordedOutput {
    elements: usize,
    text_utf8_bytes: usize,
    #[cfg(test)]
    text_sha256: String,
}

#[derive(Clone, Copy, Deserialize)]
struct RecordedTime {
    min_ns: f64,
}

/// The context as a program has it.
struct Given {
    case: Text,
    language: Text,
    state: ContentWithUsage,
    materials: Vec<Row>,
    chunks: Vec<Row>,
    messages: Vec<Row>,
}

/// A row of the context; which fields it has depends on the list that it is in.
struct Row {
    id: Text,
    title: Text,
    content: Text,
    role: Option<Role>,
    name: Option<Text>,
    index: Option<u64>,
    total: Option<u64>,
    usage: Option<u64>,
}

/// Everything that an iteration needs.
struct Work {
    modules: Vec<PromptModule<Given>>,
    given: Given,
    options: RequestOptions,
}

pub(crate) fn contests(installer: &Installer) -> Result<Vec<Contest>> {
    let load = |name| workload::path(&installer.home, KIND, name);
    let workload: ModuleWorkload = workload::load(&load("large"))?;
    let recorded: Recorded = workload::load(&load("recorded"))?;
    let work = Arc::new(Work::new(&workload)?);
    work.check(&workload.context, &recorded.output)?;
    let golden = installer.home.join("workloads").join(KIND);
    ROWS.into_iter()
        .map(|(driver, file, row)| {
            let expected = fs::read(golden.join(file)).with_context(|| format!("cannot read {file}"))?;
            let time = *recorded.reference_ns_per_op.get(row).with_context(|| format!("no row {row}"))?;
            let theirs = RecordedSide { version: recorded.node.clone(), time, output: expected.clone() };
            let (first, again) = (Arc::clone(&work), Arc::clone(&work));
            let mut body = String::new();
            let ours = Entrant::local("", move || first.run(driver), move || again.repeat(driver, &mut body));
            let entrant = Entrant::Ready(Box::new(theirs));
            Ok(Contest {
                kind: KIND,
                name: format!("merge, compile, {}", driver.map_or("text", Driver::name)),
                expected: Some(expected),
                ours,
                peers: vec![Peer { name: "TypeScript, recorded", goal: Some(RECORDED), entrant }],
            })
        })
        .collect()
}

impl Work {
    fn new(workload: &ModuleWorkload) -> Result<Self> {
        let modules = workload.modules.iter().map(module).collect::<Result<_>>()?;
        let given = Given::of(&workload.context).context("the context lacks something")?;
        Ok(Self { modules, given, options: RequestOptions::new("m") })
    }

    fn compiled(&self) -> Result<CompiledPrompt> {
        Ok(merge_modules(self.modules.iter().cloned())?.compile(&self.given)?)
    }

    fn run(&self, driver: Option<Driver>) -> Result<Vec<u8>> {
        let mut body = String::new();
        self.fill(driver, &mut body)?;
        Ok(body.into_bytes())
    }

    /// Makes `body` the request of `driver`, or the text of the prompt.
    fn fill(&self, driver: Option<Driver>, body: &mut String) -> Result<()> {
        let prompt = self.compiled()?;
        match driver {
            Some(driver) => drop(driver.format_into(&prompt, &self.options, body)?),
            None => driver::format_text_into(&prompt, &TextOptions::default(), body),
        }
        Ok(())
    }

    /// The work of a program that makes one request after the other, in the same memory.
    fn repeat(&self, driver: Option<Driver>, body: &mut String) {
        let made = self.fill(driver, body);
        // It was found to work before it is timed.
        drop(black_box(made));
        black_box(&*body);
    }

    /// Whether the prompt has everything that the workload has.
    fn check(&self, context: &Value, recorded: &RecordedOutput) -> Result<()> {
        let prompt = self.compiled()?;
        ensure!(prompt.elements().count() == recorded.elements, "another number of elements");
        let text = driver::format_text(&prompt, &TextOptions::default());
        ensure!(text.body().len() == recorded.text_utf8_bytes, "a text of another length");
        for (list, kind) in [("materials", "material"), ("chunks", "chunk"), ("messages", "message")] {
            let rows = context[list].as_array().context("a list")?;
            let wanted: usize = rows.iter().filter_map(|row| row["content"].as_str()).map(str::len).sum();
            let of_kind = || prompt.elements().filter(|element| element.kind() == kind);
            ensure!(of_kind().count() == rows.len(), "another number of {list}");
            ensure!(of_kind().map(content_bytes).sum::<usize>() == wanted, "other {list}");
        }
        Ok(())
    }
}

fn content_bytes(element: &Element) -> usize {
    let content = match element {
        Element::Material(material) => &material.content,
        Element::Chunk(chunk) => &chunk.content,
        Element::Message(message) => return message.texts().map(str::len).sum(),
        _ => return 0,
    };
    content.texts().map(str::len).sum()
}

/// A module of the workload: what its stand-ins mean is written as a program would write it.
fn module(sections: &Map<String, Value>) -> Result<PromptModule<Given>> {
    let mut built = PromptModule::new();
    for (name, entries) in sections.iter().filter(|(name, _)| *name != "createContext") {
        let section = Section::from_name(name).with_context(|| format!("no section {name}"))?;
        for entry in entries.as_array().into_iter().flatten() {
            built = match (entry.get("dynamicMap"), entry.get("dynamicText")) {
                (None, None) => built.add_entry(section, fixed(name, entry)?),
                (None, _) if section == Section::State => built.add_entry(section, |given: &Given| {
                    format!("Progress so far ({} tokens):\n{}", given.state.usage, given.state.content)
                }),
                (None, _) => built.add_entry(section, |given: &Given| {
                    format!("Case {}, language {}", given.case, given.language)
                }),
                (Some(_), _) => match section {
                    Section::Materials => built.add_entry(section, |given: &Given| {
                        given.materials.iter().map(material).collect::<Vec<_>>()
                    }),
                    Section::Chunks => built.add_entry(section, |given: &Given| {
                        given.chunks.iter().map(chunk).collect::<Vec<_>>()
                    }),
                    _ => built.add_entry(section, |given: &Given| {
                        given.messages.iter().map(message).collect::<Vec<_>>()
                    }),
                },
            };
        }
    }
    Ok(built)
}

/// An entry that does not depend on the context.
fn fixed(section: &str, entry: &Value) -> Result<Vec<Entry<Given>>> {
    let alone = PromptModule::<Value>::from_json(&json!({ section: [entry] }))?;
    // It reads nothing of its own context, so any will do.
    let alone = alone.map_context(|_: &Given| &Value::Null);
    Ok(alone.get(section).unwrap_or_default().to_vec())
}

fn material(row: &Row) -> Material {
    with_usage(
        Material::new(row.id.clone(), row.title.clone(), row.content.clone()),
        row.usage,
        Material::with_usage,
    )
}

fn chunk(row: &Row) -> Chunk {
    let mut chunk = Chunk::new(row.id.clone(), row.content.clone());
    (chunk.index, chunk.total) = (row.index, row.total);
    with_usage(chunk, row.usage, Chunk::with_usage)
}

fn message(row: &Row) -> Message {
    let message = match row.role {
        Some(Role::Assistant) => Message::assistant(row.content.clone()),
        Some(Role::System) => Message::system(row.content.clone()),
        _ => Message::user(row.content.clone()),
    };
    match &row.name {
        Some(name) => message.with_name(name.clone()),
        None => message,
    }
}

fn with_usage<T>(element: T, usage: Option<u64>, set: impl FnOnce(T, u64) -> T) -> T {
    match usage {
        Some(usage) => set(element, usage),
        None => element,
    }
}

impl Given {
    fn of(context: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(Text::from);
        let rows =
            |name: &str| -> Option<Vec<Row>> { context[name].as_array()?.iter().map(Row::of).collect() };
        Some(Self {
            case: text(&context["caseId"])?,
            language: text(&context["language"])?,
            state: ContentWithUsage::new(
                context["state"]["content"].as_str()?,
                context["state"]["usage"].as_u64()?,
            ),
            materials: rows("materials")?,
            chunks: rows("chunks")?,
            messages: rows("messages")?,
        })
    }
}

impl Row {
    fn of(row: &Value) -> Option<Self> {
        let text = |key: &str| row[key].as_str().map(Text::from);
        Some(Self {
            id: text("id").or_else(|| text("partOf")).unwrap_or_default(),
            title: text("title").unwrap_or_default(),
            content: text("content")?,
            role: row["role"].as_str().and_then(Role::from_name),
            name: text("name"),
            index: row["index"].as_u64(),
            total: row["total"].as_u64(),
            usage: row["usage"].as_u64(),
        })
    }
}

/// A side that ran elsewhere, before.
struct RecordedSide {
    version: String,
    time: RecordedTime,
    /// What our side gives: the recorded one has no bytes that could be compared.
    output: Vec<u8>,
}

impl Side for RecordedSide {
    fn version(&self) -> &str {
        &self.version
    }

    fn output(&mut self) -> Result<Vec<u8>> {
        Ok(self.output.clone())
    }

    fn run(&mut self, iterations: u64) -> Result<Lap> {
        let time = Duration::from_secs_f64(self.time.min_ns * 1e-9 * iterations as f64);
        Ok(Lap { wall: time, processor: time })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sha2::{Digest as _, Sha256};

    use super::*;

    /// The recorded text has the schema at the end of the instructions, where a later state of the same framework, and ours,
    /// has it at the start of the output.
    #[test]
    fn the_text_is_the_recorded_one_but_for_the_place_of_the_schema() {
        let home = Path::new(env!("CARGO_MANIFEST_DIR"));
        let recorded: Recorded =
            workload::load(&workload::path(home, KIND, "recorded")).expect("recorded figures");
        let text = fs::read_to_string(home.join("workloads").join(KIND).join("text.md")).expect("a text");
        let place = |start: &str| text.find(start).expect(start);
        let (data, schema) = (place("\n\n# Data\n"), place("\n\n### Output Schema\n"));
        let after = place("\n\n## Output\n");
        let moved = [&text[..data], &text[schema..after], &text[data..schema], &text[after..]].concat();
        let sum: String = Sha256::digest(moved).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(sum, recorded.output.text_sha256);
    }

    /// With the environment variable `HINAGATA_BLESS` the files are written instead of compared.
    #[test]
    fn the_requests_are_those_that_are_written_down() {
        let home = Path::new(env!("CARGO_MANIFEST_DIR"));
        let load = |name| workload::path(home, KIND, name);
        let workload: ModuleWorkload = workload::load(&load("large")).expect("a workload");
        let recorded: Recorded = workload::load(&load("recorded")).expect("recorded figures");
        let work = Work::new(&workload).expect("modules");
        work.check(&workload.context, &recorded.output).expect("has everything");
        for (driver, file, _) in ROWS {
            let path = home.join("workloads").join(KIND).join(file);
            let made = work.run(driver).expect("can be sent");
            if std::env::var_os("HINAGATA_BLESS").is_some() {
                fs::write(&path, &made).expect("can be written");
            }
            assert!(made == fs::read(&path).expect("is written down"), "{file} differs");
        }
    }
}
