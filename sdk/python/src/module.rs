//! `hinagata.module`: prompts of named sections.

use std::sync::{Arc, Mutex, PoisonError};

use hinagata::{
    definition::module_error,
    module::{
        CompiledPrompt as Compiled, Descriptions, Dynamic, DynamicText, Element, Functions, Markers, Order,
        Part, Problem, PromptModule, SpecialToken, SpecialTokens, TextOptions, Texts, Yielded,
        answer::{ExtractOptions, extract_json as extract},
        driver::{Driver, RequestOptions, chat_messages},
        elements_text, merge_modules, prompt_text,
    },
};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyDict, PyList, PyMapping, PyTuple, PyType},
};
use serde_json::{Map, Value, json};

use crate::{
    errors::{to_exception, warning_class},
    rendered::read_options,
    request,
    values::{Frame, map_to_python, to_json, to_python},
};

/// The key of an object that stands for a function. No text contains it, because it is made of random bytes.
struct Marker(String);

/// The functions of a module, and the objects that stand for them.
struct FunctionTable {
    marker: Marker,
    functions: Mutex<Vec<Py<PyAny>>>,
}

impl FunctionTable {
    fn new() -> PyResult<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| PyValueError::new_err(error.to_string()))?;
        let marker: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { marker: Marker(format!("function {marker}")), functions: Mutex::default() })
    }

    fn add(&self, function: &Bound<'_, PyAny>) -> Value {
        let mut functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        functions.push(function.clone().unbind());
        json!({self.marker.0.as_str(): functions.len() - 1})
    }

    fn find(&self, py: Python<'_>, value: &Value) -> Option<Py<PyAny>> {
        let fields = value.as_object().filter(|fields| fields.len() == 1)?;
        let index = usize::try_from(fields.get(&self.marker.0)?.as_u64()?).ok()?;
        let functions = self.functions.lock().unwrap_or_else(PoisonError::into_inner);
        functions.get(index).map(|function| function.clone_ref(py))
    }

    /// A module or a part of it as data, with functions in the places of objects that stand for them.
    fn read(&self, value: &Bound<'_, PyAny>, frame: &Frame<'_>) -> PyResult<Value> {
        if let Ok(map) = value.cast::<PyDict>() {
            let mut all = Map::new();
            for (name, item) in map.iter() {
                let name: String = name
                    .extract()
                    .map_err(|_| PyTypeError::new_err("the keys of modules and elements must be text"))?;
                let item = self.read(&item, &frame.key(&name, value))?;
                all.insert(name, item);
            }
            return Ok(Value::Object(all));
        }
        let items = match (value.cast::<PyList>(), value.cast::<PyTuple>()) {
            (Ok(list), _) => list.as_sequence().clone(),
            (_, Ok(tuple)) => tuple.as_sequence().clone(),
            _ if value.is_callable() && !value.is_instance_of::<PyType>() => return Ok(self.add(value)),
            _ => return to_json(value, frame),
        };
        let mut all = Vec::new();
        for (index, item) in items.try_iter()?.enumerate() {
            all.push(self.read(&item?, &frame.index(index, value))?);
        }
        Ok(Value::Array(all))
    }

    /// Data as Python values, with the functions in their places.
    fn write<'py>(&self, py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
        if let Some(function) = self.find(py, value) {
            return Ok(function.into_bound(py));
        }
        match value {
            Value::Array(items) => {
                let list = PyList::empty(py);
                for item in items {
                    list.append(self.write(py, item)?)?;
                }
                Ok(list.into_any())
            }
            Value::Object(fields) => {
                let dict = PyDict::new(py);
                for (name, item) in fields {
                    dict.set_item(name, self.write(py, item)?)?;
                }
                Ok(dict.into_any())
            }
            other => to_python(py, other),
        }
    }
}

/// Calls the functions of a module.
struct Caller {
    table: Arc<FunctionTable>,
    context: Arc<Mutex<Option<Py<PyAny>>>>,
    /// The first exception of a function.
    raised: Arc<Mutex<Option<PyErr>>>,
}

impl Caller {
    fn new(table: &Arc<FunctionTable>) -> Self {
        Self { table: Arc::clone(table), context: Arc::default(), raised: Arc::default() }
    }

