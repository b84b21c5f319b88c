"""Packs the extension for VS Code."""

import hashlib
import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent / "editors/vscode"
#: Longest that packing may take, in seconds.
PATIENCE = 600


def pack_extension(cache):
    """Builds the extension from a copy: the packed file, or `None`, and what was printed."""
    wanted = (SOURCE / "package.json").read_bytes()
    place = cache / f"vscode-{hashlib.sha256(wanted).hexdigest()[:12]}"
    if not (place / "complete").exists():
        for old in cache.glob("vscode-*"):
            shutil.rmtree(old)
        place.mkdir(parents=True)
        print("installing what builds the extension, once for this cache", flush=True)
        shutil.copy(SOURCE / "package.json", place)
        npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--no-package-lock"]
        subprocess.run(npm, cwd=place, check=True, stdout=sys.stderr)
        (place / "complete").touch()
    for old in ["media", "schemas", "src", "syntaxes", "dist"]:
        shutil.rmtree(place / old, ignore_errors=True)
    ignored = shutil.ignore_patterns("node_modules", "dist", "*.vsix", "package-lock.json")
    shutil.copytree(SOURCE, place, ignore=ignored, dirs_exist_ok=True)
    for old in place.glob("*.vsix"):
        old.unlink()
    done = subprocess.run(["npm", "run", "--silent", "package"], cwd=place, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
    packed = list(place.glob("*.vsix"))
    return packed[0] if packed and done.returncode == 0 else None, done.stdout
