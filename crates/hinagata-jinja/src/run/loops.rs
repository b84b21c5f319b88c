//! Loops and the variable `loop`.

use std::rc::Rc;

use hinagata_value::{
    AbsentReason, Error, InputsId, List, Output, Owner, Provenance, Range, Result, Site, SlotInputs,
    StepKind, Undefined, Value,
};
use serde_json::Value as Json;

use super::{
    Charged, Flow, Vm,
    objects::{LoopObject, LoopPlace, Object},
};
use crate::{
    ast::Span,
    code::{For, LoopField, Target},
    library::ops,
};

/// A running loop whose body uses `loop`.
pub(super) struct LoopState<'a> {
    pub(super) code: &'a For,
    /// The current iteration, from 0.
    pub(super) index: usize,
    pub(super) len: usize,
    items: Items<'a>,
    depth: u32,
    /// The arguments of the last call of `loop.changed`.
    changed: Option<Value<'a>>,
}

/// The node of a loop, and what its items are made of.
#[derive(Clone, Copy)]
struct LoopSite {
    site: Site,
    inputs: InputsId,
}

/// Items with access by index.
#[derive(Clone)]
enum Items<'a> {
    Borrowed(&'a [Json]),
    List(Rc<List<'a>>),
    Range(Range),
}

impl<'a> Items<'a> {
    fn len(&self) -> usize {
        match self {
            Self::Borrowed(items) => items.len(),
            Self::List(list) => list.len(),
            Self::Range(range) => range.len() as usize,
        }
    }

    #[inline]
    fn get(&self, index: usize) -> Option<Value<'a>> {
        match self {
            Self::Borrowed(items) => items.get(index).map(Value::Json),
            Self::List(list) => list.get(index),
            Self::Range(range) => range.get(index as u64).map(Value::Int),
        }
    }
}

/// The undefined value of `loop.previtem` for the first item and of `loop.nextitem` for the last.
fn no_item<'a>() -> Value<'a> {
    Value::Undefined(Undefined { owner: Owner::List, name: None })
}

impl<'a> LoopState<'a> {
    pub(super) fn field(&self, field: LoopField) -> Value<'a> {
        let int = |number: usize| Value::Int(number as i64);
        match field {
            LoopField::Index => int(self.index + 1),
            LoopField::Index0 => int(self.index),
            LoopField::RevIndex => int(self.len.saturating_sub(self.index)),
            LoopField::RevIndex0 => int(self.len.saturating_sub(self.index + 1)),
            LoopField::First => Value::Bool(self.index == 0),
            LoopField::Last => Value::Bool(self.index + 1 >= self.len),
            LoopField::Length => int(self.len),
            LoopField::Depth => Value::Int(i64::from(self.depth)),
            LoopField::Depth0 => Value::Int(i64::from(self.depth) - 1),
            LoopField::PrevItem => {
                self.index.checked_sub(1).and_then(|index| self.items.get(index)).unwrap_or(no_item())
            }
            LoopField::NextItem => self.items.get(self.index + 1).unwrap_or(no_item()),
        }
    }
}