    /// What the function returns, as data.
    fn answer(
        &self,
        value: &Value,
    ) -> Option<impl Fn() -> Result<Value, hinagata::module::Error> + Send + Sync + 'static> {
        let function = Python::attach(|py| self.table.find(py, value))?;
        let (context, raised) = (Arc::clone(&self.context), Arc::clone(&self.raised));
        Some(move || {
            Python::attach(|py| {
                let context = context.lock().unwrap_or_else(PoisonError::into_inner);
                let context = context.as_ref().map_or_else(|| py.None(), |context| context.clone_ref(py));
                let called = function.bind(py).call1((context,));
                let read =
                    called.and_then(|answer| to_json(&answer, &Frame::root("the result of a function")));
                read.map_err(|error| {
                    let mut first = raised.lock().unwrap_or_else(PoisonError::into_inner);
                    first.get_or_insert(error);
                    Problem::new("", "a function failed").into()
                })
            })
        })
    }
}

impl Functions for Caller {
    fn content(&self, value: &Value) -> Option<Dynamic<Value>> {
        let answer = self.answer(value)?;
        let function = move |_: &Value| answer().and_then(|value| Yielded::from_json(&value));
        Some(Dynamic::new(function).with_json_form(value.clone()))
    }

    fn texts(&self, value: &Value) -> Option<DynamicText<Value>> {
        let answer = self.answer(value)?;
        let function = move |_: &Value| answer().and_then(|value| Texts::from_json(&value));
        Some(DynamicText::new(function).with_json_form(value.clone()))
    }
}

/// A module of Python values, read.
struct ReadModule {
    module: PromptModule<Value>,
    caller: Caller,
}

fn raise(py: Python<'_>, error: hinagata::module::Error) -> PyErr {
    to_exception(py, &module_error(error))
}

/// Reads a module, or a list of modules, which are merged.
fn read_module(py: Python<'_>, modules: &[Bound<'_, PyAny>]) -> PyResult<ReadModule> {
    let table = Arc::new(FunctionTable::new()?);
    let caller = Caller::new(&table);
    let mut all = Vec::with_capacity(modules.len());
    for module in modules {
        let mut document = read_document(&table, module)?;
        if let Some(fields) = document.as_object_mut()
            && let Some(create) = fields.get("createContext")
            && let Some(function) = table.find(py, create)
        {
            let context = to_json(&function.bind(py).call0()?, &Frame::root("createContext()"))?;
            fields.insert("createContext".to_owned(), context);
        }
        all.push(PromptModule::from_json_with(&document, &caller).map_err(|error| raise(py, error))?);
    }
    let module = match all.len() {
        1 => all.remove(0),
        _ => merge_modules(all).map_err(|error| raise(py, error))?,
    };
    Ok(ReadModule { module, caller })
}

fn read_document(table: &FunctionTable, module: &Bound<'_, PyAny>) -> PyResult<Value> {
    let Ok(mapping) = module.cast::<PyMapping>() else {
        let kind = module.get_type().name()?.to_string();
        return Err(PyTypeError::new_err(format!("a module must be a mapping of sections, not `{kind}`")));
    };
    let mut all = Map::new();
    for pair in mapping.items()?.iter() {
        let (name, item) = pair.extract::<(String, Bound<'_, PyAny>)>()?;
        let item = table.read(&item, &Frame::root(&name))?;
        all.insert(name, item);
    }
    Ok(Value::Object(all))
}

/// Merges modules: later entries follow earlier ones in each section.
#[pyfunction]
#[pyo3(signature = (*modules))]
pub(crate) fn merge<'py>(py: Python<'py>, modules: Vec<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
    let read = read_module(py, &modules)?;
    read.caller.table.write(py, &read.module.to_json())
}

/// Compiles a module, or several merged ones, in a context that its functions get.
#[pyfunction]
#[pyo3(signature = (module, context=None, *, order="standard"))]
pub(crate) fn compile<'py>(
    py: Python<'py>,
    module: &Bound<'py, PyAny>,
    context: Option<Bound<'py, PyAny>>,
    order: &str,
) -> PyResult<CompiledPrompt> {
    let modules = match module.cast::<PyList>() {
        Ok(list) => list.iter().collect(),
        Err(_) => vec![module.clone()],
    };
    let ReadModule { module, caller } = read_module(py, &modules)?;
    let context = match context {
        Some(context) => context,
        None => to_python(py, &module.create_context())?,
    };
    *caller.context.lock().unwrap_or_else(PoisonError::into_inner) = Some(context.unbind());
    let compiled = match order {
        "flat" => module.compile_flat(&Value::Null),
        _ => match Order::from_name(order) {
            Some(order) => module.compile_in(order, &Value::Null),
            None => {
                let names: Vec<&str> = Order::ALL.map(Order::name).into_iter().chain(["flat"]).collect();
                let names = names.join(", ");
                return Err(PyValueError::new_err(format!("order must be one of {names}, not `{order}`")));
            }
        },
    };
    if let Some(error) = caller.raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    let compiled = compiled.map_err(|error| raise(py, error))?;
    let class = warning_class(py)?;
    for warning in &compiled.warnings {
        let text = std::ffi::CString::new(warning.to_string().replace('\0', " ")).unwrap_or_default();
        PyErr::warn(py, &class, &text, 1)?;
    }
    Ok(CompiledPrompt(Arc::new(compiled)))
}

