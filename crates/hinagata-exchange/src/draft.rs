//! What every format needs while a prompt is read: the file, the names, the losses.

use hinagata_document::{Code, Error, LineColumn, Node, Place, Reason};
use serde_json::{Map, Value};

use crate::detect::Format;
use crate::files::SourceFiles;
use crate::language::{TemplateLoss, TemplateProblem};
use crate::names::Names;
use crate::prompt::{PortableParameter, PortablePrompt};
use crate::report::{Loss, LossCode, Report};

/// A prompt that is being read.
pub(crate) struct Draft<'f> {
    pub(crate) files: &'f SourceFiles,
    pub(crate) path: &'f str,
    pub(crate) text: &'f str,
    pub(crate) prompt: PortablePrompt,
    pub(crate) names: Names,
    pub(crate) report: Report,
}

/// Where a template stands in its file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TextPlace {
    /// At a byte offset of the file, unchanged.
    Offset(usize),
    /// In a string that starts at a place.
    At(LineColumn),
}

impl TextPlace {
    /// The place of a node.
    pub(crate) fn of(node: &Node) -> Self {
        Self::At(node.at)
    }
}

impl<'f> Draft<'f> {
    pub(crate) fn new(
        files: &'f SourceFiles,
        path: &'f str,
        text: &'f str,
        format: Format,
        id: String,
    ) -> Self {
        let prompt = PortablePrompt::new(id, format, path);
        Self { files, path, text, prompt, names: Names::default(), report: Report::default() }
    }

    fn line_column(&self, place: TextPlace, offset: usize) -> LineColumn {
        match place {
            TextPlace::Offset(base) => LineColumn::at_offset(self.text, (base + offset).min(self.text.len())),
            TextPlace::At(at) => at,
        }
    }

    /// The error for a problem of a template.
    pub(crate) fn problem(&self, place: TextPlace, problem: TemplateProblem) -> Error {
        let at = self.line_column(place, problem.offset);
        Error::new(Code::RenderSyntax, problem.message)
            .at(Place::at_line(self.path, self.text, at.line, at.column))
    }

    /// The error for an invalid file.
    pub(crate) fn invalid(&self, at: LineColumn, message: impl Into<String>) -> Error {
        Error::definition(Reason::Syntax, message)
            .at(Place::at_line(self.path, self.text, at.line, at.column))
    }

    /// Adds a loss at a node.
    pub(crate) fn lose(
        &mut self,
        code: LossCode,
        node: &Node,
        what: impl Into<String>,
        instead: impl Into<String>,
    ) {
        self.lose_at(code, node.at, what, instead);
    }

    /// Adds a loss at a place.
    pub(crate) fn lose_at(
        &mut self,
        code: LossCode,
        at: LineColumn,
        what: impl Into<String>,
        instead: impl Into<String>,
    ) {
        let line = self.text.lines().nth((at.line as usize).saturating_sub(1)).unwrap_or_default();
        let excerpt: String = line.trim().chars().take(80).collect();
        let (what, instead) = (what.into(), instead.into());
        self.report.push(Loss { code, file: self.path.to_owned(), at, excerpt, what, instead });
    }

    /// Adds the losses of a template.
    pub(crate) fn lose_all(&mut self, place: TextPlace, losses: Vec<TemplateLoss>) {
        for loss in losses {
            let at = self.line_column(place, loss.offset);
            self.lose_at(loss.code, at, loss.what, loss.instead);
        }
    }

    /// Text with `\n` as line break. Others are reported.
    pub(crate) fn with_plain_newlines(&mut self, text: &str, place: TextPlace) -> String {
        let Some(found) = text.find('\r') else { return text.to_owned() };
        let at = self.line_column(place, found);
        self.lose_at(LossCode::Newlines, at, "line breaks with a carriage return", "plain line breaks");
        text.replace("\r\n", "\n").replace('\r', "\n")
    }

    /// Sets a key of the header.
    pub(crate) fn set(&mut self, key: &str, value: impl Into<Value>) {
        self.prompt.header.insert(key.to_owned(), value.into());
    }

    /// Sets a key of the header to the text of a node.
    pub(crate) fn set_text(&mut self, key: &str, node: &Node) {
        if !node.is_null() {
            let text = node.as_str().map_or_else(|| plain_text(&node.to_value()), str::to_owned);
            self.set(key, text);
        }
    }

