//! `hina render-file` where a transcript cannot show it: links, pipes, colours, streams.

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Output, Stdio},
};

fn hina(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hina"));
    command.current_dir(directory).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").stdin(Stdio::null());
    command
}

fn render(directory: &Path, arguments: &[&str]) -> Output {
    hina(directory).arg("render-file").args(arguments).output().expect("hina runs")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("is UTF-8")
}

fn place(files: &[(&str, &str)]) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a temporary directory");
    for (name, content) in files {
        let path = place.path().join(name);
        fs::create_dir_all(path.parent().expect("has one")).expect("made");
        fs::write(path, content).expect("written");
    }
    place
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Renders `root/main.md`, which includes `name`, beside a secret.
    fn include(name: &str, prepare: impl FnOnce(&Path)) -> Output {
        let main = format!("{{% include {name:?} %}}");
        let place = place(&[("root/main.md", &main), ("root/sub/inner.md", "inner"), ("secret", "secret")]);
        prepare(place.path());
        render(place.path(), &["root/main.md"])
    }

    #[test]
    fn an_included_link_stays_inside() {
        let output =
            include("link", |place| symlink("sub/inner.md", place.join("root/link")).expect("linked"));
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "inner"));
    }

    #[test]
    fn an_included_link_does_not_lead_out() {
        for target in ["../secret", "/etc/passwd"] {
            let output = include("link", |place| symlink(target, place.join("root/link")).expect("linked"));
            let error = text(&output.stderr);
            assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""), "{error}");
            assert!(
                error.starts_with("error[render.security]: template 'link' is outside of its directory"),
                "{error}"
            );
            assert!(error.contains("root/main.md:1:4"), "{error}");
        }
    }

    #[test]
    fn an_included_pipe_is_not_waited_for() {
        let output = include("pipe", |place| {
            let made = Command::new("mkfifo").arg(place.join("root/pipe")).status().expect("mkfifo is there");
            assert!(made.success());
        });
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{error}");
        assert!(error.contains("`pipe` is not a regular file"), "{error}");
    }

    #[test]
    fn a_template_that_is_named_may_be_a_link() {
        let place = place(&[("elsewhere/real.md", "real {{ x }}")]);
        symlink("elsewhere/real.md", place.path().join("main.md")).expect("linked");
        let output = render(place.path(), &["main.md", "x=1"]);
        assert_eq!(text(&output.stdout), "real 1", "{}", text(&output.stderr));
    }
}

#[test]
fn the_text_is_printed_exactly() {
    let place = place(&[("a.md", "{{ x }}\r\n\n"), ("empty.md", "")]);
    assert_eq!(render(place.path(), &["a.md", "x=a\tb"]).stdout, b"a\tb\n");
    assert_eq!(render(place.path(), &["empty.md"]).stdout, b"");
}

#[test]
fn a_template_cannot_take_the_output_back() {
    let place = place(&[("a.md", "{{ 'before' }}{{ 1 / 0 }}")]);
    let output = render(place.path(), &["a.md"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""));
}

#[test]
fn colours_are_for_those_who_see_them() {
    let place = place(&[("a.md", "{{")]);
    let coloured = |variables: &[(&str, &str)]| {
        let output =
            hina(place.path()).args(["render-file", "a.md"]).envs(variables.iter().copied()).output();
        output.expect("hina runs").stderr.contains(&0x1b)
    };
    assert!(!coloured(&[]), "standard error is no terminal");
    assert!(coloured(&[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[("NO_COLOR", "1")]));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let place = place(&[("a.md", "{% for i in range(50000) %}0123456789{% endfor %}")]);
    let mut child = hina(place.path())
        .args(["render-file", "a.md"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("hina runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("hina ends");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn variables_and_templates_can_come_through_standard_input() {
    let place = place(&[("a.md", "{{ text }}")]);
    let mut child = hina(place.path())
        .args(["render-file", "a.md", "text=@-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("hina runs");
    child.stdin.take().expect("is piped").write_all(b"typed\n").expect("is read");
    assert_eq!(text(&child.wait_with_output().expect("hina ends").stdout), "typed\n");
}

#[test]
fn a_larger_stack_is_really_there() {
    let place = place(&[(
        "a.md",
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(20000) }}end",
    )]);
    let limits = ["--limit", "calls=100000", "--limit", "stack=512MiB", "--limit", "bytes=1GiB"];
    let output = render(place.path(), &[&["a.md"], &limits[..]].concat());
    assert_eq!(text(&output.stdout), "end", "{}", text(&output.stderr));
}
