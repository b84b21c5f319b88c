//! Modules in a request body: merged, compiled, formatted.

use hinagata::{
    Error, RenderedBody, Warning,
    definition::{AdHocModules, module_error},
    module::{
        self, CompiledPrompt, Order, TextOptions,
        driver::{Files, OutputFormat, RequestOptions},
        prompt_text,
    },
};
use hinagata_value::near_names;
use serde_json::{Map, Value, json};

use crate::{
    answer,
    call::{Answer, Call},
    fields::Fields,
    hints::hint_text,
    problem::Problem,
};

/// The body of a request.
struct ModuleRequest {
    modules: Vec<Value>,
    variables: Map<String, Value>,
    order: Option<Order>,
    format: Option<String>,
    model: Option<String>,
}

impl ModuleRequest {
    /// `formats` says whether the route accepts a format.
    async fn from_call(call: &mut Call, formats: bool) -> Result<Self, Problem> {
        let mut fields = Fields::new(call.read_object().await?);
        let modules = match (fields.take_list("modules")?, fields.take_value("module")) {
            (Some(modules), None) if !modules.is_empty() => modules,
            (None, Some(module @ Value::Object(_))) => vec![module],
            _ => {
                return Err(Problem::bad_request(
                    "the body requires `module`, an object, or `modules`, a list of objects",
                ));
            }
        };
        let variables = fields.take_object("variables")?;
        let order = match fields.take_string("order")? {
            None => None,
            Some(name) => Some(Order::from_name(&name).ok_or_else(|| {
                Problem::bad_request(format!("unknown order `{name}`")).with_hint("use `standard` or `cache`")
            })?),
        };
        let (format, model) = if formats {
            (fields.take_string("format")?, fields.take_string("model")?)
        } else {
            (None, None)
        };
        fields.check_unknown()?;
        Ok(Self { modules, variables, order, format, model })
    }

    fn compile(&self) -> Result<Compiled, Problem> {
        let compile = || {
            let modules = AdHocModules::from_documents(&self.modules)?;
            let prompt = modules.compile(&self.variables, self.order)?;
            Ok(Compiled { modules, prompt })
        };
        compile().map_err(|error| Problem::in_request_body(&error))
    }
}

/// Modules and their compiled prompt.
struct Compiled {
    modules: AdHocModules,
    prompt: CompiledPrompt,
}

impl Compiled {
    /// `body` with the warnings about the modules, if there are any.
    fn answer(&self, mut body: Value) -> Answer {
        let in_module = |error: &Error| {
            Warning { about: "module".to_owned(), error: error.clone() }.to_json_with(hint_text)
        };
        let in_prompt =
            |warning: &module::Warning| json!({"about": warning.path, "message": warning.message});
        let warnings: Vec<Value> = self
            .modules
            .warnings()
            .iter()
            .map(in_module)
            .chain(self.prompt.warnings.iter().map(in_prompt))
            .collect();
        if !warnings.is_empty() {
            body["warnings"] = warnings.into();
        }
        answer::json_response(&body)
    }
}

/// `POST /api/modules/compile`
pub(super) async fn compile_modules(mut call: Call) -> Answer {
    let request = ModuleRequest::from_call(&mut call, false).await?;
    let compiled = request.compile()?;
    compiled.answer(compiled.prompt.to_json_with_order())
}

/// `POST /api/modules/format`
pub(super) async fn format_modules(mut call: Call) -> Answer {
    let request = ModuleRequest::from_call(&mut call, true).await?;
    let format = request.format.as_deref().unwrap_or(OutputFormat::Text.name());
    let compiled = request.compile()?;
    let prompt = &compiled.prompt;
    let driver = match OutputFormat::from_name(format) {
        Some(OutputFormat::Text) => {
            let text = prompt_text(prompt, &TextOptions::default());
            return compiled.answer(json!({"format": format, "text": text}));
        }
        Some(OutputFormat::Messages) => {
            let messages = RenderedBody::from(prompt).to_json();
            return compiled.answer(json!({"format": format, "messages": messages}));
        }
        Some(OutputFormat::Request(driver)) => driver,
        None => return Err(unknown_format(format)),
    };
    let own = compiled.modules.request_options();
    let options = RequestOptions { model: request.model.clone().or(own.model), ..own }.with_files(NoFiles);
    let formatted =
        driver.format(prompt, &options).map_err(|error| Problem::in_request_body(&module_error(error)))?;
    compiled.answer(json!({"format": format, "request": formatted.to_value(), "notes": formatted.notes()}))
}

pub(super) fn unknown_format(name: &str) -> Problem {
    let names = OutputFormat::ALL.map(OutputFormat::name);
    Problem::bad_request(format!("unknown format `{name}`"))
        .with_member("near", near_names(name, names))
        .with_hint(format!("one of {}", names.join(", ")))
}

/// Refuses all files: a caller does not choose files of this machine.
pub(super) struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _path: &str) -> Result<Vec<u8>, String> {
        Err("files of the daemon cannot be attached; send their data or a URL".to_owned())
    }
}
