"""Runs jobs that the engine sends over a stream.

A frame is a length (u32, little endian) and that many bytes of JSON. The engine sends a job. The worker sends requests
(`{"ask": N, "method": …, "arguments": …}`), receives answers (`{"answer": N, "value" | "error": …}`) and ends the job
with `{"result": …, "ready": …}` or `{"error": …, "ready": …}`. This code runs in the process of the hook, so it is not
part of the sandbox.
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
    """Restricts imports to sources: bytecode is only used for the interpreter's own modules.

    Bytecode beside an approved source could do something else and still claim to be up to date.
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
        # Loaders then assume that this system has no bytecode cache.
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
        raise ValueError(f"the message has {len(body)} bytes, the limit is {LARGEST_FRAME}")
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
        """Waits for the next message. Returns None at the end of the stream."""
        while (message := self.buffered_message()) is None:
            data = self.read()
            if not data:
                return None
            self.buffer += data
        return message

    def buffered_message(self):
        """Returns a message that has already arrived, or None."""
        if len(self.buffer) < 4:
            return None
        (size,) = struct.unpack_from("<I", self.buffer)
        if len(self.buffer) < 4 + size:
            return None
        body = bytes(self.buffer[4 : 4 + size])
        del self.buffer[: 4 + size]
        return json.loads(body)

    def watch(self, loop, take):
        """Calls `take` with each message while `loop` runs."""
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
        while (message := self.buffered_message()) is not None:
            take(message)


class PipeLink(Link):
    """Frames over two pipes, for systems that cannot pass descriptors. A thread reads the answers."""

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
    """Sends requests to the engine."""

    def __init__(self, link):
        self.link = link
        self.loop = None
        self.waiting = {}
        self.count = 0

    async def ask(self, method, arguments):
        loop = asyncio.get_running_loop()
        home = self.loop
        if home is not None and home is not loop and home.is_running():
            # Called from an event loop in another thread: only the loop that runs the hook reads answers.
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


def check_type(value, kind, what):
    """Returns the value if it has this type. The engine would end the call without explanation otherwise."""
    if isinstance(value, kind) and not isinstance(value, bool):
        return value
    names = {str: "a string", dict: "a dict", int: "an integer"}
    raise TypeError(f"{what} must be {names.get(kind, 'a number')}, not {type(value).__name__}")


def check_optional(value, kind, what):
    return None if value is None else check_type(value, kind, what)


def functions(host):
    """Returns the functions that a context can contain, by name."""

    async def read_file(path):
        return await host.ask("read_file", {"path": check_type(os.fspath(path), str, "the path")})

    async def http_request(method, url, *, headers=None, body=None, json=None, timeout=None):
        if body is not None and json is not None:
            raise TypeError("http_request takes either `body` or `json`, not both")
        if isinstance(body, (bytes, bytearray)):
            body = bytes(body).decode("utf-8")
        headers = check_type(headers or {}, dict, "headers")
        given = {
            "method": check_type(method, str, "the method"),
            "url": check_type(url, str, "the URL"),
            "headers": {check_type(name, str, "a header"): check_type(headers[name], str, name) for name in headers},
            "body": check_optional(body, str, "the body"),
            "timeout": check_optional(timeout, (int, float), "the timeout"),
        }
        if json is not None:
            given["body"] = to_json(json)
            given["json"] = True
        return await host.ask("http_request", given)

    async def llm_call(prompt_or_messages, *, model=None, max_tokens=None, schema=None):
        given = {
            "prompt": prompt_or_messages,
            "model": check_optional(model, str, "the model"),
            "max_tokens": check_optional(max_tokens, int, "max_tokens"),
            "schema": check_optional(schema, (dict, bool), "the schema"),
        }
        if given["max_tokens"] is not None and max_tokens < 1:
            raise ValueError("max_tokens must be at least 1")
        return await host.ask("llm_call", given)

    async def render_template(name, variables=None):
        given = {"name": check_type(name, str, "the name"), "variables": check_type(variables or {}, dict, "variables")}
        return await host.ask("render_template", given)

    async def get_variable(path):
        return await host.ask("get_variable", {"path": check_type(path, str, "the path")})

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
        """Runs the job and returns its last frame."""
        report.runner, report.file = self, job["file"]
        result = None
        try:
            result = self.result(job)
            return encode({"result": result, "ready": self.is_ready(job)})
        except BaseException as error:
            details = describe_error(error, job, self.function(job))
            # The encoder does not say which variable it could not encode.
            problem = find_unencodable(result, "the result")
            if problem:
                details["message"] = f"`{job['stage']}` must return a value that JSON can represent, but {problem}"
            return encode({"error": details, "ready": self.is_ready(job)})

    def function(self, job):
        """Returns the function that the job calls."""
        return getattr(self.module, "provide" if job["stage"] == "provide" else job["stage"], None)

    def result(self, job):
        stage = job["stage"]
        if "fixed" in job:
            surroundings.fix(job["fixed"])
        if self.module is None:
            self.module = load_module(job)
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
            result = self.finish(hook(variables, context)) if hook else None
            return check_result(variables if result is None else result, dict, stage, "a dict or None")
        result = self.finish(hook(job["text"], variables, context)) if hook else job["text"]
        return check_result(result, str, stage, "a string")

    def provide(self, context):
        provide = getattr(self.module, "provide", None)
        if provide is None:
            raise TypeError("a provider must define `provide(context)`")
        return check_result(self.finish(provide(context)), dict, "provide", "a dict")

    def finish(self, result):
        """Returns the result of a plain hook, or waits for that of an asynchronous one."""
        if not inspect.isawaitable(result):
            return result
        if self.loop is None:
            self.loop = new_loop()
        asyncio.set_event_loop(self.loop)
        self.task = self.loop.create_task(await_result(result))
        return self.loop.run_until_complete(self.task)

    def is_ready(self, job):
        """Whether the worker can take another job: no task and no thread of this job may still run."""
        if not job["keep"] or self.module is None:
            return False
        left = asyncio.all_tasks(self.loop) if self.loop is not None else ()
        # A module beside the file may change, and only the source of the file itself is compared.
        return not left and threading.active_count() == 1 and not BesideFinder.is_used


