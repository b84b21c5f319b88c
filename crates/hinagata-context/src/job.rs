//! What all steps of packing know, and the search for files.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    thread,
};

use serde_json::{Map, Value};

use crate::{
    Result,
    facts::RepositoryFacts,
    guard::{Guard, plain_path},
    merge_variables,
    options::{ContextOptions, Resource, ResourceKind, TemplateFile},
    order::{Order, RankedFile},
    part::Part,
    render_file,
    report::{Entry, Report},
    select::{SelectedFiles, Selector, Wanted},
    text::trim_end_of_text,
};

/// Most threads that read files.
const MOST_THREADS: usize = 8;

/// The progress of packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The number of files found so far.
    Found(usize),
    /// The number of files that are done, and of all files.
    Done(usize, usize),
}

/// What all steps of packing know.
pub(crate) struct Job<'p> {
    pub(crate) options: &'p ContextOptions,
    /// The base directory, without links.
    pub(crate) base: PathBuf,
    pub(crate) guard: Guard,
    pub(crate) threads: usize,
    pub(crate) progress: &'p (dyn Fn(Progress) + Sync),
}

/// A part of the context before it is read, in the order of the text.
pub(crate) enum Content<'r> {
    Files(FilePart<'r>),
    Template(TemplatePart<'r>),
}

/// Files before they are read.
pub(crate) struct FilePart<'r> {
    pub(crate) part: Part<'r>,
    pub(crate) base: PathBuf,
    /// The files; those that are chosen first come first.
    pub(crate) ranked: Vec<RankedFile>,
}

/// A template before it is rendered.
pub(crate) struct TemplatePart<'r> {
    pub(crate) resource: &'r Resource,
    pub(crate) template: &'r TemplateFile,
    variables: &'r Map<String, Value>,
}

/// Everything that is to be packed, before it is read.
pub(crate) struct Gathered<'r> {
    pub(crate) contents: Vec<Content<'r>>,
    /// The entries that the search left out, with their parts.
    pub(crate) left_out: Vec<Entry>,
    /// Displayed paths that were named without wildcards.
    pub(crate) named: HashSet<String>,
}

impl<'p> Job<'p> {
    pub(crate) fn new(options: &'p ContextOptions) -> Self {
        let base = options.base.canonicalize().unwrap_or_else(|_| options.base.clone());
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        Self { options, base, guard: options.guard(), threads, progress: &|_| {} }
    }

    /// What the repository of the base directory says.
    pub(crate) fn repository_facts(&self) -> RepositoryFacts {
        if self.options.compat {
            return RepositoryFacts::default();
        }
        let wall = self.options.wall.as_ref().unwrap_or(&self.base);
        let wall = wall.canonicalize().unwrap_or_else(|_| wall.clone());
        RepositoryFacts::find(&self.base, self.options.rules.strict.then_some(&wall))
    }

    /// The directory of a resource, with links.
    pub(crate) fn resource_directory(&self, own: Option<&Path>) -> PathBuf {
        own.map_or_else(|| self.base.clone(), |own| plain_path(&self.base.join(own)))
    }

    /// What to select of the project.
    pub(crate) fn wanted_files(&self) -> Wanted<'p> {
        Wanted { paths: &self.options.paths, ..self.wanted(&self.options.include, &self.options.exclude) }
    }

    /// What to select by patterns.
    pub(crate) fn wanted<'w>(&self, include: &'w [String], exclude: &'w [String]) -> Wanted<'w> {
        let Self { options: ContextOptions { rules, compat, .. }, .. } = self;
        Wanted { paths: &[], include, exclude, rules: *rules, compat: *compat }
    }

    /// Selects files.
    pub(crate) fn select(&self, selector: &Selector<'_>) -> SelectedFiles {
        let on_found = |found: usize| (self.progress)(Progress::Found(found));
        selector.select_files(self.threads, &on_found)
    }

    /// Finds and ranks the files of the project and of bundles.
    ///
    /// # Errors
    /// An invalid pattern.
    pub(crate) fn gather(
        &self,
        order: &Order<'_>,
        facts: &RepositoryFacts,
        selector: &Selector<'_>,
        report: &mut Report,
    ) -> Result<Gathered<'p>> {
        let mut gathered = Gathered { contents: Vec::new(), left_out: Vec::new(), named: HashSet::new() };
        let selected = self.select(selector);
        gathered.add_files(Part::Files, &self.base, selected, order, facts, report);
        for resource in &self.options.resources {
            match &resource.kind {
                ResourceKind::Bundle { include, exclude, base, virtual_path } => {
                    let base = self.resource_directory(base.as_deref());
                    if !report.check_directory(&base, &self.guard) {
                        continue;
                    }
                    let base = base.canonicalize().unwrap_or(base);
                    let selector = Selector::new(&base, self.wanted(include, exclude), facts)?;
                    let part = Part::Bundle(resource, virtual_path.as_deref());
                    gathered.add_files(part, &base, self.select(&selector), order, facts, report);
                }
                ResourceKind::Template { template, variables } => {
                    gathered.contents.push(Content::Template(TemplatePart { resource, template, variables }));
                }
            }
        }
        Ok(gathered)
    }

    /// Renders a template resource.
    ///
    /// # Errors
    /// The template fails or names a withheld file.
    pub(crate) fn render_template(&self, part: &TemplatePart<'_>) -> Result<String> {
        let mut bag = self.options.variables.clone();
        merge_variables(&mut bag, part.variables);
        let mut text = render_file(part.template, &self.base, &bag, &self.options.templates, &self.guard)?;
        text.truncate(trim_end_of_text(&text).len());
        Ok(text)
    }
}

impl<'r> Gathered<'r> {
    fn add_files(
        &mut self,
        part: Part<'r>,
        base: &Path,
        selected: SelectedFiles,
        order: &Order<'_>,
        facts: &RepositoryFacts,
        report: &mut Report,
    ) {
        let SelectedFiles { files, left_out, unmatched, named, notices } = selected;
        report.notices.extend(notices);
        report.unmatched.extend(unmatched);
        self.left_out.extend(left_out.into_iter().map(|entry| part.own_entry(entry)));
        self.named.extend(named.iter().map(|path| part.shown_path(path)));
        let ranked = order.rank_files(files, base, facts);
        self.contents.push(Content::Files(FilePart { part, base: base.to_owned(), ranked }));
    }

    /// The number of all files.
    pub(crate) fn file_count(&self) -> usize {
        self.file_parts().map(|files| files.ranked.len()).sum()
    }

    /// The files of the project and of bundles.
    pub(crate) fn file_parts(&self) -> impl Iterator<Item = &FilePart<'r>> {
        self.contents.iter().filter_map(|content| match content {
            Content::Files(files) => Some(files),
            Content::Template(_) => None,
        })
    }

    /// Displayed paths of the files of the project.
    pub(crate) fn project_paths(&self) -> impl Iterator<Item = &str> {
        let own = self.file_parts().filter(|files| matches!(files.part, Part::Files));
        own.flat_map(|files| &files.ranked).map(|ranked| ranked.file.path.as_str())
    }
}
