"""The commands of workflows: pipelines, flows, jobs and schedules."""

from __future__ import annotations

from looseleaf.cli.groups import Entry

PIPELINES = {
    "list": Entry("commands.pipelines", "list_pipelines", "List the pipelines, by name."),
    "show": Entry(
        "commands.pipelines",
        "show",
        "Show one pipeline: its steps, its memory files and its version.",
    ),
    "create": Entry("commands.pipelines", "create", "Create a pipeline of an agent."),
    "update": Entry(
        "commands.pipelines", "update", "Change a pipeline; fields without an option stay."
    ),
    "delete": Entry(
        "commands.pipelines", "delete", "Delete a pipeline with its flows and files, for good."
    ),
    "copy": Entry("commands.pipelines", "copy", "Copy a pipeline without its flows."),
    "export": Entry(
        "commands.pipelines", "export", "Print a pipeline with its flows as one JSON file."
    ),
    "import": Entry(
        "commands.pipelines",
        "import_file",
        "Create a pipeline and its flows from an exported file; - is standard input.",
    ),
    "memory-files": Entry(
        "commands.pipelines",
        "memory_files",
        "List or change the pages that a pipeline selects besides the core files.",
    ),
    "files": Entry(
        "commands.workflow_files",
        "pipeline_files",
        "List, upload or delete the context files of a pipeline.",
    ),
}

FLOWS = {
    "list": Entry("commands.flows", "list_flows", "List the flows, by name."),
    "show": Entry(
        "commands.flows",
        "show",
        "Show one flow: its schedule, its memory files, its queue and its version.",
    ),
    "create": Entry("commands.flows", "create", "Create a flow of a pipeline."),
    "update": Entry("commands.flows", "update", "Change a flow; fields without an option stay."),
    "queue": Entry("commands.flows", "queue", "Add a prompt to the end of the queue of a flow."),
    "delete": Entry(
        "commands.flows",
        "delete",
        "Delete a flow with its files, for good; records of its jobs stay.",
    ),
    "copy": Entry(
        "commands.flows",
        "copy",
        "Copy a flow inside its pipeline; the schedule of the copy is paused.",
    ),
    "memory-files": Entry(
        "commands.flows",
        "memory_files",
        "List or change the pages that a flow selects after those of its pipeline.",
    ),
    "files": Entry(
        "commands.workflow_files",
        "flow_files",
        "List, upload or delete the files that are input of a flow.",
    ),
}

JOBS = {
    "run": Entry("commands.jobs", "run_job", "Start a job and show its progress."),
    "list": Entry("commands.jobs", "list_jobs", "List jobs, newest first."),
    "show": Entry("commands.jobs", "show_job", "Show a job with its steps and its writes."),
    "packets": Entry("commands.jobs", "show_packets", "Print the packets of a job as JSON."),
    "watch": Entry("commands.jobs", "watch", "Show the progress of a job until it ends."),
    "cancel": Entry("commands.jobs", "cancel", "Cancel a job."),
    "pause": Entry("commands.jobs", "pause", "Pause a job after its present step."),
    "resume": Entry("commands.jobs", "resume", "Resume a paused job."),
    "retry": Entry("commands.jobs", "retry", "Run a job again from the step that failed."),
    "delete": Entry("commands.jobs", "delete", "Delete a job that has ended."),
    "artifacts": Entry("commands.job_artifacts", "list_artifacts", "List the artifacts of a job."),
    "artifact-content": Entry(
        "commands.job_artifacts", "show_content", "Print the content of an artifact, verified."
    ),
    "transcript": Entry(
        "commands.job_artifacts", "show_transcript", "Print the transcript of a job."
    ),
    "gate": Entry(
        "commands.job_artifacts", "show_gate", "Print the address that a waiting job listens at."
    ),
    "open-gate": Entry(
        "commands.job_artifacts", "open_gate", "Continue a job that waits for a call."
    ),
    "prune": Entry("commands.job_artifacts", "prune", "Remove old data of jobs."),
}

SCHEDULES = {
    "list": Entry("commands.schedules", "list_schedules", "List schedules with their next times."),
    "run": Entry("commands.schedules", "run", "Start the jobs of a schedule now."),
    "pause": Entry("commands.schedules", "pause", "Pause a schedule."),
    "resume": Entry("commands.schedules", "resume", "Resume a paused schedule."),
}
