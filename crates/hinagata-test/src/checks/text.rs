//! Searches in texts: JSON and XML inside of them, words, edits.

use serde_json::Value;

/// Most places of a text at which JSON or XML is looked for.
const MAX_STARTS: usize = 10_000;

/// Longest texts whose edits are counted, in characters.
const MAX_EDITED: usize = 20_000;

/// The JSON objects and lists in a text, outermost first.
pub(crate) fn find_json(text: &str) -> Vec<Value> {
    let (mut found, mut from) = (Vec::new(), 0);
    for _ in 0..MAX_STARTS {
        let Some(at) = text[from..].find(['{', '[']) else { break };
        let start = from + at;
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                from = start + values.byte_offset().max(1);
                found.push(value);
            }
            _ => from = start + 1,
        }
    }
    found
}

/// Whether a text is well-formed XML with these elements, each a path of names with dots.
pub(super) fn check_xml(text: &str, elements: &[String]) -> Result<(), String> {
    let document = roxmltree::Document::parse(text.trim()).map_err(|error| format!("not XML: {error}"))?;
    let has_path = |path: &str| {
        let mut names = path.split('.');
        let mut nodes = vec![document.root_element()];
        if names.next() != Some(nodes[0].tag_name().name()) {
            return false;
        }
        for name in names {
            nodes = nodes
                .iter()
                .flat_map(|node| node.children().filter(|child| child.tag_name().name() == name))
                .collect();
        }
        !nodes.is_empty()
    };
    match elements.iter().find(|path| !has_path(path)) {
        None => Ok(()),
        Some(path) => Err(format!("the element `{path}` is missing")),
    }
}

/// Whether some piece of a text is XML with these elements.
pub(super) fn contains_xml(text: &str, elements: &[String]) -> Result<(), String> {
    let mut problem = "it has no XML".to_owned();
    for (start, _) in text.match_indices('<').take(100) {
        let name: String =
            text[start + 1..].chars().take_while(|c| !c.is_whitespace() && !"/><".contains(*c)).collect();
        if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            continue;
        }
        let close = format!("</{name}>");
        for (end, _) in text[start..].match_indices(&close).take(100) {
            match check_xml(&text[start..start + end + close.len()], elements) {
                Ok(()) => return Ok(()),
                Err(message) => problem = message,
            }
        }
    }
    Err(problem)
}

/// The number of characters that are inserted, removed or replaced on the shortest way from one text to the other.
pub(super) fn count_edits(one: &str, other: &str) -> Result<u64, String> {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if one.len().max(other.len()) > MAX_EDITED {
        return Err(format!("the text has more than {MAX_EDITED} characters, so its edits are not counted"));
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, character) in one.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (place, wanted) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(character != wanted);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(diagonal + 1).min(row[place] + 1);
        }
    }
    Ok(row[other.len()] as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_found_inside_of_a_text() {
        assert_eq!(find_json(r#"So: {"a": [1]} and [2], {b}"#), [json!({"a": [1]}), json!([2])]);
        assert_eq!(find_json("{ not"), [] as [Value; 0]);
    }

    #[test]
    fn xml_has_elements() {
        assert_eq!(check_xml("<a><b><c/></b></a>", &["a.b.c".to_owned()]), Ok(()));
        assert!(check_xml("<a><b></a>", &[]).is_err());
        assert!(check_xml("<a/>", &["a.b".to_owned()]).is_err());
        assert_eq!(contains_xml("So: <a x='1'><b/></a>!", &["a.b".to_owned()]), Ok(()));
        assert!(contains_xml("1 < 2", &[]).is_err());
    }

    #[test]
    fn edits_are_counted_in_characters() {
        assert_eq!(count_edits("kitten", "sitting"), Ok(3));
        assert_eq!(count_edits("", "日本"), Ok(2));
        assert_eq!(count_edits("same", "same"), Ok(0));
    }
}
