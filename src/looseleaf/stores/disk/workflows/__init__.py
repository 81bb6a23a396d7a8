"""Files of workflows: the folders of jobs, their artifacts, and folders to publish to."""
