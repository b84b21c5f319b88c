//! Runs Python on systems without our sandbox: a new interpreter for each job, over pipes.
//!
//! Time, message sizes and the engine's answers are bounded as everywhere. Files, network and processes are not. So
//! nothing runs unless the user asks for it, and the report says that Python is not confined.

use std::{
    io::{self, Read, Write as _},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc},
    task::{Context, Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use hinagata::{Error, Reason, ports::HookJob};
use serde_json::Value;

use crate::{
    call::{WorkerLink, run_call},
    dispatcher::Dispatcher,
    failure::{Failure, ProcessExit},
    frame::FrameReader,
    interpreter::{Interpreter, NO_BYTECODE},
    options::{HookOptions, SandboxMode},
    sandbox::{SandboxMechanisms, SandboxReport, SandboxTier},
    stack,
    timer::{Deadline, Timer},
    wait::run_blocking,
};

/// The program that an interpreter runs.
const WORKER: &str = concat!(
    include_str!("../python/worker.py"),
    include_str!("../python/surroundings.py"),
    include_str!("../python/direct.py")
);
/// The bootstrap on the command line. It reads the program from standard input, so that process lists do not show all
/// of it. The configuration tells `direct.py` that frames use both pipes and that there is no filter.
const START: &str = "\
import os
def read(size):
    data = b''
    while len(data) < size:
        part = os.read(0, size - len(data))
        if not part:
            os._exit(1)
        data += part
    return data
config = {'socket': False}
exec(compile(read(int.from_bytes(read(4), 'little')), '<hooks>', 'exec'))";
/// Maximum bytes buffered from the worker.
const MAX_BUFFERED: usize = 1 << 20;
/// Maximum bytes kept of printed text.
const MAX_PRINTED: usize = 64 << 10;
/// How often to poll a process that closed its stream and has not exited.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Runs jobs.
pub(crate) struct Pool {
    pub(crate) dispatcher: Dispatcher,
    interpreter: Mutex<Option<Interpreter>>,
}

/// The lock is held for a few lines that cannot panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    pub(crate) fn new(options: HookOptions) -> Self {
        Self { dispatcher: Dispatcher::new(options), interpreter: Mutex::default() }
    }

    /// Reports that nothing confines Python on this system.
    pub(crate) fn sandbox_report(&self) -> Result<SandboxReport, Failure> {
        let missing =
            vec![format!("Landlock, namespaces and seccomp: not available on {}", std::env::consts::OS)];
        Ok(match self.dispatcher.options.sandbox {
            SandboxMode::Off => SandboxReport::switched_off(),
            _ => SandboxReport {
                tier: SandboxTier::D,
                mechanisms: SandboxMechanisms::NONE,
                landlock_version: 0,
                missing,
            },
        })
    }

    /// Runs a job.
    pub(crate) async fn run_job(&self, job: HookJob<'_>) -> Result<Value, Error> {
        let mut printed = String::new();
        let result = self.run_printing(&job, &mut printed).await;
        self.dispatcher.deliver_result(&job, result, &printed)
    }

    async fn run_printing(&self, job: &HookJob<'_>, printed: &mut String) -> Result<Value, Failure> {
        if self.dispatcher.options.sandbox == SandboxMode::Enforce {
            return Err(self.sandbox_report()?.to_failure());
        }
        let waiting = job.waited.start_waiting();
        let interpreter = self.known_interpreter().await?;
        let _slot = self.dispatcher.take_slot(job).await?;
        drop(waiting);
        let mut worker = Worker::start(&interpreter, &self.dispatcher.timer)
            .map_err(|error| Failure::unavailable(Reason::Start, error.to_string()))?;
        let outcome = run_call(&mut worker, job, self.dispatcher.call_terms(job, "")).await;
        *printed = worker.end();
        outcome.result
    }

    /// The interpreter, found by the first caller.
    async fn known_interpreter(&self) -> Result<Interpreter, Failure> {
        if let Some(known) = &*lock(&self.interpreter) {
            return Ok(known.clone());
        }
        let HookOptions { python, start_timeout, .. } = self.dispatcher.options.clone();
        let found = run_blocking(move || Interpreter::find_python(python.as_deref(), start_timeout)).await;
        let found = found.map_err(|error| Failure::unavailable(Reason::Start, error.to_string()))??;
        *lock(&self.interpreter) = Some(found.clone());
        Ok(found)
    }
}

/// A process that runs one job. Dropping it ends the process.
struct Worker {
    child: Child,
    /// Frames to send, written by a thread of their own.
    sending: mpsc::Sender<Vec<u8>>,
    messages: Arc<Pipe>,
    printed: Arc<Mutex<Vec<u8>>>,
    timer: Timer,
    next_poll: Option<Deadline>,
}

/// Bytes read from a pipe and not consumed yet.
#[derive(Default)]
struct Pipe {
    state: Mutex<PipeState>,
    taken: Condvar,
}

#[derive(Default)]
struct PipeState {
    bytes: Vec<u8>,
    queued: usize,
    ended: bool,
    /// The reader is gone.
    closed: bool,
    waker: Option<Waker>,
}

