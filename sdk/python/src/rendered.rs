//! The result of a render.

use std::sync::OnceLock;

use hinagata::{
    MapUnits, Rendered as EngineRendered, RenderedBody, definition::module_error, module::driver::Driver,
};
use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyDict, PyString},
};
use serde_json::{Map, Value};

use crate::{
    errors::{hint_text, to_exception},
    request,
    values::{Frame, to_json, to_python},
};

/// A rendered prompt. `str()` of it is its text.
#[pyclass(frozen, module = "hinagata")]
pub(crate) struct Rendered {
    inner: EngineRendered,
    render_id: OnceLock<String>,
}

impl Rendered {
    pub(crate) fn new(inner: EngineRendered) -> Self {
        Self { inner, render_id: OnceLock::new() }
    }

    fn text_of<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::new(py, &self.inner.text())
    }
}

#[pymethods]
impl Rendered {
    fn __str__<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        self.text_of(py)
    }

    fn __repr__(&self) -> String {
        format!("<Rendered {} {}>", self.inner.prompt_id(), &self.inner.hash()[..12])
    }

    /// The text. Messages are joined by blank lines; a module is printed with headings.
    #[getter]
    fn text<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        self.text_of(py)
    }

    /// The result as messages: dicts with `role` and `content`. A text is one user message.
    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let messages = RenderedBody::Messages(self.inner.messages()).to_json();
        to_python(py, &messages)
    }

    /// A text as `str`, messages as a list.
    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.inner.body.to_json())
    }

    /// The id of the prompt.
    #[getter]
    fn prompt_id(&self) -> &str {
        self.inner.prompt_id().as_str()
    }

    /// The source of the prompt: a path from the workspace root, or `store:KEY`.
    #[getter]
    fn source(&self) -> &str {
        self.inner.source()
    }

    /// The version of the prompt.
    #[getter]
    fn version(&self) -> &str {
        self.inner.version()
    }

    /// Problems that did not stop the render: dicts with `about`, `code` and `message`.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all: Value = self.inner.warnings.iter().map(|warning| warning.to_json_with(hint_text)).collect();
        to_python(py, &all)
    }

    /// The SHA-256 of the result. Equal results have equal hashes on every machine.
    #[getter]
    fn hash(&self) -> String {
        self.inner.hash()
    }

    /// The SHA-256 of all files that the prompt was read from.
    #[getter]
    fn definition_hash(&self) -> &str {
        self.inner.definition_hash()
    }

    /// An id of this render, in the form of a UUID.
    #[getter]
    fn render_id(&self) -> &str {
        self.render_id.get_or_init(new_id)
    }

    /// What the render did, with the source map as `map`; `None` unless `explain` made it.
    #[getter]
    fn trace<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.inner.trace.is_none() {
            return Ok(py.None().into_bound(py));
        }
        let mut all = self.inner.to_mapped_json(hint_text, MapUnits::default());
        let mut trace = all.get_mut("trace").map(Value::take).unwrap_or_default();
        if let (Some(map), Some(fields)) = (all.get_mut("map"), trace.as_object_mut()) {
            fields.insert("map".to_owned(), map.take());
        }
        to_python(py, &trace)
    }

    /// The result as data, as `hina render --json` prints it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.inner.to_json_with(hint_text))
    }

    /// The keyword arguments for the official client of a provider: `openai`, `openai-responses`, `anthropic`, `gemini`
    /// or `ollama`. Options replace those of the prompt.
    #[pyo3(signature = (driver, **options))]
    fn request<'py>(
        &self,
        py: Python<'py>,
        driver: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let driver = Driver::from_name(driver).map_err(|error| to_exception(py, &module_error(error)))?;
        let given = read_options(options)?;
        let options = request::merge_options(self.inner.request_options(), given)
            .map_err(|error| to_exception(py, &error))?;
        let formatted =
            self.inner.format_request(driver, &options).map_err(|error| to_exception(py, &error))?;
        request::to_arguments(py, driver, &formatted, &options)
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err("a Rendered cannot be pickled; pass on its text, messages or `to_dict()`"))
    }
}

/// The options of a call as data.
pub(crate) fn read_options(options: Option<&Bound<'_, PyDict>>) -> PyResult<Map<String, Value>> {
    let Some(options) = options else { return Ok(Map::new()) };
    let mut all = Map::new();
    for (name, item) in options.iter() {
        let name: String = name.extract()?;
        let value = to_json(&item, &Frame::root(&name))?;
        all.insert(name, value);
    }
    Ok(all)
}

/// A random UUID.
fn new_id() -> String {
    let mut bytes = [0; 16];
    // Without random bytes there are still the time and the address, which are enough to tell renders apart.
    if getrandom::fill(&mut bytes).is_err() {
        let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        bytes = (now ^ std::ptr::from_ref(&bytes) as u128).to_be_bytes();
    }
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}
