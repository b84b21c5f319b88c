//! Small languages: text with placeholders, and nothing else.

use hinagata_jinja::ast::{Expr, ExprKind};

use super::Exporter;
use super::pieces::{Piece, PieceKind, constant_text, value_path, without_filter};

/// How a language writes text and variables.
pub(super) struct Placeholders<'p> {
    /// A variable by its original name; `None` if the language cannot print it.
    pub(super) print: &'p dyn Fn(&str) -> Option<String>,
    /// Whether a person or an agent writes the values, so that they are texts anyway.
    pub(super) has_texts_only: bool,
    /// Literal text; `None` if the language would read something in it.
    pub(super) escape: &'p dyn Fn(&str) -> Option<String>,
}

/// Writes pieces as text with placeholders.
pub(super) fn write_text(
    exporter: &mut Exporter<'_>,
    pieces: &[Piece],
    language: &Placeholders<'_>,
) -> String {
    let mut written = String::new();
    for piece in pieces {
        match &piece.kind {
            PieceKind::Text(text) => match (language.escape)(text) {
                Some(escaped) => written.push_str(&escaped),
                None => {
                    exporter.lose_expression(piece);
                    written.push_str(text);
                }
            },
            PieceKind::Print(expression) => {
                let as_script = without_filter(expression, "js");
                let value = as_script.as_ref().unwrap_or(expression);
                let is_all = |name: &String| name == "variables" && exporter.parameter(name).is_none();
                let name = printed_name(value).filter(|name| !is_all(name));
                let name = name.map(|name| exporter.original_name(&name));
                if as_script.is_some() && name.is_some() && !language.has_texts_only {
                    exporter.lose_print(expression);
                }
                match name.and_then(|name| (language.print)(&name)).or_else(|| typed_part(expression)) {
                    Some(placeholder) => written.push_str(&placeholder),
                    None => written.push_str(&exporter.lose_expression(piece)),
                }
            }
            _ => {
                let left = exporter.lose_expression(piece);
                written.push_str(&left);
            }
        }
    }
    written
}

/// The variable that an expression prints: `x`, or `x if x is not none else ""`.
pub(super) fn printed_name(expression: &Expr) -> Option<String> {
    let value = match &expression.kind {
        ExprKind::Conditional(choice) => {
            let is_empty =
                choice.otherwise.as_ref().and_then(constant_text).is_some_and(|text| text.is_empty());
            is_empty.then_some(&choice.value)?
        }
        _ => expression,
    };
    value_path(value).filter(|path| path.keys.is_empty()).map(|path| path.root)
}

/// `arguments|words|at(0)|default("$0")`: the text that the command had.
fn typed_part(expression: &Expr) -> Option<String> {
    use hinagata_jinja::ast::PostfixOp;
    let ExprKind::Postfix(postfix) = &expression.kind else { return None };
    let is_arguments = matches!(&postfix.base.kind, ExprKind::Name(name) if **name == *"arguments");
    let filter = |index: usize| match &postfix.ops.get(index)?.op {
        PostfixOp::Filter(filter) => Some(filter),
        _ => None,
    };
    let names: Vec<&str> = (0..postfix.ops.len()).filter_map(|index| Some(&*filter(index)?.name)).collect();
    if !is_arguments || names != ["words", "at", "default"] {
        return None;
    }
    constant_text(filter(2)?.args.positional.first()?).filter(|text| text.starts_with('$'))
}
