//! Python values as data, and data as Python values.
//!
//! Values are copied: no Python object stands behind `{{ }}`. What is not data is refused with its path.

use std::fmt::Write as _;

use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    intern,
    prelude::*,
    sync::PyOnceLock,
    types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple, PyType},
};
use serde_json::{Map, Number, Value};

use crate::{errors, variables::Variables};

/// Containers inside each other that are copied.
const MAX_DEPTH: usize = 256;

/// Where a value is: one step of a path, and the steps before it. It costs nothing until a path is written.
#[derive(Clone, Copy)]
pub(crate) struct Frame<'f> {
    parent: Option<&'f Frame<'f>>,
    step: Step<'f>,
    depth: usize,
    /// The container that the step leads into, to find values that contain themselves.
    container: usize,
}

#[derive(Clone, Copy)]
enum Step<'f> {
    Key(&'f str),
    Index(usize),
}

impl<'f> Frame<'f> {
    /// The first step: a variable, or a part of a call.
    pub(crate) fn root(name: &'f str) -> Self {
        Self { parent: None, step: Step::Key(name), depth: 0, container: 0 }
    }

    pub(crate) fn key(&'f self, key: &'f str, container: &Bound<'_, PyAny>) -> Self {
        self.child(Step::Key(key), container)
    }

    pub(crate) fn index(&'f self, index: usize, container: &Bound<'_, PyAny>) -> Self {
        self.child(Step::Index(index), container)
    }

    fn child(&'f self, step: Step<'f>, container: &Bound<'_, PyAny>) -> Self {
        Self { parent: Some(self), step, depth: self.depth + 1, container: container.as_ptr() as usize }
    }

    fn path(&self) -> String {
        let mut steps = Vec::new();
        let mut frame = Some(self);
        while let Some(current) = frame {
            steps.push(current.step);
            frame = current.parent;
        }
        let mut path = String::new();
        for step in steps.into_iter().rev() {
            match step {
                Step::Index(index) => {
                    let _ = write!(path, "[{index}]");
                }
                Step::Key(key) if path.is_empty() => path.push_str(key),
                Step::Key(key) => {
                    let _ = write!(path, ".{key}");
                }
            }
        }
        path
    }

    fn contains_itself(&self) -> bool {
        let mut seen = std::collections::HashSet::new();
        let mut frame = Some(self);
        while let Some(current) = frame {
            if current.container != 0 && !seen.insert(current.container) {
                return true;
            }
            frame = current.parent;
        }
        false
    }

    fn refuse(&self, py: Python<'_>, message: &str, hint: &str) -> PyErr {
        errors::value_error(py, &self.path(), message, hint)
    }
}

/// Copies a Python value.
pub(crate) fn to_json(value: &Bound<'_, PyAny>, frame: &Frame<'_>) -> PyResult<Value> {
    if let Ok(text) = value.cast_exact::<PyString>() {
        return text_value(text, frame);
    }
    if let Ok(map) = value.cast_exact::<PyDict>() {
        return dict_value(map, frame);
    }
    if let Ok(items) = value.cast_exact::<PyList>() {
        return list_value(value, items.len(), items.iter(), frame);
    }
    if let Ok(number) = value.cast_exact::<PyInt>() {
        return integer_value(number, frame);
    }
    if let Ok(number) = value.cast_exact::<PyFloat>() {
        return float_value(number, frame);
    }
    if value.is_none() {
        return Ok(Value::Null);
    }
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Value::Bool(flag.is_true()));
    }
    other_value(value, frame)
}

