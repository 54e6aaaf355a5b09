"""Runs inside a site that knows nothing of these tests: does what its people would do, and prints what came of it."""

import io
import json
import os
import re
import sys
from contextlib import redirect_stderr, redirect_stdout
from html.parser import HTMLParser
from urllib.parse import urldefrag, urlsplit

import django

LEFTOVERS = {
    "sqlite": "SELECT name FROM sqlite_master WHERE name LIKE '%jobs_app%'",
    "postgresql": "SELECT relname FROM pg_class WHERE relname LIKE '%jobs_app%' "
    "UNION ALL SELECT proname FROM pg_proc WHERE proname LIKE '%jobs_app%' "
    "UNION ALL SELECT typname FROM pg_type WHERE typname LIKE '%jobs_app%'",
}
DATA = ("application/json", "application/ld+json", "text/plain")  # a browser runs nothing of these types


def install():
    """From an empty database to a job that waits."""
    if django.apps.apps.is_installed("house"):
        command("makemigrations", "house")
        command("collectstatic", "--no-input")
    for alias in aliases():
        command("migrate", "--database", alias)
    return {
        "file": __import__("jobs_app").__file__,
        "check": command("check", *(f"--database={alias}" for alias in aliases())),
        "makemigrations": command("makemigrations", "--check", "--dry-run"),
        "groups": command("jobs", "groups"),
        "triggered": command("jobs", "trigger", "greet", "--payload", '{"name": "Ada"}'),
    }


def look(run):
    """At everything, when the job has run."""
    return {
        "shown": json.loads(command("jobs", "show", run, "--format", "json")["out"]),
        "listed": json.loads(command("jobs", "list", "--format", "json")["out"]),
        "status": command("jobs", "status"),
        "doctor": command("jobs", "doctor", "--format", "json"),
        "viewer": visitor(of_group="jobs viewer").get(home()).status_code,
        "paused": pause(client := visitor()),
        "pages": pages(client),
        "hashed": hashed_files(),
    }


def undo():
    done = [command("migrate", "jobs_app", "zero", "--database", alias) for alias in aliases()]
    return {"codes": [each["code"] for each in done], "left": left()}


def after():
    """The line is gone, and so is what Django itself remembers of an app until it is told to forget."""
    done = [command("check")]
    done += [command("migrate", "--database", alias) for alias in aliases()]
    done += [command("remove_stale_contenttypes", "--include-stale-apps", "--no-input")]
    from django.contrib.auth.models import Permission

    kept = Permission.objects.filter(content_type__app_label="jobs_app").count()
    return {"outs": [each["out"] + each["err"] for each in done], "left": left(), "permissions": kept}


def command(*arguments):
    """As from a terminal, in this process: a start of Python costs more than most commands."""
    from django.core.management import execute_from_command_line

    out, err, code = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            execute_from_command_line(["manage.py", *arguments])
        except SystemExit as end:
            code = end.code
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


def aliases():
    from django.conf import settings

    return list(settings.DATABASES)


def left():
    """Names of ours in every database, and the rows that say what was migrated."""
    from django.db import connections

    found = []
    for alias in aliases():
        with connections[alias].cursor() as cursor:
            cursor.execute(LEFTOVERS[connections[alias].vendor])
            found += [name for (name,) in cursor.fetchall()]
            cursor.execute("SELECT name FROM django_migrations WHERE app = 'jobs_app'")
            found += [name for (name,) in cursor.fetchall()]
    return found


def visitor(of_group=None):
    from django.contrib.auth import get_user_model
    from django.contrib.auth.models import Group
    from django.test import Client

    users = get_user_model().objects
    name = f"{'one' if of_group else 'all'}@example.com"
    if of_group is None:
        user = users.create_superuser(**{get_user_model().USERNAME_FIELD: name})
    else:
        user = users.create(**{get_user_model().USERNAME_FIELD: name, "is_staff": True})
        user.groups.add(Group.objects.get(name=of_group))
    client = Client(SERVER_NAME="localhost")
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


def prefixes():
    return ["/admin/", "/ops/"] if django.apps.apps.is_installed("house") else ["/admin/"]


def home():
    from django.urls import reverse

    return reverse("admin:jobs_app_dashboard_changelist")


def pause(client):
    """An act of a person: what it writes of theirs and what it writes of ours may be in two databases."""
    from django.contrib.admin.models import LogEntry

    [prefix] = prefixes()[-1:]
    answer = client.post(f"{prefix}jobs_app/queuestate/default/pause/", {"reason": "a look at it"})
    pauses = json.loads(command("jobs", "pauses", "--format", "json")["out"])["pauses"]
    return {
        "status": answer.status_code,
        "pauses": [(each["name"], each["actor"], each["reason"]) for each in pauses],
        "logged": [str(entry.user) for entry in LogEntry.objects.all()],
    }


def pages(client):
    return [page for prefix in prefixes() for page in crawl(client, prefix)]


def crawl(client, prefix):
    """Every page of the app under an admin site, each once, whatever leads to it."""
    waiting, seen = [prefix], {prefix}
    while waiting:
        address = waiting.pop(0)
        answer = client.get(address)
        page = Page()
        if answer.headers.get("Content-Type", "").startswith("text/html"):
            page.feed(answer.text)
        for link in page.links:
            path = urlsplit(link).path
            if path.startswith(f"{prefix}jobs_app/") and path not in seen:
                seen.add(path)
                waiting.append(urldefrag(link).url)
        yield {
            "address": address,
            "status": answer.status_code,
            "inline": page.inline,
            "files": page.files,
            "policy": answer.headers.get("Content-Security-Policy", ""),
            "strays": [link for link in page.links if "/jobs_app/" in link and not link.startswith(prefix)],
        }


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.files, self.inline = [], [], []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self._note_what_a_policy_forbids(tag, given)
        if tag == "a" and (given.get("href") or "").startswith("/"):
            self.links.append(given["href"])
        if tag in ("script", "img", "iframe") and given.get("src"):
            self.files.append(given["src"])
        if tag == "link" and given.get("rel") == "stylesheet":
            self.files.append(given["href"])

    def _note_what_a_policy_forbids(self, tag, given):
        is_script = tag == "script" and "src" not in given and given.get("type") not in DATA
        handlers = [name for name in given if name.startswith("on") or name == "style"]
        if is_script or tag == "style" or handlers or (given.get("href") or "").startswith("javascript:"):
            self.inline.append(self.get_starttag_text())


def hashed_files():
    """Of the app, where static files are collected."""
    from django.conf import settings

    if not settings.STATIC_ROOT:
        return []
    names = os.listdir(os.path.join(settings.STATIC_ROOT, "jobs_app"))  # noqa: PTH118, PTH208
    return [name for name in names if re.search(r"\.[0-9a-f]{12}\.", name)]


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
    django.setup()
    phase, *rest = sys.argv[1:]
    sys.stdout.write(json.dumps({"install": install, "look": look, "undo": undo, "after": after}[phase](*rest)))
