//! Writes a Handlebars template as Jinja.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::{LARGEST_OUTPUT, TemplateLoss, TemplateProblem, access_path};
use super::expression::{Argument, Call, Path};
use super::parse::{Block, Node, parse_template};
use crate::jinja_text::{JinjaText, quote_string};
use crate::names::{Names, to_segment};
use crate::report::LossCode;

/// Whose Handlebars it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Google's dotprompt: values print as in JavaScript.
    Dotprompt,
    /// Semantic Kernel: values print as in Python.
    SemanticKernel,
}

/// Finds the source of a partial.
pub(crate) type Partials<'p> = &'p dyn Fn(&str) -> Option<String>;

/// A translated template.
#[derive(Debug, Default)]
pub(crate) struct Translated {
    /// The template.
    pub(crate) text: String,
    /// Partials that it includes: the file name and the template.
    pub(crate) partials: Vec<(String, String)>,
    /// What changed.
    pub(crate) losses: Vec<TemplateLoss>,
    /// Values of the host that are now parameters.
    pub(crate) data: BTreeSet<String>,
    /// Whether earlier messages have a place, the parameter `history`.
    pub(crate) has_history: bool,
}

/// Translates `source`. `schema` describes the variables.
pub(crate) fn translate(
    source: &str,
    dialect: Dialect,
    names: &mut Names,
    schema: Option<&Value>,
    partials: Partials<'_>,
) -> Result<Translated, TemplateProblem> {
    let nodes = parse_template(source)?;
    let mut emitter = Emitter {
        dialect,
        names,
        find: partials,
        contexts: vec![Scope { base: None, schema: schema.cloned() }],
        parameters: Vec::new(),
        loops: Vec::new(),
        inline: BTreeMap::new(),
        blocks: Vec::new(),
        written: Vec::new(),
        result: Translated::default(),
        depth: 0,
    };
    let mut text = JinjaText::default();
    emitter.nodes(&nodes, &mut text)?;
    let place = emitter.history_place(&nodes);
    let mut result = emitter.result;
    result.partials = emitter.written.into_iter().map(|(_, file, text)| (file, text)).collect();
    result.text = match (dialect, place, result.has_history) {
        (Dialect::Dotprompt, Some(place), false) => {
            result.has_history = true;
            insert_history(text.as_str(), place)
        }
        _ => text.finish(),
    };
    Ok(result)
}

/// Where earlier messages go if the template does not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HistoryPlace {
    /// Before the last message, which is the user's.
    BeforeLastRole,
    /// At the end.
    End,
}

const HISTORY: &str = "{% for message in history %}{{ role(message.role) }}{{ message.content }}{% endfor %}";

fn insert_history(text: &str, place: HistoryPlace) -> String {
    let mut text = text.to_owned();
    if text.ends_with('\n') {
        text.push('\n');
    }
    match (place, text.rfind("{{ role(\"user\") }}")) {
        (HistoryPlace::BeforeLastRole, Some(at)) => text.insert_str(at, HISTORY),
        _ => text.push_str(HISTORY),
    }
    text
}

/// A current value: `None` is all variables.
#[derive(Clone, Debug)]
struct Scope {
    base: Option<String>,
    schema: Option<Value>,
}

/// A loop that is being written.
struct Loop {
    key: Option<String>,
    /// Variables that hold data of the loop for the loops in it: the expression and the name.
    saved: Vec<(String, String)>,
}

struct Emitter<'e> {
    dialect: Dialect,
    names: &'e mut Names,
    find: Partials<'e>,
    contexts: Vec<Scope>,
    parameters: Vec<(String, Scope)>,
    loops: Vec<Loop>,
    inline: BTreeMap<String, Vec<Node>>,
    /// The blocks that `@partial-block` stands for.
    blocks: Vec<Vec<Node>>,
    /// Written partials: the key, the file and the template.
    written: Vec<(String, String, String)>,
    result: Translated,
    depth: usize,
}

