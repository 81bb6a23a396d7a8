"""Import in the browser: memory that is there, a preview, one click, and the report."""

from __future__ import annotations

from pathlib import Path

from looseleaf.settings import WordPressSite
from tests.features.imports.archives import build_zip
from tests.features.imports.sources import OPENCLAW, write_tree
from tests.web.admin.fixtures import OpenTab
from tests.web.fixtures import Opens, Site

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
    row = page.get_by_role("row").filter(has_text="TOOLS.md")
    assert "it is not in prompts by itself" in row.inner_text()
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


def test_an_archive_is_uploaded_previewed_and_imported(
    site: Site, open_tab: OpenTab, tmp_path: Path
) -> None:
    """Without JavaScript, and without any folder of the server."""
    archive = tmp_path / "pip.zip"
    archive.write_bytes(build_zip({f"pip/{name}": text for name, text in OPENCLAW.items()}))
    page = open_tab(site, java_script_enabled=False).open(IMPORT)
    assert page.get_by_text("Folder on the server").count() == 0
    page.get_by_label("Zip archive or file").set_input_files(str(archive))
    page.get_by_role("button", name="Preview").click()
    assert "10 pages would change" in page.locator(".verdict").inner_text()
    assert not (Path(site.workspace.root) / "agents/ada/TOOLS.md").exists()
    page.get_by_role("button", name="Import 10 pages").click()
    assert "10 pages changed" in page.locator(".verdict").inner_text()
    text = (Path(site.workspace.root) / "agents/ada/TOOLS.md").read_text()
    assert text == OPENCLAW["TOOLS.md"]


def test_a_site_of_the_settings_is_offered(opens: Opens) -> None:
    """Even if no folder of the server is open."""
    paper = WordPressSite("paper", "https://paper.example.com/", "ines", None)
    browser, _ = opens(wordpress_sites=(paper,)).sign_in()
    text = browser.get(IMPORT).text
    assert "Address of a site" in text
    assert '<option value="https://paper.example.com">' in text


def test_a_broken_upload_is_refused_on_the_page(site: Site) -> None:
    """With the reason; without a file, the page says what to do."""
    browser, csrf = site.sign_in()
    fields = {"csrf": csrf, "action": "preview"}
    files = {"file": ("a.zip", b"no archive", "application/zip")}
    assert "is not a zip archive" in browser.post(IMPORT, data=fields, files=files).text
    large = {"file": ("a.zip", b"0" * 14_000_000, "application/zip")}
    assert "more than 13,333,333 bytes" in browser.post(IMPORT, data=fields, files=large).text
    assert "No file was chosen" in browser.post(IMPORT, data=fields).text
