//! Walks Go templates.

use std::collections::{HashMap, HashSet};

use hinagata_gotemplate::syntax::{Branch, Command, Define, Node, Operand, OperandKind, Pipe};
use hinagata_value::Error;
use serde_json::{Map, Value as Json};

use crate::{
    check::{Check, Need, noun},
    codes::{BRANCH_NEVER, TYPE_FORMAT, TYPE_OPERATION, TYPE_PATH, TYPE_PRINTED},
    level::Level,
    probe::{Outcome, has_samples, samples},
    shape::{Kinds, Shape},
    tolerant::go_message,
};

/// Maximum number of combinations of samples.
const MAX_RUNS: usize = 1_000;
/// Maximum depth of templates of one set that call each other.
const MAX_CALLS: usize = 16;
/// Maximum number of calls that are followed in one set.
const MAX_FOLLOWED: usize = 200;

/// A value in a Go template.
#[derive(Clone, Debug)]
struct GoValue {
    shape: Shape,
    /// The literal, where Go's typing depends on its spelling.
    literal: Option<String>,
    /// Whether it is all variables of the prompt.
    is_root: bool,
    /// Whether it is an entry of a map or list: Go keeps it in an interface then, which a variable or parentheses
    /// remove.
    is_entry: bool,
}

impl GoValue {
    const ANY: Self = Self { shape: Shape::ANY, literal: None, is_root: false, is_entry: false };

    fn of(shape: Shape) -> Self {
        Self { shape, literal: None, is_root: false, is_entry: false }
    }

    fn join(&self, other: &Self) -> Self {
        Self::of(match self.literal.is_some() || other.literal.is_some() {
            true => Shape::ANY,
            false => self.shape.join(&other.shape),
        })
    }
}

/// Walks the templates of one source.
pub(crate) struct GoWalker<'w, 'c> {
    check: &'w mut Check<'c>,
    template: &'w str,
    defines: &'w [Define],
    /// The variables in scope, innermost last.
    variables: Vec<(&'w str, GoValue)>,
    /// The templates of the source that are being walked.
    calls: Vec<&'w str>,
    reached: HashSet<&'w str>,
    followed: usize,
    conditional: u32,
    /// Variables that are assigned anywhere: their value after a branch or loop is unknown.
    assigned: HashSet<&'w str>,
    /// Names that an including template passes besides the variables.
    scope: HashMap<String, Shape>,
}

impl<'w, 'c> GoWalker<'w, 'c> {
    pub(crate) fn new(check: &'w mut Check<'c>, template: &'w str, defines: &'w [Define]) -> Self {
        let mut assigned = HashSet::new();
        for define in defines {
            collect_assigned(&define.body, &mut assigned);
        }
        Self {
            check,
            template,
            defines,
            variables: Vec::new(),
            calls: Vec::new(),
            reached: HashSet::new(),
            followed: 0,
            conditional: 0,
            assigned,
            scope: HashMap::new(),
        }
    }

    /// Walks the template of the source, and those that it defines and nothing calls.
    pub(crate) fn run(mut self, scope: HashMap<String, Shape>) {
        let is_included = !scope.is_empty();
        self.scope = scope;
        let defines = self.defines;
        let Some(main) = defines.iter().find(|define| *define.name == *self.template) else { return };
        let mut shape = self.check.all_variables();
        if is_included {
            shape = Shape { values: None, ..shape };
        }
        let root = GoValue { shape, literal: None, is_root: true, is_entry: false };
        self.define(main, root);
        for define in defines {
            if !self.reached.contains(&*define.name) {
                self.conditional += 1;
                self.define(define, GoValue::ANY);
                self.conditional -= 1;
            }
        }
    }

    fn define(&mut self, define: &'w Define, dot: GoValue) {
        let dot = GoValue { is_entry: false, ..dot };
        self.reached.insert(&define.name);
        let outer = std::mem::replace(&mut self.variables, vec![("$", dot.clone())]);
        self.calls.push(&define.name);
        self.body(&define.body, &dot);
        self.calls.pop();
        self.variables = outer;
    }

