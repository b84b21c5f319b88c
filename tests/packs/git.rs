//! Packs of git repositories.

use std::{fs, os::unix::fs::symlink, process::Command};

use super::{
    servers::{HttpServer, SshServer},
    support::{Home, Repository, answer, failed, installed, run, write_pack},
};

fn add(home: &Home, repository: &str, tag: &str) -> super::support::Ran {
    home.run(&["pack", "add", "p", "--git", repository, "--tag", tag, "--path", "packs/p"])
}

/// The pack is installed, approved and rendered in this version.
fn renders(home: &Home, version: &str) {
    home.done(&["pack", "approve", "p", "--yes"]);
    assert_eq!(home.done(&["render", "greet_p", "--frozen"]).stdout, answer("p", version));
}

#[test]
fn a_tag_is_fetched_over_http_and_updated_to_another_one() {
    let home = Home::new();
    let repository = Repository::with_pack(home.outside("repositories/packs"));
    let server = HttpServer::start(home.outside("repositories"));
    let address = format!("{}/git/packs", server.address);
    home.write("hinagata.toml", "# mine\n");
    let added = add(&home, &address, "v1.0.0");
    assert_eq!(added.code, 0, "{added:?}");
    renders(&home, "1.0.0");
    let lock = fs::read_to_string(home.path("hinagata.lock")).expect("is there");
    assert!(lock.contains(&repository.git(&["rev-parse", "v1.0.0^{commit}"])), "{lock}");
    assert!(fs::read_to_string(home.path("hinagata.toml")).expect("is there").starts_with("# mine\n"));
    let outdated = home.done(&["pack", "outdated", "--json"]).json();
    assert_eq!(outdated[0]["newest"], "v1.1.0", "{outdated}");
    // Nothing is fetched but by the commands that say so.
    server.take_asked();
    for arguments in [
        &["render", "greet_p"][..],
        &["check"],
        &["list"],
        &["pack", "list"],
        &["lock"],
        &["pack", "verify"],
        &["doctor"],
    ] {
        home.run(arguments);
    }
    home.done(&["pack", "sync"]);
    home.done(&["pack", "sync", "--frozen"]);
    assert_eq!(server.take_asked(), [] as [&str; 0], "what is installed is not fetched again");
    assert_eq!(add(&home, &address, "v1.1.0").code, 0);
    let review = home.done(&["pack", "show", "p", "--json"]).json();
    let diff = review["changes"]["files"][1]["diff"].as_str().expect("is shown").to_owned();
    assert!(diff.contains("-greetings of p 1.0.0") && diff.contains("+greetings of p 1.1.0"), "{diff}");
    assert_eq!(home.run(&["render", "greet_p"]).code, 3, "nothing unapproved is used");
    renders(&home, "1.1.0");
}

#[test]
fn a_branch_is_locked_at_its_commit_until_it_is_updated() {
    let home = Home::new();
    let repository = Repository::with_pack(home.outside("packs"));
    home.done(&["pack", "add", "p", "--git", "../packs", "--rev", "main", "--path", "packs/p"]);
    write_pack(&repository.0.join("packs/p"), "p", "1.2.0", "");
    repository.commit("v1.2.0");
    fs::remove_dir_all(home.path("user_data/packs/p")).expect("removed");
    home.done(&["pack", "sync"]);
    renders(&home, "1.1.0");
    let outdated = home.done(&["pack", "outdated", "--json"]).json();
    assert_eq!(outdated[0]["pack_id"], "p", "{outdated}");
    home.done(&["pack", "update", "p"]);
    renders(&home, "1.2.0");
    assert_eq!(home.done(&["pack", "outdated", "--json"]).json().as_array().map(Vec::len), Some(0));
}

