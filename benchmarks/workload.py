"""The data that is measured: the same bytes for the same seed on every machine and Python.

A is the core pages of one agent, B its journal of ten years, C a thousand agents with a month each.
B carries planted needles, so that every query has a right answer and a search that is fast because
it finds less is seen at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

SEED = 20260
# What `compute_digest` returns for the seed above; it changes only with the data.
DIGESTS = {"A": "9e520c78ee501ca3", "B": "700001cb08194622", "C": "11289f47cd553646"}

EDIT_SECTION = "Lessons Learned"
DAYS, FIRST_DAY = 3650, date(2016, 1, 1)
AGENTS, AGENT_DAYS, AGENT_FIRST_DAY = 1000, 30, date(2025, 12, 1)


class Query(NamedTuple):
    """A text to look for in B, and how many of its pages hold it (with the seed above)."""

    name: str
    text: str
    files: int


QUERIES = (
    Query("absent", "xylophonic-absent-term", 0),
    Query("rare", "needle-rare-7731", 3),
    Query("midword", "edle-rar", 3),
    Query("phrase", "rollback of the payment gateway", 5),
    Query("medium", "quokka-migration", 40),
    Query("cased", "homeboy", 6),
    Query("unicode", "überprüfung", 4),
    Query("common", "deploy", 2472),
)

_RARE_DAYS = (41, 1733, 3502)
PHRASE_DAYS = (7, 612, 1288, 2040, 2999)
_MEDIUM_EVERY, _MEDIUM_AT = 91, 13
_CASED_DAYS = (100, 900, 1700, 2500, 3300, 3400)
_UNICODE_DAYS = (55, 1055, 2055, 3055)

_SOUL = ("Identity", "Voice and Tone", "Rules", "Context")
_USER = ("About", "Preferences", "Working Patterns")
_MEMORY = (
    "State",
    "Site Knowledge",
    EDIT_SECTION,
    "Decisions",
    "People",
    "Infrastructure",
    "Content Calendar",
    "Open Questions",
    "Integrations",
    "Style Notes",
    "Known Issues",
    "Archive Pointers",
)
_DAILY = ("Session Activity", "Decisions", "Investigation Notes", "Follow-ups")

_COMMON = """
the of and to in for on with from was is that after before because when user agent
task note memory file section build test deploy server client request response cache
index query result error warning fix patch branch commit review merge release version
config setting default value limit token session message prompt context model tool
report draft article image upload category weekly daily monthly schedule calendar
meeting decision reason owner status blocked done next plan estimate budget invoice
customer support ticket outage latency throughput memory disk network database table
row column migration backup restore login permission role policy rule template theme
plugin hook filter queue worker job retry timeout log metric alert dashboard chart
"""
_SYLLABLES = """
ba be bi bo bu da de di do du ka ke ki ko ku la le li lo lu ma me mi mo mu
na ne ni no nu pa pe po ra re ri ro ru sa se si so su ta te ti to tu va ve vi vo za ze zo
"""
_WORDS, _SENTENCES = 4000, 8192
_64_BITS = (1 << 64) - 1


class Random:
    """splitmix64, fixed forever: Python's own generator may change between versions."""

    __slots__ = ("state",)

    def __init__(self, *key: object) -> None:
        digest = hashlib.sha256("\x1f".join(map(str, key)).encode()).digest()
        self.state = int.from_bytes(digest[:8], "big")

    def next(self) -> int:
        """Return 64 random bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & _64_BITS
        bits = self.state
        bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _64_BITS
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _64_BITS
        return bits ^ (bits >> 31)

    def below(self, limit: int) -> int:
        """Return a number from 0 up to, not including, the bound."""
        return (self.next() * limit) >> 64

    def skewed(self, limit: int) -> int:
        """Return low numbers far more often than high ones, as words are in prose."""
        share = self.next() / 2.0**64
        return int(share * share * share * limit)


@cache
def _build_vocabulary() -> tuple[str, ...]:
    random, syllables = Random(SEED, "vocabulary"), _SYLLABLES.split()
    words = dict.fromkeys(_COMMON.split())
    while len(words) < _WORDS:
        count = 2 + random.below(3)
        words["".join(syllables[random.below(len(syllables))] for _ in range(count))] = None
    return tuple(words)


@cache
def _build_sentences(seed: int) -> tuple[str, ...]:
    words, random = _build_vocabulary(), Random(seed, "sentences")
    sentences = []
    for _ in range(_SENTENCES):
        length = 7 + random.below(9)
        sentences.append(" ".join(words[random.skewed(len(words))] for _ in range(length)))
    return tuple(sentences)


def _build_bullet(random: Random, pool: tuple[str, ...]) -> str:
    """Make one factual line, with an identifier that occurs nowhere else."""
    sentence = pool[random.below(len(pool))]
    kind = ("PR", "JOB", "INC", "DOC")[random.below(4)]
    number = 1000 + random.below(90000)
    return f"- {sentence} ({kind}-{number}, {random.next() >> 36:07x})"


def _fit_text(text: str, size: int, random: Random, pool: tuple[str, ...]) -> str:
    """Grow or cut a text to exactly so many bytes, ending in a newline."""
    while len(text) < size:
        text += _build_bullet(random, pool) + "\n"
    return text[: size - 1] + "\n"


def _build_page(
    title: str, sections: tuple[str, ...], size: int, random: Random, pool: tuple[str, ...]
) -> str:
    share = size // len(sections)
    text = top = f"# {title}\n\n"
    for place, name in enumerate(sections):
        head = f"## {name}\n\n"
        room = share - (len(top) if place == 0 else 0)
        text += _fit_text(head, max(len(head) + 40, room - 1), random, pool) + "\n"
    return _fit_text(text, size, random, pool)


def build_core_pages(agent: str = "alpha", seed: int = SEED) -> dict[str, str]:
    """Make the core pages of an agent: 3 KiB, 2 KiB and 8 KiB in twelve sections."""
    pool, random = _build_sentences(seed), Random(seed, "core", agent)
    return {
        "SOUL.md": _build_page(f"Soul of {agent}", _SOUL, 3072, random, pool),
        "USER.md": _build_page("User", _USER, 2048, random, pool),
        "MEMORY.md": _build_page("Agent Memory", _MEMORY, 8192, random, pool),
    }


def _list_needles(day: int) -> list[str]:
    lines = []
    if day in _RARE_DAYS:
        lines.append("- found the zq-needle-rare-7731 marker in the export job")
    if day in PHRASE_DAYS:
        lines.append("- finished the rollback of the payment gateway after two retries")
    if day % _MEDIUM_EVERY == _MEDIUM_AT:
        lines.append("- moved one more table in the quokka-migration plan")
    if day in _CASED_DAYS:
        word = ("HomeBoy", "HOMEBOY", "homeboy")[_CASED_DAYS.index(day) % 3]
        lines.append(f"- {word} is the fleet tool now")
    if day in _UNICODE_DAYS:
        word = ("Überprüfung", "ÜBERPRÜFUNG")[_UNICODE_DAYS.index(day) % 2]
        lines.append(f"- {word} der Rechnung erledigt")
    return lines


def build_daily_page(
    day: int, on_day: date, *, agent: str = "alpha", seed: int = SEED, needles: bool = True
) -> str:
    """Make one day of an agent's journal: about 4 KiB in four sections."""
    pool, random = _build_sentences(seed), Random(seed, "daily", agent, day)
    share = (4096 - 384 + random.below(768)) // len(_DAILY)
    lines, size = [f"# {on_day}", ""], 14
    for place, head in enumerate(_DAILY):
        lines += [f"## {head}", ""]
        size += len(head) + 5
        lines += _list_needles(day) if needles and place == 2 else []
        while size < share * (place + 1):
            lines.append(_build_bullet(random, pool))
            size += len(lines[-1]) + 1
        lines.append("")
        size += 1
    return "\n".join(lines)


