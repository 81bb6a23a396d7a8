"""A scripted provider, and the models that ask it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from looseleaf.models.by_name import Models
from looseleaf.setting_tables import Provider
from looseleaf.values import Secret
from tests.models.scripted import Scripted, serving

KEY = "sk-this-is-very-secret-indeed"


@pytest.fixture
def server() -> Iterator[Scripted]:
    """Serve a script on loopback."""
    with serving(Scripted()) as script:
        yield script


@pytest.fixture
def models(server: Scripted) -> Iterator[Models]:
    """Know the scripted server as the provider `local`."""
    opened = Models({"local": Provider("local", server.url, Secret(KEY))}, timeout=5)
    yield opened
    opened.close()
