"""Who a process is."""

from __future__ import annotations

import os
import re
import socket
from uuid import UUID

import pytest

from jobs_app.runtime.identity import Identity


@pytest.mark.spec("S2.17")
def test_each_boot_is_somebody_else() -> None:
    first, second = Identity.new(), Identity.new("mail")
    assert first.id != second.id
    assert re.fullmatch(rf"{re.escape(socket.gethostname())}-{os.getpid()}-[0-9a-f-]{{36}}", first.id)
    assert second.name == "mail"


def test_a_long_host_name_leaves_room_for_what_tells_processes_apart() -> None:
    identity = Identity(host="h" * 300, pid=4_000_000, boot=UUID(int=7))
    assert len(identity.id) == 100
    assert identity.id.endswith(f"-4000000-{UUID(int=7)}")


@pytest.mark.spec("S3.5")
def test_the_short_name_is_the_end_of_host_and_pid() -> None:
    assert Identity(host="worker-host1234", pid=98765, boot=UUID(int=7)).short == "12348765"
    assert Identity(host="vm", pid=7, boot=UUID(int=7)).short == "vm7"
