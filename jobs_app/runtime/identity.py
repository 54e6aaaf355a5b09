"""Who a process is: random per boot, so that two containers with the same host name and pid are never one."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from uuid import UUID, uuid4


@dataclass(frozen=True, kw_only=True)
class Identity:
    host: str
    pid: int
    boot: UUID
    name: str = ""

    @classmethod
    def new(cls, name: str = "") -> Identity:
        return cls(host=socket.gethostname(), pid=os.getpid(), boot=uuid4(), name=name)

    @property
    def id(self) -> str:
        """As stored: `host-pid-uuid`, 100 characters at most."""
        tail = f"-{self.pid}-{self.boot}"
        return self.host[: 100 - len(tail)] + tail

    @property
    def short(self) -> str:
        return short_name(self.host, self.pid)


def short_name(host: str, pid: int) -> str:
    """As shown in logs: the last four of the host, the last four of the pid."""
    return host[-4:] + str(pid)[-4:]
