//! Builds the tree of a Handlebars template from its tokens.

use super::super::{DEEPEST, TemplateProblem};
use super::expression::{Argument, Call, parse_call};
use super::scan::{Tag, TagKind, Token, scan_tokens};

/// A piece of a template.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Text(String),
    Print { call: Call, offset: usize },
    Block(Block),
    Partial { call: Call, indent: String, offset: usize },
    PartialBlock { call: Call, body: Vec<Self>, indent: String, offset: usize },
    Inline { name: String, body: Vec<Self> },
}

/// A block with its two bodies.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    pub(super) call: Call,
    pub(super) is_inverse: bool,
    pub(super) body: Vec<Node>,
    pub(super) otherwise: Option<Vec<Node>>,
    /// Whether the second body is the rest of a chain: `{{else if x}}`.
    pub(super) is_chain: bool,
    pub(super) offset: usize,
}

/// Parses a template.
pub(super) fn parse_template(source: &str) -> Result<Vec<Node>, TemplateProblem> {
    let tokens = scan_tokens(source)?;
    let mut parser = Parser { tokens: tokens.into_iter().peekable(), depth: 0 };
    let nodes = parser.nodes()?;
    match parser.tokens.next() {
        None => Ok(nodes),
        Some(Token::Tag(tag)) => Err(TemplateProblem::new(tag.offset, "the tag closes nothing")),
        Some(Token::Text(_)) => Ok(nodes),
    }
}

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
    depth: usize,
}

impl Parser {
    /// The nodes up to a tag that ends or divides a block.
    fn nodes(&mut self) -> Result<Vec<Node>, TemplateProblem> {
        let mut nodes = Vec::new();
        while let Some(token) = self.tokens.peek() {
            if let Token::Tag(tag) = token
                && matches!(tag.kind, TagKind::Close | TagKind::Else)
            {
                break;
            }
            match self.tokens.next() {
                Some(Token::Text(text)) if !text.is_empty() => nodes.push(Node::Text(text)),
                Some(Token::Tag(tag)) => nodes.extend(self.tag(tag)?),
                _ => {}
            }
        }
        Ok(nodes)
    }

    fn tag(&mut self, tag: Tag) -> Result<Option<Node>, TemplateProblem> {
        let offset = tag.offset;
        let call = |tag: &Tag| parse_call(&tag.inner, tag.inner_offset);
        Ok(Some(match tag.kind {
            TagKind::Comment | TagKind::Close | TagKind::Else => return Ok(None),
            TagKind::Print => Node::Print { call: call(&tag)?, offset },
            TagKind::Partial => Node::Partial { call: call(&tag)?, indent: tag.indent, offset },
            TagKind::PartialBlock => {
                let call = call(&tag)?;
                let body = self.enter(offset, Self::nodes)?;
                self.close(&call, offset)?;
                Node::PartialBlock { call, body, indent: tag.indent, offset }
            }
            TagKind::Inline => {
                let call = call(&tag)?;
                let [Argument::Text(name)] = call.arguments.as_slice() else {
                    return Err(TemplateProblem::new(offset, "an inline partial needs a name in quotes"));
                };
                let name = name.clone();
                let body = self.enter(offset, Self::nodes)?;
                self.close(&call, offset)?;
                Node::Inline { name, body }
            }
            TagKind::Open | TagKind::OpenInverse => {
                let call = call(&tag)?;
                let is_inverse = tag.kind == TagKind::OpenInverse;
                let block = self.enter(offset, |parser| parser.block(call.clone(), is_inverse, offset))?;
                self.close(&call, offset)?;
                Node::Block(block)
            }
        }))
    }

    fn enter<T>(
        &mut self,
        offset: usize,
        read: impl FnOnce(&mut Self) -> Result<T, TemplateProblem>,
    ) -> Result<T, TemplateProblem> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(TemplateProblem::new(offset, "blocks are nested too deeply"));
        }
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// The bodies of a block, up to its closing tag.
    fn block(&mut self, call: Call, is_inverse: bool, offset: usize) -> Result<Block, TemplateProblem> {
        let body = self.nodes()?;
        let mut block = Block { call, is_inverse, body, otherwise: None, is_chain: false, offset };
        if let Some(Token::Tag(tag)) = self.tokens.peek()
            && tag.kind == TagKind::Else
        {
            let tag = tag.clone();
            self.tokens.next();
            if tag.inner.trim().is_empty() {
                block.otherwise = Some(self.nodes()?);
            } else {
                let call = parse_call(&tag.inner, tag.inner_offset)?;
                let inner = self.enter(tag.offset, |parser| parser.block(call, false, tag.offset))?;
                block.otherwise = Some(vec![Node::Block(inner)]);
                block.is_chain = true;
            }
        }
        Ok(block)
    }

    fn close(&mut self, call: &Call, offset: usize) -> Result<(), TemplateProblem> {
        match self.tokens.next() {
            Some(Token::Tag(tag)) if tag.kind == TagKind::Close => {
                let closed = parse_call(&tag.inner, tag.inner_offset)?;
                let same = match (&closed.target, &call.target) {
                    (Argument::Path(a), Argument::Path(b)) => a.keys == b.keys && a.up == b.up,
                    _ => closed.target == call.target,
                };
                match same {
                    true => Ok(()),
                    false => {
                        Err(TemplateProblem::new(tag.offset, format!("`{}` closes another block", tag.inner)))
                    }
                }
            }
            Some(Token::Tag(tag)) => Err(TemplateProblem::new(tag.offset, "the block has two `else`")),
            _ => Err(TemplateProblem::new(offset, "the block is not closed")),
        }
    }
}
