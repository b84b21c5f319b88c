//! Go's error texts.
//!
//! Go inserts the name of the source into the format of a message before it formats the arguments, so a
//! percent sign in a name consumes arguments. This implementation does the same.

use hinagata_value::{Budget, Heap, Limits, Result, Value};

use crate::{
    fmt::{print::Printer, printf::printf, sink::Building},
    text::quote,
    value::view::Integers,
};

/// A value that replaces a verb of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part<'m> {
    Text(&'m str),
    Int(i64),
}

/// The message that Go builds: `location` is part of its format, `context` is not. `parts` replace `%s`,
/// `%q`, `%d`, `%v` and `%w` in `format` in order.
pub(crate) fn error_text(location: &str, context: &str, format: &str, parts: &[Part<'_>]) -> String {
    if location.contains('%')
        && let Ok(text) = through_printf(&format!("{location}{}", context.replace('%', "%%")), format, parts)
    {
        return text;
    }
    let mut text = format!("{location}{context}");
    let mut parts = parts.iter();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        match (rest.as_bytes().get(at + 1), parts.next()) {
            (Some(b'q'), Some(Part::Text(part))) => text.push_str(&quote::quote_text(part)),
            (_, Some(Part::Text(part))) => text.push_str(part),
            (_, Some(Part::Int(part))) => text.push_str(itoa::Buffer::new().format(*part)),
            (_, None) => {}
        }
        rest = &rest[at + 2..];
    }
    text.push_str(rest);
    text
}

fn through_printf(prefix: &str, format: &str, parts: &[Part<'_>]) -> Result<String> {
    let budget = Budget::new(Limits::default());
    let heap = Heap::new(&budget);
    let values = parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => heap.string(text),
            Part::Int(int) => Ok(Value::Int(*int)),
        })
        .collect::<Result<Vec<_>>>()?;
    let mut building = Building::new(&heap);
    let mut printer = Printer::new(&mut building, &heap, Integers::Float);
    // `%w` prints an error like `%v`, except that a missing one shows the verb.
    let wraps = format.strip_suffix("%w");
    let whole = wraps.map_or_else(|| format!("{prefix}{format}"), |format| format!("{prefix}{format}%v"));
    printf(&mut printer, whole.as_bytes(), &values)?;
    let text = String::from_utf8_lossy(building.as_bytes()).into_owned();
    Ok(match text.strip_suffix("%!v(MISSING)") {
        Some(before) if wraps.is_some() => format!("{before}%!w(MISSING)"),
        _ => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_put_into_the_message() {
        let parts = [Part::Text("a%b"), Part::Int(3), Part::Text("q\"")];
        assert_eq!(
            error_text("template: x: ", "", "%s and %d and %q", &parts),
            "template: x: a%b and 3 and \"q\\\"\""
        );
    }

    #[test]
    fn a_percent_sign_in_a_name_takes_part_in_the_format() {
        assert_eq!(
            error_text("template: 50%d:1: ", "", "function %q not defined", &[Part::Text("f")]),
            "template: 50%!d(string=f):1: function %!q(MISSING) not defined"
        );
    }
}
