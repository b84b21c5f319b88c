//! The project directory of a session: from the host of the server, from the client's roots, or the working directory.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use hinagata_mcp::ProjectSource;
use rmcp::model::{ArgumentInfo, CompleteRequestParams, Reference};

use crate::support::{Client, ERAS, Era, Served, arguments, refused};

const REVIEW: (&str, &str) = (
    "review/prompt.yaml",
    "parameters: [{name: source, type: file, required: true}]\nmessages: [{role: user, content: \"{{ source }}\"}]\n",
);

/// A directory with these files.
fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a directory");
    for (path, text) in files {
        let path = place.path().join(path);
        std::fs::create_dir_all(path.parent().expect("has one")).expect("is made");
        std::fs::write(path, text).expect("is written");
    }
    place
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().expect("is there")
}

fn of_client(directory: &Path) -> ProjectSource {
    ProjectSource::Client { working_directory: real(directory) }
}

async fn review(client: &Client, file: &str) -> Result<String, rmcp::ErrorData> {
    let got = client.get("review", arguments(&[("source", file)])).await?;
    Ok(got.messages[0].content.as_text().expect("is a text").text.clone())
}

async fn completed(client: &Client, typed: &str) -> Vec<String> {
    let request =
        CompleteRequestParams::new(Reference::for_prompt("review"), ArgumentInfo::new("source", typed));
    client.client.complete(request).await.expect("completes").completion.values
}

#[tokio::test]
async fn a_library_reads_files_of_the_working_directory() {
    let work = directory(&[("src/main.rs", "fn main() {}"), ("same.txt", "of the project")]);
    let served =
        Served::with_project(&[REVIEW, ("review/same.txt", "of the prompt")], of_client(work.path()));
    for era in ERAS {
        let client = served.client(era).await;
        assert_eq!(review(&client, "src/main.rs").await.expect("is found"), "fn main() {}");
        assert_eq!(review(&client, "same.txt").await.expect("is found"), "of the project");
        let path = real(work.path()).join("src/main.rs").display().to_string();
        assert_eq!(review(&client, &path).await.expect("is found"), "fn main() {}");
    }
}

#[tokio::test]
async fn no_name_leads_out_of_the_project() {
    let outside = directory(&[("secret.txt", "outside")]);
    let work = directory(&[("inside.txt", "inside"), (".env", "TOKEN=1"), ("deep/x", "")]);
    #[cfg(unix)]
    std::os::unix::fs::symlink(outside.path().join("secret.txt"), work.path().join("link.txt"))
        .expect("is made");
    let served = Served::with_project(&[REVIEW], of_client(work.path()));
    let client = served.client(Era::Modern).await;
    let absolute = outside.path().join("secret.txt").display().to_string();
    for name in ["../secret.txt", "deep/../../x", "/etc/passwd", &absolute, "link.txt", "deep", "absent.txt"]
    {
        let error = review(&client, name).await.expect_err("is refused");
        assert!(!error.message.contains(&*work.path().to_string_lossy()), "{}", error.message);
    }
    let error = review(&client, ".env").await.expect_err("is withheld");
    assert!(error.message.contains("withheld"), "{}", error.message);
}

#[tokio::test]
async fn secrets_of_the_project_are_redacted_in_a_trusted_workspace_too() {
    let token = format!("ghp_{}", "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5");
    let work = directory(&[("notes.txt", &format!("token {token} here"))]);
    let served = Served::with_project(&[REVIEW], of_client(work.path()));
    let client = served.client(Era::Legacy).await;
    let got = client.get("review", arguments(&[("source", "notes.txt")])).await.expect("renders");
    let text = serde_json::to_string(&got).expect("is JSON");
    assert!(text.contains("«redacted:github-token»") && !text.contains(&token), "{text}");
    assert!(text.contains("hinagata/warnings"), "{text}");
}

