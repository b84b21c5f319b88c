//! Finds settings files in TOML, YAML and JSON with comments, and follows `extends`.

use std::path::{Component, Path, PathBuf};

use hinagata_document::{
    Data, Error, LineColumn, Node, Place, Reason, Result, SyntaxProblem, jsonc, toml, yaml,
};
use serde_json::Value;

use super::{
    SettingsFile,
    files::{MAX_BYTES, unreadable_error},
};
use crate::{Directory, layout::SETTINGS_RANKS};

/// Maximum length of a chain of `extends`.
const MAX_CHAIN: usize = 16;

/// Maximum number of extended files; a file that is extended twice counts twice.
const MAX_FILES: usize = 64;

/// The settings files of the workspace in `directory`: extended files first, its own file last.
pub(super) fn read_workspace_files(directory: &Directory) -> Result<Vec<SettingsFile>> {
    for names in SETTINGS_RANKS {
        let mut found = Vec::new();
        for name in names {
            found.extend(read_file(directory, name)?);
        }
        match found.as_slice() {
            [] => {}
            [_] => return read_chain(directory, found.remove(0)),
            [one, other, ..] => {
                let message = format!("conflicting settings files `{}` and `{}`", one.name, other.name);
                return Err(Error::definition(Reason::Settings, message)
                    .with("files", found.iter().map(|file| file.name.clone()).collect::<Vec<_>>())
                    .with_hint("keep one of them"));
            }
        }
    }
    Ok(Vec::new())
}

fn read_file(directory: &Directory, name: &str) -> Result<Option<SettingsFile>> {
    let file = directory.read(name, MAX_BYTES).map_err(|error| unreadable_error(name, error.message()))?;
    // A broken link is an error, not a missing file.
    if file.is_none() && directory.path().join(name).symlink_metadata().is_ok() {
        return Err(unreadable_error(name, "it is a broken link"));
    }
    Ok(file.map(|file| SettingsFile { name: name.to_owned(), text: file.text.to_string() }))
}

/// The files that `file` extends, followed by the file itself.
fn read_chain(directory: &Directory, file: SettingsFile) -> Result<Vec<SettingsFile>> {
    let mut files = Vec::new();
    follow_extends(directory, file, &mut Vec::new(), &mut files)?;
    Ok(files)
}

fn follow_extends(
    directory: &Directory,
    file: SettingsFile,
    chain: &mut Vec<String>,
    files: &mut Vec<SettingsFile>,
) -> Result<()> {
    // The caller parses the file again and reports its syntax errors with all other problems.
    let Ok(node) = parse(&file.name, &file.text) else {
        files.push(file);
        return Ok(());
    };
    chain.push(file.name.clone());
    for (name, at) in extended_files(&file, &node)? {
        let place = || Place::at_line(&file.name, &file.text, at.line, at.column);
        if chain.contains(&name) {
            let around = chain.iter().chain([&name]).cloned().collect::<Vec<_>>().join(" → ");
            return Err(Error::definition(
                Reason::ExtendsCycle,
                format!("settings extend each other in a cycle: {around}"),
            )
            .with("settings", chain.clone())
            .at(place()));
        }
        if chain.len() >= MAX_CHAIN || files.len() >= MAX_FILES {
            return Err(extends_error("the settings extend too many files", place()));
        }
        let found = read_file(directory, &name).map_err(|error| error.at(place()))?;
        let Some(base) = found else {
            return Err(extends_error(&format!("extended file `{name}` not found"), place()));
        };
        follow_extends(directory, base, chain, files)?;
    }
    chain.pop();
    files.push(file);
    Ok(())
}

/// The files that `file` extends, as paths from the workspace root.
fn extended_files(file: &SettingsFile, node: &Node) -> Result<Vec<(String, LineColumn)>> {
    let Some(extends) = node.get("extends").filter(|extends| !extends.is_null()) else {
        return Ok(Vec::new());
    };
    let items = extends.as_list().map_or_else(|| vec![extends], |items| items.iter().collect());
    let path = |item: &Node| {
        let place = || Place::at_line(&file.name, &file.text, item.at.line, item.at.column);
        let Some(written) = item.as_str() else {
            return Err(extends_error(&format!("`extends` must name files, not {}", item.kind()), place()));
        };
        let beside = Path::new(&file.name).parent().unwrap_or(Path::new(""));
        let joined = normalize_path(&beside.join(written))
            .ok_or_else(|| extends_error(&format!("`{written}` is outside of the workspace"), place()))?;
        Ok((joined, item.at))
    };
    items.into_iter().map(path).collect()
}

