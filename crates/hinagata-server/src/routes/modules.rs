//! Modules that belong to no prompt: merged, compiled, handed over.

use hinagata::{
    RenderedBody,
    definition::LooseModules,
    module::{
        Order, TextOptions,
        driver::{Driver, Files, RequestOptions},
        prompt_text,
    },
};
use hinagata_value::near_names;
use serde_json::{Map, Value, json};

use crate::{
    answer,
    gate::{Answer, Call},
    problem::Problem,
};

const SHAPES: [&str; 7] = ["text", "messages", "openai", "openai-responses", "anthropic", "gemini", "ollama"];

/// What a request asks for.
struct Asked {
    modules: Vec<Value>,
    variables: Map<String, Value>,
    order: Option<Order>,
    format: Option<String>,
    model: Option<String>,
}

impl Asked {
    async fn read(call: &mut Call, known: &[&str]) -> Result<Self, Problem> {
        let mut body = call.object().await?;
        if let Some(unknown) = body.keys().find(|name| !known.contains(&name.as_str())) {
            let near = near_names(unknown, known.iter().copied());
            return Err(Problem::bad_request(format!("the body has `{unknown}`, which means nothing here"))
                .with("near", near)
                .hint(format!("it takes {}", known.join(", "))));
        }
        let modules = match (body.remove("modules"), body.remove("module")) {
            (Some(Value::Array(modules)), None) if !modules.is_empty() => modules,
            (None, Some(module @ Value::Object(_))) => vec![module],
            _ => {
                return Err(Problem::bad_request(
                    "the body needs `module`, an object, or `modules`, a list of them",
                ));
            }
        };
        let variables = match body.remove("variables") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(variables)) => variables,
            Some(_) => return Err(Problem::bad_request("`variables` is no JSON object")),
        };
        let mut text = |name: &str| match body.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Problem::bad_request(format!("`{name}` is no text"))),
        };
        let order = match text("order")? {
            None => None,
            Some(name) => Some(Order::named(&name).ok_or_else(|| {
                Problem::bad_request(format!("there is no order `{name}`")).hint("`standard` or `cache`")
            })?),
        };
        Ok(Self { modules, variables, order, format: text("format")?, model: text("model")? })
    }

    fn compile(&self) -> Result<hinagata::module::CompiledPrompt, Problem> {
        let compiled = LooseModules::of_documents(&self.modules)
            .and_then(|modules| modules.compile(&self.variables, self.order));
        compiled.map_err(|error| Problem::of_sent(&error))
    }
}

/// `POST /api/modules/compile`
pub(super) async fn compile(mut call: Call) -> Answer {
    let asked = Asked::read(&mut call, &["module", "modules", "variables", "order"]).await?;
    answer::json(&asked.compile()?.to_json())
}

/// `POST /api/modules/format`
pub(super) async fn format(mut call: Call) -> Answer {
    let known = ["module", "modules", "variables", "order", "format", "model"];
    let asked = Asked::read(&mut call, &known).await?;
    let format = asked.format.as_deref().unwrap_or("text");
    let prompt = asked.compile()?;
    let driver = match format {
        "text" => {
            return answer::json(
                &json!({"format": format, "text": prompt_text(&prompt, &TextOptions::default())}),
            );
        }
        "messages" => {
            return answer::json(
                &json!({"format": format, "messages": RenderedBody::from(&prompt).to_json()}),
            );
        }
        other => Driver::named(other).map_err(|_| {
            Problem::bad_request(format!("there is no format `{other}`"))
                .with("near", near_names(other, SHAPES))
                .hint(format!("one of {}", SHAPES.join(", ")))
        })?,
    };
    let options = RequestOptions { model: asked.model.clone(), ..RequestOptions::default() }.files(NoFiles);
    let made = driver.format(&prompt, &options).map_err(|error| Problem::of_sent(&error.into()))?;
    answer::json(&json!({"format": format, "request": made.to_value(), "notes": made.notes()}))
}

/// No files: whoever sends a module does not choose files of this machine.
struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _path: &str) -> Result<Vec<u8>, String> {
        Err("files of the daemon cannot be attached; send their data, or an address".to_owned())
    }
}