    /// Walks a body; the variables that it declares end with it.
    fn body(&mut self, body: &'w [Node], dot: &GoValue) {
        let mark = self.variables.len();
        for node in body {
            self.node(node, dot);
        }
        self.variables.truncate(mark);
    }

    fn node(&mut self, node: &'w Node, dot: &GoValue) {
        match node {
            Node::Text(_) | Node::Break | Node::Continue => {}
            Node::Action(pipe) => {
                let value = self.pipe(pipe, dot, Need::Value);
                if pipe.variables.is_empty() {
                    self.printed(pipe, &value);
                }
            }
            Node::If(branch) => self.branch(branch, dot, false),
            Node::With(branch) => self.branch(branch, dot, true),
            Node::Range(pipe, body, otherwise) => self.range(pipe, body, otherwise.as_deref(), dot),
            Node::Template(start, name, pipe) => self.call(*start, name, pipe.as_ref(), dot),
        }
    }

    fn printed(&mut self, pipe: &Pipe, value: &GoValue) {
        if value.is_root {
            self.check.set_uses_unknown();
        }
        let containers = Kinds::LIST | Kinds::MAP;
        let shape = &value.shape;
        if shape.declared && containers.contains(shape.kinds) && !shape.kinds.is_empty() {
            let message = format!("{} is printed in the notation of Go", noun(shape));
            let help = "loop over it with `range`".to_owned();
            let span = self.pipe_span(pipe);
            self.check.report(self.template, span, &TYPE_PRINTED, message, Vec::new(), Some(help));
        }
        if let [command] = &*pipe.commands
            && let [Operand { kind: OperandKind::Field(keys), .. }] = &*command.operands
            && let [name, ..] = &**keys
        {
            self.check.check_system_text(self.template, self.pipe_span(pipe), Some(name), false);
            if keys.len() > 1 || !self.check.variables.secrets.contains(&**name) {
                return;
            }
            let message = format!("the secret `{name}` becomes part of the prompt");
            let span = self.pipe_span(pipe);
            self.check.report(self.template, span, &crate::codes::SECRET_PRINTED, message, Vec::new(), None);
        }
    }

    fn pipe_span(&self, pipe: &Pipe) -> (u32, u32) {
        let length: usize = pipe.commands.iter().map(|command| command.text.len()).sum();
        (pipe.start, pipe.start + length.max(1) as u32)
    }

    fn branch(&mut self, branch: &'w Branch, dot: &GoValue, rebinds: bool) {
        let mark = self.variables.len();
        let mut holds = false;
        self.conditional += 1;
        for (pipe, body) in &branch.arms {
            self.check.muted += u32::from(holds);
            let value = self.pipe(pipe, dot, Need::Condition);
            let truth = self.truth(pipe, &value);
            if truth == Some(false) && value.shape.declared {
                let message = "the condition is false for every declared value".to_owned();
                let span = self.pipe_span(pipe);
                self.check.report(self.template, span, &BRANCH_NEVER, message, Vec::new(), None);
            }
            let inner = if rebinds {
                let shape = value.shape.without(Kinds::UNDEFINED | Kinds::NULL);
                GoValue { shape: Shape { declared: value.shape.declared, ..shape }, ..value.clone() }
            } else {
                dot.clone()
            };
            self.check.muted += u32::from(truth == Some(false));
            self.body(body, &inner);
            self.check.muted -= u32::from(truth == Some(false)) + u32::from(holds);
            holds |= truth == Some(true);
        }
        if let Some(body) = &branch.otherwise {
            self.check.muted += u32::from(holds);
            self.body(body, dot);
            self.check.muted -= u32::from(holds);
        }
        self.conditional -= 1;
        self.variables.truncate(mark);
    }

