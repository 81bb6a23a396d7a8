"""The bounds of `limit` and `offset`, held for every operation of the catalog that has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from looseleaf import Workspace
from looseleaf.catalog.context import Context
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.json_values import (
    LARGEST_INTEGER,
    MOST_LISTED,
    bound_limit,
    bound_offset,
    check_limit,
)
from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.schemas import list_argument_names
from looseleaf.errors import Invalid, LooseleafError
from looseleaf.errors.pages import InvalidQuery
from looseleaf.features.chat.session_operations import MOST_FOUND
from looseleaf.features.workflows.definitions import Step
from looseleaf.features.workflows.operations import jobs, system_tasks
from looseleaf.features.workflows.system_tasks import MOST_RUNS
from looseleaf.memory.search.results import BOUNDS, MOST_PAGES
from looseleaf.operations.audit import MOST_ENTRIES
from looseleaf.operations.history import MOST_BLAMED
from tests.features.chat.conftest import Script

NUMBERS = ("limit", "offset")
LENGTH = 3  # of the lists that have an offset
ENDLESS = 10**30  # from Python, where numbers have no end; JSON's are refused before that
STEP = Step("in", "input", "Read", {"source": "text", "text": "Hello"})


class Bounds(NamedTuple):
    """What one operation does with numbers: the bounds, and the error if it does not clamp."""

    least: int
    most: int
    below: type[LooseleafError] | None = None  # what a smaller number raises
    above: type[LooseleafError] | None = None
    needed: dict[str, Any] = {}  # noqa: RUF012 - the other arguments of the call


# The rule, and the operations whose documents say otherwise.
LIMITS = {
    "datamachine/list-chat-sessions": Bounds(1, MOST_LISTED),
    "datamachine/get-jobs": Bounds(1, MOST_LISTED),
    "looseleaf/list-recent": Bounds(1, MOST_LISTED),
    "looseleaf/list-task-runs": Bounds(1, MOST_RUNS),
    "looseleaf/blame-page": Bounds(1, MOST_BLAMED, needed={"file": "short.md"}),
    "looseleaf/search-chat-sessions": Bounds(1, MOST_FOUND, needed={"query": "word"}),
    # "0 gives all": a conversation is read whole if nothing is said.
    "datamachine/get-chat-session": Bounds(0, LARGEST_INTEGER, needed={"session": ""}),
    # A clamped part of the audit would look like its last part.
    "looseleaf/list-audit": Bounds(1, MOST_ENTRIES, Invalid, Invalid),
    # Searches count what they do not give, so that 0 has a meaning; their errors are of queries.
    "datamachine/search-agent-memory": Bounds(
        0, BOUNDS.matches, InvalidQuery, needed={"query": "word"}
    ),
    "looseleaf/find-pages": Bounds(0, MOST_PAGES, InvalidQuery, needed={"words": "word"}),
}


@pytest.fixture(scope="module")
def prepared_workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """Yield a workspace with more of everything than searches give, and with short lists."""
    root = tmp_path_factory.mktemp("paging") / "workspace"
    workspace = Workspace.create(root, name="House", agent="ada")
    workspace.models().register("script", lambda _name: Script("A word."))
    context = workspace.context
    configuration = {"agent": "ada", "config": {"models": {"default": "script:m"}}}
    invoke(context, "looseleaf/configure-agent", configuration)
    for number in range(MOST_PAGES + 1):
        page = {"file": f"page-{number}.md", "content": f"{number} word\n" * 11}
        invoke(context, "datamachine/write-agent-file", page)
    short_page = {"file": "short.md", "content": "line\n" * LENGTH}
    invoke(context, "datamachine/write-agent-file", short_page)
    for number in range(LENGTH):
        jobs.execute(context, steps=(STEP,))
        system_tasks.run_now(context, "daily_memory_generation")
        invoke(context, "datamachine/send-message", {"message": "word"})
        invoke(context, "looseleaf/create-user", {"login": f"u{number}"})
    for _ in range(MOST_FOUND):
        invoke(context, "datamachine/send-message", {"message": "word", "session": newest(context)})
    yield workspace
    workspace.accounts().database.close()  # type: ignore[attr-defined]


def newest(context: Context) -> str:
    """Return the id of the conversation in which something was said last."""
    sessions = invoke(context, "datamachine/list-chat-sessions", {"limit": 1})["sessions"]
    return str(sessions[0]["session_id"])


def call(prepared_workspace: Workspace, name: str, **numbers: int) -> Any:  # noqa: ANN401 - any result
    """Run an operation as Python does."""
    needed = LIMITS[name].needed
    if "session" in needed:
        needed = {"session": newest(prepared_workspace.context)}
    return CATALOG[name].run(prepared_workspace.context, **needed, **numbers)


def test_every_operation_with_a_limit_has_bounds() -> None:
    """One that comes with a new plugin or version says here which."""
    names = {
        name
        for name, operation in CATALOG.items()
        if set(NUMBERS) & {*list_argument_names(operation)}
    }
    assert names == LIMITS.keys()


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_out_of_range(prepared_workspace: Workspace, name: str) -> None:
    """It counts as the nearest in range, or is refused, alike for every such number."""
    bounds = LIMITS[name]
    for limits, nearest, error in (
        ((bounds.least - 1, -LARGEST_INTEGER, -ENDLESS), bounds.least, bounds.below),
        ((bounds.most + 1, LARGEST_INTEGER, ENDLESS), bounds.most, bounds.above),
    ):
        for limit in limits:
            if error is not None:
                with pytest.raises(error):
                    call(prepared_workspace, name, limit=limit)
                continue
            result = call(prepared_workspace, name, limit=limit)
            # A search says in a notice that it gave less than it was asked for.
            if name != "datamachine/search-agent-memory":
                assert result == call(prepared_workspace, name, limit=nearest)
            assert getattr(result, "limit", nearest) == nearest


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_in_range(prepared_workspace: Workspace, name: str) -> None:
    """It is kept, so that the tests see what is clamped."""
    assert call(prepared_workspace, name, limit=1) != call(
        prepared_workspace, name, limit=LIMITS[name].most
    )


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("datamachine/search-agent-memory", "matches"),
        ("looseleaf/find-pages", "pages"),
        ("looseleaf/search-chat-sessions", ""),
    ],
)
def test_a_search_gives_no_more_than_its_bound(
    prepared_workspace: Workspace, name: str, field: str
) -> None:
    """There is more of everything than that."""
    result = call(prepared_workspace, name, limit=ENDLESS)
    assert len(getattr(result, field) if field else result) == LIMITS[name].most


@pytest.mark.parametrize(
    "name", [name for name in LIMITS if "offset" in list_argument_names(CATALOG[name])]
)
def test_an_offset_out_of_range(prepared_workspace: Workspace, name: str) -> None:
    """A negative one is the beginning, and one after the end gives nothing."""
    beginning = call(prepared_workspace, name)
    assert beginning.total == LENGTH
    assert (
        call(prepared_workspace, name, offset=-1)
        == call(prepared_workspace, name, offset=-ENDLESS)
        == beginning
    )
    end = call(prepared_workspace, name, offset=ENDLESS)
    assert end == call(prepared_workspace, name, offset=LARGEST_INTEGER)
    assert (end.total, end.offset) == (LENGTH, LARGEST_INTEGER)


def test_clamping_and_checking_agree_on_the_range() -> None:
    """What is refused is what would be clamped."""
    for limit in (-1, 0, 1, 2, 3, 4):
        if bound_limit(limit, 3) == limit:
            check_limit(limit, 3)
        else:
            with pytest.raises(Invalid, match="1 to 3"):
                check_limit(limit, 3)
    assert [bound_offset(offset) for offset in (-1, 0, 1)] == [0, 0, 1]
