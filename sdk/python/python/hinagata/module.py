"""Prompts of named sections: merge them, compile them in a context, and format them for a model.

    from hinagata import module

    answer = {
        "objective": ["Answer from the materials."],
        "materials": [lambda context: context["docs"]],
    }
    prompt = module.compile(answer, {"docs": [{"type": "material", "id": "m1", "title": "Report", "content": "21 degrees"}]})
    print(module.format(prompt))
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, Union

from ._core import CompiledPrompt, compile, extract_json, merge, validate
from ._core import format_prompt as format

Element: TypeAlias = Union[str, Mapping[str, Any]]
"""A text, or an element with `type`."""

DynamicContent: TypeAlias = Callable[[Any], Union[Element, Sequence[Element], None]]
"""A function of the context that gives elements."""

PromptModule: TypeAlias = Mapping[str, Any]
"""Sections by name, each with its entries: elements and functions; `createContext` gives a default context."""

__all__ = [
    "CompiledPrompt",
    "DynamicContent",
    "Element",
    "PromptModule",
    "compile",
    "extract_json",
    "format",
    "merge",
    "validate",
]
