//! The compiler: turns the syntax tree into code, where names are slots and filters are functions.

mod expression;
mod symbols;
mod uses;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use hinagata_value::{Budget, Key, Result};

use self::symbols::{Analysis, Initial, Outer, Symbols};
use crate::{
    Source,
    ast::{self, Stmt, StmtKind, TargetKind},
    code::{
        Arm, BlockCall, BlockCode, Call, CallBlock, Code, Expr, For, FromImport, Function, Import, Include,
        LoopFilter, MacroCode, Node, Op, Otherwise, Param, Scope, SetBlock, Slot, Target, TemplateCode,
        TopLevel, TopLevelName, Var, VarPlace, Visible,
    },
    run::plain_steps,
};

/// Compiles a parsed template.
///
/// # Errors
/// When a filter or test is unknown, a name cannot be set, or the budget is exhausted.
pub(crate) fn compile_template(
    template: &ast::Template,
    source: &Source,
    budget: &Budget,
) -> Result<TemplateCode> {
    let mut compiler = Compiler {
        source,
        budget,
        functions: Vec::new(),
        blocks: Vec::new(),
        has_extends: has_extends(&template.body),
    };
    compiler.template(template)
}

/// Whether the root of a template can extend another one.
fn has_extends(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match &stmt.kind {
        StmtKind::Extends(_) => true,
        StmtKind::If(node) => {
            node.arms.iter().any(|arm| has_extends(&arm.body)) || has_extends(&node.otherwise)
        }
        StmtKind::For(node) => has_extends(&node.body) || has_extends(&node.otherwise),
        StmtKind::With(node) => has_extends(&node.body),
        StmtKind::AutoEscape(node) => has_extends(&node.body),
        StmtKind::Generation(body) => has_extends(body),
        _ => false,
    })
}

struct Compiler<'s> {
    source: &'s Source,
    budget: &'s Budget,
    /// The enclosing functions, innermost last.
    functions: Vec<FunctionScope>,
    blocks: Vec<BlockCode>,
    has_extends: bool,
}

/// A function while it is compiled.
struct FunctionScope {
    scopes: Vec<NameScope>,
    next_slot: Slot,
    /// Whether it sees the enclosing functions: macros do, blocks do not.
    nested: bool,
    /// Whether its output is dropped once the template has extended another. True for the root, except
    /// inside a `set` block.
    muted: bool,
    /// The enclosing loops, innermost last.
    loops: Vec<OpenLoop>,
}

struct OpenLoop {
    /// The index of the first scope inside the body of this loop.
    scope: usize,
}

/// The names of one scope.
struct NameScope {
    symbols: Symbols,
    slots: HashMap<Box<str>, Slot>,
    /// The variables that were looked up in this scope.
    vars: HashMap<Box<str>, Arc<Var>>,
    /// Its names and the outer ones, once computed.
    visible: Option<Arc<Visible>>,
    /// Whether it is the scope of the root itself, not an inner one.
    top_level: bool,
}

impl FunctionScope {
    fn new(nested: bool, muted: bool) -> Self {
        // Slot 0 of a nested function holds the frame that it was created in.
        Self { scopes: Vec::new(), next_slot: Slot::from(nested), nested, muted, loops: Vec::new() }
    }

    fn new_slot(&mut self) -> Slot {
        self.next_slot += 1;
        self.next_slot - 1
    }
}

