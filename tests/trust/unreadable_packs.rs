//! Packs of which something cannot be read, and decisions about them that cannot: the call fails or warns, and names the pack;
//! nothing is used that nobody approved.

use std::{fs, path::Path};

use super::{
    packs::{PACK, approved, assert_good, copy, remembered, render},
    spoiled::{OF_USER, Way, assert_none_silent, both_forms, has_place, is_placed, is_told, mend, spoil},
    support::Home,
};

/// What can be done to a file that was approved as it was.
fn ways() -> impl Iterator<Item = Way> {
    OF_USER.into_iter().chain([Way::Gone, Way::Changed])
}

/// Files of the pack: what it is, its prompt, its provider, its part.
const NEEDED: [&str; 4] =
    ["pack.json", "prompts/hp/template.md", "variables/side.py", "prompts/partials/part.md"];

/// Calls that need the pack, by its prompt, its provider and its part, and what they have to name.
const CALLS: [(&str, &str); 3] =
    [("render hp", "`hp`"), ("render sided", "`hp`"), ("render parted", "partials/part.md")];

/// A workspace with the approved pack, in which all calls work and have nothing to tell.
fn with_pack() -> Home {
    let home = approved();
    home.write("user_data/shared/prompts/sided/template.md", "provider {{ side.said }}");
    home.write("user_data/shared/prompts/parted/template.md", "{% include 'partials/part.md' %}");
    // Otherwise every call tells of what Python asks for and does not get.
    home.write("hinagata.toml", "[caps]\nmax_execution_time = 120\n");
    home.done(&["trust", "--yes"]);
    for call in CALLS.iter().flat_map(|(call, _)| both_forms(call)) {
        let ran = home.done(&call);
        assert!(ran.stderr.is_empty() && !is_told(&ran, "hp"), "{call:?}: {ran:?}");
    }
    home
}

/// The calls that tell nothing while the file at `path` is spoiled, or that give what is not approved any more. `more` is
/// what those have to name that name the pack.
fn silent_calls(home: &Home, path: &Path, way: Way, (calls, more): (&[(&str, &str)], &str)) -> Vec<String> {
    let good = spoil(home, path, way);
    let mut silent = Vec::new();
    for &(call, called) in calls {
        for call in both_forms(call) {
            let ran = home.run(&call);
            let more_told = is_told(&ran, more) && (!has_place(more, way) || is_placed(&ran, more));
            let told = is_told(&ran, called) && (called != "`hp`" || more_told);
            if !told || ran.stdout.contains("GOOD") {
                silent.push(format!("{} {way:?}, hina {}: {ran:?}", path.display(), call.join(" ")));
            }
        }
    }
    mend(path, &good);
    silent
}

#[test]
fn files_of_an_approved_pack_are_told() {
    let home = with_pack();
    let mut silent = Vec::new();
    for path in NEEDED.map(|file| home.path(&format!("{PACK}/{file}"))) {
        silent.extend(ways().flat_map(|way| silent_calls(&home, &path, way, (&CALLS, ""))));
    }
    assert_none_silent(&silent);
    assert_good(&render(&home));
}

#[test]
fn approved_copies_are_told() {
    let home = with_pack();
    let mut silent = Vec::new();
    for path in NEEDED.map(|file| copy(&home).join(file)) {
        let told = (&CALLS[..1], "the approved copy of the pack `hp`");
        silent.extend(ways().flat_map(|way| silent_calls(&home, &path, way, told)));
    }
    assert_none_silent(&silent);
    assert_good(&render(&home));
}

#[test]
fn approvals_and_decisions_are_told() {
    let home = with_pack();
    let decisions = remembered(&home, "decisions.json");
    fs::write(&decisions, r#"{"declined": {"1.0.0": ["memory_update"]}}"#).expect("is written");
    assert_good(&render(&home));
    let mut silent = Vec::new();
    for name in ["approval.json", "decisions.json"] {
        for way in OF_USER {
            silent.extend(silent_calls(&home, &remembered(&home, name), way, (&CALLS, name)));
        }
    }
    // An approval that is gone was never given.
    silent.extend(silent_calls(&home, &remembered(&home, "approval.json"), Way::Gone, (&CALLS, "")));
    assert_none_silent(&silent);
    assert_good(&render(&home));
}

#[test]
fn what_only_saves_work_is_not_missed() {
    let home = with_pack();
    let stamps = remembered(&home, "stamps.json");
    for text in ["", "{", "\u{1}"] {
        fs::write(&stamps, text).expect("is written");
        assert_good(&render(&home));
    }
}
