//! Renders while somebody changes every file of an approved pack as fast as they can.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use hinagata::{Approval, Code, Engine, PackId, Request, StateDir};
use hinagata_python::{HookOptions, HookPool, Isolation, Launcher};
use serde_json::json;

use super::{
    daemon::Daemon,
    packs::{ANSWER, FILES, PACK, approved, cached_name, compile_unchecked},
    support::Home,
};

/// Answers of the short form, which every run of the tests makes, and of the long one.
const FEW: usize = 300;
const MANY: usize = 10_000;

/// Somebody who changes the files of a pack until they are told to stop, and puts everything back then.
struct Attacker {
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<usize>>,
}

impl Attacker {
    fn start(home: &Home) -> Self {
        let attack = Attack::prepare(home);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut rounds = 0;
            while !stopped.load(Ordering::Relaxed) {
                attack.make_round(rounds);
                rounds += 1;
            }
            attack.put_back();
            rounds
        });
        Self { stop, thread: Some(thread) }
    }

    /// Stops, and tells how many rounds there were.
    fn stop(mut self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().expect("runs").join().expect("ends well")
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Attack {
    pack: PathBuf,
    /// The same pack, but that everything in it says something else.
    evil: PathBuf,
    /// Where good files wait to be put back.
    good: PathBuf,
    bytecode: Vec<(PathBuf, PathBuf)>,
}

impl Attack {
    fn prepare(home: &Home) -> Self {
        let (evil, good, pack) = (home.outside("evil"), home.outside("good"), home.path(PACK));
        for (path, text) in FILES {
            // What says nothing itself asks for the good in a way that is evil.
            let changed = match text.contains("GOOD") {
                true => text.replace("GOOD", "EVIL"),
                false => text.replace("module {{", "EVIL {{").replace("helper_y.said()", "'EVIL'"),
            };
            assert!(changed.contains("EVIL"), "{path}");
            home.write_outside(&format!("evil/{path}"), changed);
            home.write_outside(&format!("good/{path}"), text);
        }
        let bytecode = [("prompts/hp", "util_y"), ("variables", "helper_y")].map(|(directory, module)| {
            let ready = home.outside(&format!("{module}.pyc"));
            compile_unchecked("def said():\n    return 'EVIL'\n", &ready);
            (ready, pack.join(directory).join(cached_name(module)))
        });
        Self { pack, evil, good, bytecode: bytecode.to_vec() }
    }

    /// Changes all files in one of several ways, then puts them back.
    ///
    /// What fails is of no interest: the next round comes at once.
    fn make_round(&self, round: usize) {
        match round % 6 {
            0 => self.each(|live, evil| drop(fs::copy(evil, live))),
            1 => self.each(|live, evil| {
                let beside = live.with_extension("swap");
                let _ = fs::copy(evil, &beside);
                let _ = fs::rename(&beside, live);
            }),
            2 => self.each(|live, evil| {
                let beside = live.with_extension("swap");
                let _ = symlink(evil, &beside);
                let _ = fs::rename(&beside, live);
            }),
            3 => self.swap_directory("prompts"),
            4 => self.swap_directory("variables"),
            _ => {
                for (ready, place) in &self.bytecode {
                    let _ = fs::create_dir_all(place.parent().unwrap_or(place));
                    let _ = fs::copy(ready, place);
                }
                let _ = fs::write(self.pack.join("prompts/hp/prompt.yaml"), "description: EVIL\n");
                let _ = fs::write(self.pack.join("prompts/hp/sitecustomize.py"), "print('EVIL')\n");
            }
        }
        // Bytecode stays: it is there all the time, and never used.
        let _ = fs::remove_file(self.pack.join("prompts/hp/prompt.yaml"));
        let _ = fs::remove_file(self.pack.join("prompts/hp/sitecustomize.py"));
        self.put_back();
    }

    fn each(&self, change: impl Fn(&Path, &Path)) {
        for (path, _) in FILES {
            change(&self.pack.join(path), &self.evil.join(path));
        }
    }

    /// Puts a link to the evil directory in the place of the good one, and takes it away again.
    fn swap_directory(&self, name: &str) {
        let (place, away) = (self.pack.join(name), self.good.with_extension("away"));
        if fs::rename(&place, &away).is_ok() {
            let _ = symlink(self.evil.join(name), &place);
            let _ = fs::remove_file(&place);
            fs::rename(&away, &place).expect("is put back");
        }
    }

    fn put_back(&self) {
        for (path, _) in FILES {
            let (place, beside) = (self.pack.join(path), self.good.with_extension("back"));
            fs::copy(self.good.join(path), &beside).expect("is copied");
            fs::rename(&beside, &place).expect("is put back");
        }
    }
}

/// What came of renders under attack.
#[derive(Debug, Default)]
struct Tally {
    good: AtomicUsize,
    refused: AtomicUsize,
}

impl Tally {
    /// Counts an answer; anything but the approved one, or an error that tells what is wrong, is a failure.
    fn count(&self, rendered: hinagata::Result<hinagata::Rendered>) {
        match rendered {
            Ok(rendered) => {
                assert_eq!(rendered.text(), ANSWER, "{:?}", rendered.warnings);
                assert!(!format!("{:?}", rendered.warnings).contains("EVIL"), "{:?}", rendered.warnings);
                self.good.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => {
                assert!(matches!(error.code(), Code::Approval | Code::NotFound), "{error:?}");
                assert!(!format!("{error:?}").contains("EVIL"), "{error:?}");
                self.refused.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

fn engine(home: &Home, isolation: Isolation) -> Engine {
    let launcher = Launcher::from_program(env!("CARGO_BIN_EXE_hina"));
    let hooks = HookPool::new(HookOptions { launcher, isolation, ..HookOptions::default() });
    let state = StateDir::from_path(home.outside("state"));
    Engine::builder(home.root()).with_state_dir(state).with_trust(true).with_hooks(Arc::new(hooks)).open()
}

/// Renders with `threads` threads until `count` answers were given, looking at the workspace again all the time; what came
/// of it, and how often all files were changed.
fn render_under_attack(home: &Home, engine: &Engine, count: usize, threads: usize) -> (Tally, usize) {
    let (tally, calls) = (Tally::default(), AtomicUsize::new(0));
    let attacker = Attacker::start(home);
    let is_enough = || tally.good.load(Ordering::Relaxed) >= count;
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut call = calls.fetch_add(1, Ordering::Relaxed);
                // Far more calls than it takes: only a pack that is refused all the time reaches their end.
                while !is_enough() && call < 1_000 * count {
                    // A state that was approved when somebody looked renders for as long as it lives.
                    let is_refused = engine.catalog().approval(&PackId::new("hp")) != Approval::Approved;
                    if is_refused || call % 8 == 0 {
                        engine.reload();
                    }
                    render_once(engine, &tally);
                    call = calls.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let rounds = attacker.stop();
    assert!(rounds > 0 && is_enough(), "{rounds} rounds, {tally:?}");
    (tally, rounds)
}

fn render_once(engine: &Engine, tally: &Tally) {
    tally.count(engine.render_blocking(&Request::new("hp")));
    let described = |prompt: &str| engine.definition(prompt).map(|found| format!("{:?}", found.definition));
    match described("hp") {
        Ok(definition) => assert!(!definition.contains("EVIL"), "{definition}"),
        Err(error) => assert!(matches!(error.code(), Code::Approval | Code::NotFound), "{error:?}"),
    }
}

#[test]
fn no_unapproved_byte_gets_into_a_render_while_all_files_of_a_pack_change() {
    for isolation in [Isolation::Call, Isolation::Prompt] {
        let home = approved();
        let engine = engine(&home, isolation);
        let (tally, _) = render_under_attack(&home, &engine, FEW, 4);
        // Afterwards everything is as it was.
        engine.reload();
        render_once(&engine, &tally);
        assert!(home.done(&["render", "hp"]).stdout.trim() == ANSWER);
    }
}

#[test]
#[ignore = "takes minutes; run it when anything about packs, seals or Python changes"]
fn no_unapproved_byte_gets_into_ten_thousand_renders_while_all_files_of_a_pack_change() {
    let home = approved();
    let engine = engine(&home, Isolation::Call);
    let (tally, rounds) = render_under_attack(&home, &engine, MANY, 4);
    let mut output = std::io::stdout().lock();
    writeln!(output, "{rounds} rounds of changes, {tally:?}").expect("is written");
}

#[test]
fn no_unapproved_byte_gets_out_of_a_daemon_while_all_files_of_a_pack_change() {
    let home = approved();
    let daemon = Daemon::start(&home, &[]);
    let attacker = Attacker::start(&home);
    for _ in 0..FEW {
        let answer = daemon.post("/api/render/prompts/hp", &json!({}));
        assert!(!answer.body.contains("EVIL"), "{answer:?}");
        match answer.status {
            200 => assert!(answer.body.contains(ANSWER), "{answer:?}"),
            _ => assert!(matches!(answer.status, 403 | 404), "{answer:?}"),
        }
        assert!(!daemon.get("/api/prompts/hp", None).body.contains("EVIL"));
    }
    assert!(attacker.stop() > 0);
}

#[test]
fn no_unapproved_byte_gets_out_of_the_program_while_all_files_of_a_pack_change() {
    let home = approved();
    let attacker = Attacker::start(&home);
    for _ in 0..25 {
        let ran = home.run(&["render", "hp"]);
        assert!(!ran.has("EVIL"), "{ran:?}");
        match ran.code {
            0 => assert_eq!(ran.stdout.trim(), ANSWER, "{ran:?}"),
            _ => assert!(ran.stdout.is_empty() && ran.stderr.starts_with("error"), "{ran:?}"),
        }
    }
    assert!(attacker.stop() > 0);
}
