//! The walk over statements.

use std::collections::HashSet;

use hinagata_value::analysis::{
    Analysis, Binding, BlockDefinition, DataShape, MacroDefinition, MacroParameter, NameUse, PassedVariables,
    PathPart, Position, RoleUse, TemplateUse, TemplateUseKind, Usage,
};

use super::{
    expression::{template_names, text_of},
    nodes::collect_nodes,
    scope::{FrameKind, Scopes},
};
use crate::{
    Source,
    ast::{
        Block, CallBlock, Expr, ExprKind, For, FromImport, If, Macro, Param, Span, Stmt, StmtKind, Target,
        TargetKind,
    },
};

pub(super) struct Walker<'t> {
    source: &'t Source,
    pub(super) analysis: Analysis,
    pub(super) scopes: Scopes<'t>,
    /// Names that are always bound at the top level. Macros and blocks may run after all of them are bound.
    defined: HashSet<&'t str>,
    /// The number of enclosing macros and blocks.
    pub(super) deferred: u32,
    /// Which of `varargs`, `kwargs` and `caller` each enclosing macro reads.
    pub(super) specials: Vec<Specials>,
}

/// Which implicit names of a macro its body reads.
#[derive(Clone, Copy, Default)]
pub(super) struct Specials {
    pub(super) varargs: bool,
    pub(super) kwargs: bool,
    pub(super) caller: bool,
}

/// The implicit names of macros and call blocks.
const SPECIALS: [&str; 3] = ["varargs", "kwargs", "caller"];

impl<'t> Walker<'t> {
    pub(super) fn new(body: &'t [Stmt], source: &'t Source) -> Self {
        let mut defined = HashSet::new();
        collect_defined(body, &mut defined);
        Self {
            source,
            analysis: Analysis::default(),
            scopes: Scopes::new(),
            defined,
            deferred: 0,
            specials: Vec::new(),
        }
    }

    /// Whether a name that is not bound yet is bound by the time the enclosing macro or block runs.
    pub(super) fn is_bound_later(&self, name: &str) -> bool {
        self.deferred > 0 && self.defined.contains(name)
    }

    pub(super) fn position(&self, span: Span) -> Position {
        let (line, column) = self.source.line_column(span.start);
        Position { start: span.start, end: span.end, line, column }
    }

    pub(super) fn name_use(&self, name: &str, span: Span) -> NameUse {
        NameUse { name: name.to_owned(), position: self.position(span) }
    }

    pub(super) fn template(mut self, body: &'t [Stmt]) -> Analysis {
        self.scopes.bind("self", Binding::default());
        self.body(body);
        let mut analysis = self.finish();
        collect_nodes(body, &mut analysis);
        analysis
    }

    fn finish(self) -> Analysis {
        let mut analysis = self.analysis;
        let end = self.scopes.head();
        // A parent runs after the whole child.
        for template in &mut analysis.templates {
            if template.kind == TemplateUseKind::Extends {
                template.passes = PassedVariables::Scope(end);
            }
        }
        analysis.scopes = self.scopes.into_log();
        analysis.variables.sort_by_key(|item| item.position.start);
        analysis.filters.sort_by_key(|item| item.position.start);
        analysis.tests.sort_by_key(|item| item.position.start);
        analysis.functions.sort_by_key(|item| item.position.start);
        analysis.templates.sort_by_key(|item| item.position.start);
        analysis.macros.sort_by_key(|item| item.position.start);
        analysis.roles.sort_by_key(|item| item.position.start);
        analysis
    }

    fn body(&mut self, body: &'t [Stmt]) {
        for stmt in body {
            self.stmt(stmt);
        }
    }

    /// Walks a body with its own names.
    fn inner_body(&mut self, body: &'t [Stmt]) {
        self.scopes.enter(FrameKind::Inner);
        self.body(body);
        self.scopes.leave();
    }

