//! Calls host functions by name, and function values with `call`.

use std::sync::Arc;

use hinagata_value::{Arguments, Error, Function, Host, Provenance, Result, Type, Value};

use super::{
    Exec, Val,
    args::{Parameters, can_be_nil, is_assignable},
};
use crate::{
    error::Part,
    tree::{At, Builtin, ExprKind, FunctionRef, Span, excerpt_at},
    value::{
        exotic::Nil,
        view::{View, type_name},
    },
};

impl<'a, P: Provenance> Exec<'_, 'a, P> {
    /// Calls the function that the operand `first` names. Its errors are reported at `blamed`.
    pub(super) fn call_function(
        &mut self,
        function: FunctionRef,
        first: u32,
        blamed: At,
        args: Span,
        last: Option<Val<'a>>,
        dot: &Val<'a>,
    ) -> Result<Val<'a>> {
        self.at = At::expr(first);
        match function {
            FunctionRef::Builtin(builtin @ (Builtin::And | Builtin::Or | Builtin::Not)) => {
                self.call_builtin(builtin, first, blamed, args, last, dot)
            }
            // The function needs the values of its arguments, even inside a condition.
            FunctionRef::Builtin(builtin) => {
                self.in_condition(false, |exec| exec.call_builtin(builtin, first, blamed, args, last, dot))
            }
            FunctionRef::Host(number) => {
                self.in_condition(false, |exec| exec.call_host(number, blamed, args, last, dot))
            }
        }
    }

    fn call_host(
        &mut self,
        number: u32,
        blamed: At,
        args: Span,
        last: Option<Val<'a>>,
        dot: &Val<'a>,
    ) -> Result<Val<'a>> {
        let host_name = &self.tree.functions[number as usize];
        let name = &*host_name.name;
        let Some(function) = self.host_function(host_name.index, name) else {
            return Err(self.fail("%q is not a defined function", &[Part::Text(name)]));
        };
        let parameters = Parameters::from_signature(function.signature());
        self.check_count(name, parameters, args.len(), last.is_some())?;
        let literal = last.is_none() && self.are_literals(args);
        let base = self.stack.len();
        self.push_args(parameters, args, last, dot)?;
        let result = self.invoke(function, blamed, base, literal);
        self.stack.truncate(base);
        result.map_err(|error| self.fail_calling(blamed, name, error))
    }

    /// Whether all operands are literals.
    fn are_literals(&self, args: Span) -> bool {
        self.tree.exprs[args.range()].iter().all(|expr| {
            matches!(expr.kind, ExprKind::Nil | ExprKind::Bool(_) | ExprKind::Number(_) | ExprKind::Str(_))
        })
    }

    /// The function with this number in the set. It is looked up once per run.
    fn host_function(&mut self, index: u32, name: &str) -> Option<&'a Arc<dyn Function>> {
        let functions = &mut self.rare.get_or_insert_default().functions;
        if functions.is_empty() {
            functions.resize(self.set.host_name_count(), None);
        }
        let slot = &mut functions[index as usize];
        if slot.is_none() {
            *slot = self.context.functions.get(name);
        }
        *slot
    }

    /// Calls `function` with the arguments on the stack from `base` on; `literal` as in [`Host`].
    fn invoke(
        &mut self,
        function: &'a Arc<dyn Function>,
        at: At,
        base: usize,
        literal: bool,
    ) -> Result<Val<'a>> {
        self.budget.check_stack()?;
        let host = Host {
            heap: self.heap,
            functions: self.context.functions,
            calls: self.context.calls,
            site: self.site(at),
            literal,
        };
        let value = function.call(&host, &Arguments::from_positional(&self.stack[base..]))?;
        self.note_value(&value);
        self.changed = self.heap.has_changes();
        let result = function.signature().map_or(Type::Any, |signature| signature.result);
        Ok(match (result, value) {
            (Type::Any, value) => Val::boxed(value),
            (Type::Map, value) if value.is_none() => Val::plain(Nil::Map.to_value(self.heap)?),
            (Type::List, value) if value.is_none() => Val::plain(Nil::List.to_value(self.heap)?),
            (_, value) => Val::plain(value),
        })
    }

    /// `call`: calls a function value with arguments.
    pub(super) fn call_value(
        &mut self,
        first: u32,
        blamed: At,
        args: Span,
        last: Option<Val<'a>>,
        dot: &Val<'a>,
    ) -> Result<Val<'a>> {
        let base = self.stack.len();
        self.push_builtin_args(Builtin::Call, first, args, last, dot)?;
        let result = self.call_on_stack(args.ids().next(), blamed, base);
        self.stack.truncate(base);
        result.map_err(|error| self.fail_calling(blamed, "call", error))
    }

    /// The name of the called function in errors: the operand, or the value from the pipe.
    #[cold]
    fn callee_name(&self, callee: Option<u32>, base: usize) -> Result<String> {
        match callee {
            Some(callee) => Ok(excerpt_at(self.tree, At::expr(callee))),
            None => self.reflect_text(&self.stack[base]),
        }
    }

    /// The text that Go's `reflect.Value.String` returns.
    fn reflect_text(&self, value: &Value<'a>) -> Result<String> {
        let view = self.view(value)?;
        Ok(match (view, view.bytes()) {
            (_, Some(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            (View::Invalid | View::Nil, _) => "<invalid Value>".to_owned(),
            _ => format!("<{} Value>", view.type_name()),
        })
    }

    fn call_on_stack(&mut self, callee: Option<u32>, at: At, base: usize) -> Result<Val<'a>> {
        let function = match self.view(&self.stack[base])? {
            View::Invalid | View::Nil => return Err(Error::runtime("call of nil")),
            View::Func(function) => function,
            view => {
                let name = self.callee_name(callee, base)?;
                return Err(Error::runtime(format!("non-function {name} of type {}", view.type_name())));
            }
        };
        let parameters = Parameters::from_signature(function.signature());
        let (given, wanted) = (self.stack.len() - base - 1, parameters.fixed.len());
        if parameters.rest.is_some() && given < wanted {
            let name = self.callee_name(callee, base)?;
            let text = format!("wrong number of args for {name}: got {given} want at least {wanted}");
            return Err(Error::runtime(text));
        }
        if parameters.rest.is_none() && given != wanted {
            let name = self.callee_name(callee, base)?;
            return Err(Error::runtime(format!(
                "wrong number of args for {name}: got {given} want {wanted}"
            )));
        }
        for at in 0..given {
            let slot = base + 1 + at;
            let value =
                self.convert_argument(self.stack[slot].clone(), parameters.type_at(at)).map_err(|error| {
                    let text = format!("arg {at}: {}", error.message());
                    if error.kind() == hinagata_value::ErrorKind::Runtime {
                        Error::runtime(text)
                    } else {
                        error
                    }
                })?;
            self.stack[slot] = value;
        }
        self.invoke(function, at, base + 1, false)
    }

    /// Converts an argument of a function value to the type of its parameter: nil and integers.
    fn convert_argument(&self, value: Value<'a>, type_: Type) -> Result<Value<'a>> {
        let view = self.view(&value)?;
        if matches!(view, View::Invalid | View::Nil) {
            return match type_ {
                Type::List => Nil::List.to_value(self.heap),
                Type::Map => Nil::Map.to_value(self.heap),
                _ if can_be_nil(type_) => Ok(Value::None),
                _ => Err(Error::runtime(format!("value is nil; should be of type {}", type_name(type_)))),
            };
        }
        if is_assignable(view, type_) {
            return Ok(value);
        }
        match (view, type_) {
            (View::Uint8(byte), Type::Int) => Ok(Value::Int(i64::from(byte))),
            _ => {
                let text = format!("value has type {}; should be {}", view.type_name(), type_name(type_));
                Err(Error::runtime(text))
            }
        }
    }
}
