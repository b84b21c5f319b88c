//! One workspace: its catalog with unsaved texts, and what every prompt has wrong.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    path::{Path, PathBuf},
    sync::{Arc, PoisonError},
};

use hinagata::{Catalog, Engine, source::UnsavedTexts};
use hinagata_check::{
    Finding, ParseCache, PromptReport, check_catalog, check_prompt, check_text,
    editor::{Project, ToolDescription},
};
use hinagata_document::{Code, Error, LineColumn, Place, Reason, json, toml, yaml};
use hinagata_host::{OpenOptions, OpenWorkspace};
use hinagata_template::{Language, NoSources};

use crate::{documents::Document, values::PreviewValues};

/// The code of a finding about a document that is no prompt.
const DOCUMENT_CODE: &str = "syntax.definition";

/// A workspace that documents belong to.
pub(crate) struct Workspace {
    /// The directory, without symbolic links.
    pub(crate) root: PathBuf,
    opened: OpenWorkspace,
    engine: Engine,
    saved: Catalog,
    project: Project,
    cache: ParseCache,
    reports: HashMap<String, PromptReport>,
    by_file: HashMap<String, BTreeMap<String, Vec<Finding>>>,
    catalog_findings: Vec<Finding>,
    unsaved: BTreeMap<String, Arc<str>>,
    waiting: VecDeque<String>,
    is_waiting: BTreeSet<String>,
    touched: BTreeSet<String>,
    /// The documents whose prompts were not checked since an edit.
    edited: BTreeSet<String>,
    /// The variables of previews.
    pub(crate) previews: PreviewValues,
}

impl Workspace {
    /// Opens the workspace at `root`. Its prompts are checked by [`Workspace::check_next`].
    pub(crate) fn open(options: &OpenOptions, root: &Path) -> hinagata::Result<Self> {
        let options = OpenOptions { root: Some(root.to_owned()), ..options.clone() };
        let opened = OpenWorkspace::open(&options, root)?;
        let engine = opened.open_engine_with(None, |_| {})?;
        let mut workspace = Self {
            root: root.canonicalize().unwrap_or_else(|_| root.to_owned()),
            saved: engine.catalog(),
            opened,
            engine,
            project: Project::default(),
            cache: ParseCache::default(),
            reports: HashMap::new(),
            by_file: HashMap::new(),
            catalog_findings: Vec::new(),
            unsaved: BTreeMap::new(),
            waiting: VecDeque::new(),
            is_waiting: BTreeSet::new(),
            touched: BTreeSet::new(),
            edited: BTreeSet::new(),
            previews: PreviewValues::default(),
        };
        workspace.read_tools();
        workspace.update_catalog();
        workspace.check_everything();
        Ok(workspace)
    }

    /// Reads settings, files and the store again.
    pub(crate) fn reload_settings(&mut self) {
        // Settings that cannot be read now leave those that were read before in effect; the file has a finding.
        if let Ok(opened) = self.opened.reopen()
            && let Ok(engine) = opened.open_engine_with(None, |_| {})
        {
            (self.opened, self.engine) = (opened, engine);
        }
        self.saved = self.engine.reload();
        self.read_tools();
        self.update_catalog();
        self.check_everything();
    }

    /// Notices that files changed on the disk.
    pub(crate) fn reload_files(&mut self) {
        self.saved = self.engine.reload();
        self.update_catalog();
        self.check_everything();
    }

    fn read_tools(&mut self) {
        let set = self.engine.tool_set();
        let mut tools: BTreeMap<String, ToolDescription> = BTreeMap::new();
        for (name, tool) in set.iter().flat_map(|set| set.tools()) {
            let description = ToolDescription {
                description: tool.description.clone(),
                parameters: tool.parameters.clone(),
            };
            if let Some(module) = &tool.module {
                tools.insert(format!("tools.{module}.{}", tool.name), description.clone());
            }
            tools.insert(name.clone(), description);
        }
        self.project.options = self.opened.check_options(&self.engine);
        // What was parsed and tried before belongs to the functions of before.
        self.cache = ParseCache::default();
        self.project.tools = Arc::new(tools);
    }

