"""A scripted provider, and the models that ask it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from looseleaf.models.by_name import Models
from looseleaf.settings import Provider
from looseleaf.values import Secret
from tests.models.scripted import Scripted, serve_script

KEY = "sk-this-is-very-secret-indeed"


@pytest.fixture
def server() -> Iterator[Scripted]:
    """Serve a script on loopback."""
    with serve_script(Scripted()) as script:
        yield script


@pytest.fixture
def models(server: Scripted) -> Iterator[Models]:
    """Know the scripted server as the provider `local`."""
    fresh_models = Models({"local": Provider("local", server.url, Secret(KEY))}, timeout=5)
    yield fresh_models
    fresh_models.close()
