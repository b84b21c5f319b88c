//! Walks Jinja templates: statements, scopes, inheritance.

mod blocks;
mod expression;
mod names;
mod operation;
mod tools;

use std::collections::{HashMap, HashSet};

use hinagata_jinja::ast::{
    Arm, CallBlock, Expr, ExprKind, FilterCall, For, If, Include, Macro, Param, PostfixOp, Set, SetBlock,
    Span, Stmt, StmtKind, Target, TargetKind, With,
};
use serde_json::Value as Json;

pub(crate) use self::blocks::ChildBlocks;
use self::names::collect_bound;
use crate::{
    builtins::has_builtin,
    check::{Check, Need, noun},
    codes::{
        BRANCH_NEVER, INJECT_TEMPLATE, TEMPLATE_DYNAMIC, TYPE_OPERATION, TYPE_PRINTED, VARIABLE_LOST,
        VARIABLE_SHADOWED,
    },
    probe::{Outcome, has_samples, placeholder, placeholder_name, samples},
    shape::{Kinds, Shape},
};

/// Walks one template.
pub(crate) struct JinjaWalker<'w, 'c> {
    pub(crate) check: &'w mut Check<'c>,
    template: &'w str,
    /// The names that the template binds, innermost last.
    frames: Vec<Frame>,
    /// Names of the templates that lead here.
    scope: HashMap<String, Shape>,
    /// Names that the template binds anywhere: what a macro or block sees of them is unknown.
    bound: HashSet<String>,
    /// How many macros, call blocks and blocks are around.
    deferred: u32,
    /// How many conditions and loops are around.
    conditional: u32,
    /// Whether the template changes lists or maps in place.
    mutates: bool,
    /// The macros of the template, by name.
    macros: HashMap<String, MacroSignature>,
    /// What is set inside a loop that was left, by name, with its place.
    lost: HashMap<String, Span>,
    /// What conditions say about names, innermost last. A name that was bound since is empty.
    narrowed: Vec<(String, Shape)>,
    /// Whether an `extends` is behind us: what is printed outside of blocks is lost.
    extended: bool,
}

#[derive(Default)]
struct Frame {
    names: HashMap<String, Shape>,
    /// Whether it is the body of a loop.
    is_loop: bool,
    /// What the body sets, with its place.
    set: HashMap<String, Span>,
}

/// The parameters of a macro.
#[derive(Clone)]
struct MacroSignature {
    parameters: Vec<(String, bool)>,
    varargs: bool,
    kwargs: bool,
    caller: bool,
}

/// Whether a method changes its value.
fn is_mutator(name: &str) -> bool {
    matches!(
        name,
        "append"
            | "clear"
            | "extend"
            | "insert"
            | "pop"
            | "popitem"
            | "remove"
            | "reverse"
            | "setdefault"
            | "sort"
            | "update"
            | "add"
            | "discard"
    )
}

fn span_of(span: Span) -> (u32, u32) {
    (span.start, span.end)
}

impl<'w, 'c> JinjaWalker<'w, 'c> {
    pub(crate) fn new(
        check: &'w mut Check<'c>,
        template: &'w str,
        scope: HashMap<String, Shape>,
        body: &'w [Stmt],
    ) -> Self {
        let mut bound = HashSet::new();
        collect_bound(body, &mut bound);
        let mutates = names::calls_method(body, &is_mutator);
        Self {
            check,
            template,
            frames: vec![Frame::default()],
            scope,
            bound,
            deferred: 0,
            conditional: 0,
            mutates,
            macros: HashMap::new(),
            lost: HashMap::new(),
            narrowed: Vec::new(),
            extended: false,
        }
    }

    /// Walks the whole template.
    pub(crate) fn run(mut self, body: &'w [Stmt]) {
        self.check_blocks(body);
        self.body(body);
        self.walk_parent(body);
    }

    fn body(&mut self, body: &'w [Stmt]) {
        for stmt in body {
            self.stmt(stmt);
        }
    }

    fn inner(&mut self, frame: Frame, walk: impl FnOnce(&mut Self)) -> Frame {
        self.frames.push(frame);
        walk(self);
        self.frames.pop().unwrap_or_default()
    }

