"""Talking to an agent through operations: memory injected, tools under policy, sessions kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from looseleaf import Workspace
from looseleaf.access.principals import Principal
from looseleaf.catalog.context import Context
from looseleaf.catalog.dispatch import invoke
from looseleaf.errors import Forbidden, InvalidArgument, LooseleafError
from looseleaf.errors.operations import EmptyMessage, ModelFailed, ModelMissing, SessionMissing
from looseleaf.errors.pages import AssembledText, DailyMemoryOff
from looseleaf.features.chat.events import TitleChanged, TurnEnded
from looseleaf.features.chat.operations import converse
from looseleaf.features.chat.session import ChatInput
from looseleaf.models.model import ToolCall
from looseleaf.values import replace
from tests.conftest import Clock
from tests.features.chat.conftest import Reply, Script

SEND, LIST, SHOW = (
    "datamachine/send-message",
    "datamachine/list-chat-sessions",
    "datamachine/get-chat-session",
)
FINISH = "looseleaf/finish-chat-session"
CHATTING = frozenset(("chat",))


class Talk:
    """A workspace in which a scripted model answers for ada."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.model = Script("Hello.")
        workspace.models().register("script", lambda _name: self.model)
        self.configure(models={"default": "script:m"})

    @property
    def local(self) -> Context:
        """Act as the operator."""
        return self.workspace.context

    def acting(self, user: int = 1, **more: Any) -> Context:  # noqa: ANN401 - of a principal
        """Act as a user who may chat; user 1 owns ada."""
        given = {"capabilities": CHATTING, **more}
        return self.workspace.acting(
            principal=Principal(kind="session", user_id=user, name=f"u{user}", **given)
        )

    def configure(self, **config: object) -> None:
        """Set keys of ada's configuration."""
        invoke(self.local, "looseleaf/configure-agent", {"agent": "ada", "config": config})

    def says(self, *replies: Reply) -> None:
        """Script the model."""
        self.model.replies[:] = replies

    def send(self, message: str = "Hi", context: Context | None = None, **given: object) -> Any:  # noqa: ANN401
        """Send a message and wait for the answer."""
        return invoke(context or self.local, SEND, {"message": message, **given})


@pytest.fixture
def talk(workspace: Workspace) -> Iterator[Talk]:
    """Yield a workspace in which one can talk."""
    yield Talk(workspace)
    workspace.accounts().database.close()  # type: ignore[attr-defined]


def memory(action: str, **arguments: str) -> ToolCall:
    """Call the agent's memory."""
    return ToolCall(f"call-{action}", "agent_memory", json.dumps({"action": action, **arguments}))


def test_an_agent_answers_with_its_memory_injected(talk: Talk) -> None:
    """As the prompt of the mode says."""
    reply = talk.send("Hi there")
    assert (reply["response"], reply["completed"], reply["title"]) == ("Hello.", True, "Hi there")
    assert reply["usage"]["input_tokens"] == 10
    (question,) = talk.model.questions
    assert question.system == talk.workspace.compose("chat", "ada").messages
    assert {tool.name for tool in question.tools} == {"agent_memory", "agent_daily_memory"}


def test_a_session_goes_on(talk: Talk) -> None:
    """After everything was closed and opened again."""
    session = talk.send("One")["session_id"]
    again = Talk(Workspace.open(talk.workspace.root))
    assert again.send("Two", session_id=session)["turn"] == 2
    assert [item.text for item in again.model.questions[0].messages] == ["One", "Hello.", "Two"]
    again.workspace.accounts().database.close()  # type: ignore[attr-defined]


