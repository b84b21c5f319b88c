"""The recorded calls, through the engine of the wheel."""

import datetime
import json

import pytest
from conftest import REPOSITORY, Calls, hina

from hinagata import Engine, HinagataError

#: Where an open workspace answers differently from a bare catalog: it has a store, whose prompts may have any id, so
#: that a name which no directory may have is not found.
DIFFERENT = {"id-reserved": "PromptNotFoundError"}

DIRECTORIES = {"rumi": REPOSITORY / "tests/vectors/rumi", "own": REPOSITORY / "tests/prompts"}


def all_cases():
    for name, directory in DIRECTORIES.items():
        for case in json.loads((directory / "cases.json").read_text())["cases"]:
            yield pytest.param(name, case, id=f"{name}-{case['id']}")


def with_root(value, root):
    """The value with the path of the copy in its place."""
    if isinstance(value, str):
        return value.replace("${ROOT}", root)
    if isinstance(value, list):
        return [with_root(item, root) for item in value]
    if isinstance(value, dict):
        return {key: with_root(item, root) for key, item in value.items()}
    return value


def answer(engine, case, context, root):
    """What the engine answers, with the members of the expectation."""
    prompt, variables = case["prompt_id"], with_root(case.get("variables", {}), root)
    operation = case.get("op", "render")
    if operation == "resolve_id":
        return {"prompt_id": engine.resolve_id(prompt)}
    if operation == "candidates":
        return {"candidates": engine.list_candidates(prompt)}
    if operation == "validate":
        return engine.validate(prompt, variables, context)
    if operation == "definition":
        found = engine.get_definition(prompt)
        granted = found["permissions"]
        limits = {name: found["limits"][name] for name in ("max_execution_time", "max_output_size")}
        wanted = case["expect"]["definition"]
        shown = {key: found[key] for key in wanted if key not in ("variables", "permissions", "limits")}
        return {"definition": {**shown, "variables": found["variables"], "permissions": granted, "limits": limits}}
    rendered = engine.render(prompt, variables, context)
    body = "messages" if isinstance(rendered.body, list) else "text"
    return {body: rendered.body, "warnings": len(rendered.warnings)}


@pytest.mark.parametrize(("directory", "case"), list(all_cases()))
def test_a_recorded_call_has_its_recorded_answer(directory, case, tmp_path, own_user):
    calls = Calls(DIRECTORIES[directory], tmp_path / "copy")
    for name, text in case.get("files", {}).items():
        (calls.place / name).parent.mkdir(parents=True, exist_ok=True)
        (calls.place / name).write_text(text)
    approvals = {**calls.document.get("approvals", {}), **case.get("approvals", {})}
    for pack, state in approvals.items():
        if state == "approved":
            hina("--root", calls.root, "pack", "approve", pack, "--yes", cwd=calls.root)
    host = {**calls.document["host"], **case.get("host", {})}
    context = with_root(case.get("context", {}), str(calls.place))
    if "session_state" in host:
        context["session_state"] = host["session_state"]
    settings = {"render.timezone": host["timezone"], "render.language": host["language"]}
    clock = datetime.datetime.fromisoformat(host["clock"])
    expected = case["expect"]
    with Engine(calls.root, settings=settings, trusted=True, clock=clock) as engine:
        if "error" in expected:
            with pytest.raises(HinagataError) as caught:
                answer(engine, case, context, str(calls.place))
            assert type(caught.value).__name__ == DIFFERENT.get(case["id"], expected["error"]["kind"])
            for key, value in expected["error"].get("details", {}).items():
                assert caught.value.details.get(key) == value, key
        else:
            found = answer(engine, case, context, str(calls.place))
            assert {key: found.get(key) for key in expected} == expected