    /// What questions are answered from.
    pub(crate) fn project(&self) -> Project {
        self.project.clone()
    }

    /// The engine that renders previews: it calls neither Python nor tools nor models.
    pub(crate) fn preview_engine(&self) -> Engine {
        self.engine.without_calls().with_unsaved(self.unsaved_texts())
    }

    /// The path of a file as the catalog has it; `None` outside of the workspace.
    pub(crate) fn path_of(&self, file: &Path) -> Option<String> {
        let real = || file.canonicalize().ok();
        let inner = file.strip_prefix(&self.root).map(Path::to_owned).ok();
        let inner = inner.or_else(|| Some(real()?.strip_prefix(&self.root).ok()?.to_owned()));
        if let Some(inner) = inner {
            return Some(inner.to_string_lossy().replace('\\', "/"));
        }
        let path = file.to_string_lossy().replace('\\', "/");
        let is_in = |prefix: &str| path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'));
        self.saved.roots().iter().any(|index| is_in(&index.root.prefix)).then_some(path)
    }

    /// The file of a path of the catalog.
    pub(crate) fn file_of(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Takes the text of an open document in the place of the saved one; `None` for the saved one.
    pub(crate) fn set_unsaved(&mut self, path: &str, text: Option<Arc<str>>) {
        match text {
            Some(text) => drop(self.unsaved.insert(path.to_owned(), text)),
            None => drop(self.unsaved.remove(path)),
        }
        self.update_catalog();
        self.touched.insert(path.to_owned());
        self.edited.insert(path.to_owned());
        self.check_dependants(path);
    }

    fn unsaved_texts(&self) -> BTreeMap<String, UnsavedTexts> {
        let mut texts: BTreeMap<String, UnsavedTexts> = BTreeMap::new();
        for (path, text) in &self.unsaved {
            let Some(file) = self.saved.held_file(path).filter(hinagata::edit::HeldFile::is_in_root) else {
                continue;
            };
            let (prefix, inner) = file.split_path();
            texts.entry(prefix.to_owned()).or_default().insert(inner.to_owned(), Some(Arc::clone(text)));
        }
        texts
    }

    fn update_catalog(&mut self) {
        let texts = self.unsaved_texts();
        let catalog = match texts.is_empty() {
            true => self.saved.clone(),
            false => self.saved.with_unsaved(texts),
        };
        self.project.catalog = Some(catalog);
        self.project.open = Arc::new(self.unsaved.clone());
    }

    fn catalog(&self) -> &Catalog {
        self.project.catalog.as_ref().unwrap_or(&self.saved)
    }

    /// Checks all prompts again, those with open files first.
    fn check_everything(&mut self) {
        self.waiting.clear();
        self.is_waiting.clear();
        let sources: Vec<String> = self
            .catalog()
            .roots()
            .iter()
            .flat_map(|index| index.iter().map(|entry| entry.source().to_owned()))
            .collect();
        let known: BTreeSet<&String> = sources.iter().collect();
        let gone: Vec<String> =
            self.reports.keys().filter(|source| !known.contains(source)).cloned().collect();
        for source in gone {
            self.store_report(&source, None);
        }
        for path in self.unsaved.keys().cloned().collect::<Vec<_>>() {
            for source in self.project.users_of(&path) {
                self.add_waiting(source);
            }
        }
        for source in sources {
            self.add_waiting(source);
        }
        let before = std::mem::take(&mut self.catalog_findings);
        self.catalog_findings = check_catalog(self.catalog(), &self.project.options);
        let files = before.iter().chain(&self.catalog_findings).map(|finding| finding.file().to_owned());
        self.touched.extend(files.collect::<Vec<_>>());
    }

    fn add_waiting(&mut self, source: String) {
        if self.is_waiting.insert(source.clone()) {
            self.waiting.push_back(source);
        }
    }

    /// Checks the prompts again that a file belongs to or that use it, its own first.
    fn check_dependants(&mut self, path: &str) {
        let mut sources: Vec<String> = self.project.owner_of(path).into_iter().collect();
        let owner = sources.first().cloned();
        if let Some(owner) = &owner {
            let extends = |report: &PromptReport| report.parents.contains(owner);
            sources.extend(
                self.reports.iter().filter(|(_, report)| extends(report)).map(|(source, _)| source.clone()),
            );
        }
        let others = self.project.users_of(path);
        sources.extend(others.into_iter().filter(|source| Some(source) != owner.as_ref()));
        for source in sources.into_iter().rev() {
            if self.is_waiting.insert(source.clone()) {
                self.waiting.push_front(source);
            } else if let Some(at) = self.waiting.iter().position(|known| *known == source) {
                self.waiting.remove(at);
                self.waiting.push_front(source);
            }
        }
    }

    /// Checks one prompt that waits; `false` if none does.
    pub(crate) fn check_next(&mut self) -> bool {
        let Some(source) = self.waiting.pop_front() else { return false };
        self.check_source(&source);
        true
    }

    fn check_source(&mut self, source: &str) {
        self.is_waiting.remove(source);
        let catalog = self.catalog().clone();
        let report = check_prompt(&catalog, &self.project.options, source, &mut self.cache);
        self.store_report(source, report);
    }

    /// Checks the prompts that a file belongs to.
    pub(crate) fn check_file(&mut self, path: &str) {
        for source in self.project.users_of(path) {
            if let Some(at) = self.waiting.iter().position(|waiting| *waiting == source) {
                self.waiting.remove(at);
                self.check_source(&source);
            }
        }
    }

    /// Checks the prompts of the documents that were edited since the last call.
    pub(crate) fn check_edited(&mut self) {
        for path in std::mem::take(&mut self.edited) {
            self.check_file(&path);
        }
    }

    /// Checks everything that waits.
    pub(crate) fn check_all(&mut self) {
        while self.check_next() {}
    }

    fn store_report(&mut self, source: &str, report: Option<PromptReport>) {
        let before = self.reports.remove(source);
        let mut users = self.project.users.write().unwrap_or_else(PoisonError::into_inner);
        for file in before.iter().flat_map(|report| &report.files) {
            if let Some(known) = users.get_mut(file) {
                known.remove(source);
            }
        }
        for file in report.iter().flat_map(|report| &report.files) {
            users.entry(file.clone()).or_default().insert(source.to_owned());
        }
        drop(users);
        let reports = || before.iter().chain(&report);
        let files: BTreeSet<String> = reports()
            .flat_map(|report| {
                report
                    .files
                    .iter()
                    .cloned()
                    .chain(report.findings.iter().map(|found| found.file().to_owned()))
            })
            .collect();
        for file in &files {
            let found: Vec<Finding> = report
                .iter()
                .flat_map(|report| &report.findings)
                .filter(|finding| finding.file() == file)
                .cloned()
                .collect();
            let of_file = self.by_file.entry(file.clone()).or_default();
            let is_same = match of_file.get(source) {
                None => found.is_empty(),
                Some(known) => same_findings(known, &found),
            };
            if report.as_ref().is_some_and(|report| report.files.contains(file)) || !found.is_empty() {
                of_file.insert(source.to_owned(), found);
            } else {
                of_file.remove(source);
            }
            if !is_same {
                self.touched.insert(file.clone());
            }
        }
        if let Some(report) = report {
            self.reports.insert(source.to_owned(), report);
        }
    }

    /// The files whose findings may have changed since the last call.
    pub(crate) fn take_touched(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.touched)
    }

