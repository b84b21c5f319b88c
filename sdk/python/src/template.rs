//! `Template`: a bare template of either language.

use std::collections::HashSet;

use hinagata_gotemplate::{Integers, MissingKey};
use hinagata_jinja::Moment;
use hinagata_template::{
    Cache, Content, Language, MemorySources, Message, Options, Render, SourceText, UndefinedMode,
    VariablePath,
};
use hinagata_value::Limits;
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    intern,
    prelude::*,
    types::{PyDict, PyMapping, PyString},
};
use serde_json::{Value, json};

use crate::{errors::to_exception, values::to_python, variables::CallVariables};

/// A compiled template. Compile once, render often, from any thread.
#[pyclass(frozen, module = "hinagata")]
pub(crate) struct Template {
    template: hinagata_template::Template,
    sources: MemorySources,
    cache: Cache,
    limits: Limits,
    /// The variables that it can read; `None` if it can read any.
    reads: Option<HashSet<String>>,
}

#[pymethods]
impl Template {
    #[new]
    #[pyo3(signature = (
        source, *, language="jinja", name="template", templates=None, undefined="jinja", trim_blocks=false,
        lstrip_blocks=false, keep_trailing_newline=false, autoescape=false, immutable=false, chat=false, clock=None,
        delimiters=None, missing_key=None, exact_integers=true,
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python's keyword arguments")]
    fn new(
        py: Python<'_>,
        source: &str,
        language: &str,
        name: &str,
        templates: Option<&Bound<'_, PyMapping>>,
        undefined: &str,
        trim_blocks: bool,
        lstrip_blocks: bool,
        keep_trailing_newline: bool,
        autoescape: bool,
        immutable: bool,
        chat: bool,
        clock: Option<&Bound<'_, PyAny>>,
        delimiters: Option<(String, String)>,
        missing_key: Option<&str>,
        exact_integers: bool,
    ) -> PyResult<Self> {
        let language = Language::from_name(language).ok_or_else(|| {
            PyValueError::new_err(format!("language must be jinja or go, not `{language}`"))
        })?;
        let mut options = Options::default();
        options.jinja.trim_blocks = trim_blocks;
        options.jinja.lstrip_blocks = lstrip_blocks;
        options.jinja.keep_trailing_newline = keep_trailing_newline;
        options.jinja.generation = chat;
        options.settings.autoescape = autoescape;
        options.settings.immutable = immutable;
        options.settings.chat_host = chat;
        if chat {
            options.settings.now = read_moment(py, clock)?;
        }
        options = options.with_undefined(read_undefined(undefined)?);
        if let Some((left, right)) = delimiters {
            (options.go.left, options.go.right) = (left, right);
        }
        options.go.integers = if exact_integers { Integers::Exact } else { Integers::Float };
        if let Some(missing) = missing_key {
            options.go.missing_key = MissingKey::from_name(missing).ok_or_else(|| {
                PyValueError::new_err(format!("missing_key must be invalid, zero or error, not `{missing}`"))
            })?;
        }
        let limits = Limits::default();
        let mut sources = MemorySources::new();
        if let Some(templates) = templates {
            for pair in templates.items()?.iter() {
                let (name, text) = pair.extract::<(String, String)>()?;
                let spoken = if name.contains('.') { Language::from_file_name(&name) } else { language };
                sources.insert_source(name, SourceText::new(spoken, text));
            }
        }
        let compiled =
            py.detach(|| hinagata_template::Template::compile(language, name, source, &options, &limits));
        let template = compiled.map_err(|error| to_exception(py, &error.into()))?;
        let reads = read_names(&template);
        Ok(Self { template, sources, cache: Cache::default(), limits, reads })
    }

