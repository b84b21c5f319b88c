//! What stands in a tag: a path or a helper with its arguments.

use super::super::{DEEPEST, TemplateProblem};

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Argument {
    Path(Path),
    Text(String),
    Number(String),
    Word(&'static str),
    Call(Box<Call>),
}

/// A path to a value: `../a.[b c].d`, `this`, `@index`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Path {
    /// Whether it starts with `@`.
    pub(super) is_data: bool,
    /// How often it goes up.
    pub(super) up: usize,
    /// Whether it starts at the current value by `this` or `.`.
    pub(super) is_this: bool,
    /// The keys.
    pub(super) keys: Vec<String>,
    pub(super) offset: usize,
}

impl Path {
    /// The name, if the path is one.
    pub(super) fn as_name(&self) -> Option<&str> {
        match self.keys.as_slice() {
            [name] if !self.is_data && !self.is_this && self.up == 0 => Some(name),
            _ => None,
        }
    }
}

/// A helper, or a path, with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) target: Argument,
    pub(super) arguments: Vec<Argument>,
    pub(super) named: Vec<(String, Argument)>,
    pub(super) block_parameters: Vec<String>,
}

impl Call {
    /// The name that is called, if it is one name.
    pub(super) fn name(&self) -> Option<&str> {
        match &self.target {
            Argument::Path(path) => path.as_name(),
            _ => None,
        }
    }

    /// Whether there are no arguments.
    pub(super) fn is_plain(&self) -> bool {
        self.arguments.is_empty() && self.named.is_empty()
    }

    /// The named argument called `name`.
    pub(super) fn named_argument(&self, name: &str) -> Option<&Argument> {
        self.named.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }
}

/// Parses the content of a tag.
pub(super) fn parse_call(text: &str, offset: usize) -> Result<Call, TemplateProblem> {
    let mut parser = Parser { text, at: 0, offset, depth: 0 };
    let call = parser.call()?;
    parser.skip_space();
    match parser.at == text.len() {
        true => Ok(call),
        false => Err(parser.problem("unexpected text in the tag")),
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    offset: usize,
    depth: usize,
}

impl Parser<'_> {
    fn problem(&self, message: &str) -> TemplateProblem {
        TemplateProblem::new(self.offset + self.at, message)
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn call(&mut self) -> Result<Call, TemplateProblem> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.problem("expressions are nested too deeply"));
        }
        let mut call = Call {
            target: self.argument()?,
            arguments: Vec::new(),
            named: Vec::new(),
            block_parameters: Vec::new(),
        };
        loop {
            self.skip_space();
            let rest = self.rest();
            if rest.is_empty() || rest.starts_with(')') {
                break;
            }
            if let Some(names) =
                rest.strip_prefix("as").map(str::trim_start).and_then(|rest| rest.strip_prefix('|'))
            {
                let Some(end) = names.find('|') else {
                    return Err(self.problem("the names after `as |` are not closed"));
                };
                call.block_parameters = names[..end].split_whitespace().map(str::to_owned).collect();
                self.at = self.text.len() - names.len() + end + 1;
                continue;
            }
            match self.name_before_equals() {
                Some(name) => {
                    let value = self.argument()?;
                    call.named.push((name, value));
                }
                None => {
                    let value = self.argument()?;
                    call.arguments.push(value);
                }
            }
        }
        self.depth -= 1;
        Ok(call)
    }

    /// Reads `name=`, if it follows.
    fn name_before_equals(&mut self) -> Option<String> {
        let rest = self.rest();
        let end = rest.find(|character| !is_id(character)).filter(|&end| end > 0)?;
        if !rest[end..].starts_with('=') {
            return None;
        }
        let name = rest[..end].to_owned();
        self.at += end + 1;
        Some(name)
    }

    fn argument(&mut self) -> Result<Argument, TemplateProblem> {
        self.skip_space();
        let rest = self.rest();
        match rest.chars().next() {
            None => Err(self.problem("the tag is empty")),
            Some('(') => {
                self.at += 1;
                let call = self.call()?;
                self.skip_space();
                if !self.rest().starts_with(')') {
                    return Err(self.problem("`)` is missing"));
                }
                self.at += 1;
                Ok(Argument::Call(Box::new(call)))
            }
            Some(quote @ ('"' | '\'')) => {
                let mut text = String::new();
                let mut characters = rest.char_indices().skip(1);
                while let Some((at, character)) = characters.next() {
                    if character == quote {
                        self.at += at + 1;
                        return Ok(Argument::Text(text));
                    }
                    let escaped = character == '\\' && rest[at + 1..].starts_with(quote);
                    text.push(if escaped { quote } else { character });
                    if escaped {
                        characters.next();
                    }
                }
                Err(self.problem("the string is not closed"))
            }
            Some(first) if first.is_ascii_digit() || first == '-' => {
                let end =
                    rest.find(|character: char| !(character.is_ascii_digit() || "-.".contains(character)));
                let number = &rest[..end.unwrap_or(rest.len())];
                if number.parse::<f64>().is_ok() && !number.ends_with('.') {
                    let number = number.to_owned();
                    self.at += number.len();
                    return Ok(Argument::Number(number));
                }
                self.path()
            }
            Some(_) => self.path(),
        }
    }

    fn path(&mut self) -> Result<Argument, TemplateProblem> {
        let mut path = Path { offset: self.offset + self.at, ..Path::default() };
        if self.rest().starts_with('@') {
            path.is_data = true;
            self.at += 1;
        }
        let mut is_first = true;
        loop {
            let rest = self.rest();
            if rest.starts_with("..") {
                path.up += 1;
                self.at += 2;
            } else if rest.starts_with('.') && is_first {
                path.is_this = true;
                self.at += 1;
                is_first = false;
                if self.rest().starts_with('/') {
                    self.at += 1;
                    continue;
                }
                break;
            } else if let Some(inner) = rest.strip_prefix('[') {
                let Some(end) = inner.find(']') else { return Err(self.problem("`[` is not closed")) };
                path.keys.push(inner[..end].to_owned());
                self.at += end + 2;
            } else {
                let end = rest.find(|character| !is_id(character)).unwrap_or(rest.len());
                if end == 0 {
                    return Err(self.problem("a name is missing"));
                }
                let word = rest[..end].to_owned();
                self.at += end;
                match word.as_str() {
                    "this" if path.keys.is_empty() => path.is_this = true,
                    _ => path.keys.push(word),
                }
            }
            is_first = false;
            if !self.rest().starts_with(['.', '/']) {
                break;
            }
            self.at += 1;
        }
        if let Some(word) = path.as_name().and_then(|name| WORDS.iter().find(|(word, _)| *word == name)) {
            return Ok(Argument::Word(word.1));
        }
        Ok(Argument::Path(path))
    }
}

/// Words that are values, with their spelling in Jinja.
const WORDS: [(&str, &str); 4] =
    [("true", "true"), ("false", "false"), ("null", "none"), ("undefined", "none")];

fn is_id(character: char) -> bool {
    !character.is_whitespace() && !"!\"#%&'()*+,./;<=>@[\\]^`{|}~".contains(character)
}
