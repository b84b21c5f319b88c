//! The parser: turns tokens into the syntax tree.
//!
//! It is written by hand, as that of Jinja2 is: the meaning of a name depends on its position (`if` is a
//! variable in `{{ if }}`). Every recursive call takes a level from the budget, so that no source can
//! overflow the stack; chains are read by loops. The Rust modules: `stream` has the tokens, `statement` and
//! `tag` read tags, `expression` operators, `operand` operands, and `target` the targets of assignments.

mod expression;
mod operand;
mod statement;
mod stream;
mod tag;
mod target;

use std::collections::HashSet;

use hinagata_value::{Budget, Error, LimitKind, Result};

use crate::{
    ast::{Ident, Span, Template},
    options::ParseOptions,
    source::Origin,
};
use stream::Stream;

/// Parses the template `name`.
///
/// It does not look up the names of filters and tests: [`crate::check_names`] does.
///
/// # Errors
/// When `source` is not a valid template: kind `syntax`, with the line that Jinja2 reports. When it is larger
/// than the limit `source`, nested deeper than `nesting`, or the budget is used up.
pub fn parse(name: &str, source: &str, options: &ParseOptions, budget: &Budget) -> Result<Template> {
    let origin = Origin { name, text: source };
    check_size(origin, budget)?;
    let mut parser = Parser {
        origin,
        options,
        budget,
        stream: Stream::new(origin, options, budget)?,
        open: Vec::new(),
        context: Context::default(),
        blocks: HashSet::new(),
        height: 0,
        late: None,
    };
    let body = parser.template()?;
    match parser.late {
        Some(late) => Err(late.into_error(origin)),
        None => Ok(Template { body }),
    }
}

fn check_size(origin: Origin<'_>, budget: &Budget) -> Result<()> {
    let limit = budget.limits().source.min(u32::MAX as usize - 1);
    let size = origin.text.len();
    if size <= limit {
        return Ok(());
    }
    let message = format!("the template has {size} bytes; the limit is {limit}");
    // Without an excerpt: one line may be the whole source.
    let place = hinagata_value::Place { template: origin.name.to_owned(), line: 1, ..Default::default() };
    Err(Error::limit_reached(LimitKind::Source, message).with_place(|| place))
}

struct Parser<'s> {
    origin: Origin<'s>,
    options: &'s ParseOptions,
    budget: &'s Budget,
    stream: Stream<'s>,
    /// The open blocks, innermost last.
    open: Vec<Open>,
    context: Context,
    /// The names of the blocks that were read so far.
    blocks: HashSet<Box<str>>,
    /// The height (levels of nested nodes) of the expression that was read last.
    height: u32,
    /// The first of the errors that are reported only if the source has no grammar error.
    late: Option<LateError>,
}

/// The phase in which Jinja2 finds an error that is not one of grammar. Errors of an earlier phase hide
/// later ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Late {
    /// Collecting the blocks.
    Blocks,
    /// Compiling statements.
    Compile,
    /// Compiling the generated Python code.
    Python,
}

impl Parser<'_> {
    /// Sets the height of an expression whose highest part has the height `inner`, and checks the limit.
    ///
    /// Counting open parentheses is not enough: in `((a).b * c + d).e` every operator after a parenthesis
    /// adds one more node around it.
    fn grow(&mut self, inner: u32) -> Result<()> {
        self.height = inner + 1;
        let limit = self.budget.limits().nesting;
        if self.height <= limit {
            return Ok(());
        }
        let message = format!("expressions are nested more than {limit} deep");
        Err(Error::limit_reached(LimitKind::Nesting, message)
            .with_place(|| self.origin.place(self.current_span())))
    }

    /// Records an error that is reported only at the end of the source.
    #[cold]
    fn report_late(
        &mut self,
        late: Late,
        span: Span,
        message: impl Into<String>,
        hint: Option<&'static str>,
    ) {
        let key = |error: &LateError| (error.late, error.span.start);
        if self.late.as_ref().is_none_or(|first| (late, span.start) < key(first)) {
            self.late = Some(LateError { late, span, message: message.into(), hint });
        }
    }

    /// Records an error if two of `names` are equal.
    fn check_distinct<'n>(&mut self, names: impl Iterator<Item = &'n Ident>, what: &str) {
        let mut seen = HashSet::new();
        for name in names {
            if !seen.insert(&*name.name) {
                let message = format!("duplicate {what} `{}`", name.name);
                return self.report_late(Late::Python, name.span, message, None);
            }
        }
    }
}

/// A deferred error. Its place is computed only if it is reported.
struct LateError {
    late: Late,
    span: Span,
    message: String,
    hint: Option<&'static str>,
}

impl LateError {
    #[cold]
    fn into_error(self, origin: Origin<'_>) -> Error {
        let error = origin.syntax_error(self.span, self.message);
        match self.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

/// An open block statement.
struct Open {
    tag: &'static str,
    span: Span,
    /// The tags that may end the current part.
    ends: &'static [&'static str],
}

/// What the enclosing statements allow inside them.
#[derive(Default)]
struct Context {
    /// The number of enclosing loops that a `break` could leave.
    loops: u32,
    /// The number of all enclosing loops, also beyond a macro or block.
    outer_loops: u32,
    /// The number of enclosing scopes: `extends` is allowed only outside all scopes.
    scopes: u32,
    /// How each enclosing macro or call block uses `caller` first, innermost last.
    callers: Vec<Caller>,
}

/// The first use of the name `caller` in a macro.
#[derive(Clone, Copy, PartialEq)]
enum Caller {
    Unused,
    Read,
    Assigned,
}

impl Context {
    /// Records a use of `caller` in the enclosing macros. It stops at the first one with a recorded use,
    /// because the macros around that one have one too.
    fn caller(&mut self, used: Caller) {
        for caller in self.callers.iter_mut().rev().take_while(|caller| **caller == Caller::Unused) {
            *caller = used;
        }
    }
}
