"""The content of a new agent: its pages, USER.md if there is none, its workflows and files."""

from __future__ import annotations

from looseleaf.bundles.comparison.artifacts import SCHEDULE
from looseleaf.bundles.export import list_workflows
from looseleaf.bundles.layout.upload_files import FLOW_FILES, PIPELINE_FILES
from looseleaf.bundles.layout.workflow_definitions import build_definitions
from looseleaf.errors import Conflicted
from looseleaf.memory.scope import Shelf
from looseleaf.memory.store import Conflict, Found, hash_content
from looseleaf.values import replace, value
from looseleaf.workflows.flow import MANUAL, pause
from looseleaf.workflows.uploads.file_store import FileFolder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.bundles.installation.destination import InstallTarget
    from looseleaf.bundles.layout.bundle import Bundle
    from looseleaf.memory.scope import Scope
    from looseleaf.workflows.flow import Flow

USER_PAGE = "USER.md"


@value
class InstallOrder:
    """What a person decided about an install.

    Fields:
        slug: The slug of the new agent; "" for the bundle's.
        owner: The user to whom the agent belongs.
        start_pages: Starts the core pages that the bundle does not have.
        approve: Keys of the plan that need approval and have it; `all` for every one.
    """

    slug: str
    owner: int
    start_pages: Callable[[AgentRecord], object]
    approve: frozenset[str] = frozenset()

    def find_user_change(
        self, destination: InstallTarget, bundle: Bundle, record: AgentRecord
    ) -> dict[str, Any]:
        """Describe the change of USER.md for the undo log, or {} if someone has written it."""
        scope = Shelf("user", record.owner).page(USER_PAGE)
        if bundle.user_page is None or not _is_free(destination, scope):
            return {}
        page = destination.pages.read(scope)
        text = page.content.decode(errors="surrogateescape") if isinstance(page, Found) else None
        fields = {"user_id": record.owner, "user_text": text}
        return fields | {"user_hash": hash_content(bundle.user_page)}


def write_agent(
    destination: InstallTarget,
    bundle: Bundle,
    record: AgentRecord,
    decision: tuple[InstallOrder, Collection[str]],
) -> None:
    """Write all parts of a new agent; the caller takes them back if a part fails.

    `decision` is the order, and the keys of the plan that need approval and have it.
    """
    order, approved_keys = decision
    total = len(bundle.pages) + len(bundle.pipelines)
    for count, (name, content) in enumerate(bundle.pages.items(), 1):
        registered_file = destination.pages.registry.get(name)
        if registered_file is None or not registered_file.composable:
            _write_page(destination, record.shelf.page(name), content)
        destination.show_progress("Installing", count, total)
    user_scope = Shelf("user", record.owner).page(USER_PAGE)
    if bundle.user_page is not None and _is_free(destination, user_scope):
        _write_page(destination, user_scope, bundle.user_page)
    order.start_pages(record)
    for count, slug in enumerate(sorted(bundle.pipelines), len(bundle.pages) + 1):
        pipeline, flows = build_definitions(bundle, slug, destination.rules(record))
        new_flows = [_pause_unapproved(flow, approved_keys) for flow in flows]
        destination.definitions().pipelines.add(pipeline, new_flows)
        destination.show_progress("Installing", count, total)
    if bundle.uploads:
        _store_uploads(destination, bundle, record)


def _pause_unapproved(flow: Flow, approved_keys: Collection[str]) -> Flow:
    is_manual = flow.schedule.interval == MANUAL
    if is_manual or f"{SCHEDULE}:{flow.slug}" in approved_keys:
        return flow
    return pause(flow)


def _is_free(destination: InstallTarget, scope: Scope) -> bool:
    """Return whether a page does not exist, or still has its starter text."""
    return not destination.pages.exists(scope) or destination.is_starter(scope)


def _write_page(destination: InstallTarget, scope: Scope, content: bytes) -> None:
    change = replace(destination.change, allow_shrink=True)
    outcome = destination.pages.write(scope, content, change=change)
    if isinstance(outcome, Conflict):
        raise Conflicted(scope.filename, outcome.expected, outcome.actual)


def _store_uploads(destination: InstallTarget, bundle: Bundle, record: AgentRecord) -> None:
    workflows = list_workflows(destination.definitions(), record.id)
    for path, content in bundle.uploads.items():
        slug, _, name = path.removeprefix(PIPELINE_FILES).removeprefix(FLOW_FILES).partition("/")
        if path.startswith(PIPELINE_FILES):
            folder = FileFolder(workflows.pipelines[slug].id)
        else:
            flow = workflows.flows[slug]
            folder = FileFolder(flow.pipeline_id, flow.id)
        destination.uploads().put(folder, name, (content,), destination.limits)
