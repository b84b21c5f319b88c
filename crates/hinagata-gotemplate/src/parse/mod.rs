//! Parses a source into trees, with Go's errors.
//!
//! One source defines a template with its own name, and one for each `define` and `block` in it. Errors
//! contain the line of the last token, so the lookahead of the parser is visible and must match Go's.

mod block;
mod highlight;
pub(crate) mod lex;
mod pipeline;
mod scope;
mod token;

use std::{collections::BTreeMap, sync::Arc};

use hinagata_value::{Budget, Error, LimitKind, Result};

pub use highlight::highlight_source;

use self::{
    lex::{Delims, Lexer, LoopWords},
    scope::Scope,
    token::{Keyword, Kind, Token},
};
use crate::{
    error::{Part, error_text},
    text::quote,
    tree::{Builtin, FunctionRef, LARGEST_SOURCE, Node, Source, Span, Tree},
};

/// The functions that a source may use.
pub(crate) trait Names {
    /// The number of the host function called `name` in the set's list of names.
    fn host_function(&mut self, name: &str) -> Option<u32>;

    /// Names similar to an unknown one.
    fn near(&self, name: &str) -> Vec<String>;
}

/// Parses `text` into trees: one called `name`, and one for each definition, sorted by name.
///
/// # Errors
/// Go's parse error as a syntax error, or a limit.
pub(crate) fn parse_source(
    name: &str,
    text: &str,
    delims: &Delims,
    names: &mut dyn Names,
    budget: &Budget,
) -> Result<Vec<Tree>> {
    let limit = budget.limits().source.min(LARGEST_SOURCE);
    if text.len() > limit {
        return Err(Error::limit_reached(
            LimitKind::Source,
            format!("the template has {} bytes; the limit is {limit}", text.len()),
        ));
    }
    let source = Arc::new(Source { name: name.into(), text: text.into(), delims: delims.clone() });
    let loop_words = LoopWords {
        break_: names.host_function("break").is_none(),
        continue_: names.host_function("continue").is_none(),
    };
    let lexer = Lexer::new(text, delims, loop_words);
    let current = Current::new(name, &source);
    let mut parser =
        Parser { lexer, pending: Vec::new(), current, done: BTreeMap::new(), names, budget, source };
    parser.source()?;
    Ok(parser.done.into_values().collect())
}

struct Parser<'p> {
    lexer: Lexer<'p>,
    /// Tokens that were put back. The next one is last.
    pending: Vec<Token<'p>>,
    current: Current,
    /// The complete trees, by name.
    done: BTreeMap<Box<str>, Tree>,
    names: &'p mut dyn Names,
    budget: &'p Budget,
    source: Arc<Source>,
}

/// The tree that is being parsed. A `define` or `block` replaces it until its end.
struct Current {
    tree: Tree,
    scope: Scope,
    /// The line of the last token of this tree.
    line: u32,
    /// The line where the current action starts, 0 outside of actions.
    action_line: u32,
    ranges: u32,
    parens: u32,
}

impl Current {
    fn new(name: &str, source: &Arc<Source>) -> Self {
        let tree = Tree {
            name: name.into(),
            source: source.clone(),
            start: 0,
            root: Span::default(),
            nodes: Vec::new(),
            arms: Vec::new(),
            pipes: Vec::new(),
            commands: Vec::new(),
            exprs: Vec::new(),
            keys: Vec::new(),
            functions: Vec::new(),
            calls: Vec::new(),
            slots: 1,
            conditional: Vec::new(),
            plain_steps: None,
        };
        Self { tree, scope: Scope::new(), line: 0, action_line: 0, ranges: 0, parens: 0 }
    }
}

/// The keyword that ended a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    End,
    Else,
}

