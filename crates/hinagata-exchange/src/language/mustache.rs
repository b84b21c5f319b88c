//! Mustache in two dialects: that of mustache.js, and that of chevron, which Python programs use.

use std::collections::BTreeSet;

use super::{DEEPEST, LARGEST_OUTPUT, TemplateLoss, TemplateProblem};
use crate::jinja_text::{JinjaText, quote_string};
use crate::names::{Names, to_segment};
use crate::report::LossCode;

/// Whose mustache it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// mustache.js.
    JavaScript,
    /// chevron.
    Chevron,
}

impl Dialect {
    const fn name(self) -> &'static str {
        match self {
            Self::JavaScript => "mustache",
            Self::Chevron => "chevron",
        }
    }
}

/// A translated template.
#[derive(Debug, Default)]
pub(crate) struct Translated {
    /// The template.
    pub(crate) text: String,
    /// Partials that it includes: the file name and the template.
    pub(crate) partials: Vec<(String, String)>,
    /// What changed.
    pub(crate) losses: Vec<TemplateLoss>,
    /// Variables that are read outside of sections.
    pub(crate) outer: BTreeSet<String>,
}

/// Finds the source of a partial.
pub(crate) type Partials<'p> = &'p dyn Fn(&str) -> Option<String>;

/// Translates `source`.
pub(crate) fn translate(
    source: &str,
    dialect: Dialect,
    names: &mut Names,
    partials: Partials<'_>,
) -> Result<Translated, TemplateProblem> {
    let nodes = parse_template(source, dialect)?;
    let mut emitter = Emitter {
        dialect,
        names,
        find: partials,
        stack: Vec::new(),
        open: Vec::new(),
        written: Vec::new(),
        losses: Vec::new(),
        outer: BTreeSet::new(),
    };
    let mut text = JinjaText::default();
    emitter.nodes(&nodes, &mut text)?;
    let partials = emitter.written.into_iter().map(|(_, file, text)| (file, text)).collect();
    Ok(Translated { text: text.finish(), partials, losses: emitter.losses, outer: emitter.outer })
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    Text(String),
    Print { name: String, escaped: bool },
    Section { name: String, body: Vec<Self>, inverted: bool },
    Partial { name: String, indent: Indent, offset: usize },
}

/// What stands before the lines of a partial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Indent {
    text: String,
    /// Whether it stands before the first line, too.
    is_before_first: bool,
}