#[tokio::test]
async fn roots_come_before_the_working_directory_and_follow_the_client() {
    let (work, first, second) = (
        directory(&[("a.txt", "work")]),
        directory(&[("a.txt", "first")]),
        directory(&[("a.txt", "second")]),
    );
    let served = Served::with_project(&[REVIEW], of_client(work.path()));
    for era in ERAS {
        let roots = Arc::new(Mutex::new(vec![real(first.path()), real(second.path())]));
        let client = served.rooted(era, &roots).await;
        assert_eq!(review(&client, "a.txt").await.expect("is found"), "first", "{era:?}");
        *roots.lock().expect("is not poisoned") = vec![real(second.path())];
        assert_eq!(review(&client, "a.txt").await.expect("is found"), "first", "roots are kept");
        client.client.notify_roots_list_changed().await.expect("is sent");
        assert_eq!(review(&client, "a.txt").await.expect("is found"), "second", "{era:?}");
        *roots.lock().expect("is not poisoned") = Vec::new();
        client.client.notify_roots_list_changed().await.expect("is sent");
        assert_eq!(review(&client, "a.txt").await.expect("is found"), "work", "{era:?}");
    }
}

#[tokio::test]
async fn a_fixed_project_ignores_the_roots_of_a_client() {
    let (fixed, other) = (directory(&[("a.txt", "fixed")]), directory(&[("a.txt", "other"), ("b.txt", "b")]));
    let served = Served::with_project(&[REVIEW], ProjectSource::Fixed(real(fixed.path())));
    for era in ERAS {
        let client = served.rooted(era, &Arc::new(Mutex::new(vec![real(other.path())]))).await;
        assert_eq!(review(&client, "a.txt").await.expect("is found"), "fixed");
        assert!(review(&client, "b.txt").await.is_err(), "the client cannot choose a directory");
    }
}

#[tokio::test]
async fn paths_of_the_project_are_completed_one_directory_at_a_time() {
    let work = directory(&[
        ("src/main.rs", ""),
        ("src/lib.rs", ""),
        ("src/deep/x.rs", ""),
        ("setup.py", ""),
        (".gitignore", "build/\n*.log\n"),
        ("build/out.txt", ""),
        ("server.log", ""),
        (".env", "A=1"),
    ]);
    let served = Served::with_project(&[REVIEW], of_client(work.path()));
    for era in ERAS {
        let client = served.client(era).await;
        assert_eq!(completed(&client, "s").await, ["setup.py", "src/"]);
        assert_eq!(completed(&client, "src/").await, ["src/deep/", "src/lib.rs", "src/main.rs"]);
        assert_eq!(completed(&client, "src/M").await, ["src/main.rs"]);
        assert_eq!(completed(&client, "").await, [".gitignore", "setup.py", "src/"], "without ignored files");
        for nothing in ["build/", "../", "/", "/etc/", "src/nope/", ".e"] {
            assert_eq!(completed(&client, nothing).await, Vec::<String>::new(), "{nothing}");
        }
    }
}

#[tokio::test]
async fn a_restricted_caller_sees_no_paths() {
    let work = directory(&[("a.txt", "")]);
    let reach = Arc::new(hinagata::Reach::new(|_| true, |_| true));
    let viewer = hinagata_mcp::Viewer::for_owner().with_reach(reach);
    let served = Served::with_options(&[REVIEW], |options| {
        options.viewer = Some(viewer);
        options.project_source = ProjectSource::Fixed(real(work.path()));
    });
    let client = served.client(Era::Modern).await;
    assert_eq!(completed(&client, "").await, Vec::<String>::new());
    let mut request =
        CompleteRequestParams::new(Reference::for_prompt("review"), ArgumentInfo::new("nope", ""));
    request.context = None;
    assert!(refused(client.client.complete(request).await.expect_err("is unknown")).message.contains("nope"));
}

const COMMIT: (&str, &str) = (
    "commit/prompt.yaml",
    "parameters: [{name: changes, type: string, required: true, source: diff}]\nmessages: [{role: user, content: \"{{ changes }}\"}]\n",
);

const RELEASE: (&str, &str) = (
    "release/prompt.yaml",
    "parameters: [{name: changes, source: {diff: \"v1..HEAD\"}}]\nmessages: [{role: user, content: \"{{ changes }}\"}]\n",
);