def test_what_the_agent_writes_is_in_its_memory_and_linked(talk: Talk) -> None:
    """The turn names the revision, and the revision the session; the next question sees it."""
    talk.says(memory("append", section="Facts", content="- likes tea"), "Noted.")
    reply = talk.send("I like tea")
    (written,) = reply["written"]
    assert (written["file"], written["tool"]) == ("MEMORY.md", "agent_memory")
    history = invoke(talk.local, "looseleaf/page-history", {"file": "MEMORY.md"})
    revision = next(item for item in history if item["number"] == written["revision"])
    assert (revision["actor"], revision["surface"]) == ("ada", "chat")
    assert (revision["actor_kind"], revision["origin"]) == ("agent", "agent")
    assert (revision["activity"], revision["activity_id"]) == ("session", reply["session_id"])
    assert revision["reason"] == ""
    assert "- likes tea" in "".join(talk.model.questions[1].system)
    (turn,) = invoke(talk.local, SHOW, {"session": reply["session_id"]})["turns"]
    assert turn["written"] == [written]


def test_tools_are_run_under_the_agent_s_policy(talk: Talk) -> None:
    """What is denied is neither offered nor run, and the model is told so."""
    talk.configure(tool_policy={"mode": "deny", "tools": ["agent_memory"]})
    talk.says(memory("append", section="Facts", content="- x"), "I may not.")
    reply = talk.send()
    assert reply["response"] == "I may not."
    assert [tool.name for tool in talk.model.questions[0].tools] == ["agent_daily_memory"]
    result = talk.model.questions[1].messages[-1]
    assert (result.failed, json.loads(result.text)["error_code"]) == (True, "tool_denied")


def test_an_unknown_tool_and_wrong_arguments_are_answered(talk: Talk) -> None:
    """The turn goes on."""
    talk.says(ToolCall("c1", "fly", "{}"), ToolCall("c2", "agent_memory", "not json"), "Sorry.")
    assert talk.send()["response"] == "Sorry."
    texts = [
        json.loads(item.text) for item in talk.model.questions[2].messages if item.role == "tool"
    ]
    assert [item["error_code"] for item in texts] == ["tool_missing", "invalid_argument"]


def test_the_operator_s_agent_is_still_an_agent(talk: Talk) -> None:
    """Its journal is closed until it is switched on, and SOUL.md is not its to write... alone."""
    call = ToolCall("c1", "agent_daily_memory", '{"action": "write", "content": "- x"}')
    talk.says(call, "Closed.")
    talk.send()
    result = json.loads(talk.model.questions[1].messages[-1].text)
    assert result["error_code"] == "daily_memory_disabled"


def test_what_was_injected_is_not_stored_again(talk: Talk) -> None:
    """A page as a prompt shows it is no new fact."""
    page = next(
        text for text in talk.workspace.compose("chat", "ada").messages if "<page file" in text
    )
    talk.says(memory("append", section="Facts", content=page), "Oh.")
    assert talk.send()["written"] == []
    result = json.loads(talk.model.questions[1].messages[-1].text)
    assert result["error_code"] == "assembled_text"


def test_without_a_model_one_is_told_where_to_name_it(workspace: Workspace) -> None:
    """And nothing is saved; what needs no model works."""
    with pytest.raises(ModelMissing, match=r"default_model = .* in looseleaf.toml"):
        invoke(workspace.context, SEND, {"message": "Hi"})
    assert invoke(workspace.context, LIST)["total"] == 0
    workspace.accounts().database.close()  # type: ignore[attr-defined]


def test_the_settings_name_models_for_all_and_for_modes(talk: Talk) -> None:
    """An agent's own come first."""
    settings = replace(
        talk.workspace.settings, default_model="echo", mode_models=(("system", "echo:small"),)
    )
    opened = Workspace(settings)
    assert opened.model_for("ada", "system") == "script:m"
    opened.agents.create("bob")
    assert opened.model_for("bob", "system") == "echo:small"
    assert opened.model_for("bob", "chat") == "echo"


@pytest.mark.parametrize("message", ["", "  \n"])
def test_an_empty_message_is_refused(talk: Talk, message: str) -> None:
    """Before anything is saved."""
    with pytest.raises(EmptyMessage):
        talk.send(message)
    assert invoke(talk.local, LIST)["total"] == 0


