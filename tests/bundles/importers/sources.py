"""Folders with the layouts of other systems; the texts are our own."""

from __future__ import annotations

import hashlib
from pathlib import Path

OPENCLAW = {
    "AGENTS.md": "# Instructions\n\nRead SOUL.md before you answer.\n",
    "SOUL.md": "# Soul\n\nI am Pip, the agent of a small orchard.\n",
    "USER.md": "# User\n\n- Name: Ines\n- Timezone: Europe/Lisbon\n",
    "IDENTITY.md": "# Identity\n\n- Name: Pip\n- Emoji: a pear\n",
    "TOOLS.md": "# Tools\n\n- The weather station is at 10.0.0.7\n",
    "HEARTBEAT.md": "# Heartbeat\n\n- Look at the frost warning\n",
    "BOOTSTRAP.md": "Say hello and choose a name.\n",
    "MEMORY.md": "# Memory\n\n## Trees\n\n- Row 3 is Conference pears\n",
    "memory/2026-03-01.md": "# 2026-03-01\n\n- Pruned row 3\n",
    "memory/2026-03-01-1430.md": "- Ordered new shears\n",
    "memory/2026-03-02-frost-night.md": "- Lit the candles at 4 a.m.\n",
    "memory/orchard-plan.md": "# Plan\n\n- Plant quinces in autumn\n",
    "memory/.dreams/state.json": "{}\n",
    "memory/dreaming/deep/2026-03-01.md": "generated\n",
    "skills/spray/SKILL.md": "# Spray\n",
    "canvas/index.html": "<p>hello</p>\n",
}
DATAMACHINE = {
    "index.php": "<?php // Silence is golden.\n",
    "shared/SITE.md": "# Site\n\nGenerated.\n",
    "shared/RULES.md": "# Rules\n\n- Never publish without a picture\n",
    "shared/index.php": "<?php // Silence is golden.\n",
    "network/fleet.md": "# Fleet\n\n- Two sites\n",
    "agents/ada/SOUL.md": "# Soul\n\nI am Ada, the voice of a music paper.\n",
    "agents/ada/MEMORY.md": "# Agent Memory\n\n## State\n\n- The calendar moves on Friday\n",
    "agents/ada/content-strategy.md": "# Strategy\n\n- Two reviews a week\n",
    "agents/ada/daily/2026/03/16.md": "# 2026-03-16\n\n- Published the interview\n",
    "agents/ada/contexts/forum.md": "# Forum\n\n- Answers within a day\n",
    "agents/ada/users/1/USER_MEMORY.md": "# Ines and Ada\n\n- They write at night\n",
    "agents/ada/index.php": "<?php // Silence is golden.\n",
    "agents/scout/SOUL.md": "# Soul\n\nI am Scout, and I find news.\n",
    "users/1/USER.md": "# User\n\n- Name: Ines\n",
    "pipeline-3/context/style.md": "# Style\n",
    "pipeline-3/flow-4/jobs/job-9/data.json": "[]\n",
}


def write_tree(folder: Path, files: dict[str, str]) -> Path:
    """Write files below a folder."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def fingerprint(folder: Path) -> dict[str, str]:
    """Sum up every file below a folder, with its time of change."""
    return {
        str(file.relative_to(folder)): (
            f"{hashlib.sha256(file.read_bytes()).hexdigest()} {file.stat().st_mtime_ns}"
        )
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.is_symlink()
    }
