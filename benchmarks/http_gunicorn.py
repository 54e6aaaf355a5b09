"""How gunicorn serves `http_site`. Other versions pass over the names that they do not know."""

from __future__ import annotations

import os

wsgi_app = "benchmarks.http_site:application"
bind = f"fd://{os.environ['BENCH_SOCKET']}"
worker_class = "gthread"
workers = int(os.environ["BENCH_WEB_PROCESSES"])
threads = int(os.environ["BENCH_WEB_THREADS"])  # in each process; a pull that waits holds one
keepalive = 75
graceful_timeout = 1  # for pulls that wait when everything has been measured
preload_app = True  # the first answer then means that all processes are there
control_socket_disable = True  # it would be a file outside of the folder that is removed at the end
