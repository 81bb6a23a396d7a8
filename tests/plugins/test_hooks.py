"""What a failing plugin means: for the opening, for whoever asks, for what is done already."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from looseleaf import Change, Shelf, Workspace
from looseleaf.errors import Refused, Unavailable
from looseleaf.errors.operations import BrokenPlugin
from looseleaf.features.chat.session import chats_of
from looseleaf.features.workflows.parts import step_types_of, system_tasks_of, task_schedules_of
from looseleaf.memory.provenance import Provenance
from tests.plugins.conftest import Open, Write

MEMORY = Shelf("agent", 0, 1).page("MEMORY.md")
BY = Change(provenance=Provenance("test"))
LATE = (
    ("register_directives", "directives", "compose"),
    ("register_content_filters", "filters", "compose"),
    ("register_file_filters", "filters", "compose"),
    ("register_scoped_file_filters", "filters", "compose"),
    ("register_site_context", "filters", "compose"),
    ("register_operations", "operations", "operations"),
)
LATE_OF_FEATURES: tuple[tuple[str, str, Callable[[Workspace], object]], ...] = (
    ("register_parts", "parts", chats_of),
    ("register_schedules", "schedules", task_schedules_of),
    ("register_steps", "steps", step_types_of),
    ("register_system_tasks", "tasks", system_tasks_of),
)


@pytest.mark.parametrize(("hook", "noun", "method"), LATE)
def test_a_registration_that_fails_stops_every_call(
    opened: Open, write: Write, hook: str, noun: str, method: str
) -> None:
    """With the names of the plugin and the hook, and never with half of a registry."""
    write("faulty", f"@hookimpl\ndef {hook}({noun}): 1 / 0\n")
    workspace = opened('plugins = ["faulty"]')
    arguments = ("chat",) if method == "compose" else ()
    for _ in range(2):
        with pytest.raises(BrokenPlugin, match=f"plugin faulty .* its {hook} failed with ZeroDiv"):
            getattr(workspace, method)(*arguments)


@pytest.mark.parametrize(("hook", "noun", "registry_of"), LATE_OF_FEATURES)
def test_a_registration_that_fails_stops_a_feature_every_time(
    opened: Open,
    write: Write,
    hook: str,
    noun: str,
    registry_of: Callable[[Workspace], object],
) -> None:
    """The registries and parts of features are no exception."""
    write("faulty", f"@hookimpl\ndef {hook}({noun}): 1 / 0\n")
    workspace = opened('plugins = ["faulty"]')
    for _ in range(2):
        with pytest.raises(BrokenPlugin, match=f"plugin faulty .* its {hook} failed with ZeroDiv"):
            registry_of(workspace)


def test_a_plugin_can_take_out_what_is_ours(opened: Open, write: Write) -> None:
    """Ours registers first, through the same hooks."""
    write(
        "spare",
        "@hookimpl\ndef register_files(files):\n    assert files.deregister('USER.md')\n\n"
        "@hookimpl\ndef register_directives(directives):\n"
        "    assert directives.deregister('site-context')\n\n"
        "@hookimpl\ndef register_operations(operations):\n"
        "    assert 'looseleaf/purge-revision' in operations\n"
        "    operations.deregister('looseleaf/purge-revision')\n\n"
        "@hookimpl\ndef register_starters(starters):\n    assert starters.deregister('core')\n",
    )
    workspace = opened('plugins = ["spare"]')
    assert workspace.registry.get("USER.md") is None
    assert "SITE CONTEXT" not in workspace.compose("chat").text
    assert "looseleaf/purge-revision" not in workspace.operations()
    assert not workspace.pages.exists(MEMORY)


def test_who_registers_cannot_sign_for_another(opened: Open, write: Write) -> None:
    """The owner of an entry is the plugin whose hook it was."""
    write(
        "forger",
        "@hookimpl\ndef register_files(files):\n    files.register('x.md', owner='looseleaf')\n",
    )
    file = opened('plugins = ["forger"]').registry.get("x.md")
    assert file is not None
    assert file.owner == "forger"


def test_a_registry_that_was_kept_is_frozen(opened: Open, write: Write) -> None:
    """Who comes back to it later is refused."""
    write("keeper", "@hookimpl\ndef register_files(files):\n    global kept\n    kept = files\n")
    opened('plugins = ["keeper"]')
    import keeper  # type: ignore[import-not-found]

    with pytest.raises(Refused, match="too late"):
        keeper.kept.register("late.md")


def opened_again(opened: Open, plugin: str) -> Workspace:
    """Name a plugin once the core pages are there, so that nothing is asked of it before."""
    root = Path(opened().root)
    (root / "looseleaf.toml").write_text(f'plugins = ["{plugin}"]\n')
    return Workspace.open(root)


@pytest.mark.parametrize(
    ("body", "error", "complaint"),
    [
        ("1 / 0", Unavailable, "pick_store of the plugin picker .* ZeroDivisionError"),
        ("return 'disk'", BrokenPlugin, "its pick_store gave 'disk', not a store"),
    ],
)
def test_a_store_that_cannot_be_picked_is_no_other_store(
    opened: Open, write: Write, body: str, error: type[Exception], complaint: str
) -> None:
    """Whoever reads or writes gets the error, and nothing is written anywhere."""
    write("picker", f"@hookimpl\ndef pick_store(shelf):\n    {body}\n")
    workspace = opened_again(opened, "picker")
    with pytest.raises(error, match=complaint):
        workspace.pages.read(MEMORY)
    with pytest.raises(error, match=complaint):
        workspace.pages.write(MEMORY, "lost?", change=BY)
    assert "lost?" not in workspace.store.read(MEMORY).content.decode()  # type: ignore[union-attr]


def test_a_store_is_picked_once_for_a_shelf(opened: Open, write: Write) -> None:
    """And none if every plugin leaves it to us."""
    write("picker", "asked = []\n\n@hookimpl\ndef pick_store(shelf):\n    asked.append(shelf)\n")
    workspace = opened_again(opened, "picker")
    for name in ("MEMORY.md", "SOUL.md", "MEMORY.md"):
        assert workspace.pages.exists(Shelf("agent", 0, 1).page(name))
    import picker  # type: ignore[import-not-found]

    assert picker.asked == [Shelf("agent", 0, 1)]
    assert workspace.pages.store_for(MEMORY) is workspace.store


def test_a_model_that_cannot_be_picked_is_no_other_model(opened: Open, write: Write) -> None:
    """The error names the plugin; an empty name is an error too."""
    write(
        "picker",
        "@hookimpl\ndef pick_model(agent, mode):\n    return '' if mode == 'chat' else 1 / 0\n",
    )
    workspace = opened('plugins = ["picker"]', 'default_model = "acme:large"')
    with pytest.raises(Unavailable, match="pick_model of the plugin picker"):
        workspace.model_for("editor", "system")
    with pytest.raises(BrokenPlugin, match="its pick_model gave '', not a name"):
        workspace.model_for("editor", "chat")


def test_without_a_plugin_the_agent_and_then_the_settings_name_the_model(opened: Open) -> None:
    """The mode's, the agent's default, the workspace's default, or none."""
    assert opened().model_for("editor", "chat") is None
    workspace = opened('default_model = "acme:small"')
    assert workspace.model_for("editor", "chat") == "acme:small"
    workspace.agents.configure("editor", {"models": {"default": "a:b", "chat": "c:d"}})
    assert workspace.model_for("editor", "chat") == "c:d"
    assert workspace.model_for("editor", "system") == "a:b"


def test_a_listener_that_fails_changes_nothing(
    opened: Open, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is reported with the plugin's name; the page is written, others are told, too."""
    write("bad", "@hookimpl\ndef on_memory_changed(event): 1 / 0\n")
    write(
        "good",
        "told = []\n\n@hookimpl\ndef on_memory_changed(event):\n    told.append(event.bytes)\n",
    )
    workspace = opened('plugins = ["bad", "good"]')
    capsys.readouterr()
    workspace.pages.write(MEMORY, "kept", change=BY)
    import good  # type: ignore[import-not-found]

    assert good.told[-1] == 4
    assert workspace.pages.text(MEMORY) == "kept"
    assert capsys.readouterr().err == (
        "looseleaf: The plugin bad failed after MEMORY.md was changed: "
        "ZeroDivisionError: division by zero\n"
    )


def test_a_listener_to_prompts_that_fails_changes_nothing(
    opened: Open, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    """The prompt is given all the same."""
    write("bad", "@hookimpl\ndef on_prompt_composed(assembly): 1 / 0\n")
    text = opened('plugins = ["bad"]').compose("chat").text
    assert text
    assert "The plugin bad failed in on_prompt_composed: ZeroDiv" in capsys.readouterr().err
