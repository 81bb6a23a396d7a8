"""Pipelines and flows over REST: the plugin's routes, versions in headers, every refusal."""

from __future__ import annotations

from tests.web.fixtures import API, Site

PIPELINES, FLOWS = f"{API}/pipelines", f"{API}/flows"


def admin(site: Site) -> str:
    """Return a token that may do everything."""
    made: str = site.run("looseleaf/create-token", user=1)["token"]
    return made


def test_pipelines_at_the_routes_of_the_plugin(site: Site) -> None:
    """Its field names beside ours, and its shapes for memory files."""
    token = admin(site)
    body = {"pipeline_name": "Daily Music News", "memory_files": ["content-strategy.md"]}
    made = site.ask("POST", PIPELINES, token, json=body)
    assert made.status_code == 201
    pipeline = made.json()["data"]
    names = ("pipeline_id", "pipeline_name", "portable_slug")
    assert [pipeline[name] for name in names] == [1, "Daily Music News", "daily-music-news"]
    assert site.ask("GET", PIPELINES, token).json()["data"] == [pipeline]
    assert site.ask("GET", f"{PIPELINES}/daily-music-news", token).json()["data"] == pipeline
    files = f"{PIPELINES}/1/memory-files"
    assert site.ask("GET", files, token).json()["data"] == ["content-strategy.md"]
    put = site.ask("PUT", files, token, json={"memory_files": ["a.md", "contexts/x.md"]})
    assert put.json()["data"] == ["a.md", "contexts/x.md"]
    core = site.ask("PUT", files, token, json={"memory_files": ["SOUL.md"]})
    assert (core.status_code, core.json()["code"]) == (400, "invalid_workflow")
    gone = site.ask("GET", f"{PIPELINES}/9/memory-files", token)
    assert (gone.status_code, gone.json()["code"]) == (404, "pipeline_not_found")


def test_flows_at_the_routes_of_the_plugin(site: Site) -> None:
    """The schedule also as the plugin calls it."""
    token = admin(site)
    site.ask("POST", PIPELINES, token, json={"name": "News"})
    body = {"pipeline_id": 1, "flow_name": "Morning", "schedule": {"interval": "daily"}}
    made = site.ask("POST", FLOWS, token, json=body)
    assert made.status_code == 201, made.text
    flow = made.json()["data"]
    assert (flow["flow_id"], flow["flow_name"]) == (1, "Morning")
    assert flow["scheduling_config"]["interval"] == "daily"
    files = f"{FLOWS}/1/memory-files"
    put = site.ask("PUT", files, token, json={"memory_files": ["a.md"]})
    assert put.json()["data"] == {"memory_files": ["a.md"]}
    assert site.ask("GET", files, token).json()["data"] == {"memory_files": ["a.md"]}
    listed = site.ask("GET", f"{FLOWS}?pipeline_id=1", token).json()["data"]
    assert [item["slug"] for item in listed] == ["morning"]
    queued = site.ask("POST", f"{FLOWS}/1/queue", token, json={"prompt": "Go"})
    assert queued.json()["data"]["prompt_queue"] == ["Go"]
    gone = site.ask("DELETE", f"{FLOWS}/9", token)
    assert (gone.status_code, gone.json()["code"]) == (404, "flow_not_found")


def test_a_change_keeps_the_version_in_its_header(site: Site) -> None:
    """412 if another version is there; the answer has the new ETag."""
    token = admin(site)
    tag = site.ask("POST", PIPELINES, token, json={"name": "News"}).headers["etag"]
    address = f"{PIPELINES}/1"
    assert site.ask("GET", address, token).headers["etag"] == tag
    changes = {"system_prompt": "Write."}
    put = site.ask("PATCH", address, token, json=changes, headers={"if-match": tag})
    assert put.status_code == 200
    assert put.headers["etag"] != tag
    late = site.ask("PUT", address, token, json={"name": "X"}, headers={"if-match": tag})
    assert (late.status_code, late.json()["code"]) == (412, "precondition_failed")
    late = site.ask("DELETE", address, token, headers={"if-match": tag})
    assert late.status_code == 412
    assert site.ask("PATCH", address, token, json={"name": "Y"}).status_code == 200
    taken = site.ask("POST", PIPELINES, token, json={"name": "Z", "slug": "news"})
    assert (taken.status_code, taken.json()["code"]) == (409, "slug_taken")


def test_a_pipeline_is_exported_imported_copied_and_deleted(site: Site) -> None:
    """One JSON document."""
    token = admin(site)
    site.ask("POST", PIPELINES, token, json={"name": "News"})
    file = site.ask("GET", f"{PIPELINES}/1/export", token).json()["data"]
    imported = site.ask("POST", f"{PIPELINES}/import?name=Again", token, json=file)
    assert (imported.status_code, imported.json()["data"]["slug"]) == (201, "again")
    copied = site.ask("POST", f"{PIPELINES}/1/copy", token, json={})
    assert copied.json()["data"]["slug"] == "news-copy"
    assert site.ask("DELETE", f"{PIPELINES}/1", token).json()["data"]["slug"] == "news"


def test_the_prompt_of_a_flow_over_rest(site: Site) -> None:
    """With the rule of every page."""
    token = admin(site)
    site.ask("POST", PIPELINES, token, json={"name": "News", "memory_files": ["a.md"]})
    site.ask("POST", FLOWS, token, json={"pipeline": 1, "name": "Morning"})
    asked = f"{API}/prompt/explain?mode=pipeline&flow_id=1"
    candidates = site.ask("GET", asked, token).json()["data"]["candidates"]
    assert {candidate["name"]: candidate["rule"] for candidate in candidates}["a.md"] == "missing"


def test_an_agent_builds_no_pipelines_unless_its_token_says_so(site: Site, token: str) -> None:
    """It may read those of its agent."""
    site.run("looseleaf/create-pipeline", agent="ada", name="News")
    assert site.ask("GET", f"{PIPELINES}/1", token).status_code == 200
    refused = site.ask("POST", PIPELINES, token, json={"name": "Mine"})
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    builder = site.run("looseleaf/create-token", agent="ada", capabilities=["manage_flows"])
    made = site.ask("POST", PIPELINES, builder["token"], json={"name": "Mine"})
    assert made.status_code == 201, made.text
