//! The templates in a file: the whole of it, what is behind front matter, or strings in YAML, JSON and Python.

use std::{ops::Range, sync::Arc};

use hinagata_catalog::{
    Catalog,
    definition::{Body, Definition, TemplateText},
};
use hinagata_document::{LineColumn, front_matter::split_front_matter};
use hinagata_template::Language;

use super::Lines;
use crate::workspace::{BodyTemplate, body_templates};

/// A template in a file.
#[derive(Clone, Debug)]
pub struct Region {
    /// Its language.
    pub language: Language,
    /// Its text, without the quotes, escapes and margins of the file.
    pub text: Arc<str>,
    /// The variable of the loop around it, in a module.
    pub local: Option<Arc<str>>,
    place: RegionPlace,
}

#[derive(Clone, Debug)]
enum RegionPlace {
    /// The bytes of the file from here on.
    Part(usize),
    /// The bytes of the file where the character of each byte of the text starts and ends; the text ends at the last start.
    Spread { starts: Vec<u32>, ends: Vec<u32> },
}

impl Region {
    /// The byte of the file at a byte of the text.
    #[must_use]
    pub fn in_file(&self, offset: usize) -> usize {
        match &self.place {
            RegionPlace::Part(start) => start + offset.min(self.text.len()),
            RegionPlace::Spread { starts, .. } => starts[offset.min(starts.len() - 1)] as usize,
        }
    }

    /// The bytes of the file for a part of the text: up to the end of its last character.
    #[must_use]
    pub fn range_in_file(&self, range: Range<usize>) -> Range<usize> {
        let start = self.in_file(range.start);
        let RegionPlace::Spread { ends, .. } = &self.place else { return start..self.in_file(range.end) };
        let last = range.end.checked_sub(1).filter(|last| *last >= range.start);
        let end = last.and_then(|last| ends.get(last)).map_or(start, |end| *end as usize);
        start..end.max(start)
    }

    /// The byte of the text at a byte of the file, if it belongs to the text.
    #[must_use]
    pub fn offset_at(&self, in_file: usize) -> Option<usize> {
        match &self.place {
            RegionPlace::Part(start) => {
                in_file.checked_sub(*start).filter(|offset| *offset <= self.text.len())
            }
            RegionPlace::Spread { starts, .. } => {
                let (first, last) = (*starts.first()? as usize, *starts.last()? as usize);
                if in_file < first || in_file > last {
                    return None;
                }
                let at = starts.partition_point(|byte| (*byte as usize) < in_file);
                (0..=at.min(self.text.len())).rev().find(|at| self.text.is_char_boundary(*at))
            }
        }
    }
}

/// The templates in the file `path`, whose text is `text`.
#[must_use]
pub fn read_regions(catalog: Option<&Catalog>, path: &str, text: &str) -> Vec<Region> {
    let definition = catalog.and_then(|catalog| owner_definition(catalog, path));
    if let Some(kind) = DocumentFile::from_path(path)
        && kind != DocumentFile::Template
    {
        let lines = Lines::new(text);
        let Some(definition) = definition else { return Vec::new() };
        let templates = body_templates(&definition).into_iter();
        return templates
            .filter(|template| template.text.file == path)
            .filter_map(|BodyTemplate { text: template, local, .. }| {
                spread_region(&template, local, text, &lines)
            })
            .collect();
    }
    let declared = definition.as_deref().and_then(|definition| match &definition.body {
        Body::Text(template) if template.file == path => Some(template.engine),
        _ => None,
    });
    // A text of another kind, such as a list of words, holds no template.
    if catalog.is_some() && DocumentFile::from_path(path).is_none() && !path.contains("/partials/") {
        return Vec::new();
    }
    let (template, matter) = match split_front_matter(path, text) {
        Ok(split) => (split.template, split.matter),
        Err(_) => (after_front_matter(text), None),
    };
    let named = matter.as_ref().and_then(|matter| matter.get("engine")?.as_str().map(str::to_owned));
    let language = declared.unwrap_or_else(|| match named.as_deref() {
        Some("go") => Language::Go,
        Some(_) => Language::Jinja,
        None => Language::from_file_name(path),
    });
    let place = RegionPlace::Part(text.len() - template.len());
    vec![Region { language, text: template.into(), local: None, place }]
}

