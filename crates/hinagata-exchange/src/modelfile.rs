//! Modelfiles of Ollama: their instructions, and the text that a template in Go makes of messages.
//!
//! A template that reads `.Messages` is run once, any other one once for each turn: for the instructions, what the user
//! said and what the model answered.

use hinagata_document::{Code, Error, LineColumn, Place, Reason, Result};
use hinagata_gotemplate::{MissingKey, Options, Set};
use hinagata_value::{Arguments, Budget, Closure, Functions, Host, Kind, Limits, Value as Operand};
use serde_json::{Map, Value, json};

/// The name of the function that prints lists and maps as JSON, as the values of Ollama do.
const PRINT: &str = "_as_text";

/// Instructions whose value is a text.
const KNOWN: &[&str] =
    &["FROM", "TEMPLATE", "SYSTEM", "ADAPTER", "LICENSE", "RENDERER", "PARSER", "REQUIRES", "DRAFT"];

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    /// The name in upper case.
    pub(crate) name: String,
    /// The name of the parameter, or the role of the message.
    pub(crate) key: String,
    pub(crate) value: String,
    /// Where the value stands.
    pub(crate) at: LineColumn,
}

/// The instructions of a file.
///
/// # Errors
/// Code `definition`, with the place, for an unknown instruction or a text that is not closed.
pub(crate) fn read_instructions(file: &str, text: &str) -> Result<Vec<Instruction>> {
    let invalid = |at: LineColumn, message: String| {
        Error::definition(Reason::Syntax, message).at(Place::at_line(file, text, at.line, at.column))
    };
    let mut instructions = Vec::new();
    let mut lines = text.split_inclusive('\n');
    let mut offset = 0;
    while let Some(line) = lines.next() {
        let start = offset;
        offset += line.len();
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let (word, rest) = split_word(trimmed);
        let name = word.to_ascii_uppercase();
        let at = LineColumn::at_offset(text, start + indent);
        let (key, rest) = match name.as_str() {
            "PARAMETER" | "MESSAGE" => split_word(rest),
            known if KNOWN.contains(&known) => ("", rest),
            _ => return Err(invalid(at, format!("`{word}` is no instruction of a Modelfile"))),
        };
        let mut value = rest.to_owned();
        // A text in quotes goes on until they are closed.
        let closed = loop {
            if let Some(closed) = unquote(value.trim()) {
                break closed.to_owned();
            }
            let Some(more) = lines.next() else {
                return Err(invalid(at, format!("the value of `{word}` is not closed")));
            };
            offset += more.len();
            if !value.ends_with('\n') {
                value.push('\n');
            }
            value.push_str(more);
        };
        let at = LineColumn::at_offset(text, start + indent + (trimmed.len() - rest.len()));
        instructions.push(Instruction { name, key: key.to_owned(), value: closed, at });
    }
    Ok(instructions)
}

/// Whether a file is a Modelfile: by its name, or by its instructions if it has no other ending.
pub(crate) fn is_modelfile(path: &str, text: &str) -> bool {
    if ModelTemplate::is_named(path) {
        return true;
    }
    let has_ending = crate::names::file_name(path).contains('.');
    let starts = |line: &str| line.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("from "));
    let first = text.lines().find(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'));
    !has_ending
        && first.is_some_and(starts)
        && read_instructions(path, text).is_ok_and(|found| found.len() > 1)
}

/// The first word, and what stands behind it.
fn split_word(text: &str) -> (&str, &str) {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (&text[..end], text[end..].trim_start())
}

/// The text between quotes; `None` if they are not closed.
fn unquote(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix("\"\"\"") {
        return rest.strip_suffix("\"\"\"");
    }
    match text.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"'),
        None => Some(text),
    }
}

/// A template in Go, with what the file adds to every conversation.
#[derive(Debug)]
pub(crate) struct ModelTemplate {
    file: String,
    /// The template as it runs, and the same up to the place of the answer.
    whole: Set,
    open: Set,
    functions: Functions,
    reads_messages: bool,
    system: String,
    messages: Vec<Value>,
}

impl ModelTemplate {
    /// Whether the file at this path is a Modelfile.
    pub(crate) fn is_named(path: &str) -> bool {
        let name = crate::names::file_name(path).to_lowercase();
        name == "modelfile" || name.starts_with("modelfile.") || name.ends_with(".modelfile")
    }

