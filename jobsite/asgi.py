"""The ASGI entry point of the demo site."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

from jobsite.secret_key import require_secret_key

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jobsite.settings")

require_secret_key()
application = get_asgi_application()
