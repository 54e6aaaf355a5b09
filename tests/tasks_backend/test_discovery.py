"""Which tasks a process knows: those of modules named `tasks`, of the project, and of what views import."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.checks import run_checks
from django.test import override_settings

from jobs_app.models import Run
from jobs_app.registry import registry
from jobs_app.tasks_backend import discovery
from jobs_app.tasks_backend.library import IS_DJANGO
from jobs_app.testing import run_jobs

OURS = {"BACKEND": "jobs_app.tasks_backend.JobsBackend", "QUEUES": []}
LIBRARY = "django.tasks" if IS_DJANGO else "django_tasks"
DUMMY = {"BACKEND": f"{LIBRARY}.backends.dummy.DummyBackend"}
TASK = f"from {LIBRARY} import task\n\n@task(%s)\ndef %s(number):\n    return number + 1\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where packages for one test are written, and forgotten with it."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    discovery.left_out.clear()
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


def write(place: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        for folder in list(path.parents)[: len(Path(name).parents) - 1]:
            (folder / "__init__.py").touch()


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_module_and_a_package_with_all_that_is_in_it(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(
        place,
        {
            "one_app/tasks.py": TASK % ("", "single"),
            "two_app/tasks/mail.py": TASK % ("", "mail"),
            "two_app/tasks/deep/down.py": TASK % ("", "down"),
            "bare_app/other.py": TASK % ("", "other"),
        },
    )
    discovery.discover(["one_app", "two_app", "bare_app", "no_such_package"])
    names = ["one_app.tasks.single", "two_app.tasks.mail.mail", "two_app.tasks.deep.down.down"]
    assert all(name in registry for name in names)
    assert "bare_app.other.other" not in registry
    assert warnings_of(caplog) == []


def test_one_that_cannot_be_imported_is_warned_of_and_hides_no_other(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(
        place,
        {
            "left_app/tasks.py": "import a_library_that_is_gone",
            "some_app/tasks/aaa.py": "import a_library_that_is_gone",
            "some_app/tasks/bbb.py": TASK % ("", "kept"),
            "last_app/tasks.py": TASK % ("", "last"),
        },
    )
    discovery.discover(["left_app", "some_app", "last_app"])
    assert "some_app.tasks.bbb.kept" in registry
    assert "last_app.tasks.last" in registry
    assert {message.id for message in run_checks(tags=["jobs_app"])} == {"jobs_app.W018"}
    reason = "cannot be loaded, and stay unknown: No module named 'a_library_that_is_gone'"
    assert warnings_of(caplog) == [f"the tasks in {path} {reason}" for path in ("left_app.tasks", "some_app.tasks.aaa")]


@pytest.mark.parametrize(
    ("mistake", "error"),
    [
        ("1 / 0", ZeroDivisionError),
        ("from wrong_app.modls import Shop", ImportError),
        ("from wrong_app import modls", ImportError),
    ],
)
def test_a_mistake_in_a_module_is_loud(place: Path, mistake: str, error: type[Exception]) -> None:
    write(place, {"wrong_app/tasks.py": mistake})
    with pytest.raises(error):
        discovery.discover(["wrong_app"])


def test_what_is_made_when_it_is_needed_is_not_made(place: Path) -> None:
    lazy = "from django.utils.functional import SimpleLazyObject\nclient = SimpleLazyObject(lambda: 1 / 0)\n"
    write(place, {"lazy_app/tasks.py": lazy + TASK % ("", "kept")})
    discovery.discover(["lazy_app"])
    assert "lazy_app.tasks.kept" in registry


def test_what_a_package_runs_or_tests_is_not_loaded(place: Path) -> None:
    files = {f"busy_app/tasks/{name}.py": "1 / 0" for name in ("__main__", "tests/test_mail")}
    write(place, {**files, "busy_app/tasks/mail.py": TASK % ("", "kept")})
    discovery.discover(["busy_app"])
    assert "busy_app.tasks.mail.kept" in registry


@pytest.mark.django_db
def test_tasks_of_another_backend_come_here_with_using(place: Path) -> None:
    with override_settings(TASKS={"default": DUMMY, "ours": OURS}):
        write(place, {"mixed_app/tasks.py": TASK % ("", "elsewhere")})
        discovery.discover(["mixed_app"])
        assert "mixed_app.tasks.elsewhere" in registry
        elsewhere: Any = sys.modules["mixed_app.tasks"].elsewhere
        elsewhere.enqueue(1)
        assert not Run.objects.exists()
        task = elsewhere.using(backend="ours", priority=3)
        result = task.enqueue(1)
        assert task.get_result(result.id) == result
        run_jobs()
        result.refresh()
        assert (result.return_value, result.backend) == (2, "ours")


@pytest.mark.parametrize("tasks", [{}, {"default": DUMMY}, {"default": {"BACKEND": "no.such.Backend"}}], ids=str)
def test_projects_without_the_backend_load_nothing(place: Path, tasks: dict[str, Any]) -> None:
    write(place, {"quiet_app/tasks.py": "1 / 0", "quiet_app/urls.py": "1 / 0"})
    with override_settings(TASKS=tasks, ROOT_URLCONF="quiet_app.urls"):
        assert discovery.our_aliases() == []
        discovery.discover(["quiet_app"])
        discovery.load_urls()


def test_a_project_that_says_nothing_of_tasks_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "settings", SimpleNamespace(is_overridden=lambda name: False))
    assert discovery.our_aliases() == []


def test_what_views_import_is_loaded(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(place, {"site_app/urls.py": "from site_app import views\nurlpatterns = []"})
    write(place, {"site_app/views.py": TASK % ("", "beside_view")})
    with override_settings(ROOT_URLCONF="site_app.urls"):
        discovery.load_urls()
    assert "site_app.views.beside_view" in registry
    write(place, {"lame_app/urls.py": "import a_library_that_is_gone"})
    with override_settings(ROOT_URLCONF="lame_app.urls"):
        discovery.load_urls()
    (warning,) = warnings_of(caplog)
    assert "lame_app.urls" in warning