    /// The template of a Modelfile.
    ///
    /// # Errors
    /// Code `definition` for an invalid file; `not_found` without `TEMPLATE`; `render.syntax` for an invalid template.
    pub(crate) fn from_text(file: &str, text: &str) -> Result<Self> {
        let instructions = read_instructions(file, text)?;
        // The last instruction of a name counts.
        let last = |name: &str| instructions.iter().rev().find(|found| found.name == name);
        let Some(template) = last("TEMPLATE") else {
            return Err(Error::new(Code::NotFound, format!("`{file}` has no TEMPLATE"))
                .with_hint("name the .gguf file of its model instead"));
        };
        let place = Place::at_line(file, text, template.at.line, template.at.column);
        let compile = |source: &str| {
            compile_template(source)
                .map_err(|error| Error::new(Code::RenderSyntax, error.message()).at(place.clone()))
        };
        let fields = fields_of(&template.value);
        let has = |name: &str| fields.iter().any(|field| field.eq_ignore_ascii_case(name));
        let mut source = template.value.clone();
        if !has("messages") && !has("response") {
            source.push_str("{{ .Response }}");
        }
        let messages = instructions
            .iter()
            .filter(|found| found.name == "MESSAGE")
            .map(|found| json!({"role": found.key.to_lowercase(), "content": found.value}));
        Ok(Self {
            file: file.to_owned(),
            whole: compile(&printing_json(&source))?,
            open: compile(&printing_json(&cut_at_answer(&source)))?,
            functions: functions(),
            reads_messages: has("messages"),
            system: last("SYSTEM").map(|found| found.value.clone()).unwrap_or_default(),
            messages: messages.collect(),
        })
    }

    /// The text for a list of messages and tools.
    pub(crate) fn render(&self, variables: &Map<String, Value>) -> Result<String> {
        let given = variables.get("messages").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut all = self.messages.clone();
        let has_system = all.iter().chain(&given).next().is_some_and(|first| first["role"] == "system");
        if !has_system && !self.system.is_empty() {
            all.insert(0, json!({"role": "system", "content": self.system}));
        }
        all.extend(given);
        let turns: Vec<Turn> = all.iter().map(Turn::of).collect();
        let starts_answer = variables.get("add_generation_prompt").and_then(Value::as_bool).unwrap_or(true);
        let text = match self.reads_messages {
            true => self.render_once(turns, variables.get("tools")),
            false => self.render_turns(&turns, starts_answer),
        };
        text.map_err(|error| Error::new(Code::RenderRuntime, error.message()).in_file(&self.file))
    }

    fn run(&self, set: &Set, data: &Value) -> hinagata_value::Result<String> {
        set.render("template", data, &self.functions, Limits::default())
    }

    fn render_once(&self, turns: Vec<Turn>, tools: Option<&Value>) -> hinagata_value::Result<String> {
        let system: Vec<&str> =
            turns.iter().filter(|turn| turn.role == "system").map(|turn| turn.content.as_str()).collect();
        let system = system.join("\n\n");
        // Messages of one role that follow each other are one.
        let mut messages: Vec<Turn> = Vec::new();
        for turn in turns {
            match messages.last_mut() {
                Some(last) if last.role == turn.role && turn.role != "tool" => {
                    last.content.push_str("\n\n");
                    last.content.push_str(&turn.content);
                }
                _ => messages.push(turn),
            }
        }
        let messages: Vec<Value> = messages.into_iter().map(Turn::into_data).collect();
        let tools = tools
            .and_then(Value::as_array)
            .map_or(Value::Null, |tools| Value::Array(tools.iter().map(with_field_names).collect()));
        let data = json!({
            "System": system, "Messages": messages, "Tools": tools, "Response": "",
            "Think": false, "ThinkLevel": "", "IsThinkSet": false,
        });
        self.run(&self.whole, &data)
    }

