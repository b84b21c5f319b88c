//! Fields: `.a.b`, `$x.a` and `(…).a`.

use hinagata_value::{Error, Key, Provenance, Result, Value};
use serde_json::Value as Json;

use super::{Exec, Val, is_scope};
use crate::{
    error::Part,
    set::MissingKey,
    text::quote,
    tree::Variable,
    value::{exotic::Nil, view::View},
};

impl<'a, P: Provenance> Exec<'_, 'a, P> {
    /// `.a.b`.
    #[inline]
    pub(super) fn dot_fields(&self, dot: &Val<'a>, keys: &'a [Key], has_args: bool) -> Result<Val<'a>> {
        let mark = self.mark();
        self.note_dot(dot);
        self.noted_fields(mark, dot, keys, has_args)
    }

    /// `$x.a.b`.
    #[inline]
    pub(super) fn variable_fields(
        &self,
        variable: &Variable,
        keys: &'a [Key],
        has_args: bool,
    ) -> Result<Val<'a>> {
        let mark = self.mark();
        let value = self.get(variable)?;
        self.note_variable(variable, value);
        self.noted_fields(mark, value, keys, has_args)
    }

    /// `(…).a.b`.
    #[inline]
    pub(super) fn operand_fields(
        &mut self,
        operand: u32,
        keys: &'a [Key],
        has_args: bool,
        dot: &Val<'a>,
    ) -> Result<Val<'a>> {
        let mark = self.mark();
        let base = self.eval_operand(operand, dot)?;
        self.noted_fields(mark, &base, keys, has_args)
    }

    /// Walks the fields of a receiver whose read was logged after `mark`.
    #[inline]
    fn noted_fields(
        &self,
        mark: usize,
        receiver: &Val<'a>,
        keys: &'a [Key],
        has_args: bool,
    ) -> Result<Val<'a>> {
        let value = self.walk_fields(receiver, keys, has_args)?;
        self.narrow_read(mark, self.mark(), &value);
        Ok(value)
    }

    /// Walks the fields `keys`, starting at `receiver`. `has_args` means that the last field has arguments,
    /// which is an error.
    #[inline]
    fn walk_fields(&self, receiver: &Val<'a>, keys: &'a [Key], has_args: bool) -> Result<Val<'a>> {
        let Some((first, rest)) = keys.split_first() else { return Ok(receiver.clone()) };
        let mut value = self.field(receiver, first, has_args && rest.is_empty())?;
        if !rest.is_empty() {
            self.budget.charge_steps(rest.len() as u64)?;
        }
        for (key, left) in rest.iter().zip((0..rest.len()).rev()) {
            value = self.field(&value, key, has_args && left == 0)?;
        }
        Ok(value)
    }

    #[inline]
    fn field(&self, receiver: &Val<'a>, key: &'a Key, has_args: bool) -> Result<Val<'a>> {
        if let Value::Json(Json::Object(_)) = &receiver.value
            && !has_args
            && let Some(value) = self.heap.attribute(&receiver.value, key)
        {
            return Ok(Val::boxed(value));
        }
        self.rare_field(receiver, key, has_args)
    }

    /// Finds a field in every case except an existing entry of the caller's data.
    #[inline(never)]
    fn rare_field(&self, receiver: &Val<'a>, key: &'a Key, has_args: bool) -> Result<Val<'a>> {
        let found = match &receiver.value {
            Value::Engine(_) if is_scope(&receiver.value) => {
                self.refuse_arguments(key, has_args)?;
                self.scope.and_then(|scope| scope.find(key)).map(Value::Json)
            }
            value => match View::from_value(value, self.integers())? {
                View::Invalid => return self.field_of_nothing(key),
                View::Nil if self.only_truth && self.set.options.missing_key == MissingKey::Needed => {
                    return Ok(Val::INVALID);
                }
                View::Nil => return Err(self.fail_on_nil(key)),
                View::Map(_) | View::Host(_) => {
                    self.refuse_arguments(key, has_args)?;
                    self.heap.attribute(value, key)
                }
                View::TypedNil(Nil::Map) => {
                    self.refuse_arguments(key, has_args)?;
                    None
                }
                view => {
                    let type_ = if receiver.boxed { "interface {}".into() } else { view.type_name() };
                    let parts = [Part::Text(key.name()), Part::Text(&type_)];
                    return Err(self.fail("can't evaluate field %s in type %s", &parts));
                }
            },
        };
        match found {
            Some(value) => Ok(Val::boxed(value)),
            None => self.missing(key),
        }
    }

    fn refuse_arguments(&self, key: &Key, has_args: bool) -> Result<()> {
        if has_args {
            return Err(self.fail("%s is not a method but has arguments", &[Part::Text(key.name())]));
        }
        Ok(())
    }

    fn missing(&self, key: &'a Key) -> Result<Val<'a>> {
        self.note_missing(key.name());
        match self.missing_key() {
            MissingKey::Invalid => Ok(Val::INVALID),
            MissingKey::Zero => Ok(Val::boxed(Value::None)),
            MissingKey::Error | MissingKey::Needed => {
                let name = quote::quote_text(key.name());
                let error = self.fail("map has no entry for key %s", &[Part::Text(&name)]);
                Err(Error::undefined(error.message()).with_place(|| self.tree.place(self.at)))
            }
        }
    }

    fn field_of_nothing(&self, key: &Key) -> Result<Val<'a>> {
        if self.missing_key() == MissingKey::Error {
            let error = self.fail("nil data; no entry for key %q", &[Part::Text(key.name())]);
            return Err(Error::undefined(error.message()).with_place(|| self.tree.place(self.at)));
        }
        Ok(Val::INVALID)
    }

    fn fail_on_nil(&self, key: &Key) -> Error {
        self.fail("nil pointer evaluating interface {}.%s", &[Part::Text(key.name())])
    }
}
