"""Answers of Jinja2: reads one case a line as JSON, writes one answer a line as JSON.

A case has `templates`, `entry`, `data` and the options of the environment. An answer is
`{"output": text}`, `{"error": kind, "template": name, "line": number, "message": text}`, or
`{"none": reason}` where the original has no answer that could be compared.
"""

import json
import resource
import signal
import sys

from jinja2 import ChainableUndefined, StrictUndefined, Undefined
from jinja2.exceptions import (
    SecurityError,
    TemplateNotFound,
    TemplateSyntaxError,
    UndefinedError,
)
from jinja2.loaders import FunctionLoader
from jinja2.sandbox import SandboxedEnvironment

SECONDS = 2.0
BYTES = 1 << 30
UNDEFINED = {"default": Undefined, "strict": StrictUndefined, "chainable": ChainableUndefined}
PREFIX = "template:"

environments = {}
templates = {}


class TookTooLong(BaseException):
    """Not an Exception: nothing of Jinja2 may catch it."""


def stop(_signal, _frame):
    raise TookTooLong


def load(name):
    source = templates.get(name)
    return None if source is None else (source, PREFIX + name, lambda: True)


def environment(case):
    key = (
        case["undefined"],
        case["autoescape"],
        case["trim_blocks"],
        case["lstrip_blocks"],
        case["keep_trailing_newline"],
    )
    found = environments.get(key)
    if found is None:
        found = environments[key] = SandboxedEnvironment(
            loader=FunctionLoader(load),
            undefined=UNDEFINED[key[0]],
            autoescape=key[1],
            trim_blocks=key[2],
            lstrip_blocks=key[3],
            keep_trailing_newline=key[4],
            extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"],
        )
    # Another case has other templates under the same names.
    found.cache.clear()
    return found


def kind(error):
    if isinstance(error, (TemplateSyntaxError, SyntaxError)):
        return "syntax"
    if isinstance(error, UndefinedError):
        return "undefined"
    if isinstance(error, TemplateNotFound):
        return "not_found"
    if isinstance(error, SecurityError):
        return "security"
    return "runtime"


def place(error):
    """The innermost template line that the error passed."""
    if isinstance(error, TemplateSyntaxError):
        return (error.name or "").removeprefix(PREFIX), error.lineno
    found = (None, None)
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name.startswith(PREFIX):
            found = (name[len(PREFIX):], trace.tb_lineno)
        trace = trace.tb_next
    return found


def answer(case):
    templates.clear()
    templates.update(case["templates"])
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        text = environment(case).get_template(case["entry"]).render(case["data"])
        text.encode()
        return {"output": text}
    except TookTooLong:
        return {"none": "took too long"}
    except MemoryError:
        return {"none": "took too much memory"}
    except UnicodeEncodeError:
        return {"none": "no valid Unicode"}
    except Exception as error:
        name, line = place(error)
        return {
            "error": kind(error),
            "template": name,
            "line": line,
            "message": f"{type(error).__name__}: {error}"[:300].encode(errors="replace").decode(),
        }
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def main():
    signal.signal(signal.SIGALRM, stop)
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