type Outcome<T = ()> = Result<T, TemplateProblem>;

/// How deep partials may be written into each other.
const DEEPEST_PARTIAL: usize = 40;

impl Emitter<'_> {
    fn lose(&mut self, code: LossCode, offset: usize, what: impl Into<String>, instead: impl Into<String>) {
        self.result.losses.push(TemplateLoss::new(code, offset, what, instead));
    }

    fn scope(&self) -> &Scope {
        self.contexts.last().unwrap_or(&ROOT)
    }

    fn nodes(&mut self, nodes: &[Node], text: &mut JinjaText) -> Outcome {
        for node in nodes {
            self.node(node, text)?;
            if text.len() > LARGEST_OUTPUT {
                return Err(TemplateProblem::new(0, "the translated template is larger than 1 MiB"));
            }
        }
        Ok(())
    }

    fn node(&mut self, node: &Node, text: &mut JinjaText) -> Outcome {
        match node {
            Node::Text(literal) => text.push_text(literal),
            Node::Print { call, offset } => self.print(call, *offset, text)?,
            Node::Block(block) => self.block(block, text)?,
            Node::Partial { call, indent, offset } => self.partial(call, indent, *offset, None, text)?,
            Node::PartialBlock { call, body, indent, offset } => {
                self.partial(call, indent, *offset, Some(body), text)?;
            }
            Node::Inline { name, body } => {
                self.inline.insert(name.clone(), body.clone());
            }
        }
        Ok(())
    }

    fn print(&mut self, call: &Call, offset: usize, text: &mut JinjaText) -> Outcome {
        let is_dotprompt = self.dialect == Dialect::Dotprompt;
        match call.name() {
            Some("history") if is_dotprompt => {
                self.result.has_history = true;
                text.push_tag("for message in history");
                text.push_print("role(message.role)");
                text.push_print("message.content");
                text.push_tag("endfor");
                text.push_print("role(\"assistant\")");
                return Ok(());
            }
            Some("role") if is_dotprompt && !call.arguments.is_empty() => {
                let role = match &call.arguments[0] {
                    Argument::Text(role) if role == "model" => quote_string("assistant"),
                    Argument::Text(role) => quote_string(role),
                    other => {
                        let (name, _) = self.argument(other)?;
                        format!("\"assistant\" if {name} == \"model\" else {name}")
                    }
                };
                text.push_print(&format!("role({role})"));
                return Ok(());
            }
            Some("media") if is_dotprompt && !call.is_plain() => {
                let url = call.named_argument("url").or(call.arguments.first());
                let url = match url {
                    Some(url) => self.argument(url)?.0,
                    None => return Err(TemplateProblem::new(offset, "`media` needs a `url`")),
                };
                let kind = match call.named_argument("contentType") {
                    Some(kind) => format!(", {}", self.argument(kind)?.0),
                    None => String::new(),
                };
                text.push_print(&format!("media({url}{kind})"));
                return Ok(());
            }
            Some("section") if is_dotprompt && !call.is_plain() => {
                self.lose(LossCode::Part, offset, "a section, a mark for programs around the prompt", "");
                return Ok(());
            }
            _ => {}
        }
        let (expression, schema) = self.call(call, offset)?;
        text.push_print(&self.printed(&expression, schema.as_ref()));
        Ok(())
    }

    fn printed(&self, expression: &str, schema: Option<&Value>) -> String {
        let is_plain = self.dialect == Dialect::SemanticKernel
            || matches!(type_of(schema), Some("string" | "integer"))
            || expression.ends_with("|json")
            || expression.starts_with("loop.index");
        match is_plain {
            true => expression.to_owned(),
            false if needs_parentheses(expression) => format!("({expression})|js"),
            false => format!("{expression}|js"),
        }
    }

    /// The expression of a path or a helper, and the schema of its value.
    fn call(&mut self, call: &Call, offset: usize) -> Outcome<(String, Option<Value>)> {
        let Some(name) = call.name().filter(|name| {
            !call.is_plain() && !self.parameters.iter().any(|(parameter, _)| parameter == name)
        }) else {
            return self.argument(&call.target);
        };
        let mut arguments = Vec::new();
        for argument in &call.arguments {
            arguments.push(self.argument(argument)?.0);
        }
        let list: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let text = || Some(serde_json::json!({"type": "string"}));
        let is_kernel = self.dialect == Dialect::SemanticKernel;
        Ok(match (name, list.as_slice()) {
            ("json", [value]) => {
                let indent = match call.named_argument("indent") {
                    Some(indent) => format!("({})", self.argument(indent)?.0),
                    None => String::new(),
                };
                (format!("{}|json{indent}", grouped(value)), text())
            }
            ("lookup", [value, key]) => (format!("{}|at({key})", grouped(value)), None),
            ("equals" | "eq", [a, b]) if is_kernel => {
                (format!("{} == {}", grouped(a), grouped(b)), boolean())
            }
            ("concat", _) if is_kernel => {
                (list.iter().map(|part| grouped(part)).collect::<Vec<_>>().join(" ~ "), text())
            }
            _ => {
                let function = self.names.variable(name);
                self.lose(
                    LossCode::Helper,
                    offset,
                    format!("the helper `{name}`, which the format does not define"),
                    format!("a tool called `{function}`"),
                );
                let mut all = arguments;
                for (key, value) in &call.named {
                    let value = self.argument(value)?.0;
                    all.push(format!("{key}={value}"));
                }
                (format!("{function}({})", all.join(", ")), None)
            }
        })
    }

    fn argument(&mut self, argument: &Argument) -> Outcome<(String, Option<Value>)> {
        Ok(match argument {
            Argument::Text(text) => (quote_string(text), Some(serde_json::json!({"type": "string"}))),
            Argument::Number(number) => (number.clone(), None),
            Argument::Word(word) => ((*word).to_owned(), boolean().filter(|_| *word != "none")),
            Argument::Call(call) => {
                let (expression, schema) = self.call(call, 0)?;
                (expression, schema)
            }
            Argument::Path(path) => self.path(path),
        })
    }

    fn path(&mut self, path: &Path) -> (String, Option<Value>) {
        if path.is_data {
            return self.data(path);
        }
        if path.up == 0
            && !path.is_this
            && let Some((first, rest)) = path.keys.split_first()
            && let Some((_, scope)) = self.parameters.iter().rev().find(|(name, _)| name == first)
        {
            let scope = scope.clone();
            return self.in_scope(&scope, rest);
        }
        let Some(index) = self.contexts.len().checked_sub(1 + path.up) else {
            return ("none".to_owned(), None);
        };
        let scope = self.contexts[index].clone();
        self.in_scope(&scope, &path.keys)
    }

    fn in_scope(&mut self, scope: &Scope, keys: &[String]) -> (String, Option<Value>) {
        let mut schema = scope.schema.clone();
        for key in keys {
            schema = schema.as_ref().and_then(|schema| property(schema, key));
        }
        let expression = match (&scope.base, keys.split_first()) {
            (Some(base), _) => access_path(base, keys),
            (None, None) => "variables".to_owned(),
            (None, Some((first, rest))) => access_path(&self.names.variable(first), rest),
        };
        (expression, schema)
    }

    /// `@index` and the like, `@root`, and values of the host.
    fn data(&mut self, path: &Path) -> (String, Option<Value>) {
        let Some((first, rest)) = path.keys.split_first() else { return ("none".to_owned(), None) };
        if first == "root" {
            let root = self.contexts.first().cloned().unwrap_or(ROOT);
            return self.in_scope(&root, rest);
        }
        let is_own = matches!(first.as_str(), "index" | "first" | "last" | "key") && rest.is_empty();
        if is_own && let Some(level) = self.loops.len().checked_sub(1 + path.up) {
            let innermost = level + 1 == self.loops.len();
            let integer = Some(serde_json::json!({"type": "integer"}));
            let here = match first.as_str() {
                "index" => ("loop.index0".to_owned(), integer),
                "first" => ("loop.first".to_owned(), boolean()),
                "last" => ("loop.last".to_owned(), boolean()),
                _ => (self.loops[level].key.clone().unwrap_or_else(|| "loop.index0".to_owned()), None),
            };
            if innermost || first == "key" {
                return here;
            }
            let (expression, schema) = here;
            if let Some((_, name)) = self.loops[level].saved.iter().find(|(saved, _)| *saved == expression) {
                return (name.clone(), schema);
            }
            let name = self.names.local(first);
            self.loops[level].saved.push((expression, name.clone()));
            return (name, schema);
        }
        let name = self.names.variable(first);
        if self.result.data.insert(first.clone()) {
            self.lose(
                LossCode::Data,
                path.offset,
                format!("`@{first}`, a value of the program around the prompt"),
                format!("the parameter `{name}`"),
            );
        }
        (access_path(&name, rest), None)
    }

    fn condition(&mut self, argument: &Argument, zero_is_true: bool) -> Outcome<String> {
        let (expression, schema) = self.argument(argument)?;
        let grouped = grouped(&expression);
        let is_exact = matches!(type_of(schema.as_ref()), Some("boolean" | "string" | "array"))
            || (!zero_is_true && matches!(type_of(schema.as_ref()), Some("integer" | "number")));
        Ok(match (is_exact, zero_is_true) {
            (true, _) => grouped,
            (false, false) => format!("{grouped} or {grouped} is mapping"),
            (false, true) => format!("{grouped} or {grouped} is mapping or {grouped} is js_same(0)"),
        })
    }

    fn block(&mut self, block: &Block, text: &mut JinjaText) -> Outcome {
        let call = &block.call;
        let first = call.arguments.first();
        match (call.name(), first) {
            (Some(name @ ("if" | "unless")), Some(value)) => {
                let zero = matches!(call.named_argument("includeZero"), Some(Argument::Word("true")));
                let condition = self.condition(value, zero)?;
                self.choice(block, &negated(&condition, (name == "unless") != block.is_inverse), "if", text)
            }
            (Some(name @ ("ifEquals" | "unlessEquals")), Some(value))
                if self.dialect == Dialect::Dotprompt =>
            {
                let a = grouped(&self.argument(value)?.0);
                let b = match call.arguments.get(1) {
                    Some(other) => self.argument(other)?.0,
                    None => "none".to_owned(),
                };
                let test = if (name == "unlessEquals") == block.is_inverse { "is" } else { "is not" };
                self.choice(block, &format!("{a} {test} js_same({b})"), "if", text)
            }
            (Some("with"), Some(value)) => {
                let condition = self.condition(value, true)?;
                let (base, schema) = self.argument(value)?;
                let scope = Scope { base: Some(grouped(&base)), schema };
                let names = call.block_parameters.first().map(|name| (name.clone(), scope.clone()));
                self.contexts.push(scope);
                self.parameters.extend(names.clone());
                text.push_tag(&format!("if {}", negated(&condition, block.is_inverse)));
                self.nodes(&block.body, text)?;
                self.contexts.pop();
                self.parameters.truncate(self.parameters.len() - usize::from(names.is_some()));
                self.otherwise(block, text)?;
                text.push_tag("endif");
                Ok(())
            }
            (Some("each"), Some(value)) => {
                let (list, schema) = self.argument(value)?;
                self.each(block, &grouped(&list), schema.as_ref(), None, text)
            }
            (Some(name), Some(_)) if !call.is_plain() => {
                let (expression, _) = self.call(call, block.offset)?;
                self.lose(LossCode::Helper, block.offset, format!("the body of the helper `{name}`"), "");
                text.push_print(&expression);
                Ok(())
            }
            _ => {
                let (value, schema) = self.argument(&call.target)?;
                let here = self.scope().base.clone().unwrap_or_else(|| "variables".to_owned());
                let over = format!("{}|section({here}, \"handlebars\")", grouped(&value));
                if block.is_inverse {
                    return self.choice(block, &format!("not {over}"), "if", text);
                }
                self.each(block, &grouped(&value), schema.as_ref(), Some(&over), text)
            }
        }
    }

    /// `if` with its branches; a chain of `else if` becomes `elif`.
    fn choice(&mut self, block: &Block, condition: &str, word: &str, text: &mut JinjaText) -> Outcome {
        text.push_tag(&format!("{word} {condition}"));
        self.nodes(&block.body, text)?;
        if block.is_chain
            && let Some([Node::Block(next)]) = block.otherwise.as_deref()
            && next.call.name() == Some("if")
            && let Some(value) = next.call.arguments.first()
        {
            let zero = matches!(next.call.named_argument("includeZero"), Some(Argument::Word("true")));
            let condition = self.condition(value, zero)?;
            return self.choice(next, &condition, "elif", text);
        }
        self.otherwise(block, text)?;
        text.push_tag("endif");
        Ok(())
    }

    fn otherwise(&mut self, block: &Block, text: &mut JinjaText) -> Outcome {
        if let Some(otherwise) = &block.otherwise {
            text.push_tag("else");
            self.nodes(otherwise, text)?;
        }
        Ok(())
    }

    fn each(
        &mut self,
        block: &Block,
        list: &str,
        schema: Option<&Value>,
        section: Option<&str>,
        text: &mut JinjaText,
    ) -> Outcome {
        let wants_key =
            section.is_none() && (block.call.block_parameters.len() > 1 || reads_key(&block.body));
        let is_list = type_of(schema) == Some("array");
        let items = schema.and_then(|schema| schema.get("items")).cloned();
        let item = self.names.local("item");
        let key = wants_key.then(|| self.names.local("key"));
        let over = match (section, wants_key, is_list) {
            (Some(over), _, _) => over.to_owned(),
            (None, true, _) => format!("{list}|pairs"),
            (None, false, true) => list.to_owned(),
            (None, false, false) => format!("{list}|each"),
        };
        match &key {
            Some(key) => text.push_tag(&format!("for {key}, {item} in {over}")),
            None => text.push_tag(&format!("for {item} in {over}")),
        }
        let scope = Scope { base: Some(item.clone()), schema: items };
        let mut names: Vec<(String, Scope)> = Vec::new();
        if let Some(name) = block.call.block_parameters.first() {
            names.push((name.clone(), scope.clone()));
        }
        if let (Some(name), Some(key)) = (block.call.block_parameters.get(1), &key) {
            names.push((name.clone(), Scope { base: Some(key.clone()), schema: None }));
        }
        let count = names.len();
        self.contexts.push(scope);
        self.parameters.extend(names);
        self.loops.push(Loop { key: key.clone(), saved: Vec::new() });
        let mut body = JinjaText::default();
        self.nodes(&block.body, &mut body)?;
        let saved = self.loops.pop().map(|ended| ended.saved).unwrap_or_default();
        self.parameters.truncate(self.parameters.len() - count);
        self.contexts.pop();
        for (expression, name) in &saved {
            text.push_tag(&format!("set {name} = {expression}"));
            self.names.release_local(name);
        }
        text.push_template(&body);
        self.names.release_local(&item);
        if let Some(key) = &key {
            self.names.release_local(key);
        }
        self.otherwise(block, text)?;
        text.push_tag("endfor");
        Ok(())
    }

    fn partial(
        &mut self,
        call: &Call,
        indent: &str,
        offset: usize,
        block: Option<&[Node]>,
        text: &mut JinjaText,
    ) -> Outcome {
        let name = match &call.target {
            Argument::Path(path) if path.is_data && path.keys == ["partial-block"] => {
                let Some(nodes) = self.blocks.pop() else { return Ok(()) };
                let result = self.nodes(&nodes, text);
                self.blocks.push(nodes);
                return result;
            }
            Argument::Path(path) => path.keys.join("/"),
            Argument::Text(name) => name.clone(),
            _ => {
                return Err(TemplateProblem::new(
                    offset,
                    "a partial that is chosen while rendering is not supported",
                ));
            }
        };
        let scope = self.partial_scope(call)?;
        let mut body = JinjaText::default();
        self.depth += 1;
        if self.depth > DEEPEST_PARTIAL {
            return Err(TemplateProblem::new(offset, format!("the partial `{name}` is nested too deeply")));
        }
        if let Some(nodes) = self.inline.get(&name).cloned() {
            self.written_here(&nodes, &scope, block, &mut body)?;
        } else if let Some(source) = (self.find)(&name) {
            match block {
                Some(_) => {
                    let nodes = parse_template(&source)?;
                    self.written_here(&nodes, &scope, block, &mut body)?;
                }
                None => self.include(&name, &source, &scope, &mut body)?,
            }
        } else if let Some(nodes) = block {
            self.nodes(nodes, &mut body)?;
        } else {
            self.lose(LossCode::Partial, offset, format!("the partial `{name}`, which does not exist"), "");
            body.push_tag(&format!(
                "include {}",
                quote_string(&format!("partials/{}.md", to_segment(&name)))
            ));
        }
        self.depth -= 1;
        if indent.is_empty() {
            text.push_template(&body);
        } else {
            text.push_tag(&format!("filter prefix({})", quote_string(indent)));
            text.push_template(&body);
            text.push_tag("endfilter");
        }
        Ok(())
    }

    /// The current value of a partial.
    fn partial_scope(&mut self, call: &Call) -> Outcome<Scope> {
        let mut scope = match call.arguments.first() {
            Some(argument) => {
                let (base, schema) = self.argument(argument)?;
                Scope { base: Some(base).filter(|base| base != "variables"), schema }
            }
            None => self.scope().clone(),
        };
        if !call.named.is_empty() {
            let base = scope.base.unwrap_or_else(|| "variables".to_owned());
            let mut entries = vec![base];
            for (key, value) in &call.named {
                let value = self.argument(value)?.0;
                match crate::names::is_identifier(key) {
                    true => entries.push(format!("{key}={value}")),
                    false => entries.push(format!("**{{{}: {value}}}", quote_string(key))),
                }
            }
            scope = Scope { base: Some(format!("dict({})", entries.join(", "))), schema: None };
        }
        Ok(scope)
    }

    /// Writes the nodes of a partial in place.
    fn written_here(
        &mut self,
        nodes: &[Node],
        scope: &Scope,
        block: Option<&[Node]>,
        text: &mut JinjaText,
    ) -> Outcome {
        if let Some(block) = block {
            self.blocks.push(block.to_vec());
        }
        self.contexts.push(scope.clone());
        let result = self.nodes(nodes, text);
        self.contexts.pop();
        if block.is_some() {
            self.blocks.pop();
        }
        result
    }

    /// Writes the partial as a file of its own, and includes it.
    fn include(&mut self, name: &str, source: &str, scope: &Scope, text: &mut JinjaText) -> Outcome {
        let has_value = scope.base.is_some();
        let key = format!("{name}\n{has_value}");
        let file = match self.written.iter().find(|(known, ..)| *known == key) {
            Some((_, file, _)) => file.clone(),
            None => {
                let file = format!("{}{}.md", to_segment(name), if has_value { "_of_this" } else { "" });
                self.written.push((key.clone(), file.clone(), String::new()));
                let nodes = parse_template(source).map_err(|problem| {
                    TemplateProblem::new(0, format!("in the partial `{name}`: {}", problem.message))
                })?;
                let inner = match has_value {
                    true => Scope { base: Some("this".to_owned()), schema: None },
                    false => scope.clone(),
                };
                let (contexts, loops) = (std::mem::take(&mut self.contexts), std::mem::take(&mut self.loops));
                let parameters = std::mem::take(&mut self.parameters);
                self.contexts = vec![Scope { base: None, schema: contexts[0].schema.clone() }];
                if has_value {
                    self.contexts.push(inner);
                }
                let mut written = JinjaText::default();
                let result = self.nodes(&nodes, &mut written);
                (self.contexts, self.loops, self.parameters) = (contexts, loops, parameters);
                result?;
                if let Some(entry) = self.written.iter_mut().find(|(known, ..)| *known == key) {
                    entry.2 = written.finish();
                }
                file
            }
        };
        let include = format!("include {}", quote_string(&format!("partials/{file}")));
        match scope.base.as_deref() {
            Some("this") | None => text.push_tag(&include),
            Some(base) => {
                text.push_tag(&format!("with this = {base}"));
                text.push_tag(&include);
                text.push_tag("endwith");
            }
        }
        Ok(())
    }

    /// Where earlier messages go, for a template with roles and without `{{history}}`.
    fn history_place(&self, nodes: &[Node]) -> Option<HistoryPlace> {
        let mut last = None;
        for node in nodes {
            match node {
                Node::Print { call, .. } if call.name() == Some("role") => {
                    last = match call.arguments.first() {
                        Some(Argument::Text(role)) if role == "user" => Some(HistoryPlace::BeforeLastRole),
                        _ => Some(HistoryPlace::End),
                    };
                }
                Node::Block(block) if has_role(&block.body) => last = Some(HistoryPlace::End),
                _ => {}
            }
        }
        last
    }
}

