//! TOML as data with places.

use serde_json::{Number, Value};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use crate::{Data, LineColumn, Node, Place, SyntaxProblem};

/// Parses `text`, the content of `file`.
///
/// # Errors
/// All syntax errors.
pub fn parse(file: &str, text: &str) -> Result<Node, Vec<SyntaxProblem>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(Node::new(LineColumn { line: 1, column: 1 }, map(text, table.get_ref())));
    }
    let problem = |error: &toml::de::Error| {
        let message = error.message().lines().next().unwrap_or("invalid TOML").to_owned();
        (message, error.span().map(|span| Place::in_text(file, text, span.start)))
    };
    Err(errors.iter().map(problem).collect())
}

/// Parses `text` as one TOML value; `None` if it is invalid.
pub fn parse_value(text: &str) -> Option<Value> {
    Some(node(text, &DeValue::parse(text).ok()?).to_value())
}

fn map(text: &str, table: &DeTable<'_>) -> Data {
    let entry = |(key, value): (&Spanned<_>, &Spanned<DeValue<'_>>)| {
        let key: &std::borrow::Cow<'_, str> = key.get_ref();
        (key.to_string(), node(text, value))
    };
    Data::Map(table.iter().map(entry).collect())
}

fn node(text: &str, value: &Spanned<DeValue<'_>>) -> Node {
    let data = match value.get_ref() {
        DeValue::String(string) => Data::String(string.to_string()),
        DeValue::Integer(integer) => number(integer.as_str(), integer.radix()),
        DeValue::Float(float) => float
            .as_str()
            .parse()
            .ok()
            .and_then(Number::from_f64)
            .map_or_else(|| Data::String(float.to_string()), Data::Number),
        DeValue::Boolean(boolean) => Data::Bool(*boolean),
        DeValue::Datetime(datetime) => Data::String(datetime.to_string()),
        DeValue::Array(items) => Data::List(items.iter().map(|item| node(text, item)).collect()),
        DeValue::Table(table) => map(text, table),
    };
    Node::new(LineColumn::at_offset(text, value.span().start), data)
}

/// An integer that exceeds 64 bits stays a string, which no numeric setting or field accepts.
fn number(digits: &str, radix: u32) -> Data {
    let whole = u64::from_str_radix(digits, radix).map(Number::from);
    let signed = || i64::from_str_radix(digits, radix).map(Number::from);
    whole.or_else(|_| signed()).map_or_else(|_| Data::String(digits.to_owned()), Data::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_kind_of_value_is_read_with_its_place() {
        let text = "a = 1_000\n[b.c]\nd = [1.5, true, \"x\"]\ne = 1979-05-27\nf = 0x10\ng = 99999999999999999999\nh = nan\n";
        let root = parse("t.toml", text).expect("is TOML");
        assert_eq!(
            root.to_value(),
            json!({"a": 1000, "b": {"c": {"d": [1.5, true, "x"], "e": "1979-05-27", "f": 16, "g": "99999999999999999999", "h": "nan"}}})
        );
        let inner = root.get("b").and_then(|b| b.get("c")).expect("is there");
        assert_eq!(inner.get("d").map(|d| (d.at.line, d.at.column)), Some((3, 5)));
    }

    #[test]
    fn every_syntax_error_is_reported_with_its_place() {
        let problems = parse("t.toml", "a = \nb = 1\nc = = 2\n").expect_err("is no TOML");
        let lines: Vec<_> = problems.iter().filter_map(|(_, place)| Some(place.as_ref()?.line)).collect();
        assert!(lines.contains(&1) && lines.contains(&3), "{problems:?}");
    }

    #[test]
    fn deep_nesting_is_an_error_and_no_overflow() {
        assert!(parse("t.toml", &format!("a = {}", "[".repeat(100_000))).is_err());
        assert_eq!(parse_value(&"[".repeat(100_000)), None);
    }
}
