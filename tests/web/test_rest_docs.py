"""docs/rest.md tells the truth: its commands run, and no address is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from looseleaf.web.app import HANDLERS
from tests.test_docs import blocks
from tests.web.fixtures import API, ENDPOINTS, Opens

PAGE = (Path(__file__).parents[2] / "docs" / "rest.md").read_text(encoding="utf-8")
NOT_THERE = {"/", "/docs"}  # pages for people, in docs/admin.md


@pytest.mark.skipif(not shutil.which("curl"), reason="there is no curl here")
def test_the_commands_of_the_page_run(opens: Opens, tmp_path: Path) -> None:
    """Block by block, each line must succeed."""
    site = opens(daily_memory_enabled=True, default_model="echo")
    site.user("boss", capabilities=["manage_options"])
    environment = {
        "PATH": os.environ["PATH"],
        "BASE": site.base,
        "TOKEN": site.token(),
        "ADMIN": site.token(user="boss"),
        "LINK": site.run("looseleaf/create-login-link")["token"],
        "no_proxy": "*",
    }
    for block in blocks(PAGE):
        if block.tag == "sh":
            done = subprocess.run(
                ["sh", "-exc", block.text],
                env=environment,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, f"line {block.line}:\n{done.stdout}\n{done.stderr}"


def test_every_address_stands_in_the_page() -> None:
    """With every method."""
    told = set(re.findall(r"`(GET|PUT|POST|PATCH|DELETE) (/[^`]*)`", PAGE))
    served = {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}
    for path, by_method in HANDLERS.items():
        plain = re.sub(r":\w+}", "}", path).removeprefix(API)
        served |= {(method, plain) for method in by_method if path not in NOT_THERE}
    served -= {("GET", "/login")}
    for method, path in sorted(served):
        same = method in ("POST", "PATCH") and ("PUT", path) in told  # they do the same
        assert (method, path) in told or same, f"{method} {path}"
