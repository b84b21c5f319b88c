//! Templates by name, as `include` and `extends` write them.

use hinagata_document::{Code, Error, Reason, Result, TextOrigin, front_matter};

use crate::{
    Catalog, PromptId,
    definition::{Body, LARGEST_TEMPLATE, Language, TemplateText},
    source::{Entry, Index, RootKind},
};

/// A template that was found by name.
#[derive(Clone, Debug)]
pub struct FoundTemplate {
    /// Its source.
    pub text: TemplateText,
    /// The source root that contains it: names in the template are looked up there.
    pub root: RootKind,
}

impl Catalog {
    /// The template that a file of the source root `from` calls `name`; `None` when it does not exist.
    ///
    /// `ID/FILE` is a file of the prompt that `ID` refers to. Other names are looked up in the user's prompts, the
    /// source root of the including file, the directories of the settings, the libraries, the built-in prompts, and the
    /// active packs; from a file of a library in the library first.
    ///
    /// # Errors
    /// Code `conflict` when `ID` is in conflict or two packs have the file; code `definition` when the file cannot be
    /// used.
    pub fn template(&self, from: &RootKind, name: &str) -> Result<Option<FoundTemplate>> {
        if !is_plain(name) {
            return Ok(None);
        }
        if *from == RootKind::Store {
            return self.template_of_store(name);
        }
        if let Some((id, file)) =
            name.split_once('/').and_then(|(id, file)| Some((PromptId::from_directory_name(id)?, file)))
        {
            match self.choose_id(&id) {
                Ok(choice) => return template_of(&choice.entry, file),
                Err(error) if error.code() == Code::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        let found = self.template_of_place(from, name)?;
        Ok(found.filter(|found| !self.hides_file(&found.text.file)))
    }

    /// The names that an `include` can use, in order: files of prompts and partials.
    #[must_use]
    pub fn template_names(&self) -> Vec<String> {
        let usable = || self.roots().iter().filter(|index| self.may_read(index));
        let own = usable()
            .flat_map(Index::iter)
            .filter(|entry| entry.has_template() && self.reaches_prompt(entry.id()));
        let mut names: Vec<String> = own.map(|entry| format!("{}/template.md", entry.id())).collect();
        names.extend(usable().flat_map(|index| index.root.tree.list_partials()));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The source root of the prompt at `source`.
    pub fn root_of(&self, source: &str) -> Option<RootKind> {
        let found = self.roots().iter().find(|index| index.entry_at(source).is_some());
        found.map(|index| index.root.kind.clone())
    }

    fn template_of_place(&self, from: &RootKind, name: &str) -> Result<Option<FoundTemplate>> {
        let is_library = |kind: &RootKind| matches!(kind, RootKind::Library(_));
        let is_own =
            |kind: &RootKind| matches!(kind, RootKind::Library(_) | RootKind::Foreign(_) | RootKind::Named);
        let steps: [&dyn Fn(&RootKind) -> bool; 6] = [
            // A library and foreign files are used in many workspaces, and none of them replaces parts of it by chance.
            &|kind| is_own(from) && kind == from,
            &|kind| *kind == RootKind::Shared,
            &|kind| kind == from,
            &|kind| matches!(kind, RootKind::Path(_)),
            &is_library,
            &|kind| *kind == RootKind::Builtin,
        ];
        for step in steps {
            for index in self.roots().iter().filter(|index| step(&index.root.kind) && self.may_read(index)) {
                if let Some(found) = template_in(index, name)? {
                    return Ok(Some(found));
                }
            }
        }
        self.template_of_packs(name)
    }

    /// The body of another prompt of the store. Templates of the store can include nothing else.
    fn template_of_store(&self, name: &str) -> Result<Option<FoundTemplate>> {
        let Ok(id) = PromptId::from_store_name(name) else { return Ok(None) };
        let of_store =
            self.roots().iter().find(|index| index.root.kind == RootKind::Store && self.reaches_prompt(&id));
        let mut found = of_store.into_iter().flat_map(|index| index.find(&id));
        let Some(entry) = found.next() else { return Ok(None) };
        if let Some(other) = found.next() {
            return Err(Error::new(
                Code::Conflict,
                format!("`{id}` is ambiguous: the store contains it twice"),
            )
            .with("candidates", vec![entry.source(), other.source()])
            .with_hint("rename one of the extensions, or add a template with this id to the store"));
        }
        match &entry.definition()?.body {
            Body::Text(text) => Ok(Some(FoundTemplate { text: text.clone(), root: RootKind::Store })),
            _ => Err(Error::definition(
                Reason::NotAText,
                format!("`{id}` is a list of messages and cannot be included as text"),
            )
            .with_hint("include a prompt that has `userPrompt` or `prompt`")),
        }
    }

    fn may_read(&self, index: &Index) -> bool {
        match &index.root.kind {
            RootKind::Pack(pack) => self.is_active(pack),
            _ => true,
        }
    }

    fn template_of_packs(&self, name: &str) -> Result<Option<FoundTemplate>> {
        let has = |index: &&Index| {
            matches!(index.root.kind, RootKind::Pack(_))
                && index.root.tree.file_stamp(name).is_some()
                && self.may_read(index)
        };
        let found: Vec<&Index> = self.roots().iter().filter(has).collect();
        match found.as_slice() {
            [] => Ok(None),
            [only] => template_in(only, name),
            several => {
                let candidates: Vec<String> =
                    several.iter().map(|index| format!("{}/{name}", index.root.prefix)).collect();
                Err(Error::new(
                    Code::Conflict,
                    format!("`{name}` is ambiguous: {} packs contain it", several.len()),
                )
                .with_reason(Reason::Partial)
                .with("template", name)
                .with("candidates", candidates)
                .with_hint(format!(
                    "copy the file to use to {}/{name}",
                    hinagata_workspace::layout::SHARED_PROMPTS
                )))
            }
        }
    }
}

/// Whether a name has segments only: no `..`, not absolute, no backslash.
fn is_plain(name: &str) -> bool {
    !name.contains(['\\', '\0']) && name.split('/').all(|segment| !matches!(segment, "" | "." | ".."))
}

/// A file of a prompt. The template of the prompt has the language that the prompt declares.
fn template_of(entry: &Entry, file: &str) -> Result<Option<FoundTemplate>> {
    entry.refuse_secret(file)?;
    let path = format!("{}/{file}", entry.source());
    let Some(text) = entry.file(file, LARGEST_TEMPLATE).map_err(|error| error.in_file(&path))? else {
        return Ok(None);
    };
    let own = entry.definition().ok().and_then(|definition| match &definition.body {
        Body::Text(text) if text.file == path => Some(text.clone()),
        _ => None,
    });
    let text = own.map_or_else(|| plain(path, file, &text), Ok)?;
    Ok(Some(FoundTemplate { text, root: entry.root().clone() }))
}

fn template_in(index: &Index, name: &str) -> Result<Option<FoundTemplate>> {
    index.root.tree.refuse_secret(name)?;
    let path = format!("{}/{name}", index.root.prefix);
    let read = index.root.tree.read_text(name, LARGEST_TEMPLATE).map_err(|error| error.in_file(&path));
    let Some((text, _)) = read? else { return Ok(None) };
    let text = plain(path, name, &text)?;
    Ok(Some(FoundTemplate { text, root: index.root.kind.clone() }))
}

fn plain(path: String, name: &str, text: &str) -> Result<TemplateText> {
    let split = front_matter::split_front_matter(&path, text)?;
    let declared = split.matter.as_ref().and_then(|matter| matter.get("engine")?.as_str().map(str::to_owned));
    let engine = match declared.as_deref() {
        Some("go") => Language::Go,
        Some(_) => Language::Jinja,
        None => Language::from_file_name(name),
    };
    let origin = TextOrigin::from_line(split.first_line);
    Ok(TemplateText { engine, text: split.template.into(), origin, file: path })
}
