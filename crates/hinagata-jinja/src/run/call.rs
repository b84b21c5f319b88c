//! Calls: macros, functions, methods, and the arguments they get.

use hinagata_value::{Arguments, EngineRef, Error, Host, Off, Output, Provenance, Result, Site, Value};

use super::{
    Vm,
    objects::{Global, Macro, Object, global_of, not_callable},
};
use crate::{
    ast::Span,
    code::{Args, Call, Callee, Param},
    context::Objects,
    library::{globals, methods, ops, types::type_name},
};

/// What calling an object of the engine comes down to.
enum Action<'a> {
    Macro(Macro<'a>),
    Block { context: usize, name: &'a str, depth: usize },
    Loop { code: &'a crate::code::For, base: usize },
    Method { receiver: Value<'a>, name: &'static str },
    Joiner(Value<'a>),
    Cycler(Value<'a>),
    LoopCycle(Option<usize>),
    LoopChanged(Option<usize>),
    NotCallable,
}

impl<'a> Vm<'_, 'a> {
    /// Evaluates arguments and hands them to `call`.
    #[inline]
    pub(super) fn with_args<R>(
        &mut self,
        args: &'a Args,
        call: impl FnOnce(&mut Self, &Arguments<'_, 'a>) -> Result<R>,
    ) -> Result<R> {
        let simple = args.named.is_empty() && args.args.is_none() && args.kwargs.is_none();
        match (&args.positional[..], simple) {
            ([], true) => call(self, &Arguments::positional(&[])),
            ([one], true) => {
                let one = [self.eval(one)?];
                call(self, &Arguments::positional(&one))
            }
            ([one, two], true) => {
                let two = [self.eval(one)?, self.eval(two)?];
                call(self, &Arguments::positional(&two))
            }
            _ => self.with_many_args(args, call),
        }
    }

    #[inline(never)]
    fn with_many_args<R>(
        &mut self,
        args: &'a Args,
        call: impl FnOnce(&mut Self, &Arguments<'_, 'a>) -> Result<R>,
    ) -> Result<R> {
        let mut positional = Vec::with_capacity(args.positional.len());
        for arg in &args.positional {
            positional.push(self.eval(arg)?);
        }
        let mut named = Vec::with_capacity(args.named.len());
        for (name, value) in &args.named {
            named.push((name.as_str(), self.eval(value)?));
        }
        if let Some(rest) = &args.args {
            let rest = self.eval(rest)?;
            for item in ops::iterate(&self.cx(), &rest)? {
                self.budget.step(1)?;
                positional.push(item);
            }
        }
        let mut rest_names = Vec::new();
        if let Some(rest) = &args.kwargs {
            let rest = self.eval(rest)?;
            let entries = self.heap.entries(&rest);
            for (key, value) in
                entries.ok_or_else(|| Error::runtime("the argument after ** must be a mapping"))?
            {
                self.budget.step(1)?;
                if key.as_str().is_none() {
                    return Err(Error::runtime("keywords must be strings"));
                }
                rest_names.push((key, value));
            }
        }
        for (key, value) in &rest_names {
            let name = key.as_str().unwrap_or_default();
            if named.iter().any(|(given, _)| *given == name) {
                return Err(Error::runtime(format!("got multiple values for keyword argument '{name}'")));
            }
            named.push((name, value.clone()));
        }
        call(self, &Arguments { positional: &positional, named: &named })
    }

    pub(super) fn call(&mut self, call: &'a Call) -> Result<Value<'a>> {
        self.budget.enter()?;
        self.call_inner(call, None).map_err(|error| self.locate(error, call.span))
    }

    /// A call that passes the body of a call block as `caller`.
    pub(super) fn call_with_caller(&mut self, call: &'a Call, caller: Value<'a>) -> Result<Value<'a>> {
        self.call_inner(call, Some(caller)).map_err(|error| self.locate(error, call.span))
    }

    fn call_inner(&mut self, call: &'a Call, caller: Option<Value<'a>>) -> Result<Value<'a>> {
        let span = call.span;
        let callee = match &call.callee {
            Callee::Value(callee) => self.eval(callee)?,
            Callee::Method(receiver, step) => {
                let receiver = self.eval(receiver)?;
                let name = step.key.name();
                if methods::find(&receiver, name).is_some() {
                    return self.with_args(&call.args, |vm, arguments| {
                        let result = methods::call(&vm.cx(), &receiver, name, arguments)?;
                        result.ok_or_else(|| Error::runtime(format!("there is no method '{name}'")))
                    });
                }
                if let (Some(action), Value::Engine(handle)) =
                    (self.method_action(&receiver, name), &receiver)
                {
                    return self
                        .with_args(&call.args, |vm, arguments| vm.perform(action, *handle, arguments, span));
                }
                self.attribute(&receiver, step)?
            }
            Callee::Loop => {
                return self.with_args(&call.args, |vm, arguments| {
                    let items = one_argument(arguments)?;
                    let mut out = Output::<Off>::capture(vm.budget);
                    vm.call_loop(items, span, &mut out)?;
                    out.into_value(vm.autoescape)
                });
            }
            Callee::LoopCycle => {
                return self.with_args(&call.args, |vm, arguments| {
                    vm.loop_cycle(vm.loop_index(), arguments.positional)
                });
            }
            Callee::LoopChanged => {
                return self.with_args(&call.args, |vm, arguments| {
                    let values = vm.heap.tuple_of(arguments.positional.iter().cloned())?;
                    Ok(Value::Bool(vm.loop_changed(None, values)?))
                });
            }
        };
        self.with_args(&call.args, |vm, arguments| match caller {
            None => vm.call_value(&callee, arguments, call),
            Some(caller) => {
                let mut named = arguments.named.to_vec();
                named.push(("caller", caller));
                vm.call_value(&callee, &Arguments { positional: arguments.positional, named: &named }, call)
            }
        })
    }

    /// `{{ callee(…) }}`: what a macro or block prints goes straight to the output.
    pub(super) fn print_call<P: Provenance>(
        &mut self,
        call: &'a Call,
        site: Site,
        out: &mut Output<'a, P>,
    ) -> Result<()> {
        self.budget.step(1)?;
        self.budget.enter()?;
        let span = call.span;
        let callee = match &call.callee {
            Callee::Value(callee) => self.eval(callee)?,
            Callee::Method(receiver, step) => {
                let receiver = self.eval(receiver)?;
                if !matches!(receiver, Value::Engine(_)) {
                    let value = self.call_method(&receiver, call)?;
                    return self.print_value(&value, site, out);
                }
                match self.method_action(&receiver, step.key.name()) {
                    Some(Action::Block { context, name, depth }) => {
                        return self
                            .run_block(context, name, depth, span, out)
                            .map_err(|error| self.locate(error, span));
                    }
                    Some(action) => {
                        let Value::Engine(handle) = receiver else { return Ok(()) };
                        let value = self.with_args(&call.args, |vm, arguments| {
                            vm.perform(action, handle, arguments, span)
                        });
                        let value = value.map_err(|error| self.locate(error, span))?;
                        return self.print_value(&value, site, out);
                    }
                    None => self.attribute(&receiver, step)?,
                }
            }
            Callee::Loop => {
                return self
                    .with_args(&call.args, |vm, arguments| vm.call_loop(one_argument(arguments)?, span, out))
                    .map_err(|error| self.locate(error, span));
            }
            Callee::LoopCycle | Callee::LoopChanged => self.call(call)?,
        };
        let result = self.with_args(&call.args, |vm, arguments| {
            let value = match &callee {
                Value::Engine(handle) if global_of(*handle).is_none() => match vm.action(*handle) {
                    Action::Macro(object) => return vm.run_macro(object, arguments, span, out),
                    Action::Block { context, name, depth } => {
                        return vm.run_block(context, name, depth, span, out);
                    }
                    action => vm.perform(action, *handle, arguments, span)?,
                },
                callee => vm.call_value(callee, arguments, call)?,
            };
            vm.print_value(&value, site, out)
        });
        result.map_err(|error| self.locate(error, span))
    }

    fn call_method(&mut self, receiver: &Value<'a>, call: &'a Call) -> Result<Value<'a>> {
        let Callee::Method(_, step) = &call.callee else {
            return Err(Error::runtime("a method was expected"));
        };
        let name = step.key.name();
        let result = if methods::find(receiver, name).is_some() {
            self.with_args(&call.args, |vm, arguments| {
                let result = methods::call(&vm.cx(), receiver, name, arguments)?;
                result.ok_or_else(|| Error::runtime(format!("there is no method '{name}'")))
            })
        } else {
            let callee = self.attribute(receiver, step)?;
            self.with_args(&call.args, |vm, arguments| vm.call_value(&callee, arguments, call))
        };
        result.map_err(|error| self.locate(error, call.span))
    }

    /// What calling a method of an object of the engine means, where it has one of that name.
    ///
    /// Calling through the method as a value works too, but that value would stay to the end.
    fn method_action(&mut self, receiver: &Value<'a>, name: &str) -> Option<Action<'a>> {
        let Value::Engine(handle) = receiver else { return None };
        self.objects.with(*handle, |object| match (object, name) {
            (Object::Cycler { items, position }, "next") => {
                let value = items[*position].clone();
                *position = (*position + 1) % items.len();
                Some(Action::Cycler(value))
            }
            (Object::Cycler { position, .. }, "reset") => {
                *position = 0;
                Some(Action::Cycler(Value::None))
            }
            (Object::Loop(object), "cycle") => Some(Action::LoopCycle(object.state.running())),
            (Object::Loop(object), "changed") => Some(Action::LoopChanged(object.state.running())),
            (Object::Template { context, blocks }, name) => {
                let name = blocks.iter().find(|block| **block == name)?;
                Some(Action::Block { context: *context, name, depth: 0 })
            }
            (Object::Block { context, name: block, depth }, "super") => {
                Some(Action::Block { context: *context, name: block, depth: *depth + 1 })
            }
            _ => None,
        })?
    }

    /// Finds out what calling an object of the engine means.
    ///
    /// A cycler or joiner moves on here, so this is asked once for each call.
    fn action(&mut self, handle: EngineRef) -> Action<'a> {
        let mut own = None;
        let action = self.objects.with(handle, |object| match object {
            Object::Macro(object) => Action::Macro(*object),
            Object::Block { context, name, depth } => {
                Action::Block { context: *context, name, depth: *depth }
            }
            Object::Loop(object) => Action::Loop { code: object.code, base: object.base },
            Object::Method { receiver, name } => Action::Method { receiver: receiver.clone(), name },
            Object::Joiner { separator, used } => {
                let first = !std::mem::replace(used, true);
                Action::Joiner(if first { Value::Lit(&EMPTY) } else { separator.clone() })
            }
            Object::OwnMethod { receiver, name } => {
                own = Some((*receiver, *name));
                Action::NotCallable
            }
            _ => Action::NotCallable,
        });
        match own {
            Some((receiver, name)) => {
                self.method_action(&Value::Engine(receiver), name).unwrap_or(Action::NotCallable)
            }
            None => action.unwrap_or(Action::NotCallable),
        }
    }

    /// Calls a value.
    pub(super) fn call_value(
        &mut self,
        callee: &Value<'a>,
        arguments: &Arguments<'_, 'a>,
        call: &'a Call,
    ) -> Result<Value<'a>> {
        self.budget.step(1)?;
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
            Value::Engine(handle) => {
                let action = self.action(*handle);
                self.perform(action, *handle, arguments, call.span)
            }
            Value::Undefined(undefined) => Err(self.cx().undefined_error(*undefined)),
            Value::Pending(_) => Err(Error::suspended()),
            _ => Err(not_callable(type_name(&self.cx(), callee))),
        }
    }

    /// Calls an object of the engine.
    fn perform(
        &mut self,
        action: Action<'a>,
        handle: EngineRef,
        arguments: &Arguments<'_, 'a>,
        span: Span,
    ) -> Result<Value<'a>> {
        match action {
            Action::Macro(object) => {
                let mut out = Output::<Off>::capture(self.budget);
                self.run_macro(object, arguments, span, &mut out)?;
                out.into_value(self.autoescape)
            }
            Action::Block { context, name, depth } => {
                let mut out = Output::<Off>::capture(self.budget);
                self.run_block(context, name, depth, span, &mut out)?;
                out.into_value(self.autoescape)
            }
            Action::Loop { code, base } => self.call_loop_object(code, base, one_argument(arguments)?, span),
            Action::Method { receiver, name } => methods::call(&self.cx(), &receiver, name, arguments)?
                .ok_or_else(|| Error::runtime(format!("there is no method '{name}'"))),
            Action::Joiner(value) | Action::Cycler(value) => Ok(value),
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
                Ok(Value::Bool(self.loop_changed(place, values)?))
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
                self.budget.charge(items.capacity() * size_of::<Value<'_>>())?;
                self.objects.add(Object::Cycler { items, position: 0 })
            }
            Global::Joiner => {
                let separator = arguments.get(0, "sep").cloned().unwrap_or(Value::Lit(&COMMA));
                self.objects.add(Object::Joiner { separator, used: false })
            }
        }
    }

    /// Binds the arguments of a macro and runs its body.
    pub(super) fn run_macro<P: Provenance>(
        &mut self,
        object: Macro<'a>,
        arguments: &Arguments<'_, 'a>,
        span: Span,
        out: &mut Output<'a, P>,
    ) -> Result<()> {
        if !object.alive {
            return Err(Error::runtime("`caller` was called after its call block ended"));
        }
        let budget = self.budget;
        let _level = budget.call()?;
        let before = self.enter(object.code.function.slots)?;
        self.set_slot(0, Value::Int(object.base as i64));
        let template = std::mem::replace(&mut self.template, object.template);
        let context = std::mem::replace(&mut self.context, object.context);
        let autoescape = std::mem::replace(&mut self.autoescape, object.autoescape);
        let result = match self.bind(object, arguments) {
            Ok(()) => self
                .bind_defaults(&object.code.params)
                .and_then(|()| self.exec(&object.code.function.body, out).map_err(|error| (error, true))),
            Err(error) => Err((error, false)),
        };
        self.template = template;
        self.context = context;
        self.autoescape = autoescape;
        self.leave(before);
        match result {
            Ok(_) => Ok(()),
            // What went wrong inside has its place there; the call is on the way to it.
            Err((error, true)) => Err(self.via(error, span)),
            Err((error, false)) => Err(error),
        }
    }

    /// Puts the arguments where the parameters are.
    fn bind(&mut self, object: Macro<'a>, arguments: &Arguments<'_, 'a>) -> Result<()> {
        let code = object.code;
        let params = &code.params;
        let given = arguments.positional.len().min(params.len());
        for (param, value) in params.iter().zip(arguments.positional) {
            self.set_slot(param.slot, value.clone());
        }
        // Names of parameters that were given by place are not parameters any more.
        let by_name = |name: &str| params[given..].iter().find(|param| param.name == name);
        let mut rest = Vec::new();
        let mut caller = None;
        for (name, value) in arguments.named {
            if let Some(param) = by_name(name) {
                self.set_slot(param.slot, value.clone());
            } else if *name == "caller" && code.caller.is_some() {
                caller = Some(value.clone());
            } else {
                rest.push((*name, value));
            }
        }
        if let Some(slot) = code.caller {
            let none = || {
                Value::Undefined(hinagata_value::Undefined {
                    owner: hinagata_value::Owner::Variables,
                    name: Some(&CALLER),
                })
            };
            self.set_slot(slot, caller.unwrap_or_else(none));
        }
        match code.kwargs {
            Some(slot) => {
                let mut map = self.heap.map()?;
                for (name, value) in rest {
                    map.insert(self.heap.string(name)?, value.clone())?;
                }
                self.set_slot(slot, map.finish());
            }
            None => match rest.first() {
                Some(("caller", _)) if !code.explicit_caller => {
                    return Err(Error::runtime(format!("macro '{}' does not use `caller`", code.name))
                        .with_hint("call it without a call block, or print `caller()` in it"));
                }
                Some((name, _)) => {
                    return Err(Error::runtime(format!("macro '{}' has no parameter '{name}'", code.name)));
                }
                None => {}
            },
        }
        let surplus = &arguments.positional[given..];
        match code.varargs {
            Some(slot) => {
                let varargs = self.heap.tuple_of(surplus.iter().cloned())?;
                self.set_slot(slot, varargs);
            }
            None if !surplus.is_empty() => {
                return Err(Error::runtime(format!(
                    "macro '{}' takes at most {} arguments, {} were given",
                    code.name,
                    params.len(),
                    arguments.positional.len()
                )));
            }
            None => {}
        }
        Ok(())
    }

    /// Evaluates the defaults of parameters that were not given, in the macro's own frame.
    fn bind_defaults(&mut self, params: &'a [Param]) -> Result<(), (Error, bool)> {
        for param in params {
            if super::is_unset(&self.slots[self.base + param.slot as usize]) {
                let value = match &param.default {
                    Some(default) => {
                        self.eval(default).map_err(|error| (self.settle(error, param.span), true))?
                    }
                    None => Value::Undefined(hinagata_value::Undefined {
                        owner: hinagata_value::Owner::Variables,
                        name: Some(&param.name),
                    }),
                };
                self.set_slot(param.slot, value);
            }
        }
        Ok(())
    }
}

/// Strings that values can borrow whatever the template.
static EMPTY: String = String::new();
static COMMA: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| ", ".to_owned());
static CALLER: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| "caller".to_owned());

fn one_argument<'r, 'a>(arguments: &Arguments<'r, 'a>) -> Result<&'r Value<'a>> {
    match arguments.positional {
        [one] => Ok(one),
        other => Err(Error::runtime(format!("a loop is called with one iterable, not with {}", other.len()))),
    }
}