    fn stmt(&mut self, stmt: &'w Stmt) {
        match &stmt.kind {
            StmtKind::Text(_) | StmtKind::Break | StmtKind::Continue => {}
            StmtKind::Print(expr) if self.extended && self.deferred == 0 => {
                self.check.muted += 1;
                self.eval(expr, Need::Value);
                self.check.muted -= 1;
            }
            StmtKind::Print(expr) => self.print(expr),
            StmtKind::Do(expr) => drop(self.eval(expr, Need::Value)),
            StmtKind::If(node) => self.branches(node),
            StmtKind::For(node) => self.for_loop(node, stmt.span),
            StmtKind::Set(node) => self.set(node, stmt),
            StmtKind::SetBlock(node) => self.set_block(node),
            StmtKind::With(node) => self.with(node),
            StmtKind::Macro(node) => self.define_macro(node),
            StmtKind::CallBlock(node) => self.call_block(node),
            StmtKind::FilterBlock(node) => {
                self.inner(Frame::default(), |walker| walker.body(&node.body));
                self.text_filters(&node.filters);
            }
            StmtKind::Block(node) => self.block(node),
            StmtKind::Extends(template) => {
                self.eval(template, Need::Value);
                self.extended |= self.conditional == 0;
            }
            StmtKind::Include(node) => self.include(node, stmt.span),
            StmtKind::Import(node) => {
                self.import(&node.template);
                self.bind(&node.name.name, Shape::ANY, node.name.span);
            }
            StmtKind::FromImport(node) => {
                self.import(&node.template);
                for name in &node.names {
                    let bound = name.alias.as_ref().unwrap_or(&name.name);
                    self.bind(&bound.name, Shape::ANY, bound.span);
                }
            }
            StmtKind::AutoEscape(node) => {
                self.eval(&node.enabled, Need::Condition);
                self.inner(Frame::default(), |walker| walker.body(&node.body));
            }
            StmtKind::Generation(body) => {
                self.inner(Frame::default(), |walker| walker.body(body));
            }
            StmtKind::Message(node) => {
                let role = self.eval(&node.role, Need::Value);
                self.check_role(&node.role, &role);
                self.inner(Frame::default(), |walker| walker.body(&node.body));
                self.check.in_system = false;
            }
        }
    }

    fn print(&mut self, expr: &'w Expr) {
        let calls = self.check.tool_calls;
        let shape = self.eval(expr, Need::Value);
        let of_tool = self.check.tool_calls > calls;
        let name = base_name(expr).filter(|name| !self.is_bound(name));
        self.check.check_system_text(self.template, span_of(expr.span), name, of_tool);
        let is_read = matches!(expr.kind, ExprKind::Name(_) | ExprKind::Postfix(_));
        if is_read
            && shape.kinds == Kinds::UNDEFINED
            && self.check.is_strict()
            && !self.check.variables.complete
        {
            let message = "the value is undefined".to_owned();
            self.check.report(self.template, span_of(expr.span), &TYPE_OPERATION, message, Vec::new(), None);
        }
        let containers = Kinds::LIST | Kinds::MAP;
        if shape.declared && containers.contains(shape.kinds) && !shape.kinds.is_empty() {
            let message = format!("{} is printed in the notation of Python", noun(&shape));
            let help = "loop over it, or use the filter `join` or `tojson`".to_owned();
            self.check.report(
                self.template,
                span_of(expr.span),
                &TYPE_PRINTED,
                message,
                Vec::new(),
                Some(help),
            );
        }
        self.check_secret(expr);
    }

    fn branches(&mut self, node: &'w If) {
        let in_system = self.check.in_system;
        let (before, mark) = (self.snapshot(), self.narrowed.len());
        let mut after: Option<Vec<HashMap<String, Shape>>> = None;
        let mut holds = false;
        let mut stays = true;
        for arm in &node.arms {
            self.check.in_system = in_system;
            self.conditional += 1;
            holds |= self.arm(arm, holds);
            self.conditional -= 1;
            stays &= self.check.in_system;
            let end = self.restore(&before);
            after = Some(merge(after, end));
            self.narrow(&arm.test, false);
        }
        self.check.in_system = in_system;
        self.conditional += 1;
        self.check.muted += u32::from(holds);
        self.body(&node.otherwise);
        self.check.in_system &= stays;
        self.check.muted -= u32::from(holds);
        self.conditional -= 1;
        let end = self.restore(&before);
        self.narrowed.truncate(mark);
        let merged = merge(after, end);
        for (frame, names) in self.frames.iter_mut().zip(merged) {
            frame.names = names;
        }
    }

