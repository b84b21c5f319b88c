//! Libraries: prompts of other workspaces in one engine, each with the trust of the workspace that it comes from.

use std::{
    fs,
    path::Path,
    sync::{Arc, mpsc},
};

use hinagata::{
    Code, Context, Engine, EngineOptions, Hint, Library, Reason, Request, Result, Severity,
    ports::{HookJob, Hooks, PortFuture, ProjectReader, ProjectText},
    source::RootKind,
};
use serde_json::{Value, json};

const SHARED: &str = "user_data/shared/prompts";

/// A workspace `work` and a library `library`, with these files.
fn places(files: &[(&str, &str)]) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a temporary directory");
    for directory in ["work", "library"] {
        fs::create_dir_all(place.path().join(directory).join(SHARED)).expect("made");
    }
    for (name, text) in files {
        write(&place.path().join(name), text);
    }
    place
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("has one")).expect("made");
    fs::write(path, text).expect("written");
}

fn library(place: &Path, trusted: bool) -> Library {
    Library { root: place.join("library"), paths: Vec::new(), trusted, problem: None }
}

fn options(workspace_trusted: bool, library: Library) -> EngineOptions {
    EngineOptions { trusted: workspace_trusted, libraries: vec![library], ..EngineOptions::default() }
}

fn engine(place: &Path, workspace_trusted: bool, library_trusted: bool) -> Engine {
    let options = options(workspace_trusted, library(place, library_trusted));
    Engine::builder(place.join("work")).with_options(options).open()
}

fn text(engine: &Engine, prompt: &str) -> String {
    engine.render_blocking(&Request::new(prompt)).unwrap_or_else(|error| panic!("{prompt}: {error}")).text()
}

#[test]
fn prompts_of_both_are_rendered_and_a_conflict_names_both() {
    let place = places(&[
        ("work/user_data/shared/prompts/build/template.md", "of the project"),
        ("library/user_data/shared/prompts/review/template.md", "of the library"),
        ("work/user_data/shared/prompts/both/template.md", "project"),
        ("library/user_data/shared/prompts/both/template.md", "library"),
    ]);
    let engine = engine(place.path(), false, false);
    assert_eq!(
        (text(&engine, "build"), text(&engine, "review")),
        ("of the project".into(), "of the library".into())
    );
    let source = place.path().join("library").join(SHARED).join("both").display().to_string();
    let error = engine.render_blocking(&Request::new("both")).expect_err("nothing settles it");
    assert_eq!((error.code(), error.reason()), (Code::Conflict, Some(Reason::Unresolved)));
    assert_eq!(error.details()["candidates"], json!([format!("{SHARED}/both"), source]));
    engine.set_resolution("both", &source).expect("is a candidate");
    assert_eq!(text(&engine, "both"), "library");
    engine.set_resolution("both", &format!("{SHARED}/both")).expect("is a candidate");
    assert_eq!(text(&engine, "both"), "project");
    assert!(!place.path().join("library").join(SHARED).join("resolution.json").exists());
    let choice = engine.catalog().choose("review").expect("is there");
    assert_eq!(*choice.entry.root(), RootKind::Library(0));
    assert!(engine.catalog().check().is_empty(), "{:?}", engine.catalog().check());
}

#[test]
fn partials_of_a_library_come_first_in_it_and_last_elsewhere() {
    let place = places(&[
        ("work/user_data/shared/prompts/partials/rules.md", "project rules"),
        ("library/user_data/shared/prompts/partials/rules.md", "library rules"),
        ("library/user_data/shared/prompts/partials/own.md", "own part"),
        ("library/user_data/shared/prompts/a/template.md", "{% include 'partials/rules.md' %}"),
        ("work/user_data/shared/prompts/b/template.md", "{% include 'partials/rules.md' %}"),
        ("work/user_data/shared/prompts/c/template.md", "{% include 'partials/own.md' %}"),
    ]);
    let engine = engine(place.path(), false, false);
    let texts = ["a", "b", "c"].map(|prompt| text(&engine, prompt));
    assert_eq!(texts, ["library rules", "project rules", "own part"]);
}