impl<'p> Parser<'p> {
    fn next(&mut self) -> Result<Token<'p>> {
        match self.pending.pop() {
            Some(token) => Ok(token),
            None => self.read(),
        }
    }

    fn read(&mut self) -> Result<Token<'p>> {
        let token = self.lexer.next_token();
        self.budget.step_bytes(token.text.len())?;
        self.current.line = token.line;
        Ok(token)
    }

    fn back(&mut self, token: Token<'p>) {
        self.pending.push(token);
    }

    fn peek(&mut self) -> Result<&Token<'p>> {
        if self.pending.is_empty() {
            let token = self.read()?;
            self.pending.push(token);
        }
        Ok(self.pending.last().expect("one was put there"))
    }

    fn next_non_space(&mut self) -> Result<Token<'p>> {
        loop {
            let token = self.next()?;
            if token.kind != Kind::Space {
                return Ok(token);
            }
        }
    }

    fn peek_non_space(&mut self) -> Result<&Token<'p>> {
        let token = self.next_non_space()?;
        self.back(token);
        self.peek()
    }

    fn expect(&mut self, kinds: &[Kind], context: &str) -> Result<Token<'p>> {
        let token = self.next_non_space()?;
        if kinds.contains(&token.kind) { Ok(token) } else { Err(self.unexpected(&token, context)) }
    }

    /// A parse error. The parts replace `%s` and the like in `format`.
    #[cold]
    fn fail(&self, format: &str, parts: &[Part<'_>]) -> Error {
        let (name, line) = (&self.source.name, self.current.line);
        let text = error_text(&format!("template: {name}:{line}: "), "", format, parts);
        Error::syntax(text).with_place(|| self.place())
    }

    fn place(&self) -> hinagata_value::Place {
        let line = self.current.line.max(1) as usize;
        let position = match line {
            1 => 0,
            _ => self.source.text.match_indices('\n').nth(line - 2).map_or(0, |(at, _)| at + 1),
        };
        hinagata_value::Place { column: 0, span: None, ..self.source.place(position, 1) }
    }

    #[cold]
    fn unexpected(&self, token: &Token<'_>, context: &str) -> Error {
        if token.kind != Kind::Error {
            return self
                .fail("unexpected %s in %s", &[Part::Text(&token.describe_token()), Part::Text(context)]);
        }
        let started = self.current.action_line;
        let mut extra = String::new();
        if started != 0 && started != token.line {
            extra = format!(" in action started at {}:{started}", self.source.name);
            if token.text.ends_with(" action") {
                extra.drain(..const { " in action".len() });
            }
        }
        self.fail("%s%s", &[Part::Text(&token.text), Part::Text(&extra)])
    }

    /// Parses the whole source: text, actions and definitions.
    fn source(&mut self) -> Result<()> {
        let mut root = Vec::new();
        while self.peek()?.kind != Kind::Eof {
            if self.peek()?.kind == Kind::LeftDelim {
                let delim = self.next()?;
                let word = self.next_non_space()?;
                if word.is_keyword(Keyword::Define) {
                    self.definition()?;
                    continue;
                }
                self.back(word);
                self.back(delim);
            }
            match self.text_or_action()? {
                Item::Node(node) => root.push(node),
                Item::Ending(ending) => {
                    return Err(self.fail("unexpected %s", &[Part::Text(&self.ending_text(ending))]));
                }
            }
        }
        self.current.tree.root = self.body(root);
        self.finish_tree()
    }

    fn ending_text(&self, ending: Ending) -> String {
        let Delims { left, right } = &self.source.delims;
        let word = if ending == Ending::End { "end" } else { "else" };
        format!("{left}{word}{right}")
    }

    /// Parses `{{define "name"}} … {{end}}`, from the name on.
    fn definition(&mut self) -> Result<()> {
        const CONTEXT: &str = "define clause";
        let outer = std::mem::replace(&mut self.current, Current::new("", &self.source));
        let token = self.expect(&[Kind::String, Kind::RawString], CONTEXT)?;
        self.current.tree.name = self.unquoted_name(&token)?.into();
        self.current.tree.start = token.start;
        self.expect(&[Kind::RightDelim], CONTEXT)?;
        let (root, ending) = self.item_list()?;
        if ending != Ending::End {
            let shown = self.ending_text(ending);
            return Err(self.fail("unexpected %s in %s", &[Part::Text(&shown), Part::Text(CONTEXT)]));
        }
        self.current.tree.root = root;
        self.finish_tree()?;
        self.current = outer;
        Ok(())
    }

    /// The name in a string token. Invalid UTF-8 is replaced.
    fn unquoted_name(&self, token: &Token<'_>) -> Result<String> {
        match quote::unquote_literal(&token.text) {
            Some(name) => Ok(String::from_utf8_lossy(&name).into_owned()),
            None => Err(self.fail("%s", &[Part::Text("invalid syntax")])),
        }
    }

    /// Adds the current tree to those of this source. Of two trees with the same name, one must be empty.
    fn finish_tree(&mut self) -> Result<()> {
        self.current.tree.slots = self.current.scope.slots();
        self.current.tree.plain_steps = self.current.tree.count_plain_steps();
        let name = &self.current.tree.name;
        let known = self.done.get(name);
        if known.is_some_and(|known| !is_empty(known)) {
            if is_empty(&self.current.tree) {
                return Ok(());
            }
            let format = "template: multiple definition of template %q";
            return Err(self.fail(format, &[Part::Text(name)]));
        }
        let tree = std::mem::replace(&mut self.current, Current::new("", &self.source)).tree;
        self.done.insert(tree.name.clone(), tree);
        Ok(())
    }

    /// Appends the nodes of a body to the tree.
    fn body(&mut self, nodes: Vec<Node>) -> Span {
        let list = &mut self.current.tree.nodes;
        let start = list.len() as u32;
        list.extend(nodes);
        Span { start, end: list.len() as u32 }
    }

    /// Parses a body up to its `end` or `else`.
    fn item_list(&mut self) -> Result<(Span, Ending)> {
        let _level = self.budget.enter_level()?;
        let mut nodes = Vec::new();
        while self.peek_non_space()?.kind != Kind::Eof {
            match self.text_or_action()? {
                Item::Node(node) => nodes.push(node),
                Item::Ending(ending) => return Ok((self.body(nodes), ending)),
            }
        }
        Err(self.fail("unexpected EOF", &[]))
    }

    fn function(&mut self, name: &str) -> Result<FunctionRef> {
        if let Some(index) = self.names.host_function(name) {
            let functions = &mut self.current.tree.functions;
            let known = functions.iter().position(|function| function.index == index);
            let local = known.unwrap_or_else(|| {
                functions.push(crate::tree::HostName { name: name.into(), index });
                functions.len() - 1
            });
            return Ok(FunctionRef::Host(local as u32));
        }
        match Builtin::from_name(name) {
            Some(builtin) => Ok(FunctionRef::Builtin(builtin)),
            None => Err(self
                .fail("function %q not defined", &[Part::Text(name)])
                .with_subject(name)
                .with_near(self.names.near(name))),
        }
    }
}

/// A node of a body, or its end.
enum Item {
    Node(Node),
    Ending(Ending),
}

/// Whether a template contains only white space.
pub(crate) fn is_empty(tree: &Tree) -> bool {
    tree.nodes[tree.root.range()].iter().all(|node| match node {
        Node::Text(text) => text.text.trim().is_empty(),
        _ => false,
    })
}

/// Whether `word` is a keyword of the language.
pub(crate) fn is_keyword(word: &str) -> bool {
    Keyword::from_word(word).is_some()
}
