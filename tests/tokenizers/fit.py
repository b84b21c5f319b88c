#!/usr/bin/env python3
"""Fits the factors of crates/hinagata-tokens/src/family.rs to real tokenizers.

  fit.py TALLY TEXTS TOKENIZERS...

TALLY is the example `tally` of hinagata-tokens. TEXTS has a directory for each language, with texts of 4 KiB or more; en,
code, ja and zh decide, others count little. TOKENIZERS are directories as record.py takes them. It prints for each
tokenizer the factors in percent and the largest error by language, on texts that the fit did not see and on all. Needs
numpy and scipy besides the packages of record.py.
"""

import json
import pathlib
import subprocess
import sys

import numpy
from scipy.optimize import lsq_linear

from record import counter

DECIDING = ("en", "code", "ja", "zh")
#: Kinds that count characters besides the tokens of the same pieces: they correct these, so they may be negative.
CORRECTIONS = (11, 13, 14)
#: Large errors weigh more: the sum of their fourth powers is minimized.
POWER = 4
ROUNDS = 60


def fit(tallies, counts, deciding):
    """Factors that keep the relative errors small."""
    rows = tallies / counts[:, None]
    lowest = [-0.5 if kind in CORRECTIONS else 0 for kind in range(rows.shape[1])]
    base = numpy.where(deciding, 1.0, 0.15)
    weights, factors = base, None
    for _ in range(ROUNDS):
        found = lsq_linear(rows * weights[:, None], weights, bounds=(lowest, 4)).x
        factors = found if factors is None else 0.7 * factors + 0.3 * found
        errors = numpy.abs(rows @ factors - 1) + 0.01
        weights = base * errors ** ((POWER - 2) / 2)
        weights /= weights.max()
    return numpy.round(factors * 100) / 100


def report(tallies, counts, factors, languages, chosen):
    """The largest error of each language in percent."""
    errors = numpy.abs(tallies @ factors / counts - 1) * 100
    found = {}
    for language in sorted(set(languages)):
        own = chosen & (languages == language)
        if own.any():
            found[str(language)] = round(float(errors[own].max()), 1)
    return found


def main(tally, texts, *directories):
    paths = [path for path in sorted(pathlib.Path(texts).glob("*/*")) if path.stat().st_size >= 4096]
    names = "\n".join(map(str, paths))
    lines = subprocess.run([tally], input=names, capture_output=True, text=True, check=True).stdout.splitlines()
    tallies = numpy.array([json.loads(line) for line in lines], float)
    languages = numpy.array([path.parent.name for path in paths])
    deciding = numpy.isin(languages, DECIDING)
    seen = numpy.random.RandomState(1).rand(len(paths)) < 0.6
    print(len(paths), "texts")
    for path in sorted(path for directory in directories for path in pathlib.Path(directory).iterdir()):
        if path.suffix not in (".json", ".model", ".tiktoken"):
            continue
        count = counter(path)
        counts = numpy.array([count(text.read_text(encoding="utf-8")) for text in paths], float)
        half = fit(tallies[seen], counts[seen], deciding[seen])
        factors = fit(tallies, counts, deciding)
        print(path.name, [round(factor * 100) for factor in factors])
        print("  not seen:", report(tallies, counts, half, languages, ~seen & deciding))
        print("  all:", report(tallies, counts, factors, languages, seen | True), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
