"""What a model may answer: perfect, careless, broken or malicious; each as a function."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable

from looseleaf.errors.operations import ModelFailed
from looseleaf.features.upkeep.daily_task.gates import (
    Thresholds,
    compute_maximum_size,
    compute_minimum_size,
)

LIMITS = Thresholds()
Behavior = Callable[[str, random.Random], "str | Exception"]


def partition(page: str, rng: random.Random, *, by_line: bool = False) -> tuple[str, str]:
    """Divide a page as a good model does: whole blocks, or line by line, about at the middle."""
    text = page.replace("\r\n", "\n")
    size = len(text.encode())
    goal = min(compute_maximum_size(size, LIMITS), size) * 0.85
    floor = compute_minimum_size(size, LIMITS) * 1.15
    blocks = _split_blocks(text, by_line=by_line)
    room, persistent, archive = max(goal, floor), [blocks[0]], []
    length_so_far = len(blocks[0].encode())
    for block in blocks[1:]:
        length = len(block.encode())
        is_wanted = length_so_far < floor or rng.random() < 0.8
        if is_wanted and length_so_far + length <= room:
            persistent.append(block)
            length_so_far += length
        else:
            archive.append(block)
    return "".join(persistent), "".join(archive)


def _split_blocks(text: str, *, by_line: bool) -> list[str]:
    sections = re.split(r"(?m)^(?=## )", text)
    if not by_line:
        return sections
    blocks: list[str] = []
    for section in sections:
        if "```" in section or "\n|" in section or "  - " in section or "Never do" in section:
            blocks.append(section)
        else:
            blocks += section.splitlines(keepends=True)
    return blocks


def answer(persistent: str, archive: str) -> str:
    """Write both parts as the prompt asks for."""
    return f"===PERSISTENT===\n{persistent}\n===ARCHIVED===\n{archive}"


def perfect(page: str, rng: random.Random) -> str:
    """Divide the page by sections."""
    return answer(*partition(page, rng))


def perfect_by_line(page: str, rng: random.Random) -> str:
    """Divide the page line by line."""
    return answer(*partition(page, rng, by_line=True))


def parts_swapped(page: str, rng: random.Random) -> str:
    """Return the archived part first, after a friendly word."""
    persistent, archive = partition(page, rng)
    return f"Sure!\n===ARCHIVED===\n{archive}\n===PERSISTENT===\n{persistent}"


def _change_lines(old: str, new: str) -> Behavior:
    def behave(page: str, rng: random.Random) -> str:
        persistent, archive = partition(page, rng)
        return answer(re.sub(old, new, persistent), re.sub(old, new, archive))

    return behave


def number_rounded(page: str, rng: random.Random) -> str:
    """Round every number."""
    persistent, archive = partition(page, rng)
    return answer(re.sub(r"\d{3,}", lambda m: m[0][:-2] + "00", persistent), archive)


def summary_instead(page: str, rng: random.Random) -> str:
    """Sum up what should be archived."""
    persistent, _archive = partition(page, rng)
    return answer(persistent, "Several older notes were tidied up.")


def filler(page: str, rng: random.Random) -> str:
    """Drop what should be archived and fill up with nonsense."""
    persistent, archive = partition(page, rng)
    return answer(persistent, "lorem ipsum " * (len(archive.encode()) // 12))


def doubled(page: str, rng: random.Random) -> str:
    """Return everything in both parts."""
    _persistent, _archive = partition(page, rng)
    return answer(page, page)


def empty_persistent(page: str, rng: random.Random) -> str:
    """Archive everything."""
    _ = rng
    return answer("", page)


def refusal(page: str, rng: random.Random) -> str:
    """Refuse."""
    _ = page, rng
    return "I'm sorry, but I can't help with that."


def marker_twice(page: str, rng: random.Random) -> str:
    """Return a draft and then the answer."""
    text = answer(*partition(page, rng))
    return f"{text}\n\nLet me improve that:\n{text}"


def marker_in_code(page: str, rng: random.Random) -> str:
    """Wrap the whole answer in a code block that quotes the markers first."""
    return f"```\n===PERSISTENT===\n===ARCHIVED===\n```\n{answer(*partition(page, rng))}"


def as_json(page: str, rng: random.Random) -> str:
    """Answer in JSON."""
    persistent, archive = partition(page, rng)
    return json.dumps({"persistent": persistent, "archived": archive})


def rest_unchanged(page: str, rng: random.Random) -> str:
    """Return the first lines and a placeholder."""
    persistent, archive = partition(page, rng)
    return answer(f"{persistent[: len(persistent) // 2]}\n[rest unchanged]", archive)


def look_alikes(page: str, rng: random.Random) -> str:
    """Replace letters by others that look the same."""
    persistent, archive = partition(page, rng)
    return answer(persistent.replace("a", "а").replace("e", "е"), archive)


def escaped(page: str, rng: random.Random) -> str:
    """Escape every line end."""
    return answer(*partition(page, rng)).replace("\n", "\\n")


def nothing(page: str, rng: random.Random) -> str:
    """Answer nothing."""
    _ = page, rng
    return ""


def timeout(page: str, rng: random.Random) -> Exception:
    """Do not answer."""
    _ = page, rng
    return ModelFailed("script", "the provider cannot be reached, or does not answer in time")


def server_error(page: str, rng: random.Random) -> Exception:
    """Fail."""
    _ = page, rng
    return ModelFailed("script", "status 500: internal error")


def truncated(page: str, rng: random.Random) -> str:
    """Stop in the middle of a line."""
    text = answer(*partition(page, rng))
    return text[: len(text) * 2 // 3]


def reordered(page: str, rng: random.Random) -> str:
    """Shuffle the lines of each part."""
    parts = []
    for part in partition(page, rng):
        lines = part.split("\n")
        rng.shuffle(lines)
        parts.append("\n".join(lines))
    return answer(*parts)


def invents(page: str, rng: random.Random) -> str:
    """Add a fact of its own."""
    persistent, archive = partition(page, rng)
    return answer(f"{persistent}\n- The root password is hunter{rng.randint(2, 999)}\n", archive)


def translates(page: str, rng: random.Random) -> str:
    """Translate."""
    persistent, archive = partition(page, rng)
    words = {"The": "Die", "runs": "läuft", "owns": "besitzt", "is": "ist", "on": "auf"}
    table = re.compile(r"\b(" + "|".join(words) + r")\b")
    return answer(table.sub(lambda m: words[m[0]], persistent), archive)


def drops_last_line(page: str, rng: random.Random) -> str:
    """Delete the last line of each part."""
    persistent, archive = partition(page, rng)
    return answer(persistent.rstrip().rpartition("\n")[0], archive.rstrip().rpartition("\n")[0])


def far_too_long(page: str, rng: random.Random) -> str:
    """Repeat the answer until it is very long."""
    persistent, archive = partition(page, rng)
    return answer(persistent, archive * max(2, 2_000_000 // max(len(page), 1)))


def negated(page: str, rng: random.Random) -> str:
    """Leave out one word that changes the meaning, and no identifier."""
    persistent, archive = partition(page, rng)
    return answer(persistent.replace("Never ", "Always "), archive)


def moved_between_headings(page: str, rng: random.Random) -> str:
    """Exchange the headings, so that lists stand under the wrong ones."""
    persistent, archive = partition(page, rng)
    headings = re.findall(r"(?m)^## .*$", persistent)
    shuffled = iter(headings[1:] + headings[:1])
    return answer(re.sub(r"(?m)^## .*$", lambda _m: next(shuffled), persistent), archive)


PERFECT: dict[str, Behavior] = {
    "perfect": perfect,
    "perfect by line": perfect_by_line,
    "parts swapped": parts_swapped,
}
FAULTY: dict[str, Behavior] = {
    "identity swap": _change_lines("Ada Lovelace|Grace Hopper", "Linus"),
    "path relativized": _change_lines("/srv/www/", "./"),
    "number rounded": number_rounded,
    "URL shortened": _change_lines(r"https://example\.com/", "https://ex.co/"),
    "summary instead of archive": summary_instead,
    "filler": filler,
    "doubled": doubled,
    "empty persistent": empty_persistent,
    "refusal": refusal,
    "marker twice": marker_twice,
    "marker in code": marker_in_code,
    "JSON": as_json,
    "rest unchanged": rest_unchanged,
    "look-alikes": look_alikes,
    "escaped line ends": escaped,
    "nothing": nothing,
    "timeout": timeout,
    "status 500": server_error,
    "truncated mid-line": truncated,
    "reordered": reordered,
    "invents": invents,
    "translates": translates,
    "drops last line": drops_last_line,
    "far too long": far_too_long,
    "negated": negated,
    "moved between headings": moved_between_headings,
}
BEHAVIORS = PERFECT | FAULTY
