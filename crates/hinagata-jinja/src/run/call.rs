//! Calls of functions, methods, macros, blocks and loops.

use std::sync::LazyLock;

use hinagata_value::{Arguments, EngineRef, Error, Host, Output, Provenance, Result, Site, Value};

use super::{
    Vm,
    objects::{Global, Macro, Object, global_of, not_callable},
};
use crate::{
    ast::Span,
    code::{Call, Callee, For},
    context::Objects,
    library::{globals, methods, types::type_name},
};

/// A resolved callee, before the arguments are evaluated.
enum ResolvedCallee<'a> {
    Value(Value<'a>),
    /// A method of this value, from the library or of a run-time object.
    Method(Value<'a>, &'a str),
    /// `loop(…)`, `loop.cycle(…)` and `loop.changed(…)` of the innermost loop.
    Loop,
    LoopCycle,
    LoopChanged,
}

/// What a call of a run-time object does.
enum Action<'a> {
    Macro(Macro<'a>),
    Block {
        context: usize,
        name: &'a str,
        depth: usize,
    },
    Loop {
        code: &'a For,
        base: usize,
    },
    Method {
        receiver: Value<'a>,
        name: &'static str,
    },
    /// The result of a joiner or cycler, which has already advanced.
    Value(Value<'a>),
    LoopCycle(Option<usize>),
    LoopChanged(Option<usize>),
    NotCallable,
}

impl<'a, P: Provenance> Vm<'_, 'a, P> {
    /// Evaluates a call.
    pub(super) fn call(&mut self, call: &'a Call) -> Result<Value<'a>> {
        self.budget.check_stack()?;
        let callee = self.find_callee(call)?;
        let value = self
            .with_args(&call.args, |vm, arguments| vm.call_resolved(&callee, arguments, call))
            .map_err(|error| self.locate(error, call.span))?;
        self.note_result(&value);
        Ok(value)
    }

    /// Evaluates a call and passes the body of a call block as `caller`.
    pub(super) fn call_with_caller(&mut self, call: &'a Call, caller: Value<'a>) -> Result<Value<'a>> {
        let callee = self.find_callee(call)?;
        self.with_args(&call.args, |vm, arguments| {
            let mut keywords = arguments.named.to_vec();
            keywords.push(("caller", caller));
            vm.call_resolved(&callee, &Arguments { positional: arguments.positional, named: &keywords }, call)
        })
        .map_err(|error| self.locate(error, call.span))
    }

    /// `{{ callee(…) }}`: a macro, a block or a loop prints directly to the output.
    pub(super) fn print_call(&mut self, call: &'a Call, site: Site, out: &mut Output<'a, P>) -> Result<()> {
        self.budget.charge_steps(1)?;
        self.budget.check_stack()?;
        let span = call.span;
        let mark = self.mark();
        let callee = self.find_callee(call)?;
        self.with_args(&call.args, |vm, arguments| {
            let value = match (&callee, vm.action(&callee)) {
                (ResolvedCallee::Loop, _) => return vm.call_loop(one_argument(arguments)?, span, out),
                (_, Some((Action::Macro(object), _))) => return vm.run_macro(object, arguments, span, out),
                (_, Some((Action::Block { context, name, depth }, _))) => {
                    return vm.run_block(context, name, depth, span, out);
                }
                (_, Some((action, handle))) => vm.perform(action, handle, arguments, span)?,
                (callee, None) => vm.call_resolved(callee, arguments, call)?,
            };
            vm.note_result(&value);
            vm.print_read(&value, mark, site, span, out)
        })
        .map_err(|error| self.locate(error, span))
    }

    fn find_callee(&mut self, call: &'a Call) -> Result<ResolvedCallee<'a>> {
        Ok(match &call.callee {
            Callee::Value(callee) => ResolvedCallee::Value(self.eval(callee)?),
            Callee::Method(receiver, step) => {
                let receiver = self.eval(receiver)?;
                let name = step.key.name();
                if methods::find_method(&receiver, name).is_some() || self.has_method(&receiver, name) {
                    ResolvedCallee::Method(receiver, name)
                } else {
                    ResolvedCallee::Value(self.attribute(&receiver, step)?)
                }
            }
            Callee::Loop => ResolvedCallee::Loop,
            Callee::LoopCycle => ResolvedCallee::LoopCycle,
            Callee::LoopChanged => ResolvedCallee::LoopChanged,
        })
    }

    fn call_resolved(
        &mut self,
        callee: &ResolvedCallee<'a>,
        arguments: &Arguments<'_, 'a>,
        call: &'a Call,
    ) -> Result<Value<'a>> {
        if let Some((action, handle)) = self.action(callee) {
            return self.perform(action, handle, arguments, call.span);
        }
        match callee {
            ResolvedCallee::Value(callee) => self.call_value(callee, arguments, call),
            ResolvedCallee::Method(receiver, name) => self.call_method(receiver, name, arguments),
            ResolvedCallee::Loop => {
                let mut out = Output::new_capture(self.budget);
                self.call_loop(one_argument(arguments)?, call.span, &mut out)?;
                self.captured_value(out, self.autoescape)
            }
            ResolvedCallee::LoopCycle => self.loop_cycle(self.loop_index(), arguments.positional),
            ResolvedCallee::LoopChanged => {
                let values = self.heap.tuple_of(arguments.positional.iter().cloned())?;
                Ok(Value::Bool(self.loop_changed(None, &values)?))
            }
        }
    }

    fn call_method(
        &self,
        receiver: &Value<'a>,
        name: &str,
        arguments: &Arguments<'_, 'a>,
    ) -> Result<Value<'a>> {
        self.note_stored(receiver);
        methods::call_method(&self.cx(), receiver, name, arguments)?
            .ok_or_else(|| Error::runtime(format!("unknown method '{name}'")))
    }

    fn call_value(
        &mut self,
        callee: &Value<'a>,
        arguments: &Arguments<'_, 'a>,
        call: &'a Call,
    ) -> Result<Value<'a>> {
        self.budget.charge_steps(1)?;
        match callee {
            Value::Function(function) => {
                let host = Host {
                    heap: self.heap,
                    functions: self.inputs.functions,
                    calls: self.inputs.calls,
                    site: self.site(call.span),
                    literal: call.args.literal,
                };
                function.call(&host, arguments)
            }
            Value::Engine(handle) if let Some(global) = global_of(*handle) => {
                self.call_global(global, arguments)
            }
            Value::Undefined(undefined) => Err(self.cx().undefined_error(*undefined)),
            Value::Pending(_) => Err(Error::suspended()),
            _ => Err(not_callable(type_name(&self.cx(), callee))),
        }
    }

    /// Whether a run-time object has a method that [`Vm::method_action`] supports.
    fn has_method(&self, receiver: &Value<'a>, name: &str) -> bool {
        let Value::Engine(handle) = receiver else { return false };
        let has = self.objects.with_object(*handle, |object| match object {
            Object::Cycler { .. } => matches!(name, "next" | "reset"),
            Object::Loop(_) => matches!(name, "cycle" | "changed"),
            Object::Template { blocks, .. } => blocks.borrow().contains(name),
            Object::Block { .. } => name == "super",
            _ => false,
        });
        has.unwrap_or(false)
    }

    /// The action of calling a run-time object, and its handle; `None` for other values.
    ///
    /// A cycler or joiner advances here, so this must be called once for each call.
    fn action(&self, callee: &ResolvedCallee<'a>) -> Option<(Action<'a>, EngineRef)> {
        match callee {
            ResolvedCallee::Value(Value::Engine(handle)) if global_of(*handle).is_none() => {
                Some((self.object_action(*handle), *handle))
            }
            ResolvedCallee::Method(Value::Engine(handle), name) => {
                Some((self.method_action(*handle, name).unwrap_or(Action::NotCallable), *handle))
            }
            _ => None,
        }
    }

    fn object_action(&self, handle: EngineRef) -> Action<'a> {
        let mut own = None;
        let action = self.objects.with_object(handle, |object| match object {
            Object::Macro(object) => Action::Macro(*object),
            Object::Block { context, name, depth } => {
                Action::Block { context: *context, name, depth: *depth }
            }
            Object::Loop(object) => Action::Loop { code: object.code, base: object.base },
            Object::Method { receiver, name } => Action::Method { receiver: receiver.clone(), name },
            Object::Joiner { separator, used } => {
                let first = !std::mem::replace(used, true);
                Action::Value(if first { Value::Lit(&EMPTY) } else { separator.clone() })
            }
            Object::OwnMethod { receiver, name } => {
                own = Some((*receiver, *name));
                Action::NotCallable
            }
            _ => Action::NotCallable,
        });
        match own {
            Some((receiver, name)) => self.method_action(receiver, name).unwrap_or(Action::NotCallable),
            None => action.unwrap_or(Action::NotCallable),
        }
    }

    /// The action of calling a method of a run-time object.
    ///
    /// Creating the method as a value would work too, but that value would exist until the end of the run.
    fn method_action(&self, handle: EngineRef, name: &str) -> Option<Action<'a>> {
        self.objects.with_object(handle, |object| match (object, name) {
            (Object::Cycler { items, position }, "next") => {
                let value = items[*position].clone();
                *position = (*position + 1) % items.len();
                Some(Action::Value(value))
            }
            (Object::Cycler { position, .. }, "reset") => {
                *position = 0;
                Some(Action::Value(Value::None))
            }
            (Object::Loop(object), "cycle") => Some(Action::LoopCycle(object.state.running())),
            (Object::Loop(object), "changed") => Some(Action::LoopChanged(object.state.running())),
            (Object::Template { context, blocks }, name) => {
                let blocks = blocks.borrow();
                let name = blocks.get(name)?;
                Some(Action::Block { context: *context, name, depth: 0 })
            }
            (Object::Block { context, name: block, depth }, "super") => {
                Some(Action::Block { context: *context, name: block, depth: *depth + 1 })
            }
            _ => None,
        })?
    }

    /// Performs the action of a run-time object.
    fn perform(
        &mut self,
        action: Action<'a>,
        handle: EngineRef,
        arguments: &Arguments<'_, 'a>,
        span: Span,
    ) -> Result<Value<'a>> {
        match action {
            Action::Macro(object) => {
                let mut out = Output::new_capture(self.budget);
                self.run_macro(object, arguments, span, &mut out)?;
                self.captured_value(out, self.autoescape)
            }
            Action::Block { context, name, depth } => {
                let mut out = Output::new_capture(self.budget);
                self.run_block(context, name, depth, span, &mut out)?;
                self.captured_value(out, self.autoescape)
            }
            Action::Loop { code, base } => self.call_loop_object(code, base, one_argument(arguments)?, span),
            Action::Method { receiver, name } => self.call_method(&receiver, name, arguments),
            Action::Value(value) => Ok(value),
            Action::LoopCycle(place) => {
                let index = self
                    .objects
                    .loops
                    .borrow()
                    .get(place.unwrap_or(usize::MAX))
                    .map_or(0, |state| state.index);
                self.loop_cycle(index, arguments.positional)
            }
            Action::LoopChanged(place) => {
                let values = self.heap.tuple_of(arguments.positional.iter().cloned())?;
                Ok(Value::Bool(self.loop_changed(place, &values)?))
            }
            Action::NotCallable => Err(not_callable(self.objects.type_name(handle))),
        }
    }

    fn call_global(&mut self, global: Global, arguments: &Arguments<'_, 'a>) -> Result<Value<'a>> {
        let cx = self.cx();
        match global {
            Global::Range => globals::range(&cx, arguments),
            Global::Dict => globals::dict(&cx, arguments),
            Global::Lipsum => globals::lipsum(&cx, arguments),
            Global::RaiseException => globals::raise_exception(&cx, arguments),
            Global::StrftimeNow => globals::strftime_now(&cx, arguments),
            Global::Namespace => match globals::dict(&cx, arguments)? {
                Value::Map(map) => Ok(Value::Namespace(map)),
                value => Ok(value),
            },
            Global::Cycler => {
                if arguments.positional.is_empty() {
                    return Err(Error::runtime("`cycler` needs at least one item"));
                }
                let items = arguments.positional.to_vec();
                self.objects.charge(items.capacity() * size_of::<Value<'_>>())?;
                self.objects.add(Object::Cycler { items, position: 0 })
            }
            Global::Joiner => {
                let separator = arguments.get(0, "sep").cloned().unwrap_or(Value::Lit(&COMMA));
                self.objects.add(Object::Joiner { separator, used: false })
            }
        }
    }
}

/// Strings that values of every template can borrow.
static EMPTY: String = String::new();
static COMMA: LazyLock<String> = LazyLock::new(|| ", ".to_owned());

fn one_argument<'r, 'a>(arguments: &Arguments<'r, 'a>) -> Result<&'r Value<'a>> {
    match arguments.positional {
        [iterable] => Ok(iterable),
        other => Err(Error::runtime(format!("a loop is called with one iterable, not with {}", other.len()))),
    }
}
