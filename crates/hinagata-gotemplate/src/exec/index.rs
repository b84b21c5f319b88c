//! `index` and `slice`.

use std::rc::{Rc, Weak};

use hinagata_value::{Error, Key, List, Provenance, Result, Value};

use super::{Exec, Val, Window, is_scope, range::new_byte};
use crate::{
    tree::Span,
    value::{exotic::Nil, view::View},
};

impl<'a, P: Provenance> Exec<'_, 'a, P> {
    /// `index item i j …`. The outer result is that of evaluating the arguments.
    pub(super) fn call_index(
        &mut self,
        args: Span,
        last: Option<Val<'a>>,
        dot: &Val<'a>,
    ) -> Result<Result<Val<'a>>> {
        let base = self.stack.len();
        let mark = self.mark();
        let mut end = mark;
        for arg in args.ids() {
            let value = self.eval_operand(arg, dot)?;
            if self.stack.len() == base {
                end = self.mark();
            }
            self.stack.push(value.value);
        }
        self.stack.extend(last.map(|last| last.value));
        let result = self.index_on_stack(base);
        if let Ok(value) = &result {
            self.narrow_read(mark, end, value);
        }
        self.stack.truncate(base);
        Ok(result)
    }

    fn index_on_stack(&self, base: usize) -> Result<Val<'a>> {
        let [item, indexes @ ..] = &self.stack[base..] else { return Ok(Val::INVALID) };
        // A single variable is found without merging all of them.
        let (mut item, indexes) = match (self.variable(item, indexes.first()), indexes) {
            (Some(found), [_]) => return Ok(Val::boxed(found)),
            (Some(found), [_, rest @ ..]) => (Val::boxed(found), rest),
            _ => (Val::plain(self.resolve_scope(item.clone())?), indexes),
        };
        if matches!(self.view(&item.value)?, View::Invalid | View::Nil) {
            return Err(Error::runtime("index of untyped nil"));
        }
        for index in indexes {
            self.budget.charge_steps(1)?;
            item = self.element(&item.value, index)?;
        }
        Ok(item)
    }

    /// The variable `name`, if `item` refers to all variables. An unknown name returns a zero value.
    fn variable(&self, item: &Value<'a>, name: Option<&Value<'a>>) -> Option<Value<'a>> {
        let scope = self.scope.filter(|_| is_scope(item))?;
        let key = Key::new(name?.as_str()?);
        Some(scope.find(&key).map(Value::Json).unwrap_or_default())
    }

    fn element(&self, item: &Value<'a>, index: &Value<'a>) -> Result<Val<'a>> {
        let view = self.view(item)?;
        let key = self.view(index)?;
        match view {
            View::Invalid | View::Nil => Err(Error::runtime("index of nil pointer")),
            View::List(list) => {
                let at = position(key, true, self.heap.len(list).unwrap_or(0))?;
                match self.heap.item(list, at) {
                    Some(value) => Ok(Val::boxed(value)),
                    None => Err(Error::runtime("reflect: slice index out of range")),
                }
            }
            View::Map(_) | View::Host(_) => {
                self.key(key)?;
                let found = match index.as_str() {
                    Some(key) => self.heap.entry(item, key),
                    None => self.heap.lookup(item, index)?,
                };
                Ok(Val::boxed(found.unwrap_or_default()))
            }
            View::TypedNil(Nil::Map) => {
                self.key(key)?;
                Ok(Val::boxed(Value::None))
            }
            View::TypedNil(Nil::List) => {
                position(key, true, 0)?;
                Err(Error::runtime("reflect: slice index out of range"))
            }
            _ => match view.bytes() {
                Some(bytes) => {
                    let at = position(key, true, bytes.len())?;
                    match bytes.get(at) {
                        Some(&value) => Ok(Val::plain(new_byte(self.heap, value)?)),
                        None => Err(Error::runtime("reflect: string index out of range")),
                    }
                }
                None => Err(Error::runtime(format!("can't index item of type {}", view.type_name()))),
            },
        }
    }

    /// Fails if the value cannot be the key of a map.
    fn key(&self, key: View<'_, 'a>) -> Result<()> {
        match key {
            View::Str(_) | View::Bytes(_) => Ok(()),
            View::Invalid | View::Nil => Err(Error::runtime("value is nil; should be of type string")),
            _ => Err(Error::runtime(format!("value has type {}; should be string", key.type_name()))),
        }
    }

    /// `slice item from to reach`. The outer result is that of evaluating the arguments.
    pub(super) fn call_slice(
        &mut self,
        args: Span,
        last: Option<Val<'a>>,
        dot: &Val<'a>,
    ) -> Result<Result<Val<'a>>> {
        let mut values = Vec::with_capacity(args.len() + 1);
        for arg in args.ids() {
            values.push(self.eval_operand(arg, dot)?);
        }
        values.extend(last);
        Ok(self.slice_values(&values))
    }

    fn slice_values(&mut self, values: &[Val<'a>]) -> Result<Val<'a>> {
        let [item, indexes @ ..] = values else { return Ok(Val::INVALID) };
        let item = self.resolve_scope(item.value.clone())?;
        let view = self.view(&item)?;
        if matches!(view, View::Invalid | View::Nil) {
            return Err(Error::runtime("slice of untyped nil"));
        }
        if indexes.len() > 3 {
            return Err(Error::runtime(format!("too many slice indexes: {}", indexes.len())));
        }
        if let Some(bytes) = view.bytes() {
            if indexes.len() == 3 {
                return Err(Error::runtime("cannot 3-index slice a string"));
            }
            let [from, to, _] = self.bounds(indexes, bytes.len(), bytes.len())?;
            return Ok(Val::plain(self.heap.bytes(&bytes[from..to])?));
        }
        let window = match view {
            View::List(_) => self.window(&item)?,
            View::TypedNil(Nil::List) => {
                self.bounds(indexes, 0, 0)?;
                return Ok(Val::plain(item));
            }
            _ => return Err(Error::runtime(format!("can't slice item of type {}", view.type_name()))),
        };
        let len = self.heap.len(&item).unwrap_or(0);
        let [from, to, reach] = self.bounds(indexes, len, window.reach - window.start)?;
        let start = window.start + from;
        self.part(window.whole, start, window.start + to, window.start + reach)
    }

    /// The three indexes of a slice. Missing ones have their default values.
    fn bounds(&self, indexes: &[Val<'a>], len: usize, capacity: usize) -> Result<[usize; 3]> {
        let mut bounds = [0, len, capacity];
        for (bound, index) in bounds.iter_mut().zip(indexes) {
            // Unlike `index`, `slice` does not unwrap interfaces.
            *bound = match self.view(&index.value)? {
                View::Invalid => position(View::Invalid, true, capacity)?,
                view => position(view, !index.boxed, capacity)?,
            };
        }
        let [from, to, reach] = bounds;
        if from > to {
            return Err(Error::runtime(format!("invalid slice index: {from} > {to}")));
        }
        if to > reach {
            return Err(Error::runtime(format!("invalid slice index: {to} > {reach}")));
        }
        Ok(bounds)
    }

    /// The longer list that a list is a part of, and the range of the part. Most lists are not part of another.
    fn window(&self, list: &Value<'a>) -> Result<Reach<'a>> {
        let part = match (list, &self.rare) {
            (Value::List(part), Some(rare)) => {
                self.budget.charge_steps(rare.windows.len() as u64 >> 4)?;
                rare.windows.iter().find(|window| is_same_list(&window.part, part))
            }
            _ => None,
        };
        Ok(match part {
            Some(window) => Reach { whole: window.whole.clone(), start: window.start, reach: window.reach },
            None => Reach { whole: list.clone(), start: 0, reach: self.heap.len(list).unwrap_or(0) },
        })
    }

    /// Copies a part of a list. If the part can be sliced beyond its end, the longer list is recorded.
    fn part(&mut self, whole: Value<'a>, start: usize, end: usize, reach: usize) -> Result<Val<'a>> {
        let mut list = self.heap.list()?;
        list.reserve(end - start)?;
        for at in start..end {
            list.push(self.heap.item(&whole, at).unwrap_or_default())?;
        }
        let value = list.finish();
        if reach > end
            && let Value::List(part) = &value
        {
            self.forget_windows()?;
            let window = Window { part: Rc::downgrade(part), whole, start, reach };
            self.rare.get_or_insert_default().windows.push(window);
        }
        Ok(Val::plain(value))
    }

    /// Removes windows whose lists were dropped, before the table grows.
    fn forget_windows(&mut self) -> Result<()> {
        let windows = &mut self.rare.get_or_insert_default().windows;
        if windows.len() == windows.capacity() {
            self.budget.charge_steps(windows.len() as u64)?;
            windows.retain(|window| window.part.strong_count() > 0);
        }
        Ok(())
    }
}

/// A list that contains another one, and the range of that part.
struct Reach<'a> {
    whole: Value<'a>,
    start: usize,
    reach: usize,
}

fn is_same_list<'a>(weak: &Weak<List<'a>>, list: &Rc<List<'a>>) -> bool {
    std::ptr::eq(weak.as_ptr(), Rc::as_ptr(list))
}

/// An index from 0 to `limit`, inclusive.
fn position(index: View<'_, '_>, is_open: bool, limit: usize) -> Result<usize> {
    let wrong_type = |name: &str| Err(Error::runtime(format!("cannot index slice/array with type {name}")));
    match index {
        View::Invalid => Err(Error::runtime("cannot index slice/array with nil")),
        View::Nil if is_open => Err(Error::runtime("cannot index slice/array with nil")),
        _ if !is_open => wrong_type("interface {}"),
        _ => match index.int() {
            None => wrong_type(&index.type_name()),
            Some(int) => match usize::try_from(int) {
                Ok(at) if at <= limit => Ok(at),
                _ => Err(Error::runtime(format!("index out of range: {int}"))),
            },
        },
    }
}