impl Compiler<'_> {
    fn template(&mut self, template: &ast::Template) -> Result<TemplateCode> {
        self.functions.push(FunctionScope::new(false, true));
        let self_slot = self.special_slot(&template.body, "self");
        self.open_scope(true, |analysis| analysis.body(&template.body));
        if let (Some(slot), Some(scope)) = (self_slot, self.function().scopes.last_mut()) {
            scope.symbols.declare("self");
            scope.slots.insert("self".into(), slot);
        }
        let body = self.body(&template.body)?;
        let root_scope = self.close_scope();
        let function = self.pop_function(body);
        let top_level = self.top_level(&template.body, &root_scope);
        let plain_steps = plain_steps(&function).filter(|_| self_slot.is_none());
        let blocks = std::mem::take(&mut self.blocks);
        Ok(TemplateCode { root: function, self_slot, blocks, top_level, plain_steps })
    }

    /// The names that the root sets. Blocks see imported names; templates that import this one do not.
    fn top_level(&self, body: &[Stmt], scope: &NameScope) -> TopLevel {
        let mut imported = HashSet::new();
        uses::imported_names(body, &mut imported);
        let mut top_level = TopLevel::default();
        for name in scope.symbols.stores().iter().filter(|name| &***name != "self") {
            if let Some(&slot) = scope.slots.get(name) {
                let exported = !name.starts_with('_') && !imported.contains(&**name);
                top_level.push(TopLevelName { name: name.to_string(), slot, exported });
            }
        }
        top_level
    }

    fn function(&mut self) -> &mut FunctionScope {
        self.functions.last_mut().expect("compiling happens inside a function")
    }

    fn pop_function(&mut self, body: Code) -> Function {
        let scope = self.functions.pop();
        Function { body, slots: scope.map_or(0, |scope| scope.next_slot) }
    }

    /// Opens a scope with the names that `analyse` finds.
    fn open_scope(&mut self, top_level: bool, analyse: impl FnOnce(&mut Analysis<'_>)) {
        let outer = |name: &str| match self.find(name) {
            Some(_) => Some(Outer::Set),
            None => self.reads(name).then_some(Outer::Read),
        };
        let mut analysis = Analysis::new(&outer);
        analyse(&mut analysis);
        let symbols = analysis.finish();
        let function = self.function();
        let mut slots = HashMap::new();
        for name in symbols.stores() {
            slots.insert(name.clone(), function.new_slot());
        }
        function.scopes.push(NameScope { symbols, slots, vars: HashMap::new(), visible: None, top_level });
    }

    fn close_scope(&mut self) -> NameScope {
        self.function().scopes.pop().expect("a scope is open")
    }

    /// The slots that the innermost scope must clear at its start.
    fn fresh_slots(&mut self) -> Vec<Slot> {
        let Some(scope) = self.function().scopes.last() else { return Vec::new() };
        let stores = scope.symbols.stores().iter();
        stores
            .filter(|name| scope.symbols.initial(name) != Initial::Param)
            .filter_map(|name| scope.slots.get(name).copied())
            .collect()
    }

    /// Compiles a body in its own scope.
    fn compile_scope(&mut self, body: &[Stmt]) -> Result<Scope> {
        self.open_scope(false, |analysis| analysis.body(body));
        let code = self.body(body)?;
        let fresh = self.fresh_slots();
        self.close_scope();
        Ok(Scope { body: code, fresh })
    }

    /// The places that set a name, in lookup order, as seen from the innermost scope.
    fn find(&self, name: &str) -> Option<(Vec<VarPlace>, Initial)> {
        let mut places = Vec::new();
        let mut last = None;
        let mut up = 0;
        for function in self.functions.iter().rev() {
            for scope in function.scopes.iter().rev() {
                let Some(&slot) = scope.slots.get(name) else { continue };
                places.push(VarPlace { up, slot });
                let initial = scope.symbols.initial(name);
                last = Some(initial);
                if initial != Initial::Outer {
                    return Some((places, initial));
                }
            }
            if !function.nested {
                break;
            }
            up += 1;
        }
        last.map(|initial| (places, initial))
    }

    /// Whether an open scope reads a name.
    fn reads(&self, name: &str) -> bool {
        for function in self.functions.iter().rev() {
            if function.scopes.iter().any(|scope| scope.symbols.knows(name)) {
                return true;
            }
            if !function.nested {
                break;
            }
        }
        false
    }

    /// The variable `name`, if an enclosing scope sets it.
    fn var(&mut self, name: &str) -> Result<Option<Arc<Var>>> {
        if let Some(var) = self.scope().and_then(|scope| scope.vars.get(name)) {
            return Ok(Some(Arc::clone(var)));
        }
        let Some((places, initial)) = self.find(name) else { return Ok(None) };
        self.budget.charge_steps(places.len() as u64)?;
        let mut otherwise = match initial {
            Initial::Context => Otherwise::Context,
            _ => Otherwise::Undefined,
        };
        let mut places = places.into_iter();
        let Some(place) = places.next() else { return Ok(None) };
        for outer in places.rev() {
            otherwise = Otherwise::Outer(Box::new((outer, otherwise)));
        }
        let var = Arc::new(Var { place, otherwise, key: Key::new(name) });
        if let Some(scope) = self.function().scopes.last_mut() {
            scope.vars.insert(name.into(), Arc::clone(&var));
        }
        Ok(Some(var))
    }

    /// The innermost scope.
    fn scope(&self) -> Option<&NameScope> {
        self.functions.last()?.scopes.last()
    }

    /// The names that an include or a scoped block sees here.
    fn visible(&mut self) -> Result<Option<Arc<Visible>>> {
        let mut outer = None;
        // The number of function boundaries since the last scope.
        let mut up = 0;
        let first = self.functions.iter().rposition(|function| !function.nested).unwrap_or_default();
        for function in first..self.functions.len() {
            for scope in 0..self.functions[function].scopes.len() {
                let visible = match &self.functions[function].scopes[scope].visible {
                    Some(known) => Arc::clone(known),
                    None => self.visible_scope(function, scope, outer, up)?,
                };
                outer = Some(visible);
                up = 0;
            }
            up += 1;
        }
        Ok(outer)
    }

    /// The names of one scope and of the enclosing scopes.
    fn visible_scope(
        &mut self,
        function: usize,
        scope: usize,
        outer: Option<Arc<Visible>>,
        up: u32,
    ) -> Result<Arc<Visible>> {
        // Inner scopes are removed for the lookup, so that names are resolved as this scope sees them.
        let functions = self.functions.split_off(function + 1);
        let scopes = self.functions[function].scopes.split_off(scope + 1);
        let stores = self.functions[function].scopes[scope].symbols.stores().to_vec();
        let mut names = BTreeMap::new();
        let mut result = Ok(());
        for name in stores {
            match self.var(&name) {
                Ok(Some(var)) => drop(names.insert(name, var)),
                Ok(None) => {}
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        self.functions[function].scopes.extend(scopes);
        self.functions.extend(functions);
        result?;
        let visible = Arc::new(Visible { names, outer, up });
        self.functions[function].scopes[scope].visible = Some(Arc::clone(&visible));
        Ok(visible)
    }

    /// A slot for an implicit name such as `self` or `super`, if the body uses it without setting it.
    fn special_slot(&mut self, body: &[Stmt], name: &str) -> Option<Slot> {
        uses::uses_name(body, name).then(|| self.function().new_slot())
    }

    fn body(&mut self, body: &[Stmt]) -> Result<Code> {
        let mut code = Code::with_capacity(body.len());
        for stmt in body {
            self.budget.charge_steps(1)?;
            self.stmt(stmt, &mut code)?;
        }
        Ok(code)
    }

    fn stmt(&mut self, stmt: &Stmt, code: &mut Code) -> Result<()> {
        let _level = self.budget.enter_level()?;
        let op = match &stmt.kind {
            StmtKind::Text(text) => Op::Text(text.clone()),
            StmtKind::Print(expr) => Op::Print(self.expr(expr)?),
            StmtKind::If(node) => self.if_(node)?,
            StmtKind::For(node) => self.for_(node)?,
            StmtKind::Set(node) => {
                let value = self.expr(&node.value)?;
                Op::Set(self.target(&node.target)?, value)
            }
            StmtKind::SetBlock(node) => self.set_block(node)?,
            StmtKind::With(node) => self.with_block(node)?,
            StmtKind::Macro(node) => {
                let target = self.name_target(&node.name.name);
                let code = self.macro_code(&node.name.name, &node.params, &node.body)?;
                Op::Macro(target, Box::new(code))
            }
            StmtKind::CallBlock(node) => self.call_block(node)?,
            StmtKind::FilterBlock(node) => {
                let filters = self.filters(&node.filters)?;
                Op::FilterBlock(filters, self.compile_scope(&node.body)?)
            }
            StmtKind::Block(node) => self.block(node)?,
            StmtKind::Extends(expr) => Op::Extends(self.expr(expr)?),
            StmtKind::Include(node) => Op::Include(Box::new(Include {
                template: self.expr(&node.template)?,
                ignore_missing: node.ignore_missing,
                with_context: node.with_context,
                visible: if node.with_context { self.visible()? } else { None },
            })),
            StmtKind::Import(node) => Op::Import(Box::new(Import {
                template: self.expr(&node.template)?,
                target: self.name_target(&node.name.name),
                with_context: node.with_context,
                visible: if node.with_context { self.visible()? } else { None },
            })),
            StmtKind::FromImport(node) => {
                let template = self.expr(&node.template)?;
                let mut names = Vec::new();
                for name in &node.names {
                    let bound = name.alias.as_ref().unwrap_or(&name.name);
                    names.push((name.name.name.to_string(), self.name_target(&bound.name)));
                }
                let visible = if node.with_context { self.visible()? } else { None };
                Op::FromImport(Box::new(FromImport {
                    template,
                    names,
                    with_context: node.with_context,
                    visible,
                }))
            }
            StmtKind::Do(expr) => Op::Do(self.expr(expr)?),
            StmtKind::Break => Op::Break,
            StmtKind::Continue => Op::Continue,
            StmtKind::AutoEscape(node) => {
                let enabled = self.expr(&node.enabled)?;
                Op::AutoEscape(enabled, self.compile_scope(&node.body)?)
            }
            StmtKind::Generation(body) => Op::Scope(self.compile_scope(body)?),
            StmtKind::Message(node) => {
                let role = self.expr(&node.role)?;
                Op::Message(role, self.compile_scope(&node.body)?)
            }
        };
        let muted_by_extends = self.has_extends && self.is_muted(&op);
        code.push(Node { op, span: stmt.span, muted_by_extends });
        Ok(())
    }

    /// Whether a statement is skipped once the template has extended another. As in Jinja2, a block inside
    /// a loop or another scope of the root still runs.
    fn is_muted(&mut self, op: &Op) -> bool {
        let function = self.function();
        match op {
            Op::Text(_) | Op::Print(_) => function.muted,
            Op::Block(_) => function.scopes.last().is_some_and(|scope| scope.top_level),
            _ => false,
        }
    }

    fn set_block(&mut self, node: &ast::SetBlock) -> Result<Op> {
        let target = self.target(&node.target)?;
        let muted = std::mem::replace(&mut self.function().muted, false);
        let body = self.compile_scope(&node.body)?;
        self.function().muted = muted;
        let filters = self.filters(&node.filters)?;
        Ok(Op::SetBlock(Box::new(SetBlock { target, body, filters })))
    }

    fn if_(&mut self, node: &ast::If) -> Result<Op> {
        let mut arms = Vec::with_capacity(node.arms.len());
        for arm in &node.arms {
            arms.push(Arm { test: self.expr(&arm.test)?, body: self.body(&arm.body)?, span: arm.span });
        }
        Ok(Op::If(arms, self.body(&node.otherwise)?))
    }

    fn for_(&mut self, node: &ast::For) -> Result<Op> {
        let iter = self.expr(&node.iter)?;
        let first_slot = self.function().next_slot;
        let filter = match &node.filter {
            None => None,
            Some(test) => {
                self.open_scope(false, |analysis| {
                    uses::target_names(&node.target, &mut |name| analysis.declare(name));
                    analysis.expr(test);
                });
                let filter = LoopFilter { target: self.target(&node.target)?, test: self.expr(test)? };
                self.close_scope();
                Some(filter)
            }
        };
        let uses_loop = node.recursive || uses::uses_loop(&node.body);
        self.open_scope(false, |analysis| {
            if uses_loop {
                analysis.declare("loop");
            }
            uses::target_names(&node.target, &mut |name| analysis.declare(name));
            analysis.body(&node.body);
        });
        let scope = self.function().scopes.len();
        self.function().loops.push(OpenLoop { scope });
        let target = self.target(&node.target)?;
        let body = self.body(&node.body)?;
        let fresh = self.fresh_slots();
        self.function().loops.pop();
        let scope = self.close_scope();
        let object = scope.slots.get("loop").copied().filter(|_| uses_loop && uses::loop_escapes(&node.body));
        let otherwise = self.compile_scope(&node.otherwise)?;
        let slots = first_slot..self.function().next_slot;
        Ok(Op::For(Box::new(For {
            target,
            iter,
            filter,
            body: Scope { body, fresh },
            otherwise,
            recursive: node.recursive,
            uses_loop,
            object,
            slots,
        })))
    }

    fn with_block(&mut self, node: &ast::With) -> Result<Op> {
        let mut values = Vec::new();
        for (_, value) in &node.bindings {
            values.push(self.expr(value)?);
        }
        self.open_scope(false, |analysis| {
            for (target, _) in &node.bindings {
                uses::target_names(target, &mut |name| analysis.declare(name));
            }
            analysis.body(&node.body);
        });
        let mut bindings = Vec::new();
        for ((target, _), value) in node.bindings.iter().zip(values) {
            bindings.push((self.target(target)?, value));
        }
        let body = self.body(&node.body)?;
        let fresh = self.fresh_slots();
        self.close_scope();
        Ok(Op::With(bindings, Scope { body, fresh }))
    }

    fn macro_code(&mut self, name: &str, params: &[ast::Param], body: &[Stmt]) -> Result<MacroCode> {
        self.functions.push(FunctionScope::new(true, false));
        let explicit_caller = params.iter().any(|param| &*param.name.name == "caller");
        let special = |name: &str| {
            let declared = params.iter().any(|param| &*param.name.name == name);
            !declared && uses::uses_name(body, name)
        };
        let specials = ["caller", "kwargs", "varargs"].map(|name| (name, special(name)));
        self.open_scope(false, |analysis| {
            for param in params {
                analysis.declare(&param.name.name);
            }
            for (name, used) in specials {
                if used {
                    analysis.declare(name);
                }
            }
            // Defaults are evaluated in the scope of the macro, before its body.
            params
                .iter()
                .filter_map(|param| param.default.as_ref())
                .for_each(|default| analysis.expr(default));
            analysis.body(body);
        });
        let mut compiled = Vec::new();
        for param in params {
            let default = param.default.as_ref().map(|default| self.expr(default)).transpose()?;
            let slot = self.slot_of(&param.name.name);
            let span = param.default.as_ref().map_or(param.name.span, |default| default.span);
            compiled.push(Param { name: param.name.name.to_string(), slot, default, span });
        }
        let slot = |this: &mut Self, (name, used): (&str, bool)| used.then(|| this.slot_of(name));
        let [caller, kwargs, varargs] = specials.map(|special| slot(self, special));
        let code = self.body(body)?;
        self.close_scope();
        let function = self.pop_function(code);
        let places = compiled.iter().map(|param| &param.name).zip(0..);
        Ok(MacroCode {
            name: name.to_owned(),
            places: places.map(|(name, place)| (name.as_str().into(), place)).collect(),
            params: compiled,
            function,
            caller,
            varargs,
            kwargs,
            explicit_caller,
        })
    }

    /// The slot of a name that is declared in the innermost scope.
    fn slot_of(&mut self, name: &str) -> Slot {
        self.function().scopes.last().and_then(|scope| scope.slots.get(name).copied()).unwrap_or_default()
    }

    fn call_block(&mut self, node: &ast::CallBlock) -> Result<Op> {
        let body = self.macro_code("caller", &node.params, &node.body)?;
        let callee = self.callee_of(&node.callee)?;
        let args = self.args(&node.args)?;
        Ok(Op::CallBlock(Box::new(CallBlock { body, call: Call { callee, args, span: node.call_span } })))
    }

    fn block(&mut self, node: &ast::Block) -> Result<Op> {
        let visible = if node.scoped { self.visible()? } else { None };
        self.functions.push(FunctionScope::new(false, false));
        let super_slot = self.special_slot(&node.body, "super");
        let self_slot = self.special_slot(&node.body, "self");
        self.open_scope(false, |analysis| {
            analysis.body(&node.body);
        });
        for (name, slot) in [("super", super_slot), ("self", self_slot)] {
            if let (Some(slot), Some(scope)) = (slot, self.function().scopes.last_mut()) {
                scope.symbols.declare(name);
                scope.slots.insert(name.into(), slot);
            }
        }
        let body = self.body(&node.body)?;
        self.close_scope();
        let function = self.pop_function(body);
        let name = node.name.name.to_string();
        self.blocks.push(BlockCode { name: name.clone(), function, super_slot, self_slot });
        Ok(Op::Block(Box::new(BlockCall { name, scoped: node.scoped, required: node.required, visible })))
    }

    fn name_target(&mut self, name: &str) -> Target {
        match self.find(name) {
            // A name that is set belongs to the innermost scope, so its first place is here.
            Some((places, _)) => Target::Slot(places[0].slot),
            None => Target::Tuple(Vec::new()),
        }
    }

    fn target(&mut self, target: &ast::Target) -> Result<Target> {
        Ok(match &target.kind {
            TargetKind::Name(name) => self.name_target(name),
            TargetKind::Attr { namespace, attr } => {
                let namespace = self.name(&namespace.name)?;
                Target::Attr(Box::new((namespace, attr.name.to_string())))
            }
            TargetKind::Tuple(targets) => {
                Target::Tuple(targets.iter().map(|target| self.target(target)).collect::<Result<_>>()?)
            }
        })
    }

    fn name(&mut self, name: &str) -> Result<Expr> {
        Ok(match self.var(name)? {
            Some(var) => Expr::Var(var),
            None => Expr::Context(Key::new(name)),
        })
    }

    /// Whether `loop` refers to the innermost loop of this function here, not to a name of another scope.
    fn is_direct_loop(&mut self) -> bool {
        let function = self.function();
        let Some(open) = function.loops.last() else { return false };
        let inner = &function.scopes[open.scope..];
        !inner.iter().any(|scope| scope.slots.contains_key("loop"))
    }
}
