//! Chat templates of models: the text that a local model reads for a list of messages.
//!
//! Templates in Jinja come with the files of a model, those in Go with a Modelfile. Special tokens come from the files of
//! the model, never from values.

use hinagata_document::{Code, Error, Place, Reason, Result, json};
use hinagata_jinja::{Moment, ParseOptions, Render, Settings, Template, UndefinedMode};
use hinagata_value::Limits;
use serde_json::{Map, Value};

use crate::files::SourceFiles;
use crate::modelfile::ModelTemplate;
use crate::names::file_name;

/// Largest template, in bytes.
const LARGEST_TEMPLATE: usize = 1 << 20;
/// Most values of the metadata of a model file, and its largest list.
const MOST_VALUES: u64 = 100_000;
const LONGEST_LIST: u64 = 4_000_000;

/// A chat template of a model.
#[derive(Debug)]
pub struct ChatTemplate(Language);

#[derive(Debug)]
enum Language {
    Jinja(Box<JinjaTemplate>),
    Go(Box<ModelTemplate>),
}

#[derive(Debug)]
struct JinjaTemplate {
    file: String,
    source: String,
    /// Special tokens by name, such as `bos_token`.
    tokens: Map<String, Value>,
    template: Template,
}

impl ChatTemplate {
    /// The template in the files of a model: `chat_template.jinja`, `tokenizer_config.json`, or both; or a Modelfile. Of
    /// several, it is the one called `wanted`, else `tool_use` for a call with tools, else `default`.
    ///
    /// # Errors
    /// Code `not_found` if there is no such template; code `definition` or `render.syntax` for an invalid file.
    pub fn from_files(
        files: &SourceFiles,
        entry: &str,
        wanted: Option<&str>,
        has_tools: bool,
    ) -> Result<Self> {
        if let Some(text) = files.get(entry).filter(|_| ModelTemplate::is_named(entry)) {
            return Ok(Self(Language::Go(Box::new(ModelTemplate::from_text(entry, text)?))));
        }
        let directory = entry.strip_suffix(file_name(entry)).unwrap_or_default();
        let config_path = format!("{directory}tokenizer_config.json");
        let config = match files.get(&config_path) {
            Some(text) => json::parse(&config_path, text)?.to_value(),
            None => Value::Null,
        };
        let mut named: Vec<(String, String, String)> = Vec::new();
        let own = format!("{directory}chat_template.jinja");
        let own = if entry.ends_with(".jinja") { entry } else { &own };
        if let Some(text) = files.get(own) {
            named.push(("default".to_owned(), own.to_owned(), text.to_owned()));
        }
        let additional = format!("{directory}additional_chat_templates/");
        for path in files.paths() {
            let name = path.strip_prefix(&additional).and_then(|name| name.strip_suffix(".jinja"));
            if let (Some(name), Some(text)) = (name, files.get(path)) {
                named.push((name.to_owned(), path.to_owned(), text.to_owned()));
            }
        }
        if named.is_empty() {
            named.extend(templates_of(&config["chat_template"], &config_path));
        }
        let tokens = tokens_of(&config);
        Self::choose(named, (wanted, has_tools), tokens, entry)
    }

    /// The template in the metadata of a model file in the format GGUF. Only `bytes`, the start of the file, are read.
    ///
    /// # Errors
    /// Code `definition` for a file that is not in this format; code `not_found` if it has no such template.
    pub fn from_gguf(file: &str, bytes: &[u8], wanted: Option<&str>, has_tools: bool) -> Result<Self> {
        let metadata = GgufReader { file, bytes, at: 0 }.read_metadata()?;
        let text = |key: &str| metadata.get(key).and_then(Value::as_str).map(str::to_owned);
        const KEY: &str = "tokenizer.chat_template";
        let mut named = Vec::new();
        named.extend(text(KEY).map(|source| ("default".to_owned(), file.to_owned(), source)));
        for (key, value) in &metadata {
            let name = key.strip_prefix(KEY).and_then(|rest| rest.strip_prefix('.'));
            if let (Some(name), Some(source)) = (name, value.as_str()) {
                named.push((name.to_owned(), file.to_owned(), source.to_owned()));
            }
        }
        let mut tokens = Map::new();
        for name in ["bos", "eos", "unk", "pad"] {
            if let Some(token) = text(&format!("{name}_token")) {
                tokens.insert(format!("{name}_token"), token.into());
            }
        }
        Self::choose(named, (wanted, has_tools), tokens, file)
    }

