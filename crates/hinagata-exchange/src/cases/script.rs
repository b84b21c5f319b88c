//! Expressions of JavaScript and Python in assertions, as far as they can be written as expressions of Jinja.
//!
//! Nothing runs: an expression is parsed, and every part that has no exact counterpart refuses the whole.

use crate::jinja_text::quote_string;

/// The language of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScriptLanguage {
    JavaScript,
    Python,
}

/// Deepest nesting of an expression.
const DEEPEST: usize = 60;

/// Most tokens of an expression.
const MOST_TOKENS: usize = 1_000;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Text(String),
    Number(String),
    Constant(&'static str),
    Name(String),
    List(Vec<Self>),
    /// A regular expression with its flags.
    Regex(String, String),
    Member(Box<Self>, String),
    Index(Box<Self>, Box<Self>),
    Call(Box<Self>, Vec<Self>),
    Not(Box<Self>),
    Negative(Box<Self>),
    Binary(&'static str, Box<Self>, Box<Self>),
    Condition(Box<Self>, Box<Self>, Box<Self>),
    /// `name => body`.
    Function(String, Box<Self>),
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Text(String),
    Number(String),
    Name(String),
    Regex(String, String),
    Sign(&'static str),
}

/// The signs, longest first.
const SIGNS: [&str; 33] = [
    "===", "!==", "=>", "==", "!=", "<=", ">=", "&&", "||", "??", "?.", "//", "**", "(", ")", "[", "]", "{",
    "}", ".", ",", ";", ":", "?", "!", "<", ">", "+", "-", "*", "/", "%", "=",
];

/// Parses an expression, or statements that end with a returned one.
pub(crate) fn parse_script(text: &str, language: ScriptLanguage) -> Option<Expression> {
    let tokens = split_tokens(text, language)?;
    let mut parser = Parser { tokens: &tokens, at: 0, language, known: Vec::new(), depth: 0 };
    parser.script()
}

fn split_tokens(text: &str, language: ScriptLanguage) -> Option<Vec<Token>> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return Some(tokens) };
        if tokens.len() > MOST_TOKENS {
            return None;
        }
        let is_comment = match language {
            ScriptLanguage::JavaScript => rest.starts_with("//"),
            ScriptLanguage::Python => first == '#',
        };
        if is_comment {
            rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
            continue;
        }
        if rest.starts_with("/*") {
            rest = rest.split_once("*/")?.1;
            continue;
        }
        let is_raw =
            language == ScriptLanguage::Python && (rest.starts_with("r'") || rest.starts_with("r\""));
        if is_raw || matches!(first, '\'' | '"') || first == '`' && language == ScriptLanguage::JavaScript {
            let start = if is_raw { &rest[1..] } else { rest };
            let (content, after) = read_string(start, is_raw)?;
            tokens.push(Token::Text(content));
            rest = after;
        } else if first.is_ascii_digit() {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(rest.len());
            tokens.push(Token::Number(rest[..end].replace('_', "")));
            rest = &rest[end..];
        } else if first.is_alphabetic() || matches!(first, '_' | '$') {
            let end =
                rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '$')).unwrap_or(rest.len());
            tokens.push(Token::Name(rest[..end].to_owned()));
            rest = &rest[end..];
        } else if first == '/' && language == ScriptLanguage::JavaScript && may_start_value(tokens.last()) {
            let (pattern, flags, after) = read_regex(rest)?;
            tokens.push(Token::Regex(pattern, flags));
            rest = after;
        } else {
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign))?;
            tokens.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        }
    }
}

/// Whether a value may follow a token, so that `/` starts a regular expression.
fn may_start_value(before: Option<&Token>) -> bool {
    match before {
        None => true,
        Some(Token::Sign(sign)) => !matches!(*sign, ")" | "]"),
        Some(Token::Name(name)) => name == "return",
        Some(_) => false,
    }
}

