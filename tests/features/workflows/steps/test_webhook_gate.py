"""The step `webhook_gate`: it waits with a secret that nobody can guess, and gives the body on."""

from __future__ import annotations

import re

import pytest

from looseleaf.errors.features import InvalidStep
from looseleaf.features.workflows.jobs.run import has_transient_reason
from looseleaf.features.workflows.packet import create_packet
from looseleaf.features.workflows.parts import resources_of
from looseleaf.features.workflows.steps.webhook_gate import digest_secret, format_address
from tests.features.workflows.steps.conftest import START, Bench


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


def test_the_draft_goes_on_and_the_approval_stands_beside_it(bench: Bench) -> None:
    """Templates may name both; the draft keeps its title and its origin."""
    bench.run("webhook_gate", {})
    draft = create_packet("item", {"content": "The draft.", "title": "T"}, now=START)
    signal = {"approved": True, "by": "ada"}
    (call,) = bench.run("webhook_gate", {}, draft, signal=signal).packets
    assert resources_of(bench.workspace).files.read_gate(bench.job(), "one") == ""
    assert call.type == "webhook"
    assert call.data == {"body": signal}
    template = "{{title}}: {{content}} ({{webhook.by}}{{webhook.note}})"
    settings = {"target": "section", "section": "State", "template": template}
    bench.run("memory_update", settings, call, draft)
    assert "T: The draft. (ada)" in bench.read("MEMORY.md")
    assert "approved" not in bench.read("MEMORY.md")
    (item,) = bench.run("input", {"source": "packet"}, call, draft).packets
    assert item.data["content"] == "The draft."


def test_a_call_with_a_text_replaces_the_draft(bench: Bench) -> None:
    """As a corrected draft does; a call is also the text if there was none before."""
    settings = {"target": "section", "section": "State", "template": "{{content}}"}
    draft = create_packet("item", {"content": "The draft."}, now=START)
    corrected = create_packet("webhook", {"body": {"content": "Corrected."}}, now=START)
    bench.run("memory_update", settings, corrected, draft)
    assert "Corrected." in bench.read("MEMORY.md")
    assert "The draft." not in bench.read("MEMORY.md")
    order = create_packet("webhook", {"body": {"order": 14}}, now=START)
    bench.run("memory_update", settings, order, job_id=8)
    assert '"order": 14' in bench.read("MEMORY.md")
    (item,) = bench.run("input", {"source": "packet"}, order).packets
    assert item.data["content"] == '{\n "order": 14\n}'


def test_a_call_that_does_not_approve_ends_the_job(bench: Bench) -> None:
    """No step behind the gate gets the draft."""
    outcome = bench.run("webhook_gate", {}, signal={"approved": False, "note": "timeout"})
    assert (outcome.status, outcome.packets) == ("failed", ())
    assert not has_transient_reason(outcome.reason)


@pytest.mark.parametrize("seconds", [0, 59, 40 * 86_400, "1h"])
def test_the_time_of_waiting_is_bounded(bench: Bench, seconds: object) -> None:
    """From a minute to thirty days."""
    with pytest.raises(InvalidStep):
        bench.run("webhook_gate", {"expires_seconds": seconds})
