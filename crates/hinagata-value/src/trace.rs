//! What the values of a recorded render are made of, beyond what a number can tell.
//!
//! A value of the caller's data is borrowed, so its address identifies it, whatever names, filters and loops it
//! passed through. Produced values have no identity of their own. For them, the reads during the evaluation of an
//! expression are logged, and a variable that is set keeps the inputs of its expression.

use std::{
    collections::HashMap as StdMap,
    rc::{Rc, Weak},
    sync::Arc,
};

use hashbrown::HashMap;

use crate::{Input, InputsId, List, Map, Metered, Pieces, Segments, Source, Value};

/// The most inputs of one set. A set with more of them is [`InputsId::MANY`].
pub(crate) const MOST_INPUTS: usize = 256;

/// The most inputs of a set that is stored without the sets in it. A larger one refers to them.
const MOST_FLAT: usize = 16;

/// The most sets of one render.
const MOST_SETS: usize = 1 << 18;

/// The most members of all sets of one render.
const MOST_MEMBERS: usize = 1 << 20;

/// The most undefined names of one render.
const MOST_MISSING: usize = 1 << 12;

/// The most names that are compared one by one.
const FEW_NAMES: usize = 16;

/// The sets, captures and names of one recorded render.
#[derive(Default)]
pub struct Trace<'a> {
    reads: Reads,
    missing: Vec<&'a String>,
    captures: HashMap<usize, Capture<'a>>,
    /// The number of captures at which those that no value holds any more are removed.
    next_sweep: usize,
    /// The inputs of values that were stored in a container. The weak reference keeps its address from being used
    /// again.
    holders: HashMap<usize, (Holder<'a>, InputsId)>,
    next_holder_sweep: usize,
    name_numbers: HashMap<Arc<str>, u32>,
}

/// The sets and names that the record of a render refers to.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    /// The members of all sets, one set after the other. Sets refer to earlier sets only.
    members: Vec<InputsId>,
    /// The ends of the sets in the list of members.
    ends: Vec<u32>,
    missing: StdMap<usize, Arc<str>>,
    names: Vec<Arc<str>>,
}

impl Reads {
    /// The members of a set, in the order they were read. Some may be sets.
    #[must_use]
    pub fn set(&self, number: u32) -> &[InputsId] {
        let number = number as usize;
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let end = self.ends.get(number).copied().unwrap_or(start);
        self.members.get(start as usize..end as usize).unwrap_or_default()
    }

    /// The inputs in a set and in the sets in it, each once; `None` if there are more than are recorded, or if `work`
    /// is used up.
    #[must_use]
    pub fn members_of(&self, inputs: InputsId, work: &mut usize) -> Option<Vec<InputsId>> {
        if !matches!(inputs.input(), Input::Set(_) | Input::Many) {
            *work = work.checked_sub(1)?;
            return Some(if inputs == InputsId::NONE { Vec::new() } else { vec![inputs] });
        }
        let mut found = Vec::new();
        let mut seen = HashMap::new();
        let mut open = vec![inputs];
        while let Some(next) = open.pop() {
            *work = work.checked_sub(1)?;
            if seen.insert(next, ()).is_some() {
                continue;
            }
            match next.input() {
                Input::None => {}
                Input::Many => return None,
                Input::Set(number) => open.extend(self.set(number).iter().rev()),
                Input::Data(_) | Input::Key(_) | Input::Missing(_) => {
                    found.push(next);
                    if found.len() > MOST_INPUTS {
                        return None;
                    }
                }
            }
        }
        Some(found)
    }

    /// The name that is not defined, by its address.
    #[must_use]
    pub fn missing(&self, address: usize) -> Option<&Arc<str>> {
        self.missing.get(&address)
    }

    /// The names of templates, blocks and macros by their numbers.
    #[must_use]
    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    fn add_set(&mut self, members: &[InputsId]) -> InputsId {
        if let Some(last) = self.ends.len().checked_sub(1)
            && self.set(last as u32) == members
        {
            return InputsId::from_set(last as u32);
        }
        if self.ends.len() >= MOST_SETS || self.members.len() + members.len() > MOST_MEMBERS {
            return InputsId::MANY;
        }
        self.members.extend_from_slice(members);
        self.ends.push(self.members.len() as u32);
        InputsId::from_set(self.ends.len() as u32 - 1)
    }
}