    /// Walks an arm. Returns whether its condition always holds.
    fn arm(&mut self, arm: &'w Arm, is_dead: bool) -> bool {
        self.check.muted += u32::from(is_dead);
        self.eval(&arm.test, Need::Condition);
        let truth = self.truth(&arm.test);
        if truth == Some(false) && self.depends_on_declared(&arm.test) {
            let message = "the condition is false for every declared value".to_owned();
            self.check.report(
                self.template,
                span_of(arm.test.span),
                &BRANCH_NEVER,
                message,
                Vec::new(),
                None,
            );
        }
        let mark = self.narrowed.len();
        self.narrow(&arm.test, true);
        let never = truth == Some(false) || self.is_impossible();
        self.check.muted += u32::from(never);
        self.body(&arm.body);
        self.narrowed.truncate(mark);
        self.check.muted -= u32::from(never) + u32::from(is_dead);
        truth == Some(true)
    }

    /// Whether narrowing left no value for a name.
    fn is_impossible(&self) -> bool {
        self.narrowed.iter().any(|(name, shape)| !name.is_empty() && shape.kinds.is_empty())
    }

    fn snapshot(&self) -> Vec<HashMap<String, Shape>> {
        self.frames.iter().map(|frame| frame.names.clone()).collect()
    }

    /// Puts the names back; returns those before.
    fn restore(&mut self, names: &[HashMap<String, Shape>]) -> Vec<HashMap<String, Shape>> {
        let put = |(frame, names): (&mut Frame, &HashMap<String, Shape>)| {
            std::mem::replace(&mut frame.names, names.clone())
        };
        self.frames.iter_mut().zip(names).map(put).collect()
    }

    fn for_loop(&mut self, node: &'w For, span: Span) {
        let over = self.eval(&node.iter, Need::Value);
        let fails = self.check_iteration(node, &over, span);
        let mut frame = Frame { is_loop: true, ..Frame::default() };
        let item = if fails { Shape::ANY } else { over.item() };
        let is_empty = !over.is_unknown()
            && item.kinds.is_empty()
            && over.kinds.without(Kinds::UNDEFINED) != Kinds::NONE;
        frame.names.insert("loop".to_owned(), Shape::of_kinds(Kinds::OTHER));
        self.conditional += 1;
        self.check.muted += u32::from(is_empty);
        let mark = self.narrowed.len();
        let frame = self.inner(frame, |walker| {
            let item = if is_empty { Shape::ANY } else { item };
            walker.bind_target(&node.target, &item, true);
            if let Some(filter) = &node.filter {
                walker.eval(filter, Need::Condition);
                walker.narrow(filter, true);
            }
            walker.body(&node.body);
        });
        self.narrowed.truncate(mark);
        self.check.muted -= u32::from(is_empty);
        for (name, place) in frame.set {
            self.lost.insert(name, place);
        }
        self.inner(Frame::default(), |walker| walker.body(&node.otherwise));
        self.conditional -= 1;
    }

    /// Reports a value that cannot be iterated, or whose items do not fit the target. Returns whether it fails.
    fn check_iteration(&mut self, node: &'w For, over: &Shape, span: Span) -> bool {
        if !has_samples(over) || (self.mutates && over.kinds.overlaps(Kinds::LIST | Kinds::MAP)) {
            return false;
        }
        // What the items are unpacked to matters only if the items are known.
        let exact = over.values.is_some();
        let target = match exact {
            true => node.target.clone(),
            false => Target { kind: TargetKind::Name("hina__item".into()), span: node.target.span },
        };
        let operation = if exact { "" } else { "for" };
        if self.check.is_known_sound(operation, std::slice::from_ref(over)) {
            return false;
        }
        let mut failure = None;
        for value in samples(over) {
            let iter = placeholder(0, node.iter.span);
            let header = For {
                target: target.clone(),
                iter,
                filter: None,
                recursive: false,
                body: Vec::new(),
                otherwise: Vec::new(),
            };
            let stmt = Stmt { kind: StmtKind::For(Box::new(header)), span };
            match self.check.jinja.exec(stmt, &variables([value])) {
                Outcome::Fails(error) => failure = failure.or(Some(error)),
                Outcome::Result(_) | Outcome::Unknown => {
                    self.check.remember_sound(operation, std::slice::from_ref(over));
                    return false;
                }
            }
        }
        let Some(error) = failure else { return false };
        let place = span_of(node.iter.span);
        self.check.report(
            self.template,
            place,
            &TYPE_OPERATION,
            error.message().to_owned(),
            Vec::new(),
            None,
        );
        true
    }

