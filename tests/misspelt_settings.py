"""The settings of the tests, with a name that does not exist, and a URLconf and an admin that import everything."""

from tests.settings import *  # noqa: F403

JOBS = {"LEASE_SECOND": 30}
