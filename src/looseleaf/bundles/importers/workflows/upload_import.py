"""The import of uploaded files of pipelines and flows.

A folder has the files, and the database of the site has the definitions, which an import of the
site brings.
"""

from __future__ import annotations

from looseleaf.bundles.comparison.artifacts import FLOW, PIPELINE
from looseleaf.bundles.export import list_workflows
from looseleaf.bundles.importers.decision import CREATE, FAILED, LEFT_OUT, REPLACE, UNCHANGED
from looseleaf.bundles.importers.ledger import ImportedPart, find_parts
from looseleaf.bundles.importers.report import WorkflowReport
from looseleaf.errors import Invalid, Refused
from looseleaf.memory.store import hash_content
from looseleaf.values import value
from looseleaf.workflows.uploads.file_store import FileFolder, check_upload_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from looseleaf.agents.record import AgentRecord
    from looseleaf.bundles.importers.contract import SourceUpload
    from looseleaf.bundles.importers.ledger import ImportLedger, Records
    from looseleaf.bundles.installation.destination import InstallTarget

FILE = "file"
SITE_KIND = "datamachine-site"
_NO_DEFINITION = (
    "its definition is in the database of the site: import the site by its address first, then "
    "this folder again"
)
_SEVERAL = "several sites that were imported have {} {}, and a folder does not say whose it is"
_GONE = "{} {} of the site is not here any more"
_NAMESAKE = "another file of this name is there"


@value
class _Place:
    """The folder of an uploaded file here, or the reason why there is none."""

    folder: FileFolder | None
    owner: str = ""
    name: str = ""
    reason: str = ""


class UploadImport:
    """Imports uploaded files of one source."""

    def __init__(
        self,
        destination: InstallTarget,
        records: Records,
        ledger: ImportLedger,
        find_agent: Callable[[str], AgentRecord | None],
        *,
        is_preview: bool,
    ) -> None:
        self._destination, self._records, self._ledger = destination, records, ledger
        self._find_agent, self._is_preview = find_agent, is_preview

    def import_upload(self, upload: SourceUpload) -> WorkflowReport:
        """Import a file to its pipeline or flow here; a file that was changed here stays."""
        place = self._find_place(upload)
        if place.folder is None:
            return WorkflowReport(LEFT_OUT, FILE, "", upload.name, upload.source, place.reason)
        action, reason = self._decide(place.folder, upload)
        if action in (CREATE, REPLACE) and not self._is_preview:
            try:
                self._destination.uploads().put(
                    place.folder, upload.name, (upload.content,), self._destination.limits
                )
            except (Invalid, Refused) as error:
                action, reason = FAILED, str(error)
        if action not in (LEFT_OUT, FAILED):
            digest = hash_content(upload.content)
            part = ImportedPart(digest, digest, place.owner, upload.name)
            self._ledger.add_part(f"{FILE}:{upload.source}", part)
        name = f"{place.name}: {upload.name}"
        return WorkflowReport(action, FILE, place.owner, name, upload.source, reason)

    def _find_place(self, upload: SourceUpload) -> _Place:
        kind = FLOW if upload.flow else PIPELINE
        source_id = upload.flow or upload.pipeline
        parts = find_parts(self._records, SITE_KIND, f"{kind}:{source_id}")
        if not parts:
            return _Place(None, reason=_NO_DEFINITION)
        if len(parts) > 1:
            return _Place(None, reason=_SEVERAL.format(kind, source_id))
        part, record = parts[0], self._find_agent(parts[0].agent)
        if record is None or not self._destination.has_definitions():
            return _Place(None, reason=_GONE.format(kind, source_id))
        workflows = list_workflows(self._destination.definitions(), record.id)
        pipeline = workflows.pipelines.get(part.pipeline_slug if upload.flow else part.slug)
        if pipeline is None:
            return _Place(None, reason=_GONE.format(kind, source_id))
        if not upload.flow:
            return _Place(FileFolder(pipeline.id), record.slug, pipeline.slug)
        for flow in workflows.flows.values():
            if (flow.pipeline_id, flow.slug) == (pipeline.id, part.slug):
                folder = FileFolder(pipeline.id, flow.id)
                return _Place(folder, record.slug, f"{pipeline.slug}/{flow.slug}")
        return _Place(None, reason=_GONE.format(kind, source_id))

    def _decide(self, folder: FileFolder, upload: SourceUpload) -> tuple[str, str]:
        try:
            check_upload_name(upload.name, self._destination.limits.types)
        except Invalid as error:
            return LEFT_OUT, str(error)
        limit = self._destination.limits.size
        if len(upload.content) > limit:
            return LEFT_OUT, f"it has more than {limit:,} bytes"
        uploads = self._destination.uploads()
        former = self._ledger.find_part(f"{FILE}:{upload.source}")
        if upload.name not in {file.name for file in uploads.list(folder)}:
            if former is not None:
                return LEFT_OUT, "it was deleted here after the last import"
            return CREATE, ""
        current = hash_content(b"".join(uploads.read(folder, upload.name)))
        if current == hash_content(upload.content):
            return UNCHANGED, "it is the same here"
        if former is not None and former.target == current:
            return REPLACE, "the source has changed, and nobody changed it here"
        return LEFT_OUT, _NAMESAKE
