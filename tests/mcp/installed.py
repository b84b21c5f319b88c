"""Programs of others that tests run: Node with packages, and a Python with packages, kept in a cache directory."""

import hashlib
import shutil
import subprocess
import sys


def place_of(cache, name, directory):
    """Where the packages of a directory's package.json and requirements.txt are, or will be."""
    wanted = b"".join(file.read_bytes() for file in wanted_files(directory))
    return cache / f"{name}-{hashlib.sha256(wanted).hexdigest()[:12]}"


def wanted_files(directory):
    return [directory / "package.json", directory / "requirements.txt"]


def is_complete(place):
    """Whether an installation came to its end."""
    return (place / "complete").exists()


def install_packages(cache, name, directory):
    """Installs the packages, once for each state of the two files, and returns where they are."""
    place = place_of(cache, name, directory)
    if is_complete(place):
        return place
    for old in cache.glob(f"{name}-*"):
        shutil.rmtree(old)
    place.mkdir(parents=True)
    print(f"installing {name}, once for this cache", flush=True)
    for file in wanted_files(directory):
        shutil.copy(file, place)
    npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--no-package-lock"]
    subprocess.run(npm, cwd=place, check=True, stdout=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", place / "python"], check=True)
    pip = [place / "python/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--requirement", place / "requirements.txt"], check=True, stdout=sys.stderr)
    (place / "complete").touch()
    return place
