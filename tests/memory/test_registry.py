"""Which pages are registered, in which order, and by which rules."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.errors import InvalidName, InvalidSetting, Refused
from looseleaf.errors.pages import NameTaken
from looseleaf.files.folders import casefold_name
from looseleaf.memory.registry import FileRegistry, RegisteredFile, check_mode
from looseleaf.plugins.defaults import register_core_files


@pytest.fixture
def registry() -> FileRegistry:
    """An empty registry, as a workspace makes it."""
    return FileRegistry()


@pytest.fixture
def core(registry: FileRegistry) -> FileRegistry:
    """A registry with the core files."""
    register_core_files(registry)
    return registry


def names(files: tuple[RegisteredFile, ...]) -> list[str]:
    return [file.filename for file in files]


def test_a_name_and_a_priority_are_enough(registry: FileRegistry) -> None:
    """A file registered as in the seeds is the agent's, editable, and injected everywhere."""
    file = registry.register("brand-guidelines.md", 40)
    assert (file.layer, file.editable, file.protected, file.byte_budget) == (
        "agent", True, False, 8192,
    )  # fmt: skip
    for mode in ("chat", "pipeline", "system", "my-own_mode2"):
        assert registry.for_mode(mode) == (file,)


@pytest.mark.parametrize(
    ("filename", "label"),
    [
        ("brand-guidelines.md", "Brand Guidelines"),
        ("contexts/woo_commerce.docs.md", "Woo Commerce.docs"),
        ("SOUL.md", "SOUL"),
        ("-.md", ""),
        ("été.md", "Été"),
    ],
)
def test_a_label_comes_from_the_filename(registry: FileRegistry, filename: str, label: str) -> None:
    """Without a label of its own, a file is called by the words of its name."""
    assert registry.register(filename).label == label
    assert registry.register(filename, label="Mine").label == "Mine"


def test_a_file_in_a_folder_keeps_its_path(registry: FileRegistry) -> None:
    """The policy seed's own example, contexts/woocommerce-docs.md, can be registered."""
    registry.register("contexts/woocommerce-docs.md")
    found = registry.get("contexts/woocommerce-docs.md")
    assert found is not None
    assert found.filename == "contexts/woocommerce-docs.md"


@given(st.lists(st.tuples(st.sampled_from("abcABéÉ"), st.integers(-5, 5)), max_size=12))
def test_files_come_by_priority_then_by_name(entries: list[tuple[str, int]]) -> None:
    """The order never depends on the order of registration."""
    registry = FileRegistry()
    for name, priority in entries:
        try:
            registry.register(f"{name}.md", priority)
        except NameTaken:
            assert registry.get(f"{name}.md") is not None
    order = [(file.priority, casefold_name(file.filename)) for file in registry.files()]
    assert order == sorted(order)
    assert (
        len({name for _, name in order})
        == len(order)
        == len({casefold_name(n) for n, _ in entries})
    )


def test_registering_again_replaces(registry: FileRegistry) -> None:
    """A plugin changes a default by registering the same name."""
    registry.register("USER.md", 20, layer="user", protected=True)
    registry.register("USER.md", 99)
    assert registry.files() == (RegisteredFile(filename="USER.md", priority=99, label="USER"),)


@pytest.mark.parametrize(("first", "second"), [("USER.md", "user.md"), ("é.md", "É.md")])
def test_a_name_that_differs_only_by_case_is_refused(
    registry: FileRegistry, first: str, second: str
) -> None:
    """Two entries never stand for what is one page on some disks."""
    registry.register(first, 1)
    with pytest.raises(NameTaken, match=first):
        registry.register(second, 2)
    assert names(registry.files()) == [first]


@pytest.mark.parametrize(
    "filename", ["", "../x.md", "/x.md", "a//b.md", ".x.md", "x.exe", "a:b.md"]
)
def test_a_name_no_page_can_have_is_refused(registry: FileRegistry, filename: str) -> None:
    """The registry asks the one validator of names."""
    with pytest.raises(InvalidName):
        registry.register(filename)
    assert registry.files() == ()


