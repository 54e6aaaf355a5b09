"""What the demo starts with: three searches in a city, and two workers for them that could be anywhere."""

from __future__ import annotations

import sys
from pathlib import Path

from examples.lead_scraper.jobs import find_leads
from examples.lead_scraper.models import Lead
from examples.programs import Program
from jobs_app.lifecycle import control
from jobs_app.models import ApiToken

PROGRAMS = {"directory": Program("examples.lead_scraper.directory", "DIRECTORY_URL", 8104)}

CITIES = ("Bremen", "Cadiz", "Dover", "Essen", "Faro", "Ghent")
WORKERS = ("scraper-1", "scraper-2")
TOKEN_NAME = "scrapers of the demo"


def fill() -> None:
    """In the next city; when all were searched, the leads of one go, so that they are new again."""
    city = min(CITIES, key=lambda each: Lead.objects.filter(city=each).count())
    Lead.objects.filter(city=city).delete()
    find_leads.enqueue(trade="bakeries", city=city, wanted=30)
    find_leads.enqueue(trade="florists", city=city)
    find_leads.enqueue(trade="dragons", city=city, wanted=5)


def companions(site_url: str, folder: Path) -> dict[str, list[str]]:
    """Remote workers: an address, a queue and a token is all that they know of the site."""
    token = folder / "leads-token"
    token.touch(mode=0o600)
    token.write_text(_new_token())
    client = [sys.executable, "-m", "jobs_app.client", "--url", f"{site_url}jobs/", "--queues", "leads"]
    command = [*client, "--token-file", str(token), "--grace", "3", "examples.lead_scraper.scraper:find_leads"]
    return dict.fromkeys(WORKERS, command)


def _new_token() -> str:
    """Those of earlier starts are worth nothing from now on."""
    for token in ApiToken.objects.filter(name=TOKEN_NAME, revoked_at=None):
        control.revoke_token(token.pk, "demo", "the demo starts anew")
    return control.create_token(TOKEN_NAME, "demo", scopes=["pull", "report"], queues=["leads"]).text
