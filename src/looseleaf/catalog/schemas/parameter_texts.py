"""What parameters mean, read from the docstring of the function or value that has them.

A docstring that says more than one sentence ends with a list of the parameters:

    Arguments:
        section: The section to read, by the text of its ## header.
        position: …

The docstring of a value that operations take has the same list under `Fields:`.
"""

from __future__ import annotations

ARGUMENTS, FIELDS = "Arguments:", "Fields:"


def read_texts(docstring: str | None, heading: str = ARGUMENTS) -> dict[str, str]:
    """Return the text of each parameter that stands below the heading of a docstring."""
    lines = (docstring or "").splitlines()
    texts: dict[str, str] = {}
    name, indent, is_listed = "", 0, False
    for line in lines:
        text = line.strip()
        if not is_listed or not text:
            is_listed = is_listed or text == heading
            continue
        depth = len(line) - len(line.lstrip())
        indent = indent or depth
        if depth > indent:
            texts[name] += f" {text}"
        else:
            name, _, description = text.partition(":")
            texts[name] = description.strip()
    return texts
