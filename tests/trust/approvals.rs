//! What was approved counts: texts, metadata, words, agents, and who can approve.

use std::{fs, os::unix::fs::symlink};

use serde_json::json;

use super::{
    packs::{FILES, PACK, approved, assert_good, assert_refused, copy, render, state, write_pack},
    support::Home,
};

#[test]
fn no_file_of_an_approved_pack_can_be_changed_replaced_linked_or_taken_away() {
    let home = approved();
    for (path, text) in FILES {
        let file = home.path(&format!("{PACK}/{path}"));
        let evil = home.write_outside("evil", text.replace("GOOD", "EVIL"));
        let changes: [&dyn Fn(); 4] = [
            &|| fs::write(&file, text.replace("GOOD", "EVIL")).expect("is written"),
            &|| assert!(fs::copy(&evil, &file).is_ok()),
            &|| {
                fs::remove_file(&file).expect("is removed");
                symlink(&evil, &file).expect("is linked");
            },
            &|| fs::remove_file(&file).expect("is removed"),
        ];
        for change in changes {
            change();
            if path == "prompts/hp/prompt.py" || text.contains("GOOD") || !file.exists() {
                assert_refused(&render(&home), "the pack `hp`");
                assert_eq!(state(&home, "hp"), "modified", "{path}");
            }
            let shown = home.run(&["list", "--json"]);
            assert!(!shown.has("EVIL"), "{path}: {shown:?}");
            let _ = fs::remove_file(&file);
            fs::write(&file, text).expect("is written");
            assert_good(&render(&home));
        }
    }
}

#[test]
fn directories_of_a_pack_that_became_links_count_for_nothing() {
    for directory in ["prompts", "prompts/hp", "prompts/partials", "variables", "agents", ""] {
        let home = approved();
        let evil = home.outside("evil");
        for (path, text) in FILES {
            home.write_outside(&format!("evil/{path}"), text.replace("GOOD", "EVIL"));
        }
        let place = home.path(&format!("{PACK}/{directory}"));
        let place = place.to_str().expect("is text").trim_end_matches('/');
        fs::rename(place, home.outside("away")).expect("is moved");
        symlink(evil.join(directory), place).expect("is linked");
        let ran = render(&home);
        assert!(ran.code != 0 && ran.stdout.is_empty() && !ran.has("EVIL"), "{directory}: {ran:?}");
        assert!(!home.run(&["list", "--json"]).has("EVIL"), "{directory}");
    }
}

#[test]
fn names_that_differ_in_case_are_other_files() {
    let home = approved();
    home.write(&format!("{PACK}/Prompts/hp/template.md"), "EVIL");
    assert_refused(&render(&home), "the pack `hp`");
    fs::remove_dir_all(home.path(&format!("{PACK}/Prompts"))).expect("is removed");
    let template = home.path(&format!("{PACK}/prompts/hp/template.md"));
    fs::rename(&template, template.with_file_name("Template.md")).expect("is renamed");
    assert_refused(&render(&home), "the pack `hp`");
}

#[test]
fn a_pack_with_a_link_cannot_be_approved() {
    for target in ["/etc/hostname", "../../../../secret", "pack.json", "prompts"] {
        let home = Home::new();
        write_pack(&home);
        symlink(target, home.path(&format!("{PACK}/prompts/hp/link.md"))).expect("is linked");
        let ran = home.run(&["pack", "approve", "hp", "--yes"]);
        assert!(ran.code != 0 && ran.has("link.md"), "{ran:?}");
        assert_eq!(state(&home, "hp"), "pending");
    }
}