fn extends_error(message: &str, place: Place) -> Error {
    Error::definition(Reason::Settings, message).with("setting", "extends").at(place)
}

/// The path without `.` and `..`; `None` if it is outside of the root.
fn normalize_path(path: &Path) -> Option<String> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.file_name()?;
                plain.pop();
            }
            Component::Normal(name) => plain.push(name),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    plain.to_str().map(|path| path.replace('\\', "/"))
}

/// Parses the content of `file` in the format that its name selects.
pub(crate) fn parse(file: &str, text: &str) -> Result<Node, Vec<SyntaxProblem>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let name = file.rsplit('/').next().unwrap_or(file);
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("json" | "jsonc") => jsonc_map(file, text),
        Some("yaml" | "yml") => yaml_map(file, text),
        // A file without an extension is JSON or YAML.
        Some("eddierc") if text.trim_start().starts_with(['{', '/']) => jsonc_map(file, text),
        Some("eddierc") => yaml_map(file, text),
        _ => toml::parse(file, text),
    }
}

fn yaml_map(file: &str, text: &str) -> Result<Node, Vec<SyntaxProblem>> {
    let node = yaml::parse(file, text, text, 1)
        .map_err(|error| vec![(error.message().to_owned(), error.place().cloned())])?;
    require_map(file, text, node)
}

/// Accepts a map; an empty file is an empty map, anything else is an error.
fn require_map(file: &str, text: &str, node: Node) -> Result<Node, Vec<SyntaxProblem>> {
    match &node.data {
        Data::Map(_) => Ok(node),
        Data::Null => Ok(Node::new(node.at, Data::Map(Vec::new()))),
        _ => {
            let place = Place::at_line(file, text, node.at.line, node.at.column);
            Err(vec![(format!("settings must be a map, not {}", node.kind()), Some(place))])
        }
    }
}

/// JSON with comments and trailing commas.
fn jsonc_map(file: &str, text: &str) -> Result<Node, Vec<SyntaxProblem>> {
    require_map(file, text, jsonc::parse(file, text).map_err(|problem| vec![problem])?)
}

/// A key in snake_case: `maxBytes` is `max_bytes`.
#[must_use]
pub fn snake_case(key: &str) -> String {
    let mut snake = String::with_capacity(key.len() + 4);
    let mut before = '_';
    for character in key.chars() {
        if character.is_ascii_uppercase() {
            if before.is_ascii_lowercase() || before.is_ascii_digit() {
                snake.push('_');
            }
            snake.push(character.to_ascii_lowercase());
        } else {
            snake.push(character);
        }
        before = character;
    }
    snake
}

/// The content of the settings at `path` and the files that they extend; `merging` says how their maps are merged.
///
/// The extension of the file selects JSON, JSON with comments, YAML or TOML.
///
/// # Errors
/// Code `definition` with the place if a file cannot be read, has a syntax error, or extends itself.
pub fn read_config(path: &Path, merging: Merging) -> Result<Value> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let missing = || unreadable_error(&path.display().to_string(), "file not found");
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = Directory::open(parent)?.ok_or_else(missing)?;
    let file = read_file(&directory, name)?.ok_or_else(missing)?;
    let mut merged = Value::Object(serde_json::Map::new());
    for file in read_chain(&directory, file)? {
        let node = parse(&file.name, &file.text).map_err(|problems| {
            let (message, place) = problems.into_iter().next().unwrap_or_default();
            let error = Error::definition(Reason::Syntax, message).with("file", file.name.as_str());
            place.into_iter().fold(error, Error::at)
        })?;
        merge_into(&mut merged, node.to_value(), merging);
    }
    Ok(merged)
}

/// The place of `setting`, a path such as `agents.subagents[0].prompt`, in the settings at `path` or a file that they
/// extend: where it is set last, or the place of its nearest existing parent.
#[must_use]
pub fn place_in_config(path: &Path, setting: &str) -> Option<Place> {
    let name = path.file_name()?.to_str()?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = Directory::open(parent).ok()??;
    let files = read_chain(&directory, read_file(&directory, name).ok()??).ok()?;
    let mut best: Option<(usize, Place)> = None;
    for file in files.iter().rev() {
        let Ok(node) = parse(&file.name, &file.text) else { continue };
        let (depth, at) = deepest_match(&node, setting);
        if best.as_ref().is_none_or(|(known, _)| depth > *known) {
            best = Some((depth, Place::at_line(&file.name, &file.text, at.line, at.column)));
        }
    }
    best.map(|(_, place)| place)
}

