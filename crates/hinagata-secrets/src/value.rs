//! Decides whether the literal that is assigned to the name of a secret is one.

use serde::Deserialize;

use crate::{
    placeholder::is_placeholder,
    shape::{Shape, is_sequence},
};

/// What a name promises, and so how much a value must look like a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NameKind {
    /// A password, which people choose.
    Password,
    /// A secret or a token, which programs make.
    Secret,
    /// A key, which is more often a name.
    Key,
}

/// How a value is written, and so how certain it is that it is a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writing {
    /// In quotes, or as the value of a configuration.
    Literal,
    /// In quotes as the argument of a call, which may look something up.
    Argument,
    /// As a parameter of an address or a connection.
    Parameter,
    /// Without quotes where code, prose or configuration is possible.
    Bare,
}

/// The longest value of an assignment.
pub(crate) const LONGEST: usize = 4 << 10;

/// Whether `value` is a secret.
pub(crate) fn is_secret_value(value: &[u8], kind: NameKind, writing: Writing) -> bool {
    let shape = Shape::from_value(value);
    let fits = match (kind, writing) {
        (NameKind::Password, Writing::Literal) => is_password(value, &shape),
        (NameKind::Password, Writing::Parameter) => is_password(value, &shape) && !value.contains(&b'='),
        (NameKind::Password, Writing::Argument) => shape.len >= 10 && shape.looks_random(),
        (NameKind::Password, Writing::Bare) => is_strong_password(&shape),
        (NameKind::Secret, Writing::Literal) => shape.len >= 8 && is_token(&shape),
        (NameKind::Secret, _) => shape.len >= 16 && is_token(&shape),
        (NameKind::Key, Writing::Literal) => shape.len >= 16 && is_token(&shape) && !is_uuid(value),
        (NameKind::Key, _) => shape.len >= 20 && is_token(&shape) && !is_uuid(value),
    };
    let is_code = writing != Writing::Literal && is_code(value);
    fits && !shape.has_space && !is_code && !is_path(value, &shape) && !is_placeholder(value)
}

/// Whether a value is an expression, a name with a path, or the name of a file: `x.len()`, `a::b`, `base.txt`.
fn is_code(value: &[u8]) -> bool {
    let ending = value.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    let is_file =
        ending.len() < value.len() && ending.len() <= 8 && ending.iter().all(u8::is_ascii_lowercase);
    is_file || value.iter().any(|byte| b"()[]{}".contains(byte)) || value.windows(2).any(|pair| pair == b"::")
}

/// Whether a value looks as if a program made it.
pub(crate) fn is_token(shape: &Shape) -> bool {
    shape.looks_random() && (shape.digits >= 2 || shape.changes * 3 >= shape.len)
}

fn is_password(value: &[u8], shape: &Shape) -> bool {
    if shape.len < 6 || is_sequence(value) {
        return false;
    }
    // Words with separators are names, routes, labels: `reset-password`, `user.password_2`.
    let separators = value.iter().filter(|byte| b"_-.:/ ".contains(byte)).count();
    let is_name = shape.is_wordy() && separators > 0 && separators == shape.others;
    match (shape.letters, shape.digits) {
        (0, digits) => digits >= 8 && shape.others == 0,
        (_, 0) => shape.looks_random() || (shape.others > separators && shape.is_ascii),
        _ => !is_name,
    }
}

fn is_strong_password(shape: &Shape) -> bool {
    let is_mixed = shape.letters > 0 && shape.digits > 0 && shape.is_ascii;
    shape.len >= 8 && (shape.looks_random() || (is_mixed && shape.others > 0))
}

fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Whether a value is an address or the path of a file. Base64 may start with a slash as well.
fn is_path(value: &[u8], shape: &Shape) -> bool {
    if value.windows(3).any(|window| window == b"://") {
        return true;
    }
    let starts: [&[u8]; 6] = [b"/", b"./", b"../", b"~/", b".\\", b"\\\\"];
    let is_drive = value.len() > 3 && value[0].is_ascii_alphabetic() && &value[1..3] == b":\\";
    let is_rooted = starts.iter().any(|start| value.starts_with(start) && value.len() > start.len());
    is_drive || (is_rooted && (shape.len < 24 || shape.is_wordy() || value.contains(&b'.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_secret(text: &str, kind: NameKind, writing: Writing) -> bool {
        is_secret_value(text.as_bytes(), kind, writing)
    }

    #[test]
    fn passwords_may_be_chosen_by_people() {
        for text in ["Winter2024!", "hunter2x", "Tr0ub4dor&3", "kWzXpLqRtV", "84629173", "qx!vb#lm"] {
            assert!(is_secret(text, NameKind::Password, Writing::Literal), "{text}");
        }
        for text in [
            "Passwort",
            "forgotPassword",
            "reset-password",
            "user.password_2",
            "Enter password1",
            "string",
            "/run/secrets/db1",
            "abc",
        ] {
            assert!(!is_secret(text, NameKind::Password, Writing::Literal), "{text}");
        }
    }

    #[test]
    fn keys_and_tokens_are_random() {
        for text in ["9f86d081884c7d65", "x7Gk2pQz91LmNw4T"] {
            assert!(is_secret(text, NameKind::Key, Writing::Literal), "{text}");
            assert!(is_secret(text, NameKind::Secret, Writing::Literal), "{text}");
        }
        for text in ["user:profile:v2", "settings-general-panel", "created_at", "Uint8Array", "ArrowDown"] {
            assert!(!is_secret(text, NameKind::Key, Writing::Literal), "{text}");
            assert!(!is_secret(text, NameKind::Secret, Writing::Literal), "{text}");
        }
        let uuid = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";
        assert!(!is_secret(uuid, NameKind::Key, Writing::Literal));
        assert!(is_secret(uuid, NameKind::Secret, Writing::Literal));
    }
}