impl Indent {
    /// The source of a partial, indented.
    fn write_before(&self, source: &str, dialect: Dialect) -> String {
        let mut written = String::new();
        for (index, line) in source.split_inclusive('\n').enumerate() {
            // mustache.js leaves empty lines as they are.
            let is_indented = dialect == Dialect::Chevron || line != "\n";
            if is_indented && (index > 0 || self.is_before_first) {
                written.push_str(&self.text);
            }
            written.push_str(line);
        }
        written
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Print,
    Raw,
    Open,
    OpenInverted,
    Close,
    Partial,
    Comment,
    Delimiters,
}

enum Token {
    Text(String),
    Tag { sign: Sign, name: String, offset: usize, indent: Indent },
}

fn scan_tokens(source: &str, dialect: Dialect) -> Result<Vec<Token>, TemplateProblem> {
    let (mut open, mut close) = ("{{".to_owned(), "}}".to_owned());
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(found) = source[at..].find(open.as_str()) {
        let offset = at + found;
        tokens.push(Token::Text(source[at..offset].to_owned()));
        let mut start = offset + open.len();
        let rest = &source[start..];
        let trimmed = rest.trim_start();
        let (sign, sign_length) = match trimmed.chars().next() {
            Some('{' | '&') => (Sign::Raw, 1),
            Some('#') => (Sign::Open, 1),
            Some('^') => (Sign::OpenInverted, 1),
            Some('/') => (Sign::Close, 1),
            Some('>') => (Sign::Partial, 1),
            Some('!') => (Sign::Comment, 1),
            Some('=') => (Sign::Delimiters, 1),
            _ => (Sign::Print, 0),
        };
        let is_triple = trimmed.starts_with('{');
        start += rest.len() - trimmed.len() + sign_length;
        let ending = match (is_triple, sign) {
            (true, _) => format!("}}{close}"),
            (false, Sign::Delimiters) => format!("={close}"),
            _ => close.clone(),
        };
        let Some(length) = source[start..].find(ending.as_str()) else {
            return Err(TemplateProblem::new(offset, "the tag is not closed"));
        };
        let name = source[start..start + length].trim().to_owned();
        at = start + length + ending.len();
        if sign == Sign::Delimiters {
            let mut words = name.split_whitespace();
            match (words.next(), words.next(), words.next()) {
                (Some(first), Some(second), None) => (open, close) = (first.to_owned(), second.to_owned()),
                _ => return Err(TemplateProblem::new(offset, "delimiters are two words: `{{=<% %>=}}`")),
            }
        }
        tokens.push(Token::Tag { sign, name, offset, indent: Indent::default() });
    }
    tokens.push(Token::Text(source[at..].to_owned()));
    match dialect {
        Dialect::JavaScript => strip_lines(&mut tokens),
        Dialect::Chevron => strip_single_tags(&mut tokens),
    }
    Ok(tokens)
}

/// Removes white space and line breaks of lines that have tags and nothing that is printed, as mustache.js does. The
/// first tag of a line, if it is a partial, is indented by what stands before it.
fn strip_lines(tokens: &mut [Token]) {
    let mut kept: Vec<String> = Vec::with_capacity(tokens.len());
    // The line so far: the white space by text, the indentation, and what it has.
    let mut spaces: Vec<(usize, usize)> = Vec::new();
    let mut indentation = String::new();
    let (mut tags, mut prints, mut has_text) = (0_usize, false, false);
    for (index, token) in tokens.iter_mut().enumerate() {
        kept.push(String::new());
        match token {
            Token::Text(text) => {
                for character in text.chars() {
                    if is_space_of_js(character) {
                        spaces.push((index, kept[index].len()));
                        indentation.push(character);
                    } else {
                        has_text = true;
                        indentation.push(' ');
                    }
                    kept[index].push(character);
                    if character == '\n' {
                        end_line(&mut kept, &mut spaces, tags > 0 && !prints && !has_text);
                        indentation.clear();
                        (tags, prints, has_text) = (0, false, false);
                    }
                }
            }
            Token::Tag { sign, indent, .. } => {
                if tags == 0 {
                    indent.text = indentation.chars().filter(|found| matches!(found, ' ' | '\t')).collect();
                    indent.is_before_first = !has_text;
                }
                tags += 1;
                prints |= matches!(sign, Sign::Print | Sign::Raw);
            }
        }
    }
    end_line(&mut kept, &mut spaces, tags > 0 && !prints && !has_text);
    for (token, kept) in tokens.iter_mut().zip(kept) {
        if let Token::Text(text) = token {
            *text = kept;
        }
    }
}

/// Ends a line: its white space is removed from the texts if nothing else is printed.
fn end_line(kept: &mut [String], spaces: &mut Vec<(usize, usize)>, is_removed: bool) {
    for (text, at) in spaces.drain(..).rev() {
        if is_removed {
            kept[text].remove(at);
        }
    }
}

/// Whether `\s` of JavaScript matches the character.
fn is_space_of_js(character: char) -> bool {
    (character.is_whitespace() && character != '\u{85}') || character == '\u{feff}'
}

/// Removes the lines of tags that stand alone, as chevron does: one tag to a line. Texts and tags alternate.
fn strip_single_tags(tokens: &mut [Token]) {
    let mut index = 1;
    let mut previous_ended_line = true;
    while index + 1 < tokens.len() {
        let is_printed = match &tokens[index] {
            Token::Tag { sign, .. } => matches!(sign, Sign::Print | Sign::Raw),
            Token::Text(_) => true,
        };
        let is_partial = matches!(&tokens[index], Token::Tag { sign: Sign::Partial, .. });
        let starts_line = match &tokens[index - 1] {
            Token::Text(text) => match text.rfind('\n') {
                Some(at) => text[at + 1..].trim().is_empty(),
                None => previous_ended_line && text.trim().is_empty(),
            },
            Token::Tag { .. } => false,
        };
        let is_last = index + 2 == tokens.len();
        let ends_line = match &tokens[index + 1] {
            Token::Text(text) => match text.find('\n') {
                Some(at) => text[..at].trim().is_empty(),
                None => is_last && text.trim().is_empty(),
            },
            Token::Tag { .. } => false,
        };
        previous_ended_line = false;
        if !is_printed && starts_line && ends_line {
            let mut cut = String::new();
            if let Token::Text(text) = &mut tokens[index - 1] {
                // Of other white space than spaces, only that of partials is their indentation.
                let spaces: &[char] = if is_partial { &[' ', '\t'] } else { &[' '] };
                cut = text.split_off(text.trim_end_matches(spaces).len());
            }
            if let Token::Tag { indent, .. } = &mut tokens[index] {
                *indent = Indent { text: cut, is_before_first: true };
            }
            // Without a line break, what stands behind the last tag stays.
            if let Token::Text(text) = &mut tokens[index + 1]
                && let Some(at) = text.find('\n')
            {
                *text = text[at + 1..].to_owned();
            }
            previous_ended_line = true;
        }
        index += 2;
    }
}

fn parse_template(source: &str, dialect: Dialect) -> Result<Vec<Node>, TemplateProblem> {
    let mut open: Vec<(String, bool, usize, Vec<Node>)> = Vec::new();
    let mut nodes = Vec::new();
    for token in scan_tokens(source, dialect)? {
        match token {
            Token::Text(text) if text.is_empty() => {}
            Token::Text(text) => nodes.push(Node::Text(text)),
            Token::Tag { sign, name, offset, indent } => match sign {
                Sign::Comment | Sign::Delimiters => {}
                Sign::Print | Sign::Raw => nodes.push(Node::Print { name, escaped: sign == Sign::Print }),
                Sign::Partial => nodes.push(Node::Partial { name, indent, offset }),
                Sign::Open | Sign::OpenInverted => {
                    if open.len() >= DEEPEST {
                        return Err(TemplateProblem::new(offset, "sections are nested too deeply"));
                    }
                    open.push((name, sign == Sign::OpenInverted, offset, std::mem::take(&mut nodes)));
                }
                Sign::Close => match open.pop() {
                    Some((opened, inverted, _, before)) if opened == name => {
                        let body = std::mem::replace(&mut nodes, before);
                        nodes.push(Node::Section { name, body, inverted });
                    }
                    _ => {
                        return Err(TemplateProblem::new(offset, format!("`{name}` closes no open section")));
                    }
                },
            },
        }
    }
    match open.pop() {
        Some((name, _, offset, _)) => {
            Err(TemplateProblem::new(offset, format!("the section `{name}` is not closed")))
        }
        None => Ok(nodes),
    }
}

struct Emitter<'e> {
    dialect: Dialect,
    names: &'e mut Names,
    find: Partials<'e>,
    /// The loop variables of the open sections.
    stack: Vec<String>,
    /// The partials that are being written.
    open: Vec<String>,
    written: Vec<(String, String, String)>,
    losses: Vec<TemplateLoss>,
    outer: BTreeSet<String>,
}

