//! Only approved content is used.

use std::{fs, path::Path};

use hinagata::{Approval, Catalog, Code, Hint, PackId, Reason, Severity, source::RootKind};
use hinagata_packs::FileChange;

use crate::support::{PACK, Workspace, now};

fn pack() -> PackId {
    PackId::new("p")
}

fn approval(catalog: &Catalog) -> Approval {
    catalog.approval(&pack())
}

/// Whether the prompt, the partial, the alias and the agent of the pack can be used.
fn used(catalog: &Catalog) -> [bool; 4] {
    [
        catalog.definition("own").is_ok(),
        catalog.template(&RootKind::Shared, "partials/part.md").is_ok_and(|found| found.is_some()),
        catalog.resolve_id("alias_of_own").is_ok(),
        catalog.agent("a").is_ok_and(|found| found.is_some()),
    ]
}

#[test]
fn nothing_of_a_pack_is_used_before_it_is_approved() {
    let workspace = Workspace::new(&PACK);
    let before = workspace.catalog();
    assert_eq!((approval(&before), used(&before)), (Approval::Pending, [false; 4]));
    let found = before.diagnostics();
    assert_eq!((found.len(), found[0].severity), (1, Severity::Warning), "{found:?}");
    assert_eq!((found[0].error.code(), found[0].error.reason()), (Code::Approval, Some(Reason::Pending)));
    assert!(found[0].error.hint().is_some_and(|hint| *hint == Hint::ApprovePack { pack: "p".to_owned() }));
    assert!(!before.candidates("own").expect("are listed")[0].approved);

    workspace.approve("p");
    let after = workspace.catalog();
    assert_eq!((approval(&after), used(&after)), (Approval::Approved, [true; 4]));
    assert!(after.check().is_empty(), "{:?}", after.check());
    assert_eq!(used(&before.reload()), [true; 4]);
    assert_eq!(used(&before), [false; 4], "a snapshot does not change");
}

#[test]
fn an_approval_is_for_one_workspace() {
    let (ours, theirs) = (Workspace::new(&PACK), Workspace::new(&PACK));
    ours.approve("p");
    assert_eq!(approval(&theirs.catalog()), Approval::Pending);
    // A moved workspace loses its approvals.
    let moved = ours.place().join("moved");
    fs::rename(ours.root(), &moved).expect("moved");
    let approvals = hinagata::Approvals::load(&ours.state(), &moved);
    let catalog =
        Catalog::open(hinagata::CatalogOptions { approvals, ..hinagata::CatalogOptions::new(&moved) });
    assert_eq!(approval(&catalog), Approval::Pending);
}

/// Changes an approved pack; returns its new state.
fn after(change: impl FnOnce(&Workspace)) -> (Approval, Workspace) {
    let workspace = Workspace::new(&PACK);
    workspace.approve("p");
    change(&workspace);
    let catalog = workspace.catalog();
    let state = approval(&catalog);
    assert_eq!(used(&catalog), [state == Approval::Approved; 4], "{state}");
    (state, workspace)
}

#[test]
fn any_change_of_any_file_makes_a_pack_modified() {
    for (path, _) in PACK {
        let (state, workspace) = after(|workspace| workspace.write(path, "other"));
        assert_eq!(state, Approval::Modified, "{path}");
        let found = workspace.catalog().check();
        let reasons: Vec<_> = found.iter().map(|found| found.error.reason()).collect();
        assert_eq!(reasons, [Some(Reason::Modified)], "{path}: {found:?}");
        let (state, _) = after(|workspace| fs::remove_file(workspace.path(path)).expect("removed"));
        assert_eq!(state, Approval::Modified, "{path}");
    }
    for path in ["README.md", "prompts/own/.hidden", "prompts/own/deep/er/x"] {
        let (state, _) = after(|workspace| workspace.write(&format!("user_data/packs/p/{path}"), ""));
        assert_eq!(state, Approval::Modified, "{path}");
    }
}

#[cfg(unix)]
#[test]
fn links_and_pipes_make_a_pack_modified() {
    let (state, _) = after(|workspace| {
        let link = workspace.path("user_data/packs/p/link");
        std::os::unix::fs::symlink("pack.json", link).expect("linked");
    });
    assert_eq!(state, Approval::Modified);
    let (state, _) = after(|workspace| {
        let file = workspace.path("user_data/packs/p/vocab.json");
        fs::rename(&file, workspace.path("elsewhere.json")).expect("moved");
        std::os::unix::fs::symlink("../../../elsewhere.json", &file).expect("linked");
    });
    assert_eq!(state, Approval::Modified, "a link to the same content is still a link");
    let (state, _) = after(|workspace| {
        let pipe = workspace.path("user_data/packs/p/pipe");
        assert!(std::process::Command::new("mkfifo").arg(pipe).status().expect("is there").success());
    });
    assert_eq!(state, Approval::Modified);
}

