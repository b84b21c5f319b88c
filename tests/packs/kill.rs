//! Killed at any step: each pack and the lock are old or new, and the next run does the rest.

use std::{
    fs,
    path::Path,
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use super::support::{Home, Repository, answer, write_pack};

/// The content of an installed pack: its version, if all of its files are of it.
fn version(home: &Home, id: &str) -> Option<String> {
    let pack = home.path(&format!("user_data/packs/{id}"));
    let manifest = fs::read_to_string(pack.join("pack.json")).ok()?;
    let version = manifest.split('"').nth(7)?.to_owned();
    let template = fs::read_to_string(pack.join(format!("prompts/greet_{id}/template.md"))).ok()?;
    assert_eq!(template, answer(id, &version), "a torn pack");
    Some(version)
}

fn write_version(home: &Home, repository: &Repository, version: &str) {
    write_pack(&home.outside("a"), "a", version, "");
    write_pack(&home.outside("b"), "b", version, "");
    for number in 0..40 {
        fs::write(home.outside("a").join(format!("{number}.md")), version).expect("written");
    }
    write_pack(&repository.0.join("packs/p"), "p", version, "");
    repository.commit(&format!("v{version}"));
}

/// How long an undisturbed run takes.
fn duration(home: &Home, arguments: &[&str]) -> Duration {
    let start = Instant::now();
    home.done(arguments);
    start.elapsed()
}

#[test]
fn a_killed_sync_leaves_old_or_new_packs_and_the_next_one_ends_it() {
    const ROUNDS: u32 = 20;
    let home = Home::new();
    let repository = Repository::new(home.outside("repository"));
    home.write(
        "hinagata.toml",
        "[packs]\na = { dir = \"../a\" }\nb = { dir = \"../b\" }\np = { git = \"../repository\", rev = \"main\", path = \"packs/p\" }\n",
    );
    write_version(&home, &repository, "1.0.0");
    home.done(&["pack", "sync"]);
    write_version(&home, &repository, "1.0.1");
    let whole = duration(&home, &["pack", "update"]);
    let (mut before, mut stopped) = ("1.0.1".to_owned(), 0);
    for round in 0..ROUNDS {
        let now = format!("1.1.{round}");
        write_version(&home, &repository, &now);
        let lock_before = fs::read_to_string(home.path("hinagata.lock")).expect("is there");
        let mut child = home
            .command(&["pack", "update"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("starts");
        // Kills are spread over the whole run: at a time, or when something of it lies there.
        let end = Instant::now() + whole * round / ROUNDS;
        let marks =
            [".syncing/1", ".syncing/3", ".coming"].map(|name| home.path(&format!("user_data/packs/{name}")));
        let is_over = |child: &mut std::process::Child| child.try_wait().expect("is there").is_some();
        while Instant::now() < end
            && !is_over(&mut child)
            && !(round % 4 == 3 && marks.iter().any(|mark| Path::exists(mark)))
        {
            thread::yield_now();
        }
        let _ = child.kill();
        stopped += u32::from(!child.wait().expect("ends").success());
        for id in ["a", "b", "p"] {
            let found = version(&home, id).expect("is there");
            assert!(found == before || found == now, "{id} is {found}, not {before} or {now}");
        }
        let lock = fs::read_to_string(home.path("hinagata.lock")).expect("is there");
        assert!(lock == lock_before || lock.matches(&format!("version = \"{now}\"")).count() == 3, "{lock}");
        home.done(&["pack", "update"]);
        assert_eq!(["a", "b", "p"].map(|id| version(&home, id)), [(); 3].map(|()| Some(now.clone())));
        before = now;
    }
    assert!(stopped > ROUNDS / 3, "only {stopped} runs were stopped");
    assert!(!home.path("user_data/packs/.syncing").exists());
}
