"""The artifacts of jobs: transcripts, tool traces, and the pages that a job wrote."""
