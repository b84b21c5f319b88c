"""Threads, forks, signals and cancelled tasks: nothing hangs, and nothing is left behind."""

import asyncio
import concurrent.futures
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from hinagata import Engine, Template, Variables

#: Longest that anything here may take, in seconds.
PATIENCE = 60

LIMITS = "LIMITS = {'max_execution_time': 60}\nPERMISSIONS = {'read_file': True}\n"


def endless(workspace):
    """A prompt whose hook does not end by itself."""
    workspace.prompt("endless", "x", LIMITS + "def pre_render(variables, context):\n    while True:\n        pass\n")


def hook_processes():
    """The processes of hooks that this process started, and those that these started: processor time by id."""
    found = {}
    for place in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            found[int(place.parent.name)] = int(fields[1]), int(fields[11]) + int(fields[12])
    mine, grew = {os.getpid()}, True
    while grew:
        more = {pid for pid, (parent, _) in found.items() if parent in mine} - mine
        grew = bool(more)
        mine |= more
    parents = {parent for parent, _ in found.values()}
    return {pid: 0 if pid in parents else found[pid][1] for pid in mine - {os.getpid()}}


def busy_hooks():
    """The hooks that run. Warm interpreters, which wait for the next call, have used next to no time since their fork."""
    tenth = os.sysconf("SC_CLK_TCK") // 10
    return {pid for pid, time_used in hook_processes().items() if time_used >= tenth}


def wait_until(is_true):
    """Waits for something that no event tells."""
    end = time.monotonic() + PATIENCE
    while not is_true():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


def run_python(script, *arguments, **options):
    """Runs a script in an interpreter of its own, with all warnings as errors."""
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, **options)


def test_eight_threads_render_while_files_change(workspace):
    workspace.prompt("note", "{% include 'partials/part.md' %} {{ n }} v0")
    workspace.write("user_data/shared/prompts/partials/part.md", "part0")
    engine, stop = workspace.engine(), threading.Event()
    engine.watch()

    def change():
        for number in range(1, 200):
            workspace.prompt("note", f"{{% include 'partials/part.md' %}} {{{{ n }}}} v{number}")
            workspace.write("user_data/shared/prompts/partials/part.md", f"part{number}")
            engine.reload()
        stop.set()

    def render(thread):
        count, variables = 0, Variables(n=thread)
        while not stop.is_set():
            part, n, version = engine.render("note", variables if count % 2 else {"n": thread}).text.split()
            assert part.startswith("part") and version.startswith("v") and n == str(thread)
            count += 1
        return count

    with concurrent.futures.ThreadPoolExecutor(9) as pool:
        changing = pool.submit(change)
        renders = [pool.submit(render, thread) for thread in range(8)]
        changing.result(PATIENCE)
        assert all(one.result(PATIENCE) > 0 for one in renders)
    engine.reload()
    assert engine.render("note", {"n": 1}).text == "part199 1 v199"


def test_templates_render_in_threads():
    template = Template("{% for n in range(2000) %}{{ n }} {% endfor %}{{ x }}")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda x: template.render(x=x), range(64)))
    assert [text.rsplit(" ", 1)[1] for text in texts] == [str(x) for x in range(64)]


