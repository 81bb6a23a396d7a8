"""The page of approvals: each part that waits as a diff, approved, merged or rejected."""

from __future__ import annotations

from tests.web.fixtures import Site

ADDRESS = "/admin/bundles/eve"
SOUL = "memory:SOUL.md"


def prepare(site: Site) -> None:
    """Install eve from ada, edit her, and upgrade her, so that SOUL.md waits."""
    data = site.run("looseleaf/export-bundle", agent="ada")["data"]
    site.run("looseleaf/install-bundle", data=data, slug="eve")
    write_soul(site, "# Mine\n")
    site.run("looseleaf/upgrade-bundle", data=data, agent="eve")


def write_soul(site: Site, text: str) -> None:
    page = {"file": "SOUL.md", "agent": "eve", "allow_shrink": True}
    site.run("datamachine/write-agent-file", content=text, **page)


def read_soul(site: Site, agent: str) -> str:
    found = site.run("datamachine/get-agent-file", file="SOUL.md", agent=agent)
    return str(found["content"])


def test_a_part_is_approved_on_its_page(site: Site) -> None:
    """The list of bundles leads there; the bundle is not uploaded again."""
    prepare(site)
    browser, csrf = site.sign_in()
    assert f'href="{ADDRESS}"' in browser.get("/admin/bundles").text
    page = browser.get(ADDRESS).text
    assert "<del># Mine</del>" in page
    assert "it was changed here" in page
    form = {"csrf": csrf, "action": "approve"}
    refusal = browser.post(ADDRESS, data=form)
    assert refusal.status_code == 400
    assert "it names no key" in refusal.text
    answer = browser.post(ADDRESS, data={**form, f"choose {SOUL}": "on"}, follow_redirects=True)
    assert f"Applied for eve: {SOUL}." in answer.text
    assert read_soul(site, "eve") == read_soul(site, "ada")


def test_a_part_is_merged_or_rejected(site: Site) -> None:
    """A merge keeps what was edited here; a rejection changes nothing."""
    prepare(site)
    browser, csrf = site.sign_in()
    both = {f"choose {SOUL}": "on", f"merge {SOUL}": "on"}
    browser.post(ADDRESS, data={"csrf": csrf, "action": "approve", **both})
    assert "# Mine" in read_soul(site, "eve")
    prepare_again = site.run("looseleaf/export-bundle", agent="ada")["data"]
    site.run("looseleaf/upgrade-bundle", data=prepare_again, agent="eve")
    before = read_soul(site, "eve")
    form = {"csrf": csrf, "action": "reject", f"choose {SOUL}": "on"}
    answer = browser.post(ADDRESS, data=form, follow_redirects=True)
    assert f"Rejected for eve: {SOUL}." in answer.text
    assert read_soul(site, "eve") == before


def test_a_part_that_was_changed_since_says_so(site: Site) -> None:
    """Approving it is refused; nobody without the right sees the page."""
    prepare(site)
    write_soul(site, "# Third\n")
    browser, csrf = site.sign_in()
    assert "It was changed here since the upgrade was planned" in browser.get(ADDRESS).text
    form = {"csrf": csrf, "action": "approve", f"choose {SOUL}": "on"}
    assert browser.post(ADDRESS, data=form).status_code == 409
    assert read_soul(site, "eve") == "# Third\n"
    assert browser.post(ADDRESS, data={"csrf": csrf}).status_code == 400
    assert browser.get("/admin/bundles/ada").status_code == 404
    site.user("eve", capabilities=["chat"])
    other, _csrf = site.sign_in("eve")
    assert other.get(ADDRESS).status_code in (403, 404)