    /// Whether a condition always or never holds.
    fn truth(&mut self, pipe: &Pipe, value: &GoValue) -> Option<bool> {
        match value.literal.as_deref() {
            Some("true") => return Some(true),
            Some("false") => return Some(false),
            Some(_) => return None,
            None if pipe.variables.iter().any(|name| self.assigned.contains(&**name)) => return None,
            None => {}
        }
        if value.shape.kinds == Kinds::UNDEFINED {
            return Some(false);
        }
        let values = value.shape.values.as_ref()?;
        if value.shape.kinds.overlaps(Kinds::OTHER | Kinds::UNDEFINED) {
            return None;
        }
        let is_true = |value: &Json| match value {
            Json::Null => false,
            Json::Bool(value) => *value,
            Json::Number(number) => number.as_f64() != Some(0.0),
            Json::String(text) => !text.is_empty(),
            Json::Array(items) => !items.is_empty(),
            Json::Object(map) => !map.is_empty(),
        };
        let first = is_true(values.first()?);
        values.iter().all(|value| is_true(value) == first).then_some(first)
    }

    fn range(&mut self, pipe: &'w Pipe, body: &'w [Node], otherwise: Option<&'w [Node]>, dot: &GoValue) {
        let mark = self.variables.len();
        let over = self.stages(pipe, dot, Need::Value);
        let fails = self.check_range(pipe, &over);
        let shape = &over.shape;
        let item = match fails || over.literal.is_some() || shape.is_unknown() {
            true => GoValue::ANY,
            false if shape.kinds == Kinds::LIST => {
                GoValue { is_entry: true, ..GoValue::of(shape.listed_items()) }
            }
            false => GoValue::ANY,
        };
        let is_empty = item.shape.kinds.is_empty();
        let item = if is_empty { GoValue::ANY } else { item };
        let count = pipe.variables.len();
        for (at, name) in pipe.variables.iter().enumerate() {
            let value = if at + 1 == count { item.clone() } else { GoValue::ANY };
            self.declare(name, value);
        }
        self.conditional += 1;
        self.check.muted += u32::from(is_empty);
        self.body(body, &item);
        self.check.muted -= u32::from(is_empty);
        self.variables.truncate(mark);
        if let Some(body) = otherwise {
            self.body(body, dot);
        }
        self.conditional -= 1;
    }

    /// Reports a value that cannot be iterated. Returns whether it fails.
    fn check_range(&mut self, pipe: &'w Pipe, over: &GoValue) -> bool {
        if !has_samples(&over.shape) && over.literal.is_none() {
            return false;
        }
        let names = match pipe.variables.len() {
            0 => "",
            1 => "$hina := ",
            _ => "$hina, $hinb := ",
        };
        let source = |text: &str| format!("{{{{range {names}{text}}}}}{{{{break}}}}{{{{end}}}}");
        let Some(error) = self.failure_of(std::slice::from_ref(over), &|texts| source(&texts[0])) else {
            return false;
        };
        let span = self.pipe_span(pipe);
        let message = go_message(error.message());
        self.check.report(self.template, span, &TYPE_OPERATION, message, Vec::new(), None);
        true
    }

    fn call(&mut self, start: u32, name: &'w str, pipe: Option<&'w Pipe>, dot: &GoValue) {
        let value = match pipe {
            Some(pipe) => self.pipe(pipe, dot, Need::Optional),
            None => GoValue::of(Shape::of_kinds(Kinds::NULL)),
        };
        let span = (start, start + name.len() as u32 + 2);
        let defines = self.defines;
        if let Some(define) = defines.iter().find(|define| *define.name == *name) {
            self.followed += 1;
            if self.calls.len() >= MAX_CALLS || self.followed > MAX_FOLLOWED || self.calls.contains(&name) {
                if value.is_root {
                    self.check.set_uses_unknown();
                }
                return;
            }
            let outer = std::mem::take(&mut self.conditional);
            self.conditional = outer + 1;
            self.define(define, value);
            self.conditional = outer;
            return;
        }
        match self.check.find(self.template, name) {
            None => self.check.report_missing(self.template, name, span),
            Some((joined, parsed)) => {
                let conditional = self.conditional > 0;
                if self.check.is_cycle(self.template, &joined, span, conditional) {
                    return;
                }
                if value.is_root {
                    let scope = self.scope.clone();
                    self.check.walk_apart(&joined, &parsed, scope, conditional);
                } else {
                    // The called template has other data than the variables of the prompt.
                    self.check.muted += 1;
                    self.check.walk_apart(&joined, &parsed, HashMap::new(), conditional);
                    self.check.muted -= 1;
                }
            }
        }
    }