    fn stmt(&mut self, stmt: &'t Stmt) {
        match &stmt.kind {
            StmtKind::Text(_) | StmtKind::Break | StmtKind::Continue => {}
            StmtKind::Print(expr) | StmtKind::Do(expr) => {
                self.expr(expr, Usage::Value);
            }
            StmtKind::If(node) => self.arms(node),
            StmtKind::For(node) => self.for_loop(node),
            StmtKind::Set(node) => {
                let shapes = self.expr(&node.value, Usage::Value);
                self.assign(&node.target, &node.value, shapes);
            }
            StmtKind::SetBlock(node) => {
                self.inner_body(&node.body);
                self.filter_calls(&node.filters);
                self.bind(&node.target, Vec::new());
            }
            StmtKind::With(node) => {
                let values: Vec<_> =
                    node.bindings.iter().map(|(_, value)| self.expr(value, Usage::Value)).collect();
                self.scopes.enter(FrameKind::Inner);
                for ((target, value), shapes) in node.bindings.iter().zip(values) {
                    self.assign(target, value, shapes);
                }
                self.body(&node.body);
                self.scopes.leave();
            }
            StmtKind::Macro(node) => self.define_macro(node, stmt.span),
            StmtKind::CallBlock(node) => self.call_block(node),
            StmtKind::FilterBlock(node) => {
                self.inner_body(&node.body);
                self.filter_calls(&node.filters);
            }
            StmtKind::Block(node) => self.block(node, stmt.span),
            StmtKind::Extends(template) => {
                self.template_use(TemplateUseKind::Extends, template, stmt.span, false, true);
            }
            StmtKind::Include(node) => {
                let kind = TemplateUseKind::Include;
                self.template_use(kind, &node.template, stmt.span, node.ignore_missing, node.with_context);
            }
            StmtKind::Import(node) => {
                self.template_use(
                    TemplateUseKind::Import,
                    &node.template,
                    stmt.span,
                    false,
                    node.with_context,
                );
                self.scopes.bind(&node.name.name, Binding::default());
            }
            StmtKind::FromImport(node) => self.names_import(node, stmt.span),
            StmtKind::AutoEscape(node) => {
                self.expr(&node.enabled, Usage::Value);
                self.inner_body(&node.body);
            }
            StmtKind::Generation(body) => self.inner_body(body),
            StmtKind::Message(node) => {
                self.expr(&node.role, Usage::Value);
                let role = text_of(&node.role).map(str::to_owned);
                let position = self.position(stmt.span);
                self.analysis.roles.push(RoleUse { role, position });
                self.inner_body(&node.body);
            }
        }
    }

    fn arms(&mut self, node: &'t If) {
        let mut bound = Vec::with_capacity(node.arms.len() + 1);
        for arm in &node.arms {
            self.expr(&arm.test, Usage::Condition);
            self.scopes.enter(FrameKind::Arm);
            self.body(&arm.body);
            bound.push(self.scopes.leave_arm());
        }
        let has_else = !node.otherwise.is_empty();
        if has_else {
            self.scopes.enter(FrameKind::Arm);
            self.body(&node.otherwise);
            bound.push(self.scopes.leave_arm());
        }
        self.scopes.join(bound, has_else);
    }

    fn for_loop(&mut self, node: &'t For) {
        let shapes = self.expr(&node.iter, Usage::Value);
        self.scopes.enter(FrameKind::Inner);
        self.bind_items(&node.target, &shapes);
        if let Some(filter) = &node.filter {
            self.expr(filter, Usage::Condition);
        }
        self.scopes.bind("loop", Binding::default());
        self.body(&node.body);
        self.scopes.leave();
        self.inner_body(&node.otherwise);
    }

    /// Binds a loop target to the items of the iterated value.
    fn bind_items(&mut self, target: &'t Target, shapes: &[DataShape]) {
        let pairs: Vec<DataShape> = shapes
            .iter()
            .filter_map(|shape| {
                if let DataShape::Pairs(path) = shape { Some(DataShape::At(path.clone())) } else { None }
            })
            .collect();
        if let (false, TargetKind::Tuple(targets)) = (pairs.is_empty(), &target.kind)
            && let [key, value] = &**targets
        {
            self.bind(key, Vec::new());
            self.bind(value, pairs);
            return;
        }
        self.bind(target, shapes.iter().filter_map(DataShape::item).map(DataShape::At).collect());
    }

    /// Binds a target to a value. The items of a tuple literal are not followed.
    fn assign(&mut self, target: &'t Target, value: &Expr, shapes: Vec<DataShape>) {
        if let (TargetKind::Tuple(targets), ExprKind::Tuple(_)) = (&target.kind, &value.kind) {
            for target in targets {
                self.bind(target, Vec::new());
            }
            return;
        }
        self.bind(target, shapes);
    }

