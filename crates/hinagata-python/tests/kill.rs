//! Processes that end during a call: the caller learns of it in time, the pool recovers, and nothing is left.
#![cfg(target_os = "linux")]

#[path = "it/support/mod.rs"]
#[expect(dead_code, reason = "the tests of the other binary use the rest")]
mod support;

use std::{
    fs,
    process::{Command, Stdio},
    sync::{Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::Duration,
};

use hinagata::{Code, Reason};
use hinagata_python::{HookOptions, HookPool, Isolation, SandboxMechanisms};
use serde_json::json;

use support::{Ask, options, processes_with};

const TIERS: [SandboxMechanisms; 3] = [
    SandboxMechanisms::ALL,
    SandboxMechanisms { namespaces: false, ..SandboxMechanisms::ALL },
    SandboxMechanisms { landlock: false, ..SandboxMechanisms::ALL },
];

/// The tests inspect all processes below this one, so they run one at a time.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Pools of every tier and isolation that this machine supports.
fn pools() -> Vec<HookPool> {
    let mut all = Vec::new();
    for mechanisms in TIERS {
        for isolation in [Isolation::Call, Isolation::Prompt, Isolation::Spawn] {
            let pool = HookPool::new(HookOptions { mechanisms, isolation, ..options() });
            if pool.sandbox_report().expect("the launcher starts").mechanisms == mechanisms {
                all.push(pool);
            }
        }
    }
    all
}

/// A unique duration for `sleep`.
fn marker(name: &str) -> String {
    format!("87654.{}{}", std::process::id(), name.bytes().map(u32::from).sum::<u32>())
}

fn is_healthy(pool: &HookPool) {
    let ask = Ask::new("def pre_render(variables, context):\n    return {'fine': True}");
    assert_eq!(ask.pre_render(pool).expect("runs"), json!({"fine": true}));
}

/// A hook that starts programs that never end, and never ends itself.
fn stubborn(marker: &str) -> String {
    format!(
        "import subprocess, time\n\
         def pre_render(variables, context):\n    \
         subprocess.Popen(['sleep', '{marker}'])\n    \
         subprocess.Popen(['sh', '-c', 'sleep {marker} & sleep {marker}'])\n    \
         print('started', flush=True)\n    \
         time.sleep(600)\n"
    )
}

#[test]
fn a_timeout_ends_everything_that_the_hook_started() {
    let _alone = alone();
    let marker = marker("timeout");
    for pool in pools() {
        let source = stubborn(&marker);
        let ask = Ask::new(&source).permissions(&["subprocess"]).time(Duration::from_millis(700));
        let error = ask.pre_render(&pool).expect_err("never ends");
        assert_eq!((error.code(), error.reason()), (Code::HookTimeout, Some(Reason::Timeout)));
        processes_with(&marker, 0);
        is_healthy(&pool);
    }
}

#[test]
fn a_crashed_process_is_reported_with_its_signal_or_exit_code() {
    let _alone = alone();
    for pool in pools() {
        for (body, key, value) in
            [("import ctypes; ctypes.string_at(0)", "signal", 11), ("import os; os._exit(3)", "exit_code", 3)]
        {
            let source = format!("def pre_render(variables, context):\n    {body}\n");
            let error = Ask::new(&source).pre_render(&pool).expect_err("dies");
            assert_eq!((error.code(), error.reason()), (Code::Hook, Some(Reason::Died)), "{body}: {error:?}");
            assert_eq!(error.details()[key], value, "{body}: {error:?}");
            is_healthy(&pool);
        }
    }
}

/// All process ids, each with its parent.
fn processes() -> Vec<(i32, i32)> {
    let entries = fs::read_dir("/proc").expect("there are processes").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let with_parent = |pid: i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        Some((pid, stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?))
    };
    pids.filter_map(with_parent).collect()
}

/// The kinds of processes below this one.
#[derive(Clone, Copy, Debug)]
enum Who {
    Supervisor,
    Zygote,
    Worker,
}

/// The processes of a kind: supervisors are children of this process, zygotes of supervisors, workers of zygotes.
fn all(who: Who) -> Vec<i32> {
    let processes = processes();
    let children = |parents: &[i32]| -> Vec<i32> {
        processes.iter().filter(|(_, parent)| parents.contains(parent)).map(|(pid, _)| *pid).collect()
    };
    let own = i32::try_from(std::process::id()).expect("is a number");
    let supervisors = children(&[own]);
    match who {
        Who::Supervisor => supervisors,
        Who::Zygote => children(&supervisors),
        Who::Worker => children(&children(&supervisors)),
    }
}

/// Kills these processes and returns their ids.
fn kill(who: Who) -> Vec<i32> {
    let killed = all(who);
    for pid in &killed {
        // It may have ended with another one.
        let _ = Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status();
    }
    killed
}

