//! Packs as every door shows and changes them.

use std::{fs, path::Path};

use crate::support::{PACK, Workspace, now};
use hinagata::{Approval, Code};
use hinagata_packs::{PackConflictKind, PythonRole, ReplacementState};

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("is there");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("readable").file_name().into_string().expect("is text")).collect();
    names.sort();
    names
}

#[test]
fn the_whole_content_of_a_pack_is_shown() {
    let workspace = Workspace::new(&PACK);
    for (path, text) in [
        ("p/prompts/general_system/template.md", "mine"),
        ("p/prompts/broken/prompt.yaml", "a: ["),
        (
            "p/prompts/computed/prompt.py",
            "PERMISSIONS = make()\nTEMPLATE = 'x'\nasync def post_render(t, c): return t\n",
        ),
        ("p/tools/look.json", "{}"),
        ("p/lib/helper.py", ""),
        ("q/pack.json", r#"{"variable_providers": [{"file": "x.py", "namespace": "v"}]}"#),
        ("q/prompts/partials/part.md", "theirs"),
    ] {
        workspace.write(&format!("user_data/packs/{path}"), text);
    }
    workspace.approve("q");
    let shown = workspace.packs().show("p").expect("is there");
    let summary = &shown.summary;
    assert_eq!((summary.name.as_deref(), summary.version.as_deref()), (Some("P"), Some("1.0.0")));
    assert_eq!((summary.state, summary.active), (Approval::Pending, false));
    assert_eq!(serde_json::to_value(summary.kind).expect("serialises"), "agent");
    let prompts: Vec<_> =
        shown.prompts.iter().map(|prompt| (prompt.prompt_id.as_str(), prompt.kind.as_deref())).collect();
    assert_eq!(
        prompts,
        [
            ("broken", None),
            ("computed", Some("custom")),
            ("general_system", Some("custom")),
            ("own", Some("system"))
        ]
    );
    assert_eq!(
        (shown.partials.as_slice(), shown.agents.as_slice()),
        (&["part.md".to_owned()][..], &["a".to_owned()][..])
    );
    assert_eq!(
        (shown.tools.as_slice(), shown.vocabulary.as_slice()),
        (&["look".to_owned()][..], &["vocab.json".to_owned()][..])
    );
    assert_eq!(shown.providers[0].permissions, ["read_file", "subprocess"]);
    let python: Vec<_> = shown
        .python
        .iter()
        .map(|file| (file.file.as_str(), file.role, file.permissions.as_deref().map(|all| all.join(" "))))
        .collect();
    assert_eq!(
        python,
        [
            ("lib/helper.py", PythonRole::Other, Some(String::new())),
            ("prompts/computed/prompt.py", PythonRole::Prompt, None),
            ("prompts/own/prompt.py", PythonRole::Prompt, Some("read_file".into())),
            ("variables/v.py", PythonRole::Provider, Some("read_file subprocess".into())),
        ]
    );
    assert_eq!(
        (shown.python[1].hooks.as_slice(), shown.python[2].hooks.as_slice()),
        (&["post_render"][..], &["pre_render"][..])
    );
    let conflicts: Vec<_> = shown
        .conflicts
        .iter()
        .map(|conflict| (conflict.kind, conflict.name.as_str(), conflict.others.join(" ")))
        .collect();
    assert_eq!(
        conflicts,
        [
            (PackConflictKind::Prompt, "general_system", "ecosystem/default/prompts/general_system".into()),
            (
                PackConflictKind::Partial,
                "partials/part.md",
                "user_data/packs/q/prompts/partials/part.md".into()
            ),
            (PackConflictKind::Namespace, "v", "q".into()),
        ]
    );
    let problems: Vec<_> =
        shown.problems.iter().map(|problem| (problem.severity, problem.code, problem.line)).collect();
    let found = [("warning", "definition", Some(3)), ("error", "definition", Some(1))];
    assert_eq!(problems, found, "{:?}", shown.problems);
    assert_eq!(shown.replaces.len(), 3);
    let json = serde_json::to_value(&shown).expect("serialises");
    assert_eq!(
        (&json["pack_id"], &json["state"], &json["prompts"][3]["type"]),
        (&"p".into(), &"pending".into(), &"system".into())
    );
    let listed = workspace.packs().list();
    assert_eq!(listed.iter().map(|pack| pack.pack_id.as_str()).collect::<Vec<_>>(), ["p", "q"]);
}

#[test]
fn proposals_are_accepted_and_declined() {
    let workspace = Workspace::new(&PACK);
    let mut packs = workspace.packs();
    let state = |packs: &hinagata_packs::Packs| packs.show("p").expect("is there").replaces[0].state;
    let chosen = || workspace.catalog().choose("memory_update").expect("is there").entry.source().to_owned();
    let error = packs.accept_replacement("p", "memory_update", now()).expect_err("is not approved");
    assert_eq!(error.code(), Code::Approval);
    packs.approve("p", None, now()).expect("approves");
    assert_eq!(
        (state(&packs), chosen().as_str()),
        (ReplacementState::Open, "ecosystem/default/prompts/memory_update")
    );
    let accepted = packs.accept_replacement("p", "Memory-Update", now()).expect("accepts");
    assert_eq!((accepted.state, accepted.by.as_str()), (ReplacementState::Accepted, "own"));
    assert_eq!(
        (state(&packs), chosen().as_str()),
        (ReplacementState::Accepted, "user_data/packs/p/prompts/own")
    );
    assert!(workspace.read("user_data/shared/prompts/resolution.json").contains("replaced_by"));
    let declined = packs.decline_replacement("p", "memory_update", now()).expect("declines");
    assert_eq!(
        (declined.state, chosen().as_str()),
        (ReplacementState::Declined, "ecosystem/default/prompts/memory_update")
    );
    assert!(
        workspace.read("user_data/shared/prompts/resolution.history.jsonl").contains("packs/p/prompts/own")
    );
    assert_eq!(state(&workspace.packs()), ReplacementState::Declined);
    // Another version needs a new decision; this one is still declined.
    let manifest = workspace.read(PACK[0].0);
    workspace.write(PACK[0].0, manifest.replace("1.0.0", "1.1.0"));
    assert_eq!(state(&workspace.packs()), ReplacementState::Open);
    workspace.write(PACK[0].0, manifest);
    assert_eq!(state(&workspace.packs()), ReplacementState::Declined);
    let mut packs = workspace.packs();
    assert_eq!(
        packs.accept_replacement("p", "memory_update", now()).expect("accepts").state,
        ReplacementState::Accepted
    );
    assert_eq!(state(&workspace.packs()), ReplacementState::Accepted);
    for prompt in ["general_system", "f"] {
        let error = packs.accept_replacement("p", prompt, now()).expect_err("is not proposed");
        assert_eq!(error.code(), Code::NotFound);
        assert_eq!(
            packs.decline_replacement("p", prompt, now()).expect_err("is not proposed").code(),
            Code::NotFound
        );
    }
}

#[test]
fn proposals_about_tools_are_accepted_and_declined() {
    let workspace = Workspace::new(&PACK);
    let mut packs = workspace.packs();
    let state = |packs: &hinagata_packs::Packs| packs.show("p").expect("is there").replaces[1].state;
    let recorded = || {
        let catalog = workspace.catalog();
        let all = catalog.resolutions().tools().map(|(id, found)| format!("{id} {}", found.source));
        all.collect::<Vec<_>>()
    };
    packs.approve("p", None, now()).expect("approves");
    let error = packs.accept_replacement("p", "t", now()).expect_err("has no such tool");
    assert_eq!(error.code(), Code::NotFound);
    workspace.write("user_data/packs/p/tools/u.json", r#"{"url": "/u"}"#);
    let mut packs = workspace.packs();
    let error = packs.accept_replacement("p", "t", now()).expect_err("has changed");
    assert_eq!(error.code(), Code::Approval);
    packs.approve("p", None, now()).expect("approves");
    let accepted = packs.accept_replacement("p", "t", now()).expect("accepts");
    assert_eq!((accepted.state, accepted.by.as_str()), (ReplacementState::Accepted, "u"));
    assert_eq!(state(&workspace.packs()), ReplacementState::Accepted);
    assert_eq!(recorded(), ["t user_data/packs/p/tools/u.json"]);
    assert!(workspace.catalog().diagnostics().is_empty(), "{:?}", workspace.catalog().diagnostics());
    let declined = packs.decline_replacement("p", "t", now()).expect("declines");
    assert_eq!(
        (declined.state, state(&workspace.packs())),
        (ReplacementState::Declined, ReplacementState::Declined)
    );
    assert!(recorded().is_empty());
    packs.accept_replacement("p", "t", now()).expect("accepts");
    packs.remove("p", now()).expect("removes");
    assert!(recorded().is_empty(), "nothing is left that would count for the next pack of that name");
}

#[test]
fn a_pack_is_removed_with_all_decisions_about_it() {
    let workspace = Workspace::new(&PACK);
    let mut packs = workspace.packs();
    packs.approve("p", None, now()).expect("approves");
    packs.accept_replacement("p", "memory_update", now()).expect("accepts");
    let record = workspace.remembered("approval.json");
    assert!(record.exists());
    let removed = packs.remove("p", now()).expect("removes");
    assert_eq!(removed.resolutions.iter().map(ToString::to_string).collect::<Vec<_>>(), ["memory_update"]);
    assert!(packs.list().is_empty() && !record.exists());
    assert_eq!(names(&workspace.path("user_data/packs")), [".packs.lock"]);
    let catalog = workspace.catalog();
    assert_eq!(
        catalog.choose("memory_update").expect("is there").entry.source(),
        "ecosystem/default/prompts/memory_update"
    );
    assert!(catalog.resolutions().iter().next().is_none());
    assert!(
        workspace.read("user_data/shared/prompts/resolution.history.jsonl").contains("packs/p/prompts/own")
    );
    assert_eq!(packs.remove("p", now()).expect_err("is gone").code(), Code::NotFound);
    for (path, text) in PACK {
        workspace.write(path, text);
    }
    assert_eq!(workspace.packs().list()[0].state, Approval::Pending, "nothing is remembered");
}

#[cfg(unix)]
#[test]
fn a_pack_directory_that_is_a_link_is_removed_but_not_its_target() {
    let workspace = Workspace::new(&[("user_data/packs/.real/pack.json", "{}")]);
    std::os::unix::fs::symlink(".real", workspace.path("user_data/packs/p")).expect("linked");
    workspace.packs().remove("p", now()).expect("removes");
    assert_eq!(names(&workspace.path("user_data/packs")), [".packs.lock", ".real"]);
    assert!(workspace.path("user_data/packs/.real/pack.json").exists());
}
