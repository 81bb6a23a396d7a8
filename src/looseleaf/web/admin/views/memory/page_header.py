"""The header of every view of one page: its rules, its size against its budget, its changes."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from looseleaf.catalog.resolution import scope_of
from looseleaf.errors import Forbidden, LooseleafError
from looseleaf.errors.pages import PageMissing
from looseleaf.memory.registry import EVERY_MODE
from looseleaf.memory.scope import Where
from looseleaf.values import value
from looseleaf.web.admin.views.memory.gauge import Gauge, measure

if TYPE_CHECKING:
    from looseleaf.memory.history import Revision
    from looseleaf.memory.page_text import PageText
    from looseleaf.memory.registry import RegisteredFile
    from looseleaf.plugins.admin_pages import Visit

LAYER_NAMES = {
    "shared": "Shared with all agents",
    "agent": "This agent",
    "user": "About you",
    "network": "Network",
}


@value(kw_only=True)
class PageHeader:
    """The header of a page; a page that does not exist yet has no revisions."""

    agent: str
    layer: str
    file: str
    label: str
    layer_name: str
    modes: str  # in which modes the page is injected
    text: str
    hash: str  # "" if the page is not there
    gauge: Gauge
    revisions: tuple[Revision, ...]  # oldest first
    reason: str  # why the page cannot be edited; "" if it can
    is_protected: bool
    is_generated: bool

    @property
    def latest(self) -> Revision | None:
        """The last change."""
        return self.revisions[-1] if self.revisions else None

    def link(self, kind: str) -> str:
        """Return the address of one of its views: pages, edit or history."""
        return build_page_link(self.agent, self.layer, self.file, kind)


def build_page_link(agent: str, layer: str, file: str, kind: str = "pages") -> str:
    """Return the address of a page."""
    return f"/admin/agents/{quote(agent)}/{kind}/{layer}/{quote(file)}"


def read_header(visit: Visit, *, is_new_allowed: bool = False) -> PageHeader:
    """Read the page of an address, with its rules, size and revisions."""
    agent, layer, file = (visit.parameters[name] for name in ("agent", "layer", "file"))
    place = {"file": file, "agent": agent, "layer": layer}
    page: PageText | None = None
    try:
        page = visit.run("datamachine/get-agent-file", **place)
    except PageMissing:
        if not is_new_allowed:
            raise
    entry = visit.context.pages.registry.get(file)
    if entry is not None and entry.layer != layer:
        entry = None
    text = page.content if page is not None else ""
    return PageHeader(
        agent=agent,
        layer=layer,
        file=file,
        label=entry.label if entry else file,
        layer_name=LAYER_NAMES.get(layer, layer),
        modes=_describe_modes(entry),
        text=text,
        hash=page.hash if page is not None else "",
        gauge=measure(visit.context, file, text),
        revisions=_list_revisions(visit, place),
        reason=_explain_refusal(visit, entry, place),
        is_protected=entry is not None and entry.protected,
        is_generated=entry is not None and entry.composable,
    )


def _list_revisions(visit: Visit, place: dict[str, str]) -> tuple[Revision, ...]:
    try:
        return tuple(visit.run("looseleaf/page-history", **place))
    except LooseleafError:
        return ()  # a new page, a store without a history, or one that may not be read


def _describe_modes(entry: RegisteredFile | None) -> str:
    if entry is None:
        return "not injected by itself"
    if EVERY_MODE in entry.modes:
        return "injected in every mode"
    return f"injected in {', '.join(entry.modes)}" if entry.modes else "never injected"


def _explain_refusal(visit: Visit, entry: RegisteredFile | None, place: dict[str, str]) -> str:
    """Explain why the signed-in person cannot edit the page, or "" if they can."""
    if entry is not None and entry.editable is False:
        return (
            "Looseleaf writes this page from others and from the settings. An edit would be "
            "overwritten, so change what it is made from."
        )
    try:
        location = Where(place["agent"], None, place["layer"])
        scope_of(visit.context.with_permission("write"), place["file"], location)
    except Forbidden as error:
        return f"You may read this page, not change it. {error}"
    except LooseleafError as error:
        return str(error)
    return ""
