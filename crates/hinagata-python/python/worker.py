"""Runs jobs that the engine sends over a stream.

A frame is a length (u32, little endian) and that many bytes of JSON. The engine sends a job; this side asks
(`{"ask": N, "method": …, "arguments": …}`), is answered (`{"answer": N, "value" | "error": …}`) and ends the job with
`{"result": …, "ready": …}` or `{"error": …, "ready": …}`. Everything here runs in the process of the hook: nothing in it
protects anything.
"""

import asyncio
import errno
import faulthandler
import importlib.machinery
import inspect
import json
import os
import selectors
import signal
import socket
import struct
import sys
import threading
import types
import zipimport
from importlib import _bootstrap_external as importing

LARGEST_FRAME = 8 << 20
LONGEST_MESSAGE = 4096
MOST_FRAMES = 32
CONSTANTS = ("METADATA", "VARIABLES", "PERMISSIONS", "LIMITS", "TEMPLATE")
HOOKS = ("pre_render", "post_render")
EXCEPTIONS = (
    FileNotFoundError,
    IsADirectoryError,
    PermissionError,
    ValueError,
    TypeError,
    RuntimeError,
    TimeoutError,
    ConnectionError,
    OSError,
)
EXCEPTIONS = {kind.__name__: kind for kind in EXCEPTIONS}
EXCEPTIONS["UnicodeDecodeError"] = lambda message: UnicodeDecodeError("utf-8", b"", 0, 1, message)
EXCEPTIONS["FileTooLarge"] = lambda message: OSError(errno.EFBIG, message)

sys.argv = [""]
to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def import_sources_only():
    """Keeps imports to what people can read: of what is not the interpreter's own, bytecode is never looked at.

    It could lie beside a source that somebody approved, say something else, and claim to be up to date.
    """
    sys.dont_write_bytecode = True
    places = {*sys.path, os.path.dirname(os.__file__)}
    own = tuple(os.path.join(place, "") for place in places if os.path.isabs(place))
    cached, sourceless = importing.cache_from_source, importing.SourcelessFileLoader.get_code

    def is_own(path):
        return os.path.normpath(path).startswith(own)

    def cache_from_source(path, *arguments, **options):
        if is_own(os.fspath(path)):
            return cached(path, *arguments, **options)
        # Loaders take this for a system that keeps none.
        raise NotImplementedError("bytecode is not used")

    def get_code(loader, name):
        path = loader.get_filename(name)
        if is_own(path):
            return sourceless(loader, name)
        raise ImportError(f"bytecode is never run: {path}", name=name, path=path)

    importing.cache_from_source = cache_from_source
    importing.SourcelessFileLoader.get_code = get_code
    zipimport._zip_searchorder = tuple(form for form in zipimport._zip_searchorder if not form[1])


def encode(message):
    body = to_json(message).encode("utf-8")
    if len(body) > LARGEST_FRAME:
        raise ValueError(f"{len(body)} bytes are more than a message can hold ({LARGEST_FRAME})")
    return struct.pack("<I", len(body)) + body


class Link:
    """Frames over a stream socket."""

    def __init__(self, sock):
        self.sock = sock
        self.sending = threading.Lock()
        self.buffer = bytearray()

    def read(self):
        return self.sock.recv(1 << 16)

    def write(self, data):
        self.sock.sendall(data)

    def send(self, frame):
        with self.sending:
            self.write(frame)

    def receive(self):
        """The next message; waits for it. None when there is none any more."""
        while (message := self.arrived()) is None:
            data = self.read()
            if not data:
                return None
            self.buffer += data
        return message

    def arrived(self):
        """A message that is here already."""
        if len(self.buffer) < 4:
            return None
        (size,) = struct.unpack_from("<I", self.buffer)
        if len(self.buffer) < 4 + size:
            return None
        body = bytes(self.buffer[4 : 4 + size])
        del self.buffer[: 4 + size]
        return json.loads(body)

    def watch(self, loop, take):
        """Calls `take` with each message, while `loop` runs."""
        loop.add_reader(self.sock, self.ready, take)

    def leave(self, loop):
        loop.remove_reader(self.sock)

    def ready(self, take):
        try:
            data = self.sock.recv(1 << 16, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        if not data:
            leave(0)
        self.buffer += data
        while (message := self.arrived()) is not None:
            take(message)


class PipeLink(Link):
    """Frames over two pipes, where descriptors cannot be passed: a thread reads the answers."""

    def __init__(self, reading, writing):
        super().__init__(None)
        self.reading, self.writing = reading, writing
        self.target = None

    def read(self):
        return os.read(self.reading, 1 << 16)

    def write(self, data):
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self.writing, rest) :]

    def watch(self, loop, take):
        fresh = self.target is None
        self.target = (loop, take)
        if fresh:
            threading.Thread(target=self.listen, daemon=True).start()

    def leave(self, loop):
        pass

    def listen(self):
        while (message := self.receive()) is not None:
            loop, take = self.target
            loop.call_soon_threadsafe(take, message)
        leave(0)


