//! The store in a file of the workspace: durable, shared by processes, never torn.

use std::{fs, process::Command, sync::Arc};

use crate::support::wait_for;
use hinagata::{
    Code, Engine, Reason, Result,
    ports::Store,
    store::{StoreChange, StoreKind},
};
use hinagata_store::{DEFAULT_PREFIX, EmbeddedStore, STORE_DIRECTORY, STORE_FILE};
use serde_json::json;

fn write(root: &std::path::Path, changes: Vec<StoreChange>) -> Result<()> {
    let store = Arc::new(EmbeddedStore::open(root, DEFAULT_PREFIX));
    Engine::builder(root).with_store(store).open().write_store_blocking(changes)
}

fn environ(id: &str, number: u64) -> StoreChange {
    StoreChange::set(StoreKind::Environ, id, json!(number))
}

#[test]
fn a_write_is_visible_to_the_next_process() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let empty = EmbeddedStore::open(place.path(), DEFAULT_PREFIX);
    assert!(empty.snapshot().environs.is_empty() && empty.snapshot().health.is_up());
    assert!(!place.path().join("user_data").exists(), "reading makes nothing");
    write(place.path(), vec![environ("a.b", 1), environ("c", 2)]).expect("written");
    write(place.path(), vec![StoreChange::delete(StoreKind::Environ, "c")]).expect("written");
    let again = EmbeddedStore::open(place.path(), DEFAULT_PREFIX);
    assert_eq!(*again.snapshot().tree, json!({"a": {"b": 1}}));
}

#[test]
fn two_open_stores_see_each_others_writes() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let open = || {
        let store = EmbeddedStore::open(place.path(), DEFAULT_PREFIX).with_watcher().expect("can be watched");
        Arc::new(store)
    };
    let (one, other) = (open(), open());
    let engine = |store: &Arc<EmbeddedStore>| {
        Engine::builder(place.path()).with_store(Arc::<EmbeddedStore>::clone(store)).open()
    };
    engine(&one).write_store_blocking(vec![environ("a", 1)]).expect("written");
    wait_for(&*other, "a", |snapshot| *snapshot.tree == json!({"a": 1}));
    engine(&other).write_store_blocking(vec![environ("b", 2)]).expect("written");
    assert_eq!(*other.snapshot().tree, json!({"a": 1, "b": 2}));
    wait_for(&*one, "a and b", |snapshot| *snapshot.tree == json!({"a": 1, "b": 2}));
}

#[test]
fn many_writers_lose_nothing() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let root = place.path();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            scope.spawn(move || {
                for number in 0..10 {
                    write(root, vec![environ(&format!("w{writer}.n{number}"), number)]).expect("written");
                }
            });
        }
    });
    let store = EmbeddedStore::open(root, DEFAULT_PREFIX);
    assert_eq!(store.snapshot().environs.len(), 40);
}

/// Not a test of its own: the next test runs it in a process and kills that process.
#[test]
fn writer_that_gets_killed() {
    use std::io::Write as _;
    let Some(root) = std::env::var_os("HINAGATA_TEST_ROOT") else { return };
    for number in 0.. {
        write(root.as_ref(), vec![environ("a", number), environ("b", number)]).expect("written");
        writeln!(std::io::stdout(), "wrote {number}").expect("somebody reads");
    }
}

#[test]
fn a_killed_writer_leaves_the_old_or_the_new_state() {
    use std::io::BufRead as _;
    let place = tempfile::tempdir().expect("a temporary directory");
    let mut last = 0;
    for round in 0..5 {
        let mut child = Command::new(std::env::current_exe().expect("runs"))
            .args(["--exact", "embedded::writer_that_gets_killed", "--nocapture"])
            .env("HINAGATA_TEST_ROOT", place.path())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("starts");
        let lines = std::io::BufReader::new(child.stdout.take().expect("is piped")).lines();
        let wrote =
            lines.map_while(std::result::Result::ok).filter(|line| line.contains("wrote ")).nth(round);
        assert!(wrote.is_some(), "it writes");
        child.kill().expect("can be killed");
        child.wait().expect("ends");
        let snapshot = EmbeddedStore::open(place.path(), DEFAULT_PREFIX).snapshot();
        assert!(snapshot.health.is_up(), "{:?}", snapshot.health);
        let (a, b) = (&snapshot.environs["a"].value, &snapshot.environs["b"].value);
        assert_eq!(a, b, "both are of one change");
        last += a.as_u64().expect("a number");
    }
    assert!(last > 0);
}

