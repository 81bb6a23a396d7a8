"""Plugins are found, loaded in order, and every mistake is found while a workspace opens."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from looseleaf import Settings, Workspace
from looseleaf.errors import InvalidSetting
from looseleaf.errors.operations import BrokenPlugin
from looseleaf.plugins.defaults import Defaults
from looseleaf.plugins.discovery import open_hooks
from looseleaf.plugins.loader import SPECS, load
from looseleaf.stores.disk.store import DiskStore
from tests.plugins.conftest import Open, Write

REGISTERS = """
@hookimpl
def register_files(files):
    files.register("{name}.md", 40, label=str(len(files.files())))
"""

WRAPPER = """
import pluggy

@pluggy.HookimplMarker("looseleaf")(hookwrapper=True)
def register_files(files):
    yield
"""


def install(folder: Path, package: str, entries: str, version: str = "1.0") -> None:
    """Lay out what an installer leaves of a package's entry points."""
    home = folder / f"{package}-{version}.dist-info"
    home.mkdir()
    (home / "entry_points.txt").write_text(entries)


def names(workspace: Workspace) -> list[str]:
    return [plugin.name for plugin in workspace.registries.plugins()]


def test_without_plugins_the_same_is_called_as_pluggy_would_call(store: DiskStore) -> None:
    """The short way and the way through pluggy give the same functions in the same order."""
    chosen, defaults = Settings(root=store.root), Defaults(store)
    short, long = open_hooks(chosen, defaults), load(chosen, defaults, ())
    assert long.implementations == {name: short.implementations.get(name, ()) for name in SPECS}
    assert set(short.implementations) <= set(SPECS)
    assert short.plugins == long.plugins


def test_plugins_are_called_in_the_order_of_the_settings(opened: Open, write: Write) -> None:
    """Then the installed ones; ours have registered before."""
    for name in ("zoe", "amy"):
        write(name, REGISTERS.format(name=name))
    workspace = opened('plugins = ["zoe", "amy"]')
    labels = {file.filename: file.label for file in workspace.registry.files()}
    assert (labels["zoe.md"], labels["amy.md"]) == ("6", "7")
    assert names(workspace) == ["looseleaf", "zoe", "amy"]


def test_a_function_can_ask_to_be_first_or_last(opened: Open, write: Write) -> None:
    """Of all that register, ours among them, or of all that are asked."""
    write("late", REGISTERS.format(name="late").replace("@hookimpl", "@hookimpl(trylast=True)"))
    write("early", REGISTERS.format(name="early").replace("@hookimpl", "@hookimpl(tryfirst=True)"))
    write("plain", REGISTERS.format(name="plain"))
    workspace = opened('plugins = ["late", "early", "plain"]')
    labels = {file.filename: file.label for file in workspace.registry.files()}
    assert [labels[f"{name}.md"] for name in ("early", "plain", "late")] == ["0", "7", "8"]


def test_the_first_answer_holds(opened: Open, write: Write) -> None:
    """In the order of the settings; who gives None leaves it to the next."""
    for name, answer in (("none", None), ("one", "acme:one"), ("two", "acme:two")):
        write(name, f"@hookimpl\ndef pick_model():\n    return {answer!r}\n")
    assert opened('plugins = ["none", "one", "two"]').model_for("editor", "chat") == "acme:one"


def test_an_installed_plugin_is_loaded_and_can_be_switched_off(
    opened: Open, write: Write, modules: Path
) -> None:
    """It is found by the entry point of its package, whatever the module is called."""
    write("modul", REGISTERS.format(name="installed"))
    install(modules, "some_package", "[looseleaf.plugins]\nsome = modul\n", "2.1")
    workspace = opened()
    assert workspace.registry.get("installed.md") is not None
    plugin = workspace.registries.plugins()[1]
    assert (plugin.name, plugin.origin, plugin.module) == ("some", "installed", "modul")
    assert (plugin.package, plugin.version, plugin.enabled) == ("some_package", "2.1", True)
    assert plugin.hooks == ("register_files",)
    assert plugin.registered == {"files": ("installed.md",)}

    workspace = opened('plugins_off = ["some"]')
    assert workspace.registry.get("installed.md") is None
    assert [(item.name, item.enabled) for item in workspace.registries.plugins()] == [
        ("looseleaf", True),
        ("some", False),
    ]


