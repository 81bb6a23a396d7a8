"""Prompts of system tasks that people replaced, as bundles read and change them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


class PromptOverrides(Protocol):
    """The prompts of tasks that run for an agent; the name of one is `task/key`.

    They belong to the workspace: a replaced prompt is used for every agent.
    """

    def texts(self) -> dict[str, str]:
        """Return the text of every prompt that was replaced."""

    def builtin_texts(self) -> dict[str, str]:
        """Return the built-in text of every prompt."""

    def is_known(self, name: str) -> bool:
        """Return whether a task here has such a prompt."""

    def check(self, name: str, text: str) -> None:
        """Raise `InvalidPrompt` if the task could not use the text."""

    def require_right(self) -> None:
        """Raise `Forbidden` unless the actor may replace prompts."""

    def set(self, name: str, text: str | None) -> None:
        """Replace a prompt; None goes back to the built-in text."""
