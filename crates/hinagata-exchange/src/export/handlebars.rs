//! Writes pieces of a template as Handlebars, as dotprompt reads it.

use hinagata_jinja::ast::{CompareOp, Const, Expr, ExprKind, PostfixOp, UnaryOp};

use super::pieces::{Piece, PieceKind, ValuePath, constant_text, split_filter, value_path, without_filter};
use super::{Exporter, Part};
use crate::names::is_identifier;
use crate::report::LossCode;

/// Helpers and words that a plain name would call.
const HELPERS: [&str; 16] = [
    "if",
    "unless",
    "each",
    "with",
    "lookup",
    "log",
    "this",
    "else",
    "role",
    "history",
    "section",
    "media",
    "json",
    "ifEquals",
    "unlessEquals",
    "as",
];

/// Writes the body of a prompt.
pub(super) fn write_template(exporter: &mut Exporter<'_>, pieces: &[Piece]) -> String {
    let mut parts = Vec::new();
    let mut writer =
        Writer { exporter, locals: Vec::new(), contexts: Vec::new(), aliases: Vec::new(), parts: &mut parts };
    writer.write_pieces(pieces);
    join_parts(exporter, &parts)
}

/// Puts texts and tags together so that no tag takes its line with it, and no text becomes a tag.
fn join_parts(exporter: &mut Exporter<'_>, parts: &[Part]) -> String {
    let mut written = String::new();
    for (index, part) in parts.iter().enumerate() {
        match part {
            Part::Text(text) => {
                let escaped = text.replace("{{", "\\{{");
                // A brace behind a tag would be the third one of it.
                if index > 0 && text.starts_with('}') {
                    written.push_str("{{! }}");
                }
                written.push_str(&escaped);
                if let Some(Part::Tag { at, .. }) = parts.get(index + 1).filter(|_| text.ends_with('{')) {
                    let what = "a brace before a tag, which would be the third one of it".to_owned();
                    exporter.lose(LossCode::Expression, *at, what, "");
                }
                // A backslash before a tag would escape it.
                if matches!(parts.get(index + 1), Some(Part::Tag { .. })) && text.ends_with('\\') {
                    written.push('\\');
                }
            }
            Part::Tag { text, is_block, at } => {
                let line = written.rsplit('\n').next().unwrap_or_default();
                let (starts_line, is_indented) = (line.trim().is_empty(), !line.is_empty());
                written.push_str(text);
                if !is_block || !starts_line {
                    continue;
                }
                let rest = match parts.get(index + 1) {
                    Some(Part::Text(text)) => text.split('\n').next().unwrap_or_default(),
                    Some(Part::Tag { .. }) => continue,
                    None => "",
                };
                let is_last = index + 1 == parts.len();
                let has_break = matches!(parts.get(index + 1), Some(Part::Text(text)) if text.contains('\n'));
                let stands_alone = rest.trim().is_empty() && (has_break || is_last);
                if stands_alone && is_indented {
                    exporter.lose_newlines(*at);
                } else if stands_alone && !is_last {
                    // The line break that the tag takes with it.
                    written.push('\n');
                }
            }
        }
    }
    written
}

/// A name that a loop binds.
struct Local {
    name: String,
    /// Whether the item has no name in Handlebars, and is only the current value.
    is_section: bool,
}

/// Another name for a value.
struct Alias {
    name: String,
    path: ValuePath,
    /// How many names loops had bound.
    depth: usize,
}

struct Writer<'w, 'e> {
    exporter: &'w mut Exporter<'e>,
    /// Names that loops bind.
    locals: Vec<Local>,
    /// The names of the current values: each loop and each section makes its item the current one.
    contexts: Vec<String>,
    aliases: Vec<Alias>,
    parts: &'w mut Vec<Part>,
}