fn read_string(text: &str, is_raw: bool) -> Option<(String, &str)> {
    let quote = text.chars().next()?;
    let mut content = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            _ if character == quote => {
                let after = &text[at + quote.len_utf8()..];
                // Three quotes are another kind of string.
                return (!after.starts_with(quote) || !content.is_empty()).then_some((content, after));
            }
            '$' if quote == '`' && text[at..].starts_with("${") => return None,
            '\n' if quote != '`' => return None,
            '\\' if is_raw => {
                content.push('\\');
                content.push(characters.next()?.1);
            }
            '\\' => match characters.next()?.1 {
                'n' => content.push('\n'),
                't' => content.push('\t'),
                'r' => content.push('\r'),
                escaped @ ('\\' | '\'' | '"' | '`' | '/') => content.push(escaped),
                _ => return None,
            },
            other => content.push(other),
        }
    }
    None
}

fn read_regex(text: &str) -> Option<(String, String, &str)> {
    let (mut in_class, mut escaped) = (false, false);
    for (at, character) in text.char_indices().skip(1) {
        match character {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            '/' if !in_class => {
                let after = &text[at + 1..];
                let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
                return Some((text[1..at].replace("\\/", "/"), after[..end].to_owned(), &after[end..]));
            }
            _ => {}
        }
    }
    None
}

struct Parser<'t> {
    tokens: &'t [Token],
    at: usize,
    language: ScriptLanguage,
    /// The values of constants.
    known: Vec<(String, Expression)>,
    depth: usize,
}

/// The operators of one level, and what they are called.
type Level = &'static [(&'static str, &'static str)];

const JAVASCRIPT: [Level; 6] = [
    &[("||", "or"), ("??", "or")],
    &[("&&", "and")],
    &[("===", "=="), ("!==", "!="), ("==", "=="), ("!=", "!=")],
    &[("<=", "<="), (">=", ">="), ("<", "<"), (">", ">")],
    &[("+", "+"), ("-", "-")],
    &[("*", "*"), ("/", "/"), ("%", "%")],
];

