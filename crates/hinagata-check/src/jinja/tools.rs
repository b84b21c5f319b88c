//! Calls of tools: `tools.module.name(…)`.

use hinagata_jinja::ast::{CallArgs, Expr, ExprKind, Postfix, PostfixOp};
use serde_json::Value as Json;

use super::{JinjaWalker, span_of};
use crate::{
    check::{Need, ToolSpec},
    codes::{NAME_TOOL, TYPE_TOOL_ARGUMENT},
    level::Level,
    shape::{Kinds, Shape},
};

impl<'w> JinjaWalker<'w, '_> {
    /// Checks a chain that starts with the call of a tool. Returns how many of its operations belong to the call.
    pub(super) fn tool_call(&mut self, postfix: &'w Postfix) -> Option<usize> {
        let ExprKind::Name(base) = &postfix.base.kind else { return None };
        let functions = self.check.surroundings.functions;
        let starts_tools = functions.first_with(&format!("{base}.")).is_some();
        if !starts_tools || self.is_bound(base) || self.check.variables.fields.known.contains_key(&**base) {
            return None;
        }
        let mut path = base.to_string();
        let mut calls = postfix.ops.iter().enumerate();
        let (number, args) = loop {
            match calls.next()? {
                (_, step) if matches!(step.op, PostfixOp::Attr(_)) => {
                    if let PostfixOp::Attr(name) = &step.op {
                        path.push('.');
                        path.push_str(name);
                    }
                }
                (number, step) => match &step.op {
                    PostfixOp::Call(args) if number > 0 => break (number, args),
                    _ => return None,
                },
            }
        };
        self.check.tool_calls += 1;
        let end = postfix.ops[number - 1].span.end;
        let span = (postfix.base.span.start, end);
        if functions.get(&path).is_none() {
            let near = hinagata_value::near_names(&path, functions.names());
            self.check.report(self.template, span, &NAME_TOOL, format!("unknown tool `{path}`"), near, None);
            self.arguments(args);
            return Some(number + 1);
        }
        self.check_tool_arguments(&path, args, span);
        Some(number + 1)
    }

    fn check_tool_arguments(&mut self, path: &str, args: &'w CallArgs, span: (u32, u32)) {
        let mut passed: Vec<(&str, &'w Expr, Shape)> = Vec::new();
        for keyword in &args.keywords {
            let shape = self.eval(&keyword.value, Need::Value);
            passed.push((&keyword.name.name, &keyword.value, shape));
        }
        for value in args.positional.iter().chain(args.args.as_deref()).chain(args.kwargs.as_deref()) {
            self.eval(value, Need::Value);
        }
        let Some(spec) = self.check.variables.tools.get(path).cloned() else { return };
        let Some(Json::Object(schema)) = &spec.parameters else { return };
        let Some(properties) = schema.get("properties").and_then(Json::as_object) else { return };
        let level = if spec.fails { Level::Error } else { Level::Warning };
        let is_closed = schema.get("additionalProperties") == Some(&Json::Bool(false));
        for (name, value, shape) in &passed {
            match properties.get(*name) {
                Some(property) => {
                    let expected = Shape::from_schema(property).kinds;
                    let given = shape.kinds.without(Kinds::UNDEFINED);
                    if !shape.is_unknown() && !given.is_empty() && !given.overlaps(expected | Kinds::OTHER) {
                        let message = format!(
                            "the argument `{name}` of `{path}` is {}, not {}",
                            expected.and(Kinds::JSON).to_noun(),
                            given.to_noun()
                        );
                        self.report_argument(level, span_of(value.span), message, Vec::new());
                    }
                }
                None if is_closed => {
                    let near = hinagata_value::near_names(name, properties.keys().map(String::as_str));
                    let message = format!("`{path}` has no argument `{name}`");
                    self.report_argument(level, span_of(value.span), message, near);
                }
                None => {}
            }
        }
        self.check_required(path, &spec, args, span, level);
    }

    fn check_required(
        &mut self,
        path: &str,
        spec: &ToolSpec,
        args: &CallArgs,
        span: (u32, u32),
        level: Level,
    ) {
        let is_exact = args.positional.is_empty() && args.args.is_none() && args.kwargs.is_none();
        let required = spec.parameters.as_ref().and_then(|schema| schema.get("required")?.as_array());
        let is_passed = |name: &str| args.keywords.iter().any(|keyword| &*keyword.name.name == name);
        let mut names = required.into_iter().flatten().filter_map(Json::as_str);
        if is_exact && let Some(name) = names.find(|name| !is_passed(name)) {
            self.report_argument(level, span, format!("`{path}` needs the argument `{name}`"), Vec::new());
        }
    }

    fn report_argument(&mut self, level: Level, span: (u32, u32), message: String, near: Vec<String>) {
        self.check.report_at(level, self.template, span, &TYPE_TOOL_ARGUMENT, message, near, None);
    }
}
