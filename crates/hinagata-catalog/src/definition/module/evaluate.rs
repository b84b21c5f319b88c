//! Evaluates the entries of a module that depend on variables.

use std::{cell::OnceCell, sync::Arc};

use hinagata_document::{Code, Error, Place, Reason, Result};
use hinagata_module::{Elements, Text, Texts};
use hinagata_value::{Key, Variables};
use serde_json::{Value, json};

use super::{
    EvaluatedEntries, ModuleBody,
    build::{Values, build_elements, build_texts, is_true, list_expected, number_expected},
    spec::{BodySpec, Bound, Condition, DynamicSpec, Each, PathUse, TextSpec},
};

/// The variable of the current loop.
#[derive(Debug)]
pub struct Local<'p> {
    name: Arc<str>,
    value: &'p Value,
    /// The index of the item, and the number of items.
    progress: (usize, usize),
    state: OnceCell<Value>,
}

/// The name of the state of a loop in templates.
pub const LOOP: &str = "loop";

impl<'p> Local<'p> {
    fn new(name: &Arc<str>, value: &'p Value, progress: (usize, usize)) -> Self {
        Self { name: Arc::clone(name), value, progress, state: OnceCell::new() }
    }

    /// The state of the loop, as Jinja names it.
    fn state(&self) -> &Value {
        let (index, length) = self.progress;
        self.state.get_or_init(|| {
            json!({"index": index + 1, "index0": index, "first": index == 0, "last": index + 1 == length,
                "length": length})
        })
    }
}

/// Why an entry has no content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absence {
    /// Its condition is false.
    Condition,
    /// Its loop has no items.
    EmptyLoop,
    /// Its value is undefined or null, or an empty text.
    NoValue,
}

/// The inputs for evaluating the entries of a module.
pub trait World<'p> {
    /// The variable called `name`.
    fn variable(&self, name: &str) -> Option<&'p Value>;

    /// The text of the template with this number.
    fn template(&mut self, number: usize, local: Option<&Local<'p>>) -> Result<Text>;

    /// Whether an undefined value is an error.
    fn is_strict(&self) -> bool;

    /// Whether it wants to know where texts come from.
    fn is_recorded(&self) -> bool {
        false
    }

    /// Notes texts that were read from the value at a path, in the order of the value.
    fn note_texts(&mut self, texts: &[Text], value: &'p Value, path: &PathUse) {
        let _ = (texts, value, path);
    }

    /// Notes what data of a module was made of: the values at paths, and templates by their numbers.
    fn note_data(
        &mut self,
        data: &Arc<Value>,
        values: &[&'p Value],
        templates: &[usize],
        place: Option<&Place>,
    ) {
        let _ = (data, values, templates, place);
    }

    /// Notes that an entry under the heading `section` has no content because of the value at a path.
    fn note_absent(&mut self, section: &Text, absence: Absence, path: &PathUse, value: Option<&'p Value>) {
        let _ = (section, absence, path, value);
    }

    /// Notes that the turn of a loop starts; `None` after its last one.
    fn note_turn(&mut self, list: &PathUse, turn: Option<usize>) {
        let _ = (list, turn);
    }
}

/// Evaluates the entries of `body` that depend on variables; the results may have `limit` bytes in total.
pub fn evaluate_body<'p>(
    body: &ModuleBody,
    world: &mut dyn World<'p>,
    limit: usize,
) -> Result<EvaluatedEntries> {
    let mut worker = Worker { world, local: None, room: limit, limit };
    let mut given = EvaluatedEntries::default();
    for spec in &body.entries {
        let mut all = Elements::new();
        worker.entry(spec, &mut |body, values| build_elements(body, values, &mut all))?;
        given.elements.push(all);
    }
    for spec in &body.texts {
        let mut all = Texts::default();
        worker.entry(spec, &mut |body, values| build_texts(body, values, &mut all))?;
        given.texts.push(all);
    }
    Ok(given)
}