    /// The files that have findings.
    pub(crate) fn files_with_findings(&self) -> BTreeSet<String> {
        let of_prompts =
            self.by_file.iter().filter(|(_, found)| found.values().any(|found| !found.is_empty()));
        let of_catalog = self.catalog_findings.iter().map(|finding| finding.file().to_owned());
        of_prompts
            .map(|(file, _)| file.clone())
            .chain(of_catalog)
            .chain(self.unsaved.keys().cloned())
            .collect()
    }

    /// The findings of a file, each once.
    pub(crate) fn findings_of(&self, path: &str, document: Option<&Document>) -> Vec<Finding> {
        let mut all: Vec<Finding> = Vec::new();
        let of_prompts = self.by_file.get(path);
        let reports: Vec<&Vec<Finding>> = of_prompts.into_iter().flat_map(BTreeMap::values).collect();
        let key = |finding: &Finding| {
            let place = finding.place().map(|place| (place.line, place.column));
            (place, finding.code.code, finding.error.message().to_owned())
        };
        let mut seen = BTreeSet::new();
        for found in &reports {
            for finding in *found {
                // A silence is of use if one of the prompts needs it.
                let everywhere = finding.code.code != "allow.unused"
                    || reports.iter().all(|other| other.iter().any(|other| key(other) == key(finding)));
                if everywhere && seen.insert(key(finding)) {
                    all.push(finding.clone());
                }
            }
        }
        let of_catalog = self.catalog_findings.iter().filter(|finding| finding.file() == path);
        all.extend(of_catalog.filter(|finding| seen.insert(key(finding))).cloned());
        if let Some(document) = document.filter(|_| reports.is_empty()) {
            all.extend(
                loose_findings(path, &document.text, &self.project)
                    .into_iter()
                    .filter(|finding| seen.insert(key(finding))),
            );
        }
        all
    }
}

