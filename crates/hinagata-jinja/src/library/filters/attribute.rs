//! Attributes by path: `attribute='a.b.0'`.

use hinagata_value::{Result, Value};

use crate::{
    context::Context,
    library::{methods::to_lower, number::parse_int, ops::get_item, unicode::is_digit},
};

/// Reads the key of an item: the item itself, or the value at a path in it.
pub(super) struct Getter<'a> {
    path: Path<'a>,
    default: Option<Value<'a>>,
    ignore_case: bool,
}

enum Path<'a> {
    /// The item itself.
    Empty,
    /// A path of one step, which needs no list.
    SingleStep(Value<'a>),
    Many(Vec<Value<'a>>),
}

impl<'a> Getter<'a> {
    /// Creates a getter for `attribute`: the item itself if it is `None`, a path if it is a string.
    ///
    /// # Errors
    /// When a limit is reached.
    pub(super) fn new(cx: &Context<'_, 'a>, attribute: Option<&Value<'a>>) -> Result<Self> {
        let path = match attribute.filter(|attribute| !attribute.is_none()) {
            None => Path::Empty,
            Some(attribute) => match attribute.as_str() {
                None => Path::SingleStep(attribute.clone()),
                Some(text) if !text.contains('.') => Path::SingleStep(step(cx, text, Some(attribute))?),
                Some(text) => {
                    Path::Many(text.split('.').map(|part| step(cx, part, None)).collect::<Result<_>>()?)
                }
            },
        };
        Ok(Self { path, default: None, ignore_case: false })
    }

    /// Sets the value to return if a step of the path is undefined.
    pub(super) fn or(mut self, default: Option<&Value<'a>>) -> Self {
        self.default = default.filter(|default| !default.is_none()).cloned();
        self
    }

    /// Sets whether strings are converted to lower case.
    pub(super) fn ignoring_case(mut self, ignore: bool) -> Self {
        self.ignore_case = ignore;
        self
    }

    /// Returns the value in `item`.
    ///
    /// # Errors
    /// When the path leads through an undefined value, or a limit is reached.
    pub(super) fn get(&self, cx: &Context<'_, 'a>, item: &Value<'a>) -> Result<Value<'a>> {
        let found = match &self.path {
            Path::Empty => item.clone(),
            Path::SingleStep(step) => self.step(cx, item, step)?,
            Path::Many(steps) => {
                let mut found = item.clone();
                for step in steps {
                    found = self.step(cx, &found, step)?;
                }
                found
            }
        };
        match found.as_str() {
            Some(text) if self.ignore_case => to_lower(cx, &found, text),
            _ => Ok(found),
        }
    }

    fn step(&self, cx: &Context<'_, 'a>, value: &Value<'a>, step: &Value<'a>) -> Result<Value<'a>> {
        cx.heap.budget().charge_steps(1)?;
        let found = get_item(cx, value, step)?;
        match &self.default {
            Some(default) if found.is_undefined() => Ok(default.clone()),
            _ => Ok(found),
        }
    }
}

/// A step of a path: an integer if `text` is one, else a name. `whole` is the value that `text` came from.
fn step<'a>(cx: &Context<'_, 'a>, text: &str, whole: Option<&Value<'a>>) -> Result<Value<'a>> {
    if !text.is_empty()
        && text.chars().all(is_digit)
        && let Ok(index) = parse_int(text, 10)
    {
        return cx.heap.int(index);
    }
    match whole {
        Some(whole) => Ok(whole.clone()),
        None => cx.heap.string(text),
    }
}

/// Creates getters for attributes separated by commas, which `sort` compares one after the other.
///
/// # Errors
/// When a limit is reached.
pub(super) fn getters<'a>(
    cx: &Context<'_, 'a>,
    attribute: Option<&Value<'a>>,
    ignore_case: bool,
) -> Result<Vec<Getter<'a>>> {
    match attribute.and_then(Value::as_str) {
        Some(text) if text.contains(',') => text
            .split(',')
            .map(|part| {
                let part = cx.heap.string(part)?;
                Ok(Getter::new(cx, Some(&part))?.ignoring_case(ignore_case))
            })
            .collect(),
        _ => Ok(vec![Getter::new(cx, attribute)?.ignoring_case(ignore_case)]),
    }
}