#[test]
fn files_that_python_creates_are_not_changes() {
    let (state, workspace) = after(|workspace| {
        workspace.write("user_data/packs/p/variables/__pycache__/v.pyc", "code");
        workspace.write("user_data/packs/p/prompts/partials/__pycache__/part.md", "part");
    });
    assert_eq!(state, Approval::Approved);
    // And none of these files is used.
    let found = workspace.catalog().template(&RootKind::Shared, "partials/__pycache__/part.md");
    assert_eq!(found.expect_err("was not approved").code(), Code::Approval);
}

/// Writes `text` and restores the modification time.
fn write_with_old_time(path: &Path, text: &str) {
    let before = fs::metadata(path).expect("is there");
    assert_eq!(before.len(), text.len() as u64, "the size stays");
    fs::write(path, text).expect("written");
    let file = fs::File::options().write(true).open(path).expect("opens");
    file.set_modified(before.modified().expect("has one")).expect("set");
}

#[cfg(unix)]
#[test]
fn the_same_size_and_time_do_not_hide_another_content() {
    let template = "user_data/packs/p/prompts/own/template.md";
    let (state, _) = after(|workspace| write_with_old_time(&workspace.path(template), "OWN {{ x }}\n"));
    assert_eq!(state, Approval::Modified);
    // A rename replaces even the inode.
    let (state, _) = after(|workspace| {
        let (path, beside) = (workspace.path(template), workspace.path("beside"));
        fs::copy(&path, &beside).expect("copied");
        let before = fs::metadata(&path).expect("is there").modified().expect("has one");
        fs::File::options().write(true).open(&beside).expect("opens").set_modified(before).expect("set");
        write_with_old_time(&beside, "own {{ y }}\n");
        fs::rename(&beside, &path).expect("renamed");
    });
    assert_eq!(state, Approval::Modified);
}

#[test]
fn the_same_content_stays_approved_whenever_it_was_written() {
    let (state, workspace) = after(|workspace| {
        for (path, text) in PACK {
            fs::remove_file(workspace.path(path)).expect("removed");
            workspace.write(path, text);
        }
    });
    assert_eq!(state, Approval::Approved);
    workspace.write(PACK[0].0, "{}");
    assert_eq!(approval(&workspace.catalog()), Approval::Modified);
    workspace.write(PACK[0].0, PACK[0].1);
    assert_eq!(approval(&workspace.catalog()), Approval::Approved, "putting it back is enough");
}

#[test]
fn a_pack_is_looked_at_on_its_first_use_and_once_per_snapshot() {
    let workspace = Workspace::new(&PACK);
    workspace.approve("p");
    let early = workspace.catalog();
    workspace.write("user_data/packs/p/more.md", "added");
    assert_eq!(approval(&early), Approval::Modified, "opening did not look");
    fs::remove_file(workspace.path("user_data/packs/p/more.md")).expect("removed");
    assert_eq!(approval(&early), Approval::Modified, "the answer is kept");
    assert_eq!(approval(&early.reload()), Approval::Approved);
}

/// The content of the pack, as it is used.
fn texts(catalog: &Catalog) -> Vec<String> {
    let part = catalog.template(&RootKind::Shared, "partials/part.md").expect("is found");
    vec![
        format!("{:?}", catalog.manifest(&pack()).expect("is read").expect("is there")),
        format!("{:?}", catalog.definition("own").expect("is read").definition),
        part.expect("is there").text.text.to_string(),
        format!("{:?}", catalog.pack_file(&pack(), "variables/v.py", 1_000).expect("is read")),
        format!("{:?}", catalog.pack_file(&pack(), "variables//./v.py", 1_000).expect("is read")),
        catalog.resolve_id("alias_of_own").expect("is a word").to_string(),
        format!("{:?}", catalog.agent("a").expect("is read").expect("is there")),
    ]
}

#[test]
fn files_that_are_replaced_or_removed_after_the_check_change_nothing() {
    let workspace = Workspace::new(&PACK);
    workspace.approve("p");
    let approved = texts(&workspace.catalog());
    for (path, text) in PACK {
        let changes: [&dyn Fn(); 2] = [
            // Still valid, so that the test depends only on the file that is read.
            &|| workspace.write(path, format!("{text} ")),
            &|| fs::remove_file(workspace.path(path)).expect("removed"),
        ];
        for change in changes {
            let catalog = workspace.catalog();
            assert_eq!(approval(&catalog), Approval::Approved);
            change();
            assert_eq!(texts(&catalog), approved, "{path}");
            assert_eq!(approval(&catalog.reload()), Approval::Modified, "{path}");
            workspace.write(path, text);
        }
    }
}

