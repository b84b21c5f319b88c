//! What an editor's questions are answered from: one snapshot of a workspace, with unsaved texts.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, RwLock},
};

use hinagata_catalog::{Catalog, definition::Inherited, source::RootKind};
use hinagata_template::Options;
use hinagata_value::Limits;

use super::{
    Region, TolerantSource, parse_tolerant,
    region::{owner_source, read_regions},
};
use crate::{
    check::Variables,
    shape::{Field, Fields, Shape},
    workspace::{CheckOptions, prompt_variables},
};

/// The largest file that is read.
const LARGEST: u64 = 4 << 20;
/// The most prompts of which the variables are offered in a template that they share.
const MOST_USERS: usize = 50;

/// One snapshot of a workspace. Without a catalog, only the languages themselves are known.
#[derive(Clone, Default)]
pub struct Project {
    /// The prompts, with unsaved texts in the place of files.
    pub catalog: Option<Catalog>,
    /// Tools and defaults.
    pub options: CheckOptions,
    /// What is known about the tools, by function name.
    pub tools: Arc<BTreeMap<String, ToolDescription>>,
    /// The sources of the prompts that use each file.
    pub users: Arc<RwLock<HashMap<String, BTreeSet<String>>>>,
    /// The text of open files that are in no source root.
    pub open: Arc<BTreeMap<String, Arc<str>>>,
}

/// What a tool does and takes.
#[derive(Clone, Debug, Default)]
pub struct ToolDescription {
    /// What it does.
    pub description: Option<String>,
    /// The JSON Schema of its arguments.
    pub parameters: Option<serde_json::Value>,
}

impl Project {
    /// The options with which templates are read.
    #[must_use]
    pub fn template_options(&self) -> Options {
        Options::default().with_functions(&self.options.functions)
    }

    /// The templates in a file.
    #[must_use]
    pub fn regions(&self, path: &str, text: &str) -> Vec<Region> {
        read_regions(self.catalog.as_ref(), path, text)
    }

    /// The template at a byte of a file, and the byte in it.
    #[must_use]
    pub fn region_at(&self, path: &str, text: &str, offset: usize) -> Option<(Region, usize)> {
        self.regions(path, text).into_iter().find_map(|region| {
            let inner = region.offset_at(offset)?;
            Some((region, inner))
        })
    }

    /// The tree and the uses of a template, whatever is broken in it.
    #[must_use]
    pub fn read_region(&self, region: &Region) -> TolerantSource {
        parse_tolerant(region.language, "main", &region.text, &self.template_options(), &Limits::default())
    }

    /// The current text of a file of the workspace.
    #[must_use]
    pub fn file_text(&self, path: &str) -> Option<Arc<str>> {
        if let Some(text) = self.open.get(path) {
            return Some(Arc::clone(text));
        }
        let bytes = self.catalog.as_ref()?.held_file(path)?.read_bytes(LARGEST).ok()??;
        String::from_utf8(bytes).ok().map(Into::into)
    }

    /// The prompt that a file belongs to.
    #[must_use]
    pub fn owner_of(&self, path: &str) -> Option<String> {
        owner_source(self.catalog.as_ref()?, path)
    }

    /// The prompts that read a file: its own, and those that use it.
    #[must_use]
    pub fn users_of(&self, path: &str) -> BTreeSet<String> {
        let known = self.users.read().ok();
        let mut users = known.and_then(|known| known.get(path).cloned()).unwrap_or_default();
        users.extend(self.owner_of(path));
        users
    }

    /// The declarations of a prompt.
    #[must_use]
    pub fn variables_of(&self, source: &str) -> Option<(Inherited, Variables)> {
        prompt_variables(self.catalog.as_ref()?, &self.options, source)
    }

    /// The variables that a file can read: those of its prompt, or of all prompts that use it.
    #[must_use]
    pub fn fields_of(&self, path: &str) -> Fields {
        let mut all = Fields { known: BTreeMap::new(), rest: Some(Shape::ANY) };
        for source in self.users_of(path).iter().take(MOST_USERS) {
            let Some((_, variables)) = self.variables_of(source) else { continue };
            for (name, field) in variables.fields.known {
                match all.known.get_mut(&name) {
                    Some(known) => {
                        *known = Field {
                            shape: known.shape.join(&field.shape),
                            required: known.required && field.required,
                        };
                    }
                    None => drop(all.known.insert(name, field)),
                }
            }
        }
        all
    }

    /// The file that a template calls `name`.
    #[must_use]
    pub fn template_file(&self, from: &str, name: &str) -> Option<String> {
        let catalog = self.catalog.as_ref()?;
        let root = self.root_of_file(from).unwrap_or(RootKind::Shared);
        Some(catalog.template(&root, name).ok()??.text.file)
    }

    /// The source root that has a file.
    pub(super) fn root_of_file(&self, path: &str) -> Option<RootKind> {
        let catalog = self.catalog.as_ref()?;
        let is_in = |prefix: &str| path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'));
        let found = catalog.roots().iter().filter(|index| is_in(&index.root.prefix));
        found.max_by_key(|index| index.root.prefix.len()).map(|index| index.root.kind.clone())
    }

    /// The files with templates of all prompts, and all partials.
    #[must_use]
    pub fn template_files(&self) -> BTreeSet<String> {
        let Some(catalog) = &self.catalog else { return BTreeSet::new() };
        let mut files = BTreeSet::new();
        for index in catalog.roots() {
            let prefix = &index.root.prefix;
            files.extend(index.root.tree.list_partials().into_iter().map(|name| format!("{prefix}/{name}")));
            for entry in index.iter() {
                if let Ok(definition) = entry.definition() {
                    files.extend(definition.files.iter().map(|read| read.file.clone()));
                }
            }
        }
        files
    }
}
