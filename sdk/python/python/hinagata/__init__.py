"""Hinagata: prompts with variables, conditions and hooks, rendered in process.

    from hinagata import Engine

    engine = Engine("my-workspace")
    print(engine.render("greeting", {"name": "Rumi"}))
"""

from __future__ import annotations

import os as _os

from . import _core
from ._core import Engine, Rendered, Template, Variables, Watch, __version__
from ._errors import (
    AnswerError,
    HinagataError,
    HinagataWarning,
    ModelError,
    PromptApprovalError,
    PromptConflictError,
    PromptDeadlineError,
    PromptDefinitionError,
    PromptHookError,
    PromptIdError,
    PromptLimitError,
    PromptNotFoundError,
    PromptRenderError,
    PromptTimeoutError,
    PromptValidationError,
    StoreError,
    ToolError,
)
from ._manager import AsyncEngine, PromptManager

__all__ = [
    "AnswerError",
    "AsyncEngine",
    "Engine",
    "HinagataError",
    "HinagataWarning",
    "ModelError",
    "PromptApprovalError",
    "PromptConflictError",
    "PromptDeadlineError",
    "PromptDefinitionError",
    "PromptHookError",
    "PromptIdError",
    "PromptLimitError",
    "PromptManager",
    "PromptNotFoundError",
    "PromptRenderError",
    "PromptTimeoutError",
    "PromptValidationError",
    "Rendered",
    "StoreError",
    "Template",
    "ToolError",
    "Variables",
    "Watch",
    "__version__",
]

# Threads, processes and connections do not survive a fork: those that nobody uses end before it, and the child starts
# its own on first use.
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(before=_core._before_fork, after_in_child=_core._after_fork_in_child)


def _close_at_exit() -> None:
    import atexit

    atexit.register(_core._close_all)


_close_at_exit()
