//! Evaluates pipelines, commands and operands.

use hinagata_value::{Provenance, Result, Value};

use super::{Exec, Val};
use crate::{
    error::Part,
    text::number::Ideal,
    tree::{Arm, At, Content, ExprKind, NumberLiteral, Span, StrLiteral, Test, excerpt_at},
    value::exotic::Complex,
};

impl<'a, P: Provenance> Exec<'_, 'a, P> {
    /// Evaluates a pipeline and sets its variables.
    pub(super) fn eval_pipeline(&mut self, index: u32, dot: &Val<'a>) -> Result<Val<'a>> {
        let tree = self.tree;
        let mark = self.mark();
        let pipe = &tree.pipes[index as usize];
        if let Some(path) = &pipe.path
            && let Some(json) = self.read_data(path, dot)
        {
            self.budget.charge_steps(1)?;
            // The node that Go reports if the value is rejected.
            self.at = At::expr(tree.commands[pipe.commands.start as usize].args.start);
            return Ok(Val::plain(Value::Json(json)).unboxed());
        }
        let value = self.eval_stages(index, pipe.commands, dot)?.unwrap_or(Val::INVALID);
        for variable in &pipe.variables {
            self.set(variable, value.clone())?;
            if P::ON {
                let inputs = self.inputs_since(mark);
                self.assign_variable(&variable.slots, inputs);
            }
        }
        Ok(value)
    }

    /// Evaluates commands of a pipeline. Each value is the last argument of the next command. `None` without
    /// commands.
    #[inline]
    pub(super) fn eval_stages(
        &mut self,
        pipe: u32,
        commands: Span,
        dot: &Val<'a>,
    ) -> Result<Option<Val<'a>>> {
        self.at = At::pipe(pipe);
        let mut value = None;
        for command in commands.ids() {
            value = Some(self.eval_command(command, dot, value)?.unboxed());
        }
        Ok(value)
    }

    /// Whether the condition of an arm is true.
    #[inline]
    pub(super) fn eval_condition(&mut self, arm: &'a Arm, dot: &Val<'a>) -> Result<bool> {
        let known = match &arm.test {
            Test::Path(path) => self.path_truth(path, dot),
            Test::Compare(comparison) => self.compare_scalars(comparison, dot),
            Test::Any => None,
        };
        match known {
            Some(truth) => self.budget.charge_steps(1).map(|()| truth),
            None => {
                let value = self.in_condition(true, |exec| exec.eval_pipeline(arm.pipe, dot))?;
                self.truth(&value.value)
            }
        }
    }

    /// Evaluates a command. `last` is the value of the command before it, which is its last argument.
    fn eval_command(&mut self, index: u32, dot: &Val<'a>, last: Option<Val<'a>>) -> Result<Val<'a>> {
        let tree = self.tree;
        let args = tree.commands[index as usize].args;
        // Each operand costs a step: a command can have a hundred thousand of them.
        self.budget.charge_steps(args.len() as u64)?;
        let first = args.start;
        let has_args = args.len() > 1 || last.is_some();
        match &tree.exprs[first as usize].kind {
            ExprKind::Field(keys) => {
                self.at = At::expr(first);
                self.dot_fields(dot, &tree.keys[keys.range()], has_args)
            }
            ExprKind::Variable(variable, keys) => {
                self.at = At::expr(first);
                if keys.len() == 0 {
                    let value = self.get(variable)?.clone();
                    self.note_variable(variable, &value);
                    self.refuse_to_call(first, has_args)?;
                    return Ok(value);
                }
                self.variable_fields(variable, &tree.keys[keys.range()], has_args)
            }
            ExprKind::Function(function) => {
                let rest = Span { start: first + 1, end: args.end };
                self.call_function(*function, first, At::command(index), rest, last, dot)
            }
            ExprKind::Chain(base, keys) => {
                self.at = At::expr(first);
                self.operand_fields(*base, &tree.keys[keys.range()], has_args, dot)
            }
            ExprKind::Pipe(pipe) => {
                self.refuse_to_call(first, has_args)?;
                self.budget.check_stack()?;
                self.eval_pipeline(*pipe, dot)
            }
            kind => {
                self.at = At::expr(first);
                self.refuse_to_call(first, has_args)?;
                match kind {
                    ExprKind::Nil => Err(self.fail("nil is not a command", &[])),
                    _ => self.eval_constant(kind, dot),
                }
            }
        }
    }

    fn refuse_to_call(&self, first: u32, has_args: bool) -> Result<()> {
        if has_args {
            let word = excerpt_at(self.tree, At::expr(first));
            return Err(self.fail("can't give argument to non-function %s", &[Part::Text(&word)]));
        }
        Ok(())
    }

    /// Evaluates an operand without an expected type. A nil with a type is a nil without one.
    pub(super) fn eval_operand(&mut self, index: u32, dot: &Val<'a>) -> Result<Val<'a>> {
        let tree = self.tree;
        self.at = At::expr(index);
        match &tree.exprs[index as usize].kind {
            ExprKind::Field(keys) => self.dot_fields(dot, &tree.keys[keys.range()], false),
            ExprKind::Variable(variable, keys) => {
                self.variable_fields(variable, &tree.keys[keys.range()], false)
            }
            ExprKind::Pipe(pipe) => {
                self.budget.check_stack()?;
                self.eval_pipeline(*pipe, dot)
            }
            ExprKind::Function(function) => {
                self.call_function(*function, index, At::expr(index), Span::default(), None, dot)
            }
            ExprKind::Chain(base, keys) => self.operand_fields(*base, &tree.keys[keys.range()], false, dot),
            kind => self.eval_constant(kind, dot),
        }
    }

    /// The dot, or a literal without an expected type.
    fn eval_constant(&self, kind: &'a ExprKind, dot: &Val<'a>) -> Result<Val<'a>> {
        Ok(match kind {
            ExprKind::Dot => {
                self.note_dot(dot);
                dot.clone()
            }
            ExprKind::Bool(value) => Val::plain(Value::Bool(*value)),
            ExprKind::Str(literal) => Val::plain(self.string_literal(literal)?),
            ExprKind::Number(literal) => Val::plain(self.number_literal(literal)?),
            _ => Val::INVALID,
        })
    }

    pub(super) fn string_literal(&self, literal: &'a StrLiteral) -> Result<Value<'a>> {
        match &literal.content {
            Content::Text(text) => Ok(Value::Lit(text)),
            Content::Bytes(bytes) => self.heap.bytes(bytes),
        }
    }

    fn number_literal(&self, literal: &'a NumberLiteral) -> Result<Value<'a>> {
        match literal.ideal {
            Ideal::Int(int) => Ok(Value::Int(int)),
            Ideal::Float(float) => Ok(Value::Float(float)),
            Ideal::Complex(re, im) => self.heap.host_object(Complex { re, im }),
            Ideal::Overflow => Err(self.fail("%s overflows int", &[Part::Text(&literal.number.text)])),
        }
    }
}