fn same_findings(one: &[Finding], other: &[Finding]) -> bool {
    let key = |finding: &Finding| {
        let place = finding.place().map(|place| (place.line, place.column));
        (
            place,
            finding.end.map(|end| (end.line, end.column)),
            finding.code.code,
            finding.error.message().to_owned(),
        )
    };
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| key(one) == key(other))
}

/// The findings of a document that no prompt uses: its syntax, and for a template the names of the language.
pub(crate) fn loose_findings(path: &str, text: &str, project: &Project) -> Vec<Finding> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let is_held = project.catalog.as_ref().is_some_and(|catalog| catalog.held_file(path).is_some());
    let is_template = matches!(ending.as_deref(), Some("jinja" | "j2" | "jinja2" | "gotmpl" | "tmpl"))
        || name == "template.md"
        || (is_held && matches!(ending.as_deref(), Some("md" | "txt" | "xml" | "html")));
    if is_template {
        let language = project
            .regions(path, text)
            .first()
            .map_or(Language::from_file_name(path), |region| region.language);
        let region = project.regions(path, text).into_iter().next();
        let template = region.as_ref().map_or(text, |region| &region.text);
        let start = region.as_ref().map_or(0, |region| region.in_file(0));
        let first_line = text[..start].matches('\n').count() as u32;
        let mut findings = check_text(path, template, language, &NoSources, &project.options);
        for finding in &mut findings {
            move_down(finding, first_line);
        }
        return findings;
    }
    let is_ours = is_held
        || matches!(
            name,
            "hinagata.toml"
                | "pack.json"
                | "agent.json"
                | "vocab.json"
                | "prompt.yaml"
                | "prompt.json"
                | "module.yaml"
        );
    if !is_ours {
        return Vec::new();
    }
    let errors: Vec<Error> = match ending.as_deref() {
        Some("json") => json::parse(path, text).err().into_iter().collect(),
        Some("yaml" | "yml") => yaml::parse(path, text, text, 1).err().into_iter().collect(),
        Some("toml") => match toml::parse(path, text) {
            Ok(_) => Vec::new(),
            Err(problems) => problems
                .into_iter()
                .map(|(message, place)| {
                    let error = Error::new(Code::Definition, message).with_reason(Reason::Syntax);
                    place.into_iter().fold(error, Error::at)
                })
                .collect(),
        },
        _ => Vec::new(),
    };
    let Some(code) = hinagata_check::find_code(DOCUMENT_CODE) else { return Vec::new() };
    let finding =
        |error| Finding { code, level: code.level, source: path.to_owned(), error, length: None, end: None };
    errors.into_iter().map(finding).collect()
}

/// Moves a finding down by the lines of front matter.
fn move_down(finding: &mut Finding, lines: u32) {
    if lines == 0 {
        return;
    }
    if let Some(place) = finding.place().cloned() {
        finding.error = finding.error.clone().at(Place { line: place.line + lines, ..place });
    }
    finding.end = finding.end.map(|end| LineColumn { line: end.line + lines, ..end });
}
