"""Agent frameworks: the base resolves beside them, and the example of each one remembers."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from looseleaf import Workspace
from tests.installing import ROOT, build_environment, build_wheel, find_uv, run, workshop
from tests.models.scripted import Reply, Scripted, Send, _send_whole, serve_script
from tests.models.scripted_google import SIGNATURE, ScriptedGoogle

__all__ = ["workshop"]  # a fixture

PAGE = (ROOT / "docs" / "frameworks.md").read_text(encoding="utf-8")
EXAMPLES = ROOT / "docs" / "examples" / "frameworks"
FACT = "we never deploy on Fridays"
QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "OTEL_SDK_DISABLED": "true",
}


class Framework(NamedTuple):
    """A row of the table of docs/frameworks.md."""

    name: str
    example: str
    packages: list[str]


FRAMEWORKS = [
    Framework(name, example, packages.split())
    for name, example, packages in re.findall(
        r"^\| ([^|]+) \| \[(\w+)\.py\]\([^)]+\) \| `([^`]+)` \|$", PAGE, re.MULTILINE
    )
]
NAMES = [item.example for item in FRAMEWORKS]
# Beside these the base must resolve, whatever it comes to depend on.
PROMISED = {"langgraph", "crewai", "openai-agents", "pydantic-ai-slim", "google-adk"}


def test_every_example_is_in_the_table() -> None:
    """And the five frameworks that the README promises are among them."""
    assert sorted(NAMES) == sorted(path.stem for path in EXAMPLES.glob("*.py"))
    packages = {
        re.split(r"\W", name.replace("-", "_"))[0] for item in FRAMEWORKS for name in item.packages
    }
    assert {name.replace("-", "_") for name in PROMISED} <= packages


class ByName(Scripted):
    """Calls tools by the names they are given, which some frameworks put words before."""

    async def answer(self, send: Send, asked: dict[str, Any], reply: Reply) -> None:
        """Find each tool by the end of its name."""
        names = [item["function"]["name"] for item in asked.get("tools", ())]
        calls = tuple((next(item for item in names if item.endswith(n)), a) for n, a in reply.calls)
        await super().answer(send, asked, dataclasses.replace(reply, calls=calls))


class WholeGoogle(ScriptedGoogle):
    """Gives an answer in one piece."""

    async def answer(self, send: Send, asked: dict[str, Any], reply: Reply) -> None:  # noqa: ARG002
        """Say it as `generateContent` does."""
        parts: list[dict[str, Any]] = [{"text": reply.text}] if reply.text else []
        for name, given in reply.calls:
            call = {"functionCall": {"name": name, "args": given}}
            parts.append({**call, "thoughtSignature": SIGNATURE})
        content = {"role": "model", "parts": parts}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        candidate = {"content": content, "index": 0, "finishReason": "STOP"}
        told = {"candidates": [candidate], "modelVersion": "scripted", "usageMetadata": usage}
        await _send_whole(send, 200, json.dumps(told))


# The fact is written down in the first session; the second only answers.
REMEMBER = ("append_agent_memory", {"section": "Facts", "content": f"- {FACT}"})
REPLIES = (Reply(calls=(REMEMBER,)), Reply("Noted."), Reply("Not today."))


def fields(**texts: str) -> Reply:
    """Answer as DSPy asks for it: every field below a line with its name."""
    named = "".join(f"[[ ## {name} ## ]]\n{text}\n\n" for name, text in texts.items())
    return Reply(f"{named}[[ ## completed ## ]]")


def tool_fields(name: str, arguments: dict[str, str]) -> Reply:
    """Call a tool in DSPy's own words."""
    return fields(
        next_thought="So be it.", next_tool_name=name, next_tool_args=json.dumps(arguments)
    )


FINISH = tool_fields("finish", {})
DSPY_REPLIES = (
    tool_fields(*REMEMBER),
    FINISH,
    fields(reasoning="It is written.", answer="Noted."),
    FINISH,
    fields(reasoning="It is Friday.", answer="Not today."),
)


@pytest.mark.slow
@pytest.mark.parametrize("framework", FRAMEWORKS, ids=NAMES)
def test_the_example_remembers(framework: Framework, workshop: Path, tmp_path: Path) -> None:
    """What was said in the first session stands in the first request of the second."""
    programs = build_environment(
        workshop, framework.example, build_wheel(workshop), *framework.packages
    )
    root = Workspace.create(tmp_path / "memory", agent="ada").root
    model = WholeGoogle() if framework.example.startswith("google") else ByName()
    model.script(*(DSPY_REPLIES if framework.example.startswith("dspy") else REPLIES))
    with serve_script(model):
        done = run(
            programs / "python",
            EXAMPLES / f"{framework.example}.py",
            f"Remember that {FACT}.",
            "Shall we deploy?",
            LOOSELEAF_ROOT=root,
            PATH=f"{programs}:/usr/bin:/bin",
            OPENAI_BASE_URL=model.url,
            GOOGLE_GEMINI_BASE_URL=model.url,
            OPENAI_API_KEY="none",
            GOOGLE_API_KEY="none",
            HOME=str(tmp_path),
            **QUIET,
        )
    shutil.rmtree(programs.parent)  # some take a gigabyte
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.split("\n")[-3:] == ["Noted.", "Not today.", ""]
    assert FACT in Path(root, "agents/ada/MEMORY.md").read_text(encoding="utf-8")
    second = json.dumps(model.requests[-1])
    assert FACT in second
    assert "Remember that" not in second


def pins(tool: str, folder: Path, *requirements: str) -> dict[str, str]:
    """Resolve as an installer would; return the version of each package."""
    asked = folder / "asked.in"
    asked.write_text("\n".join(requirements))
    done = run(tool, "pip", "compile", "--quiet", "--no-header", "--no-annotate", asked)
    if "error sending request" in done.stderr or "Could not connect" in done.stderr:
        pytest.skip(f"no package index can be reached: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stderr
    return dict(re.findall(r"^([\w.-]+)==(\S+)", done.stdout, re.MULTILINE))


@pytest.mark.slow
@pytest.mark.parametrize("framework", FRAMEWORKS, ids=NAMES)
def test_the_base_changes_no_version_of_a_framework(
    framework: Framework, workshop: Path, tmp_path: Path
) -> None:
    """Beside it, a resolver takes the same versions as without it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tool = find_uv(workshop)
    alone = pins(tool, tmp_path, *framework.packages)
    beside = pins(tool, tmp_path, *framework.packages, *project["dependencies"])
    assert {name: beside[name] for name in alone} == alone
