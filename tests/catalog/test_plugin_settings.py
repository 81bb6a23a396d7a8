"""Settings of plugins are declared once, with a default of their own kind and rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.catalog.context import build_event
from looseleaf.catalog.plugin_settings import PluginSettings
from looseleaf.errors import InvalidName, InvalidSetting, LooseleafError, Refused
from looseleaf.errors.operations import BrokenPlugin
from looseleaf.operations.settings import list_settings
from looseleaf.settings import Settings, load
from looseleaf.values import FrozenDict


def _refuse_odd(number: float) -> str:
    return "it must be even" if number % 2 else ""


@pytest.fixture
def registry() -> PluginSettings:
    """Return a registry with a setting of each kind."""
    registry = PluginSettings()
    registry.register("greeting", "Hello", "What a letter begins with.", owner="letters")
    registry.register("copies", 2, "How many copies are made.", rule=_refuse_odd, owner="letters")
    registry.register("margin", 1.5, "The margin, in inches.", runtime=True)
    registry.register("stamps", ("red",), "The colors of stamps.")
    registry.register("is_sealed", default=False, summary="Whether letters are sealed.")
    return registry


@pytest.mark.parametrize(
    ("name", "setting", "expected"),
    [
        ("greeting", "Hi", "Hi"),
        ("copies", -4, -4),
        ("margin", 2, 2.0),
        ("stamps", ["a", "b"], ("a", "b")),
        ("stamps", (), ()),
        ("is_sealed", True, True),
    ],
)
def test_a_setting_is_read_as_its_default_is(
    registry: PluginSettings, name: str, setting: object, expected: object
) -> None:
    """A whole number may stand for a number, and a list for a tuple."""
    read = registry.get(name).read(Settings(root="/", extra=FrozenDict({name: setting})))
    assert (read, type(read)) == (expected, type(expected))
    assert registry.get(name).read(Settings(root="/")) == registry.get(name).default


@pytest.mark.parametrize(
    ("name", "setting", "complaint"),
    [
        ("greeting", 1, "it must be text, not 1"),
        ("greeting", ("a",), r"it must be text, not \['a'\]"),
        ("copies", True, "it must be a whole number, not True"),
        ("copies", 3, "it must be even"),
        ("margin", float("nan"), "it must be a number, not nan"),
        ("stamps", (1,), r"a list of texts, .* not \[1\]"),
        ("is_sealed", 1, "true or false"),
        ("is_sealed", {"a": 1}, "true or false"),
        ("unknown", 1, "looseleaf.toml has no such setting"),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused(
    registry: PluginSettings, name: str, setting: object, complaint: str
) -> None:
    """The error is the one of our own settings."""
    with pytest.raises(InvalidSetting, match=f"The setting {name} cannot be used: .*{complaint}"):
        registry.check_file(Settings(root="/", extra=FrozenDict({name: setting})))


@pytest.mark.parametrize(
    ("name", "default", "options", "error"),
    [
        ("greeting", "Hi", {"owner": "other"}, "letters has a setting of that name"),
        ("port", 1, {}, "looseleaf has a setting of that name"),
        ("root", "", {}, "looseleaf has a setting of that name"),
        ("extra", "", {}, "looseleaf has a setting of that name"),
        ("a b", "", {}, "letters, digits and _"),
        ("words", ["a"], {}, "its default is"),
        ("words", (1,), {}, "it must be a list of texts"),
        ("words", None, {}, "its default is"),
        ("words", ("a",), {"runtime": True}, "cannot be changed while running"),
        ("odd", 1, {"rule": _refuse_odd}, "it must be even"),
    ],
)
def test_a_declaration_that_cannot_be_is_refused(
    registry: PluginSettings, name: str, default: object, options: dict[str, Any], error: str
) -> None:
    """By its name, or by its default."""
    with pytest.raises((InvalidName, InvalidSetting), match=error):
        registry.register(name, default, "A summary.", **options)  # type: ignore[arg-type]
    registry.freeze()
    with pytest.raises(Refused, match="too late"):
        registry.register("late", "", "A summary.")


def test_a_rule_that_fails_is_the_fault_of_its_plugin(registry: PluginSettings) -> None:
    """The error names the plugin and the setting."""

    def divide(words: str) -> str:
        return str(1 / len(words))

    with pytest.raises(BrokenPlugin, match=r"letters .* its rule for the setting words failed"):
        registry.register("words", "", "A summary.", rule=divide, owner="letters")


@pytest.mark.parametrize(
    ("name", "code", "error"),
    [
        ("deadline", "invalid_setting", "looseleaf.toml has no such setting"),
        ("greeting", "invalid_setting", "it must be text, not 1"),
    ],
)
def test_a_workspace_with_a_wrong_setting_does_not_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str, error: str
) -> None:
    """The plugin is loaded, and asked which settings there are."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "letters_of_one_test.py").write_text(
        "from looseleaf import hookimpl\n\n\n@hookimpl\n"
        "def register_settings(plugin_settings):\n"
        "    plugin_settings.register('greeting', 'Hello', 'What a letter begins with.')\n"
    )
    root = tmp_path / "memory"
    Workspace.create(root).close()
    (root / "looseleaf.toml").write_text(f'plugins = ["letters_of_one_test"]\n{name} = 1\n')
    with pytest.raises(LooseleafError, match=error) as raised:
        Workspace.open(root)
    assert raised.value.code == code
    (root / "looseleaf.toml").write_text('plugins = ["letters_of_one_test"]\ngreeting = "Hi"\n')
    assert Workspace.open(root).setting("greeting") == "Hi"
    assert load(str(root)).extra == {"greeting": "Hi"}


def test_a_setting_of_a_plugin_that_is_gone_stays_in_the_database(workspace: Workspace) -> None:
    """It is no setting until the plugin comes back."""
    event = build_event(workspace.context, "looseleaf/set-setting", "greeting=Hi")
    workspace.accounts().settings.put({"greeting": "Hi", "prompt_page_bytes": 5}, event)
    settings = workspace.effective_settings()
    assert (settings.prompt_page_bytes, settings.extra) == (5, {"greeting": "Hi"})
    assert "greeting" not in {info.name for info in list_settings(workspace.context)}
    with pytest.raises(InvalidSetting, match="no such setting"):
        workspace.setting("greeting")


def test_two_plugins_cannot_have_a_setting_of_one_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names both."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for module in ("first_of_one_test", "second_of_one_test"):
        (tmp_path / f"{module}.py").write_text(
            "from looseleaf import hookimpl\n\n\n@hookimpl\n"
            "def register_settings(plugin_settings):\n"
            "    plugin_settings.register('greeting', 'Hello', 'A word.')\n"
        )
    root = tmp_path / "memory"
    Workspace.create(root).close()
    plugins = 'plugins = ["first_of_one_test", "second_of_one_test"]\n'
    (root / "looseleaf.toml").write_text(f'{plugins}greeting = "Hi"\n')
    why = "plugin second_of_one_test .* register_settings .* first_of_one_test has a setting"
    with pytest.raises(BrokenPlugin, match=why):
        Workspace.open(root)
