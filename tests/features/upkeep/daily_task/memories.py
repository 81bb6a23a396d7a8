"""Memories made up for tests: many languages, tables, code, nested lists, CRLF, markers inside."""

from __future__ import annotations

import random

SENTENCES = (
    "The deploy of {slug} runs from {path} on port {port}",
    "{name} owns the {slug} service since {date}",
    "Der Server {slug} steht in {city}, Rack {port}",
    "Le mot de passe de {slug} change le {date}",
    "La versión {version} de `{code}` está en {path}",
    "La copia di {slug} si trova in {path}",
    "{slug} は {date} に {version} へ更新した",
    "{slug} 的地址是 https://example.com/{slug}?id={port}",
    "{slug} 버전은 {version} 입니다",
    "Сервер {slug} переехал {date} в {city}",
    "خادم {slug} يعمل على المنفذ {port}",
    "{slug} का संस्करण {version} है",
    "Η υπηρεσία {slug} τρέχει στο {path}",
    'Never run "{code}" before {date}; ask @{handle} (ops/{slug}#{port})',
)
NAMES = ("Ada Lovelace", "Grace Hopper", "Linus", "Ünal Öztürk", "Zoë", "李明")
CITIES = ("Zürich", "København", "São Paulo", "東京", "Kraków")


def build_fact(rng: random.Random) -> str:
    """Make up one fact."""
    return rng.choice(SENTENCES).format(
        slug=f"{rng.choice(('api', 'billing', 'search', 'media'))}-{rng.randint(1, 99999)}",
        path=f"/srv/{rng.choice(('www', 'data'))}/app{rng.randint(1, 999)}/config.toml",
        port=rng.randint(1024, 65000),
        name=rng.choice(NAMES),
        date=f"20{rng.randint(20, 29)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
        city=rng.choice(CITIES),
        version=f"v{rng.randint(0, 9)}.{rng.randint(0, 40)}.{rng.randint(0, 99)}",
        code=f"run_{rng.randint(1, 999)}(--force={rng.randint(1, 99)})",
        handle=f"user{rng.randint(1, 500)}",
    )


def build_section(rng: random.Random, number: int) -> str:
    """Make up a section: a list, a nested list, a table, code, a paragraph or markers."""
    kind = rng.randrange(8)
    head = f"## {rng.choice(('State', 'Site Knowledge', 'Lessons', 'Leçons', '状態'))} {number}\n\n"
    facts = [build_fact(rng) for _ in range(rng.randint(2, 14))]
    if kind == 0:
        rows = "".join(f"| {item.replace('|', '/')} | {rng.randint(1, 9999)} |\n" for item in facts)
        return f"{head}| fact | value |\n| --- | ---: |\n{rows}\n"
    if kind == 1:
        return f"{head}```sh\n# comment {number}\n" + "\n".join(facts) + "\n```\n\n"
    if kind == 2:
        items = "".join(f"- {item}\n  - {build_fact(rng)}\n" for item in facts)
        return f"{head}{items}\n"
    if kind == 3:
        return f"{head}### Part {number}\n\n" + "".join(f"1. {item}\n" for item in facts) + "\n"
    if kind == 4:
        rules = f"- {build_fact(rng)}\n- {build_fact(rng)}\n"
        return f"{head}{'. '.join(facts)}.\n\nNever do these:\n\n{rules}\n"
    return head + "".join(f"- {item}\n" for item in facts) + "\n"


def build_memory(rng: random.Random, size: int) -> str:
    """Make up a page of about so many bytes."""
    parts = ["# Agent Memory\n\n"]
    if rng.random() < 0.3:
        parts.append(f"Written for {rng.choice(NAMES)}.\n\n")
    length = len(parts[0])
    number = 0
    while length < size:
        number += 1
        parts.append(build_section(rng, number))
        if rng.random() < 0.04:
            parts.append("```\n===PERSISTENT===\nan example of an answer\n===ARCHIVED===\n```\n\n")
        if rng.random() < 0.04:
            parts.append("- done\n- done\n\n")
        length += sum(len(part.encode()) for part in parts[-1:])
    text = "".join(parts)
    if rng.random() < 0.15:
        text = text.replace("\n", "\r\n")
    return text if rng.random() < 0.9 else text.rstrip("\r\n")
