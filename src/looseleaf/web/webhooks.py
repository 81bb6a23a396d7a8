"""Inbound calls to the one-time addresses of jobs that wait; the secret is the credential."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from looseleaf.errors.workflows import JobMissing
from looseleaf.web.http.authentication import address_of
from looseleaf.web.http.bodies import media_type_of, parse_object
from looseleaf.web.http.preconditions import refuse_precondition
from looseleaf.web.http.responses import answer
from looseleaf.web.rest.calls import authenticator_of, body_of, workers_of
from looseleaf.workflows.parts import jobs_of
from looseleaf.workflows.steps.webhook_gate import MOST_GATE_BYTES, digest_secret

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from looseleaf.plugins.endpoints import Endpoint

_MOST_DIGITS = 9


async def receive_call(request: Request, _endpoint: Endpoint) -> Response:
    """Wake the job that waits at an address, once; the body becomes a packet.

    The secret is compared before the body is read, by a query that locks nothing: a flood of calls
    without the secret costs little more than reading their headers.
    """
    refuse_precondition(request, "Waking a job")
    job, step, secret = (request.path_params[name] for name in ("job", "step", "secret"))
    if not (job.isascii() and job.isdecimal() and len(job) <= _MOST_DIGITS):
        raise JobMissing(0)
    workspace = authenticator_of(request).workspace
    workspace.root_folder.check_available_cached()
    jobs = jobs_of(workspace).jobs
    gate = digest_secret(secret)
    check = partial(jobs.has_gate, int(job), step, gate)
    if not await workers_of(request).read(address_of(request), check):
        raise JobMissing(int(job))  # as for a job that does not exist
    kind = media_type_of(request)
    body = await parse_object(await body_of(request, size=MOST_GATE_BYTES), kind)
    wake = partial(jobs.signal, int(job), step, body, gate=gate)
    status = (await workers_of(request).write(wake)).status
    return answer({"job_id": int(job), "status": status})