const PYTHON: [Level; 5] = [
    &[("or", "or")],
    &[("and", "and")],
    &[("==", "=="), ("!=", "!="), ("<=", "<="), (">=", ">="), ("<", "<"), (">", ">"), ("in", "in")],
    &[("+", "+"), ("-", "-")],
    &[("*", "*"), ("//", "//"), ("/", "/"), ("%", "%")],
];

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn is_next(&self, text: &str) -> bool {
        match self.peek() {
            Some(Token::Sign(sign)) => *sign == text,
            Some(Token::Name(name)) => name == text,
            _ => false,
        }
    }

    fn take_next(&mut self, text: &str) -> bool {
        let is_next = self.is_next(text);
        self.at += usize::from(is_next);
        is_next
    }

    fn name(&mut self) -> Option<String> {
        let Some(Token::Name(name)) = self.peek() else { return None };
        let name = name.clone();
        self.at += 1;
        Some(name)
    }

    fn script(&mut self) -> Option<Expression> {
        while self.is_next("const") || self.is_next("let") || self.is_next("var") {
            self.at += 1;
            let name = self.name()?;
            if !self.take_next("=") {
                return None;
            }
            let value = self.expression()?;
            self.known.push((name, value));
            self.take_next(";");
        }
        if !self.take_next("return") && !self.known.is_empty() {
            return None;
        }
        let value = self.expression()?;
        self.take_next(";");
        (self.at == self.tokens.len()).then_some(value)
    }

    fn expression(&mut self) -> Option<Expression> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let value = self.binary(0)?;
        let value = if self.language == ScriptLanguage::JavaScript && self.take_next("?") {
            let then = self.expression()?;
            if !self.take_next(":") {
                return None;
            }
            Expression::Condition(Box::new(value), Box::new(then), Box::new(self.expression()?))
        } else if self.language == ScriptLanguage::Python && self.take_next("if") {
            let test = self.binary(0)?;
            if !self.take_next("else") {
                return None;
            }
            Expression::Condition(Box::new(test), Box::new(value), Box::new(self.expression()?))
        } else {
            value
        };
        self.depth -= 1;
        Some(value)
    }

    fn binary(&mut self, level: usize) -> Option<Expression> {
        let levels: &[Level] = match self.language {
            ScriptLanguage::JavaScript => &JAVASCRIPT,
            ScriptLanguage::Python => &PYTHON,
        };
        let Some(operators) = levels.get(level) else { return self.unary() };
        if self.language == ScriptLanguage::Python && level == 2 && self.take_next("not") {
            return Some(Expression::Not(Box::new(self.binary(level)?)));
        }
        let mut left = self.binary(level + 1)?;
        loop {
            let is_not_in = self.language == ScriptLanguage::Python
                && level == 2
                && self.is_next("not")
                && matches!(self.tokens.get(self.at + 1), Some(Token::Name(name)) if name == "in");
            if is_not_in {
                self.at += 2;
                let right = Box::new(self.binary(level + 1)?);
                left = Expression::Not(Box::new(Expression::Binary("in", Box::new(left), right)));
                continue;
            }
            let Some((sign, operator)) = operators.iter().find(|(sign, _)| self.is_next(sign)) else {
                return Some(left);
            };
            self.take_next(sign);
            let right = Box::new(self.binary(level + 1)?);
            left = Expression::Binary(operator, Box::new(left), right);
        }
    }

    fn unary(&mut self) -> Option<Expression> {
        if self.language == ScriptLanguage::JavaScript && self.take_next("!") {
            return Some(Expression::Not(Box::new(self.unary()?)));
        }
        if self.take_next("-") {
            return Some(Expression::Negative(Box::new(self.unary()?)));
        }
        let mut value = self.primary()?;
        loop {
            if self.take_next(".") || self.take_next("?.") {
                value = Expression::Member(Box::new(value), self.name()?);
            } else if self.take_next("[") {
                let index = self.expression()?;
                if !self.take_next("]") {
                    return None;
                }
                value = Expression::Index(Box::new(value), Box::new(index));
            } else if self.take_next("(") {
                value = Expression::Call(Box::new(value), self.list(")")?);
            } else {
                return Some(value);
            }
        }
    }

    fn list(&mut self, end: &str) -> Option<Vec<Expression>> {
        let mut items = Vec::new();
        while !self.take_next(end) {
            items.push(self.expression()?);
            if !self.take_next(",") && !self.is_next(end) {
                return None;
            }
        }
        Some(items)
    }

    fn primary(&mut self) -> Option<Expression> {
        let token = self.peek()?.clone();
        self.at += 1;
        Some(match token {
            Token::Text(text) => Expression::Text(text),
            Token::Number(text) => Expression::Number(text),
            Token::Regex(pattern, flags) => Expression::Regex(pattern, flags),
            Token::Name(name) => match name.as_str() {
                "true" | "True" => Expression::Constant("true"),
                "false" | "False" => Expression::Constant("false"),
                "null" | "undefined" | "None" => Expression::Constant("none"),
                _ if self.take_next("=>") => Expression::Function(name, Box::new(self.expression()?)),
                _ => match self.known.iter().rev().find(|(known, _)| *known == name) {
                    Some((_, value)) => value.clone(),
                    None => Expression::Name(name),
                },
            },
            Token::Sign("(") => {
                if let (Some(Token::Name(name)), Some(Token::Sign(")")), Some(Token::Sign("=>"))) =
                    (self.peek(), self.tokens.get(self.at + 1), self.tokens.get(self.at + 2))
                {
                    let name = name.clone();
                    self.at += 3;
                    return Some(Expression::Function(name, Box::new(self.expression()?)));
                }
                let value = self.expression()?;
                if !self.take_next(")") {
                    return None;
                }
                value
            }
            Token::Sign("[") => Expression::List(self.list("]")?),
            Token::Sign(_) => return None,
        })
    }
}

