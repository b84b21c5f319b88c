//! JSON with comments and trailing commas, but no other extension, with the place of every value.

use jsonc_parser::{CollectOptions, ParseOptions, ast, common::Ranged as _, errors::ParseError};

use crate::{Cursor, Data, LineColumn, Node, Place, SyntaxProblem};

/// Parses `text`, the content of `file`; a text without a value is null.
///
/// # Errors
/// The first syntax error and its place.
pub fn parse(file: &str, text: &str) -> Result<Node, SyntaxProblem> {
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &parse_options())
        .map_err(|error| syntax_problem(file, text, &error))?;
    let mut cursor = Cursor::new(text);
    let node = match &parsed.value {
        Some(value) => json_node(value, &mut cursor),
        None => Ok(Node::new(LineColumn { line: 1, column: 1 }, Data::Null)),
    };
    node.map_err(|(message, at)| (message, Some(Place::in_text(file, text, at))))
}

/// The options of the parser for comments and trailing commas, without other extensions.
#[must_use]
pub fn parse_options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

/// The problem that the parser reports in `text`, the content of `file`.
#[must_use]
pub fn syntax_problem(file: &str, text: &str, error: &ParseError) -> SyntaxProblem {
    let message = format!("not valid JSON: {}", error.kind().to_string().to_lowercase());
    (message, Some(Place::in_text(file, text, error.range().start)))
}

fn json_node(value: &ast::Value<'_>, cursor: &mut Cursor<'_>) -> Result<Node, (String, usize)> {
    let start = value.range().start;
    let at = cursor.line_column_at(start);
    let data = match value {
        ast::Value::NullKeyword(_) => Data::Null,
        ast::Value::BooleanLit(literal) => Data::Bool(literal.value),
        ast::Value::StringLit(literal) => Data::String(literal.value.to_string()),
        ast::Value::NumberLit(literal) => Data::Number(
            serde_json::from_str(literal.value)
                .map_err(|_| (format!("number `{}` is out of range", literal.value), start))?,
        ),
        ast::Value::Array(array) => {
            Data::List(array.elements.iter().map(|item| json_node(item, cursor)).collect::<Result<_, _>>()?)
        }
        ast::Value::Object(object) => {
            let mut entries: Vec<(String, Node)> = Vec::new();
            for property in &object.properties {
                let name = property.name.as_str().to_owned();
                if entries.iter().any(|(known, _)| *known == name) {
                    return Err((format!("duplicate key `{name}`"), property.range.start));
                }
                entries.push((name, json_node(&property.value, cursor)?));
            }
            Data::Map(entries)
        }
    };
    Ok(Node::new(at, data))
}
