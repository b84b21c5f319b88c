//! What values are made of: the inputs of expressions and variables.
//!
//! A recorded render only stores numbers here. One input is its own set, so that most expressions need no more than
//! a number; larger sets are stored in [`crate::Trace`].

use std::cell::{Cell, RefCell};

use serde_json::Value as Json;

/// A set of inputs: none, one, or several.
///
/// Data is identified by its address, which stays the same as long as the data is borrowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InputsId(u64);

/// The kinds of [`InputsId`], in its low bits. The number above them is an address or a place in a list.
const TAG_BITS: u32 = 3;
const DATA: u64 = 1;
const KEY: u64 = 2;
const MISSING: u64 = 3;
const SET: u64 = 4;
const MORE: u64 = 5;

/// What an [`InputsId`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// No input.
    None,
    /// More inputs than are recorded.
    Many,
    /// A document of the data, by its address.
    Data(usize),
    /// A string that is a key of the data or a constant of a template, by its address.
    Key(usize),
    /// A name that is not defined, by the address of the name.
    Missing(usize),
    /// Several inputs: see [`crate::Reads::set`].
    Set(u32),
}

fn address<T>(of: &T) -> u64 {
    std::ptr::from_ref(of).addr() as u64
}

impl InputsId {
    /// No inputs.
    pub const NONE: Self = Self(0);
    /// More inputs than are recorded.
    pub const MANY: Self = Self(MORE);

    /// A document of the data.
    #[inline]
    #[must_use]
    pub fn from_data(json: &Json) -> Self {
        Self(address(json) << TAG_BITS | DATA)
    }

    /// A string that is a key of the data or a constant of a template.
    #[inline]
    #[must_use]
    pub fn from_key(key: &String) -> Self {
        Self(address(key) << TAG_BITS | KEY)
    }

    pub(crate) fn from_missing(name: &String) -> Self {
        Self(address(name) << TAG_BITS | MISSING)
    }

    pub(crate) fn from_set(number: u32) -> Self {
        Self(u64::from(number) << TAG_BITS | SET)
    }

    /// What it is.
    #[must_use]
    pub fn input(self) -> Input {
        let rest = self.0 >> TAG_BITS;
        match self.0 & ((1 << TAG_BITS) - 1) {
            DATA => Input::Data(rest as usize),
            KEY => Input::Key(rest as usize),
            MISSING => Input::Missing(rest as usize),
            SET => Input::Set(rest as u32),
            MORE => Input::Many,
            _ => Input::None,
        }
    }
}

/// The inputs of the expressions that are evaluated now, and of the variables that a template sets.
pub trait SlotInputs: Default {
    /// The end of the log of reads. Reads after it belong to the expression that is evaluated next.
    fn mark(&self) -> usize;

    /// Forgets the reads after `mark`.
    fn forget(&self, mark: usize);

    /// Logs a read.
    fn read(&self, inputs: InputsId);

    /// Replaces the reads between `mark` and `end` by that of `part`: of `user.name`, only the name is an input.
    fn narrow_read(&self, mark: usize, end: usize, part: InputsId);

    /// The reads between `mark` and `end` as a set. `make` makes one of several reads.
    fn reads_between(&self, mark: usize, end: usize, make: impl FnOnce(&[InputsId]) -> InputsId) -> InputsId;

    /// Sets the range of the log that the arguments of the next call read.
    fn set_arguments(&mut self, mark: usize, end: usize);

    /// The range of the log that the arguments of the call read.
    fn arguments(&self) -> (usize, usize);

    /// Sets the inputs that the next assignments store.
    fn set_assigned(&mut self, inputs: InputsId);

    /// The inputs that assignments store now.
    fn assigned(&self) -> InputsId;

    /// Stores the inputs of the variable at `slot`.
    fn assign_slot(&mut self, slot: usize);

    /// The inputs of the variable at `slot`.
    fn slot_inputs(&self, slot: usize) -> InputsId;

    /// Enters the body of a condition that read what the log has from `mark` to its end. It stays in the log until the
    /// condition is left.
    fn enter_condition(&mut self, mark: usize);

    /// Leaves the body of a condition.
    fn leave_condition(&mut self);

    /// What the conditions around the running statement depend on. `make` makes a set of several reads.
    fn conditions(&self, make: impl FnMut(&[InputsId]) -> InputsId) -> InputsId;
}

impl SlotInputs for () {
    #[inline(always)]
    fn mark(&self) -> usize {
        0
    }

    #[inline(always)]
    fn forget(&self, _mark: usize) {}

    #[inline(always)]
    fn read(&self, _inputs: InputsId) {}

    #[inline(always)]
    fn narrow_read(&self, _mark: usize, _end: usize, _part: InputsId) {}

    #[inline(always)]
    fn reads_between(
        &self,
        _mark: usize,
        _end: usize,
        _make: impl FnOnce(&[InputsId]) -> InputsId,
    ) -> InputsId {
        InputsId::NONE
    }

    #[inline(always)]
    fn set_arguments(&mut self, _mark: usize, _end: usize) {}

    #[inline(always)]
    fn arguments(&self) -> (usize, usize) {
        (0, 0)
    }

    #[inline(always)]
    fn set_assigned(&mut self, _inputs: InputsId) {}

    #[inline(always)]
    fn assigned(&self) -> InputsId {
        InputsId::NONE
    }

