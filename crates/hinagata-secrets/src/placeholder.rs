//! Tells secrets from values that only stand for one, by a list of words and by the shape of a value.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Anchored, Input, MatchKind, StartKind};
use serde::Deserialize;

use crate::{encoded::decode_base64, shape::is_sequence};

static PLACEHOLDERS: LazyLock<Placeholders> = LazyLock::new(|| {
    let lists: Lists =
        toml::from_str(include_str!("placeholders.toml")).expect("a test parses the placeholders");
    Placeholders::new(&lists)
});

/// The start of every mark that replaces a secret.
pub(crate) const MARK_START: &str = "«redacted:";

/// Most characters of a placeholder that belong to no word.
const OTHER_CHARACTERS: usize = 3;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
    words: Vec<String>,
    parts: Vec<String>,
    references: Vec<String>,
    values: Vec<String>,
}

struct Placeholders {
    words: AhoCorasick,
    parts: AhoCorasick,
    references: AhoCorasick,
    values: AhoCorasick,
}

impl Placeholders {
    fn new(lists: &Lists) -> Self {
        let set = |texts: &[String], start: StartKind| {
            AhoCorasick::builder()
                .ascii_case_insensitive(true)
                .match_kind(MatchKind::LeftmostLongest)
                .start_kind(start)
                .build(texts)
                .expect("the lists are small")
        };
        Self {
            words: set(&lists.words, StartKind::Anchored),
            parts: set(&lists.parts, StartKind::Unanchored),
            references: set(&lists.references, StartKind::Anchored),
            values: set(&lists.values, StartKind::Anchored),
        }
    }
}

/// Whether a token of a known form is an example: `ghp_xxxx…`, `AKIAIOSFODNN7EXAMPLE`.
pub(crate) fn is_example(value: &[u8]) -> bool {
    PLACEHOLDERS.parts.is_match(value) || is_documented(value) || is_sequence(value)
}

/// Whether a value stands for a secret: an example, a word for a secret, an expression, a reference.
pub(crate) fn is_placeholder(value: &[u8]) -> bool {
    is_plain_placeholder(value)
        || decode_base64(value).is_some_and(|decoded| is_text(&decoded) && is_plain_placeholder(&decoded))
}

fn is_plain_placeholder(value: &[u8]) -> bool {
    value.is_empty()
        || is_example(value)
        || is_expression(value)
        || is_reference(value)
        || is_made_of_words(value)
}

fn is_text(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ' || *byte == b'\n')
}

fn is_documented(value: &[u8]) -> bool {
    let found = PLACEHOLDERS.values.find(Input::new(value).anchored(Anchored::Yes));
    found.is_some_and(|found| found.end() == value.len())
}

/// Whether a template, a shell or a program replaces the value, or a part of it.
pub(crate) fn is_expression(value: &[u8]) -> bool {
    const MARKS: [&[u8]; 9] =
        [b"${", b"$(", b"{{", b"<%", b"#{", b"%(", b"{%", b"$[[", MARK_START.as_bytes()];
    let has = |mark: &&[u8]| value.windows(mark.len()).any(|window| window == *mark);
    MARKS.iter().any(has) || is_enclosed(value) || is_variable(value) || is_format(value)
}

/// Whether a value is a name in brackets: `<token>`, `[token]`, `%TOKEN%`, `__TOKEN__`, `@TOKEN@`.
fn is_enclosed(value: &[u8]) -> bool {
    let inner = |open: &[u8], close: &[u8]| value.strip_prefix(open)?.strip_suffix(close);
    let pairs: [(&[u8], &[u8]); 5] = [(b"<", b">"), (b"[", b"]"), (b"%", b"%"), (b"__", b"__"), (b"@", b"@")];
    let is_name = |name: &[u8]| {
        let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.: |'\"$()".contains(byte);
        name.first().is_some_and(|byte| !byte.is_ascii_digit()) && name.iter().all(allowed)
    };
    pairs.iter().any(|(open, close)| inner(open, close).is_some_and(is_name))
}

