"""The files of a bundle: layout, manifest, workflows, as a folder and as an archive."""
