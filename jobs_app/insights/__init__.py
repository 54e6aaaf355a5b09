"""Every question people ask of jobs and runs. Reads only."""
