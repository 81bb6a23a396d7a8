"""Records: durable, private, and never half written."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest

from looseleaf.errors import Unavailable, Unsafe
from looseleaf.files.record_folder import RecordFolder


@pytest.fixture
def records(tmp_path: Path) -> RecordFolder:
    """Return a folder of records in a fresh root."""
    (tmp_path / ".looseleaf").mkdir(mode=0o700)
    return RecordFolder(str(tmp_path), "upkeep", "runs", "agent-1")


def test_nothing_is_made_by_reading(records: RecordFolder, tmp_path: Path) -> None:
    """A folder appears with the first write."""
    assert records.names() == []
    assert records.read("one") is None
    records.remove("one")
    assert list((tmp_path / ".looseleaf").iterdir()) == []


def test_a_record_is_written_and_read(records: RecordFolder, tmp_path: Path) -> None:
    """With the rights of the folder."""
    records.write("two", {"text": "ü"})
    records.write("one", {"n": 1})
    assert records.names() == ["one", "two"]
    assert records.read("two") == {"text": "ü"}
    path = tmp_path / ".looseleaf/upkeep/runs/agent-1/two.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    records.remove("two")
    assert records.names() == ["one"]
    (path.parent / "one.json").write_text("{")
    with pytest.raises(Unavailable, match="not JSON"):
        records.read("one")


def test_the_lock_keeps_others_out(records: RecordFolder) -> None:
    """The second waits for the first."""
    order: list[str] = []
    entered = threading.Event()

    def second() -> None:
        entered.set()
        with records.lock():
            order.append("second")

    with records.lock():
        thread = threading.Thread(target=second)
        thread.start()
        entered.wait()
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_errors_of_the_disk_say_which_record(records: RecordFolder, tmp_path: Path) -> None:
    """Whatever is done, the error is one of ours, so that every surface can say it."""
    records.write("two", {})
    folder = tmp_path / ".looseleaf/upkeep/runs/agent-1"
    (folder / "one.json").mkdir()
    with pytest.raises(Unavailable, match=r"agent-1/one\.json"):
        records.write("one", {})
    with pytest.raises(Unavailable, match=r"agent-1/one\.json"):
        records.read("one")
    folder.rename(folder.with_name("moved"))
    folder.write_text("a file")
    with pytest.raises(Unsafe, match=r"runs/agent-1"):
        records.names()
    with pytest.raises(Unsafe, match=r"runs/agent-1"):
        records.folders()
    with pytest.raises(Unsafe, match=r"runs/agent-1"):
        records.remove("two")
