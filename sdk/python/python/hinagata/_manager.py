"""Engines whose methods are awaited."""

from __future__ import annotations

from ._core import Engine, Rendered
from ._errors import HinagataError, HinagataWarning

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path
    from typing import Any, Literal, TypeVar

    from typing_extensions import Self

    from ._core import Pending, Variables, Watch

    _Result = TypeVar("_Result")
    _Undefined = Literal["empty", "jinja", "error", "debug"]


async def _wait(pending: Pending) -> Rendered:
    """The result of a render that runs on another thread. Cancelling the task stops it."""
    import asyncio

    loop = asyncio.get_running_loop()
    done = loop.create_future()

    def settle() -> None:
        if not done.done():
            done.set_result(None)

    pending.on_done(lambda: loop.call_soon_threadsafe(settle))
    try:
        await done
    except asyncio.CancelledError:
        pending.cancel()
        raise
    return pending.result()


async def _beside(work: Callable[..., _Result], *arguments: Any) -> _Result:
    """The result of `work`, which may read files, on another thread."""
    import asyncio

    return await asyncio.get_running_loop().run_in_executor(None, work, *arguments)


class AsyncEngine:
    """The prompts of a workspace, for callers that await. Any number of tasks can share one engine."""

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        settings: Mapping[str, Any] | Sequence[str] | None = None,
        trusted: bool = False,
        clock: datetime | None = None,
    ) -> None:
        self._engine = Engine(root, settings=settings, trusted=trusted, clock=clock)

    async def render(
        self,
        prompt_id: str,
        variables: Mapping[str, Any] | Variables | None = None,
        context: Mapping[str, Any] | None = None,
        *,
        undefined: _Undefined | None = None,
        timeout: float | None = None,
    ) -> Rendered:
        """Renders a prompt. Short renders run at once; the loop never waits for anything."""
        begun = self._engine._begin(prompt_id, variables, context, undefined, timeout, None)
        return begun if isinstance(begun, Rendered) else await _wait(begun)

    async def explain(
        self,
        prompt_id: str,
        variables: Mapping[str, Any] | Variables | None = None,
        context: Mapping[str, Any] | None = None,
        *,
        undefined: _Undefined | None = None,
        timeout: float | None = None,
        map: bool = True,
    ) -> Rendered:
        """Renders a prompt and records what the render does."""
        begun = self._engine._begin(prompt_id, variables, context, undefined, timeout, map)
        return begun if isinstance(begun, Rendered) else await _wait(begun)

    async def validate(
        self,
        prompt_id: str,
        variables: Mapping[str, Any] | Variables | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Checks variables against the declarations of a prompt: `valid`, `missing`, `type_errors`, `type_warnings`."""
        return await _beside(self._engine.validate, prompt_id, variables, context)

    async def get_definition(self, prompt_id: str) -> dict[str, Any]:
        """The definition of a prompt: metadata, variables, permissions, limits."""
        return await _beside(self._engine.get_definition, prompt_id)

    async def list_prompts(
        self, type_filter: str | None = None, tag_filter: str | None = None
    ) -> list[dict[str, Any]]:
        """The prompts, in the order of their ids."""
        return await _beside(self._engine.list_prompts, type_filter, tag_filter)

    async def list_candidates(self, prompt_id: str) -> list[dict[str, Any]]:
        """All candidates for a name, in search order."""
        return await _beside(self._engine.list_candidates, prompt_id)

    async def set_resolution(self, prompt_id: str, source: str) -> None:
        """Records which candidate a name refers to."""
        await _beside(self._engine.set_resolution, prompt_id, source)

    async def resolve_id(self, prompt_id: str) -> str:
        """The id that a name refers to, whatever its spelling."""
        return await _beside(self._engine.resolve_id, prompt_id)

    async def reads(self, prompt_id: str) -> list[str]:
        """The sorted names of the variables that the templates of a prompt read."""
        return await _beside(self._engine.reads, prompt_id)

    def vocab(self, namespace: str, word: str) -> str | None:
        """The preferred word for a word of the vocabulary, or None."""
        return self._engine.vocab(namespace, word)

    def diagnostics(self) -> list[dict[str, Any]]:
        """Problems of the workspace."""
        return self._engine.diagnostics()

    def watch(self, on_change: Callable[[list[str]], object] | None = None) -> Watch:
        """Follows changes of files from now on. `on_change` is called on another thread."""
        return self._engine.watch(on_change)

    async def reload(self) -> None:
        """Lists the workspace again."""
        await _beside(self._engine.reload)

    @property
    def root(self) -> Path:
        """The workspace root."""
        return self._engine.root

    def close(self) -> None:
        """Ends its processes, threads and connections. Calls fail afterwards."""
        self._engine.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await _beside(self._engine.close)


class PromptManager:
    """The prompts of a workspace as one text each. It follows changes of files by itself."""

    def __init__(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        settings: Mapping[str, Any] | Sequence[str] | None = None,
        trusted: bool = False,
        clock: datetime | None = None,
    ) -> None:
        self._engine = AsyncEngine(root, settings=settings, trusted=trusted, clock=clock)
        self._follows_files = False

    def _follow_files(self) -> None:
        """Watches the files from the first call on. Where the system refuses, it lists them again for each call."""
        if self._follows_files:
            return
        try:
            self._engine.watch()
            self._follows_files = True
        except HinagataError as error:
            _warn([{"about": "files", "message": str(error)}])
            self._engine._engine.reload()

    async def render(
        self,
        prompt_id: str,
        variables: Mapping[str, Any] | Variables | None = None,
        context: Mapping[str, Any] | None = None,
    ) -> str:
        """The text of a prompt. Problems that do not stop the render are warnings of the class HinagataWarning."""
        self._follow_files()
        rendered = await self._engine.render(prompt_id, variables, context)
        if problems := rendered.warnings:
            _warn(problems)
        return rendered.text

    async def get_definition(self, prompt_id: str) -> dict[str, Any]:
        """The definition of a prompt: metadata, variables, permissions, limits."""
        self._follow_files()
        return await self._engine.get_definition(prompt_id)

    async def list_prompts(
        self, type_filter: str | None = None, tag_filter: str | None = None
    ) -> list[dict[str, Any]]:
        """The prompts, in the order of their ids."""
        self._follow_files()
        return await self._engine.list_prompts(type_filter, tag_filter)

    async def list_candidates(self, prompt_id: str) -> list[dict[str, Any]]:
        """All candidates for a name, in search order."""
        self._follow_files()
        return await self._engine.list_candidates(prompt_id)

    async def set_resolution(self, prompt_id: str, source: str) -> None:
        """Records which candidate a name refers to, in `resolution.json`."""
        await self._engine.set_resolution(prompt_id, source)

    async def validate(
        self, prompt_id: str, variables: Mapping[str, Any] | Variables | None = None
    ) -> dict[str, Any]:
        """Checks variables: `valid`, `missing`, `type_errors` and `type_warnings`."""
        self._follow_files()
        return await self._engine.validate(prompt_id, variables)

    def close(self) -> None:
        """Ends its processes, threads and connections. Calls fail afterwards."""
        self._engine.close()


def _warn(problems: list[dict[str, Any]]) -> None:
    import warnings

    for problem in problems:
        text = f"{problem['about']}: {problem['message']}"
        if "hint" in problem:
            text = f"{text} ({problem['hint']})"
        warnings.warn(text, HinagataWarning, stacklevel=3)
