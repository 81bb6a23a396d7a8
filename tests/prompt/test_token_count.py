"""Counting tokens offline, by a name."""

from __future__ import annotations

from pathlib import Path

import pytest

from looseleaf import Workspace
from looseleaf.errors import InvalidSetting
from looseleaf.prompt.outputs import estimate_tokens, resolve_tokenizer


@pytest.mark.parametrize(
    ("text", "tokens"),
    # What o200k_base counts; the estimate is near even on texts as short as these.
    [
        ("The quick brown fox jumps over the lazy dog. " * 20, 201),
        ("- 2026-04-17: deployed v1.4.2 to example.com (issue #1423)\n" * 10, 250),
        ("## Lessons Learned\n\n- WP-CLI needs --allow-root on this server\n" * 10, 160),
    ],
)
def test_an_estimate_is_near(text: str, tokens: int) -> None:
    """Near enough for a budget."""
    assert 0.85 < estimate_tokens(text) / tokens < 1.15


def test_an_estimate_grows_with_the_text() -> None:
    """And nothing is nothing."""
    assert estimate_tokens("") == 0
    assert estimate_tokens("word " * 1000) == pytest.approx(
        10 * estimate_tokens("word " * 100), rel=0.02
    )


def test_a_tokenizer_that_would_have_to_download_is_refused(tmp_path: Path) -> None:
    """Nobody is called unasked."""
    for name, folder in (("o200k_base", ""), ("o200k_base", str(tmp_path)), ("gpt2", "")):
        with pytest.raises(InvalidSetting):
            resolve_tokenizer(name, folder)


def test_the_tokenizer_is_a_setting(workspace: Workspace) -> None:
    """A name that is not known says which are."""
    Path(workspace.root, "looseleaf.toml").write_text('tokenizer = "abacus"\n')
    with pytest.raises(InvalidSetting, match="estimate, cl100k_base, o200k_base"):
        Workspace.open(workspace.root).compose("chat", "ada")
