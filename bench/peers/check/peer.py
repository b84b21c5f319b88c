"""Parses every template beneath a directory, and prints those that read a name which their front matter does not declare."""

import pathlib
import sys

from jinja2 import Environment, meta

environment = Environment()
for path in sorted(pathlib.Path(sys.argv[1]).rglob("template.md")):
    front, text = path.read_text(encoding="utf-8").split("\n---\n", 1)
    declared = {line.split(":")[0].strip() for line in front.splitlines()[2:]}
    if meta.find_undeclared_variables(environment.parse(text)) - declared:
        print(path.parent.name)
