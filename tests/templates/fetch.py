#!/usr/bin/env python3
"""Fetches Jinja templates that packages carry, and prints the directory that holds them.

  fetch.py --cache DIRECTORY

The packages of sources.json are downloaded with pip, without those that they depend on, once for each state of
sources.json. A test of hinagata-check checks every template, and compares what it finds with judged.toml.
"""

import argparse
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ENDINGS = (".j2", ".jinja", ".jinja2")


def fetch_package(package, place):
    """Writes the templates of a wheel beneath a directory with the name of its package."""
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--only-binary", ":all:", "--dest", directory, package]
        subprocess.run(command, check=True, stdout=sys.stderr)
        (archive,) = pathlib.Path(directory).iterdir()
        with zipfile.ZipFile(archive) as files:
            for name in files.namelist():
                if name.endswith(ENDINGS):
                    target = place / package.split("==")[0] / name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(files.read(name))


def fetch_all(cache):
    """The directory with the templates of all packages."""
    text = (HERE / "sources.json").read_bytes()
    place = cache / f"templates-{hashlib.sha256(text).hexdigest()[:12]}"
    if (place / "complete").exists():
        return place
    for old in cache.glob("templates-*"):
        shutil.rmtree(old)
    place.mkdir(parents=True)
    for package in json.loads(text):
        fetch_package(package, place)
    (place / "complete").touch()
    return place


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    print(fetch_all(parser.parse_args().cache))


if __name__ == "__main__":
    main()