def test_one_of_two_installed_plugins_can_be_switched_off(
    opened: Open, write: Write, modules: Path
) -> None:
    """The other one is loaded all the same."""
    for name in ("one", "two"):
        write(name, REGISTERS.format(name=name))
    install(modules, "both", "[looseleaf.plugins]\none = one\ntwo = two\n")
    workspace = opened('plugins_off = ["one"]')
    assert workspace.registry.get("one.md") is None
    assert workspace.registry.get("two.md") is not None


def test_an_entry_point_can_name_an_object(opened: Open, write: Write, modules: Path) -> None:
    """As `module:object`, whose methods are the hooks."""
    write(
        "modul",
        "class House:\n    @hookimpl\n    def register_files(self, files):\n"
        "        files.register('object.md')\n\nhouse = House()\n",
    )
    install(modules, "objects", "[looseleaf.plugins]\nhouse = modul:house\n")
    assert opened().registry.get("object.md") is not None


def test_a_plugin_that_is_installed_and_named_is_loaded_once(
    opened: Open, write: Write, modules: Path
) -> None:
    """Under the name it is installed by."""
    write("modul", REGISTERS.format(name="once"))
    install(modules, "some_package", "[looseleaf.plugins]\nsome = modul\n")
    assert names(opened('plugins = ["modul"]')) == ["looseleaf", "some"]


def test_pluggy_s_own_mark_is_ours(opened: Open, modules: Path) -> None:
    """A plugin that prefers pluggy's marker may use it."""
    (modules / "marked.py").write_text(
        "import pluggy\n\n@pluggy.HookimplMarker('looseleaf')\n"
        "def register_files(files):\n    files.register('marked.md')\n"
    )
    assert opened('plugins = ["marked"]').registry.get("marked.md") is not None


@pytest.mark.parametrize(
    ("code", "complaint"),
    [
        ("@hookimpl\ndef register_flies(files): ...", "unknown hook 'register_flies'"),
        ("@hookimpl\ndef register_files(flies): ...", "flies"),
        ("def register_files(files): ...", "mark register_files with @hookimpl"),
        ("", "mark its hooks with @hookimpl"),
        ("1 / 0", "cannot be imported (ZeroDivisionError"),
        ("import not_there_at_all", "cannot be imported (ModuleNotFoundError"),
        ("@hookimpl\ndef register_files(files): 1 / 0", "its register_files failed with Zero"),
        (
            "@hookimpl\ndef register_files(files): files.register('x.md', 'high')",
            "'high' is not a whole number",
        ),
        (WRAPPER, "hooks are not wrapped"),
    ],
)
def test_a_mistake_is_one_error_that_names_the_plugin(
    opened: Open, write: Write, code: str, complaint: str
) -> None:
    """The workspace does not open, and the error says how to go on without the plugin."""
    write("faulty", code)
    with pytest.raises(BrokenPlugin) as caught:
        opened('plugins = ["faulty"]')
    message = str(caught.value)
    assert message.startswith("The plugin faulty cannot be used: ")
    assert complaint in message
    assert message.endswith("or put it into plugins_off.")


def test_an_installed_plugin_that_cannot_be_imported_is_named(opened: Open, modules: Path) -> None:
    """By its own name, not that of its module."""
    install(modules, "gone", "[looseleaf.plugins]\ngone = not_there_at_all\n")
    with pytest.raises(BrokenPlugin, match=r"The plugin gone cannot be used.*ModuleNotFound"):
        opened()


@pytest.mark.parametrize("name", ["not_there_at_all", "not_there.at.all", "looseleaf.not_there"])
def test_a_module_that_is_not_there_is_a_wrong_setting(opened: Open, name: str) -> None:
    """The error says what to do."""
    with pytest.raises(InvalidSetting, match=f"no module {name}; install it"):
        opened(f'plugins = ["{name}"]')


def test_two_plugins_cannot_share_a_name(opened: Open, write: Write, modules: Path) -> None:
    """Nobody could tell whose an entry is."""
    write("twin", REGISTERS.format(name="a"))
    write("other", REGISTERS.format(name="b"))
    install(modules, "twins", "[looseleaf.plugins]\ntwin = other\n")
    with pytest.raises(BrokenPlugin, match="another plugin has that name"):
        opened('plugins = ["twin"]')


def test_a_workspace_has_its_own_plugins(opened: Open, write: Write, workspace: Workspace) -> None:
    """Those of another in the same process are not its business."""
    write("mine", REGISTERS.format(name="mine"))
    assert names(opened('plugins = ["mine"]')) == ["looseleaf", "mine"]
    assert names(workspace) == ["looseleaf"]
    assert "mine" in sys.modules
