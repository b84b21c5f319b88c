//! `Engine`: the prompts of a workspace.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use hinagata::{
    Candidate, Catalog, Context, Engine as PromptEngine, Listing, PromptFilter, Request, Result, Severity,
    definition::UndefinedMode, ports::Clock, watch::Change,
};
use hinagata_host::OpenOptions;
use hinagata_python::Launcher;
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    intern,
    prelude::*,
    types::{PyMapping, PyString},
};
use serde_json::{Map, Value, json};

use crate::{
    call::{Call, run_async, run_sync},
    cases::CaseFile,
    errors::{hint_text, to_exception, warning_class},
    opened::{Opened, Place, Surroundings},
    rendered::Rendered,
    values::{Frame, session_to_json, to_json, to_python},
    variables::CallVariables,
};

/// The prompts of a workspace. One engine serves any number of threads.
#[pyclass(frozen, module = "hinagata", subclass)]
pub(crate) struct Engine {
    place: Arc<Place>,
}

impl Engine {
    fn opened(&self, py: Python<'_>) -> PyResult<Arc<Opened>> {
        self.attempt(py, |opened| Ok(Arc::clone(opened)))
    }

    /// Runs `work` on the open workspace, without the lock of the interpreter.
    fn attempt<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Arc<Opened>) -> Result<T> + Send,
    ) -> PyResult<T> {
        let result = py.detach(|| work(&self.place.opened()?));
        result.map_err(|error| to_exception(py, &error))
    }

    fn call(
        &self,
        py: Python<'_>,
        prompt_id: &str,
        variables: Option<&Bound<'_, PyAny>>,
        context: Option<&Bound<'_, PyAny>>,
        options: CallOptions<'_>,
    ) -> PyResult<Call> {
        let opened = self.opened(py)?;
        let variables = read_variables(py, &opened.engine, prompt_id, variables)?;
        let context = context.map_or_else(|| Ok(Context::default()), read_context)?;
        let undefined = options.undefined.map(read_undefined).transpose()?;
        let deadline = options.timeout.map(read_timeout).transpose()?;
        Ok(Call {
            opened,
            prompt: prompt_id.to_owned(),
            variables,
            context,
            undefined,
            deadline,
            cancel: None,
            explained: options.explained,
        })
    }
}