def generate_journal(seed: int = SEED, *, days: int = DAYS) -> Iterator[tuple[str, str]]:
    """Make B: (name, text) of every day, oldest first."""
    for day in range(days):
        on_day = FIRST_DAY + timedelta(days=day)
        yield f"{on_day:daily/%Y/%m/%d.md}", build_daily_page(day, on_day, seed=seed)


def generate_agents(seed: int = SEED, *, count: int = AGENTS) -> Iterator[tuple[str, str, str]]:
    """Make C: (agent, name, text) of every page of every agent."""
    for number in range(count):
        agent = f"agent-{number:04}"
        for name, text in build_core_pages(agent, seed).items():
            yield agent, name, text
        for day in range(AGENT_DAYS):
            on_day = AGENT_FIRST_DAY + timedelta(days=day)
            text = build_daily_page(day, on_day, agent=agent, seed=seed, needles=False)
            yield agent, f"{on_day:daily/%Y/%m/%d.md}", text


def compute_digest(data: str, seed: int = SEED) -> str:
    """Sum up a data set, to prove that two machines made the same one."""
    pages: Iterator[tuple[str, str]]
    if data == "A":
        pages = iter(build_core_pages(seed=seed).items())
    elif data == "B":
        pages = generate_journal(seed)
    else:
        pages = ((f"{agent}/{name}", text) for agent, name, text in generate_agents(seed))
    total = hashlib.sha256()
    for name, text in pages:
        total.update(f"{name}\0{text}\0".encode())
    return total.hexdigest()[:16]