const OVERVIEW: (&str, &str) = (
    "overview/prompt.yaml",
    "parameters: [{name: files, source: {context: {include: [\"src/**\"], max_tokens: 1000}}}]\nmessages: [{role: user, content: \"{{ files }}\"}]\n",
);

fn git(directory: &Path, arguments: &[&str]) {
    let settings = ["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"];
    let run =
        std::process::Command::new("git").current_dir(directory).args(settings).args(arguments).output();
    let run = run.expect("git runs");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

/// A repository with two commits, a staged change and one that is not staged.
fn repository() -> tempfile::TempDir {
    let work = directory(&[("src/lamp.rs", "fn lamp() {}\n"), ("notes.md", "first\n")]);
    let write = |path: &str, text: &str| std::fs::write(work.path().join(path), text).expect("is written");
    git(work.path(), &["init", "--quiet"]);
    git(work.path(), &["add", "."]);
    git(work.path(), &["commit", "--quiet", "-m", "one"]);
    git(work.path(), &["tag", "v1"]);
    write("notes.md", "second\n");
    git(work.path(), &["commit", "--quiet", "-am", "two"]);
    write("src/lamp.rs", "fn lamp() { light() }\n");
    git(work.path(), &["add", "."]);
    write("notes.md", "third\n");
    work
}

#[tokio::test]
async fn a_parameter_takes_changes_and_files_from_the_project() {
    let work = repository();
    let served = Served::with_project(&[COMMIT, RELEASE, OVERVIEW], of_client(work.path()));
    for era in ERAS {
        let client = served.client(era).await;
        let listed = client.client.list_all_prompts().await.expect("lists");
        let commit = listed.iter().find(|prompt| prompt.name == "commit").expect("is listed");
        assert_eq!(commit.arguments.as_ref().expect("has one")[0].required, Some(false));
        let changes = client.text("commit", arguments(&[])).await;
        assert!(changes.contains("+fn lamp() { light() }") && changes.contains("+third"), "{changes}");
        let release = client.text("release", arguments(&[])).await;
        assert!(release.contains("+second") && !release.contains("light"), "{release}");
        let files = client.text("overview", arguments(&[])).await;
        assert!(files.contains("light()") && !files.contains("third"), "{files}");
        assert_eq!(client.text("commit", arguments(&[("changes", "passed")])).await, "passed");
    }
}

#[tokio::test]
async fn a_value_that_a_project_does_not_have_is_an_error_or_a_warning() {
    let work = directory(&[("a.txt", "")]);
    let fallback = (
        "fallback/prompt.yaml",
        "parameters: [{name: changes, source: diff, default: none}]\nmessages: [{role: user, content: \"{{ changes }}\"}]\n",
    );
    let served = Served::with_project(&[COMMIT, OVERVIEW, fallback], of_client(work.path()));
    let client = served.client(Era::Modern).await;
    let error = client.get("commit", arguments(&[])).await.expect_err("there is no repository");
    assert!(error.message.contains("not in a repository"), "{}", error.message);
    let error = client.get("overview", arguments(&[])).await.expect_err("nothing matches");
    assert!(error.message.contains("no file"), "{}", error.message);
    let got = client.get("fallback", arguments(&[])).await.expect("has a default");
    assert_eq!(got.messages[0].content.as_text().expect("is a text").text, "none");
    assert!(serde_json::to_string(&got.meta).expect("is JSON").contains("not in a repository"));
}

#[tokio::test]
async fn a_project_without_changes_is_a_warning() {
    let work = repository();
    git(work.path(), &["commit", "--quiet", "-am", "three"]);
    let served = Served::with_project(&[COMMIT], of_client(work.path()));
    let client = served.client(Era::Legacy).await;
    let got = client.get("commit", arguments(&[])).await.expect("renders");
    assert!(serde_json::to_string(&got.meta).expect("is JSON").contains("no changes"), "{:?}", got.meta);
}
