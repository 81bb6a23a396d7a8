"""Health: the doctor's findings, those that need a look first."""

from __future__ import annotations

from tests.web.fixtures import Site

HEALTH = "/admin/health"


def test_findings_are_shown_with_advice(admin_site: Site) -> None:
    """They are those of the operation."""
    browser, _csrf = admin_site.sign_in()
    text = browser.get(HEALTH).text
    findings = admin_site.run("looseleaf/check-workspace")
    warnings = [finding for finding in findings if finding["status"] == "warning"]
    assert warnings
    assert text.index("Look at this") < text.index("In order")
    for finding in findings:
        assert f"<strong>{finding['check']}</strong>" in text
    assert "looseleaf prompt check" in text


def test_a_fault_comes_first(admin_site: Site) -> None:
    """A page that is no text, for example; reading everything finds more."""
    path = f"{admin_site.workspace.root}/agents/ada/MEMORY.md"
    with open(path, "wb") as file:
        file.write(b"\xff\xfe broken")
    browser, _csrf = admin_site.sign_in()
    text = browser.get(f"{HEALTH}?verify=yes").text
    assert "MEMORY.md" in text
    assert "note good verdict" not in text
    assert "Check again, quickly" in text


def test_health_needs_its_right(shown_site: Site) -> None:
    """Eve may only talk to agents."""
    browser, _csrf = shown_site.sign_in("eve")
    assert browser.get(HEALTH).status_code == 403