#[test]
fn files_that_are_added_after_the_check_are_reported() {
    let workspace = Workspace::new(&PACK);
    workspace.approve("p");
    let catalog = workspace.catalog();
    assert_eq!(approval(&catalog), Approval::Approved);
    workspace.write("user_data/packs/p/variables/more.py", "x = 1");
    let error = catalog.pack_file(&pack(), "variables/more.py", 1_000).expect_err("nobody approved it");
    assert_eq!((error.code(), error.reason()), (Code::Approval, Some(Reason::Modified)));
}

#[test]
fn files_that_were_read_before_the_approval_are_read_again() {
    let workspace = Workspace::new(&PACK);
    let before = workspace.catalog();
    // Listing reads the definitions of packs that are not approved.
    before.candidates("own").expect("are listed");
    workspace.approve("p");
    let after = before.reload();
    workspace.write(PACK[1].0, "swapped {{ x }}\n");
    assert_eq!(after.approval(&pack()), Approval::Modified);
    workspace.write(PACK[1].0, PACK[1].1);
    let first = |catalog: &Catalog| catalog.choose("own").expect("is there").entry;
    let (one, two) = (before.reload(), before.reload().reload());
    assert!(first(&one).definition().is_ok());
    assert!(
        std::sync::Arc::ptr_eq(&first(&two), &first(&two.reload())),
        "the same approval shares what it read"
    );
    workspace.packs().reject("p", now()).expect("rejects");
    workspace.approve("p");
    assert!(!std::sync::Arc::ptr_eq(&first(&two), &first(&two.reload())), "another approval reads again");
}

#[test]
fn a_rejected_pack_is_not_used_until_it_is_approved() {
    let workspace = Workspace::new(&PACK);
    let mut packs = workspace.packs();
    assert_eq!(packs.approve("p", None, now()).expect("approves").state, Approval::Approved);
    assert_eq!(packs.reject("p", now()).expect("rejects").state, Approval::Rejected);
    assert_eq!(used(packs.catalog()), [false; 4]);
    assert_eq!(packs.catalog().diagnostics()[0].error.reason(), Some(Reason::Rejected));
    assert!(!workspace.remembered("approval.json").exists());
    let approved = packs.approve("p", None, now()).expect("approves");
    assert_eq!((approved.state, approved.active), (Approval::Approved, true));
}

#[test]
fn only_the_content_that_was_shown_is_approved() {
    let workspace = Workspace::new(&PACK);
    let mut packs = workspace.packs();
    let seen = packs.show("p").expect("is there").content.expect("can be approved");
    workspace.write("user_data/packs/p/variables/v.py", "import os\n");
    let error = packs.approve("p", Some(&seen), now()).expect_err("is something else");
    assert_eq!((error.code(), error.reason()), (Code::Approval, Some(Reason::Modified)));
    assert_eq!(approval(&workspace.catalog()), Approval::Pending);
    let seen = packs.show("p").expect("is there").content;
    assert_eq!(packs.approve("p", seen.as_ref(), now()).expect("approves").state, Approval::Approved);
}

#[test]
fn packs_that_cannot_be_approved_are_reported() {
    let workspace = Workspace::new(&PACK);
    let refused = |workspace: &Workspace| {
        let error = workspace.packs().approve("p", None, now()).expect_err("cannot be approved");
        assert_eq!(approval(&workspace.catalog()), Approval::Pending);
        (error.code(), error.reason())
    };
    workspace.write("user_data/packs/p/pack.json", "{");
    assert_eq!(refused(&workspace), (Code::Definition, Some(Reason::Syntax)));
    workspace.write("user_data/packs/p/pack.json", b"\xff");
    assert_eq!(refused(&workspace), (Code::Definition, Some(Reason::Encoding)));
    fs::remove_file(workspace.path("user_data/packs/p/pack.json")).expect("removed");
    assert_eq!(refused(&workspace), (Code::Definition, Some(Reason::NoManifest)));
    #[cfg(unix)]
    {
        workspace.write("user_data/packs/p/pack.json", "{}");
        let link = workspace.path("user_data/packs/p/link");
        std::os::unix::fs::symlink("/etc/passwd", &link).expect("linked");
        assert_eq!(refused(&workspace), (Code::Approval, Some(Reason::Link)));
        let shown = workspace.packs().show("p").expect("is there");
        assert_eq!((shown.content, shown.problems.len()), (None, 1), "{:?}", shown.problems);
    }
    let error = workspace.packs().approve("q", None, now()).expect_err("there is none");
    assert_eq!((error.code(), error.hint().is_some()), (Code::NotFound, true));
}

