//! No call ends well while something that it needed could not be read and nobody was told: every kind of file that a call
//! can need, in every way in which it can be there and be unreadable, at the doors.

use std::{fs, os::unix::fs::symlink, path::Path};

use serde_json::{Value, json};

use crate::{
    daemon::Daemon,
    support::{Home, Ran},
};

/// A way in which a file is there and cannot be used.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
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
}

const ALL: [Way; 8] = [
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
const PLAIN: [Way; 6] =
    [Way::NotText, Way::Directory, Way::Dangling, Way::Circle, Way::Outside, Way::Oversized];

/// Of a file of the user's own, which may be a link to anywhere.
const OF_USER: [Way; 6] =
    [Way::Broken, Way::Truncated, Way::NotText, Way::Directory, Way::Dangling, Way::Circle];

/// Makes the file at `path` unreadable.
fn spoil(home: &Home, path: &Path, way: Way) {
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
    }
    .expect("can be spoiled");
}

/// A workspace in which every call below works and has nothing to tell.
fn furnished() -> Home {
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

/// Trusts the workspace as it is.
fn trust(home: &Home) {
    if home.run(&["trust", "--yes"]).code != 0 {
        home.done(&["trust"]);
    }
}

/// A file that a call needs: the call as text and as JSON has to name it once it cannot be read.
struct Needed {
    file: &'static str,
    /// What a message calls it.
    called: &'static str,
    ways: &'static [Way],
    calls: &'static [&'static [&'static str]],
}

/// Whether a call failed or warned, and named the file.
fn is_told(ran: &Ran, called: &str) -> bool {
    let warnings = match serde_json::from_str::<Value>(&ran.stdout) {
        Ok(Value::Object(all)) if ran.code == 0 => all.get("warnings").map(Value::to_string),
        _ => None,
    };
    ran.stderr.contains(called) || warnings.is_some_and(|warnings| warnings.contains(called))
}

fn check(needed: &[Needed]) {
    let whole = furnished();
    let as_json = |call: &[&'static str]| call.iter().copied().chain(["--json"]).collect::<Vec<_>>();
    for call in needed.iter().flat_map(|needed| needed.calls) {
        for call in [call.to_vec(), as_json(call)] {
            let ran = whole.done(&call);
            assert!(ran.stderr.is_empty() && !is_told(&ran, "e"), "{call:?}: {ran:?}");
        }
    }
    let mut silent = Vec::new();
    for Needed { file, called, ways, calls } in needed {
        for &way in *ways {
            let home = furnished();
            spoil(&home, &home.path(file), way);
            for call in calls.iter().flat_map(|call| [call.to_vec(), as_json(call)]) {
                let ran = home.run(&call);
                if !is_told(&ran, called) {
                    silent.push(format!("{file} {way:?}, hina {}: {ran:?}", call.join(" ")));
                }
            }
        }
    }
    assert!(silent.is_empty(), "{} calls are silent:\n{}", silent.len(), silent.join("\n"));
}

#[test]
fn files_beside_the_prompts_are_told() {
    check(&[
        Needed {
            file: "user_data/shared/prompts/defaults.json",
            called: "defaults.json",
            ways: &ALL,
            calls: &[
                &["render", "hello", "name=Ada"],
                &["show", "hello"],
                &["validate", "hello", "name=Ada"],
            ],
        },
        Needed {
            file: "user_data/shared/prompts/resolution.json",
            called: "resolution.json",
            ways: &ALL,
            calls: &[
                &["render", "general_system"],
                &["render", "hello", "name=Ada"],
                &["show", "hello"],
                &["list"],
                &["candidates", "general_system"],
            ],
        },
    ]);
}

#[test]
fn vocabulary_and_agents_are_told() {
    check(&[
        Needed {
            file: "user_data/shared/vocab.json",
            called: "vocab.json",
            ways: &ALL,
            calls: &[
                &["render", "hey", "name=Ada"],
                &["render", "hi", "name=Ada"],
                &["vocab", "prompt", "hey"],
            ],
        },
        Needed {
            file: "user_data/shared/vocab.txt",
            called: "vocab.txt",
            ways: &PLAIN,
            calls: &[&["render", "hi", "name=Ada"], &["vocab"]],
        },
        Needed {
            file: "user_data/shared/agents/rumi/agent.json",
            called: "agents/rumi/agent.json",
            ways: &ALL,
            calls: &[
                &["render", "hello", "--agent", "rumi"],
                &["render", "hello", "--context", "agent_id=rumi"],
            ],
        },
    ]);
}

#[test]
fn files_of_prompts_are_told() {
    const MARKUP: [Way; 7] =
        [Way::Broken, Way::NotText, Way::Directory, Way::Dangling, Way::Circle, Way::Outside, Way::Oversized];
    let of = |file, called, ways, calls| Needed { file, called, ways, calls };
    check(&[
        of(
            "user_data/shared/prompts/matter/template.md",
            "matter/template.md",
            &MARKUP,
            &[&["render", "matter"]],
        ),
        of(
            "user_data/shared/prompts/python/prompt.py",
            "python/prompt.py",
            &ALL,
            &[&["render", "python"], &["show", "python"]],
        ),
        of("user_data/shared/prompts/yaml/prompt.yaml", "yaml/prompt.yaml", &MARKUP, &[&["render", "yaml"]]),
        of(
            "user_data/shared/prompts/json/prompt.json",
            "json/prompt.json",
            &ALL,
            &[&["render", "json"], &["render", "child"]],
        ),
        of("user_data/shared/prompts/named/body.md", "named/body.md", &MARKUP, &[&["render", "named"]]),
        of(
            "user_data/shared/prompts/module/other.yaml",
            "module/other.yaml",
            &MARKUP,
            &[&["render", "module"]],
        ),
        of(
            "user_data/shared/prompts/general_system/template.md",
            "general_system/template.md",
            &MARKUP,
            &[&["render", "general_system"]],
        ),
    ]);
}

#[test]
fn shared_parts_and_files_that_calls_name_are_told() {
    let of = |file, called, ways, calls| Needed { file, called, ways, calls };
    check(&[
        of("user_data/shared/prompts/partials/tone.md", "partials/tone.md", &PLAIN, &[&["render", "toned"]]),
        // There is a built-in part of that name, which must not take its place.
        of(
            "user_data/shared/prompts/partials/output_format.md",
            "output_format.md",
            &PLAIN,
            &[&["render", "formatted"]],
        ),
        of(
            "user_data/shared/prompts/part/note.md",
            "note.md",
            &[Way::Directory, Way::Dangling, Way::Circle, Way::Outside],
            &[&["render", "part"]],
        ),
        of("note.md", "note.md", &PLAIN, &[&["render", "file", "note=note.md"]]),
        of(
            "call.json",
            "call.json",
            &[Way::Broken, Way::Truncated, Way::NotText, Way::Directory, Way::Dangling, Way::Circle],
            &[&["render", "hello", "--vars", "call.json"]],
        ),
        of(
            "hinagata.toml",
            "hinagata.toml",
            &[
                Way::Broken,
                Way::NotText,
                Way::Directory,
                Way::Dangling,
                Way::Circle,
                Way::Outside,
                Way::Oversized,
            ],
            &[&["render", "hello", "name=Ada"], &["list"]],
        ),
    ]);
}

/// What is the user's own: settings and decisions.
#[test]
fn files_of_the_user_are_told() {
    let mut silent = Vec::new();
    for (file, called) in [("config/hinagata/config.toml", "config.toml"), ("state/trust.json", "trust.json")]
    {
        for way in OF_USER {
            let home = furnished();
            trust(&home);
            spoil(&home, &home.outside(file), way);
            for call in [
                &["render", "hello", "name=Ada"][..],
                &["render", "hello", "name=Ada", "--json"],
                &["list"],
                &["doctor"],
            ] {
                let ran = home.run(call);
                let told = is_told(&ran, called) || call == ["doctor"] && ran.code != 0 && ran.has(called);
                if !told {
                    silent.push(format!("{file} {way:?}, hina {}: {ran:?}", call.join(" ")));
                }
            }
        }
    }
    assert!(silent.is_empty(), "{} calls are silent:\n{}", silent.len(), silent.join("\n"));
}

/// A name for what is done to a path, and the doing.
type Disturb = (&'static str, fn(&Path));

/// Directories that stand for whole search places.
#[test]
fn search_places_are_told() {
    let ways: [Disturb; 4] = [
        ("a file", |path| fs::write(path, "").expect("written")),
        ("dangling", |path| symlink("nowhere", path).expect("linked")),
        ("circle", |path| symlink(path.file_name().expect("has a name"), path).expect("linked")),
        ("outside", |path| symlink("/usr", path).expect("linked")),
    ];
    let mut silent = Vec::new();
    for place in ["user_data", "user_data/shared", "user_data/shared/prompts", "user_data/packs", "more"] {
        for (way, spoil) in ways {
            let home = furnished();
            home.write("hinagata.toml", "[catalog]\npaths = [\"more\"]\n");
            let path = home.path(place);
            let _ = fs::remove_dir_all(&path);
            spoil(&path);
            for call in [
                &["render", "general_system", "agent_name=Rumi"][..],
                &["render", "general_system", "agent_name=Rumi", "--json"],
                &["render", "nothing_such"],
                &["list"],
                &["list", "--json"],
            ] {
                let ran = home.run(call);
                if !is_told(&ran, place) {
                    silent.push(format!("{place} {way}, hina {}: {ran:?}", call.join(" ")));
                }
            }
            let doctor = home.run(&["doctor"]);
            if doctor.code == 0 || !doctor.has(place) {
                silent.push(format!("{place} {way}, hina doctor: {doctor:?}"));
            }
        }
    }
    assert!(silent.is_empty(), "{} calls are silent:\n{}", silent.len(), silent.join("\n"));
}

#[test]
fn a_search_place_that_the_settings_name_and_nobody_made_is_told() {
    let home = furnished();
    home.write("hinagata.toml", "[catalog]\npaths = [\"more\"]\n");
    let ran = home.done(&["render", "hello", "name=Ada", "--json"]);
    assert!(is_told(&ran, "there is no directory `more`"), "{ran:?}");
    fs::create_dir(home.path("more")).expect("made");
    assert_eq!(home.done(&["render", "hello", "name=Ada", "--json"]).json()["warnings"], json!([]));
}

#[test]
fn doctor_tells_of_every_file_beside_the_prompts() {
    for file in [
        "user_data/shared/prompts/defaults.json",
        "user_data/shared/prompts/resolution.json",
        "user_data/shared/vocab.json",
        "user_data/shared/vocab.txt",
        "user_data/shared/agents/rumi/agent.json",
        "user_data/shared/prompts/hello/template.md",
    ] {
        for way in PLAIN {
            let home = furnished();
            spoil(&home, &home.path(file), way);
            let ran = home.run(&["doctor"]);
            assert!(ran.code == 1 && ran.stdout.contains(file), "{file} {way:?}: {ran:?}");
        }
    }
}

/// The daemon: what a call needs and cannot be read is in its answer.
#[test]
fn answers_of_the_daemon_tell() {
    let hello = |context: Value| ("hello", json!({"variables": {"name": "Ada"}, "context": context}));
    let cases = [
        ("user_data/shared/prompts/defaults.json", "defaults.json", hello(json!({}))),
        ("user_data/shared/prompts/resolution.json", "resolution.json", hello(json!({}))),
        ("user_data/shared/vocab.json", "vocab.json", ("hey", json!({"variables": {"name": "Ada"}}))),
        (
            "user_data/shared/agents/rumi/agent.json",
            "agents/rumi/agent.json",
            hello(json!({"agent_id": "rumi"})),
        ),
        ("user_data/shared/prompts/hello/template.md", "hello/template.md", hello(json!({}))),
        ("user_data/shared/prompts/partials/tone.md", "partials/tone.md", ("toned", json!({}))),
    ];
    let mut silent = Vec::new();
    for (file, called, (prompt, body)) in &cases {
        for way in [Way::NotText, Way::Directory, Way::Dangling] {
            let home = furnished();
            spoil(&home, &home.path(file), way);
            let daemon = Daemon::start(&home, &[]);
            let answer = daemon.post(&format!("/api/render/prompts/{prompt}"), body).body;
            let parsed: Value = serde_json::from_str(&answer).unwrap_or_default();
            let told = match parsed["status"] == "success" {
                true => parsed["warnings"].to_string().contains(called),
                false => answer.contains(called),
            };
            if !told {
                silent.push(format!("{file} {way:?}, POST {prompt}: {answer}"));
            }
        }
    }
    assert!(silent.is_empty(), "{} answers are silent:\n{}", silent.len(), silent.join("\n"));
}
