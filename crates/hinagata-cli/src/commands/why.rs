//! `hina why`: the chain behind a pack, a prompt, a partial or a variable.

use std::collections::BTreeSet;

use hinagata::{Catalog, Code, Engine, PackId, Resolutions};
use serde_json::{Value, json};

use crate::{
    completion,
    failure::Failure,
    output::{self, Format, sanitize_text},
    workspace::{Globals, Workspace},
};

/// Show why something is used, and what uses it
///
/// For a prompt: the candidates, why one of them is used, its parents and files, and the prompts that build on it. For a
/// partial: which files have that name, and which prompts include them. For a pack: its state, and what comes from it.
/// For a variable: which prompts declare and read it. Nothing runs.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// A pack, a prompt, a partial or a variable
    #[arg(value_name = "PACK|ID|PARTIAL|VARIABLE", add = completion::complete_prompts())]
    name: String,
}

const EXAMPLES: &str = "Examples:
  hina why general_system
  hina why partials/tone.md
  hina why agent_name
  hina why politeness";

/// What is known about one name.
struct Chain {
    kind: &'static str,
    rows: Vec<(String, String)>,
}

impl Chain {
    fn new(kind: &'static str) -> Self {
        Self { kind, rows: Vec::new() }
    }

    fn push(&mut self, label: impl Into<String>, text: impl Into<String>) {
        self.rows.push((label.into(), text.into()));
    }
}

