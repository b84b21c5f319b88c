//! The entries of sections: strings, and objects with exactly one kind.

use std::{borrow::Cow, sync::Arc};

use hinagata_document::{Data, Error, Node};
use hinagata_module::{
    Dynamic, DynamicText, Elements, Entry, Role, Section, SectionName, Text, TextItem, Yielded, section,
    subsection,
};

use super::{
    EvaluatedEntries, FixedText, ModuleTemplate,
    build::{self, NoValues},
    fields::Reader,
    path::is_name,
    spec::{
        AttachmentSpec, AttachmentsSpec, BodySpec, Bound, ChunkSpec, Condition, DynamicSpec, Each,
        MaterialSpec, MessageSpec, PathUse, RoleSpec, TextSpec, ValueSpec,
    },
};

/// The kinds of entries.
const KINDS: [&str; 7] = ["text", "message", "material", "chunk", "json", "section", "subsection"];
/// The keys that make an entry depend on variables.
const MODIFIERS: [&str; 7] = ["each", "as", "where", "slice", "if", "unless", "else"];

/// The parts that depend on variables, numbered across all files of a module.
#[derive(Default)]
pub(super) struct Collected {
    pub(super) entries: Vec<DynamicSpec>,
    pub(super) texts: Vec<DynamicSpec>,
    pub(super) templates: Vec<ModuleTemplate>,
    pub(super) paths: Vec<PathUse>,
    pub(super) fixed: Vec<FixedText>,
    /// Warnings about likely mistakes, such as misspelled keys.
    pub(super) warnings: Vec<Error>,
}

impl Reader<'_, '_> {
    /// The entries of a section.
    pub(super) fn entries(
        &mut self,
        name: &SectionName,
        field: &str,
        node: &Node,
    ) -> Vec<Entry<EvaluatedEntries>> {
        if let Some(text) = node.as_str() {
            let shown: String = text.chars().take(30).collect();
            let hint = format!("write a list: `{}: [\"{shown}\"]`", name.name());
            let message = format!("`{field}` must be a list, not a string");
            self.fields.problem_with_hint(field, node, message, &hint);
            return Vec::new();
        }
        let items = self.fields.list(field, node);
        let entry = |(index, item): (usize, &Node)| {
            self.entry(name, &format!("{field}[{index}]"), &short_entry(item))
        };
        items.iter().enumerate().filter_map(entry).collect()
    }

    fn entry(&mut self, name: &SectionName, field: &str, node: &Node) -> Option<Entry<EvaluatedEntries>> {
        match self.kind(field, node)? {
            "section" => self.section(field, node).map(Entry::Section),
            "subsection" => self.subsection(&name.title(), field, node).map(Entry::Subsection),
            _ => {
                let spec = DynamicSpec { section: name.title(), ..self.dynamic(field, node)? };
                if *name == SectionName::Standard(Section::Schema) {
                    self.check_schema(field, node, &spec);
                }
                if spec.is_fixed() {
                    return self.fixed(field, node, &spec);
                }
                self.all.entries.push(spec);
                let number = self.all.entries.len() - 1;
                let given =
                    move |given: &EvaluatedEntries| given.elements.get(number).cloned().unwrap_or_default();
                Some(Entry::Dynamic(Dynamic::new(given).with_json_form(node.to_value())))
            }
        }
    }