/// Subclasses, and objects that have a form as data.
fn other_value(value: &Bound<'_, PyAny>, frame: &Frame<'_>) -> PyResult<Value> {
    let py = value.py();
    let types = KnownTypes::get(py)?;
    if value.is_instance(types.enumeration.bind(py))? {
        return to_json(&value.getattr(intern!(py, "value"))?, frame);
    }
    if let Ok(text) = value.cast::<PyString>() {
        return text_value(text, frame);
    }
    if let Ok(number) = value.cast::<PyInt>() {
        return integer_value(number, frame);
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return float_value(number, frame);
    }
    if let Ok(map) = value.cast::<PyDict>() {
        return dict_value(map, frame);
    }
    if let Ok(items) = value.cast::<PyList>() {
        return list_value(value, items.len(), items.iter(), frame);
    }
    if let Ok(items) = value.cast::<PyTuple>() {
        return list_value(value, items.len(), items.iter(), frame);
    }
    if let Ok(variables) = value.cast::<Variables>() {
        return Ok(Value::Object((*variables.get().shared()).clone()));
    }
    if types.is_moment(value)? {
        return text_of(&value.call_method0(intern!(py, "isoformat"))?, frame);
    }
    if types.is_text_like(value)? {
        return text_value(&value.str()?, frame);
    }
    if let Some(fields) = fields_of(value)? {
        return fields_value(value, &fields, frame);
    }
    if value.is_instance_of::<PyBytes>() {
        return Err(frame.refuse(py, "bytes are not text", "decode them: `value.decode()`"));
    }
    if let Ok(map) = value.cast::<PyMapping>() {
        return mapping_value(map, frame);
    }
    let kind = value.get_type().name()?.to_string();
    let hint = match kind.as_str() {
        "set" | "frozenset" => "sets have no order: pass `sorted(value)`",
        "generator" | "map" | "filter" | "range" | "dict_keys" | "dict_values" | "dict_items" => {
            "pass `list(value)`"
        }
        "bytearray" | "memoryview" => "decode it to text",
        "ndarray" | "Series" => "pass `value.tolist()`",
        "coroutine" => "pass its result: `await value`",
        _ => "pass data: text, numbers, booleans, lists, mappings, dataclasses or pydantic models",
    };
    Err(frame.refuse(py, &format!("an object of type `{kind}` is not data"), hint))
}

fn text_value(text: &Bound<'_, PyString>, frame: &Frame<'_>) -> PyResult<Value> {
    match text.to_str() {
        Ok(text) => Ok(Value::String(text.to_owned())),
        Err(_) => Err(frame.refuse(
            text.py(),
            "the text contains a lone surrogate, which has no UTF-8 form",
            "replace it: `text.encode(errors=\"replace\").decode()`",
        )),
    }
}

fn text_of(value: &Bound<'_, PyAny>, frame: &Frame<'_>) -> PyResult<Value> {
    text_value(value.cast::<PyString>()?, frame)
}

fn integer_value(number: &Bound<'_, PyInt>, frame: &Frame<'_>) -> PyResult<Value> {
    if let Ok(small) = number.extract::<i64>() {
        return Ok(small.into());
    }
    match number.extract::<u64>() {
        Ok(large) => Ok(large.into()),
        Err(_) => Err(frame.refuse(
            number.py(),
            "the integer has more than 64 bits",
            "pass it as text: `str(value)`",
        )),
    }
}

fn float_value(number: &Bound<'_, PyFloat>, frame: &Frame<'_>) -> PyResult<Value> {
    match Number::from_f64(number.value()) {
        Some(number) => Ok(Value::Number(number)),
        None => Err(frame.refuse(
            number.py(),
            &format!("{} has no form as data", number.str()?.to_str()?),
            "pass None, or text",
        )),
    }
}

fn check_depth(value: &Bound<'_, PyAny>, frame: &Frame<'_>) -> PyResult<()> {
    if frame.depth < MAX_DEPTH {
        return Ok(());
    }
    let (message, hint) = if frame.contains_itself() {
        ("the value contains itself".to_owned(), "pass a copy without the cycle")
    } else {
        (format!("the value has more than {MAX_DEPTH} containers inside each other"), "pass a flatter value")
    };
    // The whole path is as long as the limit allows; its start says which variable it is.
    let mut first = frame;
    while let Some(parent) = first.parent {
        first = parent;
    }
    Err(first.refuse(value.py(), &message, hint))
}

fn list_value<'py>(
    list: &Bound<'py, PyAny>,
    len: usize,
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    frame: &Frame<'_>,
) -> PyResult<Value> {
    check_depth(list, frame)?;
    let mut copied = Vec::with_capacity(len);
    for (index, item) in items.enumerate() {
        copied.push(to_json(&item, &frame.index(index, list))?);
    }
    Ok(Value::Array(copied))
}

