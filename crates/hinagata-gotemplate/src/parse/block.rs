//! Parses text and statements: `if`, `range`, `with`, `template`, `block` and their ends.

use hinagata_value::Result;

use super::{
    Current, Ending, Item, Parser,
    token::{Keyword, Kind, Token},
};
use crate::{
    error::Part,
    tree::{Action, Arm, Branch, Node, RangeNode, Span, TemplateNode, TextNode},
};

impl<'p> Parser<'p> {
    pub(super) fn text_or_action(&mut self) -> Result<Item> {
        let token = self.next_non_space()?;
        match token.kind {
            Kind::Text => Ok(Item::Node(Node::Text(TextNode { at: token.start, text: token.text.into() }))),
            Kind::LeftDelim => {
                self.current.action_line = token.line;
                let item = self.action()?;
                self.current.action_line = 0;
                Ok(item)
            }
            _ => Err(self.unexpected(&token, "input")),
        }
    }

    fn action(&mut self) -> Result<Item> {
        let token = self.next_non_space()?;
        let Kind::Keyword(keyword) = token.kind else { return self.print_action(token) };
        Ok(Item::Node(match keyword {
            Keyword::Block => self.block()?,
            Keyword::Break => self.loop_word("{{break}}", Node::Break)?,
            Keyword::Continue => self.loop_word("{{continue}}", Node::Continue)?,
            Keyword::Else => return self.else_().map(|()| Item::Ending(Ending::Else)),
            Keyword::End => {
                self.expect(&[Kind::RightDelim], "end")?;
                return Ok(Item::Ending(Ending::End));
            }
            Keyword::If => Node::If(self.branch(Keyword::If, "if")?),
            Keyword::With => Node::With(self.branch(Keyword::With, "with")?),
            Keyword::Range => Node::Range(self.range()?),
            Keyword::Template => self.template()?,
            Keyword::Define | Keyword::Dot | Keyword::Nil => return self.print_action(token),
        }))
    }

    fn print_action(&mut self, token: Token<'p>) -> Result<Item> {
        let at = token.start;
        self.back(token);
        let pipe = self.parse_pipeline("command", Kind::RightDelim)?;
        let path = self.current.tree.pipes[pipe as usize].path.clone();
        Ok(Item::Node(Node::Action(Action { at, pipe, path })))
    }

    fn loop_word(&mut self, shown: &str, node: Node) -> Result<Node> {
        let token = self.next_non_space()?;
        if token.kind != Kind::RightDelim {
            return Err(self.unexpected(&token, shown));
        }
        if self.current.ranges == 0 {
            return Err(self.fail("%s outside {{range}}", &[Part::Text(shown)]));
        }
        Ok(node)
    }

    /// Parses the rest of `else`. A following `if` or `with` is left for the branch.
    fn else_(&mut self) -> Result<()> {
        let next = self.peek_non_space()?;
        if next.is_keyword(Keyword::If) || next.is_keyword(Keyword::With) {
            return Ok(());
        }
        self.expect(&[Kind::RightDelim], "else").map(drop)
    }

    /// Parses `if` or `with`. An `else if` is a further arm, not a nested branch, so that a chain of any length
    /// is flat. The variables of a condition are visible in the arms after it.
    fn branch(&mut self, keyword: Keyword, context: &str) -> Result<Branch> {
        let mark = self.current.scope.enter_block();
        let mut arms = Vec::new();
        let otherwise = loop {
            let pipe = self.parse_pipeline(context, Kind::RightDelim)?;
            let test = self.branch_test(pipe);
            let (body, ending) = self.inner_body()?;
            arms.push(Arm { pipe, body, test });
            if ending == Ending::End {
                break None;
            }
            if self.peek()?.is_keyword(keyword) {
                self.next()?;
                continue;
            }
            break Some(self.last_body()?);
        };
        self.current.scope.leave_block(mark);
        let list = &mut self.current.tree.arms;
        let start = list.len() as u32;
        list.extend(arms);
        Ok(Branch { arms: Span { start, end: list.len() as u32 }, otherwise })
    }

    /// Parses a body. Its variables are not visible after it.
    fn inner_body(&mut self) -> Result<(Span, Ending)> {
        let height = self.current.scope.height();
        let body = self.item_list()?;
        self.current.scope.drop_to(height);
        Ok(body)
    }

    /// Parses the body after a plain `else`.
    fn last_body(&mut self) -> Result<Span> {
        let (body, ending) = self.inner_body()?;
        if ending != Ending::End {
            let shown = self.ending_text(ending);
            return Err(self.fail("expected end; found %s", &[Part::Text(&shown)]));
        }
        Ok(body)
    }

    fn range(&mut self) -> Result<RangeNode> {
        let mark = self.current.scope.enter_block();
        let pipe = self.parse_pipeline("range", Kind::RightDelim)?;
        self.current.ranges += 1;
        let (body, ending) = self.inner_body()?;
        self.current.ranges -= 1;
        let otherwise = match ending {
            Ending::End => None,
            Ending::Else => Some(self.last_body()?),
        };
        self.current.scope.leave_block(mark);
        Ok(RangeNode { pipe, body, otherwise })
    }

    fn template_name(&mut self, context: &str) -> Result<(u32, String)> {
        let token = self.expect(&[Kind::String, Kind::RawString], context)?;
        Ok((token.start, self.unquoted_name(&token)?))
    }

    fn template(&mut self) -> Result<Node> {
        const CONTEXT: &str = "template clause";
        let (at, name) = self.template_name(CONTEXT)?;
        let token = self.next_non_space()?;
        let pipe = if token.kind == Kind::RightDelim {
            None
        } else {
            self.back(token);
            Some(self.parse_pipeline(CONTEXT, Kind::RightDelim)?)
        };
        Ok(self.call(at, name, pipe))
    }

    fn call(&mut self, at: u32, name: String, pipe: Option<u32>) -> Node {
        let calls = &mut self.current.tree.calls;
        calls.push(name.into());
        Node::Template(TemplateNode { at, call: calls.len() as u32 - 1, pipe })
    }

    /// Parses `{{block "name" pipeline}} … {{end}}`: a definition and a call of it.
    fn block(&mut self) -> Result<Node> {
        const CONTEXT: &str = "block clause";
        let (at, name) = self.template_name(CONTEXT)?;
        let pipe = self.parse_pipeline(CONTEXT, Kind::RightDelim)?;
        let outer = std::mem::replace(&mut self.current, Current::new(&name, &self.source));
        self.current.tree.start = at;
        let (root, ending) = self.item_list()?;
        if ending != Ending::End {
            let shown = self.ending_text(ending);
            // As in Go, the error has the line that the enclosing template had reached.
            self.current = outer;
            return Err(self.fail("unexpected %s in %s", &[Part::Text(&shown), Part::Text(CONTEXT)]));
        }
        self.current.tree.root = root;
        self.finish_tree()?;
        self.current = outer;
        Ok(self.call(at, name, Some(pipe)))
    }
}
