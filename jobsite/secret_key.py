"""What the web must not start without."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured


def require_secret_key() -> None:
    try:
        settings.SECRET_KEY  # noqa: B018  Django raises where it is empty
    except ImproperlyConfigured:
        text = "Set SECRET_KEY in the environment, or DEBUG=1 to try the site out."
        raise ImproperlyConfigured(text) from None
