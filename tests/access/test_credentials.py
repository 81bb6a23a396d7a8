"""Secrets: nobody can guess them, and what is stored does not give them away."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.access import authentication

HEX = st.text("0123456789abcdef", min_size=1, max_size=48)


@given(st.sampled_from(sorted(authentication.PREFIXES)), HEX, HEX)
def test_what_is_written_is_read(kind: str, identity: str, secret: str) -> None:
    """Kind, public id and secret."""
    text = authentication.format_credential(kind, identity, secret)
    assert authentication.parse_credential(text) == (kind, identity, secret)


@given(st.data())
def test_one_wrong_sign_is_noticed(data: st.DataObject) -> None:
    """By the checksum, before anything is looked up."""
    text = authentication.format_credential(
        "token", authentication.create_id(), authentication.create_secret()
    )
    at = data.draw(st.integers(0, len(text) - 1))
    sign = data.draw(st.characters().filter(lambda item: item != text[at]))
    assert authentication.parse_credential(text[:at] + sign + text[at + 1 :]) is None


@given(st.text())
def test_any_text_can_be_shown(text: str) -> None:
    """What is no credential is none, and never an error."""
    assert authentication.parse_credential(text) is None
    assert not authentication.is_secret(text, "")


def test_a_secret_has_192_bits() -> None:
    """And no two are alike."""
    assert len(authentication.create_secret()) == 48
    assert len({authentication.create_secret() for _ in range(100)}) == 100


def test_an_application_password_looks_as_in_wordpress() -> None:
    """Six groups of four, which may be typed without the gaps."""
    password = authentication.create_application_password()
    assert re.fullmatch(r"([A-Za-z0-9]{4} ){5}[A-Za-z0-9]{4}", password)
    assert authentication.normalize_password(f" {password}\n") == password.replace(" ", "")


def test_a_stored_secret_does_not_give_it_away() -> None:
    """It is a hash, and only that secret has it."""
    secret = authentication.create_secret()
    stored = authentication.hash_secret(secret)
    assert secret not in stored
    assert authentication.is_secret(secret, stored)
    assert not authentication.is_secret(secret[:-1], stored)


@pytest.mark.parametrize("password", ["correct horse", "pässword…", "\ud800", ""])
def test_a_password_is_known_again(password: str) -> None:
    """Stored with a salt of its own, by a slow hash."""
    stored = authentication.hash_password(password)
    assert stored.startswith("scrypt$32768$8$3$")
    assert authentication.is_password(password, stored)
    assert not authentication.is_password(password + "x", stored)


def test_an_account_without_a_password_has_none_that_fits() -> None:
    """Not even the empty one."""
    assert not authentication.is_password("", "")