    fn declare(&mut self, name: &'w str, value: GoValue) {
        let is_unknown = self.assigned.contains(name) || self.check.is_partial();
        let value = if is_unknown { GoValue::ANY } else { value };
        self.variables.push((name, GoValue { is_entry: false, ..value }));
    }

    fn pipe(&mut self, pipe: &'w Pipe, dot: &GoValue, need: Need) -> GoValue {
        let value = self.stages(pipe, dot, need);
        if !pipe.assigns {
            for name in &pipe.variables {
                self.declare(name, value.clone());
            }
        }
        value
    }

    fn stages(&mut self, pipe: &'w Pipe, dot: &GoValue, need: Need) -> GoValue {
        let mut piped: Option<GoValue> = None;
        let last = pipe.commands.len().saturating_sub(1);
        for (at, command) in pipe.commands.iter().enumerate() {
            let need = if at == last { need } else { Need::Value };
            piped = Some(self.command(command, dot, need, piped.as_ref()));
        }
        piped.unwrap_or(GoValue::ANY)
    }

    fn command(
        &mut self,
        command: &'w Command,
        dot: &GoValue,
        need: Need,
        piped: Option<&GoValue>,
    ) -> GoValue {
        let Some((first, rest)) = command.operands.split_first() else { return GoValue::ANY };
        let span = (command.start, command.start + command.text.len().max(1) as u32);
        match &first.kind {
            OperandKind::Builtin(name) => self.builtin(name, rest, dot, (need, piped), span),
            OperandKind::Function(name) => {
                if &**name == "role"
                    && let Some(role) = rest.first()
                {
                    let value = self.operand(role, dot, Need::Value);
                    self.check.check_role(
                        self.template,
                        (role.start, role.start + role.text.len() as u32),
                        &value.shape,
                    );
                }
                self.function(name, rest, dot, piped, span)
            }
            OperandKind::Nil => {
                self.check.report(
                    self.template,
                    span,
                    &TYPE_OPERATION,
                    "nil is not a command".to_owned(),
                    Vec::new(),
                    None,
                );
                GoValue::ANY
            }
            _ => {
                let value = self.operand(first, dot, need);
                if !rest.is_empty() || piped.is_some() {
                    self.check_arguments_of_value(first, span, &value);
                    for operand in rest {
                        self.operand(operand, dot, Need::Value);
                    }
                }
                value
            }
        }
    }

    /// Reports arguments behind a value that is no function.
    fn check_arguments_of_value(&mut self, first: &Operand, span: (u32, u32), value: &GoValue) {
        if value.shape.is_unknown() && value.literal.is_none() && !matches!(first.kind, OperandKind::Dot) {
            return;
        }
        let message = format!("can't give argument to non-function {}", first.text);
        self.check.report(self.template, span, &TYPE_OPERATION, message, Vec::new(), None);
    }