/// All problems of a module: dicts with `path`, `message`, `near` and `hint`.
#[pyfunction]
pub(crate) fn validate<'py>(py: Python<'py>, module: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let table = Arc::new(FunctionTable::new()?);
    let mut document = read_document(&table, module)?;
    if let Some(fields) = document.as_object_mut()
        && fields.get("createContext").is_some_and(|create| table.find(py, create).is_some())
    {
        fields.remove("createContext");
    }
    let problems = match PromptModule::from_json_with(&document, &Caller::new(&table)) {
        Ok(_) => Vec::new(),
        Err(error) => error.problems().to_vec(),
    };
    let problem = |problem: &Problem| json!({"path": problem.path, "message": problem.message, "near": problem.near, "hint": problem.hint});
    to_python(py, &problems.iter().map(problem).collect())
}

/// A compiled prompt: elements in three parts, and the schema of the answer.
#[pyclass(frozen, module = "hinagata.module")]
pub(crate) struct CompiledPrompt(Arc<Compiled>);

#[pymethods]
impl CompiledPrompt {
    #[new]
    fn new(py: Python<'_>, document: &Bound<'_, PyAny>) -> PyResult<Self> {
        let document = to_json(document, &Frame::root("prompt"))?;
        Compiled::from_json(&document).map(|prompt| Self(Arc::new(prompt))).map_err(|error| raise(py, error))
    }

    /// The elements that say what the model has to do.
    #[getter]
    fn instructions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.part(py, Part::Instructions)
    }

    /// The elements that it works on.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.part(py, Part::Data)
    }

    /// The elements of the output that it writes.
    #[getter]
    fn output<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.part(py, Part::Output)
    }

    /// The JSON Schema of the answer, or None.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.schema().map_or_else(|| Ok(py.None().into_bound(py)), |schema| to_python(py, schema))
    }

    /// The prompt as one text.
    #[pyo3(signature = (**options))]
    fn text(&self, py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
        let options = text_options(read_options(options)?)?;
        Ok(py.detach(|| prompt_text(&self.0, &options)))
    }

    /// The keyword arguments for the official client of a provider.
    #[pyo3(signature = (driver, **options))]
    fn request<'py>(
        &self,
        py: Python<'py>,
        driver: &str,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let driver = Driver::from_name(driver).map_err(|error| raise(py, error))?;
        let options = request::merge_options(RequestOptions::default(), read_options(options)?)
            .map_err(|error| to_exception(py, &error))?;
        let formatted = driver.format(&self.0, &options).map_err(|error| raise(py, error))?;
        request::to_arguments(py, driver, &formatted, &options)
    }

    /// The prompt as data.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.0.to_json())
    }

    fn __str__(&self) -> String {
        prompt_text(&self.0, &TextOptions::default())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        let document = to_python(slf.py(), &slf.get().0.to_json_with_order())?;
        Ok((slf.get_type().into_any(), (document,)))
    }
}

impl CompiledPrompt {
    fn part<'py>(&self, py: Python<'py>, part: Part) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.0.part(part).iter().map(Element::to_json).collect())
    }
}

/// A compiled prompt in a format: `text`, `messages`, or the arguments of a client.
#[pyfunction]
#[pyo3(signature = (prompt, format="text", **options))]
pub(crate) fn format_prompt<'py>(
    py: Python<'py>,
    prompt: &Bound<'py, PyAny>,
    format: &str,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(list) = prompt.cast::<PyList>() {
        return elements(list, format, options);
    }
    let prompt = prompt
        .cast::<CompiledPrompt>()
        .map_err(|_| PyTypeError::new_err("format needs a CompiledPrompt: `compile(module)`"))?;
    let prompt = prompt.get();
    Ok(match format {
        "text" => prompt.text(py, options)?.into_pyobject(py)?.into_any(),
        "messages" => to_python(py, &hinagata::module::json::messages_to_json(&chat_messages(&prompt.0)))?,
        driver => prompt.request(py, driver, options)?,
    })
}

