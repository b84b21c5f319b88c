#!/usr/bin/env python3
"""Builds the wheel, installs it in a fresh environment, and tests it there.

  run.py --cache DIRECTORY --hina PROGRAM --conformance PROGRAM [--wheel FILE] [PYTEST OPTIONS]

What the tests need is installed into the cache directory, once for each state of requirements.txt. The last line
counts: "N passed, M failed, K skipped".
"""

import argparse
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SDK = HERE.parent

#: The feature of the package that lets it use the builds of the product's tests.
FEATURES = "shared-builds"

#: Longest that everything may take after the build, in seconds.
PATIENCE = 1200


def install_tools(cache):
    """The environment with what the tests need, but for the wheel."""
    wanted = HERE / "requirements.txt"
    place = cache / f"python-sdk-{hashlib.sha256(wanted.read_bytes()).hexdigest()[:12]}"
    if (place / "complete").exists():
        return place
    for old in cache.glob("python-sdk-*"):
        shutil.rmtree(old)
    print("installing python-sdk, once for this cache", flush=True)
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    pip = [place / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--requirement", wanted], check=True, stdout=sys.stderr)
    (place / "complete").touch()
    return place


def list_dependencies(*options):
    """The dependencies that come from the registry, each with its version and features."""
    command = ["cargo", "tree", "--prefix", "none", "--format", "{p} [{f}]", *options]
    listed = subprocess.run(command, cwd=SDK, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {line.removesuffix(" (*)") for line in listed.splitlines() if line and "(/" not in line}


def tell_what_is_built_again():
    """Names the dependencies whose builds the product's tests have no use for: see features/Cargo.toml."""
    product = list_dependencies("--workspace", "--edges", "normal,build,dev", "--manifest-path", SDK.parents[1] / "Cargo.toml")
    names = {line.split()[0] for line in product}
    again = list_dependencies("--edges", "normal,build", "--features", FEATURES) - product
    for line in sorted(line for line in again if line.split()[0] in names):
        print(f"built again, because the product builds it otherwise: {line}", flush=True)


def build_wheel(tools, scratch):
    """The wheel for this machine, unoptimised, from the dependencies that the product's tests build."""
    tell_what_is_built_again()
    maturin = [tools / "bin/maturin", "build", "--profile", "dev", "--interpreter", tools / "bin/python", "--features", FEATURES]
    subprocess.run([*maturin, "--out", scratch / "wheels"], cwd=SDK, check=True)
    [wheel] = (scratch / "wheels").glob("*.whl")
    return wheel


def install_wheel(tools, wheel, place):
    """A fresh environment with the wheel, which finds the tools in theirs."""
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    python = place / "bin/python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
    subprocess.run([*pip, wheel], check=True)
    own, others = (
        sysconfig.get_path("purelib", vars={"base": str(base), "platbase": str(base)}, scheme="venv")
        for base in (place, tools))
    pathlib.Path(own, "tools.pth").write_text(others + "\n")
    return python


class Checks:
    """Counts commands that pass or fail."""

    def __init__(self, environment):
        self.environment, self.passed, self.failed, self.skipped = environment, 0, 0, 0

    def check(self, name, command, **options):
        """A command that fails if something is wrong."""
        done = subprocess.run(
            [*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment,
            timeout=PATIENCE, **options)
        self.passed += done.returncode == 0
        self.failed += done.returncode != 0
        print(f"{'ok  ' if done.returncode == 0 else 'FAIL'} {name}", flush=True)
        if done.returncode != 0:
            print(done.stdout[-6000:], flush=True)

    def run_pytest(self, command):
        """The tests, which count themselves."""
        process = subprocess.Popen(
            [*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment,
            cwd=HERE)
        last = ""
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line if re.search(r"\d+ (passed|failed|error)", line) else last
        process.wait(PATIENCE)

        def count(word):
            found = re.search(rf"(\d+) {word}", last)
            return int(found.group(1)) if found else 0

        failed = count("failed") + count("error")
        self.passed += count("passed")
        self.skipped += count("skipped")
        self.failed += failed or (process.returncode not in (0,))


def check_types(checks, python, tools, scratch):
    """The strict settings of type checkers, and the stubs against the library."""
    package = pathlib.Path(subprocess.run(
        [python, "-c", "import hinagata; print(hinagata.__path__[0])"], capture_output=True, text=True, check=True
    ).stdout.strip())
    environment = ["--python-executable", python]
    checks.check("mypy --strict", [tools / "bin/mypy", "--strict", *environment, HERE / "typed.py"], cwd=scratch)
    names = ["__init__.py", "_errors.py", "_manager.py", "module.py", "langchain.py", "pytest_plugin.py"]
    sources = [package / name for name in names]
    checks.check("mypy --strict, the package", [tools / "bin/mypy", "--strict", *environment, *sources], cwd=scratch)
    settings = scratch / "pyrightconfig.json"
    settings.write_text('{"typeCheckingMode": "strict", "include": ["typed.py"]}')
    shutil.copy(HERE / "typed.py", scratch)
    checks.check("pyright --strict", [tools / "bin/pyright", "--pythonpath", python, "--project", settings], cwd=scratch)
    stubtest = [python, "-m", "mypy.stubtest", "hinagata", "--ignore-missing-stub", "--allowlist", HERE / "stubtest.txt"]
    checks.check("stubtest", stubtest, cwd=scratch)


def main():
    """Runs everything."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--cache", type=pathlib.Path, required=True)
    arguments.add_argument("--hina", type=pathlib.Path, required=True)
    arguments.add_argument("--conformance", type=pathlib.Path, required=True)
    arguments.add_argument("--wheel", type=pathlib.Path)
    given, pytest_options = arguments.parse_known_args()
    tools = install_tools(given.cache)
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        wheel = given.wheel or build_wheel(tools, scratch)
        python = install_wheel(tools, wheel, scratch / "fresh")
        environment = {
            **os.environ, "HINAGATA_TEST_HINA": str(given.hina), "HINAGATA_TEST_CONFORMANCE": str(given.conformance)}
        checks = Checks(environment)
        checks.run_pytest(
            [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=300", HERE, *pytest_options])
        if not pytest_options:
            check_types(checks, python, tools, scratch)
    print(f"{checks.passed} passed, {checks.failed} failed, {checks.skipped} skipped")
    sys.exit(checks.failed > 0)


main()
