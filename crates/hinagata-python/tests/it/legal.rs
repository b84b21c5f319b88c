//! What hooks may do works in every tier: programs, threads, files of the workspace, the standard library.
#![cfg(target_os = "linux")]

use std::{fs, path::Path, process::Command};

use hinagata_python::{HookOptions, HookPool, SandboxMechanisms};
use serde_json::{Value, json};

use crate::support::{Ask, options};

const SOURCE: &str = r#"
import asyncio, concurrent.futures, os, sqlite3, subprocess, threading

def git(*arguments):
    return ["git", *arguments]

async def pre_render(variables, context):
    place = context["workspace_path"]
    plain = subprocess.check_output(git("rev-parse", "--abbrev-ref", "HEAD"), cwd=place, text=True).strip()
    piped = subprocess.run("git log --format=%s | tr a-z A-Z | head -n 1", shell=True, cwd=place, text=True,
                           stdout=subprocess.PIPE, check=True).stdout.strip()
    process = await asyncio.create_subprocess_exec(*git("status", "--short"), cwd=place,
                                                   stdout=asyncio.subprocess.PIPE)
    status, _ = await process.communicate()
    tree = []
    for root, directories, files in os.walk(place):
        directories[:] = sorted(name for name in directories if name != ".git")
        tree.extend(os.path.relpath(os.path.join(root, name), place) for name in sorted(files))
    numbers = []
    threads = [threading.Thread(target=numbers.append, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with concurrent.futures.ThreadPoolExecutor(4) as executor:
        squares = list(executor.map(lambda number: number ** 2, range(4)))
    database = sqlite3.connect(":memory:")
    database.execute("create table t (a)")
    database.executemany("insert into t values (?)", [(1,), (2,)])
    (total,) = database.execute("select sum(a) from t").fetchone()
    sleeper = subprocess.Popen(["sleep", "600"])
    sleeper.kill()
    ended = sleeper.wait()
    fed = subprocess.run(["cat"], input="fed", text=True, stdout=subprocess.PIPE).stdout
    with open(os.path.join(place, "a.txt")) as file:
        content = file.read()
    return dict(plain=plain, piped=piped, status=status.decode(), tree=tree, threads=len(numbers), squares=squares,
                total=total, ended=ended, fed=fed, content=content, asked=await context["read_file"]("a.txt"))
"#;

fn git(directory: &Path, arguments: &[&str]) {
    let output = Command::new("git").args(arguments).current_dir(directory).output().expect("there is git");
    assert!(output.status.success(), "{output:?}");
}

fn repository() -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("there is room");
    fs::create_dir(place.path().join("sub")).expect("can be made");
    for (name, text) in [("a.txt", "first"), ("sub/b.txt", "second")] {
        fs::write(place.path().join(name), text).expect("can be written");
    }
    git(place.path(), &["init", "--quiet", "-b", "lamp"]);
    git(place.path(), &["add", "."]);
    git(
        place.path(),
        &["-c", "user.name=n", "-c", "user.email=e@example.com", "commit", "--quiet", "-m", "light it"],
    );
    place
}

fn expected() -> Value {
    json!({
        "plain": "lamp", "piped": "LIGHT IT", "status": "", "tree": ["a.txt", "sub/b.txt"], "threads": 8,
        "squares": [0, 1, 4, 9], "total": 3, "ended": -9, "fed": "fed", "content": "first",
        "asked": "content of a.txt",
    })
}

#[test]
fn permitted_work_succeeds_in_every_tier() {
    let place = repository();
    for mechanisms in [
        SandboxMechanisms::ALL,
        SandboxMechanisms { namespaces: false, ..SandboxMechanisms::ALL },
        SandboxMechanisms { landlock: false, ..SandboxMechanisms::ALL },
    ] {
        let pool = HookPool::new(HookOptions { mechanisms, ..options() });
        if pool.sandbox_report().expect("the launcher starts").mechanisms != mechanisms {
            continue;
        }
        let ask = Ask::new(SOURCE).permissions(&["read_file", "subprocess"]).workspace(place.path());
        assert_eq!(ask.pre_render(&pool).expect("runs"), expected(), "{mechanisms:?}");
    }
}

#[test]
fn a_workspace_behind_a_symlink_is_readable() {
    let place = repository();
    let link = tempfile::tempdir().expect("there is room");
    let path = link.path().join("project");
    std::os::unix::fs::symlink(place.path(), &path).expect("can be made");
    let source = "def pre_render(variables, context):\n    return {'text': open(context['workspace_path'] + '/a.txt').read()}";
    let ask = Ask::new(source).permissions(&["read_file"]).workspace(&path);
    assert_eq!(ask.pre_render(&crate::support::pool()).expect("runs"), json!({"text": "first"}));
}

#[test]
fn every_supported_python_version_runs_hooks() {
    let source = "import asyncio\nasync def pre_render(variables, context):\n    await asyncio.sleep(0)\n    return {'text': await context['read_file']('x')}";
    for version in ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14"] {
        let name = format!("python{version}");
        let found = Command::new(&name).arg("--version").output().is_ok_and(|output| output.status.success());
        if found {
            let pool = HookPool::new(HookOptions { python: Some(name.into()), ..options() });
            let result = Ask::new(source).permissions(&["read_file"]).pre_render(&pool);
            assert_eq!(result.expect("runs"), json!({"text": "content of x"}), "{version}");
        }
    }
}