/// How many steps of the path `setting` exist in `root`, and the place of the last one.
fn deepest_match(root: &Node, setting: &str) -> (usize, LineColumn) {
    let (mut node, mut depth) = (root, 0);
    for step in setting.split(['.', '[']).map(|step| step.trim_end_matches(']')) {
        let next = match (node.as_list(), node.as_map()) {
            (Some(items), _) => step.parse().ok().and_then(|place: usize| items.get(place)),
            (None, Some(entries)) => {
                entries.iter().find(|(key, _)| snake_case(key) == snake_case(step)).map(|(_, node)| node)
            }
            _ => None,
        };
        let Some(next) = next else { break };
        (node, depth) = (next, depth + 1);
    }
    (depth, node.at)
}

/// How the maps of settings and of the files that they extend are merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Merging {
    /// Maps merge by key at every depth.
    #[default]
    Deep,
    /// The same, but `variables` are replaced as a whole, as in the profile `eddie`.
    WholeVariables,
}

impl Merging {
    /// The merging of the profile that `compat` names.
    pub(super) fn for_profile(compat: Option<&super::layers::LayerValue>) -> Self {
        match compat.and_then(|compat| compat.value.as_str()) {
            Some("eddie") => Self::WholeVariables,
            _ => Self::Deep,
        }
    }

    /// Whether the value of the last key of `path` is replaced as a whole.
    pub(super) fn replaces(self, path: &str) -> bool {
        self == Self::WholeVariables && path.rsplit('.').next() == Some("variables")
    }
}

