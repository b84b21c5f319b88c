//! Checks the prompts of a workspace.

mod cases;
mod declared;
mod general;
mod prompt;
mod session;
mod sources;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use hinagata_catalog::{
    Approval, Catalog, PackId,
    definition::UndefinedMode,
    source::{Entry, Index},
};
use hinagata_document::{Code, Diagnostic, Error, Place, TextOrigin};
use hinagata_template::{Options, SourceText, Sources};
use hinagata_value::{Arguments, Closure, Functions, Host, Value};

pub(crate) use self::prompt::{BodyTemplate, body_templates};
pub use self::{
    general::check_manifest,
    session::{PromptReport, check_catalog, check_prompt, prompt_variables},
};
use self::{
    general::{general_findings, unused_partials},
    prompt::{CheckedPrompt, PromptChecker, place_finding},
};
use crate::{
    check::{ParseCache, Surroundings, ToolSpec, Variables, check_template},
    finding::Finding,
    hooks::PythonFound,
    level::Level,
    models::Models,
    rules::LevelRules,
    shape::{Fields, Shape},
    silence::{MarkedText, Silences},
};

/// How many prompts a thread takes at once.
const PROMPTS_AT_ONCE: usize = 16;

/// What a check of a workspace needs besides the catalog.
#[derive(Clone, Default)]
pub struct CheckOptions {
    /// The functions that tools add to templates. Only their names and signatures are used.
    pub functions: Functions,
    /// How undefined variables behave in prompts that do not set it.
    pub undefined: Option<UndefinedMode>,
    /// The tools that templates can call, by function name.
    pub tools: Arc<BTreeMap<String, ToolSpec>>,
    /// What is known about models besides the table of this crate.
    pub models: Models,
    /// Other levels than the usual ones.
    pub levels: LevelRules,
    /// Whether a pack is looked at before it is approved: its silences of findings about security do not count.
    pub is_review: bool,
    /// Diagnostics of what is around the prompts, such as settings and tools, which become findings.
    pub more: Vec<Diagnostic>,
}

impl CheckOptions {
    /// The options for a workspace with tools of these names.
    pub fn from_names(names: impl IntoIterator<Item = String>, undefined: Option<UndefinedMode>) -> Self {
        let mut functions = Functions::new();
        for name in names {
            functions.insert(Closure::new(name, |_: &Host<'_, '_>, _: &Arguments<'_, '_>| Ok(Value::None)));
        }
        Self { functions, undefined, ..Self::default() }
    }

    /// The options for a workspace with these tools, by function name.
    pub fn from_tools(tools: BTreeMap<String, ToolSpec>, undefined: Option<UndefinedMode>) -> Self {
        Self { tools: Arc::new(tools.clone()), ..Self::from_names(tools.into_keys(), undefined) }
    }
}

/// What a check finds, as diagnostics: errors and warnings that neither the diagnostics of the catalog nor those of the
/// options have.
#[must_use]
pub fn template_diagnostics(catalog: &Catalog, options: &CheckOptions) -> Vec<Diagnostic> {
    let identity = |found: &Diagnostic| (found.source.clone(), found.error.message().to_owned());
    let of_catalog = catalog.check();
    let mut known: BTreeSet<_> = of_catalog.iter().chain(&options.more).map(identity).collect();
    // The catalog reports all problems of a definition as one.
    for found in of_catalog {
        let problems = prompt::split_problems(found.error);
        known.extend(problems.iter().map(|error| (found.source.clone(), error.message().to_owned())));
    }
    let findings = check_workspace(catalog, options);
    let reported = findings.iter().filter(|finding| finding.level != Level::Hint).map(Finding::to_diagnostic);
    reported.filter(|found| !known.contains(&identity(found))).collect()
}

/// Checks all prompts of a catalog that may be used, and everything that its diagnostics report. No code runs.
///
/// The findings are sorted by file and place. Silences in the files are obeyed.
#[must_use]
pub fn check_workspace(catalog: &Catalog, options: &CheckOptions) -> Vec<Finding> {
    let mut checker = Checker::new(options.clone());
    checker.check_all(catalog);
    checker.findings()
}

