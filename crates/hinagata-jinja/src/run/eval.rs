//! Evaluates expressions.

use hinagata_value::{Error, Owner, Provenance, Result, Undefined, Value};
use serde_json::Value as Json;

use super::{Quick, Vm};
use crate::{
    ast::{BinaryOp, CompareOp, Span},
    code::{Conditional, Expr, FilterCall, Path, SliceExpr, TestCall},
    library::{filters, ops, ops::Order, tests},
};

impl<'a, P: Provenance> Vm<'_, 'a, P> {
    pub(super) fn eval(&mut self, expr: &'a Expr) -> Result<Value<'a>> {
        self.budget.charge_steps(1)?;
        match expr {
            Expr::Var(var) => Ok(self.var(var)),
            Expr::Context(key) => {
                self.budget.charge_steps(key.steps())?;
                Ok(self.lookup(key))
            }
            Expr::Path(path) => self.path(path, false),
            Expr::Str(text) => Ok(Value::Lit(text)),
            Expr::Int(int) => Ok(Value::Int(*int)),
            Expr::Loop(field) => Ok(self.loop_field(*field)),
            Expr::Filter(filter) => {
                let value = self.eval(&filter.0)?;
                match (filter.1.quick, self.quick_length(&value)) {
                    (Some(Quick::Length), Some(length)) => Ok(length),
                    _ => self.apply_filter(value, &filter.1),
                }
            }
            Expr::Call(call) => self.call(call),
            Expr::Bool(value) => Ok(Value::Bool(*value)),
            Expr::None => Ok(Value::None),
            Expr::Test(_) | Expr::Not(_) | Expr::Compare(_) => Ok(Value::Bool(self.test(expr)?)),
            Expr::Item(node, span) => {
                let mark = self.mark();
                let value = self.eval(&node.0)?;
                let end = self.mark();
                let key = self.eval(&node.1)?;
                let item = self.item(&value, &key, *span)?;
                if P::ON
                    && let Some(name) = key.as_str()
                {
                    self.note_export(&value, name);
                }
                self.narrow_read(mark, end, &item);
                Ok(item)
            }
            Expr::Binary(node) => self.binary(&node.0, &node.1),
            Expr::Conditional(node) => self.conditional(node),
            Expr::Subject => Ok(std::mem::take(&mut self.subject)),
            _ => self.eval_rare(expr),
        }
    }

    #[inline(never)]
    fn eval_rare(&mut self, expr: &'a Expr) -> Result<Value<'a>> {
        self.budget.check_stack()?;
        match expr {
            Expr::Float(float) => Ok(Value::Float(*float)),
            Expr::Big(int) => self.heap.int(*int),
            Expr::List(items) => {
                let mut list = self.heap.list()?;
                for item in items {
                    list.push(self.eval(item)?)?;
                }
                Ok(list.finish())
            }
            Expr::Tuple(items) => {
                let mut list = self.heap.list()?;
                for item in items {
                    list.push(self.eval(item)?)?;
                }
                Ok(list.finish_tuple())
            }
            Expr::Dict(entries, span) => {
                let mut map = self.heap.map()?;
                for (key, value) in entries {
                    let key = self.eval(key)?;
                    let value = self.eval(value)?;
                    self.cx().check_use(&key).map_err(|error| self.locate(error, *span))?;
                    map.insert(key, value).map_err(|error| self.locate(error, *span))?;
                }
                Ok(map.finish())
            }
            Expr::Slice(slice, span) => self.slice(slice, *span),
            Expr::Neg(operand, span) => {
                let value = self.eval(operand)?;
                ops::negate(&self.cx(), &value).map_err(|error| self.locate(error, *span))
            }
            Expr::Pos(operand, span) => {
                let value = self.eval(operand)?;
                ops::positive(&self.cx(), &value).map_err(|error| self.locate(error, *span))
            }
            Expr::Links(node) => {
                let mut value = self.eval(&node.base)?;
                for link in &node.links {
                    // A link takes the subject before it evaluates anything else.
                    self.subject = value;
                    value = self.eval(link)?;
                }
                Ok(value)
            }
            Expr::Concat(items) => self.concat(items),
            Expr::And(items) => self.shortcut(items, false),
            Expr::Or(items) => self.shortcut(items, true),
            _ => Err(Error::runtime("an expression of another kind was expected")),
        }
    }

    /// Whether an expression is true; avoids creating a value where possible.
    pub(super) fn test(&mut self, expr: &'a Expr) -> Result<bool> {
        match expr {
            Expr::Not(operand) => {
                self.budget.charge_steps(1)?;
                self.budget.check_stack()?;
                Ok(!self.test(operand)?)
            }
            Expr::And(items) => {
                for item in items {
                    if !self.test(item)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Expr::Or(items) => {
                for item in items {
                    if self.test(item)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Expr::Compare(node) => self.compare(&node.0, &node.1),
            Expr::Test(node) => self.apply_test(&node.0, &node.1),
            Expr::Loop(field) => match self.loop_test(*field) {
                Some(truth) => Ok(truth),
                None => self.truth(expr),
            },
            _ => self.truth(expr),
        }
    }

    #[inline]
    fn truth(&mut self, expr: &'a Expr) -> Result<bool> {
        let value = self.eval(expr)?;
        self.is_true(&value)
    }

    #[inline]
    fn is_true(&self, value: &Value<'a>) -> Result<bool> {
        match value {
            Value::Json(Json::Bool(value)) | Value::Bool(value) => Ok(*value),
            Value::Json(Json::String(text)) => Ok(!text.is_empty()),
            Value::Json(Json::Null) | Value::None => Ok(false),
            _ => ops::is_true(&self.cx(), value),
        }
    }

    /// `a and b`, `a or b`: returns the operand that decides.
    fn shortcut(&mut self, items: &'a [Expr], stop: bool) -> Result<Value<'a>> {
        let mut last = Value::None;
        for item in items {
            last = self.eval(item)?;
            if self.is_true(&last)? == stop {
                return Ok(last);
            }
        }
        Ok(last)
    }

    /// `base.a.b.c`. What is only printed says itself what it is made of: its read is not logged if it is data.
    #[inline]
    pub(super) fn path(&mut self, path: &'a Path, is_printed: bool) -> Result<Value<'a>> {
        let mark = self.mark();
        let mut value = match &path.base {
            Expr::Var(var) => self.var_data(var),
            Expr::Context(key) => {
                self.budget.charge_steps(key.steps())?;
                self.lookup_data(key)
            }
            base => self.eval(base)?,
        };
        let base = self.data_of(&value);
        self.budget.charge_steps(path.cost)?;
        for step in &path.steps {
            value = match (&value, step.special) {
                (Value::Json(Json::Object(map)), false) if !self.heap.has_copies() => {
                    match step.key.find_in(map) {
                        Some(found) => Value::Json(found),
                        None => self.heap.undefined_value(&value, Some(step.key.name())),
                    }
                }
                _ => self.attribute(&value, step)?,
            };
        }
        self.note_path(mark, base, &value, is_printed);
        Ok(value)
    }

    #[inline(never)]
    pub(super) fn attribute(
        &mut self,
        value: &Value<'a>,
        step: &'a crate::code::PathStep,
    ) -> Result<Value<'a>> {
        self.budget.charge_steps(1)?;
        self.note_export(value, step.key.name());
        ops::get_attribute(&self.cx(), value, step.key.name(), Some(step.key.name()))
            .map_err(|error| self.locate(error, step.span))
    }

    fn item(&mut self, value: &Value<'a>, key: &Value<'a>, span: Span) -> Result<Value<'a>> {
        ops::get_item(&self.cx(), value, key).map_err(|error| self.locate(error, span))
    }

    fn slice(&mut self, slice: &'a SliceExpr, span: Span) -> Result<Value<'a>> {
        let base = self.eval(&slice.base)?;
        let mut part = |part: &'a Option<Expr>| part.as_ref().map(|part| self.eval(part)).transpose();
        let (start, stop, step) = (part(&slice.start)?, part(&slice.stop)?, part(&slice.step)?);
        let cut = if slice.literal { ops::slice_literal } else { ops::slice_value };
        cut(&self.cx(), &base, start.as_ref(), stop.as_ref(), step.as_ref())
            .map_err(|error| self.locate(error, span))
    }

    fn binary(&mut self, first: &'a Expr, rest: &'a [(BinaryOp, Expr, Span)]) -> Result<Value<'a>> {
        let mut left = self.eval(first)?;
        for (op, right, span) in rest {
            let right = self.eval(right)?;
            self.budget.charge_steps(1)?;
            left = match (op, &left, &right) {
                (BinaryOp::Add, Value::Int(a), Value::Int(b)) if let Some(sum) = a.checked_add(*b) => {
                    Value::Int(sum)
                }
                (BinaryOp::Sub, Value::Int(a), Value::Int(b)) if let Some(rest) = a.checked_sub(*b) => {
                    Value::Int(rest)
                }
                _ => self.arithmetic(*op, &left, &right).map_err(|error| self.locate(error, *span))?,
            };
        }
        Ok(left)
    }

    fn compare(&mut self, first: &'a Expr, rest: &'a [(CompareOp, Expr, Span)]) -> Result<bool> {
        let mut left = self.eval(first)?;
        for (op, right, span) in rest {
            let right = self.eval(right)?;
            self.budget.charge_steps(1)?;
            let holds = match (op, &left, &right) {
                (CompareOp::Eq, left, Value::Lit(right)) if let Some(left) = left.as_str() => {
                    self.budget.charge_steps(right.len() as u64 >> 6)?;
                    *left == ***right
                }
                (CompareOp::Ne, left, Value::Lit(right)) if let Some(left) = left.as_str() => {
                    self.budget.charge_steps(right.len() as u64 >> 6)?;
                    *left != ***right
                }
                (op, left, right) if let Some(holds) = compare_ints(*op, left, right) => holds,
                _ => self.relation(*op, &left, &right).map_err(|error| self.locate(error, *span))?,
            };
            if !holds {
                return Ok(false);
            }
            left = right;
        }
        Ok(true)
    }

    fn arithmetic(&self, op: BinaryOp, a: &Value<'a>, b: &Value<'a>) -> Result<Value<'a>> {
        let cx = self.cx();
        match op {
            BinaryOp::Add => ops::add(&cx, a, b),
            BinaryOp::Sub => ops::subtract(&cx, a, b),
            BinaryOp::Mul => ops::multiply(&cx, a, b),
            BinaryOp::Div => ops::divide(&cx, a, b),
            BinaryOp::FloorDiv => ops::floor_divide(&cx, a, b),
            BinaryOp::Rem => ops::remainder(&cx, a, b),
            BinaryOp::Pow => ops::power(&cx, a, b),
        }
    }

    fn relation(&self, op: CompareOp, a: &Value<'a>, b: &Value<'a>) -> Result<bool> {
        let cx = self.cx();
        match op {
            CompareOp::Eq => ops::values_equal(&cx, a, b),
            CompareOp::Ne => Ok(!ops::values_equal(&cx, a, b)?),
            CompareOp::Lt => ops::compare_values(&cx, Order::Less, a, b),
            CompareOp::Le => ops::compare_values(&cx, Order::LessOrEqual, a, b),
            CompareOp::Gt => ops::compare_values(&cx, Order::Greater, a, b),
            CompareOp::Ge => ops::compare_values(&cx, Order::GreaterOrEqual, a, b),
            CompareOp::In => ops::contains_value(&cx, a, b),
            CompareOp::NotIn => Ok(!ops::contains_value(&cx, a, b)?),
        }
    }

    fn concat(&mut self, items: &'a [Expr]) -> Result<Value<'a>> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            values.push(self.eval(item)?);
        }
        ops::concat_values(&self.cx(), &values)
    }

    fn conditional(&mut self, node: &'a Conditional) -> Result<Value<'a>> {
        self.budget.check_stack()?;
        for (at, test) in node.tests.iter().enumerate().rev() {
            if !self.test(test)? {
                return match &node.otherwise {
                    Some(otherwise) if at + 1 == node.tests.len() => self.eval(otherwise),
                    _ => Ok(Value::Undefined(Undefined { owner: Owner::Condition, name: None })),
                };
            }
        }
        self.eval(&node.value)
    }

    pub(super) fn apply_filter(&mut self, value: Value<'a>, call: &'a FilterCall) -> Result<Value<'a>> {
        self.budget.charge_steps(1)?;
        let Some(filter) = call.filter else {
            return Err(self.locate(filters::unknown_filter(&call.name), call.span));
        };
        self.with_args(&call.args, |vm, arguments| {
            filter(&vm.cx(), value, arguments).map_err(|error| vm.locate(error, call.span))
        })
    }

    fn apply_test(&mut self, operand: &'a Expr, call: &'a TestCall) -> Result<bool> {
        let value = self.eval(operand)?;
        if let Some(defined) = call.defined
            && !value.is_pending()
        {
            return Ok((value.is_undefined() != defined) != call.negated);
        }
        let Some(test) = call.test else {
            return Err(self.locate(tests::unknown_test(&call.name), call.span));
        };
        let holds = self.with_args(&call.args, |vm, arguments| {
            test(&vm.cx(), &value, arguments).map_err(|error| vm.locate(error, call.span))
        })?;
        Ok(holds != call.negated)
    }
}

/// Compares 64-bit integers, including those of the data.
#[inline]
fn compare_ints(op: CompareOp, a: &Value<'_>, b: &Value<'_>) -> Option<bool> {
    let (a, b) = (a.as_i64()?, b.as_i64()?);
    Some(match op {
        CompareOp::Eq => a == b,
        CompareOp::Ne => a != b,
        CompareOp::Lt => a < b,
        CompareOp::Le => a <= b,
        CompareOp::Gt => a > b,
        CompareOp::Ge => a >= b,
        CompareOp::In | CompareOp::NotIn => return None,
    })
}
