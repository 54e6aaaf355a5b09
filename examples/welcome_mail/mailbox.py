"""A mail server that is only simulated: it takes every e-mail and delivers none. `python -m ...mailbox --port N`.

An address that begins with `flaky` is refused twice, one that begins with `nobody` always; others can be refused so many
times, or held until they are released.
"""

from __future__ import annotations

import argparse
import socketserver
import threading
from collections import Counter

HOST = "127.0.0.1"
PATIENCE_SECONDS = 60  # at most, for an answer that is held


class Mailbox(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__((HOST, port), Session)
        self._lock = threading.Lock()
        self._refusals: Counter[str] = Counter()
        self._known: set[str] = set()
        self.arrived: list[tuple[str, str]] = []  # to whom, and all of it
        self.held: list[str] = []  # those whose answer is awaited
        self.released = threading.Event()
        self.released.set()

    @property
    def url(self) -> str:
        return f"smtp://{HOST}:{self.server_address[1]}"

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def refuse(self, address: str, times: int) -> None:
        with self._lock:
            self._known.add(address)
            self._refusals[address] = times

    def takes(self, address: str) -> bool:
        with self._lock:
            if address not in self._known:
                self._known.add(address)
                self._refusals[address] = 2 if address.startswith("flaky") else 0
            self._refusals[address] -= 1
            return self._refusals[address] < 0 and not address.startswith("nobody")

    def deliver(self, address: str, text: str) -> None:
        self.held.append(address)
        self.released.wait(PATIENCE_SECONDS)
        self.arrived.append((address, text))


class Session(socketserver.StreamRequestHandler):
    """As much of SMTP as a client needs that sends one e-mail after another."""

    server: Mailbox

    def handle(self) -> None:
        self._say("220 mailbox")
        address = ""
        while line := self.rfile.readline().decode(errors="replace").strip():
            match line.split(maxsplit=1)[0].upper():
                case "RCPT":
                    address = line.partition("<")[2].partition(">")[0]
                    self._say("250 OK" if self.server.takes(address) else "451 come back later")
                case "DATA":
                    self._say("354 go on")
                    self.server.deliver(address, self._text())
                    self._say("250 OK")
                case "QUIT":
                    self._say("221 bye")
                    return
                case _:
                    self._say("250 OK")

    def _text(self) -> str:
        lines: list[str] = []
        while (line := self.rfile.readline().decode(errors="replace").rstrip("\r\n")) != ".":
            lines.append(line)
        return "\n".join(lines)

    def _say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1; any free one if left out")
    with Mailbox(parser.parse_args().port) as mailbox:
        print(f"Mailbox {mailbox.url}", flush=True)  # noqa: T201  for whoever started it
        mailbox.serve_forever()


if __name__ == "__main__":
    main()