fn dict_value(dict: &Bound<'_, PyDict>, frame: &Frame<'_>) -> PyResult<Value> {
    check_depth(dict, frame)?;
    let mut copied = Map::with_capacity(dict.len());
    each_item(dict, |key, item| insert_item(&mut copied, key, item, dict, frame))?;
    Ok(Value::Object(copied))
}

/// Calls `visit` for each item. It may run Python code that changes the dict, which is an error, as it is in Python.
pub(crate) fn each_item<'py>(
    dict: &Bound<'py, PyDict>,
    mut visit: impl FnMut(&Bound<'py, PyAny>, &Bound<'py, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    let len = dict.len();
    let mut items = dict.iter();
    for _ in 0..len {
        if dict.len() != len {
            return Err(PyRuntimeError::new_err("a dictionary changed its size while it was copied"));
        }
        match items.next() {
            Some((key, item)) => visit(&key, &item)?,
            None => break,
        }
    }
    Ok(())
}

fn insert_item(
    copied: &mut Map<String, Value>,
    key: &Bound<'_, PyAny>,
    item: &Bound<'_, PyAny>,
    container: &Bound<'_, PyAny>,
    frame: &Frame<'_>,
) -> PyResult<()> {
    let name = key_text(key, frame)?;
    let value = to_json(item, &frame.key(&name, container))?;
    copied.insert(name, value);
    Ok(())
}

fn key_text(key: &Bound<'_, PyAny>, frame: &Frame<'_>) -> PyResult<String> {
    let py = key.py();
    match key.cast::<PyString>() {
        Ok(text) => match text.to_str() {
            Ok(name) => Ok(name.to_owned()),
            Err(_) => Err(frame.refuse(py, "a key contains a lone surrogate", "use another key")),
        },
        Err(_) => {
            let kind = key.get_type().name()?.to_string();
            let message = format!("the key {} of type `{kind}` is not text", short_repr(key));
            Err(frame.refuse(py, &message, "use text as keys: `str(key)`"))
        }
    }
}

fn short_repr(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map(|text| text.to_string()).unwrap_or_else(|_| "?".to_owned());
    if text.chars().count() > 60 { text.chars().take(59).chain(['…']).collect() } else { text }
}

fn mapping_value(map: &Bound<'_, PyMapping>, frame: &Frame<'_>) -> PyResult<Value> {
    check_depth(map, frame)?;
    let mut copied = Map::new();
    for pair in map.items()?.iter() {
        let (key, item) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
        insert_item(&mut copied, &key, &item, map, frame)?;
    }
    Ok(Value::Object(copied))
}

fn fields_value(
    object: &Bound<'_, PyAny>,
    fields: &[(String, Bound<'_, PyAny>)],
    frame: &Frame<'_>,
) -> PyResult<Value> {
    check_depth(object, frame)?;
    let mut copied = Map::with_capacity(fields.len());
    for (name, item) in fields {
        copied.insert(name.clone(), to_json(item, &frame.key(name, object))?);
    }
    Ok(Value::Object(copied))
}

/// Fields of an object by name.
type Fields<'py> = Vec<(String, Bound<'py, PyAny>)>;

/// The fields of a dataclass or a pydantic model; `None` for other objects, and for classes themselves.
fn fields_of<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Fields<'py>>> {
    let py = value.py();
    if value.is_instance_of::<PyType>() {
        return Ok(None);
    }
    let class = value.get_type();
    for (marker, dumps) in [("model_fields", "model_dump"), ("__fields__", "dict")] {
        if class.hasattr(marker)? && class.hasattr(dumps)? {
            let dumped = value.call_method0(dumps)?;
            let dict = dumped.cast_into::<PyDict>()?;
            let each = |(key, item): (Bound<'py, PyAny>, Bound<'py, PyAny>)| Ok((key.extract()?, item));
            return dict.iter().map(each).collect::<PyResult<_>>().map(Some);
        }
    }
    if class.hasattr(intern!(py, "__dataclass_fields__"))? {
        let module = py.import(intern!(py, "dataclasses"))?;
        let fields = module.call_method1(intern!(py, "fields"), (value,))?.cast_into::<PyTuple>()?;
        let mut found = Vec::with_capacity(fields.len());
        for field in fields.iter() {
            let name: String = field.getattr(intern!(py, "name"))?.extract()?;
            let item = value.getattr(name.as_str())?;
            found.push((name, item));
        }
        return Ok(Some(found));
    }
    Ok(None)
}

