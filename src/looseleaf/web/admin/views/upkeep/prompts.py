"""The prompts of system tasks: the present text, its placeholders, an editor and a reset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from looseleaf.plugins.admin_pages import Document, Redirect

if TYPE_CHECKING:
    from looseleaf.plugins.admin_pages import Visit
    from looseleaf.upkeep.system_tasks.prompts import PromptInfo

ADDRESS = "/admin/upkeep/prompts"


def show_prompts(visit: Visit) -> Document | Redirect:
    """Show every prompt in an editor; a text that was refused stays in its field."""
    prompts: list[PromptInfo] = visit.run("looseleaf/list-task-prompts")
    return Document("upkeep/prompts.html", "Prompts of system tasks", {"prompts": prompts})


def change_prompt(visit: Visit) -> Document | Redirect:
    """Replace a prompt, or go back to the built-in text."""
    place = {
        "task_type": visit.form.get("task_type", ""),
        "prompt_key": visit.form.get("prompt_key", ""),
    }
    if visit.form.get("action") == "reset":
        visit.run("looseleaf/reset-task-prompt", **place)
        return Redirect(ADDRESS, "The built-in prompt is used again.")
    text = visit.form.get("prompt", "").replace("\r\n", "\n")
    visit.run("looseleaf/set-task-prompt", prompt=text, **place)
    return Redirect(ADDRESS, "The prompt is replaced.")
