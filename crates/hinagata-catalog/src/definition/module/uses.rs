//! Loads a module and the modules that it uses.

use std::sync::Arc;

use hinagata_document::{Error, Place, Reason, Result};
use hinagata_module::{CustomSection, Order, PromptModule, merge_modules};

use super::{
    ModuleBody,
    entry::Collected,
    file::{self, ModuleFile, is_module_file},
    module_error,
    preset::{PRESETS, preset},
};
use crate::definition::{draft::Draft, parameter::Parameters};

/// Most files that a module can consist of.
const MOST_FILES: usize = 64;

/// Where the files of modules are found.
pub(crate) trait ModuleFiles {
    /// The path of the file called `name`, as errors show it, and its text; `None` when it is missing.
    fn module_file(&mut self, name: &str) -> Result<Option<(String, Arc<str>)>>;

    /// The file that overrides the preset called `name`.
    fn preset_file(&mut self, name: &str) -> Result<Option<(String, Arc<str>)>>;
}

/// Reads the module file called `name` with the content `text`, and the modules that it uses.
pub(in crate::definition) fn read_module(
    name: &str,
    text: &(String, Arc<str>),
    files: &mut dyn ModuleFiles,
) -> Result<(Draft, ModuleBody)> {
    let mut loading = Loading {
        files,
        open: Vec::new(),
        loaded: Vec::new(),
        merged: Vec::new(),
        custom: Vec::new(),
        shared: Collected::default(),
    };
    let (mut draft, uses, order) = loading.load(name, text, None)?;
    draft.warnings = std::mem::take(&mut loading.shared.warnings);
    let body = loading.finish(uses, order)?;
    Ok((draft, body))
}

struct Loading<'l> {
    files: &'l mut dyn ModuleFiles,
    /// The files that are being read, from the first to the innermost.
    open: Vec<String>,
    /// The files that were read.
    loaded: Vec<String>,
    /// In the order in which they are merged.
    merged: Vec<ModuleFile>,
    custom: Vec<CustomSection>,
    shared: Collected,
}

