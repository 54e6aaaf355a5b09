"""A process that prunes small batches and asks for a word before each further one."""

from __future__ import annotations

import sys

import django


def main() -> None:
    from django.db import connection

    from jobs_app.lifecycle import prune
    from tests.lifecycle.rows import T

    def ask() -> bool:
        sys.stdout.write("asks\n")
        sys.stdout.flush()
        return bool(sys.stdin.readline())

    prune.FIRST_SIZE = 50
    prune.prune(connection, now=T, go_on=ask)


if __name__ == "__main__":
    django.setup()
    main()
