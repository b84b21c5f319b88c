//! Files that are there and cannot be used, in a workspace in which calls need every one of them.

use std::{fs, os::unix::fs::symlink, path::Path};

use serde_json::Value;

use super::support::{Home, Ran};

/// A way in which a file is there and cannot be used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Way {
    /// Its content has no meaning.
    Broken,
    /// It ends too early.
    Truncated,
    NotText,
    Directory,
    /// A link that leads nowhere.
    Dangling,
    /// A link to itself.
    Circle,
    /// A link to a good file outside of the workspace.
    Outside,
    Oversized,
    /// It is not there any more.
    Gone,
    /// It can be used, and is not what it was.
    Changed,
}

pub(crate) const ALL: [Way; 8] = [
    Way::Broken,
    Way::Truncated,
    Way::NotText,
    Way::Directory,
    Way::Dangling,
    Way::Circle,
    Way::Outside,
    Way::Oversized,
];

/// Of a text that has no syntax to break.
pub(crate) const PLAIN: [Way; 6] =
    [Way::NotText, Way::Directory, Way::Dangling, Way::Circle, Way::Outside, Way::Oversized];

/// Of a file of the user's own, which may be a link to anywhere.
pub(crate) const OF_USER: [Way; 6] =
    [Way::Broken, Way::Truncated, Way::NotText, Way::Directory, Way::Dangling, Way::Circle];

/// Makes the file at `path` unreadable; what it held.
pub(crate) fn spoil(home: &Home, path: &Path, way: Way) -> Vec<u8> {
    let good = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    fs::remove_file(path).expect("was there");
    match way {
        Way::Broken => fs::write(path, "{ this: is [no {% file ][ \u{1}"),
        Way::Truncated => fs::write(path, &good[..good.len() / 2]),
        Way::NotText => fs::write(path, [&good[..], b"\xff\xfe"].concat()),
        Way::Directory => fs::create_dir(path),
        Way::Dangling => symlink("nowhere", path),
        Way::Circle => symlink(path.file_name().expect("has a name"), path),
        Way::Outside => {
            let outside = home.write_outside("elsewhere/good", &good);
            symlink(outside, path)
        }
        Way::Oversized => fs::write(path, [&good[..], &vec![b' '; 5 << 20]].concat()),
        Way::Gone => Ok(()),
        Way::Changed => fs::write(path, [&good[..], b"\n"].concat()),
    }
    .expect("can be spoiled");
    good
}

/// Puts back what `spoil` took away.
pub(crate) fn mend(path: &Path, good: &[u8]) {
    let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
    fs::write(path, good).expect("is written");
}