/// Maximum number of partials, with different indentation counted apart.
const MOST_PARTIALS: usize = 200;

impl Emitter<'_> {
    /// The value of a name: looked up in every open section, then among the variables.
    fn value(&mut self, name: &str) -> String {
        if name == "." {
            return self.stack.last().cloned().unwrap_or_else(|| "variables".to_owned());
        }
        let keys: Vec<String> = name.split('.').map(str::to_owned).collect();
        let (first, rest) = (self.names.variable(&keys[0]), &keys[1..]);
        if self.stack.is_empty() {
            self.outer.insert(first.clone());
        }
        let mut expression = super::access_path(&first, rest);
        for item in &self.stack {
            expression = format!("{item}|up({}, {expression})", quote_string(name));
        }
        expression
    }

    fn nodes(&mut self, nodes: &[Node], text: &mut JinjaText) -> Result<(), TemplateProblem> {
        for node in nodes {
            match node {
                Node::Text(literal) => text.push_text(literal),
                Node::Print { name, escaped } => {
                    let value = self.value(name);
                    let shown = match (self.dialect, *escaped) {
                        (Dialect::JavaScript, true) => format!("{value}|js|html(\"mustache\")"),
                        (Dialect::JavaScript, false) => format!("{value}|js"),
                        (Dialect::Chevron, escaped) => {
                            let text = format!("{value} or ({value} if {value} is number else \"\")");
                            if escaped { format!("({text})|html(\"chevron\")") } else { text }
                        }
                    };
                    text.push_print(&shown);
                }
                Node::Section { name, body, inverted } => self.section(name, body, *inverted, text)?,
                Node::Partial { name, indent, offset } => self.partial(name, indent, *offset, text)?,
            }
            if text.len() > LARGEST_OUTPUT {
                return Err(TemplateProblem::new(0, "the translated template is larger than 1 MiB"));
            }
        }
        Ok(())
    }

    fn section(
        &mut self,
        name: &str,
        body: &[Node],
        inverted: bool,
        text: &mut JinjaText,
    ) -> Result<(), TemplateProblem> {
        let value = self.value(name);
        if inverted {
            let condition = match self.dialect {
                Dialect::JavaScript => format!("not ({value} or {value} is mapping)"),
                Dialect::Chevron => format!("not {value}"),
            };
            text.push_tag(&format!("if {condition}"));
            self.nodes(body, text)?;
            text.push_tag("endif");
            return Ok(());
        }
        let here = self.stack.last().cloned().unwrap_or_else(|| "variables".to_owned());
        let item = self.names.local("item");
        // chevron prints nothing for an item that is empty.
        let filter = match self.dialect {
            Dialect::JavaScript => String::new(),
            Dialect::Chevron => format!(" if {item}"),
        };
        text.push_tag(&format!("for {item} in {value}|section({here}, \"{}\"){filter}", self.dialect.name()));
        self.stack.push(item.clone());
        let result = self.nodes(body, text);
        self.stack.pop();
        self.names.release_local(&item);
        result?;
        text.push_tag("endfor");
        Ok(())
    }

    fn partial(
        &mut self,
        name: &str,
        indent: &Indent,
        offset: usize,
        text: &mut JinjaText,
    ) -> Result<(), TemplateProblem> {
        let Some(source) = (self.find)(name) else {
            let what = format!("the partial `{name}`, which does not exist");
            self.losses.push(TemplateLoss::new(LossCode::Partial, offset, what, "nothing is printed"));
            return Ok(());
        };
        // Names in a partial are looked up from where it is included. One that includes itself gets all values in one map.
        let is_recursive = self.open.iter().any(|open| open == name);
        let merged = is_recursive.then(|| self.merged_scope());
        let key = match is_recursive {
            true => format!("{name}\n{indent:?}\nhere"),
            false => format!("{name}\n{indent:?}\n{}", self.stack.join(" ")),
        };
        let file = match self.written.iter().find(|(known, ..)| *known == key) {
            Some((_, file, _)) => file.clone(),
            None => self.write_partial(name, &source, (indent, &key), is_recursive, offset)?,
        };
        if let Some(merged) = &merged {
            text.push_tag(&format!("with here = {merged}"));
        }
        text.push_tag(&format!("include {}", quote_string(&format!("partials/{file}"))));
        if merged.is_some() {
            text.push_tag("endwith");
        }
        Ok(())
    }

    /// Writes a partial as a file of its own.
    fn write_partial(
        &mut self,
        name: &str,
        source: &str,
        (indent, key): (&Indent, &str),
        is_recursive: bool,
        offset: usize,
    ) -> Result<String, TemplateProblem> {
        if self.written.len() >= MOST_PARTIALS || self.open.len() >= DEEPEST {
            return Err(TemplateProblem::new(offset, format!("the partial `{name}` is nested too deeply")));
        }
        let prefix = format!("{name}\n");
        let number = self.written.iter().filter(|(known, ..)| known.starts_with(&prefix)).count();
        let suffix = if number == 0 { String::new() } else { format!("_{}", number + 1) };
        let file = format!("{}{suffix}.md", to_segment(name));
        self.written.push((key.to_owned(), file.clone(), String::new()));
        let nodes = parse_template(&indent.write_before(source, self.dialect), self.dialect)
            .map_err(|problem| TemplateProblem::new(offset, format!("in `{name}`: {}", problem.message)))?;
        let stack = match is_recursive {
            true => std::mem::replace(&mut self.stack, vec!["here".to_owned()]),
            false => self.stack.clone(),
        };
        self.open.push(name.to_owned());
        let mut body = JinjaText::default();
        let result = self.nodes(&nodes, &mut body);
        self.open.pop();
        self.stack = stack;
        result?;
        if let Some(entry) = self.written.iter_mut().find(|(known, ..)| known == key) {
            entry.2 = body.finish();
        }
        Ok(file)
    }

    /// The values of all open sections and the variables as one map.
    fn merged_scope(&self) -> String {
        let (mut merged, items) = match self.stack.split_first() {
            Some((first, rest)) if first == "here" => ("here".to_owned(), rest),
            _ => ("variables".to_owned(), self.stack.as_slice()),
        };
        for item in items {
            merged = format!("dict({merged}, **({item} if {item} is mapping else {{}}))");
        }
        merged
    }
}
