"""Installed plugins are found as the standard library finds them, and for next to nothing."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from looseleaf.plugins import discovery
from looseleaf.plugins.discovery import find_installed
from looseleaf.plugins.hooks import InstalledPlugin

ENTRIES = {
    "plain": "[looseleaf.plugins]\nplain = module\n",
    "spaces and comments": "# [looseleaf.plugins]\n[ other ]\nx=y\n\n[looseleaf.plugins]\n"
    "# not = this\n  spaced  =  module.inner : thing.part  \n",
    "extras": "[looseleaf.plugins]\nextra = module:thing [more]\n",
    "several": "[looseleaf.plugins]\nb = two\na = one\n[console_scripts]\nc = three:main\n",
    "another group": "[looseleaf.pluginses]\na = one\n[x.looseleaf.plugins]\nb = two\n",
    "only mentioned": "[console_scripts]\nlooseleaf.plugins = module:main\n",
    "windows": "[looseleaf.plugins]\r\nplain = module\r\n",
}


def package(folder: Path, name: str, entries: str) -> None:
    home = folder / name
    home.mkdir(parents=True)
    (home / "METADATA").write_text(f"Name: {name.partition('-')[0]}\nVersion: 1.0\n")
    (home / "entry_points.txt").write_text(entries, newline="")


@pytest.mark.parametrize("entries", ENTRIES.values(), ids=ENTRIES)
def test_entry_points_are_those_of_the_standard_library(entries: str, tmp_path: Path) -> None:
    """The same names and the same modules and objects."""
    package(tmp_path, "some_package-1.0.dist-info", entries)
    [there] = metadata.distributions(path=[str(tmp_path)])
    known = there.entry_points.select(group=discovery.GROUP)
    expected = {(item.name, item.module, item.attr or "") for item in known}
    found = {
        (item.name, *map(str.strip, item.target.partition(":")[::2]))
        for item in find_installed([str(tmp_path)])
    }
    assert found == expected


def test_a_plugin_comes_with_its_package_and_version(tmp_path: Path) -> None:
    """As the folder that an installer leaves is called."""
    package(tmp_path, "some_package-2.1b1.dist-info", ENTRIES["plain"])
    assert find_installed([str(tmp_path)]) == (
        InstalledPlugin("plain", "module", "some_package", "2.1b1"),
    )


def test_of_a_package_that_is_there_twice_the_first_is_meant(tmp_path: Path) -> None:
    """As with what is imported; the second is not looked at, whatever it says."""
    package(tmp_path / "a", "some_package-2.0.dist-info", "[looseleaf.plugins]\nnew = module\n")
    package(tmp_path / "b", "Some_Package-1.0.dist-info", "[looseleaf.plugins]\nold = module\n")
    [found] = find_installed([str(tmp_path / "a"), str(tmp_path / "b")])
    assert (found.name, found.version) == ("new", "2.0")


def test_what_cannot_be_read_holds_no_plugin(tmp_path: Path) -> None:
    """A path may name archives, files and what is not there."""
    (tmp_path / "file").touch()
    (tmp_path / "odd-1.0.dist-info").touch()
    assert find_installed([str(tmp_path), str(tmp_path / "file"), "/nowhere"]) == ()


def test_the_packages_of_this_environment_are_read_as_the_standard_library_reads_them() -> None:
    """However many there are."""
    expected = {point.name for point in metadata.entry_points(group=discovery.GROUP)}
    assert {item.name for item in find_installed(sys.path)} == expected


def test_to_open_a_workspace_without_plugins_imports_no_machinery(tmp_path: Path) -> None:
    """Neither pluggy nor importlib.metadata nor the hooks' specifications."""
    script = (
        "import sys; before = set(sys.modules); from looseleaf import Workspace; "
        f"Workspace.create({str(tmp_path / 'memory')!r}); print(*(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "looseleaf.plugins.defaults" in loaded
    heavy = {"pluggy", "importlib.metadata", "looseleaf.plugins.loader"}
    assert "looseleaf.catalog.plugin_settings" not in loaded
    assert not loaded & {*heavy, "looseleaf.plugins.hookspecs"}
