"""Names in archives: what is safe is given back as it is."""

from __future__ import annotations

import pytest

from looseleaf.errors.features import InvalidArchive
from looseleaf.features.bundles.zip_archive import ArchiveNames, check_archive_path


@pytest.mark.parametrize(
    "path",
    ["manifest.json", "memory/agent/daily/2026/11/17.md", "memory/agent/" + "ä" * 98 + ".md"],
)
def test_a_safe_path_is_given_back(path: str) -> None:
    """A path that every system can hold is given back unchanged; a page's name fits after it."""
    assert check_archive_path(path) == path


@pytest.mark.parametrize(
    "path", ["", "/a", "a/", "a//b", "a/b/c//d", "a/b/../c", "a/b/.hid", "a\\b"]
)
def test_an_unsafe_path_is_refused(path: str) -> None:
    """A path that could leave its folder, or hide in it, is refused by name."""
    with pytest.raises(InvalidArchive):
        check_archive_path(path)


def test_names_of_several_folders_do_not_meet() -> None:
    """The same name in two folders is two files."""
    names = ArchiveNames()
    for path in ("a/one.md", "b/one.md", "a/two.md"):
        names.add(path)
    with pytest.raises(InvalidArchive, match="twice"):
        names.add("a/one.md")
