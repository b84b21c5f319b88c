//! Nunjucks: nearly the syntax of Jinja, with the values of JavaScript.

use hinagata_jinja::ast::{
    Arm, Binary, BinaryOp, CallArgs, Compare, CompareOp, Const, Expr, ExprKind, For, If, Macro, Postfix,
    PostfixOp, Stmt, StmtKind, Target, TargetKind, UnaryOp,
};
use hinagata_jinja::{ParseOptions, parse};
use hinagata_value::{Budget, Limits};

use super::jinja::{Piece, split_pieces};
use super::{TemplateLoss, TemplateProblem, access_path};
use crate::jinja_text::{JinjaText, quote_string};
use crate::names::{Names, is_plain_key};
use crate::report::LossCode;

/// Filters that mean the same in both languages.
const FILTERS: [&str; 30] = [
    "abs",
    "batch",
    "capitalize",
    "center",
    "default",
    "dictsort",
    "first",
    "float",
    "groupby",
    "indent",
    "int",
    "join",
    "last",
    "length",
    "list",
    "lower",
    "reject",
    "rejectattr",
    "replace",
    "reverse",
    "round",
    "select",
    "selectattr",
    "slice",
    "sort",
    "string",
    "sum",
    "title",
    "trim",
    "upper",
];

/// Tests that mean the same in both languages.
const TESTS: [&str; 11] =
    ["defined", "divisibleby", "even", "ge", "gt", "le", "lt", "mapping", "number", "odd", "undefined"];

/// Translates a source; the losses come with it.
pub(crate) fn translate(
    source: &str,
    names: &mut Names,
) -> Result<(String, Vec<TemplateLoss>), TemplateProblem> {
    let readable = without_strict_signs(source);
    let options = ParseOptions { keep_trailing_newline: true, messages: false, ..ParseOptions::default() };
    let budget = Budget::new(Limits::default());
    let template = parse("template", &readable, &options, &budget).map_err(|error| {
        let line = error.place().map_or(1, |place| place.line);
        let before = readable.split_inclusive('\n').take((line as usize).saturating_sub(1));
        TemplateProblem::new(before.map(str::len).sum(), error.message())
    })?;
    let mut emitter = Emitter { source, names, locals: Vec::new(), losses: Vec::new() };
    let mut text = JinjaText::default();
    emitter.statements(&template.body, &mut text);
    Ok((text.finish(), emitter.losses))
}

