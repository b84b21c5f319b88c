"""What Jinja2, Go and the module framework answered, through the wheel."""

import collections
import datetime
import json
import os
import re
import subprocess
import tomllib
import warnings

import pytest
from conftest import REPOSITORY

from hinagata import HinagataError, HinagataWarning, Template, module

VECTORS = REPOSITORY / "tests/vectors"

#: The time at which the chat templates were recorded.
NOW = datetime.datetime(2026, 2, 20, 15, 30, 45)


def recorded(kind):
    """The cases of a kind that the product does not differ in on purpose."""
    skips = VECTORS / kind / "skips.toml"
    skipped = {one["id"] for one in tomllib.loads(skips.read_text()).get("skip", [])} if skips.exists() else set()
    for path in sorted((VECTORS / kind).glob("*.json")):
        for case in json.loads(path.read_text())["cases"]:
            if case["id"] not in skipped:
                yield case


def grouped(kind):
    """The cases as one test for each topic: thousands of tests would take longer to report than to run."""
    topics = {}
    for case in recorded(kind):
        topics.setdefault(case["id"].split("/")[0], []).append(case)
    return [pytest.param(cases, id=topic) for topic, cases in topics.items()]


def check_all(cases, find_difference):
    """Runs all cases, and fails with those that differ."""
    differences = {case["id"]: found for case in cases if (found := find_difference(case)) is not None}
    assert not differences, json.dumps(differences, indent=2, ensure_ascii=False)[:4000]


#: Kinds of errors in the cases, by code.
KINDS = {
    "render.syntax": "syntax", "render.undefined": "undefined", "render.template_not_found": "not_found",
    "render.security": "security", "render.runtime": "runtime", "render.limit": "limit",
}


def render_jinja(case, undefined):
    """The output, or the error as the cases describe it."""
    options = case["options"]
    is_chat = "generation" in options["extensions"] or options["host"] == "hf"
    try:
        if case["entry"] not in case["templates"]:
            return {"error": {"kind": "not_found", "line": None, "template": None}}
        template = Template(
            case["templates"][case["entry"]], name=case["entry"], templates=case["templates"], undefined=undefined,
            trim_blocks=options["trim_blocks"], lstrip_blocks=options["lstrip_blocks"],
            keep_trailing_newline=options["keep_trailing_newline"], autoescape=options["autoescape"],
            immutable=options["sandbox"] == "immutable", chat=is_chat, clock=NOW)
        return {"output": template.render(case["data"])}
    except HinagataError as error:
        place = error.place or {}
        kind = "runtime" if error.details.get("reason") == "runtime" else KINDS.get(error.code, error.code)
        return {"error": {"kind": kind, "line": place.get("line"), "template": place.get("file"), "message": str(error)}}


def is_accepted(case, found):
    expected, accept = case["expect"], case.get("accept") or {}
    if "output" in found:
        leaks = accept.get("output_without")
        return (
            expected.get("output") == found["output"] or found["output"] in accept.get("outputs", [])
            or (leaks is not None and not any(leak in found["output"] for leak in leaks)))
    if accept.get("any_error"):
        return True
    wanted = expected.get("error")
    return wanted is not None and all(
        wanted.get(key) is None or wanted[key] == found["error"][key] for key in ("kind", "line", "template"))


@pytest.mark.parametrize("cases", grouped("jinja"))
def test_jinja(cases):
    def find_difference(case):
        modes = {"default": ["jinja"], "strict": ["error"], "chainable": ["empty"]}[case["options"]["undefined"]]
        if modes == ["jinja"] and "output" in case["expect"]:
            modes = ["jinja", "empty"]
        for mode in modes:
            found = render_jinja(case, mode)
            if not is_accepted(case, found):
                return {"expected": case["expect"], "found": found}
        return None

    check_all(cases, find_difference)


#: Functions that the cases register in Go.
FUNCTIONS = set("upper lower join add concat fail lookup list dict half yesno version nothing echo boom json fnval".split())

#: Why a bare template cannot express a case, and how many cases that is: all others have to agree.
GO_LEFT_OUT = {
    # No object of Python stands behind a template, so there are no functions of the caller. `conformance` runs these.
    "it calls a function of the caller": 275,
    # Go parses them into one set, in which later definitions replace earlier ones; here a template includes others by name.
    "it has several sources": 25,
    # Variables have names: the data is an empty map at least, never nil.
    "its data has no names": 10,
    "it looks at data that is nil": 10,
    # Renders are bounded more narrowly than Go bounds them.
    "it goes deeper than a render may": 3,
    # Here that is an error, and not a number that has lost digits.
    "it has an integer of more than 64 bits": 4,
    # The text of Python has no bytes that are not UTF-8.
    "its output is not text": 3,
}