/// Starts a hook that never ends and kills a process during the call.
fn kill_during_call(mechanisms: SandboxMechanisms, isolation: Isolation, who: Who) {
    let what = format!("{who:?}, {isolation:?}, {mechanisms:?}");
    let marker = marker(&what);
    let pool = HookPool::new(HookOptions { mechanisms, isolation, ..options() });
    if pool.sandbox_report().expect("the launcher starts").mechanisms != mechanisms {
        return;
    }
    let (inner, source) = (pool.clone(), stubborn(&marker));
    let call = thread::spawn(move || {
        Ask::new(&source).permissions(&["subprocess"]).time(Duration::from_secs(600)).pre_render(&inner)
    });
    processes_with(&marker, 3);
    kill(who);
    let error = call.join().expect("does not panic").expect_err("was killed");
    assert_eq!((error.code(), error.reason()), (Code::Hook, Some(Reason::Died)), "{what}: {error:?}");
    assert_eq!(error.details()["printed"], "started\n", "{what}");
    processes_with(&marker, 0);
    is_healthy(&pool);
}

#[test]
fn killing_any_process_fails_the_call_and_the_pool_recovers() {
    let _alone = alone();
    for mechanisms in TIERS {
        for who in [Who::Worker, Who::Zygote, Who::Supervisor] {
            kill_during_call(mechanisms, Isolation::Call, who);
        }
        // A spawned interpreter takes the place of a zygote.
        for who in [Who::Zygote, Who::Supervisor] {
            kill_during_call(mechanisms, Isolation::Spawn, who);
        }
    }
}

#[test]
fn a_zygote_killed_while_idle_is_replaced() {
    let _alone = alone();
    let pool = support::pool();
    is_healthy(&pool);
    let zygotes = all(Who::Zygote);
    assert!(!zygotes.is_empty());
    kill(Who::Zygote);
    while all(Who::Zygote).iter().any(|pid| zygotes.contains(pid)) {
        thread::yield_now();
    }
    is_healthy(&pool);
}

#[test]
fn a_reused_worker_killed_while_idle_is_replaced() {
    let _alone = alone();
    let pool = HookPool::new(HookOptions { isolation: Isolation::Prompt, ..options() });
    for who in [Who::Worker, Who::Zygote] {
        is_healthy(&pool);
        let mut ending = all(Who::Worker);
        assert!(!ending.is_empty());
        // There may be a spare worker that did not exist before.
        ending.extend(kill(who));
        let runs = |pid: &i32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.starts_with(" Z"))
        };
        while ending.iter().any(runs) {
            thread::yield_now();
        }
        is_healthy(&pool);
    }
}

#[test]
fn idle_processes_end() {
    let _alone = alone();
    for isolation in [Isolation::Call, Isolation::Prompt] {
        let pool =
            HookPool::new(HookOptions { isolation, idle_timeout: Duration::from_millis(200), ..options() });
        is_healthy(&pool);
        while !all(Who::Supervisor).is_empty() {
            thread::yield_now();
        }
        is_healthy(&pool);
    }
}

#[test]
fn a_dropped_call_is_ended() {
    let _alone = alone();
    let marker = marker("pool");
    let pool = support::pool();
    let (inner, source) = (pool.clone(), stubborn(&marker));
    let (sender, receiver) = mpsc::channel::<()>();
    let call = thread::spawn(move || {
        let ask = Ask::new(&source).permissions(&["subprocess"]).time(Duration::from_secs(600));
        let variables = serde_json::Map::new();
        let stage = hinagata::ports::Stage::PreRender { variables: &variables };
        let mut run = Box::pin(ask.run(&inner, stage));
        // Polls until it is told to stop.
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        while receiver.try_recv().is_err() {
            assert!(run.as_mut().poll(&mut cx).is_pending());
            thread::yield_now();
        }
    });
    processes_with(&marker, 3);
    sender.send(()).expect("is heard");
    call.join().expect("leaves");
    processes_with(&marker, 0);
    is_healthy(&pool);
}

#[test]
fn nothing_outlives_the_pool() {
    let _alone = alone();
    for pool in pools() {
        is_healthy(&pool);
    }
    while !all(Who::Supervisor).is_empty() {
        thread::yield_now();
    }
}

/// The environment variable that makes [`engine_that_hangs`] hang: a tier and a marker.
const HANG: &str = "HINAGATA_TEST_HANG";

/// Not a test of its own: the engine that [`nothing_outlives_a_killed_engine`] kills.
#[test]
fn engine_that_hangs() {
    let Ok(how) = std::env::var(HANG) else { return };
    let (tier, marker) = how.split_once(' ').expect("has two parts");
    let mechanisms = TIERS[tier.parse::<usize>().expect("is a number")];
    let pool = HookPool::new(HookOptions { mechanisms, ..options() });
    let source = stubborn(marker);
    let ask = Ask::new(&source).permissions(&["subprocess"]).time(Duration::from_secs(600));
    ask.pre_render(&pool).expect_err("is killed before it ends");
}

#[test]
fn nothing_outlives_a_killed_engine() {
    let _alone = alone();
    for (tier, mechanisms) in TIERS.into_iter().enumerate() {
        let pool = HookPool::new(HookOptions { mechanisms, ..options() });
        if pool.sandbox_report().expect("the launcher starts").mechanisms != mechanisms {
            continue;
        }
        let marker = marker(&format!("engine{tier}"));
        let mut engine = Command::new(std::env::current_exe().expect("is known"))
            .args(["--exact", "engine_that_hangs"])
            .env(HANG, format!("{tier} {marker}"))
            .stdout(Stdio::null())
            .spawn()
            .expect("can be started");
        processes_with(&marker, 3);
        engine.kill().expect("can be killed");
        engine.wait().expect("ends");
        processes_with(&marker, 0);
    }
}
