"""Prompts of Hinagata as prompts of LlamaIndex.

    from hinagata import Engine
    from hinagata.llama_index import as_prompt

    query_engine.update_prompts({"response_synthesizer:text_qa_template": as_prompt(Engine(), "answer")})
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.prompts import BasePromptTemplate
from pydantic import ConfigDict

from ._core import Engine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from llama_index.core.base.llms.base import BaseLLM

    from ._core import Rendered

__all__ = ["HinagataPrompt", "as_prompt"]


class HinagataPrompt(BasePromptTemplate):  # type: ignore[misc]
    """A prompt that the engine renders when it is formatted."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    engine: Engine
    prompt_id: str
    context: dict[str, Any] | None = None

    def partial_format(self, **kwargs: Any) -> HinagataPrompt:
        """The prompt with some of its variables."""
        made = copy(self)
        made.kwargs = {**self.kwargs, **kwargs}
        return made

    def _rendered(self, values: Mapping[str, Any]) -> Rendered:
        given = self._map_all_vars({**self.kwargs, **values})
        return self.engine.render(self.prompt_id, given, self.context)

    def format(self, llm: BaseLLM | None = None, **kwargs: Any) -> str:
        """The text of the prompt."""
        return self._rendered(kwargs).text

    def format_messages(self, llm: BaseLLM | None = None, **kwargs: Any) -> list[ChatMessage]:
        """The messages of the prompt. Parts that are not text are left to the text of the prompt."""
        return [ChatMessage(role=one["role"], content=_text(one["content"])) for one in self._rendered(kwargs).messages]

    def get_template(self, llm: BaseLLM | None = None) -> str:
        """Where the prompt is: the engine reads it from there."""
        return str(self.engine.get_definition(self.prompt_id)["source"])


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    kinds = sorted({part["type"] for part in content} - {"text"})
    if kinds:
        raise ValueError(f"a message has parts of type {', '.join(kinds)}, which this adapter cannot pass on; "
                         "use `engine.render(…).request(driver)`")
    return "\n".join(part["text"] for part in content)


def as_prompt(
    engine: Engine,
    prompt_id: str,
    *,
    context: Mapping[str, Any] | None = None,
    template_var_mappings: dict[str, Any] | None = None,
    function_mappings: dict[str, Callable[..., Any]] | None = None,
    **kwargs: Any,
) -> HinagataPrompt:
    """The prompt as a prompt template of LlamaIndex. `kwargs` are variables of every call."""
    return HinagataPrompt(
        engine=engine,
        prompt_id=prompt_id,
        context=dict(context) if context else None,
        metadata={},
        template_vars=engine.reads(prompt_id),
        kwargs=kwargs,
        output_parser=None,
        template_var_mappings=template_var_mappings,
        function_mappings=function_mappings,
    )