    fn operand(&mut self, operand: &'w Operand, dot: &GoValue, need: Need) -> GoValue {
        let span = (operand.start, operand.start + operand.text.len().max(1) as u32);
        match &operand.kind {
            OperandKind::Dot => dot.clone(),
            OperandKind::Nil | OperandKind::Literal => GoValue {
                shape: Shape::of_kinds(Kinds::OTHER),
                literal: Some(operand.text.to_string()),
                is_root: false,
                is_entry: false,
            },
            OperandKind::Text(text) => GoValue {
                shape: Shape::of_value(Json::String(text.to_string())),
                literal: Some(operand.text.to_string()),
                is_root: false,
                is_entry: false,
            },
            OperandKind::Field(keys) => self.fields(dot.clone(), keys, operand, need),
            OperandKind::Variable(name, keys) => {
                let value = self.variables.iter().rev().find(|(known, _)| *known == &**name);
                let value = value.map_or(GoValue::ANY, |(_, value)| value.clone());
                self.fields(value, keys, operand, need)
            }
            OperandKind::Chain(base, keys) => {
                let value = self.operand(base, dot, Need::Value);
                self.fields(value, keys, operand, need)
            }
            OperandKind::Builtin(name) => self.builtin(name, &[], dot, (need, None), span),
            OperandKind::Function(name) => self.function(name, &[], dot, None, span),
            OperandKind::Pipe(pipe) => {
                let mark = self.variables.len();
                let value = self.pipe(pipe, dot, need);
                self.variables.truncate(mark);
                GoValue { is_entry: false, ..value }
            }
        }
    }

    fn fields(&mut self, mut value: GoValue, keys: &'w [Box<str>], operand: &Operand, need: Need) -> GoValue {
        for (at, key) in keys.iter().enumerate() {
            let need = match (at + 1 == keys.len(), need) {
                (true, need) => need,
                (false, Need::Optional) => Need::Optional,
                (false, _) => Need::Value,
            };
            value = GoValue { is_entry: true, ..self.one_field(&value, key, operand, need) };
        }
        value
    }

    fn one_field(&mut self, value: &GoValue, key: &str, operand: &Operand, need: Need) -> GoValue {
        // The offset of a chain is that of its last dot; the first one is where the text starts.
        let at = operand.text.rfind(key).unwrap_or(0) as u32;
        let last_dot = operand.text.rfind('.').unwrap_or(0) as u32;
        let start = (operand.start + at).saturating_sub(last_dot);
        let span = (start, start + key.len().max(1) as u32);
        if value.is_root {
            if let Some(shape) = self.scope.get(key) {
                return GoValue::of(shape.clone());
            }
            let shape = self.check.variable(self.template, key, span, need);
            self.check_missing_key(&shape, key, span, need);
            return GoValue::of(shape);
        }
        let shape = &value.shape;
        if value.literal.is_some() || has_samples(shape) {
            if let Some(error) = self.failure_of(std::slice::from_ref(value), &|texts| {
                let text = &texts[0];
                if text.starts_with(['.', '$']) {
                    format!("{{{{{text}.{key}}}}}")
                } else {
                    format!("{{{{({text}).{key}}}}}")
                }
            }) {
                let message = go_message(error.message());
                // Only `undefined: error` makes a missing key fail.
                let is_missing = message.contains("no entry for key");
                if !(is_missing && need == Need::Condition) {
                    self.check.report(self.template, span, &TYPE_OPERATION, message, Vec::new(), None);
                }
                return GoValue::ANY;
            }
            if shape.kinds == Kinds::MAP {
                let found = shape.field(key);
                if found.kinds == Kinds::UNDEFINED && shape.declared && need != Need::Optional {
                    let near = hinagata_value::near_names(key, shape.field_names().unwrap_or_default());
                    let message = format!("the declared object has no field `{key}`");
                    let level = match self.check.is_strict() && need == Need::Value {
                        true => Level::Error,
                        false => Level::Warning,
                    };
                    self.check.report_at(level, self.template, span, &TYPE_PATH, message, near, None);
                }
                return GoValue::of(found);
            }
        }
        GoValue::ANY
    }