/// Evaluates the entries of one module.
struct Worker<'w, 'p> {
    world: &'w mut dyn World<'p>,
    local: Option<Local<'p>>,
    /// Remaining bytes of `limit`.
    room: usize,
    limit: usize,
}

/// Adds the content of an entry to the result.
type AddBody<'s> = dyn FnMut(&BodySpec, &mut dyn Values) -> Result<()> + 's;

impl<'p> Worker<'_, 'p> {
    fn entry(&mut self, spec: &DynamicSpec, add_body: &mut AddBody<'_>) -> Result<()> {
        self.entry_in(&spec.section, spec, add_body)
    }

    /// Adds an entry, or its alternative, which is under the same heading.
    fn entry_in(&mut self, section: &Text, spec: &DynamicSpec, add_body: &mut AddBody<'_>) -> Result<()> {
        let added = self.holds(section, spec) && self.add_items(section, spec, add_body)?;
        match &spec.otherwise {
            Some(other) if !added => self.entry_in(section, other, add_body),
            _ => Ok(()),
        }
    }

    fn holds(&mut self, section: &Text, spec: &DynamicSpec) -> bool {
        let fails = |condition: &&Condition| is_true(self.at(&condition.path)) != condition.wanted;
        let Some(failed) = spec.conditions.iter().find(fails) else { return true };
        self.note_absent(section, Absence::Condition, &failed.path);
        false
    }

    /// Adds the content of an entry once, or for each item; returns whether anything was added.
    fn add_items(&mut self, section: &Text, spec: &DynamicSpec, add_body: &mut AddBody<'_>) -> Result<bool> {
        let Some(each) = &spec.each else {
            self.add_content(section, &spec.body, add_body)?;
            return Ok(true);
        };
        let items = self.matching_items(each)?;
        let count = items.len();
        if count == 0 {
            self.local = None;
            self.note_absent(section, Absence::EmptyLoop, &each.list);
        }
        for (index, item) in items.into_iter().enumerate() {
            self.local = Some(Local::new(&each.name, item, (index, count)));
            self.world.note_turn(&each.list, Some(index));
            self.add_content(section, &spec.body, add_body)?;
        }
        self.world.note_turn(&each.list, None);
        self.local = None;
        Ok(count > 0)
    }

    fn add_content(&mut self, section: &Text, body: &BodySpec, add_body: &mut AddBody<'_>) -> Result<()> {
        let path = match body {
            BodySpec::Text(TextSpec::Path(path)) | BodySpec::Conversation(path) => Some(path),
            _ => None,
        };
        let is_nothing = |value: Option<&Value>| match value {
            None | Some(Value::Null) => true,
            Some(Value::String(text)) => text.is_empty(),
            Some(Value::Array(items)) => items.is_empty(),
            Some(_) => false,
        };
        if let Some(path) = path.filter(|path| is_nothing(self.at(path))) {
            self.note_absent(section, Absence::NoValue, path);
        }
        add_body(body, self)
    }

    fn note_absent(&mut self, section: &Text, absence: Absence, path: &PathUse) {
        if self.world.is_recorded() {
            let value = self.at(path);
            self.world.note_absent(section, absence, path, value);
        }
    }

    /// The items of a loop that match its filters.
    fn matching_items(&mut self, each: &Each) -> Result<Vec<&'p Value>> {
        let mut matching = Vec::new();
        for item in self.items(each)? {
            self.local = Some(Local::new(&each.name, item, (0, 0)));
            if each.filters.is_empty() || each.filters.iter().any(|filter| is_true(self.at(filter))) {
                matching.push(item);
            }
        }
        Ok(matching)
    }

    /// The items of a loop within its slice.
    fn items(&self, each: &Each) -> Result<&'p [Value]> {
        let items = match self.lookup(&each.list)? {
            None | Some(Value::Null) => return Ok(&[]),
            Some(Value::Array(items)) => items,
            Some(other) => return Err(list_expected(&each.list, other)),
        };
        let start = self.bound(each.start.as_ref(), items.len())?.unwrap_or(0);
        let end = self.bound(each.end.as_ref(), items.len())?.unwrap_or(items.len());
        Ok(items.get(start..end).unwrap_or_default())
    }

    /// The place of a bound in a list of `length` items; a negative number counts from its end.
    fn bound(&self, bound: Option<&Bound>, length: usize) -> Result<Option<usize>> {
        let number = match bound {
            None => return Ok(None),
            Some(Bound::Number(number)) => *number,
            Some(Bound::Path(path)) => match self.at(path) {
                None | Some(Value::Null) => return Ok(None),
                Some(value) => value.as_i64().ok_or_else(|| number_expected(path, value))?,
            },
        };
        let distance = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
        Ok(Some(if number < 0 { length.saturating_sub(distance) } else { distance.min(length) }))
    }

    /// The value at a path, if any.
    fn at(&self, used: &PathUse) -> Option<&'p Value> {
        let root = match &self.local {
            Some(local) if used.local && *local.name == *used.path.root() => Some(local.value),
            _ => self.world.variable(used.path.root()),
        };
        used.path.follow(root?)
    }

    /// The value at a path; an error if it is undefined and undefined values are errors.
    fn lookup(&self, used: &PathUse) -> Result<Option<&'p Value>> {
        let found = self.at(used);
        if found.is_none() && self.world.is_strict() {
            let message = format!("`{}` is undefined", used.path);
            return Err(Error::new(Code::RenderUndefined, message)
                .with_reason(Reason::Undefined)
                .with("missing", vec![used.path.as_str()])
                .with_hint("pass it, or give it a default under `context`")
                .at(used.place.clone()));
        }
        Ok(found)
    }
}