async def await_result(result):
    return await result


def new_loop():
    return asyncio.SelectorEventLoop(getattr(selectors, "PollSelector", selectors.DefaultSelector)())


def check_result(value, kind, stage, expected):
    if isinstance(value, kind):
        return value
    raise TypeError(f"`{stage}` must return {expected}, not {type(value).__name__}")


def find_unencodable(value, path, above=()):
    """Describes the first part of a value that JSON cannot represent, or returns None."""
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
            problem = find_unencodable(entry, inner, above)
            if problem:
                return problem
        return None
    if isinstance(value, float) and value - value != 0:
        return f"`{path}` is {value}"
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            return f"`{path}` contains a lone surrogate"
        return None
    if value is None or isinstance(value, (bool, int, float)):
        return None
    return f"`{path}` is a {type(value).__name__}"


def load_module(job):
    """Loads the module of a job from the source that was sent, which the file may no longer contain."""
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
    """Finds modules beside the file of a job. It comes last, so that it cannot replace library modules."""

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
    """Prints the stack of a job on request, and when the job exits the process."""

    def __init__(self):
        self.runner = self.file = None
        self.pid = None

    def listen(self):
        """Installs the handlers. The interpreter prints its own listing on a crash or while native code runs."""
        faulthandler.enable(file=2, all_threads=False)
        if hasattr(faulthandler, "register"):
            faulthandler.register(signal.SIGUSR2, file=2, all_threads=False)
            signal.signal(signal.SIGUSR1, lambda number, frame: self.print_stack(self.stack(frame) or self.awaiting()))

    def stack(self, frame):
        found = []
        while frame is not None:
            if frame.f_code.co_filename == self.file:
                found.append({"line": frame.f_lineno, "function": frame.f_code.co_name})
            frame = frame.f_back
        return found[::-1][-MOST_FRAMES:]

    def awaiting(self):
        """Returns the frames of a suspended asynchronous hook."""
        found = []
        task = self.runner and self.runner.task
        step = task.get_coro() if task is not None else None
        while step is not None and len(found) < MOST_FRAMES:
            frame = getattr(step, "cr_frame", None) or getattr(step, "gi_frame", None)
            if frame is not None and frame.f_code.co_filename == self.file:
                found.append({"line": frame.f_lineno, "function": frame.f_code.co_name})
            step = getattr(step, "cr_await", None) or getattr(step, "gi_yieldfrom", None)
        return found

    def print_stack(self, stack):
        try:
            os.write(2, ("\x1e" + to_json({"stack": stack}) + "\n").encode("utf-8", "replace"))
        except OSError:
            pass

    def exit(self, status):
        """Exits like `os._exit` and prints the stack first. Processes that a job forked print nothing."""
        if os.getpid() == self.pid:
            self.print_stack(self.stack(sys._getframe(1)))
        leave(status)


leave = os._exit
report = Report()


def constants(module):
    found = {name: getattr(module, name) for name in CONSTANTS if hasattr(module, name)}
    return {"constants": found, "hooks": [name for name in HOOKS if callable(getattr(module, name, None))]}


def describe_error(error, job, function):
    """Describes an exception for the engine. It must not fail, whatever the author of the exception wrote.

    An exception without a line of the file, such as one about a wrong result, is reported at the function itself.
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
    """Returns the lines of the prompt's own file that led to the exception, innermost last."""
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
    """Runs jobs as they arrive, until one that no other may follow."""
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