    fn choose(
        named: Vec<(String, String, String)>,
        (wanted, has_tools): (Option<&str>, bool),
        tokens: Map<String, Value>,
        entry: &str,
    ) -> Result<Self> {
        let names: Vec<String> = named.iter().map(|(name, ..)| name.clone()).collect();
        let has = |name: &str| names.iter().any(|known| known == name);
        let chosen = match wanted {
            Some(name) => name,
            None if has_tools && has("tool_use") => "tool_use",
            None => "default",
        };
        let found = named.into_iter().find(|(name, ..)| name == chosen);
        let Some((_, file, source)) = found else {
            let message = match names.is_empty() {
                true => format!("`{entry}` has no chat template"),
                false => format!("`{entry}` has no chat template `{chosen}`"),
            };
            let near = hinagata_value::near_names(chosen, names.iter().map(String::as_str));
            let error = Error::new(Code::NotFound, message).with_near(near);
            return Err(match names.is_empty() {
                true => error,
                false => error.with_hint(format!("it has {}", names.join(", "))),
            });
        };
        if source.len() > LARGEST_TEMPLATE {
            return Err(Error::definition(
                Reason::Size,
                format!("the chat template of `{entry}` is larger than 1 MiB"),
            ));
        }
        let options = ParseOptions {
            trim_blocks: true,
            lstrip_blocks: true,
            generation: true,
            messages: false,
            ..ParseOptions::default()
        };
        let limits = Limits { source: LARGEST_TEMPLATE, ..Limits::default() };
        let template = Template::compile(&file, &source, &options, &limits)
            .map_err(|error| template_error(Code::RenderSyntax, &file, &source, &error))?;
        Ok(Self(Language::Jinja(Box::new(JinjaTemplate { file, source, tokens, template }))))
    }

    /// The text for `variables`: `messages`, `tools`, `add_generation_prompt` and whatever else the template reads. Values
    /// cannot replace special tokens.
    ///
    /// # Errors
    /// Code `render.runtime`, with the words of the template where it refuses its input.
    pub fn render(&self, variables: &Map<String, Value>, now: Moment) -> Result<String> {
        match &self.0 {
            Language::Jinja(template) => template.render(variables, now),
            Language::Go(template) => template.render(variables),
        }
    }
}

impl JinjaTemplate {
    fn render(&self, variables: &Map<String, Value>, now: Moment) -> Result<String> {
        let mut all = variables.clone();
        all.extend(self.tokens.clone());
        let settings = Settings {
            undefined: UndefinedMode::Jinja,
            immutable: true,
            chat_host: true,
            now,
            ..Settings::default()
        };
        let render = Render::new().with_settings(settings);
        let rendered = render.render_text(&self.template, &Value::Object(all));
        rendered.map_err(|error| template_error(Code::RenderRuntime, &self.file, &self.source, &error))
    }
}

/// Messages as chat templates read them: a content that is one text is a string.
#[must_use]
pub fn with_plain_texts(mut messages: Value) -> Value {
    for message in messages.as_array_mut().into_iter().flatten() {
        let text = match &message["content"] {
            Value::Array(parts) => match parts.as_slice() {
                [] => Some(String::new()),
                [only] => only["text"].as_str().map(str::to_owned),
                _ => None,
            },
            _ => None,
        };
        if let Some(text) = text {
            message["content"] = text.into();
        }
    }
    messages
}

fn template_error(code: Code, file: &str, source: &str, error: &hinagata_value::Error) -> Error {
    let made = Error::new(code, error.message());
    match error.place() {
        Some(place) => made.at(Place::at_line(file, source, place.line, place.column)),
        None => made.in_file(file),
    }
}

/// The templates of `tokenizer_config.json`: one, or a list with names.
fn templates_of(value: &Value, file: &str) -> Vec<(String, String, String)> {
    if let Some(source) = value.as_str() {
        return vec![("default".to_owned(), file.to_owned(), source.to_owned())];
    }
    let entry = |entry: &Value| {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
        Some((text("name")?, file.to_owned(), text("template")?))
    };
    value.as_array().into_iter().flatten().filter_map(entry).collect()
}

/// The special tokens: texts, or objects with `content`.
fn tokens_of(config: &Value) -> Map<String, Value> {
    let token = |(name, value): (&String, &Value)| {
        let text = value.as_str().or_else(|| value.get("content").and_then(Value::as_str))?;
        name.ends_with("_token").then(|| (name.clone(), text.into()))
    };
    config.as_object().into_iter().flatten().filter_map(token).collect()
}

/// Reads the metadata of a GGUF file.
struct GgufReader<'b> {
    file: &'b str,
    bytes: &'b [u8],
    at: usize,
}

impl<'b> GgufReader<'b> {
    /// The texts of the metadata; special tokens are among them as `bos_token` and so on.
    fn read_metadata(mut self) -> Result<Map<String, Value>> {
        if self.take(4)? != b"GGUF" {
            return Err(self.invalid("it does not start with `GGUF`"));
        }
        let version = self.number(4)?;
        if !(2..=3).contains(&version) {
            return Err(self.invalid(&format!("version {version} is not supported")));
        }
        self.number(8)?;
        let count = self.number(8)?;
        if count > MOST_VALUES {
            return Err(self.invalid("it has too many values"));
        }
        let (mut metadata, mut ids, mut words) = (Map::new(), Vec::new(), Vec::new());
        for _ in 0..count {
            let key = self.text()?.to_owned();
            let kind = self.number(4)?;
            let wanted = key.strip_prefix("tokenizer.ggml.").and_then(|name| name.strip_suffix("_token_id"));
            match (kind, wanted) {
                (8, _) => {
                    let text = self.text()?.to_owned();
                    metadata.insert(key, text.into());
                }
                (4 | 5, Some(name)) => ids.push((name.to_owned(), self.number(4)?)),
                (9, _) if key == "tokenizer.ggml.tokens" => words = self.words()?,
                _ => self.skip(kind, 0)?,
            }
        }
        for (name, id) in ids {
            if let Some(word) = usize::try_from(id).ok().and_then(|id| words.get(id)) {
                metadata.insert(format!("{name}_token"), (*word).into());
            }
        }
        Ok(metadata)
    }

