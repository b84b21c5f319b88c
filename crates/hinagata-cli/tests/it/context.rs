//! Packing: standard input, files, repositories, exit codes.

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

fn tree(files: &[(&str, &str)]) -> TempDir {
    let place = tempfile::tempdir().expect("a temporary directory");
    for (name, content) in files {
        let path = place.path().join(name);
        fs::create_dir_all(path.parent().expect("has one")).expect("made");
        fs::write(path, content).expect("written");
    }
    place
}

fn pack(place: &Path, arguments: &[&str], input: &str) -> Output {
    let state = tempfile::tempdir().expect("a temporary directory");
    let mut child = Command::new(env!("CARGO_BIN_EXE_hina"))
        .args(["context", "pack"])
        .args(arguments)
        .current_dir(place)
        .env("HINAGATA_STATE", state.path())
        .env("XDG_CONFIG_HOME", state.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hina starts");
    child.stdin.take().expect("is piped").write_all(input.as_bytes()).expect("is read");
    child.wait_with_output().expect("hina ends")
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn status(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn packed_paths(output: &Output) -> Vec<String> {
    let path = |line: &str| Some(line.strip_prefix("// File: ")?.to_owned());
    printed(output).lines().filter_map(path).collect()
}

#[test]
fn standard_input_names_files_and_directories() {
    let place = tree(&[("a.md", "a"), ("[x].md", "x"), ("d/b.md", "b"), ("c.md", "c")]);
    let absolute = place.path().join("d").display().to_string();
    let lines = pack(place.path(), &["--stdin"], &format!("./[x].md\r\n\n{absolute}\n"));
    assert_eq!(packed_paths(&lines), ["[x].md", "d/b.md"], "{}", status(&lines));
    let separated = pack(place.path(), &["--stdin", "a.md"], "c.md\0d/b.md\0");
    assert_eq!(packed_paths(&separated), ["a.md", "c.md", "d/b.md"]);
    let missing = pack(place.path(), &["--stdin"], "a.md\nnone.md\n");
    assert_eq!(packed_paths(&missing), ["a.md"]);
    assert!(status(&missing).contains("no file matches `none.md`"), "{}", status(&missing));
}

#[test]
fn nothing_packed_is_exit_code_1_and_says_what_was_found() {
    let place = tree(&[("logo.png", "\u{89}PNG\0"), ("Cargo.lock", "x"), ("empty/.keep", "")]);
    let output = pack(place.path(), &[".", "-i", ".keep"], "");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(printed(&output), "");
    let message = "nothing is packed: 3 files were found, all left out: 1 excluded, 1 binary, 1 lock";
    assert!(status(&output).contains(message), "{}", status(&output));
    fs::remove_file(place.path().join("empty/.keep")).expect("removed");
    let output = pack(place.path(), &["empty"], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(status(&output).contains("no file was found"), "{}", status(&output));
    let report = pack(place.path(), &["--report"], "");
    assert_eq!(report.status.code(), Some(1));
    assert!(printed(&report).contains("logo.png\t6\t-\tbinary"), "{}", printed(&report));
}

#[test]
fn a_text_above_the_token_budget_is_exit_code_7() {
    let place = tree(&[("a.md", &"word ".repeat(2000)), ("b.md", "b")]);
    let above = pack(place.path(), &["--token-budget", "100"], "");
    assert_eq!(above.status.code(), Some(7));
    assert_eq!(printed(&above), "");
    assert!(status(&above).contains("only 100 are allowed"), "{}", status(&above));
    let within = pack(place.path(), &["--token-budget", "100000"], "");
    assert_eq!(within.status.code(), Some(0));
    assert_eq!(packed_paths(&within), ["a.md", "b.md"]);
}

#[test]
fn a_file_receives_the_text_and_is_not_packed_itself() {
    let place = tree(&[("a.md", "a"), ("sub/out.md", "other")]);
    let arguments = [".", "-o", "out.md", "--style", "markdown"];
    for _ in 0..2 {
        let output = pack(place.path(), &arguments, "");
        assert_eq!(output.status.code(), Some(0), "{}", status(&output));
        assert_eq!(printed(&output), "");
        assert!(status(&output).starts_with("packed 2 files"), "{}", status(&output));
    }
    let text = fs::read_to_string(place.path().join("out.md")).expect("is written");
    assert!(
        text.contains("## `a.md`") && text.contains("## `sub/out.md`") && !text.contains("## `out.md`"),
        "{text}"
    );
    // A failure leaves the file as it was.
    let failed = pack(place.path(), &["sub", "-o", "out.md", "--token-budget", "1"], "");
    assert_eq!(failed.status.code(), Some(7));
    assert_eq!(fs::read_to_string(place.path().join("out.md")).expect("is there"), text);
    let left: Vec<_> =
        fs::read_dir(place.path()).expect("reads").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn largest_files_and_the_tree_of_tokens_go_to_standard_error() {
    let place = tree(&[("src/a.md", &"word ".repeat(300)), ("src/b.md", "b"), ("c.md", "c")]);
    let output = pack(place.path(), &[".", "--top-files-len", "1", "--token-count-tree", "100"], "");
    assert_eq!(packed_paths(&output), ["c.md", "src/a.md", "src/b.md"]);
    let status = status(&output);
    assert!(
        status.starts_with("src/ ") && status.contains("\n  a.md ") && !status.contains("b.md"),
        "{status}"
    );
    assert_eq!(status.matches("a.md").count(), 2, "{status}");
}