/// A few distinct inputs.
struct Few {
    items: [InputsId; MOST_FLAT],
    len: usize,
}

impl Few {
    /// Adds an input; returns whether there is room for it.
    fn add(&mut self, input: InputsId) -> bool {
        if self.items[..self.len].contains(&input) {
            return true;
        }
        let Some(place) = self.items.get_mut(self.len) else { return false };
        *place = input;
        self.len += 1;
        true
    }
}

/// The record of a captured text. The weak reference keeps the address from being used again.
struct Capture<'a> {
    text: Captured<'a>,
    record: Rc<Segments>,
    /// What it is made of, once that was needed.
    inputs: Option<InputsId>,
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
    /// A set of inputs, which may be sets themselves.
    pub fn add_set(&mut self, inputs: &[InputsId]) -> InputsId {
        let mut few = Few { items: [InputsId::NONE; MOST_FLAT], len: 0 };
        let mut is_flat = true;
        for &input in inputs {
            match input.input() {
                Input::None => {}
                Input::Many => return InputsId::MANY,
                Input::Set(number) => {
                    let members = self.reads.set(number);
                    let holds_sets = members.iter().any(|member| matches!(member.input(), Input::Set(_)));
                    is_flat &= !holds_sets && members.iter().all(|member| few.add(*member));
                    // Often the other inputs are in one of the sets already.
                    if is_flat && few.len == members.len() && inputs.last() == Some(&input) {
                        return input;
                    }
                }
                Input::Data(_) | Input::Key(_) | Input::Missing(_) => is_flat &= few.add(input),
            }
            if !is_flat {
                break;
            }
        }
        match (is_flat, &few.items[..few.len]) {
            (true, []) => InputsId::NONE,
            (true, [one]) => *one,
            (true, several) => {
                let same = inputs.iter().find(|input| match input.input() {
                    Input::Set(number) => self.reads.set(number) == several,
                    _ => false,
                });
                same.copied().unwrap_or_else(|| self.reads.add_set(several))
            }
            (false, _) if inputs.len() > MOST_INPUTS => InputsId::MANY,
            (false, _) => self.reads.add_set(inputs),
        }
    }

    /// What a produced value is made of, as far as it says so itself: the inputs of the text that it captured, or of
    /// what was stored in it. The flag tells whether that is all.
    pub fn value_inputs(&mut self, value: &Value<'a>) -> (InputsId, bool) {
        if self.captures.is_empty() && self.holders.is_empty() {
            return (InputsId::NONE, false);
        }
        if let Some(address) = text_address(value)
            && let Some(capture) = self.captures.get(&address)
        {
            if let Some(inputs) = capture.inputs {
                return (inputs, true);
            }
            let record = Rc::clone(&capture.record);
            let inputs = self.record_inputs(&record);
            if let Some(capture) = self.captures.get_mut(&address) {
                capture.inputs = Some(inputs);
            }
            return (inputs, true);
        }
        let holder = value.address().and_then(|address| self.holders.get(&address));
        (holder.map_or(InputsId::NONE, |(_, inputs)| *inputs), false)
    }

    /// A read of a name that is not defined.
    pub fn add_missing(&mut self, name: &'a String) -> InputsId {
        let is_known = self.missing.iter().rev().take(8).any(|known| std::ptr::eq(*known, name));
        if !is_known {
            if self.missing.len() >= MOST_MISSING {
                return InputsId::MANY;
            }
            self.missing.push(name);
        }
        InputsId::from_missing(name)
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
        self.captures.insert(address, Capture { text, record: Rc::new(record), inputs: None });
    }

    /// The record of a captured text.
    #[must_use]
    pub fn captured(&self, value: &Value<'a>) -> Option<Rc<Segments>> {
        if self.captures.is_empty() {
            return None;
        }
        let capture = self.captures.get(&text_address(value)?)?;
        Some(Rc::clone(&capture.record))
    }

    /// Everything that a captured text is made of.
    fn record_inputs(&mut self, record: &Segments) -> InputsId {
        let mut inputs: Vec<InputsId> = Vec::new();
        for segment in record.segments() {
            let next = match segment.source {
                Source::Text => continue,
                Source::Data(inputs) | Source::Made(inputs) => inputs,
            };
            if inputs.last() != Some(&next) && inputs.len() <= MOST_INPUTS {
                inputs.push(next);
            }
        }
        self.add_set(&inputs)
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
        let inputs = match self.holders.get(&address) {
            Some(&(_, before)) => self.add_set(&[before, inputs]),
            None => inputs,
        };
        self.holders.insert(address, (weak, inputs));
    }

    /// The number of a name.
    pub fn name_number(&mut self, name: &str) -> u32 {
        let few = self.reads.names.iter().take(FEW_NAMES).position(|known| **known == *name);
        if let Some(number) = few {
            return number as u32;
        }
        if let Some(number) = self.name_numbers.get(name) {
            return *number;
        }
        let (number, name) = (self.reads.names.len(), Arc::<str>::from(name));
        self.reads.names.push(Arc::clone(&name));
        if number >= FEW_NAMES {
            self.name_numbers.insert(name, number as u32);
        }
        number as u32
    }

    /// Ends the recording. What is left does not borrow the data.
    #[must_use]
    pub fn finish(mut self) -> Reads {
        let missing = self.missing.iter();
        self.reads.missing =
            missing.map(|name| (std::ptr::from_ref(*name).addr(), name.as_str().into())).collect();
        self.reads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(count: usize) -> (Vec<String>, Vec<InputsId>) {
        let names: Vec<String> = (0..count).map(|number| number.to_string()).collect();
        let inputs = names.iter().map(InputsId::from_key).collect();
        (names, inputs)
    }

    #[test]
    fn a_set_is_stored_once_and_one_input_needs_none() {
        let (_names, keys) = inputs(4);
        let mut trace = Trace::default();
        assert_eq!(trace.add_set(&[keys[0], InputsId::NONE, keys[0]]), keys[0]);
        let pair = trace.add_set(&keys[..2]);
        assert_eq!(trace.add_set(&[keys[0], keys[1], keys[0]]), pair);
        assert_eq!(trace.add_set(&[pair, keys[1]]), pair, "it has both already");
        assert_eq!(trace.add_set(&[keys[0], pair]), pair);
        let three = trace.add_set(&[pair, keys[2]]);
        assert_eq!(trace.add_set(&[three, keys[0]]), three);
        assert_eq!(trace.finish().members_of(three, &mut 100).expect("few"), &keys[..3]);
    }

    #[test]
    fn a_large_set_refers_to_others_and_too_large_ones_are_many() {
        let (_names, keys) = inputs(MOST_INPUTS + 1);
        let mut trace = Trace::default();
        let mut all = InputsId::NONE;
        let mut sizes = Vec::new();
        for key in &keys {
            all = trace.add_set(&[all, *key]);
            sizes.push(all);
        }
        let reads = trace.finish();
        let members = |at: usize| reads.members_of(sizes[at], &mut 10_000);
        assert_eq!(members(MOST_INPUTS - 1).expect("just few enough"), &keys[..MOST_INPUTS]);
        assert_eq!(members(MOST_INPUTS), None);
        assert_eq!(reads.members_of(sizes[100], &mut 50), None, "the work is bounded");
        assert!(reads.members.len() < MOST_INPUTS * 3, "sets do not repeat their members");
    }

    #[test]
    fn the_sets_of_a_render_are_bounded() {
        let (_names, keys) = inputs(3000);
        let mut trace = Trace::default();
        let mut last = InputsId::NONE;
        for turn in 0..MOST_SETS + 10 {
            last = trace.add_set(&[keys[turn % 1500], keys[1500 + turn % 1499]]);
        }
        assert_eq!(last, InputsId::MANY);
        assert!(trace.finish().members.len() <= MOST_MEMBERS);
    }
}
