//! Finds the templates that a prompt uses. Templates that are known statically are kept with its plan.

use std::{borrow::Cow, cell::RefCell, collections::HashMap, sync::Arc};

use hinagata_template::{SourceText, Sources};

use super::{late::LateProviders, plan::PlannedTemplate};
use crate::{
    Catalog, Error, TextOrigin,
    definition::{FileRead, TemplateText},
    source::RootKind,
};

/// A template file.
#[derive(Clone, Debug)]
pub(super) struct TemplateFile {
    pub(super) source: SourceText,
    pub(super) origin: TextOrigin,
    /// The source root in which its names are looked up first.
    pub(super) root: RootKind,
    text: Arc<str>,
}

impl TemplateFile {
    pub(super) fn new(text: &TemplateText, root: RootKind) -> Self {
        Self {
            source: SourceText::new(text.engine, Arc::clone(&text.text)),
            origin: text.origin.clone(),
            root,
            text: Arc::clone(&text.text),
        }
    }
}

/// Template files by path.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    files: HashMap<Box<str>, Arc<TemplateFile>>,
}

impl Known {
    pub(super) fn with_entry(name: &str, file: TemplateFile) -> Self {
        Self { files: HashMap::from([(name.into(), Arc::new(file))]) }
    }

    pub(super) fn file(&self, name: &str) -> Option<&Arc<TemplateFile>> {
        self.files.get(name)
    }

    /// Every file with its text, sorted by path.
    pub(super) fn texts(&self) -> Vec<FileRead> {
        let mut all: Vec<FileRead> = self
            .files
            .iter()
            .map(|(name, file)| FileRead { file: name.to_string(), text: Arc::clone(&file.text) })
            .collect();
        all.sort_by(|a, b| a.file.cmp(&b.file));
        all
    }

    /// Adds the files of `other`.
    pub(super) fn merge(&mut self, other: &Self) {
        for (name, file) in &other.files {
            self.files.entry(name.clone()).or_insert_with(|| Arc::clone(file));
        }
    }

    fn add(&mut self, path: &str, file: Arc<TemplateFile>) {
        self.files.entry(path.into()).or_insert(file);
    }
}

/// The templates of one prompt: those of its plan, then those of the catalog.
pub(super) struct PromptSources<'p> {
    catalog: &'p Catalog,
    known: &'p Known,
    /// Templates found during a run or while planning.
    found: RefCell<Known>,
    /// The template that runs and its origin. A file can hold several templates.
    entry: Option<(&'p str, &'p TextOrigin)>,
    /// The first error of the catalog, which says more than the error of a template.
    failure: RefCell<Option<Error>>,
    /// Checks whether a dynamically included template needs providers first.
    late: Option<&'p LateProviders<'p>>,
}

impl<'p> PromptSources<'p> {
    pub(super) fn new(catalog: &'p Catalog, known: &'p Known) -> Self {
        let (found, failure) = (RefCell::default(), RefCell::default());
        Self { catalog, known, found, entry: None, failure, late: None }
    }

    /// Stops a run if a template needs providers first.
    pub(super) fn with_late_providers(mut self, late: Option<&'p LateProviders<'p>>) -> Self {
        self.late = late;
        self
    }

    /// Sets the template that runs.
    pub(super) fn starting_at(mut self, template: &'p PlannedTemplate) -> Self {
        self.entry = Some((template.template.name(), &template.origin));
        self
    }

    /// The templates that were found and are not part of the plan.
    pub(super) fn into_found(self) -> Known {
        self.found.into_inner()
    }

    /// Whether the caller has a restricted reach.
    pub(super) fn is_bound(&self) -> bool {
        self.catalog.reach().is_some()
    }

    /// The first error of the catalog.
    pub(super) fn failure(&self) -> Option<Error> {
        self.failure.borrow().clone()
    }

    pub(super) fn file(&self, name: &str) -> Option<Arc<TemplateFile>> {
        self.known.file(name).cloned().or_else(|| self.found.borrow().file(name).cloned())
    }

    /// Where a template is in its file; an unknown one is the whole file.
    pub(super) fn origin(&self, name: &str) -> TextOrigin {
        match self.entry {
            Some((entry, origin)) if entry == name => origin.clone(),
            _ => self.file(name).map_or_else(|| TextOrigin::from_line(1), |file| file.origin.clone()),
        }
    }

    fn refuse(&self, error: Error) -> hinagata_value::Error {
        let message = error.message().to_owned();
        self.failure.borrow_mut().get_or_insert(error);
        hinagata_value::Error::runtime(message)
    }
}

impl Sources for PromptSources<'_> {
    fn join<'n>(&self, from: &str, name: &'n str) -> hinagata_value::Result<Cow<'n, str>> {
        let root = self.file(from).map_or(RootKind::Shared, |file| file.root.clone());
        match self.catalog.template(&root, name) {
            Ok(None) => Ok(Cow::Borrowed(name)),
            Err(error) => Err(self.refuse(error)),
            Ok(Some(template)) => {
                let led_to = template.text.file.clone();
                // A render sees one state of a file.
                let file = self
                    .file(&led_to)
                    .unwrap_or_else(|| Arc::new(TemplateFile::new(&template.text, template.root)));
                if self.late.is_some_and(|late| !late.is_ready(&led_to, &file)) {
                    return Err(hinagata_value::Error::runtime(format!("`{name}` waits for its variables")));
                }
                self.found.borrow_mut().add(&led_to, file);
                Ok(Cow::Owned(led_to))
            }
        }
    }

    fn source(&self, name: &str) -> hinagata_value::Result<Option<SourceText>> {
        Ok(self.file(name).map(|file| file.source.clone()))
    }

    fn names(&self) -> Vec<String> {
        self.catalog.template_names()
    }
}
