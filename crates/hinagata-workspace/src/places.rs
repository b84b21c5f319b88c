//! Paths of this machine, which callers on other machines do not see: the workspace and the state directory may be beneath
//! the home directory of a person.

use std::path::Path;

use serde_json::Value;

use crate::StateDir;

/// The directories whose paths are replaced in answers to callers on other machines. Logs keep them.
#[derive(Debug, Default)]
pub struct LocalPlaces(Vec<(String, Replacement)>);

#[derive(Clone, Copy, Debug)]
enum Replacement {
    /// Paths become relative.
    Relative,
    /// Paths start with the name of the variable that sets the directory.
    State,
    /// Paths start with `library`.
    Library,
}

impl LocalPlaces {
    /// The root of a workspace, and the state directory of its user.
    #[must_use]
    pub fn new(root: &Path, state: Option<&StateDir>) -> Self {
        let state = state.into_iter().flat_map(|state| spellings(state.path(), Replacement::State));
        // The state directory may be beneath the root, so it comes first.
        Self(state.chain(spellings(root, Replacement::Relative)).collect())
    }

    /// The same with the roots of libraries.
    #[must_use]
    pub fn with_libraries<'p>(mut self, roots: impl IntoIterator<Item = &'p Path>) -> Self {
        // A library may be beneath the root, so it comes first.
        for root in roots {
            self.0.splice(0..0, spellings(root, Replacement::Library));
        }
        self
    }

    /// Replaces the paths in all texts of `value`.
    pub fn hide_in_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(shown) = self.hide_in_text(text) {
                    *text = shown;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in_value(item)),
            Value::Object(members) => members.values_mut().for_each(|member| self.hide_in_value(member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// `text` with its paths replaced; `None` if it has none of them.
    #[must_use]
    pub fn hide_in_text(&self, text: &str) -> Option<String> {
        let mut shown = None;
        for (path, replacement) in &self.0 {
            let current = shown.as_deref().unwrap_or(text);
            if current.contains(path.as_str()) {
                shown = Some(replace_path(current, path, *replacement));
            }
        }
        shown
    }
}

/// The path as it is, and without links.
fn spellings(path: &Path, replacement: Replacement) -> Vec<(String, Replacement)> {
    let both = path.canonicalize().into_iter().chain([path.to_owned()]);
    // The path `/` occurs everywhere.
    let usable = both.filter(|path| path.is_absolute() && path.parent().is_some());
    usable.map(|path| (path.display().to_string(), replacement)).collect()
}

fn replace_path(text: &str, path: &str, replacement: Replacement) -> String {
    let mut parts = text.split(path);
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for rest in parts {
        let beneath = rest.strip_prefix(['/', '\\']);
        let goes_on = |next: char| next.is_alphanumeric() || matches!(next, '-' | '_');
        match (replacement, beneath) {
            (Replacement::Relative, Some(beneath)) => shown.push_str(beneath),
            // The path of another directory.
            (_, None) if rest.starts_with(goes_on) => shown.extend([path, rest]),
            (Replacement::Relative, None) => shown.extend([".", rest]),
            (Replacement::State, _) => shown.extend(["$", StateDir::VARIABLE, rest]),
            (Replacement::Library, _) => shown.extend(["library", rest]),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_become_relative_and_others_stay() {
        let places = LocalPlaces(vec![
            ("/home/ann/state".to_owned(), Replacement::State),
            ("/home/ann/prompts".to_owned(), Replacement::Library),
            ("/home/ann/work".to_owned(), Replacement::Relative),
        ]);
        for (text, shown) in [
            ("cannot read /home/ann/work/a/b.md: denied", "cannot read a/b.md: denied"),
            ("`/home/ann/work` is not a directory", "`.` is not a directory"),
            ("/home/ann/work/a and /home/ann/work/b", "a and b"),
            ("/home/ann/state/approvals.json is full", "$HINAGATA_STATE/approvals.json is full"),
            ("/home/ann/workshop/a", "/home/ann/workshop/a"),
            ("`/home/ann/prompts/a.md` of `/home/ann/prompts`", "`library/a.md` of `library`"),
            ("nothing here", "nothing here"),
        ] {
            let mut value = json!({"path": [text]});
            places.hide_in_value(&mut value);
            assert_eq!(value["path"][0], shown);
        }
    }
}
