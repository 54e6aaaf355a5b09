"""No URL leads a webhook to an address inside, however it is written, and no connection is made to find out."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from jobs_app.errors import SettingsInvalid
from jobs_app.webhook_rules import from_settings
from jobs_app.webhooks.addresses import AddressRefused, Endpoint, addresses_of, is_public
from jobs_app.webhooks.sending import post
from tests.webhooks.names import Names

INSIDE = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://127.255.255.254:8080/",
    "http://2130706433/",
    "http://017700000001/",
    "http://0x7f000001/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://0x7F.0x0.0x0.0x1/",
    "http://localhost/",
    "http://LOCALHOST:6379/",
    "http://localhost./",
    "http://0.0.0.0/",
    "http://0/",
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/",
    "http://0xA9FEA9FE/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://10.0.0.1/",
    "http://10.1/",
    "http://172.16.0.1/",
    "http://172.31.255.255/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://192.0.0.8/",
    "http://192.0.2.1/",
    "http://192.88.99.1/",
    "http://198.18.0.1/",
    "http://203.0.113.9/",
    "http://224.0.0.1/",
    "http://239.255.255.250/",
    "http://240.0.0.1/",
    "http://255.255.255.255/",
    "http://db.internal:5432/",
    "http://half.example/",
    "http://other-half.example/",
    "http://mapped.example/",
    "http://nat64-inside.example/",
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]:80/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::5db8:d70e]/",
    "http://[2002:7f00:1::]/",
    "http://[2002:a00:1::1]/",
    "http://[2001:0:5db8:d70e::1]/",
    "http://[2001:db8::1]/",
    "http://[3fff::1]/",
    "http://[100::1]/",
    "http://[fc00::1]/",
    "http://[fd12:3456:789a::1]/",
    "http://[fe80::1]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
]
NOT_EVEN_READ = ["http://user@example.com/", "http://example.com@127.0.0.1/", "ftp://example.com/", "file:///etc/hosts"]
OUTSIDE = [
    "http://example.com/",
    "https://example.com:8443/",
    "http://example.com:6379/",
    "http://93.184.215.14:22/",
    "http://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/",
    "http://[64:ff9b::5db8:d70e]/",
    "http://[2002:5db8:d70e::1]/",
    "http://nat64.example/",
    "http://192.167.255.255/",
    "http://172.32.0.1/",
]


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Where somebody tried to connect to. Nobody gets through."""
    tried: list[Any] = []

    def connect(self: socket.socket, place: Any) -> None:
        tried.append(place)
        raise ConnectionRefusedError("not in a test")

    monkeypatch.setattr(socket.socket, "connect", connect)
    return tried


def send(url: str, names: Names, **options: Any) -> None:
    [webhook] = from_settings([{"name": "ops", "url": url, "secret": "sixteen or more characters"}])
    post(webhook.url, b"{}", {}, resolve=names, **{"private_allowed": False, **options})


@pytest.mark.parametrize("url", INSIDE)
def test_what_leads_inside_is_refused_and_nothing_is_connected_to(url: str, connections: list[Any]) -> None:
    with pytest.raises(AddressRefused, match="which is no public address"):
        send(url, Names())
    assert connections == []


@pytest.mark.parametrize("url", NOT_EVEN_READ)
def test_what_is_no_plain_url_is_refused_before_a_name_is_looked_up(url: str, connections: list[Any]) -> None:
    names = Names()
    with pytest.raises(SettingsInvalid):
        send(url, names)
    assert (names.asked, connections) == ([], [])


@pytest.mark.parametrize("url", OUTSIDE)
def test_what_leads_outside_is_connected_to_at_any_port(url: str, connections: list[Any]) -> None:
    with pytest.raises(ConnectionRefusedError):
        send(url, Names())
    assert {place[1] for place in connections} == {Endpoint.of(url).port}
    assert all(is_public(place[0]) for place in connections)


def test_a_name_that_changes_its_mind_is_looked_up_once(connections: list[Any]) -> None:
    names = Names(rebinding=["93.184.215.14", "127.0.0.1"])
    with pytest.raises(ConnectionRefusedError):
        send("http://rebinding.example:8080/", names)
    assert names.asked == ["rebinding.example"]
    assert connections == [("93.184.215.14", 8080)]
    with pytest.raises(AddressRefused):
        send("http://rebinding.example:8080/", names)
    assert len(connections) == 1


@pytest.mark.parametrize("url", INSIDE)
def test_where_private_addresses_are_allowed_all_of_them_are(url: str, connections: list[Any]) -> None:
    with pytest.raises(OSError, match="not in a test"):
        send(url, Names(), private_allowed=True)
    assert connections


def test_each_address_of_a_name_is_tried(connections: list[Any]) -> None:
    with pytest.raises(ConnectionRefusedError):
        send("https://example.com/", Names())
    assert [place[0] for place in connections] == ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"]


def test_a_name_without_an_address_is_a_failure_of_the_network() -> None:
    with pytest.raises(OSError, match="has no address"):
        addresses_of(Endpoint.of("http://example.com/"), private_allowed=False, resolve=lambda *a, **o: [])


def test_an_endpoint_has_what_a_request_needs() -> None:
    assert Endpoint.of("https://Example.com") == ("https", "example.com", 443, "/")
    assert Endpoint.of("http://[2001:db8::1]:81/a/b?c=d#e") == ("http", "2001:db8::1", 81, "/a/b?c=d")