/// A workspace in which every call below works and has nothing to tell.
pub(crate) fn furnished() -> Home {
    let home = Home::new();
    let prompts = "user_data/shared/prompts";
    for (path, text) in [
        ("hello/template.md", "Hello {{ name }}{{ mark }}"),
        (
            "defaults.json",
            r#"{"variables": {"optional": [{"name": "mark", "default": "!"}]}, "caps": {"max_output_size": 900}}"#,
        ),
        ("general_system/template.md", "my own"),
        (
            "resolution.json",
            r#"{"general_system": {"source": "user_data/shared/prompts/general_system", "candidates": []}}"#,
        ),
        ("partials/tone.md", "be kind"),
        ("partials/output_format.md", "my own format"),
        ("toned/template.md", "{% include 'partials/tone.md' %}"),
        ("formatted/template.md", "{% include 'partials/output_format.md' %}"),
        ("matter/template.md", "---\ninputs: {name: {type: string, default: x}}\n---\nHi {{ name }}"),
        ("python/prompt.py", "METADATA = {\"name\": \"Python\"}\nTEMPLATE = \"Hi\"\n"),
        ("yaml/prompt.yaml", "title: Yaml\nuserPrompt: Hi\n"),
        ("json/prompt.json", r#"{"userPrompt": "Hi"}"#),
        ("named/prompt.json", r#"{"template": "body.md"}"#),
        ("named/body.md", "Hi"),
        ("module/module.yaml", "uses: [./other.yaml]\nsections: {objective: [Answer.]}\n"),
        ("module/other.yaml", "sections: {guidelines: [Be kind.]}\n"),
        ("child/prompt.json", r#"{"extends": "json", "template": null}"#),
        (
            "file/prompt.json",
            r#"{"userPrompt": "{{ note }}", "parameters": [{"name": "note", "type": "file"}]}"#,
        ),
        (
            "part/prompt.json",
            r#"{"messages": [{"role": "user", "content": [{"type": "resource", "uri": "docs://note", "file": "note.md"}]}]}"#,
        ),
        ("part/note.md", "a note"),
    ] {
        home.write(&format!("{prompts}/{path}"), text);
    }
    home.write("user_data/shared/vocab.json", r#"{"prompt.hello": ["prompt.hi"]}"#);
    home.write("user_data/shared/vocab.txt", "prompt.hello, prompt.hey\n");
    home.write(
        "user_data/shared/agents/rumi/agent.json",
        r#"{"name": "Rumi", "prompt_id": "hello", "prompt_variables": {"name": "Rumi"}}"#,
    );
    home.write("hinagata.toml", "[render]\nlanguage = \"en\"\n");
    home.write("note.md", "a note of the workspace");
    home.write("call.json", r#"{"name": "Ada"}"#);
    home.write_outside("config/hinagata/config.toml", "[render]\ntimezone = \"UTC\"\n");
    home
}

/// What every message calls a file of the workspace, at least.
pub(crate) fn called(file: &str) -> &str {
    file.strip_prefix("user_data/shared/prompts/").unwrap_or(file)
}

/// Whether a call failed or warned, and named the file.
pub(crate) fn is_told(ran: &Ran, called: &str) -> bool {
    ran.stderr.contains(called) || warnings(ran).is_some_and(|warnings| warnings.contains(called))
}

/// Whether the place in the file is told too: its line and its column, in words or as data.
pub(crate) fn is_placed(ran: &Ran, file: &str) -> bool {
    let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let in_words = |(at, _): (usize, &str)| {
        let mut parts = ran.stderr[at + file.len()..].splitn(4, ':');
        parts.next() == Some("") && parts.next().is_some_and(number) && parts.next().is_some_and(number)
    };
    let as_data = |text: &str| {
        ["line", "column"].iter().all(|key| text.split(&format!("\"{key}\":")).skip(1).any(number))
    };
    ran.stderr.match_indices(file).any(in_words)
        || as_data(&ran.stderr)
        || warnings(ran).is_some_and(|warnings| as_data(&warnings))
}

/// Whether what is wrong with a file stands somewhere in it.
pub(crate) fn has_place(file: &str, way: Way) -> bool {
    matches!(way, Way::Broken | Way::Truncated)
        && [".json", ".toml", ".yaml"].iter().any(|ending| file.ends_with(ending))
}

/// The warnings that stand in the result of a call with `--json`.
fn warnings(ran: &Ran) -> Option<String> {
    match serde_json::from_str::<Value>(&ran.stdout) {
        Ok(Value::Object(all)) if ran.code == 0 => all.get("warnings").map(Value::to_string),
        _ => None,
    }
}

/// A call in words, as it is and with `--json`.
pub(crate) fn both_forms(call: &str) -> [Vec<&str>; 2] {
    let words: Vec<&str> = call.split(' ').collect();
    [words.clone(), [&words[..], &["--json"]].concat()]
}

/// Fails with all calls that ended well in silence.
#[track_caller]
pub(crate) fn assert_none_silent(silent: &[String]) {
    assert!(silent.is_empty(), "{} calls are silent:\n{}", silent.len(), silent.join("\n"));
}