struct CallOptions<'o> {
    undefined: Option<&'o str>,
    timeout: Option<f64>,
    explained: Option<bool>,
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (root=None, *, settings=None, trusted=false, clock=None))]
    fn new(
        py: Python<'_>,
        root: Option<PathBuf>,
        settings: Option<&Bound<'_, PyAny>>,
        trusted: bool,
        clock: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let settings = settings.map_or_else(|| Ok(Vec::new()), read_settings)?;
        let options = OpenOptions { root, settings, trusted, ..OpenOptions::default() };
        let directory = std::env::current_dir()?;
        let around = Surroundings {
            launcher: find_launcher(py)?,
            python: interpreter_path(py)?,
            clock: clock.map(read_clock).transpose()?,
        };
        let place = Place::new(options, directory, around);
        let engine = Self { place };
        warn_of_settings(py, &*engine.opened(py)?)?;
        Ok(engine)
    }

    /// Renders a prompt.
    #[pyo3(signature = (prompt_id, variables=None, context=None, *, undefined=None, timeout=None))]
    fn render(
        &self,
        py: Python<'_>,
        prompt_id: &str,
        variables: Option<&Bound<'_, PyAny>>,
        context: Option<&Bound<'_, PyAny>>,
        undefined: Option<&str>,
        timeout: Option<f64>,
    ) -> PyResult<Rendered> {
        let options = CallOptions { undefined, timeout, explained: None };
        let call = self.call(py, prompt_id, variables, context, options)?;
        run_sync(py, call)
    }

    /// Renders a prompt and records what the render does.
    #[pyo3(signature = (prompt_id, variables=None, context=None, *, undefined=None, timeout=None, map=true))]
    #[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn explain(
        &self,
        py: Python<'_>,
        prompt_id: &str,
        variables: Option<&Bound<'_, PyAny>>,
        context: Option<&Bound<'_, PyAny>>,
        undefined: Option<&str>,
        timeout: Option<f64>,
        map: bool,
    ) -> PyResult<Rendered> {
        let options = CallOptions { undefined, timeout, explained: Some(map) };
        let call = self.call(py, prompt_id, variables, context, options)?;
        run_sync(py, call)
    }

    /// Starts a render for a caller that awaits it.
    #[pyo3(signature = (prompt_id, variables, context, undefined, timeout, explained))]
    #[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn _begin<'py>(
        &self,
        py: Python<'py>,
        prompt_id: &str,
        variables: Option<&Bound<'py, PyAny>>,
        context: Option<&Bound<'py, PyAny>>,
        undefined: Option<&str>,
        timeout: Option<f64>,
        explained: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = CallOptions { undefined, timeout, explained };
        let call = self.call(py, prompt_id, variables, context, options)?;
        run_async(py, call)
    }

    /// Checks variables against the declarations of a prompt, without rendering it.
    #[pyo3(signature = (prompt_id, variables=None, context=None))]
    fn validate<'py>(
        &self,
        py: Python<'py>,
        prompt_id: &str,
        variables: Option<&Bound<'py, PyAny>>,
        context: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let variables = CallVariables::read(variables, |_| true)?;
        let context = context.map_or_else(|| Ok(Context::default()), read_context)?;
        let found = self.attempt(py, |opened| {
            let request = Request::new(prompt_id).with_variable_map(variables.map()).with_context(&context);
            opened.engine.validate(&request)
        })?;
        to_python(py, &serde_json::to_value(found).unwrap_or_default())
    }

    /// The definition of a prompt: metadata, variables, permissions, limits.
    fn get_definition<'py>(&self, py: Python<'py>, prompt_id: &str) -> PyResult<Bound<'py, PyAny>> {
        let found = self.attempt(py, |opened| {
            let found = opened.engine.definition(prompt_id)?;
            let catalog = opened.engine.catalog();
            Ok(found.to_json(&catalog.defaults()?.limits_of(&found, &opened.workspace.settings)))
        })?;
        to_python(py, &found)
    }

    /// The prompts, in the order of their ids.
    #[pyo3(signature = (type_filter=None, tag_filter=None))]
    fn list_prompts<'py>(
        &self,
        py: Python<'py>,
        type_filter: Option<String>,
        tag_filter: Option<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let filter = PromptFilter {
            kind: type_filter,
            tags: tag_filter.into_iter().collect(),
            ..PromptFilter::default()
        };
        let found = self.attempt(py, |opened| {
            let catalog = opened.engine.catalog();
            let all = catalog.list();
            Ok(all
                .iter()
                .filter(|listing| filter.matches_listing(listing))
                .map(|listing| listing_json(&catalog, listing))
                .collect::<Value>())
        })?;
        to_python(py, &found)
    }

    /// All candidates for a name in search order.
    fn list_candidates<'py>(&self, py: Python<'py>, prompt_id: &str) -> PyResult<Bound<'py, PyAny>> {
        let found: Vec<Candidate> =
            self.attempt(py, |opened| opened.engine.catalog().candidates(prompt_id))?;
        to_python(py, &serde_json::to_value(found).unwrap_or_default())
    }

    /// Records which candidate a name refers to.
    fn set_resolution(&self, py: Python<'_>, prompt_id: &str, source: &str) -> PyResult<()> {
        self.attempt(py, |opened| opened.engine.set_resolution(prompt_id, source).map(|_| ()))
    }

    /// The id that a name refers to, whatever its spelling.
    fn resolve_id(&self, py: Python<'_>, prompt_id: &str) -> PyResult<String> {
        self.attempt(py, |opened| Ok(opened.engine.catalog().resolve_id(prompt_id)?.as_str().to_owned()))
    }

    /// The sorted names of the variables that the templates of a prompt read.
    fn reads(&self, py: Python<'_>, prompt_id: &str) -> PyResult<Vec<String>> {
        self.attempt(py, |opened| opened.engine.template_variables(prompt_id))
    }

    /// The preferred word for a word of the vocabulary, or None.
    fn vocab(&self, py: Python<'_>, namespace: &str, word: &str) -> PyResult<Option<String>> {
        self.attempt(py, |opened| Ok(opened.engine.preferred_word(namespace, word)))
    }

    /// The test file of a prompt at a path from the workspace root; None if it belongs to no prompt.
    fn _find_cases(&self, py: Python<'_>, file: &str) -> PyResult<Option<CaseFile>> {
        self.attempt(py, |opened| Ok(CaseFile::find(&self.place, &opened.engine.catalog(), file)))
    }

    /// Problems of the workspace: dicts with `source`, `severity`, `code` and `message`.
    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let found = self.attempt(py, |opened| {
            let mut all = opened.workspace.settings.diagnostics().to_vec();
            all.extend(opened.workspace.trust_problem.clone());
            all.extend(opened.engine.catalog().diagnostics());
            all.extend(opened.engine.tool_diagnostics());
            Ok(all)
        })?;
        let all: Value = found
            .iter()
            .map(|found| {
                json!({
                    "source": found.source, "severity": severity_name(found.severity),
                    "code": found.error.code().as_str(), "message": found.error.message(),
                    "hint": found.error.hint().map(hint_text),
                })
            })
            .collect();
        to_python(py, &all)
    }

    /// Follows changes of files from now on, and calls `on_change` with the changed paths after each.
    #[pyo3(signature = (on_change=None))]
    fn watch(&self, py: Python<'_>, on_change: Option<Py<PyAny>>) -> PyResult<Watch> {
        let listener = move |change: &Change| {
            let Some(callback) = &on_change else { return };
            let paths: Vec<String> = change.paths.iter().map(|path| path.display().to_string()).collect();
            // At the end of the interpreter nobody listens any more.
            let _ = Python::try_attach(|py| {
                if let Err(error) = callback.call1(py, (paths,)) {
                    error.write_unraisable(py, Some(callback.bind(py)));
                }
            });
        };
        let listener = Arc::new(listener);
        let number =
            py.detach(|| self.place.add_listener(listener)).map_err(|error| to_exception(py, &error))?;
        Ok(Watch { place: Arc::clone(&self.place), number })
    }

    /// Lists the workspace again. Renders in progress go on with what they started with.
    fn reload(&self, py: Python<'_>) -> PyResult<()> {
        self.attempt(py, |opened| {
            opened.engine.reload();
            Ok(())
        })
    }

    /// The workspace root.
    #[getter]
    fn root<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let root = self.attempt(py, |opened| Ok(opened.engine.root()))?;
        py.import(intern!(py, "pathlib"))?.getattr(intern!(py, "Path"))?.call1((root,))
    }

    /// Ends its processes, threads and connections. Calls fail afterwards.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.place.close());
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) {
        self.close(py);
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let root = self.attempt(py, |opened| Ok(opened.engine.root().display().to_string()));
        root.map_or_else(|_| "<Engine, closed>".to_owned(), |root| format!("<Engine {root}>"))
    }
}

