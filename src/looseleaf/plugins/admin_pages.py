"""The pages of the admin site: the parts of a page, and the registry that plugins add pages to.

A page is a view over operations, a template and a test. Nothing here knows a web framework, so that
a plugin's view is a plain function.
"""

from __future__ import annotations

from urllib.parse import urlencode

from looseleaf.access.principals import find_requirement
from looseleaf.catalog import dispatch
from looseleaf.catalog.resolution import find_operation, require_possible
from looseleaf.errors import Forbidden, InvalidName
from looseleaf.memory.registry import OWNER, NamedRegistry, check_word
from looseleaf.values import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, BinaryIO

    from looseleaf.agents.record import AgentRecord
    from looseleaf.catalog.context import Context
    from looseleaf.errors import LooseleafError

    View = Callable[["Visit"], "Document | Redirect | Download"]

AGENT, WORKSPACE = SECTIONS = ("agent", "workspace")
# The groups of the menu in their order, each with its section; a page is in the last of its own.
GROUPS = {
    "memory": AGENT,
    "work": AGENT,
    AGENT: AGENT,
    WORKSPACE: WORKSPACE,
    "administration": WORKSPACE,
}
BASE = "/admin"


@value
class UploadedFile:
    """The file of a form: its name as the browser gives it, and its content to read in parts."""

    name: str
    content: BinaryIO


@value(kw_only=True)
class ListPart:
    """A part of a list that is too long for one page, and the addresses of the parts beside it."""

    entries: tuple[Any, ...]
    first: int  # entries before this part
    total: int
    earlier: str = ""  # the address of the part before, or "" if there is none
    later: str = ""

    @property
    def is_cut(self) -> bool:
        """Whether the list has entries besides those of this part."""
        return len(self.entries) < self.total

    def __iter__(self) -> Iterator[Any]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


class ConfirmationNeeded(Exception):
    """What a form is asked before it does something for good; the frame asks it, and no view."""

    def __init__(self, question: str, consequence: str, button: str) -> None:
        self.question, self.consequence, self.button = question, consequence, button
        super().__init__(question)


@value(kw_only=True)
class Visit:
    """One request for an admin page: its context, its address and the fields of its form."""

    context: Context
    parameters: Mapping[str, str]  # the parts of the address, such as the agent
    query: Mapping[str, str]
    form: Mapping[str, str]
    base: str = ""  # the address of the server, as the browser has it
    problem: LooseleafError | None = None  # why the form was refused; the view shows it again
    file: UploadedFile | None = None  # of a page that takes files
    is_sure: bool = False  # the person was asked, and goes on

    def ask(self, question: str, consequence: str = "", *, button: str = "Delete it") -> None:
        """Ask before a form does what cannot be undone; the view goes on once the person is sure.

        A form with a field `confirm` asks by itself: the person has typed a name there.
        """
        if not self.is_sure and "confirm" not in self.form:
            raise ConfirmationNeeded(question, consequence, button)

    def may(self, operation: str, agent: AgentRecord | None = None) -> bool:
        """Return whether the person may run an operation, on an agent or on anything at all.

        A page that asks shows no button that would be refused, and the audit has no refusal of it.
        """
        permission = find_operation(self.context, operation).permission
        if agent is not None:
            principal, shelf = self.context.principal, agent.shelf
            return find_requirement(principal, permission, shelf, owner=agent.owner) is None
        try:
            require_possible(self.context, permission)
        except Forbidden:
            return False
        return True

    def run(self, operation: str, **arguments: Any) -> Any:  # noqa: ANN401 - as the operation gives
        """Run an operation with the rights of the person who is signed in, and no others.

        One that deletes for good is asked about, unless the view did. A page keeps its versions.
        """
        entry = find_operation(self.context, operation)
        if entry.destructive and entry.permission != "write":
            self.ask("Do you want this for good?", entry.summary, button="Yes, do it")
        json_arguments = {
            name: argument for name, argument in arguments.items() if argument is not None
        }
        return dispatch.run_operation(self.context, operation, json_arguments)

    def cut(
        self, entries: Sequence[Any], most: int, *, name: str, total: int = 0, links: bool = True
    ) -> ListPart:
        """Return the part of a list that the query asks for; the name tells lists of a page apart.

        Templates show `more(part, "pages")` below it, so that no list is cut in silence. `total`
        is the length of the list if `entries` are only its beginning. Without `links`, and after a
        form, whose result has no address, the part is the first one.
        """
        text = self.query.get(f"from-{name}", "")
        place = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
        links = links and (not self.form or self.problem is not None)
        first = min(place, max(0, len(entries) - 1)) // most * most if links else 0
        last = min(first + most, len(entries))
        return ListPart(
            entries=tuple(entries[first:last]),
            first=first,
            total=max(total, len(entries)),
            earlier=self._link_part(name, first - most) if links and first else "",
            later=self._link_part(name, last) if links and last < len(entries) else "",
        )

    def _link_part(self, name: str, first: int) -> str:
        return f"?{urlencode({**self.query, f'from-{name}': max(0, first)})}"