    /// Reports a missing variable where the options make it fail.
    fn check_missing_key(&mut self, shape: &Shape, key: &str, span: (u32, u32), need: Need) {
        use hinagata_gotemplate::MissingKey;
        let fails = match self.check.surroundings.options.go.missing_key {
            MissingKey::Error => true,
            MissingKey::Needed => need == Need::Value,
            MissingKey::Invalid | MissingKey::Zero => false,
        };
        if fails && shape.kinds == Kinds::UNDEFINED {
            let message = format!("map has no entry for key {key:?}");
            self.check.report(self.template, span, &TYPE_OPERATION, message, Vec::new(), None);
        }
    }

    fn builtin(
        &mut self,
        name: &'w str,
        args: &'w [Operand],
        dot: &GoValue,
        (need, piped): (Need, Option<&GoValue>),
        span: (u32, u32),
    ) -> GoValue {
        let inner = match name {
            "and" | "or" if need != Need::Value => need,
            "and" | "or" => Need::Optional,
            "not" => Need::Condition,
            _ => Need::Value,
        };
        let mut values = Vec::new();
        let mut muted = 0;
        for arg in args {
            let value = self.operand(arg, dot, inner);
            if value.is_root {
                self.check.set_uses_unknown();
            }
            // What follows a known false of `and` or true of `or` is not evaluated.
            let stops = matches!(name, "and" | "or") && self.known_truth(&value) == Some(name == "or");
            muted += u32::from(stops);
            self.check.muted += u32::from(stops);
            values.push(value);
        }
        self.check.muted -= muted;
        values.extend(piped.cloned());
        if matches!(name, "and" | "or") {
            self.check_count(name, &values, span);
            let joined = values.into_iter().reduce(|a, b| a.join(&b));
            return joined.unwrap_or(GoValue::ANY);
        }
        self.apply(name, &values, span)
    }

    fn known_truth(&self, value: &GoValue) -> Option<bool> {
        let values = value.shape.values.as_ref().filter(|_| value.literal.is_none())?;
        let is_empty = |value: &Json| match value {
            Json::Null | Json::Bool(false) => true,
            Json::Number(number) => number.as_f64() == Some(0.0),
            Json::String(text) => text.is_empty(),
            Json::Array(items) => items.is_empty(),
            Json::Object(map) => map.is_empty(),
            Json::Bool(true) => false,
        };
        if value.shape.kinds.overlaps(Kinds::UNDEFINED | Kinds::OTHER) {
            return None;
        }
        let first = !is_empty(values.first()?);
        values.iter().all(|value| is_empty(value) != first).then_some(first)
    }

    fn check_count(&mut self, name: &str, values: &[GoValue], span: (u32, u32)) {
        if values.is_empty() {
            let message = format!("wrong number of args for {name}: want at least 1 got 0");
            let code = &crate::codes::NAME_ARGUMENTS;
            self.check.report(self.template, span, code, message, Vec::new(), None);
        }
    }

    fn function(
        &mut self,
        name: &'w str,
        args: &'w [Operand],
        dot: &GoValue,
        piped: Option<&GoValue>,
        span: (u32, u32),
    ) -> GoValue {
        let mut values: Vec<GoValue> = args.iter().map(|arg| self.operand(arg, dot, Need::Value)).collect();
        if let ("media", Some(kind)) = (name, values.get(1)) {
            self.check.add_media(&kind.shape);
        }
        if values.iter().chain(piped).any(|value| value.is_root) {
            self.check.set_uses_unknown();
        }
        values.extend(piped.cloned());
        if self.check.surroundings.functions.get(name).is_some_and(|function| function.signature().is_some())
        {
            self.apply(name, &values, span);
        }
        GoValue::ANY
    }