impl Writer<'_, '_> {
    fn text(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(Part::Text(last)) => last.push_str(text),
            _ => self.parts.push(Part::Text(text.to_owned())),
        }
    }

    fn tag(&mut self, text: String, is_block: bool, piece: &Piece) {
        self.parts.push(Part::Tag { text, is_block, at: piece.at });
    }

    fn write_pieces(&mut self, pieces: &[Piece]) {
        let mut skips_role = false;
        for (index, piece) in pieces.iter().enumerate() {
            match &piece.kind {
                PieceKind::Text(text) => self.text(text),
                PieceKind::Role(role) => {
                    // After earlier messages the assistant speaks anyway.
                    if !(std::mem::take(&mut skips_role) && role == "assistant") {
                        let role = if role == "assistant" { "model" } else { role };
                        self.tag(format!("{{{{role \"{role}\"}}}}"), false, piece);
                    }
                }
                // The last message of the user follows earlier messages anyway.
                PieceKind::History(name) if name == "history" && precedes_last_user(&pieces[index + 1..]) => {
                }
                PieceKind::History(name) if name == "history" => {
                    self.tag("{{history}}".to_owned(), false, piece);
                    skips_role = true;
                }
                PieceKind::Media(url, kind) => match self.media(url, kind.as_ref()) {
                    Some(tag) => self.tag(tag, false, piece),
                    None => self.lose(piece),
                },
                PieceKind::With { name, value, body } => self.with(piece, (name, value), body),
                PieceKind::Print(expression) => match self.printed(expression) {
                    Some(shown) => self.tag(format!("{{{{{shown}}}}}"), false, piece),
                    None => self.lose(piece),
                },
                PieceKind::If { arms, otherwise } => self.choice(piece, arms, otherwise),
                PieceKind::For { names, over, body, otherwise } => {
                    self.each(piece, (names, over), body, otherwise);
                }
                PieceKind::History(_) | PieceKind::Other(_) => self.lose(piece),
            }
        }
    }

    fn lose(&mut self, piece: &Piece) {
        let left = self.exporter.lose_expression(piece);
        self.text(&left);
    }

    fn media(&mut self, url: &Expr, kind: Option<&Expr>) -> Option<String> {
        let url = self.value(url)?;
        Some(match kind {
            Some(kind) => format!("{{{{media url={url} contentType={}}}}}", self.value(kind)?),
            None => format!("{{{{media url={url}}}}}"),
        })
    }

    /// Pieces that see a value under another name; they are written with the value itself.
    fn with(&mut self, piece: &Piece, (name, value): (&str, &Expr), body: &[Piece]) {
        let Some(path) = value_path(value).and_then(|path| self.resolve(path)) else {
            return self.lose(piece);
        };
        self.aliases.push(Alias { name: name.to_owned(), path, depth: self.locals.len() });
        self.write_pieces(body);
        self.aliases.pop();
    }

    /// The path with the value that its first name stands for; `None` if a loop hides that value.
    fn resolve(&self, path: ValuePath) -> Option<ValuePath> {
        let Some(alias) = self.aliases.iter().rev().find(|alias| alias.name == path.root) else {
            return Some(path);
        };
        let is_bound = |name: &str| self.locals[alias.depth..].iter().any(|local| local.name == name);
        if is_bound(&path.root) {
            return Some(path);
        }
        let keys = [alias.path.keys.as_slice(), &path.keys].concat();
        (!is_bound(&alias.path.root)).then(|| ValuePath { root: alias.path.root.clone(), keys })
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.iter().rev().find(|local| local.name == name)
    }

    fn printed(&mut self, expression: &Expr) -> Option<String> {
        if let Some(inner) = without_filter(expression, "js") {
            let written = self.value(&inner)?;
            let call = written.strip_prefix('(').and_then(|call| call.strip_suffix(')'));
            return Some(call.map_or_else(|| written.clone(), str::to_owned));
        }
        if let Some((inner, arguments)) = split_filter(expression, "json")
            && let [indent] = arguments.positional.as_slice()
            && let ExprKind::Const(Const::Int(indent)) = &indent.kind
        {
            return Some(format!("json {} indent={indent}", self.value(&inner)?));
        }
        if let Some(inner) = without_filter(expression, "json") {
            return Some(format!("json {}", self.value(&inner)?));
        }
        let path = value_path(expression)?;
        // Only texts and whole numbers print alike in both languages.
        let is_text = path.keys.is_empty()
            && matches!(self.exporter.kind_of(&path.root), Some("string" | "integer"))
            && self.local(&path.root).is_none();
        let is_alike = is_text || (path.root == "loop" && path.keys == ["index0"]);
        if !is_alike {
            self.exporter.lose_print(expression);
        }
        self.value(expression)
    }

    /// A path or a literal as an argument.
    fn value(&mut self, expression: &Expr) -> Option<String> {
        match &expression.kind {
            ExprKind::Const(Const::Str(text)) if !text.contains('"') => return Some(format!("\"{text}\"")),
            ExprKind::Const(Const::Bool(flag)) => return Some(flag.to_string()),
            ExprKind::Const(Const::Int(number)) => return Some(number.to_string()),
            _ => {}
        }
        let Some(path) = value_path(expression) else { return self.lookup(expression) };
        if path.root == "loop" {
            return match path.keys.as_slice() {
                [key] if key == "index0" => Some("@index".to_owned()),
                [key] if key == "first" || key == "last" => Some(format!("@{key}")),
                _ => None,
            };
        }
        self.path(path)
    }

    /// `x|at(key)` as a call of `lookup`.
    fn lookup(&mut self, expression: &Expr) -> Option<String> {
        let (value, arguments) = split_filter(expression, "at")?;
        let [key] = arguments.positional.as_slice() else { return None };
        Some(format!("(lookup {} {})", self.value(&value)?, self.value(key)?))
    }

    fn path(&self, path: ValuePath) -> Option<String> {
        let path = self.resolve(path)?;
        let local = self.local(&path.root);
        let is_all = local.is_none() && is_all_variables(self.exporter, &path.root);
        let is_section = local.is_some_and(|local| local.is_section);
        if is_section && self.contexts.last() != Some(&path.root) {
            return None;
        }
        if is_all || is_section {
            let start = if is_section || self.locals.is_empty() { "this" } else { "@root" };
            let keys = path.keys.iter().map(|key| segment(key));
            return Some(std::iter::once(start.to_owned()).chain(keys).collect::<Vec<_>>().join("."));
        }
        let is_local = local.is_some();
        let root = if is_local { path.root.clone() } else { self.exporter.original_name(&path.root) };
        let start = match (is_local, self.locals.is_empty()) {
            (true, _) => String::new(),
            (false, false) => "@root.".to_owned(),
            (false, true) if HELPERS.contains(&root.as_str()) => "this.".to_owned(),
            (false, true) => String::new(),
        };
        let keys: Vec<String> = std::iter::once(&root).chain(&path.keys).map(|key| segment(key)).collect();
        Some(format!("{start}{}", keys.join(".")))
    }

    fn choice(&mut self, piece: &Piece, arms: &[(Expr, Vec<Piece>)], otherwise: &[Piece]) {
        if let [(test, body)] = arms
            && let ExprKind::Unary(UnaryOp::Not, inner) = &test.kind
            && let Some(value) = self.section(inner)
        {
            self.tag(format!("{{{{^{value}}}}}"), true, piece);
            self.write_pieces(body);
            return self.end(piece, &value, otherwise);
        }
        let mut conditions = Vec::new();
        for (test, _) in arms {
            match self.condition(test) {
                Some(condition) => conditions.push(condition),
                None => return self.lose(piece),
            }
        }
        let (Some((word, _)), false) = (conditions.first().cloned(), arms.is_empty()) else { return };
        for (index, ((_, body), (word, condition))) in arms.iter().zip(&conditions).enumerate() {
            let start = if index == 0 { "#" } else { "else " };
            self.tag(format!("{{{{{start}{word} {condition}}}}}"), true, piece);
            self.write_pieces(body);
        }
        self.end(piece, word, otherwise);
    }

    /// The other branch of a block, and its end.
    fn end(&mut self, piece: &Piece, word: &str, otherwise: &[Piece]) {
        if !otherwise.is_empty() {
            self.tag("{{else}}".to_owned(), true, piece);
            self.write_pieces(otherwise);
        }
        self.tag(format!("{{{{/{word}}}}}"), true, piece);
    }

    /// `x|section(this, "handlebars")`, which is a block of the plain name `x` if `this` is the current value.
    fn section(&mut self, expression: &Expr) -> Option<String> {
        let (value, arguments) = split_filter(expression, "section")?;
        let [here, language] = arguments.positional.as_slice() else { return None };
        let here = self.resolve(value_path(here)?).filter(|path| path.keys.is_empty())?;
        let is_current = match self.contexts.last() {
            Some(context) => *context == here.root,
            None => is_all_variables(self.exporter, &here.root),
        };
        let is_own = constant_text(language)? == "handlebars";
        let path = value_path(&value).filter(|path| is_current && is_own && path.root != "loop")?;
        self.path(path)
    }

    /// The helper and the arguments of a condition.
    fn condition(&mut self, test: &Expr) -> Option<(&'static str, String)> {
        if let ExprKind::Unary(UnaryOp::Not, inner) = &test.kind {
            let (word, condition) = self.condition(inner)?;
            return Some((opposite(word)?, condition));
        }
        if let ExprKind::Or(parts) = &test.kind {
            // `x or x is mapping`: an empty map is true.
            // With a third part, zero is true as well.
            let (value, second, third) = match parts.as_slice() {
                [value, second] => (value, second, None),
                [value, second, third] => (value, second, Some(third)),
                _ => return None,
            };
            let path = value_path(value)?;
            if mapping_test(second)? != path {
                return None;
            }
            let Some(third) = third else { return Some(("if", self.value(value)?)) };
            let (compared, zero, is_negated) = js_same(third)?;
            let is_zero = matches!(zero.kind, ExprKind::Const(Const::Int(0))) && !is_negated;
            let is_same = is_zero && value_path(&compared)? == path;
            return Some(("if", format!("{} includeZero=true", self.value(value)?))).filter(|_| is_same);
        }
        if let ExprKind::Compare(compare) = &test.kind {
            let [step] = compare.rest.as_slice() else { return None };
            let word = match step.op {
                CompareOp::Eq => "ifEquals",
                CompareOp::Ne => "unlessEquals",
                _ => return None,
            };
            self.exporter.lose_truth(test);
            return Some((word, format!("{} {}", self.value(&compare.first)?, self.value(&step.right)?)));
        }
        if let Some((value, other, is_negated)) = js_same(test) {
            let word = if is_negated { "unlessEquals" } else { "ifEquals" };
            return Some((word, format!("{} {}", self.value(&value)?, self.value(&other)?)));
        }
        let path = value_path(test)?;
        let kind = self.exporter.kind_of(&path.root).filter(|_| path.keys.is_empty());
        let is_exact = kind.is_some_and(|kind| kind != "dict") || path.root == "loop";
        if !is_exact || self.local(&path.root).is_some() {
            self.exporter.lose_truth(test);
        }
        Some(("if", self.value(test)?))
    }

    fn each(
        &mut self,
        piece: &Piece,
        (names, over): (&[String], &Expr),
        body: &[Piece],
        otherwise: &[Piece],
    ) {
        if let ([name], Some(value)) = (names, self.section(over)) {
            self.tag(format!("{{{{#{value}}}}}"), true, piece);
            self.write_loop(names, name, true, body);
            return self.end(piece, &value, otherwise);
        }
        let is_pairs = names.len() == 2;
        let list = without_filter(over, if is_pairs { "pairs" } else { "each" });
        let exact = list.is_some();
        let list = list.unwrap_or_else(|| over.clone());
        let (Some(written), 1..=2) = (self.value(&list), names.len()) else { return self.lose(piece) };
        let is_list = value_path(&list)
            .is_some_and(|path| path.keys.is_empty() && self.exporter.kind_of(&path.root) == Some("list"));
        if !exact && !is_list {
            self.exporter.lose_truth(&list);
        }
        if names.iter().any(|name| !is_identifier(name)) || (is_pairs && !exact) {
            return self.lose(piece);
        }
        let bound: Vec<&str> = names.iter().rev().map(String::as_str).collect();
        self.tag(format!("{{{{#each {written} as |{}|}}}}", bound.join(" ")), true, piece);
        let item = names.last().map(String::as_str).unwrap_or_default();
        self.write_loop(names, item, false, body);
        self.end(piece, "each", otherwise);
    }

    /// The body of a loop that binds `names` and makes `item` the current value.
    fn write_loop(&mut self, names: &[String], item: &str, is_section: bool, body: &[Piece]) {
        let before = self.locals.len();
        self.locals.extend(names.iter().map(|name| Local { name: name.clone(), is_section }));
        self.contexts.push(item.to_owned());
        self.write_pieces(body);
        self.contexts.pop();
        self.locals.truncate(before);
    }
}