HOOK = "def pre_render(variables, context):\n    return {**variables, 'made': 'in the hook'}\n"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_render_with_hooks(method, workspace):
    workspace.prompt("hooked", "{{ made }}", HOOK)
    script = """
        import multiprocessing, sys, warnings
        from hinagata import Engine

        engine = None

        def child(root, queue):
            used = engine or Engine(root)
            queue.put([used.render("hooked").text, used.render("general_system", {"agent_name": "a"}).text[:9]])

        if __name__ == "__main__":
            method, root = sys.argv[1:]
            engine = Engine(root)
            assert engine.render("hooked").text == "in the hook"
            context = multiprocessing.get_context(method)
            queue = context.Queue()
            children = [context.Process(target=child, args=(root, queue)) for _ in range(2)]
            for one in children:
                one.start()
            for one in children:
                assert queue.get(timeout=50) == ["in the hook", "You are a"]
            for one in children:
                one.join(50)
                assert one.exitcode == 0, one.exitcode
            assert engine.render("hooked").text == "in the hook"
            print("done")
    """
    file = workspace.root / "children.py"
    file.write_text(textwrap.dedent(script))
    command = [sys.executable, "-W", "error", str(file), method, str(workspace.root)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr


def test_a_fork_while_other_threads_render_does_not_hang(workspace):
    workspace.prompt("note", "{{ n }}")
    engine, stop = workspace.engine(), threading.Event()

    def render():
        while not stop.is_set():
            engine.render("note", {"n": 1})
            Engine(workspace.root)

    threads = [threading.Thread(target=render) for _ in range(4)]
    for one in threads:
        one.start()
    try:
        for _ in range(30):
            child = os.fork()
            if child == 0:
                os._exit(0 if engine.render("note", {"n": 2}).text == "2" else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for one in threads:
            one.join(PATIENCE)


def test_ctrl_c_ends_a_hook(workspace):
    endless(workspace)
    script = """
        import signal, sys
        from hinagata import Engine

        # A shell without job control starts its background jobs deaf to Ctrl-C, and their children inherit that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        engine = Engine(sys.argv[1])
        engine.render("general_system", {"agent_name": "a"})
        print("ready", flush=True)
        try:
            engine.render("endless")
        except KeyboardInterrupt:
            print(engine.render("general_system", {"agent_name": "still here"}).text[:18], flush=True)
            sys.stdin.read()
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(workspace.root)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        wait_until(busy_hooks)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "You are still here\n"
        # A warm interpreter stays; the hook that it forked does not.
        wait_until(lambda: not busy_hooks())
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
        wait_until(lambda: not hook_processes())
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


def test_a_cancelled_task_ends_its_hook(workspace):
    endless(workspace)
    workspace.prompt("quick", "x", HOOK)

    async def run():
        async with workspace.async_engine() as engine:
            await engine.render("quick")
            tasks = [asyncio.create_task(engine.render("endless")) for _ in range(3)]
            await asyncio.to_thread(wait_until, lambda: len(busy_hooks()) == 3)
            for task in tasks:
                task.cancel()
            for task in tasks:
                with pytest.raises(asyncio.CancelledError):
                    await task
            await asyncio.to_thread(wait_until, lambda: not busy_hooks())
            assert (await engine.render("quick")).text == "x"

    asyncio.run(run())
    wait_until(lambda: not hook_processes())


def test_the_loop_goes_on_while_a_hook_runs(workspace):
    endless(workspace)

    async def run():
        async with workspace.async_engine() as engine:
            task = asyncio.create_task(engine.render("endless"))
            turns = 0
            while not await asyncio.to_thread(busy_hooks):
                turns += 1
            assert turns > 0 and not task.done()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())


def test_renders_run_in_uvloop(workspace):
    uvloop = pytest.importorskip("uvloop")
    workspace.prompt("hooked", "{{ made }}", HOOK)

    async def run():
        async with workspace.async_engine() as engine:
            return await asyncio.gather(*(engine.render("hooked") for _ in range(8)))

    assert {str(one) for one in uvloop.run(run())} == {"in the hook"}


def test_hooks_are_confined(workspace):
    (workspace.root / "secret.txt").write_text("secret")
    attempts = {
        "read the workspace": f"open({str(workspace.root / 'secret.txt')!r}).read()",
        "read the system": "open('/etc/passwd').read()",
        "write": "open('/tmp/hinagata-escape', 'w')",
        "open a socket": "__import__('socket').socket()",
        "run a program": "__import__('subprocess').run(['/bin/true'], check=True)",
        "see the environment": "{}[__import__('os').environ.get('HINAGATA_TEST_SECRET', 0) or 'absent']",
        "find the caller": f"__import__('os').kill({os.getpid()}, 0)",
    }
    lines = ["def pre_render(variables, context):", "    found = {}"]
    for name, attempt in attempts.items():
        lines += ["    try:", f"        {attempt}", f"        found[{name!r}] = 'done'",
                  "    except BaseException as error:", f"        found[{name!r}] = type(error).__name__"]
    workspace.prompt("escape", "{{ found|tojson }}", "\n".join([*lines, "    return {'found': found}"]))
    os.environ["HINAGATA_TEST_SECRET"] = "x"
    text = workspace.engine().render("escape").text
    assert "done" not in text and text.count("Error") == len(attempts), text


def test_hooks_run_on_the_python_of_the_caller(workspace):
    workspace.prompt("version", "{{ version }}",
                     "import sys\ndef pre_render(variables, context):\n    return {'version': list(sys.version_info[:3])}\n")
    assert workspace.engine().render("version").text == str(list(sys.version_info[:3]))


def test_the_end_of_a_program_ends_everything(workspace):
    workspace.prompt("hooked", "{{ made }}", HOOK)
    script = """
        import asyncio, sys
        from hinagata import AsyncEngine, Engine

        sync = Engine(sys.argv[1])
        watch = sync.watch(lambda paths: None)
        print(sync.render("hooked"))

        async def run():
            engine = AsyncEngine(sys.argv[1])
            asyncio.create_task(engine.render("hooked"))
            print(await engine.render("hooked"))

        asyncio.run(run())
    """
    done = run_python(script, workspace.root)
    assert (done.stdout, done.stderr, done.returncode) == ("in the hook\nin the hook\n", "", 0)
    wait_until(lambda: not hook_processes())


def resident():
    """The memory of this process, in bytes."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_renders_leave_no_memory_behind(workspace):
    workspace.prompt("note", "{% for item in items %}{{ item.name }} {{ item.price }}\n{% endfor %}")
    engine, variables = workspace.engine(), {"items": [{"name": f"n{n}", "price": n} for n in range(20)]}
    template = Template("{{ missing.x }}")

    def render(count):
        for _ in range(count):
            engine.render("note", variables)

    render(2_000)
    before = resident()
    render(100_000)
    for _ in range(5_000):
        with pytest.raises(Exception, match="missing"):
            template.render()
        with pytest.raises(ValueError, match="not data"):
            template.render(missing=object())
    assert resident() - before < 8 << 20


def test_awaited_renders_leave_no_memory_behind(workspace):
    workspace.prompt("note", "{{ n }}")

    async def run():
        async with workspace.async_engine() as engine:
            for n in range(2_000):
                await engine.render("note", {"n": n})
            before = resident()
            for n in range(50_000):
                await engine.render("note", {"n": n})
            return resident() - before

    assert asyncio.run(run()) < 8 << 20


def test_importing_starts_nothing():
    done = run_python("""
        import sys, threading, os
        import hinagata
        heavy = {"asyncio", "typing", "dataclasses", "pathlib", "concurrent.futures"} & set(sys.modules)
        print(threading.active_count(), len(os.listdir("/proc/self/task")), sorted(heavy))
    """)
    assert done.stdout.startswith("1 1 "), done.stdout + done.stderr

