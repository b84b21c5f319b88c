//! What the values of a recorded render are made of.
//!
//! A value of the caller's data is borrowed, so its address identifies it, whatever names, filters and loops it
//! passed through. Produced values have no identity of their own. For them, the reads during the evaluation of an
//! expression are logged, and a variable that is set keeps the inputs of its expression.

use std::{
    hash::{Hash, Hasher},
    rc::{Rc, Weak},
};

use hashbrown::HashMap;
use serde_json::Value as Json;

use crate::{DataId, InputsId, List, Map, Metered, Pieces, Segments, Source, Value};

/// Something that an expression reads.
#[derive(Clone, Copy, Debug)]
pub enum Read<'a> {
    /// A value of the data.
    Data(&'a Json),
    /// A string that is a key of the data, or a constant of a template.
    Key(&'a String),
    /// A name that is not defined.
    Missing(&'a String),
}

impl Read<'_> {
    /// The kind and the address, which identify it.
    fn identity(&self) -> (u8, usize) {
        match self {
            Self::Data(json) => (0, std::ptr::from_ref(*json).addr()),
            Self::Key(key) => (1, std::ptr::from_ref(*key).addr()),
            Self::Missing(name) => (2, std::ptr::from_ref(*name).addr()),
        }
    }
}

impl PartialEq for Read<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Read<'_> {}

impl Hash for Read<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

/// The most reads of one set. A set with more of them is [`InputsId::MANY`].
const MOST_READS: usize = 256;

/// The most reads that are logged at a time.
const MOST_LOGGED: usize = 1 << 14;

/// The most sets of one render.
const MOST_SETS: usize = 1 << 18;

/// The reads and captures of one recorded render.
#[derive(Default)]
pub struct Trace<'a> {
    /// The reads of the expressions that are evaluated now; those of the innermost one last.
    log: Vec<Read<'a>>,
    /// The values that were printed as they are.
    data: Vec<&'a Json>,
    data_numbers: HashMap<usize, DataId>,
    sets: Vec<Rc<[Read<'a>]>>,
    known: HashMap<Rc<[Read<'a>]>, InputsId>,
    captures: HashMap<usize, Capture<'a>>,
    /// The number of captures at which those that no value holds any more are removed.
    next_sweep: usize,
    /// The inputs of values that were stored in a container. The weak reference keeps its address from being used
    /// again.
    holders: HashMap<usize, (Holder<'a>, InputsId)>,
    next_holder_sweep: usize,
    names: Vec<Rc<str>>,
    name_numbers: HashMap<Rc<str>, u32>,
}

/// The record of a captured text. The weak reference keeps the address from being used again.
struct Capture<'a> {
    text: Captured<'a>,
    record: Rc<Segments>,
}

enum Captured<'a> {
    Text(Weak<Metered<'a, String>>),
    Pieces(Weak<Metered<'a, Pieces<'a>>>),
}

impl Captured<'_> {
    fn is_alive(&self) -> bool {
        match self {
            Self::Text(text) => text.strong_count() > 0,
            Self::Pieces(pieces) => pieces.strong_count() > 0,
        }
    }
}

/// A container that a template changed.
enum Holder<'a> {
    List(Weak<List<'a>>),
    Map(Weak<Map<'a>>),
}

impl Holder<'_> {
    fn is_alive(&self) -> bool {
        match self {
            Self::List(list) => list.strong_count() > 0,
            Self::Map(map) => map.strong_count() > 0,
        }
    }
}

/// The address of a produced text.
fn text_address(value: &Value<'_>) -> Option<usize> {
    match value {
        Value::Str(text) | Value::Safe(text) => Some(Rc::as_ptr(text).addr()),
        Value::Pieces(pieces) => Some(Rc::as_ptr(pieces).addr()),
        _ => None,
    }
}

impl<'a> Trace<'a> {
    /// The end of the log. Reads after it belong to the expression that is evaluated next.
    #[must_use]
    pub fn mark(&self) -> usize {
        self.log.len()
    }

    /// Forgets the reads after `mark`.
    pub fn forget(&mut self, mark: usize) {
        self.log.truncate(mark);
    }

    /// Logs a read of `value`: of the data that it is, or of the inputs of the text that it captured.
    ///
    /// Returns whether the value says itself what it is made of. If not, the caller knows more: see
    /// [`Trace::read_inputs`].
    pub fn read_value(&mut self, value: &Value<'a>) -> bool {
        match value {
            Value::Json(json) => self.push(Read::Data(json)),
            Value::Lit(key) => self.push(Read::Key(key)),
            Value::Undefined(undefined) => {
                if let Some(name) = undefined.name {
                    self.push(Read::Missing(name));
                }
            }
            _ => {
                if let Some(record) = self.captured(value) {
                    self.read_record(&record);
                    return true;
                }
                let holder = value.address().and_then(|address| self.holders.get(&address));
                if let Some(&(_, inputs)) = holder {
                    self.read_inputs(inputs);
                }
                return false;
            }
        }
        true
    }

    /// Logs a read of a name that is not defined.
    pub fn read_missing(&mut self, name: &'a String) {
        self.push(Read::Missing(name));
    }

    /// Logs a read of a set.
    pub fn read_inputs(&mut self, inputs: InputsId) {
        for read in self.inputs(inputs).iter() {
            self.push(*read);
        }
    }

    /// Logs that `value` is what was read since `mark`: of `user.name`, only the name is an input.
    ///
    /// The reads between `mark` and `end` are replaced if the value is a part of the data.
    pub fn narrow_read(&mut self, mark: usize, end: usize, value: &Value<'a>) {
        if let Value::Json(json) = value
            && mark <= end
            && end <= self.log.len()
        {
            self.log.drain(mark..end);
            self.push(Read::Data(json));
        }
    }

    /// The set of the reads since `mark`, which are removed from the log.
    pub fn take_inputs(&mut self, mark: usize) -> InputsId {
        let inputs = self.inputs_since(mark);
        self.log.truncate(mark);
        inputs
    }

    /// The set of the reads since `mark`, which stay in the log.
    pub fn inputs_since(&mut self, mark: usize) -> InputsId {
        let reads = self.log.get(mark..).unwrap_or_default();
        if reads.is_empty() {
            return InputsId::NONE;
        }
        if let Some(known) = self.known.get(reads) {
            return *known;
        }
        let mut distinct: Vec<Read<'a>> = Vec::with_capacity(reads.len());
        for read in reads {
            if distinct.len() > MOST_READS {
                return InputsId::MANY;
            }
            if !distinct.contains(read) {
                distinct.push(*read);
            }
        }
        if let Some(known) = self.known.get(&distinct[..]) {
            return *known;
        }
        if self.sets.len() >= MOST_SETS {
            return InputsId::MANY;
        }
        // Numbers 0 and 1 have a meaning of their own.
        let id = InputsId(self.sets.len() as u32 + 2);
        let set: Rc<[Read<'a>]> = distinct.into();
        self.sets.push(Rc::clone(&set));
        self.known.insert(set, id);
        id
    }

    /// The reads of a set.
    #[must_use]
    pub fn inputs(&self, id: InputsId) -> Rc<[Read<'a>]> {
        let place = (id.0 as usize).checked_sub(2);
        place.and_then(|place| self.sets.get(place)).cloned().unwrap_or_default()
    }

    /// Keeps the record of a captured text.
    pub fn add_capture(&mut self, value: &Value<'a>, record: Segments) {
        let text = match value {
            Value::Str(text) | Value::Safe(text) => Captured::Text(Rc::downgrade(text)),
            Value::Pieces(pieces) => Captured::Pieces(Rc::downgrade(pieces)),
            _ => return,
        };
        let Some(address) = text_address(value) else { return };
        if self.captures.len() >= self.next_sweep.max(1024) {
            self.captures.retain(|_, capture| capture.text.is_alive());
            self.next_sweep = self.captures.len() * 2;
        }
        self.captures.insert(address, Capture { text, record: Rc::new(record) });
    }

    /// The record of a captured text.
    #[must_use]
    pub fn captured(&self, value: &Value<'a>) -> Option<Rc<Segments>> {
        let capture = self.captures.get(&text_address(value)?)?;
        Some(Rc::clone(&capture.record))
    }

    /// Logs everything that a captured text is made of.
    fn read_record(&mut self, record: &Segments) {
        let mut last = None;
        for segment in record.segments() {
            if last == Some(segment.source) || self.log.len() >= MOST_LOGGED {
                continue;
            }
            last = Some(segment.source);
            match segment.source {
                Source::Text => {}
                Source::Data(data) => {
                    if let Some(json) = self.data.get(data.0 as usize) {
                        self.push(Read::Data(json));
                    }
                }
                Source::Made(inputs) => self.read_inputs(inputs),
            }
        }
    }

    /// The number of a value of the data.
    pub fn data_number(&mut self, json: &'a Json) -> DataId {
        let next = DataId(self.data.len() as u32);
        let number = *self.data_numbers.entry(std::ptr::from_ref(json).addr()).or_insert(next);
        if number == next {
            self.data.push(json);
        }
        number
    }

    /// The values of the data that were printed, by their numbers.
    #[must_use]
    pub fn data(&self) -> &[&'a Json] {
        &self.data
    }

    /// Adds the inputs of a value that is stored in a list, a map or a namespace.
    pub fn add_holder(&mut self, holder: &Value<'a>, inputs: InputsId) {
        let weak = match holder {
            Value::Namespace(map) | Value::Map(map) => Holder::Map(Rc::downgrade(map)),
            Value::List(list) => Holder::List(Rc::downgrade(list)),
            _ => return,
        };
        let Some(address) = holder.address() else { return };
        if self.holders.len() >= self.next_holder_sweep.max(1024) {
            self.holders.retain(|_, (holder, _)| holder.is_alive());
            self.next_holder_sweep = self.holders.len() * 2;
        }
        let mark = self.mark();
        if let Some(&(_, before)) = self.holders.get(&address) {
            self.read_inputs(before);
        }
        self.read_inputs(inputs);
        let inputs = self.take_inputs(mark);
        self.holders.insert(address, (weak, inputs));
    }

    /// The number of a name.
    pub fn name_number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.name_numbers.get(name) {
            return *number;
        }
        let (number, name) = (self.names.len() as u32, Rc::<str>::from(name));
        self.names.push(Rc::clone(&name));
        self.name_numbers.insert(name, number);
        number
    }

    /// The names by their numbers.
    #[must_use]
    pub fn names(&self) -> &[Rc<str>] {
        &self.names
    }

    fn push(&mut self, read: Read<'a>) {
        if self.log.len() < MOST_LOGGED {
            self.log.push(read);
        }
    }
}
