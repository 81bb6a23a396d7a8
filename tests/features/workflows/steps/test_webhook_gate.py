"""The step `webhook_gate`: it waits with a secret that nobody can guess, and gives the body on."""

from __future__ import annotations

import re

import pytest

from looseleaf.errors.features import InvalidStep
from looseleaf.features.workflows.parts import resources_of
from looseleaf.features.workflows.steps.webhook_gate import digest_secret, format_address
from tests.features.workflows.steps.conftest import Bench


def test_the_job_waits_for_a_call(bench: Bench) -> None:
    """The address has a secret of 128 bits, of which only a digest is kept."""
    outcome = bench.run("webhook_gate", {"expires_seconds": 600})
    assert (outcome.status, outcome.wait_seconds) == ("waiting", 600.0)
    files = resources_of(bench.workspace).files
    path = files.read_gate(bench.job(), "one")
    address = re.fullmatch(r"(/datamachine/v1/webhooks/7/one/([A-Za-z0-9_-]{22}))", path)
    assert address is not None
    assert address[2] not in outcome.reason
    assert outcome.gate == digest_secret(address[2])
    assert address[1] == format_address(7, "one", address[2])
    assert address[2] not in outcome.gate


def test_every_wait_has_a_secret_of_its_own(bench: Bench) -> None:
    """A day is the usual time."""
    outcomes = [bench.run("webhook_gate", {}) for _ in range(20)]
    assert len({outcome.gate for outcome in outcomes}) == 20
    assert outcomes[0].wait_seconds == 86_400.0


def test_the_body_of_the_call_is_given_on(bench: Bench) -> None:
    """As a packet that templates can use."""
    bench.run("webhook_gate", {})
    (packet,) = bench.run("webhook_gate", {}, signal={"approved": True}).packets
    assert resources_of(bench.workspace).files.read_gate(bench.job(), "one") == ""
    assert packet.type == "webhook"
    assert packet.data == {"body": {"approved": True}}
    bench.run(
        "memory_update",
        {"target": "section", "section": "State", "template": "{{content}}"},
        packet,
    )
    assert '"approved": true' in bench.read("MEMORY.md")


@pytest.mark.parametrize("seconds", [0, 59, 40 * 86_400, "1h"])
def test_the_time_of_waiting_is_bounded(bench: Bench, seconds: object) -> None:
    """From a minute to thirty days."""
    with pytest.raises(InvalidStep):
        bench.run("webhook_gate", {"expires_seconds": seconds})