def test_attachments_are_kept_by_reference(talk: Talk) -> None:
    """And checked."""
    note = {"name": "a.pdf", "media_type": "application/pdf", "reference": "shared/a.pdf"}
    session = talk.send("Look", attachments=[note])["session_id"]
    shown = invoke(talk.local, SHOW, {"session": session})["messages"][0]
    assert shown["attachments"] == [{**note, "bytes": 0}]
    with pytest.raises(InvalidArgument, match="attachments"):
        talk.send("Look", attachments=[{"name": "a.pdf"}])


def test_a_failing_model_leaves_the_message(talk: Talk) -> None:
    """To go on later answers it."""
    talk.says(ModelFailed("script", "status 500"), "Now.")
    with pytest.raises(ModelFailed):
        talk.send("Are you there?")
    (session,) = invoke(talk.local, LIST)["sessions"]
    assert (session["message_count"], session["running"]) == (1, False)
    reply = invoke(talk.local, "looseleaf/continue-chat", {"session": session["session_id"]})
    assert (reply["response"], reply["turn"]) == ("Now.", 2)
    again = invoke(talk.local, "looseleaf/continue-chat", {"session": session["session_id"]})
    assert (again["response"], len(talk.model.questions)) == ("Now.", 2)


def test_the_same_request_asks_the_model_once(talk: Talk) -> None:
    """The answer is given again."""
    first = talk.send("Hi", request_id="r1")
    talk.says("Something else.")
    again = talk.send("Hi", request_id="r1")
    assert (again["session_id"], again["response"]) == (first["session_id"], "Hello.")
    assert len(talk.model.questions) == 1


@pytest.mark.parametrize("request_id", ["\0", "x" * 201])
def test_a_request_id_that_no_database_can_keep_is_refused(talk: Talk, request_id: str) -> None:
    """Before anything is saved."""
    with pytest.raises(InvalidArgument, match=r"printable|NUL"):
        talk.send("Hi", request_id=request_id)


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("datamachine/write-agent-file", "content"),
        ("datamachine/daily-memory-write", "content"),
        ("memory_long_term_add", "content"),
        ("memory_long_term_update", "new"),
    ],
)
def test_no_token_stores_what_a_prompt_has_shown(talk: Talk, name: str, argument: str) -> None:
    """By whatever operation; a person who signed in may."""
    page = next(
        text for text in talk.workspace.compose("chat", "ada").messages if "<page file" in text
    )
    given = {"file": "notes.md"} if "file" in name else {}
    given |= {"old": "x"} if argument == "new" else {}
    token = talk.workspace.acting(principal=Principal(kind="token", user_id=1, name="ada"))
    with pytest.raises(AssembledText):
        invoke(token, name, {**given, argument: page})
    if "file" in name:
        assert invoke(talk.acting(1), name, {**given, argument: page})["changed"] is True


def test_a_session_of_another_is_missing(talk: Talk) -> None:
    """For every operation, as one that is not there; who manages agents sees it."""
    session = talk.send("Mine", talk.acting(1))["session_id"]
    stranger = talk.acting(2, grants={1: "operator"})
    for name, more in (
        (SHOW, {}),
        ("datamachine/delete-chat-session", {}),
        ("datamachine/mark-session-read", {}),
        ("datamachine/generate-session-title", {}),
        ("looseleaf/rename-chat-session", {"title": "x"}),
        ("looseleaf/export-chat-session", {}),
        ("looseleaf/continue-chat", {}),
        ("looseleaf/cancel-chat", {}),
        (FINISH, {}),
        (SEND, {"message": "x"}),
    ):
        with pytest.raises(SessionMissing):
            invoke(stranger, name, {"session": session, **more})
    assert invoke(stranger, LIST)["total"] == 0
    assert invoke(stranger, "looseleaf/search-chat-sessions", {"query": "Mine"}) == []
    manager = talk.acting(3, capabilities=frozenset(("chat", "manage_agents")))
    assert invoke(manager, SHOW, {"session": session})["session"]["user_id"] == 1