@value
class Document:
    """The answer of a view: a template, the title of the page and its data."""

    template: str
    title: str
    data: Mapping[str, Any]
    status: int = 200


@value
class Redirect:
    """The next page after a form was accepted; the notice is shown there once."""

    address: str
    notice: str = ""


@value
class Download:
    """A file that a view returns; a browser saves it and shows nothing."""

    name: str
    media_type: str
    text: str | bytes


@value(kw_only=True)
class AdminPage:
    """One page: its address below /admin, the views that answer, and its place in the navigation.

    An address of the section "agent" begins with `agents/{agent}`. A page without a label stands in
    no navigation.
    """

    name: str
    address: str
    view: View
    submit: View | None = None  # the view that accepts its form
    label: str = ""
    section: str = WORKSPACE
    priority: int = 50
    parent: str = ""  # the page whose entry is marked while this one is shown
    templates: str = ""  # the folder of its templates, which may extend "frame.html"
    owner: str = ""
    takes_file: bool = False  # whether its form may bring a file, as multipart/form-data
    group: str = ""  # of the menu
    needs: str = ""  # the operation without which the page shows nothing; else it is in every menu

    @property
    def path(self) -> str:
        """The address as a router takes it."""
        return f"{BASE}/{self.address}" if self.address else BASE

    def link(self, agent: str = "") -> str:
        """Return the address of the page, for an agent if it has one."""
        return self.path.replace("{agent}", agent)


class AdminPages(NamedRegistry):
    """The pages of one workspace's admin site, by name."""

    noun, hook = "admin page", "register_admin_pages"

    def register(  # noqa: PLR0913 - each is a field of the value; three are positional
        self,
        name: str,
        address: str,
        view: View,
        *,
        submit: View | None = None,
        label: str = "",
        section: str = WORKSPACE,
        priority: int = 50,
        parent: str = "",
        templates: str = "",
        owner: str = "",
        takes_file: bool = False,
        group: str = "",
        needs: str = "",
    ) -> AdminPage:
        """Add a page, or refuse one whose name or address is taken."""
        self._refuse_if_frozen(name)
        check_word(name, "name of an admin page")
        self._refuse_if_taken(name, address)
        if section not in SECTIONS:
            raise InvalidName(section, f"a section is one of {', '.join(SECTIONS)}")
        if group and GROUPS.get(group) != section:
            raise InvalidName(group, f"a group of the menu is one of {', '.join(GROUPS)}")
        if label and section == AGENT and not f"{address}/".startswith("agents/{agent}/"):
            raise InvalidName(address, "an agent's page lies below agents/{agent}")
        page = AdminPage(
            name=name,
            address=address,
            view=view,
            submit=submit,
            label=label,
            section=section,
            priority=priority,
            parent=parent,
            templates=templates,
            owner=owner or OWNER,
            takes_file=takes_file,
            group=group or section,
            needs=needs,
        )
        self._entries[name] = page
        return page

    def all(self) -> tuple[AdminPage, ...]:
        """Return every page, by priority, then by name."""
        return self._by_priority()

    def labelled(self, section: str) -> tuple[AdminPage, ...]:
        """Return the pages that stand in a section of the navigation."""
        return tuple(page for page in self.all() if page.label and page.section == section)

    def _refuse_if_taken(self, name: str, address: str) -> None:
        for page in self._entries.values():
            if name == page.name or address == page.address:
                raise InvalidName(name, f"{page.owner} has a page of that name or address")
