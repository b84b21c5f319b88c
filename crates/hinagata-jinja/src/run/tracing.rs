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
        if P::ON { self.inputs_between(mark, self.mark()) } else { InputsId::NONE }
    }

    #[inline(always)]
    fn inputs_between(&self, mark: usize, end: usize) -> InputsId {
        let heap = self.heap;
        self.slot_inputs.reads_between(mark, end, |reads| heap.trace().borrow_mut().add_set(reads))
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
                let missing = self.heap.trace().borrow_mut().add_missing(name);
                self.slot_inputs.read(missing);
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

    /// Logs a read of `value`.
    #[inline(always)]
    pub(super) fn note_value(&self, value: &Value<'a>) {
        if P::ON {
            self.read_value(value);
        }
    }

    /// Logs a read of the result of a call, if it is known what it is made of: data, a capture, a tool's result.
    #[inline(always)]
    pub(super) fn note_result(&self, value: &Value<'a>) {
        if P::ON && !matches!(value, Value::Lit(_) | Value::Undefined(_)) {
            self.read_value(value);
        }
    }

    /// Logs a read of the variable at `slot`, an index into all slots.
    #[inline(always)]
    pub(super) fn note_slot(&self, slot: usize) {
        if P::ON && !self.read_value(&self.slots[slot]) {
            let inputs = self.slot_inputs.slot_inputs(slot);
            if inputs != InputsId::NONE {
                self.slot_inputs.read(inputs);
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

    /// What the name `name` that an imported template exports is made of.
    #[inline(always)]
    pub(super) fn export_inputs(&self, module: &Value<'a>, name: &str) -> InputsId {
        match module {
            Value::Engine(handle) if P::ON => self.objects.export_inputs(*handle, name),
            _ => InputsId::NONE,
        }
    }

    /// Logs a read of a name that an imported template exports.
    #[inline(always)]
    pub(super) fn note_export(&self, module: &Value<'a>, name: &str) {
        let inputs = self.export_inputs(module, name);
        if inputs != InputsId::NONE {
            self.slot_inputs.read(inputs);
        }
    }

    /// Replaces the reads of a container, from `mark` to `end`, by that of its part `value`.
    #[inline(always)]
    pub(super) fn narrow_read(&self, mark: usize, end: usize, value: &Value<'a>) {
        if P::ON
            && let Value::Json(json) = value
        {
            self.slot_inputs.narrow_read(mark, end, InputsId::from_data(json));
        }
    }

    /// The document that a value is.
    #[inline(always)]
    pub(super) fn data_of(&self, value: &Value<'a>) -> Option<&'a Json> {
        match value {
            Value::Json(json) if P::ON => Some(json),
            _ => None,
        }
    }

    /// Logs a read of `value`, which a path found in `base`; reads of the base may have been logged after `mark`.
    #[inline(always)]
    pub(super) fn note_path(&self, mark: usize, base: Option<&'a Json>, value: &Value<'a>, is_printed: bool) {
        if P::ON {
            let end = self.mark();
            match (value, base) {
                (Value::Json(_), _) if is_printed && !self.autoescape && end == mark => {}
                (Value::Json(json), _) => {
                    self.slot_inputs.narrow_read(mark, end, InputsId::from_data(json));
                }
                // Its read was not logged yet.
                (_, Some(base)) if end == mark => self.slot_inputs.read(InputsId::from_data(base)),
                _ => {}
            }
        }
    }

    /// Evaluates with `eval` and lets the next assignments store what it read.
    #[inline(always)]
    pub(super) fn assign_reads<T>(&mut self, eval: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let mark = self.mark();
        let result = eval(self)?;
        if P::ON {
            self.assign_reads_since(mark);
        }
        Ok(result)
    }

    #[inline(never)]
    fn assign_reads_since(&mut self, mark: usize) {
        // What a condition lets happen depends on the condition too.
        let heap = self.heap;
        let conditions = self.slot_inputs.conditions(|reads| heap.trace().borrow_mut().add_set(reads));
        if conditions != InputsId::NONE {
            self.slot_inputs.read(conditions);
        }
        let inputs = self.inputs_since(mark);
        self.forget(mark);
        self.slot_inputs.set_assigned(inputs);
    }

    /// Records that the arguments of a call read what was logged after `mark`.
    #[inline(always)]
    pub(super) fn note_arguments(&mut self, mark: usize) {
        if P::ON {
            self.slot_inputs.set_arguments(mark, self.slot_inputs.mark());
        }
    }

    /// What the arguments of the running call are made of. Ask before anything else is called.
    #[inline(always)]
    pub(super) fn argument_inputs(&self) -> InputsId {
        if !P::ON {
            return InputsId::NONE;
        }
        let (mark, end) = self.slot_inputs.arguments();
        self.inputs_between(mark, end)
    }

    /// Records that a method may store its arguments in `receiver`.
    #[inline(always)]
    pub(super) fn note_stored(&self, receiver: &Value<'a>) {
        if P::ON && matches!(receiver, Value::List(_) | Value::Map(_) | Value::Namespace(_)) {
            let inputs = self.argument_inputs();
            self.heap.trace().borrow_mut().add_holder(receiver, inputs);
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
            self.heap.trace().borrow_mut().add_capture(&value, record);
        }
        Ok(value)
    }

    /// Sets what the next printed value is made of: itself, its capture, or the reads after `mark`.
    #[inline(always)]
    pub(super) fn set_source(&self, value: &Value<'a>, mark: usize, out: &mut Output<'a, P>) {
        if P::ON {
            match value {
                Value::Json(json)
                    if !self.autoescape
                        || !matches!(json, Json::String(_) | Json::Array(_) | Json::Object(_)) =>
                {
                    out.provenance().set_source(Source::Data(InputsId::from_data(json)));
                }
                _ => self.set_made_source(value, mark, out),
            }
        }
    }

    #[inline(never)]
    fn set_made_source(&self, value: &Value<'a>, mark: usize, out: &mut Output<'a, P>) {
        // An imported template prints its output.
        let output = match value {
            Value::Engine(handle) => self.objects.module_output(*handle),
            _ => None,
        };
        let value = output.as_ref().unwrap_or(value);
        // Escaping may change a text that is not marked as safe.
        let is_printed_as_it_is = !(self.autoescape && matches!(value, Value::Str(_)));
        let trace = self.heap.used_trace().filter(|_| is_printed_as_it_is);
        match trace.and_then(|trace| trace.borrow().captured(value)) {
            Some(record) => {
                let offset = out.text().len();
                out.provenance().take_over(offset, &record);
            }
            None => out.provenance().set_source(Source::Made(self.inputs_since(mark))),
        }
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

    /// Records that a value prints nothing.
    #[cold]
    #[inline(never)]
    pub(super) fn record_empty(&self, value: &Value<'a>, mark: usize, span: Span, out: &mut Output<'a, P>) {
        let reason = match value {
            Value::Undefined(_) => AbsentReason::Undefined,
            _ => AbsentReason::EmptyValue,
        };
        // Numbers and containers print something.
        let inputs = match value {
            Value::Json(Json::Bool(_) | Json::Number(_) | Json::Array(_) | Json::Object(_)) => InputsId::NONE,
            // The read of a plain variable is not logged.
            Value::Json(json) if self.mark() == mark => InputsId::from_data(json),
            _ => self.inputs_since(mark),
        };
        self.record_absent(span, reason, inputs, out);
    }

    /// Records that the template, block or macro called `name` starts.
    #[inline(always)]
    pub(super) fn enter_named(&self, kind: StepKind, span: Span, name: &str, out: &mut Output<'a, P>) {
        if P::ON {
            let number = self.heap.trace().borrow_mut().name_number(name);
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