    fn render_turns(&self, turns: &[Turn], starts_answer: bool) -> hinagata_value::Result<String> {
        let (mut text, mut now) = (String::new(), Exchange::default());
        for turn in turns {
            let slot = match turn.role.as_str() {
                "system" if now.prompt.is_empty() && now.response.is_empty() => &mut now.system,
                "user" if now.response.is_empty() => &mut now.prompt,
                "assistant" => &mut now.response,
                role @ ("system" | "user") => {
                    text.push_str(&self.run(&self.whole, &std::mem::take(&mut now).into_data())?);
                    if role == "system" { &mut now.system } else { &mut now.prompt }
                }
                _ => continue,
            };
            match slot.is_empty() {
                true => slot.clone_from(&turn.content),
                false => {
                    slot.push_str("\n\n");
                    slot.push_str(&turn.content);
                }
            }
        }
        let last = if starts_answer { &self.open } else { &self.whole };
        text.push_str(&self.run(last, &now.into_data())?);
        Ok(text)
    }
}

/// A message as Ollama sees it.
#[derive(Clone, Debug)]
struct Turn {
    role: String,
    content: String,
    calls: Value,
    more: Map<String, Value>,
}

impl Turn {
    fn of(message: &Value) -> Self {
        let content = match &message["content"] {
            Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
            content => content.as_str().unwrap_or_default().to_owned(),
        };
        let text = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
        let mut more = Map::new();
        more.insert("Thinking".to_owned(), text("reasoning_content").into());
        more.insert("ToolName".to_owned(), text("name").into());
        more.insert("ToolCallID".to_owned(), text("tool_call_id").into());
        Self { role: text("role"), content, calls: message["tool_calls"].clone(), more }
    }

    fn into_data(self) -> Value {
        let mut data = self.more;
        data.insert("Role".to_owned(), self.role.into());
        data.insert("Content".to_owned(), self.content.into());
        let calls = self.calls.as_array().into_iter().flatten();
        data.insert("ToolCalls".to_owned(), Value::Array(calls.map(with_field_names).collect()));
        Value::Object(data)
    }
}

/// A turn of a conversation.
#[derive(Debug, Default)]
struct Exchange {
    system: String,
    prompt: String,
    response: String,
}

impl Exchange {
    fn into_data(self) -> Value {
        json!({"System": self.system, "Prompt": self.prompt, "Response": self.response})
    }
}

/// A tool, or a call of one, with its fields under the names that templates read. What it prints as stays with it.
fn with_field_names(value: &Value) -> Value {
    let function = &value["function"];
    let arguments = match &function["arguments"] {
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| text.clone().into()),
        arguments => arguments.clone(),
    };
    let named = json!({
        "Name": function["name"], "Description": function["description"],
        "Parameters": function["parameters"], "Arguments": arguments, PRINT: function,
    });
    json!({"ID": value["id"], "Type": value["type"], "Function": named, PRINT: value})
}

fn functions() -> Functions {
    let mut functions = Functions::new();
    for name in [PRINT, "json"] {
        functions.insert(Closure::new(name, move |host, arguments| print_value(name, host, arguments)));
    }
    functions
}

/// A value as the values of Ollama print: lists and maps as JSON. `json` prints everything so.
fn print_value<'a>(
    name: &str,
    host: &Host<'_, 'a>,
    arguments: &Arguments<'_, 'a>,
) -> hinagata_value::Result<Operand<'a>> {
    let Some(value) = arguments.positional.first() else { return host.heap.string("") };
    if name == PRINT && !matches!(value.kind(), Kind::List | Kind::Map) {
        return Ok(value.clone());
    }
    let mut plain = hinagata_value::to_json(host.heap, value)?;
    restore_names(&mut plain);
    // Go writes these characters in a way that is safe within HTML.
    let text = plain.to_string().replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e");
    host.heap.string(&text)
}

/// Puts what tools print as in the place of the fields that templates read.
fn restore_names(value: &mut Value) {
    match value {
        Value::Object(map) => match map.remove(PRINT) {
            Some(printed) => *value = printed,
            None => map.values_mut().for_each(restore_names),
        },
        Value::Array(list) => list.iter_mut().for_each(restore_names),
        _ => {}
    }
}

fn compile_template(source: &str) -> hinagata_value::Result<Set> {
    let options = Options { missing_key: MissingKey::Zero, ..Options::default() };
    let mut set = Set::with_names(options, [PRINT, "json"]);
    set.parse("template", source, &Budget::new(Limits::default()))?;
    Ok(set)
}

/// An action of a template: where its braces and what is between them stand.
#[derive(Debug)]
struct Action<'t> {
    /// The text without the marks that trim.
    inner: &'t str,
    /// Where the inner text ends.
    end: usize,
    /// Behind the closing braces.
    after: usize,
}