const ROOT: Scope = Scope { base: None, schema: None };

/// The schema of a key; `None` if it is not declared.
fn property(schema: &Value, key: &str) -> Option<Value> {
    match type_of(Some(schema)) {
        Some("array") => match key {
            "length" => Some(serde_json::json!({"type": "integer"})),
            _ => schema.get("items").cloned(),
        },
        _ => schema.get("properties")?.get(key).cloned(),
    }
}

fn type_of(schema: Option<&Value>) -> Option<&str> {
    schema?.get("type")?.as_str()
}

#[expect(clippy::unnecessary_wraps, reason = "a schema is optional wherever it is used")]
fn boolean() -> Option<Value> {
    Some(serde_json::json!({"type": "boolean"}))
}

fn has_role(nodes: &[Node]) -> bool {
    nodes.iter().any(|node| match node {
        Node::Print { call, .. } => call.name() == Some("role"),
        Node::Block(block) => has_role(&block.body) || block.otherwise.as_deref().is_some_and(has_role),
        _ => false,
    })
}

/// Whether a body reads `@key` of its own loop or of one around it.
fn reads_key(nodes: &[Node]) -> bool {
    let is_key = |argument: &Argument| matches!(argument, Argument::Path(path) if path.is_data && path.keys == ["key"]);
    let calls = |call: &Call| {
        is_key(&call.target)
            || call.arguments.iter().any(is_key)
            || call.named.iter().any(|(_, value)| is_key(value))
    };
    nodes.iter().any(|node| match node {
        Node::Print { call, .. } | Node::Partial { call, .. } => calls(call),
        Node::Block(block) => {
            calls(&block.call) || reads_key(&block.body) || block.otherwise.as_deref().is_some_and(reads_key)
        }
        Node::PartialBlock { call, body, .. } => calls(call) || reads_key(body),
        Node::Text(_) | Node::Inline { .. } => false,
    })
}

fn needs_parentheses(expression: &str) -> bool {
    [" == ", " ~ ", " or ", " is ", " if "].into_iter().any(|operator| expression.contains(operator))
        && !expression.ends_with('"')
}

fn grouped(expression: &str) -> String {
    match needs_parentheses(expression) {
        true => format!("({expression})"),
        false => expression.to_owned(),
    }
}

fn negated(condition: &str, negate: bool) -> String {
    match (negate, condition.contains(" or ")) {
        (false, _) => condition.to_owned(),
        (true, true) => format!("not ({condition})"),
        (true, false) => format!("not {condition}"),
    }
}
