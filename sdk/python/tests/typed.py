"""What type checkers must accept, under their strict settings, and the types that they must find."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import ollama
import openai
from google import genai
from typing_extensions import assert_type

from hinagata import (
    AsyncEngine,
    Engine,
    HinagataError,
    PromptConflictError,
    PromptManager,
    Rendered,
    Template,
    Variables,
    module,
)


def sync_calls(engine: Engine) -> None:
    rendered = engine.render("triage", {"text": "a"}, {"session": object()}, undefined="error", timeout=1.5)
    assert_type(rendered, Rendered)
    assert_type(rendered.text, str)
    assert_type(rendered.messages, list[dict[str, Any]])
    assert_type(engine.reads("triage"), list[str])
    assert_type(engine.vocab("tool", "find"), "str | None")
    with engine.watch(lambda paths: print(paths)):
        engine.reload()


def clients(rendered: Rendered) -> None:
    openai.OpenAI().chat.completions.create(**rendered.request("openai"))
    openai.OpenAI().responses.create(**rendered.request("openai-responses"))
    anthropic.Anthropic().messages.create(**rendered.request("anthropic", max_tokens=100))
    genai.Client().models.generate_content(**rendered.request("gemini"))  # pyright: ignore[reportUnknownMemberType]
    ollama.Client().chat(**rendered.request("ollama"))  # pyright: ignore[reportUnknownMemberType]


async def async_calls(root: str) -> None:
    manager = PromptManager(root, settings={"render.language": "ja"}, trusted=True)
    assert_type(await manager.render("general_system", {"agent_name": "Rumi"}), str)
    assert_type(await manager.list_candidates("general_system"), list[dict[str, Any]])
    async with AsyncEngine(root) as engine:
        assert_type(await engine.render("triage", Variables(text="a")), Rendered)


def answer_in(context: dict[str, Any]) -> str:
    return f"Answer in {context['language']}."


def templates() -> None:
    template = Template("{{ name }}", undefined="error")
    assert_type(template.render(name="a"), str)
    prompt = module.compile({"objective": ["Answer.", answer_in]}, {"language": "English"}, order="cache")
    assert_type(prompt.request("anthropic", model="m"), dict[str, Any])


def errors(engine: Engine) -> None:
    try:
        engine.render("triage")
    except PromptConflictError as error:
        assert_type(error.candidates, list[dict[str, Any]])
    except HinagataError as error:
        assert_type(error.code, str)
        assert_type(error.hint, "str | None")


if __name__ == "__main__":
    sync_calls(Engine())
    asyncio.run(async_calls("."))