/// What [`Engine::watch`] returns: changes are reported until it is closed.
#[pyclass(frozen, module = "hinagata")]
pub(crate) struct Watch {
    place: Arc<Place>,
    number: u64,
}

#[pymethods]
impl Watch {
    /// Ends the reports.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.place.remove_listener(self.number));
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyAny>) {
        self.close(py);
    }
}

/// The variables of a call. Those that the prompt cannot use are named, but not converted.
fn read_variables(
    py: Python<'_>,
    engine: &PromptEngine,
    prompt: &str,
    variables: Option<&Bound<'_, PyAny>>,
) -> PyResult<CallVariables> {
    let used = engine.used_variables(prompt);
    let read = CallVariables::read(variables, |name| used.as_ref().is_none_or(|used| used.contains(name)));
    match read {
        // What the prompt uses is known once it is prepared.
        Err(refused) if used.is_none() => {
            let prepared = py.detach(|| engine.template_variables(prompt).is_ok());
            match engine.used_variables(prompt).filter(|_| prepared) {
                Some(used) => CallVariables::read(variables, |name| used.contains(name)),
                None => Err(refused),
            }
        }
        read => read,
    }
}

/// Facts about the call. Unknown entries are for callers of other renderers, and have no effect.
fn read_context(context: &Bound<'_, PyAny>) -> PyResult<Context> {
    let py = context.py();
    let mapping = context.cast::<PyMapping>().map_err(|_| {
        let kind = context.get_type().name().map(|name| name.to_string()).unwrap_or_default();
        PyTypeError::new_err(format!("the context must be a mapping, not `{kind}`"))
    })?;
    let mut fields = Map::new();
    for name in ["agent_id", "model", "language", "workspace_path", "session_id", "session_state"] {
        if mapping.contains(name)? {
            let value = to_json(&mapping.get_item(name)?, &Frame::root(&format!("context.{name}")))?;
            fields.insert(name.to_owned(), value);
        }
    }
    if mapping.contains(intern!(py, "session"))? {
        let session = mapping.get_item(intern!(py, "session"))?;
        fields.insert("session".to_owned(), session_to_json(&session, &Frame::root("context.session"))?);
    }
    let mut read = Context::from_map(&fields);
    if mapping.contains(intern!(py, "project"))? {
        read.project = mapping.get_item(intern!(py, "project"))?.extract()?;
    }
    Ok(read)
}

