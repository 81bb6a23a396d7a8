"""The step `webhook_gate`: the job waits for an inbound call to an address that works once."""

from __future__ import annotations

import hashlib
import secrets

from looseleaf.features.workflows.packet import create_packet
from looseleaf.features.workflows.step import StepOutcome, StepType
from looseleaf.times import DAY_SECONDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.features.workflows.step import StepRun

PATH = "/datamachine/v1/webhooks"
MOST_GATE_BYTES = 64_000  # of the body that opens a gate
_SECRET_BYTES = 16


def run_webhook_gate(run: StepRun) -> StepOutcome:
    """Wait for a call; after the call, give its body as a packet beside the text it approves."""
    if run.signal is not None:
        run.parts.files.remove_gate(run.job, run.step.id)
        if run.signal.get("approved") is False:
            return StepOutcome(status="failed", reason="The call at the gate did not approve it.")
        packet = create_packet("webhook", {"body": dict(run.signal)}, now=run.parts.clock())
        return StepOutcome(packets=(packet,))
    secret = secrets.token_urlsafe(_SECRET_BYTES)
    # Only the operator gets the address; others who see the job, models too, see that it waits.
    address = format_address(run.job.id, run.step.id, secret)
    run.parts.files.write_gate(run.job, run.step.id, address)
    return StepOutcome(
        status="waiting",
        reason=f"It waits for a call; looseleaf jobs gate {run.job.id} shows the address.",
        gate=digest_secret(secret),
        wait_seconds=float(run.settings.get("expires_seconds", DAY_SECONDS)),
    )


def format_address(job_id: int, step_id: str, secret: str) -> str:
    """Return the path of the one-time address of a gate."""
    return f"{PATH}/{job_id}/{step_id}/{secret}"


def digest_secret(secret: str) -> str:
    """Return the digest of a gate's secret, which is stored and compared with that of a call."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


WEBHOOK_GATE = StepType(
    name="webhook_gate",
    label="Webhook gate",
    description="Wait for an inbound call to a one-time address before the next step runs.",
    run=run_webhook_gate,
    gives=("webhook",),
    settings={
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "expires_seconds": {
                "type": "integer",
                "minimum": 60,
                "maximum": 30 * DAY_SECONDS,
                "default": DAY_SECONDS,
                "title": "Seconds until it closes",
                "description": "How long the address works; the job fails when nobody has called.",
            }
        },
    },
)