    /// The result of a builtin. Reports it if it fails for all values of its arguments.
    fn apply(&mut self, name: &str, values: &[GoValue], span: (u32, u32)) -> GoValue {
        let command = |texts: &[String]| {
            let mut text = name.to_owned();
            for operand in texts {
                text.push(' ');
                text.push_str(operand);
            }
            text
        };
        let is_known = values.iter().all(|value| value.literal.is_some() || has_samples(&value.shape));
        let is_exact = values.iter().all(|value| value.literal.is_some() || value.shape.values.is_some());
        let widened: Vec<GoValue> = values
            .iter()
            .map(|value| match value.literal.is_some() || has_samples(&value.shape) {
                true => value.clone(),
                false => GoValue::of(Shape::of_kinds(Kinds::JSON | Kinds::UNDEFINED)),
            })
            .collect();
        // Indexing depends on values, which samples do not cover, unless nothing of this kind has an index.
        let has_index = Kinds::LIST | Kinds::MAP | Kinds::STRING | Kinds::OTHER;
        let may_have_index = values
            .first()
            .is_none_or(|first| first.literal.is_some() || first.shape.kinds.overlaps(has_index));
        let by_value = matches!(name, "index" | "slice") && !is_exact && may_have_index;
        if let Some(error) = self.failure_of(&widened, &|texts| format!("{{{{{}}}}}", command(texts))) {
            let is_count = crate::check::is_about_arguments(error.message());
            if is_count || (is_known && !by_value) {
                self.check.report_failure(self.template, span, &error);
                return GoValue::ANY;
            }
        }
        if name == "printf" {
            self.check_format(values, span);
        }
        // The capacity of a part of a list is not known.
        if !is_exact || name == "slice" {
            return GoValue::of(match name {
                "eq" | "ne" | "lt" | "le" | "gt" | "ge" | "not" => Shape::of_kinds(Kinds::BOOL),
                "print" | "printf" | "println" | "html" | "js" | "urlquery" => Shape::of_kinds(Kinds::STRING),
                _ => Shape::ANY,
            });
        }
        self.exact_result(values, &command)
    }

    /// The result of a command whose values are all known.
    fn exact_result(&mut self, values: &[GoValue], command: &dyn Fn(&[String]) -> String) -> GoValue {
        let all: Vec<Vec<Option<Json>>> = values
            .iter()
            .map(|value| if value.literal.is_some() { vec![None] } else { samples(&value.shape) })
            .collect();
        if all.iter().any(|values| values.len() != 1) {
            return GoValue::ANY;
        }
        let (before, texts, data) = self.bind(values, &all, &vec![0; all.len()]);
        match self.check.go.eval(&before, &command(&texts), &data) {
            Outcome::Result(observed) => match &observed.value {
                // Whole numbers that functions return are integers, unlike those of data.
                Some(Json::Number(number)) if number.is_i64() || number.is_u64() => GoValue {
                    shape: Shape::of_kinds(Kinds::OTHER),
                    literal: Some(number.to_string()),
                    is_root: false,
                    is_entry: false,
                },
                _ => GoValue::of(observed.into_shape()),
            },
            Outcome::Fails(_) | Outcome::Unknown => GoValue::ANY,
        }
    }

    /// Reports marks of `printf` for verbs that do not fit.
    fn check_format(&mut self, values: &[GoValue], span: (u32, u32)) {
        let Some((format, rest)) = values.split_first() else { return };
        let Some(Json::String(text)) = format.shape.only_value() else { return };
        if text.contains("%!")
            || rest.iter().any(|value| value.literal.is_none() && !has_samples(&value.shape))
        {
            return;
        }
        let all: Vec<Vec<Option<Json>>> = values
            .iter()
            .map(|value| if value.literal.is_some() { vec![None] } else { samples(&value.shape) })
            .collect();
        let mut bad = None;
        for number in 0..all.iter().map(Vec::len).max().unwrap_or(1) {
            let indexes: Vec<usize> = all.iter().map(|values| number.min(values.len() - 1)).collect();
            let (before, texts, data) = self.bind(values, &all, &indexes);
            let Outcome::Result(observed) =
                self.check.go.eval(&before, &format!("printf {}", texts.join(" ")), &data)
            else {
                return;
            };
            match observed.value {
                Some(Json::String(printed)) if printed.contains("%!") => bad = bad.or(Some(printed)),
                _ => return,
            }
        }
        if let Some(printed) = bad {
            let at = printed.find("%!").unwrap_or(0);
            let mark: String = printed[at..].chars().take(40).collect();
            let message = format!("the format does not fit its values: it prints `{mark}`");
            self.check.report(self.template, span, &TYPE_FORMAT, message, Vec::new(), None);
        }
    }

