"""Records of upkeep: small JSON files below `.looseleaf/upkeep`."""

from __future__ import annotations

from looseleaf.files import record_folder

FOLDER = "upkeep"
SUFFIX = record_folder.SUFFIX


class UpkeepRecords(record_folder.RecordFolder):
    """One folder of records of upkeep, each a JSON object by name."""

    def __init__(self, root: str, *segments: str) -> None:
        super().__init__(root, FOLDER, *segments)
