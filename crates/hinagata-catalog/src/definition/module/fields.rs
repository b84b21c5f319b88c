//! The fields of a module file. Unknown keys are errors, because their content would be missing from the prompt.

use std::sync::Arc;

use hinagata_document::{Data, Fields, Node};
use hinagata_module::Text;
use hinagata_template::Language;

use super::{
    FixedText, ModuleTemplate,
    entry::Collected,
    path::Path,
    spec::{NumberSpec, PathUse, TextSpec, ValueSpec},
    unescape_references,
};
use crate::definition::model::TemplateText;

/// Reads the entries of one file.
pub(super) struct Reader<'r, 'f> {
    pub(super) fields: &'r mut Fields<'f>,
    pub(super) all: &'r mut Collected,
    /// The variable of the loop around the current entry.
    pub(super) local: Option<Arc<str>>,
}

impl<'r, 'f> Reader<'r, 'f> {
    pub(super) fn new(fields: &'r mut Fields<'f>, all: &'r mut Collected) -> Self {
        Self { fields, all, local: None }
    }

    /// The entries of an object; unknown keys are reported.
    pub(super) fn known_map<'n>(
        &mut self,
        field: &str,
        node: &'n Node,
        known: &[&str],
    ) -> Option<&'n [(String, Node)]> {
        let Some(entries) = node.as_map() else {
            let (keys, message) =
                (known.join(", "), format!("`{field}` must be an object, not {}", node.kind()));
            self.fields.problem_with_hint(field, node, message, format!("write it with {keys}"));
            return None;
        };
        for (key, value) in entries {
            if !known.contains(&key.as_str()) {
                self.fields.unknown_key(field, value, key, known);
            }
        }
        Some(entries)
    }

    /// A required value.
    pub(super) fn required<'n>(&mut self, field: &str, node: &'n Node, key: &str) -> Option<&'n Node> {
        let found = node.get(key);
        if found.is_none() {
            let hint = format!("add `{key}`");
            self.fields.problem_with_hint(field, node, format!("`{field}` has no `{key}`"), &hint);
        }
        found
    }

    /// A text: fixed, `=path`, or with `{{ }}`. `==` at its start is a literal `=`.
    pub(super) fn text(&mut self, field: &str, node: &Node) -> Option<TextSpec> {
        let text = self.fields.string(field, node)?;
        if let Some(literal) = text.strip_prefix("==") {
            return Some(TextSpec::Fixed(self.keep_fixed(node, &text, format!("={literal}").into(), 1)));
        }
        if let Some(path) = text.strip_prefix('=') {
            return self.path(field, node, path, false).map(TextSpec::Path);
        }
        if !is_template(&text) {
            // A template drops one trailing line break; so does a text.
            let fixed = text.strip_suffix('\n').unwrap_or(&text).into();
            return Some(TextSpec::Fixed(self.keep_fixed(node, &text, fixed, 0)));
        }
        let text = Arc::from(text);
        let origin = self.fields.text_origin(node, &text);
        let file = self.fields.file().to_owned();
        let template = TemplateText { engine: Language::Jinja, text, file, origin };
        self.all.templates.push(ModuleTemplate {
            text: template,
            local: self.local.clone(),
            has_headings: false,
        });
        Some(TextSpec::Template(self.all.templates.len() - 1))
    }

    /// A text that joins those of its section, in which values cannot open headings.
    pub(super) fn entry_text(&mut self, field: &str, node: &Node) -> Option<TextSpec> {
        let spec = self.text(field, node)?;
        if let TextSpec::Template(number) = spec {
            self.all.templates[number].has_headings = true;
        }
        Some(spec)
    }

    /// A text that cannot depend on variables, such as a heading.
    pub(super) fn fixed_text(&mut self, field: &str, node: &Node) -> Option<Text> {
        let text = self.fields.string(field, node)?;
        let is_reference = text.strip_prefix('=').is_some_and(|rest| Path::parse(rest).is_some());
        if is_template(&text) || is_reference {
            let hint = "write the heading as fixed text; only the entries under it can depend on variables";
            self.fields.problem_with_hint(field, node, "a heading cannot depend on variables", hint);
            return None;
        }
        Some(self.keep_fixed(node, &text, Text::from(&text), 0))
    }

    fn keep_fixed(&mut self, node: &Node, string: &str, text: Text, start: usize) -> Text {
        self.all.keep_string(self.fields, node, string, (text, start))
    }

    /// A path without `=`, as in `each` and `if`; a leading `=` is allowed.
    pub(super) fn bare_path(&mut self, field: &str, node: &Node, condition: bool) -> Option<PathUse> {
        let text = self.fields.string(field, node)?;
        self.path(field, node, text.strip_prefix('=').unwrap_or(&text), condition)
    }

    pub(super) fn path(&mut self, field: &str, node: &Node, text: &str, condition: bool) -> Option<PathUse> {
        let Some(path) = Path::parse(text.trim()) else {
            let shown: String = text.chars().take(60).collect();
            let message = format!("`{field}`: `{shown}` is not a path into the context");
            let hint = "write names joined by dots, such as `ticket.body`; write `==` for a text that starts with `=`";
            self.fields.problem_with_hint(field, node, message, hint);
            return None;
        };
        let local = self.local.as_deref() == Some(path.root());
        let found = PathUse { path, place: self.fields.place(node), local, condition };
        self.all.paths.push(found.clone());
        Some(found)
    }

    pub(super) fn number(&mut self, field: &str, node: &Node) -> Option<NumberSpec> {
        match &node.data {
            Data::Number(number) if number.as_u64().is_some() => number.as_u64().map(NumberSpec::Fixed),
            Data::String(text) if text.starts_with('=') => {
                self.path(field, node, &text[1..], false).map(NumberSpec::Path)
            }
            _ => {
                let message = format!("`{field}` must be a whole number or a path, not {}", node.kind());
                self.fields.problem_with_hint(field, node, message, "write `3`, or `=path`");
                None
            }
        }
    }

    /// Data in which texts may be paths and templates.
    pub(super) fn value(&mut self, field: &str, node: &Node) -> Option<ValueSpec> {
        let spec = match &node.data {
            Data::String(_) => return self.text(field, node).map(ValueSpec::Text),
            Data::List(items) => {
                let item = |(index, item)| self.value(&format!("{field}[{index}]"), item);
                ValueSpec::List(items.iter().enumerate().map(item).collect::<Option<_>>()?)
            }
            Data::Map(entries) => {
                let entry = |(key, value): &(String, Node)| {
                    Some((key.clone(), self.value(&format!("{field}.{key}"), value)?))
                };
                ValueSpec::Map(entries.iter().map(entry).collect::<Option<_>>()?)
            }
            _ => ValueSpec::Fixed(node.to_value()),
        };
        Some(if spec.is_fixed() { ValueSpec::Fixed(unescape_references(node.to_value())) } else { spec })
    }
}

impl Collected {
    /// Keeps the place of a text, which starts at a byte of the string `node`.
    pub(super) fn keep_string(
        &mut self,
        fields: &Fields<'_>,
        node: &Node,
        string: &str,
        (text, start): (Text, usize),
    ) -> Text {
        let string: Arc<str> = Arc::from(string);
        let (origin, file) = (fields.text_origin(node, &string), fields.file().to_owned());
        self.fixed.push(FixedText { text: text.clone(), string, start, file, origin });
        text
    }
}

/// Whether a text contains template syntax.
fn is_template(text: &str) -> bool {
    ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark))
}