def has_long_integer(value):
    """Whether an integer has more than 64 bits."""
    if isinstance(value, (list, dict)):
        return any(has_long_integer(item) for item in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, int) and not -(2**63) <= value < 2**64


def is_too_deep(error):
    """Whether the error is that of our bound."""
    return re.search(r"are (nested )?more than \d+ deep", error.message) is not None


def answer_go(case):
    """The reason to leave the case out, if there is one, and the answer."""
    options, data = case.get("options", {}), case["data"]
    if "template" not in case:
        return "it has several sources", None
    if "output_base64" in case["expect"]:
        return "its output is not text", None
    try:
        template = Template(
            case["template"], language="go", name="main", exact_integers=case["ints"],
            missing_key=options.get("missingkey"), delimiters=tuple(options["delims"]) if "delims" in options else None)
    except HinagataError as error:
        if is_too_deep(error):
            return "it goes deeper than a render may", None
        undefined = re.search(r'function "(\w+)" not defined', error.message)
        calls_function = undefined is not None and undefined.group(1) in FUNCTIONS
        return "it calls a function of the caller" if calls_function else None, {"parse_error": error.message}
    if not isinstance(data, (dict, type(None))):
        return "its data has no names", None
    if has_long_integer(data):
        return "it has an integer of more than 64 bits", None
    if data is None and re.search(r"(?<![\w)])\.(?!\d)|\$(?!\w)", re.sub(r'"[^"]*"', "", case["template"])):
        return "it looks at data that is nil", None
    try:
        return None, {"output": template.render(data or {})}
    except HinagataError as error:
        if is_too_deep(error):
            return "it goes deeper than a render may", None
        # What was written before the error is not part of an exception.
        return None, {"exec_error": error.message, "partial_output": case["expect"].get("partial_output")}


@pytest.mark.parametrize("cases", grouped("gotemplate"))
def test_go(cases):
    def find_difference(case):
        reason, found = answer_go(case)
        return None if reason or found == case["expect"] else {"expected": case["expect"], "found": found}

    check_all(cases, find_difference)


def test_go_leaves_out_nothing_else():
    reasons = collections.Counter(answer_go(case)[0] for case in recorded("gotemplate"))
    del reasons[None]
    assert reasons == GO_LEFT_OUT


# Modules: `conformance --questions` says what is asked and what is expected, so that its rules have one home.

def at_path(context, path):
    value = context
    for step in path.split("."):
        if isinstance(value, list):
            value = value[int(step)] if step.isdigit() and int(step) < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def as_text(value):
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def call_stand_in(name, argument, context):
    """What a function returns that stands in the vectors as an object with one key."""
    if name == "dynamic":
        return argument
    if name == "dynamicPath":
        return at_path(context, argument)
    if name == "dynamicText":
        def fill(match):
            value = at_path(context, match.group(1))
            return "" if value is None else as_text(value)
        return re.sub(r"\{(.*?)\}", fill, argument)
    if name == "dynamicIf":
        return argument.get("then" if at_path(context, argument["path"]) else "else")
    rows = at_path(context, argument["path"])
    if not isinstance(rows, list):
        return None
    bounds = [at_path(context, path) for path in argument.get("slice", [])]
    start, end = (bounds + [None, None])[:2]
    chosen = rows[start if isinstance(start, int) else 0:end if isinstance(end, int) else len(rows)]
    return [
        {"type": argument["type"], **argument.get("constants", {}),
         **{field: row[field] for field in argument.get("fields", []) if field in row}}
        for row in chosen]


STAND_INS = {"dynamic", "dynamicPath", "dynamicText", "dynamicIf", "dynamicMap"}


class StandIn:
    """A function, and the object that stands for it."""

    def __init__(self, form):
        self.form = form
        [(self.name, self.argument)] = form.items()

    def __call__(self, context):
        return call_stand_in(self.name, self.argument, context)


