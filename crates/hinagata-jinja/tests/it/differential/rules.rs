//! When two answers count as equal: the intended differences, each as narrow as possible.
//! `docs/reference/jinja.md` has their reasons.

use hinagata_value::{Error, LimitKind};
use serde_json::Value as Json;

use super::pieces::{Case, Undefined, source};

#[derive(Debug)]
pub(crate) enum Answer {
    Output(String),
    Error {
        kind: String,
        line: Option<u64>,
        template: Option<String>,
        message: String,
        limit: Option<LimitKind>,
    },
}

impl Answer {
    /// The answer of Jinja2; `None` if there is none.
    pub(crate) fn from_original(answer: &Json) -> Option<Self> {
        if let Some(text) = answer["output"].as_str() {
            return Some(Self::Output(text.to_owned()));
        }
        Some(Self::Error {
            kind: answer["error"].as_str()?.to_owned(),
            line: answer["line"].as_u64(),
            template: answer["template"].as_str().map(str::to_owned),
            message: answer["message"].as_str().unwrap_or_default().to_owned(),
            limit: None,
        })
    }

    pub(crate) fn from_ours(answer: Result<String, Error>) -> Self {
        match answer {
            Ok(text) => Self::Output(text),
            Err(error) => Self::Error {
                kind: error.kind().as_str().to_owned(),
                line: error.place().map(|place| u64::from(place.line)),
                template: error.place().map(|place| place.template.clone()),
                message: error.to_string(),
                limit: error.limit(),
            },
        }
    }

    fn kind(&self) -> &str {
        match self {
            Self::Error { kind, .. } => kind,
            Self::Output(_) => "output",
        }
    }

    fn message(&self) -> &str {
        match self {
            Self::Error { message, .. } => message,
            Self::Output(_) => "",
        }
    }
}

/// A description of the difference.
pub(crate) fn difference(case: &Case, original: &Answer, ours: &Answer) -> Option<String> {
    if is_same(original, ours) || is_on_purpose(case, original, ours) {
        return None;
    }
    Some(format!("\n  jinja2 {original:?}\n  ours   {ours:?}"))
}

fn is_same(original: &Answer, ours: &Answer) -> bool {
    match (original, ours) {
        (Answer::Output(original), Answer::Output(ours)) => original == ours,
        (
            Answer::Error { kind, line, template, .. },
            Answer::Error { kind: our_kind, line: our_line, template: our_template, .. },
        ) => {
            // If Python itself refuses the generated code, the error has no line of the template.
            kind == our_kind
                && (line.is_none() || line == our_line)
                && (template.is_none() || template == our_template)
        }
        _ => false,
    }
}

fn is_on_purpose(case: &Case, original: &Answer, ours: &Answer) -> bool {
    is_object_of_python(original)
        || is_limit(original, ours)
        || is_accident(case, original, ours)
        || is_folded(case, original, ours)
        // The body of a call block is valid only during the call.
        || ours.message().starts_with("`caller` was called after its call block ended")
        // There are no complex numbers.
        || ours.message().ends_with("is a complex number")
}

/// Python prints objects with an address, which a filter may have changed.
fn is_object_of_python(original: &Answer) -> bool {
    let Answer::Output(text) = original else { return false };
    let letters: String = text.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    letters.contains("at0x7f") || text.contains("bound method LoopContext")
}

fn is_limit(original: &Answer, ours: &Answer) -> bool {
    match ours {
        // Integers are limited to 128 bits, and the result of one repetition or padding is limited in size.
        Answer::Error { limit: Some(LimitKind::Integer | LimitKind::Fill), .. } => true,
        // Like Python's RecursionError, but at another depth.
        Answer::Error { limit: Some(LimitKind::Calls | LimitKind::Stack), .. } => {
            original.message().starts_with("RecursionError")
        }
        _ => false,
    }
}

/// Limits of the code that Jinja2 generates: it cannot join a filter block whose result is not text, and it
/// does not know the line of a target that is not a namespace.
fn is_accident(case: &Case, original: &Answer, ours: &Answer) -> bool {
    original.message().starts_with("TypeError: sequence item")
        // Python compiles the code of a template at the line that loads it.
        || (original.message().starts_with("SyntaxError:") && ours.kind() == "syntax")
        // The values of `with` have no line of their own.
        || (original.kind() == ours.kind() && line_of(case, ours).contains("{% with "))
        || original.message().ends_with("cannot assign attribute on non-namespace object")
}

/// The source line of an error.
fn line_of(case: &Case, answer: &Answer) -> String {
    let Answer::Error { template: Some(template), line: Some(line), .. } = answer else {
        return String::new();
    };
    let number: Option<usize> = template.strip_prefix('t').and_then(|number| number.parse().ok());
    let source = number
        .and_then(|number| case.templates.get(number))
        .map(Vec::as_slice)
        .map(source)
        .unwrap_or_default();
    source.lines().nth(*line as usize - 1).unwrap_or_default().to_owned()
}

/// Jinja2 evaluates constants when it compiles. Then a slice of an unsliceable value is undefined, pairs
/// pass as keyword arguments, infinity is not valid Python, and an undefined value is an error of the line
/// that loads the template.
fn is_folded(case: &Case, original: &Answer, ours: &Answer) -> bool {
    match (original, ours) {
        (_, Answer::Error { message, .. }) if message.ends_with("cannot be sliced") => true,
        (_, Answer::Error { message, .. }) if message == "the argument after ** must be a mapping" => {
            case.templates.iter().any(|pieces| source(pieces).contains("**["))
        }
        (Answer::Error { message, .. }, _) if message.starts_with("NameError: name 'inf'") => true,
        (Answer::Error { kind, .. }, Answer::Error { kind: our_kind, .. }) => {
            case.options.undefined == Undefined::Strict && kind == "undefined" && our_kind == "undefined"
        }
        _ => false,
    }
}