/// The source with `==` in the place of `===`, at the same offsets.
fn without_strict_signs(source: &str) -> String {
    let mut readable = String::with_capacity(source.len());
    for piece in split_pieces(source) {
        match piece {
            Piece::Text(text) => readable.push_str(text),
            Piece::Tag(tag) => {
                let (mut rest, mut quote): (&str, Option<char>) = (tag, None);
                while let Some(first) = rest.chars().next() {
                    let strict = ["===", "!=="].into_iter().find(|sign| rest.starts_with(sign));
                    match (quote, strict) {
                        (None, Some(sign)) => {
                            readable.push_str(if sign == "===" { "== " } else { "!= " });
                            rest = &rest[3..];
                            continue;
                        }
                        (None, None) if matches!(first, '"' | '\'') => quote = Some(first),
                        (Some(open), _) if open == first && !readable.ends_with('\\') => quote = None,
                        _ => {}
                    }
                    readable.push(first);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
    }
    readable
}

struct Emitter<'n> {
    source: &'n str,
    names: &'n mut Names,
    /// Names that the template binds.
    locals: Vec<String>,
    losses: Vec<TemplateLoss>,
}

impl Emitter<'_> {
    fn lose(&mut self, code: LossCode, expression_start: u32, what: String, instead: &str) {
        self.losses.push(TemplateLoss::new(code, expression_start as usize, what, instead));
    }

    fn statements(&mut self, statements: &[Stmt], text: &mut JinjaText) {
        for statement in statements {
            self.statement(statement, text);
        }
    }

    fn statement(&mut self, statement: &Stmt, text: &mut JinjaText) {
        match &statement.kind {
            StmtKind::Text(literal) => text.push_text(literal),
            StmtKind::Print(value) => {
                let shown = self.grouped(value);
                text.push_print(&format!("{shown}|js"));
            }
            StmtKind::If(choice) => self.choice(choice, text),
            StmtKind::For(run) => self.run(run, text),
            StmtKind::Set(set) => {
                let value = self.value(&set.value);
                let target = self.bind(&set.target);
                text.push_tag(&format!("set {target} = {value}"));
            }
            StmtKind::SetBlock(set) if set.filters.is_empty() => {
                let target = self.bind(&set.target);
                text.push_tag(&format!("set {target}"));
                self.statements(&set.body, text);
                text.push_tag("endset");
            }
            StmtKind::Macro(made) => self.macro_block(made, text),
            StmtKind::Include(_) | StmtKind::Import(_) | StmtKind::FromImport(_) | StmtKind::Extends(_) => {
                let what = "a template that another file has".to_owned();
                self.lose(LossCode::Partial, statement.span.start, what, "nothing is printed");
            }
            StmtKind::Block(block) => self.statements(&block.body, text),
            _ => {
                let what = "a statement that only Nunjucks has".to_owned();
                self.lose(LossCode::Helper, statement.span.start, what, "");
            }
        }
    }

    fn choice(&mut self, choice: &If, text: &mut JinjaText) {
        for (index, Arm { test, body, .. }) in choice.arms.iter().enumerate() {
            let condition = self.condition(test);
            text.push_tag(&format!("{} {condition}", if index == 0 { "if" } else { "elif" }));
            self.statements(body, text);
        }
        if !choice.otherwise.is_empty() {
            text.push_tag("else");
            self.statements(&choice.otherwise, text);
        }
        text.push_tag("endif");
    }

    fn run(&mut self, run: &For, text: &mut JinjaText) {
        let over = self.grouped(&run.iter);
        let before = self.locals.len();
        let is_pair = matches!(&run.target.kind, TargetKind::Tuple(targets) if targets.len() == 2);
        let target = self.bind(&run.target);
        // A map has pairs and no items.
        let items = match is_pair {
            true => format!("({over}|pairs if {over} is mapping else {over})"),
            false => format!("([] if {over} is mapping else {over})"),
        };
        text.push_tag(&format!("for {target} in {items}"));
        self.statements(&run.body, text);
        if !run.otherwise.is_empty() {
            text.push_tag("else");
            self.statements(&run.otherwise, text);
        }
        text.push_tag("endfor");
        self.locals.truncate(before);
    }

    fn macro_block(&mut self, made: &Macro, text: &mut JinjaText) {
        self.locals.push(made.name.name.to_string());
        let before = self.locals.len();
        let mut parameters = Vec::new();
        for parameter in &made.params {
            let name = parameter.name.name.to_string();
            parameters.push(match &parameter.default {
                Some(default) => format!("{name}={}", self.value(default)),
                None => name.clone(),
            });
            self.locals.push(name);
        }
        text.push_tag(&format!("macro {}({})", made.name.name, parameters.join(", ")));
        self.statements(&made.body, text);
        text.push_tag("endmacro");
        self.locals.truncate(before);
    }

    /// The target of an assignment, whose names belong to the template from now on.
    fn bind(&mut self, target: &Target) -> String {
        match &target.kind {
            TargetKind::Name(name) => {
                self.locals.push(name.to_string());
                name.to_string()
            }
            TargetKind::Attr { namespace, attr } => format!("{}.{}", namespace.name, attr.name),
            TargetKind::Tuple(targets) => {
                let names: Vec<String> = targets.iter().map(|target| self.bind(target)).collect();
                names.join(", ")
            }
        }
    }

    /// A condition with the truth of JavaScript: an empty list or map is true.
    fn condition(&mut self, test: &Expr) -> String {
        match &test.kind {
            ExprKind::And(parts) => self.joined(parts, " and "),
            ExprKind::Or(parts) => self.joined(parts, " or "),
            ExprKind::Unary(UnaryOp::Not, inner) => format!("not ({})", self.condition(inner)),
            ExprKind::Compare(_) | ExprKind::Const(_) => self.value(test),
            ExprKind::Postfix(postfix)
                if matches!(postfix.ops.last().map(|step| &step.op), Some(PostfixOp::Test(_))) =>
            {
                self.value(test)
            }
            _ => {
                let value = self.grouped(test);
                format!("{value} or {value} is mapping or {value} is sequence and {value} is not string")
            }
        }
    }

    fn joined(&mut self, parts: &[Expr], sign: &str) -> String {
        let parts: Vec<String> = parts.iter().map(|part| format!("({})", self.condition(part))).collect();
        parts.join(sign)
    }

    /// A value that an operator or a filter can follow.
    fn grouped(&mut self, expression: &Expr) -> String {
        let value = self.value(expression);
        let is_simple =
            value.chars().all(|character| character.is_alphanumeric() || "_.".contains(character));
        if is_simple { value } else { format!("({value})") }
    }

    fn values(&mut self, items: &[Expr]) -> String {
        let items: Vec<String> = items.iter().map(|item| self.value(item)).collect();
        items.join(", ")
    }

    fn value(&mut self, expression: &Expr) -> String {
        match &expression.kind {
            ExprKind::Const(constant) => constant_text(constant),
            ExprKind::Name(name) => self.variable(name),
            ExprKind::List(items) => format!("[{}]", self.values(items)),
            ExprKind::Tuple(items) => format!("({},)", self.values(items)),
            ExprKind::Dict(pairs) => {
                let pair =
                    |(key, value): &(Expr, Expr)| format!("{}: {}", self.value(key), self.value(value));
                format!("{{{}}}", pairs.iter().map(pair).collect::<Vec<_>>().join(", "))
            }
            ExprKind::Postfix(postfix) => self.postfix(postfix, expression.span.start),
            ExprKind::Unary(sign, inner) => {
                let inner_value = match sign {
                    UnaryOp::Not => format!("({})", self.condition(inner)),
                    _ => self.grouped(inner),
                };
                let sign = match sign {
                    UnaryOp::Not => "not ",
                    UnaryOp::Neg => "-",
                    UnaryOp::Pos => "+",
                };
                format!("{sign}{inner_value}")
            }
            ExprKind::Binary(binary) => self.binary(binary),
            ExprKind::Concat(parts) => {
                let parts: Vec<String> =
                    parts.iter().map(|part| format!("{}|js", self.grouped(part))).collect();
                parts.join(" ~ ")
            }
            ExprKind::Compare(compare) => self.compare(compare),
            ExprKind::And(parts) | ExprKind::Or(parts) => {
                let sign = if matches!(expression.kind, ExprKind::And(_)) { " and " } else { " or " };
                let parts: Vec<String> = parts.iter().map(|part| self.grouped(part)).collect();
                parts.join(sign)
            }
            ExprKind::Conditional(choice) => {
                let mut value = self.grouped(&choice.value);
                let last = choice.tests.len().saturating_sub(1);
                for (index, test) in choice.tests.iter().enumerate() {
                    let otherwise = choice.otherwise.as_ref().filter(|_| index == last);
                    let otherwise = otherwise.map(|other| format!(" else {}", self.grouped(other)));
                    value = format!("({value} if {}{})", self.condition(test), otherwise.unwrap_or_default());
                }
                value
            }
        }
    }

    fn variable(&mut self, name: &str) -> String {
        let is_local = name == "loop" || self.locals.iter().any(|local| local == name);
        if is_local { name.to_owned() } else { self.names.variable(name) }
    }

    fn postfix(&mut self, postfix: &Postfix, start: u32) -> String {
        let mut value = match &postfix.base.kind {
            ExprKind::Name(name) => self.variable(name),
            _ => self.grouped(&postfix.base),
        };
        for step in &postfix.ops {
            value = match &step.op {
                PostfixOp::Attr(key) if is_plain_key(key) => format!("{value}.{key}"),
                PostfixOp::Attr(key) if value.starts_with("loop") => format!("{value}.{key}"),
                PostfixOp::Attr(key) => access_path(&value, &[key.to_string()]),
                PostfixOp::Item(key) => format!("{value}|at({})", self.value(key)),
                PostfixOp::Filter(filter) => {
                    let arguments = self.arguments(&filter.args);
                    match &*filter.name {
                        "safe" => value,
                        "dump" => format!("{value}|json{arguments}"),
                        "d" => format!("{value}|default{arguments}"),
                        known if FILTERS.contains(&known) => format!("{value}|{known}{arguments}"),
                        other => {
                            let function = self.names.variable(other);
                            let what = format!("the filter `{other}`, which is not translated");
                            let instead = format!("a tool called `{function}`");
                            self.lose(LossCode::Helper, step.span.start, what, &instead);
                            let more = arguments.trim_start_matches('(').trim_end_matches(')').to_owned();
                            let comma = if more.is_empty() { "" } else { ", " };
                            format!("{function}({value}{comma}{more})")
                        }
                    }
                }
                PostfixOp::Test(test) => {
                    if !TESTS.contains(&&*test.name) {
                        let what = format!("the test `{}`, which is not translated", test.name);
                        self.lose(LossCode::Helper, step.span.start, what, "");
                    }
                    let not = if test.negated { "not " } else { "" };
                    format!("{value} is {not}{}{}", test.name, self.arguments(&test.args))
                }
                PostfixOp::Call(arguments) => {
                    let is_known = self.locals.contains(&value) || matches!(value.as_str(), "range");
                    if !is_known {
                        let what = format!("the call of `{value}`, which the template does not define");
                        self.lose(LossCode::Helper, start, what, "a tool of that name");
                    }
                    let arguments = self.arguments(arguments);
                    format!("{value}{}", if arguments.is_empty() { "()" } else { &arguments })
                }
                PostfixOp::Slice(_) => {
                    self.lose(LossCode::Helper, step.span.start, "a slice".to_owned(), "the whole list");
                    value
                }
            };
        }
        value
    }

    /// Arguments in parentheses; nothing without arguments.
    fn arguments(&mut self, arguments: &CallArgs) -> String {
        let mut all: Vec<String> = arguments.positional.iter().map(|value| self.value(value)).collect();
        for keyword in &arguments.keywords {
            all.push(format!("{}={}", keyword.name.name, self.value(&keyword.value)));
        }
        if all.is_empty() { String::new() } else { format!("({})", all.join(", ")) }
    }

    fn binary(&mut self, binary: &Binary) -> String {
        let mut value = self.grouped(&binary.first);
        let mut is_text = is_string(&binary.first);
        for step in &binary.rest {
            let right = self.grouped(&step.right);
            // A text on one side makes `+` join texts.
            is_text |= step.op == BinaryOp::Add && is_string(&step.right);
            let sign = match step.op {
                BinaryOp::Add if is_text => {
                    value = format!("({value}|js ~ {right}|js)");
                    continue;
                }
                BinaryOp::Add => "+",
                BinaryOp::Sub => "-",
                BinaryOp::Mul => "*",
                BinaryOp::Div => "/",
                BinaryOp::FloorDiv => "//",
                BinaryOp::Rem => "%",
                BinaryOp::Pow => "**",
            };
            value = format!("({value} {sign} {right})");
        }
        value
    }

    fn compare(&mut self, compare: &Compare) -> String {
        let mut left = &compare.first;
        let mut all = Vec::new();
        for step in &compare.rest {
            let (one, other) = (self.grouped(left), self.grouped(&step.right));
            let at = step.span.start as usize;
            let written = self.source.get(at..at + 3).unwrap_or_default();
            let has_text = is_string(left) != is_string(&step.right);
            all.push(match step.op {
                CompareOp::Eq if written == "===" => format!("{one} is js_same({other})"),
                CompareOp::Ne if written == "!==" => format!("{one} is not js_same({other})"),
                // A number equals the text that it prints.
                CompareOp::Eq if has_text => format!("{one}|js == {other}|js"),
                CompareOp::Ne if has_text => format!("{one}|js != {other}|js"),
                CompareOp::Eq => format!("{one} == {other}"),
                CompareOp::Ne => format!("{one} != {other}"),
                CompareOp::Lt => format!("{one} < {other}"),
                CompareOp::Le => format!("{one} <= {other}"),
                CompareOp::Gt => format!("{one} > {other}"),
                CompareOp::Ge => format!("{one} >= {other}"),
                CompareOp::In => format!("{one} in {other}"),
                CompareOp::NotIn => format!("{one} not in {other}"),
            });
            left = &step.right;
        }
        all.join(" and ")
    }
}

fn is_string(expression: &Expr) -> bool {
    matches!(expression.kind, ExprKind::Const(Const::Str(_)))
}

fn constant_text(constant: &Const) -> String {
    match constant {
        Const::None => "none".to_owned(),
        Const::Bool(flag) => flag.to_string(),
        Const::Int(number) => number.to_string(),
        Const::HugeInt(digits) => digits.to_string(),
        Const::Float(number) => format!("{number:?}"),
        Const::Str(text) => quote_string(text),
    }
}
