"""Where a webhook may lead: a name is resolved once, and each of its addresses must be one of the public internet."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, NamedTuple
from urllib.parse import urlsplit

Resolve = Callable[..., Sequence[tuple[Any, ...]]]  # as `socket.getaddrinfo`

PORTS = {"http": 80, "https": 443}
UNICAST = ip_network("2000::/3")  # all that is given out to the internet so far; older Pythons call more of it global
NAT64 = ip_network("64:ff9b::/96")
# What Python counts as global, or did in some release, and nobody on the internet can be reached by.
NOBODY = [ip_network(each) for each in ("192.0.0.0/24", "192.88.99.0/24", "3fff::/20")]


class AddressRefused(Exception):
    """The URL leads to an address that webhooks may not use."""


class Endpoint(NamedTuple):
    """The parts of a URL that a request needs."""

    scheme: str
    host: str
    port: int
    path: str  # with the query

    @classmethod
    def of(cls, url: str) -> Endpoint:
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        return cls(parts.scheme, parts.hostname or "", parts.port or PORTS[parts.scheme], path)


class Address(NamedTuple):
    """One that was looked at: the connection is made to just this one."""

    family: int
    place: Any  # as `socket.connect` takes it


def addresses_of(
    endpoint: Endpoint, *, private_allowed: bool, resolve: Resolve = socket.getaddrinfo
) -> Sequence[Address]:
    """All that the host has, or AddressRefused if a single one is not public: which one is used is a matter of luck."""
    found = resolve(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    addresses = [Address(family, place) for family, _, _, _, place in found]
    if not addresses:
        raise OSError(f"{endpoint.host} has no address")
    for address in addresses:
        if not (private_allowed or is_public(str(address.place[0]))):
            raise AddressRefused(f"{endpoint.host} leads to {address.place[0]}, which is no public address")
    return addresses


def is_public(text: str) -> bool:
    """Is this an address that anybody on the internet can reach, in whatever form it is written?"""
    address = ip_address(text)
    inner = _within(address)
    if inner is not None:
        return is_public(str(inner))
    if isinstance(address, IPv6Address) and address not in UNICAST:
        return False
    return address.is_global and not address.is_multicast and not any(address in network for network in NOBODY)


def _within(address: IPv4Address | IPv6Address) -> IPv4Address | None:
    """The IPv4 address that a gateway, or this host itself, makes of an IPv6 address."""
    if not isinstance(address, IPv6Address):
        return None
    if address in NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour
