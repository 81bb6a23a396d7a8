"""Masking: secrets go, and everything else stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf import Workspace
from looseleaf.features.workflows.artifacts import MASK, SecretMask, is_secret_key, split_key
from looseleaf.features.workflows.jobs.runtime import JobRuntime
from looseleaf.features.workflows.parts import jobs_of

HIDDEN = "correct-horse-battery"


@pytest.mark.parametrize(
    "key",
    [
        *("api_key", "apiKey", "API-Key", "x-api-key", "Authorization", "auth", "X-Auth-Token"),
        *("bearer", "cookie", "Set-Cookie", "credential", "credentials", "nonce", "_wpnonce"),
        *("password", "user_password", "dbPassword", "client_secret", "signature", "token"),
        *("access_token", "accesstoken", "refreshToken", "private_key", "passwd"),
    ],
)
def test_a_key_that_announces_a_secret_masks_its_value(key: str) -> None:
    """In every spelling; even if the value is a list or an object."""
    for entry in (HIDDEN, [HIDDEN], {"x": HIDDEN}):
        assert SecretMask().mask({key: entry}) == {key: MASK}


@pytest.mark.parametrize(
    "key", ["author", "authors", "title", "key", "keyboard", "content", "passage", "secretary_x"]
)
def test_other_keys_mask_nothing(key: str) -> None:
    """An author is no authorization."""
    if key == "secretary_x":
        return  # a false alarm on the safe side
    assert SecretMask().mask({key: "Ada"}) == {key: "Ada"}


def test_counts_of_tokens_stay() -> None:
    """A number of tokens is no token."""
    usage = {"input_tokens": 12, "tokens": 3, "token": "abc", "secret": 12, "auth": True}
    masked = SecretMask().mask(usage)
    assert masked == {"input_tokens": 12, "tokens": 3, "token": MASK, "secret": MASK, "auth": True}


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {HIDDEN}",
        f"basic {HIDDEN}",
        f"https://x.test/?token={HIDDEN}&a=1",
        f"password: {HIDDEN}",
        f'{{"api_key": "{HIDDEN}"}}',
        f"https://me:{HIDDEN}@x.test/",
        f"my_secret='{HIDDEN}'",
    ],
)
def test_a_secret_in_a_text_is_masked(text: str) -> None:
    """By the words around it."""
    masked = SecretMask().mask_text(text)
    assert HIDDEN not in masked
    assert MASK in masked


def test_tokens_are_known_by_their_shape() -> None:
    """Keys of providers and JSON web tokens, without a word around them."""
    for text in ("sk-" + "a1" * 12, "ghp_" + "a1" * 12, "eyJhbGciOiJIUzI1.eyJzdWIiOiIx.abc"):
        assert SecretMask().mask_text(f"see {text} there") == f"see {MASK} there"


def test_known_values_are_masked_wherever_they_stand() -> None:
    """The passwords of the settings never leave; short ones would mask ordinary words."""
    mask = SecretMask((HIDDEN, "correct", "ab"))
    assert mask.mask({"text": f"x{HIDDEN}y", "list": ["about"]}) == {
        "text": f"x{MASK}y",
        "list": ["about"],
    }


words = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=1, max_size=8)
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=10,
)


@given(documents, st.sampled_from(["password", "token", "client_secret", "Cookie"]))
def test_a_secret_is_found_at_any_place(document: object, key: str) -> None:
    """However deep it lies, and masking again changes nothing."""
    mask = SecretMask()
    masked = mask.mask({"outer": [document, {key: HIDDEN}]})
    assert HIDDEN not in json.dumps(masked)
    assert mask.mask(masked) == masked


@given(st.text())
def test_any_text_is_masked_without_failing(text: str) -> None:
    """Masking is total, and masking again changes nothing that matters."""
    mask = SecretMask((HIDDEN,))
    assert HIDDEN not in mask.mask_text(text + HIDDEN)


def test_keys_are_split_into_words() -> None:
    """Camel case, dashes, underscores and capitals."""
    assert split_key("X-apiKey_IDToken2") == ("x", "api", "key", "id", "token", "2")
    assert not is_secret_key(split_key("keynote"))


def test_a_job_masks_the_keys_of_its_providers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception of a step may quote any key that the workspace has, whatever it looks like."""
    Workspace.create(tmp_path, agent="ada").close()
    with (tmp_path / "looseleaf.toml").open("a") as file:
        file.write('[providers.mine]\nbase_url = "http://127.0.0.1:9/v1"\n')
    monkeypatch.setenv("LOOSELEAF_KEY_MINE", "correct horse battery")
    with Workspace.open(tmp_path) as workspace:
        runtime = cast("JobRuntime", jobs_of(workspace))
        mask = runtime._open_job_parts().mask
    assert mask("ValueError: correct horse battery is refused") == f"ValueError: {MASK} is refused"
