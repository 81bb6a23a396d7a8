"""Event streams are bounded, for a server and for one user."""

from __future__ import annotations

import pytest

from looseleaf.web.http.responses import RequestError
from looseleaf.web.http.workers import MOST_OF_ONE, MOST_STREAMS, OpenStreams


def test_streams_of_one_user_are_bounded() -> None:
    """One that is left makes room for another."""
    streams = OpenStreams()
    for _ in range(MOST_OF_ONE):
        streams.take(1)
    with pytest.raises(RequestError, match="Too many event streams"):
        streams.take(1)
    streams.take(2)
    streams.leave(1)
    streams.take(1)


def test_a_nearly_full_server_has_a_stream_for_whoever_has_none() -> None:
    """However many users open as many as they may."""
    streams = OpenStreams()
    for user in range(2, 12):
        for _ in range(MOST_OF_ONE):
            try:
                streams.take(user)
            except RequestError:
                break
    streams.take(1)
    streams.take(1)
    with pytest.raises(RequestError):
        streams.take(1)
    newcomers = range(100, 100 + MOST_STREAMS)
    taken = 0
    for user in newcomers:
        try:
            streams.take(user)
        except RequestError:
            break
        taken += 1
    assert 10 < taken < MOST_STREAMS
