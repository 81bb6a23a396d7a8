"""What a job leaves behind: transcripts, tool traces, and artifacts of the memory it wrote."""
