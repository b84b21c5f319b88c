//! Counts arguments and checks them against the parameters, as Go does.

use hinagata_value::{Provenance, Result, Signature, Type, Value};

use super::{Exec, Val};
use crate::{
    error::Part,
    tree::{At, Builtin, ExprKind, Span, excerpt_at},
    value::{
        exotic::Nil,
        view::{View, type_name},
    },
};

/// The parameters of a function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameters<'s> {
    pub(super) fixed: &'s [Type],
    pub(super) rest: Option<Type>,
}

impl<'s> Parameters<'s> {
    pub(super) fn from_signature(signature: Option<&'s Signature>) -> Self {
        match signature {
            Some(signature) => Self { fixed: &signature.parameters, rest: signature.rest },
            None => Self { fixed: &[], rest: Some(Type::Any) },
        }
    }

    pub(super) fn for_builtin(builtin: Builtin) -> Self {
        const ANY: Type = Type::Any;
        let (fixed, rest): (&[Type], _) = match builtin {
            Builtin::Not | Builtin::Len => (&[ANY], None),
            Builtin::Ge | Builtin::Gt | Builtin::Le | Builtin::Lt | Builtin::Ne => (&[ANY, ANY], None),
            Builtin::And | Builtin::Call | Builtin::Eq | Builtin::Index | Builtin::Or | Builtin::Slice => {
                (&[ANY], Some(ANY))
            }
            Builtin::Printf => (&[Type::String], Some(ANY)),
            Builtin::Html | Builtin::Js | Builtin::Print | Builtin::Println | Builtin::Urlquery => {
                (&[], Some(ANY))
            }
        };
        Self { fixed, rest }
    }

    pub(super) fn type_at(&self, index: usize) -> Type {
        self.fixed.get(index).copied().or(self.rest).unwrap_or_default()
    }
}

/// Whether nil is a value of the type.
pub(super) fn can_be_nil(type_: Type) -> bool {
    matches!(type_, Type::Any | Type::List | Type::Map)
}

/// Whether a value of the type of this view is assignable to a parameter.
pub(super) fn is_assignable(view: View<'_, '_>, type_: Type) -> bool {
    match type_ {
        Type::Any => true,
        Type::String => matches!(view, View::Str(_) | View::Bytes(_)),
        Type::Int => matches!(view, View::Int(_)),
        Type::Float => matches!(view, View::Float(_)),
        Type::Bool => matches!(view, View::Bool(_)),
        Type::List => matches!(view, View::List(_) | View::TypedNil(Nil::List)),
        Type::Map => matches!(view, View::Map(_) | View::Host(_) | View::TypedNil(Nil::Map)),
    }
}

