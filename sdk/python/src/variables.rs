//! Variables that are converted once and rendered often.

use std::sync::Arc;

use pyo3::{
    exceptions::{PyKeyError, PyTypeError},
    prelude::*,
    types::{PyDict, PyIterator, PyList, PyMapping},
};
use serde_json::{Map, Value};

use crate::values::{Frame, each_item, map_to_python, to_json, to_python};

/// Variables of a call, converted once. Immutable, and shared by any number of threads.
#[pyclass(frozen, module = "hinagata", mapping)]
pub(crate) struct Variables(Arc<Map<String, Value>>);

impl Variables {
    pub(crate) fn shared(&self) -> Arc<Map<String, Value>> {
        Arc::clone(&self.0)
    }
}

#[pymethods]
impl Variables {
    #[new]
    #[pyo3(signature = (variables=None, /, **named))]
    fn new(variables: Option<&Bound<'_, PyAny>>, named: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut map = match variables {
            None => Map::new(),
            Some(variables) => copy_variables(variables, |_| true)?,
        };
        if let Some(named) = named {
            map.extend(copy_variables(named, |_| true)?);
        }
        Ok(Self(Arc::new(map)))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __contains__(&self, name: &Bound<'_, PyAny>) -> bool {
        name.extract::<&str>().is_ok_and(|name| self.0.contains_key(name))
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.0.get(name) {
            Some(value) => to_python(py, value),
            None => Err(PyKeyError::new_err(name.to_owned())),
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.keys(py)?.try_iter()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("Variables({})", map_to_python(py, &self.0)?.repr()?))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyDict>,))> {
        let dict = map_to_python(slf.py(), &slf.get().0)?;
        Ok((slf.get_type().into_any(), (dict,)))
    }

    /// The names.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.0.keys())
    }

    /// A copy as a dict.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        map_to_python(py, &self.0)
    }
}

/// The variables of a call: borrowed from [`Variables`], or copied.
pub(crate) enum CallVariables {
    Shared(Arc<Map<String, Value>>),
    Own(Map<String, Value>),
}

impl CallVariables {
    /// Reads the argument of a call. Of other mappings, variables for which `is_used` is false are present without
    /// their value.
    pub(crate) fn read(
        variables: Option<&Bound<'_, PyAny>>,
        is_used: impl Fn(&str) -> bool,
    ) -> PyResult<Self> {
        match variables {
            None => Ok(Self::Own(Map::new())),
            Some(value) => match value.cast::<Variables>() {
                Ok(prepared) => Ok(Self::Shared(prepared.get().shared())),
                Err(_) => copy_variables(value, is_used).map(Self::Own),
            },
        }
    }

    /// The variables.
    pub(crate) fn map(&self) -> &Map<String, Value> {
        match self {
            Self::Shared(map) => map,
            Self::Own(map) => map,
        }
    }

    /// The variables, copied if they are shared.
    pub(crate) fn into_map(self) -> Map<String, Value> {
        match self {
            Self::Shared(map) => Arc::unwrap_or_clone(map),
            Self::Own(map) => map,
        }
    }
}

/// Copies a mapping of variables.
fn copy_variables(value: &Bound<'_, PyAny>, is_used: impl Fn(&str) -> bool) -> PyResult<Map<String, Value>> {
    let copied = |name: &str, item: &Bound<'_, PyAny>| {
        if is_used(name) { to_json(item, &Frame::root(name)) } else { Ok(Value::Null) }
    };
    let not_text = || PyTypeError::new_err("the names of variables must be text");
    let mut map = Map::new();
    if let Ok(prepared) = value.cast::<Variables>() {
        return Ok((*prepared.get().0).clone());
    }
    let mut insert = |name: &Bound<'_, PyAny>, item: &Bound<'_, PyAny>| {
        let name: &str = name.extract().map_err(|_| not_text())?;
        map.insert(name.to_owned(), copied(name, item)?);
        Ok(())
    };
    if let Ok(dict) = value.cast::<PyDict>() {
        each_item(dict, insert)?;
    } else if let Ok(mapping) = value.cast::<PyMapping>() {
        for pair in mapping.items()?.iter() {
            let (name, item) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
            insert(&name, &item)?;
        }
    } else {
        let kind = value.get_type().name()?.to_string();
        return Err(PyTypeError::new_err(format!("variables must be a mapping, not `{kind}`")));
    }
    Ok(map)
}
