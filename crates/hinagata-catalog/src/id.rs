//! Names of prompts and packs: every spelling of a prompt's name leads to one normal form.

use std::{borrow::Cow, fmt, sync::Arc};

use hinagata_document::{Code, Error, Result};
use hinagata_workspace::layout::PARTIALS;
use serde::Serialize;
use unicode_normalization::UnicodeNormalization as _;

/// Longest normal form of a segment, in characters.
const LONGEST: usize = 64;

/// Most segments of an id.
const SEGMENTS: usize = 16;

/// The normal form of a prompt's name: one or more segments joined by `.`.
///
/// ```
/// use hinagata_catalog::PromptId;
///
/// assert_eq!(PromptId::new("HTTPServerPrompt")?.as_str(), "http_server_prompt");
/// assert_eq!(PromptId::new("scan-gitrepo.Run")?.as_str(), "scan_gitrepo.run");
/// assert!(PromptId::new("../secrets").is_err());
/// # Ok::<(), hinagata_document::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PromptId(Arc<str>);

impl PromptId {
    /// The id that `name` is a spelling of.
    ///
    /// # Errors
    /// Code `id` when its normal form is not a valid id.
    pub fn new(name: &str) -> Result<Self> {
        Self::with_segments(name, check_segment)
    }

    /// The id that `name` is a spelling of in the store, where other programs choose the names: a segment can start
    /// with any character and contain any except control characters, `/` and `\\`.
    ///
    /// # Errors
    /// Code `id`, as [`PromptId::new`] reports it, when its normal form is not valid in the store either.
    pub fn from_store_name(name: &str) -> Result<Self> {
        Self::new(name).or_else(|error| Self::with_segments(name, check_store_segment).map_err(|_| error))
    }

    fn with_segments(name: &str, check: fn(&str) -> Result<(), &'static str>) -> Result<Self> {
        // An overlong name is refused before any work.
        if name.len() > SEGMENTS * LONGEST * 16 {
            return Err(invalid(name, "is too long"));
        }
        let segments: Vec<Cow<'_, str>> = name.trim().split('.').map(normal).collect();
        if segments.len() > SEGMENTS {
            return Err(invalid(name, "has too many segments"));
        }
        for segment in &segments {
            check(segment).map_err(|problem| invalid(name, problem))?;
        }
        Ok(Self(segments.join(".").into()))
    }

    /// The id of a directory, which is always one segment; `None` when the name is not a valid id.
    #[must_use]
    pub fn from_directory_name(name: &str) -> Option<Self> {
        let normal = (!name.contains('.') && name.len() <= 4_096).then(|| normal(name))?;
        check_segment(&normal).ok().map(|()| Self(normal.into()))
    }

    /// The normal form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Serialize for PromptId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl fmt::Display for PromptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for PromptId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for PromptId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

fn invalid(name: &str, problem: &str) -> Error {
    let shown: String = name.chars().take(80).collect();
    Error::new(Code::Id, format!("`{shown}` is not a valid prompt id: it {problem}"))
        .with("prompt_id", name.chars().take(1_024).collect::<String>())
        .with_hint("an id starts with a letter and has letters, digits and `_`, such as `daily_report`")
}

fn check_segment(segment: &str) -> Result<(), &'static str> {
    let mut characters = segment.chars();
    match characters.next() {
        None => return Err("is empty"),
        Some(first) if !first.is_alphabetic() => return Err("does not start with a letter"),
        Some(_) => {}
    }
    if !characters.all(is_word) {
        return Err("has characters other than letters, digits and `_`");
    }
    if segment.chars().count() > LONGEST {
        return Err("has more than 64 characters");
    }
    if segment == PARTIALS {
        return Err("is reserved for the directory of partials");
    }
    Ok(())
}

fn check_store_segment(segment: &str) -> Result<(), &'static str> {
    let is_unsafe = |character: char| character.is_control() || matches!(character, '/' | '\\');
    match segment.chars().count() {
        0 => Err("is empty"),
        count if count > LONGEST => Err("has more than 64 characters"),
        _ if segment.contains(is_unsafe) => Err("has control characters or slashes"),
        _ => Ok(()),
    }
}

/// Letters and digits, the marks that belong to letters of many scripts, and `_`.
fn is_word(character: char) -> bool {
    character == '_'
        || character.is_alphanumeric()
        || unicode_normalization::char::is_combining_mark(character)
}

/// The normal form of a name: NFC, `snake_case`, lower case.
///
/// White space and hyphens become `_`, and `_` is inserted where a word starts inside a `CamelCase` name. The
/// function is idempotent.
#[must_use]
pub fn normal_form(name: &str) -> String {
    normal(name).into_owned()
}

