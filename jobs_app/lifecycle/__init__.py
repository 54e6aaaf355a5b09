"""The only package that changes a job's state: one file per verb, raw SQL where every worker repeats it."""