#[test]
fn records_that_cannot_be_read_approve_nothing() {
    let workspace = Workspace::new(&PACK);
    workspace.approve("p");
    let record = workspace.remembered("approval.json");
    let text = fs::read_to_string(&record).expect("is there");
    fs::write(&record, &text[..text.len() / 2]).expect("written");
    let catalog = workspace.catalog();
    assert_eq!((approval(&catalog), used(&catalog)), (Approval::Pending, [false; 4]));
    assert!(catalog.diagnostics().iter().any(|found| found.error.code() == Code::Store));
    fs::write(&record, text).expect("written");
    assert_eq!(approval(&workspace.catalog()), Approval::Approved);
    fs::write(workspace.remembered("stamps.json"), "{").expect("written");
    assert_eq!(approval(&workspace.catalog()), Approval::Approved, "stamps only save work");
    fs::write(workspace.remembered("decisions.json"), "{").expect("written");
    assert_eq!(approval(&workspace.catalog()), Approval::Rejected, "it may have been a rejection");
    // An unreadable decision must not count as an approval.
    assert_eq!(used(&workspace.catalog()), [false; 4]);
}

#[test]
fn changed_files_are_shown() {
    let workspace = Workspace::new(&PACK);
    workspace.write("user_data/packs/p/picture", b"\x89PNG\0");
    let verified = workspace.packs().verify("p").expect("is there");
    assert_eq!((verified.state, verified.files.len(), verified.approved_at), (Approval::Pending, 0, None));
    workspace.approve("p");
    let verified = workspace.packs().verify("p").expect("is there");
    assert_eq!((verified.state, verified.files.len()), (Approval::Approved, 0));
    assert_eq!(verified.approved_at.as_deref(), Some("2026-02-14T10:00:00Z"));
    workspace.write("user_data/packs/p/prompts/own/template.md", "own {{ y }}\n");
    workspace.write("user_data/packs/p/new.py", "import os\n");
    workspace.write("user_data/packs/p/picture", b"\x89PNG\0\0");
    fs::remove_file(workspace.path("user_data/packs/p/vocab.json")).expect("removed");
    let verified = workspace.packs().verify("p").expect("is there");
    assert_eq!(verified.state, Approval::Modified);
    let shown: Vec<_> = verified.files.iter().map(|file| (file.path.as_str(), file.change)).collect();
    assert_eq!(
        shown,
        [
            ("new.py", FileChange::Added),
            ("picture", FileChange::Changed),
            ("prompts/own/template.md", FileChange::Changed),
            ("vocab.json", FileChange::Removed),
        ]
    );
    let diff = |index: usize| verified.files[index].diff.as_deref();
    assert!(diff(0).is_some_and(|diff| diff.contains("+import os")));
    assert_eq!((diff(1), verified.files[1].note), (None, Some("it is not a text file")));
    let template = diff(2).expect("is shown");
    assert!(template.contains("-own {{ x }}\n+own {{ y }}\n"), "{template}");
    assert!(diff(3).is_some_and(|diff| diff.contains("-{\"prompt.own\"")));
    let json = serde_json::to_value(&verified).expect("serialises");
    assert_eq!((&json["state"], &json["files"][0]["change"]), (&"modified".into(), &"added".into()));
}

#[test]
fn differences_are_bounded() {
    let workspace = Workspace::new(&PACK);
    workspace.approve("p");
    workspace.write("user_data/packs/p/long", "x\n".repeat(6_000));
    workspace.write("user_data/packs/p/wide", "x".repeat(300 << 10));
    for number in 0..6 {
        workspace.write(&format!("user_data/packs/p/z{number}"), format!("{number}").repeat(200 << 10));
    }
    let verified = workspace.packs().verify("p").expect("is there");
    let notes: Vec<_> = verified.files.iter().map(|file| file.note.is_some()).collect();
    assert_eq!(notes, [true, true, false, false, false, false, false, true]);
    let shown: usize = verified.files.iter().filter_map(|file| file.diff.as_ref().map(String::len)).sum();
    assert!(shown <= 1 << 20, "{shown}");
}

#[test]
fn two_packs_with_one_namespace_are_reported() {
    let workspace = Workspace::new(&PACK);
    workspace.write(
        "user_data/packs/q/pack.json",
        r#"{"variable_providers": [{"file": "x.py", "namespace": "v"}, {"file": "y.py", "namespace": "w"}]}"#,
    );
    workspace.approve("p");
    assert!(workspace.catalog().diagnostics().iter().all(|found| found.error.code() != Code::Conflict));
    workspace.approve("q");
    let found = workspace.catalog().diagnostics();
    let error = &found[0].error;
    assert_eq!((found.len(), error.code(), error.reason()), (1, Code::Conflict, Some(Reason::Namespace)));
    assert_eq!(
        error.details()["candidates"],
        serde_json::json!(["user_data/packs/p/variables/v.py", "user_data/packs/q/x.py"])
    );
}
