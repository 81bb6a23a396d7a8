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

NANOBOT = {
    "SOUL.md": "# Soul\n\nI am Nib.\n",
    "USER.md": "# User\n\n- Name: Ines\n",
    "AGENTS.md": "# Instructions\n\n- Be brief\n",
    "TOOLS.md": "# Tools\n\n- A printer\n",
    "memory/MEMORY.md": "# Long-term Memory\n\n- The printer needs blue ink\n",
    "memory/HISTORY.md": (
        "[2026-03-01 09:15] Printed the labels.\n\n"
        "[2026-03-01 17:40] Ordered ink.\n\nThe shop had none.\n\n"
        "[2026-03-02 08:00] Ink arrived.\n\n"
    ),
    "skills/print/SKILL.md": "# Print\n",
    "sessions/cli_direct.jsonl": "{}\n",
}
NANOBOT_NEW = {
    "SOUL.md": "# Soul\n\nI am Nib.\n",
    "memory/MEMORY.md": "# Memory\n\n- Blue ink\n",
    "memory/history.jsonl": (
        '{"cursor": 1, "timestamp": "2026-03-01 09:15", "content": "Printed the labels."}\n'
        '{"cursor": 2, "timestamp": "2026-03-02 08:00", "content": "Ink arrived."}\n'
        "not json\n"
        '{"cursor": 3, "timestamp": "soon", "content": "x"}\n'
    ),
}
HERMES = {
    "SOUL.md": "# Soul\n\nI carry messages.\n",
    "config.yaml": "model: x\n",
    "state.db": "x",
    "memories/MEMORY.md": (
        "The house runs Debian 12\n§\nThe router is in the attic\nbeside the clock\n§\n"
    ),
    "memories/USER.md": "Prefers short answers\n§\nWorks at night",
    "memories/ARCHIVE.jsonl": '{"target": "memory", "entry": "The old router was gray"}\n[1]\n{}\n',
    "profiles/garden/memories/MEMORY.md": "x\n",
    "skills/a/SKILL.md": "x\n",
}
LETTA = {
    "system/persona.md": "---\ndescription: Who I am\nlimit: 2000\n---\n\nI am Lark, and I sing.\n",
    "system/human.md": "---\ndescription: The human\n---\nInes likes mornings.\n",
    "system/human/schedule.md": "---\ndescription: Times\n---\n- Market on Saturday\n",
    "system/project/garden.md": (
        "---\ndescription: The garden\nread_only: true\n---\n- Beds face south\n"
    ),
    "reference/birds.md": "---\ndescription: Birds\n---\n# Birds\n\n- Larks\n",
    "skills/sing/SKILL.md": "x\n",
}
CLAWPRESS = {
    "SOUL.md": "# Soul\n\nI keep a shop.\n",
    "USER.md": "# User\n\n- Name: Ines\n",
    "memory.md": "# Memory\n\n- The shop closes at six\n",
    "memory-01032026.md": "Sold ten pears.\n",
    "memory-31022026.md": "no such day\n",
}
BASIC_MEMORY = {
    "garden/Pear Trees.md": (
        "---\ntitle: Pear Trees\ntype: note\npermalink: garden/pear-trees\n---\n\n"
        "# Pear Trees\n\n## Observations\n- [fact] Row 3 is pears #trees\n\n"
        "## Relations\n- grows_in [[Orchard]]\n"
    ),
    "Orchard.md": "---\ntitle: Orchard\ntype: note\npermalink: orchard\n---\n\n# Orchard\n",
    "map.canvas": "{}\n",
    ".obsidian/app.json": "{}\n",
}
CLAUDE_MEMORY = {
    "MEMORY.md": (
        "- [Role](user_role.md): Ines runs an orchard\n- [Tests](feedback_tests.md): run first\n"
    ),
    "user_role.md": (
        "---\nname: role\ndescription: Who\nmetadata:\n  type: user\n---\n\nInes runs an orchard.\n"
    ),
    "feedback_tests.md": (
        "---\nname: tests\ndescription: How\ntype: feedback\n---\n\nRun tests first.\n"
    ),
}
MCP_MEMORY = {
    "memory.jsonl": (
        '{"type":"entity","name":"Ines","entityType":"person","observations":["Runs an orchard"]}\n'
        '{"type":"entity","name":"Row 3","entityType":"tree row",'
        '"observations":["Is pears","Is old"]}\n'
        '{"type":"relation","from":"Ines","to":"Row 3","relationType":"prunes"}\n'
        '{"type":"relation","from":"Nobody","to":"Row 3","relationType":"eats"}\n'
        '{"type":"entity","name":"No facts"}\n'
        "broken\n"
    ),
}


def write_tree(folder: Path, files: dict[str, str]) -> Path:
    """Write files below a folder."""
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def compute_fingerprint(folder: Path) -> dict[str, str]:
    """Sum up every file below a folder, with its time of change."""
    return {
        str(file.relative_to(folder)): (
            f"{hashlib.sha256(file.read_bytes()).hexdigest()} {file.stat().st_mtime_ns}"
        )
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.is_symlink()
    }
