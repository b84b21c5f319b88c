#!/usr/bin/env python3
"""Checks the files of this directory with the tools of their formats, without a container engine and without root.

  check.py --cache DIRECTORY

The unit must pass `systemd-analyze verify` and must not be more exposed than promised; the container file must pass
hadolint; compose.yaml must fit the schema of the Compose specification, and its services must be confined. The tools
from PyPI are installed into the cache directory, once for each state of requirements.txt. The last line counts:
"N passed, M failed, 0 skipped".
"""

import argparse
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
#: The highest exposure of the unit, and of the unit with the drop-in no-hooks.conf.
EXPOSURE = 2.5
EXPOSURE_WITHOUT_HOOKS = 1.8

passed = failed = 0


def note(name, good, text=""):
    """Counts one result and shows it."""
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(("ok   " if good else "FAIL ") + name, flush=True)
    if not good and text:
        print("\n".join("     " + line for line in text.splitlines()[-40:]), flush=True)


def installed(cache):
    """The programs of a Python with the packages of requirements.txt."""
    wanted = HERE / "requirements.txt"
    place = cache / f"deploy-{hashlib.sha256(wanted.read_bytes()).hexdigest()[:12]}"
    if not (place / "complete").exists():
        for old in cache.glob("deploy-*"):
            shutil.rmtree(old)
        print("installing tools, once for this cache", flush=True)
        subprocess.run([sys.executable, "-m", "venv", place], check=True)
        pip = [place / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--requirement", wanted], check=True)
        (place / "complete").touch()
    return place / "bin"


def run(name, *command):
    """Runs a command that has to succeed; what it printed to standard output."""
    done = subprocess.run(command, capture_output=True, text=True)
    # systemd-analyze reports some mistakes and exits with 0.
    note(name, done.returncode == 0 and not done.stderr.strip(), done.stdout + done.stderr)
    return done.stdout


def check_unit(drop_in, limit):
    """Verifies the unit, with a drop-in if there is one."""
    title = f"hinagata.service with {drop_in}" if drop_in else "hinagata.service"
    with tempfile.TemporaryDirectory() as place:
        unit = pathlib.Path(place) / "hinagata.service"
        text = (HERE / unit.name).read_text()
        # The program need not be installed where this runs.
        unit.write_text(text.replace("/usr/bin/hina ", "/bin/true "))
        if drop_in:
            directory = unit.with_suffix(".service.d")
            directory.mkdir()
            shutil.copy(HERE / drop_in, directory)
        socket = pathlib.Path(shutil.copy(HERE / "hinagata.socket", place))
        run(f"{title}: verified with its socket", "systemd-analyze", "verify", "--man=no", unit, socket)
        security = ["systemd-analyze", "security", "--offline=true", "--no-pager"]
        done = subprocess.run([*security, unit], capture_output=True, text=True)
        line = next((line for line in done.stdout.splitlines() if "Overall exposure level" in line), "")
        words = line.split("hinagata.service: ")[-1].split()
        exposure = float(words[0]) if words else 10.0
        note(f"{title}: exposure {exposure}, at most {limit}", exposure <= limit, done.stdout + done.stderr)


def check_compose(tools):
    """Checks the shape of compose.yaml, and that every service is confined."""
    file = HERE / "compose.yaml"
    run("compose.yaml: shape", tools / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", file)
    program = "import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)"
    document = json.loads(run("compose.yaml: YAML", tools / "python", "-c", program, file))
    for name, service in document["services"].items():
        confined = (
            service.get("read_only") is True
            and service.get("user", "root").split(":")[0] not in ("root", "0")
            and service.get("cap_drop") == ["ALL"]
            and "no-new-privileges:true" in service.get("security_opt", [])
            and "pids_limit" in service
            and "healthcheck" in service
            and not service.get("privileged")
            and not service.get("cap_add")
        )
        note(f"compose.yaml: {name} is confined", confined)
        published = service.get("ports", [])
        note(f"compose.yaml: {name} is published on this machine only", all(p.startswith("127.0.0.1:") for p in published))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", required=True, type=pathlib.Path)
    cache = parser.parse_args().cache.resolve()
    tools = installed(cache)
    check_unit(None, EXPOSURE)
    check_unit("no-hooks.conf", EXPOSURE_WITHOUT_HOOKS)
    run("Containerfile: hadolint", tools / "hadolint", HERE / "Containerfile")
    check_compose(tools)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
