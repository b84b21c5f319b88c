//! Reads the files of a prompt directory into one definition.

use std::sync::Arc;

use hinagata_document::{Error, Fields, Node, Place, Reason, Result, TextOrigin, front_matter, json, yaml};
use hinagata_template::Language;
use serde_json::Value;

use super::computed::Computed;
use super::draft::{self, Draft, DraftBody};
use super::messages::DraftText;
use super::model::{Body, Definition, FileRead, Hooks, Metadata, TemplateText};
use super::{declarations, module, python};
use crate::PromptId;

/// Largest template file, in bytes.
pub(crate) const LARGEST_TEMPLATE: u64 = 256 << 10;
const LARGEST_PYTHON: u64 = 256 << 10;
pub(crate) const LARGEST_DOCUMENT: u64 = 256 << 10;

/// The default names of the template file; the first that exists is used.
pub(crate) const TEMPLATE_NAMES: [&str; 3] = ["template.md", "template.gotmpl", "template.tmpl"];

/// The files of one prompt.
pub trait PromptFiles {
    /// The text of the file called `name`, a relative path; `None` when it is missing.
    ///
    /// # Errors
    /// When it is not a regular file, is larger than `largest` bytes, is not UTF-8, or cannot be read.
    fn text(&self, name: &str, largest: u64) -> Result<Option<Arc<str>>>;

    /// The module that overrides the preset called `name`, with its path from the workspace root.
    ///
    /// # Errors
    /// As [`PromptFiles::text`].
    fn preset(&self, _name: &str, _largest: u64) -> Result<Option<(String, Arc<str>)>> {
        Ok(None)
    }
}

/// Reads the prompt `id` from its files. `source` is its directory as a path from the workspace root, and
/// `name` the directory's name.
///
/// # Errors
/// Code `definition`, with file, line, column and all invalid fields at once.
pub fn read_definition(
    id: &PromptId,
    name: &str,
    source: &str,
    files: &dyn PromptFiles,
) -> Result<Definition> {
    read_with(id, name, source, files, None)
}

fn read_with(
    id: &PromptId,
    name: &str,
    source: &str,
    files: &dyn PromptFiles,
    computed: Option<&Computed>,
) -> Result<Definition> {
    Reader { id, name, source, files, computed, read: Vec::new() }
        .read()
        .map_err(|error| error.with_default("prompt_id", id.as_str()).with_default("source", source))
}

/// Reads a prompt again from the same texts, with the values that its `prompt.py` has after it was run. `other` reads
/// files that were not read before.
pub fn read_again(
    before: &Definition,
    name: &str,
    computed: &Computed,
    other: &dyn PromptFiles,
) -> Result<Definition> {
    let files = PreviousFiles { before, other };
    read_with(&before.id, name, &before.source, &files, Some(computed))
}

/// Files as they were read before: the declarations must match the code that was run.
struct PreviousFiles<'a> {
    before: &'a Definition,
    other: &'a dyn PromptFiles,
}

impl PromptFiles for PreviousFiles<'_> {
    fn text(&self, name: &str, largest: u64) -> Result<Option<Arc<str>>> {
        let path = format!("{}/{name}", self.before.source);
        match self.before.files.iter().find(|read| read.file == path) {
            Some(read) => Ok(Some(Arc::clone(&read.text))),
            None => self.other.text(name, largest),
        }
    }
}

/// Reads a prompt from a document of the store, such as one of `contributes.prompts` of an extension.
///
/// # Errors
/// Code `definition`, with all invalid fields at once.
pub fn definition_from_json(
    id: &PromptId,
    source: &str,
    document: &Value,
    engine: Language,
) -> Result<Definition> {
    let files = &NoFiles;
    let mut reader = Reader { id, name: id.as_str(), source, files, computed: None, read: Vec::new() };
    let mut fields = Fields::new(source, "");
    let mut draft = draft::read_stored_draft(&mut fields, &Node::from_value(document));
    draft.warnings = fields.take_warnings();
    fields
        .finish()
        .and_then(|()| reader.assemble(draft, Hooks::default(), engine))
        .map_err(|error| error.with_default("prompt_id", id.as_str()).with_default("source", source))
}

struct NoFiles;

impl PromptFiles for NoFiles {
    fn text(&self, _name: &str, _largest: u64) -> Result<Option<Arc<str>>> {
        Ok(None)
    }
}

struct Reader<'a> {
    id: &'a PromptId,
    name: &'a str,
    source: &'a str,
    files: &'a dyn PromptFiles,
    computed: Option<&'a Computed>,
    read: Vec<FileRead>,
}