    /// The single kind of an entry.
    fn kind(&mut self, field: &str, node: &Node) -> Option<&'static str> {
        let Some(entries) = node.as_map() else {
            if matches!(node.data, Data::String(_) | Data::Number(_)) {
                return Some("text");
            }
            let message = format!("`{field}` must be a string or an object, not {}", node.kind());
            let hint = format!("write a string, or an object with one of {}", KINDS.join(", "));
            self.fields.problem_with_hint(field, node, message, &hint);
            return None;
        };
        let kinds: Vec<&str> = KINDS.into_iter().filter(|kind| node.get(kind).is_some()).collect();
        match kinds.as_slice() {
            [one] => Some(one),
            [] => {
                let known: Vec<&str> = KINDS.into_iter().chain(MODIFIERS).chain(["items"]).collect();
                let stranger = entries.iter().find(|(key, _)| !known.contains(&key.as_str()));
                match stranger {
                    Some((key, value)) => self.fields.unknown_key(field, value, key, &known),
                    None => {
                        let hint = format!("give it one of {}", KINDS.join(", "));
                        self.fields.problem_with_hint(
                            field,
                            node,
                            format!("`{field}` has no content"),
                            &hint,
                        );
                    }
                }
                None
            }
            [first, second, ..] => {
                let place = node.get(second).unwrap_or(node);
                let message = format!("`{field}` has two kinds: `{first}` and `{second}`");
                self.fields.problem_with_hint(field, place, message, "make it two entries");
                None
            }
        }
    }

    fn section(
        &mut self,
        field: &str,
        node: &Node,
    ) -> Option<hinagata_module::SectionEntry<EvaluatedEntries>> {
        self.refuse_modifiers(field, node);
        self.known_map(field, node, &structure_keys("section"))?;
        let title = self.fixed_text(&format!("{field}.section"), node.get("section")?)?;
        let mut built = section(title.clone());
        let items = self.required(field, node, "items")?;
        for (index, item) in self.fields.list(&format!("{field}.items"), items).iter().enumerate() {
            let field = format!("{field}.items[{index}]");
            match self.kind(&field, item) {
                Some("subsection") => {
                    if let Some(inner) = self.subsection(&title, &field, item) {
                        built = built.subsection(inner);
                    }
                }
                Some("section") => {
                    let hint = "make it a subsection, or an entry of its own";
                    self.fields.problem_with_hint(&field, item, "a section cannot contain a section", hint);
                }
                Some(_) => {
                    if let Some(item) = self.text_item(&title, &field, item) {
                        built = built.item(item);
                    }
                }
                None => {}
            }
        }
        Some(built)
    }

    /// `owner` is the title of the section that it is in.
    fn subsection(
        &mut self,
        owner: &Text,
        field: &str,
        node: &Node,
    ) -> Option<hinagata_module::SubsectionEntry<EvaluatedEntries>> {
        self.refuse_modifiers(field, node);
        self.known_map(field, node, &structure_keys("subsection"))?;
        let title = self.fixed_text(&format!("{field}.subsection"), node.get("subsection")?)?;
        let items = self.required(field, node, "items")?;
        let mut built = subsection(title);
        for (index, item) in self.fields.list(&format!("{field}.items"), items).iter().enumerate() {
            if let Some(item) = self.text_item(owner, &format!("{field}.items[{index}]"), item) {
                built = built.item(item);
            }
        }
        Some(built)
    }

    /// An entry under a heading, which must be a text.
    fn text_item(&mut self, owner: &Text, field: &str, node: &Node) -> Option<TextItem<EvaluatedEntries>> {
        match self.kind(field, node)? {
            "text" => {}
            other => {
                let message = format!("`{field}`: a {other} cannot be under a heading, only texts can");
                let hint = "put it beside the heading, as an entry of the section";
                self.fields.problem_with_hint(field, node, message, hint);
                return None;
            }
        }
        let spec = DynamicSpec { section: owner.clone(), ..self.dynamic(field, node)? };
        if let (true, BodySpec::Text(TextSpec::Fixed(text))) = (spec.is_fixed(), &spec.body) {
            return Some(TextItem::Fixed(text.clone()));
        }
        self.all.texts.push(spec);
        let number = self.all.texts.len() - 1;
        let given = move |given: &EvaluatedEntries| given.texts.get(number).cloned().unwrap_or_default();
        Some(TextItem::Dynamic(DynamicText::new(given).with_json_form(node.to_value())))
    }

    fn refuse_modifiers(&mut self, field: &str, node: &Node) {
        for modifier in MODIFIERS {
            if let Some(value) = node.get(modifier) {
                let hint = "structure is static: put it on the entries under the heading";
                let message = format!("`{field}`: a heading cannot have `{modifier}`");
                self.fields.problem_with_hint(field, value, message, hint);
            }
        }
    }

    /// An entry with its modifiers; headings are excluded.
    fn dynamic(&mut self, field: &str, node: &Node) -> Option<DynamicSpec> {
        if node.as_map().is_none() {
            let body = BodySpec::Text(self.entry_text(field, node)?);
            return Some(DynamicSpec::new(body));
        }
        let kind = self.kind(field, node)?;
        let known: Vec<&str> = MODIFIERS.into_iter().chain([kind]).collect();
        self.known_map(field, node, &known)?;
        let mut conditions = Vec::new();
        for (key, wanted) in [("if", true), ("unless", false)] {
            if let Some(value) = node.get(key) {
                let path = self.bare_path(&format!("{field}.{key}"), value, true)?;
                conditions.push(Condition { path, wanted });
            }
        }
        let each = self.each(field, node)?;
        let body = self.body(&format!("{field}.{kind}"), kind, node.get(kind)?);
        self.local = None;
        let otherwise = self.otherwise(field, node)?;
        Some(DynamicSpec { conditions, each, otherwise, ..DynamicSpec::new(body?) })
    }

    /// The loop of an entry; its variable is in scope until the body is read.
    fn each(&mut self, field: &str, node: &Node) -> Option<Option<Each>> {
        let Some(list) = node.get("each") else {
            for key in ["as", "where", "slice"] {
                if let Some(value) = node.get(key) {
                    let message = format!("`{field}`: `{key}` requires `each`");
                    self.fields.problem_with_hint(field, value, message, "add `each`, or remove it");
                }
            }
            return Some(None);
        };
        let list = self.bare_path(&format!("{field}.each"), list, false)?;
        let bound = |reader: &mut Self, index: usize| -> Option<Option<Bound>> {
            let Some(slice) = node.get("slice") else { return Some(None) };
            let field = format!("{field}.slice");
            let Some([start, end]) = slice.as_list() else {
                let hint = "write `slice: [range.start, range.end]`; null leaves one side open";
                reader.fields.problem_with_hint(
                    &field,
                    slice,
                    format!("`{field}` must be a list of two items"),
                    hint,
                );
                return None;
            };
            reader.bound(&format!("{field}[{index}]"), if index == 0 { start } else { end })
        };
        let (start, end) = (bound(self, 0)?, bound(self, 1)?);
        let name: Arc<str> = match node.get("as") {
            Some(name) => self.fields.string(&format!("{field}.as"), name)?.into(),
            None => "item".into(),
        };
        if !is_name(&name) {
            let place = node.get("as").unwrap_or(node);
            let message = format!("`{field}`: `{name}` is not a valid variable name");
            self.fields.problem_with_hint(field, place, message, "use letters, digits and `_`");
        }
        self.local = Some(Arc::clone(&name));
        let filters = self.filters(&format!("{field}.where"), node.get("where"))?;
        Some(Some(Each { list, name, filters, start, end }))
    }

    /// `where`: a path, or a list of paths of which one has to be true.
    fn filters(&mut self, field: &str, node: Option<&Node>) -> Option<Vec<PathUse>> {
        match node {
            None => Some(Vec::new()),
            Some(Node { data: Data::List(paths), .. }) => {
                let path = |(index, path)| self.bare_path(&format!("{field}[{index}]"), path, true);
                paths.iter().enumerate().map(path).collect()
            }
            Some(path) => Some(vec![self.bare_path(field, path, true)?]),
        }
    }

    fn bound(&mut self, field: &str, node: &Node) -> Option<Option<Bound>> {
        match &node.data {
            Data::Null => Some(None),
            Data::Number(number) if number.as_i64().is_some() => Some(number.as_i64().map(Bound::Number)),
            _ => self.bare_path(field, node, false).map(|path| Some(Bound::Path(path))),
        }
    }

    fn otherwise(&mut self, field: &str, node: &Node) -> Option<Option<Box<DynamicSpec>>> {
        let Some(other) = node.get("else") else { return Some(None) };
        let needs = ["each", "if", "unless"];
        if needs.iter().all(|key| node.get(key).is_none()) {
            let message = format!("`{field}`: `else` needs `if`, `unless` or `each`");
            self.fields.problem_with_hint(field, other, message, "add one of them, or remove `else`");
        }
        let field = format!("{field}.else");
        if matches!(self.kind(&field, other)?, "section" | "subsection") {
            let hint = "put the heading beside the entry, and make the entries under it depend on variables";
            self.fields.problem_with_hint(&field, other, "a heading cannot depend on variables", hint);
            return None;
        }
        self.dynamic(&field, other).map(|spec| Some(Box::new(spec)))
    }

    fn body(&mut self, field: &str, kind: &str, node: &Node) -> Option<BodySpec> {
        Some(match kind {
            "text" => BodySpec::Text(self.entry_text(field, node)?),
            "message" if node.as_str().is_some() => BodySpec::Conversation(self.message_path(field, node)?),
            "message" => BodySpec::Message(Box::new(self.message(field, node)?)),
            "material" => BodySpec::Material(Box::new(self.material(field, node)?)),
            "chunk" => BodySpec::Chunk(Box::new(self.chunk(field, node)?)),
            _ => BodySpec::Json(self.value(field, node)?),
        })
    }

    /// Messages from data: `message: =path`.
    fn message_path(&mut self, field: &str, node: &Node) -> Option<PathUse> {
        let text = node.as_str().unwrap_or_default();
        let Some(path) = text.strip_prefix('=') else {
            let hint = "write `role` and `content`, or `=path` for messages from data";
            let message = format!("`{field}` must be an object or a path, not a string");
            self.fields.problem_with_hint(field, node, message, hint);
            return None;
        };
        self.path(field, node, path, false)
    }

    fn message(&mut self, field: &str, node: &Node) -> Option<MessageSpec> {
        let keys = [
            "role",
            "content",
            "name",
            "attachments",
            "toolCalls",
            "tool_calls",
            "toolCallId",
            "tool_call_id",
            "usage",
        ];
        self.known_map(field, node, &keys)?;
        let calls = node.get("toolCalls").or_else(|| node.get("tool_calls"));
        let call_id = if node.get("tool_call_id").is_some() { "tool_call_id" } else { "toolCallId" };
        let role = self.required(field, node, "role")?;
        let role = self.role(&format!("{field}.role"), role)?;
        if let RoleSpec::Fixed(role) = role {
            self.refuse_fields_of_others(field, node, role);
        }
        Some(MessageSpec {
            role,
            content: match node.get("content") {
                // A list of parts is read as attachments.
                Some(content) if matches!(content.data, Data::List(_) | Data::Null) => {
                    TextSpec::Fixed(Text::default())
                }
                Some(content) => self.text(&format!("{field}.content"), content)?,
                None if calls.is_some() || node.get("attachments").is_some() => {
                    TextSpec::Fixed(Text::default())
                }
                None => {
                    self.required(field, node, "content")?;
                    return None;
                }
            },
            attachments: self.attachments(field, node)?,
            name: self.optional(field, node, "name", Self::text)?,
            tool_calls: match calls {
                Some(calls) if calls.as_str().is_some() => {
                    let path = self.bare_path(&format!("{field}.toolCalls"), calls, false)?;
                    Some(ValueSpec::Text(TextSpec::Path(path)))
                }
                Some(calls) => Some(self.value(&format!("{field}.toolCalls"), calls)?),
                None => None,
            },
            tool_call_id: self.optional(field, node, call_id, Self::text)?,
            usage: self.optional(field, node, "usage", Self::number)?,
            place: self.fields.place(node),
        })
    }

    /// Refuses fields that a message of this role cannot have: they would not be sent.
    fn refuse_fields_of_others(&mut self, field: &str, node: &Node, role: Role) {
        let wrong = [
            ("toolCalls", role != Role::Assistant, "only the assistant calls tools"),
            ("tool_calls", role != Role::Assistant, "only the assistant calls tools"),
            ("toolCallId", role != Role::Tool, "only a tool answers a call"),
            ("tool_call_id", role != Role::Tool, "only a tool answers a call"),
        ];
        for (key, is_wrong, hint) in wrong {
            if let Some(value) = node.get(key).filter(|_| is_wrong) {
                let message = format!("`{field}`: a message of role {role} cannot have `{key}`");
                self.fields.problem_with_hint(field, value, message, hint);
            }
        }
    }

    fn role(&mut self, field: &str, node: &Node) -> Option<RoleSpec> {
        match node.as_str().and_then(|text| text.strip_prefix('=')) {
            Some(path) => self.path(field, node, path, false).map(RoleSpec::Bound),
            None => {
                let names = Role::ALL.map(Role::name);
                self.fields.one_of(field, node, &names, Role::from_name).map(RoleSpec::Fixed)
            }
        }
    }

    fn material(&mut self, field: &str, node: &Node) -> Option<MaterialSpec> {
        self.known_map(field, node, &["id", "title", "content", "attachments", "usage"])?;
        Some(MaterialSpec {
            id: self.text_field(field, node, "id")?,
            title: self.text_field(field, node, "title")?,
            content: self.content_field(field, node)?,
            attachments: self.attachments(field, node)?,
            usage: self.optional(field, node, "usage", Self::number)?,
        })
    }

    fn chunk(&mut self, field: &str, node: &Node) -> Option<ChunkSpec> {
        let keys = ["partOf", "content", "index", "total", "attachments", "usage"];
        self.known_map(field, node, &keys)?;
        Some(ChunkSpec {
            part_of: self.text_field(field, node, "partOf")?,
            content: self.content_field(field, node)?,
            attachments: self.attachments(field, node)?,
            index: self.optional(field, node, "index", Self::number)?,
            total: self.optional(field, node, "total", Self::number)?,
            usage: self.optional(field, node, "usage", Self::number)?,
        })
    }

    fn text_field(&mut self, field: &str, node: &Node, key: &str) -> Option<TextSpec> {
        let found = self.required(field, node, key)?;
        self.text(&format!("{field}.{key}"), found)
    }

    /// The content of a material or chunk: a text. A list of parts is read as attachments.
    fn content_field(&mut self, field: &str, node: &Node) -> Option<TextSpec> {
        match self.required(field, node, "content")? {
            Node { data: Data::List(_), .. } => Some(TextSpec::Fixed(Text::default())),
            content => self.text(&format!("{field}.content"), content),
        }
    }

    fn optional<T>(
        &mut self,
        field: &str,
        node: &Node,
        key: &str,
        read: impl FnOnce(&mut Self, &str, &Node) -> Option<T>,
    ) -> Option<Option<T>> {
        match node.get(key) {
            None => Some(None),
            Some(found) => read(self, &format!("{field}.{key}"), found).map(Some),
        }
    }

    /// The attachments of an element: those in a list as its content, then those under `attachments`.
    fn attachments(&mut self, field: &str, node: &Node) -> Option<AttachmentsSpec> {
        let mut all = Vec::new();
        for key in ["content", "attachments"] {
            let Some(found) = node.get(key) else { continue };
            let field = format!("{field}.{key}");
            match &found.data {
                Data::List(_) => {}
                Data::String(_) if key == "attachments" => {
                    return self.bare_path(&field, found, false).map(AttachmentsSpec::Path);
                }
                _ if key == "content" => continue,
                _ => {}
            }
            for (index, item) in self.fields.list(&field, found).iter().enumerate() {
                all.push(self.attachment(&format!("{field}[{index}]"), item)?);
            }
        }
        Some(AttachmentsSpec::Listed(all))
    }

    /// An attachment, in short or in the form of data: `{image_url: URL}`, `{type: image_url, image_url: {url: URL}}`.
    fn attachment(&mut self, field: &str, node: &Node) -> Option<AttachmentSpec> {
        let kinds = ["text", "image_url", "file"];
        let kind = kinds.into_iter().find(|kind| node.get(kind).is_some());
        let known: &[&str] = match kind {
            Some("file") => &["type", "file", "mime_type", "name"],
            Some("text") => &["type", "text"],
            Some(_) => &["type", "image_url"],
            None => &["type", "text", "image_url", "file", "mime_type", "name"],
        };
        self.known_map(field, node, known)?;
        if let Some(typed) = node.get("type") {
            let typed = self.fields.one_of(&format!("{field}.type"), typed, &kinds, |name| {
                kinds.into_iter().find(|kind| *kind == name)
            })?;
            self.required(field, node, typed)?;
        }
        if let Some(text) = node.get("text") {
            return self.text(&format!("{field}.text"), text).map(AttachmentSpec::Text);
        }
        if let Some(image) = node.get("image_url") {
            let field = format!("{field}.image_url");
            let url = match image.as_map() {
                Some(_) => {
                    self.known_map(&field, image, &["url"])?;
                    self.required(&field, image, "url")?
                }
                None => image,
            };
            return self.text(&field, url).map(AttachmentSpec::Image);
        }
        let file = self.required(field, node, "file")?;
        if file.as_map().is_some() {
            let field = format!("{field}.file");
            self.known_map(&field, file, &["path", "mime_type", "name"])?;
            return Some(AttachmentSpec::File {
                path: self.text_field(&field, file, "path")?,
                mime_type: self.text_field(&field, file, "mime_type")?,
                name: self.optional(&field, file, "name", Self::text)?,
            });
        }
        let path = self.text(&format!("{field}.file"), file)?;
        let mime_type = self.text_field(field, node, "mime_type")?;
        Some(AttachmentSpec::File { path, mime_type, name: self.optional(field, node, "name", Self::text)? })
    }

    /// The entry of a spec that does not depend on variables.
    fn fixed(&mut self, field: &str, node: &Node, spec: &DynamicSpec) -> Option<Entry<EvaluatedEntries>> {
        let mut all = Elements::new();
        if let Err(error) = build::build_elements(&spec.body, &mut NoValues, &mut all) {
            match error.hint() {
                Some(hint) => self.fields.problem_with_hint(field, node, error.message(), hint),
                None => self.fields.problem(field, node, error.message()),
            }
            return None;
        }
        all.pop().map(|yielded| match yielded {
            Yielded::Text(text) => Entry::Text(text),
            Yielded::Element(element) => Entry::Element(element.into()),
        })
    }

    /// Checks that a schema in a string is valid JSON.
    fn check_schema(&mut self, field: &str, node: &Node, spec: &DynamicSpec) {
        if let BodySpec::Json(ValueSpec::Text(TextSpec::Fixed(text))) = &spec.body
            && let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(text)
        {
            let place = node.get("json").unwrap_or(node);
            let message = format!("`{field}.json` is not valid JSON: {error}");
            self.fields.problem_with_hint(field, place, message, "correct it, or write it as an object");
        }
    }
}