class Host:
    """What the engine answers."""

    def __init__(self, link):
        self.link = link
        self.loop = None
        self.waiting = {}
        self.count = 0

    async def ask(self, method, arguments):
        loop = asyncio.get_running_loop()
        home = self.loop
        if home is not None and home is not loop and home.is_running():
            # A loop of another thread: answers are read by the one that runs the hook.
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self.ask(method, arguments), home))
        self.loop = loop
        self.count += 1
        number, future = self.count, loop.create_future()
        frame = encode({"ask": number, "method": method, "arguments": arguments})
        if not self.waiting:
            self.link.watch(loop, self.answer)
        self.waiting[number] = future
        try:
            self.link.send(frame)
            return await future
        finally:
            del self.waiting[number]
            if not self.waiting:
                self.link.leave(loop)

    def answer(self, message):
        future = self.waiting.get(message["answer"])
        if future is None or future.done():
            return
        error = message.get("error")
        if error is None:
            future.set_result(message.get("value"))
        else:
            future.set_exception(EXCEPTIONS.get(error["exception"], RuntimeError)(error["message"]))


def checked(value, kind, what):
    """The value, if it is of this kind: what the engine cannot read would end the call without a word for its author."""
    if isinstance(value, kind) and not isinstance(value, bool):
        return value
    names = {str: "a string", dict: "a dict", int: "a whole number"}
    raise TypeError(f"{what} must be {names.get(kind, 'a number')}, not {type(value).__name__}")


def optional(value, kind, what):
    return None if value is None else checked(value, kind, what)


def functions(host):
    """The functions that a context can hold, by name."""

    async def read_file(path):
        return await host.ask("read_file", {"path": checked(os.fspath(path), str, "the path")})

    async def http_request(method, url, *, headers=None, body=None, json=None, timeout=None):
        if body is not None and json is not None:
            raise TypeError("http_request takes a body or json, not both")
        if isinstance(body, (bytes, bytearray)):
            body = bytes(body).decode("utf-8")
        headers = checked(headers or {}, dict, "headers")
        given = {
            "method": checked(method, str, "the method"),
            "url": checked(url, str, "the URL"),
            "headers": {checked(name, str, "a header"): checked(headers[name], str, name) for name in headers},
            "body": optional(body, str, "the body"),
            "timeout": optional(timeout, (int, float), "the timeout"),
        }
        if json is not None:
            given["body"] = to_json(json)
            given["json"] = True
        return await host.ask("http_request", given)

    async def llm_call(prompt_or_messages, *, model=None, max_tokens=None):
        given = {
            "prompt": prompt_or_messages,
            "model": optional(model, str, "the model"),
            "max_tokens": optional(max_tokens, int, "max_tokens"),
        }
        if given["max_tokens"] is not None and max_tokens < 1:
            raise ValueError("max_tokens must be at least 1")
        return await host.ask("llm_call", given)

    async def render_template(name, variables=None):
        given = {"name": checked(name, str, "the name"), "variables": checked(variables or {}, dict, "variables")}
        return await host.ask("render_template", given)

    async def get_variable(path):
        return await host.ask("get_variable", {"path": checked(path, str, "the path")})

    offered = (read_file, http_request, llm_call, render_template, get_variable)
    return {function.__name__: function for function in offered}


