"""The memory of a job: its packets as a file that grows, and what is cleared when it ends."""

from __future__ import annotations

from looseleaf.chat.parts import chats_of
from looseleaf.errors import LooseleafError
from looseleaf.errors.chat import SessionBusy
from looseleaf.workflows.artifacts.masking import SecretMask, list_secrets
from looseleaf.workflows.packet import Packet, parse_packet
from looseleaf.workflows.parts import resources_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from looseleaf.catalog.context import Context
    from looseleaf.workflows.job import Job
    from looseleaf.workflows.job_list import Jobs, JobState


class JobMemory:
    """Follows jobs: writes `data.json` after each step, and clears up after the last.

    Every call may come again after a crash, and then writes the same bytes again.
    """

    def __init__(self, context: Context, jobs: Jobs) -> None:
        self._context, self._jobs = context, jobs
        self._mask = SecretMask(list_secrets(context.settings))

    def step_ended(self, state: JobState, step_id: str) -> None:  # noqa: ARG002 - as the contract has it
        """Write the packets of all steps so far, newest first."""
        packets = [
            Packet(packet.type, packet.timestamp, self._mask.mask(packet.data), packet.metadata)
            for packet in list_packets(state)
        ]
        resources_of(self._context.parts).files.write_packets(state.job, packets)

    def job_ended(self, job: Job) -> None:
        """Clear what the job no longer needs; a failure here leaves the job as it ended."""
        resources = resources_of(self._context.parts)
        try:
            self._delete_sessions(job)
            if job.status in ("failed", "cancelled"):
                resources.processed_items().release(job.id)
            if job.status == "failed" and self._context.settings.cleanup_job_data_on_failure:
                resources.files.remove_packets(job)
        except LooseleafError as error:
            self._context.parts.report(f"The memory of job {job.id} was not cleared", error)

    def _delete_sessions(self, job: Job) -> None:
        """Delete the conversations that the steps were saved in; transcripts are artifacts."""
        sessions = chats_of(self._context.parts).sessions
        for packet in list_packets(self._jobs.state(job.id)):
            session_id = packet.metadata.get("session_id", "")
            if packet.type == "ai_response" and session_id:
                try:
                    sessions.delete(session_id)
                except SessionBusy:
                    continue  # a process that seemed dead still writes; retention deletes it later


def list_packets(state: JobState) -> list[Packet]:
    """List the packets of a job, newest first, down to those it was started with."""
    packets = list(map(parse_packet, state.snapshot.get("packets", ())))
    for step in state.job.steps:
        outcome = state.outcomes.get(step.id)
        packets[:0] = outcome.packets if outcome else ()
    return packets
