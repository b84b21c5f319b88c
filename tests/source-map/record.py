"""Records which literal texts sqlfluff's Jinja templater finds in the recorded Jinja cases.

Usage: python record.py VECTORS OUTPUT, with the package sqlfluff 4.5.0.

Only cases that it renders as Jinja2 does are recorded: it has no loader, no options, and filters of its own. A slice is
`[first byte of the source, byte after the last, first byte of the output, byte after the last]`.
"""

import json
import pathlib
import sys

from sqlfluff.core import FluffConfig
from sqlfluff.core.templaters import JinjaTemplater


def in_bytes(text, piece):
    """The bytes of a range of characters."""
    return [len(text[: piece.start].encode()), len(text[: piece.stop].encode())]


def slices(case):
    source = case["templates"][case["entry"]]
    templater = JinjaTemplater(override_context=case["data"])
    config = FluffConfig(overrides={"dialect": "ansi"})
    found, _ = templater.process(in_str=source, fname="case", config=config)
    if found is None or found.templated_str != case["expect"]["output"]:
        return None
    return [
        in_bytes(source, piece.source_slice) + in_bytes(found.templated_str, piece.templated_slice)
        for piece in found.sliced_file
        if piece.slice_type == "literal" and piece.templated_slice.stop > piece.templated_slice.start
    ]


def main(vectors, output):
    recorded = {}
    for path in sorted(pathlib.Path(vectors).glob("*.json")):
        for case in json.loads(path.read_text())["cases"]:
            if not (isinstance(case["data"], dict) and "output" in case["expect"]):
                continue
            try:
                found = slices(case)
            except Exception:  # What it cannot render is not compared.
                continue
            if found:
                recorded[case["id"]] = found
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(rows)}" for name, rows in sorted(recorded.items()))
    pathlib.Path(output).write_text("{\n" + lines + "\n}\n")
    print(len(recorded), "cases,", sum(map(len, recorded.values())), "slices")


main(*sys.argv[1:])
