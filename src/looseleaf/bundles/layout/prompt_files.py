"""Prompts of system tasks as files of a bundle: prompts/system-tasks/<task>/<key>.json."""

from __future__ import annotations

from looseleaf.bundles.layout.bundle_json import format_json, parse_json
from looseleaf.errors.bundles import InvalidBundle

PROMPTS = "prompts/"
TASK_PROMPTS = f"{PROMPTS}system-tasks/"
SCHEMA_VERSION = 1
_FIELDS = {"schema_version", "task_type", "prompt_key", "prompt"}


def format_prompt(name: str, text: str) -> bytes:
    """Write a prompt, by the name `task/key`, as its file."""
    task_type, _, key = name.partition("/")
    document = {"schema_version": SCHEMA_VERSION, "task_type": task_type, "prompt_key": key}
    return format_json({**document, "prompt": text})


def parse_prompt(path: str, content: bytes) -> str | None:
    """Read the text of a prompt, or None if another program wrote the file.

    A file of another program has other fields or another schema_version, and is kept as it is.
    """
    if path.count("/") != 3 or not path.endswith(".json"):
        return None
    document = parse_json(path, content)
    if set(document) != _FIELDS or document["schema_version"] != SCHEMA_VERSION:
        return None
    if [document["task_type"], document["prompt_key"]] != name_prompt(path).split("/"):
        raise InvalidBundle(path, "its task_type and prompt_key are unlike its path")
    if not isinstance(document["prompt"], str):
        raise InvalidBundle(path, "prompt is no text")
    return document["prompt"]


def name_prompt(path: str) -> str:
    """Return the name of a prompt, `task/key`, by its path in a bundle."""
    return path.removeprefix(TASK_PROMPTS).removesuffix(".json")


def place_prompt(name: str) -> str:
    """Return the path of a prompt in a bundle."""
    return f"{TASK_PROMPTS}{name}.json"


def name_in_manifest(name: str) -> str:
    """Return a prompt as the manifest lists it."""
    return place_prompt(name).removeprefix(PROMPTS).removesuffix(".json")