def test_a_role_on_the_agent_and_the_capability_are_both_needed(talk: Talk) -> None:
    """To talk, and to see what was said."""
    session = talk.send("Mine", talk.acting(1))["session_id"]
    with pytest.raises(Forbidden, match="the capability chat"):
        talk.send("Hi", talk.acting(1, capabilities=frozenset()))
    with pytest.raises(LooseleafError):
        talk.send("Hi", talk.acting(2))
    with pytest.raises(Forbidden, match="manage_settings"):
        talk.send("Hi", talk.acting(1), model="echo")
    assert talk.send("Hi", model="echo")["response"] == "Hi"
    other = talk.workspace.agents.create("bob", owner=1)
    bound = talk.acting(1, agent_id=other.id)
    with pytest.raises(SessionMissing):
        invoke(bound, SHOW, {"session": session})


def test_a_viewer_s_conversation_writes_nothing(talk: Talk) -> None:
    """The agent acts with the rights of the one who talks to it."""
    talk.says(memory("append", section="Facts", content="- x"), "I may not.")
    viewer = talk.acting(2, grants={1: "viewer"})
    assert talk.send("Remember x", viewer)["written"] == []
    assert json.loads(talk.model.questions[1].messages[-1].text)["error_code"] == "forbidden"


def test_unread_answers_are_counted_until_they_are_read(talk: Talk, clock: Clock) -> None:
    """To read or rename makes a session no younger."""
    session = talk.send()["session_id"]
    talk.send("More", session=session)
    before = invoke(talk.local, LIST)["sessions"][0]
    clock.advance(days=1)
    read = invoke(talk.local, "datamachine/mark-session-read", {"session": session})
    named = invoke(
        talk.local, "looseleaf/rename-chat-session", {"session": session, "title": " a  b "}
    )
    assert (before["unread_count"], read["unread_count"], named["title"]) == (2, 0, "a b")
    assert named["updated_at"] == before["updated_at"]
    with pytest.raises(InvalidArgument, match="between 1 and 100"):
        invoke(talk.local, "looseleaf/rename-chat-session", {"session": session, "title": " "})


def test_what_was_said_is_found(talk: Talk) -> None:
    """With the words around it."""
    talk.says("The deployment of the shop is on Friday.")
    session = talk.send("When?")["session_id"]
    (found,) = invoke(talk.local, "looseleaf/search-chat-sessions", {"query": "DEPLOYMENT"})
    assert (found["session_id"], found["number"], found["role"]) == (session, 2, "assistant")
    assert found["excerpt"] == "The deployment of the shop is on Friday."