#[test]
fn a_private_repository_is_fetched_over_ssh_without_questions() {
    let home = Home::new();
    let repository = Repository::with_pack(home.outside("packs"));
    let server = SshServer::start(&home.outside("ssh"));
    let user = run(Command::new("id").arg("-un"));
    let address = format!("ssh://{user}@127.0.0.1:{}{}", server.port, repository.0.display());
    let arguments = ["pack", "add", "p", "--git", &address, "--tag", "v1.1.0", "--path", "packs/p"];
    let mut command = home.command(&arguments);
    let output = command.env("GIT_SSH_COMMAND", &server.command).output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    renders(&home, "1.1.0");
    // A server that asks for a password gets no answer, and nobody is asked.
    let other = Home::new();
    let stranger = format!(
        "ssh -F none -o UserKnownHostsFile={}/ssh/known -o IdentitiesOnly=yes",
        home.outside("").display()
    );
    let output = other.command(&arguments).env("GIT_SSH_COMMAND", stranger).output().expect("runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(5), "{told}");
    assert!(told.contains("error[fetch]") && told.contains("Permission denied"), "{told}");
    assert!(!other.path("hinagata.toml").exists() && !other.path("hinagata.lock").exists());
}

#[test]
fn what_a_hostile_repository_brings_is_refused_and_nothing_of_it_runs() {
    let home = Home::new();
    let inner = Repository::with_pack(home.outside("inner"));
    let marker = home.outside("ran");
    let touch = format!("touch {}", marker.display());
    let prepare = |name: &str, change: &dyn Fn(&Repository)| {
        let repository = Repository::with_pack(home.outside(&format!("hostile/{name}")));
        change(&repository);
        repository.commit("evil");
        repository
    };
    type Case<'c> = (&'c str, &'c dyn Fn(&Repository), &'c str);
    let cases: [Case<'_>; 6] = [
        ("link", &|one| symlink("/etc/passwd", one.0.join("packs/p/link.md")).expect("linked"), "is a link"),
        (
            "submodule",
            &|one| drop(one.git(&["submodule", "add", "-q", &inner.0.display().to_string(), "packs/p/sub"])),
            "is a submodule",
        ),
        (
            "case",
            &|one| {
                fs::write(one.0.join("packs/p/A.md"), "a").expect("written");
                fs::write(one.0.join("packs/p/a.md"), "b").expect("written");
            },
            "the same name",
        ),
        ("device", &|one| fs::write(one.0.join("packs/p/nul.md"), "a").expect("written"), "not a valid name"),
        (
            "huge",
            &|one| {
                let file = fs::File::create(one.0.join("packs/p/huge.bin")).expect("made");
                file.set_len(17 << 20).expect("grows");
            },
            "has more than",
        ),
        (
            "many",
            &|one| {
                for number in 0..10_050 {
                    fs::write(one.0.join(format!("packs/p/{number}.md")), "").expect("written");
                }
            },
            "more than 10000 files",
        ),
    ];
    for (name, change, message) in cases {
        prepare(name, change);
        let ran = add(&home, &format!("../hostile/{name}"), "evil");
        assert!(failed(&ran, "definition", 1).contains(message), "{name}: {ran:?}");
    }
    // A name that is not text.
    prepare("bytes", &|one| {
        use std::os::unix::ffi::OsStrExt as _;
        let name = std::ffi::OsStr::from_bytes(b"no\xfftext.md");
        fs::write(one.0.join("packs/p").join(name), "x").expect("written");
    });
    assert!(failed(&add(&home, "../hostile/bytes", "evil"), "definition", 1).contains("not valid UTF-8"));
    // Filters, attributes and hooks: the bytes are those of the repository, and no program runs.
    let repository = prepare("filters", &|one| {
        fs::write(one.0.join(".gitattributes"), "* filter=evil text eol=crlf ident\n").expect("written");
        fs::write(one.0.join("packs/p/prompts/greet_p/template.md"), "one\ntwo $Id$\n").expect("written");
    });
    for (key, value) in [
        ("filter.evil.smudge", &*touch),
        ("filter.evil.clean", "cat"),
        ("core.fsmonitor", &touch),
        ("uploadpack.packObjectsHook", &touch),
    ] {
        repository.git(&["config", key, value]);
    }
    for hook in ["post-checkout", "pre-receive", "reference-transaction", "post-update"] {
        let path = repository.0.join(".git/hooks").join(hook);
        fs::write(&path, format!("#!/bin/sh\n{touch}\n")).expect("written");
        run(Command::new("chmod").arg("+x").arg(path));
    }
    assert_eq!(add(&home, "../hostile/filters", "evil").code, 0);
    let template =
        fs::read_to_string(home.path("user_data/packs/p/prompts/greet_p/template.md")).expect("is there");
    assert_eq!(template, "one\ntwo $Id$\n");
    assert!(!marker.exists(), "something of the repository ran");
    assert_eq!(installed(&home), ["p"]);
}

#[test]
fn addresses_that_are_options_or_other_protocols_reach_nothing() {
    let home = Home::new();
    let marker = home.outside("ran");
    let touch = format!("ext::touch {}", marker.display());
    for repository in [
        &*touch,
        "--upload-pack=touch",
        "ssh://-oProxyCommand=touch/x",
        "http://example.com/x",
        "https://a:b@example.com/x",
    ] {
        let ran = home.run(&["pack", "add", "p", &format!("--git={repository}"), "--tag", "v1"]);
        assert!(ran.code == 2 && ran.stderr.contains("`git`"), "{repository}: {ran:?}");
    }
    assert!(!marker.exists());
    // A git configuration that sends addresses elsewhere cannot choose another protocol either.
    home.write_outside(
        ".gitconfig",
        format!(
            "[url \"{touch} \"]\n\tinsteadOf = https://example.com/\n[protocol \"ext\"]\n\tallow = always\n"
        ),
    );
    let ran = home.run(&["pack", "add", "p", "--git", "https://example.com/x", "--tag", "v1"]);
    assert!(failed(&ran, "fetch", 5).contains("not allowed"), "{ran:?}");
    assert!(!marker.exists());
}

#[test]
fn a_tag_that_moved_changes_nothing_before_an_update() {
    let home = Home::new();
    let repository = Repository::with_pack(home.outside("packs"));
    assert_eq!(add(&home, "../packs", "v1.0.0").code, 0);
    renders(&home, "1.0.0");
    write_pack(&repository.0.join("packs/p"), "p", "6.6.6", "");
    repository.commit("v1.0.0");
    fs::remove_dir_all(home.path("user_data/packs/p")).expect("removed");
    home.done(&["pack", "sync", "--frozen", "--approve-locked"]);
    assert_eq!(home.done(&["render", "greet_p", "--frozen"]).stdout, answer("p", "1.0.0"));
    home.done(&["pack", "update"]);
    renders(&home, "6.6.6");
}
