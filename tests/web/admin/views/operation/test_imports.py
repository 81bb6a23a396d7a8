"""Import in the browser: memory that is there, a preview, one click, and the report."""

from __future__ import annotations

from pathlib import Path

from tests.bundles.importers.sources import OPENCLAW, write_tree
from tests.web.admin.conftest import OpenTab
from tests.web.conftest import Opens, Site

IMPORT = "/admin/import"


def test_a_folder_is_previewed_and_imported(
    opens: Opens, open_tab: OpenTab, tmp_path: Path
) -> None:
    """Without JavaScript; the report names what was taken and what was left out."""
    source = write_tree(tmp_path / "imports/pip", OPENCLAW)
    site = opens(import_folders=(str(tmp_path / "imports"),))
    page = open_tab(site, java_script_enabled=False).open(IMPORT)
    page.get_by_role("link", name=str(source)).click()
    assert "10 pages would change" in page.locator(".verdict").inner_text()
    assert not (Path(site.workspace.root) / "agents/ada/TOOLS.md").exists()
    page.get_by_role("button", name="Import 10 pages").click()
    assert "10 pages changed" in page.locator(".verdict").inner_text()
    assert "BOOTSTRAP.md" in page.get_by_role("region", name="Left out").inner_text()
    text = (Path(site.workspace.root) / "agents/ada/TOOLS.md").read_text()
    assert text == OPENCLAW["TOOLS.md"]
    page.goto(f"{site.base}{IMPORT}?path={source}")
    assert "0 pages would change" in page.locator(".verdict").inner_text()


def test_a_folder_that_is_not_open_is_refused(opens: Opens, tmp_path: Path) -> None:
    """The page says why, in the preview and when a form is sent."""
    write_tree(tmp_path / "imports", {"readme.txt": "x\n"})
    other = write_tree(tmp_path / "other", OPENCLAW)
    site = opens(import_folders=(str(tmp_path / "imports"),))
    browser, csrf = site.sign_in()
    assert "import_folders" in browser.get(IMPORT, params={"path": str(other)}).text
    answer = browser.post(IMPORT, data={"csrf": csrf, "path": str(other)})
    assert "is not touched" in answer.text
    assert not (Path(site.workspace.root) / "agents/ada/TOOLS.md").exists()


def test_without_folders_the_page_says_what_to_do(site: Site) -> None:
    """The operator opens a folder, or imports at the command line."""
    browser, _ = site.sign_in()
    text = browser.get(IMPORT).text
    assert "No folder of the server is open for imports." in text
    assert "looseleaf import PATH" in text
