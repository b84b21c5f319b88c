"""Jinja2 as a peer: speaks the lines that bench/src/child.rs describes.

Usage: peer.py plain | sandboxed
"""

import json
import platform
import sys
import time

import jinja2
import jinja2.sandbox

ENVIRONMENTS = {"plain": jinja2.Environment, "sandboxed": jinja2.sandbox.SandboxedEnvironment}


def load(path, mode):
    with open(path, encoding="utf-8") as file:
        work = json.load(file)
    loader = jinja2.DictLoader(work["templates"])
    environment = ENVIRONMENTS[mode](loader=loader, **work["options"])
    return environment.get_template(work["entry"]), work["data"]


def run(template, data, iterations):
    render = template.render
    wall, processor = time.perf_counter_ns(), time.process_time_ns()
    for _ in range(iterations):
        render(data)
    return time.perf_counter_ns() - wall, time.process_time_ns() - processor


def main():
    template = data = None
    for line in sys.stdin:
        word, _, rest = line.rstrip("\n").partition(" ")
        if word == "load":
            template, data = load(rest, sys.argv[1])
            answer = f"ok Jinja2 {jinja2.__version__} on {platform.python_implementation()} {platform.python_version()}"
        elif word == "output":
            answer = "output " + json.dumps(template.render(data))
        elif word == "run":
            answer = "time {} {}".format(*run(template, data, int(rest)))
        else:
            answer = f"error unknown request {word}"
        print(answer, flush=True)


main()