impl Action<'_> {
    fn word(&self) -> &str {
        self.inner.split(|letter: char| !letter.is_ascii_alphabetic()).next().unwrap_or_default()
    }

    /// Whether it prints something.
    fn prints(&self) -> bool {
        const KEYWORDS: [&str; 10] =
            ["if", "else", "end", "range", "with", "define", "template", "block", "break", "continue"];
        !KEYWORDS.contains(&self.word()) && !self.inner.starts_with("/*") && !self.inner.is_empty()
    }

    /// Whether it sets a variable.
    fn sets(&self) -> bool {
        let Some(rest) = self.inner.strip_prefix('$') else { return false };
        let rest =
            rest.trim_start_matches(|letter: char| letter.is_alphanumeric() || letter == '_').trim_start();
        rest.starts_with(":=") || (rest.starts_with('=') && !rest.starts_with("=="))
    }
}

/// The actions of a template, in order.
fn actions(source: &str) -> Vec<Action<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(open) = source[at..].find("{{") {
        let start = at + open + 2;
        let Some(length) = action_length(&source[start..]) else { break };
        let inner = &source[start..start + length];
        let inner =
            inner.strip_prefix('-').filter(|rest| rest.starts_with(char::is_whitespace)).unwrap_or(inner);
        let trimmed = match inner.strip_suffix('-') {
            Some(rest) if rest.ends_with(char::is_whitespace) => rest,
            _ => inner,
        };
        let end = start + length - (inner.len() - trimmed.trim_end().len());
        at = start + length + 2;
        found.push(Action { inner: trimmed.trim(), end, after: at });
    }
    found
}

/// How far it is to the braces that close an action, which do not count within strings and comments.
fn action_length(text: &str) -> Option<usize> {
    let body = text.trim_start_matches(['-', ' ', '\t', '\n', '\r']);
    if body.starts_with("/*") {
        let start = text.len() - body.len();
        let end = start + body.find("*/")? + 2;
        return Some(end + text[end..].find("}}")?);
    }
    let (mut quote, mut is_escaped) = (None, false);
    for (at, letter) in text.char_indices() {
        match quote {
            Some(_) if is_escaped => is_escaped = false,
            Some(mark) if letter == '\\' && mark != '`' => is_escaped = true,
            Some(mark) if letter == mark => quote = None,
            Some(_) => {}
            None if matches!(letter, '"' | '\'' | '`') => quote = Some(letter),
            None if text[at..].starts_with("}}") => return Some(at),
            None => {}
        }
    }
    None
}

/// The names of the fields that an action reads.
fn fields_in(inner: &str) -> Vec<&str> {
    let mut fields = Vec::new();
    let mut quote = None;
    let mut before = ' ';
    for (at, letter) in inner.char_indices() {
        match quote {
            Some(mark) if letter == mark && before != '\\' => quote = None,
            Some(_) => {}
            None if matches!(letter, '"' | '\'' | '`') => quote = Some(letter),
            None if letter == '.' => {
                let rest = &inner[at + 1..];
                let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
                fields.push(&rest[..end.unwrap_or(rest.len())]);
            }
            None => {}
        }
        before = letter;
    }
    fields
}

/// All fields that a template reads.
fn fields_of(source: &str) -> Vec<&str> {
    actions(source).iter().flat_map(|action| fields_in(action.inner)).collect()
}

/// The template up to the place of the answer. Open blocks are closed.
fn cut_at_answer(source: &str) -> String {
    let mut open = 0_usize;
    for action in actions(source) {
        match action.word() {
            "if" | "range" | "with" | "block" | "define" => open += 1,
            "end" => open = open.saturating_sub(1),
            _ if action.prints() && fields_in(action.inner).contains(&"Response") => {
                return format!("{}{}", &source[..action.after], "{{ end }}".repeat(open));
            }
            _ => {}
        }
    }
    source.to_owned()
}

/// The template with every printed value given to [`PRINT`].
fn printing_json(source: &str) -> String {
    let (mut written, mut at) = (String::new(), 0);
    for action in actions(source) {
        if action.prints() && !action.sets() {
            written.push_str(&source[at..action.end]);
            written.push_str(&format!(" | {PRINT} "));
            // A mark that trims needs its space, which is written already.
            let rest = source[action.end..action.after].trim_start();
            written.push_str(rest);
            at = action.after;
        }
    }
    written.push_str(&source[at..]);
    written
}
