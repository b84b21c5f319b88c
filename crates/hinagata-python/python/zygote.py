"""Keeps a warm interpreter and forks a worker for each order of the engine.

No user code runs in this process. The engine sends packets of JSON over a socket:

| order | reply |
|---|---|
| `{"op": "fork"}` | `{"op": "forked", "pid": N}` with the worker's stream, its pidfd and its output pipe |
| `{"op": "end", "pid": N}` | the worker and its children are killed, then as below |
| | `{"op": "exited", "pid": N, "code" or "signal": N}` when a worker exited |

The zygote exits with all workers when the socket is closed.
"""

import gc
import resource
import select
import subprocess  # noqa: F401  (so that workers need not)
import traceback


class Zygote:
    def __init__(self, control, config):
        self.control = control
        self.pid = os.getpid()
        self.kernel = Kernel()
        self.filters = {name: [Filter.of_hex(code) for code in codes] for name, codes in config["filters"].items()}
        # The first process of a PID namespace can only reach processes in it.
        self.alone = config["parent"] is None and self.pid == 1
        self.kernel.die_with(config["parent"])
        self.workers = {}
        self.poll = select.poll()
        self.poll.register(control, select.POLLIN)
        self.loop = new_loop()
        # Workers run as the same user. They must not read the zygote's memory or each other's.
        self.kernel.prctl(PR_SET_DUMPABLE, 0)
        if not self.alone:
            self.kernel.prctl(PR_SET_CHILD_SUBREAPER, 1)
        gc.collect()
        gc.freeze()

    def run(self):
        while True:
            for descriptor, _ in self.poll.poll():
                if descriptor == self.control.fileno():
                    self.obey()
                elif descriptor in self.workers:
                    self.collect(descriptor)

    def obey(self):
        packet = self.control.recv(4096)
        if not packet:
            self.sweep()
            os._exit(0)
        order = json.loads(packet)
        if order["op"] == "fork":
            self.fork()
        elif order["op"] == "end":
            for descriptor in [key for key, pid in self.workers.items() if pid == order["pid"]]:
                self.collect(descriptor)

    def fork(self):
        ours, theirs = socket.socketpair()
        printed, printing = os.pipe()
        try:
            pid = os.fork()
        except OSError as error:
            self.say({"op": "failed", "error": f"cannot fork: {error.strerror}"})
            os._exit(1)
        if pid == 0:
            self.work(theirs, printing, (ours.detach(), printed))
        theirs.close()
        os.close(printing)
        group(pid)
        descriptor = os.pidfd_open(pid)
        self.workers[descriptor] = pid
        self.poll.register(descriptor, select.POLLIN)
        self.say({"op": "forked", "pid": pid}, [ours.fileno(), descriptor, printed])
        ours.close()
        os.close(printed)
        # What one worker leaves in the event loop's pipe must not reach the next.
        self.loop.close()
        self.loop = new_loop()

    def collect(self, descriptor):
        """Ends a worker and everything that it started."""
        pid = self.workers.pop(descriptor)
        self.poll.unregister(descriptor)
        os.close(descriptor)
        kill(os.killpg, pid)
        kill(os.kill, pid)
        _, status = os.waitpid(pid, 0)
        if not self.workers:
            self.sweep()
        ended = {"signal": os.WTERMSIG(status)} if os.WIFSIGNALED(status) else {"code": os.WEXITSTATUS(status)}
        self.say({"op": "exited", "pid": pid, **ended})

    def sweep(self):
        """Kills the orphans of workers, which were reparented to this process."""
        try:
            while True:
                if os.waitpid(-1, os.WNOHANG) == (0, 0):
                    self.kill_all()
                    os.waitpid(-1, 0)
        except ChildProcessError:
            pass

    def kill_all(self):
        if self.alone:
            # Signals every process of this namespace except this one, which is the first.
            kill(os.kill, -1)
        else:
            for pid in children():
                kill(os.kill, pid)

    def say(self, message, descriptors=()):
        try:
            socket.send_fds(self.control, [to_json(message).encode()], descriptors)
        except (BrokenPipeError, ConnectionResetError):
            self.sweep()
            os._exit(0)

    def work(self, stream, printing, foreign):
        """Runs the worker. It is confined further before it receives the source of a job."""
        try:
            self.part(foreign)
            os.dup2(printing, 1)
            os.dup2(printing, 2)
            os.close(printing)
            data, descriptors, _, _ = socket.recv_fds(stream, 1 << 16, 1)
            if data:
                link = Link(stream)
                link.buffer += data
                serve(link, self.loop, lambda job: self.confine(job, descriptors))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)

    def part(self, foreign):
        """Closes the zygote's descriptors and arranges to be killed with it."""
        group(0)
        self.control.close()
        for descriptor in (*self.workers, *foreign):
            os.close(descriptor)
        self.kernel.die_with(self.pid)

    def confine(self, job, descriptors):
        """Applies the limits, the Landlock ruleset and the filter of the job, once."""
        if self.filters is None:
            return
        if not job["keep"]:
            seconds = int(job["seconds"]) + 2
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        if descriptors:
            self.kernel.restrict(descriptors[0])
            os.close(descriptors[0])
        for program in self.filters.get(job["filter"], ()):
            self.kernel.filter(program)
        self.filters = None


def kill(how, pid):
    try:
        how(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def group(pid):
    """Makes a process the leader of its own group. Parent and child both do this, so the order does not matter."""
    try:
        os.setpgid(pid, pid)
    except OSError:
        pass


def children():
    own = os.getpid()
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and parent_of(name) == own:
            found.append(int(name))
    return found


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return None


import_sources_only()
sys.stdout.reconfigure(line_buffering=True)
control = socket.socket(fileno=os.dup(0))
with open(os.devnull) as nothing:
    os.dup2(nothing.fileno(), 0)
report.listen()
zygote = Zygote(control, config)
zygote.say({"op": "ready"})
zygote.run()
