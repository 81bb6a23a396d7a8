"""Pipelines in the admin site: made, read aloud, edited by forms, with the prompt beside them."""

from __future__ import annotations

from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Site

PIPELINES = "/admin/agents/ada/pipelines"


def test_a_pipeline_is_made_and_edited_without_javascript(
    admin_site: Site, open_tab: OpenTab
) -> None:
    """Its row of steps is read in order; the prompt follows from the memory that is chosen."""
    page_text = {"file": "strategy.md", "agent": "ada", "content": "Short sentences.\n"}
    admin_site.run("datamachine/write-agent-file", **page_text)
    page = open_tab(admin_site, java_script_enabled=False).open(PIPELINES)
    page.get_by_label("New pipeline").fill("Album Reviews")
    page.get_by_role("button", name="Create it").click()
    assert "Add its first step" in page.locator(".note.good").inner_text()
    page.get_by_role("button", name="Input", exact=True).click()
    page.get_by_label("Name of step 1").fill("Albums")
    page.get_by_label("Source").select_option("text")
    page.get_by_label("Text", exact=True).fill("Blue")
    page.get_by_role("button", name="AI", exact=True).click()
    page.get_by_role("button", name="Save the steps").last.click()
    row = page.locator("ol.step-row").first.locator("li")
    assert [text.split("\n")[0] for text in row.all_inner_texts()] == ["Albums input", "AI ai"]
    page.get_by_label("strategy.md", exact=True).check()
    assert page.get_by_label("SOUL.md").count() == 0
    page.get_by_role("button", name="Save the memory").click()
    box = page.locator("aside.box").first.inner_text()
    assert "strategy.md" in box
    assert "given" in box
    page.get_by_label("What its AI steps are told").fill("Review the album.")
    page.get_by_role("button", name="Save the task").click()
    stored = admin_site.run("looseleaf/show-pipeline", pipeline="album-reviews")
    assert stored["memory_files"] == ["strategy.md"]
    assert stored["system_prompt"] == "Review the album."
    page.get_by_role("link", name="See every block").click()
    assert "Short sentences." in page.content()


def test_steps_that_do_not_fit_are_refused_with_the_form(admin_site: Site) -> None:
    """What was typed is still there."""
    admin_site.run("looseleaf/create-pipeline", agent="ada", name="News")
    browser, csrf = admin_site.sign_in()
    form = {"csrf": csrf, "action": "steps", "s0.type": "memory_update", "s0.label": "Write"}
    form["s0.set.target"] = "daily"
    answer = browser.post(f"{PIPELINES}/2", data=form)
    assert answer.status_code == 400
    assert "do not fit together" in answer.text
    assert 'value="Write"' in answer.text
    foreign = {**form, "s0.type": "gone"}
    assert "there is no such type" in browser.post(f"{PIPELINES}/2", data=foreign).text
    assert browser.post(f"{PIPELINES}/2", data={"csrf": csrf}).status_code == 400


def test_a_page_that_is_older_than_the_pipeline_changes_nothing(admin_site: Site) -> None:
    """The form names the version that it showed."""
    old = admin_site.run("looseleaf/create-pipeline", agent="ada", name="News")["hash"]
    admin_site.run("looseleaf/update-pipeline", pipeline=2, system_prompt="Write.")
    browser, csrf = admin_site.sign_in()
    form = {"csrf": csrf, "action": "details", "name": "Old", "prompt": "", "version": old}
    assert browser.post(f"{PIPELINES}/2", data=form).status_code == 409
    assert admin_site.run("looseleaf/show-pipeline", pipeline=2)["name"] == "News"


def test_steps_are_reordered_renamed_and_taken_out(admin_site: Site) -> None:
    """A step keeps its id."""
    text = {"source": "text", "text": "x"}
    steps = [
        {"type": "input", "settings": text},
        {"type": "input", "label": "Second", "settings": text},
    ]
    made = admin_site.run("looseleaf/create-pipeline", agent="ada", name="News", steps=steps)
    first, second = (step["id"] for step in made["steps"])
    browser, csrf = admin_site.sign_in()
    form = {"csrf": csrf, "s0.id": first, "s0.type": "input", "s0.label": "Last"}
    form |= {"s1.id": second, "s1.type": "input", "s1.label": "Second"}
    moved = browser.post(f"{PIPELINES}/2", data={**form, "action": "steps:down:0"}).text
    assert moved.index('value="Second"') < moved.index('value="Last"')
    assert admin_site.run("looseleaf/show-pipeline", pipeline=2)["hash"] == made["hash"]
    row = {"csrf": csrf, "s0.id": second, "s0.type": "input", "s0.label": "Second"}
    row |= {"s1.id": first, "s1.type": "input", "s1.label": "Last"}
    browser.post(f"{PIPELINES}/2", data={**row, "action": "steps"})
    after = admin_site.run("looseleaf/show-pipeline", pipeline=2)["steps"]
    assert [(step["id"], step["label"]) for step in after] == [(second, "Second"), (first, "Last")]
    assert {step["settings"]["text"] for step in after} == {"x"}
    short = browser.post(f"{PIPELINES}/2", data={**row, "action": "steps:remove:0"}).text
    assert 'value="Second"' not in short
    last = {name.replace("s1.", "s0."): text for name, text in row.items() if "s0." not in name}
    browser.post(f"{PIPELINES}/2", data={**last, "action": "steps"})
    after = admin_site.run("looseleaf/show-pipeline", pipeline=2)["steps"]
    assert [step["id"] for step in after] == [first]


def test_a_viewer_reads_and_has_no_forms(admin_site: Site) -> None:
    """And is told what it takes."""
    admin_site.run("looseleaf/create-pipeline", agent="ada", name="News")
    admin_site.user("vera")
    admin_site.run("looseleaf/grant-role", agent="ada", user="vera", role="viewer")
    browser, csrf = admin_site.sign_in("vera")
    page = browser.get(f"{PIPELINES}/2").text
    assert "News" in page
    assert "Save the steps" not in page
    form = {"csrf": csrf, "action": "details", "name": "Mine", "prompt": ""}
    assert browser.post(f"{PIPELINES}/2", data=form).status_code == 403


def test_files_are_listed_and_deleted(admin_site: Site) -> None:
    """Context files of the pipeline."""
    admin_site.run("looseleaf/create-pipeline", agent="ada", name="News")
    admin_site.run("datamachine/upload-flow-file", pipeline=2, file="style.txt", data="eA==")
    browser, csrf = admin_site.sign_in()
    assert "style.txt" in browser.get(f"{PIPELINES}/2").text
    form = {"csrf": csrf, "action": "delete-file", "name": "style.txt", "frame:sure": "yes"}
    browser.post(f"{PIPELINES}/2", data=form)
    assert admin_site.run("datamachine/list-flow-files", pipeline=2) == []
    browser.post(f"{PIPELINES}/2", data={"csrf": csrf, "action": "delete", "frame:sure": "yes"})
    left = admin_site.run("looseleaf/list-pipelines", agent="ada")
    assert [pipeline["id"] for pipeline in left] == [1]
