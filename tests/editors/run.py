#!/usr/bin/env python3
"""Drives `hina lsp` as editors do: through pytest-lsp, and in Neovim without a screen. Packs the extension for VS Code.

  run.py --hina PROGRAM --cache DIRECTORY

pytest-lsp and what builds the extension are installed into the cache directory, once for each state of requirements.txt and
of the extension's package.json. The last line counts: "N passed, M failed, K skipped".
"""

import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

from extension import pack_extension
from workspace import hide_user, write_workspace

HERE = pathlib.Path(__file__).resolve().parent

#: Longest that one program may take, in seconds.
PATIENCE = 600


def install_python(cache):
    """A Python with pytest-lsp."""
    wanted = (HERE / "requirements.txt").read_bytes()
    place = cache / f"editors-{hashlib.sha256(wanted).hexdigest()[:12]}"
    if not (place / "complete").exists():
        for old in cache.glob("editors-*"):
            shutil.rmtree(old)
        print("installing pytest-lsp, once for this cache", flush=True)
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        pip = [place / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--requirement", HERE / "requirements.txt"], check=True)
        (place / "complete").touch()
    return place / "bin/python"


def run_protocol(python, hina):
    """The tests of the protocol: how many passed and failed."""
    options = ["-q", "-p", "no:cacheprovider", "-o", "asyncio_default_fixture_loop_scope=function"]
    done = subprocess.run(
        [python, "-B", "-m", "pytest", *options, HERE / "test_server.py"], env={**os.environ, "HINA": str(hina)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
    print(done.stdout[-12000:], flush=True)
    numbers = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error)", done.stdout)}
    failed = numbers.get("failed", 0) + numbers.get("error", 0)
    return numbers.get("passed", 0), failed + (done.returncode != 0 and failed == 0)


def run_neovim(hina):
    """What a person does in Neovim: how many checks passed and failed."""
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch).resolve()
        hide_user(scratch)
        root = write_workspace(scratch / "ws", hina)
        done = subprocess.run(
            ["nvim", "--headless", "--clean", "-n", "-S", HERE / "neovim.lua"],
            env={**os.environ, "HINA": str(hina), "WORKSPACE": str(root)},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
    print(done.stdout, flush=True)
    found = re.findall(r"^(ok|FAIL) +neovim", done.stdout, re.MULTILINE)
    failed = found.count("FAIL")
    return found.count("ok"), failed + ((done.returncode != 0 or not found) and failed == 0)


def check_extension(cache):
    """Packs the extension and looks into it: how many checks passed and failed."""
    packed, said = pack_extension(cache)
    inside = zipfile.ZipFile(packed).namelist() if packed else []
    expected = {"extension/package.json", "extension/dist/extension.js", "extension/media/preview.js",
                "extension/schemas/prompt.json", "extension/syntaxes/jinja.tmLanguage.json"}
    fine = expected <= set(inside)
    print(f"{'ok  ' if fine else 'FAIL'} vscode the extension is packed{'' if fine else chr(10) + said[-4000:]}", flush=True)
    return int(fine), int(not fine)


def main():
    """Runs everything."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--hina", type=pathlib.Path, required=True)
    arguments.add_argument("--cache", type=pathlib.Path, required=True)
    given = arguments.parse_args()
    counts = [run_protocol(install_python(given.cache), given.hina), run_neovim(given.hina), check_extension(given.cache)]
    passed, failed = (sum(part) for part in zip(*counts))
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


main()