#[test]
fn a_workspace_cannot_bring_its_own_approvals() {
    let home = approved();
    let state_of_user = home.outside("state");
    let other = Home::new();
    write_pack(&other);
    // Everything that a user remembers of another workspace, in every place where it could be looked for.
    for place in
        ["state", ".hinagata", "user_data/packs/hp/state", "user_data/.state", ".local/state/hinagata"]
    {
        copy_tree(&state_of_user, &other.path(place));
    }
    let hash = "0".repeat(64);
    for place in [PACK, "user_data/packs", "user_data", "."] {
        let files = json!({"pack_id": "hp", "version": "1.0.0", "content": hash, "files": {}});
        other.write(&format!("{place}/approval.json"), files.to_string());
        other.write(&format!("{place}/trust.json"), "{}");
    }
    assert_eq!(state(&other, "hp"), "pending");
    let ran = render(&other);
    assert!(ran.code == 3 && ran.stdout.is_empty(), "{ran:?}");
    assert!(ran.has("not approved"), "{ran:?}");
}

fn copy_tree(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("is there").flatten() {
        let target = to.join(entry.file_name());
        match entry.file_type().expect("is known").is_dir() {
            true => copy_tree(&entry.path(), &target),
            false => assert!(fs::copy(entry.path(), target).is_ok()),
        }
    }
}

#[test]
fn metadata_that_python_works_out_of_a_file_beside_it_is_the_approved_one() {
    let home = Home::new();
    let prompt = "user_data/packs/m/prompts/m";
    home.write("user_data/packs/m/pack.json", r#"{"pack_id": "m", "version": "1.0.0"}"#);
    home.write(
        &format!("{prompt}/prompt.py"),
        "import json, os\n\
         with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'meta.json')) as file:\n    \
         METADATA = json.load(file)\nTEMPLATE = METADATA['description']\n",
    );
    home.write(&format!("{prompt}/meta.json"), r#"{"version": "1.0.0", "description": "GOOD"}"#);
    home.done(&["pack", "approve", "m", "--yes"]);
    assert_eq!(home.done(&["render", "m"]).stdout.trim(), "GOOD");
    home.write(&format!("{prompt}/meta.json"), r#"{"version": "1.0.0", "description": "EVIL"}"#);
    let ran = home.run(&["render", "m"]);
    assert!(ran.code != 0 && !ran.has("EVIL"), "{ran:?}");
    home.done(&["pack", "approve", "m", "--yes"]);
    assert_eq!(home.done(&["render", "m"]).stdout.trim(), "EVIL", "what is approved again counts again");
}

#[test]
fn a_pack_gets_of_another_pack_what_was_approved_or_nothing() {
    let home = approved();
    let reader = "user_data/packs/reader";
    home.write(&format!("{reader}/pack.json"), r#"{"pack_id": "reader", "version": "1.0.0"}"#);
    home.write(
        &format!("{reader}/prompts/reader/prompt.py"),
        "import os\nPERMISSIONS = {'read_file': True}\n\
         async def pre_render(variables, context):\n    \
         said = await context['read_file']('user_data/packs/hp/README.md')\n    \
         try:\n        beside = os.listdir(os.path.join(os.path.dirname(__file__), '../../..'))\n    \
         except OSError as error:\n        beside = type(error).__name__\n    \
         return {'said': said, 'beside': str(beside)}\n",
    );
    home.write(&format!("{reader}/prompts/reader/template.md"), "{{ said }}|{{ beside }}");
    home.done(&["pack", "approve", "reader", "--yes"]);
    assert_eq!(home.done(&["render", "reader"]).stdout.trim().split('|').next().map(str::trim), Some("GOOD"));
    let ran = home.done(&["render", "reader"]);
    assert!(ran.stdout.trim().ends_with("Error"), "copies of others are not seen: {ran:?}");
    home.write(&format!("{PACK}/README.md"), "EVIL");
    let ran = home.run(&["render", "reader"]);
    assert!(ran.code != 0 && !ran.has("EVIL") && ran.has("`hp` is not approved"), "{ran:?}");
}

#[test]
fn the_difference_to_what_was_approved_is_not_shown_from_an_edited_copy() {
    let home = approved();
    let file = copy(&home).join("README.md");
    fs::remove_file(&file).expect("is removed");
    fs::write(&file, "never approved\n").expect("is written");
    home.write(&format!("{PACK}/README.md"), "new\n");
    let ran = home.run(&["pack", "verify", "hp"]);
    assert!(ran.has("the approved copy has changed") && !ran.has("never approved"), "{ran:?}");
}
