"""Installing a bundle as a new agent: all of it or nothing."""

from __future__ import annotations

from looseleaf.errors import Conflicted, LooseleafError
from looseleaf.errors.features import InvalidBundle
from looseleaf.features.bundles.artifacts import (
    CONFIG,
    FLOW,
    MEMORY,
    PIPELINE,
    PROMPT,
    SCHEDULE,
    UPLOAD,
    USER,
    add_dependents,
    find_needed_key,
    hold_back,
    require_pipelines,
)
from looseleaf.features.bundles.bundle import FLOW_FILES, PIPELINE_FILES, build_definitions
from looseleaf.features.bundles.bundle import MEMORY as MEMORY_FILES
from looseleaf.features.bundles.export import USER as USER_FILE
from looseleaf.features.bundles.export import BundleTitle, list_workflows
from looseleaf.features.bundles.inspection import find_problems
from looseleaf.features.bundles.install_target import (
    INSTALL,
    PENDING_INSTALL,
    UndoLog,
    begin,
    build_pending,
    finish,
    format_pending,
    recover,
)
from looseleaf.features.bundles.ledger import LedgerUpdate, build_ledger, list_extras, list_waiting
from looseleaf.features.bundles.manifest import CAPABILITIES
from looseleaf.features.bundles.plan import (
    BundleComparison,
    PlanEntry,
    build_plan,
    choose_approved,
    find_unresolved,
    list_waiting_entries,
)
from looseleaf.features.workflows.definitions import MANUAL, pause
from looseleaf.features.workflows.uploads import FileFolder
from looseleaf.memory.scope import Shelf
from looseleaf.memory.store import Conflict, Found, hash_content
from looseleaf.times import format_time
from looseleaf.values import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

    from looseleaf.agents.record import AgentRecord
    from looseleaf.features.bundles.artifacts import Artifact
    from looseleaf.features.bundles.bundle import Bundle
    from looseleaf.features.bundles.install_target import InstallTarget
    from looseleaf.features.bundles.ledger import BundleLedger
    from looseleaf.features.workflows.definitions import Flow
    from looseleaf.memory.scope import Scope


# The content of a new agent: its pages, USER.md if there is none, its workflows and files.


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


@value
class InstallOutcome:
    """The result of an install or upgrade: the plan, the keys applied, and those that wait."""

    record: AgentRecord
    entries: tuple[PlanEntry, ...]
    applied_keys: tuple[str, ...]
    waiting_keys: tuple[str, ...]


def require_installable(destination: InstallTarget, bundle: Bundle) -> None:
    """Raise `InvalidBundle` with the first reason why the bundle could not run here."""
    problems = find_problems(bundle, destination.rules(), destination.prompts, destination.limits)
    if problems:
        path, _, reason = problems[0].partition(": ")
        raise InvalidBundle(path, reason.rstrip("."))


def plan_install(destination: InstallTarget, bundle: Bundle) -> tuple[PlanEntry, ...]:
    """Plan the install of a bundle as a new agent."""
    return _plan(destination, destination.target_artifacts(bundle))


def _plan(destination: InstallTarget, target: Mapping[str, Artifact]) -> tuple[PlanEntry, ...]:
    missing_refs = find_unresolved(target, destination.sites)
    return build_plan(
        BundleComparison(
            target=target,
            current=destination.current_prompts(),
            ledger=None,
            missing_refs=missing_refs,
            is_new_agent=True,
            builtins=destination.builtin_prompts(),
            missing_pages=destination.find_missing_pages(target, None),
        )
    )


def install_agent(
    destination: InstallTarget, bundle: Bundle, order: InstallOrder
) -> InstallOutcome:
    """Create the agent of a bundle with everything that the bundle has, or nothing."""
    require_installable(destination, bundle)
    manifest = bundle.manifest
    destination = destination.with_bundle_reason(manifest.bundle_slug, manifest.bundle_version)
    target = destination.target_artifacts(bundle)
    with destination.ledgers.records.lock():
        recover(destination)
        entries = _plan(destination, target)
        approved_keys = frozenset(
            add_dependents(choose_approved(entries, order.approve), target, {})
        )
        prompts = {key: target[key] for key in approved_keys if target[key].kind == PROMPT}
        if prompts:
            destination.prompts.require_right()
        waiting_entries = list_waiting_entries(entries, approved_keys)
        waiting_keys = tuple(entry.key for entry in waiting_entries)
        applied_keys = tuple(key for key in target if key not in waiting_keys)
        require_pipelines(applied_keys, target, {})
        held = {
            key: artifact
            for key in waiting_keys
            if find_needed_key(target[key]) not in waiting_keys
            and (artifact := hold_back(target[key])) is not None
        }
        bundle = leave_out_waiting(bundle, waiting_keys, held)
        now = format_time(destination.clock())
        kept_keys = [key for key in waiting_keys if target[key].kind in (SCHEDULE, PROMPT)]
        ledger = build_ledger(bundle, LedgerUpdate(target, applied_keys, kept_keys, now), None)
        header = destination.describe_pending(PENDING_INSTALL, bundle)
        pending_fields = format_pending(
            build_pending(header, waiting_entries, target, new_keys=held)
        )

        def start(record: AgentRecord) -> None:
            user_change = order.find_user_change(destination, bundle, record)
            former = destination.current_prompts()
            changes = tuple(
                (key, former[key].payload if key in former else None, prompt.hash)
                for key, prompt in prompts.items()
            )
            begin(
                destination,
                UndoLog(kind=INSTALL, agent_id=record.id, changes=changes, **user_change),
            )
            write_agent(destination, bundle, record, (order, approved_keys))
            for prompt in prompts.values():
                destination.prompts.set(prompt.name, prompt.payload)
            if pending_fields is not None:
                destination.pending.write_fields(record.id, pending_fields)
            destination.ledgers.write(record.id, ledger)

        agent = bundle.manifest.agent
        try:
            record = destination.agents.create(
                order.slug or agent.slug,
                name=agent.label,
                owner=order.owner,
                config=agent.agent_config,
                start=start,
                highest_id=destination.highest_id,
            )
        except BaseException:
            recover(destination)
            raise
        _finish_install(destination)
    return InstallOutcome(record, entries, applied_keys, waiting_keys)


