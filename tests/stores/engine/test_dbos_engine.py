"""The engine records parts once, in JSON, silently, and reads nothing of the environment."""

from __future__ import annotations

import json
import logging
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from dbos import DBOS

from looseleaf.errors import Unsafe
from looseleaf.stores.engine.dbos_engine import DbosEngine, _silence_logger
from looseleaf.stores.engine.engine_database import FILE, open_engine_database
from looseleaf.workflows.engine import RunAbandoned

# Starts an engine, runs a part, and says which sockets and which output there were.
SILENT = """
import socket, sys, threading
opened = []
class Socket(socket.socket):
    def __init__(self, *arguments, **options):
        # The loop of asyncio wakes itself through a pair of sockets that nobody else can reach.
        if not arguments or arguments[0] != socket.AF_UNIX:
            opened.append(arguments)
        super().__init__(*arguments, **options)
socket.socket = Socket
from looseleaf.stores.engine.dbos_engine import DbosEngine
engine = DbosEngine("", sys.argv[1], executor_id="one", report=lambda *_: None)
done = threading.Event()
def run_job(run_id, job_id, position):
    assert engine.record("part", lambda: {"n": 1}) == {"n": 1}
    done.set()
engine.launch(run_job)
engine.start("run-1", 1, 0)
assert done.wait(30)
engine.close()
assert not opened, opened
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Give a folder that can hold an engine's database."""
    (tmp_path / ".looseleaf").mkdir()
    return tmp_path


def run_once(engine: DbosEngine, parts: list[Any], run_id: str = "run-1") -> list[Any]:
    """Run a job whose parts are functions, and give their results."""
    results: list[Any] = []
    done = threading.Event()

    def run_job(_run_id: str, _job_id: int, _position: int) -> None:
        try:
            results.extend(engine.record(f"part-{n}", part) for n, part in enumerate(parts))
        except RunAbandoned as abandoned:
            results.append(abandoned.cause)
            raise
        finally:
            done.set()

    engine.launch(run_job)
    try:
        engine.start(run_id, 1, 0)
        assert done.wait(60)
    finally:
        engine.close()
    return results


def make_engine(root: Path, name: str, database_url: str = "") -> DbosEngine:
    """Give an engine that reports nothing."""
    return DbosEngine(database_url, str(root), executor_id=name, report=lambda *_: None)


def test_nothing_is_written_and_nobody_is_called(root: Path) -> None:
    """Whatever the environment says of DBOS: no output, no socket, no port."""
    environment = {"DBOS__CLOUD": "true", "DBOS__APPVERSION": "x", "DBOS__VMID": "y"}
    result = subprocess.run(
        [sys.executable, "-c", SILENT, str(root)],
        capture_output=True,
        text=True,
        check=False,
        env=environment | {"PATH": "/usr/bin:/bin"},
    )
    assert (result.stdout, result.stderr, result.returncode) == ("", "", 0)


def test_results_are_json_of_a_pinned_version_in_a_private_file(root: Path) -> None:
    """In write-ahead mode; no pickle anywhere."""
    assert run_once(make_engine(root, "one"), [lambda: {"text": "ä"}]) == [{"text": "ä"}]
    file = root / FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with sqlite3.connect(file) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        statuses = "SELECT application_version, executor_id, serialization FROM workflow_status"
        assert database.execute(statuses).fetchall() == [("looseleaf-1", "one", "portable_json")]
        outputs = database.execute("SELECT output FROM operation_outputs").fetchall()
    assert [json.loads(output) for (output,) in outputs] == [{"text": "ä"}]
    database.close()


def test_a_part_that_fails_leaves_nothing_behind(root: Path) -> None:
    """The run stays open, so that another process can continue it."""
    failure = ValueError("no")

    def fail() -> dict[str, Any]:
        raise failure

    assert run_once(make_engine(root, "one"), [dict, fail]) == [{}, failure]
    with sqlite3.connect(root / FILE) as database:
        assert database.execute("SELECT status FROM workflow_status").fetchall() == [("PENDING",)]
        assert database.execute("SELECT count(*) FROM operation_outputs").fetchall() == [(1,)]
    database.close()


def test_the_runs_of_a_worker_that_died_are_forgotten(root: Path, database_url: str) -> None:
    """Whether they had ended or not; those of other workers stay."""
    failure = ValueError("the process dies here")

    def fail() -> dict[str, Any]:
        raise failure

    run_once(make_engine(root, "one", database_url), [dict], "run-1")
    run_once(make_engine(root, "one", database_url), [dict, fail], "run-2")
    run_once(make_engine(root, "two", database_url), [dict, fail], "run-3")
    engine = make_engine(root, "three", database_url)
    engine.launch(lambda *_: None)
    try:
        engine.forget_worker("one")
        engine.forget_worker("nobody")
        left = [run.workflow_id for run in DBOS.list_workflows()]
    finally:
        engine.close()
    assert left == ["run-3"]


def test_runs_that_have_ended_are_forgotten(root: Path) -> None:
    """So that the database does not grow with every job."""
    run_once(make_engine(root, "one"), [dict])
    engine = make_engine(root, "two")
    engine.launch(lambda *_: None)
    engine.discard(["run-1", "never"])
    engine.discard([])
    engine.close()
    with sqlite3.connect(root / FILE) as database:
        assert database.execute("SELECT count(*) FROM workflow_status").fetchall() == [(0,)]
    database.close()


def test_a_run_that_the_engine_has_not_finished_is_not_forgotten(root: Path) -> None:
    """DBOS would fail to record the end of it; a run that was abandoned has no such end."""
    engine, reports = make_engine(root, "one"), list[str]()
    engine._report = lambda _label, error: reports.append(str(error))
    is_begun, may_end, is_abandoned = (threading.Event() for _ in range(3))

    def fail() -> dict[str, Any]:
        raise KeyError("what")

    def run_job(_run_id: str, job_id: int, _position: int) -> None:
        engine.record("part", dict)
        is_begun.set()
        if job_id == 1:
            assert may_end.wait(60)
            return
        try:
            engine.record("failing", fail)
        finally:
            is_abandoned.set()

    engine.launch(run_job)
    engine.start("run-1", 1, 0)
    assert is_begun.wait(60)
    assert engine.discard(["run-1"]) == ("run-1",)
    may_end.set()
    deadline = time.monotonic() + 60
    while engine.discard(["run-1"]):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    engine.start("run-2", 2, 0)
    assert is_abandoned.wait(60)
    assert engine.discard(["run-2"]) == ()
    engine.close()
    assert reports == []
    with sqlite3.connect(root / FILE) as database:
        assert database.execute("SELECT count(*) FROM workflow_status").fetchall() == [(0,)]
    database.close()


def test_an_error_of_the_engine_is_reported_with_its_reason() -> None:
    """The message of DBOS alone says only that something happened."""
    reports: list[str] = []
    _silence_logger(lambda label, error: reports.append(f"{label}: {error}"))
    logging.getLogger("dbos").error("Exception encountered:", exc_info=KeyError("what"))
    assert reports == ["The engine of jobs: Exception encountered: KeyError: 'what'"]


def test_a_link_is_not_followed(root: Path) -> None:
    """The file may be anywhere then."""
    (root / FILE).symlink_to(root / "elsewhere")
    with pytest.raises(Unsafe):
        open_engine_database("", str(root), file_mode=0o600)