    /// Keeps a key that has no meaning here.
    pub(crate) fn keep(&mut self, code: LossCode, key: &str, node: &Node) {
        self.prompt.kept.insert(key.to_owned(), node.to_value());
        let what = match code {
            LossCode::Tools => format!("`{key}`: tools are not called"),
            LossCode::Activation => format!("`{key}`: the prompt is not applied by itself"),
            _ => format!("`{key}`, which has no meaning here"),
        };
        self.lose(code, node, what, format!("kept as `x-{}.{key}`", self.prompt.format.as_str()));
    }

    /// Adds settings of models under the names that definitions use.
    pub(crate) fn set_config(&mut self, settings: &[(String, Node)]) {
        self.set_config_values(settings.iter().map(|(key, node)| (key.as_str(), node.to_value())));
    }

    /// The same for plain values.
    pub(crate) fn set_config_values<'k>(&mut self, settings: impl IntoIterator<Item = (&'k str, Value)>) {
        let mut config = match self.prompt.header.remove("config") {
            Some(Value::Object(config)) => config,
            _ => Map::new(),
        };
        for (key, value) in settings {
            config.insert(config_key(key).to_owned(), value);
        }
        if !config.is_empty() {
            self.set("config", Value::Object(config));
        }
    }

    /// Adds a parameter, or completes one of the same name.
    pub(crate) fn declare(&mut self, parameter: PortableParameter) {
        match self.prompt.parameters.iter_mut().find(|known| known.name == parameter.name) {
            Some(known) => {
                known.required |= parameter.required && known.default.is_none();
                known.default = known.default.take().or(parameter.default);
                known.kind = known.kind.or(parameter.kind);
            }
            None => self.prompt.parameters.push(parameter),
        }
    }

    /// Declares every variable that templates read and nobody declared, and reports changed names.
    pub(crate) fn declare_read(&mut self, required: bool) {
        let names: Vec<(String, String)> =
            self.names.iter().map(|(original, name)| (original.to_owned(), name.to_owned())).collect();
        for (original, name) in names {
            let known = self.prompt.parameters.iter().position(|parameter| parameter.name == name);
            let index = known.unwrap_or_else(|| {
                self.prompt.parameters.push(PortableParameter {
                    name: name.clone(),
                    required,
                    ..PortableParameter::default()
                });
                self.prompt.parameters.len() - 1
            });
            if original != name {
                let aliases = &mut self.prompt.parameters[index].aliases;
                if !aliases.contains(&original) {
                    aliases.push(original.clone());
                }
            }
        }
    }

    /// Reports the variables whose names changed.
    pub(crate) fn report_renamed(&mut self) {
        let renamed: Vec<(String, String)> = self
            .names
            .iter()
            .filter(|(original, name)| original != name)
            .map(|(original, name)| (original.to_owned(), name.to_owned()))
            .collect();
        for (original, name) in renamed {
            let offset = self.text.find(&original).unwrap_or(0);
            let at = LineColumn::at_offset(self.text, offset);
            let what = format!("the parameter `{original}`");
            self.lose_at(LossCode::Renamed, at, what, format!("`{name}`, with the old name as an alias"));
        }
    }
}

/// A scalar as text.
pub(crate) fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn config_key(key: &str) -> &str {
    match key {
        "max_tokens" | "maxTokens" | "max_output_tokens" => "maxOutputTokens",
        "top_p" => "topP",
        "top_k" => "topK",
        "stop" => "stopSequences",
        other => other,
    }
}

/// The type of a definition for a type of a JSON Schema.
pub(crate) fn kind_of(schema_type: &str) -> Option<&'static str> {
    Some(match schema_type {
        "string" | "str" => "string",
        "integer" | "int" => "integer",
        "number" | "float" => "number",
        "boolean" | "bool" => "boolean",
        "array" | "list" => "list",
        "object" | "dict" => "dict",
        _ => return None,
    })
}

/// The type of a value.
pub(crate) fn kind_of_value(value: &Value) -> Option<&'static str> {
    Some(match value {
        Value::String(_) => "string",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::Bool(_) => "boolean",
        Value::Array(_) => "list",
        Value::Object(_) => "dict",
        Value::Null => return None,
    })
}