    /// The error of a source if it fails with all samples of its operands.
    fn failure_of(&mut self, operands: &[GoValue], source: &dyn Fn(&[String]) -> String) -> Option<Error> {
        let all: Vec<Vec<Option<Json>>> = operands
            .iter()
            .map(|value| if value.literal.is_some() { vec![None] } else { samples(&value.shape) })
            .collect();
        let mut indexes = vec![0; all.len()];
        let mut first = None;
        for _ in 0..MAX_RUNS {
            if all.iter().any(Vec::is_empty) {
                return None;
            }
            let (before, texts, data) = self.bind(operands, &all, &indexes);
            match self.check.go.exec(&format!("{before}{}", source(&texts)), &data) {
                Outcome::Fails(error) => first = first.or(Some(error)),
                Outcome::Result(_) | Outcome::Unknown => return None,
            }
            let Some(next) = indexes.iter().zip(&all).position(|(index, values)| index + 1 < values.len())
            else {
                return first;
            };
            indexes[next] += 1;
            indexes[..next].fill(0);
        }
        None
    }

    /// The declarations, texts and data of operands.
    fn bind(
        &self,
        operands: &[GoValue],
        all: &[Vec<Option<Json>>],
        indexes: &[usize],
    ) -> (String, Vec<String>, Map<String, Json>) {
        let (mut before, mut texts, mut data) = (String::new(), Vec::new(), Map::new());
        for (number, operand) in operands.iter().enumerate() {
            if let Some(literal) = &operand.literal {
                texts.push(literal.clone());
                continue;
            }
            if let Some(Some(value)) = all.get(number).and_then(|values| values.get(indexes[number])) {
                data.insert(format!("p{number}"), value.clone());
            }
            if operand.is_entry {
                texts.push(format!(".p{number}"));
            } else {
                before.push_str(&format!("{{{{$p{number} := .p{number}}}}}"));
                texts.push(format!("$p{number}"));
            }
        }
        (before, texts, data)
    }
}

/// Collects the variables that a body assigns with `=`.
fn collect_assigned<'w>(body: &'w [Node], assigned: &mut HashSet<&'w str>) {
    for node in body {
        match node {
            Node::Action(pipe) => collect_pipe(pipe, assigned),
            Node::If(branch) | Node::With(branch) => {
                for (pipe, body) in &branch.arms {
                    collect_pipe(pipe, assigned);
                    collect_assigned(body, assigned);
                }
                branch.otherwise.iter().for_each(|body| collect_assigned(body, assigned));
            }
            Node::Range(pipe, body, otherwise) => {
                collect_pipe(pipe, assigned);
                collect_assigned(body, assigned);
                otherwise.iter().for_each(|body| collect_assigned(body, assigned));
            }
            Node::Template(_, _, Some(pipe)) => collect_pipe(pipe, assigned),
            Node::Template(..) | Node::Text(_) | Node::Break | Node::Continue => {}
        }
    }
}

fn collect_pipe<'w>(pipe: &'w Pipe, assigned: &mut HashSet<&'w str>) {
    if pipe.assigns {
        assigned.extend(pipe.variables.iter().map(|name| &**name));
    }
    for operand in pipe.commands.iter().flat_map(|command| &command.operands) {
        if let OperandKind::Pipe(pipe) = &operand.kind {
            collect_pipe(pipe, assigned);
        }
    }
}
