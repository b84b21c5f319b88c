//! Records what the printed values are made of. Without a record, nothing of this is compiled in.

use hinagata_value::{AbsentReason, InputsId, Provenance, Result, SlotInputs, Source, StepKind, Value};
use serde_json::Value as Json;

use super::{Exec, Val};
use crate::tree::{At, Slots, Start, Variable};

/// The places of the dot and of `$` among the recorded inputs. Those of variables come after them.
const DOT: usize = 0;
const ROOT: usize = 1;
const FIRST_SLOT: usize = 2;

/// What the dot and `$` are made of.
#[derive(Clone, Copy, Default)]
pub(super) struct DotInputs {
    dot: InputsId,
    root: InputsId,
}

impl<'a, P: Provenance> Exec<'_, 'a, P> {
    /// The end of the log of reads, before an expression is evaluated.
    #[inline(always)]
    pub(super) fn mark(&self) -> usize {
        self.slot_inputs.mark()
    }

    /// Forgets the reads after `mark`.
    #[inline(always)]
    pub(super) fn forget(&self, mark: usize) {
        self.slot_inputs.forget(mark);
    }

    /// The reads after `mark` as a set, which stay in the log.
    #[inline(always)]
    pub(super) fn inputs_since(&self, mark: usize) -> InputsId {
        if !P::ON {
            return InputsId::NONE;
        }
        let heap = self.heap;
        self.slot_inputs.reads_between(mark, self.mark(), |reads| heap.trace().borrow_mut().add_set(reads))
    }

    /// Logs a read of `value`, which is not known to be made of anything.
    #[inline(always)]
    pub(super) fn note_value(&self, value: &Value<'a>) {
        if P::ON && !matches!(value, Value::Lit(_) | Value::Undefined(_)) {
            self.read_value(value);
        }
    }

    /// Logs a read of data.
    #[inline(always)]
    pub(super) fn note_data(&self, json: &'a Json) {
        if P::ON {
            self.slot_inputs.read(InputsId::from_data(json));
        }
    }

    /// Logs a read of a name that is not defined.
    #[inline(always)]
    pub(super) fn note_missing(&self, name: &'a String) {
        if P::ON {
            let missing = self.heap.trace().borrow_mut().add_missing(name);
            self.slot_inputs.read(missing);
        }
    }

    /// Logs a read of the dot.
    #[inline(always)]
    pub(super) fn note_dot(&self, dot: &Val<'a>) {
        if P::ON {
            self.note_known(&dot.value, DOT);
        }
    }

    /// Logs a read of a variable.
    #[inline(always)]
    pub(super) fn note_variable(&self, variable: &Variable, value: &Val<'a>) {
        if P::ON {
            self.note_known(&value.value, self.place_of(&variable.slots));
        }
    }

    /// Logs a read of the variable in `slot`, counted from 0 within the running template.
    #[inline(always)]
    pub(super) fn note_slot(&self, slot: usize) {
        if P::ON {
            let place = self.base + slot;
            self.note_known(&self.slots[place].value, FIRST_SLOT + place);
        }
    }

    /// Logs a read of `$`.
    #[inline(always)]
    pub(super) fn note_root(&self) {
        if P::ON {
            self.note_known(&self.root.value, ROOT);
        }
    }

    #[inline]
    fn note_known(&self, value: &Value<'a>, place: usize) {
        if !self.read_value(value) {
            let inputs = self.slot_inputs.slot_inputs(place);
            if inputs != InputsId::NONE {
                self.slot_inputs.read(inputs);
            }
        }
    }

    /// Logs a read of `value`, if it says itself what it is made of. Returns whether that is all.
    #[inline(always)]
    fn read_value(&self, value: &Value<'a>) -> bool {
        match value {
            Value::Json(json) => self.slot_inputs.read(InputsId::from_data(json)),
            Value::Lit(key) => self.slot_inputs.read(InputsId::from_key(key)),
            _ => return self.read_produced(value),
        }
        true
    }

    #[inline(never)]
    fn read_produced(&self, value: &Value<'a>) -> bool {
        if let Value::Undefined(undefined) = value {
            if let Some(name) = undefined.name {
                self.note_missing(name);
            }
            return true;
        }
        let Some(trace) = self.heap.used_trace() else { return false };
        let (inputs, is_all) = trace.borrow_mut().value_inputs(value);
        if inputs != InputsId::NONE {
            self.slot_inputs.read(inputs);
        }
        is_all
    }

    fn place_of(&self, slots: &Slots) -> usize {
        match self.slot(slots) {
            Some(0) | None => ROOT,
            Some(slot) => FIRST_SLOT + self.base + slot - 1,
        }
    }

    /// Stores what the value of a variable is made of.
    #[inline(always)]
    pub(super) fn assign_variable(&mut self, slots: &Slots, inputs: InputsId) {
        if P::ON {
            let place = self.place_of(slots);
            self.slot_inputs.set_assigned(inputs);
            self.slot_inputs.assign_slot(place);
        }
    }

    /// Sets what the dot is made of, and `$` too where a template starts. Returns what they were made of.
    #[inline(always)]
    pub(super) fn enter_dot(&mut self, inputs: InputsId, starts_template: bool) -> DotInputs {
        if !P::ON {
            return DotInputs::default();
        }
        let before =
            DotInputs { dot: self.slot_inputs.slot_inputs(DOT), root: self.slot_inputs.slot_inputs(ROOT) };
        let root = if starts_template { inputs } else { before.root };
        self.restore_dot(DotInputs { dot: inputs, root });
        before
    }

    /// Sets what the dot and `$` are made of.
    #[inline(always)]
    pub(super) fn restore_dot(&mut self, inputs: DotInputs) {
        if P::ON {
            for (place, inputs) in [(DOT, inputs.dot), (ROOT, inputs.root)] {
                self.slot_inputs.set_assigned(inputs);
                self.slot_inputs.assign_slot(place);
            }
        }
    }

    /// Replaces the reads of a container, from `mark` to `end`, by that of its part `value`.
    #[inline(always)]
    pub(super) fn narrow_read(&self, mark: usize, end: usize, value: &Val<'a>) {
        if P::ON
            && let Value::Json(json) = value.value
        {
            self.slot_inputs.narrow_read(mark, end, InputsId::from_data(json));
        }
    }

    /// Sets what a count is made of that the variable at `start` holds: what was assigned to it.
    #[inline]
    pub(super) fn set_variable_source(&mut self, start: Start) {
        if P::ON {
            let place = match start {
                Start::Dot => DOT,
                Start::Root => ROOT,
                Start::Slot(slot) => FIRST_SLOT + self.base + slot as usize,
            };
            let inputs = self.slot_inputs.slot_inputs(place);
            self.output.provenance().set_source(Source::Made(inputs));
        }
    }

    /// Sets what the values that are printed next are made of: data as it is, or the reads after `mark`.
    #[inline(always)]
    pub(super) fn set_source(&mut self, value: Option<&Value<'a>>, mark: usize) {
        if P::ON {
            match value {
                Some(Value::Json(json)) if !json.is_null() => {
                    self.output.provenance().set_source(Source::Data(InputsId::from_data(json)));
                }
                value => self.set_made_source(value, mark),
            }
        }
    }

    /// Like [`Exec::set_source`], for data that was found by its path.
    #[inline(always)]
    pub(super) fn set_data_source(&mut self, json: &'a Json, mark: usize) {
        if P::ON {
            let source = match json {
                Json::Null => {
                    let inputs = self.inputs_since(mark);
                    self.forget(mark);
                    Source::Made(inputs)
                }
                json => Source::Data(InputsId::from_data(json)),
            };
            self.output.provenance().set_source(source);
        }
    }

    #[inline(never)]
    fn set_made_source(&mut self, value: Option<&Value<'a>>, mark: usize) {
        let trace = self.heap.used_trace();
        match trace.and_then(|trace| trace.borrow().captured(value?)) {
            Some(record) => {
                let offset = self.output.text().len();
                self.output.provenance().take_over(offset, &record);
            }
            None => {
                let inputs = self.inputs_since(mark);
                self.output.provenance().set_source(Source::Made(inputs));
            }
        }
    }

    /// Records that the node `index` writes nothing.
    #[inline(always)]
    pub(super) fn record_absent(&mut self, index: u32, reason: AbsentReason, inputs: InputsId) {
        if P::ON {
            let (offset, site) = (self.output.text().len(), self.site(At::node(index)));
            self.output.provenance().record_absent(offset, site, reason, inputs);
        }
    }

    /// Prints with `print`, and records it if that writes nothing.
    #[inline(always)]
    pub(super) fn print_recorded(
        &mut self,
        index: u32,
        print: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        if !P::ON {
            return print(self);
        }
        let mark = self.mark();
        let before = (self.output.text().len(), self.output.marks().len());
        print(self)?;
        if (self.output.text().len(), self.output.marks().len()) == before {
            let inputs = self.inputs_since(mark);
            self.record_absent(index, AbsentReason::EmptyValue, inputs);
        }
        Ok(())
    }

    /// Records that the template called `name` starts.
    #[inline(always)]
    pub(super) fn enter_named(&mut self, kind: StepKind, index: At, name: &str) {
        if P::ON {
            let number = self.heap.trace().borrow_mut().name_number(name);
            let site = self.site(index);
            self.output.provenance().enter_step(kind, site, number);
        }
    }

    /// Records the end of a step.
    #[inline(always)]
    pub(super) fn leave_step(&mut self) {
        if P::ON {
            self.output.provenance().leave_step();
        }
    }
}