class Runner:
    """Runs the jobs of one worker, which all have the same source."""

    def __init__(self, link, loop):
        self.link = link
        self.loop = loop
        self.module = None
        self.task = None

    def frame(self, job):
        """The last frame of the job."""
        report.runner, report.file = self, job["file"]
        result = None
        try:
            result = self.result(job)
            return encode({"result": result, "ready": self.is_ready(job)})
        except BaseException as error:
            told = described(error, job, self.function(job))
            # The encoder does not say which variable it could not take.
            wrong = unsendable(result, "the result")
            if wrong:
                told["message"] = f"`{job['stage']}` must return what JSON can hold, and {wrong}"
            return encode({"error": told, "ready": self.is_ready(job)})

    def function(self, job):
        """The function of the job."""
        return getattr(self.module, "provide" if job["stage"] == "provide" else job["stage"], None)

    def result(self, job):
        stage = job["stage"]
        if self.module is None:
            self.module = loaded(job)
        if stage == "load":
            return constants(self.module)
        context = job["context"]
        offered = functions(Host(self.link))
        context.update((name, offered[name]) for name in job["functions"])
        if stage == "provide":
            return self.provide(context)
        hook = getattr(self.module, stage, None)
        variables = job["variables"]
        if stage == "pre_render":
            result = self.finished(hook(variables, context)) if hook else None
            return expect(variables if result is None else result, dict, stage, "a dict or nothing")
        result = self.finished(hook(job["text"], variables, context)) if hook else job["text"]
        return expect(result, str, stage, "a string")

    def provide(self, context):
        provide = getattr(self.module, "provide", None)
        if provide is None:
            raise TypeError("a provider needs a function `provide(context)`")
        return expect(self.finished(provide(context)), dict, "provide", "a dict")

    def finished(self, result):
        """What a plain hook returned, or what an asynchronous one returns in the end."""
        if not inspect.isawaitable(result):
            return result
        if self.loop is None:
            self.loop = new_loop()
        asyncio.set_event_loop(self.loop)
        self.task = self.loop.create_task(awaited(result))
        return self.loop.run_until_complete(self.task)

    def is_ready(self, job):
        """Whether the worker can take another job: nothing of this one may go on."""
        if not job["keep"] or self.module is None:
            return False
        left = asyncio.all_tasks(self.loop) if self.loop is not None else ()
        # A module beside the file may change; only the source of the file itself is compared.
        return not left and threading.active_count() == 1 and not BesideFinder.is_used


async def awaited(result):
    return await result


def new_loop():
    return asyncio.SelectorEventLoop(getattr(selectors, "PollSelector", selectors.DefaultSelector)())


def expect(value, kind, stage, wanted):
    if isinstance(value, kind):
        return value
    raise TypeError(f"`{stage}` must return {wanted}, not {type(value).__name__}")


def unsendable(value, path, above=()):
    """The first thing in a value that JSON cannot hold, and why."""
    if id(value) in above:
        return f"`{path}` contains itself"
    if len(above) > 200:
        return f"`{path}` is nested too deeply"
    if isinstance(value, (dict, list, tuple)):
        above = (*above, id(value))
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, entry in entries:
            if isinstance(value, dict) and not (key is None or isinstance(key, (str, int, float))):
                return f"`{path}` has the key {key!r:.80}, a {type(key).__name__}"
            inner = f"{path}[{key!r:.80}]" if isinstance(value, (list, tuple)) or above[1:] else str(key)
            wrong = unsendable(entry, inner, above)
            if wrong:
                return wrong
        return None
    if isinstance(value, float) and value - value != 0:
        return f"`{path}` is {value}"
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            return f"`{path}` holds half of a character (a lone surrogate)"
        return None
    if value is None or isinstance(value, (bool, int, float)):
        return None
    return f"`{path}` is a {type(value).__name__}"


def loaded(job):
    """The module of a job: the source that was sent, never what the file holds by now."""
    module = types.ModuleType("__prompt__")
    module.__file__ = job["path"]
    sys.modules["__prompt__"] = module
    source = job["source"]
    source = source[1:] if source[:1] == "\ufeff" else source
    sys.meta_path.append(BesideFinder(os.path.dirname(job["path"])))
    os._exit = report.exit
    exec(compile(source, job["file"], "exec", dont_inherit=True), module.__dict__)
    return module