/// As [`check_workspace`], for the prompts at these sources, with the templates that they use.
#[must_use]
pub fn check_prompts(catalog: &Catalog, options: &CheckOptions, sources: &[String]) -> Vec<Finding> {
    let mut checker = Checker::new(options.clone());
    checker.check_prompts(catalog, sources);
    checker.findings()
}

/// Checks a pack as if it were approved, for those who decide about it: its manifest, Python and prompts with what they
/// use. Its silences of findings about security do not count. Nothing of it runs.
#[must_use]
pub fn check_pack(catalog: &Catalog, options: &CheckOptions, pack: &PackId) -> Vec<Finding> {
    let mut approvals = catalog.approvals().clone();
    approvals.set(pack.as_str(), Approval::Approved);
    let catalog = catalog.with_approvals(approvals);
    let Some(opened) = catalog.opened_packs().iter().find(|opened| opened.id == *pack) else {
        return Vec::new();
    };
    let path = opened.path();
    let mut checker = Checker::new(CheckOptions { is_review: true, more: Vec::new(), ..options.clone() });
    checker.check_all(&catalog);
    let is_own = |source: &str| {
        source.strip_prefix(&path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mut findings = checker.findings();
    findings.retain(|finding| is_own(&finding.source) || is_own(finding.file()));
    findings
}

/// Checks that remember what they found, so that after a change only the prompts that it concerns are checked again.
///
/// ```
/// use std::{collections::BTreeMap, sync::Arc};
///
/// use hinagata_catalog::{Catalog, CatalogOptions};
/// use hinagata_check::{CheckOptions, Checker};
///
/// # let root = tempfile::tempdir()?;
/// let catalog = Catalog::open(CatalogOptions::new(root.path()));
/// let mut checker = Checker::new(CheckOptions::default());
/// checker.check_all(&catalog);
/// assert!(checker.findings().is_empty());
///
/// // What an editor has not saved yet counts.
/// let (prefix, path) = ("user_data/shared/prompts", "hello/template.md");
/// let unsaved: Option<Arc<str>> = Some("Hello {{ name|uper }}".into());
/// let texts = BTreeMap::from([(prefix.to_owned(), BTreeMap::from([(path.to_owned(), unsaved)]))]);
/// let checked = checker.check_changes(&catalog.with_unsaved(texts), &[format!("{prefix}/{path}")]);
/// assert!(checked.contains(&"user_data/shared/prompts/hello".to_owned()));
/// assert_eq!(checker.findings()[0].code.code, "name.filter");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Default)]
pub struct Checker {
    options: CheckOptions,
    /// Parsed templates, for each thread.
    parsed: Vec<ParseCache>,
    prompts: BTreeMap<String, CheckedPrompt>,
    /// Findings that are about no single prompt.
    general: Vec<Finding>,
    /// Whether all prompts were checked once.
    is_complete: bool,
}

impl Checker {
    /// A checker that knows nothing yet.
    #[must_use]
    pub fn new(options: CheckOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// Checks everything. Only parsed templates are used again.
    pub fn check_all(&mut self, catalog: &Catalog) {
        self.prompts.clear();
        catalog.roots().iter().for_each(Index::look_at_directories);
        let entries: Vec<Arc<Entry>> =
            catalog.roots().iter().flat_map(|index| index.iter().cloned()).collect();
        self.check_entries(catalog, &entries);
        self.general = general_findings(catalog, &self.options);
        self.general.extend(unused_partials(catalog, self.prompts.values()));
        self.is_complete = true;
    }

    /// Checks the prompts at these sources, and forgets those that are gone.
    pub fn check_prompts(&mut self, catalog: &Catalog, sources: &[String]) {
        let mut entries = Vec::new();
        for source in sources {
            match catalog.entry_at(source) {
                Some(entry) => entries.push(entry),
                None => drop(self.prompts.remove(source)),
            }
        }
        self.check_entries(catalog, &entries);
    }

    /// Checks the prompts that a change of these files may concern, and returns their sources. The paths are as in
    /// findings: from the workspace root, or absolute outside of it. A file that belongs to no prompt and is no
    /// template, such as the settings or a manifest, concerns all.
    pub fn check_changes(&mut self, catalog: &Catalog, files: &[String]) -> Vec<String> {
        let concerns_all = |file: &String| !is_prompt_file(catalog, file);
        if !self.is_complete || files.iter().any(concerns_all) {
            self.check_all(catalog);
            return self.prompts.keys().cloned().collect();
        }
        let mut sources: BTreeSet<String> =
            files.iter().filter_map(|file| prompt_of_file(catalog, file)).collect();
        sources.extend(self.prompts_using(files));
        let sources: Vec<String> = sources.into_iter().collect();
        self.check_prompts(catalog, &sources);
        sources
    }

    /// The sources of the prompts whose findings depend on one of these files, or would if it existed.
    #[must_use]
    pub fn prompts_using(&self, files: &[String]) -> Vec<String> {
        let uses = |(source, checked): &(&String, &CheckedPrompt)| {
            checked.is_unresolved
                || files.iter().any(|file| {
                    let is_own = file.strip_prefix(source.as_str()).is_some_and(|rest| rest.starts_with('/'));
                    let name = file.rsplit('/').next().unwrap_or(file);
                    is_own
                        || checked.files.contains(file)
                        || checked.asked.iter().any(|asked| asked.rsplit('/').next() == Some(name))
                })
        };
        self.prompts.iter().filter(uses).map(|(source, _)| source.clone()).collect()
    }

    /// The files that the last check of a prompt read.
    pub fn files_of(&self, source: &str) -> impl Iterator<Item = &str> {
        self.prompts.get(source).into_iter().flat_map(|checked| checked.files.iter().map(String::as_str))
    }

    /// All findings, sorted by file and place. Silences in the files are obeyed.
    #[must_use]
    pub fn findings(&self) -> Vec<Finding> {
        let mut silences = Silences::for_review(self.options.is_review);
        for (source, checked) in &self.prompts {
            silences.add_allowed(source, &checked.allowed);
            checked.texts.iter().for_each(|text| silences.add_text(text));
        }
        let mut seen = BTreeSet::new();
        let all = self.general.iter().chain(self.prompts.values().flat_map(|checked| &checked.findings));
        let mut findings: Vec<Finding> =
            all.filter(|finding| seen.insert(identity(finding))).cloned().collect();
        let of_checked = |file: &str| {
            let is_own = |source: &str| file.strip_prefix(source).is_some_and(|rest| rest.starts_with('/'));
            self.is_complete || self.prompts.keys().any(|source| is_own(source))
        };
        silences.apply(&mut findings, &of_checked);
        self.options.levels.apply(&mut findings);
        findings.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
        findings
    }

    fn check_entries(&mut self, catalog: &Catalog, entries: &[Arc<Entry>]) {
        let providers = provider_names(catalog);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = entries.len().div_ceil(PROMPTS_AT_ONCE).clamp(1, cores);
        self.parsed.resize_with(threads.max(self.parsed.len()), ParseCache::default);
        let (options, next, done) = (&self.options, AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = |parsed: &mut ParseCache| {
            let mut checker = PromptChecker::new(catalog, options, &providers, parsed);
            let mut own = Vec::new();
            loop {
                let start = next.fetch_add(PROMPTS_AT_ONCE, Ordering::Relaxed);
                let Some(rest) = entries.get(start..).filter(|rest| !rest.is_empty()) else { break };
                for entry in rest.iter().take(PROMPTS_AT_ONCE) {
                    own.push((entry.source().to_owned(), checker.check_entry(entry)));
                }
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).extend(own);
        };
        match &mut self.parsed[..threads] {
            [one] => work(one),
            several => std::thread::scope(|scope| {
                for parsed in several {
                    scope.spawn(|| work(parsed));
                }
            }),
        }
        self.prompts.extend(done.into_inner().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The names of the values that providers of active packs bring.
fn provider_names(catalog: &Catalog) -> Vec<String> {
    let manifests = catalog.active_manifests();
    manifests
        .flat_map(|(_, manifest)| {
            manifest.providers.iter().map(|provider| provider.namespace.clone()).collect::<Vec<_>>()
        })
        .collect()
}

/// What makes two findings the same: prompts that use one template find the same in it.
fn identity(finding: &Finding) -> (String, u32, u32, &'static str) {
    let (line, column) = finding.place().map_or((0, 0), |place| (place.line, place.column));
    let code = finding.code.code;
    match line {
        0 => (format!("{} {}", finding.source, finding.error.message()), 0, 0, code),
        // Several parameters may be declared on one line.
        _ if matches!(code, "variable.unused" | "syntax.unknown-key" | "model.capability" | "lock.drift") => {
            (format!("{} {}", finding.file(), finding.error.message()), line, column, code)
        }
        _ => (finding.file().to_owned(), line, column, code),
    }
}

/// Findings about the text of a Python file, as findings of a workspace.
fn place_python(found: Vec<PythonFound>, source: &str, file: &str, text: &str) -> Vec<Finding> {
    let place = |one: PythonFound| {
        let mut error = Error::new(Code::Hook, one.message).with_near(one.near);
        error = match one.span {
            (0, 0) => error.at(Place::of_file(file)),
            (start, _) => error.at(Place::in_text(file, text, start)),
        };
        if let Some(help) = one.help {
            error = error.with_hint(help);
        }
        let length = u32::try_from(one.span.1 - one.span.0).ok().filter(|length| *length > 0);
        Finding { length, ..Finding::new(one.code, one.code.level, source, error) }
    };
    found.into_iter().map(place).collect()
}

/// The path of a file beneath the source root that contains it, with the prefix of the root.
fn split_root<'f>(catalog: &Catalog, file: &'f str) -> Option<(String, &'f str)> {
    let beneath = |prefix: &str| file.strip_prefix(prefix)?.strip_prefix('/');
    let roots = catalog.roots().iter();
    roots.filter_map(|index| Some((index.root.prefix.clone(), beneath(&index.root.prefix)?))).next()
}

/// The source of the prompt whose directory contains a file.
fn prompt_of_file(catalog: &Catalog, file: &str) -> Option<String> {
    let (prefix, inner) = split_root(catalog, file)?;
    Some(format!("{prefix}/{}", inner.split_once('/')?.0))
}

/// Whether a file belongs to the directory of a prompt or of partials.
fn is_prompt_file(catalog: &Catalog, file: &str) -> bool {
    split_root(catalog, file).is_some_and(|(_, inner)| inner.contains('/'))
}

/// Checks one template that belongs to no prompt, such as a file or standard input. Nothing is known about its variables.
/// Other templates are those of `sources`; one that is not there is not reported, as it may be elsewhere.
#[must_use]
pub fn check_text(
    file: &str,
    text: &str,
    language: hinagata_template::Language,
    sources: &dyn Sources,
    options: &CheckOptions,
) -> Vec<Finding> {
    struct WithEntry<'s>(&'s str, SourceText, &'s dyn Sources);
    impl Sources for WithEntry<'_> {
        fn source(&self, name: &str) -> hinagata_value::Result<Option<SourceText>> {
            if name == self.0 { Ok(Some(self.1.clone())) } else { self.2.source(name) }
        }

        fn names(&self) -> Vec<String> {
            self.2.names()
        }
    }
    let source = SourceText::new(language, text);
    let with_entry = WithEntry(file, source, sources);
    let template_options = Options::default().with_functions(&options.functions);
    let around =
        Surroundings { sources: &with_entry, options: &template_options, functions: &options.functions };
    let variables =
        Variables { fields: Fields { rest: Some(Shape::ANY), ..Fields::default() }, ..Variables::default() };
    let report = check_template(file, around, &variables, &mut ParseCache::default());
    let mut findings: Vec<Finding> = report
        .found
        .into_iter()
        .filter(|found| &*found.template == file && found.code.code != "template.missing")
        .map(|found| place_finding(found, file, file, text, &TextOrigin::from_line(1)))
        .collect();
    let mut silences = Silences::default();
    if let Some(text) = MarkedText::new(file, text, 1) {
        silences.add_text(&text);
    }
    silences.apply(&mut findings, &|_| true);
    options.levels.apply(&mut findings);
    findings.sort_by(|a, b| a.sort_key().cmp(&b.sort_key()));
    findings
}
