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

/// The id as a name for hosts that show any script; `None` if it has spaces or characters with
/// another meaning in commands, or is too long.
pub(crate) fn readable_name(id: &str) -> Option<&str> {
    let plain = |character: char| {
        character.is_ascii_alphanumeric()
            || "_.-".contains(character)
            || !(character.is_ascii() || character.is_control() || character.is_whitespace())
    };
    ((1..=MAX_NAME_LENGTH).contains(&id.chars().count()) && id.chars().all(plain)).then_some(id)
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
    fn ids_in_any_script_are_readable_names() {
        for id in ["日本語_の_プロンプト", "été", "a.b-c"] {
            assert_eq!(readable_name(id), Some(id));
        }
        for id in ["a b", "a/b", "a@b", "\u{a0}", "", &"é".repeat(65)] {
            assert_eq!(readable_name(id), None, "{id}");
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