@pytest.mark.parametrize("modes", ["chat", "all", ""])
def test_one_mode_that_is_no_list_is_an_error(registry: FileRegistry, modes: str) -> None:
    """A string for modes is neither ignored nor taken letter by letter."""
    with pytest.raises(InvalidSetting, match=r"modes of a\.md"):
        registry.register("a.md", modes=modes)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"priority": "5"}, "priority"),
        ({"priority": True}, "priority"),
        ({"word_budget": -1}, "word_budget"),
        ({"byte_budget": 1.5}, "byte_budget"),
        ({"editable": ""}, "editable"),
        ({"editable": None}, "editable"),
        ({"convention_path": None}, "convention_path"),
    ],
)
def test_an_option_that_cannot_be_is_named(
    registry: FileRegistry, options: dict[str, Any], named: str
) -> None:
    """A wrong option is an error that says which, and registers nothing."""
    with pytest.raises(InvalidSetting, match=rf"{named} of a\.md"):
        registry.register("a.md", **options)
    assert registry.files() == ()


@pytest.mark.parametrize("layer", ["principals", "", None, ["agent"]])
def test_an_unknown_layer_is_an_error(registry: FileRegistry, layer: Any) -> None:  # noqa: ANN401
    """A layer is one of five, when registering and when asking."""
    with pytest.raises(InvalidName, match="shared, agent, user, network, principal"):
        registry.register("a.md", layer=layer)
    with pytest.raises(InvalidName):
        registry.by_layer(layer)


def test_a_composed_file_is_never_editable(registry: FileRegistry) -> None:
    """Composable wins even over a capability."""
    file = registry.register("a.md", composable=True, editable="manage_options")
    assert file.editable is False
    assert not registry.is_editable("a.md", capabilities={"manage_options"})


def test_a_capability_decides_who_may_edit(registry: FileRegistry) -> None:
    """A file that names a capability is closed to those who lack it."""
    registry.register("RULES.md", editable="manage_options")
    assert not registry.is_editable("RULES.md")
    assert not registry.is_editable("RULES.md", capabilities={"manage_agents"})
    assert registry.is_editable("RULES.md", capabilities={"manage_options"})


def test_a_file_nobody_registered_is_an_ordinary_page(registry: FileRegistry) -> None:
    """Unknown pages are the agent's own, editable, and not protected."""
    assert registry.get("notes.md") is None
    assert registry.layer_of("notes.md") == "agent"
    assert registry.is_editable("notes.md")
    assert not registry.is_protected("notes.md")


def test_another_spelling_meets_the_same_rules(core: FileRegistry) -> None:
    """Protection cannot be passed by writing a name in another case."""
    assert core.is_protected("memory.MD")
    assert core.layer_of("user.md") == "user"
    assert not core.is_editable("site.md")


def test_a_file_is_injected_in_its_modes_only(registry: FileRegistry) -> None:
    """Modes narrow a file, and none at all keeps it out of every request."""
    registry.register("a.md", modes=["chat", "editor"])
    registry.register("b.md", modes=("pipeline",))
    registry.register("c.md", modes=())
    assert names(registry.for_mode("chat")) == ["a.md"]
    assert names(registry.for_mode("editor")) == ["a.md"]
    assert names(registry.for_mode("pipeline")) == ["b.md"]
    assert registry.for_mode("system") == ()
    assert names(registry.files()) == ["a.md", "b.md", "c.md"]


@pytest.mark.parametrize("mode", ["", " ", "all", "Chat", "a b", None, 1])
def test_a_request_must_name_its_mode(core: FileRegistry, mode: Any) -> None:  # noqa: ANN401
    """A missing or impossible mode is an error, never every file."""
    with pytest.raises(InvalidName):
        core.for_mode(mode)


