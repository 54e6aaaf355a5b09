"""The WSGI entry point of the demo site."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

from jobsite.secret_key import require_secret_key

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "jobsite.settings")

require_secret_key()
application = get_wsgi_application()
