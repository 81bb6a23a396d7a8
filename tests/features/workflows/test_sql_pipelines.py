"""Pipelines in a database: the same on SQLite and on PostgreSQL."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

from looseleaf.errors import Forbidden
from looseleaf.errors.features import SlugTaken
from looseleaf.features.workflows import tables
from looseleaf.features.workflows.definitions import Flow, Pipeline, Step
from looseleaf.features.workflows.sql_definitions import SqlDefinitions
from looseleaf.stores.database.accounts import SqlAccounts
from looseleaf.stores.database.row_digests import verify_rows
from looseleaf.values import replace
from tests.conftest import Clock

NEWS = Pipeline(
    id=0,
    slug="",
    name="Daily Music News",
    agent_id=3,
    user_id=1,
    system_prompt="Write the news.\nÄ 音",
    memory_files=("content-strategy.md", "contexts/x.md"),
    tool_policy={"mode": "deny", "tools": ["search"]},
    steps=(Step("input", "input", "Feed", {"url": "https://x", "n": 1}), Step("ai", "ai")),
)


def nothing(_definition: object) -> None:
    """Refuse nothing."""


def test_a_pipeline_is_read_as_it_was_added(definitions: SqlDefinitions, clock: Clock) -> None:
    """Every field; memory files and steps each in their own."""
    added = definitions.pipelines.add(NEWS)
    assert added == replace(
        NEWS, id=1, slug="daily-music-news", created=clock.now, updated=clock.now
    )
    assert definitions.pipelines.find(1) == added
    assert definitions.pipelines.find(2) is None


def test_memory_files_have_a_column_of_their_own(
    accounts: SqlAccounts, definitions: SqlDefinitions
) -> None:
    """No reader of steps ever meets a list of files, as the original's readers did."""
    definitions.pipelines.add(NEWS)
    with accounts.database.reading() as connection:
        row = connection.execute(sa.select(tables.pipelines)).one()
    assert row.memory_files == '["content-strategy.md", "contexts/x.md"]'
    assert "content-strategy" not in row.steps


def test_slugs_are_unique_in_an_agent(definitions: SqlDefinitions) -> None:
    """A name may come twice; a slug that was asked for is refused if it is taken."""
    slugs = [definitions.pipelines.add(NEWS).slug for _ in range(3)]
    assert slugs == ["daily-music-news", "daily-music-news-2", "daily-music-news-3"]
    assert definitions.pipelines.add(replace(NEWS, agent_id=4)).slug == "daily-music-news"
    with pytest.raises(SlugTaken):
        definitions.pipelines.add(replace(NEWS, slug="daily-music-news"))
    with pytest.raises(SlugTaken):
        definitions.pipelines.change(2, lambda item: replace(item, slug="daily-music-news"))
    assert definitions.pipelines.list()[1] == 4


def test_pipelines_added_at_once_get_slugs_of_their_own(definitions: SqlDefinitions) -> None:
    """By many threads, as by many servers."""
    with ThreadPoolExecutor(6) as pool:
        added = list(pool.map(lambda _: definitions.pipelines.add(NEWS), range(6)))
    assert len({item.slug for item in added}) == len({item.id for item in added}) == 6


def test_pipelines_are_listed_by_name_with_their_number(definitions: SqlDefinitions) -> None:
    """Of all agents, of some, or a part of the list."""
    for name, agent in (("b", 1), ("C", 2), ("a", 1)):
        definitions.pipelines.add(replace(NEWS, name=name, agent_id=agent))
    names = [item.name for item in definitions.pipelines.list()[0]]
    assert names == ["a", "b", "C"]
    page, count = definitions.pipelines.list(agents=[1], limit=1, offset=1)
    assert ([item.name for item in page], count) == (["b"], 2)
    assert definitions.pipelines.list(agents=[]) == ([], 0)


def test_changes_at_once_all_survive(definitions: SqlDefinitions) -> None:
    """Each edits what the one before it left."""
    added = definitions.pipelines.add(replace(NEWS, memory_files=()))

    def add_file(number: int) -> None:
        definitions.pipelines.change(
            added.id,
            lambda item: replace(item, memory_files=(*item.memory_files, f"{number}.md")),
        )

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(add_file, range(12)))
    stored = definitions.pipelines.find(added.id)
    assert stored is not None
    assert sorted(stored.memory_files) == sorted(f"{number}.md" for number in range(12))


def test_an_edit_that_fails_changes_nothing(definitions: SqlDefinitions) -> None:
    """It refuses by raising."""
    added = definitions.pipelines.add(NEWS)

    def refuse(_pipeline: Pipeline) -> Pipeline:
        raise Forbidden("write", "more")

    with pytest.raises(Forbidden):
        definitions.pipelines.change(added.id, refuse)
    assert definitions.pipelines.find(added.id) == added
    assert definitions.pipelines.change(9, refuse) is None


def test_a_step_takes_its_settings_in_flows_along(definitions: SqlDefinitions) -> None:
    """A later step of the same id does not inherit them."""
    pipeline = definitions.pipelines.add(NEWS)
    settings = {"input": {"n": 2}, "ai": {"n": 3}}
    flow = definitions.flows.add(
        Flow(
            id=0,
            pipeline_id=pipeline.id,
            slug="",
            name="F",
            agent_id=3,
            user_id=1,
            step_settings=settings,
        )
    )
    definitions.pipelines.change(pipeline.id, lambda item: replace(item, steps=item.steps[:1]))
    smaller = definitions.flows.find(flow.id)
    assert smaller is not None
    assert smaller.step_settings == {"input": {"n": 2}}


def test_a_pipeline_is_deleted_with_its_flows_and_its_id_is_not_given_again(
    definitions: SqlDefinitions, accounts: SqlAccounts
) -> None:
    """Folders and jobs keep the id."""
    first = definitions.pipelines.add(NEWS)
    flow = definitions.flows.add(
        Flow(id=0, pipeline_id=first.id, slug="", name="F", agent_id=3, user_id=1)
    )
    assert definitions.pipelines.delete(first.id, nothing) == [flow]
    assert definitions.pipelines.delete(first.id, nothing) is None
    assert definitions.flows.find(flow.id) is None
    assert definitions.pipelines.add(NEWS).id == first.id + 1
    assert list(verify_rows(accounts.database)) == []


def test_a_pipeline_changed_outside_is_found(
    definitions: SqlDefinitions, accounts: SqlAccounts
) -> None:
    """A system prompt is an instruction; whoever edits the database leaves a trace."""
    definitions.pipelines.add(NEWS)
    assert list(verify_rows(accounts.database)) == []
    with accounts.database.writing() as connection:
        connection.execute(tables.pipelines.update().values(system_prompt="Obey."))
    assert list(verify_rows(accounts.database)) == ["rows of pipelines are not what was written: 1"]
