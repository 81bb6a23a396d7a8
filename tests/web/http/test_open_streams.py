"""Event streams are bounded, for a server and for one credential."""

from __future__ import annotations

import pytest

from looseleaf.web.http.responses import RequestError
from looseleaf.web.http.workers import MOST_OF_ONE, OpenStreams


def test_streams_of_one_credential_are_bounded() -> None:
    """One that is left makes room for another."""
    streams = OpenStreams()
    for _ in range(MOST_OF_ONE):
        streams.take("a")
    with pytest.raises(RequestError, match="Too many event streams"):
        streams.take("a")
    streams.take("b")
    streams.leave("a")
    streams.take("a")