/// The part behind front matter that cannot be read.
fn after_front_matter(text: &str) -> &str {
    let is_mark = |line: &&str| line.trim_end() == "---";
    let mut at = 0;
    let mut marks = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        if is_mark(&line) {
            marks += 1;
            if marks == 2 {
                return &text[at..];
            }
        }
    }
    text
}

fn spread_region(
    template: &TemplateText,
    local: Option<Arc<str>>,
    file: &str,
    lines: &Lines,
) -> Option<Region> {
    let text = Arc::clone(&template.text);
    if template.origin.string_start().is_none() {
        let first = template.origin.in_file(LineColumn { line: 1, column: 1 });
        let start = lines.offset_of(first, file);
        // The text may have been changed after it was read.
        return (file.get(start..)? == &*text).then_some(Region {
            language: template.engine,
            text,
            local,
            place: RegionPlace::Part(start),
        });
    }
    let mut starts: Vec<u32> = Vec::with_capacity(text.len() + 1);
    let mut at = LineColumn { line: 1, column: 1 };
    for character in text.chars() {
        let offset = lines.offset_of(template.origin.in_file(at), file);
        let offset = u32::try_from(offset).ok()?.max(starts.last().copied().unwrap_or(0));
        starts.extend(std::iter::repeat_n(offset, character.len_utf8()));
        at = match character {
            '\n' => LineColumn { line: at.line + 1, column: 1 },
            _ => LineColumn { column: at.column + 1, ..at },
        };
    }
    // A character is written as itself, or as an escape that ends where the next character starts.
    let written = |start: u32, next: Option<u32>| {
        let rest = file.get(start as usize..).unwrap_or_default();
        let itself = start + rest.chars().next().map_or(0, char::len_utf8) as u32;
        let escape = match rest.as_bytes() {
            [b'\\', b'x', ..] => start + 4,
            [b'\\', b'u', ..] => start + 6,
            [b'\\', b'U', ..] => start + 10,
            [b'\\', ..] => start + 2,
            [b'\'', b'\'', ..] if next == Some(start + 2) => start + 2,
            _ => itself,
        };
        next.map_or(escape, |next| if next > start { escape.min(next).max(itself.min(next)) } else { itself })
    };
    let mut ends: Vec<u32> = Vec::with_capacity(starts.len());
    for (offset, character) in text.char_indices() {
        let next = starts.get(offset + character.len_utf8()).copied();
        let end = written(starts[offset], next).min(file.len() as u32);
        ends.extend(std::iter::repeat_n(end, character.len_utf8()));
    }
    let end = match ends.last() {
        Some(end) if !text.ends_with('\n') => *end,
        _ => u32::try_from(lines.offset_of(template.origin.in_file(at), file)).ok()?,
    };
    starts.push(end.max(starts.last().copied().unwrap_or(0)));
    Some(Region { language: template.engine, text, local, place: RegionPlace::Spread { starts, ends } })
}

/// The definition of the prompt whose directory has the file `path`.
pub(super) fn owner_definition(catalog: &Catalog, path: &str) -> Option<Arc<Definition>> {
    catalog.entry_at(&owner_source(catalog, path)?)?.definition().ok()
}

/// The source of the prompt whose directory has the file `path`.
pub(super) fn owner_source(catalog: &Catalog, path: &str) -> Option<String> {
    let mut directory = path;
    while let Some((parent, _)) = directory.rsplit_once('/') {
        if catalog.entry_at(parent).is_some() {
            return Some(parent.to_owned());
        }
        directory = parent;
    }
    None
}

/// What a file of a workspace is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentFile {
    Template,
    Definition,
    Python,
    Module,
    Pack,
    Agent,
    Vocabulary,
    Settings,
}

impl DocumentFile {
    pub(super) fn from_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        Some(match name {
            "prompt.py" => Self::Python,
            "prompt.yaml" | "prompt.yml" | "prompt.json" => Self::Definition,
            "module.yaml" | "module.yml" | "module.json" | "module.toml" => Self::Module,
            "pack.json" => Self::Pack,
            "agent.json" => Self::Agent,
            "vocab.json" | "vocab.txt" => Self::Vocabulary,
            "hinagata.toml" | ".hinagata.toml" => Self::Settings,
            _ => {
                let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
                match ending.as_deref() {
                    Some("md" | "jinja" | "j2" | "jinja2" | "gotmpl" | "tmpl" | "txt" | "xml" | "html") => {
                        Self::Template
                    }
                    _ => return None,
                }
            }
        })
    }
}