/// Whether a name is the map of all variables.
fn is_all_variables(exporter: &Exporter<'_>, name: &str) -> bool {
    name == "variables" && exporter.parameter(name).is_none()
}

/// Whether the last message follows, and is the user's.
fn precedes_last_user(rest: &[Piece]) -> bool {
    let is_first = matches!(rest.first(), Some(Piece { kind: PieceKind::Role(role), .. }) if role == "user");
    is_first
        && !rest[1..].iter().any(|piece| matches!(piece.kind, PieceKind::Role(_) | PieceKind::History(_)))
}

fn opposite(word: &str) -> Option<&'static str> {
    Some(match word {
        "if" => "unless",
        "unless" => "if",
        "ifEquals" => "unlessEquals",
        "unlessEquals" => "ifEquals",
        _ => return None,
    })
}

/// A key as a segment of a path.
fn segment(key: &str) -> String {
    match is_identifier(key) || key.chars().all(|digit| digit.is_ascii_digit()) {
        true => key.to_owned(),
        false => format!("[{}]", key.replace(']', "")),
    }
}

/// The value of `x is mapping`.
fn mapping_test(expression: &Expr) -> Option<ValuePath> {
    let ExprKind::Postfix(postfix) = &expression.kind else { return None };
    let (last, before) = postfix.ops.split_last()?;
    let is_mapping = matches!(&last.op, PostfixOp::Test(test) if *test.name == *"mapping" && !test.negated);
    let mut value = (**postfix).clone();
    value.ops = before.to_vec();
    let base = match before {
        [] => postfix.base.clone(),
        _ => Expr { kind: ExprKind::Postfix(Box::new(value)), span: expression.span },
    };
    value_path(&base).filter(|_| is_mapping)
}

/// `x is js_same(y)`: both values, and whether it is negated.
fn js_same(expression: &Expr) -> Option<(Expr, Expr, bool)> {
    let ExprKind::Postfix(postfix) = &expression.kind else { return None };
    let (last, before) = postfix.ops.split_last()?;
    let PostfixOp::Test(test) = &last.op else { return None };
    let [other] = test.args.positional.as_slice() else { return None };
    if *test.name != *"js_same" {
        return None;
    }
    let mut value = (**postfix).clone();
    value.ops = before.to_vec();
    let base = match before {
        [] => postfix.base.clone(),
        _ => Expr { kind: ExprKind::Postfix(Box::new(value)), span: expression.span },
    };
    Some((base, other.clone(), test.negated))
}
