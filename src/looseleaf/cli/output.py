"""What goes to the terminal or the pipe: pages, one-line messages, errors and their exit codes."""

from __future__ import annotations

import os
import sys
import unicodedata

from looseleaf.errors import (
    Ambiguous,
    Conflicted,
    ExtraMissing,
    Invalid,
    LooseleafError,
    NotFound,
    Refused,
    SessionBusy,
    TurnLost,
    Unavailable,
)

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

_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
# Format characters that are seen: the number and verse signs of some scripts.
_SEEN = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd")
_JOINERS = ("\u200c", "\u200d")
_FIRST_JOINED = "\u0590"  # no script before this one is written with joiners


def answered(work: Callable[[], int | None], *, as_json: bool = False) -> int:
    """Do the work of a command; give its exit code, with the error said if there is one."""
    try:
        return work() or 0
    except LooseleafError as error:
        complain(str(error), error=error, as_json=as_json)
        return exit_code(error)
    except BrokenPipeError:
        _drop_broken_output()  # whoever read it has enough
        return BROKEN_PIPE
    except OSError as error:
        _drop_broken_output()
        unavailable = Unavailable(str(error.filename or "The output"), error.strerror)
        complain(str(unavailable), error=unavailable, as_json=as_json)
        return exit_code(unavailable)
    except KeyboardInterrupt:
        if sys.stderr is not None and sys.stderr.isatty():
            _to_stderr("\n")  # the shell's prompt begins on a line of its own
        return INTERRUPTED


def exit_code(error: LooseleafError) -> int:
    """Choose the exit code that says what kind of error it was."""
    return next((code for kind, code in EXIT_CODES if isinstance(error, kind)), FAILED)


def complain(message: str, *, error: LooseleafError | None = None, as_json: bool = False) -> None:
    """Say on standard error what went wrong, in one line or as one JSON document."""
    if as_json:
        from looseleaf.cli.formats import error_text

        _to_stderr(error_text(message, error))
    else:
        _to_stderr(f"looseleaf: {escaped_line(message)}\n")


def warn(message: str) -> None:
    """Say on standard error what is not wrong, but should be known."""
    _to_stderr(f"looseleaf: warning: {escaped_line(message)}\n")


def note(message: str) -> None:
    """Say on standard error what happens meanwhile."""
    _to_stderr(f"{escaped_line(message)}\n")


def show_progress(what: str, done: int, total: int) -> None:
    """Tell a person who waits how far long work has come; a program is not disturbed."""
    if sys.stderr is not None and sys.stderr.isatty():
        _to_stderr(f"looseleaf: {what}: {done} of {total}\n")


def say(line: str = "") -> None:
    """Print one line in which nothing can take control of the terminal."""
    _write((escaped_line(line) + "\n").encode(_encoding(), "backslashreplace"))


def show(raw: bytes, *, exact: bool = False) -> None:
    """Print a page: exactly as it is, except on a terminal, which it must not take control of."""
    if exact or not on_terminal():
        _write(raw)
        return
    text = escaped(raw.decode("utf-8", "replace"))
    if text and not text.endswith("\n"):
        text += "\n"
    _write(text.encode(_encoding(), "backslashreplace"))


def print_text(text: str) -> None:
    """Print text of our own as it is."""
    _write(text.encode(_encoding(), "backslashreplace"))


def on_terminal() -> bool:
    """Say whether a person is looking at the output."""
    return sys.stdout is not None and sys.stdout.isatty()


def columns() -> int:
    """Count the columns of the terminal; without one there is no end to a line."""
    try:
        found = os.get_terminal_size(sys.stdout.fileno()).columns if on_terminal() else 0
    except OSError:
        found = 0
    return found or sys.maxsize


def escaped(text: str) -> str:
    """Make visible what a terminal would obey or hide; line ends and tabs stay."""
    hidden = {sign for sign in set(text) if hides(sign)}
    if not hidden:
        return text
    return "".join(
        [
            _code(sign) if sign in hidden and not _belongs(text, at) else sign
            for at, sign in enumerate(text)
        ]
    )


def escaped_line(text: str) -> str:
    """Make text fit into one line, with nothing in it that a terminal would obey or hide."""
    for sign, code in (("\r", "\\r"), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(sign, code)
    return escaped(text)


def hides(sign: str) -> bool:
    """Say whether a terminal would obey or hide this sign rather than show it."""
    plain = sign in "\n\t" or sign in _SEEN
    return not plain and unicodedata.category(sign) in _HIDDEN


def _belongs(text: str, at: int) -> bool:
    """Say whether a sign does what it is for: end a line, or join what scripts and emoji join."""
    if text[at] == "\r":
        return text[at + 1 : at + 2] == "\n"
    around = text[at - 1 : at] + text[at + 1 : at + 2]
    return text[at] in _JOINERS and len(around) == 2 and all(map(_joined, around))


def _joined(sign: str) -> bool:
    return sign >= _FIRST_JOINED and not hides(sign)


def _code(character: str) -> str:
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x1_0000 else f"\\U{number:08x}"


def _encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "utf-8"


def _write(data: bytes) -> None:
    if sys.stdout is None:
        raise BrokenPipeError
    sys.stdout.flush()
    out, rest = sys.stdout.buffer, memoryview(data)
    while rest:
        rest = rest[out.write(rest) :]  # an unbuffered stream may take less than it is given
    out.flush()


def _drop_broken_output() -> None:
    """Forget what could not be written, else Python tries again on its way out, and complains."""
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
        return  # there is nowhere left to say it; the exit code still tells
