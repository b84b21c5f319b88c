//! Compiles expressions.

use hinagata_value::{Error, Key, LimitKind, Result};

use super::{Compiler, uses};
use crate::{
    ast::{self, Const, ExprKind, PostfixOp, Span, UnaryOp},
    code::{
        Args, Call, Callee, Conditional, Expr, FilterCall, Links, LoopField, Path, PathStep, SliceExpr,
        TestCall,
    },
    library::{filters, methods, tests},
    run::Quick,
};

impl Compiler<'_> {
    pub(super) fn expr(&mut self, expr: &ast::Expr) -> Result<Expr> {
        self.budget.charge_steps(1)?;
        let _level = self.budget.enter_level()?;
        Ok(match &expr.kind {
            ExprKind::Const(constant) => self.constant(constant, expr.span)?,
            ExprKind::Name(name) => self.name(name)?,
            ExprKind::List(items) => Expr::List(self.exprs(items)?),
            ExprKind::Tuple(items) => Expr::Tuple(self.exprs(items)?),
            ExprKind::Dict(entries) => {
                let mut compiled = Vec::with_capacity(entries.len());
                for (key, value) in entries {
                    compiled.push((self.expr(key)?, self.expr(value)?));
                }
                Expr::Dict(compiled, expr.span)
            }
            ExprKind::Postfix(node) => self.postfix(node)?,
            ExprKind::Unary(op, operand) => {
                let operand = Box::new(self.expr(operand)?);
                match op {
                    UnaryOp::Not => Expr::Not(operand),
                    UnaryOp::Neg => Expr::Neg(operand, expr.span),
                    UnaryOp::Pos => Expr::Pos(operand, expr.span),
                }
            }
            ExprKind::Binary(node) => {
                let first = self.expr(&node.first)?;
                let mut rest = Vec::with_capacity(node.rest.len());
                for step in &node.rest {
                    rest.push((step.op, self.expr(&step.right)?, step.span));
                }
                Expr::Binary(Box::new((first, rest)))
            }
            ExprKind::Concat(items) => Expr::Concat(self.exprs(items)?),
            ExprKind::Compare(node) => {
                let first = self.expr(&node.first)?;
                let mut rest = Vec::with_capacity(node.rest.len());
                for step in &node.rest {
                    rest.push((step.op, self.expr(&step.right)?, step.span));
                }
                Expr::Compare(Box::new((first, rest)))
            }
            ExprKind::And(items) => Expr::And(self.exprs(items)?),
            ExprKind::Or(items) => Expr::Or(self.exprs(items)?),
            ExprKind::Conditional(node) => Expr::Conditional(Box::new(Conditional {
                value: self.expr(&node.value)?,
                tests: self.exprs(&node.tests)?,
                otherwise: node.otherwise.as_ref().map(|value| self.expr(value)).transpose()?,
            })),
        })
    }

    fn exprs(&mut self, items: &[ast::Expr]) -> Result<Vec<Expr>> {
        items.iter().map(|item| self.expr(item)).collect()
    }

    fn constant(&self, constant: &Const, span: Span) -> Result<Expr> {
        Ok(match constant {
            Const::None => Expr::None,
            Const::Bool(value) => Expr::Bool(*value),
            Const::Int(value) => match i64::try_from(*value) {
                Ok(value) => Expr::Int(value),
                Err(_) => Expr::Big(*value),
            },
            Const::HugeInt(digits) => {
                let message = format!("an integer of {} digits does not fit 128 bits", digits.len());
                return Err(
                    Error::limit_reached(LimitKind::Integer, message).with_place(|| self.source.place(span))
                );
            }
            Const::Float(value) => Expr::Float(*value),
            Const::Str(value) => Expr::Str(value.to_string()),
        })
    }

    /// Compiles an operand and the operations after it.
    fn postfix(&mut self, node: &ast::Postfix) -> Result<Expr> {
        self.operations(&node.base, &node.ops)
    }

    fn operations(&mut self, operand: &ast::Expr, steps: &[ast::PostfixStep]) -> Result<Expr> {
        let mut ops = steps.iter().peekable();
        let base = match self.direct_loop(operand, steps, &mut ops)? {
            Some(expr) => expr,
            None => self.expr(operand)?,
        };
        let mut links: Vec<Expr> = Vec::new();
        while let Some(step) = ops.next() {
            self.budget.charge_steps(1)?;
            let link = match &step.op {
                PostfixOp::Attr(name) => {
                    let name = path_step(name, step.span);
                    if let Some(ast::PostfixStep { op: PostfixOp::Call(args), span }) =
                        ops.next_if(|next| matches!(next.op, PostfixOp::Call(_)))
                    {
                        let callee = Callee::Method(Expr::Subject, name);
                        Expr::Call(Box::new(Call { callee, args: self.args(args)?, span: *span }))
                    } else if let Some(Expr::Path(path)) = links.last_mut() {
                        path.push(name);
                        continue;
                    } else {
                        Expr::Path(Box::new(Path::new(Expr::Subject, name)))
                    }
                }
                PostfixOp::Item(key) => Expr::Item(Box::new((Expr::Subject, self.expr(key)?)), step.span),
                PostfixOp::Slice(slice) => {
                    let mut part =
                        |part: &Option<ast::Expr>| part.as_ref().map(|part| self.expr(part)).transpose();
                    let (start, stop, by) = (part(&slice.start)?, part(&slice.stop)?, part(&slice.step)?);
                    let mut bounds = [&slice.start, &slice.stop, &slice.step].into_iter().flatten();
                    let literal = links.is_empty() && is_literal(operand) && bounds.all(is_literal);
                    let slice = SliceExpr { base: Expr::Subject, start, stop, step: by, literal };
                    Expr::Slice(Box::new(slice), step.span)
                }
                PostfixOp::Call(args) => Expr::Call(Box::new(Call {
                    callee: Callee::Value(Expr::Subject),
                    args: self.args(args)?,
                    span: step.span,
                })),
                PostfixOp::Filter(filter) => Expr::Filter(Box::new((Expr::Subject, self.filter(filter)?))),
                PostfixOp::Test(test) => Expr::Test(Box::new((Expr::Subject, self.test(test)?))),
            };
            links.push(link);
        }
        Ok(link_operations(base, links))
    }

    /// Compiles `loop.index` and similar uses of the innermost loop that need no loop object.
    fn direct_loop<'n>(
        &mut self,
        base: &ast::Expr,
        steps: &'n [ast::PostfixStep],
        ops: &mut std::iter::Peekable<std::slice::Iter<'n, ast::PostfixStep>>,
    ) -> Result<Option<Expr>> {
        if !uses::is_direct_use("loop", base, steps) || !self.is_direct_loop() {
            return Ok(None);
        }
        let Some(step) = ops.next() else { return Ok(None) };
        let (callee, args, span) = match (&step.op, ops.peek().map(|step| (&step.op, step.span))) {
            (PostfixOp::Call(args), _) => (Callee::Loop, args, step.span),
            (PostfixOp::Attr(name), Some((PostfixOp::Call(args), span))) if &**name == "cycle" => {
                ops.next();
                (Callee::LoopCycle, args, span)
            }
            (PostfixOp::Attr(name), Some((PostfixOp::Call(args), span))) if &**name == "changed" => {
                ops.next();
                (Callee::LoopChanged, args, span)
            }
            (PostfixOp::Attr(name), _) => return Ok(LoopField::from_name(name).map(Expr::Loop)),
            _ => return Ok(None),
        };
        Ok(Some(Expr::Call(Box::new(Call { callee, args: self.args(args)?, span }))))
    }

    /// Compiles the callee of a call block.
    pub(super) fn callee_of(&mut self, callee: &ast::Expr) -> Result<Callee> {
        if let ExprKind::Postfix(node) = &callee.kind
            && let Some((last, before)) = node.ops.split_last()
            && let PostfixOp::Attr(name) = &last.op
        {
            let receiver = match before {
                [] => self.expr(&node.base)?,
                _ => self.operations(&node.base, before)?,
            };
            return Ok(Callee::Method(receiver, path_step(name, last.span)));
        }
        Ok(Callee::Value(self.expr(callee)?))
    }

    pub(super) fn args(&mut self, args: &ast::CallArgs) -> Result<Args> {
        let mut keywords = Vec::with_capacity(args.keywords.len());
        for keyword in &args.keywords {
            keywords.push((keyword.name.name.to_string(), self.expr(&keyword.value)?));
        }
        let is_constant = |expr: &ast::Expr| matches!(expr.kind, ExprKind::Const(_));
        let literal = args.positional.iter().all(is_constant)
            && args.keywords.iter().all(|keyword| is_constant(&keyword.value))
            && args.args.is_none()
            && args.kwargs.is_none();
        Ok(Args {
            literal,
            positional: self.exprs(&args.positional)?,
            keywords,
            args: args.args.as_ref().map(|args| self.expr(args)).transpose()?,
            kwargs: args.kwargs.as_ref().map(|kwargs| self.expr(kwargs)).transpose()?,
        })
    }

    pub(super) fn filters(&mut self, filters: &[ast::FilterCall]) -> Result<Vec<FilterCall>> {
        filters.iter().map(|filter| self.filter(filter)).collect()
    }

    fn filter(&mut self, filter: &ast::FilterCall) -> Result<FilterCall> {
        let args = self.args(&filter.args)?;
        Ok(FilterCall {
            name: filter.name.to_string(),
            filter: filters::find_filter(&filter.name),
            quick: Quick::from_filter(&filter.name, &args),
            args,
            span: filter.span,
        })
    }

    fn test(&mut self, test: &ast::TestCall) -> Result<TestCall> {
        let args = self.args(&test.args)?;
        // `literal` excludes `*args` and `**kwargs`, so this means: no argument at all.
        let no_args = args.literal && args.positional.is_empty() && args.keywords.is_empty();
        Ok(TestCall {
            name: test.name.to_string(),
            test: tests::find_test(&test.name),
            negated: test.negated,
            args,
            span: test.span,
            defined: match (&*test.name, no_args) {
                ("defined", true) => Some(true),
                ("undefined", true) => Some(false),
                _ => None,
            },
        })
    }
}