impl<'a, P: Provenance> Vm<'_, 'a, P> {
    pub(super) fn exec_for(&mut self, node: &'a For, span: Span, out: &mut Output<'a, P>) -> Result<Flow> {
        let items = self.assign_reads(|vm| vm.eval(&node.iter))?;
        self.run_loop(node, &items, 1, span, out)
    }

    /// Runs the body for every item, or the `else` body. A `break` or `continue` in the `else` body applies
    /// to the enclosing loop.
    fn run_loop(
        &mut self,
        node: &'a For,
        items: &Value<'a>,
        depth: u32,
        span: Span,
        out: &mut Output<'a, P>,
    ) -> Result<Flow> {
        let inputs = self.slot_inputs.assigned();
        let site = LoopSite { site: self.site(span), inputs };
        let completed = match (node.uses_loop, self.heap.current_version(items.clone())) {
            (false, Value::Json(Json::Array(items))) => {
                self.turns(node, items.iter().map(Value::Json), site, span, out)?
            }
            (false, items) => {
                let items =
                    ops::iterate_value(&self.cx(), &items).map_err(|error| self.locate(error, span))?;
                self.turns(node, items, site, span, out)?
            }
            (true, items) => {
                let items = self.known_items(node, items, span)?;
                self.turns_with_loop(node, &items, depth, site, span, out)?
            }
        };
        if !completed {
            self.record_absent(span, AbsentReason::EmptyLoop, inputs, out);
        }
        match completed || node.otherwise.body.is_empty() {
            true => Ok(Flow::Next),
            false => self.exec_scope(&node.otherwise, out),
        }
    }

    /// Runs the iterations of a loop whose body does not use `loop`. Returns whether an iteration was
    /// completed.
    fn turns(
        &mut self,
        node: &'a For,
        items: impl Iterator<Item = Value<'a>>,
        site: LoopSite,
        span: Span,
        out: &mut Output<'a, P>,
    ) -> Result<bool> {
        let mut completed = false;
        for (index, item) in items.enumerate() {
            self.budget.charge_steps(1)?;
            if !self.passes_filter(node, &item, span)? {
                continue;
            }
            match self.turn(node, item, index, site, span, out)? {
                Flow::Next => completed = true,
                Flow::Continue => {}
                Flow::Break => break,
            }
        }
        Ok(completed)
    }

    #[inline]
    fn turn(
        &mut self,
        node: &'a For,
        item: Value<'a>,
        index: usize,
        site: LoopSite,
        span: Span,
        out: &mut Output<'a, P>,
    ) -> Result<Flow> {
        if P::ON {
            self.slot_inputs.set_assigned(site.inputs);
        }
        if let Target::Slot(slot) = &node.target {
            self.set_slot(*slot, self.heap.current_version(item));
            self.assign_slot(*slot);
        } else {
            self.assign(&node.target, item).map_err(|error| self.locate(error, span))?;
        }
        if P::ON {
            out.provenance().enter_step(StepKind::Turn, site.site, index as u32);
        }
        let flow = self.exec_scope(&node.body, out);
        if P::ON {
            out.provenance().leave_step();
        }
        flow
    }

    fn passes_filter(&mut self, node: &'a For, item: &Value<'a>, span: Span) -> Result<bool> {
        let Some(filter) = &node.filter else { return Ok(true) };
        self.assign(&filter.target, item.clone()).map_err(|error| self.locate(error, span))?;
        self.test(&filter.test)
    }

    fn turns_with_loop(
        &mut self,
        node: &'a For,
        items: &Items<'a>,
        depth: u32,
        site: LoopSite,
        span: Span,
        out: &mut Output<'a, P>,
    ) -> Result<bool> {
        let place = self.objects.loops.borrow().len();
        let len = items.len();
        let object = match node.object {
            None => None,
            Some(slot) => {
                let state = LoopPlace::Running(place);
                // The object keeps the state after the loop ends.
                self.run_charges.charge(size_of::<LoopState<'_>>())?;
                let object =
                    self.objects.add(Object::Loop(LoopObject { code: node, base: self.base, state }))?;
                self.set_slot(slot, object.clone());
                Some(object)
            }
        };
        let state = LoopState { code: node, index: 0, len, items: items.clone(), depth, changed: None };
        self.objects.loops.borrow_mut().push(state);
        let completed = self.turns_by_number(node, items, place, object.as_ref(), (site, span), out);
        let state = self.objects.loops.borrow_mut().pop();
        if let (Some(Value::Engine(handle)), Some(state)) = (object, state) {
            self.objects.with_object(handle, |object| {
                if let Object::Loop(object) = object {
                    object.state = LoopPlace::Ended(Box::new(state));
                }
            });
        }
        completed
    }

    fn turns_by_number(
        &mut self,
        node: &'a For,
        items: &Items<'a>,
        place: usize,
        object: Option<&Value<'a>>,
        (site, span): (LoopSite, Span),
        out: &mut Output<'a, P>,
    ) -> Result<bool> {
        let mut completed = false;
        let mut index = 0;
        while let Some(item) = items.get(index) {
            self.budget.charge_steps(1)?;
            if let Some(state) = self.objects.loops.borrow_mut().get_mut(place) {
                state.index = index;
            }
            if let (Some(slot), Some(object)) = (node.object, object) {
                self.set_slot(slot, object.clone());
            }
            match self.turn(node, item, index, site, span, out)? {
                Flow::Next => completed = true,
                Flow::Continue => {}
                Flow::Break => break,
            }
            index += 1;
        }
        Ok(completed)
    }

    /// Collects the filtered items of a loop that uses `loop`, so that their number is known.
    fn known_items(&mut self, node: &'a For, items: Value<'a>, span: Span) -> Result<Items<'a>> {
        if node.filter.is_none() {
            match items {
                Value::Json(Json::Array(items)) => return Ok(Items::Borrowed(items)),
                Value::List(list) | Value::Tuple(list) => return Ok(Items::List(list)),
                Value::Range(range) => return Ok(Items::Range(**range)),
                _ => {}
            }
        }
        let items = ops::iterate_value(&self.cx(), &items).map_err(|error| self.locate(error, span))?;
        let mut list = self.heap.list()?;
        for item in items {
            if self.passes_filter(node, &item, span)? {
                list.push(item)?;
            }
        }
        match list.finish() {
            Value::List(list) => Ok(Items::List(list)),
            _ => Err(Error::runtime("a list was expected")),
        }
    }

    /// `loop.name` of the innermost loop.
    pub(super) fn loop_field(&self, field: LoopField) -> Value<'a> {
        self.objects.loops.borrow().last().map_or(Value::UNDEFINED, |state| state.field(field))
    }

    /// Whether `loop.name` of the innermost loop is true, without creating a value.
    pub(super) fn loop_test(&self, field: LoopField) -> Option<bool> {
        let loops = self.objects.loops.borrow();
        let state = loops.last()?;
        match field {
            LoopField::First => Some(state.index == 0),
            LoopField::Last => Some(state.index + 1 >= state.len),
            _ => None,
        }
    }

    /// `loop(items)`: runs the body of a recursive loop for other items.
    pub(super) fn call_loop(&mut self, items: &Value<'a>, span: Span, out: &mut Output<'a, P>) -> Result<()> {
        let Some((code, depth)) = self.objects.loops.borrow().last().map(|state| (state.code, state.depth))
        else {
            return Err(Error::runtime("this loop has ended"));
        };
        self.recurse(code, items, depth + 1, self.base, span, out)
    }

    /// Calls a loop object, which may come from another function.
    pub(super) fn call_loop_object(
        &mut self,
        code: &'a For,
        base: usize,
        items: &Value<'a>,
        span: Span,
    ) -> Result<Value<'a>> {
        let mut out = Output::new_capture(self.budget);
        self.recurse(code, items, 2, base, span, &mut out)?;
        self.captured_value(out, self.autoescape)
    }

    fn recurse(
        &mut self,
        code: &'a For,
        items: &Value<'a>,
        depth: u32,
        base: usize,
        span: Span,
        out: &mut Output<'a, P>,
    ) -> Result<()> {
        if !code.recursive {
            return Err(Error::runtime("a loop must be `recursive` to be called"));
        }
        let budget = self.budget;
        let _level = budget.enter_call()?;
        // The recursive run must not change the variables of the outer iteration.
        let slots = base + code.slots.start as usize..base + code.slots.end as usize;
        let mut charged = Charged::new(budget);
        charged.charge(slots.len() * size_of::<Value<'_>>())?;
        budget.charge_steps(slots.len() as u64)?;
        let before = std::mem::replace(&mut self.base, base);
        let saved_slots: Vec<Value<'a>> = self.slots[slots.clone()].to_vec();
        let saved_inputs: Vec<_> =
            slots.clone().filter(|_| P::ON).map(|slot| self.slot_inputs.slot_inputs(slot)).collect();
        let result = self.run_loop(code, items, depth, span, out).map(drop);
        for (slot, inputs) in slots.clone().zip(saved_inputs) {
            self.slot_inputs.set_assigned(inputs);
            self.slot_inputs.assign_slot(slot);
        }
        for (slot, value) in slots.zip(saved_slots) {
            self.slots[slot] = value;
        }
        self.base = before;
        result
    }

    /// `loop.cycle(a, b)`.
    pub(super) fn loop_cycle(&self, index: usize, items: &[Value<'a>]) -> Result<Value<'a>> {
        if items.is_empty() {
            return Err(Error::runtime("`loop.cycle` needs at least one item"));
        }
        Ok(items[index % items.len()].clone())
    }

    /// The iteration of the innermost loop.
    pub(super) fn loop_index(&self) -> usize {
        self.objects.loops.borrow().last().map_or(0, |state| state.index)
    }

    /// `loop.changed(a, b)` of the running loop at `place`: whether the values differ from those of the
    /// last call.
    pub(super) fn loop_changed(&self, place: Option<usize>, values: &Value<'a>) -> Result<bool> {
        let before = {
            let mut loops = self.objects.loops.borrow_mut();
            let state = match place {
                Some(place) => loops.get_mut(place),
                None => loops.last_mut(),
            };
            let Some(state) = state else { return Ok(true) };
            state.changed.replace(values.clone())
        };
        match before {
            Some(before) => Ok(!hinagata_value::is_equal(self.heap, &before, values)?),
            None => Ok(true),
        }
    }
}