/// Merges `over` into `base`: maps merge by key, everything else is replaced.
pub(super) fn merge_into(base: &mut Value, over: Value, merging: Merging) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                match base.get_mut(&key).filter(|_| !merging.replaces(&key)) {
                    Some(below) => merge_into(below, value, merging),
                    None => {
                        base.insert(key, value);
                    }
                }
            }
        }
        (base, over) => *base = over,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::{collection::vec, prelude::*};
    use serde_json::json;

    use super::*;

    fn place(files: &[(&str, &str)]) -> tempfile::TempDir {
        let place = tempfile::tempdir().expect("a temporary directory");
        for (name, text) in files {
            let path = place.path().join(name);
            fs::create_dir_all(path.parent().expect("has one")).expect("made");
            fs::write(path, text).expect("written");
        }
        place
    }

    fn names(place: &tempfile::TempDir) -> Result<Vec<String>> {
        let directory = Directory::open(place.path())?.expect("is there");
        Ok(read_workspace_files(&directory)?.into_iter().map(|file| file.name).collect())
    }

    #[test]
    fn the_first_rank_that_is_there_counts() {
        let all = [("hinagata.toml", ""), ("hinagata.config.yaml", ""), (".eddierc", "")];
        assert_eq!(names(&place(&all)).expect("reads"), ["hinagata.toml"]);
        assert_eq!(names(&place(&all[1..])).expect("reads"), ["hinagata.config.yaml"]);
        assert_eq!(names(&place(&all[2..])).expect("reads"), [".eddierc"]);
        assert!(names(&place(&[])).expect("reads").is_empty());
    }

    #[test]
    fn two_files_of_one_rank_are_an_error() {
        let error = names(&place(&[("eddie.config.json", "{}"), (".eddierc.yml", "")])).expect_err("two");
        assert_eq!(error.reason(), Some(Reason::Settings));
        assert!(error.message().contains(".eddierc.yml"), "{error}");
    }

    #[test]
    fn extended_settings_rank_below() {
        let place = place(&[
            ("a.json", r#"{"extends": ["./base/b.yaml"], "context": {"maxFiles": 2}}"#),
            ("base/b.yaml", "extends: ../c.toml\ncontext: {maxFiles: 1, include: [b]}\n"),
            ("c.toml", "[context]\ninclude = ['c']\nexclude = ['x']\n"),
        ]);
        let merged = read_config(&place.path().join("a.json"), Merging::Deep).expect("reads");
        assert_eq!(merged["context"], json!({"include": ["b"], "exclude": ["x"], "maxFiles": 2}));
    }

    #[test]
    fn settings_that_extend_each_other_are_an_error() {
        let place =
            place(&[("a.json", "{\n  \"extends\": \"b.json\"\n}"), ("b.json", r#"{"extends": "./a.json"}"#)]);
        let error = read_config(&place.path().join("a.json"), Merging::Deep).expect_err("a circle");
        assert_eq!(error.reason(), Some(Reason::ExtendsCycle));
        assert!(error.message().contains("a.json → b.json → a.json"), "{error}");
        assert_eq!(error.place().map(|place| (place.file.as_str(), place.line)), Some(("b.json", 1)));
    }

    #[test]
    fn extended_files_must_exist_in_the_workspace() {
        for text in [
            r#"{"extends": "../x.json"}"#,
            r#"{"extends": "/etc/x.json"}"#,
            r#"{"extends": "x.json"}"#,
            r#"{"extends": 1}"#,
        ] {
            let place = place(&[("a.json", text)]);
            let error = read_config(&place.path().join("a.json"), Merging::Deep).expect_err(text);
            assert_eq!(
                error.place().map(|place| (place.line, place.column > 1)),
                Some((1, true)),
                "{error:?}"
            );
        }
    }

    #[test]
    fn json_may_have_comments_and_trailing_commas_and_nothing_more() {
        let text = "{ // a\n \"a\": [1, 2.5,], /* b */ \"b\": {\"c\": null,},\n}";
        let node = parse("x.jsonc", text).expect("reads");
        assert_eq!(node.to_value(), json!({"a": [1, 2.5], "b": {"c": null}}));
        let inner = node.get("b").and_then(|b| b.get("c")).expect("is there");
        assert_eq!((inner.at.line, inner.at.column), (2, 37));
        for broken in [
            "{'a': 1}",
            "{a: 1}",
            "{\"a\": 0x1}",
            "{\"a\" 1}",
            "{\"a\": 1 \"b\": 2}",
            "[",
            "[1]",
            "{\"a\": 1, \"a\": 2}",
        ] {
            let problems = parse("x.json", broken).expect_err(broken);
            assert!(problems[0].1.is_some(), "{broken} {problems:?}");
        }
        assert!(parse("x.json", &"[".repeat(100_000)).is_err());
        assert_eq!(parse(".eddierc", "{\"a\": 1}").expect("JSON").to_value(), json!({"a": 1}));
        assert_eq!(parse(".eddierc", "a: 1").expect("YAML").to_value(), json!({"a": 1}));
        assert_eq!(parse("x.yaml", "").expect("is empty").to_value(), json!({}));
    }

    /// JSON data, three levels deep.
    fn data() -> impl Strategy<Value = Value> {
        let plain = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_filter("is a number", |number| number.is_finite()).prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        plain.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Value::from),
                vec((any::<String>(), inner), 0..4)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    /// Tokens of JSON with comments, in any order.
    fn soup() -> impl Strategy<Value = String> {
        const PARTS: [&str; 24] = [
            "{",
            "}",
            "[",
            "]",
            ":",
            ",",
            "\"a\"",
            "\"b\"",
            "\"\\u00e9\"",
            "\"",
            "1",
            "-0.5e3",
            "01",
            "true",
            "null",
            "nul",
            " ",
            "\n",
            "// x\n",
            "/* y */",
            "/*",
            "\\",
            "é",
            "\u{feff}",
        ];
        vec(prop::sample::select(&PARTS[..]), 0..40).prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn json_is_read_as_json(value in vec((any::<String>(), data()), 0..4)) {
            let value = Value::Object(value.into_iter().collect());
            for text in [value.to_string(), format!("{value:#}")] {
                let read = parse("x.jsonc", &text).map(|node| node.to_value());
                prop_assert_eq!(read, Ok(value.clone()), "{}", text);
            }
        }

        #[test]
        fn no_text_is_read_in_a_way_that_json_contradicts(text in prop_oneof![any::<String>(), soup()]) {
            let parsed = parse("x.json", &text).map(|node| node.to_value());
            if let (Ok(parsed), Ok(json)) = (&parsed, serde_json::from_str::<Value>(&text)) {
                // An empty file sets nothing.
                let json = if json.is_null() { json!({}) } else { json };
                prop_assert_eq!(parsed, &json, "{}", text);
            }
            if let Err(problems) = parsed {
                prop_assert!(problems.iter().all(|(_, place)| place.is_some()), "{:?}", problems);
            }
        }
    }

    #[test]
    fn both_spellings_of_a_key_are_one() {
        for (camel, snake) in
            [("maxBytes", "max_bytes"), ("max_bytes", "max_bytes"), ("baseURL", "base_url"), ("x1Y", "x1_y")]
        {
            assert_eq!(snake_case(camel), snake);
        }
    }
}
