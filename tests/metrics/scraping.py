"""A page of metrics, as Prometheus reads it."""

from __future__ import annotations

from http.client import HTTPConnection
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

HOST = "127.0.0.1"


class Page(NamedTuple):
    text: str

    def value(self, name: str, **labels: str) -> float | None:
        """None: there is no such series."""
        for family in text_string_to_metric_families(self.text):
            for sample in family.samples:
                if sample.name == name and sample.labels == labels:
                    return sample.value
        return None

    def names(self) -> set[str]:
        return {family.name for family in text_string_to_metric_families(self.text)}


def ask(port: int, path: str = "/metrics", **headers: str) -> tuple[int, str]:
    """The answer; (0, reason) where nobody listens."""
    connection = HTTPConnection(HOST, port, timeout=30)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except OSError as error:
        return 0, str(error)
    finally:
        connection.close()


def scrape(port: int) -> Page:
    status, text = ask(port)
    assert status == 200, text
    return Page(text)
