"""Pages as a prompt shows them are not remembered again, whatever the way of writing."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.access.principals import Principal
from looseleaf.catalog.dispatch import invoke
from looseleaf.catalog.operation import CATALOG
from looseleaf.catalog.schemas import build_input_schema
from looseleaf.errors.pages import AssembledText
from looseleaf.prompt.outputs import Source, format_block, holds_block

BLOCK = format_block(Source(file="MEMORY.md", layer="agent", bytes=15), "## Facts\n\n- one")
VARIANTS = {
    "as it is": BLOCK,
    "with line ends of Windows": BLOCK.replace("\n", "\r\n"),
    "with carriage returns": BLOCK.replace("\n", "\r"),
    "quoted": "\n".join(f"> {line}" for line in BLOCK.split("\n")),
    "indented": "\n".join(f"    {line}" for line in BLOCK.split("\n")),
    "after a mark of byte order": "\ufeff" + BLOCK,
    "its end alone": BLOCK.split("\n")[-1],
    "with spaces at the end": BLOCK.replace("\n", "  \n"),
}
WRITES = sorted(
    name
    for name, operation in CATALOG.items()
    if operation.changes_page
    and {"content", "data", "new"} & set(build_input_schema(operation)["properties"])
)


@pytest.mark.parametrize("text", VARIANTS.values(), ids=VARIANTS.keys())
def test_a_block_is_recognized(text: str) -> None:
    """Even if a program has changed what is around its lines."""
    assert holds_block(f"Notes:\n{text}\nmore")


def test_what_only_speaks_of_blocks_is_no_block() -> None:
    """In the middle of a sentence, without a fence, or of another name."""
    for text in ('A block begins with <page file="x" fence="…">.', "<page>", "</page>", "fence="):
        assert not holds_block(text)


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("text", VARIANTS.values(), ids=VARIANTS.keys())
def test_no_model_stores_a_block(name: str, text: str, workspace: Workspace) -> None:
    """By no operation that writes, uploads in base64 among them."""
    shape = build_input_schema(CATALOG[name])["properties"]
    samples: dict[str, object] = {
        "content": text,
        "data": b64encode(text.encode()).decode(),
        "date": "2026-04-17",
        "file": "notes.md",
        "new": text,
        "old": "one",
        "section": "Facts",
    }
    samples["mode"] = "append"
    given = {key: sample for key, sample in samples.items() if key in shape}
    token = Principal(
        kind="token",
        user_id=1,
        name="ada",
        agent_id=1,
        role="operator",
        ceiling=frozenset(("chat",)),
    )
    context = workspace.acting(principal=token, surface="test")
    with pytest.raises(AssembledText):
        invoke(context, name, given)


NESTED: dict[str, dict[str, Any]] = {
    "looseleaf/create-flow": {"pipeline": "x", "name": "x", "prompt_queue": ["one", BLOCK]},
    "looseleaf/create-pipeline": {
        "name": "x",
        "steps": [{"type": "input", "settings": {"source": "text", "text": BLOCK}}],
    },
    "datamachine/execute-workflow": {
        "agent": "ada",
        "steps": [{"type": "ai"}],
        "initial_packets": [{"type": "item", "data": {"content": BLOCK}}],
    },
    "looseleaf/open-gate": {"job": 1, "body": {"answers": [{"text": BLOCK}]}},
    "datamachine/upload-flow-file": {
        "pipeline": "x",
        "file": "a.txt",
        "data": b64encode(BLOCK.encode()).decode(),
    },
}


@pytest.mark.parametrize("name", NESTED)
def test_no_model_stores_a_block_in_a_workflow(name: str, workspace: Workspace) -> None:
    """However deep in the arguments: the next prompt of the pipeline would have it."""
    token = Principal(
        kind="token", user_id=1, name="ada", capabilities=frozenset(("manage_options",))
    )
    context = workspace.acting(principal=token, surface="test")
    with pytest.raises(AssembledText):
        invoke(context, name, NESTED[name])


def test_every_way_to_write_is_tried() -> None:
    """The list above is not empty by mistake."""
    assert {"datamachine/upload-agent-file", "memory_long_term_update"} < set(WRITES)
