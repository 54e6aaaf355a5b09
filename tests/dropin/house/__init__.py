"""What a project of its own mind brings along: it is copied into the elaborate site, and runs nowhere else."""