fn path_step(name: &str, span: Span) -> PathStep {
    PathStep { key: Key::new(name), special: methods::is_map_method(name) || name.starts_with('_'), span }
}

/// Whether an expression consists of literals only.
fn is_literal(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ExprKind::Const(_) => true,
        ExprKind::List(items) | ExprKind::Tuple(items) => items.iter().all(is_literal),
        ExprKind::Dict(entries) => entries.iter().all(|(key, value)| is_literal(key) && is_literal(value)),
        ExprKind::Unary(UnaryOp::Neg | UnaryOp::Pos, operand) => is_literal(operand),
        _ => false,
    }
}

/// Applies operations to their operand.
fn link_operations(base: Expr, mut links: Vec<Expr>) -> Expr {
    let Some(mut last) = links.pop() else { return base };
    let operand = if links.len() > 1 {
        Expr::Links(Box::new(Links { base, links }))
    } else if let Some(mut first) = links.pop() {
        set_operand(&mut first, base);
        first
    } else {
        base
    };
    set_operand(&mut last, operand);
    last
}

/// Replaces [`Expr::Subject`] in an operation.
fn set_operand(operation: &mut Expr, operand: Expr) {
    let subject = match operation {
        Expr::Path(path) => &mut path.base,
        Expr::Item(node, _) => &mut node.0,
        Expr::Slice(slice, _) => &mut slice.base,
        Expr::Filter(node) => &mut node.0,
        Expr::Test(node) => &mut node.0,
        Expr::Call(call) => match &mut call.callee {
            Callee::Value(subject) | Callee::Method(subject, _) => subject,
            Callee::Loop | Callee::LoopCycle | Callee::LoopChanged => return,
        },
        _ => return,
    };
    *subject = operand;
}
