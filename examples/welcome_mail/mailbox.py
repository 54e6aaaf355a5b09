"""A mail server that is only simulated: it takes e-mails and delivers none. `python -m ...mailbox --port N`.

An address that begins with `flaky` is refused two times of three, and one that begins with `nobody` always. While it is
closed, whoever wants to write waits.
"""

from __future__ import annotations

import argparse
import socketserver
import threading
from contextlib import suppress

HOST = "127.0.0.1"
PATIENCE_SECONDS = 60  # at most, for a door that is closed


class Mailbox(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__((HOST, port), Session)
        self.url = f"smtp://{HOST}:{self.server_address[1]}"
        self.door = threading.Event()
        self.door.set()  # open
        self.asked: list[str] = []  # for whom somebody had mail, taken or not
        self.taken: list[str] = []  # who got one

    def takes(self, address: str) -> bool:
        self.asked.append(address)
        tries = self.asked.count(address)
        self.door.wait(PATIENCE_SECONDS)
        return not (address.startswith("nobody") or (address.startswith("flaky") and tries % 3))


class Session(socketserver.StreamRequestHandler):
    """As much of SMTP as a client needs that sends one e-mail after another."""

    server: Mailbox

    def handle(self) -> None:
        with suppress(ConnectionError):  # a worker that was killed says no goodbye
            self._say("220 mailbox")
            self._talk()

    def _talk(self) -> None:
        address = ""
        while True:
            line = self._heard()
            match line.partition(" ")[0].upper():
                case "RCPT":
                    address = line.partition("<")[2].partition(">")[0]
                    self._say("250 OK" if self.server.takes(address) else "451 come back later")
                case "DATA":
                    self._say("354 go on")
                    while self._heard() != ".":
                        pass
                    self.server.taken.append(address)
                    self._say("250 OK")
                case "QUIT":
                    self._say("221 bye")
                    return
                case _:
                    self._say("250 OK")

    def _heard(self) -> str:
        if line := self.rfile.readline():
            return line.decode(errors="replace").strip()
        raise ConnectionResetError("they hung up")

    def _say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1; any free one if left out")
    with Mailbox(parser.parse_args().port) as mailbox:
        print(f"mailbox {mailbox.url}", flush=True)  # noqa: T201  for whoever started it
        mailbox.serve_forever()


if __name__ == "__main__":
    main()
