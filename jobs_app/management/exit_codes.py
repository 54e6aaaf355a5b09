"""What `manage.py jobs` ends with, so that a script or a supervisor knows what happened. 0: all is done."""

ERROR = 1
WRONG_USAGE = 2  # argparse's own
NOTHING_MATCHED = 3  # and --fail-if-empty was said
PARTLY_DONE = 4  # what was skipped is told
WAIT_TIMED_OUT = 5
AWAITED_RUN_FAILED = 6
CHECK_FAILED = 7  # --check found a problem
DATABASE_UNAVAILABLE = 75  # a supervisor tries again
INTERRUPTED = 130
