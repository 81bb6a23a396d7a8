"""Output to the terminal or a pipe: pages, one-line messages, errors and exit codes."""

from __future__ import annotations

import os
import sys

from looseleaf.cli.escapes import escape, escape_line
from looseleaf.errors import (
    Ambiguous,
    Conflicted,
    ExtraMissing,
    Invalid,
    LooseleafError,
    NotFound,
    Refused,
    Unavailable,
)
from looseleaf.errors.chat import SessionBusy, TurnLost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

FAILED, USAGE, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141
EXIT_CODES: tuple[tuple[type[LooseleafError], int], ...] = (
    (ExtraMissing, 7),
    (Invalid, USAGE),
    (NotFound, 3),
    (Ambiguous, 3),
    (Refused, 4),
    (Conflicted, 5),
    (SessionBusy, 5),
    (TurnLost, 5),
    (Unavailable, 6),
)


def run_command(work: Callable[[], int | None], *, as_json: bool = False) -> int:
    """Run a command, report its error if there is one, and return its exit code."""
    try:
        return work() or 0
    except LooseleafError as error:
        complain(str(error), error=error, as_json=as_json)
        return exit_code_of(error)
    except BrokenPipeError:
        _drop_broken_output()  # the reader has closed the pipe
        return BROKEN_PIPE
    except OSError as error:
        _drop_broken_output()
        unavailable = Unavailable(str(error.filename or "The output"), error.strerror)
        complain(str(unavailable), error=unavailable, as_json=as_json)
        return exit_code_of(unavailable)
    except KeyboardInterrupt:
        if sys.stderr is not None and sys.stderr.isatty():
            _to_stderr("\n")  # the shell's prompt begins on a line of its own
        return INTERRUPTED


def exit_code_of(error: LooseleafError) -> int:
    """Return the exit code for the kind of an error."""
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), FAILED)


def complain(message: str, *, error: LooseleafError | None = None, as_json: bool = False) -> None:
    """Print an error on standard error, in one line or as one JSON document."""
    if as_json:
        from looseleaf.cli.json_text import encode_error

        _to_stderr(encode_error(message, error))
    else:
        _to_stderr(f"looseleaf: {escape_line(message)}\n")


def warn(message: str) -> None:
    """Print a warning on standard error."""
    _to_stderr(f"looseleaf: warning: {escape_line(message)}\n")


def note(message: str) -> None:
    """Print a note on standard error."""
    _to_stderr(f"{escape_line(message)}\n")


def show_progress(activity: str, done_count: int, total: int) -> None:
    """Show the progress of long work on a terminal; nothing is printed for a program."""
    if sys.stderr is not None and sys.stderr.isatty():
        _to_stderr(f"looseleaf: {activity}: {done_count} of {total}\n")


def say(line: str = "") -> None:
    """Print one line without control characters for the terminal."""
    _write((escape_line(line) + "\n").encode(_find_encoding(), "backslashreplace"))


def show(raw: bytes, *, exact: bool = False) -> None:
    """Print a page exactly as it is; on a terminal, escape its control characters."""
    if exact or not on_terminal():
        _write(raw)
        return
    text = escape(raw.decode("utf-8", "replace"))
    if text and not text.endswith("\n"):
        text += "\n"
    _write(text.encode(_find_encoding(), "backslashreplace"))


def print_text(text: str) -> None:
    """Print trusted text as it is."""
    _write(text.encode(_find_encoding(), "backslashreplace"))


def on_terminal() -> bool:
    """Say whether the output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def count_columns() -> int:
    """Return the number of columns of the terminal; without one, lines are unlimited."""
    try:
        width = os.get_terminal_size(sys.stdout.fileno()).columns if on_terminal() else 0
    except OSError:
        width = 0
    return width or sys.maxsize


def _find_encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "utf-8"


def _write(data: bytes) -> None:
    if sys.stdout is None:
        raise BrokenPipeError
    sys.stdout.flush()
    out, remaining_bytes = sys.stdout.buffer, memoryview(data)
    while remaining_bytes:
        written_count = out.write(remaining_bytes)  # an unbuffered stream may write only a part
        remaining_bytes = remaining_bytes[written_count:]
    out.flush()


def _drop_broken_output() -> None:
    """Drop unwritten output, else Python tries to write it again at exit, and fails."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        sys.stdout = None


def _to_stderr(text: str) -> None:
    try:
        if sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()
    except OSError:
        return  # no output is left; the exit code still shows the failure
