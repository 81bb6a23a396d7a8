"""Jobs, their queue, the signs of life of workers, and schedules in SQLite or PostgreSQL."""
