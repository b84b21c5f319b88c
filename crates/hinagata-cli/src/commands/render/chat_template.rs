//! `hina render --format chat-template`: the text that a local model reads.

use std::path::{Path, PathBuf};

use hinagata::{Rendered, RenderedBody, exchange::with_plain_texts, read_chat_template};
use serde_json::{Map, Value};

use crate::{clock, failure::Failure, input::Inputs};

/// Options of `--format chat-template`.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct TemplateArguments {
    /// The chat template: a directory of a model, chat_template.jinja, tokenizer_config.json, a .gguf file or a Modelfile
    #[arg(long, value_name = "PATH")]
    template: Option<PathBuf>,

    /// Which of several templates [default: tool_use for a call with tools, else default]
    #[arg(long, value_name = "NAME", requires = "template")]
    template_name: Option<String>,

    /// The tools that the model may call: a JSON file
    #[arg(long, value_name = "FILE", requires = "template")]
    tools: Option<PathBuf>,

    /// Do not end the text with the start of the answer
    #[arg(long, requires = "template")]
    no_generation: bool,
}

impl TemplateArguments {
    /// Whether a template is named.
    pub(super) fn is_named(&self) -> bool {
        self.template.is_some()
    }

    /// The text of a rendered prompt.
    pub(super) fn format_text(&self, rendered: &Rendered) -> Result<String, Failure> {
        let Some(path) = &self.template else {
            return Err(Failure::usage_error("`--format chat-template` needs `--template PATH`").with_hint(
                "name the directory of the model, its chat_template.jinja, its .gguf file or a Modelfile",
            ));
        };
        let mut variables = Map::new();
        variables.insert(
            "messages".to_owned(),
            with_plain_texts(RenderedBody::Messages(rendered.messages()).to_json()),
        );
        variables.insert("add_generation_prompt".to_owned(), (!self.no_generation).into());
        if let Some(tools) = &self.tools {
            variables.insert("tools".to_owned(), read_tools(tools)?);
        }
        let template = read_chat_template(path, self.template_name.as_deref(), self.tools.is_some())?;
        Ok(template.render(&variables, clock::now())?)
    }
}

fn read_tools(path: &Path) -> Result<Value, Failure> {
    let shown = path.display().to_string();
    let text = Inputs::default().read_text(path, &shown)?;
    let tools: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::usage_error(format!("`{shown}` is not valid JSON: {error}")))?;
    match tools.is_array() {
        true => Ok(tools),
        false => Err(Failure::usage_error(format!("`{shown}` must be a list of tools"))),
    }
}
