//! Go template cases: sources and data, with the output or error of Go's `text/template`.
//!
//! `tests/vectors/gotemplate/README.md` describes the format and the functions that an engine must register. Outputs
//! and error texts are compared byte for byte.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::case::{Bounds, Case, Mismatch, Side};
use crate::load::{self, InputError, LoadedCase};

/// Go allows 100 000 nested template calls, so a large stack is reserved. Pages are used as needed.
pub(crate) const BOUNDS: Bounds = Bounds { stack: 1 << 30, time: Duration::from_secs(60), memory: None };

/// The name of a single template.
const SINGLE: &str = "main";

/// One recorded case.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "RawCase")]
pub struct GoCase {
    /// `topic/name`.
    pub id: String,
    /// Names and sources in parse order. The first name creates the set.
    pub sources: Vec<(String, String)>,
    /// The template to execute.
    pub entry: String,
    /// The data, null when there is none.
    pub data: Value,
    /// Whether integers that fit are `int`. Otherwise all numbers are `float64`.
    pub ints: bool,
    /// What a missing key does.
    pub missing_key: MissingKey,
    /// The delimiters of actions.
    pub delimiters: Option<(String, String)>,
    /// The recorded outcome.
    pub expect: GoOutcome,
}

/// What a missing key of a map does.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum MissingKey {
    /// Prints `<no value>`.
    #[default]
    Default,
    /// The same as the default.
    Invalid,
    /// The zero value of the map's elements.
    Zero,
    /// Fails.
    Error,
}

/// The outcome of a run: recorded from Go, or of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GoOutcome {
    /// The output.
    Output(Vec<u8>),
    /// Parsing failed with this error.
    ParseError(String),
    /// Execution failed.
    ExecError {
        /// The whole error text.
        message: String,
        /// The output before the failure.
        partial: Vec<u8>,
    },
    /// There is no engine.
    Unavailable(String),
}

/// An engine that runs Go templates.
pub trait GoEngine: Send + Sync + 'static {
    /// Parses the sources of `case` in order and executes its entry, under Go's own limits.
    fn render_case(&self, case: &GoCase) -> GoOutcome;
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCase {
    id: String,
    template: Option<String>,
    templates: Option<BTreeMap<String, String>>,
    order: Option<Vec<String>>,
    entry: Option<String>,
    data: Value,
    ints: bool,
    #[serde(default)]
    options: RawOptions,
    expect: RawExpect,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawOptions {
    missingkey: MissingKey,
    delims: Option<(String, String)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawExpect {
    output: Option<String>,
    output_base64: Option<String>,
    parse_error: Option<String>,
    exec_error: Option<String>,
    partial_output: Option<String>,
}

impl TryFrom<RawCase> for GoCase {
    type Error = String;

    fn try_from(raw: RawCase) -> Result<Self, String> {
        let (sources, entry) = match (raw.template, raw.templates, raw.order, raw.entry) {
            (Some(source), None, None, None) => (vec![(SINGLE.to_owned(), source)], SINGLE.to_owned()),
            (None, Some(templates), Some(order), Some(entry)) => (in_order(templates, order)?, entry),
            _ => return Err("requires either `template`, or `templates`, `order` and `entry`".into()),
        };
        Ok(Self {
            id: raw.id,
            sources,
            entry,
            data: raw.data,
            ints: raw.ints,
            missing_key: raw.options.missingkey,
            delimiters: raw.options.delims,
            expect: raw.expect.try_into()?,
        })
    }
}

fn in_order(
    mut templates: BTreeMap<String, String>,
    order: Vec<String>,
) -> Result<Vec<(String, String)>, String> {
    let mut sources = Vec::with_capacity(order.len());
    for name in order {
        let source = templates
            .remove(&name)
            .ok_or_else(|| format!("`order` contains `{name}`, which has no source or occurs twice"))?;
        sources.push((name, source));
    }
    match templates.keys().next() {
        Some(name) => Err(format!("`order` does not contain `{name}`")),
        None if sources.is_empty() => Err("`order` is empty".into()),
        None => Ok(sources),
    }
}

impl TryFrom<RawExpect> for GoOutcome {
    type Error = String;

    fn try_from(raw: RawExpect) -> Result<Self, String> {
        match (raw.output, raw.output_base64, raw.parse_error, raw.exec_error, raw.partial_output) {
            (Some(text), None, None, None, None) => Ok(Self::Output(text.into_bytes())),
            (None, Some(text), None, None, None) => {
                decode_base64(&text).map(Self::Output).ok_or_else(|| "`output_base64` is not base64".into())
            }
            (None, None, Some(message), None, None) => Ok(Self::ParseError(message)),
            (None, None, None, Some(message), Some(partial)) => {
                Ok(Self::ExecError { message, partial: partial.into_bytes() })
            }
            _ => Err("`expect` requires exactly one of `output`, `output_base64`, `parse_error`, \
                      or `exec_error` with `partial_output`"
                .into()),
        }
    }
}

/// Decodes the standard alphabet with padding.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.trim_end_matches('=').as_bytes();
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0);
    for digit in digits {
        let value = ALPHABET.iter().position(|known| known == digit)?;
        bits = bits << 6 | u32::try_from(value).ok()?;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    Some(bytes)
}

/// Loads the cases of `dir` for `engine`.
///
/// # Errors
/// A file cannot be read, or a case is invalid.
pub fn load_cases(dir: &Path, engine: &'static dyn GoEngine) -> Result<Vec<LoadedCase>, InputError> {
    load::read_cases(dir, |case| EngineCase { case, engine })
}

struct EngineCase {
    case: GoCase,
    engine: &'static dyn GoEngine,
}

impl Case for EngineCase {
    fn id(&self) -> &str {
        &self.case.id
    }

    fn bounds(&self) -> Bounds {
        BOUNDS
    }

    fn runs(&self) -> Vec<&'static str> {
        vec![""]
    }

    fn check_run(&self, _index: usize) -> Result<(), Mismatch> {
        let outcome = self.engine.render_case(&self.case);
        if outcome == self.case.expect {
            return Ok(());
        }
        Err(Mismatch { expected: side(&self.case.expect), actual: side(&outcome) })
    }
}

fn side(outcome: &GoOutcome) -> Side {
    match outcome {
        GoOutcome::Output(bytes) => Side::new("output", readable(bytes)),
        GoOutcome::ParseError(message) => Side::new("parse error", message),
        GoOutcome::ExecError { message, partial } => {
            Side::new("exec error", message).with("partial output", readable(partial))
        }
        GoOutcome::Unavailable(reason) => Side::new("unavailable", reason),
    }
}

fn readable(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.escape_ascii().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::decode_base64;

    #[test]
    fn base64_of_every_padding_is_decoded() {
        assert_eq!(decode_base64("").as_deref(), Some(&b""[..]));
        assert_eq!(decode_base64("/w==").as_deref(), Some(&[0xff][..]));
        assert_eq!(decode_base64("aGk=").as_deref(), Some(&b"hi"[..]));
        assert_eq!(decode_base64("aGkh").as_deref(), Some(&b"hi!"[..]));
        assert_eq!(decode_base64("a"), None);
        assert_eq!(decode_base64("!!!!"), None);
    }
}
