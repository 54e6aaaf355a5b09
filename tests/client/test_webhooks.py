"""Who receives a webhook can tell that it is genuine, whole and new."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from jobs_app.client import verify_webhook

BODY, SECRET, NOW = b'{"event": "run.failed"}', "shared-secret", 1_800_000_000


def signature(body: bytes = BODY, secret: str = SECRET, moment: int | str = NOW) -> str:
    return hmac.new(secret.encode(), f"{moment}.".encode() + body, hashlib.sha256).hexdigest()


def is_genuine(header: str, *, body: bytes = BODY, now: float = NOW) -> bool:
    return verify_webhook(body, header, SECRET, now=now)


def test_a_signature_of_the_body_and_its_moment_is_genuine() -> None:
    assert is_genuine(f"t={NOW},v1={signature()}")
    assert is_genuine(f"t={NOW}, v1={signature()}", now=NOW + 300)
    assert is_genuine(f"t={NOW},v1={signature()}", now=NOW - 300)


def test_while_a_secret_is_replaced_one_of_several_signatures_is_enough() -> None:
    assert is_genuine(f"t={NOW},v1={signature(secret='next')},v1={signature()}")
    assert is_genuine(f"t={NOW},v1={signature()},v1={signature(secret='next')},v2=whatever")


@pytest.mark.parametrize("now", [NOW + 301, NOW - 301])
def test_what_is_too_old_or_from_the_future_is_refused(now: int) -> None:
    assert not is_genuine(f"t={NOW},v1={signature()}", now=now)
    assert verify_webhook(BODY, f"t={NOW},v1={signature()}", SECRET, tolerance=400, now=now)


def test_without_a_moment_given_it_is_now() -> None:
    assert not verify_webhook(BODY, f"t=1000,v1={signature(moment=1000)}", SECRET)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "t=,v1=",
        f"v1={signature()}",
        f"t={NOW}",
        f"t={NOW},v1=",
        f"t={NOW + 1},v1={signature()}",
        f"t={NOW},v1={signature(secret='other')}",
        f"t={NOW},v1={signature(body=b'{}')}",
        f"t={NOW},v0={signature()}",
        f"t={NOW},v1=\u00e9\ud800",
        f"t=-{NOW},v1={signature(moment=-NOW)}",
        f"t={'9' * 5000},v1={signature()}",
        f"t=\u0661,v1={signature(moment=chr(0x661))}",
        f"t=nan,v1={signature(moment='nan')}",
    ],
)
def test_anything_else_is_refused(header: str) -> None:
    assert not is_genuine(header)


def test_without_a_secret_nothing_can_be_checked() -> None:
    with pytest.raises(ValueError, match="anybody could sign"):
        verify_webhook(BODY, f"t={NOW},v1={signature(secret='')}", "", now=NOW)
