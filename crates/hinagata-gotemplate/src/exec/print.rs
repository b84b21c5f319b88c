//! Actions that print the value of a pipeline.

use hinagata_value::{Heap, Provenance, Result, Value};

use super::{Exec, Val};
use crate::{
    error::Part,
    escape,
    fmt::{
        print::{Printer, print_default},
        printf::printf,
        sink::{Building, Direct, Sink},
    },
    tree::{Action, At, Builtin, ExprKind, FunctionRef, Span, excerpt_at},
    value::view::{Integers, View},
};

/// A builtin that formats its arguments as a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Formatter {
    Print,
    Println,
    Printf,
    Escape(Escaper),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escaper {
    Html,
    Js,
    Urlquery,
}

impl Formatter {
    pub(super) fn from_builtin(builtin: Builtin) -> Option<Self> {
        Some(match builtin {
            Builtin::Print => Self::Print,
            Builtin::Println => Self::Println,
            Builtin::Printf => Self::Printf,
            Builtin::Html => Self::Escape(Escaper::Html),
            Builtin::Js => Self::Escape(Escaper::Js),
            Builtin::Urlquery => Self::Escape(Escaper::Urlquery),
            _ => return None,
        })
    }
}

impl<'a, P: Provenance> Exec<'_, 'a, P> {
    #[inline]
    pub(super) fn run_action(&mut self, index: u32, action: &'a Action, dot: &Val<'a>) -> Result<()> {
        if let Some(path) = &action.path
            && let Some(result) = self.print_path(index, path, dot)
        {
            return result;
        }
        if P::ON {
            return self.record_action(index, action, dot);
        }
        self.any_action(index, action, dot)
    }

    #[inline(never)]
    fn record_action(&mut self, index: u32, action: &'a Action, dot: &Val<'a>) -> Result<()> {
        let mark = self.mark();
        if self.tree.pipes[action.pipe as usize].variables.is_empty() {
            self.print_recorded(index, |exec| exec.any_action(index, action, dot))?;
        } else {
            self.any_action(index, action, dot)?;
        }
        self.forget(mark);
        Ok(())
    }

    #[inline(never)]
    fn any_action(&mut self, index: u32, action: &'a Action, dot: &Val<'a>) -> Result<()> {
        let tree = self.tree;
        let mark = self.mark();
        let pipe = &tree.pipes[action.pipe as usize];
        if !pipe.variables.is_empty() {
            return self.eval_pipeline(action.pipe, dot).map(drop);
        }
        let last = pipe.commands.end - 1;
        let args = tree.commands[last as usize].args;
        let first = args.start;
        if let ExprKind::Function(FunctionRef::Builtin(builtin)) = &tree.exprs[first as usize].kind
            && let Some(formatter) = Formatter::from_builtin(*builtin)
        {
            let before = self.eval_stages(action.pipe, Span { end: last, ..pipe.commands }, dot)?;
            self.budget.charge_steps(args.len() as u64)?;
            let rest = Span { start: first + 1, end: args.end };
            let base = self.stack.len();
            self.push_builtin_args(*builtin, first, rest, before, dot)?;
            self.set_source(None, mark);
            return self.print_formatted(index, formatter, base);
        }
        self.print_pipeline(index, action.pipe, dot)
    }

    fn print_pipeline(&mut self, index: u32, pipe: u32, dot: &Val<'a>) -> Result<()> {
        let mark = self.mark();
        let value = self.eval_pipeline(pipe, dot)?;
        self.set_source(Some(&value.value), mark);
        self.print_value(index, &value.value)
    }

    /// Writes a value to the output.
    pub(super) fn print_value(&mut self, index: u32, value: &Value<'a>) -> Result<()> {
        let site = self.site(At::node(index));
        match View::from_value(value, self.set.options.integers) {
            Ok(View::Str(text)) if !matches!(value, Value::Pieces(_)) => self.output.write(text, site),
            Ok(view @ (View::Float(_) | View::Int(_) | View::Bool(_) | View::List(_) | View::Map(_))) => {
                let mut sink = Direct { output: self.output, site, budget: self.budget };
                print_default(&mut sink, self.heap, view, self.set.options.integers)
            }
            _ => self.print_rare(index, value),
        }
    }

    #[inline(never)]
    fn print_rare(&mut self, index: u32, value: &Value<'a>) -> Result<()> {
        self.at = At::node(index);
        let site = self.site(self.at);
        match value {
            Value::Pending(call) => return self.output.write_pending(*call),
            Value::Pieces(pieces) => return self.output.write_pieces(pieces, site),
            Value::Host(object) => {
                if let Some(part) = object.get().part() {
                    return self.output.write_part(part);
                }
            }
            _ => {}
        }
        let value = self.resolve_scope(value.clone())?;
        let view = View::from_value(&value, self.set.options.integers)?;
        match view {
            View::Invalid | View::Nil => self.output.write("<no value>", site),
            View::Func(_) => {
                let (node, type_) = (excerpt_at(self.tree, self.at), view.type_name());
                let parts = [Part::Text(&node), Part::Text(&type_)];
                Err(self.fail("can't print %s of type %s", &parts))
            }
            _ => {
                let mut sink = Direct { output: self.output, site, budget: self.budget };
                print_default(&mut sink, self.heap, view, self.set.options.integers)
            }
        }
    }

    /// Writes the result of a formatting builtin directly to the output. Its arguments are on the stack from `base` on.
    fn print_formatted(&mut self, index: u32, formatter: Formatter, base: usize) -> Result<()> {
        let site = self.site(At::node(index));
        let mut sink = Direct { output: self.output, site, budget: self.budget };
        format_into(&mut sink, formatter, self.heap, self.set.options.integers, &self.stack[base..])?;
        self.stack.truncate(base);
        Ok(())
    }

    /// The result of a formatting builtin. Its arguments are on the stack from `base` on.
    pub(super) fn format_values(&mut self, formatter: Formatter, base: usize) -> Result<Value<'a>> {
        let mut building = Building::new(self.heap);
        format_into(&mut building, formatter, self.heap, self.set.options.integers, &self.stack[base..])?;
        building.finish(self.heap)
    }
}