    fn bind_target(&mut self, target: &'w Target, shape: &Shape, of_loop: bool) {
        match &target.kind {
            TargetKind::Name(name) => {
                if of_loop
                    && self.frames.len() == 2
                    && self.check.variables.complete
                    && self.check.variables.fields.known.contains_key(&**name)
                    && !self.scope.contains_key(&**name)
                {
                    let message = format!("the loop hides the parameter `{name}`");
                    let span = span_of(target.span);
                    self.check.report(self.template, span, &VARIABLE_SHADOWED, message, Vec::new(), None);
                }
                self.bind(name, shape.clone(), target.span);
            }
            TargetKind::Attr { namespace, .. } => {
                let shape = self.lookup(&namespace.name, namespace.span, Need::Value);
                if !shape.is_unknown() && !shape.kinds.is_empty() {
                    let message = format!(
                        "`{}` is not a namespace, and only namespaces have attributes to set",
                        namespace.name
                    );
                    let span = span_of(target.span);
                    self.check.report(self.template, span, &TYPE_OPERATION, message, Vec::new(), None);
                }
            }
            TargetKind::Tuple(targets) => {
                for target in targets {
                    self.bind_target(target, &Shape::ANY, of_loop);
                }
            }
        }
    }

    fn bind(&mut self, name: &str, shape: Shape, _span: Span) {
        let shape = if self.mutates { shape.widen_containers() } else { shape };
        self.lost.remove(name);
        self.macros.remove(name);
        for (narrowed, _) in &mut self.narrowed {
            if narrowed == name {
                narrowed.clear();
            }
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.names.insert(name.to_owned(), shape);
        }
    }

    fn set(&mut self, node: &'w Set, stmt: &'w Stmt) {
        let shape = self.eval(&node.value, Need::Value);
        if let TargetKind::Tuple(_) = node.target.kind {
            self.check_unpacking(node, &shape, stmt.span);
        }
        self.bind_target(&node.target, &shape, false);
        if let TargetKind::Name(name) = &node.target.kind
            && self.reads_itself_outside(name)
            && let Some(frame) = self.frames.iter_mut().rev().find(|frame| frame.is_loop)
        {
            frame.set.insert(name.to_string(), node.target.span);
        }
    }

    /// Whether `name` is bound outside of the innermost loop of this template.
    fn reads_itself_outside(&self, name: &str) -> bool {
        let Some(innermost) = self.frames.iter().rposition(|frame| frame.is_loop) else { return false };
        self.frames[..innermost].iter().any(|frame| frame.names.contains_key(name))
    }

    fn check_unpacking(&mut self, node: &'w Set, shape: &Shape, span: Span) {
        let Some(value) = shape.only_value().filter(|_| !self.mutates) else { return };
        let value_expr = placeholder(0, node.value.span);
        let set = Set { target: node.target.clone(), value: value_expr };
        let stmt = Stmt { kind: StmtKind::Set(Box::new(set)), span };
        if let Outcome::Fails(error) = self.check.jinja.exec(stmt, &variables([Some(value.clone())])) {
            self.check.report_failure(self.template, span_of(span), &error);
        }
    }

    fn set_block(&mut self, node: &'w SetBlock) {
        self.inner(Frame::default(), |walker| walker.body(&node.body));
        self.text_filters(&node.filters);
        self.bind_target(&node.target, &Shape::ANY, false);
    }

    fn text_filters(&mut self, filters: &'w [FilterCall]) {
        let mut shape = Shape::of_kinds(Kinds::STRING | Kinds::OTHER);
        for filter in filters {
            shape = self.filter(&shape, filter, Need::Value);
        }
    }

    fn with(&mut self, node: &'w With) {
        let values: Vec<Shape> =
            node.bindings.iter().map(|(_, value)| self.eval(value, Need::Value)).collect();
        self.inner(Frame::default(), |walker| {
            for ((target, _), shape) in node.bindings.iter().zip(&values) {
                walker.bind_target(target, shape, false);
            }
            walker.body(&node.body);
        });
    }

    fn define_macro(&mut self, node: &'w Macro) {
        let name = node.name.name.to_string();
        let mut read = HashSet::new();
        names::collect_read(&node.body, &mut read);
        let signature = MacroSignature {
            parameters: node
                .params
                .iter()
                .map(|param| (param.name.name.to_string(), param.default.is_some()))
                .collect(),
            varargs: read.contains("varargs"),
            kwargs: read.contains("kwargs"),
            caller: read.contains("caller"),
        };
        self.bind(&name, Shape::of_kinds(Kinds::OTHER), node.name.span);
        self.macros.insert(name, signature);
        self.function(&node.params, &node.body);
    }