impl Values for Worker<'_, '_> {
    fn template(&mut self, number: usize) -> Result<Text> {
        self.world.template(number, self.local.as_ref())
    }

    fn value(&self, path: &PathUse) -> Result<Option<&Value>> {
        // A field that an item of a list lacks is omitted; an undefined variable of the context may be an error.
        if path.local { Ok(self.at(path)) } else { self.lookup(path) }
    }

    fn required_value(&self, path: &PathUse) -> Result<Option<&Value>> {
        self.lookup(path)
    }

    fn is_recorded(&self) -> bool {
        self.world.is_recorded()
    }

    fn note_texts(&mut self, path: &PathUse, texts: &[Text]) {
        if let Some(value) = self.at(path) {
            self.world.note_texts(texts, value, path);
        }
    }

    fn note_data(&mut self, data: &Arc<Value>, paths: &[&PathUse], templates: &[usize]) {
        let values: Vec<&Value> = paths.iter().filter_map(|path| self.at(path)).collect();
        self.world.note_data(data, &values, templates, paths.first().map(|path| &path.place));
    }

    fn charge(&mut self, bytes: usize) -> Result<()> {
        match self.room.checked_sub(bytes) {
            Some(room) => {
                self.room = room;
                Ok(())
            }
            None => Err(Error::new(
                Code::OutputLimit,
                format!("the module produces more than {} bytes", self.limit),
            )
            .with_hint("render less, or raise `max_output_size`")),
        }
    }
}

/// The variables of a call, preceded by the variable of a loop.
pub struct WithLocal<'l> {
    /// The variables of the call.
    pub variables: &'l dyn Variables,
    /// The variable of the loop.
    pub local: Option<&'l Local<'l>>,
}

impl Variables for WithLocal<'_> {
    fn find(&self, key: &Key) -> Option<&Value> {
        match self.local {
            Some(local) if *local.name == *key.name() => Some(local.value),
            Some(local) if key.name() == LOOP => Some(local.state()),
            _ => self.variables.find(key),
        }
    }

    fn names(&self) -> Vec<&str> {
        let mut names = self.variables.names();
        names.extend(self.local.into_iter().flat_map(|local| [&*local.name, LOOP]));
        names
    }
}
