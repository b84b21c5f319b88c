//! Executes statements.

use std::sync::Arc;

use hinagata_value::{
    AbsentReason, Error, InputsId, Output, Part, Provenance, Result, Role, Site, SlotInputs, Source, Value,
};
use serde_json::Value as Json;

use super::{
    Flow, Vm, is_unset,
    objects::{Macro, Object},
};
use crate::{
    ast::Span,
    code::{Callee, Expr, FilterCall, MacroCode, Node, Op, Scope, SetBlock, Target},
    context::UndefinedMode,
    library::{ops, print},
};

impl<'a, P: Provenance> Vm<'_, 'a, P> {
    pub(super) fn exec(&mut self, code: &'a [Node], out: &mut Output<'a, P>) -> Result<Flow> {
        for node in code {
            if node.muted_by_extends && self.parent.is_some() {
                continue;
            }
            // The most frequent statements are handled here, because the other functions need larger stack
            // frames.
            let result = match &node.op {
                Op::Text(text) => out.write_literal(text, self.site(node.span)),
                Op::Print(expr) => {
                    let mark = self.mark();
                    let result = self.print(expr, node.span, out);
                    self.forget(mark);
                    result
                }
                _ => {
                    let mark = self.mark();
                    let flow = self.exec_node(node, out);
                    self.forget(mark);
                    match flow {
                        Ok(Flow::Next) => Ok(()),
                        Ok(flow) => return Ok(flow),
                        Err(error) => Err(error),
                    }
                }
            };
            if let Err(error) = result {
                return Err(self.set_final_place(error, node.span));
            }
        }
        Ok(Flow::Next)
    }

    /// Runs a body after clearing its own slots.
    #[inline]
    pub(super) fn exec_scope(&mut self, scope: &'a Scope, out: &mut Output<'a, P>) -> Result<Flow> {
        for &slot in &scope.fresh {
            self.set_slot(slot, Value::UNDEFINED);
        }
        self.exec(&scope.body, out)
    }

    #[inline(never)]
    fn exec_node(&mut self, node: &'a Node, out: &mut Output<'a, P>) -> Result<Flow> {
        match &node.op {
            Op::If(arms, otherwise) => {
                for arm in arms {
                    self.budget.charge_steps(1)?;
                    let mark = self.mark();
                    let holds =
                        self.test(&arm.test).map_err(|error| self.set_final_place(error, arm.span))?;
                    if holds {
                        self.slot_inputs.enter_condition(mark);
                        let flow = self.exec(&arm.body, out);
                        self.slot_inputs.leave_condition();
                        return flow;
                    }
                    let inputs = self.inputs_since(mark);
                    self.forget(mark);
                    self.record_absent(arm.span, AbsentReason::Condition, inputs, out);
                }
                self.exec(otherwise, out)
            }
            Op::For(node_for) => {
                self.budget.check_stack()?;
                self.exec_for(node_for, node.span, out)
            }
            Op::Set(target, value) => {
                self.budget.charge_steps(1)?;
                self.check_namespaces(target)?;
                let value = self.assign_reads(|vm| vm.eval(value))?;
                self.assign(target, value)?;
                Ok(Flow::Next)
            }
            _ => self.exec_rare(node, out),
        }
    }

    /// Executes rare statements, separately so that the stack frame of the others stays small.
    #[inline(never)]
    fn exec_rare(&mut self, node: &'a Node, out: &mut Output<'a, P>) -> Result<Flow> {
        self.budget.charge_steps(1)?;
        self.budget.check_stack()?;
        let span = node.span;
        match &node.op {
            Op::SetBlock(block) => self.exec_set_block(block),
            Op::With(bindings, scope) => self.exec_with(bindings, scope, out),
            Op::Scope(scope) => self.exec_scope(scope, out),
            Op::Macro(target, code) => {
                let value = self.make_macro(code, true)?;
                self.slot_inputs.set_assigned(InputsId::NONE);
                self.assign(target, value)?;
                Ok(Flow::Next)
            }
            Op::CallBlock(block) => {
                let mark = self.mark();
                let caller = self.make_macro(&block.body, false)?;
                let result = self.call_with_caller(&block.call, caller.clone());
                if let Value::Engine(handle) = caller {
                    self.objects.with_object(handle, |object| {
                        if let Object::Macro(object) = object {
                            object.alive = false;
                        }
                    });
                }
                let value = result?;
                self.note_result(&value);
                self.print_unescaped(&value, mark, self.site(span), out)?;
                Ok(Flow::Next)
            }
            Op::FilterBlock(filters, scope) => {
                let mark = self.mark();
                let (flow, text) = self.capture(scope)?;
                self.note_value(&text);
                // A `break` or `continue` discards the captured text.
                if flow == Flow::Next {
                    let value = self.apply_filters(text, filters)?;
                    self.print_unescaped(&value, mark, self.site(span), out)?;
                }
                Ok(flow)
            }
            Op::Block(block) => {
                self.exec_block(block, span, out)?;
                Ok(Flow::Next)
            }
            Op::Extends(parent) => {
                self.exec_extends(parent, span)?;
                Ok(Flow::Next)
            }
            Op::Include(include) => {
                self.exec_include(include, span, out)?;
                Ok(Flow::Next)
            }
            Op::Import(import) => {
                self.exec_import(import, span)?;
                Ok(Flow::Next)
            }
            Op::FromImport(import) => {
                self.exec_from_import(import, span)?;
                Ok(Flow::Next)
            }
            Op::Do(expr) => {
                self.eval(expr)?;
                Ok(Flow::Next)
            }
            Op::Break => Ok(Flow::Break),
            Op::Continue => Ok(Flow::Continue),
            Op::AutoEscape(enabled, scope) => {
                let enabled = self.test(enabled)?;
                let before = std::mem::replace(&mut self.autoescape, enabled);
                let flow = self.exec_scope(scope, out);
                self.autoescape = before;
                flow
            }
            Op::Message(role, scope) => self.exec_message(role, scope, out),
            Op::Text(_) | Op::Print(_) | Op::If(..) | Op::For(_) | Op::Set(..) => Ok(Flow::Next),
        }
    }

    fn exec_set_block(&mut self, block: &'a SetBlock) -> Result<Flow> {
        let (flow, text) = self.capture(&block.body)?;
        if flow != Flow::Next {
            return Ok(flow);
        }
        let value = self.assign_reads(|vm| {
            vm.note_value(&text);
            vm.apply_filters(text, &block.filters)
        })?;
        self.assign(&block.target, value)?;
        Ok(Flow::Next)
    }

    fn exec_with(
        &mut self,
        bindings: &'a [(Target, Expr)],
        scope: &'a Scope,
        out: &mut Output<'a, P>,
    ) -> Result<Flow> {
        // All values are evaluated in the outer scope, so none is bound before the last is evaluated.
        let mut values = Vec::with_capacity(bindings.len());
        for (_, value) in bindings {
            let value = self.assign_reads(|vm| vm.eval(value))?;
            values.push((value, self.slot_inputs.assigned()));
        }
        for &slot in &scope.fresh {
            self.set_slot(slot, Value::UNDEFINED);
        }
        for ((target, _), (value, inputs)) in bindings.iter().zip(values) {
            self.slot_inputs.set_assigned(inputs);
            self.assign(target, value)?;
        }
        self.exec(&scope.body, out)
    }

    fn exec_message(&mut self, role: &'a Expr, scope: &'a Scope, out: &mut Output<'a, P>) -> Result<Flow> {
        let value = self.eval(role)?;
        let name = value.as_str().ok_or_else(|| Error::runtime("the role of a message must be a string"))?;
        // A role that is not a literal comes from data, so only unprivileged roles are allowed.
        if !matches!(role, Expr::Str(_)) {
            Role::from_data(name)?;
        }
        let part = |kind: &str, content| Arc::new(Part { kind: kind.to_owned(), content });
        out.write_part(part("role", Json::String(name.to_owned())))?;
        let flow = self.exec_scope(scope, out)?;
        out.write_part(part("role_end", Json::Null))?;
        Ok(flow)
    }

    /// Runs a body and captures its output.
    pub(super) fn capture(&mut self, scope: &'a Scope) -> Result<(Flow, Value<'a>)> {
        let mut out = Output::new_capture(self.budget);
        let flow = self.exec_scope(scope, &mut out)?;
        Ok((flow, self.captured_value(out, self.autoescape)?))
    }

    fn apply_filters(&mut self, mut value: Value<'a>, filters: &'a [FilterCall]) -> Result<Value<'a>> {
        for filter in filters {
            value = self.apply_filter(value, filter)?;
        }
        Ok(value)
    }

    /// Creates a macro in the running frame. If it is `lasting`, all current frames are kept for it.
    fn make_macro(&mut self, code: &'a MacroCode, lasting: bool) -> Result<Value<'a>> {
        if lasting {
            self.floor = self.slots.len();
        }
        self.objects.add(Object::Macro(Macro {
            code,
            template: self.template,
            context: self.context,
            base: self.base,
            autoescape: self.autoescape,
            alive: true,
        }))
    }

    pub(super) fn assign(&mut self, target: &'a Target, value: Value<'a>) -> Result<()> {
        match target {
            Target::Slot(slot) => {
                self.set_slot(*slot, value);
                self.assign_slot(*slot);
                Ok(())
            }
            Target::Attr(target) => {
                let (namespace, name) = &**target;
                match self.eval(namespace)? {
                    holder @ Value::Namespace(_) if P::ON => {
                        let inputs = self.slot_inputs.assigned();
                        self.heap.trace().borrow_mut().add_holder(&holder, inputs);
                        let Value::Namespace(map) = holder else { return Ok(()) };
                        self.heap.insert(&map, Value::Lit(name), value)
                    }
                    Value::Namespace(map) => self.heap.insert(&map, Value::Lit(name), value),
                    _ => Err(namespace_error(name)),
                }
            }
            Target::Tuple(targets) => self.unpack(targets, &value),
        }
    }

    /// Refuses a target that is not a namespace before the value is evaluated, as Jinja2 does.
    #[inline]
    fn check_namespaces(&mut self, target: &'a Target) -> Result<()> {
        match target {
            Target::Slot(_) => Ok(()),
            Target::Attr(target) => match self.eval(&target.0)? {
                Value::Namespace(_) => Ok(()),
                _ => Err(namespace_error(&target.1)),
            },
            Target::Tuple(targets) => targets.iter().try_for_each(|target| self.check_namespaces(target)),
        }
    }

    fn unpack(&mut self, targets: &'a [Target], value: &Value<'a>) -> Result<()> {
        self.budget.charge_steps(targets.len() as u64)?;
        let mut items = ops::iterate_value(&self.cx(), value)?;
        for (index, target) in targets.iter().enumerate() {
            let Some(item) = items.next() else {
                return Err(Error::runtime(format!(
                    "not enough values to unpack: expected {}, got {index}",
                    targets.len()
                )));
            };
            let item = self.heap.current_version(item);
            self.assign(target, item)?;
        }
        if items.next().is_some() {
            return Err(Error::runtime(format!("too many values to unpack: expected {}", targets.len())));
        }
        Ok(())
    }

    /// `{{ expr }}`.
    #[inline]
    fn print(&mut self, expr: &'a Expr, span: Span, out: &mut Output<'a, P>) -> Result<()> {
        let (mark, site) = (self.mark(), self.site(span));
        let value = match expr {
            Expr::Context(key) => {
                self.budget.charge_steps(1 + key.steps())?;
                self.lookup_data(key)
            }
            Expr::Path(path) => self.path(path, true)?,
            Expr::Var(var) => self.var_data(var),
            Expr::Call(call) if !matches!(call.callee, Callee::LoopCycle | Callee::LoopChanged) => {
                return self.print_call(call, site, out);
            }
            Expr::Filter(filter) if let (Some(quick), false) = (filter.1.quick, self.autoescape) => {
                let value = self.eval(&filter.0)?;
                if P::ON {
                    let inputs = self.inputs_since(mark);
                    out.provenance().set_source(Source::Made(inputs));
                }
                if self.print_quick(&value, quick, &filter.1, site, out)? {
                    self.forget(mark);
                    return Ok(());
                }
                self.apply_filter(value, &filter.1)?
            }
            _ => self.eval(expr)?,
        };
        self.print_read(&value, mark, site, span, out)
    }

    /// Prints a value as `{{ }}` does. The reads after `mark` are what it is made of.
    #[inline]
    pub(super) fn print_read(
        &mut self,
        value: &Value<'a>,
        mark: usize,
        site: Site,
        span: Span,
        out: &mut Output<'a, P>,
    ) -> Result<()> {
        self.set_source(value, mark, out);
        if !P::ON {
            return self.print_value(value, site, out);
        }
        let before = (out.text().len(), out.marks().len());
        self.print_value(value, site, out)?;
        if (out.text().len(), out.marks().len()) == before {
            self.record_empty(value, mark, span, out);
        }
        Ok(())
    }

    /// Prints a value as `{{ }}` does, without its origin.
    #[inline]
    pub(super) fn print_value(
        &mut self,
        value: &Value<'a>,
        site: Site,
        out: &mut Output<'a, P>,
    ) -> Result<()> {
        if !self.autoescape {
            match value {
                Value::Json(Json::String(text)) => return out.write(text, site),
                Value::Lit(text) => return out.write(text, site),
                Value::Str(text) | Value::Safe(text) => return out.write(text, site),
                Value::Int(int) => return out.write_int(*int, site),
                _ => {}
            }
        }
        self.print_rare(value, site, out)
    }

    /// Prints the result of a filter block or a call block; text is not escaped.
    fn print_unescaped(
        &mut self,
        value: &Value<'a>,
        mark: usize,
        site: Site,
        out: &mut Output<'a, P>,
    ) -> Result<()> {
        self.set_source(value, mark, out);
        match value.as_str() {
            Some(text) => out.write(text, site),
            None => self.print_value(value, site, out),
        }
    }

    #[inline(never)]
    fn print_rare(&mut self, value: &Value<'a>, site: Site, out: &mut Output<'a, P>) -> Result<()> {
        match value {
            Value::Pending(call) => out.write_pending(*call),
            Value::Pieces(pieces) => out.write_pieces(pieces, site),
            Value::Undefined(_) if self.inputs.settings.undefined == UndefinedMode::Empty => Ok(()),
            // A conditional expression without `else` prints nothing in every mode.
            value if is_unset(value) => Ok(()),
            Value::Host(object) if let Some(part) = object.get().part() => out.write_part(part),
            _ => out.write_with(site, |text| print::print_output(&self.cx(), value, text)),
        }
    }
}

#[cold]
fn namespace_error(name: &str) -> Error {
    Error::runtime(format!("cannot set '{name}' of a value that is not a namespace"))
        .with_hint("only the attributes of a `namespace(…)` can be set")
}