    fn function(&mut self, params: &'w [Param], body: &'w [Stmt]) {
        for param in params {
            if let Some(default) = &param.default {
                self.eval(default, Need::Value);
            }
        }
        let mut frame = Frame::default();
        let implicit = ["varargs", "kwargs", "caller"].into_iter();
        for name in implicit.chain(params.iter().map(|param| &*param.name.name)) {
            frame.names.insert(name.to_owned(), Shape::ANY);
        }
        self.deferred += 1;
        self.conditional += 1;
        // Which message a call is in depends on the caller.
        let in_system = std::mem::take(&mut self.check.in_system);
        self.inner(frame, |walker| walker.body(body));
        self.check.in_system = in_system;
        self.conditional -= 1;
        self.deferred -= 1;
    }

    fn call_block(&mut self, node: &'w CallBlock) {
        self.eval(&node.callee, Need::Value);
        self.arguments(&node.args);
        if let ExprKind::Name(name) = &node.callee.kind {
            self.check_macro_call(name, &node.args, node.call_span, true);
        }
        self.function(&node.params, &node.body);
    }

    /// The names of a template expression: literal ones, and whether there may be others.
    fn template_names(&mut self, template: &'w Expr) -> (Vec<String>, bool) {
        let shape = self.eval(template, Need::Value);
        let of = |value: &Json| match value {
            Json::String(name) => vec![name.clone()],
            Json::Array(names) => names.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        if let Some(value) = shape.only_value() {
            return (of(value), false);
        }
        if shape.kinds == Kinds::STRING && shape.declared && shape.values.is_none() {
            let message = "a parameter without a list of values names the template".to_owned();
            let help = "declare its values with `enum`".to_owned();
            let span = span_of(template.span);
            self.check.report(self.template, span, &INJECT_TEMPLATE, message, Vec::new(), Some(help));
        }
        // One of several templates: each is walked, but a missing one may be the one that is never chosen.
        let all = shape.values.iter().flat_map(|values| values.iter()).flat_map(of).collect();
        (all, true)
    }

    fn include(&mut self, node: &'w Include, span: Span) {
        let (names, dynamic) = self.template_names(&node.template);
        let place = span_of(node.template.span);
        let is_list = matches!(node.template.kind, ExprKind::List(_) | ExprKind::Tuple(_));
        let mut found_any = false;
        for name in &names {
            let Some((joined, parsed)) = self.check.find(self.template, name) else { continue };
            let conditional = self.conditional > 0 || dynamic;
            if !found_any && !self.check.is_cycle(self.template, &joined, span_of(span), conditional) {
                let scope = if node.with_context { self.visible_names() } else { HashMap::new() };
                let hidden = !node.with_context;
                self.check.muted += u32::from(hidden);
                self.check.walk_apart(&joined, &parsed, scope, conditional);
                self.check.muted -= u32::from(hidden);
            }
            found_any = !dynamic;
            if is_list && !dynamic {
                break;
            }
        }
        if dynamic {
            self.check.set_uses_unknown();
            if names.is_empty() {
                let message = "the name of the template is computed".to_owned();
                self.check.report(self.template, place, &TEMPLATE_DYNAMIC, message, Vec::new(), None);
            }
        } else if let Some(first) = names.first()
            && !found_any
            && !node.ignore_missing
        {
            self.check.report_missing(self.template, first, place);
        }
    }

    /// The names that an included template sees besides the variables.
    fn visible_names(&self) -> HashMap<String, Shape> {
        let mut all = self.scope.clone();
        for frame in &self.frames {
            all.extend(frame.names.iter().map(|(name, shape)| (name.clone(), shape.clone())));
        }
        if self.deferred > 0 {
            for name in &self.bound {
                all.entry(name.clone()).or_insert(Shape::ANY);
            }
        }
        all.remove("loop");
        all
    }

    /// Walks an imported template on its own: which variables its macros see depends on who imports it.
    fn import(&mut self, template: &'w Expr) {
        let (names, dynamic) = self.template_names(template);
        let place = span_of(template.span);
        if dynamic {
            self.check.set_uses_unknown();
            return;
        }
        for name in names.iter().take(1) {
            match self.check.find(self.template, name) {
                None => self.check.report_missing(self.template, name, place),
                Some((joined, parsed)) => {
                    let conditional = self.conditional > 0;
                    if !self.check_language(name, &parsed, place)
                        && !self.check.is_cycle(self.template, &joined, place, conditional)
                    {
                        let mut scope = self.visible_names();
                        names::read_freely(&parsed, &mut scope);
                        self.check.walk_apart(&joined, &parsed, scope, true);
                    }
                }
            }
        }
    }

    /// Reports a secret that is printed.
    fn check_secret(&mut self, expr: &'w Expr) {
        let (base, ops) = match &expr.kind {
            ExprKind::Postfix(postfix) => (&postfix.base, &*postfix.ops),
            _ => (expr, &[][..]),
        };
        let shows = ops.iter().all(|step| match &step.op {
            PostfixOp::Filter(filter) => !matches!(&*filter.name, "length" | "count" | "wordcount"),
            PostfixOp::Test(_) => false,
            _ => true,
        });
        if let ExprKind::Name(name) = &base.kind
            && shows
            && self.check.variables.secrets.contains(&**name)
            && !self.is_bound(name)
        {
            let message = format!("the secret `{name}` becomes part of the prompt");
            let span = span_of(expr.span);
            self.check.report(self.template, span, &crate::codes::SECRET_PRINTED, message, Vec::new(), None);
        }
    }

    fn is_bound(&self, name: &str) -> bool {
        self.frames.iter().any(|frame| frame.names.contains_key(name)) || self.scope.contains_key(name)
    }

    /// The shape of a name.
    fn lookup(&mut self, name: &str, span: Span, need: Need) -> Shape {
        if let Some(place) = self.lost.remove(name) {
            let message = format!("`{name}` is set inside a loop, and its value is lost after each turn");
            let help = "use `namespace()`".to_owned();
            self.check.report(self.template, span_of(place), &VARIABLE_LOST, message, Vec::new(), Some(help));
        }
        if self.check.is_partial() {
            return Shape::ANY;
        }
        if let Some((_, shape)) = self.narrowed.iter().rev().find(|(narrowed, _)| narrowed == name) {
            let shape = shape.clone();
            if !self.is_bound(name) {
                self.check.variable(self.template, name, span_of(span), need);
            }
            return shape;
        }
        if let Some(shape) = self.frames.iter().rev().find_map(|frame| frame.names.get(name)) {
            return shape.clone();
        }
        if self.deferred > 0 && self.bound.contains(name) {
            return Shape::ANY;
        }
        if let Some(shape) = self.scope.get(name) {
            return shape.clone();
        }
        if name == "self" || (!self.check.variables.fields.known.contains_key(name) && self.is_global(name)) {
            return Shape::of_kinds(Kinds::OTHER);
        }
        if self.bound.contains(name) {
            // It is bound later or in an arm that did not run.
            return self.check.variable(self.template, name, span_of(span), Need::Optional).join(&Shape::ANY);
        }
        let shape = self.check.variable(self.template, name, span_of(span), need);
        if self.mutates { shape.widen_containers() } else { shape }
    }

    fn is_global(&self, name: &str) -> bool {
        let options = self.check.surroundings.options;
        let is_chat = matches!(name, "raise_exception" | "strftime_now");
        (has_builtin("global", name) && (!is_chat || options.settings.chat_host))
            || matches!(name, "role" | "media" | "resource")
            || self.check.surroundings.functions.get(name).is_some()
            || self.check.surroundings.functions.first_with(&format!("{name}.")).is_some()
    }
}

/// The name that a chain of operations starts with.
fn base_name(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name),
        ExprKind::Postfix(postfix) => base_name(&postfix.base),
        _ => None,
    }
}

/// The variables of a probe: the placeholders that have a value.
fn variables<const N: usize>(values: [Option<Json>; N]) -> Json {
    let named = values.into_iter().enumerate();
    Json::Object(named.filter_map(|(number, value)| Some((placeholder_name(number), value?))).collect())
}

/// Joins the names after two arms. A name that only one arm binds may be unbound.
fn merge(
    before: Option<Vec<HashMap<String, Shape>>>,
    end: Vec<HashMap<String, Shape>>,
) -> Vec<HashMap<String, Shape>> {
    let Some(before) = before else { return end };
    before
        .into_iter()
        .zip(end)
        .map(|(a, mut b)| {
            let mut joined = HashMap::new();
            for (name, shape) in a {
                let other = b.remove(&name);
                joined.insert(name, other.map_or(Shape::ANY, |other| shape.join(&other)));
            }
            joined.extend(b.into_keys().map(|name| (name, Shape::ANY)));
            joined
        })
        .collect()
}
