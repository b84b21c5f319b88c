"""The examples of the documentation, with what they print."""

import ast
import asyncio
import contextlib
import importlib.util
import inspect
import io
import re

import pytest
from conftest import REPOSITORY

PAGES = ["docs/guides/use-from-python.md", "README.md", "sdk/python/README.md"]

#: A block of Python, what has to be installed for it, and the text that it prints if the page shows it.
EXAMPLE = re.compile(
    r"(?:<!-- needs: (?P<needs>\w+) -->\n)?^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```)?", re.DOTALL | re.MULTILINE)


async def run_example(code, names, page):
    """Runs a block, which may await."""
    compiled = compile(code, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        result = eval(compiled, names)  # noqa: S307, the examples are ours
        if inspect.isawaitable(result):
            await result
    return printed.getvalue()


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_print_what_the_page_shows(page, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    examples = list(EXAMPLE.finditer((REPOSITORY / page).read_text()))
    assert examples, f"{page} has no examples"

    async def run():
        names = {"__name__": "example"}
        for example in examples:
            if example["needs"] and importlib.util.find_spec(example["needs"]) is None:
                continue
            printed = await run_example(example["code"], names, page)
            if example["shown"] is not None:
                assert printed == example["shown"], example["code"]

    asyncio.run(run())
