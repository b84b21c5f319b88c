//! The names of prompts in the protocol.

use hinagata::Digest;

/// Maximum length of an id that is used as a name.
const MAX_NAME_LENGTH: usize = 64;

/// The name of the prompt `id`: the id itself if clients can show and type it, else a short name derived from its
/// hash.
pub(crate) fn public_name(id: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_.-".contains(&byte);
    if (1..=MAX_NAME_LENGTH).contains(&id.len()) && id.bytes().all(plain) {
        return id.to_owned();
    }
    format!("p-{}", &Digest::sha256(id.as_bytes()).to_string()[..8])
}

/// Splits `name@version`.
pub(crate) fn split_version(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('@') {
        Some((name, version)) if !name.is_empty() && !version.is_empty() => (name, Some(version)),
        _ => (name, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_ids_are_names_and_others_get_short_names() {
        for id in ["a", "coding_system", "x.y-z9", &"a".repeat(64)] {
            assert_eq!(public_name(id), id);
        }
        for id in ["日本語", "a b", "A", &"a".repeat(65)] {
            let name = public_name(id);
            assert!(name.len() == 10 && name.starts_with("p-"), "{name}");
            assert!(name[2..].bytes().all(|byte| byte.is_ascii_hexdigit()));
            assert_eq!(name, public_name(id));
        }
    }

    #[test]
    fn a_version_follows_the_last_at_sign() {
        assert_eq!(split_version("a@1.0"), ("a", Some("1.0")));
        assert_eq!(
            (split_version("a"), split_version("@a"), split_version("a@")),
            (("a", None), ("@a", None), ("a@", None))
        );
    }
}