def test_a_mode_is_given_back_as_it_is() -> None:
    """Names are checked, not rewritten."""
    assert check_mode("pipeline_editor") == "pipeline_editor"


@pytest.mark.parametrize("path", ["AGENTS.md", ".github/copilot-instructions.md", "docs/a b.md"])
def test_a_convention_path_leads_into_a_project(registry: FileRegistry, path: str) -> None:
    """Where other tools look for a file may start with a dot."""
    assert registry.register("a.md", convention_path=path).convention_path == path


@pytest.mark.parametrize(
    "path",
    [
        *("/etc/x", "..", "../x", "a/../b", "a//b", "./a", "a/", "C:/x", "a\\b", "a\nb"),
        *(".git/hooks/post-commit", "a/.GIT/config", ".looseleaf/x"),
    ],
)
def test_a_convention_path_leads_nowhere_else(registry: FileRegistry, path: str) -> None:
    """Nothing outside the project, and nothing that git or Looseleaf keeps, is reached."""
    with pytest.raises(InvalidSetting, match="convention_path"):
        registry.register("a.md", convention_path=path)


def test_two_files_do_not_share_a_convention_path(registry: FileRegistry) -> None:
    """Each would replace what the other wrote."""
    registry.register("a.md", convention_path="AGENTS.md")
    registry.register("a.md", convention_path="AGENTS.md", label="again")
    with pytest.raises(InvalidSetting, match=r"a\.md is kept there"):
        registry.register("b.md", convention_path="agents.md")


def test_deregistering_says_whether_it_was_there(core: FileRegistry) -> None:
    """A default can be taken out, by the same API, once."""
    assert core.deregister("USER.md")
    assert not core.deregister("USER.md")
    assert "USER.md" not in names(core.for_mode("chat"))


def test_a_frozen_registry_stays_as_it_is(core: FileRegistry) -> None:
    """After start-up the same request always meets the same files."""
    core.freeze()
    before = core.files()
    with pytest.raises(Refused, match=r"late\.md comes too late"):
        core.register("late.md")
    with pytest.raises(Refused):
        core.deregister("USER.md")
    assert core.files() == before


def test_the_core_files_are_the_ones_of_the_design(core: FileRegistry) -> None:
    """Six protected pages, in the order in which a prompt has them."""
    facts = [(f.filename, f.priority, f.layer, f.editable, f.word_budget) for f in core.files()]
    assert facts == [
        ("SITE.md", 5, "shared", False, 0),
        ("RULES.md", 7, "shared", "manage_options", 0),
        ("SOUL.md", 10, "agent", "admin", 500),
        ("USER.md", 20, "user", True, 300),
        ("USER_MEMORY.md", 25, "principal", True, 500),
        ("MEMORY.md", 30, "agent", True, 2000),
    ]
    assert all(f.protected and f.owner == "looseleaf" and f.description for f in core.files())
    assert core.for_mode("chat") == core.files()
    alone = set(names(core.files())) - set(names(core.for_mode("system")))
    assert alone == {"USER_MEMORY.md"}  # in tasks nobody is there
    assert names(core.by_layer("shared")) == ["SITE.md", "RULES.md"]


def test_network_and_agents_pages_come_when_enabled(registry: FileRegistry) -> None:
    """AGENTS.md holds pages that a prompt has already, so it is composed but never injected."""
    register_core_files(registry, network=True, agents_md=True)
    assert names(registry.files())[:3] == ["AGENTS.md", "NETWORK.md", "SITE.md"]
    assert names(registry.for_mode("chat"))[:2] == ["NETWORK.md", "SITE.md"]
    agents = registry.get("AGENTS.md")
    assert agents is not None
    assert (agents.convention_path, agents.modes) == ("AGENTS.md", ())
    assert all(file.composable and file.protected for file in registry.files()[:3])