/// An entry in short. The form of documents, such as `{type: subsection, title, items}`, becomes `{subsection: title,
/// items}`, so that merged modules can be read again.
fn short_entry(node: &Node) -> Cow<'_, Node> {
    let kind = node.get("type").and_then(Node::as_str);
    let Some(kind) = kind.and_then(|kind| KINDS.into_iter().find(|known| *known == kind)) else {
        return Cow::Borrowed(node);
    };
    if node.get(kind).is_some() {
        // It has both forms; the error names the unknown key.
        return Cow::Borrowed(node);
    }
    let (modifiers, fields): (Vec<_>, Vec<_>) = node
        .as_map()
        .unwrap_or_default()
        .iter()
        .filter(|(key, _)| key != "type")
        .cloned()
        .partition(|(key, _)| MODIFIERS.contains(&key.as_str()));
    let short = match kind {
        "message" | "material" | "chunk" => {
            vec![(kind.to_owned(), Node::new(node.at, Data::Map(fields)))]
        }
        kind => {
            let title = if matches!(kind, "section" | "subsection") { "title" } else { "content" };
            let rename = |(key, value): (String, Node)| match key.as_str() {
                key if key == title => (kind.to_owned(), value),
                "items" => (key, short_items(value)),
                _ => (key, value),
            };
            fields.into_iter().map(rename).collect()
        }
    };
    Cow::Owned(Node::new(node.at, Data::Map(modifiers.into_iter().chain(short).collect())))
}

fn short_items(node: Node) -> Node {
    match node.data {
        Data::List(items) => {
            let items = items.iter().map(|item| short_entry(item).into_owned()).collect();
            Node::new(node.at, Data::List(items))
        }
        data => Node::new(node.at, data),
    }
}

/// The keys of a heading. Modifiers are included because they are refused with their own error.
fn structure_keys(kind: &'static str) -> Vec<&'static str> {
    MODIFIERS.into_iter().chain([kind, "items"]).collect()
}
