"""The exceptions. Each has the stable code that every door of Hinagata uses."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


class HinagataWarning(UserWarning):
    """Something that was asked for and not done, in a call whose result has no place to say so."""


class HinagataError(Exception):
    """Why a call failed: `message`, `code`, `details`, and where it is known `place`, `chain`, `near` and `hint`.

    `str()` of it is the message with the place and the hint.
    """

    code: str = "system"
    """The stable name of what went wrong."""

    def __init__(
        self,
        message: str = "",
        *,
        code: str | None = None,
        details: Mapping[str, Any] | None = None,
        place: Mapping[str, Any] | None = None,
        chain: Sequence[Mapping[str, Any]] = (),
        near: Sequence[str] = (),
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        self.details: dict[str, Any] = dict(details or {})
        self.place: dict[str, Any] | None = dict(place) if place else None
        self.chain: list[dict[str, Any]] = [dict(one) for one in chain]
        self.near: list[str] = list(near)
        self.hint: str | None = hint

    @property
    def prompt_id(self) -> str | None:
        """The prompt, if the error is about one."""
        found: str | None = self.details.get("prompt_id")
        return found

    @property
    def reason(self) -> str | None:
        """The reason within the code, such as `unresolved`."""
        found: str | None = self.details.get("reason")
        return found

    def __str__(self) -> str:
        text = self.message
        if self.place:
            text = f"{':'.join(str(self.place[key]) for key in ('file', 'line', 'column') if key in self.place)}: {text}"
        if self.near:
            text = f"{text}; did you mean {' or '.join(f'`{name}`' for name in self.near)}?"
        if self.hint:
            text = f"{text}\n  hint: {self.hint}"
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.message, self.__dict__)


def _restore(error_class: type[HinagataError], message: str, fields: dict[str, Any]) -> HinagataError:
    error = error_class.__new__(error_class, message)
    Exception.__init__(error, message)
    error.__dict__.update(fields)
    return error


class PromptIdError(HinagataError, ValueError):
    """The text is not a prompt id."""

    code = "id"


class PromptNotFoundError(HinagataError, LookupError):
    """No prompt, agent or file has that name."""

    code = "not_found"


class PromptConflictError(HinagataError):
    """Several candidates match, and nothing decides between them."""

    code = "conflict"

    def __init__(
        self,
        prompt_id: str = "",
        candidates: Sequence[Mapping[str, Any]] = (),
        *,
        message: str | None = None,
        details: Mapping[str, Any] | None = None,
        code: str | None = None,
        place: Mapping[str, Any] | None = None,
        chain: Sequence[Mapping[str, Any]] = (),
        near: Sequence[str] = (),
        hint: str | None = None,
    ) -> None:
        all_details: dict[str, Any] = {"prompt_id": prompt_id, "candidates": list(candidates), **(details or {})}
        text = message if message is not None else f"several prompts match `{prompt_id}`"
        super().__init__(text, code=code, details=all_details, place=place, chain=chain, near=near, hint=hint)

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """The candidates in search order: dicts with `source`, `version`, `pack_id` and more."""
        found: list[dict[str, Any]] = self.details.get("candidate_details", self.details["candidates"])
        return found


class PromptValidationError(HinagataError, ValueError):
    """Variables are missing or of the wrong type. `missing` and `type_errors` list all of them."""

    code = "validation"

    @property
    def missing(self) -> list[str]:
        """The names of missing variables."""
        found: list[str] = self.details.get("missing", [])
        return found

    @property
    def type_errors(self) -> list[dict[str, Any]]:
        """Variables of the wrong type."""
        found: list[dict[str, Any]] = self.details.get("type_errors", [])
        return found


class PromptDefinitionError(HinagataError):
    """A prompt, pack or setting is invalid."""

    code = "definition"


class PromptRenderError(HinagataError):
    """A template failed. The code says how: `render.syntax`, `render.undefined` and others."""

    code = "render.runtime"


class PromptDeadlineError(PromptRenderError, TimeoutError):
    """The deadline has passed, or the render was stopped."""

    code = "deadline"


class PromptLimitError(HinagataError):
    """The text is longer than allowed."""

    code = "output_limit"


class PromptHookError(HinagataError):
    """A hook failed. `details` has `exception` and, if known, `frames` of the prompt's own file."""

    code = "hook"


class PromptTimeoutError(HinagataError, TimeoutError):
    """A hook took too long."""

    code = "hook_timeout"


class PromptApprovalError(HinagataError, PermissionError):
    """Something is not approved or trusted."""

    code = "approval"


class StoreError(HinagataError):
    """The store, or a file of the workspace, cannot be read or written."""

    code = "store"


class ToolError(HinagataError):
    """A tool failed."""

    code = "tool"


class ModelError(HinagataError):
    """A model failed."""

    code = "model"


class AnswerError(HinagataError, ValueError):
    """The answer of a model does not follow its schema."""

    code = "answer"


_CLASSES: dict[str, type[HinagataError]] = {
    known.code: known
    for known in (
        PromptIdError,
        PromptNotFoundError,
        PromptConflictError,
        PromptValidationError,
        PromptDefinitionError,
        PromptDeadlineError,
        PromptLimitError,
        PromptHookError,
        PromptTimeoutError,
        PromptApprovalError,
        StoreError,
        ToolError,
        ModelError,
        AnswerError,
    )
}


def make_error(code: str, message: str, fields: dict[str, Any]) -> HinagataError:
    """The exception for an error of the engine."""
    if code == "conflict":
        details = fields.get("details", {})
        prompt_id = details.get("prompt_id", "")
        return PromptConflictError(prompt_id, details.get("candidates", ()), message=message, **fields)
    if code.startswith("render."):
        return PromptRenderError(message, code=code, **fields)
    if code.startswith("exchange."):
        return PromptDefinitionError(message, code=code, **fields)
    return _CLASSES.get(code, HinagataError)(message, code=code, **fields)
