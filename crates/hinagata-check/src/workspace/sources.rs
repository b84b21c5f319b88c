//! Templates of a catalog, found as a render does.

use std::{
    borrow::Cow,
    cell::RefCell,
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use hinagata_catalog::{Catalog, definition::TemplateText, source::RootKind};
use hinagata_document::{LineColumn, TextOrigin};
use hinagata_template::{SourceText, Sources};

/// A template file of the catalog.
#[derive(Clone)]
pub(super) struct CatalogFile {
    pub(super) source: SourceText,
    pub(super) path: String,
    pub(super) origin: TextOrigin,
    root: RootKind,
}

/// The name of a template that was looked up; none if there is no such template. Else why it cannot be used.
type Joined = Result<Option<String>, String>;

/// Finds templates as a render does. What was found once is kept, so one is for one snapshot.
pub(super) struct CatalogSources<'c> {
    catalog: &'c Catalog,
    files: RefCell<HashMap<String, CatalogFile>>,
    joined: RefCell<HashMap<(RootKind, String), Joined>>,
    /// The names that were looked up since the last [`CatalogSources::take_asked`].
    asked: RefCell<BTreeSet<String>>,
}

impl<'c> CatalogSources<'c> {
    pub(super) fn new(catalog: &'c Catalog) -> Self {
        Self { catalog, files: RefCell::default(), joined: RefCell::default(), asked: RefCell::default() }
    }

    /// Adds a template of a prompt. A file may hold several, which get names of their own.
    pub(super) fn add_entry(&self, text: &TemplateText, root: RootKind) -> String {
        let source = SourceText::new(text.engine, Arc::clone(&text.text));
        let mut files = self.files.borrow_mut();
        for number in 0.. {
            let name = if number == 0 { text.file.clone() } else { format!("{}#{number}", text.file) };
            match files.get(&name) {
                Some(known) if known.source != source => {}
                Some(_) => return name,
                None => {
                    let (path, origin) = (text.file.clone(), text.origin.clone());
                    files.insert(name.clone(), CatalogFile { source, path, origin, root });
                    return name;
                }
            }
        }
        text.file.clone()
    }

    pub(super) fn file(&self, name: &str) -> Option<CatalogFile> {
        self.files.borrow().get(name).cloned()
    }

    /// The names that templates used for others since the last call.
    pub(super) fn take_asked(&self) -> BTreeSet<String> {
        self.asked.take()
    }
}

impl CatalogFile {
    /// The line of the file that is the first one of the template, if the file holds nothing else behind it.
    pub(super) fn first_line(&self) -> Option<u32> {
        let of_lines = self.origin.string_start().is_none();
        of_lines.then(|| self.origin.in_file(LineColumn { line: 1, column: 1 }).line)
    }
}

impl Sources for CatalogSources<'_> {
    fn join<'n>(&self, from: &str, name: &'n str) -> hinagata_value::Result<Cow<'n, str>> {
        let root = self.file(from).map_or(RootKind::Shared, |file| file.root);
        self.asked.borrow_mut().insert(name.to_owned());
        let key = (root, name.to_owned());
        let known = self.joined.borrow().get(&key).cloned();
        let joined = known.unwrap_or_else(|| {
            let joined = match self.catalog.template(&key.0, name) {
                Ok(None) => Ok(None),
                Ok(Some(found)) => Ok(Some(self.add_entry(&found.text, found.root))),
                Err(error) => Err(error.message().to_owned()),
            };
            self.joined.borrow_mut().insert(key, joined.clone());
            joined
        });
        match joined {
            Ok(None) => Ok(Cow::Borrowed(name)),
            Ok(Some(joined)) => Ok(Cow::Owned(joined)),
            Err(message) => Err(hinagata_value::Error::runtime(message)),
        }
    }

    fn source(&self, name: &str) -> hinagata_value::Result<Option<SourceText>> {
        Ok(self.file(name).map(|file| file.source))
    }

    fn names(&self) -> Vec<String> {
        self.catalog.template_names()
    }
}
