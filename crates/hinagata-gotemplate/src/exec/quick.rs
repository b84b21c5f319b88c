//! The fast path: prints, tests and compares fields of the caller's data in place.
//!
//! Most actions of templates are of this kind. They need no new values and cannot fail. All others return
//! `None` here and take the slow path.

use hinagata_value::{AbsentReason, InputsId, Provenance, Result, Source, Value};
use serde_json::Value as Json;

use super::{Exec, Val, compare};
use crate::{
    fmt::{print::print_default, sink::Direct},
    set::MissingKey,
    tree::{At, Comparison, Path, Scalar, Start},
    value::view::{Integers, View},
};

/// Maximum fields of a path. Longer paths take the slow path, which charges each step.
const SHORT: usize = 8;

/// The value of a missing key where it behaves like null.
static NULL: Json = Json::Null;

impl<'a, P: Provenance> Exec<'_, 'a, P> {
    #[inline]
    fn start<'v>(&'v self, start: Start, dot: &'v Val<'a>) -> &'v Val<'a> {
        match start {
            Start::Dot => dot,
            Start::Root => &self.root,
            Start::Slot(slot) => &self.slots[self.base + slot as usize],
        }
    }

    /// Logs a read of the value that a path starts at.
    fn note_start(&self, start: Start, dot: &Val<'a>) {
        match start {
            Start::Dot => self.note_dot(dot),
            Start::Root => self.note_root(),
            Start::Slot(slot) => self.note_slot(slot as usize),
        }
    }

    /// The data at a path. Only for whole pipelines: elsewhere a missing key differs from null. The read is not logged:
    /// data says itself what it is made of.
    #[inline]
    pub(super) fn find_data(&self, path: &'a Path, dot: &Val<'a>) -> Option<&'a Json> {
        let Value::Json(mut json) = self.start(path.start, dot).value else { return None };
        if self.changed || path.keys.len() > SHORT {
            return None;
        }
        for key in &path.keys {
            let Json::Object(map) = json else { return None };
            json = match key.find_in(map) {
                Some(value) => value,
                None if self.set.options.missing_key == MissingKey::Invalid => {
                    self.note_missing(key.name());
                    return Some(&NULL);
                }
                None => return None,
            };
        }
        Some(json)
    }

    /// Like [`Exec::find_data`], and logs the read.
    #[inline]
    pub(super) fn read_data(&self, path: &'a Path, dot: &Val<'a>) -> Option<&'a Json> {
        let found = self.find_data(path, dot);
        if P::ON
            && let Some(json) = found
        {
            self.note_found(json);
        }
        found
    }

    /// Logs a read of data that was found. A key that is missing is logged already.
    #[inline]
    fn note_found(&self, json: &'a Json) {
        if !std::ptr::eq(json, &NULL) {
            self.note_data(json);
        }
    }

    /// Prints the data at a path. `None` if the slow path has to do it.
    #[inline]
    pub(super) fn print_path(&mut self, index: u32, path: &'a Path, dot: &Val<'a>) -> Option<Result<()>> {
        let mark = self.mark();
        let found = self.find_data(path, dot);
        match found {
            Some(json @ Json::String(text)) => {
                let site = self.site(At::node(index));
                if P::ON && text.is_empty() {
                    self.record_absent(index, AbsentReason::EmptyValue, InputsId::from_data(json));
                }
                Some(self.output.write_from(text, site, Source::Data(InputsId::from_data(json))))
            }
            Some(json) => {
                self.set_data_source(json, mark);
                Some(self.print_data(index, json))
            }
            None => self.print_variable(index, path, dot),
        }
    }

    #[inline(never)]
    fn print_data(&mut self, index: u32, json: &'a Json) -> Result<()> {
        let site = self.site(At::node(index));
        match json {
            Json::Number(number) => {
                self.print_scalar(index, View::from_number(number, self.set.options.integers))
            }
            Json::Bool(flag) => self.output.write(if *flag { "true" } else { "false" }, site),
            Json::Null => self.output.write("<no value>", site),
            _ => self.print_value(index, &Value::Json(json)),
        }
    }

    fn print_scalar(&mut self, index: u32, view: View<'_, 'a>) -> Result<()> {
        let site = self.site(At::node(index));
        let mut sink = Direct { output: self.output, site, budget: self.budget };
        print_default(&mut sink, self.heap, view, self.set.options.integers)
    }

    /// Prints a variable that holds a count or a key.
    #[inline(never)]
    fn print_variable(&mut self, index: u32, path: &'a Path, dot: &Val<'a>) -> Option<Result<()>> {
        if !path.keys.is_empty() {
            return None;
        }
        match self.start(path.start, dot).value {
            Value::Int(int) => {
                self.set_variable_source(path.start);
                Some(self.print_scalar(index, View::Int(int)))
            }
            Value::Lit(text) => {
                let site = self.site(At::node(index));
                Some(self.output.write_from(text, site, Source::Made(InputsId::from_key(text))))
            }
            _ => None,
        }
    }

    /// Whether the data at a path is true. `None` if the slow path has to decide.
    #[inline]
    pub(super) fn path_truth(&self, path: &'a Path, dot: &Val<'a>) -> Option<bool> {
        if let Some(json) = self.find_data(path, dot) {
            let truth = truth_of(json);
            // Only the reason for what is absent is recorded.
            if P::ON && !truth {
                self.note_found(json);
            }
            return Some(truth);
        }
        self.note_start(path.start, dot);
        match self.start(path.start, dot).value {
            Value::Int(int) if path.keys.is_empty() => Some(int != 0),
            _ => None,
        }
    }

    /// Compares two scalars of one kind.
    pub(super) fn compare_scalars(&self, comparison: &'a Comparison, dot: &Val<'a>) -> Option<bool> {
        let (left, right) = (self.scalar(&comparison.left, dot)?, self.scalar(&comparison.right, dot)?);
        if let (View::Str(a), View::Str(b)) = (left, right) {
            // If the budget is used up, the slow path fails with the error.
            self.budget.step_bytes(a.len().min(b.len())).ok()?;
        }
        compare::compare_same_kind(comparison.builtin, left, right)
    }

    #[inline]
    fn scalar(&self, scalar: &'a Scalar, dot: &Val<'a>) -> Option<View<'a, 'a>> {
        match scalar {
            Scalar::Path(path) => match self.read_data(path, dot) {
                Some(json) => scalar_of(json, self.set.options.integers),
                None => match self.start(path.start, dot).value {
                    Value::Int(int) if path.keys.is_empty() => Some(View::Int(int)),
                    _ => None,
                },
            },
            Scalar::Text(text) => Some(View::Str(text)),
            Scalar::Int(int) => Some(View::Int(*int)),
            Scalar::Float(float) => Some(View::Float(*float)),
        }
    }
}

/// Whether data is true.
#[inline]
fn truth_of(json: &Json) -> bool {
    match json {
        Json::Null => false,
        Json::Bool(flag) => *flag,
        Json::Number(number) => number.as_f64().is_none_or(|number| number != 0.0),
        Json::String(text) => !text.is_empty(),
        Json::Array(items) => !items.is_empty(),
        Json::Object(map) => !map.is_empty(),
    }
}

#[inline]
fn scalar_of<'a>(json: &'a Json, integers: Integers) -> Option<View<'a, 'a>> {
    Some(match json {
        Json::String(text) => View::Str(text),
        Json::Number(number) => View::from_number(number, integers),
        _ => return None,
    })
}