/// Reports the permissions and directories of each hook.
struct Recorded(mpsc::Sender<(String, Vec<String>, Option<std::path::PathBuf>, std::path::PathBuf)>);

impl Hooks for Recorded {
    fn run_hook<'a>(&'a self, job: HookJob<'a>) -> PortFuture<'a, Result<Value>> {
        let permissions = job.permissions.iter().map(|name| (*name).to_owned()).collect();
        let seen = (job.owner.to_owned(), permissions, job.own_directory.clone(), job.workspace.clone());
        self.0.send(seen).expect("is received");
        Box::pin(async { Ok(json!({"x": 1})) })
    }
}

const HOOK: &str = "PERMISSIONS = {'http_request': True, 'read_file': True}\nTEMPLATE = '{{ x }}'\ndef pre_render(v, c):\n    return v\n";

#[test]
fn python_has_the_trust_of_the_workspace_that_it_comes_from() {
    let place = places(&[
        ("work/user_data/shared/prompts/mine/prompt.py", HOOK),
        ("library/user_data/shared/prompts/theirs/prompt.py", HOOK),
    ]);
    for (work_trusted, library_trusted) in [(false, true), (true, false), (true, true), (false, false)] {
        let (sender, seen) = mpsc::channel();
        let options = options(work_trusted, library(place.path(), library_trusted));
        let engine = Engine::builder(place.path().join("work"))
            .with_options(options)
            .with_hooks(Arc::new(Recorded(sender)))
            .open();
        for (prompt, directory, trusted) in
            [("mine", "work", work_trusted), ("theirs", "library", library_trusted)]
        {
            let rendered = engine.render_blocking(&Request::new(prompt)).expect("renders");
            let (_, permissions, own, workspace) = seen.recv().expect("it ran");
            assert_eq!(permissions.contains(&"http_request".to_owned()), trusted, "{prompt}");
            assert_eq!(own, Some(place.path().join(directory).join(SHARED).join(prompt)));
            // An untrusted library does not see the project.
            let root = if prompt == "theirs" && !trusted { "library" } else { "work" };
            assert_eq!(workspace, place.path().join(root), "{prompt}");
            let warnings: Vec<String> =
                rendered.warnings.iter().map(|found| found.error.message().to_owned()).collect();
            assert_eq!(warnings.len(), usize::from(!trusted), "{warnings:?}");
            if !trusted {
                let expected =
                    if prompt == "mine" { "the workspace is not trusted" } else { "the library `" };
                assert!(warnings[0].starts_with(expected), "{warnings:?}");
            }
        }
        let found = engine
            .catalog()
            .withheld_permissions(|library| !library.map_or(work_trusted, |library| library.trusted));
        let untrusted = usize::from(!work_trusted) + usize::from(!library_trusted);
        assert_eq!(found.len(), untrusted, "{found:?}");
        let hints =
            found.iter().filter(|found| matches!(found.error.hint(), Some(Hint::TrustLibrary { .. })));
        assert_eq!(hints.count(), usize::from(!library_trusted));
    }
}

/// Fails as Python does that calls what is withheld.
struct Refusing;

impl Hooks for Refusing {
    fn run_hook<'a>(&'a self, _job: HookJob<'a>) -> PortFuture<'a, Result<Value>> {
        let hint = Hint::from("leave it out").then(Hint::TrustWorkspace);
        Box::pin(async { Err(hinagata::Error::new(Code::Hook, "not available").with_hint(hint)) })
    }
}

#[test]
fn a_failing_hook_names_the_workspace_to_trust() {
    let place = places(&[
        ("work/user_data/shared/prompts/mine/prompt.py", HOOK),
        ("library/user_data/shared/prompts/theirs/prompt.py", HOOK),
    ]);
    let engine = Engine::builder(place.path().join("work"))
        .with_options(options(false, library(place.path(), false)))
        .with_hooks(Arc::new(Refusing))
        .open();
    let path = place.path().join("library").display().to_string();
    for (prompt, step) in [("mine", Hint::TrustWorkspace), ("theirs", Hint::TrustLibrary { path })] {
        let error = engine.render_blocking(&Request::new(prompt)).expect_err("fails");
        assert_eq!(error.hint(), Some(&Hint::from("leave it out").then(step)), "{prompt}");
    }
}

