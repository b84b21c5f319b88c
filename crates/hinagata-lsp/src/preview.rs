//! `hina/preview`: the text of a prompt and its source map, with unsaved texts.

use hinagata::{Engine, Hint, MapUnits, RenderJob};
use hinagata_check::editor::Project;
use lsp_server::ResponseError;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    position::Encoding,
    protocol::{TextDocument, request_failed},
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PreviewParams {
    pub(crate) text_document: TextDocument,
    /// The prompt; that of the document unless it is named.
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    variables: Map<String, Value>,
    #[serde(default)]
    agent: Option<String>,
}

/// Renders the prompt of a document. What cannot be rendered is an answer too, so that a preview can show it.
pub(crate) fn render_preview(
    engine: &Engine,
    project: &Project,
    path: &str,
    params: PreviewParams,
    encoding: Encoding,
    hint_text: fn(&Hint) -> String,
) -> Result<Value, ResponseError> {
    let users = project.users_of(path);
    let own = project.owner_of(path).or_else(|| users.iter().next().cloned());
    let catalog = project.catalog.as_ref();
    let id = |source: &String| Some(catalog?.entry_at(source)?.id().to_string());
    let prompt = params.prompt.clone().or_else(|| own.as_ref().and_then(id));
    let Some(prompt) = prompt else {
        return Err(request_failed(format!("no prompt uses `{path}`, so there is nothing to render")));
    };
    let others: Vec<String> = users.iter().filter_map(id).collect();
    let mut job = RenderJob::new(engine.clone(), prompt.clone());
    job.variables = params.variables;
    job.is_mapped = true;
    job.context.agent_id = params.agent;
    let units = match encoding {
        Encoding::Utf8 => MapUnits::Utf8,
        Encoding::Utf16 => MapUnits::Utf16,
        Encoding::Utf32 => MapUnits::Chars,
    };
    let mut answer = match job.explain_blocking() {
        Ok(rendered) => rendered.to_mapped_json(hint_text, units),
        Err(error) => json!({
            "error": {
                "code": error.code().as_str(),
                "message": error.message(),
                "hint": error.hint().map(hint_text),
                "place": error.place().map(ToString::to_string),
            },
        }),
    };
    answer["prompt"] = prompt.into();
    answer["prompts"] = others.into();
    answer["parameters"] = parameters(project, own.as_deref());
    Ok(answer)
}

/// The parameters of a prompt, so that a preview can ask for their values.
fn parameters(project: &Project, source: Option<&str>) -> Value {
    let Some((inherited, _)) = source.and_then(|source| project.variables_of(source)) else {
        return json!([]);
    };
    let parameter = |parameter: &hinagata::definition::Parameter| {
        let default = parameter.default.clone().filter(|_| !parameter.secret);
        json!({
            "name": parameter.name,
            "type": parameter.kind.name(),
            "required": parameter.must_be_passed(),
            "secret": parameter.secret,
            "default": default,
            "description": parameter.description,
        })
    };
    inherited.parameters.iter().map(parameter).collect()
}
