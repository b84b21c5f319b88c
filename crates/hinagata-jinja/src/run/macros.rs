//! Macros and the bodies of call blocks: binds arguments and runs the body in its own frame.

use std::sync::LazyLock;

use hinagata_value::{
    Arguments, Error, InputsId, Output, Owner, Provenance, Result, SlotInputs, StepKind, Undefined, Value,
};

use super::{Vm, objects::Macro};
use crate::{ast::Span, code::Param};

/// The name under which a macro sees the body of a call block.
static CALLER: LazyLock<String> = LazyLock::new(|| "caller".to_owned());

impl<'a, P: Provenance> Vm<'_, 'a, P> {
    /// Binds the arguments of a macro and runs its body.
    pub(super) fn run_macro(
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
        let _level = budget.enter_call()?;
        // What the arguments are made of, before the body reads more.
        let inputs = self.argument_inputs();
        self.enter_named(StepKind::Call, span, &object.code.name, out);
        let before = self.enter(object.code.function.slots)?;
        self.set_slot(0, Value::Int(object.base as i64));
        let template = std::mem::replace(&mut self.template, object.template);
        let context = std::mem::replace(&mut self.context, object.context);
        let autoescape = std::mem::replace(&mut self.autoescape, object.autoescape);
        let bound = self.bind(object, arguments);
        if P::ON {
            self.bind_inputs(object, inputs);
        }
        let result = match bound {
            Ok(()) => self
                .bind_defaults(&object.code.params)
                .and_then(|()| self.exec(&object.code.function.body, out).map_err(|error| (error, true))),
            Err(error) => Err((error, false)),
        };
        self.template = template;
        self.context = context;
        self.autoescape = autoescape;
        self.leave_step(out);
        self.leave(before);
        match result {
            Ok(_) => Ok(()),
            // An error inside the macro has its place there; the call is a step in its chain.
            Err((error, true)) => Err(self.with_chain_step(error, span)),
            Err((error, false)) => Err(error),
        }
    }

    /// Stores what the arguments are made of for the parameters.
    fn bind_inputs(&mut self, object: Macro<'a>, inputs: InputsId) {
        self.slot_inputs.set_assigned(inputs);
        let code = object.code;
        let slots = code.params.iter().map(|param| param.slot).chain(code.varargs).chain(code.kwargs);
        for slot in slots {
            self.assign_slot(slot);
        }
    }

    /// Writes the arguments to the slots of the parameters.
    fn bind(&mut self, object: Macro<'a>, arguments: &Arguments<'_, 'a>) -> Result<()> {
        let code = object.code;
        let params = &code.params;
        let passed_count = arguments.positional.len().min(params.len());
        // Pays for the second pass over the parameters, which sets defaults.
        self.budget.charge_steps(params.len() as u64 >> 1)?;
        for (param, value) in params.iter().zip(arguments.positional) {
            self.set_slot(param.slot, value.clone());
        }
        // A parameter with a positional argument cannot be set by keyword.
        let by_name = |name: &str| {
            code.places.get(name).filter(|place| **place >= passed_count).map(|place| &params[*place])
        };
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
            let none = || Value::Undefined(Undefined { owner: Owner::Variables, name: Some(&CALLER) });
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
        let surplus = &arguments.positional[passed_count..];
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

    /// Evaluates the defaults of missing arguments in the frame of the macro.
    fn bind_defaults(&mut self, params: &'a [Param]) -> Result<(), (Error, bool)> {
        for param in params {
            if super::is_unset(&self.slots[self.base + param.slot as usize]) {
                let value = match &param.default {
                    Some(default) => self
                        .assign_reads(|vm| vm.eval(default))
                        .map_err(|error| (self.set_final_place(error, param.span), true))?,
                    None => Value::Undefined(Undefined { owner: Owner::Variables, name: Some(&param.name) }),
                };
                self.set_slot(param.slot, value);
                self.assign_slot(param.slot);
            }
        }
        Ok(())
    }
}
