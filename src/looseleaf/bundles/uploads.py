"""Uploaded files of pipelines and flows that are exported with an agent, within bounds."""

from __future__ import annotations

from looseleaf.bundles.layout.upload_files import FLOW_FILES, PIPELINE_FILES
from looseleaf.values import value
from looseleaf.workflows.uploads.file_store import FileFolder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from looseleaf.workflows.uploads.file_store import WorkflowFiles

LARGEST_FILE = 24_000_000  # in base64 it fits into one file of an archive
LARGEST_TOTAL = 64_000_000  # of all uploads; with their base64 they fit into one archive


@value
class UploadChoice:
    """The uploads to export, each by path, folder and name; and those left out, with the reason."""

    files: tuple[tuple[str, FileFolder, str], ...] = ()
    left_out: tuple[str, ...] = ()


def choose_uploads(
    uploads: WorkflowFiles, pipeline_ids: dict[str, int], flow_ids: dict[str, tuple[int, int]]
) -> UploadChoice:
    """Choose the uploads that fit; ids are those of pipelines, and of flows with their pipeline."""
    chosen_files, left_out, total = [], [], 0
    for prefix, folder in _list_folders(pipeline_ids, flow_ids):
        for file in uploads.list(folder):
            path = f"{prefix}{file.name}"
            if file.size > LARGEST_FILE:
                left_out.append(f"{path}: it has more than {LARGEST_FILE:,} bytes")
            elif total + file.size > LARGEST_TOTAL:
                left_out.append(f"{path}: the uploads have more than {LARGEST_TOTAL:,} bytes")
            else:
                total += file.size
                chosen_files.append((path, folder, file.name))
    return UploadChoice(tuple(chosen_files), tuple(left_out))


def _list_folders(
    pipeline_ids: dict[str, int], flow_ids: dict[str, tuple[int, int]]
) -> Iterator[tuple[str, FileFolder]]:
    for slug, pipeline_id in pipeline_ids.items():
        yield f"{PIPELINE_FILES}{slug}/", FileFolder(pipeline_id)
    for slug, ids in flow_ids.items():
        yield f"{FLOW_FILES}{slug}/", FileFolder(*ids)


def read_uploads(uploads: WorkflowFiles, choice: UploadChoice) -> dict[str, bytes]:
    """Read the chosen uploads, by the path that a text has in the bundle."""
    return {path: b"".join(uploads.read(folder, name)) for path, folder, name in choice.files}
