"""The outcome of the daily-memory task: one of six, with sizes and reasons."""

from __future__ import annotations

from looseleaf.values import as_dict, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    Status = Literal["skipped", "unchanged", "compacted", "overflow_split", "rejected", "failed"]

STATUSES = ("skipped", "unchanged", "compacted", "overflow_split", "rejected", "failed")
LONGEST_ANSWER = 65_536  # characters of a refused answer that are kept for people to look at


@value
class RefusedAnswer:
    """An answer that was not accepted: which gate, why, and the sizes that were measured."""

    turn: int
    gate: str
    reason: str
    persistent_size: int
    archived_size: int


@value(kw_only=True)
class CompactionOutcome:
    """The end of one run for one agent; sizes are bytes.

    Fields:
        status: skipped, unchanged, compacted, overflow_split, rejected or failed.
        reason: Why, in one sentence.
        date: The day that the run belongs to.
        original_size: The size of MEMORY.md before.
        new_size: Its size afterwards.
        archived_size: The size of the lines that went to the journal.
        kept_lines: The number of lines that stayed.
        archived_lines: The number of lines that went.
        archive_file: The page of the journal that has them, or "" if none went.
        model: The model that was asked, or "" if none was.
        turns: How often it was asked.
        refusals: The answers that were not accepted.
        rejected_answer: The last of these answers; only its beginning if the answer is long.
        is_retryable: Whether a failure passes by itself.
        input_tokens: The tokens that the model read.
        output_tokens: The tokens that the model wrote.
    """

    status: Status
    reason: str
    date: str = ""
    original_size: int = 0
    new_size: int = 0
    archived_size: int = 0
    kept_lines: int = 0
    archived_lines: int = 0
    archive_file: str = ""
    model: str = ""
    turns: int = 0
    refusals: tuple[RefusedAnswer, ...] = ()
    rejected_answer: str = ""
    is_retryable: bool = False
    input_tokens: int = 0
    output_tokens: int = 0

    def details(self) -> dict[str, Any]:
        """Return the figures as plain JSON, with the names that Data Machine gives them."""
        fields = as_dict(self)
        for name in ("status", "reason", "is_retryable"):
            del fields[name]
        fields["refusals"] = [as_dict(refusal) for refusal in self.refusals]
        return {
            **fields,
            "skipped": self.status == "skipped",
            "no_change": self.status in ("skipped", "unchanged", "rejected", "failed"),
            "overflow_split": self.status == "overflow_split",
        }
