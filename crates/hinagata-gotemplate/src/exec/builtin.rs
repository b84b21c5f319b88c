//! The builtin functions.

use hinagata_value::{Error, Provenance, Result, Value};

use super::{
    Exec, Val,
    args::Parameters,
    compare::{self, Order},
    print::Formatter,
};
use crate::{
    tree::{At, Builtin, Span},
    value::view::View,
};

impl<'a, P: Provenance> Exec<'_, 'a, P> {
    pub(super) fn call_builtin(
        &mut self,
        builtin: Builtin,
        first: u32,
        blamed: At,
        args: Span,
        last: Option<Val<'a>>,
        dot: &Val<'a>,
    ) -> Result<Val<'a>> {
        self.check_count(builtin.name(), Parameters::for_builtin(builtin), args.len(), last.is_some())?;
        let result = match builtin {
            Builtin::And => return self.and_or(false, first, args, last, dot),
            Builtin::Or => return self.and_or(true, first, args, last, dot),
            Builtin::Call => return self.call_value(first, blamed, args, last, dot),
            Builtin::Not => {
                let value = self.in_condition(true, |exec| exec.only_argument(args, last, dot))?;
                return Ok(Val::plain(Value::Bool(!self.truth(&value.value)?)));
            }
            Builtin::Len => {
                let value = self.only_argument(args, last, dot)?;
                self.len(&value.value).map(|len| Val::plain(Value::Int(len)))
            }
            Builtin::Eq if args.len() + usize::from(last.is_some()) != 2 => self.eq_any(args, last, dot)?,
            Builtin::Eq => self.compare(args, last, dot, compare::are_equal)?,
            Builtin::Ne => {
                self.compare(args, last, dot, |exec, a, b| Ok(!compare::are_equal(exec, a, b)?))?
            }
            Builtin::Lt => {
                self.compare(args, last, dot, |exec, a, b| compare::is_ordered(exec, a, b, Order::Less))?
            }
            Builtin::Le => self
                .compare(args, last, dot, |exec, a, b| compare::is_ordered(exec, a, b, Order::LessOrEqual))?,
            Builtin::Gt => self.compare(args, last, dot, |exec, a, b| {
                Ok(!compare::is_ordered(exec, a, b, Order::LessOrEqual)?)
            })?,
            Builtin::Ge => self
                .compare(args, last, dot, |exec, a, b| Ok(!compare::is_ordered(exec, a, b, Order::Less)?))?,
            Builtin::Index => self.call_index(args, last, dot)?,
            Builtin::Slice => self.call_slice(args, last, dot)?,
            Builtin::Html
            | Builtin::Js
            | Builtin::Print
            | Builtin::Printf
            | Builtin::Println
            | Builtin::Urlquery => {
                let formatter = Formatter::from_builtin(builtin).unwrap_or(Formatter::Print);
                let base = self.stack.len();
                self.push_args(Parameters::for_builtin(builtin), args, last, dot)?;
                let value = self.format_values(formatter, base)?;
                self.stack.truncate(base);
                return Ok(Val::plain(value));
            }
        };
        match result {
            Ok(value) => Ok(value),
            Err(error) => Err(self.fail_calling(blamed, builtin.name(), error)),
        }
    }

    /// The single argument of a function.
    fn only_argument(&mut self, args: Span, last: Option<Val<'a>>, dot: &Val<'a>) -> Result<Val<'a>> {
        match last {
            Some(last) => Ok(last),
            None => self.eval_operand(args.start, dot),
        }
    }

    /// Compares two arguments. The outer result is that of evaluating them, the inner one that of
    /// comparing.
    #[inline]
    fn compare(
        &mut self,
        args: Span,
        last: Option<Val<'a>>,
        dot: &Val<'a>,
        compare: impl FnOnce(&Self, &Value<'a>, &Value<'a>) -> Result<bool>,
    ) -> Result<Result<Val<'a>>> {
        let a = match &last {
            Some(last) if args.len() == 0 => last.clone(),
            _ => self.eval_operand(args.start, dot)?,
        };
        let b = match last {
            Some(last) => last,
            None => self.eval_operand(args.start + 1, dot)?,
        };
        Ok(compare(self, &a.value, &b.value).map(|truth| Val::plain(Value::Bool(truth))))
    }

    /// `eq`: compares one value with any number of others.
    fn eq_any(&mut self, args: Span, last: Option<Val<'a>>, dot: &Val<'a>) -> Result<Result<Val<'a>>> {
        let base = self.stack.len();
        for arg in args.ids() {
            let value = self.eval_operand(arg, dot)?;
            self.stack.push(value.value);
        }
        self.stack.extend(last.map(|last| last.value));
        let truth = match &self.stack[base..] {
            [subject, others @ ..] if !others.is_empty() => others
                .iter()
                .find_map(|other| {
                    compare::are_equal(self, subject, other).map(|same| same.then_some(true)).transpose()
                })
                .unwrap_or(Ok(false)),
            _ => Err(Error::runtime("missing argument for comparison")),
        };
        self.stack.truncate(base);
        Ok(truth.map(|truth| Val::plain(Value::Bool(truth))))
    }

    /// `and` and `or`: returns the first argument that decides. The arguments after it are not evaluated.
    fn and_or(
        &mut self,
        decides: bool,
        first: u32,
        args: Span,
        last: Option<Val<'a>>,
        dot: &Val<'a>,
    ) -> Result<Val<'a>> {
        if !self.tree.conditional.is_empty() {
            self.undeclare(first)?;
        }
        let mut value = Val::INVALID;
        for arg in args.ids() {
            // The last argument is the result in any case, so it may still be pending.
            let is_last = arg + 1 == args.end && last.is_none();
            let only_truth = self.only_truth || !is_last;
            value = self.in_condition(only_truth, |exec| exec.eval_operand(arg, dot))?;
            if is_last || self.truth(&value.value)? == decides {
                return Ok(value);
            }
        }
        Ok(last.unwrap_or(value))
    }

    fn len(&self, value: &Value<'a>) -> Result<i64> {
        let view = self.view(value)?;
        let len = match view {
            View::Invalid => {
                return Err(Error::runtime("reflect: call of reflect.Value.Type on zero Value"));
            }
            View::Nil => return Err(Error::runtime("len of nil pointer")),
            View::List(value) | View::Map(value) => self.heap.len(value).unwrap_or(0),
            View::TypedNil(_) => 0,
            _ => match view.bytes() {
                Some(bytes) => bytes.len(),
                None => return Err(Error::runtime(format!("len of type {}", view.type_name()))),
            },
        };
        Ok(len as i64)
    }
}