/// A session as data: its `to_dict()`, its fields, or its public attributes that are data.
pub(crate) fn session_to_json(session: &Bound<'_, PyAny>, frame: &Frame<'_>) -> PyResult<Value> {
    let py = session.py();
    if session.is_none() || session.is_instance_of::<PyDict>() {
        return to_json(session, frame);
    }
    if let Some(to_dict) = session.getattr_opt(intern!(py, "to_dict"))? {
        return to_json(&to_dict.call0()?, frame);
    }
    if let Some(fields) = fields_of(session)? {
        return Ok(plain_fields(session, fields, frame));
    }
    if session.cast::<PyMapping>().is_ok() {
        return to_json(session, frame);
    }
    let mut fields = Vec::new();
    if let Some(attributes) = session.getattr_opt(intern!(py, "__dict__"))? {
        for pair in attributes.cast_into::<PyDict>()?.items().iter() {
            fields.push(pair.extract::<(String, Bound<'_, PyAny>)>()?);
        }
    }
    for class in session.get_type().mro().iter() {
        let Some(slots) = class.getattr_opt(intern!(py, "__slots__"))? else { continue };
        let names: Vec<String> = match slots.extract::<String>() {
            Ok(one) => vec![one],
            Err(_) => slots.try_iter()?.filter_map(|name| name.ok()?.extract().ok()).collect(),
        };
        for name in names {
            if let Some(item) = session.getattr_opt(name.as_str())? {
                fields.push((name, item));
            }
        }
    }
    fields.retain(|(name, _)| !name.starts_with('_'));
    Ok(plain_fields(session, fields, frame))
}

/// Those fields of a session that are data.
fn plain_fields(session: &Bound<'_, PyAny>, fields: Fields<'_>, frame: &Frame<'_>) -> Value {
    let data = fields.into_iter().filter_map(|(name, item)| {
        let value = to_json(&item, &frame.key(&name, session)).ok()?;
        Some((name, value))
    });
    Value::Object(data.collect())
}

/// Classes of the standard library that are data.
struct KnownTypes {
    enumeration: Py<PyAny>,
    moments: Py<PyTuple>,
    /// Those whose text is what a template prints.
    text_like: Py<PyTuple>,
}

impl KnownTypes {
    /// The classes, imported on first use.
    fn get(py: Python<'_>) -> PyResult<&Self> {
        static TYPES: PyOnceLock<KnownTypes> = PyOnceLock::new();
        TYPES.get_or_try_init(py, || {
            let class = |module: &str, name: &str| py.import(module)?.getattr(name);
            let moments = [class("datetime", "date")?, class("datetime", "time")?];
            let text_like =
                [class("uuid", "UUID")?, class("pathlib", "PurePath")?, class("decimal", "Decimal")?];
            PyResult::Ok(Self {
                enumeration: class("enum", "Enum")?.unbind(),
                moments: PyTuple::new(py, moments)?.unbind(),
                text_like: PyTuple::new(py, text_like)?.unbind(),
            })
        })
    }

    fn is_moment(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        value.is_instance(self.moments.bind(value.py()))
    }

    fn is_text_like(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        value.is_instance(self.text_like.bind(value.py()))
    }
}

/// Data as a Python value.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => number.into_pyobject(py)?.into_any(),
            (None, Some(number)) => number.into_pyobject(py)?.into_any(),
            (None, None) => {
                let float = number.as_f64().ok_or_else(|| PyValueError::new_err("invalid number"))?;
                PyFloat::new(py, float).into_any()
            }
        },
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(to_python(py, item)?)?;
            }
            list.into_any()
        }
        Value::Object(map) => map_to_python(py, map)?.into_any(),
    })
}

/// An object as a dict.
pub(crate) fn map_to_python<'py>(py: Python<'py>, map: &Map<String, Value>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, item) in map {
        dict.set_item(name, to_python(py, item)?)?;
    }
    Ok(dict)
}
