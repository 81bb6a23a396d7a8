"""The step `input`: every source, items taken once, and sources that fail."""

from __future__ import annotations

import json

import pytest

from looseleaf.errors.features import InvalidSource, InvalidStep, RequestFailed, RequestRefused
from looseleaf.features.workflows.parts import step_types_of
from tests.features.workflows.steps.conftest import Bench, Opener, item
from tests.servers import build_handler, run_server

FEED = b"""<rss><channel>
<item><title>One</title><guid>1</guid><description>first</description></item>
<item><title>Two</title><guid>2</guid><description>second</description></item>
<item><title>Three</title><guid>3</guid></item></channel></rss>"""


def allowed(open_bench: Opener, port: int) -> Bench:
    """Open a workspace that may ask a server on loopback."""
    return open_bench(f'outgoing_private_hosts = ["127.0.0.1:{port}"]\n')


def test_a_text_is_an_item(bench: Bench) -> None:
    """The same text is given in every job."""
    settings = {"source": "text", "text": "Write about jazz.", "title": "Jazz"}
    for job_id in (7, 8):
        (packet,) = bench.run("input", settings, job_id=job_id).packets
        assert packet.data["content"] == "Write about jazz."
        assert packet.data["title"] == "Jazz"
        assert packet.metadata["source"] == "text"
        assert packet.timestamp == "2026-04-17T09:30:00Z"


def test_items_of_a_feed_are_taken_once(open_bench: Opener) -> None:
    """The next job gets the next items, and a job that runs again gets its own."""
    with run_server(build_handler(FEED)) as server:
        bench = allowed(open_bench, server.port)
        settings = {"source": "feed", "url": f"{server.url}/feed", "max_items": 2}
        first = bench.run("input", settings)
        assert [packet.data["title"] for packet in first.packets] == ["One", "Two"]
        again = bench.run("input", settings)
        assert [packet.data["title"] for packet in again.packets] == ["One", "Two"]
        second = bench.run("input", settings, job_id=8)
        assert [packet.data["title"] for packet in second.packets] == ["Three"]
        third = bench.run("input", settings, job_id=9)
        assert (third.status, third.packets) == ("no_items", ())
    assert b"Accept: application/atom+xml" in server.heads[0]
    assert bench.progress[0] == "asks the source"


def test_a_source_can_be_read_anew_every_time(open_bench: Opener) -> None:
    """If items are not skipped, every job gets them."""
    with run_server(build_handler(FEED)) as server:
        bench = allowed(open_bench, server.port)
        settings = {"source": "feed", "url": server.url, "skip_processed": False, "max_items": 1}
        for job_id in (7, 8):
            assert bench.run("input", settings, job_id=job_id).packets[0].data["title"] == "One"


def test_json_is_read_by_paths(open_bench: Opener) -> None:
    """A list inside a document, with fields of unusual names."""
    document = {"data": {"rows": [{"key": 5, "head": "H", "text": "T"}]}}
    with run_server(build_handler(json.dumps(document).encode())) as server:
        bench = allowed(open_bench, server.port)
        settings = {
            "source": "json",
            "url": server.url,
            "items_path": "data.rows",
            "fields": {"id": "key", "title": "head", "content": "text"},
        }
        (packet,) = bench.run("input", settings).packets
    assert packet.data == {"content": "T", "title": "H", "id": "5"}


def test_files_of_the_flow_are_items(bench: Bench) -> None:
    """Each file once, unless its content changes; what is no text is named."""
    place = f"pipeline-{bench.pipeline.id}/flow-{bench.flow.id}/flow-{bench.flow.id}-files"
    folder = bench.root / place
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("alpha")
    (folder / "b.bin").write_bytes(b"\xff\xfe")
    first = bench.run("input", {"source": "files"})
    assert [packet.data["title"] for packet in first.packets] == ["a.txt", "b.bin"]
    assert first.packets[0].data["content"] == "alpha"
    assert first.packets[1].data["content"] == "[b.bin: 2 bytes, not given as text]"
    assert bench.run("input", {"source": "files"}, job_id=8).status == "no_items"
    (folder / "a.txt").write_text("beta")
    (changed,) = bench.run("input", {"source": "files"}, job_id=9).packets
    assert changed.data["content"] == "beta"


def test_a_packet_of_the_start_is_given_on(bench: Bench) -> None:
    """The data that a job was started with becomes an item."""
    (packet,) = bench.run("input", {"source": "packet"}, item("hello", title="T")).packets
    assert packet.data["content"] == "hello"
    assert packet.data["title"] == "T"
    assert bench.run("input", {"source": "packet"}).status == "no_items"


def test_a_host_that_is_not_allowed_is_not_asked(bench: Bench) -> None:
    """The error says how to allow it."""
    with (
        run_server(build_handler(FEED)) as server,
        pytest.raises(RequestRefused, match="outgoing_hosts"),
    ):
        bench.run("input", {"source": "feed", "url": server.url})
    assert not server.heads


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ("503 Busy", RequestFailed),
        ("429 Too Many", RequestFailed),
        ("404 Not Found", InvalidStep),
        ("403 Forbidden", InvalidStep),
    ],
)
def test_a_server_that_refuses_fails_the_step(
    open_bench: Opener, status: str, error: type[Exception]
) -> None:
    """What may pass is tried again, what will not pass is not."""
    with run_server(build_handler(b"", status=status)) as server:
        bench = allowed(open_bench, server.port)
        with pytest.raises(error, match=status[:3]):
            bench.run("input", {"source": "feed", "url": server.url})


def test_a_document_that_is_no_feed_takes_no_items(open_bench: Opener) -> None:
    """The error names the fault."""
    with run_server(build_handler(b"<html></html>")) as server:
        bench = allowed(open_bench, server.port)
        with pytest.raises(InvalidSource, match="neither RSS nor Atom"):
            bench.run("input", {"source": "feed", "url": server.url})


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"source": "mail"},
        {"source": "text", "surprise": 1},
        {"source": "feed", "max_items": 0},
        {"source": "feed", "max_items": 51},
    ],
)
def test_settings_that_cannot_be_are_refused(bench: Bench, settings: dict[str, object]) -> None:
    """When a pipeline is saved, not when it runs."""
    with pytest.raises(InvalidStep):
        step_types_of(bench.workspace).get("input").check_settings(settings)


@pytest.mark.parametrize("settings", [{"source": "text", "text": " "}, {"source": "feed"}])
def test_a_source_without_its_address_or_text_fails(
    bench: Bench, settings: dict[str, object]
) -> None:
    """What a flow should have set and did not."""
    with pytest.raises(InvalidStep, match="is missing"):
        bench.run("input", settings)