/// Whether a value is a variable of a shell, `$TOKEN`, or is written like one, `YOUR_TOKEN`.
fn is_variable(value: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"_:.>-[]'\"".contains(byte);
    if let Some((first, rest)) = value.strip_prefix(b"$").and_then(<[u8]>::split_first) {
        return (first.is_ascii_alphabetic() || *first == b'_') && rest.iter().all(allowed);
    }
    let is_upper = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    value.first().is_some_and(u8::is_ascii_uppercase) && value.contains(&b'_') && value.iter().all(is_upper)
}

/// Whether a value is a format: `%s`, `{}`, `{password}`, `token-{id}`, `:password`.
fn is_format(value: &[u8]) -> bool {
    let is_field = |part: &[u8]| {
        let name = part.split(|byte| *byte == b'}').next().unwrap_or_default();
        let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.:!".contains(byte);
        name.len() < part.len() && name.iter().all(allowed)
    };
    if value.split(|byte| *byte == b'{').skip(1).any(is_field) {
        return true;
    }
    match value {
        [b'%', b'a'..=b'z'] | [b'{', .., b'}'] => true,
        [b':', rest @ ..] | [b'@', rest @ ..] => {
            rest.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_')
        }
        _ => false,
    }
}

fn is_reference(value: &[u8]) -> bool {
    PLACEHOLDERS.references.is_match(Input::new(value).anchored(Anchored::Yes))
}

/// Whether a value has only words of the list, digits in a row and few other characters.
fn is_made_of_words(value: &[u8]) -> bool {
    let (mut place, mut others) = (0, 0);
    while place < value.len() {
        let word = PLACEHOLDERS.words.find(Input::new(&value[place..]).anchored(Anchored::Yes));
        let end = word.map_or(0, |word| word.end()).max(row_len(&value[place..]));
        others += usize::from(end == 0 && value[place].is_ascii_alphanumeric());
        place += end.max(1);
    }
    others <= OTHER_CHARACTERS && others * 2 < value.len()
}

/// The length of the row of digits at the start: `123`, `321`, `000`; 0 for fewer than three.
fn row_len(text: &[u8]) -> usize {
    let step = |pair: &[u8]| i16::from(pair[1]) - i16::from(pair[0]);
    let digits = &text[..text.iter().take_while(|byte| byte.is_ascii_digit()).count()];
    let Some(first) = digits.windows(2).next().map(step).filter(|first| first.abs() <= 1) else { return 0 };
    let len = 1 + digits.windows(2).take_while(|pair| step(pair) == first).count();
    if len >= 3 { len } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_told_from_secrets() {
        for text in [
            "changeme",
            "ChangeMe123!",
            "<your-token>",
            "${VAR}",
            "$VAR",
            "$env:TOKEN",
            "%TOKEN%",
            "{{ password }}",
            "{password}",
            "%s",
            ":password",
            "os.environ['X']",
            "xxxx",
            "********",
            "example",
            "my-example-key-17",
            "YOUR_API_KEY",
            "your-secret-key-here",
            "password123",
            "op://vault/item",
            "dXNlcjpwYXNzd29yZA==",
            "Y2hhbmdlbWU=",
            "postgres",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "0123456789abcdef",
            "«redacted:password»",
            "",
        ] {
            assert!(is_placeholder(text.as_bytes()), "{text}");
        }
        for text in ["hunter2x", "Tr0ub4dor&3", "pa$sword!99", "kW8$zX2pL", "correct-horse-battery-staple"] {
            assert!(!is_placeholder(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn examples_of_tokens_are_told_by_their_characters() {
        assert!(is_example(b"ghp_0123456789abcdefghijABCDEFGHIJ012345"));
        assert!(is_example(b"AKIAIOSFODNN7EXAMPLE"));
        assert!(!is_example(b"ghp_iOx9gy1CJdObOIRpFqaDZeV7G5IfQHeVVEqZ"));
    }
}