    /// Renders the template to text.
    #[pyo3(signature = (variables=None, /, **named))]
    fn render<'py>(
        &self,
        py: Python<'py>,
        variables: Option<&Bound<'py, PyAny>>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyString>> {
        let variables = self.variables(variables, named)?;
        let rendered = py.detach(|| self.job().render_text(&self.template, variables.map()));
        match rendered {
            Ok(text) => Ok(PyString::new(py, &text)),
            Err(error) => Err(to_exception(py, &error.into())),
        }
    }

    /// Renders the template to messages: dicts with `role` and `content`.
    #[pyo3(signature = (variables=None, /, **named))]
    fn render_messages<'py>(
        &self,
        py: Python<'py>,
        variables: Option<&Bound<'py, PyAny>>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let variables = self.variables(variables, named)?;
        let rendered = py.detach(|| self.job().render_messages(&self.template, variables.map()));
        let messages = rendered.map_err(|error| to_exception(py, &error.into()))?;
        to_python(py, &messages.iter().map(message_json).collect())
    }

    /// The sorted names of the variables that the template reads itself.
    fn reads(&self) -> Vec<String> {
        let analysis = self.template.analysis();
        let mut names: Vec<String> =
            analysis.variables.iter().map(|used| used.path.root.to_string()).collect();
        names.sort_unstable();
        names.dedup();
        names.retain(|name| name != VariablePath::WHOLE);
        names
    }

    /// Its name, which errors contain.
    #[getter]
    fn name(&self) -> &str {
        self.template.name()
    }

    /// Its source.
    #[getter]
    fn source(&self) -> &str {
        self.template.source().text()
    }

    /// Its language: `jinja` or `go`.
    #[getter]
    fn language(&self) -> &'static str {
        self.template.language().as_str()
    }

    fn __repr__(&self) -> String {
        format!("<Template {}>", self.template.name())
    }
}

impl Template {
    fn variables(
        &self,
        variables: Option<&Bound<'_, PyAny>>,
        named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<CallVariables> {
        let is_used = |name: &str| self.reads.as_ref().is_none_or(|reads| reads.contains(name));
        match (variables, named) {
            (Some(_), None) | (None, None) => CallVariables::read(variables, is_used),
            (None, Some(named)) => CallVariables::read(Some(named.as_any()), is_used),
            (Some(_), Some(named)) => {
                let mut all = CallVariables::read(variables, is_used)?.into_map();
                all.extend(CallVariables::read(Some(named.as_any()), is_used)?.into_map());
                Ok(CallVariables::Own(all))
            }
        }
    }

    fn job(&self) -> Render<'_> {
        Render::new().with_limits(self.limits.clone()).with_sources(&self.sources).with_cache(&self.cache)
    }
}

/// The variables that a template can read; `None` if it can read any: through others, or all together.
fn read_names(template: &hinagata_template::Template) -> Option<HashSet<String>> {
    let analysis = template.analysis();
    let reads_all = !analysis.templates.is_empty()
        || template.language() == Language::Go
        || analysis.variables.iter().any(|used| used.path.is_whole());
    (!reads_all).then(|| analysis.variables.iter().map(|used| used.path.root.to_string()).collect())
}

fn read_undefined(name: &str) -> PyResult<UndefinedMode> {
    Ok(match name {
        "empty" => UndefinedMode::Empty,
        "jinja" => UndefinedMode::Jinja,
        "error" => UndefinedMode::Error,
        "debug" => UndefinedMode::Debug,
        _ => {
            let message = format!("undefined must be one of empty, jinja, error, debug, not `{name}`");
            return Err(PyValueError::new_err(message));
        }
    })
}

/// The time that `strftime_now` formats: that of `clock`, or now.
fn read_moment(py: Python<'_>, clock: Option<&Bound<'_, PyAny>>) -> PyResult<Moment> {
    let now = match clock {
        Some(clock) => clock.clone(),
        None => py
            .import(intern!(py, "datetime"))?
            .getattr(intern!(py, "datetime"))?
            .call_method0(intern!(py, "now"))?,
    };
    let part = |name: &str| -> PyResult<u8> {
        let wrong = |_| PyTypeError::new_err("clock must be a datetime");
        now.getattr(name).map_err(wrong)?.extract()
    };
    let year = now.getattr("year").map_err(|_| PyTypeError::new_err("clock must be a datetime"))?;
    Ok(Moment {
        year: year.extract()?,
        month: part("month")?,
        day: part("day")?,
        hour: part("hour")?,
        minute: part("minute")?,
        second: part("second")?,
    })
}

fn message_json(message: &Message) -> Value {
    let part = |content: &Content| match content {
        Content::Text(text) => json!({"type": "text", "text": text}),
        Content::Part { kind, content } => json!({"type": kind, "content": content}),
    };
    let content = match message.content.as_slice() {
        [] => Value::from(""),
        [Content::Text(text)] => Value::from(text.as_str()),
        parts => parts.iter().map(part).collect(),
    };
    json!({"role": message.role, "content": content})
}