/// Like [`normal_form`], without a copy of a name that is already normal. Opening a workspace normalizes every name
/// in it, and most are ASCII.
fn normal(name: &str) -> Cow<'_, str> {
    let name = name.trim();
    match name.is_ascii() {
        true if is_normal(name.as_bytes()) => Cow::Borrowed(name),
        true => Cow::Owned(ascii_normal_form(name.as_bytes())),
        false => Cow::Owned(unicode_normal_form(name)),
    }
}

/// Whether an ASCII name is its own normal form.
fn is_normal(name: &[u8]) -> bool {
    let changes = |byte: &u8| byte.is_ascii_uppercase() || separates(*byte);
    !name.iter().any(changes) && !name.windows(2).any(|pair| pair == b"__")
}

fn separates(byte: u8) -> bool {
    byte == b'-' || char::from(byte).is_whitespace()
}

fn ascii_normal_form(name: &[u8]) -> String {
    let mut result = String::with_capacity(name.len() + 8);
    let push = |result: &mut String, byte: u8| {
        if byte != b'_' || !result.ends_with('_') {
            result.push(char::from(byte));
        }
    };
    for (index, &byte) in name.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| name[before]);
        let starts_word = byte.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    || (before.is_ascii_uppercase()
                        && name.get(index + 1).is_some_and(u8::is_ascii_lowercase))
            });
        if starts_word {
            push(&mut result, b'_');
        }
        push(&mut result, if separates(byte) { b'_' } else { byte.to_ascii_lowercase() });
    }
    result
}

fn unicode_normal_form(name: &str) -> String {
    let composed: Vec<char> = name.nfc().collect();
    let mut words = String::with_capacity(name.len() + 8);
    for (index, &character) in composed.iter().enumerate() {
        if character.is_whitespace() || character == '-' {
            words.push('_');
            continue;
        }
        if starts_word(&composed, index) {
            words.push('_');
        }
        words.push(character);
    }
    // The lower case of one composed letter can be two letters, which may compose again.
    let lower: String = words.chars().flat_map(char::to_lowercase).nfc().collect();
    without_repeated_underscores(&lower)
}

/// Whether a capital starts a word: after a small letter or digit, or as the last of several capitals
/// before a small letter.
fn starts_word(characters: &[char], index: usize) -> bool {
    if !changes_in_lower_case(characters[index]) || index == 0 {
        return false;
    }
    let before = characters[index - 1];
    let after = characters.get(index + 1).copied();
    before.is_lowercase()
        || before.is_numeric()
        || (before.is_uppercase() && after.is_some_and(char::is_lowercase))
}

/// Whether the character has a lower case. Capitals without one (mathematical letters) would start a word every time.
fn changes_in_lower_case(character: char) -> bool {
    character.is_uppercase() && !character.to_lowercase().eq([character])
}

fn without_repeated_underscores(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for character in text.chars() {
        if character != '_' || !result.ends_with('_') {
            result.push(character);
        }
    }
    result
}

/// The name of a pack: the name of its directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct PackId(Box<str>);

impl PackId {
    /// The pack whose directory is called `name`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PackId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_of_the_store_can_have_any_character_that_is_safe() {
        for (name, id) in [
            ("ext.2fa", "ext.2fa"),
            ("9start.1", "9start.1"),
            ("x-y.z+1", "x_y.z+1"),
            ("Team@Home.Mein Prompt", "team@home.mein_prompt"),
            ("scan-gitrepo.Run", "scan_gitrepo.run"),
        ] {
            assert_eq!(PromptId::from_store_name(name).expect(name).as_str(), id);
            assert_eq!(PromptId::from_store_name(id).expect(name).as_str(), id, "it is its own normal form");
        }
        assert!(PromptId::new("ext.2fa").is_err(), "names of directories are as strict as before");
        let long = format!("9{}", "x".repeat(64));
        for name in ["", ".", "a..b", "../secrets", "a/b", "a\\b", "9\u{7}", "1.\u{0}", long.as_str()] {
            assert!(PromptId::from_store_name(name).is_err(), "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn the_normal_form_of_a_name_of_the_store_is_its_own(name in "\\PC{1,12}") {
            if let Ok(id) = PromptId::from_store_name(&name) {
                prop_assert_eq!(PromptId::from_store_name(id.as_str()).expect("is an id"), id);
            }
        }

        #[test]
        fn both_ways_give_the_same_normal_form_of_ascii_names(name in "[ -~\\t\\n\\x0b\\x1c]{0,12}|[aAbB1_ -]{0,12}") {
            let normal = unicode_normal_form(&name);
            prop_assert_eq!(&ascii_normal_form(name.as_bytes()), &normal);
            prop_assert_eq!(is_normal(name.as_bytes()), name == normal);
        }
    }
}
