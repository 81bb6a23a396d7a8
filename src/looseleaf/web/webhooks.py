"""Inbound calls to the one-time addresses of jobs that wait; the secret is the proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio.to_thread import run_sync

from looseleaf.errors.workflows import JobMissing
from looseleaf.web.http.bodies import media_type, parse_object
from looseleaf.web.http.preconditions import refuse_precondition
from looseleaf.web.http.responses import answer
from looseleaf.web.rest.calls import authenticator_of, body_of
from looseleaf.workflows.steps.webhook_gate import MOST_GATE_BYTES, PATH, digest_secret

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from looseleaf.workspace import Workspace

ADDRESS = f"{PATH}/{{job}}/{{step}}/{{secret}}"
_MOST_DIGITS = 9


async def receive_call(request: Request) -> Response:
    """Wake the job that waits at an address, once; the body becomes a packet."""
    refuse_precondition(request, "Waking a job")
    kind = media_type(request)
    body = await parse_object(await body_of(request, size=MOST_GATE_BYTES), kind)
    workspace = authenticator_of(request).workspace
    job, step, secret = (request.path_params[name] for name in ("job", "step", "secret"))
    if not (job.isascii() and job.isdecimal() and len(job) <= _MOST_DIGITS):
        raise JobMissing(0)
    status = await run_sync(_signal, workspace, int(job), step, secret, body)
    return answer({"job_id": int(job), "status": status})


def _signal(
    workspace: Workspace, job_id: int, step_id: str, secret: str, body: dict[str, object]
) -> str:
    job = workspace.workflow_jobs().jobs.signal(job_id, step_id, body, gate=digest_secret(secret))
    return job.status
