"""Messages over a socket: whole, in order, and a half one holds nobody up."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from jobs_app.worker.isolation.channel import Channel


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, Channel]]:
    one, other = socket.socketpair()
    channel = Channel(other)
    yield one, channel
    one.close()
    channel.close()


def test_messages_come_as_they_were_sent(ends: tuple[socket.socket, Channel]) -> None:
    sender, receiver = Channel(ends[0]), ends[1]
    sent = [{"text": "ä \ud800 \0"}, {}, {"large": "x" * 1_000_000}, {"n": [1, None, 2.5]}]
    thread = threading.Thread(target=lambda: [sender.send(message) for message in sent])
    thread.start()
    received = []
    while len(received) < len(sent):
        if (message := receiver.receive(5)) is not None:
            received.append(message)
    thread.join()
    assert received == sent


def test_a_message_that_stays_half_sent_is_not_waited_for(ends: tuple[socket.socket, Channel]) -> None:
    end, receiver = ends
    end.sendall((100).to_bytes(4, "big") + b'{"half')
    assert receiver.receive(5) is None
    assert receiver.receive(0.01) is None


def test_nothing_within_the_time_is_none(ends: tuple[socket.socket, Channel]) -> None:
    assert ends[1].receive(0.01) is None


def test_an_other_end_that_is_gone_is_told(ends: tuple[socket.socket, Channel]) -> None:
    Channel(ends[0]).send({"last": True})
    ends[0].close()
    assert ends[1].receive(1) == {"last": True}
    with pytest.raises(EOFError):
        ends[1].receive(1)


def test_what_is_no_message_is_not_read_for_ever(ends: tuple[socket.socket, Channel]) -> None:
    ends[0].sendall(b"Hello, world")
    with pytest.raises(EOFError, match="no message"):
        ends[1].receive(1)