    #[inline(always)]
    fn assign_slot(&mut self, _slot: usize) {}

    #[inline(always)]
    fn slot_inputs(&self, _slot: usize) -> InputsId {
        InputsId::NONE
    }

    #[inline(always)]
    fn enter_condition(&mut self, _mark: usize) {}

    #[inline(always)]
    fn leave_condition(&mut self) {}

    #[inline(always)]
    fn conditions(&self, _make: impl FnMut(&[InputsId]) -> InputsId) -> InputsId {
        InputsId::NONE
    }
}

/// The most reads that are logged at a time. More of them are [`InputsId::MANY`].
const MOST_LOGGED: usize = 1 << 14;

/// The inputs of expressions and variables in a recorded render.
#[derive(Debug, Default)]
pub struct SlotRecord {
    /// The reads of the expressions that are evaluated now, those of the innermost one last; and those of the
    /// conditions around the running statement.
    log: RefCell<Vec<InputsId>>,
    slots: Vec<InputsId>,
    assigned: InputsId,
    arguments: (usize, usize),
    conditions: Vec<Condition>,
}

/// A condition around the running statement.
#[derive(Debug)]
struct Condition {
    /// What it read, as a range of the log.
    start: u32,
    end: u32,
    /// What it and those around it depend on, once that was needed.
    inputs: Cell<Option<InputsId>>,
}

impl SlotInputs for SlotRecord {
    #[inline]
    fn mark(&self) -> usize {
        self.log.borrow().len()
    }

    #[inline]
    fn forget(&self, mark: usize) {
        self.log.borrow_mut().truncate(mark);
    }

    #[inline]
    fn read(&self, inputs: InputsId) {
        let mut log = self.log.borrow_mut();
        if log.len() == log.capacity() {
            make_room(&mut log);
        }
        if log.len() < MOST_LOGGED {
            log.push(inputs);
        }
    }

    #[inline]
    fn narrow_read(&self, mark: usize, end: usize, part: InputsId) {
        let mut log = self.log.borrow_mut();
        if mark == end {
            drop(log);
            self.read(part);
        } else if mark + 1 == end && end == log.len() {
            log[mark] = part;
        } else if mark <= end && end <= log.len() {
            log.drain(mark..end);
            log.push(part);
        }
    }

    #[inline]
    fn reads_between(&self, mark: usize, end: usize, make: impl FnOnce(&[InputsId]) -> InputsId) -> InputsId {
        let log = self.log.borrow();
        match log.get(mark..end).unwrap_or_default() {
            [] if mark >= MOST_LOGGED => InputsId::MANY,
            [] => InputsId::NONE,
            [one] => *one,
            several => make(several),
        }
    }

    #[inline]
    fn set_arguments(&mut self, mark: usize, end: usize) {
        self.arguments = (mark, end);
    }

    #[inline]
    fn arguments(&self) -> (usize, usize) {
        self.arguments
    }

    #[inline]
    fn set_assigned(&mut self, inputs: InputsId) {
        self.assigned = inputs;
    }

    #[inline]
    fn assigned(&self) -> InputsId {
        self.assigned
    }

    #[inline]
    fn assign_slot(&mut self, slot: usize) {
        match self.slots.get_mut(slot) {
            Some(place) => *place = self.assigned,
            None if self.assigned == InputsId::NONE => {}
            None => self.add_slot(slot),
        }
    }

    #[inline]
    fn slot_inputs(&self, slot: usize) -> InputsId {
        self.slots.get(slot).copied().unwrap_or_default()
    }

    #[inline]
    fn enter_condition(&mut self, mark: usize) {
        let (start, end) = (mark as u32, self.mark() as u32);
        self.conditions.push(Condition { start, end, inputs: Cell::new(None) });
    }

    #[inline]
    fn leave_condition(&mut self) {
        self.conditions.pop();
    }

    fn conditions(&self, mut make: impl FnMut(&[InputsId]) -> InputsId) -> InputsId {
        let known = self.conditions.iter().rposition(|condition| condition.inputs.get().is_some());
        let mut inputs = known.and_then(|at| self.conditions[at].inputs.get()).unwrap_or_default();
        let log = self.log.borrow();
        for condition in &self.conditions[known.map_or(0, |at| at + 1)..] {
            let own = log.get(condition.start as usize..condition.end as usize).unwrap_or_default();
            inputs = match (inputs, own) {
                (inputs, []) => inputs,
                (InputsId::NONE, [one]) => *one,
                (InputsId::NONE, several) => make(several),
                (inputs, own) => {
                    let own = if let [one] = own { *one } else { make(own) };
                    make(&[inputs, own])
                }
            };
            condition.inputs.set(Some(inputs));
        }
        inputs
    }
}

impl SlotRecord {
    #[cold]
    #[inline(never)]
    fn add_slot(&mut self, slot: usize) {
        self.slots.resize((slot + 1).next_power_of_two().max(8), InputsId::NONE);
        self.slots[slot] = self.assigned;
    }
}

/// Grows the log. Once it is full, its last read says that there are more.
#[cold]
#[inline(never)]
fn make_room(log: &mut Vec<InputsId>) {
    if log.len() < MOST_LOGGED {
        log.reserve_exact(log.len().max(16));
    } else if let Some(last) = log.last_mut() {
        *last = InputsId::MANY;
    }
}
