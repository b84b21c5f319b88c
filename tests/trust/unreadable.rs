//! No call ends well while something that it needed could not be read and nobody was told: every kind of file that a call
//! can need, in every way in which it can be there and be unreadable.

use std::{fs, os::unix::fs::symlink, path::Path};

use serde_json::json;

use super::spoiled::{
    ALL, OF_USER, PLAIN, Way, assert_none_silent, both_forms, called, furnished, has_place, is_placed,
    is_told, spoil,
};

/// Of a text whose first half is a text as well.
const MARKUP: [Way; 7] =
    [Way::Broken, Way::NotText, Way::Directory, Way::Dangling, Way::Circle, Way::Outside, Way::Oversized];

/// A file of the workspace that calls need: each has to name it once it cannot be read.
type Needed = (&'static str, &'static [Way], &'static [&'static str]);

fn check(needed: &[Needed]) {
    let whole = furnished();
    for call in needed.iter().flat_map(|(_, _, calls)| *calls).flat_map(|call| both_forms(call)) {
        let ran = whole.done(&call);
        assert!(ran.stderr.is_empty() && !is_told(&ran, "e"), "{call:?}: {ran:?}");
    }
    let mut silent = Vec::new();
    for (file, ways, calls) in needed {
        for &way in *ways {
            let home = furnished();
            spoil(&home, &home.path(file), way);
            for call in calls.iter().flat_map(|call| both_forms(call)) {
                let ran = home.run(&call);
                let called = called(file);
                if !is_told(&ran, called) || has_place(file, way) && !is_placed(&ran, called) {
                    silent.push(format!("{file} {way:?}, hina {}: {ran:?}", call.join(" ")));
                }
            }
        }
    }
    assert_none_silent(&silent);
}

#[test]
fn files_beside_the_prompts_are_told() {
    check(&[
        (
            "user_data/shared/prompts/defaults.json",
            &ALL,
            &["render hello name=Ada", "show hello", "validate hello name=Ada"],
        ),
        (
            "user_data/shared/prompts/resolution.json",
            &ALL,
            &[
                "render general_system",
                "render hello name=Ada",
                "show hello",
                "list",
                "candidates general_system",
            ],
        ),
    ]);
}

#[test]
fn vocabulary_and_agents_are_told() {
    check(&[
        (
            "user_data/shared/vocab.json",
            &ALL,
            &["render hey name=Ada", "render hi name=Ada", "vocab prompt hey"],
        ),
        ("user_data/shared/vocab.txt", &PLAIN, &["render hi name=Ada", "vocab"]),
        (
            "user_data/shared/agents/rumi/agent.json",
            &ALL,
            &["render hello --agent rumi", "render hello --context agent_id=rumi"],
        ),
    ]);
}

#[test]
fn files_of_prompts_are_told() {
    check(&[
        ("user_data/shared/prompts/matter/template.md", &MARKUP, &["render matter"]),
        ("user_data/shared/prompts/python/prompt.py", &ALL, &["render python", "show python"]),
        ("user_data/shared/prompts/yaml/prompt.yaml", &MARKUP, &["render yaml"]),
        ("user_data/shared/prompts/json/prompt.json", &ALL, &["render json", "render child"]),
        ("user_data/shared/prompts/named/body.md", &MARKUP, &["render named"]),
        ("user_data/shared/prompts/module/other.yaml", &MARKUP, &["render module"]),
        ("user_data/shared/prompts/general_system/template.md", &MARKUP, &["render general_system"]),
    ]);
}

#[test]
fn shared_parts_and_files_that_calls_name_are_told() {
    check(&[
        ("user_data/shared/prompts/partials/tone.md", &PLAIN, &["render toned"]),
        // There is a built-in part of that name, which must not take its place.
        ("user_data/shared/prompts/partials/output_format.md", &PLAIN, &["render formatted"]),
        (
            "user_data/shared/prompts/part/note.md",
            &[Way::Directory, Way::Dangling, Way::Circle, Way::Outside],
            &["render part"],
        ),
        ("note.md", &PLAIN, &["render file note=note.md"]),
        ("call.json", &OF_USER, &["render hello --vars call.json"]),
        ("hinagata.toml", &MARKUP, &["render hello name=Ada", "list"]),
    ]);
}

/// What is the user's own: settings and decisions.
#[test]
fn files_of_the_user_are_told() {
    let mut silent = Vec::new();
    for file in ["config/hinagata/config.toml", "state/trust.json"] {
        for way in OF_USER {
            let home = furnished();
            home.done(&["trust", "--yes"]);
            spoil(&home, &home.outside(file), way);
            let calls = ["render hello name=Ada", "list"].iter().flat_map(|call| both_forms(call));
            for call in calls.chain([vec!["doctor"]]) {
                let ran = home.run(&call);
                let told = is_told(&ran, file) || call == ["doctor"] && ran.code != 0 && ran.has(file);
                // What is cut off in the middle of settings can be settings.
                let has_place = has_place(file, way) && (way == Way::Broken || file.ends_with("json"));
                if !told || has_place && call != ["doctor"] && !is_placed(&ran, file) {
                    silent.push(format!("{file} {way:?}, hina {}: {ran:?}", call.join(" ")));
                }
            }
        }
    }
    assert_none_silent(&silent);
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
    let calls = ["render general_system agent_name=Rumi", "render nothing_such", "list"];
    let mut silent = Vec::new();
    for place in ["user_data", "user_data/shared", "user_data/shared/prompts", "user_data/packs", "more"] {
        for (way, spoil) in ways {
            let home = furnished();
            home.write("hinagata.toml", "[catalog]\npaths = [\"more\"]\n");
            let path = home.path(place);
            let _ = fs::remove_dir_all(&path);
            spoil(&path);
            for call in calls.iter().flat_map(|call| both_forms(call)) {
                let ran = home.run(&call);
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
    assert_none_silent(&silent);
}

#[test]
fn a_search_place_that_the_settings_name_and_nobody_made_is_told() {
    let home = furnished();
    home.write("hinagata.toml", "[catalog]\npaths = [\"more\"]\n");
    let ran = home.done(&["render", "hello", "name=Ada", "--json"]);
    assert!(is_told(&ran, "directory `more` of `catalog.paths` not found"), "{ran:?}");
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