impl<'a, P: Provenance> Exec<'_, 'a, P> {
    /// Fails for a wrong number of arguments. `piped` adds the value of the previous command.
    pub(super) fn check_count(
        &self,
        name: &str,
        parameters: Parameters<'_>,
        written: usize,
        piped: bool,
    ) -> Result<()> {
        let (given, wanted) = (written + usize::from(piped), parameters.fixed.len());
        if parameters.rest.is_some() && given < wanted {
            let parts = [Part::Text(name), Part::Int(wanted as i64), Part::Int(written as i64)];
            return Err(self.fail("wrong number of args for %s: want at least %d got %d", &parts));
        }
        if parameters.rest.is_none() && given != wanted {
            let parts = [Part::Text(name), Part::Int(wanted as i64), Part::Int(given as i64)];
            return Err(self.fail("wrong number of args for %s: want %d got %d", &parts));
        }
        Ok(())
    }

    /// Evaluates arguments, checks each against its parameter and pushes them onto the stack.
    pub(super) fn push_args(
        &mut self,
        parameters: Parameters<'_>,
        args: Span,
        last: Option<Val<'a>>,
        dot: &Val<'a>,
    ) -> Result<()> {
        for (at, arg) in args.ids().enumerate() {
            let value = self.eval_argument(arg, parameters.type_at(at), dot)?;
            self.stack.push(value);
        }
        if let Some(last) = last {
            let value = self.assign_value(last, parameters.type_at(args.len()))?;
            self.stack.push(value);
        }
        Ok(())
    }

    pub(super) fn push_builtin_args(
        &mut self,
        builtin: Builtin,
        first: u32,
        args: Span,
        last: Option<Val<'a>>,
        dot: &Val<'a>,
    ) -> Result<()> {
        self.at = At::expr(first);
        let parameters = Parameters::for_builtin(builtin);
        self.check_count(builtin.name(), parameters, args.len(), last.is_some())?;
        self.push_args(parameters, args, last, dot)
    }

    /// Evaluates an argument for a parameter of a type.
    fn eval_argument(&mut self, index: u32, type_: Type, dot: &Val<'a>) -> Result<Value<'a>> {
        let tree = self.tree;
        let kind = &tree.exprs[index as usize].kind;
        if type_ == Type::Any {
            return self.eval_operand(index, dot).and_then(|value| self.assign_value(value, type_));
        }
        self.at = At::expr(index);
        let wanted = match (kind, type_) {
            (
                ExprKind::Dot
                | ExprKind::Field(_)
                | ExprKind::Variable(..)
                | ExprKind::Pipe(_)
                | ExprKind::Function(_)
                | ExprKind::Chain(..),
                _,
            ) => return self.eval_operand(index, dot).and_then(|value| self.assign_value(value, type_)),
            (ExprKind::Nil, Type::List) => return Nil::List.to_value(self.heap),
            (ExprKind::Nil, Type::Map) => return Nil::Map.to_value(self.heap),
            (ExprKind::Nil, _) => {
                return Err(self.fail("cannot assign nil to %s", &[Part::Text(type_name(type_))]));
            }
            (ExprKind::Str(literal), Type::String) => return self.string_literal(literal),
            (ExprKind::Bool(value), Type::Bool) => return Ok(Value::Bool(*value)),
            (ExprKind::Number(literal), Type::Int) if let Some(int) = literal.number.int => {
                return Ok(Value::Int(int));
            }
            (ExprKind::Number(literal), Type::Float) if let Some(float) = literal.number.float => {
                return Ok(Value::Float(float));
            }
            (_, Type::String) => "string",
            (_, Type::Int) => "integer",
            (_, Type::Float) => "float",
            (_, Type::Bool) => "bool",
            (_, Type::Any | Type::List | Type::Map) => {
                let word = excerpt_at(tree, At::expr(index));
                let parts = [Part::Text(&word), Part::Text(type_name(type_))];
                return Err(self.fail("can't handle %s for arg of type %s", &parts));
            }
        };
        let word = excerpt_at(tree, At::expr(index));
        Err(self.fail("expected %s; found %s", &[Part::Text(wanted), Part::Text(&word)]))
    }

    /// Checks a value against the type of a parameter, as Go does. A pending result suspends the run.
    #[inline]
    fn assign_value(&self, value: Val<'a>, type_: Type) -> Result<Value<'a>> {
        if type_ == Type::Any {
            return match value.value {
                Value::Undefined(_) | Value::Engine(_) | Value::Pending(_) | Value::Pieces(_) => {
                    self.assign_rare(value, type_)
                }
                value => Ok(value),
            };
        }
        match View::from_value(&value.value, self.integers()) {
            Ok(view) if is_assignable(view, type_) => Ok(value.value),
            _ => self.assign_rare(value, type_),
        }
    }

    #[cold]
    #[inline(never)]
    fn assign_rare(&self, value: Val<'a>, type_: Type) -> Result<Value<'a>> {
        let settled = self.resolve_scope(value.value)?;
        let view = View::from_value(&settled, self.integers())?;
        match (view, type_) {
            (View::Invalid, Type::Any) => Ok(Value::None),
            (View::Invalid, Type::List) => Nil::List.to_value(self.heap),
            (View::Invalid, Type::Map) => Nil::Map.to_value(self.heap),
            (View::Invalid, _) => {
                Err(self.fail("invalid value; expected %s", &[Part::Text(type_name(type_))]))
            }
            _ if is_assignable(view, type_) => Ok(settled),
            _ => {
                let parts = [Part::Text(type_name(type_)), Part::Text(&view.type_name())];
                Err(self.fail("wrong type for value; expected %s; got %s", &parts))
            }
        }
    }
}