#[test]
fn a_prompt_is_trusted_no_more_than_its_parents() {
    let place = places(&[
        ("work/user_data/shared/prompts/base/template.md", "base"),
        (
            "library/user_data/shared/prompts/child/prompt.py",
            "METADATA = {'extends': 'base'}\nPERMISSIONS = {'http_request': True}\ndef pre_render(v, c):\n    return v\n",
        ),
    ]);
    let (sender, seen) = mpsc::channel();
    let engine = Engine::builder(place.path().join("work"))
        .with_options(options(false, library(place.path(), true)))
        .with_hooks(Arc::new(Recorded(sender)))
        .open();
    let rendered = engine.render_blocking(&Request::new("child")).expect("renders");
    assert_eq!(seen.recv().expect("it ran").1, [] as [&str; 0]);
    assert!(rendered.warnings[0].error.message().starts_with("the workspace is not trusted"), "{rendered:?}");
}

struct NoProject;

impl ProjectReader for NoProject {
    fn read_project<'a>(
        &'a self,
        _directory: &'a Path,
        _value: &'a hinagata::definition::ProjectValue,
    ) -> PortFuture<'a, Result<ProjectText>> {
        Box::pin(async { Ok(ProjectText { text: "the changes".to_owned(), warnings: Vec::new() }) })
    }
}

const DIFF: &str =
    "parameters: [{name: changes, source: diff}]\nmessages: [{role: user, content: \"{{ changes }}\"}]\n";

#[test]
fn an_untrusted_prompt_takes_values_of_its_own_project_only() {
    let place = places(&[
        ("work/user_data/shared/prompts/mine/prompt.yaml", DIFF),
        ("library/user_data/shared/prompts/theirs/prompt.yaml", DIFF),
    ]);
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    let (work, elsewhere) = (place.path().join("work"), elsewhere.path().to_owned());
    for (prompt, trusted, project, is_read) in [
        ("mine", false, &work, true),
        ("mine", false, &elsewhere, false),
        ("mine", true, &elsewhere, true),
        ("theirs", false, &work, false),
        ("theirs", true, &work, true),
    ] {
        let engine = Engine::builder(&work)
            .with_options(options(trusted, library(place.path(), trusted)))
            .with_project_reader(Arc::new(NoProject))
            .open();
        let context = Context { project: Some(project.clone()), ..Context::default() };
        match engine.render_blocking(&Request::new(prompt).with_context(&context)) {
            Ok(rendered) => assert!(is_read && rendered.text().contains("the changes"), "{prompt} {trusted}"),
            Err(error) => {
                assert!(!is_read, "{prompt} {trusted}: {error}");
                assert_eq!((error.code(), error.reason()), (Code::Approval, Some(Reason::Untrusted)));
                assert_eq!(error.details()["parameter"], "changes");
                let is_library = matches!(error.hint(), Some(Hint::TrustLibrary { .. }));
                assert_eq!(is_library, prompt == "theirs", "{error:?}");
            }
        }
    }
}

const FILE: &str = "parameters: [{name: note, type: file, default: note.txt}]\nmessages: [{role: user, content: \"{{ note }}\"}]\n";

#[test]
fn files_that_a_library_names_are_its_own_and_those_of_the_caller_are_of_the_project() {
    let place = places(&[
        ("library/user_data/shared/prompts/read/prompt.yaml", FILE),
        ("library/note.txt", "of the library"),
        ("work/note.txt", "of the project"),
        ("work/other.txt", "another"),
    ]);
    for trusted in [false, true] {
        let engine = engine(place.path(), false, trusted);
        assert!(text(&engine, "read").contains("of the library"));
        let variables = json!({"note": "note.txt"});
        let rendered =
            engine.render_blocking(&Request::new("read").with_variables(&variables)).expect("renders");
        assert!(rendered.text().contains("of the project"), "{}", rendered.text());
    }
    // What only the workspace has, an author reads if the user trusts the author.
    write(
        &place.path().join("library").join(SHARED).join("read/prompt.yaml"),
        &FILE.replace("default: note.txt", "default: other.txt"),
    );
    assert!(text(&engine(place.path(), false, true), "read").contains("another"));
    let error =
        engine(place.path(), true, false).render_blocking(&Request::new("read")).expect_err("is not its own");
    assert_eq!(error.reason(), Some(Reason::File));
}