#[test]
fn an_unusable_file_is_reported_and_kept() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let directory = place.path().join(STORE_DIRECTORY);
    fs::create_dir_all(&directory).expect("made");
    fs::write(directory.join(STORE_FILE), "this is no database").expect("written");
    let store = EmbeddedStore::open(place.path(), DEFAULT_PREFIX);
    let (_, error) = store.snapshot().health.outage.clone().expect("it is told");
    assert_eq!((error.code(), error.reason()), (Code::Store, Some(Reason::Unreadable)));
    assert!(write(place.path(), vec![environ("a", 1)]).is_err());
    assert_eq!(fs::read(directory.join(STORE_FILE)).expect("is there"), b"this is no database");
}

#[test]
fn a_corrupt_file_is_reported() {
    let place = tempfile::tempdir().expect("a temporary directory");
    write(place.path(), (0..200).map(|number| environ(&format!("n{number}"), number)).collect())
        .expect("written");
    let file = place.path().join(STORE_DIRECTORY).join(STORE_FILE);
    let whole = fs::read(&file).expect("is there");
    for size in [0, 1, 511, 4_096, whole.len() / 2, whole.len() - 1] {
        fs::write(&file, &whole[..size]).expect("written");
        // Any outcome is fine without a panic or endless work.
        let store = EmbeddedStore::open(place.path(), DEFAULT_PREFIX);
        let snapshot = store.snapshot();
        assert!(snapshot.environs.len() == 200 || snapshot.environs.is_empty(), "{size}");
    }
    for place_of_byte in (0..whole.len()).step_by(whole.len() / 50) {
        let mut changed = whole.clone();
        changed[place_of_byte] ^= 0xff;
        fs::write(&file, &changed).expect("written");
        drop(EmbeddedStore::open(place.path(), DEFAULT_PREFIX));
    }
}

#[cfg(unix)]
#[test]
fn only_the_user_may_read_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = tempfile::tempdir().expect("a temporary directory");
    write(place.path(), vec![environ("secret", 1)]).expect("written");
    let file = place.path().join(STORE_DIRECTORY).join(STORE_FILE);
    assert_eq!(fs::metadata(file).expect("is there").permissions().mode() & 0o777, 0o600);
}

#[cfg(unix)]
#[test]
fn no_link_leads_out_of_the_workspace() {
    let (place, outside) = (tempfile::tempdir().expect("one"), tempfile::tempdir().expect("another"));
    write(outside.path(), vec![environ("secret", 1)]).expect("written");
    fs::create_dir_all(place.path().join("user_data")).expect("made");
    let target = outside.path().join(STORE_DIRECTORY);
    std::os::unix::fs::symlink(&target, place.path().join(STORE_DIRECTORY)).expect("linked");
    let store = EmbeddedStore::open(place.path(), DEFAULT_PREFIX);
    assert!(store.snapshot().environs.is_empty());
    assert!(write(place.path(), vec![environ("a", 1)]).is_err());

    fs::remove_file(place.path().join(STORE_DIRECTORY)).expect("removed");
    fs::create_dir_all(place.path().join(STORE_DIRECTORY)).expect("made");
    std::os::unix::fs::symlink(target.join(STORE_FILE), place.path().join(STORE_DIRECTORY).join(STORE_FILE))
        .expect("linked");
    let store = EmbeddedStore::open(place.path(), DEFAULT_PREFIX);
    assert!(store.snapshot().environs.is_empty());
    assert!(write(place.path(), vec![environ("a", 1)]).is_err());
}

/// Runs a function of this file that is not a test of its own, in a process with `root` as its workspace.
#[cfg(target_os = "linux")]
fn run_child(mut command: Command, name: &str, root: &std::path::Path) -> String {
    let output = command
        .args(["--exact", &format!("embedded::{name}"), "--nocapture"])
        .env("HINAGATA_TEST_ROOT", root)
        .output()
        .expect("starts");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("is text")
}

