//! A workspace on disk, seen through the catalog.

use std::{fs, path::Path, sync::Arc, time::SystemTime};

use hinagata::{
    Approval, Approvals, Catalog, CatalogOptions, Code, Hint, PackId, PackKind, Reason, TextOrigin,
    definition::{Body, Language, ParameterClass},
    source::RootKind,
};

/// A workspace that is gone at the end of the test.
struct Workspace(tempfile::TempDir);

impl Workspace {
    fn new(files: &[(&str, &str)]) -> Self {
        let workspace = Self(tempfile::tempdir().expect("a temporary directory"));
        for (path, text) in files {
            workspace.write(path, text);
        }
        workspace
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("has one")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn remove(&self, path: &str) {
        fs::remove_dir_all(self.0.path().join(path)).expect("removed");
    }

    fn options(&self, approved: &[&str]) -> CatalogOptions {
        let approvals: Approvals = approved.iter().map(|name| (*name, Approval::Approved)).collect();
        CatalogOptions { approvals, ..CatalogOptions::new(self.0.path()) }
    }

    fn catalog(&self, approved: &[&str]) -> Catalog {
        Catalog::open(self.options(approved))
    }
}

const SHARED: &str = "user_data/shared/prompts";

fn sources(catalog: &Catalog, name: &str) -> Vec<String> {
    catalog.candidates(name).expect("has candidates").into_iter().map(|candidate| candidate.source).collect()
}

#[test]
fn search_order_is_shared_then_paths_then_packs_then_built_in() {
    let workspace = Workspace::new(&[
        ("user_data/shared/prompts/general_system/template.md", "shared"),
        ("more/General-System/template.md", "path"),
        ("user_data/packs/b/pack.json", "{}"),
        ("user_data/packs/b/prompts/general_system/template.md", "b"),
        ("user_data/packs/a/pack.json", r#"{"version": "3.0.0"}"#),
        ("user_data/packs/a/prompts/GeneralSystem/template.md", "a"),
    ]);
    let catalog = Catalog::open(CatalogOptions { paths: vec!["more/".into()], ..workspace.options(&["a"]) });
    assert_eq!(
        sources(&catalog, "general_system"),
        [
            "user_data/shared/prompts/general_system",
            "more/General-System",
            "user_data/packs/a/prompts/GeneralSystem",
            "user_data/packs/b/prompts/general_system",
            "ecosystem/default/prompts/general_system",
        ]
    );
    let candidates = catalog.candidates("general_system").expect("has candidates");
    assert_eq!(
        candidates.iter().map(|found| found.approved).collect::<Vec<_>>(),
        [true, true, true, false, true]
    );
    assert_eq!(candidates[2].version, "3.0.0");
}

#[test]
fn a_built_in_directory_takes_the_place_of_the_compiled_in_prompt() {
    let workspace =
        Workspace::new(&[("ecosystem/default/prompts/general_system/template.md", "mine {{ x }}")]);
    let catalog = workspace.catalog(&[]);
    assert_eq!(sources(&catalog, "general_system").len(), 1);
    let found = catalog.definition("general_system").expect("reads");
    assert!(matches!(&found.definition.body, Body::Text(text) if &*text.text == "mine {{ x }}"));
    // The others are still there, and so are the compiled-in parts.
    assert!(catalog.definition("coding_system").is_ok());
    let part = catalog.template(&RootKind::Builtin, "partials/safety_rules.md").expect("no conflict");
    assert!(part.is_some_and(|part| part.text.text.contains("Safety")));
}

#[test]
fn a_directory_without_a_prompt_is_none() {
    let workspace = Workspace::new(&[
        ("user_data/shared/prompts/notes/readme.txt", "x"),
        ("user_data/shared/prompts/.hidden/template.md", "x"),
        ("user_data/shared/prompts/partials/template.md", "x"),
        ("user_data/shared/prompts/real/prompt.yaml", "prompt: x\n"),
    ]);
    let catalog = workspace.catalog(&[]);
    assert_eq!(catalog.choose("notes").expect_err("is none").code(), Code::NotFound);
    assert!(catalog.choose("real").is_ok());
    let listed: Vec<String> = catalog.list().into_iter().map(|listing| listing.id.to_string()).collect();
    assert_eq!(listed.iter().filter(|id| !id.ends_with("system")).count(), 4, "{listed:?}");
    assert!(catalog.check().is_empty(), "{:?}", catalog.check());
}

#[test]
fn one_broken_prompt_never_stops_another() {
    let workspace = Workspace::new(&[
        ("user_data/shared/prompts/good/template.md", "x"),
        ("user_data/shared/prompts/bad/prompt.py", "METADATA = {"),
        ("user_data/shared/prompts/not.a.name/template.md", "x"),
        ("user_data/shared/vocab.json", "{broken"),
        ("user_data/shared/prompts/defaults.json", r#"{"limits": 5}"#),
        ("user_data/shared/prompts/resolution.json", "[]"),
        ("user_data/packs/broken/pack.json", "{"),
        ("user_data/packs/broken/prompts/theirs/template.md", "x"),
    ]);
    let catalog = workspace.catalog(&["broken"]);
    assert!(catalog.choose("good").and_then(|choice| choice.entry.definition()).is_ok());
    let error = catalog.definition("good").expect_err("it may have caps that nobody can read");
    assert_eq!(error.place().map(|place| &*place.file), Some("user_data/shared/prompts/defaults.json"));
    assert_eq!(catalog.definition("bad").expect_err("is broken").code(), Code::Definition);
    assert_eq!(catalog.choose("theirs").expect_err("the pack is broken").code(), Code::NotFound);
    let found: Vec<String> = catalog.check().into_iter().map(|found| found.source).collect();
    assert_eq!(
        found,
        [
            "user_data/packs/broken",
            "user_data/shared/prompts/bad",
            "user_data/shared/prompts/defaults.json",
            "user_data/shared/prompts/not.a.name",
            "user_data/shared/prompts/resolution.json",
            "user_data/shared/vocab.json",
        ]
    );
}

#[test]
fn unknown_names_come_with_near_ones() {
    let workspace = Workspace::new(&[("user_data/shared/prompts/daily_report/template.md", "x")]);
    let error = workspace.catalog(&[]).choose("daily_reprot").expect_err("is a slip");
    assert_eq!(error.near(), ["daily_report"]);
    assert_eq!(error.hint(), Some(&Hint::ListPrompts));
}

#[test]
fn a_prompt_of_a_pack_that_is_not_approved_is_not_there_but_told() {
    let workspace = Workspace::new(&[
        ("user_data/packs/extra/pack.json", "{}"),
        ("user_data/packs/extra/prompts/only_there/template.md", "x"),
    ]);
    let error = workspace.catalog(&[]).choose("only_there").expect_err("is not approved");
    assert_eq!(error.code(), Code::NotFound);
    assert!(
        error.hint().is_some_and(|hint| hint.to_string().contains("review the pack `extra`")),
        "{error:?}"
    );
}

#[test]
fn two_spellings_in_one_place_are_a_conflict() {
    let workspace = Workspace::new(&[
        ("user_data/shared/prompts/DailyReport/template.md", "x"),
        ("user_data/shared/prompts/daily_report/template.md", "x"),
    ]);
    let error = workspace.catalog(&[]).choose("daily-report").expect_err("is a conflict");
    assert_eq!((error.code(), error.reason()), (Code::Conflict, Some(Reason::Unresolved)));
    assert_eq!(error.details()["candidates"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_recorded_choice_decides_until_it_is_stale() {
    let workspace = Workspace::new(&[
        ("user_data/shared/prompts/review/template.md", "mine"),
        ("user_data/packs/p/pack.json", "{}"),
        ("user_data/packs/p/prompts/review/template.md", "theirs"),
    ]);
    let catalog = workspace.catalog(&["p"]);
    let theirs = "user_data/packs/p/prompts/review";
    assert_eq!(catalog.choose("review").expect_err("is a conflict").reason(), Some(Reason::Unresolved));
    let decided = catalog.set_resolution("Review", theirs, SystemTime::now()).expect("writes");
    assert_eq!(decided.choose("review").expect("is decided").entry.source(), theirs);
    assert_eq!(
        catalog.choose("review").expect_err("the old snapshot stays").reason(),
        Some(Reason::Unresolved)
    );
    assert_eq!(decided.resolutions().iter().next().map(|(_, found)| found.candidates.len()), Some(2));
    let unapproved = catalog.with_approvals(Approvals::default());
    assert_eq!(
        unapproved.set_resolution("review", theirs, SystemTime::now()).expect_err("is refused").code(),
        Code::Approval
    );
    workspace.write("user_data/packs/q/pack.json", "{}");
    workspace.write("user_data/packs/q/prompts/review/template.md", "third");
    workspace.remove("user_data/packs/p");
    let error = workspace.catalog(&["p", "q"]).choose("review").expect_err("is stale");
    assert_eq!(error.reason(), Some(Reason::StaleResolution));
    let refused = |source| {
        catalog.set_resolution("review", source, SystemTime::now()).expect_err("is no candidate").code()
    };
    assert_eq!(refused("user_data/shared/prompts/other"), Code::NotFound);
}

#[test]
fn a_proposal_has_an_effect_only_through_a_recorded_choice_of_an_approved_pack() {
    let workspace = Workspace::new(&[
        ("user_data/packs/p/pack.json", r#"{"replaces": {"prompts": {"Memory-Update": "careful"}}}"#),
        ("user_data/packs/p/prompts/careful/template.md", "careful"),
        ("user_data/packs/p/prompts/other/template.md", "not proposed"),
    ]);
    let catalog = workspace.catalog(&["p"]);
    let source =
        |catalog: &Catalog| catalog.choose("memory_update").expect("is there").entry.source().to_owned();
    assert_eq!(source(&catalog), "ecosystem/default/prompts/memory_update");
    let careful = "user_data/packs/p/prompts/careful";
    let decided = catalog.set_resolution("memory_update", careful, SystemTime::now()).expect("is proposed");
    assert_eq!(source(&decided), careful);
    assert_eq!(
        source(&decided.with_approvals(Approvals::default())),
        "ecosystem/default/prompts/memory_update"
    );
    let text = fs::read_to_string(workspace.0.path().join(SHARED).join("resolution.json")).expect("is there");
    assert!(text.contains("\"replaced_by\""), "{text}");
    let other = catalog.set_resolution("memory_update", "user_data/packs/p/prompts/other", SystemTime::now());
    assert_eq!(other.expect_err("is not proposed").code(), Code::NotFound);
}

#[test]
fn declarations_are_inherited_and_replaced_by_name() {
    let workspace = Workspace::new(&[
        (
            "user_data/shared/prompts/defaults.json",
            r#"{"variables": {"optional": [{"name": "d", "source": "system"}, {"name": "b"}]}}"#,
        ),
        (
            "user_data/shared/prompts/base/prompt.py",
            "TEMPLATE = 'base'\nVARIABLES = {'required': [{'name': 'a'}], 'custom': [{'name': 'b', 'default': 1}]}\nPERMISSIONS = {'read_file': True}\nLIMITS = {'max_output_size': 7}\ndef pre_render(v, c): pass\n",
        ),
        (
            "user_data/shared/prompts/child/prompt.yaml",
            "extends: Base\ntemplate: null\ninputs: {b: {default: 2}, 'c?': string}\n",
        ),
    ]);
    let catalog = workspace.catalog(&[]);
    let found = catalog.definition("child").expect("reads");
    assert_eq!(found.chain(), ["child", "base"]);
    assert_eq!(found.parameters.names(ParameterClass::Required), ["a"]);
    assert_eq!(found.parameters.names(ParameterClass::Optional), ["b", "c", "d"]);
    assert_eq!(found.parameters.get("b").and_then(|b| b.default.clone()), Some(2.into()));
    assert_eq!(found.body_definition().expect("has one").id.as_str(), "base");
    assert_eq!(found.definition.permissions.granted_names().count(), 0);
    assert!(!found.definition.hooks.has_any());
    assert_eq!(catalog.defaults().expect("reads").limits(&found.definition.limits).max_output_size, 50_000);
}

#[test]
fn parents_that_are_missing_or_go_in_circles_are_errors() {
    let workspace = Workspace::new(&[
        ("user_data/shared/prompts/a/prompt.yaml", "prompt: x\nextends: b\n"),
        ("user_data/shared/prompts/b/prompt.yaml", "prompt: x\nextends: a\n"),
        ("user_data/shared/prompts/lost/prompt.yaml", "prompt: x\nextends: general_sistem\n"),
    ]);
    let catalog = workspace.catalog(&[]);
    let error = catalog.definition("a").expect_err("is a circle");
    assert_eq!(error.reason(), Some(Reason::ExtendsCycle));
    assert_eq!(error.details()["chain"], serde_json::json!(["a", "b", "a"]));
    let error = catalog.definition("lost").expect_err("has no parent");
    assert_eq!(
        (error.reason(), error.near()),
        (Some(Reason::ExtendsNotFound), &["general_system".to_owned()][..])
    );
}

fn template(catalog: &Catalog, from: &RootKind, name: &str) -> Option<String> {
    catalog.template(from, name).expect("no conflict").map(|found| found.text.text.to_string())
}

#[test]
fn templates_are_looked_up_by_prompt_then_by_place() {
    let workspace = Workspace::new(&[
        ("user_data/shared/prompts/partials/tone.md", "shared tone"),
        ("user_data/shared/prompts/Mail-Out/template.md", "---\nengine: go\n---\nmail"),
        ("user_data/shared/prompts/plain/part.md", "plain"),
        ("user_data/packs/a/pack.json", "{}"),
        ("user_data/packs/a/prompts/partials/tone.md", "a tone"),
        ("user_data/packs/a/prompts/partials/own.md", "a own"),
        ("user_data/packs/a/prompts/partials/both.md", "a both"),
        ("user_data/packs/b/pack.json", "{}"),
        ("user_data/packs/b/prompts/partials/both.md", "b both"),
        ("user_data/packs/b/prompts/partials/x.gotmpl", "go"),
        ("user_data/packs/c/pack.json", "{}"),
        ("user_data/packs/c/prompts/partials/hidden.md", "not approved"),
    ]);
    let catalog = workspace.catalog(&["a", "b"]);
    let (shared, a) = (&RootKind::Shared, &RootKind::Pack(PackId::new("a")));
    assert_eq!(template(&catalog, shared, "mail_out/template.md").as_deref(), Some("mail"));
    let mail = catalog.template(shared, "mail_out/template.md").expect("reads").expect("is there");
    assert_eq!((mail.text.engine, &mail.text.origin), (Language::Go, &TextOrigin::from_line(4)));
    assert_eq!(template(&catalog, shared, "plain/part.md").as_deref(), Some("plain"));
    assert_eq!(template(&catalog, a, "partials/tone.md").as_deref(), Some("shared tone"));
    assert_eq!(template(&catalog, shared, "partials/own.md").as_deref(), Some("a own"));
    assert_eq!(template(&catalog, a, "partials/both.md").as_deref(), Some("a both"));
    let error = catalog.template(shared, "partials/both.md").expect_err("is a conflict");
    assert_eq!((error.code(), error.reason()), (Code::Conflict, Some(Reason::Partial)));
    assert_eq!(
        catalog.template(shared, "partials/x.gotmpl").expect("reads").expect("is there").text.engine,
        Language::Go
    );
    for name in [
        "partials/hidden.md",
        "../secrets",
        "/etc/passwd",
        "partials\\own.md",
        "partials/../partials/own.md",
        "",
        ".",
        "a//b",
        "partials/",
        "mail_out/none.md",
        "./partials/own.md",
        "mail_out/../plain/part.md",
    ] {
        assert_eq!(template(&catalog, shared, name), None, "{name}");
    }
    let error = catalog.template(shared, "partials").expect_err("a directory is no file that is not there");
    assert_eq!(error.reason(), Some(Reason::NoFile));
}

#[cfg(unix)]
#[test]
fn links_out_of_a_place_are_not_followed() {
    let workspace = Workspace::new(&[
        ("user_data/shared/prompts/a/prompt.py", "METADATA = {'template': 'link.md'}\n"),
        ("secret.md", "secret"),
    ]);
    let link = workspace.0.path().join(SHARED).join("a/link.md");
    std::os::unix::fs::symlink("../../../../secret.md", link).expect("linked");
    let catalog = workspace.catalog(&[]);
    assert_eq!(catalog.definition("a").expect_err("leads out").reason(), Some(Reason::Outside));
    assert!(catalog.template(&RootKind::Shared, "a/link.md").is_err());
}

#[cfg(unix)]
#[test]
fn no_place_is_a_link_out_of_the_workspace_or_out_of_its_pack() {
    let workspace =
        Workspace::new(&[("user_data/packs/p/pack.json", "{}"), ("elsewhere/secret/template.md", "secret")]);
    let outside = Workspace::new(&[("prompts/stolen/template.md", "stolen")]);
    let root = workspace.0.path();
    std::os::unix::fs::symlink("../../../elsewhere", root.join("user_data/packs/p/prompts")).expect("linked");
    std::os::unix::fs::symlink(outside.0.path(), root.join("user_data/shared")).expect("linked");
    let catalog = workspace.catalog(&["p"]);
    assert!(catalog.choose("secret").is_err() && catalog.choose("stolen").is_err());
    let found: Vec<String> = catalog.diagnostics().into_iter().map(|found| found.source).collect();
    assert_eq!(found, ["user_data/packs/p/prompts", "user_data/shared/prompts"]);
}

#[test]
fn files_that_are_too_large_are_refused() {
    let large = "x".repeat((256 << 10) + 1);
    let workspace = Workspace::new(&[
        ("user_data/shared/prompts/a/template.md", &large),
        ("user_data/shared/prompts/b/template.md", &large[1..]),
    ]);
    let catalog = workspace.catalog(&[]);
    assert_eq!(catalog.definition("a").expect_err("is too large").reason(), Some(Reason::Size));
    assert!(catalog.definition("b").is_ok());
}

#[test]
fn a_new_snapshot_shares_what_did_not_change() {
    let workspace = Workspace::new(&[
        ("user_data/shared/prompts/same/template.md", "same"),
        ("user_data/shared/prompts/changed/template.md", "before"),
        ("user_data/shared/prompts/gone/template.md", "gone"),
        ("user_data/shared/prompts/full/template.md", "full"),
    ]);
    let before = workspace.catalog(&[]);
    let entry = |catalog: &Catalog, name: &str| catalog.choose(name).map(|choice| choice.entry);
    for name in ["same", "changed", "gone", "full", "general_system"] {
        entry(&before, name).expect("is there").definition().expect("reads");
    }
    workspace.write("user_data/shared/prompts/changed/template.md", "after it");
    workspace.write("user_data/shared/prompts/new/template.md", "new");
    workspace.write("user_data/shared/prompts/full/prompt.py", "METADATA = {'version': '2'}\n");
    workspace.remove("user_data/shared/prompts/gone");
    let after = before.reload();
    for name in ["same", "general_system"] {
        assert!(
            Arc::ptr_eq(&entry(&before, name).expect("is there"), &entry(&after, name).expect("is there")),
            "{name}"
        );
    }
    let body = |catalog: &Catalog| match &catalog.definition("changed").expect("reads").definition.body {
        Body::Text(text) => text.text.to_string(),
        other => panic!("no text: {other:?}"),
    };
    assert_eq!((body(&before).as_str(), body(&after).as_str()), ("before", "after it"));
    assert_eq!(after.definition("full").expect("reads").definition.metadata.version, "2");
    assert!(entry(&after, "gone").is_err() && entry(&before, "gone").is_ok());
    assert!(entry(&after, "new").is_ok() && entry(&before, "new").is_err());
}

#[test]
fn kinds_of_packs_are_said_or_derived() {
    let workspace = Workspace::new(&[
        ("user_data/packs/said/pack.json", r#"{"kind": "utility"}"#),
        ("user_data/packs/whole/pack.json", "{}"),
        ("user_data/packs/whole/agents/a/agent.json", r#"{"name": "A", "prompt_id": "x"}"#),
        ("user_data/packs/parts/pack.json", "{}"),
        ("user_data/packs/parts/prompts/partials/a.md", "x"),
        ("user_data/packs/rules/pack.json", "{}"),
        ("user_data/packs/rules/prompts/r/template.md", "---\ntype: system\n---\nx"),
        ("user_data/packs/work/pack.json", "{}"),
        ("user_data/packs/work/prompts/w/template.md", "x"),
    ]);
    let catalog = workspace.catalog(&["whole"]);
    let kinds: Vec<_> = catalog.packs().map(|pack| (pack.as_str(), catalog.pack_kind(pack))).collect();
    assert_eq!(
        kinds,
        [
            ("parts", Some(PackKind::Partial)),
            ("rules", Some(PackKind::System)),
            ("said", Some(PackKind::Utility)),
            ("whole", Some(PackKind::Agent)),
            ("work", Some(PackKind::Utility)),
        ]
    );
    assert_eq!(catalog.agent("a").expect("reads").and_then(|agent| agent.name).as_deref(), Some("A"));
    assert!(catalog.with_approvals(Approvals::default()).agent("a").expect("reads").is_none());
    for name in ["", "..", "../a", "a/b", "b"] {
        assert!(catalog.agent(name).expect("no error").is_none(), "{name}");
    }
}

#[test]
fn a_vocabulary_leads_to_prompts_and_packs_come_after_the_user() {
    let workspace = Workspace::new(&[
        (
            "user_data/shared/vocab.json",
            r#"{"prompt.general_system": ["prompt.base"], "prompt.planning_task_decomposition": ["prompt.planning"], "prompt.planning": ["prompt.plan"]}"#,
        ),
        ("user_data/packs/p/pack.json", "{}"),
        ("user_data/packs/p/vocab.txt", "prompt.coding_system, prompt.base, prompt.code\n"),
    ]);
    let id = |catalog: &Catalog, name: &str| catalog.resolve_id(name).map(|id| id.to_string()).ok();
    let (with, without) = (workspace.catalog(&["p"]), workspace.catalog(&[]));
    assert_eq!(id(&with, "BASE").as_deref(), Some("general_system"));
    assert_eq!(id(&with, "plan").as_deref(), Some("planning_task_decomposition"));
    assert_eq!((id(&with, "Code").as_deref(), id(&without, "Code")), (Some("coding_system"), None));
}

#[test]
fn words_that_come_with_the_product_change_nothing_that_others_say() {
    let id = |catalog: &Catalog, name: &str| catalog.resolve_id(name).map(|id| id.to_string()).ok();
    let empty = Workspace::new(&[]).catalog(&[]);
    assert_eq!(id(&empty, "System-Prompt").as_deref(), Some("general_system"));
    assert_eq!(empty.preferred_word("prompt", "update_memory").as_deref(), Some("memory_update"));
    for word in empty.vocabulary().words_in("prompt") {
        assert!(empty.choose(word).is_ok(), "{word}");
    }
    let workspace = Workspace::new(&[
        ("user_data/shared/prompts/update_memory/template.md", "mine"),
        (
            "user_data/shared/vocab.json",
            r#"{"prompt.coding_system": ["prompt.system"], "prompt.task_planning": ["prompt.plan"]}"#,
        ),
        ("user_data/packs/p/pack.json", "{}"),
        ("user_data/packs/p/vocab.txt", "prompt.memory_update, prompt.compress_history\n"),
    ]);
    let catalog = workspace.catalog(&["p"]);
    assert_eq!(id(&catalog, "update_memory").as_deref(), Some("update_memory"), "a directory comes first");
    assert_eq!(id(&catalog, "system").as_deref(), Some("coding_system"), "then the user");
    assert_eq!(id(&catalog, "compress_history").as_deref(), Some("memory_update"), "then packs");
    assert_eq!(
        catalog.preferred_word("prompt", "plan").as_deref(),
        Some("task_planning"),
        "a word of the user leads nowhere else"
    );
    assert!(catalog.diagnostics().is_empty(), "{:?}", catalog.diagnostics());
}

#[test]
fn a_workspace_that_is_not_there_has_the_built_ins() {
    let catalog = Catalog::open(CatalogOptions::new(Path::new("no/such/place")));
    let ids: Vec<String> = catalog.list().into_iter().map(|listing| listing.id.to_string()).collect();
    assert_eq!(
        ids,
        [
            "coding_system",
            "general_system",
            "history_compression",
            "memory_update",
            "planning_task_decomposition"
        ]
    );
    assert!(catalog.check().is_empty());
}
