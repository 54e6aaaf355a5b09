"""A signature that the client of receivers can check, and nobody can make without the secret."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from jobs_app.client import verify_webhook
from jobs_app.webhooks.signing import HEADER, signature

BODY = b'{"event":"run.finished"}'
OLD, NEW = "the old secret of the receiver", "the new secret of the receiver"


def test_the_header_has_the_moment_and_one_code_for_each_secret() -> None:
    def code(secret: str) -> str:
        return hmac.new(secret.encode(), b"1767268800." + BODY, hashlib.sha256).hexdigest()

    assert HEADER == "Jobs-Signature"
    assert signature(BODY, secrets=[OLD], at=1767268800) == f"t=1767268800,v1={code(OLD)}"
    assert signature(BODY, secrets=[NEW, OLD], at=1767268800) == f"t=1767268800,v1={code(NEW)},v1={code(OLD)}"


@pytest.mark.parametrize("secret", [OLD, NEW])
def test_receivers_accept_it_with_either_secret(secret: str) -> None:
    header = signature(BODY, secrets=[NEW, OLD], at=1000)
    assert verify_webhook(BODY, header, secret, now=1001)


def test_receivers_refuse_another_body_another_secret_another_moment_and_a_replay() -> None:
    header = signature(BODY, secrets=[OLD], at=1000)
    assert verify_webhook(BODY, header, OLD, now=1300)
    assert not verify_webhook(BODY + b" ", header, OLD, now=1000)
    assert not verify_webhook(BODY, header, NEW, now=1000)
    assert not verify_webhook(BODY, header.replace("t=1000", "t=1001"), OLD, now=1000)
    assert not verify_webhook(BODY, header, OLD, now=1301)
