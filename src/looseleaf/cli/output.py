"""Output to the terminal or a pipe: pages, messages, JSON, errors and exit codes."""

from __future__ import annotations

import os
import sys

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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FAILED, USAGE, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141
EXIT_CODES: tuple[tuple[type[LooseleafError], int], ...] = (
    (ExtraMissing, 7),
    (Invalid, USAGE),
    (NotFound, 3),
    (Ambiguous, 3),
    (Refused, 4),
    (Conflicted, 5),
    (Unavailable, 6),
)
_CONFLICTS = ("session_busy", "turn_lost")  # of conversations, whose errors few commands import
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
# Visible format characters: the number and verse signs of some scripts.
_VISIBLE = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd")
_JOINERS = ("\u200c", "\u200d")
_FIRST_JOINED = "\u0590"  # scripts before this one use no joiners
_ERROR_KEYS = {"filename": "file"}  # every other document has the key "file"


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
    kind = Conflicted if error.code in _CONFLICTS else type(error)
    return next((code for family, code in EXIT_CODES if issubclass(kind, family)), FAILED)


def complain(message: str, *, error: LooseleafError | None = None, as_json: bool = False) -> None:
    """Print an error on standard error, in one line or as one JSON document."""
    if as_json:
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
    """Return whether the output is a terminal."""
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


def escape(text: str) -> str:
    """Escape characters that a terminal would obey or hide; line ends and tabs stay."""
    hidden_signs = {sign for sign in set(text) if is_hidden(sign)}
    if not hidden_signs:
        return text
    return "".join(
        [
            _escape_sign(sign) if sign in hidden_signs and not _has_normal_use(text, at) else sign
            for at, sign in enumerate(text)
        ]
    )


def escape_line(text: str) -> str:
    """Escape text into one line, without characters that a terminal would obey or hide."""
    for sign, code in (("\r", "\\r"), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(sign, code)
    return escape(text)


def is_hidden(sign: str) -> bool:
    """Return whether a terminal would obey or hide this character instead of showing it."""
    if sign.isprintable() or sign in "\n\t" or sign in _VISIBLE:
        return False
    import unicodedata

    return unicodedata.category(sign) in _HIDDEN


def _has_normal_use(text: str, at: int) -> bool:
    """Return whether a character has its normal use: ending a line, joining scripts or emoji."""
    if text[at] == "\r":
        return text[at + 1 : at + 2] == "\n"
    neighbors = text[at - 1 : at] + text[at + 1 : at + 2]
    return text[at] in _JOINERS and len(neighbors) == 2 and all(map(_is_joinable, neighbors))


def _is_joinable(sign: str) -> bool:
    return sign >= _FIRST_JOINED and not is_hidden(sign)


def _escape_sign(character: str) -> str:
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x1_0000 else f"\\U{number:08x}"


def encode_error(message: str, error: LooseleafError | None) -> str:
    """Write an error as one JSON document: its code, its message and its fields."""
    attributes = vars(error) if error else {}
    fields = {_ERROR_KEYS.get(name, name): _to_json(field) for name, field in attributes.items()}
    code = error.code if error else "usage"
    return encode_document({"error": {"code": code, "message": message, **fields}})


def encode_document(document: Mapping[str, object], *, indent: int | None = 2) -> str:
    """Write a document as JSON."""
    import json

    text = json.dumps(document, ensure_ascii=False, indent=indent) + "\n"
    # The same document for a program, without any character that a terminal would obey.
    for sign in filter(is_hidden, set(text)):
        units = sign.encode("utf-16-be", "surrogatepass").hex()
        text = text.replace(
            sign, "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
        )
    return text


def _to_json(field: object) -> object:
    if isinstance(field, tuple):
        return [_to_json(item) for item in field]
    return field if isinstance(field, str | int | float | None) else str(field)