impl Expression {
    /// Whether it is the output as a text.
    pub(crate) fn is_output(&self) -> bool {
        match self {
            Self::Name(name) => name == "output",
            Self::Call(function, arguments) => match (&**function, arguments.as_slice()) {
                (Self::Name(name), [one]) => matches!(name.as_str(), "String" | "str") && one.is_output(),
                (Self::Member(of, name), []) => name == "toString" && of.is_output(),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether it is the output in lower case.
    pub(crate) fn is_lower_output(&self) -> bool {
        match self {
            Self::Call(function, arguments) if arguments.is_empty() => match &**function {
                Self::Member(of, name) => matches!(name.as_str(), "toLowerCase" | "lower") && of.is_output(),
                _ => false,
            },
            _ => false,
        }
    }

    /// The call of a method: what it is called on, its name, and the arguments.
    pub(crate) fn method_call(&self) -> Option<(&Self, &str, &[Self])> {
        let Self::Call(function, arguments) = self else { return None };
        let Self::Member(of, name) = &**function else { return None };
        Some((of, name, arguments))
    }

    /// The expression in Jinja, over `output`, `json` and `vars`.
    pub(crate) fn to_jinja(&self) -> Option<String> {
        Some(match self {
            Self::Text(text) => quote_string(text),
            Self::Number(number) => number.clone(),
            Self::Constant(name) => (*name).to_owned(),
            Self::Name(name) => match name.as_str() {
                "output" => "output".to_owned(),
                _ => return None,
            },
            Self::List(items) => {
                let items: Option<Vec<String>> = items.iter().map(Self::to_jinja).collect();
                format!("[{}]", items?.join(", "))
            }
            Self::Regex(..) | Self::Function(..) => return None,
            Self::Member(of, name) => match (of.to_jinja_base()?, name.as_str()) {
                (_, "length") => format!("({}|length)", of.to_jinja()?),
                (Base::Output, "vars") => return None,
                (Base::Output, name) => format!("json.{name}"),
                (Base::Other(base), name) => format!("{base}.{name}"),
            },
            Self::Index(of, index) => match of.to_jinja_base()? {
                Base::Output => format!("json[{}]", index.to_jinja()?),
                Base::Other(base) => format!("{base}[{}]", index.to_jinja()?),
            },
            Self::Not(inner) => format!("(not {})", inner.to_jinja()?),
            Self::Negative(inner) => format!("(-{})", inner.to_jinja()?),
            Self::Binary(operator, left, right) => {
                format!("({} {operator} {})", left.to_jinja()?, right.to_jinja()?)
            }
            Self::Condition(test, then, otherwise) => {
                format!("({} if {} else {})", then.to_jinja()?, test.to_jinja()?, otherwise.to_jinja()?)
            }
            Self::Call(function, arguments) => call_to_jinja(function, arguments)?,
        })
    }

    fn to_jinja_base(&self) -> Option<Base> {
        if self.is_output() {
            return Some(Base::Output);
        }
        if let Self::Member(of, name) = self
            && matches!(&**of, Self::Name(context) if context == "context")
            && name == "vars"
        {
            return Some(Base::Other("vars".to_owned()));
        }
        if let Self::Index(of, key) = self
            && matches!(&**of, Self::Name(context) if context == "context")
            && matches!(&**key, Self::Text(key) if key == "vars")
        {
            return Some(Base::Other("vars".to_owned()));
        }
        self.to_jinja().map(Base::Other)
    }
}

enum Base {
    Output,
    Other(String),
}

fn call_to_jinja(function: &Expression, arguments: &[Expression]) -> Option<String> {
    let plain = |index: usize| arguments.get(index).and_then(Expression::to_jinja);
    match function {
        Expression::Name(name) => Some(match (name.as_str(), arguments.len()) {
            ("len", 1) => format!("({}|length)", plain(0)?),
            ("parseInt" | "int", 1) => format!("({}|int)", plain(0)?),
            ("parseFloat" | "Number" | "float", 1) => format!("({}|float)", plain(0)?),
            ("String" | "str", 1) if arguments[0].is_output() => "output".to_owned(),
            ("String" | "str", 1) => format!("({}|string)", plain(0)?),
            ("Boolean" | "bool", 1) => format!("(true if {} else false)", plain(0)?),
            ("max" | "min", 2..) => {
                let items: Option<Vec<String>> = arguments.iter().map(Expression::to_jinja).collect();
                format!("([{}]|{name})", items?.join(", "))
            }
            ("abs", 1) => format!("({}|abs)", plain(0)?),
            _ => return None,
        }),
        Expression::Member(of, name) => {
            if let Expression::Name(space) = &**of {
                match (space.as_str(), name.as_str(), arguments) {
                    ("JSON", "parse", [one]) | ("json", "loads", [one]) if one.is_output() => {
                        return Some("json".to_owned());
                    }
                    ("Math", "max" | "min", _) => {
                        let items: Option<Vec<String>> = arguments.iter().map(Expression::to_jinja).collect();
                        return Some(format!("([{}]|{name})", items?.join(", ")));
                    }
                    ("Math", "abs", [_]) => return Some(format!("({}|abs)", plain(0)?)),
                    ("Array", "isArray", [one]) => {
                        let value = if one.is_output() { "json".to_owned() } else { one.to_jinja()? };
                        return Some(format!("({value} is sequence and {value} is not string)"));
                    }
                    ("JSON" | "json" | "Math" | "Array" | "Object", ..) => return None,
                    _ => {}
                }
            }
            let base = of.to_jinja()?;
            Some(match (name.as_str(), arguments.len()) {
                ("includes", 1) => format!("({} in {base})", plain(0)?),
                ("toLowerCase" | "lower", 0) => format!("({base}|lower)"),
                ("toUpperCase" | "upper", 0) => format!("({base}|upper)"),
                ("trim" | "strip", 0) => format!("({base}|trim)"),
                ("startsWith" | "startswith", 1) => format!("{base}.startswith({})", plain(0)?),
                ("endsWith" | "endswith", 1) => format!("{base}.endswith({})", plain(0)?),
                ("toString", 0) => format!("({base}|string)"),
                ("split", 1) => format!("{base}.split({})", plain(0)?),
                ("split", 0) => format!("{base}.split()"),
                ("count", 1) => format!("{base}.count({})", plain(0)?),
                ("get", 1) => {
                    let base = if of.is_output() { "json".to_owned() } else { base };
                    format!("{base}[{}]", plain(0)?)
                }
                _ => return None,
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn javascript(text: &str) -> Option<String> {
        parse_script(text, ScriptLanguage::JavaScript)?.to_jinja()
    }

    fn python(text: &str) -> Option<String> {
        parse_script(text, ScriptLanguage::Python)?.to_jinja()
    }

    #[test]
    fn expressions_of_javascript_become_jinja() {
        for (script, jinja) in [
            ("output.length <= 100", "((output|length) <= 100)"),
            ("output.kind === 'bill' && !output.done", "((json.kind == \"bill\") and (not json.done))"),
            ("JSON.parse(output)[0].name !== \"x\"", "(json[0].name != \"x\")"),
            ("output.toLowerCase().includes('a') ? 1 : 0", "(1 if (\"a\" in (output|lower)) else 0)"),
            ("Math.max(0, 1 - output.length / 50);", "([0, (1 - ((output|length) / 50))]|max)"),
            ("const n = output.length; return n > 3;", "((output|length) > 3)"),
            ("output.includes(context.vars.name)", "(vars.name in output)"),
            ("output.split(' ').length >= 2", "((output.split(\" \")|length) >= 2)"),
        ] {
            assert_eq!(javascript(script).as_deref(), Some(jinja), "{script}");
        }
    }

    #[test]
    fn expressions_of_python_become_jinja() {
        for (script, jinja) in [
            ("len(output) < 10 and 'x' in output", "(((output|length) < 10) and (\"x\" in output))"),
            ("max(0, len(output) - 300)", "([0, ((output|length) - 300)]|max)"),
            ("'a' not in output.lower()", "(not (\"a\" in (output|lower)))"),
            ("json.loads(output)['a'] == 1", "(json[\"a\"] == 1)"),
            ("1 if output.startswith('A') else 0", "(1 if output.startswith(\"A\") else 0)"),
        ] {
            assert_eq!(python(script).as_deref(), Some(jinja), "{script}");
        }
    }

    #[test]
    fn programs_are_refused() {
        for script in [
            "for (const a of output) {}",
            "fetch('x')",
            "output.some(a => a.b)",
            "`${output}`",
            "process.exit()",
            "require('fs')",
            "new Date()",
            "x = 1",
            "output.replace('a', 'b')",
            "",
            "'''a'''",
        ] {
            assert_eq!(javascript(script), None, "{script}");
        }
        assert_eq!(python("__import__('os').system('x')"), None);
        assert_eq!(python("[a for a in output]"), None);
        assert_eq!(javascript(&"(".repeat(10_000)), None);
    }
}
