#!/usr/bin/env python3
"""Drives hosts with `hina mcp` and `hina serve`, and checks what the model gets.

  check.py --hina PROGRAM --installed DIRECTORY [--door stdio|http] [HOST...]

Each host runs with each transport, in a home and with a workspace of its own, without a network but loopback. The last line
counts: "N passed, M failed, K skipped".
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from adapters import HOSTS, Place, Server
from model import ANSWER, Model
from scenarios import EXPECTED, LISTED, SCENARIOS
from screen import Late

DOORS = ["stdio", "http"]
HERE = pathlib.Path(__file__).resolve().parent
#: Longest that one event may take, in seconds; machines that run tests are busy.
PATIENCE = 60


class Tally:
    """Counts results and shows them."""

    def __init__(self):
        self.counts = {"ok": 0, "FAIL": 0, "skip": 0}
        self.lock = threading.Lock()

    def note(self, verdict, name, text=""):
        with self.lock:
            self.counts[verdict] += 1
            print(f"{verdict:4} {name}", *("     " + line for line in text.splitlines()[-60:]), sep="\n", flush=True)


class Trial:
    """One host with one transport: what scenarios work with."""

    def __init__(self, host, server, model, tally):
        self.host, self.server, self.model, self.tally = host, server, model, tally
        self.root = server.root
        self.session = None

    def title(self, check):
        return f"{self.host.name} {self.server.door}: {check}"

    def is_expected(self, check):
        """Whether a check is listed as one that cannot pass; it is counted as skipped then."""
        reason = EXPECTED.get((self.host.name, check))
        if reason:
            self.tally.note("skip", f"{self.title(check)}: {reason}")
        return bool(reason)

    def check(self, check, good, text=""):
        """Counts a result. What is listed as not possible and works all the same must leave the list."""
        listed = (self.host.name, check) in EXPECTED
        if listed and not good:
            self.is_expected(check)
        elif listed:
            self.tally.note("FAIL", self.title(check), "it works now: take it off the list in scenarios.py")
        elif good:
            self.tally.note("ok", self.title(check))
        else:
            self.tally.note("FAIL", self.title(check), text or "")

    def check_words(self, check, request, sentences):
        """Whether the model got all sentences, in their order."""
        if request is None:
            return self.check(check, False, "the model was sent nothing of it\n" + self.session.describe_state())
        at, text = 0, request.text()
        for sentence in sentences:
            at = text.find(sentence, at)
            if at < 0:
                return self.check(check, False, f"missing, or not in its place: {sentence}\n{request.show()}")
        self.check(check, True)

    def ask(self, name, values, words):
        """Enters a command with values, and returns the request to the model that has the words."""
        since = len(self.model.requests)
        session = self.session
        if values and session.has_forms:
            session.enter(name)
            session.fill_form(values)
        else:
            session.enter(name, session.line_for(values) if values else "")
        request = self.model.wait_for(lambda request: words in request.text(), since, PATIENCE)
        if request:
            session.wait_idle(ANSWER)
        return request

    def ask_until(self, name, words, more):
        """Enters a command until the model gets more words than at first."""
        until = time.monotonic() + PATIENCE
        while True:
            request = self.ask(name, {}, words)
            if request is None or more in request.text() or time.monotonic() > until:
                return request

    def run(self, installed, scratch):
        """Runs all scenarios in one session; after one that was stuck, the next begins a new one."""
        for number, scenario in enumerate(SCENARIOS):
            if self.session is None and not self.begin(Place(installed, scratch / str(number), self.model, PATIENCE)):
                return
            try:
                scenario(self)
            except Late as late:
                self.tally.note("FAIL", self.title(scenario.__name__), str(late))
                self.end()
        self.end()

    def begin(self, place):
        """Begins a session that knows our prompts; a command that is entered before is a plain text for hosts."""
        self.session = self.host(place, self.server)
        try:
            self.session.wait_started()
        except Late as late:
            self.tally.note("skip", self.title("the host does not start here"), str(late))
            return self.end()
        try:
            self.session.wait_listed(*LISTED[0])
        except Late as late:
            self.tally.note("FAIL", self.title("shows no prompts; the other scenarios were not tried"), str(late))
            return self.end()
        return True

    def end(self):
        """Ends the session."""
        if self.session:
            self.session.close()
        self.session = None


def serve(hina, root):
    """`hina serve` on a free port: its process and the address for hosts."""
    # What the user of this machine has is not looked at.
    own = {name: str(root.parent / name.lower()) for name in ["HINAGATA_STATE", "XDG_CONFIG_HOME", "XDG_STATE_HOME"]}
    command = [hina, "--root", root, "serve", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, env={**os.environ, **own}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return process, re.search(r"http://\S+", process.stdout.readline()).group() + "/mcp"


def try_host(host, door, given, tally):
    """Runs one host with one transport."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch, Model() as model:
        scratch = pathlib.Path(scratch)
        root = shutil.copytree(HERE / "workspace", scratch / "workspace")
        process, server = None, Server(door, root, command=[str(given.hina), "--root", str(root), "mcp"])
        if door == "http":
            process, url = serve(given.hina, root)
            server = Server(door, root, url=url)
        trial = Trial(host, server, model, tally)
        try:
            trial.run(given.installed, scratch)
        finally:
            trial.end()
            if process:
                process.terminate()
                process.wait()
    print(f"     {host.name} {door}: {time.monotonic() - begin:.0f} s", flush=True)


def main():
    """Runs everything, or the named hosts; two at a time, as they wait more than they work."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--hina", type=lambda name: pathlib.Path(name).resolve(), required=True)
    arguments.add_argument("--installed", type=pathlib.Path, required=True)
    arguments.add_argument("--door", choices=DOORS)
    arguments.add_argument("hosts", nargs="*", metavar="HOST", help=", ".join(host.name for host in HOSTS))
    given = arguments.parse_args()
    tally = Tally()
    hosts = [host for host in HOSTS if not given.hosts or host.name in given.hosts]
    doors = [given.door] if given.door else DOORS
    with ThreadPoolExecutor(max_workers=2) as pool:
        for done in [pool.submit(try_host, host, door, given, tally) for door in doors for host in hosts]:
            done.result()
    print("{ok} passed, {FAIL} failed, {skip} skipped".format(**tally.counts))
    sys.exit(tally.counts["FAIL"] > 0)


main()