impl module::ModuleFiles for Reader<'_> {
    fn module_file(&mut self, name: &str) -> Result<Option<(String, Arc<str>)>> {
        Ok(self.text(name, LARGEST_DOCUMENT)?.map(|text| (self.path(name), text)))
    }

    fn preset_file(&mut self, name: &str) -> Result<Option<(String, Arc<str>)>> {
        let found = self.files.preset(name, LARGEST_DOCUMENT)?;
        if let Some((file, text)) = &found {
            self.read.push(FileRead { file: file.clone(), text: Arc::clone(text) });
        }
        Ok(found)
    }
}

impl Reader<'_> {
    fn read(mut self) -> Result<Definition> {
        let document = self.document()?;
        let (python, hooks) = self.python()?;
        self.assemble(document.overlaid_by(python), hooks, Language::Jinja)
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.source)
    }

    fn text(&mut self, name: &str, largest: u64) -> Result<Option<Arc<str>>> {
        let text = self.files.text(name, largest).map_err(|error| error.in_file(&self.path(name)))?;
        if let Some(text) = &text {
            self.read.push(FileRead { file: self.path(name), text: Arc::clone(text) });
        }
        Ok(text)
    }

    /// `prompt.yaml` or `prompt.json`.
    fn document(&mut self) -> Result<Draft> {
        let mut found: Option<(&str, Draft)> = None;
        for name in ["prompt.yaml", "prompt.yml", "prompt.json"] {
            let Some(text) = self.text(name, LARGEST_DOCUMENT)? else { continue };
            if let Some((first, _)) = found {
                let message = format!("`{first}` and `{name}` describe the same prompt");
                return Err(Error::definition(Reason::TwoDocuments, message)
                    .with_hint(format!("remove `{first}` or `{name}`")));
            }
            let file = self.path(name);
            let node = match name {
                "prompt.json" => json::parse(&file, &text)?,
                _ => yaml::parse(&file, &text, &text, 1)?,
            };
            let mut fields = Fields::new(&file, &text);
            let mut draft = draft::read_draft(&mut fields, &node);
            draft.warnings = fields.take_warnings();
            fields.finish()?;
            found = Some((name, draft));
        }
        Ok(found.map(|(_, draft)| draft).unwrap_or_default())
    }

    fn python(&mut self) -> Result<(Draft, Hooks)> {
        let Some(text) = self.text("prompt.py", LARGEST_PYTHON)? else {
            return Ok((Draft::default(), Hooks::default()));
        };
        let file = self.path("prompt.py");
        let mut module = python::read_python(&file, &text)?;
        if let Some(computed) = self.computed {
            computed.fill_module(&mut module);
        }
        let mut fields = Fields::new(&file, &text);
        let constant = |name: &str| module.constants.get(name).filter(|node| !node.is_null());
        let mut draft =
            constant("METADATA").map(|node| draft::read_draft(&mut fields, node)).unwrap_or_default();
        if let Some(node) = constant("VARIABLES") {
            draft.parameters =
                draft.parameters.overlaid_by(&declarations::read_parameters(&mut fields, "VARIABLES", node));
        }
        if let Some(node) = constant("PERMISSIONS") {
            draft.permissions = Some(draft::read_permissions(&mut fields, node));
        }
        if let Some(node) = constant("LIMITS") {
            draft.limits = Some(draft::read_limits(&mut fields, "LIMITS", node));
        }
        if let Some(node) = constant("TEMPLATE") {
            let text = fields.string("TEMPLATE", node);
            let body = text.map(|text| DraftBody::Text(DraftText::whole_lines(&fields, node, &text)));
            draft.body = body.or(draft.body);
        }
        draft.warnings = fields.take_warnings();
        fields.finish()?;
        let place = |at: hinagata_document::LineColumn| Place::at_line(&file, &text, at.line, at.column);
        let needs_loading = module.computed.iter().map(|(name, at)| (*name, place(*at))).collect();
        let hooks = Hooks {
            pre_render: module.pre_render,
            post_render: module.post_render,
            post_render_at: module.post_render_at,
            source: Some(Arc::clone(&text)),
            needs_loading,
        };
        Ok((draft, hooks))
    }

    fn assemble(&mut self, mut draft: Draft, hooks: Hooks, default_engine: Language) -> Result<Definition> {
        let body = match draft.body.take() {
            Some(DraftBody::Text(text)) => Body::Text(text.finish(draft.engine.unwrap_or(default_engine))),
            Some(DraftBody::Messages(messages)) => {
                let engine = draft.engine.unwrap_or(default_engine);
                Body::Messages(messages.into_iter().map(|message| message.finish(engine)).collect())
            }
            None if hooks.is_computed("TEMPLATE") => Body::NeedsLoading,
            None => self.body_of_file(&mut draft, &hooks)?,
        };
        Ok(self.definition(draft, body, hooks))
    }

    /// The body in a file of its own, or of a parent.
    fn body_of_file(&mut self, draft: &mut Draft, hooks: &Hooks) -> Result<Body> {
        let extends = draft.extends.as_ref().is_some_and(Option::is_some);
        if let Some(Some((name, place))) = draft.template.clone() {
            let Some(text) = self.text(&name, LARGEST_TEMPLATE)? else {
                return Err(Error::definition(
                    Reason::TemplateMissing,
                    format!("template file `{name}` of the prompt not found"),
                )
                .with("template", name.as_str())
                .with_hint("create it, or correct the name in `template`")
                .at(place));
            };
            return self.template(draft, &name, &text);
        }
        if draft.template.is_none() {
            for name in TEMPLATE_NAMES {
                if let Some(text) = self.text(name, LARGEST_TEMPLATE)? {
                    return self.template(draft, name, &text);
                }
            }
            if let Some(body) = self.module(draft)? {
                return Ok(body);
            }
        }
        match (extends, hooks.is_computed("METADATA")) {
            (_, true) => Ok(Body::NeedsLoading),
            (true, _) => Ok(Body::Inherited),
            _ => Err(Error::definition(Reason::NoBody, format!("the prompt `{}` has nothing to render", self.id))
                .with_hint("add a template.md, a module.yaml, a TEMPLATE, `messages`, or `extends` with a parent that has a template")),
        }
    }

    /// The body in a module file. Its declarations have a lower rank than those of the other files.
    fn module(&mut self, draft: &mut Draft) -> Result<Option<Body>> {
        let mut found: Option<(&str, Arc<str>)> = None;
        for name in module::MODULE_NAMES {
            let Some(text) = self.text(name, LARGEST_DOCUMENT)? else { continue };
            if let Some((first, _)) = found {
                let message = format!("`{first}` and `{name}` describe the same module");
                return Err(Error::definition(Reason::TwoDocuments, message)
                    .with_hint(format!("remove `{first}` or `{name}`")));
            }
            found = Some((name, text));
        }
        let Some((name, text)) = found else { return Ok(None) };
        let shown = (self.path(name), text);
        let (below, body) = module::read_module(name, &shown, self)?;
        *draft = below.overlaid_by(std::mem::take(draft));
        draft.parameters = body.context.overlaid_by(&draft.parameters);
        // The declarations of a parent are known only after inheritance is resolved.
        if draft.extends.as_ref().is_none_or(Option::is_none) {
            body.check_paths(&module::KnownNames { parameters: &draft.parameters, others: Vec::new() })?;
        }
        Ok(Some(Body::Module(Arc::new(body))))
    }

    /// The body in a template file. Its front matter has a lower rank than the other files.
    fn template(&mut self, draft: &mut Draft, name: &str, text: &str) -> Result<Body> {
        let file = self.path(name);
        let split = front_matter::split_front_matter(&file, text)?;
        if let Some(matter) = &split.matter {
            let mut fields = Fields::new(&file, text);
            let mut below = draft::read_draft(&mut fields, matter);
            if below.body.is_some() && !split.template.trim().is_empty() {
                let message = "the front matter has a body, and text follows it";
                fields.problem_with_hint("messages", matter, message, "keep one of them");
            }
            below.warnings = fields.take_warnings();
            fields.finish()?;
            *draft = below.overlaid_by(std::mem::take(draft));
        }
        let engine = draft.engine.unwrap_or_else(|| Language::from_file_name(name));
        Ok(match draft.body.take() {
            Some(DraftBody::Messages(messages)) => {
                Body::Messages(messages.into_iter().map(|message| message.finish(engine)).collect())
            }
            Some(DraftBody::Text(text)) => Body::Text(text.finish(engine)),
            None => Body::Text(TemplateText {
                engine,
                text: split.template.into(),
                file,
                origin: TextOrigin::from_line(split.first_line),
            }),
        })
    }

    fn definition(&mut self, draft: Draft, body: Body, hooks: Hooks) -> Definition {
        Definition {
            id: self.id.clone(),
            source: self.source.to_owned(),
            metadata: Metadata {
                name: draft.name.unwrap_or_else(|| self.name.to_owned()),
                label: draft.label,
                title: draft.title,
                description: draft.description,
                has_version: draft.version.is_some(),
                version: draft.version.unwrap_or_else(|| "1.0.0".to_owned()),
                kind: draft.kind.unwrap_or_else(|| "custom".to_owned()),
                tags: draft.tags.unwrap_or_default(),
                author: draft.author,
                expose: draft.expose.unwrap_or(true),
                extends: draft.extends.flatten(),
                more: draft.more,
            },
            parameters: draft.parameters,
            body,
            permissions: draft.permissions.unwrap_or_default(),
            limits: draft.limits.unwrap_or_default(),
            hooks,
            undefined: draft.undefined,
            layout: draft.layout.unwrap_or_default(),
            drops_empty: draft.drops_empty.unwrap_or_default(),
            on_error: draft.on_error,
            settings: draft.settings,
            unknown: draft.unknown,
            warnings: draft.warnings,
            files: std::mem::take(&mut self.read),
        }
    }
}
