"""Templates: their folders, and the format of numbers and times for people."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import TYPE_CHECKING
from urllib.parse import quote

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader, StrictUndefined
from markupsafe import Markup, escape

from looseleaf.files.mounts import format_size
from looseleaf.memory.registry import OWNER
from looseleaf.plugins.features import list_template_folders
from looseleaf.times import DAY_SECONDS, format_minute, format_time, parse_time
from looseleaf.web.admin.forms import SHOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from looseleaf.memory.history import Revision
    from looseleaf.plugins.admin_pages import AdminPages, Document, ListPart

FOLDER = str(files("looseleaf.web.admin").joinpath("templates"))
PLUGINS = "plugins"  # the folder under which the loader has the templates of plugins
MARK = Markup("<mark>{}</mark>")
_TIME = Markup('<time datetime="{}" title="{}">{}</time>')
_STEPS = (
    (60, "second", 1),
    (3600, "minute", 60),
    (DAY_SECONDS, "hour", 3600),
    (30 * DAY_SECONDS, "day", DAY_SECONDS),
)


def open_templates(pages: AdminPages, clock: Callable[[], float]) -> Environment:
    """Open the templates of the core, of features by their names, and of plugins by theirs."""
    features = {name: FileSystemLoader(folder) for name, folder in list_template_folders().items()}
    plugins = PrefixLoader(
        {page.owner: FileSystemLoader(page.templates) for page in pages.all() if page.templates}
    )
    environment = Environment(
        loader=ChoiceLoader(
            [FileSystemLoader(FOLDER), PrefixLoader({**features, PLUGINS: plugins})]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "ago": lambda seconds: format_age(clock() - seconds),
        "date": format_date,
        "duration": format_duration,
        "highlight": highlight,
        "number": format_number,
        "size": format_size,
        "when": lambda time: describe_time(time, clock()),
        "moment": describe_moment,
        "part": lambda text: quote(text, safe="/"),
    }
    environment.globals |= {
        "plural": format_count,
        "more": describe_part,
        "activity_link": find_activity,
        "shown": name_shown,
    }
    return environment


def template_name_of(document: Document, owner: str) -> str:
    """Return the name of a document's template; a plugin's template is in its own folder."""
    return document.template if owner == OWNER else f"{PLUGINS}/{owner}/{document.template}"


def describe_part(part: ListPart, noun: str) -> Markup:
    """Say which part of a cut list is shown, with links to the parts beside it."""
    if not part.is_cut:
        return Markup()
    last = part.first + len(part)
    sentence = f"{part.first + 1:,} to {last:,} of {part.total:,} {noun}."
    links = [("Earlier", part.earlier), ("More", part.later)]
    buttons = [
        Markup(' <a class="button" href="{}">{}<span class="unseen"> {}</span></a>').format(
            address, label, noun
        )
        for label, address in links
        if address
    ]
    return Markup('<p class="more-row part quiet">{}{}</p>').format(
        sentence, Markup().join(buttons)
    )


def find_activity(revision: Revision) -> tuple[str, str] | None:
    """Return the words and the address of the job or conversation that made a revision."""
    identifier = revision.activity_id.partition("/")[0]
    number = identifier.removeprefix("job-")
    if revision.activity == "job" and number.isascii() and number.isdecimal():
        return f"job {number}", f"/admin/jobs/{number}"
    if revision.activity == "session" and identifier:
        return "a conversation", f"/admin/conversations/{quote(identifier, safe='')}"
    return None


def name_shown(prefix: str, names: Iterable[str]) -> Markup:
    """Return the field that names the choices of a form, for `read_selection`."""
    field = Markup('<input type="hidden" name="{}{}" value="{}">')
    return field.format(SHOWN, prefix, json.dumps(list(names), ensure_ascii=False))


def format_age(seconds: float) -> str:
    """Return how long ago something was."""
    if seconds < 5:
        return "just now"
    for limit, unit, length in _STEPS:
        if seconds < limit:
            return f"{format_count(int(seconds // length), unit)} ago"
    months = int(seconds // (30 * DAY_SECONDS))
    return f"{format_count(months, 'month')} ago" if months < 24 else f"{months // 12} years ago"


def describe_time(time: float | str, now: float) -> Markup:
    """Say how long ago a time was; the time itself stands behind it."""
    seconds = _read_time(time)
    return _TIME.format(format_time(seconds), format_date(seconds), format_age(now - seconds))


def describe_moment(time: float | str) -> Markup:
    """Write a time to the minute, in UTC."""
    seconds = _read_time(time)
    return _TIME.format(format_time(seconds), format_date(seconds), format_date(seconds))


def _read_time(time: float | str) -> float:
    return parse_time(time) if isinstance(time, str) else time


def format_date(seconds: float) -> str:
    """Write a time to the minute, in UTC."""
    return f"{format_minute(seconds)} UTC"


def format_duration(seconds: float) -> str:
    """Write how long something took."""
    if seconds < 1:
        return f"{round(seconds * 1000)} ms"
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{int(seconds)} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} min {int(seconds % 60)} s"
    return f"{minutes // 60} h {minutes % 60} min"


def highlight(text: str, words: str) -> Markup:
    """Mark the words wherever they occur in a text, in upper or lower case."""
    if not words:
        return escape(text)
    parts = re.split(f"({re.escape(words)})", text, flags=re.IGNORECASE)
    pieces = [
        escape(part) if place % 2 == 0 else MARK.format(part) for place, part in enumerate(parts)
    ]
    return Markup("").join(pieces)


def format_number(number: float) -> str:
    """Write a number with separators."""
    return f"{number:,}"


def format_count(count: int, noun: str) -> str:
    """Write a number with its noun."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
