"""Changes of artifacts: a page that was edited since it was compared is not replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf.errors import Conflicted
from looseleaf.features.bundles.install_target import ArtifactChanges
from looseleaf.features.bundles.workspace_target import install_target_of
from looseleaf.memory.store import hash_content
from tests.features.bundles.agents_of import SOUL, create_ada


def test_a_page_is_replaced_only_as_it_was_compared(tmp_path: Path) -> None:
    """Another hash, and a page if none was expected, are conflicts; the right hash is not."""
    with create_ada(tmp_path / "ada") as workspace:
        destination = install_target_of(workspace.context)
        record = workspace.agents.resolve("ada")
        scope = record.shelf.page("SOUL.md")
        for expected_hash in (hash_content(b"# Before\n"), ""):
            changes = ArtifactChanges(destination, record, {"memory:SOUL.md": expected_hash})
            with pytest.raises(Conflicted):
                changes.apply("memory:SOUL.md", "# New\n")
            assert workspace.pages.text(scope) == SOUL
        hashes = {"memory:SOUL.md": hash_content(SOUL.encode())}
        ArtifactChanges(destination, record, hashes).apply("memory:SOUL.md", "# New\n")
        assert workspace.pages.text(scope) == "# New\n"