#[test]
fn a_missing_or_broken_library_is_reported_and_the_rest_works() {
    let place = places(&[
        ("work/user_data/shared/prompts/mine/template.md", "mine"),
        ("empty/readme.txt", ""),
        ("pathed/prompts/extra/template.md", "extra"),
    ]);
    let at = |name: &str, paths: &[&str]| Library {
        root: place.path().join(name),
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        trusted: false,
        problem: None,
    };
    for (library, message) in [
        (at("none", &[]), "not found"),
        (at("empty", &[]), "has no directory `user_data/shared/prompts`"),
        (at("pathed", &["prompts", "gone"]), "has no directory `gone`"),
        (at("empty/readme.txt", &[]), ""),
    ] {
        let name = library.root.display().to_string();
        let engine = Engine::builder(place.path().join("work")).with_options(options(false, library)).open();
        let found = engine.catalog().diagnostics();
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        assert!(found[0].error.message().contains(message), "{name}: {found:?}");
        let rendered = engine.render_blocking(&Request::new("mine")).expect("renders");
        assert_eq!((rendered.text().as_str(), rendered.warnings.len()), ("mine", 1), "{name}");
    }
    let engine = Engine::builder(place.path().join("work"))
        .with_options(options(false, at("pathed", &["prompts"])))
        .open();
    assert_eq!(text(&engine, "extra"), "extra");
    assert!(engine.catalog().diagnostics().is_empty(), "prompts may be elsewhere");
    let broken = Library {
        problem: Some(hinagata::Error::definition(Reason::Settings, "line 1 is wrong")),
        ..library(place.path(), false)
    };
    let engine = Engine::builder(place.path().join("work")).with_options(options(false, broken)).open();
    let found = engine.catalog().diagnostics();
    assert_eq!((found.len(), found[0].severity), (1, Severity::Warning), "{found:?}");
}

#[test]
fn a_library_that_is_the_workspace_adds_nothing() {
    let place = places(&[("work/user_data/shared/prompts/mine/template.md", "mine")]);
    let itself = Library { root: place.path().join("work/../work"), ..library(place.path(), true) };
    let engine = Engine::builder(place.path().join("work")).with_options(options(false, itself)).open();
    assert_eq!(text(&engine, "mine"), "mine");
    // A directory that both name has one candidate for each id, too.
    let paths = vec![place.path().join("library").join(SHARED).display().to_string()];
    write(&place.path().join("library").join(SHARED).join("theirs/template.md"), "theirs");
    let options = EngineOptions { paths, ..options(false, library(place.path(), true)) };
    let engine = Engine::builder(place.path().join("work")).with_options(options).open();
    assert_eq!(text(&engine, "theirs"), "theirs");
}

#[cfg(feature = "watch")]
#[test]
fn changes_of_a_library_are_noticed() {
    let place = places(&[]);
    let engine = engine(place.path(), false, false);
    let (sender, changed) = mpsc::channel();
    let watcher = engine.watch_files(move |catalog, _| {
        let _ = sender.send(catalog.choose("late").is_ok());
    });
    let _watcher = watcher.expect("watches");
    write(&place.path().join("library").join(SHARED).join("late/template.md"), "late");
    while !changed.recv_timeout(std::time::Duration::from_secs(60)).expect("is noticed") {}
    assert_eq!(text(&engine, "late"), "late");
}

#[test]
fn callers_on_other_machines_do_not_see_where_a_library_is() {
    let place = places(&[("library/user_data/shared/prompts/broken/prompt.yaml", "messages: 5\n")]);
    let engine = engine(place.path(), false, false);
    let error = engine.render_blocking(&Request::new("broken")).expect_err("is broken");
    let shown = error.place().expect("has a place").to_string();
    assert!(shown.starts_with(&place.path().display().to_string()), "{shown}");
    let hidden = engine.local_places().hide_in_text(&shown).expect("has a path of this machine");
    assert!(hidden.starts_with("library/user_data/shared/prompts/broken/prompt.yaml"), "{hidden}");
}