fn read_undefined(name: &str) -> PyResult<UndefinedMode> {
    UndefinedMode::from_name(name).ok_or_else(|| {
        let names = UndefinedMode::NAMES.join(", ");
        PyValueError::new_err(format!("undefined must be one of {names}, not `{name}`"))
    })
}

fn read_timeout(seconds: f64) -> PyResult<Instant> {
    let time = Duration::try_from_secs_f64(seconds)
        .map_err(|_| PyValueError::new_err(format!("timeout must be a number of seconds, not {seconds}")))?;
    Ok(Instant::now().checked_add(time).unwrap_or_else(|| Instant::now() + Duration::from_secs(1 << 30)))
}

/// Settings as the command line takes them: `section.key=value`.
fn read_settings(settings: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if settings.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(
            "settings must be a mapping or a list of texts `section.key=value`",
        ));
    }
    let Ok(mapping) = settings.cast::<PyMapping>() else { return settings.extract() };
    let mut all = Vec::new();
    for pair in mapping.items()?.iter() {
        let (name, value) = pair.extract::<(String, Bound<'_, PyAny>)>()?;
        add_setting(&mut all, &name, &to_json(&value, &Frame::root(&name))?);
    }
    Ok(all)
}

fn add_setting(all: &mut Vec<String>, name: &str, value: &Value) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                add_setting(all, &format!("{name}.{field}"), value);
            }
        }
        Value::String(text) => all.push(format!("{name}={text}")),
        Value::Array(items) => {
            let texts: Vec<String> = items
                .iter()
                .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
                .collect();
            all.push(format!("{name}={}", texts.join(",")));
        }
        other => all.push(format!("{name}={other}")),
    }
}

/// A clock that stands still, for renders that must not depend on the time.
struct FixedClock(SystemTime);

impl Clock for FixedClock {
    fn now(&self) -> SystemTime {
        self.0
    }
}

