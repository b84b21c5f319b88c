//! `range`: over lists, maps by key, and counts.

use hinagata_value::{AbsentReason, Heap, InputsId, Metered, Provenance, Result, StepKind, Value};
use serde_json::Value as Json;

use super::{Exec, Flow, Val};
use crate::{
    error::Part,
    fmt::print::{sorted_entries, sprint},
    tree::{At, Pipe, RangeNode},
    value::view::View,
};

impl<'a, P: Provenance> Exec<'_, 'a, P> {
    pub(super) fn run_range(&mut self, index: u32, node: &'a RangeNode, dot: &Val<'a>) -> Result<Flow> {
        let tree = self.tree;
        let mark = self.mark();
        let value = self.eval_pipeline(node.pipe, dot)?.value;
        let inputs = self.inputs_since(mark);
        self.forget(mark);
        let value = self.resolve_scope(value)?;
        self.budget.check_stack()?;
        let pipe = &tree.pipes[node.pipe as usize];
        // The body restores what it changes.
        let before = self.enter_dot(inputs, false);
        let turns = Turns { exec: self, node, pipe, index, turn: 0, inputs };
        let flow = match turns.exec.view(&value)? {
            View::List(_) => turns.list(&value)?,
            View::Map(_) => turns.map(&value)?,
            View::Int(count) => turns.count(&value, count)?,
            View::Uint8(count) => turns.count(&value, i64::from(count))?,
            View::Invalid | View::Nil | View::TypedNil(_) => None,
            _ => {
                let shown = turns.exec.print_for_error(&value)?;
                return Err(turns.exec.fail("range can't iterate over %v", &[Part::Text(&shown)]));
            }
        };
        self.restore_dot(before);
        if flow.is_none() {
            self.record_absent(index, AbsentReason::EmptyLoop, inputs);
        }
        match (flow, node.otherwise) {
            (None, Some(body)) => match self.run_body(body, dot)? {
                // In `else`, `break` ends this loop and `continue` continues the enclosing one.
                Flow::Break => Ok(Flow::Next),
                flow => Ok(flow),
            },
            _ => Ok(Flow::Next),
        }
    }

    /// A value as `%v` prints it.
    pub(super) fn print_for_error(&self, value: &Value<'a>) -> Result<String> {
        let text = sprint(self.heap, value, self.integers())?;
        Ok(String::from_utf8_lossy(text.as_bytes()).into_owned())
    }
}

/// The turns of one loop.
struct Turns<'e, 'r, 'a, P: Provenance> {
    exec: &'e mut Exec<'r, 'a, P>,
    node: &'a RangeNode,
    pipe: &'a Pipe,
    index: u32,
    turn: u32,
    /// What the items are made of.
    inputs: InputsId,
}

impl<'a, P: Provenance> Turns<'_, '_, 'a, P> {
    fn list(mut self, list: &Value<'a>) -> Result<Option<()>> {
        if let Value::Json(Json::Array(items)) = list
            && !self.exec.changed
        {
            for (at, item) in items.iter().enumerate() {
                if !self.turn(|| Value::Int(at as i64), || Val::boxed(Value::Json(item)))? {
                    break;
                }
            }
            return Ok((!items.is_empty()).then_some(()));
        }
        let count = self.exec.heap.len(list).unwrap_or(0);
        for at in 0..count {
            let Some(item) = self.exec.heap.item(list, at) else { break };
            if !self.turn(|| Value::Int(at as i64), || Val::boxed(item.clone()))? {
                break;
            }
        }
        Ok((count > 0).then_some(()))
    }

    fn map(mut self, map: &Value<'a>) -> Result<Option<()>> {
        let entries = sorted_entries(self.exec.heap, map)?.unwrap_or_default();
        let any = !entries.is_empty();
        for (key, value) in entries {
            if !self.turn(|| key.clone(), || Val::boxed(value.clone()))? {
                break;
            }
        }
        Ok(any.then_some(()))
    }

    fn count(mut self, value: &Value<'a>, count: i64) -> Result<Option<()>> {
        if self.pipe.variables.len() > 1 {
            let shown = self.exec.print_for_error(value)?;
            let format = "can't use %v to iterate over more than one variable";
            return Err(self.exec.fail(format, &[Part::Text(&shown)]));
        }
        let count = count.max(0);
        self.exec.budget.check_range(count.unsigned_abs())?;
        let is_byte = matches!(value, Value::Big(_));
        for at in 0..count {
            let item = if is_byte { new_byte(self.exec.heap, at as u8)? } else { Value::Int(at) };
            if !self.turn(|| Value::UNDEFINED, || Val::plain(item.clone()))? {
                break;
            }
        }
        Ok((count > 0).then_some(()))
    }

    /// Runs the body once. Returns false after a `break`.
    #[inline]
    fn turn(&mut self, index: impl FnOnce() -> Value<'a>, item: impl Fn() -> Val<'a>) -> Result<bool> {
        let exec = &mut *self.exec;
        exec.budget.charge_steps(1)?;
        match &*self.pipe.variables {
            [] => {}
            [only] => {
                exec.put(only, item())?;
                exec.assign_variable(&only.slots, self.inputs);
            }
            [first, second, ..] => {
                exec.put(first, Val::plain(index()))?;
                exec.assign_variable(&first.slots, InputsId::NONE);
                exec.put(second, item())?;
                exec.assign_variable(&second.slots, self.inputs);
            }
        }
        if P::ON {
            let site = exec.site(At::node(self.index));
            exec.output.provenance().enter_step(StepKind::Turn, site, self.turn);
            self.turn += 1;
        }
        let flow = exec.run_body(self.node.body, &item())?;
        exec.leave_step();
        Ok(flow != Flow::Break)
    }
}

/// A byte of a string as a value: a wide integer, which small numbers never are otherwise.
pub(super) fn new_byte<'a>(heap: &Heap<'a>, byte: u8) -> Result<Value<'a>> {
    Ok(Value::Big(Metered::new(heap.budget(), i128::from(byte))?))
}
