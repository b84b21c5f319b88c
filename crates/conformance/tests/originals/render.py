"""Renders cases with chevron, LangChain and Prompty: a list of {id, language, template, data} on standard input, a list of
{id, text} or {id, error} on standard output. The text of Prompty is a list of roles and texts."""

import json
import pathlib
import sys
import tempfile

import chevron
import prompty
from langchain_core.load import loads
from langchain_core.prompts import PromptTemplate


def render(case):
    if case["language"] == "chevron":
        return chevron.render(case["template"], case["data"])
    if case["language"] == "prompty":
        with tempfile.TemporaryDirectory() as place:
            file = pathlib.Path(place, "case.prompty")
            file.write_text(case["template"], encoding="utf-8")
            messages = prompty.prepare(prompty.load(str(file)), case["data"])
        return [[message.role, "".join(part.value for part in message.parts)] for message in messages]
    if case["language"] == "langchain":
        return loads(case["template"]).format(**case["data"])
    prompt = PromptTemplate.from_template(case["template"], template_format="f-string")
    return prompt.format(**case["data"])


def answer(case):
    try:
        return {"id": case["id"], "text": render(case)}
    except Exception as error:  # whatever the original raises is its answer
        return {"id": case["id"], "error": f"{type(error).__name__}: {error}"}


json.dump([answer(case) for case in json.load(sys.stdin)], sys.stdout)
