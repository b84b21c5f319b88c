#!/usr/bin/env python3
"""Drives real hosts of MCP servers against `hina mcp` and `hina serve`; check.py says how.

  run.py --cache DIRECTORY --is-installed
  run.py --cache DIRECTORY --hina PROGRAM [--door stdio|http] [HOST...]

The hosts are installed into the cache directory, once for each state of package.json and requirements.txt. With
--is-installed, nothing is done: the exit code is 0 if they are there.
"""

import argparse
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from installed import install_packages, is_complete, place_of  # noqa: E402 - its directory is known only now

NAME = "mcp-hosts"


def main():
    """Installs the hosts and runs the checks with the Python that was installed with them."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--cache", type=lambda name: pathlib.Path(name).resolve(), required=True)
    arguments.add_argument("--is-installed", action="store_true")
    given, others = arguments.parse_known_args()
    if given.is_installed:
        sys.exit(not is_complete(place_of(given.cache, NAME, HERE)))
    place = install_packages(given.cache, NAME, HERE)
    python = place / "python/bin/python"
    os.execv(python, [python, HERE / "check.py", "--installed", place, *others])


main()
