"""Our wheel and its peers: speaks the lines that bench/src/child.rs describes.

Usage: side.py MODE

  template, prepared    our Template, with a dict and with Variables
  thread, threads       the same renders with Variables on one thread, and on two; by the clock on the wall
  sync, await           our Engine, and AsyncEngine where nothing has to be waited for
  jinja2, minijinja     the peers
  import:MODULE         the import of a module in a new interpreter
"""

import asyncio
import json
import platform
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path


def ours(work):
    from hinagata import Template

    options = work["options"]
    entry = work["entry"]
    return Template(work["templates"][entry], name=entry, templates=work["templates"], **options)


def prepare_jinja2(work):
    import jinja2.sandbox

    environment = jinja2.sandbox.SandboxedEnvironment(loader=jinja2.DictLoader(work["templates"]), **work["options"])
    return environment.get_template(work["entry"]).render


def prepare_minijinja(work):
    import minijinja

    options = work["options"]
    environment = minijinja.Environment(templates=work["templates"])
    environment.trim_blocks = options.get("trim_blocks", False)
    environment.lstrip_blocks = options.get("lstrip_blocks", False)
    environment.keep_trailing_newline = options.get("keep_trailing_newline", False)
    # As in the other sides, nothing is escaped.
    environment.auto_escape_callback = lambda name: False
    entry = work["entry"]
    return lambda data: environment.render_template(entry, **data)


def workspace(work):
    """A workspace with the entry as a prompt."""
    root = Path(tempfile.mkdtemp())
    place = root / "user_data/shared/prompts/work"
    place.mkdir(parents=True)
    (place / "template.md").write_text(work["flat"], encoding="utf-8")
    return root


class Repeated:
    """A render, many times in a row on this thread."""

    def __init__(self, render, data):
        self.render, self.data = render, data

    def output(self):
        return str(self.render(self.data))

    def run(self, iterations):
        render, data = self.render, self.data
        wall, processor = time.perf_counter_ns(), time.process_time_ns()
        for _ in range(iterations):
            render(data)
        return time.perf_counter_ns() - wall, time.process_time_ns() - processor


class Threaded(Repeated):
    """The same number of renders, divided among threads. What counts is the clock on the wall."""

    def __init__(self, render, data, threads):
        super().__init__(render, data)
        self.threads = threads

    def run(self, iterations):
        each = -(-iterations // self.threads)
        threads = [threading.Thread(target=super(Threaded, self).run, args=(each,)) for _ in range(self.threads)]
        wall = time.perf_counter_ns()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        taken = time.perf_counter_ns() - wall
        return taken, taken


class Awaited(Repeated):
    """A render that is awaited, many times in a row in one loop."""

    def output(self):
        return str(asyncio.run(self.once()))

    async def once(self):
        return await self.render(self.data)

    def run(self, iterations):
        async def all_of_them():
            render, data = self.render, self.data
            await render(data)
            wall, processor = time.perf_counter_ns(), time.process_time_ns()
            for _ in range(iterations):
                await render(data)
            return time.perf_counter_ns() - wall, time.process_time_ns() - processor

        return asyncio.run(all_of_them())


class Imported:
    """The import of a module in a new interpreter: its time beyond that of an interpreter that imports nothing."""

    def __init__(self, module):
        self.module = module

    def output(self):
        return ""

    def run(self, iterations):
        code = "import sys, time; a = time.perf_counter_ns(), time.process_time_ns(); " \
               f"import {self.module}; " \
               "print(time.perf_counter_ns() - a[0], time.process_time_ns() - a[1])"
        all_times = [0, 0]
        for _ in range(iterations):
            printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
            all_times = [total + int(part) for total, part in zip(all_times, printed.split())]
        return all_times


def load(mode, path):
    with open(path, encoding="utf-8") as file:
        work = json.load(file)
    if mode.startswith("import:"):
        return Imported(mode.partition(":")[2]), f"{mode.partition(':')[2]}"
    if mode == "jinja2":
        import jinja2

        return Repeated(prepare_jinja2(work), work["data"]), f"Jinja2 {jinja2.__version__}"
    if mode == "minijinja":
        return Repeated(prepare_minijinja(work), work["data"]), "minijinja-py"
    import hinagata

    version = f"hinagata {hinagata.__version__}"
    data = work["data"]
    if mode == "template":
        return Repeated(ours(work).render, data), version
    variables = hinagata.Variables(data)
    if mode == "prepared":
        return Repeated(ours(work).render, variables), version
    if mode in ("thread", "threads"):
        return Threaded(ours(work).render, variables, 1 if mode == "thread" else 2), version
    root = workspace(work)
    if mode == "sync":
        engine = hinagata.Engine(root)
        return Repeated(lambda data: engine.render("work", data), variables), version
    engine = hinagata.AsyncEngine(root)
    return Awaited(lambda data: engine.render("work", data), variables), version


def main():
    side = None
    for line in sys.stdin:
        word, _, rest = line.rstrip("\n").partition(" ")
        if word == "load":
            side, version = load(sys.argv[1], rest)
            answer = f"ok {version} on {platform.python_implementation()} {platform.python_version()}"
        elif word == "output":
            answer = "output " + json.dumps(side.output())
        elif word == "run":
            answer = "time {} {}".format(*side.run(int(rest)))
        else:
            answer = f"error unknown request {word}"
        print(answer, flush=True)


main()
