"""Sentences whose subject is a whole clause, in the docs and in docstrings."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.modules import FUNCTIONS, Module


class Sentence(NamedTuple):
    """A sentence of the docs or of a docstring, and its place."""

    place: str
    text: str


# Finite verbs that are seldom nouns; a helping verb and the word it helps count once.
VERBS = (
    "allows|appears?|applies|apply|arrives?|asked|asks?|became|becomes?|began|begins?|belongs?|"
    "brings?|called|came|cancels?|changed|closes|comes?|costs?|counts|decides?|depends?|differs?|"
    "ended|ends|exists?|failed|fails?|finds?|fits?|follows?|found|gets?|gives?|goes|grows|"
    "happened|happens?|held|holds?|keeps?|kept|knew|knows?|lacks?|learns?|leaves?|left|lets|lies?|"
    "lives?|loses|lost|made|makes?|matches|matters|means?|meant|moved|moves|need|needs|opened|"
    "opens|passes|pays|ran|reaches|refers|remains?|removes?|returns?|runs|said|saw|says?|sees?|"
    "sends?|sent|serves|shows?|speaks?|stands?|started|starts?|stays?|steals?|stood|stops?|"
    "switches|takes?|tells?|told|used|uses|vanishes|waited|waits?|wanted|wants?|worked|works|"
    "writes?|wrote"
)
HELPING = (
    "is|are|was|were|has|have|had|does|do|did|can|cannot|could|may|might|must|will|would|shall|"
    "should"
)
HELPED = "act|be|been|being|do|done|given|known|seen|shown|taken|use|written|wrong"
FINITE_VERB = re.compile(
    rf"\b(?:{HELPING})\b(?: (?:not|never|no longer|also|only|still|last|already|been|be)\b)*"
    rf"(?: (?:[a-z]+ed|{VERBS}|{HELPED})\b)?"
    rf"|\b(?:{VERBS})\b"
)
INFINITIVE = re.compile(r"\b(?:not )?to (?!an?\b|the\b|it\b)[a-z]+\b")
SUBORDINATOR = re.compile(
    r"\b(?:that|which|who|whose|whom|what|whatever|where|when|while|once|until|before|after|if|"
    r"because|since|as|than|whether|how|why)\b"
)
QUESTION_WORD = re.compile(r"(?:who|what|which)(?:ever)?\b|(?:whether|why|how)\b", re.IGNORECASE)
THAT_CLAUSE = re.compile(
    r"that (?:an?|the|no|every|each|one|this|they|it|nothing|nobody|two|all|some|our|its|there)\b",
    re.IGNORECASE,
)
TO_CLAUSE = re.compile(
    r"to (?!(?:an?|the|others?|it|this|that|each|every|people|programs)\b)[a-z]+ ",
    re.IGNORECASE,
)
PLACE_CLAUSE = re.compile(r"(?:where|when)\b", re.IGNORECASE)


def has_clause_subject(sentence: str) -> bool:
    """Tell whether a clause is a subject: "What is kept stays", "To read it costs less"."""
    plain = re.sub(r" *\([^)]*\)", "", sentence)
    parts = re.split(r"(?:;|:|—| – )\s+", plain)
    return not sentence.endswith("?") and any(map(_begins_with_clause, parts))


def _begins_with_clause(part: str) -> bool:
    # A clause in front of a sentence ends at a comma; a clause as subject runs into its verb.
    front, comma, _ = part.partition(",")
    if QUESTION_WORD.match(part) or THAT_CLAUSE.match(part):
        return _count_verbs(front.partition(" ")[2]) >= 2
    if PLACE_CLAUSE.match(part):
        return not comma and _count_verbs(front.partition(" ")[2]) >= 2
    return bool(TO_CLAUSE.match(part)) and _count_verbs(front.split(" ", 2)[2]) >= 1


def _count_verbs(clause: str) -> int:
    """Count the finite verbs that belong to no clause inside the clause."""
    clause = INFINITIVE.sub("", clause)
    return len(FINITE_VERB.findall(clause)) - len(SUBORDINATOR.findall(clause))


def read_docs_sentences(source: Path) -> Iterator[Sentence]:
    """Give the sentences of README.md and of the docs: paragraphs, list items and table cells."""
    root = source.parent
    for path in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        if path.is_file():
            text = re.sub(
                r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
            )
            for line, paragraph in _split_paragraphs(text):
                yield from _split(f"{path.name}: {line[:40]}", paragraph)


def _split_paragraphs(text: str) -> Iterator[tuple[str, str]]:
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|\n(?=\||#)", text):
        plain = block.strip()
        if plain.startswith("#"):
            plain = plain.partition("\n")[2].strip()
        if plain.startswith("|"):
            yield from (
                (cell.strip(), cell.strip())
                for cell in re.split(r"(?<!\\)\|", plain)
                if cell.strip()
            )
        elif plain:
            yield plain, re.sub(r"^(?:[-*]|\d+\.) +", "", plain)


def list_docstring_sentences(modules: Iterable[Module]) -> Iterator[Sentence]:
    """Give the sentences of the docstrings."""
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Module)):
                text = ast.get_docstring(node) or ""
                line = getattr(node, "lineno", 1)
                for paragraph in re.split(r"\n\s*\n", text):
                    yield from _split(f"{module.path}:{line}", paragraph)


def _split(place: str, paragraph: str) -> Iterator[Sentence]:
    text = re.sub(r"\s+", " ", paragraph)
    text = re.sub(r"\*\*|__", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for sentence in re.split(r"(?<=[.!?])[)\"”]*\s+(?=[A-Z`“\"(])", text):
        if re.search(r"[A-Za-z]{2,} ", sentence):
            yield Sentence(place, sentence.strip('"“”( '))


def find_clause_subjects(sentences: Iterable[Sentence]) -> tuple[list[str], int]:
    """List the sentences whose subject is a clause, and count all sentences."""
    all_sentences = list(sentences)
    return [f"{s.place}: {s.text}" for s in all_sentences if has_clause_subject(s.text)], len(
        all_sentences
    )