impl Pipe {
    fn wake(state: &mut PipeState) {
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    /// Reads until the end of the stream. Pauses while too much is buffered.
    fn read_output(&self, mut reader: impl Read) {
        let mut buffer = [0; 16 << 10];
        loop {
            let size = reader.read(&mut buffer).unwrap_or_default();
            let mut state = lock(&self.state);
            state.bytes.extend_from_slice(&buffer[..size]);
            state.ended = size == 0;
            Self::wake(&mut state);
            while state.bytes.len() > MAX_BUFFERED && !state.closed {
                state = self.taken.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.ended || state.closed {
                return;
            }
        }
    }

    /// Writes frames until the sender is dropped.
    fn write_frames(&self, frames: &mpsc::Receiver<Vec<u8>>, mut writer: ChildStdin) {
        let mut open = true;
        while let Ok(frame) = frames.recv() {
            // A worker that no longer reads is not an error here: its exit status says more.
            open = open && writer.write_all(&frame).is_ok();
            let mut state = lock(&self.state);
            state.queued -= frame.len();
            Self::wake(&mut state);
        }
    }
}

impl Worker {
    fn start(interpreter: &Interpreter, timer: &Timer) -> io::Result<Self> {
        let mut child = command(interpreter).spawn()?;
        let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (sending, frames) = mpsc::channel();
        let (said, printed) = (Arc::<Pipe>::default(), Arc::<Mutex<Vec<u8>>>::default());
        // From here on, dropping `worker` ends the process if a later step fails.
        let mut worker = Self {
            child,
            sending,
            messages: Arc::clone(&said),
            printed: Arc::clone(&printed),
            timer: timer.clone(),
            next_poll: None,
        };
        let thread = |name: &str| thread::Builder::new().name(format!("hooks-{name}"));
        let listening = Arc::clone(&said);
        thread("read").spawn(move || output.map(|output| listening.read_output(output)))?;
        thread("write").spawn(move || input.map(|input| said.write_frames(&frames, input)))?;
        thread("printed").spawn(move || errors.map(|errors| read_printed(&printed, errors)))?;
        let size = u32::try_from(WORKER.len()).map_err(io::Error::other)?;
        worker.queue_frame([&size.to_le_bytes()[..], WORKER.as_bytes()].concat());
        Ok(worker)
    }

    /// Ends the process and returns what it printed.
    fn end(mut self) -> String {
        self.kill();
        String::from_utf8_lossy(&lock(&self.printed)).into_owned()
    }

    fn kill(&mut self) {
        #[cfg(unix)]
        {
            use rustix::process::{Pid, Signal, kill_process_group};
            // Until it is reaped, its process id cannot be reused.
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        }
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
        lock(&self.messages.state).closed = true;
        self.messages.taken.notify_all();
    }
}

fn command(interpreter: &Interpreter) -> Command {
    let mut command = Command::new(&interpreter.executable);
    command
        .args(["-I", "-B", "-X", "utf8", "-c", START])
        .env_clear()
        .envs(NO_BYTECODE)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // Python does not start on Windows without SYSTEMROOT, and programs are not found without PATH.
    for name in ["SYSTEMROOT", "PATH"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        command.process_group(0).current_dir("/");
    }
    command
}

/// Collects printed text up to the limit.
fn read_printed(printed: &Mutex<Vec<u8>>, mut reader: impl Read) {
    let mut buffer = [0; 4096];
    while let Ok(size @ 1..) = reader.read(&mut buffer) {
        let mut printed = lock(printed);
        let room = MAX_PRINTED - printed.len();
        printed.extend_from_slice(&buffer[..size.min(room)]);
    }
}

impl WorkerLink for Worker {
    fn queue_frame(&mut self, frame: Vec<u8>) {
        lock(&self.messages.state).queued += frame.len();
        // The thread lives until this value is dropped.
        let _ = self.sending.send(frame);
    }

    fn queued_bytes(&self) -> usize {
        lock(&self.messages.state).queued
    }

    fn poll_flush(&mut self, cx: &Context<'_>) -> Poll<()> {
        let mut state = lock(&self.messages.state);
        state.waker = Some(cx.waker().clone());
        if state.queued == 0 { Poll::Ready(()) } else { Poll::Pending }
    }

    fn poll_fill(&mut self, cx: &Context<'_>, frames: &mut FrameReader) -> Poll<io::Result<usize>> {
        let mut state = lock(&self.messages.state);
        if state.bytes.is_empty() && !state.ended {
            state.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let bytes = std::mem::take(&mut state.bytes);
        self.messages.taken.notify_all();
        frames.push(&bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn request_stack(&mut self) -> bool {
        #[cfg(unix)]
        {
            use rustix::process::{Pid, Signal, kill_process};
            // Until it is reaped, its process id cannot be reused.
            let pid = Pid::from_child(&self.child);
            kill_process(pid, Signal::USR2).and_then(|()| kill_process(pid, Signal::USR1)).is_ok()
        }
        #[cfg(not(unix))]
        false
    }

    fn poll_stack(&mut self, cx: &Context<'_>) -> Poll<()> {
        if stack::is_complete(&lock(&self.printed)) {
            return Poll::Ready(());
        }
        let look =
            self.next_poll.get_or_insert_with(|| self.timer.deadline_at(Instant::now() + POLL_INTERVAL));
        if look.poll(cx).is_ready() {
            self.next_poll = None;
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    fn poll_exit(&mut self, cx: &Context<'_>) -> Poll<ProcessExit> {
        if !lock(&self.messages.state).ended {
            return Poll::Pending;
        }
        loop {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Poll::Ready(exit(status));
            }
            let look =
                self.next_poll.get_or_insert_with(|| self.timer.deadline_at(Instant::now() + POLL_INTERVAL));
            match look.poll(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(()) => self.next_poll = None,
            }
        }
    }
}

fn exit(status: ExitStatus) -> ProcessExit {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return ProcessExit::Signal(signal);
    }
    status.code().map_or(ProcessExit::Unknown, ProcessExit::Code)
}

#[cfg(test)]
mod tests {
    use hinagata::{
        Code, Result,
        ports::{Capabilities, ModelRequest, PortFuture, QueueTime, Stage},
    };
    use serde_json::{Map, json};

    use super::*;
    use crate::tests::block_on;

    struct Engine;

    impl Capabilities for Engine {
        fn render_template<'a>(
            &'a self,
            _: &'a str,
            _: &'a Map<String, Value>,
        ) -> PortFuture<'a, Result<String>> {
            Box::pin(async { Ok("rendered".to_owned()) })
        }

        fn get_variable<'a>(&'a self, path: &'a str) -> PortFuture<'a, Result<Option<Value>>> {
            Box::pin(async move { Ok(Some(path.into())) })
        }

        fn read_file<'a>(&'a self, _: &'a str) -> PortFuture<'a, Result<String>> {
            Box::pin(async { Err(Error::new(Code::Validation, "absent").with_reason(Reason::File)) })
        }

        fn llm_call<'a>(&'a self, _: ModelRequest) -> PortFuture<'a, Result<Value>> {
            Box::pin(async { Err(Error::new(Code::Model, "no model is configured")) })
        }
    }

    fn run(mode: SandboxMode, source: &str, time: Duration) -> Result<Value> {
        let pool = Pool::new(HookOptions { sandbox: mode, ..HookOptions::default() });
        let variables = Map::new();
        block_on(pool.run_job(HookJob {
            stage: Stage::PreRender { variables: &variables },
            file: "prompt.py",
            source,
            permissions: vec!["read_file"],
            withheld: Vec::new(),
            context: Map::new(),
            root: "/no/such/root".as_ref(),
            workspace: "/no/such/workspace".into(),
            own_directory: None,
            path: "/no/such/root/prompt.py".into(),
            owner: "prompt",
            time,
            deadline: None,
            waited: &QueueTime::default(),
            secrets: Arc::default(),
            fixed: None,
            capabilities: &Engine,
        }))
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn nothing_runs_unconfined_by_default() {
        let source = "def pre_render(variables, context):\n    return {}";
        let error = run(SandboxMode::Enforce, source, LONG).expect_err("is not confined");
        assert_eq!((error.code(), error.reason()), (Code::Hook, Some(Reason::Sandbox)));
    }

    #[test]
    fn a_job_runs_and_makes_requests_over_pipes() {
        let source = "import asyncio, sys\n\
            async def pre_render(variables, context):\n    \
            print('hello')\n    \
            asked = await asyncio.gather(*(context['get_variable'](str(n)) for n in range(50)))\n    \
            try:\n        await context['read_file']('x')\n    \
            except FileNotFoundError:\n        asked.append('none')\n    \
            return {'asked': asked, 'input': sys.stdin.read()}";
        let result = run(SandboxMode::BestEffort, source, LONG).expect("runs");
        let mut asked: Vec<Value> = (0..50).map(|number| number.to_string().into()).collect();
        asked.push("none".into());
        assert_eq!(result, json!({"asked": asked, "input": ""}));
    }

    #[test]
    fn every_way_to_fail_is_reported() {
        let body = |body: &str| format!("import os, time\ndef pre_render(variables, context):\n    {body}\n");
        let reason = |text: &str, time| {
            let error = run(SandboxMode::Off, &body(text), time).expect_err("does not answer");
            (error.code(), error.reason())
        };
        assert_eq!(reason("os._exit(3)", LONG), (Code::Hook, Some(Reason::Died)));
        assert_eq!(reason("os.abort()", LONG), (Code::Hook, Some(Reason::Died)));
        assert_eq!(
            reason("time.sleep(600)", Duration::from_millis(700)),
            (Code::HookTimeout, Some(Reason::Timeout))
        );
        assert_eq!(
            run(SandboxMode::Off, &body("1 / 0"), LONG).expect_err("raises").details()["exception"],
            "ZeroDivisionError"
        );
    }
}