def with_functions(value):
    if isinstance(value, dict):
        if len(value) == 1 and next(iter(value)) in STAND_INS:
            return StandIn(value)
        return {key: with_functions(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_functions(item) for item in value]
    return value


def without_functions(value):
    if isinstance(value, StandIn):
        return value.form
    if isinstance(value, dict):
        return {key: without_functions(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_functions(item) for item in value]
    return value


def merged(modules):
    each = [merged(one) if isinstance(one, list) else one for one in modules]
    return module.merge(*each)


def without_hints(value):
    if isinstance(value, dict):
        return {key: without_hints(item) for key, item in value.items() if key != "cacheHint"}
    if isinstance(value, list):
        return [without_hints(item) for item in value]
    return value


MARKERS = {
    "messageRole": "message_role", "messageContent": "message_content", "chunkStart": "chunk_start",
    "chunkEnd": "chunk_end", "subsectionStart": "subsection_start", "subsectionEnd": "subsection_end",
}


def special_tokens(given):
    return {
        name: [one["start"]["text"], one["end"]["text"]] if "start" in one else one["text"]
        for name, one in given.items()}


def text_options(question):
    given, options = question.get("options") or {}, {}
    for theirs, ours in [("preamble", "preamble"), ("lineBreak", "line_break"),
                         ("alwaysIncludeOutputHeader", "always_output_header"),
                         ("sectionDescriptions", "descriptions")]:
        if given.get(theirs) is not None:
            options[ours] = given[theirs]
    if given.get("markers"):
        options["markers"] = {MARKERS[name]: text for name, text in given["markers"].items() if name in MARKERS}
    if given.get("specialTokens"):
        options["special_tokens"] = special_tokens(given["specialTokens"])
    if question.get("setSpecialTokens"):
        options["for_tokens"] = special_tokens(question["setSpecialTokens"])
    return options


def answer(kind, question):
    if kind == "merge":
        return without_functions(merged(with_functions(question)))
    if kind == "compile":
        order = {"standard": "standard", "cache": "cache", "flat": "flat"}[question["compiling"]]
        prompt = module.compile(merged(with_functions(question["modules"])), question["context"], order=order)
        return prompt.to_dict() if question["hints"] else without_hints(prompt.to_dict())
    if kind == "text":
        options = text_options(question)
        if "prompt" in question:
            return module.format(module.CompiledPrompt(question["prompt"]), **options)
        elements = [question["element"]] if "element" in question else question.get("elements", [])
        return module.format(elements, **options)
    if kind == "element":
        prompt = module.CompiledPrompt({"data": [question["element"]]})
        if question.get("driver") == "claude":
            return prompt.request("anthropic", data_role="system")["messages"][0]["content"][0]["text"]
        return prompt.request("openai", data_role="system")["messages"][0]
    assert kind == "extract"
    options = {name: question["options"][name] for name in ("repair", "multiple") if name in question.get("options", {})}
    found = module.extract_json(question["text"], **options)
    values = found["values"]
    data = values if options.get("multiple") else (values[0] if values else None)
    result = {"data": data, "repaired": found["repaired"], "source": found["source"]}
    return result if values else {**result, "error": "No valid JSON found in text"}


#: Parts of modules that Python has no functions for.
NOT_OFFERED = {"select", "workflow"}

#: A function within the items of a section that is written as an element is not called. JSON shows the object that stands
#: for it in the vectors; in Python a function stands there, which has no form as data.
WITHOUT_FORM = {"compile-d043"}


def module_questions():
    program = os.environ.get("HINAGATA_TEST_CONFORMANCE")
    if not program:
        pytest.skip("HINAGATA_TEST_CONFORMANCE names no program")
    listed = subprocess.run([program, "module", str(VECTORS / "module"), "--questions"], check=True, capture_output=True)
    return [json.loads(line) for line in listed.stdout.splitlines()]


def test_modules():
    checked, differences = 0, {}
    for one in module_questions():
        [(kind, question)] = one["question"].items()
        if kind in NOT_OFFERED or one["id"] in WITHOUT_FORM:
            continue
        checked += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HinagataWarning)
            try:
                found = answer(kind, question)
            except (HinagataError, ValueError, TypeError) as error:
                found = error
        is_right = isinstance(found, Exception) if one["is_error"] else found == one["expected"]
        if not is_right:
            differences[f"{one['id']} {one['run']}"] = {"expected": one["expected"], "found": repr(found)[:600]}
    print(f"{checked} questions about modules")
    assert checked > 100 and not differences, json.dumps(differences, indent=2, ensure_ascii=False)[:6000]
