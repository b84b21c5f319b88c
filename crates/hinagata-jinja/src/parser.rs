//! From tokens to the tree.
//!
//! A parser by hand, as the grammar of Jinja2 is one: a name means what its place makes of it (`if`
//! is a variable in `{{ if }}`). Wherever the parser calls itself it takes a level of the budget, so
//! that no source can use up the stack; chains are read by loops. The modules are its parts:
//! `stream` holds the tokens, `statement` and `tag` read tags, `expression` operators, `operand` what
//! they stand between, `target` what is assigned.

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
/// Names of filters and tests are not looked up; [`crate::check_names`] does that.
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
    // No excerpt: the line may be all of it.
    let place = hinagata_value::Place { template: origin.name.to_owned(), line: 1, ..Default::default() };
    Err(Error::limit_reached(LimitKind::Source, message).with_place(|| place))
}

struct Parser<'s> {
    origin: Origin<'s>,
    options: &'s ParseOptions,
    budget: &'s Budget,
    stream: Stream<'s>,
    /// The blocks around this place, innermost last.
    open: Vec<Open>,
    context: Context,
    /// The names of the blocks so far.
    blocks: HashSet<Box<str>>,
    /// The height of the expression that was read last: nodes inside each other.
    height: u32,
    /// The first error of those that are reported only if the grammar has nothing to say.
    late: Option<LateError>,
}

/// When Jinja2 finds an error that its grammar does not: the earlier ones hide the later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Late {
    /// When it collects the blocks.
    Blocks,
    /// When it compiles statements.
    Compile,
    /// When it hands what it compiled to Python.
    Python,
}

impl Parser<'_> {
    /// Notes the height of an expression whose highest part has the height `inner`.
    ///
    /// Parentheses are counted where they are read, but of `((a).b * c + d).e` the tree is much
    /// deeper: every operator behind a parenthesis is one more node around it.
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

    /// Notes an error that waits for the end of the source.
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

    /// Notes that two of `names` are the same, if they are.
    fn check_distinct<'n>(&mut self, names: impl Iterator<Item = &'n Ident>, what: &str) {
        let mut seen = HashSet::new();
        for name in names {
            if !seen.insert(&*name.name) {
                let message = format!("the {what} `{}` is there twice", name.name);
                return self.report_late(Late::Python, name.span, message, None);
            }
        }
    }
}

/// An error that waits; its place is looked for only if it is reported.
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

/// A block statement that is not closed yet.
struct Open {
    tag: &'static str,
    span: Span,
    /// The tags that may end the part of it that is being read.
    ends: &'static [&'static str],
}

/// What the statements around this place mean for those inside.
#[derive(Default)]
struct Context {
    /// Loops that a `break` could leave.
    loops: u32,
    /// Loops around, whatever lies between.
    outer_loops: u32,
    /// Scopes around: only outside of all may a template extend another.
    scopes: u32,
    /// How `caller` was used first in each macro or call block around, innermost last.
    callers: Vec<Caller>,
}

/// What is known of the name `caller` in a macro.
#[derive(Clone, Copy, PartialEq)]
enum Caller {
    Unused,
    Read,
    Assigned,
}

impl Context {
    /// Notes a use of `caller`. Those who know already were there when the ones outside learned it.
    fn caller(&mut self, used: Caller) {
        for caller in self.callers.iter_mut().rev().take_while(|caller| **caller == Caller::Unused) {
            *caller = used;
        }
    }
}
