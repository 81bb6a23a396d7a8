"""The folders of the agents of a test's root; apart, so that drivers need not load all fixtures."""

from __future__ import annotations

AGENTS = {1: "ada", 2: "bob"}
