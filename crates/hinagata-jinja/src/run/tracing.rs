//! Records what the printed values are made of. Without a record, nothing of this is compiled in.

use hinagata_value::{
    AbsentReason, InputsId, Output, Provenance, Result, SlotInputs, Source, StepKind, Value,
};
use serde_json::Value as Json;

use super::Vm;
use crate::{ast::Span, code::VarPlace};

impl<'a, P: Provenance> Vm<'_, 'a, P> {
    /// The end of the log of reads, before an expression is evaluated.
    #[inline(always)]
    pub(super) fn mark(&self) -> usize {
        if P::ON { self.heap.read_trace().borrow().mark() } else { 0 }
    }

    /// Forgets the reads after `mark`.
    #[inline(always)]
    pub(super) fn forget(&self, mark: usize) {
        if P::ON {
            self.heap.read_trace().borrow_mut().forget(mark);
        }
    }

    /// The reads after `mark` as a set.
    #[inline(always)]
    pub(super) fn take_inputs(&self, mark: usize) -> InputsId {
        if P::ON { self.heap.read_trace().borrow_mut().take_inputs(mark) } else { InputsId::NONE }
    }

    /// Logs a read of `value`.
    #[inline(always)]
    pub(super) fn note_value(&self, value: &Value<'a>) {
        if P::ON {
            self.heap.read_trace().borrow_mut().read_value(value);
        }
    }

    /// Logs a read of the result of a call, if it is known what it is made of: data, a capture, a tool's result.
    #[inline(always)]
    pub(super) fn note_result(&self, value: &Value<'a>) {
        if P::ON && !matches!(value, Value::Lit(_) | Value::Undefined(_)) {
            self.heap.read_trace().borrow_mut().read_value(value);
        }
    }

    /// Logs a read of the variable at `slot`, an index into all slots.
    #[inline(always)]
    pub(super) fn note_slot(&self, slot: usize) {
        if P::ON {
            let mut trace = self.heap.read_trace().borrow_mut();
            if !trace.read_value(&self.slots[slot]) {
                trace.read_inputs(self.slot_inputs.slot_inputs(slot));
            }
        }
    }

    /// Logs a read of the variable at `place`, as seen from the frame at `base`.
    #[inline(always)]
    pub(super) fn note_place(&self, base: usize, place: VarPlace) {
        if P::ON {
            self.note_slot(self.frame(base, place.up) + place.slot as usize);
        }
    }

    /// Replaces the reads of a container, from `mark` to `end`, by that of its part `value`.
    #[inline(always)]
    pub(super) fn narrow_read(&self, mark: usize, end: usize, value: &Value<'a>) {
        if P::ON {
            self.heap.read_trace().borrow_mut().narrow_read(mark, end, value);
        }
    }

    /// Evaluates with `eval` and lets the next assignments store what it read.
    #[inline(always)]
    pub(super) fn assign_reads<T>(&mut self, eval: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let mark = self.mark();
        let result = eval(self)?;
        if P::ON {
            // What a condition lets happen depends on the condition too.
            let conditions = self.slot_inputs.conditions();
            self.heap.read_trace().borrow_mut().read_inputs(conditions);
            let inputs = self.take_inputs(mark);
            self.slot_inputs.set_assigned(inputs);
        }
        Ok(result)
    }

    /// Enters the body of a condition that read what was logged after `mark`.
    #[inline(always)]
    pub(super) fn enter_condition(&mut self, mark: usize) -> InputsId {
        if !P::ON {
            return InputsId::NONE;
        }
        let before = self.slot_inputs.conditions();
        self.heap.read_trace().borrow_mut().read_inputs(before);
        let inputs = self.take_inputs(mark);
        self.slot_inputs.set_conditions(inputs)
    }

    /// Leaves the body of a condition.
    #[inline(always)]
    pub(super) fn leave_condition(&mut self, before: InputsId) {
        if P::ON {
            self.slot_inputs.set_conditions(before);
        }
    }

    /// Records that a method may store its arguments in `receiver`.
    #[inline(always)]
    pub(super) fn note_stored(&self, receiver: &Value<'a>) {
        if P::ON {
            self.heap.read_trace().borrow_mut().add_holder(receiver, self.slot_inputs.assigned());
        }
    }

    /// Stores the assigned inputs for a slot of the running frame.
    #[inline(always)]
    pub(super) fn assign_slot(&mut self, slot: u32) {
        if P::ON {
            self.slot_inputs.assign_slot(self.base + slot as usize);
        }
    }

    /// The value of a capture, whose record is kept with it.
    pub(super) fn captured_value(&self, mut out: Output<'a, P>, safe: bool) -> Result<Value<'a>> {
        let record = P::ON.then(|| out.provenance().take_record());
        let value = out.into_value(safe)?;
        if let Some(record) = record {
            self.heap.read_trace().borrow_mut().add_capture(&value, record);
        }
        Ok(value)
    }

    /// Sets what the next printed value is made of: itself, its capture, or the reads after `mark`.
    #[inline(always)]
    pub(super) fn set_source(&self, value: &Value<'a>, mark: usize, out: &mut Output<'a, P>) -> InputsId {
        if P::ON { self.set_recorded_source(value, mark, out) } else { InputsId::NONE }
    }

    #[inline(never)]
    fn set_recorded_source(&self, value: &Value<'a>, mark: usize, out: &mut Output<'a, P>) -> InputsId {
        let mut trace = self.heap.read_trace().borrow_mut();
        if let Value::Json(json) = value
            && !(self.autoescape && matches!(json, Json::String(_) | Json::Array(_) | Json::Object(_)))
        {
            let inputs = match json {
                Json::Null | Json::String(_) => trace.take_inputs(mark),
                _ => {
                    trace.forget(mark);
                    InputsId::NONE
                }
            };
            out.provenance().set_source(Source::Data(trace.data_number(json)));
            return inputs;
        }
        let captured = trace.captured(value);
        let inputs = trace.take_inputs(mark);
        match captured {
            Some(record) => {
                let offset = out.text().len();
                out.provenance().take_over(offset, &record);
            }
            None => out.provenance().set_source(Source::Made(inputs)),
        }
        inputs
    }

    /// Records that the statement at `span` writes nothing.
    #[inline(always)]
    pub(super) fn record_absent(
        &self,
        span: Span,
        reason: AbsentReason,
        inputs: InputsId,
        out: &mut Output<'a, P>,
    ) {
        if P::ON {
            let offset = out.text().len();
            out.provenance().record_absent(offset, self.site(span), reason, inputs);
        }
    }

    /// Records that the template, block or macro called `name` starts.
    #[inline(always)]
    pub(super) fn enter_named(&self, kind: StepKind, span: Span, name: &str, out: &mut Output<'a, P>) {
        if P::ON {
            let number = self.heap.read_trace().borrow_mut().name_number(name);
            out.provenance().enter_step(kind, self.site(span), number);
        }
    }

    /// Records the end of a step.
    #[inline(always)]
    pub(super) fn leave_step(&self, out: &mut Output<'a, P>) {
        if P::ON {
            out.provenance().leave_step();
        }
    }
}
