"""Bytes in an argument of an operation, as base64."""

from __future__ import annotations

from base64 import b64decode

from looseleaf.errors import InvalidArgument


def decode_data(data: str) -> bytes:
    """Return the bytes of the argument `data`, or raise `InvalidArgument`."""
    try:
        return b64decode(data, validate=True)
    except ValueError:
        raise InvalidArgument("data", "it is not base64") from None