impl Loading<'_> {
    /// Reads one file after those that it uses.
    fn load(
        &mut self,
        name: &str,
        (shown, text): &(String, Arc<str>),
        used_at: Option<&Place>,
    ) -> Result<(Draft, Vec<String>, Option<Order>)> {
        if self.open.iter().any(|open| open == name) {
            let way: Vec<&str> = self.open.iter().map(String::as_str).chain([name]).collect();
            let message = format!("modules use each other in a circle: {}", way.join(" -> "));
            let error = Error::definition(Reason::UsesCycle, message).with("chain", way);
            return Err(with_place(error.with_hint("remove one of these uses"), used_at));
        }
        if self.loaded.len() + self.open.len() >= MOST_FILES {
            let message = format!("the module consists of more than {MOST_FILES} files");
            return Err(with_place(Error::definition(Reason::UsesCount, message), used_at));
        }
        let node = file::parse_module_file(shown, text)?;
        self.open.push(name.to_owned());
        // The used modules are loaded first: they may declare custom sections that this file has.
        let used = file::uses_of(shown, text, &node)?;
        for (used, place) in &used {
            self.load_used(name, used, place)?;
        }
        let mut found = file::read_module_file(shown, text, &node, &self.custom, &mut self.shared)?;
        if used_at.is_some() {
            self.shared.warnings.extend(file::warn_of_ignored_keys(shown, text, &node));
        }
        self.open.pop();
        self.loaded.push(name.to_owned());
        self.custom.extend(found.custom.iter().cloned());
        let draft = std::mem::take(&mut found.draft);
        let order = found.order;
        self.merged.push(found);
        Ok((draft, used.into_iter().map(|(name, _)| name).collect(), order))
    }

    fn load_used(&mut self, from: &str, used: &str, place: &Place) -> Result<()> {
        if let Some(preset) = used.strip_prefix("preset:") {
            return self.load_preset(used, preset, place);
        }
        let Some(name) = resolve_path(from, used) else {
            let message = format!("`{used}` is outside of the directory of the prompt");
            return Err(Error::definition(Reason::UsesOutside, message)
                .with_hint("keep the files of a module beside its prompt")
                .at(place.clone()));
        };
        if self.loaded.contains(&name) {
            return Ok(());
        }
        match self.files.module_file(&name)? {
            Some(text) => self.load(&name, &text, Some(place)).map(|_| ()),
            None => Err(Error::definition(Reason::UsesNotFound, format!("module file `{name}` not found"))
                .with("uses", used)
                .with_hint("create it, or correct the name in `uses`")
                .at(place.clone())),
        }
    }

    fn load_preset(&mut self, used: &str, name: &str, place: &Place) -> Result<()> {
        if self.loaded.iter().any(|loaded| loaded == used) {
            return Ok(());
        }
        // A file that overrides a preset can use that preset.
        let overriding = self.open.iter().any(|open| open == used);
        let own = if overriding || !is_plain(name) { None } else { self.files.preset_file(name)? };
        let compiled = || preset(name).map(|text| (format!("presets/{name}.yaml"), Arc::from(text)));
        match own.or_else(compiled) {
            Some(text) if overriding => {
                self.load(&format!("{used} (built in)"), &text, Some(place)).map(|_| ())
            }
            Some(text) => self.load(used, &text, Some(place)).map(|_| ()),
            None => {
                let names: Vec<&str> = PRESETS.iter().map(|(name, _)| *name).collect();
                Err(Error::definition(Reason::UsesNotFound, format!("preset `{name}` not found"))
                    .with("uses", used)
                    .with_near(hinagata_module::nearest_names(name, names.iter().copied()))
                    .with_hint(format!("the presets are {}", names.join(", ")))
                    .at(place.clone()))
            }
        }
    }

    /// All files as one module.
    fn finish(self, uses: Vec<String>, order: Option<Order>) -> Result<ModuleBody> {
        let mut body = ModuleBody {
            module: PromptModule::new(),
            entries: self.shared.entries,
            texts: self.shared.texts,
            templates: self.shared.templates,
            paths: self.shared.paths,
            fixed: self.shared.fixed,
            order: order
                .or_else(|| self.merged.iter().rev().find_map(|found| found.order))
                .unwrap_or_default(),
            context: Parameters::default(),
            uses,
        };
        let mut modules = Vec::with_capacity(self.merged.len());
        let place = self.merged.iter().rev().find_map(|found| found.custom_place.clone());
        for found in self.merged {
            refuse_clashes(&body.context, &found.context)?;
            body.context = body.context.overlaid_by(&found.context);
            modules.push(found.module);
        }
        body.module =
            merge_modules(modules).map_err(|error| with_place(module_error(error), place.as_ref()))?;
        Ok(body)
    }
}

/// Refuses two modules that declare one name with different types.
pub(super) fn refuse_clashes(below: &Parameters, above: &Parameters) -> Result<()> {
    for parameter in above {
        let Some(other) = below.get(&parameter.name).filter(|other| other.kind != parameter.kind) else {
            continue;
        };
        let (kind, known) = (parameter.kind.name(), other.kind.name());
        let declared = other.place.as_ref().map_or_else(String::new, |place| format!(" at {place}"));
        let message = format!("`{}` has type {kind} here, and type {known}{declared}", parameter.name);
        let error = Error::definition(Reason::ContextClash, message)
            .with("name", parameter.name.as_str())
            .with_hint("give it the same type, or another name");
        return Err(with_place(error, parameter.place.as_ref()));
    }
    Ok(())
}

fn with_place(error: Error, place: Option<&Place>) -> Error {
    match place {
        Some(place) => error.at(place.clone()),
        None => error,
    }
}

/// Whether a name is a plain file name and not a path.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// The file that `used` refers to in the file `from`; `None` when it is outside of the directory.
fn resolve_path(from: &str, used: &str) -> Option<String> {
    let directory = from.rsplit_once('/').map_or("", |(directory, _)| directory);
    let mut parts: Vec<&str> = directory.split('/').filter(|part| !part.is_empty()).collect();
    for part in used.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part if part.contains('\\') || part.contains(':') => return None,
            part => parts.push(part),
        }
    }
    let name = parts.join("/");
    is_module_file(&name).then_some(name)
}
