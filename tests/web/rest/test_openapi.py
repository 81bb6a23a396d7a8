"""The OpenAPI document is complete, and the server keeps to it whatever is sent."""

from __future__ import annotations

import random
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from looseleaf.catalog.operation import CATALOG
from looseleaf.web.app import HANDLERS
from looseleaf.web.rest.endpoints import NAMESPACE
from tests.conftest import FULL
from tests.web.fixtures import ENDPOINTS, Opens, Site

EXAMPLES = 60 if FULL else 1  # of right and of wrong requests, for each operation
CREDENTIALS = ("nobody", "viewer", "operator", "stranger", "boss")
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
# Pages for people, and what describes the rest.
FOR_PEOPLE = {"/", "/docs", "/login", "/openapi.json"}


def document(site: Site) -> dict[str, Any]:
    found: dict[str, Any] = site.client.get("/openapi.json").json()
    return found


def test_every_address_and_method_is_described(site: Site) -> None:
    """What the router answers is in the document, and nothing else is."""
    paths = document(site)["paths"]
    described = {(path, method.upper()) for path, methods in paths.items() for method in methods}
    served = {(NAMESPACE + item.path, item.method) for item in ENDPOINTS}
    for path, by_method in HANDLERS.items():
        plain = path.replace(":page}", "}").replace(":path}", "}")
        served |= {(plain, method) for method in by_method if path not in FOR_PEOPLE}
    served |= {("/login", "POST")}
    served -= {("/wp-abilities/v1/abilities/{name}/run", method) for method in ("GET", "POST")}
    served |= {(f"/wp-abilities/v1/abilities/{name}/run", "POST") for name in CATALOG}
    assert described == served


def test_identities_are_unique_and_everything_has_a_summary(site: Site) -> None:
    """So that clients can be generated."""
    found = [item for methods in document(site)["paths"].values() for item in methods.values()]
    named = [item["operationId"] for item in found if "operationId" in item]
    assert len(named) == len(set(named))
    assert all(item["summary"] for item in found)
    assert all(item["responses"] for item in found)


def test_every_endpoint_names_an_operation() -> None:
    """Or a handler of its own, which has a summary."""
    for endpoint in ENDPOINTS:
        assert endpoint.operation in CATALOG or endpoint.summary, endpoint.path


@pytest.fixture
def credentials(opens: Opens) -> tuple[Site, dict[str, str]]:
    """Serve a workspace, and return a token of every kind."""
    site = opens(daily_memory_enabled=True)
    site.user("boss", capabilities=["manage_options"])
    site.user("eve")
    tokens = {
        "nobody": "",
        "viewer": site.token(agent="ada", role="viewer"),
        "operator": site.token(agent="ada"),
        "stranger": site.token(user="eve"),
        "boss": site.token(user="boss"),
    }
    return site, tokens


@pytest.mark.parametrize(
    "who", ["by turns", *(pytest.param(who, marks=pytest.mark.slow) for who in CREDENTIALS)]
)
def test_whatever_is_sent_the_answer_is_one_of_those_described(
    credentials: tuple[Site, dict[str, str]], who: str, seed_number: int
) -> None:
    """No 5xx, no status and no shape that the document does not name, for data right and wrong."""
    site, tokens = credentials
    api = schemathesis.openapi.from_url(f"{site.base}/openapi.json")
    wrong = []
    for number, found in enumerate(api.get_all_operations(), seed_number):
        token = tokens[CREDENTIALS[number % 5] if who == "by turns" else who]
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        operation: Any = found.ok()  # type: ignore[union-attr]
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            try:
                _try(operation, mode, headers, seed_number)
            except Unsatisfiable:
                continue  # what takes nothing cannot be given anything wrong
            except (BaseExceptionGroup, AssertionError) as failure:
                wrong.append(f"{operation.label}, {mode}: {_told(failure)}")
    assert not wrong, "\n\n".join(wrong)


@pytest.fixture
def seed_number(seed: int) -> int:
    """Return the seed under a name that hypothesis does not use."""
    return seed


def _told(failure: BaseException) -> str:
    inner = failure.exceptions if isinstance(failure, BaseExceptionGroup) else (failure,)
    return "\n".join(str(item) for item in inner)


def _try(operation: Any, mode: GenerationMode, headers: dict[str, str], number: int) -> None:  # noqa: ANN401
    chosen = random.Random(f"{number} {operation.label} {mode}").randrange(2**32)

    @seed(chosen)
    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def run(case: Any) -> None:  # noqa: ANN401 - schemathesis' own
        case.call_and_validate(headers=headers, checks=CHECKS)

    run()