/// A prompt with the files that it is read from.
struct PromptFiles {
    id: String,
    source: String,
    files: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<(), Failure> {
    let workspace = Workspace::open(globals)?;
    let engine = workspace.open_engine()?;
    let chains = find_chains(&engine, &arguments.name)?;
    if chains.is_empty() {
        let catalog = engine.catalog();
        let mut known: BTreeSet<String> =
            catalog.list().iter().map(|listing| listing.id.to_string()).collect();
        known.extend(catalog.packs().map(|pack| pack.as_str().to_owned()));
        known.extend(catalog.template_names());
        let near = hinagata_value::near_names(&arguments.name, known.iter().map(String::as_str));
        let message = format!("no pack, prompt, partial or variable is called `{}`", arguments.name);
        return Err(Failure::not_found(message).with_near(near));
    }
    if Format::from_globals(globals) == Format::Json {
        let all: Vec<Value> = chains
            .iter()
            .map(|chain| {
                let rows = chain.rows.iter().map(|(label, text)| json!({"step": label, "is": text}));
                json!({"name": arguments.name, "kind": chain.kind, "chain": rows.collect::<Vec<_>>()})
            })
            .collect();
        return output::print_json(&all);
    }
    for chain in &chains {
        let mut rows = vec![vec![chain.kind.to_owned(), sanitize_text(&arguments.name)]];
        rows.extend(chain.rows.iter().map(|(label, text)| vec![label.clone(), sanitize_text(text)]));
        output::print_text(&output::align_columns(&rows))?;
    }
    Ok(())
}

fn find_chains(engine: &Engine, name: &str) -> Result<Vec<Chain>, Failure> {
    let catalog = engine.catalog();
    let prompts = read_prompts(engine, &catalog);
    let mut chains = Vec::new();
    if let Some(id) = catalog.packs().find(|pack| pack.as_str() == name).cloned() {
        chains.push(pack_chain(&catalog, &id, &prompts));
    }
    match catalog.candidates(name) {
        Ok(_) => chains.push(prompt_chain(engine, &catalog, name, &prompts)?),
        Err(error) if matches!(error.code(), Code::NotFound | Code::Id) => {}
        Err(error) => return Err(error.into()),
    }
    chains.extend(partial_chain(&catalog, name, &prompts));
    if chains.is_empty() {
        chains.extend(variable_chain(engine, &catalog, name));
    }
    Ok(chains)
}

fn read_prompts(engine: &Engine, catalog: &Catalog) -> Vec<PromptFiles> {
    let ids = catalog.list().into_iter().map(|listing| listing.id.to_string());
    ids.filter_map(|id| {
        let source = catalog.choose(&id).ok()?.entry.source().to_owned();
        let files = engine.definition_files(&id).unwrap_or_default();
        Some(PromptFiles { id, source, files })
    })
    .collect()
}

fn pack_chain(catalog: &Catalog, id: &PackId, prompts: &[PromptFiles]) -> Chain {
    let mut chain = Chain::new("pack");
    if let Some(pack) = catalog.pack(id) {
        chain.push("in", pack.path());
    }
    if let Ok(Some(manifest)) = catalog.manifest(id) {
        chain.push("version", manifest.version.clone());
        for (replaced, own) in &manifest.replaces.prompts {
            chain.push("replaces", format!("{replaced} by {own}"));
        }
    }
    let state = serde_json::to_value(catalog.approval(id)).unwrap_or_default();
    let active = if catalog.is_active(id) { ", active" } else { "" };
    chain.push("approval", format!("{}{active}", state.as_str().unwrap_or("unknown")));
    let inside =
        |path: &str| path.starts_with(&format!("packs/{id}/")) || path.contains(&format!("/packs/{id}/"));
    for prompt in prompts {
        if inside(&prompt.source) {
            chain.push("brings", prompt.id.clone());
        } else if let Some(file) = prompt.files.iter().find(|file| inside(file)) {
            chain.push("used by", format!("{} ({file})", prompt.id));
        }
    }
    chain
}

fn prompt_chain(
    engine: &Engine,
    catalog: &Catalog,
    name: &str,
    prompts: &[PromptFiles],
) -> Result<Chain, Failure> {
    let mut chain = Chain::new("prompt");
    let candidates = catalog.candidates(name)?;
    let chosen = match catalog.choose(name) {
        Ok(chosen) => chosen,
        Err(error) => {
            chain.push("unresolved", error.message().to_owned());
            for candidate in candidates {
                chain.push("candidate", candidate.source);
            }
            return Ok(chain);
        }
    };
    if chosen.id.as_str() != name {
        chain.push("means", format!("{}, by its normal form or the vocabulary", chosen.id));
    }
    let source = chosen.entry.source();
    let reason = choice_reason(catalog.resolutions(), &chosen, candidates.len());
    chain.push("is", format!("{source} ({reason})"));
    for candidate in candidates.iter().filter(|candidate| candidate.source != source) {
        let state = if candidate.approved { "" } else { ", whose pack is not approved" };
        chain.push("instead of", format!("{}{state}", candidate.source));
    }
    match engine.definition(name) {
        Ok(inherited) => {
            for parent in &inherited.parents {
                chain.push("extends", parent.source.clone());
            }
        }
        Err(error) => chain.push("broken", error.message().to_owned()),
    }
    let own = prompts.iter().find(|prompt| prompt.source == source);
    for file in own.map(|prompt| prompt.files.as_slice()).unwrap_or_default() {
        chain.push("reads", file.clone());
    }
    let directory = format!("{source}/");
    for other in prompts.iter().filter(|prompt| prompt.source != source) {
        if let Some(file) = other.files.iter().find(|file| file.starts_with(&directory)) {
            chain.push("used by", format!("{} ({file})", other.id));
        }
    }
    Ok(chain)
}

/// Why a candidate is the one that a name refers to.
fn choice_reason(resolutions: &Resolutions, chosen: &hinagata::ResolvedPrompt, candidates: usize) -> String {
    match resolutions.get(&chosen.id) {
        Some(recorded) if recorded.source == chosen.entry.source() => match &recorded.resolved_at {
            Some(time) => format!("chosen in resolution.json at {time}"),
            None => "chosen in resolution.json".to_owned(),
        },
        _ if chosen.entry.id() != &chosen.id => "a pack replaces it".to_owned(),
        _ if candidates == 1 => "the only candidate".to_owned(),
        _ => "the only usable candidate".to_owned(),
    }
}

fn partial_chain(catalog: &Catalog, name: &str, prompts: &[PromptFiles]) -> Option<Chain> {
    let wanted = name.strip_prefix("partials/").unwrap_or(name);
    let is_partial = |path: &str| {
        let file = path.strip_prefix("partials/").unwrap_or(path);
        file == wanted || file.rsplit_once('.').is_some_and(|(stem, _)| stem == wanted)
    };
    let mut chain = Chain::new("partial");
    let mut files = Vec::new();
    for index in catalog.roots() {
        for path in index.root.tree.list_partials().into_iter().filter(|path| is_partial(path)) {
            files.push(format!("{}/{path}", index.root.prefix));
        }
    }
    if files.is_empty() {
        return None;
    }
    for file in files {
        let users: Vec<&str> = prompts
            .iter()
            .filter(|prompt| prompt.files.contains(&file))
            .map(|prompt| prompt.id.as_str())
            .collect();
        let state = if users.is_empty() { " (no prompt reads it)" } else { "" };
        chain.push("is", format!("{file}{state}"));
        for user in users {
            chain.push("used by", user);
        }
    }
    Some(chain)
}

fn variable_chain(engine: &Engine, catalog: &Catalog, name: &str) -> Option<Chain> {
    let mut chain = Chain::new("variable");
    for listing in catalog.list() {
        let id = listing.id.to_string();
        let Ok(inherited) = engine.definition(&id) else { continue };
        let is_read =
            engine.template_variables(&id).is_ok_and(|names| names.iter().any(|known| known == name));
        let declared = inherited.parameters.get(name);
        if let Some(parameter) = declared {
            let place = parameter.place.as_ref().map(|place| format!(" at {place}")).unwrap_or_default();
            let default = match &parameter.default {
                Some(_) if parameter.secret => ", with a secret default".to_owned(),
                Some(default) => format!(", default {default}"),
                None if parameter.must_be_passed() => ", to be passed".to_owned(),
                None => String::new(),
            };
            let kind = parameter.kind.name();
            let read = if is_read { "" } else { ", which no template reads" };
            chain.push("declared by", format!("{id}{place}: {kind}{default}{read}"));
        } else if is_read {
            chain.push("read by", format!("{id}, which does not declare it"));
        }
    }
    (!chain.rows.is_empty()).then_some(chain)
}
