"""Prompts of Hinagata as prompts of LangChain.

    from hinagata import Engine
    from hinagata.langchain import as_prompt

    chain = as_prompt(Engine(), "triage") | model
    chain.invoke({"text": "…"})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.prompt_values import ChatPromptValue, PromptValue, StringPromptValue
from langchain_core.prompts import BasePromptTemplate
from pydantic import ConfigDict

from ._core import Engine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._core import Rendered

__all__ = ["HinagataPrompt", "as_prompt"]


class HinagataPrompt(BasePromptTemplate[Any]):
    """A prompt that the engine renders when it is invoked. Its input variables are those that its templates read."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    engine: Engine
    prompt_id: str
    context: dict[str, Any] | None = None

    def _rendered(self, values: Mapping[str, Any]) -> Rendered:
        given = {**{name: value() if callable(value) else value for name, value in self.partial_variables.items()}, **values}
        return self.engine.render(self.prompt_id, given, self.context)

    def format(self, **kwargs: Any) -> str:
        """The text of the prompt."""
        return self._rendered(kwargs).text

    def format_messages(self, **kwargs: Any) -> list[BaseMessage]:
        """The messages of the prompt."""
        return _messages(self._rendered(kwargs))

    def format_prompt(self, **kwargs: Any) -> PromptValue:
        """A text or messages, as the prompt says."""
        rendered = self._rendered(kwargs)
        if isinstance(rendered.body, str):
            return StringPromptValue(text=rendered.text)
        return ChatPromptValue(messages=_messages(rendered))

    @property
    def _prompt_type(self) -> str:
        return "hinagata"


def _messages(rendered: Rendered) -> list[BaseMessage]:
    """The messages as LangChain has them: the arguments of OpenAI's client, which it reads."""
    return convert_to_messages(rendered.request("openai", cache_marks=False)["messages"])


def as_prompt(
    engine: Engine,
    prompt_id: str,
    *,
    context: Mapping[str, Any] | None = None,
    partial_variables: Mapping[str, Any] | None = None,
) -> HinagataPrompt:
    """The prompt as a prompt template of LangChain, which every chain and agent takes."""
    definition = engine.get_definition(prompt_id)
    required: list[str] = definition["variables"]["required"]
    partial = dict(partial_variables or {})
    reads = [name for name in engine.reads(prompt_id) if name not in partial]
    return HinagataPrompt(
        engine=engine,
        prompt_id=prompt_id,
        context=dict(context) if context else None,
        input_variables=[name for name in required if name not in partial],
        optional_variables=[name for name in reads if name not in required],
        partial_variables=partial,
    )
