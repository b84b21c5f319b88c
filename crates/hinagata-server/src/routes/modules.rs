//! Modules in a request body: merged, compiled, formatted.

use hinagata::{
    RenderedBody,
    definition::{AdHocModules, module_error},
    module::{
        Order, TextOptions,
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

    fn compile(&self) -> Result<hinagata::module::CompiledPrompt, Problem> {
        let compiled = AdHocModules::from_documents(&self.modules)
            .and_then(|modules| modules.compile(&self.variables, self.order));
        compiled.map_err(|error| Problem::in_request_body(&error))
    }
}

/// `POST /api/modules/compile`
pub(super) async fn compile_modules(mut call: Call) -> Answer {
    let request = ModuleRequest::from_call(&mut call, false).await?;
    answer::json_response(&request.compile()?.to_json())
}

/// `POST /api/modules/format`
pub(super) async fn format_modules(mut call: Call) -> Answer {
    let request = ModuleRequest::from_call(&mut call, true).await?;
    let format = request.format.as_deref().unwrap_or(OutputFormat::Text.name());
    let prompt = request.compile()?;
    let driver = match OutputFormat::from_name(format) {
        Some(OutputFormat::Text) => {
            return answer::json_response(
                &json!({"format": format, "text": prompt_text(&prompt, &TextOptions::default())}),
            );
        }
        Some(OutputFormat::Messages) => {
            return answer::json_response(
                &json!({"format": format, "messages": RenderedBody::from(&prompt).to_json()}),
            );
        }
        Some(OutputFormat::Request(driver)) => driver,
        None => return Err(unknown_format(format)),
    };
    let options =
        RequestOptions { model: request.model.clone(), ..RequestOptions::default() }.with_files(NoFiles);
    let formatted =
        driver.format(&prompt, &options).map_err(|error| Problem::in_request_body(&module_error(error)))?;
    answer::json_response(
        &json!({"format": format, "request": formatted.to_value(), "notes": formatted.notes()}),
    )
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