/// The next test runs it where files cannot grow any more.
#[test]
fn writer_on_a_full_disk() {
    use std::io::Write as _;
    let Some(root) = std::env::var_os("HINAGATA_TEST_ROOT") else { return };
    let store = Arc::new(EmbeddedStore::open(&root, DEFAULT_PREFIX));
    let engine = Engine::builder(&root).with_store(Arc::<EmbeddedStore>::clone(&store)).open();
    let text = "x".repeat(64 << 10);
    let write = |number: usize| {
        engine.write_store_blocking(vec![StoreChange::set(
            StoreKind::Environ,
            format!("n{number}"),
            json!(text),
        )])
    };
    let written = (0..1_000).take_while(|number| write(*number).is_ok()).count();
    for _ in 0..2 {
        let error = write(written).expect_err("the disk is still full");
        assert_eq!(error.code(), Code::Store, "{error}");
        let snapshot = store.snapshot();
        assert!(snapshot.health.is_up(), "what is there can be read: {:?}", snapshot.health);
        assert_eq!(snapshot.environs.len(), written + 1);
    }
    writeln!(std::io::stdout(), "\nwritten={written}").expect("somebody reads");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_refuses_writes_and_loses_nothing() {
    let place = tempfile::tempdir().expect("a temporary directory");
    write(place.path(), vec![environ("before", 1)]).expect("written");
    let size = fs::metadata(place.path().join(STORE_DIRECTORY).join(STORE_FILE)).expect("is there").len();
    // The limit counts blocks of 512 bytes. Without the trap, the first write beyond it would end the process.
    let mut command = Command::new("sh");
    command.args(["-c", r#"trap '' XFSZ && ulimit -f "$0" && exec "$@""#, &size.div_ceil(512).to_string()]);
    command.arg(std::env::current_exe().expect("runs"));
    let said = run_child(command, "writer_on_a_full_disk", place.path());
    let written = said.lines().find_map(|line| line.strip_prefix("written=")?.parse::<usize>().ok());
    let written = written.unwrap_or_else(|| panic!("{said}"));
    assert!(written < 1_000, "the disk was full");
    let environs = || EmbeddedStore::open(place.path(), DEFAULT_PREFIX).snapshot().environs.len();
    assert_eq!(environs(), written + 1, "every acknowledged document is there, and no other");
    write(place.path(), vec![environ("after", 1)]).expect("the disk has room again");
    assert_eq!(environs(), written + 2);
}

/// The next test runs it as a user who may not write.
#[test]
fn writer_on_a_read_only_disk() {
    let Some(root) = std::env::var_os("HINAGATA_TEST_ROOT") else { return };
    let store = Arc::new(EmbeddedStore::open(&root, DEFAULT_PREFIX));
    let engine = Engine::builder(&root).with_store(Arc::<EmbeddedStore>::clone(&store)).open();
    let error = engine.write_store_blocking(vec![environ("a", 2)]).expect_err("nothing can be written");
    assert_eq!(error.code(), Code::Store, "{error}");
    let snapshot = store.snapshot();
    assert!(snapshot.health.is_up(), "{:?}", snapshot.health);
    assert_eq!(*snapshot.tree, json!({"a": 1}));
}

#[cfg(target_os = "linux")]
#[test]
fn a_read_only_disk_is_read_and_not_written() {
    use std::os::unix::{fs::PermissionsExt as _, process::CommandExt as _};
    let place = tempfile::tempdir().expect("a temporary directory");
    write(place.path(), vec![environ("a", 1)]).expect("written");
    let directory = place.path().join(STORE_DIRECTORY);
    let set_mode = |path: &std::path::Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("is the owner");
    };
    for entry in fs::read_dir(&directory).expect("can be listed") {
        set_mode(&entry.expect("can be listed").path(), 0o444);
    }
    let above = [directory.clone(), place.path().join("user_data"), place.path().to_owned()];
    above.iter().for_each(|directory| set_mode(directory, 0o555));
    // Modes do not bind root, so root becomes somebody else, who need not reach the directory of this program.
    let program = std::env::current_exe().expect("runs");
    let mut command = if fs::write(directory.join("probe"), "").is_ok() {
        fs::remove_file(directory.join("probe")).expect("can be removed");
        let mut command = Command::new("/proc/self/fd/0");
        command.stdin(fs::File::open(program).expect("can be read")).uid(65_534).gid(65_534);
        command
    } else {
        Command::new(program)
    };
    command.current_dir("/");
    run_child(command, "writer_on_a_read_only_disk", place.path());
    above.iter().for_each(|directory| set_mode(directory, 0o755));
}