def leave_out_waiting(
    bundle: Bundle, waiting_keys: Collection[str], held: Mapping[str, Artifact]
) -> Bundle:
    """Return the part of a bundle that is installed at once; schedules are paused elsewhere."""

    def select(kind: str, parts: Mapping[str, Any]) -> dict[str, Any]:
        return {name: part for name, part in parts.items() if f"{kind}:{name}" not in waiting_keys}

    agent = bundle.manifest.agent
    held_config = {key.partition(":")[2]: part.payload for key, part in held.items()}
    config = {
        name: held_config.get(name, setting)
        for name, setting in agent.agent_config.items()
        if f"{CONFIG}:{name}" not in waiting_keys or f"{CONFIG}:{name}" in held
    }
    uploads = {path.removeprefix(MEMORY_FILES): content for path, content in bundle.uploads.items()}
    return replace(
        bundle,
        manifest=replace(bundle.manifest, agent=replace(agent, agent_config=config)),
        pipelines=select(PIPELINE, bundle.pipelines),
        flows=select(FLOW, bundle.flows),
        uploads={f"{MEMORY_FILES}{name}": part for name, part in select(UPLOAD, uploads).items()},
    )


def _finish_install(destination: InstallTarget) -> None:
    """Remove the undo log; on failure the agent stays, and the next process removes the log."""
    try:
        finish(destination)
    except (OSError, LooseleafError) as error:
        destination.report("the undo log of an install is not removed yet", error)


# An export of an agent that came from a bundle: its title, kept files and waiting schedules.


def choose_title(
    agent_slug: str, slug: str, version: str, ledger: BundleLedger | None
) -> BundleTitle:
    """Choose the title of an export: as asked, else that of the agent's bundle, else its slug."""
    if ledger is None:
        return BundleTitle(slug or agent_slug, version or "1")
    source = (ledger.source_ref, ledger.source_revision)
    return BundleTitle(slug or ledger.bundle_slug, version or ledger.bundle_version, *source)


def add_installed_parts(bundle: Bundle, ledger: BundleLedger) -> Bundle:
    """Add the parts that only the ledger has.

    These are files that Looseleaf keeps and does not use, and schedules and prompts that wait for
    approval: they are exported as their author wrote them, and wait again where they are installed.
    """
    extras = {
        artifact.path: artifact.payload.encode(errors="surrogateescape")
        for artifact in list_extras(ledger).values()
    }
    flows = dict(bundle.flows)
    for slug, schedule in list_waiting(ledger, SCHEDULE).items():
        document = flows.get(slug)
        if document is not None and document["schedule"] == {**schedule, "enabled": False}:
            flows[slug] = {**document, "schedule": schedule}
    agent = bundle.manifest.agent
    kept_fields = dict(ledger.agent)
    description = agent.description or kept_fields.pop("description", "")
    capabilities = tuple(ledger.included.get(CAPABILITIES, ()))
    manifest = replace(
        bundle.manifest,
        agent=replace(agent, description=description, kept=kept_fields),
        included=dict(ledger.included),
        opaque=dict(ledger.opaque),
        capabilities=capabilities,
    )
    prompts = list_waiting(ledger, PROMPT) | dict(bundle.prompts)
    return replace(bundle, manifest=manifest, flows=flows, extras=extras, prompts=prompts)


def leave_out_starters(
    bundle: Bundle, ledger: BundleLedger, record: AgentRecord, is_starter: Callable[[Scope], bool]
) -> Bundle:
    """Remove pages that still have their starter text and were not in the bundle."""
    pages = {
        name: content
        for name, content in bundle.pages.items()
        if f"{MEMORY}:{name}" in ledger.artifacts or not is_starter(record.shelf.page(name))
    }
    user_page, user_scope = bundle.user_page, Shelf("user", record.owner).page(USER_FILE)
    if f"{USER}:{USER_FILE}" not in ledger.artifacts and is_starter(user_scope):
        user_page = None
    return replace(bundle, pages=pages, user_page=user_page)
