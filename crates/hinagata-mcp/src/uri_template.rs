//! URIs with placeholders, such as `logs://{day}/errors`. A placeholder matches one segment without a slash, and
//! `{+path}` matches several.

use std::collections::BTreeMap;

use hinagata_value::encoding::decode_percent_strict;

/// A URI with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UriTemplate {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Placeholder { name: String, slashes: bool },
}

impl UriTemplate {
    /// Parses a template. `None` for an unmatched brace or an invalid name.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some((before, behind)) = rest.split_once('{') {
            let (inside, after) = behind.split_once('}')?;
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            let (name, slashes) = inside.strip_prefix('+').map_or((inside, false), |name| (name, true));
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(is_name) {
                return None;
            }
            pieces.push(Piece::Placeholder { name: name.to_owned(), slashes });
            rest = after;
        }
        if rest.contains('}') {
            return None;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Some(Self { pieces })
    }

    /// Whether there are placeholders.
    pub(crate) fn has_placeholders(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Placeholder { .. }))
    }

    /// The names of the placeholders.
    pub(crate) fn placeholder_names(&self) -> Vec<&str> {
        let names = self.pieces.iter().filter_map(|piece| match piece {
            Piece::Placeholder { name, .. } => Some(name.as_str()),
            Piece::Text(_) => None,
        });
        names.collect()
    }

    /// Matches a URI and returns the values of the placeholders.
    pub(crate) fn match_uri(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        let mut values = BTreeMap::new();
        let mut rest = uri;
        for (number, piece) in self.pieces.iter().enumerate() {
            match piece {
                Piece::Text(text) => rest = rest.strip_prefix(text.as_str())?,
                Piece::Placeholder { name, slashes } => {
                    let end = match self.pieces.get(number + 1) {
                        Some(Piece::Text(next)) => rest.find(next.as_str())?,
                        Some(Piece::Placeholder { .. }) => return None,
                        None => rest.len(),
                    };
                    let (value, behind) = rest.split_at(end);
                    if value.is_empty() || (!slashes && value.contains('/')) {
                        return None;
                    }
                    values.insert(name.clone(), decode_percent_strict(value)?);
                    rest = behind;
                }
            }
        }
        rest.is_empty().then_some(values)
    }
}

/// Fills `{name}` placeholders. A placeholder without a value stays as it is.
pub(crate) fn fill_placeholders(text: &str, values: &BTreeMap<String, String>) -> String {
    let (mut all, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, behind)) = rest.split_once('{') {
        all.push_str(before);
        match behind.split_once('}').and_then(|(name, after)| Some((values.get(name)?, after))) {
            Some((value, after)) => {
                all.push_str(value);
                rest = after;
            }
            None => {
                all.push('{');
                rest = behind;
            }
        }
    }
    all.push_str(rest);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(template: &str, uri: &str) -> Option<Vec<(String, String)>> {
        UriTemplate::parse(template)
            .expect("is one")
            .match_uri(uri)
            .map(|values| values.into_iter().collect())
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn placeholders_match_one_or_several_segments() {
        assert_eq!(
            values("test://template/{id}/data", "test://template/12/data"),
            Some(vec![pair("id", "12")])
        );
        assert_eq!(values("test://{a}/{b}", "test://x/y%2Fz"), Some(vec![pair("a", "x"), pair("b", "y/z")]));
        assert_eq!(values("files://{+path}", "files://a/b.md"), Some(vec![pair("path", "a/b.md")]));
        for uri in [
            "test://template//data",
            "test://template/1/2/data",
            "test://template/1/dat",
            "test://template/%zz/data",
        ] {
            assert_eq!(values("test://template/{id}/data", uri), None, "{uri}");
        }
    }

    #[test]
    fn placeholders_are_filled_once() {
        let values = BTreeMap::from([("id".to_owned(), "{id}".to_owned())]);
        assert_eq!(fill_placeholders("a {id} {other} {", &values), "a {id} {other} {");
        for invalid in ["a{", "a}", "a{}", "a{b c}"] {
            assert_eq!(UriTemplate::parse(invalid), None, "{invalid}");
        }
        assert!(!UriTemplate::parse("test://plain").expect("is one").has_placeholders());
    }
}