/// The clock of a `datetime`.
fn read_clock(clock: &Bound<'_, PyAny>) -> PyResult<Arc<dyn Clock>> {
    let seconds: f64 = clock.call_method0(intern!(clock.py(), "timestamp"))?.extract()?;
    let time =
        Duration::try_from_secs_f64(seconds).ok().and_then(|since| SystemTime::UNIX_EPOCH.checked_add(since));
    let time = time.ok_or_else(|| PyValueError::new_err("clock must be a datetime after 1970"))?;
    Ok(Arc::new(FixedClock(time)))
}

/// The Python that runs this.
fn interpreter_path(py: Python<'_>) -> PyResult<Option<PathBuf>> {
    let sys = py.import(intern!(py, "sys"))?;
    let is_python = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("python"))
    };
    for name in ["executable", "_base_executable"] {
        let path: Option<PathBuf> = sys.getattr(name).ok().and_then(|path| path.extract().ok());
        // Servers that embed Python name themselves.
        if let Some(path) = path.filter(|path| path.is_absolute() && is_python(path)) {
            return Ok(Some(path));
        }
    }
    let prefix: PathBuf = sys.getattr(intern!(py, "prefix"))?.extract()?;
    Ok(Some(prefix.join("bin/python3")).filter(|path| path.is_file()))
}

/// The program that confines itself and becomes the Python of hooks: this library, loaded by a fresh interpreter that
/// has nothing else in it.
fn find_launcher(py: Python<'_>) -> PyResult<Option<Launcher>> {
    let Some(python) = interpreter_path(py)? else { return Ok(None) };
    let core = py.import(intern!(py, "hinagata._core"))?;
    let file: String = core.getattr(intern!(py, "__file__"))?.extract()?;
    let script = "import sys\n\
                  from importlib.machinery import ExtensionFileLoader, ModuleSpec\n\
                  loader = ExtensionFileLoader('_core', sys.argv[2])\n\
                  module = loader.create_module(ModuleSpec('_core', loader, origin=sys.argv[2]))\n\
                  loader.exec_module(module)\n\
                  module._become_hook()";
    let arguments = ["-I", "-S", "-B", "-c", script, hinagata_python::LAUNCHER_ARGUMENT, &file];
    let arguments = arguments.into_iter().map(Into::into).collect();
    Ok(Some(Launcher { program: python, arguments }))
}

/// Warns of settings that have no effect.
fn warn_of_settings(py: Python<'_>, opened: &Opened) -> PyResult<()> {
    let class = warning_class(py)?;
    let problems = opened.workspace.settings.diagnostics().iter().chain(&opened.workspace.trust_problem);
    for problem in problems {
        let mut text = format!("{}: {}", problem.source, problem.error.message());
        if let Some(hint) = problem.error.hint() {
            text = format!("{text} ({})", hint_text(hint));
        }
        let text = std::ffi::CString::new(text.replace('\0', " ")).unwrap_or_default();
        PyErr::warn(py, &class, &text, 1)?;
    }
    Ok(())
}

const fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// A prompt in a list.
fn listing_json(catalog: &Catalog, listing: &Listing) -> Value {
    let entry = catalog.choose(listing.id.as_str()).ok().map(|choice| choice.entry);
    let definition = listing.definition.as_ref();
    let metadata = definition.ok().map(|definition| &definition.metadata);
    json!({
        "prompt_id": listing.id.as_str(),
        "type": metadata.map(|metadata| &metadata.kind),
        "version": metadata.map(|metadata| &metadata.version),
        "title": metadata.map(|metadata| &metadata.title),
        "description": metadata.map(|metadata| &metadata.description),
        "tags": metadata.map(|metadata| &metadata.tags),
        "source": entry.as_deref().map(hinagata::source::Entry::source),
        "pack_id": entry.as_deref().and_then(hinagata::source::Entry::pack),
        "error": definition.err().map(|error| {
            json!({"code": error.code().as_str(), "message": error.message(),
                "hint": error.hint().map(hint_text)})
        }),
    })
}