/// A list of elements as text.
fn elements<'py>(
    list: &Bound<'py, PyList>,
    format: &str,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = list.py();
    if format != "text" {
        return Err(PyValueError::new_err("a list of elements has only the format text"));
    }
    let mut all = Vec::with_capacity(list.len());
    for (index, item) in list.iter().enumerate() {
        let document = to_json(&item, &Frame::root(&format!("elements[{index}]")))?;
        all.push(Element::from_json(&document).map_err(|error| raise(py, error))?);
    }
    let options = text_options(read_options(options)?)?;
    Ok(elements_text(&all, &options).into_pyobject(py)?.into_any())
}

/// The options of text, in Python's spelling.
fn text_options(given: Map<String, Value>) -> PyResult<TextOptions> {
    let mut options = TextOptions::default();
    let mut tokens = None;
    for (name, value) in given {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let wrong = || PyTypeError::new_err(format!("wrong type of the option `{name}`: {value}"));
        match name.as_str() {
            "preamble" => options.preamble = text(&value).ok_or_else(wrong)?,
            "line_break" => options.line_break = text(&value).ok_or_else(wrong)?,
            "always_output_header" => options.always_output_header = value.as_bool().ok_or_else(wrong)?,
            "descriptions" => {
                options.descriptions = Descriptions {
                    instructions: text(&value["instructions"]),
                    data: text(&value["data"]),
                    output: text(&value["output"]),
                };
            }
            "markers" => {
                options.markers = Markers {
                    message_role: text(&value["message_role"]),
                    message_content: text(&value["message_content"]),
                    chunk_start: text(&value["chunk_start"]),
                    chunk_end: text(&value["chunk_end"]),
                    subsection_start: text(&value["subsection_start"]),
                    subsection_end: text(&value["subsection_end"]),
                };
            }
            "special_tokens" => options.special_tokens = read_tokens(&value).ok_or_else(wrong)?,
            "for_tokens" => tokens = Some(read_tokens(&value).ok_or_else(wrong)?),
            _ => {
                let known = "preamble, line_break, always_output_header, descriptions, markers, special_tokens, \
                             for_tokens";
                let message = format!("unknown option of text `{name}`; use one of {known}");
                return Err(PyTypeError::new_err(message));
            }
        }
    }
    Ok(match tokens {
        Some(tokens) => options.for_tokens(tokens),
        None => options,
    })
}

/// Special tokens: a text, or a pair of texts, by name.
fn read_tokens(value: &Value) -> Option<SpecialTokens> {
    let token = |value: &Value| match value {
        Value::String(one) => Some(SpecialToken::Single(one.clone())),
        Value::Array(pair) => match pair.as_slice() {
            [Value::String(start), Value::String(end)] => {
                Some(SpecialToken::Pair { start: start.clone(), end: end.clone() })
            }
            _ => None,
        },
        _ => None,
    };
    let all: Option<_> =
        value.as_object()?.iter().map(|(name, value)| Some((name.clone(), token(value)?))).collect();
    all.map(SpecialTokens)
}

/// The JSON in the answer of a model: `values`, `repaired` and `source`.
#[pyfunction]
#[pyo3(signature = (text, *, repair=true, multiple=false))]
pub(crate) fn extract_json<'py>(
    py: Python<'py>,
    text: &str,
    repair: bool,
    multiple: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let found = py.detach(|| extract(text, ExtractOptions { repair, multiple }));
    let fields = json!({"values": found.values, "repaired": found.repaired, "source": found.source.name()});
    match fields {
        Value::Object(fields) => map_to_python(py, &fields),
        _ => Ok(PyDict::new(py)),
    }
}

/// Adds the functions to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(merge, module)?)?;
    module.add_function(wrap_pyfunction!(compile, module)?)?;
    module.add_function(wrap_pyfunction!(validate, module)?)?;
    module.add_function(wrap_pyfunction!(format_prompt, module)?)?;
    module.add_function(wrap_pyfunction!(extract_json, module)?)?;
    module.add_class::<CompiledPrompt>()?;
    Ok(())
}