class BesideFinder:
    """Finds modules beside the file of a job, after all others: none of the library can be replaced."""

    is_used = False

    def __init__(self, directory):
        source = (importlib.machinery.SourceFileLoader, [".py"])
        self.finder = importlib.machinery.FileFinder(directory, source)

    def find_spec(self, name, path=None, target=None):
        spec = self.finder.find_spec(name) if path is None else None
        if spec is None or spec.loader is None:
            return None
        BesideFinder.is_used = True
        return spec


class Report:
    """Tells where a job is, among what it prints: when it is asked, or leaves without a word."""

    def __init__(self):
        self.runner = self.file = None
        self.pid = None

    def listen(self):
        """The interpreter itself lists where it is when it crashes, or when Python does not get to it."""
        faulthandler.enable(file=2, all_threads=False)
        if hasattr(faulthandler, "register"):
            faulthandler.register(signal.SIGUSR2, file=2, all_threads=False)
            signal.signal(signal.SIGUSR1, lambda number, frame: self.tell(self.stack(frame) or self.awaiting()))

    def stack(self, frame):
        found = []
        while frame is not None:
            if frame.f_code.co_filename == self.file:
                found.append({"line": frame.f_lineno, "function": frame.f_code.co_name})
            frame = frame.f_back
        return found[::-1][-MOST_FRAMES:]

    def awaiting(self):
        """What an asynchronous hook waits for."""
        found = []
        task = self.runner and self.runner.task
        step = task.get_coro() if task is not None else None
        while step is not None and len(found) < MOST_FRAMES:
            frame = getattr(step, "cr_frame", None) or getattr(step, "gi_frame", None)
            if frame is not None and frame.f_code.co_filename == self.file:
                found.append({"line": frame.f_lineno, "function": frame.f_code.co_name})
            step = getattr(step, "cr_await", None) or getattr(step, "gi_yieldfrom", None)
        return found

    def tell(self, stack):
        try:
            os.write(2, ("\x1e" + to_json({"stack": stack}) + "\n").encode("utf-8", "replace"))
        except OSError:
            pass

    def exit(self, status):
        """Leaves as `os._exit` does, and tells from where; what a job has forked leaves quietly."""
        if os.getpid() == self.pid:
            self.tell(self.stack(sys._getframe(1)))
        leave(status)


leave = os._exit
report = Report()


def constants(module):
    found = {name: getattr(module, name) for name in CONSTANTS if hasattr(module, name)}
    return {"constants": found, "hooks": [name for name in HOOKS if callable(getattr(module, name, None))]}


def described(error, job, function):
    """What the engine is told about an exception; whatever its author wrote must not fail here.

    One that no line of the file led to, such as a wrong result or wrong parameters, is told at the function itself.
    """
    file = job["file"]
    try:
        message = str(error.msg if isinstance(error, SyntaxError) else error)
    except BaseException:
        message = ""
    message = message[:LONGEST_MESSAGE].encode("utf-8", "replace").decode("utf-8")
    frames = own_frames(error, file)
    if isinstance(error, SyntaxError) and error.filename == file and isinstance(error.lineno, int):
        frames.append({"line": error.lineno, "column": max(error.offset or 1, 1), "function": "<module>"})
    code = getattr(inspect.unwrap(function) if callable(function) else None, "__code__", None)
    if not frames and code is not None and code.co_filename == file:
        frames.append({"line": code.co_firstlineno, "function": code.co_name})
    return {"exception": type(error).__name__, "message": message, "frames": frames}


def own_frames(error, file):
    """The lines of the prompt's own file that led to the exception, the innermost last."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == file:
            frames.append({"line": trace.tb_lineno, "function": code.co_name})
        trace = trace.tb_next
    half = MOST_FRAMES // 2
    return frames if len(frames) <= MOST_FRAMES else frames[:half] + frames[-half:]


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass


def serve(link, loop=None, prepare=None):
    """Runs jobs as they arrive; ends with the first that is not to be followed by another."""
    runner = Runner(link, loop)
    report.pid = os.getpid()
    while (job := link.receive()) is not None:
        if prepare is not None:
            prepare(job)
        frame = runner.frame(job)
        flush()
        link.send(frame)
        if not job["keep"]:
            break
    leave(0)
