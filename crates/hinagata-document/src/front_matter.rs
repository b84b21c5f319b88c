//! Front matter: YAML between two `---` lines at the start of a template.

use crate::{Error, Node, Place, Reason, Result, yaml};

/// Maximum size of front matter in bytes.
const MAX_BYTES: usize = 64 << 10;

/// The two parts of a template file.
#[derive(Debug)]
pub struct Split<'a> {
    /// The front matter, if the file has one.
    pub matter: Option<Node>,
    /// The template.
    pub template: &'a str,
    /// The line that the template starts on.
    pub first_line: u32,
}

/// Splits `text`, the content of `file`, into front matter and template.
///
/// Front matter starts with `---` on the first line, ends with another `---` line, and is a map. Similar text, such as
/// Markdown rules, is part of the template.
pub fn split_front_matter<'a>(file: &str, text: &'a str) -> Result<Split<'a>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let plain = Split { matter: None, template: text, first_line: 1 };
    let Some((block, template)) = split_block(text) else { return Ok(plain) };
    if block.len() > MAX_BYTES {
        return match looks_like_map(block) {
            true => Err(Error::definition(Reason::Size, "the front matter is larger than 64 KiB")
                .at(Place::at_line(file, text, 1, 1))),
            false => Ok(plain),
        };
    }
    match yaml::parse(file, text, block, 2) {
        Ok(node) if node.as_map().is_some() => {
            let lines = text[..text.len() - template.len()].matches('\n').count();
            let first_line = u32::try_from(lines + 1).unwrap_or(u32::MAX);
            Ok(Split { matter: Some(node), template, first_line })
        }
        Ok(_) => Ok(plain),
        // `name:` between two `---` lines is almost certainly meant as front matter.
        Err(error) if looks_like_map(block) => Err(error.with_hint(
            "the file starts with `---`, so this is read as front matter; quote values that contain `{`, `:` or `#`",
        )),
        Err(_) => Ok(plain),
    }
}

/// The text between the first `---` line and the next one, and the text after it.
fn split_block(text: &str) -> Option<(&str, &str)> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next()?;
    if first.trim_end() != "---" || !first.ends_with('\n') {
        return None;
    }
    let mut end = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            return Some((&text[first.len()..end], &text[end + line.len()..]));
        }
        end += line.len();
    }
    None
}

/// Whether the first line that is neither blank nor a comment starts with `word:`.
fn looks_like_map(block: &str) -> bool {
    let line =
        block.lines().map(str::trim_end).find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let Some((key, rest)) = line.and_then(|line| line.split_once(':')) else { return false };
    let word = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '"' | '\'');
    !key.is_empty() && key.chars().all(word) && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_between_two_lines_is_front_matter() {
        let split = split_front_matter("a.md", "---\nname: x\n---\nHello\n").expect("reads");
        assert_eq!(split.matter.expect("has some").get("name").and_then(Node::as_str), Some("x"));
        assert_eq!((split.template, split.first_line), ("Hello\n", 4));
    }

    #[test]
    fn anything_else_is_template() {
        for text in [
            "Hello",
            "---",
            "---\n",
            "---\nname: x\n",
            " ---\nname: x\n---\n",
            "---\n- a\n---\n",
            "---\n---\nx",
            "--- x\na: 1\n---\n",
            "---\n{% if x %}\n---\n",
            "---\nJust: {{ words }} of a text: yes\n",
            "\n---\na: 1\n---\n",
            "----\na: 1\n----\n",
        ] {
            let split = split_front_matter("a.md", text).expect(text);
            assert!(split.matter.is_none(), "{text}");
            assert_eq!((split.template, split.first_line), (text, 1));
        }
    }

    #[test]
    fn broken_front_matter_is_an_error_in_its_file() {
        let error =
            split_front_matter("a.md", "---\nname: x\ntags: [a\n---\nHello\n").expect_err("is broken");
        assert_eq!(error.place().map(|place| place.file.as_str()), Some("a.md"));
        assert!(error.place().is_some_and(|place| place.line >= 3), "{error:?}");
    }

    #[test]
    fn line_breaks_of_windows_are_fine() {
        let split = split_front_matter("a.md", "\u{feff}---\r\nname: x\r\n---\r\nHello").expect("reads");
        assert!(split.matter.is_some());
        assert_eq!((split.template, split.first_line), ("Hello", 4));
    }
}
