"""Running jobs: a claimer, executors and a finisher in threads, each with its own connection."""
