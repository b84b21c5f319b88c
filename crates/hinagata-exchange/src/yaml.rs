//! YAML as the originals read it: front matter, and the values of YAML 1.1.

use hinagata_document::{Data, Node, Result, yaml};

/// Splits a file into front matter, body and the offset of the body; `None` if it has no front matter.
pub(crate) fn split_matter(text: &str) -> Option<(&str, &str, usize)> {
    let start = text.strip_prefix('\u{feff}').unwrap_or(text);
    let shift = text.len() - start.len();
    let mut lines = start.split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == "---" && line.ends_with('\n'))?;
    let mut end = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            let body = end + line.len();
            return Some((&start[first.len()..end], &start[body..], shift + body));
        }
        end += line.len();
    }
    None
}

/// Whether a file starts front matter and never ends it.
pub(crate) fn has_open_matter(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.trim_end() == "---") && split_matter(text).is_none()
}

/// Reads YAML 1.2. An empty text is an empty map.
pub(crate) fn parse_plain(file: &str, whole: &str, text: &str, first_line: u32) -> Result<Node> {
    let text = text.replace("\r\n", "\n");
    match text.trim().is_empty() {
        true => Ok(Node::new(
            hinagata_document::LineColumn { line: first_line, column: 1 },
            Data::Map(Vec::new()),
        )),
        false => yaml::parse(file, whole, &text, first_line),
    }
}

/// Reads YAML 1.1: `yes` is true, `010` is 8, `12:30` is 750.
pub(crate) fn parse_legacy(file: &str, whole: &str, text: &str, first_line: u32) -> Result<Node> {
    let text = text.replace("\r\n", "\n");
    let mut node = parse_plain(file, whole, &text, first_line)?;
    let lines: Vec<&str> = text.split('\n').collect();
    resolve_legacy(&mut node, &lines, first_line);
    Ok(node)
}

fn resolve_legacy(node: &mut Node, lines: &[&str], first_line: u32) {
    match &mut node.data {
        Data::List(items) => items.iter_mut().for_each(|item| resolve_legacy(item, lines, first_line)),
        Data::Map(entries) => {
            entries.iter_mut().for_each(|(_, value)| resolve_legacy(value, lines, first_line));
        }
        Data::String(_) | Data::Number(_) | Data::Bool(_) => {
            let line = node.at.line.checked_sub(first_line).and_then(|line| lines.get(line as usize));
            let token = line.map(|line| plain_token(line, node.at.column)).unwrap_or_default();
            if let Data::String(text) = &node.data
                && text != token
            {
                return;
            }
            if let Some(data) = legacy_value(token) {
                node.data = data;
            }
        }
        Data::Null => {}
    }
}

/// The plain scalar at a column; empty if another kind of value stands there.
fn plain_token(line: &str, column: u32) -> &str {
    let start = line.char_indices().nth((column as usize).saturating_sub(1)).map_or(line.len(), |(at, _)| at);
    let rest = &line[start..];
    if rest.starts_with(['"', '\'', '|', '>', '[', '{', '&', '*', '!']) {
        return "";
    }
    let end = rest.find([',', '}', ']', '#']).unwrap_or(rest.len());
    rest[..end].trim_end()
}

fn legacy_value(token: &str) -> Option<Data> {
    let lower = token.to_ascii_lowercase();
    match lower.as_str() {
        "yes" | "on" => return Some(Data::Bool(true)),
        "no" | "off" => return Some(Data::Bool(false)),
        _ => {}
    }
    let (negative, digits) = match token.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, token.strip_prefix('+').unwrap_or(token)),
    };
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let plain = digits.replace('_', "");
    let number = if plain.contains(':') {
        plain.split(':').try_fold(0_i64, |total, part| {
            let part: i64 = part.parse().ok().filter(|part| total == 0 || (0..60).contains(part))?;
            total.checked_mul(60)?.checked_add(part)
        })?
    } else if plain.len() > 1
        && plain.starts_with('0')
        && plain.bytes().all(|byte| (b'0'..=b'7').contains(&byte))
    {
        i64::from_str_radix(&plain, 8).ok()?
    } else if plain != digits && plain.bytes().all(|byte| byte.is_ascii_digit()) {
        plain.parse().ok()?
    } else {
        return None;
    };
    Some(Data::Number(if negative { number.checked_neg()? } else { number }.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_have_the_values_of_the_first_version() {
        let text = "a: yes\nb: 010\nc: 'yes'\nd: 1_000\ne: 12:30\nf: {g: no, h: off}\n";
        let value = parse_legacy("x.yaml", text, text, 1).expect("is YAML").to_value();
        assert_eq!(
            value,
            serde_json::json!({"a": true, "b": 8, "c": "yes", "d": 1000, "e": 750, "f": {"g": false, "h": false}})
        );
    }
}