    fn bind(&mut self, target: &'t Target, shapes: Vec<DataShape>) {
        match &target.kind {
            TargetKind::Name(name) => self.scopes.bind(name, Binding::from_shapes(shapes)),
            TargetKind::Attr { .. } => {}
            TargetKind::Tuple(targets) => {
                for (index, target) in (0_i64..).zip(targets) {
                    let item = |shape: &DataShape| match shape {
                        DataShape::At(path) => Some(DataShape::At(path.with_parts([PathPart::Index(index)]))),
                        DataShape::Of(path) => Some(DataShape::At(path.clone())),
                        DataShape::Pairs(_) => None,
                    };
                    self.bind(target, shapes.iter().filter_map(item).collect());
                }
            }
        }
    }

    fn define_macro(&mut self, node: &'t Macro, span: Span) {
        // The name is bound first: a macro may call itself.
        self.scopes.bind(&node.name.name, Binding::default());
        let used = self.function(&node.params, &node.body);
        let parameters = node.params.iter().map(|param| MacroParameter {
            name: param.name.name.to_string(),
            optional: param.default.is_some(),
        });
        let definition = MacroDefinition {
            name: node.name.name.to_string(),
            parameters: parameters.collect(),
            varargs: used.varargs,
            kwargs: used.kwargs,
            caller: used.caller,
            position: self.position(span),
        };
        self.analysis.macros.push(definition);
    }

    /// Walks the body of a macro or a call block.
    fn function(&mut self, params: &'t [Param], body: &'t [Stmt]) -> Specials {
        for param in params {
            if let Some(default) = &param.default {
                self.expr(default, Usage::Value);
            }
        }
        self.deferred += 1;
        self.specials.push(Specials::default());
        self.scopes.enter(FrameKind::Inner);
        for name in SPECIALS.into_iter().chain(params.iter().map(|param| &*param.name.name)) {
            self.scopes.bind(name, Binding::default());
        }
        self.body(body);
        self.scopes.leave();
        self.deferred -= 1;
        self.specials.pop().unwrap_or_default()
    }

    fn call_block(&mut self, node: &'t CallBlock) {
        self.call(&node.callee, &node.args, node.call_span);
        self.function(&node.params, &node.body);
    }

    fn block(&mut self, node: &'t Block, span: Span) {
        let definition = BlockDefinition {
            name: node.name.name.to_string(),
            scoped: node.scoped,
            required: node.required,
            position: self.position(span),
        };
        self.analysis.blocks.push(definition);
        self.deferred += 1;
        self.scopes.enter(if node.scoped { FrameKind::Inner } else { FrameKind::Block });
        self.scopes.bind("super", Binding::default());
        self.body(&node.body);
        self.scopes.leave();
        self.deferred -= 1;
    }

    fn names_import(&mut self, node: &'t FromImport, span: Span) {
        self.template_use(TemplateUseKind::Import, &node.template, span, false, node.with_context);
        for name in &node.names {
            self.scopes.bind(&name.alias.as_ref().unwrap_or(&name.name).name, Binding::default());
        }
    }

    fn template_use(
        &mut self,
        kind: TemplateUseKind,
        template: &'t Expr,
        span: Span,
        ignore_missing: bool,
        with_context: bool,
    ) {
        self.expr(template, Usage::Value);
        let (names, dynamic) = template_names(template);
        let passes = match with_context {
            true => PassedVariables::Scope(self.scopes.head()),
            false => PassedVariables::Nothing,
        };
        let position = self.position(span);
        let used = TemplateUse { kind, names, dynamic, ignore_missing, position, passes };
        self.analysis.templates.push(used);
    }
}

/// Collects the names that every run binds at the top level of a template.
fn collect_defined<'t>(body: &'t [Stmt], defined: &mut HashSet<&'t str>) {
    for stmt in body {
        match &stmt.kind {
            StmtKind::Set(node) => collect_target(&node.target, defined),
            StmtKind::SetBlock(node) => collect_target(&node.target, defined),
            StmtKind::Macro(node) => drop(defined.insert(&node.name.name)),
            StmtKind::Import(node) => drop(defined.insert(&node.name.name)),
            StmtKind::FromImport(node) => {
                defined
                    .extend(node.names.iter().map(|name| &*name.alias.as_ref().unwrap_or(&name.name).name));
            }
            _ => {}
        }
    }
}

fn collect_target<'t>(target: &'t Target, defined: &mut HashSet<&'t str>) {
    match &target.kind {
        TargetKind::Name(name) => drop(defined.insert(name)),
        TargetKind::Attr { .. } => {}
        TargetKind::Tuple(targets) => targets.iter().for_each(|target| collect_target(target, defined)),
    }
}