    fn invalid(&self, problem: &str) -> Error {
        let message = format!("`{}` is not a readable GGUF file: {problem}", self.file);
        Error::definition(Reason::Syntax, message).at(Place::at_line(self.file, "", 1, 1))
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8]> {
        let end = self.at.checked_add(length);
        let found = end.and_then(|end| self.bytes.get(self.at..end));
        let found = found.ok_or_else(|| self.invalid("its metadata ends too early or is too large"))?;
        self.at += length;
        Ok(found)
    }

    /// A little-endian number of at most eight bytes.
    fn number(&mut self, length: usize) -> Result<u64> {
        let bytes = self.take(length)?;
        Ok(bytes.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte)))
    }

    fn text(&mut self) -> Result<&'b str> {
        let length = usize::try_from(self.number(8)?).unwrap_or(usize::MAX);
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes).map_err(|_| self.invalid("a text is not UTF-8"))
    }

    /// A list of texts. A word that is not UTF-8 is empty.
    fn words(&mut self) -> Result<Vec<&'b str>> {
        let (kind, count) = (self.number(4)?, self.number(8)?);
        if kind != 8 || count > LONGEST_LIST {
            return Err(self.invalid("its tokens are not a list of texts"));
        }
        let mut words = Vec::new();
        for _ in 0..count {
            let length = usize::try_from(self.number(8)?).unwrap_or(usize::MAX);
            words.push(std::str::from_utf8(self.take(length)?).unwrap_or_default());
        }
        Ok(words)
    }

    fn skip(&mut self, kind: u64, depth: usize) -> Result<()> {
        let length = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            10..=12 => 8,
            8 => usize::try_from(self.number(8)?).unwrap_or(usize::MAX),
            9 if depth < 4 => {
                let (inner, count) = (self.number(4)?, self.number(8)?);
                if count > LONGEST_LIST {
                    return Err(self.invalid("a list is too long"));
                }
                for _ in 0..count {
                    self.skip(inner, depth + 1)?;
                }
                return Ok(());
            }
            _ => return Err(self.invalid("a value has an unknown type")),
        };
        self.take(length).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn gguf(values: &[(&str, &[u8])]) -> Vec<u8> {
        let text = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(3_u32.to_le_bytes());
        bytes.extend(0_u64.to_le_bytes());
        bytes.extend((values.len() as u64).to_le_bytes());
        for (key, value) in values {
            bytes.extend(text(key));
            bytes.extend_from_slice(value);
        }
        bytes
    }

    fn text_value(text: &str) -> Vec<u8> {
        [&8_u32.to_le_bytes()[..], &(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
    }

    #[test]
    fn the_metadata_of_a_model_file_has_its_template_and_tokens() {
        let mut words = 9_u32.to_le_bytes().to_vec();
        words.extend(8_u32.to_le_bytes());
        words.extend(2_u64.to_le_bytes());
        for word in ["<unk>", "<s>"] {
            words.extend((word.len() as u64).to_le_bytes());
            words.extend(word.as_bytes());
        }
        let id = [4_u32.to_le_bytes(), 1_u32.to_le_bytes()].concat();
        let bytes = gguf(&[
            ("general.name", &text_value("m")),
            ("tokenizer.ggml.tokens", &words),
            ("tokenizer.ggml.bos_token_id", &id),
            ("tokenizer.chat_template", &text_value("{{ bos_token }}{{ messages[0].content }}")),
        ]);
        let template = ChatTemplate::from_gguf("m.gguf", &bytes, None, false).expect("reads");
        let variables = json!({"messages": [{"content": "Hi"}], "bos_token": "forged"});
        let text = template.render(variables.as_object().expect("is a map"), Moment::default());
        assert_eq!(text.expect("renders"), "<s>Hi");
        for end in 0..bytes.len() {
            assert!(ChatTemplate::from_gguf("m.gguf", &bytes[..end], None, false).is_err(), "{end}");
        }
    }

    #[test]
    fn a_template_that_refuses_its_input_says_so() {
        let files = SourceFiles::from_iter([(
            "m/tokenizer_config.json",
            r#"{"chat_template": "a\n{{ raise_exception('Roles must alternate') }}"}"#,
        )]);
        let template =
            ChatTemplate::from_files(&files, "m/tokenizer_config.json", None, false).expect("reads");
        let error = template.render(&Map::new(), Moment::default()).expect_err("refuses");
        assert_eq!((error.code(), error.message()), (Code::RenderRuntime, "Roles must alternate"));
        let missing = ChatTemplate::from_files(&files, "m/tokenizer_config.json", Some("rag"), false);
        assert_eq!(
            missing.expect_err("is missing").hint().map(ToString::to_string),
            Some("it has default".into())
        );
    }
}