fn format_into<'a>(
    sink: &mut impl Sink,
    formatter: Formatter,
    heap: &Heap<'a>,
    integers: Integers,
    values: &[Value<'a>],
) -> Result<()> {
    match (formatter, values) {
        (Formatter::Printf, [format, values @ ..]) => {
            let format = format.as_bytes().unwrap_or_default();
            printf(&mut Printer::new(sink, heap, integers), format, values)
        }
        (Formatter::Println, _) => Printer::new(sink, heap, integers).println(values),
        (Formatter::Escape(escaper), _) => escape_into(sink, escaper, heap, integers, values),
        _ => Printer::new(sink, heap, integers).print(values),
    }
}

fn escape_into<'a>(
    sink: &mut impl Sink,
    escaper: Escaper,
    heap: &Heap<'a>,
    integers: Integers,
    values: &[Value<'a>],
) -> Result<()> {
    let escape = match escaper {
        Escaper::Html => escape::escape_html,
        Escaper::Js => escape::escape_js,
        Escaper::Urlquery => escape::escape_url_query,
    };
    if let [value] = values
        && let Some(text) = value.as_bytes()
    {
        return escape_pieces(sink, escape, text);
    }
    // Here nil prints as `<no value>` and is treated as a string.
    let values: Vec<Value<'a>> = values
        .iter()
        .map(|value| match View::from_value(value, integers)? {
            View::Nil | View::Invalid => heap.string("<no value>"),
            _ => Ok(value.clone()),
        })
        .collect::<Result<_>>()?;
    let mut building = Building::new(heap);
    Printer::new(&mut building, heap, integers).print(&values)?;
    escape_pieces(sink, escape, building.as_bytes())
}

/// Escapes a text piece by piece, so that only one piece is in memory twice.
fn escape_pieces(sink: &mut impl Sink, escape: fn(&[u8]) -> Vec<u8>, text: &[u8]) -> Result<()> {
    const PIECE: usize = 4096;
    let mut rest = text;
    while !rest.is_empty() {
        let mut end = rest.len().min(PIECE);
        // Do not split a character: its continuation bytes have this form.
        while end < rest.len() && end > PIECE - 4 && rest[end] & 0xc0 == 0x80 {
            end -= 1;
        }
        let (piece, after) = rest.split_at(end);
        // Escaping copies most bytes one by one, which takes longer than other copies.
        sink.budget().charge_steps(1 + (piece.len() as u64 >> 4))?;
        sink.write_bytes(&escape(piece))?;
        rest = after;
    }
    Ok(())
}
