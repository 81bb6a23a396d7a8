"""Operations of pipelines, flows, jobs, schedules and system tasks."""
