//! Fast paths for the most frequent uses of filters. The general path returns the same, more slowly.
//!
//! `{{ x|upper }}` and `{{ xs|join(", ") }}` write directly to the output instead of creating a string
//! first, and `xs|length` needs no arguments. Measured on the prompts of `bench/workloads/jinja`.

use hinagata_value::{Output, Provenance, Result, Site, Text, Value};
use serde_json::Value as Json;

use super::Vm;
use crate::code::{Args, Expr, FilterCall};

/// A use of a filter that has a fast path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quick {
    Length,
    Upper,
    Lower,
    /// With a literal separator, or without one.
    Join,
}

impl Quick {
    /// The fast path of a filter with these arguments, if it has one.
    pub(crate) fn from_filter(name: &str, args: &Args) -> Option<Self> {
        let plain = args.keywords.is_empty() && args.args.is_none() && args.kwargs.is_none();
        match (name, &args.positional[..]) {
            ("length" | "count", []) if plain => Some(Self::Length),
            ("upper", []) if plain => Some(Self::Upper),
            ("lower", []) if plain => Some(Self::Lower),
            ("join", [] | [Expr::Str(_)]) if plain => Some(Self::Join),
            _ => None,
        }
    }
}

impl<'a, P: Provenance> Vm<'_, 'a, P> {
    /// `value|length` for data of the caller.
    #[inline]
    pub(super) fn quick_length(&self, value: &Value<'a>) -> Option<Value<'a>> {
        match value {
            Value::Json(Json::Array(items)) if !self.heap.has_copies() => {
                Some(Value::Int(items.len() as i64))
            }
            Value::Json(Json::Object(map)) if !self.heap.has_copies() => Some(Value::Int(map.len() as i64)),
            _ => None,
        }
    }

    /// Prints `{{ value|filter }}` by the fast path; returns `false` if it does not support this value.
    pub(super) fn print_quick(
        &self,
        value: &Value<'a>,
        quick: Quick,
        call: &'a FilterCall,
        site: Site,
        out: &mut Output<'a, P>,
    ) -> Result<bool> {
        match (quick, value) {
            (Quick::Length, _) => match self.quick_length(value) {
                Some(Value::Int(length)) => out.write_int(length, site)?,
                _ => return Ok(false),
            },
            (Quick::Upper | Quick::Lower, _) => match value.as_str() {
                Some(text) if text.is_ascii() => out.write_with(site, |out| push_cased(text, quick, out))?,
                _ => return Ok(false),
            },
            (Quick::Join, Value::Json(Json::Array(items)))
                if !self.heap.has_copies() && items.iter().all(Json::is_string) =>
            {
                let separator = match &call.args.positional[..] {
                    [Expr::Str(separator)] => separator,
                    _ => "",
                };
                out.write_with(site, |out| push_joined(items, separator, out))?;
            }
            (Quick::Join, _) => return Ok(false),
        }
        Ok(true)
    }
}

/// Appends ASCII text in upper or lower case, piece by piece.
fn push_cased(text: &str, case: Quick, out: &mut Text<'_>) -> Result<()> {
    let mut buffer = [0_u8; 128];
    for chunk in text.as_bytes().chunks(buffer.len()) {
        let piece = &mut buffer[..chunk.len()];
        piece.copy_from_slice(chunk);
        match case {
            Quick::Upper => piece.make_ascii_uppercase(),
            _ => piece.make_ascii_lowercase(),
        }
        out.push_str(std::str::from_utf8(piece).unwrap_or_default())?;
    }
    Ok(())
}

fn push_joined(items: &[Json], separator: &str, out: &mut Text<'_>) -> Result<()> {
    for (index, item) in items.iter().enumerate() {
        if index > 0 && !separator.is_empty() {
            out.push_str(separator)?;
        }
        out.push_str(item.as_str().unwrap_or_default())?;
    }
    Ok(())
}