def test_a_conversation_is_exported(talk: Talk) -> None:
    """For people as Markdown, for programs with everything."""
    talk.says((memory("list_sections")), "Two sections.")
    session = talk.send("What do you know?")["session_id"]
    export = "looseleaf/export-chat-session"
    page = invoke(talk.local, export, {"session": session})["content"]
    assert page.startswith("# What do you know?\n\nada, chat, ")
    assert "## You\n\nWhat do you know?\n" in page
    assert "\n> agent_memory " in page
    assert page.endswith("## ada\n\nTwo sections.\n")
    whole = invoke(talk.local, export, {"session": session, "format": "json"})
    assert [item["role"] for item in whole["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert whole["messages"][1]["tool_calls"][0]["name"] == "agent_memory"


def test_a_model_names_sessions_where_that_is_wanted(talk: Talk) -> None:
    """Else they have their first words; a person's title stays."""
    talk.workspace.context = replace(
        talk.local, settings=replace(talk.workspace.settings, chat_model_titles=True)
    )
    talk.says("Hello.", '"A warm\n welcome"')
    events = list(converse(talk.local, ChatInput("Hi " * 60)))
    assert TitleChanged("A warm welcome") in events
    assert isinstance(events[-1], TurnEnded)
    title = "datamachine/generate-session-title"
    session = events[-1].session
    assert invoke(talk.local, title, {"session": session})["method"] == "existing"
    talk.says(ModelFailed("script", "busy"))
    made = invoke(talk.local, title, {"session": session, "force": True})
    assert (made["method"], len(made["title"])) == ("fallback", 100)


def test_a_finished_session_is_told_in_the_journal_of_an_agent_that_wants_it(talk: Talk) -> None:
    """Once, by the agent's own rights, and marked as a model's words."""
    session = talk.send("We chose tea.")["session_id"]
    assert invoke(talk.local, FINISH, {"session": session})["revision"] == 0
    talk.configure(chat={"journal": True})
    with pytest.raises(DailyMemoryOff):
        invoke(talk.local, FINISH, {"session": session})
    invoke(talk.local, "looseleaf/set-setting", {"name": "daily_memory_enabled", "setting": True})
    talk.says("- Tea was chosen.")
    done = invoke(talk.local, FINISH, {"session": session})
    assert done["revision"] > 0
    assert done["session"]["finished_at"]
    page = invoke(talk.local, "datamachine/daily-memory-read")["content"]
    assert "## Chat: We chose tea.\n" in page
    assert f"Session {session}, messages 1 to 2. Written by the model script, not by a" in page
    assert "- Tea was chosen." in page
    again = invoke(talk.local, FINISH, {"session": session})
    assert again["revision"] == 0
    assert invoke(talk.local, "datamachine/daily-memory-read")["content"] == page
    history = invoke(talk.local, "looseleaf/page-history", {"file": done["file"]})
    assert history[0]["reason"] == "summary of the session"
    assert (history[0]["activity"], history[0]["activity_id"]) == ("session", session)
    assert (history[0]["actor_kind"], history[0]["origin"]) == ("agent", "agent")


def test_a_model_states_where_a_fact_is_from(talk: Talk) -> None:
    """As far as that is its own to state; who acts, and through what, stays as it is."""
    talk.says(
        memory("append", section="Facts", content="- likes tea", origin="user"),
        memory("append", section="Facts", content="- likes rain", origin="system"),
        memory("append", section="Facts", content="- likes snow", actor_kind="person"),
        "Noted.",
    )
    talk.send("I like tea")
    history = invoke(talk.local, "looseleaf/page-history", {"file": "MEMORY.md"})
    last = history[-1]
    assert (last["actor_kind"], last["surface"], last["origin"]) == ("agent", "chat", "user")
    page = invoke(talk.local, "datamachine/get-agent-memory")["content"]
    assert "- likes tea" in page
    assert "rain" not in page
    assert "snow" not in page


def test_a_summary_that_repeats_a_page_of_the_prompt_is_refused(talk: Talk) -> None:
    """What is remembered is not remembered again."""
    invoke(talk.local, "looseleaf/set-setting", {"name": "daily_memory_enabled", "setting": True})
    talk.configure(chat={"journal": True})
    session = talk.send()["session_id"]
    page = next(
        text for text in talk.workspace.compose("chat", "ada").messages if "<page file" in text
    )
    talk.says(page)
    with pytest.raises(LooseleafError, match="remembered already"):
        invoke(talk.local, FINISH, {"session": session})


def test_old_sessions_are_pruned_as_the_settings_say(talk: Talk, clock: Clock) -> None:
    """Ninety days after something was last said."""
    talk.send()
    prune = "looseleaf/prune-chat-sessions"
    clock.advance(days=89)
    assert invoke(talk.local, prune)["deleted"] == 0
    clock.advance(days=2)
    assert invoke(talk.local, prune)["deleted"] == 1


def test_the_turn_limit_is_the_agent_s_or_the_settings(talk: Talk) -> None:
    """And within reason."""
    talk.configure(chat={"turn_limit": 2})
    talk.says(*(ToolCall(f"c{n}", "agent_memory", f'{{"n": {n}}}') for n in range(5)))
    reply = talk.send()
    assert (reply["completed"], reply["max_turns"], reply["max_turns_reached"]) == (False, 2, True)
    assert "asked 2 times" in reply["warning"]


@pytest.mark.parametrize(
    "wrong",
    [{"journal": "yes"}, {"turn_limit": 0}, {"compaction": {"max": 3}}, {"titles": True}, 7],
)
def test_a_configuration_that_cannot_be_followed_is_refused(talk: Talk, wrong: object) -> None:
    """When it is set, not when someone talks."""
    with pytest.raises(LooseleafError, match="chat"):
        talk.configure(chat=wrong)


def test_a_prompt_is_composed_once_for_each_time_the_model_is_asked(talk: Talk) -> None:
    """With tools in between; nothing else that a turn or the end of a session does composes one."""
    prompts: list[tuple[str, ...]] = []
    talk.workspace.chain().on_compose(lambda assembly: prompts.append(assembly.messages))
    talk.says(memory("list_sections"), memory("get"), "Two sections.")
    session = talk.send("What do you know?")["session_id"]
    assert len(prompts) == 3
    assert prompts == [question.system for question in talk.model.questions]
    talk.configure(chat={"journal": True})
    invoke(talk.local, "looseleaf/set-settings", {"settings": {"daily_memory_enabled": True}})
    assert invoke(talk.local, FINISH, {"session": session})["revision"] == 1
    assert talk.workspace.compose("chat", as_of="2026-04-17").messages
    assert len(prompts) == 3


@pytest.mark.parametrize(
    ("policy", "tools"),
    [
        ({}, {"agent_memory": "given", "agent_daily_memory": "given"}),
        (
            {"mode": "deny", "tools": ["agent_daily_memory"]},
            {"agent_memory": "given", "agent_daily_memory": "policy_deny"},
        ),
        (
            {"mode": "allow", "tools": ["agent_memory", "get_agent_memory"]},
            {
                "agent_memory": "given",
                "agent_daily_memory": "policy_allow_only",
                "get_agent_memory": "given",
            },
        ),
        (
            {"mode": "deny", "tools": ["update_agent_memory"], "categories": ["search"]},
            {"agent_memory": "given", "agent_daily_memory": "given"},
        ),
        (
            {"mode": "deny", "categories": ["Memory"]},
            {"agent_memory": "policy_deny", "agent_daily_memory": "policy_deny"},
        ),
        (
            {"mode": "allow", "tools": ["Compose_Prompt"], "outside_tools": ["publish"]},
            {
                "agent_memory": "policy_allow_only",
                "agent_daily_memory": "policy_allow_only",
                "compose_prompt": "given",
            },
        ),
    ],
)
@pytest.mark.parametrize("journal", [True, False])
def test_explain_shows_the_tools_that_a_chat_gets(
    talk: Talk, policy: dict[str, Any], tools: dict[str, str], *, journal: bool
) -> None:
    """Each tool with the rule that decided, and the actions that policy and journal leave."""
    talk.configure(tool_policy=policy or None)
    invoke(talk.local, "looseleaf/set-settings", {"settings": {"daily_memory_enabled": journal}})
    explained = invoke(talk.local, "looseleaf/explain-prompt", {"mode": "chat"})["tools"]
    assert {item["name"]: item["rule"] for item in explained} == tools
    talk.send("Hello")
    given = {item["name"]: item["actions"] for item in explained if item["rule"] == "given"}
    offers = {
        item.name: json.loads(item.parameters)["properties"].get("action", {}).get("enum", [])
        for item in talk.model.questions[-1].tools
    }
    assert offers == given


def test_the_tools_of_our_own_tasks_are_left_out_by_their_mode(talk: Talk) -> None:
    """A system task has none, and explain says why."""
    explained = invoke(talk.local, "looseleaf/explain-prompt", {"mode": "system"})["tools"]
    assert {item["rule"] for item in explained} == {"mode"}
